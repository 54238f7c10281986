// Programs that once came out wrong, one of each kind: fused, unfused and split plans of every level compute what the text says.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

struct Reported {
  const char* name;
  const char* text;
};

const std::vector<Reported> programs = {
    // what is carried took the name of the unnamed reduction inside
    {"a_quotient_by_an_unnamed_sum",
     "dim T = 9\noperator f(a: f32[T], b: f32[T]) -> (o: f32) { o = sum[j](a[j] / sum[k](1 + a[k] ^ 2) * b[j]) }\n"},
    {"an_unnamed_softmax_inside",
     "dim S = 3, T = 9, D = 5\noperator f(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D]) { o[i,d] = sum[j](softmax[j](s[i,j]) * v[j,d]) }\n"},
    // two references: a + b - m - n lost the digits of a - m
    {"a_product_of_two_softmaxes",
     "dim T = 9\noperator f(a: f32[T], b: f32[T]) -> (o: f32) { o = sum[j](softmax[j](a[j]) * softmax[j](b[j])) }\n"},
    // u^p alone squares the range
    {"a_norm_about_its_largest",
     "dim T = 9\noperator f(x: f32[T]) -> (o: f32) { m = max[j](abs(x[j]))\n q = sum[j]((abs(x[j]) / m) ^ 2)\n o = m * sqrt(q) }\n"},
    {"a_norm_about_its_largest_without_abs",
     "dim T = 9\noperator f(x: f32[T]) -> (o: f32) { m = max[j](abs(x[j]))\n o = m * sqrt(sum[j]((x[j] / m) ^ 2)) }\n"},
    // bounded scores lost the reference of the text, and all of exp(u) was 0
    {"a_softmax_of_distances",
     "dim T = 9\noperator f(x: f32[T]) -> (o: f32[T]) { d[i,j] = (x[i] - x[j]) ^ 2\n p[i,j] = softmax[j](where(i == j, -inf, -d[i,j]))\n"
     " o[i] = sum[j](p[i,j] * x[j]) }\n"},
    // one value over two ranges was one tensor
    {"the_same_term_over_two_ranges",
     "dim T = 9\noperator f(s: f32[T]) -> (o: f32, p: f32) { o = sum[j in 0:4](exp(s[j] / 8) * s[j])\n p = sum[j](exp(s[j] / 8)) }\n"},
    // the range of a shared term's axis lost its index
    {"a_term_over_a_range_of_its_row",
     "dim B = 3, N = 9\noperator f(s: f32[N]) -> (o: f32[B]) { m[b in 0:B] = max[j in 0:b+2](s[j] * 2)\n o[b] = sum[j in 0:b+2](exp(s[j] * "
     "2 - "
     "m[b])) }\n"},
    // (s - log l) - m lost the digits of log l
    {"a_divergence_of_two_softmaxes",
     "dim S = 3, T = 9\noperator f(a: f32[S,T], b: f32[S,T]) -> (k: f32[S]) { p[i,j] = logsoftmax[j](a[i,j])\n q[i,j] = "
     "logsoftmax[j](b[i,j])\n"
     " k[i] = sum[j](exp(p[i,j]) * (p[i,j] - q[i,j])) }\n"},
    // the weight of a move was distributed over a difference: m * 2 log2(e) - m' * 2 log2(e)
    {"a_weighted_reference",
     "dim S = 3, T = 9\noperator f(s: f32[S,T], w: f32[T]) -> (a: f32[S], b: f32[S]) { m[i] = max[j](s[i,j])\n a[i] = sum[j](exp(s[i,j] - "
     "m[i]))\n"
     " b[i] = sum[j](exp(3 * (s[i,j] - m[i])) * w[j]) }\n"},
    // x * g alone leaves the range that x / sqrt(c) keeps
    {"a_norm_with_a_gain",
     "dim R = 3, C = 9\noperator f(x: f32[R,C], g: f32[C]) -> (y: f32[R,C]) { c[i] = sum[j](x[i,j] ^ 2) / C\n y[i,j] = x[i,j] * rsqrt(c[i] "
     "+ "
     "1e-6) * g[j] }\n"},
    // 1 / l behind a sum of no elements
    {"a_masked_and_a_plain_term_over_one_sum",
     "dim S = 3, T = 9\noperator f(w: f32[S,T], x: f32[S,T], keep: bool[S,T]) -> (o: f32[S]) {\n l[i] = sum[j](exp(w[i,j] / 8))\n"
     " o[i] = sum[j](where(keep[i,j], x[i,j] / l[i], 0) + w[i,j] / l[i]) }\n"},
    {"weights_of_what_a_mask_lets_through",
     "dim S = 3, T = 9\noperator f(w: f32[S,T], x: f32[S,T], keep: bool[S,T]) -> (o: f32[S]) {\n l[i] = sum[j](where(keep[i,j], exp(w[i,j] "
     "/ 8), 0))\n"
     " o[i] = sum[j](where(keep[i,j], exp(w[i,j] / 8) / l[i] * x[i,j], 0)) }\n"},
    // what underflows on the way is multiplied by a factor above 1 that was put behind the sum
    {"a_norm_under_a_product",
     "dim S = 4, T = 5, D = 9\noperator f(x: f32[S,D], w: f32[D,T]) -> (o: f32[S,T]) { h[i,d] = rmsnorm[d](x[i,d], 1e-5)\n"
     " o[i,j] = sum[d](h[i,d] * w[d,j]) }\n"},
    {"a_weighted_mean",
     "dim S = 4, T = 9, D = 5\noperator f(w: f32[S,T], x: f32[T,D]) -> (o: f32[S,D]) { n[i] = sum[j](w[i,j] ^ 2)\n"
     " o[i,d] = sum[j](w[i,j] ^ 2 / n[i] * x[j,d]) }\n"},
    // two components fold one value and have different identities: in a tile that is cut each needs its own
    {"a_smallest_and_a_largest_in_one_reducer",
     "reducer range(x) { state l = inf, h = -inf\n lift (x, x)\n combine (min(l, l'), max(h, h'))\n result width = h - l }\n"
     "dim S = 3, T = 9\noperator f(x: f32[S,T]) -> (o: f32[S]) { o[i] = range[j](x[i,j]) }\n"},
    {"a_sum_and_a_product_in_one_reducer",
     "reducer both(x) { state s = 0, p = 1\n lift (x, x)\n combine (s + s', p * p')\n result total = s + p }\n"
     "dim S = 3, T = 9\noperator f(x: f32[S,T]) -> (o: f32[S]) { o[i] = both[j](tanh(x[i,j])) }\n"},
    // a factor that the first round of moves brought to light was moved and lost
    {"a_largest_share",
     "dim S = 3, T = 9\noperator f(x: f32[S,T]) -> (o: f32[S]) { l[i] = sum[j](abs(x[i,j]))\n o[i] = max[j](abs(x[i,j] / l[i])) }\n"},
    {"a_largest_of_a_norm",
     "dim S = 3, T = 9\noperator f(x: f32[S,T]) -> (o: f32[S]) { h[i,j] = rmsnorm[j](x[i,j], 1e-5)\n o[i] = max[j](abs(h[i,j])) }\n"},
    {"a_largest_of_a_named_product",
     "dim S = 3, T = 9\noperator f(x: f32[S,T], w: f32[T]) -> (o: f32[S], p: f32[S]) { b[i] = sum[j](x[i,j] ^ 2)\n z[i,j] = w[j] / (1 + "
     "b[i])\n"
     " o[i] = max[j](z[i,j] * x[i,j])\n p[i] = min[j](z[i,j] * x[i,j]) }\n"},
    // x^2 / l^2: the square alone leaves the range that the ratio keeps
    {"a_largest_square_of_a_share",
     "dim S = 3, T = 9\noperator f(x: f32[S,T]) -> (o: f32[S], p: f32[S]) { l[i] = sum[j](abs(x[i,j]))\n o[i] = max[j]((x[i,j] / l[i]) ^ "
     "2)\n"
     " p[i] = sum[j]((x[i,j] / l[i]) ^ 2) }\n"},
    {"a_power_of_a_ratio_beside_weights",
     "dim S = 3, T = 9\noperator f(x: f32[S,T], z: f32[S,T]) -> (o: f32[S]) { a[i] = max[j](x[i,j])\n m[i] = max[j](abs(z[i,j]))\n"
     " o[i] = sum[j](exp(x[i,j] - a[i]) * (z[i,j] / m[i]) ^ 2) }\n"},
    // exp(a - m) * exp(b - n) with one reference of an earlier pass became exp(a + b - m - n)
    {"weights_by_two_references",
     "dim S = 3, T = 9\noperator f(x: f32[S,T], z: f32[S,T]) -> (o: f32[S]) { l[i] = logsumexp[j](x[i,j])\n"
     " s[i,j] = z[i,j] * tanh(l[i] - x[i,j])\n o[i] = sum[j](softmax[j](s[i,j]) * exp(x[i,j] - l[i])) }\n"},
    {"a_mean_of_two_softmaxes",
     "dim S = 3, T = 9\noperator f(x: f32[S,T], z: f32[S,T]) -> (o: f32[S]) { a[i,j] = softmax[j](x[i,j])\n b[i,j] = softmax[j](z[i,j])\n"
     " o[i] = sum[j](where(a[i,j] > 0, a[i,j] * log(a[i,j] / (0.5 * (a[i,j] + b[i,j]))), 0)) }\n"},
    // the guard of a row stood in the exponent alone: 0 times 1 / 0
    {"columns_of_a_softmax_with_masked_rows",
     "dim S = 5, T = 3\noperator f(s: f32[S,T]) -> (o: f32[T], p: f32[T]) { w[i,j] = softmax[j](where(j <= i + (T - S), s[i,j], -inf))\n"
     " o[j] = sum[i](w[i,j])\n p[j] = max[i](w[i,j]) }\n"},
    // of a row without elements the weights are divided by 0
    {"masked_weights_under_their_own_maximum",
     "dim S = 9, T = 9, D = 5\noperator f(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D]) { m[i] = max[j](where(j <= i - 5, s[i,j], -inf))\n"
     " l[i] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]), 0))\n o[i,d] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]) / l[i] * v[j,d], 0)) "
     "}\n"},
    {"masked_weights_of_an_earlier_pass",
     "dim S = 9, T = 9, D = 5\noperator f(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D], q: f32[S]) { m[i] = max[j](s[i,j])\n"
     " l[i] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]), 0))\n q[i] = prod[j](l[i] + s[i,j])\n"
     " o[i,d] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]) / l[i] * v[j,d] * cos(q[i] * v[j,d]), 0)) }\n"}};

class ReportedPrograms : public testing::TestWithParam<Reported> {};

TEST_P(ReportedPrograms, come_out_right) {
  for (const std::string target : {"blackboard", "x86-64-v4"}) {
    SCOPED_TRACE(target);
    const Compiled fused = compiled(GetParam().text, {}, {}, target);
    ASSERT_TRUE(fused);
    const std::vector<std::string> families = {"gaussian", "ascending", "descending", "one-hot", "large", "small-integers", "tiny"};
    for (const Choices& choices : {Choices{}, all_of(*fused, "fuse", "no"), all_of(*fused, "fold", "split-k")}) {
      const Compiled c = compiled(GetParam().text, {}, choices, target);
      ASSERT_TRUE(c);
      expect_right_on(*c, families);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(, ReportedPrograms, testing::ValuesIn(programs),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Entropy, of_scores_that_are_partly_minus_infinity) {
  const char* text =
      "dim S = 3, T = 9\noperator f(s: f32[S,T]) -> (h: f32[S]) { p[i,j] = softmax[j](s[i,j])\n"
      " h[i] = -sum[j](where(p[i,j] > 0, p[i,j] * log(p[i,j]), 0)) }\n";
  for (const std::string target : {"blackboard", "x86-64-v4"}) {
    const Compiled c = compiled(text, {}, {}, target);
    ASSERT_TRUE(c);
    const DimValues dims = math::default_dims(c->program);
    interp::Arrays inputs = interp::make_inputs(c->program, dims, "gaussian", 3);
    std::vector<double>& scores = inputs.at(Symbol("s")).data;
    for (std::size_t i = 0; i < scores.size(); i += 2) scores[i] = -std::numeric_limits<double>::infinity();
    const Outcome outcome = expect_right(*c, inputs, dims, false, target);
    EXPECT_EQ(outcome.undefined, 0);
    EXPECT_GT(outcome.passed, 0);
  }
}

TEST(EmptySums, divided_behind_the_sum_are_zero) {
  const std::string head = "dim T = runtime 9\noperator f(w: f32[T], x: f32[T]) -> (o: f32) { l = sum[j](exp(w[j]))\n";
  for (const std::string body : {"o = sum[j](exp(w[j]) / l * x[j])", "o = sum[j](exp(w[j]) / l + exp(x[j]))"})
    for (const std::string target : {"blackboard", "x86-64-v4"}) {
      SCOPED_TRACE(body + " on " + target);
      const Compiled c = compiled(head + " " + body + " }\n", {}, {}, target);
      ASSERT_TRUE(c);
      for (const std::int64_t length : {0, 1, 9}) {
        const DimValues dims = {{Symbol("T"), length}};
        expect_right(*c, interp::make_inputs(c->program, dims, "gaussian", 3), dims, false, "T = " + std::to_string(length));
      }
    }
}

TEST(MaskedSums, under_a_maximum_of_all_elements_are_zero_where_the_mask_leaves_none) {
  const char* text =
      "dim S = 9, T = 9, D = 5\noperator f(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D]) { m[i] = max[j](s[i,j])\n"
      " l[i] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]), 0))\n o[i,d] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]) / l[i] * v[j,d], "
      "0)) }\n";
  for (const std::string target : {"blackboard", "x86-64-v4"}) {
    SCOPED_TRACE(target);
    const Compiled c = compiled(text, {}, {}, target);
    ASSERT_TRUE(c);
    expect_right_on(*c, {"gaussian", "ascending", "descending", "one-hot", "large", "small-integers"});
  }
}

TEST(MaskedSums, keep_the_terms_that_no_mask_leaves_out) {
  const char* text =
      "dim T = 9\noperator f(w: f32[T], x: f32[T], keep: bool[T]) -> (o: f32) { l = sum[j](exp(w[j]))\n"
      " o = sum[j](where(keep[j], x[j] / l, 0) + w[j] / l) }\n";
  for (const std::string target : {"blackboard", "x86-64-v4"}) {
    const Compiled c = compiled(text, {}, {}, target);
    ASSERT_TRUE(c);
    const DimValues dims = math::default_dims(c->program);
    interp::Arrays inputs = interp::make_inputs(c->program, dims, "gaussian", 3);
    std::fill(inputs.at(Symbol("keep")).data.begin(), inputs.at(Symbol("keep")).data.end(), 0.0);
    EXPECT_GT(expect_right(*c, inputs, dims, false, target).passed, 0);
  }
}

TEST(Growth, a_chain_of_statements_that_read_their_operand_twice_compiles_in_time) {
  std::string text = "dim T = 4\noperator f(x: f32[T]) -> (y: f32[T]) {\n y0[j] = x[j]\n";
  for (int i = 1; i < 40; ++i) text += fmt::format(" y{0}[j] = exp(y{1}[j]) + y{1}[j]\n", i, i - 1);
  // Doubling at every statement would not end in any test's time.
  ASSERT_TRUE(compiled(text + " y[j] = y39[j] * 2\n}\n"));
}

}  // namespace
}  // namespace fathom::session_tests
