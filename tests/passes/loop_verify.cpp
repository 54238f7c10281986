// What a Loop program must satisfy, where its tensors live, and when two of them are one plan.
#include <gtest/gtest.h>

#include <string>

#include "loop_texts.hpp"

namespace fathom {
namespace {

using test::parsed_loop;
using test::replaced;

std::string refusal_of(const loop::Program& program) {
  const auto sound = loop::verify(program);
  return sound ? "" : sound.error().reason;
}

loop::NodeRef leaf(const char* name) { return std::make_shared<const loop::Node>(loop::Leaf{Symbol(std::string_view(name))}); }

TEST(LoopVerify, a_statement_without_a_leaf_is_refused) {
  loop::Program program = parsed_loop(test::split_sum);
  program.root = std::make_shared<const loop::Node>(loop::Sequence{});
  EXPECT_NE(refusal_of(program).find("stands at no leaf"), std::string::npos);
}

TEST(LoopVerify, a_statement_at_two_leaves_is_refused) {
  loop::Program program = parsed_loop(test::split_sum);
  program.root = std::make_shared<const loop::Node>(loop::Sequence{{leaf("o"), leaf("o")}});
  EXPECT_NE(refusal_of(program).find("two leaves"), std::string::npos);
}

TEST(LoopVerify, reading_a_running_reduction_without_a_repair_is_refused) {
  const std::string text = replaced(test::fused_attention, "exp(s[b,h,i,j] - p.m~[b,h,i])", "exp(s[b,h,i,j] - p.m[b,h,i])");
  EXPECT_NE(refusal_of(parsed_loop(text)).find("still computing it"), std::string::npos);
}

TEST(LoopVerify, a_parallel_loop_may_not_carry_a_state) {
  const std::string text = replaced(test::split_sum, "fold j", "parallel j");
  EXPECT_NE(refusal_of(parsed_loop(text)).find("carries a state"), std::string::npos);
}

TEST(LoopVerify, parts_must_be_combined_before_they_are_read) {
  const std::string text = R"(dim T = 10
loops total(x: f32[T]) -> (o: f32)
{
  parallel j.split in 0:2 by 1 {
    fold j in j.split * 5:(j.split + 1) * 5 by 5 {
      t = sum[j](x[j])
    }
  }
  combine j.split of 2 { t }
  o = t * 2
}
)";
  EXPECT_EQ(refusal_of(parsed_loop(text)), "");
  EXPECT_NE(refusal_of(parsed_loop(replaced(text, "  combine j.split of 2 { t }\n", ""))).find("leaves only parts"), std::string::npos);
}

TEST(LoopVerify, parts_that_share_out_the_trips_compute_every_element_of_a_tensor_once) {
  const std::string text = R"(dim T = 10
loops shares(x: f32[T]) -> (o: f32[T])
{
  parallel j.split in 0:2 by 1 {
    fold j in 0:T by 5 [all j.split:j.split + 1] {
      e[j] = x[j] * 2
      t = sum[j](e[j])
    }
  }
  combine j.split of 2 { t }
  o[j] = e[j] / t
}
)";
  EXPECT_EQ(refusal_of(parsed_loop(text)), "");
  EXPECT_NE(refusal_of(parsed_loop(replaced(text, " [all j.split:j.split + 1]", ""))).find("leaves only parts"), std::string::npos);
}

TEST(LoopVerify, a_bound_may_read_only_indices_of_loops_around_it) {
  const std::string text = replaced(test::split_sum, "fold j in min(j.split * 8, T)", "fold j in min(i * 8, T)");
  EXPECT_NE(refusal_of(parsed_loop(text)).find("no loop around it"), std::string::npos);
}

TEST(LoopPlacement, a_value_of_one_trip_lives_in_the_trip_and_a_state_outside) {
  const loop::Program program = parsed_loop(test::fused_attention);
  const loop::Placement score = loop::placements(program).at(Symbol("s"));
  EXPECT_EQ(score.inside, (std::vector<Symbol>{Symbol("b"), Symbol("h"), Symbol("i"), Symbol("j")}));
  ASSERT_EQ(score.extents.size(), 4U);
  const DimValues dims = math::default_dims(program.math);
  EXPECT_EQ(evaluate_integer(score.extents[2], dims), 2);
  EXPECT_EQ(evaluate_integer(score.extents[3], dims), 2);
  const loop::Placement state = loop::placements(program).at(Symbol("o.sum"));
  EXPECT_EQ(state.inside, (std::vector<Symbol>{Symbol("b"), Symbol("h"), Symbol("i")}));
  EXPECT_EQ(evaluate_integer(state.extents[3], dims), 4);
}

TEST(LoopPlacement, results_and_parameters_live_outside_all_loops) {
  const loop::Program program = parsed_loop(test::fused_attention);
  for (const char* name : {"o", "q", "v"}) EXPECT_TRUE(loop::placements(program).at(Symbol(std::string_view(name))).inside.empty()) << name;
}

TEST(LoopPlacement, partial_states_have_an_axis_for_the_parts) {
  std::string text = replaced(test::split_sum, "o = sum", "t = sum");
  text = replaced(text, "{ o }\n", "{ t }\n  o = t * 2\n");
  const loop::Program program = parsed_loop(text);
  const loop::Placement parts = loop::placements(program).at(Symbol("t"));
  ASSERT_EQ(parts.extents.size(), 1U);
  EXPECT_EQ(constant_integer(parts.extents[0]), 2);
}

TEST(LoopCanonical, names_of_statements_and_indices_do_not_count) {
  std::string renamed = test::fused_attention;
  for (const auto& [from, to] :
       {std::pair{"s.sum", "zz"}, {"p.m", "top"}, {"p.e", "a0"}, {"p.sum", "norm"}, {"o.sum", "acc"}, {"d.o", "x"}})
    renamed = replaced(renamed, from, to);
  renamed = replaced(renamed, "s[b,h,i,j]", "q1[b,h,i,j]");
  renamed = replaced(renamed, "b,h,i,j", "b,h,row,j");
  renamed = replaced(renamed, "b,h,i", "b,h,row");
  renamed = replaced(renamed, "parallel i in", "parallel row in");
  EXPECT_EQ(loop::print(loop::canonical(parsed_loop(renamed))), loop::print(loop::canonical(parsed_loop(test::fused_attention))));
}

TEST(LoopCanonical, the_order_of_independent_statements_does_not_count) {
  const auto text = [](const char* first, const char* second) {
    return std::string("dim T = 8\nloops f(x: f32[T], y: f32[T]) -> (o: f32)\n{\n  fold j in 0:T by 4 {\n") + first + second +
           "  }\n  o = a + c\n}\n";
  };
  const char *a = "    a = sum[j](x[j])\n", *c = "    c = max[j](y[j])\n";
  EXPECT_EQ(loop::print(loop::canonical(parsed_loop(text(a, c)))), loop::print(loop::canonical(parsed_loop(text(c, a)))));
}

TEST(LoopCanonical, another_value_is_another_plan) {
  const std::string other = replaced(test::fused_attention, "exp(s[b,h,i,j] - p.m~[b,h,i])", "exp(p.m~[b,h,i] - s[b,h,i,j])");
  EXPECT_NE(loop::print(loop::canonical(parsed_loop(other))), loop::print(loop::canonical(parsed_loop(test::fused_attention))));
}

TEST(LoopCanonical, what_is_canonical_stays_as_it_is) {
  const loop::Program once = loop::canonical(parsed_loop(test::fused_attention));
  EXPECT_EQ(loop::print(loop::canonical(once)), loop::print(once));
  EXPECT_EQ(refusal_of(once), "");
}

}  // namespace
}  // namespace fathom
