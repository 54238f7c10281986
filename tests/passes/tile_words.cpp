// What steps and decisions say about tiles is true of their numbers, and agrees with its nouns.
#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

const Step* step_named(const Lowered& plan, const std::string& id) {
  for (const Step& step : plan.record.steps) {
    if (step.id == id) return &step;
  }
  ADD_FAILURE() << "no step " << id;
  return nullptr;
}

void expect_says(const Lowered& plan, const std::string& id, const std::string& says) {
  if (const Step* step = step_named(plan, id)) {
    EXPECT_EQ(step->says, says);
  }
}

TEST(TileWords, one_of_a_kind_is_singular) {
  const Lowered plan = lower("dim T = 5\noperator f(x: f32[T]) -> (m: f32)\n{\n m = max[j](where(j < 4, x[j], -inf))\n}\n", {},
                             {{"m/j/tile", "6"}}, "blackboard");
  expect_says(plan, "m/j/tile", "A trip over j takes 6 elements: one trip of 5.");
  expect_says(plan, "m/j/bound", "Of one tile, 0 are skipped, 1 tests the mask j < 4 and 0 need no test.");
  expect_says(plan, "f/work", "One item in a grid.");
  EXPECT_EQ(step_named(plan, "lower-to-tiles")->says.rfind("One kernel of one work item with ", 0), 0U);
}

TEST(TileWords, extents_that_vary_have_no_number_of_trips) {
  const Lowered plan =
      lower("dim T = 19\noperator f(x: f32[T]) -> (c: f32[T])\n{\n c[j] = sum[k in 0:j+1](x[k])\n}\n", {}, {}, "blackboard");
  expect_says(plan, "c/k/tile", "A trip over k takes 2 elements; how many trips there are varies with j.");
  expect_says(plan, "c/k/fold", "Rolling: one state runs over k.");
}

/// A tile that does not fit is not said to be the better choice, and none that gains is said to gain little.
TEST(TileWords, reasons_of_tiles_hold) {
  int fit = 0, do_not_fit = 0;
  for (const std::int64_t width : {2, 8, 32, 128}) {
    const Lowered plan = lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 8}, {"T", 8}, {"D", width}}, {}, "blackboard");
    for (const Decision& decision : plan.record.decisions) {
      if (decision.kind != "tile") continue;
      const bool fits = decision.reason.find("no tile fits") == std::string::npos;
      ++(fits ? fit : do_not_fit);
      double own = 0, best_larger = 0;
      for (const Alternative& each : decision.alternatives) {
        if (each.choice == decision.choice) own = *each.predicted_ms;
        if (!fits && each.choice != decision.choice) {
          EXPECT_TRUE(each.refused) << decision.site << " " << each.choice << ": " << decision.reason;
        }
      }
      for (const Alternative& each : decision.alternatives) {
        const bool larger = std::stoll(each.choice) > std::stoll(decision.choice) && !each.refused;
        if (larger && (best_larger == 0 || *each.predicted_ms < best_larger)) best_larger = *each.predicted_ms;
      }
      if (decision.reason.find("gain less than") != std::string::npos) {
        EXPECT_GT(best_larger, 0) << decision.site;
        EXPECT_GE(best_larger * 1.03, own * 0.999) << decision.site;
      }
    }
  }
  EXPECT_GT(fit, 0);
  EXPECT_GT(do_not_fit, 0);
}

}  // namespace
}  // namespace fathom::lowering_tests
