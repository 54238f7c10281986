#include "ir/rational.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace fathom {
namespace {

constexpr std::int64_t big = INT64_MAX;

Rational r(std::int64_t num, std::int64_t den = 1) { return Rational::make(num, den).value(); }

TEST(Rational, is_in_lowest_terms_with_a_positive_denominator) {
  EXPECT_EQ(r(6, -4), r(-3, 2));
  EXPECT_EQ(r(6, -4).num(), -3);
  EXPECT_EQ(r(6, -4).den(), 2);
  EXPECT_EQ(r(0, -5).den(), 1);
  EXPECT_FALSE(Rational::make(1, 0));
}

TEST(Rational, overflow_and_division_by_zero_are_reported) {
  EXPECT_FALSE(add(r(big), r(1)));
  EXPECT_FALSE(subtract(r(-big), r(1)));
  EXPECT_FALSE(multiply(r(big), r(2)));
  EXPECT_FALSE(multiply(r(1, big), r(1, 2)));
  EXPECT_FALSE(divide(r(1), r(0)));
  EXPECT_FALSE(power(r(0), -1));
  EXPECT_FALSE(power(r(2), 63));
  EXPECT_FALSE(power(r(3), 1'000'000'000'000));
  EXPECT_FALSE(Rational::make(INT64_MIN, 1));  // its negation would not fit
}

TEST(Rational, results_that_fit_are_found_although_intermediates_do_not) {
  EXPECT_EQ(multiply(r(big), r(2, 2)), r(big));
  EXPECT_EQ(multiply(r(big, 3), r(3, big)), r(1));
  EXPECT_EQ(add(r(1, big), r(-1, big)), r(0));
  EXPECT_EQ(power(r(-1), 1'000'000'000'001), r(-1));
  EXPECT_EQ(power(r(2, 3), -3), r(27, 8));
}

TEST(Rational, obeys_the_laws_of_a_field) {
  std::mt19937 random(1);
  const auto small = [&] { return r(static_cast<int>(random() % 41) - 20, static_cast<int>(random() % 9) + 1); };
  for (int i = 0; i < 2000; ++i) {
    const Rational a = small();
    const Rational b = small();
    const Rational c = small();
    EXPECT_EQ(add(a, *add(b, c)), add(*add(a, b), c));
    EXPECT_EQ(multiply(a, *add(b, c)), add(*multiply(a, b), *multiply(a, c)));
    if (b != Rational(0)) {
      EXPECT_EQ(multiply(*divide(a, b), b), a);
    }
    EXPECT_EQ(a < b, a.num() * b.den() < b.num() * a.den());
  }
}

TEST(Rational, order_is_exact_where_doubles_are_equal) {
  EXPECT_LT(r(big - 1), r(big));
  EXPECT_LT(r(big, big - 1), r(big - 1, big - 2));
  EXPECT_LT(r(1, big), r(1, big - 1));
}

TEST(Rational, reads_decimals_exactly) {
  EXPECT_EQ(Rational::parse("0.125"), r(1, 8));
  EXPECT_EQ(Rational::parse("1e-3"), r(1, 1000));
  EXPECT_EQ(Rational::parse("-2.50E+1"), r(-25));
  EXPECT_EQ(Rational::parse("1000000000000000000000e-21"), r(1));
  EXPECT_EQ(Rational::parse("0.000000000000000000000000000"), r(0));
  EXPECT_EQ(Rational::parse("0e999999999999999999999"), r(0));
  EXPECT_EQ(Rational::parse("9223372036854775807"), r(big));
  EXPECT_EQ(Rational::parse("1.000000000000000000000000000000000"), r(1));
}

TEST(Rational, refuses_what_does_not_fit_or_is_no_decimal) {
  for (const char* text : {"9223372036854775808", "1e19", "1e-39", "1e99999999999", "1e-99999999999", "", "-", ".", "e5", "1e", "1e+",
                           "1.2.3", "0x10", "1 ", " 1", "inf", "nan", "--1"})
    EXPECT_FALSE(Rational::parse(text)) << text;
}

TEST(Rational, text_of_a_decimal_reads_back) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 5000; ++i) {
    const auto num = static_cast<std::int64_t>(random() >> (random() % 63 + 1));
    std::int64_t den = 1;
    for (int k = static_cast<int>(random() % 12); k > 0; --k) den *= random() % 2 == 0 ? 2 : 5;
    const Rational value = r(i % 2 == 0 ? num : -num, den);
    const std::string text = value.text();
    if (text.find('/') == std::string::npos) {
      EXPECT_EQ(Rational::parse(text), value) << text;
    }
  }
}

TEST(Rational, text_is_short_where_it_can_be) {
  EXPECT_EQ(r(1, 8).text(), "0.125");
  EXPECT_EQ(r(-3, 2).text(), "-1.5");
  EXPECT_EQ(r(1, 3).text(), "1/3");
  EXPECT_EQ(r(1, 1'000'000'000).text(), "1e-9");
  EXPECT_EQ(r(123, 1'000'000'000).text(), "1.23e-7");
  EXPECT_EQ(r(1, 1000).text(), "0.001");
  EXPECT_EQ(r(1, std::int64_t{1} << 62).text(), "1/4611686018427387904");
}

}  // namespace
}  // namespace fathom
