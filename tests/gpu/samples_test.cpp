// Plans of the samples for targets with warps: the compiler's own Kernel level, run lane by lane against the wide reference of the text.
#include <gtest/gtest.h>

#include "sample_runs.hpp"

namespace fathom {
namespace {

using test::compiled;
using test::fault_of;
using test::Sample;

const std::vector<Sample>& samples() {
  static const auto* all = new std::vector<Sample>{
      {"softmax", {{"R", 33}, {"C", 600}}, {}},
      {"softmax", {{"R", 5}, {"C", 1024}}, {{"f32", "bf16"}}},
      {"rmsnorm", {{"R", 40}, {"C", 512}}, {}},
      {"layernorm", {{"R", 17}, {"C", 300}}, {}},
      {"logsumexp", {{"R", 20}, {"C", 700}}, {}},
      {"cross_entropy", {{"R", 20}, {"C", 400}}, {}},
      {"attention", {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 150}, {"T", 150}}, {}},
      {"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 130}}, {{"f32", "bf16"}}},
      {"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 130}}, {}},
      {"matmul_bias_gelu", {{"M", 70}, {"N", 128}, {"K", 96}}, {{"f32", "f16"}}},
      {"matmul_bias_gelu", {{"M", 70}, {"N", 128}, {"K", 96}}, {}},
      // Rows of a warp, of several warps, and with a tail; extents that no atom divides.
      {"softmax", {{"R", 9}, {"C", 40}}, {}},
      {"softmax", {{"R", 3}, {"C", 5000}}, {{"f32", "f16"}}},
      {"layernorm", {{"R", 3}, {"C", 1100}}, {}},
      {"rmsnorm", {{"R", 6}, {"C", 1001}}, {}},
      {"logsumexp", {{"R", 2}, {"C", 2000}}, {{"f32", "bf16"}}},
      {"matmul_bias_gelu", {{"M", 70}, {"N", 100}, {"K", 100}}, {{"f32", "f16"}}},
      {"matmul_bias_gelu", {{"M", 20}, {"N", 50}, {"K", 36}}, {}},
      {"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 40}, {"T", 50}, {"D", 80}}, {{"f32", "bf16"}}},
      {"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 40}, {"T", 50}, {"D", 20}}, {}},
      {"attention", {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 50}, {"T", 50}, {"D", 96}}, {}},
  };
  return *all;
}

TEST(SamplesInLanes, are_what_their_text_says_on_ampere) {
  for (const Sample& s : samples()) {
    const auto c = compiled(s, "sm_80");
    if (!c) continue;
    for (const char* family : {"gaussian", "large", "descending", "all-equal"})
      EXPECT_EQ(fault_of(*c, family), "") << s.name << " on " << family;
  }
}

/// With a producer, groups and overlapped products: whatever tiles, rings and choices.
TEST(SamplesInLanes, are_what_their_text_says_with_roles) {
  const std::map<std::string, std::string> f16 = {{"f32", "f16"}};
  const struct {
    Sample sample;
    std::vector<std::pair<const char*, const char*>> choices;
    std::size_t roles;
  } cases[] = {
      {{"attention", {{"B", 1}, {"H", 2}, {"Hk", 1}, {"S", 150}, {"T", 150}}, {}}, {}, 2},
      {{"attention", {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 300}, {"T", 300}}, {}}, {{"o/i/tile", "128"}, {"o/j/tile", "128"}}, 2},
      {{"attention", {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 100}, {"T", 250}}, {}}, {{"attention/overlap", "off"}}, 2},
      {{"attention", {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 100}, {"T", 250}}, {}}, {{"attention/stages", "3"}}, 2},
      {{"attention", {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 100}, {"T", 100}}, {}}, {{"attention/roles", "one"}}, 1},
      {{"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 192}}, f16}, {}, 2},
      {{"matmul_bias_gelu", {{"M", 70}, {"N", 128}, {"K", 256}}, f16}, {}, 2},
      {{"matmul_bias_gelu", {{"M", 200}, {"N", 128}, {"K", 192}}, f16}, {{"y/i/tile", "128"}, {"y/j/tile", "128"}, {"y/k/tile", "64"}}, 2},
  };
  for (const auto& c : cases) {
    Trace trace;
    for (const auto& choice : c.choices) trace.entries.push_back({choice.first, choice.second, false, Origin::by_user});
    const auto made = compiled(c.sample, "sm_90a", trace);
    ASSERT_TRUE(made);
    ASSERT_EQ(made->final_ir().level, Level::kernel) << c.sample.name;
    EXPECT_EQ(made->final_ir().module().kernels[0].roles.size(), c.roles) << c.sample.name;
    for (const char* family : {"gaussian", "descending"}) EXPECT_EQ(fault_of(*made, family), "") << c.sample.name << " on " << family;
  }
}

TEST(SamplesInLanes, are_right_whatever_is_chosen_for_warps_and_stages) {
  const Sample small[] = {{"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 70}, {"T", 200}}, {{"f32", "bf16"}}},
                          {"matmul_bias_gelu", {{"M", 64}, {"N", 64}, {"K", 640}}, {}}};
  int tried = 0;
  for (const Sample& s : small) {
    Trace rows;  // one tile of rows a warp: operands that are computed have a form for that only
    if (std::string(s.name) == "attention_nomask") rows.entries = {{"o/i/tile", "16", false, Origin::by_user}};
    const auto usual = compiled(s, "sm_80", rows);
    ASSERT_TRUE(usual);
    for (const Decision& d : usual->record.decisions) {
      if (d.kind != "warps" && d.kind != "stages") continue;
      for (const Alternative& each : d.alternatives) {
        if (each.choice == d.choice || each.refused) continue;
        Trace trace = rows;
        trace.entries.push_back({d.site, each.choice, false, Origin::by_user});
        const auto c = compiled(s, "sm_80", trace);
        ASSERT_TRUE(c);
        EXPECT_EQ(fault_of(*c, "gaussian"), "") << s.name << ": " << d.site << " = " << each.choice;
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 4);
}

}  // namespace
}  // namespace fathom
