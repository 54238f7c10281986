#include "ir/dtype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace fathom {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// Every finite non-negative value of a small float type, decoded bit by bit, in order.
std::vector<double> all_values(int exponent_bits, int mantissa_bits, bool has_infinity) {
  std::vector<double> values;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int count = 1 << (exponent_bits + mantissa_bits);
  for (int bits = 0; bits < count; ++bits) {
    const int exponent = bits >> mantissa_bits;
    const int mantissa = bits & ((1 << mantissa_bits) - 1);
    const bool top = exponent == (1 << exponent_bits) - 1;
    if (top && (has_infinity || mantissa == (1 << mantissa_bits) - 1)) continue;  // infinity and NaN; e4m3: only all ones
    const double fraction = std::ldexp(mantissa, -mantissa_bits);
    values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias));
  }
  return values;
}

/// By search among all values: the nearest one, the one with an even place (last mantissa bit 0) on a tie.
double nearest_of(const std::vector<double>& values, double x, bool has_infinity) {
  const double magnitude = std::fabs(x);
  const double step = values.back() - values[values.size() - 2];
  const double half_above =
      values.back() + step / 2;  // from here on the next value, which does not exist, would be nearer (or the tie is even)
  const bool last_is_even = (values.size() - 1) % 2 == 0;
  if (magnitude > half_above || (magnitude == half_above && !last_is_even)) return std::copysign(has_infinity ? inf : NAN, x);
  const auto above = std::lower_bound(values.begin(), values.end(), magnitude);
  if (above == values.end()) return std::copysign(values.back(), x);
  if (*above == magnitude || above == values.begin()) return std::copysign(*above, x);
  const double up = *above - magnitude;
  const double down = magnitude - *(above - 1);
  const bool above_is_even = (above - values.begin()) % 2 == 0;
  return std::copysign(up < down || (up == down && above_is_even) ? *above : *(above - 1), x);
}

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)); }

struct Small {
  DType dtype;
  int exponent_bits, mantissa_bits;
  bool has_infinity;
};
constexpr Small small_types[] = {
    {DType::f16, 5, 10, true}, {DType::bf16, 8, 7, true}, {DType::f8e4m3, 4, 3, false}, {DType::f8e5m2, 5, 2, true}};

TEST(RoundTo, agrees_with_a_search_among_all_values_of_the_type) {
  for (const Small& type : small_types) {
    const std::vector<double> values = all_values(type.exponent_bits, type.mantissa_bits, type.has_infinity);
    const auto expect_nearest = [&](double x) {
      for (const double each : {x, -x})
        ASSERT_TRUE(same(round_to(type.dtype, each), nearest_of(values, each, type.has_infinity)))
            << name(type.dtype) << " " << each << " " << round_to(type.dtype, each);
    };
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {  // each value, each tie, and both sides of each tie
      const double tie = (values[i] + values[i + 1]) / 2;
      for (const double x : {values[i], tie, std::nextafter(tie, 0.0), std::nextafter(tie, inf)}) expect_nearest(x);
    }
    const double end = values.back() + (values.back() - values[values.size() - 2]) / 2;
    for (const double x : {values.back(), end, std::nextafter(end, 0.0), std::nextafter(end, inf), 1e300, 5e-324}) expect_nearest(x);
  }
}

TEST(RoundTo, f32_is_the_hardware_conversion) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 100000; ++i) {
    std::uint64_t bits = random();
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    if (i % 2 == 0) x = std::ldexp(static_cast<double>(bits >> 12), static_cast<int>(random() % 300) - 200);
    if (std::isnan(x)) continue;
    ASSERT_TRUE(same(round_to(DType::f32, x), static_cast<double>(static_cast<float>(x)))) << x;
    ASSERT_TRUE(same(round_to(DType::real, x), round_to(DType::f32, x)));
    ASSERT_TRUE(same(round_to(DType::f64, x), x));
  }
}

TEST(RoundTo, is_idempotent_and_monotone) {
  std::mt19937_64 random(4);
  for (int t = 0; t <= static_cast<int>(DType::boolean); ++t) {
    const auto dtype = static_cast<DType>(t);
    double before = -inf;
    std::vector<double> sorted;
    for (int i = 0; i < 500; ++i)
      sorted.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 20), static_cast<int>(random() % 40) - 50));
    std::sort(sorted.begin(), sorted.end());
    for (const double x : sorted) {
      const double rounded = round_to(dtype, x);
      EXPECT_TRUE(same(round_to(dtype, rounded), rounded)) << name(dtype) << x;
      if (std::isnan(rounded) || dtype == DType::boolean) continue;
      EXPECT_GE(rounded, before) << name(dtype) << x;
      before = rounded;
    }
  }
}

TEST(RoundTo, integers_saturate_and_have_no_nan) {
  EXPECT_EQ(round_to(DType::i8, 1e9), 127);
  EXPECT_EQ(round_to(DType::i8, -inf), -128);
  EXPECT_EQ(round_to(DType::i32, 2147483647.4), 2147483647);
  EXPECT_EQ(round_to(DType::i32, NAN), 0);
  EXPECT_EQ(round_to(DType::i8, 2.5), 2);
  EXPECT_EQ(round_to(DType::i8, -3.5), -4);
  EXPECT_FALSE(std::signbit(round_to(DType::i32, -0.2)));
  EXPECT_EQ(static_cast<std::int64_t>(round_to(DType::i64, 1e30)), 9223372036854774784);
  EXPECT_EQ(round_to(DType::i64, -1e30), -9223372036854775808.0);
}

TEST(FloatRange, states_what_rounding_does) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const FloatRange range = float_range(dtype);
    EXPECT_EQ(round_to(dtype, range.largest), range.largest);
    EXPECT_EQ(round_to(dtype, range.smallest_subnormal), range.smallest_subnormal);
    EXPECT_EQ(round_to(dtype, range.smallest_subnormal / 2), 0) << name(dtype);
    EXPECT_EQ(round_to(dtype, 1 + range.unit_roundoff), 1);  // a tie, and 1 is even
    if (dtype == DType::f64) continue;                       // what follows needs numbers between its values
    EXPECT_EQ(round_to(dtype, 1 + 1.01 * range.unit_roundoff), 1 + 2 * range.unit_roundoff);
    const double last_bit = 2 * range.unit_roundoff * range.smallest_normal;
    EXPECT_EQ(last_bit, range.smallest_subnormal);
  }
}

TEST(DTypes, names_read_back) {
  for (int t = 1; t <= static_cast<int>(DType::boolean); ++t) EXPECT_EQ(dtype_named(name(static_cast<DType>(t))), static_cast<DType>(t));
  EXPECT_FALSE(dtype_named("real"));
  EXPECT_FALSE(dtype_named("f33"));
}

TEST(DTypes, join_is_commutative_idempotent_and_holds_both_floats) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i)
    for (int j = 0; j <= static_cast<int>(DType::boolean); ++j) {
      const auto a = static_cast<DType>(i);
      const auto b = static_cast<DType>(j);
      const DType both = join(a, b);
      EXPECT_EQ(both, join(b, a));
      EXPECT_EQ(join(a, a), a);
      if (!is_float(a) || !is_float(b)) continue;
      EXPECT_LE(float_range(both).unit_roundoff, std::min(float_range(a).unit_roundoff, float_range(b).unit_roundoff));
      EXPECT_GE(float_range(both).largest, std::max(float_range(a).largest, float_range(b).largest));
    }
  EXPECT_EQ(join(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(join(DType::i64, DType::i8), DType::i64);
}

}  // namespace
}  // namespace fathom
