// What an override touches and what it leaves; what the observer saw is what came out.
#include <cmath>

#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

struct Program {
  const char* name;
  Dims dims;
};
const Program five[] = {{"attention", {{"B", 1}, {"H", 1}, {"Hk", 1}, {"S", 50}, {"T", 70}, {"D", 32}}},
                        {"attention_nomask", {{"B", 1}, {"H", 1}, {"S", 50}, {"T", 70}, {"D", 32}}},
                        {"logsumexp", {{"R", 40}, {"C", 150}}},
                        {"matmul_bias_gelu", {{"M", 50}, {"N", 70}, {"K", 40}}},
                        {"cross_entropy", {{"R", 37}, {"C", 50}}}};

/// Another choice that the site offers.
std::string other_choice(const Decision& decision) {
  for (const Alternative& each : decision.alternatives)
    if (each.choice != decision.choice && !each.refused) return each.choice;
  return {};
}

/// Does a step speak of the size of a tile of this index: how many trips, elements, lanes, bytes on chip? Told by what it is, not by how it
/// came out: the tile's own step and mask, its fold, the lowerings that print sizes, the lanes and the work items.
bool depends_on_tile(const Step& step, const std::string& site) {
  const std::string loop = site.substr(0, site.rfind('/'));
  return step.id == site || step.pass == "bound-by-mask" || (step.pass == "fold" && step.id.rfind(loop, 0) == 0) ||
         step.pass == "lower-to-tiles" || step.pass == "lower-to-kernel";
}

TEST(Override, of_one_tile_size_leaves_the_other_steps_equal) {
  for (const Program& program : five) {
    const Compiled before = compiled(read_sample(program.name));
    ASSERT_TRUE(before);
    int overridden = 0;
    for (const Decision& decision : before->record.decisions) {
      const std::string choice = decision.kind == "tile" ? other_choice(decision) : "";
      if (choice.empty()) continue;
      ++overridden;
      SCOPED_TRACE(std::string(program.name) + " " + decision.site + " = " + choice);
      const Compiled after = compiled(read_sample(program.name), {}, {{decision.site, choice}});
      ASSERT_TRUE(after);
      int unaffected = 0, equal = 0;
      std::string others;
      for (const session::StepChange& change : session::compare(before->record, after->record)) {
        const auto step =
            std::find_if(after->record.steps.begin(), after->record.steps.end(), [&](const Step& one) { return one.id == change.id; });
        if (step == after->record.steps.end() || depends_on_tile(*step, decision.site)) continue;
        ++unaffected;
        equal += change.change == session::Change::equal ? 1 : 0;
        if (change.change != session::Change::equal) others += " " + change.id;
        if (change.id == decision.site) {
          EXPECT_EQ(change.change, session::Change::changed);
        }
      }
      EXPECT_GT(equal, 0.8 * unaffected) << equal << " of " << unaffected << ", not equal:" << others;
    }
    EXPECT_GT(overridden, 0) << program.name;
  }
}

TEST(Override, is_reported_as_changed_at_its_own_step_and_as_equal_without_one) {
  const Compiled plan = compiled(read_sample("attention_nomask"));
  const Compiled other = compiled(read_sample("attention_nomask"), {}, {{"o/j/tile", "32"}});
  ASSERT_TRUE(plan && other);
  for (const session::StepChange& change : session::compare(plan->record, plan->record))
    EXPECT_EQ(change.change, session::Change::equal) << change.id;
  for (const session::StepChange& change : session::compare(plan->record, other->record)) {
    if (change.id == "o/j/tile") {
      EXPECT_EQ(change.change, session::Change::changed);
    }
  }
}

TEST(Override, that_unfuses_adds_removes_or_changes_the_fusion_alone_among_the_loops) {
  const Compiled plan = compiled(read_sample("attention_nomask"));
  const Compiled other = compiled(read_sample("attention_nomask"), {}, {{"o.sum/j/fuse", "no"}});
  ASSERT_TRUE(plan && other);
  for (const session::StepChange& change : session::compare(plan->record, other->record)) {
    if (change.id == "o.sum/j/fuse") {
      EXPECT_EQ(change.change, session::Change::changed);
    }
    if (change.id == "p.sum/j/fuse" || change.id == "open-prelude") {
      EXPECT_EQ(change.change, session::Change::equal) << change.id;
    }
  }
}

// ---- the observer ----

/// A tensor put together from the events about it.
struct Seen {
  std::vector<double> values;
  std::vector<int> times;
};

void put(Seen& seen, const std::vector<std::int64_t>& shape, const interp::Event& event) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  seen.values.resize(static_cast<std::size_t>(size));
  seen.times.resize(static_cast<std::size_t>(size));
  std::vector<std::int64_t> at;
  for (const auto& [lo, hi] : event.box) {
    if (lo >= hi) return;
    at.push_back(lo);
  }
  for (const double value : *event.values) {
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) offset = offset * shape[axis] + at[axis];
    seen.values.at(static_cast<std::size_t>(offset)) = value;
    ++seen.times.at(static_cast<std::size_t>(offset));
    for (std::size_t axis = at.size(); axis-- > 0;) {
      if (++at[axis] < event.box[axis].second) break;
      at[axis] = event.box[axis].first;
    }
  }
}

TEST(Observer, its_log_put_together_is_the_result) {
  for (const Program& program : five) {
    SCOPED_TRACE(program.name);
    const Compiled c = compiled(read_sample(program.name), program.dims);
    ASSERT_TRUE(c);
    const DimValues sizes = math::default_dims(c->program);
    const interp::Arrays inputs = interp::make_inputs(c->program, sizes, "gaussian", 5);
    for (const Level level : {Level::math, Level::loop, Level::tile, Level::kernel}) {
      SCOPED_TRACE(std::string(name(level)));
      const Ir* ir = last(*c, level);
      ASSERT_NE(ir, nullptr);
      std::map<Symbol, Seen> log;
      std::map<Symbol, std::vector<std::int64_t>> shapes;
      for (const math::Parameter& result : c->program.results)
        for (const Expr extent : result.extents) shapes[result.name].push_back(evaluate_integer(extent, sizes).value_or(-1));
      interp::RunOptions options;
      options.dims = sizes;
      options.observer = [&](const interp::Event& event) {
        const auto shape = shapes.find(event.tensor);
        if (shape != shapes.end() && !event.partial) put(log[event.tensor], shape->second, event);
      };
      const auto results = interp::run(*ir, inputs, options);
      ASSERT_TRUE(results) << results.error().reason;
      for (const math::Parameter& result : c->program.results) {
        const interp::Array& array = results->at(result.name);
        const Seen& seen = log[result.name];
        ASSERT_EQ(seen.values.size(), array.data.size()) << result.name.text();
        for (std::size_t i = 0; i < array.data.size(); ++i) {
          ASSERT_EQ(seen.times[i], 1) << "element " << i;
          ASSERT_EQ(seen.values[i], array.data[i]) << "element " << i;
        }
      }
    }
  }
}

TEST(Observer, increments_of_a_running_sum_add_up_to_it) {
  const std::string text = "dim S = 8, T = 40\noperator total(x: f32[S,T]) -> (o: f32[S])\n{\n o[i] = sum[j](x[i,j])\n}\n";
  const Compiled c = compiled(text, {}, {{"o/j/tile", "16"}});
  ASSERT_TRUE(c);
  const DimValues sizes = math::default_dims(c->program);
  const interp::Arrays inputs = interp::make_inputs(c->program, sizes, "small-integers", 5);
  std::map<std::int64_t, double> sums;
  std::map<std::int64_t, double> running;
  int events = 0;
  interp::RunOptions options;
  options.dims = sizes;
  options.observer = [&](const interp::Event& event) {
    if (event.tensor != Symbol("o") || !event.partial) return;
    ++events;
    for (std::size_t i = 0; i < event.values->size(); ++i) {
      const std::int64_t row = event.box[0].first + static_cast<std::int64_t>(i);
      sums[row] += (*event.values)[i] - running[row];
      running[row] = (*event.values)[i];
    }
  };
  const auto results = interp::run(*last(*c, Level::loop), inputs, options);
  ASSERT_TRUE(results) << results.error().reason;
  EXPECT_GE(events, 3) << "one a trip";
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(sums[static_cast<std::int64_t>(i)], results->at(Symbol("o")).data[i]);
}

}  // namespace
}  // namespace fathom::session_tests
