// Roles over time as the explorer shows them: the run of a small program beside the frames, and where its clock stands.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "document.hpp"
#include "session/role_timeline.hpp"
#include "tasks.hpp"

namespace fathom::ui {

class RoleView {
 public:
  explicit RoleView(std::function<void()> wake) : lane_(std::move(wake)) {}

  /// Asks for the run of the step of what is shown; the same again changes nothing. Call it in each frame that shows it.
  void request(const Shown&, std::uint64_t version, std::size_t step);
  bool collect() { return lane_.collect(); }
  [[nodiscard]] bool is_busy() const { return lane_.is_busy(); }

  /// nullptr: there is none yet, or none can be made.
  [[nodiscard]] const session::RoleTimeline* timeline() const { return timeline_.get(); }
  [[nodiscard]] const Refusal* refused() const { return refused_ ? &*refused_ : nullptr; }

  [[nodiscard]] std::int64_t round() const { return round_; }
  [[nodiscard]] std::int64_t rounds() const { return timeline_ == nullptr ? 0 : timeline_->rounds; }
  void go_to(std::int64_t round);
  bool playing = false;
  double play_next = 0;  ///< seconds of Dear ImGui's clock
  /// Goes on where it plays and it is time to.
  void play(double now);

 private:
  struct Asked {
    std::uint64_t version = 0;
    std::string step;
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  std::optional<Asked> asked_;
  std::shared_ptr<const session::RoleTimeline> timeline_;
  std::optional<Refusal> refused_;
  std::int64_t round_ = 0;
  Lane lane_;  ///< last: ends before what it delivers to
};

}  // namespace fathom::ui
