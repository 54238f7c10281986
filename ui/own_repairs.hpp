// Repairs that a person writes: the questions of the open program, and what a text is worth, judged beside the frames while it is typed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "document.hpp"
#include "session/own_repair.hpp"
#include "tasks.hpp"

namespace fathom::ui {

class App;

class OwnRepairs {
 public:
  explicit OwnRepairs(std::function<void()> wake) : judging_(std::move(wake)) {}

  /// Of the program that is shown.
  [[nodiscard]] const std::vector<session::RepairQuestion>& questions(const Document&);
  [[nodiscard]] const session::RepairQuestion* question(const Document&, const std::string& consumer);
  /// What the text is worth; nullptr until it is known. Asking again changes nothing; what is typed meanwhile replaces what waits.
  const session::OwnRepair* judge(const Document&, const std::string& consumer, const std::string& text);
  /// It is to be taken as soon as it is known to be right; what is typed meanwhile drops the wish.
  void wish(std::string consumer, std::string text) { wished_.emplace(std::move(consumer), std::move(text)); }
  [[nodiscard]] bool is_wished(const std::string& consumer, const std::string& text) const { return wished_ == std::pair(consumer, text); }
  void drop_wish() { wished_.reset(); }
  /// Takes over what has arrived; true where something did.
  bool collect() { return judging_.collect(); }
  [[nodiscard]] bool is_judging() const { return judging_.is_busy(); }

 private:
  struct Asked {
    std::uint64_t version = 0;
    std::string consumer, text;
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  std::optional<std::uint64_t> made_for_;
  std::vector<session::RepairQuestion> questions_;
  Asked asked_;
  std::optional<std::pair<Asked, session::OwnRepair>> judged_;
  std::optional<std::pair<std::string, std::string>> wished_;  ///< consumer and text
  Lane judging_;
};

/// The consumer that the person is asked about: that of the lesson's page, else the one that the why column shows; empty: none.
[[nodiscard]] std::string asked_consumer(const App&);
/// What is typed there; empty: nothing.
[[nodiscard]] std::string typed_repair(const App&);
/// The same, judged; nullptr: nothing, or not judged yet.
[[nodiscard]] const session::OwnRepair* written_repair(const App&);
/// Why the plan would refuse what is typed, be it right or wrong; empty: it would not, as far as is known.
[[nodiscard]] std::string why_not_taken(const App&);
/// Puts it into the plan; what is not judged yet as soon as it is known to be right. A wrong one is shown at the step in which it acts.
void take_written_repair(App&, bool even_unsound);
/// Takes over what has arrived, and does what waited for it.
void collect_repairs(App&);

}  // namespace fathom::ui
