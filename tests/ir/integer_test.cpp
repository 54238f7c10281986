#include <gtest/gtest.h>

#include "ir/expr.hpp"
#include "random_expr.hpp"

namespace fathom {
namespace {

const Expr i = index(Symbol("i")), j = index(Symbol("j")), n = dim(Symbol("N")), m = dim(Symbol("M"));
Expr c(std::int64_t value) { return number(value); }
Expr floordiv(Expr a, Expr b) { return binary(Op::floordiv, a, b); }
Expr mod(Expr a, Expr b) { return binary(Op::mod, a, b); }
std::string simplified(Expr e) { return print(simplify_integer(e)); }

TEST(SimplifyInteger, preserves_every_value_that_there_is) {
  testing::RandomExpr random(11);
  int compared = 0;
  for (int count = 0; count < 3000; ++count) {
    const Expr e = count % 4 == 0 ? random.condition(4) : random.integer(5);
    const Expr s = simplify_integer(e);
    for (int sample = 0; sample < 6; ++sample) {
      const DimValues values = random.values();
      const auto before = evaluate_integer(e, values);
      if (!before) continue;  // it may gain a value, never change one
      ++compared;
      ASSERT_EQ(before, evaluate_integer(s, values)) << print(e) << "  ->  " << print(s);
    }
  }
  EXPECT_GT(compared, 5000);
}

TEST(SimplifyInteger, is_idempotent) {
  testing::RandomExpr random(12);
  for (int count = 0; count < 2000; ++count) {
    const Expr once = simplify_integer(random.integer(5));
    EXPECT_EQ(simplify_integer(once), once) << print(once) << " -> " << print(simplify_integer(once));
  }
}

TEST(SimplifyInteger, joins_nested_quotients_and_remainders_and_goes_on) {
  const auto quotient = [](Expr a, std::int64_t b) { return binary(Op::floordiv, a, number(b)); };
  const auto remainder = [](Expr a, std::int64_t b) { return binary(Op::mod, a, number(b)); };
  EXPECT_EQ(simplify_integer(quotient(quotient(remainder(j, 8), 3), 4)), number(0));
  EXPECT_EQ(simplify_integer(quotient(quotient(i * number(6) + j, 2), 3)), i + quotient(j, 6));
  EXPECT_EQ(simplify_integer(remainder(remainder(i * number(8) + j, 16), 8)), remainder(j, 8));
}

TEST(SimplifyInteger, gives_equal_sums_one_form) {
  EXPECT_EQ(simplify_integer(i + n - (n - j)), simplify_integer(j + i));
  EXPECT_EQ(simplify_integer((i + c(1)) * c(64) - i * c(64)), c(64));
  EXPECT_EQ(simplify_integer((i + j) * n), simplify_integer(n * j + i * n));
  EXPECT_EQ(simplified(i + (n - m)), "i + N - M");
  EXPECT_EQ(simplified(c(3) - i), "3 - i");
  EXPECT_EQ(simplified(c(0) - i), "-i");
}

TEST(SimplifyInteger, knows_the_identities_of_tiling) {
  EXPECT_EQ(simplified(floordiv(n * m, m)), "N");
  EXPECT_EQ(simplified(floordiv(i * c(64) + j, c(64))), "i + j // 64");
  EXPECT_EQ(simplified(mod(i * c(64) + j, c(64))), "j % 64");
  EXPECT_EQ(simplified(floordiv(mod(i, c(8)), c(8))), "0");
  EXPECT_EQ(simplified(mod(mod(i, c(64)), c(8))), "i % 8");
  EXPECT_EQ(simplified(floordiv(floordiv(i, c(4)), c(16))), "i // 64");
  EXPECT_EQ(simplified(floordiv(c(4) * i + c(3), c(8))), "i // 2");
  EXPECT_EQ(simplified(floordiv(c(1024) + c(47), c(48))), "22");
  EXPECT_EQ(simplified(floordiv(c(-1), c(48))), "-1");
  EXPECT_EQ(simplified(mod(c(-1), c(48))), "47");
  EXPECT_EQ(simplified(floordiv(n, n)), "1");
}

TEST(SimplifyInteger, decides_extrema_and_comparisons_of_constant_distance) {
  EXPECT_EQ(simplified(make(Op::min, {i + c(1), make(Op::min, {i, n})})), "min(i, N)");
  EXPECT_EQ(simplified(make(Op::max, {i - c(1), i})), "i");
  EXPECT_EQ(simplified(make(Op::min, {c(48), make(Op::min, {n, c(64)})})), "min(N, 48)");
  EXPECT_EQ(simplified(binary(Op::le, i, i + c(3))), "true");
  EXPECT_EQ(simplified(where(binary(Op::lt, n, n), i, j)), "j");
}

TEST(SimplifyInteger, never_folds_what_has_no_value) {
  EXPECT_EQ(simplified(floordiv(i, c(0))), "i // 0");
  EXPECT_EQ(simplified(mod(c(3), c(0))), "3 % 0");
  const Expr big = c(INT64_MAX);
  EXPECT_EQ(simplify_integer(big + big), big + big) << "the sum does not fit and stays as it is written";
}

TEST(SimplifyInteger, leaves_a_sum_beyond_its_limits_alone_and_stays_fast) {
  Expr wide = i;
  for (int t = 0; t < 300; ++t) wide = wide + index(Symbol("t" + std::to_string(t))) * c(t);
  DimValues values{{Symbol("i"), 5}};
  for (int t = 0; t < 300; ++t) values[Symbol("t" + std::to_string(t))] = t;
  EXPECT_EQ(evaluate_integer(simplify_integer(wide), values), evaluate_integer(wide, values));
  Expr power = i + j;
  for (int t = 0; t < 40; ++t) power = power * (i + c(t));
  EXPECT_TRUE(simplify_integer(power));
}

TEST(EvaluateInteger, rounds_down_like_the_notation) {
  for (std::int64_t a = -9; a <= 9; ++a)
    for (std::int64_t b = -4; b <= 4; ++b) {
      const auto quotient = evaluate_integer(floordiv(c(a), c(b)), {});
      const auto rest = evaluate_integer(mod(c(a), c(b)), {});
      EXPECT_EQ(quotient.has_value(), b != 0);
      if (b == 0) continue;
      EXPECT_EQ(*quotient * b + *rest, a);
      EXPECT_TRUE(b > 0 ? 0 <= *rest && *rest < b : b < *rest && *rest <= 0);
    }
}

TEST(EvaluateInteger, where_and_logic_are_lazy) {
  const Expr undefined = floordiv(i, c(0));
  const DimValues values{{Symbol("i"), 1}};
  EXPECT_EQ(evaluate_integer(where(boolean(true), i, undefined), values), 1);
  EXPECT_FALSE(evaluate_integer(where(boolean(false), i, undefined), values));
  EXPECT_EQ(evaluate_integer(binary(Op::logical_or, undefined, boolean(true)), values), 1);
  EXPECT_FALSE(evaluate_integer(binary(Op::logical_and, undefined, boolean(true)), values));
}

TEST(EvaluateInteger, has_no_value_for_tensors_overflow_unknown_names_and_fractions) {
  EXPECT_FALSE(evaluate_integer(read(Symbol("page"), {i}), {{Symbol("i"), 0}}));
  EXPECT_EQ(evaluate_integer(read(Symbol("length"), {}), {{Symbol("length"), 7}}), 7) << "a scalar parameter may be given";
  EXPECT_FALSE(evaluate_integer(n, {}));
  EXPECT_FALSE(evaluate_integer(c(INT64_MAX) + c(1), {}));
  EXPECT_EQ(evaluate_integer(c(INT64_MAX) + c(1) - c(1), {}), INT64_MAX) << "intermediates are wider";
  EXPECT_FALSE(evaluate_integer(number(*Rational::make(1, 2)), {}));
  EXPECT_FALSE(evaluate_integer(binary(Op::div, c(7), c(2)), {}));
  EXPECT_EQ(evaluate_integer(binary(Op::div, c(8), c(2)), {}), 4);
  EXPECT_EQ(evaluate_integer(cast(DType::i8, c(300)), {}), 127);
  Expr huge = n;
  for (int t = 0; t < 500; ++t) huge = huge * n;
  EXPECT_FALSE(evaluate_integer(huge, {{Symbol("N"), 10}}));
  EXPECT_FALSE(evaluate_integer(binary(Op::pow, n, c(INT64_MAX)), {{Symbol("N"), 2}}));
  EXPECT_FALSE(constant_integer(Expr()));
}

}  // namespace
}  // namespace fathom
