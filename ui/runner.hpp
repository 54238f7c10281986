// What runs a plan: a process of its own, so that a crash or an endless loop of a kernel costs one run. The platform gives one; what it
// hands back is read here.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/session.hpp"
#include "session/speed_ratio.hpp"
#include "tasks.hpp"

namespace fathom::ui {

/// One run of a plan, or of two in turn.
struct RunOrder {
  session::Inputs inputs;
  std::optional<Trace> against;  ///< the second plan: of the same text, sizes and policies
  std::chrono::milliseconds at_most{120'000};
};

enum class RunEnd : unsigned char { exited, crashed, timed_out, cancelled, not_started };
/// How the process ended and what it said.
struct RunAnswer {
  RunEnd end = RunEnd::exited;
  int status = 0;        ///< where it exited
  std::string why;       ///< crashed: the signal in words; not started: the reason
  std::string out, err;  ///< what it wrote
};

class Runner {
 public:
  Runner() = default;
  virtual ~Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// The words that `run` will start; a person can run them, too.
  [[nodiscard]] virtual std::vector<std::string> command(const RunOrder&) = 0;
  /// Returns soon after `cancel` is requested. Called beside the frames.
  [[nodiscard]] virtual RunAnswer run(const RunOrder&, const Cancel& cancel) = 0;
};

/// As a shell takes them.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& words);

enum class RunKind : unsigned char { ok, refused, crashed, timed_out, wrong_result, inconclusive, unreadable, cancelled };

struct Measured {
  double ms = 0, p20 = 0, p80 = 0, cold_ms = 0;  ///< median and percentiles of `n` warm launches; the first launch
  int n = 0;
  friend bool operator==(const Measured&, const Measured&) = default;
};

/// What an answer says. A document that is not one of ours makes it unreadable, never a number.
struct Outcome {
  RunKind kind = RunKind::unreadable;
  std::string says;  ///< one sentence of what went wrong; empty where it is ok
  std::optional<Measured> measured;
  std::optional<double> max_error, bound;
  std::vector<std::pair<std::string, std::string>> conditions;
  std::optional<session::SpeedRatio> ratio;  ///< of two plans
};
[[nodiscard]] Outcome outcome_of(const RunAnswer&, std::chrono::milliseconds at_most);

}  // namespace fathom::ui
