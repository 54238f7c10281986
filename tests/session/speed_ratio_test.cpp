// The interval of a comparison: it holds the true ratio as often as it says, and the sentence says the faster one.
#include "session/speed_ratio.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace fathom::session {
namespace {

std::vector<std::pair<double, double>> noisy_pairs(std::mt19937& random, int count, double ratio) {
  std::lognormal_distribution<double> noise(0, 0.2);
  std::vector<std::pair<double, double>> pairs;
  for (int i = 0; i < count; ++i) pairs.emplace_back(ratio * noise(random), noise(random));
  return pairs;
}

TEST(SpeedRatio, holds_the_true_ratio_in_95_of_100_cases) {
  std::mt19937 random(7);  // NOLINT: the same each time
  constexpr int cases = 4000;
  for (const int count : {least_pairs, 7, 20, 57, 200}) {
    int held = 0;
    for (int i = 0; i < cases; ++i) {
      const SpeedRatio measured = speed_ratio(noisy_pairs(random, count, 1.3));
      held += measured.low <= 1.3 && 1.3 <= measured.high ? 1 : 0;
    }
    EXPECT_GE(held, cases * 94 / 100) << count;
    EXPECT_LE(held, cases * 99 / 100) << count << ": wider than it must be";
  }
}

TEST(SpeedRatio, is_not_taken_in_by_what_disturbs_every_nth_launch) {
  std::mt19937 random(11);  // NOLINT: the same each time
  std::lognormal_distribution<double> delay(0, 0.3);
  int seen = 0, cases = 0;
  for (int period = 1; period <= 40; ++period)
    for (int i = 0; i < 25; ++i, ++cases) {
      std::vector<double> launches(static_cast<std::size_t>(period));
      for (double& launch : launches) launch = delay(random);
      std::vector<std::pair<double, double>> pairs;
      for (int pair = 0; pair < 200; ++pair) {
        const double earlier = launches[static_cast<std::size_t>(2 * pair % period)];
        const double later = launches[static_cast<std::size_t>((2 * pair + 1) % period)];
        if (second_goes_first(pair))
          pairs.emplace_back(later, earlier);
        else
          pairs.emplace_back(earlier, later);
      }
      seen += speed_ratio(pairs).is_seen() ? 1 : 0;
    }
  EXPECT_LE(seen, cases * 6 / 100) << "of " << cases << " comparisons of a plan with itself";
}

TEST(SpeedRatio, of_six_pairs_is_their_range) {
  const SpeedRatio measured = speed_ratio({{6, 1}, {1, 1}, {3, 1}, {4, 1}, {2, 1}, {5, 1}});
  EXPECT_EQ(measured.low, 1);
  EXPECT_EQ(measured.high, 6);
  EXPECT_EQ(measured.pairs, 6);
  EXPECT_NEAR(measured.ratio, std::sqrt(12.0), 1e-12);
}

TEST(SpeedRatio, says_the_faster_one_and_never_more_than_is_seen) {
  EXPECT_EQ(sentence_of({1.31, 1.28, 1.34, 40}, "A", "B"), "B is 1.31× as fast as A [1.28, 1.34].");
  EXPECT_EQ(sentence_of({0.5, 0.5, 0.625, 40}, "A", "B"), "A is 2.00× as fast as B [1.60, 2.00].");
  EXPECT_EQ(sentence_of({1.01, 0.97, 1.05, 40}, "A", "B"), "No difference between A and B can be seen: 1.01× [0.97, 1.05].");
  EXPECT_EQ(sentence_of({1.006, 1.003, 1.009, 40}, "A", "B"), "B is 1.006× as fast as A [1.003, 1.009].");
}

}  // namespace
}  // namespace fathom::session
