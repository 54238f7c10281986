// Runs of plans on this machine: one row a run, kept with the session. One runs at a time, and none while steps are checked: what else the
// machine does would be measured, too.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner.hpp"
#include "session/plans.hpp"
#include "session/session.hpp"
#include "tasks.hpp"

namespace fathom::ui {

/// What was run: enough to make it again, and to see whether two runs may be compared.
struct TrialPlan {
  std::string text;                          ///< session::fingerprint of the program
  std::string sizes;                         ///< session::sizes_of
  session::Inputs asked;                     ///< sizes, target, choices and policies as they were asked for; without the text
  std::vector<session::PlanChoice> choices;  ///< every decision; empty: not compiled yet
  Cost cost;                                 ///< predicted
  double register_bytes = 0;                 ///< session::register_bytes
  double roof_ms = 0;                        ///< no plan for the target's rates can be faster; 0: unknown
};
[[nodiscard]] TrialPlan plan_of(const session::Compilation&);
/// The same program at the same sizes for the same target: times may stand beside each other.
[[nodiscard]] bool are_comparable(const TrialPlan&, const TrialPlan&);

enum class TrialState : unsigned char { queued, running, done };

struct Trial {
  int number = 0;
  TrialPlan plan;
  bool is_unfused = false;  ///< asked for as the plan with nothing fused
  TrialState state = TrialState::queued;
  Outcome outcome;      ///< where it is done
  std::string command;  ///< the exact line that ran it; empty: none did
  std::chrono::steady_clock::time_point started;
  [[nodiscard]] bool is_ok() const { return state == TrialState::done && outcome.kind == RunKind::ok && outcome.measured; }
  [[nodiscard]] bool has_failed() const {
    return state == TrialState::done && outcome.kind != RunKind::ok && outcome.kind != RunKind::inconclusive;
  }
};

/// Two plans timed in turn.
struct Contest {
  int first = 0, second = 0;  ///< numbers of trials
  TrialState state = TrialState::queued;
  Outcome outcome;
  std::string command;
};

/// Which run is the fastest one. What two plans gave in turn counts more than medians of runs that were made apart, and a plan's runs count
/// as one.
struct Standing {
  int best = 0;   ///< number of a trial; 0: none is ok
  int rival = 0;  ///< of another plan, which may be as fast for all that was measured; 0: none
  /// The rival was compared in turn, and no difference is seen; else nobody compared them yet.
  bool is_tied = false;
};

class Trials {
 public:
  explicit Trials(std::function<void()> wake) : lane_(std::move(wake)) {}

  /// The platform's; none: nothing runs here.
  std::shared_ptr<Runner> runner;

  [[nodiscard]] const std::vector<Trial>& all() const { return all_; }
  [[nodiscard]] const Trial* find(int number) const;
  /// The newest one of these two, in either order; null: they were not compared.
  [[nodiscard]] const Contest* contest(int first, int second) const;
  /// Among the runs that may stand beside the plan.
  [[nodiscard]] Standing standing(const TrialPlan&) const;

  /// Waits for its turn. The number of the new row.
  int run(session::Inputs, bool is_unfused = false);
  /// `source` has the text that both were made of.
  void compare(const session::Inputs& source, int first, int second);
  void cancel();
  void clear();
  [[nodiscard]] bool can_put_back() const { return !cleared_.empty() && all_.empty(); }
  void put_back();
  /// Another session is open.
  void reset();

  /// Takes what has arrived and starts what waits, where `may_start`. Once a frame.
  void collect(bool may_start);
  [[nodiscard]] bool is_busy() const { return is_running_ || !waiting_.empty(); }
  [[nodiscard]] bool is_running() const { return is_running_; }
  /// Counts changes: who keeps something of the rows looks at it.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] bool is_changed() const { return kept_version_ != saved_version_; }
  void saved() { saved_version_ = kept_version_; }

  /// What session files keep: runs that are done, the newest `most_kept` of them, and what comparisons of them gave.
  [[nodiscard]] nlohmann::ordered_json to_json() const;
  /// Of a file that may be anybody's: what cannot be read is left out. A sentence where that was so.
  [[nodiscard]] std::optional<std::string> take_json(const nlohmann::ordered_json&);
  static constexpr std::size_t most_kept = 1000;

 private:
  /// A trial, or a contest where `trial` is 0.
  struct Job {
    int trial = 0;
    std::size_t contest = 0;
    RunOrder order;
  };
  Trial* row(int number);
  void start(Job);
  void changed(bool is_kept);

  std::vector<Trial> all_, cleared_;
  std::vector<Contest> contests_, cleared_contests_;
  std::deque<Job> waiting_;
  bool is_running_ = false;
  Job current_;
  int last_number_ = 0;
  std::uint64_t version_ = 0, kept_version_ = 0, saved_version_ = 0;
  Lane lane_;
};

/// "ok", "crash", "time-out", …: a word of the table.
[[nodiscard]] std::string word_of(const Trial&);
/// "tile j 96": what was asked of the plan by a person; "as the scheduler chooses" where nothing was.
[[nodiscard]] std::string own_choices_text(const Trial&);
/// "tile j 96 · fold over j split-k": what the plan has otherwise than the other one; "the same plan" where nothing.
[[nodiscard]] std::string difference_text(const TrialPlan& plan, const TrialPlan& other);

}  // namespace fathom::ui
