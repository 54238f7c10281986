#include "session/speed_ratio.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace fathom::session {
namespace {

constexpr double outside = 0.05;  ///< of the cases the interval may miss the median

/// How many of the n sorted values lie outside of the interval on each side: P(fewer than k of n tosses are heads) is at most half of
/// `outside`.
std::size_t cut_on_each_side(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n)), sum = probability;
  std::size_t k = 0;
  while (sum <= outside / 2) {
    ++k;
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    sum += probability;
  }
  return k == 0 ? 0 : k - 1;
}

}  // namespace

bool second_goes_first(int pair) {
  // A bit of splitmix64's output for the pair's number.
  auto x = static_cast<std::uint64_t>(pair) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return ((x ^ (x >> 31U)) & 1U) != 0;
}

SpeedRatio speed_ratio(const std::vector<std::pair<double, double>>& times) {
  std::vector<double> ratios;
  ratios.reserve(times.size());
  for (const auto& [first, second] : times) ratios.push_back(first / second);
  std::sort(ratios.begin(), ratios.end());
  const std::size_t n = ratios.size();
  if (n == 0) return {};
  const std::size_t cut = cut_on_each_side(n);
  const double median = n % 2 == 1 ? ratios[n / 2] : std::sqrt(ratios[n / 2 - 1] * ratios[n / 2]);
  return {median, ratios[cut], ratios[n - 1 - cut], static_cast<int>(n)};
}

std::string sentence_of(const SpeedRatio& measured, const std::string& first, const std::string& second) {
  const bool is_slower = measured.high < 1;
  const SpeedRatio shown = is_slower ? SpeedRatio{1 / measured.ratio, 1 / measured.high, 1 / measured.low, measured.pairs} : measured;
  // Two decimals where they tell the ends from each other and from 1, else three.
  constexpr double fine = 0.02;
  const int digits = shown.high - shown.low < fine || std::abs(shown.low - 1) < fine / 2 ? 3 : 2;
  const std::string interval = fmt::format("[{:.{}f}, {:.{}f}]", shown.low, digits, shown.high, digits);
  if (!shown.is_seen())
    return fmt::format("No difference between {} and {} can be seen: {:.{}f}× {}.", first, second, shown.ratio, digits, interval);
  return fmt::format("{} is {:.{}f}× as fast as {} {}.", is_slower ? first : second, shown.ratio, digits, is_slower ? second : first,
                     interval);
}

}  // namespace fathom::session
