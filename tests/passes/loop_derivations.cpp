// Every text of the derivations has legal plans: fused, unfused and split, verified after every step.
#include "derivations.hpp"
#include "lang/lang.hpp"
#include "passes/nest.hpp"
#include "passes/passes.hpp"

namespace fathom::passes {
namespace {

std::vector<math::Program> programs() {
  std::vector<math::Program> all;
  for (const auto& entry : test::derivations()) {
    const auto parsed = lang::parse_file(entry.at("text").get<std::string>());
    if (parsed) all.push_back(parsed->operators.front());
  }
  return all;
}

Result<Record> compiled(const math::Program& program, const Trace& trace, const char* target) {
  Options options;
  options.verify = true;
  return replay(program, *target_named(target), trace, options);
}

std::size_t folds(const Record& record) {
  std::size_t count = 0;
  for (const Step& step : record.steps) {
    if (step.level != Level::loop) continue;
    count = 0;
    for (const Nest& nest : nests_of(step.after.loop())) count += nest.folds.empty() ? 0 : 1;
  }
  return count;
}

TEST(Derivations, every_text_has_a_fused_and_an_unfused_plan) {
  const std::vector<math::Program> all = programs();
  EXPECT_GE(all.size(), 95U);
  for (const math::Program& program : all) {
    const auto fused = compiled(program, {}, "x86-64");
    ASSERT_TRUE(fused) << program.name.text() << ": " << fused.error().reason;
    EXPECT_TRUE(fused->refusals.empty()) << program.name.text() << ": " << fused->refusals.front().reason;
    Trace unfused;
    std::size_t merged = 0;
    for (const Decision& each : fused->decisions) {
      if (each.kind != "fuse") continue;
      merged += each.choice == "fuse" ? 1 : 0;
      unfused.entries.push_back({each.site, "no", false, Origin::by_user});
    }
    const auto plain = compiled(program, unfused, "x86-64");
    ASSERT_TRUE(plain) << program.name.text() << ": " << plain.error().reason;
    EXPECT_EQ(folds(*plain), folds(*fused) + merged) << program.name.text();
  }
}

/// Every fold is split, or says why not: a choice that is offered never ends the compilation.
TEST(Derivations, every_fold_is_split_or_refuses_by_a_reason) {
  std::size_t split = 0;
  for (const math::Program& program : programs()) {
    const auto plain = compiled(program, {}, "blackboard");
    ASSERT_TRUE(plain) << program.name.text() << ": " << plain.error().reason;
    Trace tiles;
    for (const Decision& each : plain->decisions) {
      if (each.kind == "tile") tiles.entries.push_back({each.site, "2", false, Origin::by_user});
    }
    const auto tiled = compiled(program, tiles, "blackboard");
    ASSERT_TRUE(tiled) << program.name.text() << ": " << tiled.error().reason;
    for (const Decision& each : tiled->decisions) {
      if (each.kind != "fold") continue;
      SCOPED_TRACE(program.name.text() + " " + each.site);
      const auto offered =
          std::find_if(each.alternatives.begin(), each.alternatives.end(), [](const auto& one) { return one.choice == "split-k"; });
      ASSERT_NE(offered, each.alternatives.end());
      Trace trace = tiles;
      trace.entries.push_back({each.site, "split-k", false, Origin::by_user});
      const auto record = compiled(program, trace, "blackboard");
      ASSERT_TRUE(record) << record.error().reason;
      const auto taken =
          std::find_if(record->decisions.begin(), record->decisions.end(), [&](const Decision& one) { return one.site == each.site; });
      ASSERT_NE(taken, record->decisions.end());
      EXPECT_EQ(taken->choice, offered->refused ? "rolling" : "split-k");
      EXPECT_EQ(record->refusals.empty(), !offered->refused);
      split += offered->refused ? 0 : 1;
    }
  }
  EXPECT_GT(split, 90U);
}

TEST(Derivations, small_tiles_and_no_kept_values_are_plans_too) {
  for (const math::Program& program : programs()) {
    Trace trace;
    const auto plain = compiled(program, {}, "blackboard");
    ASSERT_TRUE(plain) << program.name.text() << ": " << plain.error().reason;
    for (const Decision& each : plain->decisions) {
      if (each.kind == "tile") trace.entries.push_back({each.site, "2", false, Origin::by_user});
      if (each.kind == "store") trace.entries.push_back({each.site, "recompute", false, Origin::by_user});
    }
    const auto record = compiled(program, trace, "blackboard");
    ASSERT_TRUE(record) << program.name.text() << ": " << record.error().reason;
  }
}

}  // namespace
}  // namespace fathom::passes
