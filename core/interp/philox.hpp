// Philox 4x32-10: a counter-based generator. The value is a pure function of key and counter, so that every level, every tile order and
// every device draws the same numbers. Used by `random` in the notation and by the data families of the check.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace fathom::interp {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

[[nodiscard]] constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53U;
  constexpr std::uint64_t multiplier_1 = 0xCD9E8D57U;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {static_cast<std::uint32_t>(product_1 >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product_1),
               static_cast<std::uint32_t>(product_0 >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product_0)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// `random(seed, e0, e1, …)`: the key is the seed, the counter e0 and e1 (64 bits each, low word first); each further pair of arguments
/// uses the first two words of the result before it as its key. Absent arguments are 0.
[[nodiscard]] constexpr PhiloxCounter philox_of(std::int64_t seed, std::span<const std::int64_t> arguments) {
  const auto low = [](std::int64_t x) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x)); };
  const auto high = [](std::int64_t x) { return static_cast<std::uint32_t>(static_cast<std::uint64_t>(x) >> 32U); };
  PhiloxKey key{low(seed), high(seed)};
  PhiloxCounter words{};
  std::size_t next = 0;
  do {
    const std::int64_t first = next < arguments.size() ? arguments[next] : 0;
    const std::int64_t second = next + 1 < arguments.size() ? arguments[next + 1] : 0;
    words = philox({low(first), high(first), low(second), high(second)}, key);
    key = {words[0], words[1]};
    next += 2;
  } while (next < arguments.size());
  return words;
}

/// 24 bits: exact in f32.
[[nodiscard]] constexpr double uniform(std::uint32_t word) { return static_cast<double>(word >> 8U) * 0x1p-24; }

}  // namespace fathom::interp
