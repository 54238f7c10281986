// The lowering of attention from its text to one loop over keys: which steps, what they say, what each leaves; overrides; spellings.
#include <gtest/gtest.h>

#include <algorithm>

#include "lang/lang.hpp"
#include "passes/nest.hpp"
#include "passes/passes.hpp"

namespace fathom::passes {
namespace {

constexpr auto attention = R"(dim B = 1, H = 2, S = 96, T = 128, D = 16
operator attention(q: f32[B, H, S, D], k: f32[B, H, T, D], v: f32[B, H, T, D]) -> (o: f32[B, H, S, D])
{
  s[b,h,i,j] = sum[d](q[b,h,i,d] * k[b,h,j,d]) / sqrt(D)
  c[b,h,i,j] = where(j <= i + (T - S), s[b,h,i,j], -inf)
  p[b,h,i,j] = softmax[j](c[b,h,i,j])
  o[b,h,i,d] = sum[j](p[b,h,i,j] * v[b,h,j,d])
}
)";

constexpr auto unmasked = R"(dim B = 1, H = 2, S = 96, T = 128, D = 16
operator attention(q: f32[B, H, S, D], k: f32[B, H, T, D], v: f32[B, H, T, D]) -> (o: f32[B, H, S, D])
{
  s[b,h,i,j] = sum[d](q[b,h,i,d] * k[b,h,j,d]) / sqrt(D)
  p[b,h,i,j] = softmax[j](s[b,h,i,j])
  o[b,h,i,d] = sum[j](p[b,h,i,j] * v[b,h,j,d])
}
)";

math::Program parsed(const std::string& source) {
  const auto file = lang::parse_file(source);
  EXPECT_TRUE(file) << render(file.error(), "test.fathom", source);
  return file ? file->operators.front() : math::Program{};
}

Record compiled(const std::string& source, const Trace& trace = {}, const char* target = "x86-64") {
  Options options;
  options.verify = true;
  auto record = replay(parsed(source), *target_named(target), trace, options);
  EXPECT_TRUE(record) << record.error().reason;
  return record ? *record : Record{};
}

const Step* find(const Record& record, std::string_view id) {
  const auto at = std::find_if(record.steps.begin(), record.steps.end(), [&](const Step& step) { return step.id == id; });
  return at == record.steps.end() ? nullptr : &*at;
}

/// The last step of the Loop level.
const Step& last_loop_step(const Record& record) {
  const auto at = std::find_if(record.steps.rbegin(), record.steps.rend(), [](const Step& step) { return step.level == Level::loop; });
  return *at;
}

std::int64_t folds_over(const loop::Program& program, const char* index) {
  std::int64_t count = 0;
  for (const Nest& nest : nests_of(program)) count += nest.folds_over(Symbol(std::string_view(index))) ? 1 : 0;
  return count;
}

Trace all_no(const Record& record) {
  Trace trace;
  for (const Decision& each : record.decisions) {
    if (each.kind == "fuse") trace.entries.push_back({each.site, "no", false, Origin::by_user});
  }
  return trace;
}

TEST(Attention, every_stop_of_the_lowering_is_a_step) {
  const Record record = compiled(attention);
  for (const char* id : {"open-prelude", "derive", "move-factors-out", "name-apart", "make-loops", "o/i/tile", "o/j/tile", "o/j/bound",
                         "p.sum/j/fuse", "o.sum/j/fuse", "o/j/fold"})
    EXPECT_NE(find(record, id), nullptr) << id;
  EXPECT_TRUE(record.refusals.empty());
}

TEST(Attention, ends_in_one_loop_over_keys_that_stores_no_score) {
  const Record record = compiled(attention);
  const loop::Program& program = last_loop_step(record).after.loop();
  EXPECT_EQ(nests_of(program).size(), 1U);
  EXPECT_EQ(folds_over(program, "j"), 1);
  for (const TensorLife& life : last_loop_step(record).lives) EXPECT_NE(life.place, "main memory") << life.tensor.text();
}

TEST(Attention, fusing_is_told_with_loops_and_bytes) {
  const Record record = compiled(attention);
  EXPECT_NE(find(record, "p.sum/j/fuse")->says.find("Three loops over j become two"), std::string::npos)
      << find(record, "p.sum/j/fuse")->says;
  const std::string says = find(record, "o.sum/j/fuse")->says;
  EXPECT_NE(says.find("Two loops over j become one"), std::string::npos) << says;
  // 2 heads of 96 x 128 scores in f32
  EXPECT_NE(says.find("c (96 KiB), p.m (768 B) and p.sum (768 B) are no longer stored"), std::string::npos) << says;
}

TEST(Attention, cost_falls_as_loops_merge) {
  const Record record = compiled(attention);
  const double before = find(record, "o/j/bound")->cost.bytes, after = find(record, "o.sum/j/fuse")->cost.bytes;
  // q, k, v in and o out once each, no more
  EXPECT_EQ(after, 4.0 * 2 * 16 * (96 + 128 + 128 + 96));
  EXPECT_GT(before, 4 * after);
}

TEST(Attention, fusing_nothing_is_a_plan_too) {
  const Record record = compiled(attention, all_no(compiled(attention)));
  const loop::Program& program = last_loop_step(record).after.loop();
  EXPECT_EQ(folds_over(program, "j"), 3);
  EXPECT_TRUE(loop::verify(program));
  EXPECT_TRUE(record.refusals.empty());
}

TEST(Attention, a_split_fold_is_a_plan_too) {
  const Record record = compiled(attention, {{{"o/j/tile", "32", false, Origin::by_user},
                                              {"o/j/fold", "split-k", false, Origin::by_user},
                                              {"o/j/splits", "4", false, Origin::by_user}}});
  const std::string text = print(last_loop_step(record).after);
  EXPECT_NE(text.find("parallel j.split in 0:4 by 1 {"), std::string::npos) << text;
  EXPECT_NE(text.find("combine j.split of 4 { p.m, p.sum, o.sum }"), std::string::npos) << text;
  EXPECT_TRUE(record.refusals.empty());
}

TEST(Attention, the_loop_text_of_every_step_parses_back) {
  for (const Trace& trace : {Trace{}, all_no(compiled(attention)),
                             Trace{{{"o/j/tile", "16", false, Origin::by_user}, {"o/j/fold", "split-k", false, Origin::by_user}}}}) {
    for (const Step& step : compiled(attention, trace).steps) {
      if (step.level != Level::loop) continue;
      const std::string text = print(step.after);
      const auto again = lang::parse_loop(text);
      ASSERT_TRUE(again) << step.id << "\n" << render(again.error(), "step.loop", text);
      EXPECT_EQ(loop::print(*again), text) << step.id;
    }
  }
}

TEST(Attention, equal_inputs_give_equal_records_and_the_complete_trace_gives_them_again) {
  const Record first = compiled(attention), second = compiled(attention), third = compiled(attention, first.trace);
  ASSERT_EQ(first.steps.size(), second.steps.size());
  ASSERT_EQ(first.steps.size(), third.steps.size());
  for (std::size_t i = 0; i < first.steps.size(); ++i) {
    for (const Record* other : {&second, &third}) {
      EXPECT_EQ(first.steps[i].id, other->steps[i].id);
      EXPECT_EQ(first.steps[i].says, other->steps[i].says);
      EXPECT_EQ(print(first.steps[i].after), print(other->steps[i].after));
    }
  }
  EXPECT_EQ(first.trace.entries, third.trace.entries);
}

TEST(Attention, a_tile_override_changes_its_loop_and_what_depends_on_it_alone) {
  const Record plain = compiled(attention);
  const Record other = compiled(attention, {{{"o/j/tile", "16", false, Origin::by_user}}});
  ASSERT_EQ(plain.steps.size(), other.steps.size());
  EXPECT_TRUE(other.refusals.empty());
  EXPECT_NE(print(last_loop_step(other).after).find("by 16"), std::string::npos);
  for (std::size_t i = 0; i < plain.steps.size(); ++i) {
    const std::string& id = plain.steps[i].id;
    EXPECT_EQ(id, other.steps[i].id);
    if (plain.steps[i].pass == "tile" || plain.steps[i].pass == "fuse" || plain.steps[i].level == Level::math) {
      if (id != "o/j/tile") {
        EXPECT_EQ(plain.steps[i].says, other.steps[i].says);
      }
    }
  }
}

TEST(Attention, an_illegal_tile_is_refused_and_the_default_stays) {
  for (const char* choice : {"0", "-16", "17", "huge", "1000000000"}) {
    const Record record = compiled(attention, {{{"o/j/tile", choice, false, Origin::by_user}}});
    EXPECT_EQ(record.refusals.size(), 1U) << choice;
    EXPECT_EQ(print(last_loop_step(record).after), print(last_loop_step(compiled(attention)).after)) << choice;
  }
}

TEST(Attention, the_blackboard_takes_tiles_of_two) {
  const Record record = compiled(
      "dim B = 1, H = 1, S = 4, T = 8, D = 4\n" + std::string(unmasked).substr(std::string(unmasked).find("operator")), {}, "blackboard");
  EXPECT_EQ(find(record, "o/i/tile")->decision->choice, "2");
  EXPECT_EQ(find(record, "o/j/tile")->decision->choice, "2");
}

// ---- spellings ----
using test::replaced;

std::string plan_of(const std::string& source) { return loop::print(loop::canonical(last_loop_step(compiled(source)).after.loop())); }

TEST(Spelling, names_of_statements_and_indices_do_not_change_the_plan) {
  std::string other = unmasked;
  other = replaced(other, "s[b,h,i,j] = sum[d](q[b,h,i,d] * k[b,h,j,d]) / sqrt(D)",
                   "score[x,y,row,key] = sum[z](q[x,y,row,z] * k[x,y,key,z]) / sqrt(D)");
  other = replaced(other, "p[b,h,i,j] = softmax[j](s[b,h,i,j])", "w[b,g,m,n] = softmax[n](score[b,g,m,n])");
  other = replaced(other, "o[b,h,i,d] = sum[j](p[b,h,i,j] * v[b,h,j,d])", "o[b,h,i,e] = sum[t](w[b,h,i,t] * v[b,h,t,e])");
  EXPECT_EQ(plan_of(other), plan_of(unmasked));
}

TEST(Spelling, unused_statements_and_operand_order_do_not_change_the_plan) {
  std::string other = replaced(unmasked, "o[b,h,i,d] = sum[j](p[b,h,i,j] * v[b,h,j,d])",
                               "unused[b,h,j] = sum[d](k[b,h,j,d] ^ 2)\n  o[b,h,i,d] = sum[j](v[b,h,j,d] * p[b,h,i,j])");
  EXPECT_EQ(plan_of(other), plan_of(unmasked));
}

TEST(Spelling, softmax_by_hand_is_softmax) {
  const std::string by_hand = replaced(unmasked, "p[b,h,i,j] = softmax[j](s[b,h,i,j])",
                                       "m[b,h,i] = max[j](s[b,h,i,j])\n  e[b,h,i,j] = exp(s[b,h,i,j] - m[b,h,i])\n"
                                       "  l[b,h,i] = sum[j](e[b,h,i,j])\n"
                                       "  p[b,h,i,j] = where(m[b,h,i] == -inf, 0, e[b,h,i,j] * (1 / l[b,h,i]))");
  EXPECT_EQ(plan_of(by_hand), plan_of(unmasked));
}

// ---- what must not be fused ----
std::int64_t loops_over_j(const std::string& source) { return folds_over(last_loop_step(compiled(source)).after.loop(), "j"); }

TEST(NotFused, a_partner_read_from_the_other_end) {
  EXPECT_EQ(loops_over_j("dim T = 64\noperator f(s: f32[T], v: f32[T]) -> (o: f32)\n{\n  m = max[j](s[j])\n"
                         "  o = sum[j](exp(s[j] - m) * exp(s[T - 1 - j] - m) * v[j])\n}\n"),
            2);
}

TEST(NotFused, a_reference_over_other_elements) {
  const Record record = compiled(
      "dim T = 64\noperator f(s: f32[T], v: f32[T]) -> (o: f32)\n{\n  m = max[j](s[j])\n"
      "  o = sum[j in 0:T // 2](exp(s[j] - m) * v[j])\n}\n");
  EXPECT_EQ(nests_of(last_loop_step(record).after.loop()).size(), 2U);
}

TEST(NotFused, softmax_over_another_axis) {
  const Record record = compiled(
      "dim S = 32, T = 64\noperator f(s: f32[S, T], v: f32[T]) -> (o: f32[S])\n{\n  p[i,j] = softmax[i](s[i,j])\n"
      "  o[i] = sum[j](p[i,j] * v[j])\n}\n");
  const loop::Program& program = last_loop_step(record).after.loop();
  EXPECT_EQ(folds_over(program, "j"), 1);
  EXPECT_EQ(folds_over(program, "i"), 1);
  EXPECT_EQ(nests_of(program).size(), 2U);
}

TEST(NotFused, what_the_algebra_refuses_and_the_step_says_so) {
  const Record record = compiled("dim T = 64\noperator f(u: f32[T]) -> (o: f32)\n{\n  m = max[j](u[j])\n  o = sum[j](tanh(u[j] - m))\n}\n");
  const Step* step = find(record, "o/j/fuse");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->decision->choice, "no");
  EXPECT_FALSE(step->refusals.empty());
  EXPECT_FALSE(step->changed);
  EXPECT_EQ(folds_over(last_loop_step(record).after.loop(), "j"), 2);
}

}  // namespace
}  // namespace fathom::passes
