// Bounds hold for an honest f32 run and are not vacuous: the faults that fused kernels really have fall outside.
#include "files.hpp"
#include "interp_test.hpp"

namespace fathom::interp {
namespace {

using test::replaced;

const char* const attention =
    "dim B = 1, H = 2, S = 12, T = 12, D = 8\n"
    "operator attention(q: f32[B,H,S,D], k: f32[B,H,T,D], v: f32[B,H,T,D]) -> (o: f32[B,H,S,D]) {\n"
    "  s[b,h,i,j] = sum[d](q[b,h,i,d] * k[b,h,j,d]) / sqrt(D)\n"
    "  p[b,h,i,j] = softmax[j](s[b,h,i,j])\n"
    "  o[b,h,i,d] = sum[j](p[b,h,i,j] * v[b,h,j,d])\n}\n";

BoundOptions options_for(std::string_view family) {
  BoundOptions options;
  options.structured_data = is_structured(family);
  return options;
}

/// Runs `broken` where `right` was asked for, on every family; true if some family finds it.
bool is_caught(const std::string& right, const std::string& broken, const std::map<std::string, std::int64_t>& dims = {}) {
  const auto program = parse(right, dims);
  const auto other = parse(broken, dims);
  bool caught = false;
  for (const std::string& family : data_families(program)) {
    const Arrays inputs = make_inputs(program, default_dims(program), family, 1);
    const auto expected = reference_of(program, inputs, {}, options_for(family));
    const Arrays actual = run_of(make_ir(other), inputs);
    for (const auto& [name, bounded] : expected)
      caught = caught || compare(actual.at(name), bounded, DType::f32, -1).status == CheckStatus::failed;
  }
  return caught;
}

TEST(Bound, an_f32_run_of_the_plain_program_stays_within) {
  const auto program = parse(attention);
  for (const std::string& family : data_families(program)) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(family + " " + std::to_string(seed));
      const Arrays inputs = make_inputs(program, default_dims(program), family, seed);
      const auto expected = reference_of(program, inputs, {}, options_for(family));
      const Arrays actual = run_of(make_ir(program), inputs);
      const CheckCase result = compare(actual.at(Symbol("o")), expected.at(Symbol("o")), DType::f32, -1);
      EXPECT_NE(result.status, CheckStatus::failed) << result.detail;
    }
  }
}

TEST(Bound, random_data_is_determined) {
  const auto program = parse(attention);
  const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", 3);
  const auto expected = reference_of(program, inputs);
  const Arrays actual = run_of(make_ir(program), inputs);
  EXPECT_EQ(compare(actual.at(Symbol("o")), expected.at(Symbol("o")), DType::f32, -1).status, CheckStatus::passed);
}

TEST(Bound, a_key_dropped_at_the_end_of_4096_is_caught) {
  const std::string right =
      "dim T = 4096\noperator f(s: f32[T], v: f32[T]) -> (o: f32) {\n  p[j] = softmax[j](s[j])\n  o = sum[j](p[j] * v[j])\n}\n";
  const std::string broken = replaced(right, "softmax[j](s[j])", "softmax[j](where(j < T - 1, s[j], -inf))");
  EXPECT_TRUE(is_caught(right, broken));
  EXPECT_FALSE(is_caught(right, right));
}

TEST(Bound, a_mask_that_is_off_by_one_is_caught) {
  const std::string right = replaced(attention, "softmax[j](s[b,h,i,j])", "softmax[j](where(j <= i, s[b,h,i,j], -inf))");
  EXPECT_TRUE(is_caught(right, replaced(right, "j <= i", "j < i")));
  EXPECT_TRUE(is_caught(right, replaced(right, "j <= i", "j <= i + 1")));
  EXPECT_FALSE(is_caught(right, right));
}

TEST(Bound, a_wrong_head_and_a_wrong_scale_are_caught) {
  EXPECT_TRUE(is_caught(attention, replaced(attention, "k[b,h,j,d]", "k[b,0,j,d]")));
  EXPECT_TRUE(is_caught(attention, replaced(attention, "sqrt(D)", "sqrt(D - 0.01)")));
}

TEST(Bound, small_integers_are_compared_bit_for_bit) {
  const auto program = parse("dim T = 37, D = 5\noperator f(a: f32[T], b: f32[T, D]) -> (o: f32[D]) { o[d] = sum[j](a[j] * b[j,d]) }\n");
  const Arrays inputs = make_inputs(program, default_dims(program), "small-integers", 5);
  const auto expected = reference_of(program, inputs).at(Symbol("o"));
  for (const double bound : expected.bound) EXPECT_EQ(bound, 0);
  const Arrays actual = run_of(make_ir(program), inputs);
  EXPECT_EQ(compare(actual.at(Symbol("o")), expected, DType::f32, -1).status, CheckStatus::passed);
  Array wrong = actual.at(Symbol("o"));
  wrong.data[2] = std::nextafterf(static_cast<float>(wrong.data[2]), 1e9F);
  EXPECT_EQ(compare(wrong, expected, DType::f32, -1).status, CheckStatus::failed);
}

TEST(Bound, a_comparison_of_computed_values_that_may_go_either_way_is_undetermined) {
  const auto program = parse("dim T = 2\noperator f(x: f32[T], y: f32[T]) -> (o: f32[T]) { o[j] = where(exp(x[j]) > y[j], 1, 2) }\n");
  const double e = static_cast<double>(static_cast<float>(std::exp(1.0)));
  const auto result = reference_of(program, {{Symbol("x"), row({1, 1})}, {Symbol("y"), row({e, 2})}}).at(Symbol("o"));
  EXPECT_TRUE(result.undetermined[0]);
  EXPECT_FALSE(result.undetermined[1]);
  EXPECT_EQ(result.bound[1], 0);
}

/// y / 0 and -y / 0 added are NaN; (y - y) / 0 is NaN too, (2 y - y) / 0 an infinity: a plan may divide behind the sum.
TEST(Bound, a_sum_of_infinities_of_both_signs_is_undetermined) {
  const auto program = parse("dim T = 2\noperator f(x: f32[T], p: f32) -> (o: f32) { o = sum[j](x[j] / p) }\n");
  const auto sum = [&](const std::vector<double>& x) {
    return reference_of(program, {{Symbol("x"), row(x)}, {Symbol("p"), array({}, {0})}}).at(Symbol("o"));
  };
  EXPECT_TRUE(sum({2, -1}).undetermined[0]);
  EXPECT_TRUE(std::isnan(sum({2, -1}).value[0]));
  EXPECT_FALSE(sum({2, 1}).undetermined[0]);
  EXPECT_EQ(sum({2, 1}).value[0], inf);
  EXPECT_FALSE(sum({nan, -1}).undetermined[0]) << "NaN that arrives stays NaN";
}

TEST(Bound, infinity_times_what_a_plan_may_round_to_zero_is_undetermined) {
  const auto program = parse("dim T = 2\noperator f(x: f32[T], y: f32) -> (o: f32[T]) { o[j] = exp(x[j]) * y }\n");
  const auto result = reference_of(program, {{Symbol("x"), row({-200, -80})}, {Symbol("y"), array({}, {inf})}}).at(Symbol("o"));
  EXPECT_TRUE(result.undetermined[0]) << "exp(-200) is 0 in f32, and 0 * inf is NaN";
  EXPECT_FALSE(result.undetermined[1]);
  EXPECT_EQ(result.value[1], inf);
}

TEST(Bound, maxima_where_two_values_meet_stay_determined) {
  const auto program = parse("dim T = 3\noperator f(x: f32[T]) -> (o: f32) { o = max[j](exp(x[j])) }\n");
  const auto result = reference_of(program, {{Symbol("x"), row({1, 1, 0})}}).at(Symbol("o"));
  EXPECT_FALSE(result.undetermined[0]);
  EXPECT_GT(result.bound[0], 0);
  EXPECT_LT(result.bound[0], 1e-5);
}

TEST(Bound, storage_in_f16_adds_its_rounding) {
  const auto program = parse("dim T = 3\noperator f(x: f32[T]) -> (o: f16[T]) { o[j] = x[j] * x[j] }\n");
  const auto result = reference_of(program, {{Symbol("x"), row({1.0009765625, 300, 2})}}).at(Symbol("o"));
  EXPECT_NEAR(result.bound[0], 0x1p-11, 0x1p-13);
  EXPECT_EQ(result.value[1], inf) << "90000 is beyond f16";
  EXPECT_EQ(result.bound[2], 0);
}

TEST(Bound, one_reference_of_attention_takes_few_operations) {
  const auto work_at = [](std::int64_t size) {
    const auto program = parse(attention, {{"S", size}, {"T", size}});
    const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", 1);
    const auto references = References::of(program, inputs, {});
    const auto part = references ? references->at({}) : tl::unexpected(references.error());
    EXPECT_TRUE(part.has_value());
    return part ? part->work : 0;
  };
  const std::int64_t products = 2 * 64 * 64 * (8 + 8);  // heads, rows, keys, and the widths of both contractions
  EXPECT_GE(work_at(64), products);
  EXPECT_LE(work_at(64), 4 * products) << "three operations of the reference a product, and the exponentials";
  EXPECT_LE(work_at(128), 5 * work_at(64)) << "four times the pairs";
}

}  // namespace
}  // namespace fathom::interp
