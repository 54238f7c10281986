// Which of two plans is the faster one, from times that were taken in turn: what disturbs the machine for a while disturbs both.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace fathom::session {

/// How many times as fast the second plan is as the first, with the interval that holds the true median in 95 of 100 cases.
struct SpeedRatio {
  double ratio = 1, low = 1, high = 1;
  int pairs = 0;
  /// Does the interval leave 1 out?
  [[nodiscard]] bool is_seen() const { return low > 1 || high < 1; }
  friend bool operator==(const SpeedRatio&, const SpeedRatio&) = default;
};

/// Does the second plan go first in the pair of this number? The same lot in every run. By lot, so that a disturbance with a period (time
/// slices, timers) does not meet the same plan each time: under any disturbance at all, equal plans then are taken for unequal ones in no
/// more than 5 of 100 cases.
[[nodiscard]] bool second_goes_first(int pair);

/// Fewer pairs have no interval of 95 %.
inline constexpr int least_pairs = 6;

/// Of milliseconds of the first and the second plan; at least `least_pairs` of them, all above 0. The interval is made of order statistics:
/// it supposes nothing of how times are distributed.
[[nodiscard]] SpeedRatio speed_ratio(const std::vector<std::pair<double, double>>& times);

/// "B is 1.31× as fast as A [1.28, 1.34]." The faster one stands first.
[[nodiscard]] std::string sentence_of(const SpeedRatio&, const std::string& first, const std::string& second);

}  // namespace fathom::session
