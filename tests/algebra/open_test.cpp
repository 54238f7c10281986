// Opening: every reduction a statement, names as docs/architecture.md fixes them, values unchanged.
#include "algebra_test.hpp"

namespace fathom::algebra {
namespace {

std::string statements_of(const math::Program& program) {
  std::string text;
  for (const math::Statement& statement : program.statements) text += math::print(statement) + "\n";
  return text;
}

TEST(Open, names_are_those_of_the_architecture) {
  EXPECT_EQ(statements_of(program_of("p[j] = softmax[j](s[j]) o = sum[j](p[j] * v[j]) / 2")),
            "p.m = max[j](s[j])\np.e[j] = exp(s[j] - p.m)\np.sum = sum[j](p.e[j])\np[j] = where(p.m == -inf, 0, p.e[j] / p.sum)\no.sum = "
            "sum[j](p[j] * v[j])\no = o.sum / 2\n");
}

TEST(Open, a_second_unnamed_reduction_is_numbered_and_an_equal_one_is_shared) {
  EXPECT_EQ(statements_of(program_of("o = sum[j](s[j]) * sum[j](t[j]) + sum[j](s[j])")),
            "o.sum = sum[j](s[j])\no.sum.2 = sum[j](t[j])\no = o.sum * o.sum.2 + o.sum\n");
}

TEST(Open, reductions_inside_reductions_keep_the_outer_index_free) {
  const math::Program opened = program_of("o = sum[j](s[j] * max[k in 0:j + 1](t[k]))");
  EXPECT_TRUE(math::is_opened(opened));
  const math::Statement* inner = opened.find(Symbol("o.max"));
  ASSERT_NE(inner, nullptr);
  ASSERT_EQ(inner->axes.size(), 1U);
  EXPECT_EQ(inner->axes[0].index, Symbol("j"));
  EXPECT_EQ(print(simplify_integer(inner->reduction()->over[0].hi)), "j + 1");
  EXPECT_EQ(print(opened.find(Symbol("o"))->reduction()->values[0]), "s[j] * o.max[j]");
}

TEST(Open, what_a_select_keeps_from_being_loaded_is_not_loaded_by_a_hoisted_reduction) {
  const math::Program opened = program_of("y[j in 0:T] = where(j > 0, sum[k in 0:4](s[j - 1] * t[k]), 0) o = sum[j](y[j])");
  const math::Statement* hoisted = opened.find(Symbol("y.sum"));
  ASSERT_NE(hoisted, nullptr);
  EXPECT_EQ(print(hoisted->reduction()->values[0]), "where(j > 0, s[j - 1] * t[k], 0)");
}

TEST(Open, two_calls_in_one_statement_do_not_share_names) {
  const math::Program opened = program_of("y[j] = softmax[j](s[j]) * softmax[j](t[j]) o = sum[j](y[j])");
  EXPECT_TRUE(math::is_opened(opened));
  EXPECT_NE(opened.find(Symbol("y.m")), nullptr);
  EXPECT_NE(opened.find(Symbol("y.m.2")), nullptr);
  EXPECT_TRUE(math::verify(opened));
}

TEST(Open, every_indexed_function_of_the_prelude_opens) {
  for (const std::string call : {"softmax[j](s[j])", "logsoftmax[j](s[j])", "rmsnorm[j](s[j], eps)", "layernorm[j](s[j], eps)",
                                 "l2norm[j](s[j], eps)", "gelu(s[j])", "silu(s[j])", "s[j] - mean[j](s[j])", "s[j] * variance[j](s[j])"}) {
    const math::Program opened = program_of("y[j] = " + call + " o = sum[j](y[j])");
    EXPECT_TRUE(math::is_opened(opened)) << call;
    const auto valid = math::verify(opened);
    EXPECT_TRUE(valid) << call << (valid ? "" : valid.error().reason) << statements_of(opened);
  }
  for (const std::string call : {"logsumexp[j](s[j])"}) {
    const math::Program opened = program_of("o = " + call);
    EXPECT_TRUE(math::is_opened(opened)) << call;
    const auto valid = math::verify(opened);
    EXPECT_TRUE(valid) << call << (valid ? "" : valid.error().reason) << statements_of(opened);
  }
}

}  // namespace
}  // namespace fathom::algebra
