// Laws of the Kernel level on targets with synchronous atoms: products on atoms, sums across lanes once, the same values as the text.
#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

const Dims whole = {{"B", 1}, {"H", 2}, {"S", 100}, {"T", 150}, {"D", 64}};

TEST(LowerToKernel, both_products_of_attention_are_on_atoms_with_packed_panels) {
  const Lowered lowered = lower(read_sample("attention_nomask"), whole, {{"o/i/tile", "48"}, {"o/j/tile", "64"}});
  const kernel::Module& m = lowered.last(Level::kernel).module();
  ASSERT_EQ(m.kernels.size(), 1U);
  EXPECT_EQ(m.kernels[0].channels.size(), 2U) << print(m);
  std::size_t products = 0;
  const std::string text = print(m);
  for (std::size_t at = text.find(" = mma "); at != std::string::npos; at = text.find(" = mma ", at + 1)) ++products;
  EXPECT_EQ(products, 2U) << text;
}

TEST(LowerToKernel, a_carried_sum_is_added_across_lanes_once_unless_overridden) {
  const Lowered once = lower(read_sample("attention_nomask"), whole, {{"o/i/tile", "48"}, {"o/j/tile", "64"}});
  std::string site;
  for (const Decision& d : once.record.decisions) {
    if (d.kind == "lanes") site = d.site;
  }
  ASSERT_FALSE(site.empty());
  expect_right(once, "gaussian");
  const Lowered each = lower(read_sample("attention_nomask"), whole, {{"o/i/tile", "48"}, {"o/j/tile", "64"}, {site, "trip"}});
  EXPECT_NE(print(once.last(Level::kernel)), print(each.last(Level::kernel)));
  expect_right(each, "gaussian");
}

std::size_t products_in(const Lowered& lowered) {
  const std::string text = print(lowered.last(Level::kernel));
  std::size_t count = 0;
  for (std::size_t at = text.find(" = mma "); at != std::string::npos; at = text.find(" = mma ", at + 1)) ++count;
  return count;
}

TEST(LowerToKernel, a_product_that_no_atom_of_a_warp_takes_is_refused_and_its_tiles_stay) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    std::string text = read_sample("matmul_bias_gelu");
    for (std::size_t at = 0; (at = text.find("f32[", at)) != std::string::npos; ++at) text.replace(at, 3, "f64");
    const Lowered lowered = lower(text, {{"M", 70}, {"N", 100}, {"K", 96}}, {}, target);
    ASSERT_FALSE(lowered.levels.empty());
    EXPECT_EQ(lowered.levels.back().level, Level::tile);
    bool named = false;
    for (const Refusal& r : lowered.record.refusals) named = named || (r.reason.find(target) != std::string::npos && !r.hint.empty());
    EXPECT_TRUE(named);
  }
}

TEST(LowerToKernel, what_atoms_do_not_divide_is_rounded_up_and_filled) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    const Lowered product = lower(read_sample("matmul_bias_gelu"), {{"M", 70}, {"N", 100}, {"K", 100}}, {}, target);
    EXPECT_EQ(products_in(product), 1U) << target;
    EXPECT_NE(print(product.last(Level::kernel)).find("axis j = j:104"), std::string::npos) << print(product.last(Level::kernel));
    expect_right(product, "gaussian");
    const Lowered heads = lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 33}, {"T", 40}, {"D", 20}}, {}, target);
    EXPECT_EQ(products_in(heads), 2U) << target;
    for (const char* family : {"gaussian", "large", "one-hot"}) expect_right(heads, family);
  }
}

/// Loads of main memory in a kernel's text.
std::size_t loads_of(const std::string& text, const std::string& tensor) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find("= " + tensor + "[", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(LowerToKernel, rows_that_fit_the_registers_of_a_workgroup_are_loaded_once) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const char* sample : {"softmax", "rmsnorm", "layernorm", "logsumexp"}) {
      for (const std::int64_t columns : {100, 1000, 2048}) {
        const Lowered lowered = lower(read_sample(sample), {{"R", 9}, {"C", columns}}, {{"y/j/tile", "whole"}}, target);
        EXPECT_TRUE(lowered.record.refusals.empty()) << lowered.record.refusals.front().reason;
        const kernel::Module& m = lowered.last(Level::kernel).module();
        EXPECT_EQ(m.kernels.size(), 1U) << sample;
        EXPECT_TRUE(m.workspaces.empty()) << sample;
        EXPECT_EQ(loads_of(kernel::print(m), "x"), 1U) << kernel::print(m);
        for (const char* family : {"gaussian", "large", "one-hot"}) expect_right(lowered, family);
      }
    }
  }
}

TEST(LowerToKernel, whole_rows_are_a_choice) {
  const Lowered by_default = lower(read_sample("softmax"), {}, {}, "sm_80");
  EXPECT_EQ(by_default.last(Level::kernel).module().kernels.size(), 1U);
  const Lowered in_loops = lower(read_sample("softmax"), {{"R", 40}, {"C", 600}}, {{"y/i/tile", "16"}, {"y/j/tile", "128"}}, "sm_80");
  EXPECT_EQ(in_loops.last(Level::kernel).module().kernels.size(), 2U);
  expect_right(in_loops, "gaussian");
  const auto refused = [](const Lowered& lowered) {
    return lowered.record.refusals.empty() ? std::string() : lowered.record.refusals.front().reason;
  };
  const Lowered many = lower(read_sample("softmax"), {}, {{"y/i/tile", "16"}, {"y/j/tile", "whole"}}, "sm_80");
  EXPECT_NE(refused(many).find("16 rows of 4096 elements would take 256 registers of a thread."), std::string::npos);
  EXPECT_EQ(many.last(Level::kernel).module().kernels.size(), 2U) << "the tiles of the plan in loops stand";
  const Lowered long_row = lower(read_sample("softmax"), {{"C", 65536}}, {{"y/j/tile", "whole"}}, "sm_80");
  EXPECT_NE(refused(long_row), "") << "128 registers of 512 threads";
  const Lowered elsewhere = lower(read_sample("softmax"), {}, {{"y/j/tile", "whole"}}, "x86-64");
  EXPECT_NE(refused(elsewhere), "") << "no warps";
}

TEST(LowerToKernel, rows_of_any_reducer_stay_whole) {
  const std::string text = R"(dim R = 40, C = 384
reducer norm(x) {
  state big = 0, sum = 0
  lift (abs(x), where(x == 0, 0, 1))
  combine (max(big, big'), where(big == 0, 0, sum * (big / max(big, big')) ^ 2) + where(big' == 0, 0, sum' * (big' / max(big, big')) ^ 2))
  result length = big * sqrt(sum)
}
operator unit_rows(x: f32[R, C], w: f32[C]) -> (y: f32[R, C])
{
  n[i] = norm[j](x[i,j] + w[j])
  y[i,j] = (x[i,j] + w[j]) / n[i]
}
)";
  const Lowered lowered = lower(text, {}, {}, "sm_80");
  const kernel::Module& m = lowered.last(Level::kernel).module();
  EXPECT_EQ(m.kernels.size(), 1U) << kernel::print(m);
  EXPECT_EQ(loads_of(kernel::print(m), "x"), 1U) << kernel::print(m);
  expect_right(lowered, "gaussian");
}

TEST(LowerToKernel, targets_with_warps_get_rings_atoms_and_loads_ahead) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const char* stages : {"1", "2", "3"}) {
      const Lowered lowered = lower(read_sample("attention_nomask"), whole, {{"attention_nomask/stages", stages}}, target);
      EXPECT_EQ(products_in(lowered), 2U) << target;
      const std::string text = print(lowered.last(Level::kernel));
      EXPECT_NE(text.find(".mma.a"), std::string::npos) << text;
      EXPECT_EQ(text.find("@0.") != std::string::npos, std::string(stages) != "1") << text;
      expect_right(lowered, "gaussian");
      expect_right(lowered, "large");
    }
  }
}

TEST(LowerToKernel, a_split_fold_has_the_products_of_the_rolling_one_on_atoms) {
  const Dims causal = {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 150}, {"T", 150}, {"D", 64}};
  Dims aligned = whole;  // parts of whole tiles, and parts of which one is ragged and one is empty
  aligned["T"] = 256;
  for (const auto& [name, dims] : std::vector<std::pair<std::string, Dims>>{
           {"attention_nomask", whole}, {"attention_nomask", aligned}, {"attention", causal}, {"attention_dynamic", {}}}) {
    for (const char* splits : {"2", "4"}) {
      SCOPED_TRACE(name + " in " + splits);
      const Lowered rolling = lower(read_sample(name), dims, {{"o/j/tile", "64"}});
      const Lowered split = lower(read_sample(name), dims, {{"o/j/tile", "64"}, {"o/j/fold", "split-k"}, {"o/j/splits", splits}});
      EXPECT_EQ(products_in(rolling), 2U);
      EXPECT_EQ(products_in(split), 2U) << print(split.last(Level::kernel));
    }
  }
  for (const std::int64_t keys : {150, 256}) {  // one full tile of queries and two rows more
    expect_right_on_all(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 50}, {"T", keys}, {"D", 32}},
                              {{"o/i/tile", "48"}, {"o/j/tile", "64"}, {"o/j/fold", "split-k"}, {"o/j/splits", "4"}}));
  }
}

/// Where a weight outside of the keys is not known to be 0, the weight is masked and the product stays one.
TEST(LowerToKernel, weights_that_are_no_exponentials_are_masked_themselves_and_their_product_is_on_an_atom) {
  const std::string text =
      "dim S = 20, T = 150, D = 64\noperator weigh(q: f32[S,D], k: f32[T,D], v: f32[T,D]) -> (o: f32[S,D], l: f32[S])\n{\n"
      " s[i,j] = sum[d](q[i,d] * k[j,d])\n p[i,j] = cos(s[i,j])\n o[i,d] = sum[j](p[i,j] * v[j,d])\n l[i] = sum[j](p[i,j])\n}\n";
  const Lowered lowered = lower(text, {}, {{"o/j/tile", "64"}});
  EXPECT_EQ(products_in(lowered), 2U) << print(lowered.last(Level::kernel));
  for (const char* family : {"gaussian", "small-integers", "descending"}) expect_right(lowered, family);
}

TEST(LowerToKernel, split_k_runs_without_a_reducer_instruction) {
  const Lowered lowered = lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 5}, {"T", 200}, {"D", 4}},
                                {{"o/j/tile", "16"}, {"o/j/fold", "split-k"}, {"o/j/splits", "4"}});
  EXPECT_EQ(print(lowered.last(Level::kernel)).find("= o.merge.states"), std::string::npos);
  expect_right_on_all(lowered);
}

TEST(LowerToKernel, the_blackboard_gets_the_same_passes) {
  expect_right(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 4}, {"T", 6}, {"D", 2}}, {}, "blackboard"), "integers");
}

TEST(LowerToKernel, the_text_parses_back_to_the_same_module) {
  const Lowered lowered = lower(read_sample("attention"), {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 50}, {"T", 50}, {"D", 64}});
  for (const Ir& ir : lowered.levels) {
    const std::string text = print(ir);
    const auto back = lang::parse_kernel(text);
    ASSERT_TRUE(back) << render(back.error(), "kernel", text);
    EXPECT_EQ(print(*back), text);
  }
}

}  // namespace
}  // namespace fathom::lowering_tests
