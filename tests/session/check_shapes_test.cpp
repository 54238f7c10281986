// The shapes of checks: conditions hold, and hold for numbers that say something.
#include "session/check_shapes.hpp"

#include <set>

#include "lang/lang.hpp"
#include "passes/tile_walk.hpp"
#include "session/check_narrowings.hpp"
#include "session/check_plans.hpp"
#include "session_test.hpp"

namespace fathom::session {
namespace {

using session_tests::compiled;

math::Program parse(const std::string& text) {
  auto file = lang::parse_file(text);
  if (!file) {
    ADD_FAILURE() << render(file.error(), "test", text);
    return {};
  }
  return file->operators.front();
}

std::int64_t at(const DimValues& shape, const char* dim) { return shape.at(Symbol(dim)); }

void expect_conditions_hold(const math::Program& program, const DimValues& shape) {
  for (const Expr condition : program.conditions) EXPECT_EQ(evaluate_integer(condition, shape).value_or(0), 1) << print(condition);
}

TEST(Shapes, heads_that_share_keys_are_more_than_one_and_fewer_than_the_queries) {
  const auto program = parse(
      "dim H = 32, G = 32, S = 64, D = 16\noperator f(q: f32[H,S,D], k: f32[G,D]) -> (o: f32[H,S]) where H % G == 0 {\n"
      "  o[h,i] = sum[d](q[h,i,d] * k[h // (H // G),d])\n}\n");
  for (const bool distinct : {true, false})
    for (const auto& shapes : shapes_for(program, {{Symbol("S"), 4}}, distinct ? 3 : 2, distinct)) {
      const DimValues& shape = shapes.front();
      expect_conditions_hold(program, shape);
      EXPECT_GT(at(shape, "H"), at(shape, "G"));
      EXPECT_GT(at(shape, "G"), 1);
      EXPECT_EQ(at(shape, "D") != at(shape, "H") && at(shape, "D") != at(shape, "G"), distinct);
      EXPECT_LE(at(shape, "H"), 4) << "the smallest that say something";
    }
}

TEST(Shapes, beside_true_tiles_keep_the_small_number_where_no_condition_asks) {
  const auto program = parse("dim S = 64, D = 16, E = 16\noperator f(x: f32[S,D,E]) -> (o: f32[S]) { o[i] = sum[d,e](x[i,d,e]) }\n");
  for (const bool distinct : {true, false}) {
    const DimValues shape = shapes_for(program, {{Symbol("S"), 4}}, 2, distinct).front().front();
    EXPECT_EQ(at(shape, "D") == at(shape, "E"), !distinct);
    EXPECT_EQ(at(shape, "D") == 2 && at(shape, "E") == 2, !distinct);
  }
}

TEST(Shapes, tiled_dimensions_take_every_size_about_their_tile) {
  const auto program = parse("dim S = 64, T = 128\noperator f(x: f32[S,T]) -> (o: f32[S]) { o[i] = sum[j](x[i,j]) }\n");
  std::set<std::int64_t> rows, columns;
  for (const auto& shapes : shapes_for(program, {{Symbol("S"), 4}, {Symbol("T"), 8}}, 3, true)) {
    rows.insert(at(shapes.front(), "S"));
    columns.insert(at(shapes.front(), "T"));
  }
  EXPECT_EQ(rows, (std::set<std::int64_t>{1, 3, 4, 9, 14}));
  EXPECT_EQ(columns, (std::set<std::int64_t>{1, 7, 8, 17, 28}));
}

TEST(Shapes, sizes_give_way_where_a_condition_ties_them) {
  const auto program = parse(
      "dim S = 64, T = 64, P = 16, M = 4\noperator f(x: f32[S], y: f32[T], z: f32[M,P]) -> (o: f32[S], e: f32[M])\n"
      "  where S == T, T == M * P {\n  o[i] = x[i] + y[i]\n  e[m] = sum[p](z[m,p])\n}\n");
  const auto all = shapes_for(program, {{Symbol("S"), 4}, {Symbol("T"), 4}}, 3, true);
  ASSERT_FALSE(all.empty());
  bool several = false;
  for (const auto& shapes : all) {
    expect_conditions_hold(program, shapes.front());
    several = several || (at(shapes.front(), "M") > 1 && at(shapes.front(), "P") > 1);
  }
  EXPECT_TRUE(several) << "9 = 3 * 3";
}

TEST(Shapes, many_dimensions_do_not_take_long) {
  std::string dims = "dim A0 = 8", box = "A0", index = "x0";
  for (int k = 1; k < 12; ++k) {
    dims += ", A" + std::to_string(k) + " = 8";
    box += ",A" + std::to_string(k);
    index += ",x" + std::to_string(k);
  }
  const auto program = parse(dims + "\noperator f(y: f32[" + box + "]) -> (o: f32[" + box + "]) { o[" + index + "] = y[" + index + "] }\n");
  EXPECT_EQ(shapes_for(program, {}, 3, true).size(), 1U);
}

TEST(Shapes, every_plan_of_grouped_heads_is_checked_with_groups) {
  const auto plan = compiled(session_tests::read_sample("attention"), {}, {}, "blackboard");
  for (const bool miniature : {true, false}) {
    const auto plans = small_plans(*plan, miniature, 3);
    ASSERT_FALSE(plans.empty());
    EXPECT_TRUE(std::any_of(plans.begin(), plans.end(),
                            [](const SmallPlan& each) { return at(each.shape, "H") > at(each.shape, "Hk") && at(each.shape, "Hk") > 1; }));
  }
}

// ---- narrowed operands ----

/// Every cast in the module that makes `from` makes `to`.
Ir recast(const Ir& ir, DType from, DType to) {
  kernel::Module module = ir.module();
  const auto changed = [&](Expr e) {
    return transform(e, [&](Expr node) { return node.is(Op::cast) && node.node().dtype == from ? cast(to, node.arg(0)) : node; });
  };
  for (kernel::Kernel& kernel : module.kernels)
    for (kernel::Role& role : kernel.roles) passes::rewrite_expressions(role.body, changed);
  return make_ir(ir.level, std::move(module));
}

const Step* narrowing_step(const Compilation& compilation) {
  for (const Step& step : compilation.record.steps)
    if (step.decision && step.decision->kind == "precision" && step.changed) return &step;
  return nullptr;
}

/// Weights in f32 against values in bf16, the result in f32: nothing else rounds as much.
const char* const weighted =
    "dim S = 64, T = 256, D = 64\noperator f(s: f32[S,T], v: bf16[T,D]) -> (o: f32[S,D]) {\n"
    "  p[i,j] = softmax[j](s[i,j])\n  o[i,d] = sum[j](p[i,j] * v[j,d])\n}\n";

TEST(Narrowings, are_found_in_the_record_and_widen_the_bound_from_their_step_on) {
  const auto plan = compiled(weighted, {}, {}, "sm_90a");
  const Step* step = narrowing_step(*plan);
  ASSERT_NE(step, nullptr) << "the matrix unit of sm_90a takes bf16 with bf16";
  const auto narrowings = narrowings_after(plan->record);
  const auto place = static_cast<std::size_t>(step - plan->record.steps.data());
  EXPECT_TRUE(narrowings[place - 1].empty());
  ASSERT_EQ(narrowings[place].size(), 1U);
  EXPECT_EQ(narrowings[place][0].statement, Symbol("o"));
  EXPECT_EQ(narrowings[place][0].index, Symbol("j"));
  EXPECT_EQ(narrowings[place][0].dtype, DType::bf16);
  const Cases cases(*plan, Level::tile);
  const Check narrow = cases.check(*step), before = cases.check(plan->record.steps[place - 1]);
  EXPECT_EQ(before.status, CheckStatus::passed) << before.reason;
  EXPECT_EQ(narrow.status, CheckStatus::passed) << narrow.reason;
  EXPECT_GT(*narrow.max_error, *before.bound) << "the bound of f32 would not hold";
}

TEST(Narrowings, allow_no_narrower_type_than_decided) {
  const auto plan = compiled(weighted, {}, {}, "sm_90a");
  const Step* step = narrowing_step(*plan);
  ASSERT_NE(step, nullptr);
  const Cases cases(*plan, Level::tile);
  const Check narrower = cases.check(*step, [](const Ir& ir) { return recast(ir, DType::bf16, DType::f8e5m2); });
  EXPECT_EQ(narrower.status, CheckStatus::failed);
  const auto place = static_cast<std::size_t>(step - plan->record.steps.data());
  const auto exact = compiled([&] {
    Inputs inputs = session_tests::inputs_of(weighted, {}, {}, "sm_90a");
    inputs.options.precision = passes::Precision::exact;
    return inputs;
  }());
  EXPECT_EQ(narrowing_step(*exact), nullptr);
  EXPECT_TRUE(narrowings_after(exact->record).back().empty());
  EXPECT_GT(plan->record.steps.size(), place);
}

}  // namespace
}  // namespace fathom::session
