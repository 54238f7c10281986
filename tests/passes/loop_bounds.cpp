// A bounded loop leaves a program that is right by itself: at every step, whichever loops a person bounds or fuses.
#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

using Choices = std::vector<std::pair<std::string, std::string>>;

/// Two results of the same scores, so that the loop that stores them has readers in other decisions.
constexpr auto shared_scores =
    "dim S = 5, T = 7\noperator f(x: f32[S,T]) -> (l: f32[S], o: f32[S])\n{\n c[i,j] = where(j <= i, x[i,j], -inf)\n"
    " l[i] = logsumexp[j](c[i,j])\n p[i,j] = softmax[j](c[i,j])\n o[i] = sum[j](p[i,j])\n}\n";

/// The last reader looks at every element, masked or not: what it reads is never skipped.
constexpr auto one_reader_sees_all =
    "dim S = 5, T = 7\noperator f(x: f32[S,T], w: f32[S,T]) -> (l: f32[S], o: f32[S])\n{\n c[i,j] = where(j <= i, x[i,j], -inf)\n"
    " e[i,j] = exp(c[i,j])\n l[i] = sum[j](e[i,j])\n m[i] = max[j](c[i,j])\n o[i] = sum[j](m[i] * w[i,j] + e[i,j])\n}\n";

/// Choices for every decision of these kinds: bit k of `bits` takes the second of the two.
Choices choices_of(const Lowered& plan, unsigned bits) {
  Choices choices;
  unsigned k = 0;
  for (const Decision& decision : plan.record.decisions) {
    if (decision.kind != "bound" && decision.kind != "fuse") continue;
    const std::string yes = decision.kind == "bound" ? "bound" : "fuse";
    const bool refused =
        std::any_of(decision.alternatives.begin(), decision.alternatives.end(), [&](const Alternative& each) { return each.refused; });
    if (!refused) choices.emplace_back(decision.site, (bits >> k++ & 1U) != 0 ? "no" : yes);
  }
  return choices;
}

void expect_every_loop_program_right(const std::string& text, const Choices& choices) {
  Lowered plan = lower(text, {}, choices, "blackboard");
  plan.levels.clear();
  for (const Step& step : plan.record.steps) {
    if (step.after.level == Level::loop || &step == &plan.record.steps.back()) plan.levels.push_back(step.after);
  }
  for (const char* family : {"gaussian", "infinite-prefix@x"}) expect_right(plan, family);
}

TEST(BoundByMask, every_step_is_right_whatever_is_bounded_and_fused) {
  for (const char* text : {shared_scores, one_reader_sees_all}) {
    const Lowered usual = lower(text, {}, {}, "blackboard");
    const std::size_t decisions = choices_of(usual, 0).size();
    ASSERT_GE(decisions, 3U);
    for (unsigned bits = 0; bits < 1U << std::min<std::size_t>(decisions, 6); ++bits) {
      std::string what = text;
      for (const auto& [site, choice] : choices_of(usual, bits)) what.append(site).append("=").append(choice).append(" ");
      SCOPED_TRACE(what);
      expect_every_loop_program_right(text, choices_of(usual, bits));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(BoundByMask, a_loop_is_bounded_with_the_last_of_its_readers) {
  const Lowered plan = lower(shared_scores, {}, {}, "blackboard");
  std::vector<std::size_t> ranges;
  for (const Step& step : plan.record.steps) {
    if (!step.decision || step.decision->kind != "bound") continue;
    const std::string tree = print(step.after);
    std::size_t bounded = 0;
    for (std::size_t at = tree.find("[open"); at != std::string::npos; at = tree.find("[open", at + 1)) ++bounded;
    ranges.push_back(bounded);
  }
  EXPECT_EQ(ranges, (std::vector<std::size_t>{1, 5}));
}

}  // namespace
}  // namespace fathom::lowering_tests
