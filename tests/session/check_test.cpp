// The check on each step: every sample passes on every target, and what is wrong does not pass.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "passes/tile_walk.hpp"
#include "session/check_plans.hpp"
#include "session_test.hpp"

namespace fathom::session {
namespace {

using session_tests::attention_of;
using session_tests::compiled;
using session_tests::inputs_of;

std::vector<std::string> all_samples() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FATHOM_SOURCE_DIR) / "samples"))
    if (entry.path().extension() == ".fathom") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

CheckOptions quick() {
  CheckOptions options;
  options.all_shapes = false;
  return options;
}

/// Every step of the record passed, with cases of its own. Few cases may leave a step inconclusive; none may fail.
void expect_all_pass(const Compilation& compilation, const std::string& what, const CheckOptions& options) {
  Compilation checked = compilation;
  check_steps(checked, options);
  for (const Step& step : checked.record.steps) {
    const bool is_open = !options.all_shapes && step.check.status == CheckStatus::inconclusive;
    EXPECT_TRUE(step.check.status == CheckStatus::passed || is_open) << what << ": " << step.id << ": " << step.check.reason;
    EXPECT_FALSE(step.check.cases.empty()) << what << ": " << step.id;
  }
}

class Samples : public testing::TestWithParam<std::string> {};

/// True tiles of a wide machine take seconds for the larger samples: `fathom check` runs those.
class FewSamples : public Samples {};
TEST_P(FewSamples, every_step_passes_on_vectors) {
  expect_all_pass(*compiled(session_tests::read_sample(GetParam()), {}, {}, "x86-64-v4"), GetParam(), quick());
}
TEST_P(Samples, every_step_passes_on_the_blackboard) {
  expect_all_pass(*compiled(session_tests::read_sample(GetParam()), {}, {}, "blackboard"), GetParam(), {});
}
TEST_P(Samples, every_step_passes_unfused) {
  const auto fused = compiled(session_tests::read_sample(GetParam()), {}, {}, "blackboard");
  const auto choices = session_tests::all_of(*fused, "fuse", "no");
  expect_all_pass(*compiled(session_tests::read_sample(GetParam()), {}, choices, "blackboard"), GetParam(), quick());
}
TEST_P(Samples, every_step_passes_in_split_folds) {
  const auto rolling = compiled(session_tests::read_sample(GetParam()), {}, {}, "blackboard");
  const auto choices = session_tests::all_of(*rolling, "fold", "split-k");
  if (choices.empty()) GTEST_SKIP() << "no fold of this sample can be split";
  expect_all_pass(*compiled(session_tests::read_sample(GetParam()), {}, choices, "blackboard"), GetParam(), quick());
}
INSTANTIATE_TEST_SUITE_P(Few, FewSamples, testing::Values("attention", "softmax", "layernorm", "cross_entropy"),
                         [](const auto& sample) { return sample.param; });
INSTANTIATE_TEST_SUITE_P(All, Samples, testing::ValuesIn(all_samples()), [](const auto& sample) { return sample.param; });

const char* const by_hand =
    "  s[i,j] = sum[d](q[i,d] * k[j,d])\n"
    "  m[i]   = max[j](s[i,j])\n"
    "  e[i,j] = exp(s[i,j] - m[i])\n"
    "  l[i]   = sum[j](e[i,j])\n"
    "  o[i,d] = sum[j](e[i,j] * v[j,d]) / l[i]\n";

void expect_none_fails(const std::string& text, Level last) {
  for (const char* target : {"x86-64", "blackboard"}) {
    Compilation checked = *compiled(text, {}, {}, target);
    check_steps(checked, {});
    for (const Step& step : checked.record.steps) {
      if (step.level > last) continue;
      EXPECT_NE(step.check.status, CheckStatus::failed) << text << target << ": " << step.id << ": " << step.check.reason;
      EXPECT_FALSE(step.check.cases.empty()) << text << target << ": " << step.id;
    }
  }
}

TEST(Check, loops_over_ranges_that_scalars_and_lists_give_do_not_fail) {
  const std::string list = "dim B = 4, N = 20, D = 2\noperator f(s: f32[N], v: f32[N,D], st: i32[B], en: i32[B]) -> ";
  for (const std::string& text :
       {std::string("dim T = 16\noperator f(s: f32[T], hi: i32) -> (n: f32) where 0 <= hi, hi <= T\n{\n  n = sum[j in 0:hi](s[j])\n}\n"),
        std::string("dim B = 3, M = 30, P = 4, N = 40\noperator f(x: f32[N,P], page: i32[B,M], len: i32[B]) -> (y: f32[B])\n{\n"
                    "  y[b] = max[j in 0:len[b]](x[page[b, j // P], j % P])\n}\n"),
        list + "(o: f32[B])\n{\n  o[b] = sum[j in st[b]:en[b]](where(j < N, s[j], 0))\n}\n",
        list + "(o: f32[B])\n{\n  l[b] = max[j in 0:en[b]](s[j])\n  o[b] = sum[j in 0:en[b]](exp(s[j] - l[b]))\n}\n",
        list + "(o: f32[B,D])\n{\n  l[b] = max[j in 0:en[b]](s[j])\n  o[b,d] = sum[j in 0:en[b]](exp(s[j] - l[b]) * v[j,d])\n}\n"})
    expect_none_fails(text, Level::kernel);
}

/// Their data give some elements no value (inf - inf), make results 0, or mask by +inf: none of that leaves a check without an answer.
TEST(Check, of_programs_that_people_write_has_an_answer) {
  const std::string masked = "dim S = 20, T = 40, D = 8\noperator f(s: f32[S,T], v: f32[T,D]) -> (o: f32[S,D])\n{\n";
  const std::string weights =
      "  l[i] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]), 0))\n"
      "  o[i,d] = sum[j](where(j <= i - 5, exp(s[i,j] - m[i]) / l[i] * v[j,d], 0))\n}\n";
  const std::string rows = "dim R = 64, C = 200\noperator f(x: f32[R,C], w: f32[C]) -> (o: f32[R])\n{\n";
  const std::string mean = "  mu[i] = sum[j](x[i,j]) / C\n";
  for (const std::string& text :
       {masked + "  m[i] = max[j](where(j <= i - 5, s[i,j], -inf))\n" + weights, masked + "  m[i] = max[j](s[i,j])\n" + weights,
        rows + "  m[i] = min[j](x[i,j])\n  o[i] = m[i] - log(sum[j](exp(m[i] - x[i,j]) * abs(w[j])))\n}\n",
        rows + mean + "  v[i] = sum[j]((x[i,j] - mu[i]) ^ 2) / C\n  o[i] = sum[j]((x[i,j] - mu[i]) * rsqrt(v[i] + 0.00001) * w[j])\n}\n",
        rows + mean + "  o[i] = sum[j](abs(w[j]) * (x[i,j] - mu[i]) ^ 2)\n}\n"}) {
    Compilation checked = *compiled(text, {}, {}, "blackboard");
    check_steps(checked, {});
    for (const Step& step : checked.record.steps)
      EXPECT_EQ(step.check.status, CheckStatus::passed) << text << step.id << ": " << step.check.reason;
  }
}

/// c stays in a loop of its own and reads what the loop of m and a computes as it runs: only the complete values of that are meant.
TEST(Check, what_a_later_loop_reads_of_a_fused_one_is_complete) {
  for (const std::string& sums :
       {std::string("  a = sum[j](exp(s[j] - m))\n  c = sum[j]((s[j] - m) * exp(s[j] - m))\n"),
        std::string("  a = sum[j](exp(s[j] - m) * v[j])\n  c = sum[j](exp(s[j] - m) * v[j] * (s[j] - m))\n"),
        std::string("  a = sum[j](exp(s[j] - m))\n  c = sum[j](exp(s[j] - m) * cos(exp(s[j] - m)) * cos(s[j] - m))\n"),
        std::string("  a = sum[j](exp(s[j] - m) * v[j] + exp(s[j] - m))\n  c = sum[j](cos(exp(s[j] - m)))\n")})
    expect_none_fails("dim T = 40\noperator f(s: f32[T], v: f32[T]) -> (a: f32, c: f32)\n{\n  m = max[j](s[j])\n" + sums + "}\n",
                      Level::kernel);
}

TEST(Check, a_repair_that_is_wrong_fails_at_its_step) {
  Inputs inputs = inputs_of(attention_of(by_hand), {}, {}, "blackboard");
  const auto right = compiled(inputs);
  const auto site = std::find_if(right->record.decisions.begin(), right->record.decisions.end(),
                                 [](const Decision& each) { return each.kind == "repair"; });
  ASSERT_NE(site, right->record.decisions.end());
  inputs.trace.entries.push_back({site->site, "acc", false, Origin::by_user});
  inputs.options.unsound = true;
  Compilation wrong = *compiled(inputs);
  check_steps(wrong, quick());
  EXPECT_TRUE(std::any_of(wrong.record.steps.begin(), wrong.record.steps.end(),
                          [](const Step& step) { return step.check.status == CheckStatus::failed && step.after.level == Level::loop; }));
  EXPECT_EQ(wrong.record.steps.front().check.status, CheckStatus::passed) << "what comes before the fault is right";
}

TEST(Check, a_guard_that_swallows_infinities_is_found_by_the_data_that_holds_them) {
  const auto plan = compiled(session_tests::read_sample("softmax"), {}, {}, "blackboard");
  const Step* step = nullptr;
  for (const Step& each : plan->record.steps)
    if (each.after.level == Level::tile) step = &each;
  ASSERT_NE(step, nullptr);
  const Expr infinite = infinity();
  const auto widened = [&](Expr e) {  // x == -inf becomes abs(x) == inf
    return transform(e, [&](Expr node) {
      const bool is_guard = node.is(Op::eq) && node.arg(1) == -infinite;
      return is_guard ? binary(Op::eq, unary(Op::abs, node.arg(0)), infinite) : node;
    });
  };
  const Check check = Cases(*plan, Level::tile).check(*step, [&](const Ir& ir) {
    kernel::Module module = ir.module();
    for (kernel::Kernel& kernel : module.kernels)
      for (kernel::Role& role : kernel.roles) passes::rewrite_expressions(role.body, widened);
    return make_ir(ir.level, std::move(module));
  });
  EXPECT_EQ(check.status, CheckStatus::failed);
  std::set<std::string> families;
  for (const CheckCase& one : check.cases)
    if (one.status == CheckStatus::failed) families.insert(one.family);
  EXPECT_EQ(families, (std::set<std::string>{"infinite-peak@x"}));
}

TEST(Check, nan_on_one_side_fails_and_the_sign_of_infinity_counts) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto status = [](double actual, double expected) {
    const interp::Bounded right{{1}, {0}, {expected}, {1e30}, {false}};
    return interp::compare({DType::f32, {1}, {actual}}, right, DType::f32, -1).status;
  };
  EXPECT_EQ(status(nan, 1), CheckStatus::failed);
  EXPECT_EQ(status(1, nan), CheckStatus::failed);
  EXPECT_EQ(status(infinite, -infinite), CheckStatus::failed);
  EXPECT_EQ(status(nan, nan), CheckStatus::passed);
}

TEST(Check, open_elements_count_over_a_step_and_not_in_a_tiny_case) {
  interp::Bounded expected{{36}, {0}, std::vector<double>(36, 1), std::vector<double>(36, 1e-6), std::vector<bool>(36, false)};
  const interp::Array actual{DType::f32, {36}, std::vector<double>(36, 1)};
  expected.undetermined[7] = true;
  const CheckCase one = interp::compare(actual, expected, DType::f32, -1);
  EXPECT_EQ(one.status, CheckStatus::passed);
  EXPECT_EQ(one.elements, 36);
  EXPECT_EQ(one.undetermined, 1);
  EXPECT_TRUE(interp::says_too_little(1, 36));
  expected.undetermined[8] = expected.undetermined[9] = true;
  EXPECT_EQ(interp::compare(actual, expected, DType::f32, -1).status, CheckStatus::inconclusive);
}

TEST(Check, small_plans_have_every_loop_of_the_true_one) {
  const auto plan = compiled(session_tests::read_sample("matmul_bias_gelu"), {}, {}, "x86-64-v4");
  std::set<std::string> sites;
  for (const SmallPlan& each : small_plans(*plan, true, 2))
    for (const Decision& decision : each.record.decisions) sites.insert(decision.site);
  for (const Decision& decision : plan->record.decisions) EXPECT_EQ(sites.count(decision.site), 1U) << decision.site;
}

TEST(Check, repairs_widen_the_bound_by_the_trips_of_the_plan) {
  const auto fused = compiled(attention_of(by_hand), {}, {}, "blackboard");
  const auto choices = session_tests::all_of(*fused, "fuse", "no");
  const auto unfused = compiled(attention_of(by_hand), {}, choices, "blackboard");
  const auto fused_plans = small_plans(*fused, true, 1), unfused_plans = small_plans(*unfused, true, 1);
  ASSERT_FALSE(fused_plans.empty());
  ASSERT_FALSE(unfused_plans.empty());
  EXPECT_GE(moves_of(fused_plans.front()), 2);
  EXPECT_EQ(moves_of(unfused_plans.front()), 0);
}

}  // namespace
}  // namespace fathom::session
