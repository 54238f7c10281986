// Loop programs and repairs: rolling updates and split-k of softmax times v against the reference of the text, and what happens when the
// repair is wrong.
#include <cstring>
#include <set>

#include "interp_test.hpp"

namespace fathom::interp {
namespace {

const char* const softmax_times_v =
    "dim S = 3, T = 10\n"
    "operator f(s: f32[S, T], v: f32[T]) -> (o: f32[S]) {\n"
    "  m[i] = max[j](s[i,j])\n"
    "  e[i,j] = exp(s[i,j] - m[i])\n"
    "  l[i] = sum[j](e[i,j])\n"
    "  a[i] = sum[j](e[i,j] * v[j])\n"
    "  o[i] = where(m[i] == -inf, 0, a[i] / l[i])\n}\n";

const Symbol gauge_name("m~");

/// e reads the gauge of m, and l and a ride with m by a repair (whose move is left out where `moves` is false).
math::Program repaired(const math::Program& program, bool moves = true) {
  math::Program result = program;
  const Expr reference = read(Symbol("m"), {index(Symbol("i"))});
  for (math::Statement& statement : result.statements) {
    if (statement.name == Symbol("e"))
      statement.value = math::Map{substitute(statement.map()->value, {{reference, read(gauge_name, {index(Symbol("i"))})}})};
    if (statement.reduction() == nullptr || statement.name == Symbol("m")) continue;
    math::Reduction reduction = *statement.reduction();
    const Expr carrier = symbol(statement.name);
    const Expr factor = unary(Op::exp, symbol(gauge_name) - symbol(primed(gauge_name)));
    reduction.repair = math::Repair{
        {{gauge_name, reference}}, {{statement.name, reduction.reducer, reduction.values[0], moves ? carrier * factor : carrier}}, carrier};
    statement.value = std::move(reduction);
  }
  return result;
}

loop::NodeRef node(loop::Node value) { return std::make_shared<const loop::Node>(std::move(value)); }
loop::NodeRef leaves(std::initializer_list<const char*> names) {
  loop::Sequence sequence;
  for (const char* name : names) sequence.items.push_back(node(loop::Leaf{Symbol(name)}));
  return node(std::move(sequence));
}
loop::NodeRef sequence(std::vector<loop::NodeRef> items) { return node(loop::Sequence{std::move(items)}); }
loop::NodeRef over(const char* name, Expr lo, Expr hi, int tile, loop::Mark mark, loop::NodeRef body) {
  return node(loop::Loop{Symbol(name), lo, hi, number(tile), mark, {}, std::move(body)});
}

loop::Program rolling(math::Program program, int tile) {
  const Expr zero = number(0);
  auto fold = over("j", zero, dim(Symbol("T")), tile, loop::Mark::fold, leaves({"m", "e", "l", "a"}));
  return {std::move(program), over("i", zero, dim(Symbol("S")), 2, loop::Mark::parallel, sequence({fold, leaves({"o"})}))};
}

loop::Program split(math::Program program, int parts, int part_size) {
  const Expr zero = number(0);
  const Expr part = index(Symbol("j.split"));
  const Expr first = part * number(part_size);
  const Expr last = binary(Op::min, dim(Symbol("T")), first + number(part_size));
  auto fold = over("j", first, last, 2, loop::Mark::fold, leaves({"m", "e", "l", "a"}));
  auto splits = over("j.split", zero, number(parts), 1, loop::Mark::parallel, fold);
  auto merge = node(loop::Combine{Symbol("j.split"), number(parts), {Symbol("m"), Symbol("l"), Symbol("a")}});
  return {std::move(program), over("i", zero, dim(Symbol("S")), 2, loop::Mark::parallel, sequence({splits, merge, leaves({"o"})}))};
}

struct Outcome {
  int failed = 0;
  int cases = 0;
  std::string detail;
};

/// Checks the plan on every family at several lengths.
Outcome check(const std::function<Ir(const math::Program&)>& plan) {
  Outcome outcome;
  for (const std::int64_t length : {0, 1, 3, 4, 9, 10}) {
    const auto program = parse(softmax_times_v, {{"T", length}});
    for (const std::string& family : data_families(program)) {
      const Arrays inputs = make_inputs(program, default_dims(program), family, 7, {4, 8});
      BoundOptions options;
      options.structured_data = is_structured(family);
      options.moves = length;
      const auto expected = reference_of(program, inputs, {}, options);
      const Arrays actual = run_of(plan(program), inputs);
      const CheckCase result = compare(actual.at(Symbol("o")), expected.at(Symbol("o")), DType::f32, -1);
      ++outcome.cases;
      if (result.status != CheckStatus::failed) continue;
      ++outcome.failed;
      outcome.detail = family + " at T = " + std::to_string(length) + ": " + result.detail;
    }
  }
  return outcome;
}

TEST(Loop, a_rolling_update_agrees_with_the_text_for_every_tile) {
  for (const int tile : {1, 3, 4, 64}) {
    const Outcome outcome = check([&](const math::Program& p) { return make_ir(rolling(repaired(p), tile)); });
    EXPECT_EQ(outcome.failed, 0) << outcome.detail;
    EXPECT_GT(outcome.cases, 60);
  }
}

TEST(Loop, split_k_agrees_with_the_text_even_with_empty_parts) {
  for (const int parts : {1, 3, 5}) {
    const Outcome outcome = check([&](const math::Program& p) { return make_ir(split(repaired(p), parts, parts == 1 ? 64 : 4)); });
    EXPECT_EQ(outcome.failed, 0) << outcome.detail;
  }
}

TEST(Loop, a_repair_that_forgets_to_move_is_caught_by_both_folds_and_at_math_level) {
  EXPECT_GT(check([](const math::Program& p) { return make_ir(rolling(repaired(p, false), 4)); }).failed, 0);
  EXPECT_GT(check([](const math::Program& p) { return make_ir(split(repaired(p, false), 3, 4)); }).failed, 0);
  EXPECT_GT(check([](const math::Program& p) { return make_ir(repaired(p, false)); }).failed, 0);
}

TEST(Math, a_repaired_reduction_moves_with_its_gauge_even_outside_a_loop) {
  const Outcome outcome = check([](const math::Program& p) { return make_ir(repaired(p)); });
  EXPECT_EQ(outcome.failed, 0) << outcome.detail;
}

TEST(Loop, a_first_tile_that_is_wholly_masked_leaves_no_trace) {
  const auto program = parse(softmax_times_v, {{"S", 1}, {"T", 8}});
  std::vector<double> scores(8, -inf);
  for (std::size_t j = 4; j < 8; ++j) scores[j] = -200;
  const Arrays inputs{{Symbol("s"), array({1, 8}, scores)}, {Symbol("v"), row({9, 9, 9, 9, 1, 2, 3, 4})}};
  EXPECT_EQ(run_of(make_ir(rolling(repaired(program), 4)), inputs).at(Symbol("o")).data[0], 2.5);
  EXPECT_EQ(run_of(make_ir(split(repaired(program), 2, 4)), inputs).at(Symbol("o")).data[0], 2.5);
}

TEST(Loop, tile_ranges_say_which_trips_are_taken) {
  const auto program = parse(softmax_times_v);
  loop::Program skipping = rolling(repaired(program), 4);
  const auto& outer = std::get<loop::Loop>(*skipping.root);
  const auto& body = std::get<loop::Sequence>(*outer.body);
  loop::Loop inner = std::get<loop::Loop>(*body.items[0]);
  inner.ranges = {{Symbol("open"), number(1), number(2)}, {Symbol("mixed"), number(2), number(3)}};
  loop::Loop copy = outer;
  copy.body = sequence({node(inner), body.items[1]});
  skipping.root = node(copy);
  const auto masked_text =
      std::string(softmax_times_v).replace(std::string(softmax_times_v).find("max[j](s[i,j])"), 14, "max[j](where(j >= 4, s[i,j], -inf))");
  const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", 3);
  Arrays hidden = inputs;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 4; ++j) hidden[Symbol("s")].data[static_cast<std::size_t>(i * 10 + j)] = -inf;
  EXPECT_EQ(run_of(make_ir(skipping), inputs).at(Symbol("o")).data,
            run_of(make_ir(rolling(repaired(program), 4)), hidden).at(Symbol("o")).data);
}

TEST(Loop, bounds_follow_scalars_and_lists) {
  const auto program = lang::parse_loop(
      "dim B = 4, T = 10\n\n"
      "loops f(s: f32[T], st: i32[B], en: i32[B], most: i32) -> (n: f32[B], p: f32)\n{\n"
      "  {\n"
      "    parallel b in 0:B by 1 {\n"
      "      fold j in st[b]:min(en[b], most) by 3 [open 0:max(min(en[b], most) - st[b] + 2, 0) // 3] {\n"
      "        n[b in 0:B] = sum[j in st[b]:min(en[b], most)](s[j])\n"
      "      }\n"
      "    }\n"
      "    fold k in 0:most by 4 {\n"
      "      p = sum[k in 0:most](s[k])\n"
      "    }\n"
      "  }\n}\n");
  ASSERT_TRUE(program) << program.error().front().message;
  const std::vector<double> s = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512}, starts = {0, 3, 7, 5}, ends = {10, 9, 7, 2};
  for (const std::int64_t most : {0, 1, 8, 10}) {
    const Arrays inputs{{Symbol("s"), row(s)},
                        {Symbol("st"), row(starts, DType::i32)},
                        {Symbol("en"), row(ends, DType::i32)},
                        {Symbol("most"), array({}, {static_cast<double>(most)}, DType::i32)}};
    const Arrays results = run_of(make_ir(*program), inputs);
    double total = 0;
    for (std::int64_t k = 0; k < most; ++k) total += s[static_cast<std::size_t>(k)];
    EXPECT_EQ(results.at(Symbol("p")).data[0], total) << most;
    for (std::size_t b = 0; b < 4; ++b) {
      double expected = 0;
      for (auto j = static_cast<std::size_t>(starts[b]); j < std::min(static_cast<std::size_t>(ends[b]), static_cast<std::size_t>(most));
           ++j)
        expected += s[j];
      EXPECT_EQ(results.at(Symbol("n")).data[b], expected) << most << " " << b;
    }
  }
}

TEST(Observer, sees_running_states_and_then_every_element_of_the_result) {
  const auto program = parse(softmax_times_v);
  const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", 3);
  RunOptions options;
  std::map<std::vector<std::int64_t>, double> last;
  int running = 0;
  std::set<std::int64_t> trips;
  options.observer = [&](const Event& event) {
    if (event.tensor == Symbol("a") && event.partial) ++running, trips.insert(event.trip.empty() ? -1 : event.trip.back().second);
    if (!(event.tensor == Symbol("o"))) return;
    EXPECT_FALSE(event.partial);
    ASSERT_EQ(event.box.size(), 1U);
    for (std::int64_t i = event.box[0].first; i < event.box[0].second; ++i)
      last[{i}] = (*event.values)[static_cast<std::size_t>(i - event.box[0].first)];
  };
  const Arrays actual = run_of(make_ir(rolling(repaired(program), 4)), inputs, options);
  ASSERT_EQ(last.size(), 3U);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(last[{i}], actual.at(Symbol("o")).data[static_cast<std::size_t>(i)]);
  EXPECT_GE(running, 6);
  EXPECT_TRUE(trips.contains(2));
}

/// A run with an observer takes every trip by itself.
Arrays trip_by_trip(const Ir& ir, const Arrays& inputs) {
  RunOptions options;
  options.observer = [](const Event&) {};
  return run_of(ir, inputs, options);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

TEST(Parallel, trips_that_run_as_one_give_the_same_bits) {
  const auto program = parse(softmax_times_v, {{"S", 7}});
  const loop::Program wrong = rolling(repaired(program, false), 4);
  for (const std::string& family : data_families(program)) {
    const Arrays inputs = make_inputs(program, default_dims(program), family, 7, {4, 8});
    for (const loop::Program& plan : {rolling(repaired(program), 4), split(repaired(program), 3, 4), wrong}) {
      const Ir ir = make_ir(plan);
      EXPECT_TRUE(same_bits(run_of(ir, inputs).at(Symbol("o")).data, trip_by_trip(ir, inputs).at(Symbol("o")).data)) << family;
    }
  }
}

TEST(Parallel, bounds_that_follow_the_index_hold_for_every_trip) {
  const auto program = parse(softmax_times_v);
  loop::Program plan = rolling(repaired(program), 4);
  loop::Loop outer = std::get<loop::Loop>(*plan.root);
  const auto body = std::get<loop::Sequence>(*outer.body);
  loop::Loop inner = std::get<loop::Loop>(*body.items[0]);
  outer.tile = number(1);
  for (const bool by_range : {false, true}) {  // row i takes its first i + 1 tiles
    const Expr tiles = index(Symbol("i")) + number(1);
    inner.ranges.clear();
    if (by_range) inner.ranges = {{Symbol("all"), number(0), tiles}};
    inner.hi = by_range ? dim(Symbol("T")) : binary(Op::min, dim(Symbol("T")), number(4) * tiles);
    outer.body = sequence({node(inner), body.items[1]});
    plan.root = node(outer);
    const Arrays inputs = make_inputs(program, default_dims(program), "ascending@s", 3);
    const auto o = run_of(make_ir(plan), inputs).at(Symbol("o")).data;
    EXPECT_TRUE(same_bits(o, trip_by_trip(make_ir(plan), inputs).at(Symbol("o")).data));
    EXPECT_NE(o, run_of(make_ir(rolling(repaired(program), 4)), inputs).at(Symbol("o")).data);
  }
}

TEST(Parallel, a_trip_that_reads_what_a_later_one_writes_finds_poison) {
  const auto program = parse(
      "dim T = 6\noperator f(x: f32[T]) -> (y: f32[T]) {\n  a[j] = 2 * x[j]\n  b[j] = a[j] + 1\n"
      "  y[j] = where(j + 1 < T, a[j + 1], 0) + b[j]\n}\n");
  const Arrays inputs{{Symbol("x"), row({1, 2, 3, 4, 5, 6})}};
  const loop::Program plan{program, over("j", number(0), dim(Symbol("T")), 2, loop::Mark::parallel, leaves({"a", "b", "y"}))};
  const auto y = run_of(make_ir(plan), inputs).at(Symbol("y")).data;
  EXPECT_EQ(y[0], 7);
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[4], 23);
  EXPECT_EQ(y[5], 13);
}

TEST(Run, an_element_that_no_statement_wrote_is_poison) {
  const auto program = parse("dim T = 4\noperator f(x: f32[T]) -> (y: f32[T]) { y[j] = x[j] }\n");
  const loop::Program half{program, over("j", number(0), number(2), 1, loop::Mark::parallel, leaves({"y"}))};
  const auto y = run_of(make_ir(half), {{Symbol("x"), row({1, 2, 3, 4})}}).at(Symbol("y"));
  EXPECT_EQ(y.data[1], 2);
  EXPECT_TRUE(std::isnan(y.data[2]));
}

}  // namespace
}  // namespace fathom::interp
