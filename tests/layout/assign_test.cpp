// Layouts of whole texts by propagation.
#include "layout/assign.hpp"

#include <gtest/gtest.h>

#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

layout::Assignment assigned(const char* text, const char* target, std::size_t role = 0) {
  const auto module = lang::parse_kernel(test::read_file(test::in_project(std::string("tests/kernel/texts/") + text + ".kernel")));
  if (!module) {
    ADD_FAILURE() << text;
    return {};
  }
  const Target its_target = *target_named(target);
  const auto all = layout::assign(module->kernels[0], module->kernels[0].roles[role], its_target);
  if (all) return *all;
  ADD_FAILURE() << text << ": " << all.error().reason << " " << all.error().hint;
  return {};
}

std::string shown(const layout::Assignment& all, const char* name) {
  const auto at = all.of.find(Symbol(std::string_view(name)));
  return at == all.of.end() ? "none" : layout::print(at->second);
}

TEST(Assign, values_of_the_ampere_text_stay_in_the_registers_of_its_accumulators) {
  const layout::Assignment all = assigned("attention_sm80", "sm_80");
  EXPECT_EQ(shown(all, "s"), "e = reg%2, n = reg/4, u = 8*(reg/2%2) + lane/4, w = warp, y = lane%4");
  EXPECT_EQ(shown(all, "p"), shown(all, "s"));
  EXPECT_EQ(shown(all, "pb"), shown(all, "s")) << "the operand of the second product is where the first left it";
  EXPECT_EQ(shown(all, "m"), "u = 8*reg + lane/4, w = warp");
  EXPECT_EQ(shown(all, "l"), "u = 8*reg + lane/4, w = warp, y = lane%4") << "a partial sum a lane";
  EXPECT_EQ(shown(all, "bad"), "w = warp");
  EXPECT_EQ(shown(all, "o.t"), "d = 8*(reg/4) + 2*(lane%4) + reg%2, u = 8*(reg/2%2) + lane/4, w = warp");
  EXPECT_EQ(shown(all, "qf"), "d = 8*(reg/4) + 2*(lane%4) + reg%2, u = 8*(reg/2%2) + lane/4, w = warp");
}

TEST(Assign, values_of_the_hopper_text_are_those_of_a_warpgroup) {
  const layout::Assignment all = assigned("attention_sm90a", "sm_90a", 1);
  EXPECT_EQ(shown(all, "s"), "e = reg%2, n = reg/4, u = 8*(reg/2%2) + lane/4, w = warp, y = lane%4");
  EXPECT_EQ(shown(all, "x"), shown(all, "s")) << "one warp's product has the accumulator of the warpgroup's";
  EXPECT_EQ(shown(all, "pb"), shown(all, "s"));
  EXPECT_EQ(all.of.at(Symbol("s")).registers(), 64);
}

TEST(Assign, rows_are_spread_over_the_threads) {
  const layout::Assignment all = assigned("softmax_rows", "sm_90a");
  EXPECT_EQ(shown(all, "xv"), "e = reg%8, t = lane, v = reg/8, w = warp");
  EXPECT_EQ(shown(all, "mt"), "t = lane, w = warp");
  EXPECT_EQ(shown(all, "m"), "");
  EXPECT_EQ(shown(assigned("layernorm", "sm_80"), "gv"), "e = reg%8, l = lane, v = reg/8, w = warp");
}

TEST(Assign, heads_on_the_columns_of_the_decode_text) {
  const layout::Assignment all = assigned("decode_last_arriver", "sm_90a");
  EXPECT_EQ(shown(all, "st"), "h = 2*(lane%4) + reg%2, y = 8*(reg/2) + lane/4");
  EXPECT_EQ(shown(all, "pb"), "h = lane/4, y = 8*(reg/2) + 2*(lane%4) + reg%2");
  EXPECT_EQ(shown(all, "m"), "h = 2*(lane%4) + reg");
  EXPECT_EQ(shown(all, "acc"), "d = 8*(reg/2) + lane/4, h = 2*(lane%4) + reg%2");
}

}  // namespace
}  // namespace fathom
