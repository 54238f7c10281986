// Laws of the bounds that decide about masks: what is shown must hold for every value; what must be shown for causal tiles is shown.
#include "passes/tile_arith.hpp"

#include <gtest/gtest.h>

#include "lang/lang.hpp"

namespace fathom::passes {
namespace {

Expr sym(const char* name) { return symbol(Symbol(std::string_view(name))); }
Expr idx(const char* name) { return index(Symbol(std::string_view(name))); }
Expr dimension(const char* name) { return dim(Symbol(std::string_view(name))); }
Expr n(std::int64_t value) { return number(Rational(value)); }

/// j0 = jt*64, i0 in 0:S, rows i of 48: the facts of a causal loop.
Facts causal(Expr first_trip, Expr last_trip) {
  Facts f;
  f.lets[sym("j0")] = sym("jt") * n(64);
  f.trips[sym("jt")] = {first_trip, last_trip};
  f.spans[idx("j")] = {n(0), n(64)};
  f.spans[idx("i")] = {n(0), n(48)};
  f.spans[sym("i0")] = {n(0), dimension("S")};
  f.elements[idx("i")] = {n(0), dimension("S")};
  f.bases[idx("i")] = sym("i0");
  return f;
}

Expr mask() { return binary(Op::le, sym("j0") + idx("j"), sym("i0") + idx("i") + (dimension("T") - dimension("S"))); }

TEST(Bounds, a_causal_mask_holds_in_the_tiles_left_of_the_diagonal_and_is_not_claimed_beyond) {
  const Expr left = binary(Op::floordiv, sym("i0") + (dimension("T") - dimension("S")) + n(1), n(64));
  EXPECT_TRUE(always_true(mask(), causal(n(0), left)));
  EXPECT_FALSE(always_true(mask(), causal(n(0), left + n(1))));
  EXPECT_TRUE(always_true(mask(), causal(n(0), make(Op::min, {dimension("T"), left}))));
}

TEST(Bounds, outside_the_keys_a_causal_mask_is_false_for_every_row_that_exists) {
  Facts f = causal(n(0), dimension("T"));
  f.lets.clear();
  f.bases[idx("j")] = sym("j0");
  f.elements[idx("j")] = {dimension("T"), dimension("T") + n(64)};
  EXPECT_TRUE(always_false(mask(), f));
  EXPECT_FALSE(always_false(binary(Op::le, sym("j0") + idx("j"), sym("i0") + idx("i") + (dimension("T") - dimension("S")) + n(1)), f));
}

TEST(Bounds, quotients_and_remainders_stay_on_the_safe_side) {
  Facts f;
  f.spans[sym("t")] = {n(0), n(176)};
  EXPECT_TRUE(never_negative(n(21 * 48) - binary(Op::mod, sym("t"), n(22)) * n(48), f));
  EXPECT_FALSE(never_negative(n(21 * 48 - 1) - binary(Op::mod, sym("t"), n(22)) * n(48), f));
  EXPECT_TRUE(never_negative(n(7) - binary(Op::floordiv, sym("t"), n(22)), f));
  EXPECT_FALSE(never_negative(n(6) - binary(Op::floordiv, sym("t"), n(22)), f));
}

TEST(Bounds, a_quotient_is_bounded_as_tightly_as_its_dividend) {
  Facts f;
  f.spans[sym("a")] = {n(0), n(1024)};
  const Expr quotient = binary(Op::floordiv, make(Op::min, {sym("a") + n(47), n(1023)}), n(64));
  EXPECT_TRUE(never_negative(n(15) - quotient, f));
  EXPECT_FALSE(never_negative(n(14) - quotient, f));
  EXPECT_TRUE(never_negative(quotient, f));
  EXPECT_FALSE(never_negative(quotient - n(1), f));
}

TEST(Bounds, a_product_of_what_is_not_negative_is_not_negative) {
  Facts f;
  f.spans[sym("part")] = {n(0), n(4)};
  const Expr share = binary(Op::floordiv, dimension("T") + n(511), n(512));
  EXPECT_TRUE(never_negative(sym("part") * share, f));
  EXPECT_FALSE(never_negative(sym("part") * share - n(1), f));
  EXPECT_FALSE(never_negative(-(sym("part") * share), f));
  EXPECT_FALSE(never_negative(sym("part") * (share - n(1)), f));
}

/// What the facts decide is the same number for every value that they allow.
TEST(Bounds, ends_decided_by_facts_keep_their_value) {
  Facts f;
  f.spans[sym("a")] = {n(0), n(13)};
  const std::vector<std::pair<Expr, std::string>> cases = {
      {make(Op::max, {n(0), sym("a") - n(12)}), "0"},
      {make(Op::max, {n(0), sym("a") - n(11)}), "max(0, a - 11)"},
      {make(Op::max, {n(0), make(Op::min, {n(4), binary(Op::floordiv, sym("a") + n(3), n(4))})}), "(a + 3) // 4"},
      {make(Op::min, {n(3), binary(Op::floordiv, sym("a"), n(4))}), "a // 4"},
      {make(Op::min, {n(2), binary(Op::floordiv, sym("a"), n(4))}), "min(2, a // 4)"},
      {make(Op::max, {sym("a") * n(4), sym("a") * n(4) + n(4)}), "a * 4 + 4"}};
  for (const auto& [e, text] : cases) {
    const Expr decided = with_ends_decided(e, f);
    EXPECT_EQ(print(decided), text);
    for (std::int64_t a = 0; a < 13; ++a)
      EXPECT_EQ(evaluate_integer(substitute(decided, {{sym("a"), n(a)}}), {}), evaluate_integer(substitute(e, {{sym("a"), n(a)}}), {}));
  }
}

TEST(Bounds, nothing_is_known_about_names_without_facts) {
  EXPECT_FALSE(never_negative(sym("x"), {}));
  EXPECT_TRUE(never_negative(dimension("T"), {}));
  EXPECT_FALSE(never_negative(dimension("T") - n(1), {}));
}

TEST(Constants, folding_divides_by_powers_of_two_as_products_and_keeps_other_quotients) {
  const Expr x = read("x"_sym, {});
  EXPECT_EQ(print(fold_constants(x / unary(Op::sqrt, n(64)))), "x * 0.125");
  EXPECT_EQ(print(fold_constants(x / n(3))), "x / 3");
}

TEST(Constants, a_constant_parses_back_to_the_same_node) {
  for (const double value : {0.125, 1.4426950408889634, 0.18033688011112042, 1e-39, -2.5}) {
    const Expr e = real_constant(value);
    const auto back = lang::parse_expression(print(e));
    ASSERT_TRUE(back);
    EXPECT_EQ(print(*back), print(e));
    EXPECT_EQ(constant_value(*back), value);
  }
}

}  // namespace
}  // namespace fathom::passes
