// Roles over time: the events of a run in their order, nothing received before it is published, no ring fuller than it is deep.
#include "session/role_timeline.hpp"

#include "interp/run_kernel.hpp"
#include "lang/lang.hpp"
#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

using session::RoleTimeline;

kernel::Module text(const std::string& name) {
  auto module = lang::parse_kernel(test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel")));
  if (module) return std::move(*module);
  ADD_FAILURE() << name;
  return {};
}

/// As many numbers as the text's parameters have elements.
interp::Arrays inputs_for(const kernel::Module& module, const DimValues& dims) {
  interp::Arrays inputs;
  for (const math::Parameter& parameter : module.params) {
    interp::Array array{parameter.dtype, {}, {}};
    std::int64_t size = 1;
    for (const Expr extent : parameter.extents) {
      array.shape.push_back(evaluate_integer(extent, dims).value_or(1));
      size *= array.shape.back();
    }
    for (std::int64_t i = 0; i < size; ++i)
      array.data.push_back(parameter.dtype == DType::i32 ? 1 : static_cast<double>(i * 7 % 16) / 16 - 0.5);
    inputs[parameter.name] = std::move(array);
  }
  return inputs;
}

DimValues dims_of(const kernel::Module& module, std::int64_t size) {
  DimValues dims;
  for (const math::Dimension& d : module.dims)
    dims[d.name] = !d.runtime ? d.value : d.name == Symbol("S") || d.name == Symbol("N") ? size : 1;
  return dims;
}

RoleTimeline of_compiled(const std::string& sample, const std::string& target) {
  const Compiled compilation = compiled(test::read_sample(sample), {}, {}, target);
  auto made = session::role_timeline(*compilation, compilation->record.steps.size() - 1);
  if (made) return std::move(*made);
  ADD_FAILURE() << made.error().reason << " " << made.error().hint;
  return {};
}

void expect_sound(const RoleTimeline& made) {
  ASSERT_FALSE(made.bars.empty());
  ASSERT_GT(made.rounds, 0);
  std::vector<std::int64_t> until(made.lanes.size(), 0);
  std::int64_t before = 0;
  for (const RoleTimeline::Bar& bar : made.bars) {
    ASSERT_LT(bar.lane, made.lanes.size());
    EXPECT_GE(bar.from, before) << "bars stand in the order of the clock: " << bar.statement;
    EXPECT_GE(bar.from, until[bar.lane]) << "a group does one thing at a time: " << bar.statement;
    EXPECT_GT(bar.to, bar.from);
    before = bar.from;
    until[bar.lane] = bar.to;
  }
  EXPECT_FALSE(made.ties.empty());
  for (const RoleTimeline::Tie& tie : made.ties) {
    EXPECT_LT(tie.from, tie.to) << "the run saw the one before the other";
    EXPECT_LE(made.bars[tie.from].from, made.bars[tie.to].from);
    EXPECT_EQ(made.bars[tie.from].statement.rfind(tie.frees ? "release" : "publish", 0), 0U) << made.bars[tie.from].statement;
    EXPECT_NE(made.bars[tie.to].statement.find(tie.frees ? "acquire" : "receive"), std::string::npos) << made.bars[tie.to].statement;
  }
  for (const RoleTimeline::Ring& ring : made.rings) {
    ASSERT_EQ(static_cast<std::int64_t>(ring.levels.size()), made.rounds) << ring.title;
    std::int64_t most = 0;
    for (const RoleTimeline::Level& level : ring.levels) {
      EXPECT_GE(level.filling, 0);
      EXPECT_GE(level.full, 0);
      most = std::max(most, level.filling + level.full);
    }
    EXPECT_LE(most, ring.depth) << ring.title;
    EXPECT_GT(most, 0) << ring.title << " is used";
  }
  for (const RoleTimeline::Flight& flight : made.flights) EXPECT_GT(flight.to, flight.from) << flight.statement;
}

std::int64_t count(const RoleTimeline& made, const std::string& role, RoleTimeline::Kind kind) {
  return std::count_if(made.bars.begin(), made.bars.end(),
                       [&](const RoleTimeline::Bar& bar) { return made.lanes[bar.lane].role == role && bar.kind == kind; });
}

TEST(RoleTimeline, of_the_compiled_plan_with_a_producer_and_consumers) {
  const RoleTimeline made = of_compiled("attention", "sm_90a");
  expect_sound(made);
  ASSERT_EQ(made.lanes.size(), 3U);
  EXPECT_EQ(made.lanes[0].title, "producer");
  EXPECT_EQ(made.lanes[2].title, "consumer 1");
  EXPECT_NE(made.sizes.find("D = 128"), std::string::npos) << made.sizes;
  EXPECT_NE(made.sizes.find("S = 384"), std::string::npos) << made.sizes;
  EXPECT_EQ(count(made, "producer", RoleTimeline::Kind::product), 0);
  EXPECT_EQ(count(made, "producer", RoleTimeline::Kind::copy), 2 * 3 + 2) << "three tiles of k and v, the rows of two groups";
  EXPECT_EQ(count(made, "consumer", RoleTimeline::Kind::product), 2 * 2 * 3) << "two products a tile and group";
  EXPECT_GT(count(made, "consumer", RoleTimeline::Kind::wait), 0) << "nothing is there at first";
  EXPECT_GT(count(made, "producer", RoleTimeline::Kind::wait), 0) << "two slots are less than three tiles";
  // Products run beside the work on values: some flight is longer than its issue and its await.
  EXPECT_TRUE(std::any_of(made.flights.begin(), made.flights.end(), [](const RoleTimeline::Flight& flight) {
    return flight.kind == RoleTimeline::Kind::product && flight.to - flight.from > 4;
  }));
}

TEST(RoleTimeline, of_the_measured_text_with_turns) {
  const kernel::Module module = text("attention_sm90a");
  const DimValues dims = dims_of(module, 300);
  const auto made = session::role_timeline(module, inputs_for(module, dims), dims);
  ASSERT_TRUE(made) << made.error().reason << " " << made.error().hint;
  expect_sound(*made);
  EXPECT_EQ(made->lanes.front().role, "producer");
  EXPECT_GT(count(*made, "consumer", RoleTimeline::Kind::product), 0);
}

TEST(RoleTimeline, one_role_without_channels_is_refused) {
  const Compiled compilation = compiled(test::read_sample("softmax"), {}, {}, "sm_80");
  EXPECT_FALSE(session::role_timeline(*compilation, compilation->record.steps.size() - 1));
  EXPECT_FALSE(session::role_timeline(*compilation, 0));
}

TEST(RoleTimeline, a_watched_run_computes_the_same) {
  const kernel::Module module = text("attention_sm90a");
  const DimValues dims = dims_of(module, 300);
  const interp::Arrays inputs = inputs_for(module, dims);
  interp::RunOptions plain, watched;
  plain.dims = watched.dims = dims;
  std::int64_t seen = 0;
  watched.watcher = [&](const interp::Operation&) { return ++seen > 0; };
  const auto a = interp::run_module(module, Level::kernel, inputs, plain), b = interp::run_module(module, Level::kernel, inputs, watched);
  ASSERT_TRUE(a) << a.error().reason;
  ASSERT_TRUE(b) << b.error().reason;
  EXPECT_GT(seen, 0);
  for (const auto& [name, array] : *a) EXPECT_EQ(array.data, b->at(name).data) << name.text();
  watched.watcher = [](const interp::Operation&) { return false; };
  EXPECT_FALSE(interp::run_module(module, Level::kernel, inputs, watched)) << "who watches ends the run";
}

}  // namespace
}  // namespace fathom::session_tests
