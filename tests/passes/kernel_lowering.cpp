// Laws of the Kernel level on targets with synchronous atoms: products on atoms, sums across lanes once, the same values as the text.
#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

const Dims whole = {{"B", 1}, {"H", 2}, {"S", 100}, {"T", 150}, {"D", 64}};

TEST(LowerToKernel, both_products_of_attention_are_on_atoms_with_packed_panels) {
  const Lowered lowered = lower(sample("attention_nomask"), whole, {{"o/i/tile", "48"}, {"o/j/tile", "64"}});
  const kernel::Module& m = lowered.last(Level::kernel).module();
  ASSERT_EQ(m.kernels.size(), 1U);
  EXPECT_EQ(m.kernels[0].channels.size(), 2U) << print(m);
  std::size_t products = 0;
  const std::string text = print(m);
  for (std::size_t at = text.find(" = mma "); at != std::string::npos; at = text.find(" = mma ", at + 1)) ++products;
  EXPECT_EQ(products, 2U) << text;
}

TEST(LowerToKernel, a_carried_sum_is_added_across_lanes_once_unless_overridden) {
  const Lowered once = lower(sample("attention_nomask"), whole, {{"o/i/tile", "48"}, {"o/j/tile", "64"}});
  std::string site;
  for (const Decision& d : once.record.decisions) {
    if (d.kind == "lanes") site = d.site;
  }
  ASSERT_FALSE(site.empty());
  expect_right(once, "gaussian");
  const Lowered each = lower(sample("attention_nomask"), whole, {{"o/i/tile", "48"}, {"o/j/tile", "64"}, {site, "trip"}});
  EXPECT_NE(print(once.last(Level::kernel)), print(each.last(Level::kernel)));
  expect_right(each, "gaussian");
}

TEST(LowerToKernel, targets_whose_back_end_is_missing_are_refused_by_name_and_keep_their_tiles) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Lowered lowered = lower(sample("attention_nomask"), whole, {}, target);
    ASSERT_FALSE(lowered.levels.empty());
    EXPECT_EQ(lowered.levels.back().level, Level::tile);
    bool named = false;
    for (const Refusal& r : lowered.record.refusals) named = named || (r.reason.find(target) != std::string::npos && !r.hint.empty());
    EXPECT_TRUE(named);
  }
}

TEST(LowerToKernel, split_k_runs_without_a_reducer_instruction) {
  const Lowered lowered = lower(sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 5}, {"T", 200}, {"D", 4}},
                                {{"o/j/tile", "16"}, {"o/j/fold", "split-k"}, {"o/j/splits", "4"}});
  EXPECT_EQ(print(lowered.last(Level::kernel)).find("= o.merge.states"), std::string::npos);
  expect_right_on_all(lowered);
}

TEST(LowerToKernel, the_blackboard_gets_the_same_passes) {
  expect_right(lower(sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 4}, {"T", 6}, {"D", 2}}, {}, "blackboard"), "integers");
}

TEST(LowerToKernel, the_text_parses_back_to_the_same_module) {
  const Lowered lowered = lower(sample("attention"), {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 50}, {"T", 50}, {"D", 64}});
  for (const Ir& ir : lowered.levels) {
    const std::string text = print(ir);
    const auto back = lang::parse_kernel(text);
    ASSERT_TRUE(back) << render(back.error(), "kernel", text);
    EXPECT_EQ(print(*back), text);
  }
}

}  // namespace
}  // namespace fathom::lowering_tests
