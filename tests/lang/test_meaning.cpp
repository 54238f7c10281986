// What texts mean: ranges of indices, conditions, calls, reducers and their laws, types; several errors in one run.
#include <gtest/gtest.h>

#include "lang/lang.hpp"
#include "lang/linear.hpp"

namespace fathom {
namespace {

math::Program checked(const std::string& text, const std::map<std::string, std::int64_t>& dims = {}) {
  auto file = lang::parse_file(text, dims);
  if (!file) {
    ADD_FAILURE() << render(file.error(), "text", text);
    return {};
  }
  return file->operators.at(0);
}

Diagnostics errors_of(const std::string& text) {
  auto file = lang::parse_file(text);
  EXPECT_FALSE(file.has_value()) << text;
  return file ? Diagnostics{} : file.error();
}

const math::Reduction& reduction(const math::Program& program, const char* name) { return *program.find(Symbol(name))->reduction(); }

TEST(Ranges, follow_from_the_dimensions_an_index_subscribes) {
  const auto program = checked("dim A = 3, B = 5 operator f(x: f32[A, B]) -> (o: f32[A]) { o[i] = sum[j](x[i,j]) }");
  EXPECT_EQ(program.find("o"_sym)->axes[0].hi, dim("A"_sym));
  EXPECT_EQ(reduction(program, "o").over[0].lo, number(0));
  EXPECT_EQ(reduction(program, "o").over[0].hi, dim("B"_sym));
}

TEST(Ranges, of_an_index_that_stands_as_quotient_is_the_dimension_times_the_divisor) {
  const auto program = checked("dim M = 3, P = 4 operator f(x: f32[M, P]) -> (o: f32) { o = sum[j](x[j // P, j % P]) }");
  EXPECT_EQ(evaluate_integer(reduction(program, "o").over[0].hi, math::default_dims(program)), 12);
}

TEST(Ranges, equal_sizes_of_different_fixed_dimensions_become_a_condition) {
  const auto program = checked("dim A = 4, B = 4 operator f(x: f32[A], y: f32[B]) -> (o: f32) { o = sum[i](x[i] * y[i]) }");
  ASSERT_EQ(program.conditions.size(), 1U);
  EXPECT_EQ(print(program.conditions[0]), "A == B");
}

TEST(Ranges, run_time_sizes_are_equal_only_by_a_condition) {
  const std::string body = "{ o = sum[i](x[i] * y[i]) }";
  const std::string head = "dim A = runtime 4, B = runtime 4 operator f(x: f32[A], y: f32[B]) -> (o: f32) ";
  EXPECT_TRUE(lang::parse_file(head + "where A == B " + body).has_value());
  EXPECT_FALSE(lang::parse_file(head + body).has_value());
}

TEST(Ranges, subscripts_are_judged_under_the_conditions_around_them) {
  const std::string head = "dim N = runtime 16, W = 4 operator f(x: f32[N], n: i32) -> (o: f32[N]) where n <= N { o[i] = ";
  const auto accepts = [&](const std::string& value) { return lang::parse_file(head + value + " }").has_value(); };
  EXPECT_TRUE(accepts("x[N - 1 - i]"));
  EXPECT_TRUE(accepts("where(i > 0, x[i - 1], 0)"));
  EXPECT_TRUE(accepts("where(i == 0, 0, x[i - 1])"));
  EXPECT_TRUE(accepts("where(i < 1 or n > N, 0, x[i - 1])"));
  EXPECT_TRUE(accepts("where(not (i + 1 >= N), x[i + 1], 0)"));
  EXPECT_TRUE(accepts("x[max(i - 1, 0)]"));
  EXPECT_TRUE(accepts("x[min(i + 3, N - 1)]"));
  EXPECT_TRUE(accepts("x[i // 2]"));
  EXPECT_TRUE(accepts("sum[j in max(0, i - W + 1):i + 1](x[j])"));
  EXPECT_TRUE(accepts("sum[j in 0:n](x[j])"));
  EXPECT_FALSE(accepts("x[N - i]"));
  EXPECT_FALSE(accepts("where(i > 0, x[i - 2], 0)"));
  EXPECT_FALSE(accepts("where(i > 0 or n > 2, x[i - 1], 0)"));
  EXPECT_FALSE(accepts("x[max(i - 1, 1)]"));
  EXPECT_FALSE(accepts("sum[j in i - W:i + 1](x[j])"));
  EXPECT_FALSE(accepts("sum[j in 0:n + 1](x[j])"));
}

TEST(Ranges, a_dimension_of_zero_has_no_subscript_to_judge) {
  EXPECT_TRUE(lang::parse_file("dim T = 8 operator f(x: f32[T]) -> (o: f32) { o = sum[j](x[j]) }", {{"T", 0}}).has_value());
}

TEST(Dimensions, overrides_replace_values_before_shapes_are_compared) {
  const std::string text = "dim A = 4, B = 4 operator f(x: f32[A], y: f32[B]) -> (o: f32) { o = sum[i](x[i] * y[i]) }";
  EXPECT_EQ(checked(text, {{"A", 7}, {"B", 7}}).dims[0].value, 7);
  EXPECT_FALSE(lang::parse_file(text, {{"A", 7}}).has_value());
  EXPECT_FALSE(lang::parse_file(text, {{"C", 7}}).has_value());
}

TEST(Facts, about_remainders_bound_what_they_are_of) {
  lang::Facts facts({});
  const Expr j = index("j"_sym);
  const auto rest = [&](std::int64_t c) { return binary(Op::mod, j, number(c)); };
  facts.add_range(j, number(0), number(64));
  const auto under = [&](Expr condition, bool holds, Expr e) {
    lang::Facts inner = facts;
    inner.add_condition(condition, holds);
    return inner.implies_not_negative(e);
  };
  EXPECT_TRUE(under(binary(Op::eq, rest(2), number(0)), false, j - number(1))) << "an odd number is not 0";
  EXPECT_FALSE(under(binary(Op::eq, rest(2), number(0)), true, j - number(1)));
  EXPECT_FALSE(under(binary(Op::eq, rest(2), number(0)), false, j - number(2))) << "1 is odd";
  EXPECT_TRUE(under(binary(Op::eq, rest(5), number(3)), true, j - number(3)));
  EXPECT_FALSE(under(binary(Op::eq, rest(5), number(3)), true, j - number(4)));
  EXPECT_TRUE(under(binary(Op::eq, rest(2), number(0)), true, number(62) - j)) << "63 is odd";
  EXPECT_FALSE(under(binary(Op::eq, rest(2), number(0)), true, number(61) - j));
}

TEST(Facts, hold_for_all_integers_and_only_then) {
  lang::Facts facts({{"N"_sym, 16}});
  const Expr i = index("i"_sym), n = dim("N"_sym), t = dim("T"_sym);
  facts.add_range(i, number(0), n);
  EXPECT_TRUE(facts.implies_not_negative(n - number(1) - i));
  EXPECT_FALSE(facts.implies_not_negative(n - number(2) - i));
  EXPECT_TRUE(facts.implies_not_negative(t));
  EXPECT_TRUE(facts.implies_not_negative(binary(Op::mod, i, number(4))));
  EXPECT_TRUE(facts.implies_not_negative(number(3) - binary(Op::mod, i, number(4))));
  EXPECT_TRUE(facts.implies_not_negative(number(3) - binary(Op::floordiv, i, number(4))));
  EXPECT_FALSE(facts.implies_not_negative(number(2) - binary(Op::floordiv, i, number(4))));
}

TEST(Reductions, argmax_takes_one_value_and_the_index_is_implicit) {
  const auto program = checked("dim T = 8 operator f(x: f32[T]) -> (o: i32) { o = argmax[j](x[j]) }");
  ASSERT_EQ(reduction(program, "o").values.size(), 2U);
  EXPECT_EQ(reduction(program, "o").values[1], index("j"_sym));
}

TEST(Calls, keep_the_text_and_bring_their_functions) {
  const auto program = checked("dim T = 8 operator f(x: f32[T]) -> (o: f32[T]) { o[j] = softmax[j](x[j]) }");
  EXPECT_TRUE(program.find("o"_sym)->map()->value.is(Op::call));
  ASSERT_EQ(program.functions.size(), 1U);
  EXPECT_EQ(program.functions[0].name, "softmax"_sym);
  EXPECT_EQ(program.functions[0].span.source, 1U);
}

TEST(Calls, over_a_range_of_their_own_are_put_in) {
  const auto program = checked("dim T = 8 operator f(x: f32[T]) -> (o: f32) { o = mean[j in 0:T // 2](x[j]) }");
  EXPECT_NE(print(program.find("o"_sym)->map()->value).find("sum[j in 0:T // 2](x[j])"), std::string::npos);
}

TEST(Calls, that_are_put_in_bind_each_index_once) {
  const auto program = checked("dim T = 8, B = 2 operator f(x: f32[T], n: i32[B]) -> (o: f32[B]) { o[b] = logsumexp[j in 0:n[b]](x[j]) }");
  const auto verified = math::verify(program);
  EXPECT_TRUE(verified.has_value()) << verified.error().reason;
  const auto again = lang::parse_math(math::print(program));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(math::print(*again), math::print(program));
}

TEST(Prelude, has_no_errors_and_can_be_hidden) {
  EXPECT_TRUE(lang::parse_file(std::string(lang::prelude()) + "dim T = 4 operator f(x: f32[T]) -> (o: f32[T]) { o[j] = softmax[j](x[j]) }")
                  .has_value());
}

TEST(Reducers, laws_are_found_by_their_samples) {
  const std::string op = "operator f(x: f32[T]) -> (o: f32) { o = r[j](x[j], j) }";
  const auto first = checked(
      "dim T = 8 reducer r(x, i) { state v = -inf, at: i32 = 2147483647 lift (x, i) combine (where(v >= v', v, v'), where(v > v' or v == "
      "v' and at <= at', at, at')) }" +
      op);
  EXPECT_TRUE(first.reducers.at(0)->commutative);
  EXPECT_TRUE(first.reducers.at(0)->idempotent);
  const auto latest = checked(
      "dim T = 8 reducer r(x, i) { state v = -inf, p = 0 lift (x, i) combine (where(v >= v', v, v'), where(v >= v', p, p')) }" + op);
  EXPECT_FALSE(latest.reducers.at(0)->commutative);
  const auto pairs = checked("dim T = 8 reducer r(x, i) { state a = 0, b = 0 lift (x, x * x) combine (a + a', b + b') }" + op);
  EXPECT_TRUE(pairs.reducers.at(0)->commutative);
  EXPECT_FALSE(pairs.reducers.at(0)->idempotent);
}

TEST(Reducers, an_element_at_the_identity_of_one_component_may_change_the_others) {
  const auto accepts = [](const std::string& reducer) {
    return lang::parse_file("dim T = 8 reducer r(x) { " + reducer + " } operator f(x: f32[T]) -> (o: f32) { o = r[j](x[j]) }").has_value();
  };
  EXPECT_TRUE(accepts("state l = inf, h = -inf lift (x, x) combine (min(l, l'), max(h, h'))"));
  EXPECT_TRUE(accepts("state h = -inf, n = 0 lift (x, 1) combine (max(h, h'), n + n')")) << "each element counts";
  EXPECT_TRUE(accepts("state h = -inf, some: bool = false, s = 0 lift (x, x > 0, x) combine (max(h, h'), some or some', s + s')"));
  const std::string m = "max(m, m')";
  const std::string guarded = "where(m == -inf, 0, l * exp(m - " + m + ")) + where(m' == -inf, 0, l' * exp(m' - " + m + "))";
  EXPECT_TRUE(accepts("state m = -inf, l = 0 lift (x, 1) combine (" + m + ", " + guarded + ")")) << "-inf is masked out";
  EXPECT_FALSE(accepts("state l = inf, h = -inf lift (x, x) combine (min(l, l'), max(h, l'))"));
  EXPECT_FALSE(accepts("state l = inf, h = -inf lift (x, x) combine (min(l, l'), where(l == -inf, h', max(h, h')))"));
  EXPECT_FALSE(accepts("state l = inf, h = 0 lift (x, x) combine (min(l, l'), max(h, h'))")) << "0 is not the least";
}

TEST(Dimensions, that_are_declared_may_be_set_whether_they_are_used_or_not) {
  const std::string text = "dim T = 8, K = 5 const c = 2 operator f(x: f32[T]) -> (o: f32[T]) { o[j] = c * x[j] }";
  EXPECT_EQ(checked(text, {{"K", 7}, {"T", 3}}).dimension("T"_sym)->value, 3);
  for (const std::string name : {"Q", "c", "x"}) {
    const auto file = lang::parse_file(text, {{name, 7}});
    ASSERT_FALSE(file.has_value()) << name;
    EXPECT_NE(file.error()[0].message.find("there is no dimension `" + name + "`"), std::string::npos);
  }
}

TEST(Diagnostics, several_statements_are_reported_in_one_run) {
  const auto errors = errors_of(
      "dim N = 4\noperator f(x: f32[N]) -> (o: f32[N])\n{\n  a[i] = x[i] +\n  b[i] = y[i]\n  c[i] = exp(x[i]\n  d[i] = z[i]\n  o[i] = "
      "x[i-1]\n}\n");
  EXPECT_GE(errors.size(), 3U);
  EXPECT_TRUE(std::is_sorted(errors.begin(), errors.end(), [](const auto& a, const auto& b) { return a.span < b.span; }));
}

TEST(Diagnostics, name_the_nearest_name_and_both_ranges) {
  const auto errors = errors_of("dim N = 4 operator f(value: f32[N]) -> (o: f32[N]) { a[i] = vaule[i] o[i] = value[i-1] }");
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].cure, "Did you mean `value`?");
  EXPECT_EQ(errors[1].message, "`i - 1` runs over -1:3, but `value` is 0:N (N = 4)");
}

TEST(Expressions, print_and_parse_to_the_same_node) {
  for (const char* text : {"-2 ^ 2", "(-2) ^ 2", "-(3)", "a - (b - c)", "a / (b * c)", "not a and b or c", "where(a < b, -inf, 1e-39)",
                           "x[i,j + 1] // 2 % 3", "sum[j in 0:T](x[j] * y[j])", "f16(a) * 0.125", "max(a, min(b, c))", "p.m - p.m~'",
                           "argmax.value[j](s[j], j)", "acc[(n,y),i]", "2 ^ -x ^ 2"}) {
    const auto parsed = lang::parse_expression(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(print(*parsed), text);
    const auto again = lang::parse_expression(print(*parsed));
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(*again, *parsed) << text;
  }
}

TEST(Expressions, of_a_scope_know_its_names_only) {
  const auto program = checked("dim T = 8 operator f(x: f32[T], tau: f32) -> (o: f32) { o = sum[j](x[j]) * tau }");
  EXPECT_TRUE(lang::parse_expression("tau * T", &program).has_value());
  const auto unknown = lang::parse_expression("tua * T", &program);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().at(0).cure, "Did you mean `tau`?");
}

TEST(MathText, repairs_are_read_back) {
  const std::string text = R"(dim T = 8

operator f(s: f32[T]) -> (l: f32)
{
  m = max[j](s[j])
  e[j] = exp(s[j] - m~)
  l = sum[j](e[j]) with repair {
    gauge m~ = m
    carry l: sum term e[j] move l * exp(m~ - m~')
    project l
  }
}
)";
  const auto program = lang::parse_math(text);
  ASSERT_TRUE(program.has_value()) << render(program.error(), "text", text);
  EXPECT_EQ(math::print(*program), text);
  const math::Repair& repair = *reduction(*program, "l").repair;
  EXPECT_EQ(print(repair.carried.at(0).move), "l * exp(m~ - m~')");
  EXPECT_TRUE(repair.project.is(Op::symbol));
}

}  // namespace
}  // namespace fathom
