// The stage: what it shows is what the observer saw; its tiles are the mask's; its errors are none for legal plans and there from the trip
// on in which a broken one goes wrong.
#include "session/stage.hpp"

#include <algorithm>
#include <cmath>

#include "session/samples.hpp"
#include "session_test.hpp"
#include "stage_programs.hpp"

namespace fathom::session_tests {
namespace {

namespace stage = session::stage;

stage::Compiled on_blackboard(const std::string& text, const Choices& choices = {}) {
  const Compiled document = compiled(text, {}, choices);
  if (document == nullptr) return nullptr;
  auto small = stage::on_blackboard(*document);
  EXPECT_TRUE(small.has_value()) << (small ? "" : small.error().reason);
  return small ? *small : nullptr;
}

std::size_t step_named(const session::Compilation& compilation, const std::string& id) {
  for (std::size_t k = 0; k < compilation.record.steps.size(); ++k)
    if (compilation.record.steps[k].id == id) return k;
  ADD_FAILURE() << "no step " << id;
  return 0;
}

/// The last step with a repair of the level; else the last of it.
std::size_t last_step(const session::Compilation& compilation, Level level) {
  std::size_t last = 0;
  for (std::size_t k = 0; k < compilation.record.steps.size(); ++k)
    if (compilation.record.steps[k].after.level == level) last = k;
  return last;
}

interp::Arrays inputs_of_stage(const stage::Stage& made, const math::Program& program) {
  std::vector<std::int64_t> edges{0};
  if (made.plane)
    for (std::int64_t edge = made.plane->tile_columns; edge < made.plane->columns; edge += made.plane->tile_columns) edges.push_back(edge);
  return interp::make_inputs(program, math::default_dims(program), made.options.family, made.options.seed, edges);
}

TEST(Stage, shows_the_values_that_an_independent_run_of_each_of_five_programs_gives) {
  for (const test::NamedProgram& each : test::five_programs()) {
    SCOPED_TRACE(each.name);
    const stage::Compiled small = on_blackboard(each.text);
    ASSERT_NE(small, nullptr);
    for (const Level level : {Level::loop, Level::tile, Level::kernel}) {
      SCOPED_TRACE(name(level));
      const std::size_t step = last_step(*small, level);
      const auto made = stage::make(small, step);
      ASSERT_TRUE(made.has_value()) << made.error().reason;
      std::map<std::string, std::vector<std::vector<double>>> expected, shown;
      interp::RunOptions options;
      options.dims = math::default_dims(small->program);
      options.observer = [&](const interp::Event& event) { expected[event.tensor.text()].push_back(*event.values); };
      ASSERT_TRUE(interp::run(small->record.steps[step].after, inputs_of_stage(*made, small->program), options).has_value());
      for (const stage::Write& write : made->writes) shown[write.tensor].push_back(write.values);
      ASSERT_FALSE(made->states.empty());
      for (const std::string& state : made->states) EXPECT_EQ(shown[state], expected[state]) << state;
      for (const std::string& result : made->results) EXPECT_EQ(shown[result], expected[result]) << result;
      EXPECT_FALSE(made->results.empty());
    }
  }
}

TEST(Stage, holds_after_the_last_frame_what_the_run_returned) {
  for (const test::NamedProgram& each : test::five_programs()) {
    SCOPED_TRACE(each.name);
    const stage::Compiled small = on_blackboard(each.text);
    ASSERT_NE(small, nullptr);
    for (const Level level : {Level::math, Level::loop, Level::tile, Level::kernel}) {
      const std::size_t step = last_step(*small, level);
      const auto made = stage::make(small, step);
      ASSERT_TRUE(made.has_value()) << made.error().reason;
      interp::RunOptions options;
      options.dims = math::default_dims(small->program);
      const auto arrays = interp::run(small->record.steps[step].after, inputs_of_stage(*made, small->program), options);
      ASSERT_TRUE(arrays.has_value());
      for (const auto& [result, array] : *arrays) {
        const std::int64_t rows = made->plane->rows;
        std::vector<double> all;
        for (std::int64_t row = 0; row < rows; ++row) {
          const auto held = made->held(made->frames.size() - 1, result.text(), row);
          all.insert(all.end(), held.begin(), held.end());
        }
        ASSERT_EQ(all.size(), array.data.size()) << result.text();
        for (std::size_t i = 0; i < all.size(); ++i) EXPECT_NEAR(all[i], array.data[i], std::abs(array.data[i]) * 0x1p-10);
      }
    }
  }
}

TEST(Stage, has_the_tiles_of_the_causal_mask) {
  const stage::Compiled small = on_blackboard(read_sample("attention"));
  ASSERT_NE(small, nullptr);
  const DimValues dims = math::default_dims(small->program);
  const std::int64_t s = dims.at(Symbol("S")), t = dims.at(Symbol("T"));
  for (const std::string id : {"o/j/bound", "o.sum/j/fuse", "lower-to-tiles", "lower-to-kernel"}) {
    SCOPED_TRACE(id);
    const auto made = stage::make(small, step_named(*small, id));
    ASSERT_TRUE(made.has_value()) << made.error().reason;
    ASSERT_TRUE(made->plane.has_value());
    const stage::Plane& plane = *made->plane;
    ASSERT_TRUE(plane.row.has_value());
    EXPECT_EQ(plane.row->text(), "i");
    EXPECT_EQ(plane.column.text(), "j");
    EXPECT_EQ(plane.rows, s);
    EXPECT_EQ(plane.columns, t);
    EXPECT_LT(plane.tile_rows, s);
    EXPECT_LT(plane.tile_columns, t);
    for (std::size_t r = 0; r < plane.down(); ++r)
      for (std::size_t c = 0; c < plane.across(); ++c) {
        int seen = 0, all = 0;
        for (std::int64_t i = static_cast<std::int64_t>(r) * plane.tile_rows; i < static_cast<std::int64_t>(r + 1) * plane.tile_rows; ++i)
          for (std::int64_t j = static_cast<std::int64_t>(c) * plane.tile_columns;
               j < static_cast<std::int64_t>(c + 1) * plane.tile_columns; ++j)
            ++all, seen += j <= i + (t - s) ? 1 : 0;
        const auto kind = seen == all ? stage::TileKind::open : seen > 0 ? stage::TileKind::mixed : stage::TileKind::skipped;
        EXPECT_EQ(plane.kinds[r * plane.across() + c], kind) << r << " " << c;
      }
  }
  const auto before = stage::make(small, step_named(*small, "o/j/tile"));
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(std::count(before->plane->kinds.begin(), before->plane->kinds.end(), stage::TileKind::skipped), 0) << "every tile is visited";
  EXPECT_GT(std::count(before->plane->kinds.begin(), before->plane->kinds.end(), stage::TileKind::masked), 0);
}

TEST(Stage, shows_no_tile_as_skipped_before_there_are_loops) {
  std::vector<test::NamedProgram> named = {
      {"two",
       "dim R = 64, C = 64\noperator two(x: f32[R, C]) -> (y: f32[R])\n{\n  m[i] = max[j](x[i,j])\n  y[i] = sum[j](x[i,j] - m[i])\n}\n"}};
  for (const session::Sample& sample : session::samples()) named.push_back({sample.name, sample.text});
  for (const test::NamedProgram& each : named) {
    SCOPED_TRACE(each.name);
    const stage::Compiled small = on_blackboard(each.text);
    ASSERT_NE(small, nullptr);
    for (std::size_t step = 0; step < small->record.steps.size(); ++step) {
      if (small->record.steps[step].after.level != Level::math) continue;
      const auto made = stage::make(small, step);
      ASSERT_TRUE(made.has_value() && made->plane) << step;
      EXPECT_EQ(std::count(made->plane->kinds.begin(), made->plane->kinds.end(), stage::TileKind::skipped), 0) << step;
      for (std::size_t k = 0; each.name == "two" && k < made->frames.size(); ++k) {
        ASSERT_TRUE(made->frames[k].columns);
        EXPECT_EQ(made->frames[k].columns->hi - made->frames[k].columns->lo, made->plane->columns) << "it reads all of them";
      }
    }
  }
}

TEST(Stage, counts_three_passes_before_fusion_and_one_after) {
  const stage::Compiled small = on_blackboard(read_sample("attention"));
  ASSERT_NE(small, nullptr);
  const auto passes = [&](const std::string& id) {
    const auto made = stage::make(small, step_named(*small, id));
    EXPECT_TRUE(made.has_value());
    std::size_t most = 0;
    for (const stage::Frame& frame : made->frames) most = std::max(most, frame.pass + 1);
    return most;
  };
  EXPECT_EQ(passes("o/j/tile"), 3U);
  EXPECT_EQ(passes("p.sum/j/fuse"), 2U);
  EXPECT_EQ(passes("o.sum/j/fuse"), 1U);
}

TEST(Stage, of_every_program_at_every_step_exists_and_is_within_rounding) {
  std::vector<test::NamedProgram> all = {{"a reducer of its own", test::user_reducer}};
  for (const session::Sample& sample : session::samples()) all.push_back({sample.name, sample.text});
  for (const test::NamedProgram& each : all) {
    SCOPED_TRACE(each.name);
    const stage::Compiled small = on_blackboard(each.text);
    ASSERT_NE(small, nullptr);
    for (std::size_t step = 0; step < small->record.steps.size(); ++step)
      for (const std::string family : {"gaussian", "ascending"}) {
        if (family == "ascending" && step % 3 != 0) continue;
        SCOPED_TRACE(small->record.steps[step].id + " " + family);
        const auto made = stage::make(small, step, {family, 3, {}});
        ASSERT_TRUE(made.has_value()) << made.error().reason;
        EXPECT_TRUE(made->cut.empty());
        EXPECT_FALSE(made->unsound);
        EXPECT_TRUE(made->plane.has_value());
        EXPECT_FALSE(made->results.empty());
        const auto wrong = made->first_wrong();
        EXPECT_FALSE(wrong.has_value());
        for (const stage::StateError& error : wrong ? made->frames[*wrong].errors : std::vector<stage::StateError>())
          if (error.exceeds)
            ADD_FAILURE() << *wrong << " " << error.tensor << " error " << error.error << " bound " << error.bound << " of "
                          << error.reference;
        std::size_t judged = 0;
        for (const stage::Frame& frame : made->frames) judged += frame.errors.size();
        EXPECT_GT(judged, 0U);
      }
  }
}

/// Frames in which some value of the tensor differs from what stood there, both being numbers.
std::vector<std::size_t> moves_of_state(const stage::Stage& made, const std::string& tensor) {
  std::vector<std::size_t> moves;
  for (std::size_t k = 0; k < made.frames.size(); ++k)
    for (std::size_t w = made.frames[k].first_write; w < made.frames[k].first_write + made.frames[k].writes; ++w) {
      const stage::Write& write = made.writes[w];
      if (write.tensor != tensor || !write.partial || write.starts) continue;
      for (std::size_t i = 0; i < write.before.size(); ++i)
        if (std::isfinite(write.before[i]) && write.before[i] != write.values[i] && (moves.empty() || moves.back() != k))
          moves.push_back(k);
    }
  return moves;
}

TEST(Stage, without_the_repair_is_wrong_from_the_trip_on_in_which_the_reference_moves) {
  for (const test::NamedProgram& each :
       {test::NamedProgram{"p", read_sample("attention")}, test::NamedProgram{"u3", test::renamed_attention()}}) {
    SCOPED_TRACE(each.name);
    const stage::Compiled small = on_blackboard(each.text);
    ASSERT_NE(small, nullptr);
    const std::string result = each.name == "p" ? "o" : "omega", index = each.name == "p" ? "j" : "z";
    const std::size_t step = step_named(*small, result + ".sum/" + index + "/fuse");
    const std::string sum = each.name + ".sum", m = each.name + ".m";
    const auto made = stage::make(small, step, {"ascending", 1, {"repair:" + sum}});
    ASSERT_TRUE(made.has_value()) << made.error().reason;
    EXPECT_TRUE(made->unsound);
    const auto moves = moves_of_state(*made, m);
    ASSERT_FALSE(moves.empty());
    ASSERT_TRUE(made->first_wrong().has_value());
    EXPECT_EQ(*made->first_wrong(), moves.front());
    EXPECT_GT(made->largest_error(), 0.01);
    for (const stage::Frame& frame : made->frames)
      EXPECT_TRUE(std::none_of(frame.repairs.begin(), frame.repairs.end(), [&](const auto& one) { return one.tensor == sum; }))
          << "what is left as it is, is not repaired by 1";
    const auto legal = stage::make(small, step, {"ascending", 1, {}});
    ASSERT_TRUE(legal.has_value());
    EXPECT_FALSE(legal->first_wrong().has_value());
    // the factor that is missing is there in the legal run, in the same frame, and it is the move of the references that were seen
    const stage::Frame& frame = legal->frames[moves.front()];
    const auto repair = std::find_if(frame.repairs.begin(), frame.repairs.end(), [&](const auto& one) { return one.tensor == sum; });
    ASSERT_NE(repair, frame.repairs.end());
    for (std::size_t w = frame.first_write; w < frame.first_write + frame.writes; ++w) {
      const stage::Write& write = legal->writes[w];
      if (write.tensor != m) continue;
      for (std::size_t i = 0; i < write.values.size(); ++i)
        EXPECT_NEAR(repair->factors[i], std::isfinite(write.before[i]) ? std::exp(write.before[i] - write.values[i]) : 1, 1e-5);
    }
  }
}

TEST(Stage, offers_only_breaks_that_compile_run_and_change_something) {
  std::size_t offered = 0;
  for (const session::Sample& sample : session::samples()) {
    SCOPED_TRACE(sample.name);
    const stage::Compiled small = on_blackboard(sample.text);
    ASSERT_NE(small, nullptr);
    for (std::size_t step = 0; step < small->record.steps.size(); ++step) {
      const auto breaks = stage::breaks_of(*small, step);
      const bool has_repair =
          std::any_of(small->record.fusions.begin(), small->record.fusions.end(), [](const Fusion& f) { return f.repair && !f.refusal; });
      EXPECT_TRUE(has_repair || std::none_of(breaks.begin(), breaks.end(), [](const auto& b) { return b.id != "guard"; }));
      for (const stage::Break& each : breaks) {
        SCOPED_TRACE(small->record.steps[step].id + " " + each.id);
        const auto made = stage::make(small, step, {each.family, 1, {each.id}});
        ASSERT_TRUE(made.has_value()) << made.error().reason;
        EXPECT_TRUE(made->unsound);
        EXPECT_NE(print(made->ir), print(small->record.steps[step].after));
        EXPECT_TRUE(made->first_wrong().has_value());
        ++offered;
      }
    }
  }
  EXPECT_GT(offered, 20U);
}

TEST(Stage, without_the_maximum_overflows_on_large_values) {
  const stage::Compiled small = on_blackboard(read_sample("attention"));
  ASSERT_NE(small, nullptr);
  for (const Level level : {Level::math, Level::loop, Level::tile, Level::kernel}) {
    SCOPED_TRACE(name(level));
    const std::size_t step = last_step(*small, level);
    const auto breaks = stage::breaks_of(*small, step);
    const auto offered = std::find_if(breaks.begin(), breaks.end(), [](const stage::Break& each) { return each.id == "max:p.m"; });
    ASSERT_NE(offered, breaks.end());
    EXPECT_EQ(offered->family.rfind("large", 0), 0U) << offered->family;
    const auto broken = stage::make(small, step, {offered->family, 1, {"max:p.m"}});
    ASSERT_TRUE(broken.has_value()) << broken.error().reason;
    bool overflows = false;
    for (const stage::Write& write : broken->writes)
      overflows = overflows || (write.statement == "p.sum" &&
                                std::any_of(write.values.begin(), write.values.end(), [](double x) { return std::isinf(x); }));
    EXPECT_TRUE(overflows);
    EXPECT_TRUE(broken->first_wrong().has_value());
    EXPECT_TRUE(std::isinf(broken->largest_error()));
    const auto legal = stage::make(small, step, {offered->family, 1, {}});
    ASSERT_TRUE(legal.has_value());
    EXPECT_FALSE(legal->first_wrong().has_value());
  }
}

TEST(Stage, without_the_guard_gives_no_number_where_nothing_has_counted) {
  const stage::Compiled small = on_blackboard(read_sample("attention"));
  ASSERT_NE(small, nullptr);
  const std::size_t step = step_named(*small, "lower-to-tiles");
  const auto breaks = stage::breaks_of(*small, step);
  const auto offered = std::find_if(breaks.begin(), breaks.end(), [](const stage::Break& each) { return each.id == "guard"; });
  ASSERT_NE(offered, breaks.end());
  const auto broken = stage::make(small, step, {offered->family, 1, {"guard"}});
  ASSERT_TRUE(broken.has_value()) << broken.error().reason;
  ASSERT_TRUE(broken->first_wrong().has_value());
  EXPECT_TRUE(std::isinf(broken->frames[*broken->first_wrong()].largest_error())) << "NaN against a number";
  const auto legal = stage::make(small, step, {offered->family, 1, {}});
  ASSERT_TRUE(legal.has_value());
  EXPECT_FALSE(legal->first_wrong().has_value()) << offered->family;
}

TEST(Stage, of_other_choices_is_within_rounding_too) {
  const std::vector<Choices> others = {{{"o/j/fold", "split-k"}}, {{"p.sum/j/fuse", "no"}}, {{"o/j/bound", "no"}}};
  for (const Choices& choices : others) {
    SCOPED_TRACE(choices.front().first);
    const stage::Compiled small = on_blackboard(read_sample("attention"), choices);
    ASSERT_NE(small, nullptr);
    for (std::size_t step = 0; step < small->record.steps.size(); ++step) {
      SCOPED_TRACE(small->record.steps[step].id);
      const auto made = stage::make(small, step, {"ascending", 2, {}});
      ASSERT_TRUE(made.has_value()) << made.error().reason;
      for (const stage::Frame& frame : made->frames)
        for (const stage::StateError& error : frame.errors)
          EXPECT_FALSE(error.exceeds) << error.tensor << " error " << error.error << " bound " << error.bound << " of " << error.reference;
    }
  }
}

TEST(Stage, keeps_the_choices_of_the_document_that_mean_something_at_its_size) {
  const stage::Compiled small = on_blackboard(read_sample("attention"), {{"o.sum/j/fuse", "no"}, {"o/j/tile", "64"}});
  ASSERT_NE(small, nullptr);
  for (const Decision& decision : small->record.decisions) {
    if (decision.site == "o.sum/j/fuse") {
      EXPECT_EQ(decision.choice, "no");
    }
    if (decision.site == "o/j/tile") {
      EXPECT_NE(decision.choice, "64");
    }
  }
}

TEST(Stage, meets_conditions_between_dimensions_and_says_why_where_nothing_small_compiles) {
  const std::string fixed =
      "dim R = 4096, C = 4096\noperator f(x: f32[R,C]) -> (y: f32[R]) where C == 4096 and R == 4096 { y[i] = sum[j](x[i,j]) }\n";
  const Compiled document = compiled(fixed);
  ASSERT_NE(document, nullptr);
  const auto small = stage::on_blackboard(*document);
  ASSERT_FALSE(small.has_value());
  EXPECT_NE(small.error().reason.find("no small form"), std::string::npos);
  EXPECT_FALSE(small.error().hint.empty());
  const stage::Compiled even =
      on_blackboard("dim R = 64, C = 128, K = 32\noperator f(x: f32[R,C]) -> (y: f32[R]) where C == 4 * K { y[i] = sum[j](x[i,j]) }\n");
  ASSERT_NE(even, nullptr);
  const DimValues dims = math::default_dims(even->program);
  EXPECT_EQ(dims.at(Symbol("C")), 4 * dims.at(Symbol("K")));
}

}  // namespace
}  // namespace fathom::session_tests
