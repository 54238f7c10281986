// The stage on the screen: what it says are the observer's values, the same that an independent run gives; its controls work by mouse and
// key.
#include "session/stage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "headless.hpp"
#include "panels/panels.hpp"
#include "session/samples.hpp"
#include "stage_programs.hpp"

namespace fathom::ui::tests {
namespace {

namespace stage = session::stage;

class StagePanel : public testing::TestWithParam<int> {};

void until_staged(Explorer& explorer) {
  constexpr int most_waits = 3000;
  for (int i = 0; i < most_waits; ++i) {
    explorer.frame();
    if (i > 2 && !explorer.app.stage.is_busy()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_FALSE(explorer.app.stage.is_busy());
  explorer.frame();
  explorer.frame();
}

void open_stage(Explorer& explorer, const std::string& file) {
  explorer.open(file);
  ASSERT_NE(explorer.app.document.shown(), nullptr);
  explorer.app.view.tab = Tab::stage;
  const auto& steps = explorer.app.document.shown()->steps();
  std::size_t last = 0;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (steps[k].after.level == Level::loop) last = k;
  explorer.app.go_to(last);
  until_staged(explorer);
  ASSERT_NE(explorer.app.stage.stage(), nullptr);
}

std::string digits(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "−inf" : "inf";
  const std::string text = fmt::format("{:.3g}", std::abs(value));
  return (std::signbit(value) ? "−" : "") + text;
}
std::string all_digits(const std::vector<double>& values) {
  if (values.size() == 1) return digits(values[0]);
  std::string text = "[";
  for (std::size_t k = 0; k < values.size(); ++k)
    if (values.size() <= 8 || k < 7 || k + 1 == values.size())
      text += (k == 0 ? "" : values.size() > 8 && k + 1 == values.size() ? " … " : " ") + digits(values[k]);
  return text + "]";
}

/// Tensors of an independent run, by element, as they are after a number of events.
struct Replica {
  std::map<std::string, std::map<std::vector<std::int64_t>, double>> tensors;
  std::map<std::string, std::size_t> row_axis;
  std::vector<double> at_row(const std::string& tensor, std::int64_t row) const {
    std::vector<double> values;
    const auto found = tensors.find(tensor);
    if (found == tensors.end()) return values;
    for (const auto& [place, value] : found->second)
      if (place[row_axis.at(tensor)] == row) values.push_back(value);
    return values;
  }
};

TEST_P(StagePanel, says_the_values_that_an_independent_run_gives) {
  const test::NamedProgram program = test::five_programs().at(static_cast<std::size_t>(GetParam()));
  SCOPED_TRACE(program.name);
  Explorer explorer;
  std::ofstream("program.fathom") << program.text;
  open_stage(explorer, "program.fathom");
  const stage::Stage& shown = *explorer.app.stage.stage();
  ASSERT_TRUE(shown.plane && shown.plane->row);

  // another compilation of the same text, run by hand
  const auto small = stage::on_blackboard(explorer.app.document.shown()->compilation());
  ASSERT_TRUE(small.has_value());
  const Ir& ir =
      (*small)->record.steps[stage::step_on_blackboard(explorer.app.document.shown()->compilation(), explorer.app.step(), **small)].after;
  ASSERT_EQ(ir.level, Level::loop);
  struct Seen {
    std::string tensor;
    std::vector<std::pair<std::int64_t, std::int64_t>> box;
    std::vector<double> values;
  };
  std::vector<Seen> events;
  interp::RunOptions options;
  options.dims = math::default_dims((*small)->program);
  options.observer = [&](const interp::Event& event) { events.push_back({event.tensor.text(), event.box, *event.values}); };
  std::vector<std::int64_t> edges{0};
  for (std::int64_t edge = shown.plane->tile_columns; edge < shown.plane->columns; edge += shown.plane->tile_columns) edges.push_back(edge);
  ASSERT_TRUE(interp::run(ir, interp::make_inputs((*small)->program, options.dims, "gaussian", 1, edges), options).has_value());
  ASSERT_EQ(events.size(), shown.writes.size());

  Replica replica;
  for (const math::Statement& statement : ir.loop().math.statements)
    for (std::size_t k = 0; k < statement.axes.size(); ++k)
      if (statement.axes[k].index == *shown.plane->row) replica.row_axis[statement.name.text()] = k;
  std::size_t next = 0, compared = 0;
  for (std::size_t frame = 0; frame < shown.frames.size(); ++frame) {
    for (; next < shown.frames[frame].first_write + shown.frames[frame].writes; ++next) {
      std::vector<std::int64_t> place;
      for (const auto& [lo, hi] : events[next].box) place.push_back(lo);
      for (const double value : events[next].values) {
        replica.tensors[events[next].tensor][place] = value;
        for (std::size_t k = place.size(); k-- > 0;) {
          if (++place[k] < events[next].box[k].second) break;
          place[k] = events[next].box[k].first;
        }
      }
    }
    explorer.app.stage.go_to(frame);
    explorer.frame();
    explorer.frame();
    for (const MirrorItem& item : mirror().items()) {
      if (item.kind != "state") continue;
      const std::string name = item.text.substr(0, item.text.find(' '));
      const std::vector<double> expected = replica.at_row(name, explorer.app.stage.row());
      if (expected.empty()) {
        EXPECT_EQ(item.text, name + " –");
        continue;
      }
      const std::string end = all_digits(expected);
      EXPECT_EQ(item.text.substr(item.text.size() - std::min(item.text.size(), end.size())), end) << item.text;
      ++compared;
    }
  }
  EXPECT_GE(compared, shown.frames.size());
}
INSTANTIATE_TEST_SUITE_P(Five, StagePanel, testing::Range(0, 5));

TEST(StageControls, move_by_keys_and_by_mouse_and_rest_when_nothing_moves) {
  Explorer explorer;
  open_stage(explorer, "attention");
  const std::size_t first = explorer.app.stage.frame();
  explorer.key(ImGuiKey_Period);
  EXPECT_EQ(explorer.app.stage.frame(), first + 1);
  explorer.key(ImGuiKey_Comma);
  EXPECT_EQ(explorer.app.stage.frame(), first);
  explorer.key(ImGuiKey_Period, ImGuiMod_Shift);
  EXPECT_EQ(explorer.app.stage.frame() + 1, explorer.app.stage.frames());
  ASSERT_NE(mirror().find("middle/stage/stage.next"), nullptr);
  EXPECT_FALSE(mirror().find("middle/stage/stage.next")->enabled);
  ASSERT_TRUE(explorer.click("middle/stage/stage.first"));
  EXPECT_EQ(explorer.app.stage.frame(), 0U);
  explorer.key(ImGuiKey_Space, ImGuiMod_Shift);
  EXPECT_TRUE(explorer.app.stage.playing);
  EXPECT_TRUE(explorer.app.is_animating());
  constexpr int enough = 3000;
  for (int k = 0; k < enough && explorer.app.stage.playing; ++k) explorer.frame();
  EXPECT_FALSE(explorer.app.stage.playing) << "it ends at the last trip";
  EXPECT_EQ(explorer.app.stage.frame() + 1, explorer.app.stage.frames());
  for (int k = 0; k < 30; ++k) explorer.frame();
  EXPECT_FALSE(explorer.app.is_animating());
  explorer.app.settings.reduced_motion = true;
  explorer.app.stage.go_to(1);
  explorer.frame();
  EXPECT_FALSE(explorer.app.is_animating());
}

TEST(StageControls, select_the_same_thing_as_every_other_panel) {
  Explorer explorer;
  open_stage(explorer, "attention");
  ASSERT_TRUE(explorer.click("middle/stage/values/p.m"));
  EXPECT_EQ(explorer.app.selected.name, "p.m");
  EXPECT_TRUE(mirror().find("middle/stage/values/p.m")->selected);
  EXPECT_NE(mirror().text_of("ribbon").find("life of p.m"), std::string::npos);
  ASSERT_TRUE(explorer.click("middle/stage/plane/1,0"));
  EXPECT_EQ(explorer.app.selected.name, explorer.app.stage.stage()->plane->tensor);
  EXPECT_GE(explorer.app.stage.row(), explorer.app.stage.stage()->plane->tile_rows);
  explorer.key(ImGuiKey_G);  // nothing
  explorer.app.view.tab = Tab::graph;
  explorer.frame();
  explorer.frame();
  bool lit = false;
  for (const MirrorItem& item : mirror().items()) lit = lit || (item.kind == "node" && item.selected);
  EXPECT_TRUE(lit);
}

TEST(StageControls, break_the_plan_and_repair_it) {
  Explorer explorer;
  open_stage(explorer, "attention");
  EXPECT_NE(mirror().text_of("middle/stage").find("within rounding in every trip"), std::string::npos);
  EXPECT_EQ(mirror().text_of("middle/stage").find("UNSOUND"), std::string::npos);
  ASSERT_FALSE(explorer.app.stage.breaks().empty());
  for (const stage::Break& each : std::vector<stage::Break>(explorer.app.stage.breaks())) {
    SCOPED_TRACE(each.id);
    ASSERT_TRUE(explorer.click("middle/stage/break/" + each.id));
    until_staged(explorer);
    ASSERT_NE(explorer.app.stage.stage(), nullptr);
    EXPECT_EQ(explorer.app.stage.family(), each.family);
    EXPECT_NE(mirror().text_of("middle/stage").find("UNSOUND"), std::string::npos);
    EXPECT_NE(mirror().text_of("middle/stage").find("wrong from trip"), std::string::npos);
    ASSERT_TRUE(explorer.click("middle/stage/heal"));
    until_staged(explorer);
    EXPECT_EQ(mirror().text_of("middle/stage").find("UNSOUND"), std::string::npos);
    EXPECT_EQ(mirror().text_of("middle/stage").find("wrong from trip"), std::string::npos);
  }
}

TEST(StageControls, say_in_words_what_the_data_are_and_why_they_changed) {
  Explorer explorer;
  open_stage(explorer, "attention");
  const auto data = [] { return mirror().find("middle/stage/data")->text; };
  EXPECT_NE(data().find("data: random"), std::string::npos) << data();
  for (const stage::Break& each : std::vector<stage::Break>(explorer.app.stage.breaks())) {
    SCOPED_TRACE(each.id);
    ASSERT_TRUE(explorer.click("middle/stage/break/" + each.id));
    until_staged(explorer);
    const std::string all = mirror().text_of("middle/stage");
    EXPECT_EQ(all.find('@'), std::string::npos) << all;
    EXPECT_EQ(all.find("The data were changed with it") != std::string::npos, each.family != "gaussian") << all;
    if (each.family == "ascending@k") {
      EXPECT_NE(all.find("k rising along j"), std::string::npos) << all;
    }
    for (const MirrorItem& item : mirror().items())
      if (item.kind == "repair") {
        EXPECT_NE("repair:" + item.id.substr(item.id.rfind('/') + 1), each.id) << "what is switched off repairs nothing";
      }
    ASSERT_TRUE(explorer.click("middle/stage/heal"));
    until_staged(explorer);
    EXPECT_EQ(explorer.app.stage.family(), "gaussian") << "the data come back";
  }
}

TEST(StageControls, are_all_in_reach_in_narrow_panels) {
  struct Size {
    float width, height, scale;
  };
  for (const Size& size : {Size{1280, 800, 1}, Size{1280, 800, 2}, Size{1920, 1080, 2}, Size{2560, 1440, 2}}) {
    Explorer explorer(size.width, size.height);
    build_fonts(*ImGui::GetIO().Fonts, size.scale);
    apply_theme(Theme::dark, size.scale);
    open_stage(explorer, "attention");
    for (const Workspace workspace : {Workspace::learn, Workspace::explore}) {
      SCOPED_TRACE(fmt::format("{} x {} at {}, workspace {}", size.width, size.height, size.scale, static_cast<int>(workspace)));
      explorer.app.view.workspace = workspace;
      const std::string panel = workspace == Workspace::learn ? "stage" : "middle";
      explorer.app.view.alone = panels::is_narrow() ? panel : "";
      until_staged(explorer);
      const std::string parts = workspace == Workspace::learn ? "stage/" : "middle/stage/";
      const MirrorItem* whole = mirror().find(panel + "/panel");
      ASSERT_NE(whole, nullptr);
      for (const char* control : {"block", "stage.first", "stage.previous", "stage.play", "stage.next", "stage.last", "speed", "data"}) {
        const MirrorItem* item = mirror().find(parts + control);
        ASSERT_NE(item, nullptr) << control;
        EXPECT_LE(item->max.x, whole->max.x) << control;
        for (const char* other :
             {"block", "stage.first", "stage.previous", "stage.play", "stage.next", "stage.last", "speed", "data", "trip"}) {
          const MirrorItem* beside = mirror().find(parts + other);
          if (beside == item) continue;
          EXPECT_FALSE(std::min(item->max.x, beside->max.x) - std::max(item->min.x, beside->min.x) > 1 &&
                       std::min(item->max.y, beside->max.y) - std::max(item->min.y, beside->min.y) > 1)
              << control << " lies on " << other;
        }
      }
      const MirrorItem *legend = mirror().find(parts + "plane/legend"), *memory = mirror().find(parts + "places/main memory");
      ASSERT_TRUE(legend != nullptr && memory != nullptr);
      EXPECT_LE(legend->max.y, memory->min.y + 1);
    }
  }
}

TEST(StageControls, are_there_at_every_step_of_every_sample) {
  for (const session::Sample& sample : session::samples()) {
    SCOPED_TRACE(sample.name);
    Explorer explorer;
    explorer.open(sample.name);
    explorer.app.view.tab = Tab::stage;
    for (std::size_t step = 0; step < explorer.app.document.shown()->steps().size(); step += 6) {
      explorer.app.go_to(step);
      until_staged(explorer);
      ASSERT_NE(explorer.app.stage.stage(), nullptr) << step;
      EXPECT_NE(mirror().find("middle/stage/plane/0,0"), nullptr);
      EXPECT_NE(mirror().find("middle/stage/errors/words"), nullptr);
      EXPECT_NE(mirror().text_of("middle/stage").find("trip "), std::string::npos);
    }
  }
}

TEST(StageControls, say_what_to_do_where_nothing_is_reduced) {
  Explorer explorer;
  std::ofstream("plain.fathom") << "dim N = 64\noperator twice(x: f32[N]) -> (y: f32[N]) { y[i] = 2 * x[i] }\n";
  explorer.open("plain.fathom");
  explorer.app.view.tab = Tab::stage;
  until_staged(explorer);
  EXPECT_NE(mirror().text_of("middle/stage").find("Nothing is reduced here"), std::string::npos);
}

}  // namespace
}  // namespace fathom::ui::tests
