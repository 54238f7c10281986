// Decisions against a trace: what is taken, what is refused, what a complete trace holds.
#include <gtest/gtest.h>

#include "passes/pass.hpp"

namespace fathom::passes {
namespace {

const Target& blackboard() {
  static const Target target = *target_named("blackboard");
  return target;
}

Decision tile_proposal() {
  Decision decision;
  decision.site = "o/j/tile";
  decision.kind = "tile";
  decision.choice = "64";
  decision.alternatives = {{"32", 2.0, std::nullopt},
                           {"64", 1.0, std::nullopt},
                           {"128", 1.5, std::nullopt},
                           {"256", 0.5, Refusal{"It does not fit.", {"j"}, ""}}};
  return decision;
}

struct Outcome {
  Decision decision;
  Record record;
};
Outcome decide(const Trace& trace, const std::function<Result<void>(std::string_view)>& judge = {}) {
  const math::Program written;
  StepLog log(written, blackboard(), trace, {});
  Decision decision = log.decide(tile_proposal(), judge);
  return {decision, log.take()};
}

TEST(Decide, without_a_trace_the_default_stands) {
  const Outcome outcome = decide({});
  EXPECT_EQ(outcome.decision.choice, "64");
  EXPECT_EQ(outcome.decision.origin, Origin::by_default);
  EXPECT_EQ(outcome.decision.predicted_ms, 1.0);
  EXPECT_TRUE(outcome.record.refusals.empty());
}

TEST(Decide, the_last_line_of_the_trace_wins) {
  const Outcome outcome = decide({{{"o/j/tile", "32", false, Origin::by_user}, {"o/j/tile", "128", true, Origin::by_lesson}}});
  EXPECT_EQ(outcome.decision.choice, "128");
  EXPECT_TRUE(outcome.decision.locked);
  EXPECT_EQ(outcome.decision.origin, Origin::by_lesson);
  EXPECT_TRUE(outcome.record.refusals.empty());
}

TEST(Decide, a_refused_choice_leaves_the_default_and_says_why) {
  const Outcome outcome = decide({{{"o/j/tile", "256", false, Origin::by_user}}});
  EXPECT_EQ(outcome.decision.choice, "64");
  ASSERT_EQ(outcome.record.refusals.size(), 1U);
  EXPECT_NE(outcome.record.refusals[0].reason.find("It does not fit."), std::string::npos);
}

TEST(Decide, a_choice_that_no_list_holds_goes_to_the_judge) {
  const auto judge = [](std::string_view choice) -> Result<void> {
    if (choice == "96") return {};
    return refuse("Not that one.");
  };
  EXPECT_EQ(decide({{{"o/j/tile", "96", false, Origin::by_user}}}, judge).decision.choice, "96");
  const Outcome refused = decide({{{"o/j/tile", "97", false, Origin::by_user}}}, judge);
  EXPECT_EQ(refused.decision.choice, "64");
  EXPECT_EQ(refused.record.refusals.size(), 1U);
}

TEST(Decide, a_range_keeps_the_default_inside_and_else_takes_the_best_legal_choice) {
  EXPECT_EQ(decide({{{"o/j/tile", "64..256", false, Origin::by_user}}}).decision.choice, "64");
  EXPECT_EQ(decide({{{"o/j/tile", "100..256", false, Origin::by_user}}}).decision.choice, "128");
  EXPECT_EQ(decide({{{"o/j/tile", "any", false, Origin::by_user}}}).decision.choice, "64");
  const Outcome none = decide({{{"o/j/tile", "200..256", false, Origin::by_user}}});
  EXPECT_EQ(none.decision.choice, "64");
  EXPECT_EQ(none.record.refusals.size(), 1U);
}

TEST(Decide, unknown_sites_are_refused_and_lost_locks_are_kept) {
  const Outcome outcome = decide({{{"x/y/tile", "8", false, Origin::by_user}, {"z/j/fuse", "no", true, Origin::by_user}}});
  EXPECT_EQ(outcome.record.refusals.size(), 2U);
  ASSERT_EQ(outcome.record.trace.entries.size(), 2U);
  EXPECT_EQ(outcome.record.trace.entries[0], (TraceEntry{"o/j/tile", "64", false, Origin::by_default}));
  EXPECT_EQ(outcome.record.trace.entries[1], (TraceEntry{"z/j/fuse", "no", true, Origin::by_user}));
}

TEST(Decide, replaying_the_complete_trace_takes_the_same_choices) {
  const Outcome first = decide({{{"o/j/tile", "100..256", true, Origin::by_user}}});
  const Outcome second = decide(first.record.trace);
  EXPECT_EQ(second.record.trace.entries, first.record.trace.entries);
  EXPECT_TRUE(second.record.refusals.empty());
}

}  // namespace
}  // namespace fathom::passes
