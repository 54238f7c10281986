// Plans with roles: what the rewrites make, that it is what the text says, and that the verifier refuses what they must not make.
#include "passes/kernel_roles.hpp"

#include "passes/kernel_work.hpp"
#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

std::string in_f16(const std::string& sample) {
  std::string text = read_sample(sample);
  for (std::size_t at = 0; (at = text.find("f32[", at)) != std::string::npos; ++at) text.replace(at, 3, "f16");
  return text;
}

const Dims causal = {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 200}, {"T", 300}};
const std::vector<std::pair<std::string, std::string>> two_groups = {{"o/i/tile", "128"}, {"o/j/tile", "128"}};

const kernel::Kernel& kernel_of(const Lowered& lowered) { return lowered.last(Level::kernel).module().kernels[0]; }

TEST(Roles, a_producer_loads_and_groups_share_the_rows) {
  const Lowered lowered = lower(in_f16("attention"), causal, two_groups, "sm_90a");
  const kernel::Kernel& k = kernel_of(lowered);
  ASSERT_EQ(k.roles.size(), 2U);
  EXPECT_EQ(k.roles[0].name.text(), "producer");
  EXPECT_EQ(constant_integer(k.roles[1].groups), 2);
  EXPECT_EQ(constant_integer(k.roles[0].registers), 40);
  EXPECT_EQ(constant_integer(k.roles[1].registers), 232);
  for (const kernel::Channel& c : k.channels) EXPECT_EQ(c.each.empty(), c.name.text() != "q.t.ring") << "rings of rows are one a group";
  const std::string text = print(lowered.last(Level::kernel));
  for (const char* piece : {"wgmma_m64n128k16_f16_rs\n", "wgmma_m64n128k16_f16_rs_bt\n", "acquire q.t.ring[1]", "receive q.t.ring[g]",
                            "i0 + (i + 64)", "i0 + (i + g * 64)"})
    EXPECT_NE(text.find(piece), std::string::npos) << piece;
  for (const char* family : {"gaussian", "large", "descending"}) expect_right(lowered, family);
}

TEST(Roles, every_choice_computes_what_the_text_says) {
  for (const auto& [site, choice] : std::vector<std::pair<std::string, std::string>>{{"attention/overlap", "off"},
                                                                                     {"attention/work", "dynamic"},
                                                                                     {"attention/stages", "3"},
                                                                                     {"attention/roles", "one"},
                                                                                     {"p.sum/j/lanes", "trip"}}) {
    auto choices = two_groups;
    choices[1].second = "64";
    choices.emplace_back(site, choice);
    const Lowered lowered = lower(in_f16("attention"), causal, choices, "sm_90a");
    EXPECT_TRUE(lowered.record.refusals.empty()) << site << ": " << lowered.record.refusals.front().reason;
    EXPECT_EQ(kernel_of(lowered).roles.size(), choice == "one" ? 1U : 2U);
    expect_right(lowered, "gaussian");
  }
  const Lowered product = lower(in_f16("matmul_bias_gelu"), {{"M", 200}, {"N", 512}, {"K", 256}},
                                {{"y/i/tile", "128"}, {"y/j/tile", "64"}, {"y/k/tile", "64"}}, "sm_90a");
  EXPECT_NE(print(product.last(Level::kernel)).find("wgmma_m64n64k16_f16_ss_bt"), std::string::npos);
  expect_right(product, "gaussian");
}

TEST(Roles, what_cannot_be_separated_says_why) {
  // f32 has no product of a warpgroup; 20 columns are no row of 128 bytes; without a loop there is nothing to run ahead of.
  EXPECT_EQ(kernel_of(lower(read_sample("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 128}}, {}, "sm_90a")).roles.size(), 1U);
  EXPECT_EQ(kernel_of(lower(in_f16("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 128}, {"D", 20}}, {}, "sm_90a")).roles.size(),
            1U);
  EXPECT_EQ(kernel_of(lower(in_f16("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 128}}, {}, "sm_80")).roles.size(), 1U);
}

/// The statement of a role that prints like this.
kernel::Statement* statement_in(kernel::Block& block, const std::string& begins) {
  for (kernel::Statement& s : block) {
    if (kernel::print(s).rfind(begins, 0) == 0) return &s;
    if (auto* f = std::get_if<kernel::For>(&s.op))
      if (auto* found = statement_in(f->body, begins)) return found;
  }
  return nullptr;
}

TEST(Roles, the_verifier_refuses_orders_that_disturb_a_product) {
  const Target target = *target_named("sm_90a");
  const kernel::KnownMachine machine = passes::machine_of(target);
  const Lowered lowered = lower(in_f16("attention"), causal, two_groups, "sm_90a");
  const kernel::Module usual = lowered.last(Level::kernel).module();
  ASSERT_TRUE(kernel::verify(usual, machine));
  const auto refused = [&](const std::string& begins, kernel::At at) {
    kernel::Module m = usual;
    kernel::Statement* s = statement_in(m.kernels[0].roles[1].body, begins);
    EXPECT_NE(s, nullptr) << begins;
    if (s == nullptr) return std::string();
    s->at = at;
    const auto result = kernel::verify(m, machine);
    return result ? std::string() : result.error().reason;
  };
  const auto order_of = [&](const std::string& begins) {
    kernel::Module m = usual;
    return statement_in(m.kernels[0].roles[1].body, begins)->at->order;
  };
  const int before_await = order_of("o.sum[i,d.o] = await") - 1;
  EXPECT_NE(refused("p.e.f16[i,j] =", {0, before_await}), "") << "packed while the product reads it";
  EXPECT_NE(refused("o.sum[i,d.o] = o.sum[i,d.o] * f[i]", {0, before_await}), "") << "rescaled while the product adds to it";
  EXPECT_NE(refused("release k.t.ring", {0, order_of("c.token = mma")}), "") << "released before the product has read it";
  EXPECT_NE(refused("release v.t.ring", {1, order_of("o.sum.token = mma")}), "");
}

TEST(Work, the_longest_items_begin_first) {
  const Lowered lowered = lower(in_f16("attention"), {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 512}, {"T", 512}}, two_groups, "sm_90a");
  const kernel::Kernel& k = kernel_of(lowered);
  EXPECT_TRUE(passes::is_uneven(k));
  const std::string text = print(lowered.last(Level::kernel));
  EXPECT_NE(text.find("let i0 = (3 - t) * 128"), std::string::npos) << text;
  kernel::Kernel again = k;
  EXPECT_FALSE(passes::longest_first(again, {})) << "the first item is the longest already";
  const Lowered even = lower(in_f16("attention_nomask"), {{"B", 1}, {"H", 1}, {"S", 512}, {"T", 512}}, {}, "sm_90a");
  EXPECT_FALSE(passes::is_uneven(kernel_of(even)));
}

TEST(Registers, are_shared_out_between_roles_so_that_all_fit_the_launch) {
  const Target target = *target_named("sm_90a");
  for (const std::int64_t groups : {2, 3, 4}) {
    const auto split = passes::split_registers(target, groups);
    ASSERT_TRUE(split) << groups;
    const std::int64_t at_launch = 65536 / ((groups + 1) * 128) / 8 * 8;
    EXPECT_LE(split->producer + groups * split->consumer, (groups + 1) * at_launch) << groups;
    EXPECT_EQ(split->producer % 8 + split->consumer % 8, 0);
    EXPECT_GE(split->producer, 24);
    EXPECT_GT(split->consumer, at_launch);
  }
  EXPECT_FALSE(passes::split_registers(target, 1)) << "two groups have all that a thread can have";
  EXPECT_FALSE(passes::split_registers(*target_named("sm_80"), 2));
}

}  // namespace
}  // namespace fathom::lowering_tests
