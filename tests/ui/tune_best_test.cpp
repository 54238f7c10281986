// Which run is called the best, what the panels of Tune show of a plan, and that everything has its place in small windows.
#include <fmt/format.h>

#include "tune.hpp"
#include "widgets/plot.hpp"

namespace fathom::ui::tests {
namespace {

/// Answers of two plans in turn: how many times as fast the second one is.
std::string in_turn(double low, double median, double high) {
  return document("ok", 1, {{"ratio", {{"median", median}, {"low", low}, {"high", high}, {"pairs", 40}}}});
}

class Best : public Tune {
 protected:
  /// Run 2 has the lower median by a little: the intervals overlap.
  void run_two() {
    runner->says(document("ok", 1.00));
    run();
    take_other_tile();
    runner->says(document("ok", 0.98));
    run();
  }
  void compare(double low, double median, double high) {
    app.view.tune.picked = {1, 2};
    runner->says(in_turn(low, median, high));
    ASSERT_TRUE(run_command(app, "run.compare"));
    until_idle();
  }
  [[nodiscard]] bool row_has(int number, const std::string& words) const {
    return text(fmt::format("tune/trials/row.{}", number)).find(words) != std::string::npos;
  }
};

TEST_F(Best, is_only_so_far_while_another_is_within_noise) {
  run_two();
  EXPECT_TRUE(row_has(2, "best so far: tile ")) << text("tune/trials/row.2");
  EXPECT_FALSE(row_has(2, "the best"));
  EXPECT_EQ(text("tune/trials/comparison"), "Run 2 is best so far, within noise of run 1: pick both and compare them.");
  EXPECT_EQ(text("tune/trials/sort.plan"), "plan, against run 2");
}

TEST_F(Best, never_contradicts_a_comparison_in_turn_and_comes_back_with_the_session) {
  run_two();
  compare(0.85, 0.88, 0.89);
  EXPECT_EQ(text("tune/trials/comparison").substr(0, 26), "Run 1 is 1.14× as fast as");
  EXPECT_TRUE(row_has(1, "the best: as the scheduler chooses")) << text("tune/trials/row.1");
  EXPECT_FALSE(row_has(2, "best")) << text("tune/trials/row.2");
  EXPECT_EQ(mirror().text_of("tune/plots").find("best"), std::string::npos) << "medians alone say nothing of the best";
  save_session(app, "all.session.json");
  open("softmax");
  open("all.session.json");
  EXPECT_TRUE(row_has(1, "the best: ")) << text("tune/trials/row.1");
  ASSERT_TRUE(run_command(app, "trials.clear"));
  ASSERT_TRUE(run_command(app, "trials.put-back"));
  frame();
  frame();
  EXPECT_TRUE(row_has(1, "the best: "));
}

TEST_F(Best, is_confirmed_by_a_comparison_or_one_of_two) {
  run_two();
  compare(0.97, 1.01, 1.05);
  EXPECT_TRUE(row_has(2, "one of the best: tile ")) << text("tune/trials/row.2");
  compare(1.02, 1.03, 1.04);
  EXPECT_TRUE(row_has(2, "the best: tile ")) << text("tune/trials/row.2");
  // The same plan again is no other plan to compare with.
  runner->says(document("ok", 0.99));
  run();
  EXPECT_TRUE(row_has(2, "the best: tile "));
  EXPECT_TRUE(row_has(3, "the same plan"));
}

TEST_F(Best, goes_round_no_circle_for_ever) {
  run_two();
  runner->says(document("ok", 0.97));
  ASSERT_TRUE(run_command(app, "run.unfused"));
  until_idle();
  for (const auto& [first, second] : {std::pair{1, 2}, std::pair{2, 3}, std::pair{3, 1}}) {
    app.view.tune.picked = {first, second};
    runner->says(in_turn(1.1, 1.2, 1.3));
    ASSERT_TRUE(run_command(app, "run.compare"));
    until_idle();
  }
  const Standing standing = app.trials.standing(app.trials.find(1)->plan);
  EXPECT_NE(standing.best, 0);
  EXPECT_NE(standing.rival, 0) << "one is faster than the best: it is none without more words";
}

TEST_F(Best, comparisons_of_a_damaged_file_are_left_out_and_it_says_so) {
  run_two();
  compare(0.85, 0.88, 0.89);
  const Json good = Json::parse(session_file(app));
  for (const auto& [key, lie] : {std::pair<const char*, Json>{"ratio", -1},
                                 {"low", 2},
                                 {"pairs", 0},
                                 {"first", "one"},
                                 {"high", nullptr},
                                 {"second", Json::array()}}) {
    Json json = good;
    json["trials"]["comparisons"][0][key] = lie;
    EXPECT_FALSE(write_whole("x.session.json", json.dump()));
    open("x.session.json");
    EXPECT_NE(app.document.message().find("Comparisons"), std::string::npos) << key << app.document.message();
    EXPECT_EQ(app.trials.all().size(), 2U);
    EXPECT_EQ(app.trials.contest(1, 2), nullptr) << key;
  }
  Json of_nothing = good;
  of_nothing["trials"]["comparisons"][0]["second"] = 77;
  EXPECT_FALSE(write_whole("x.session.json", of_nothing.dump()));
  open("x.session.json");
  EXPECT_EQ(app.document.message(), "");
  EXPECT_EQ(app.trials.contest(1, 77), nullptr);
}

TEST_F(Best, a_card_says_for_what_machine_is_predicted_and_what_the_run_had) {
  run();
  const Target& target = app.document.shown()->compilation().target;
  const std::string card = mirror().text_of("tune/run");
  EXPECT_NE(card.find(machine_of(target) + ", as x86-64 is described; the run had 2 threads."), std::string::npos) << card;
  EXPECT_NE(card.find("Counted after the last step."), std::string::npos) << card;
  EXPECT_NE(mirror().text_of("tune/plots").find("predicted for " + machine_of(target)), std::string::npos);
  EXPECT_NE(rates_of(target).find("main memory 37.3 GiB/s"), std::string::npos) << rates_of(target);
}

TEST_F(Best, a_page_to_export_is_summed_up_in_words) {
  ASSERT_TRUE(click("tune/run/kind.html"));
  std::string card;
  for (int i = 0; i < 2000 && card.find("needs nothing else") == std::string::npos; ++i) {
    frame();
    card = mirror().text_of("tune/run");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(card.find(fmt::format("{} steps (math", app.document.shown()->steps().size())), std::string::npos) << card;
  EXPECT_EQ(card.find("<html"), std::string::npos);
}

// ---- a plan whose fusions do away with what was to be stored ----
TEST(FusedPlan, says_what_is_no_longer_stored_and_has_bars_of_one_length) {
  Explorer explorer;
  explorer.open("attention_nomask");
  run_command(explorer.app, "workspace.tune");
  explorer.frame();
  explorer.frame();
  const auto lost = [&] {
    const Record& record = explorer.app.document.shown()->compilation().record;
    std::map<std::string, std::string> found;
    for (const Decision& each : record.decisions) found[each.site] = session::lost_effect(record, each);
    return found;
  };
  EXPECT_EQ(lost()["s/j/store"], "no longer stored: fused");
  EXPECT_EQ(lost()["p.e/j/store"], "no longer stored: fused");
  EXPECT_EQ(lost()["o/j/tile"], "");
  const MirrorItem* row = mirror().find("tune/decisions/s/j/store");
  ASSERT_NE(row, nullptr);
  EXPECT_NE(row->text.find("no longer stored: fused"), std::string::npos) << row->text;
  const MirrorItem *registers = mirror().find("tune/run/registers"), *cache = mirror().find("tune/run/on-chip");
  ASSERT_TRUE(registers != nullptr && cache != nullptr);
  EXPECT_EQ(registers->min.x, cache->min.x);
  EXPECT_EQ(registers->max.x, cache->max.x);
  explorer.app.document.change([](session::Session& s) {
    session::Inputs plan = s.now().inputs;
    plan.trace = session::without_fusions(s.now());
    return s.set_plan(plan);
  });
  explorer.settle();
  EXPECT_EQ(lost()["s/j/store"], "");
}

// ---- windows with little room ----
struct WindowSize {
  float width, height;
  bool alone;
};
/// 1280 x 800 and 1920 x 1080 at scale 1 and 2, in pixels of scale 1.
class TuneIn : public Tune, public testing::WithParamInterface<WindowSize> {
 protected:
  TuneIn() : Tune(GetParam().width, GetParam().height) {}
};

TEST_P(TuneIn, nothing_lies_on_anything_else_or_out_of_reach) {
  for (int i = 0; i < 3; ++i) run();
  EXPECT_EQ(mirror().find("tune/column/trials") != nullptr, GetParam().alone);
  const MirrorItem panel = *mirror().find("tune/trials/panel");
  std::vector<MirrorItem> heads;
  for (const MirrorItem& item : mirror().items())
    if (item.id.compare(0, 17, "tune/trials/sort.") == 0) heads.push_back(item);
  ASSERT_GE(heads.size(), 4U);
  for (std::size_t i = 0; i < heads.size(); ++i) {
    EXPECT_LE(widgets::measure(heads[i].text, Font::caption).x, heads[i].max.x - heads[i].min.x) << heads[i].text;
    EXPECT_LE(heads[i].max.x, panel.max.x);
    if (i > 0) {
      EXPECT_GE(heads[i].min.x, heads[i - 1].max.x - 0.5F) << heads[i].text;
    }
  }
  float last = mirror().find("tune/trials/filter.failed")->max.x;
  for (const char* id : {"tune/trials/run", "tune/trials/unfused"}) {
    const MirrorItem* button = mirror().find(id);
    ASSERT_NE(button, nullptr);
    EXPECT_LE(button->max.x, panel.max.x) << id;
    EXPECT_LE(button->max.y, panel.max.y) << id;
    EXPECT_TRUE(button->min.x >= last || button->min.y > mirror().find("tune/trials/filter.all")->min.y) << id;
    last = button->max.x;
  }
  ASSERT_NE(mirror().find("tune/trials/row.3"), nullptr) << "the newest one is seen without scrolling";
  EXPECT_LE(mirror().find("tune/trials/row.3")->max.y, panel.max.y);
  if (GetParam().alone) {
    ASSERT_TRUE(click("tune/column/plots"));
  }
  for (const char* plot : {"times", "roofline", "traffic"}) {
    ASSERT_TRUE(click(std::string("tune/plots/") + plot));
    frame();
    const MirrorItem around = *mirror().find("tune/plots/panel"), diagram = *mirror().find("tune/plots/plot");
    std::vector<MirrorItem> names;
    for (const MirrorItem& item : mirror().items()) {
      if (item.kind == "point" && item.id.compare(0, 16, "tune/plots/plot/") == 0) {
        EXPECT_GE(item.min.y, diagram.min.y) << plot << item.id;
        EXPECT_LE(item.max.y, diagram.max.y) << plot << item.id;
      }
      if (item.id.compare(0, 21, "tune/plots/plot/line.") == 0) names.push_back(item);
      if (item.id.compare(0, 11, "tune/plots/") == 0) {
        EXPECT_LE(item.max.x, around.max.x + 0.5F) << plot << item.id << item.text;
        EXPECT_LE(item.max.y, around.max.y + 0.5F) << plot << item.id << item.text;
      }
    }
    for (const MirrorItem& one : names)
      for (const MirrorItem& other : names)
        EXPECT_TRUE(&one == &other || one.max.x <= other.min.x || other.max.x <= one.min.x || one.max.y <= other.min.y ||
                    other.max.y <= one.min.y)
            << one.text << " lies on " << other.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, TuneIn,
                         testing::Values(WindowSize{1280, 800, false}, WindowSize{1920, 1080, false}, WindowSize{960, 540, true},
                                         WindowSize{640, 400, true}));

TEST(Plot, labels_that_would_touch_are_left_out_powers_of_ten_last) {
  const auto kept = [](std::vector<widgets::TickLabel> labels, float between) { return widgets::labels_with_room(labels, between); };
  EXPECT_EQ(kept({{0, 10, 0}, {12, 22, 0}, {24, 34, 0}}, 1), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(kept({{0, 10, 0}, {5, 15, 1}, {8, 18, 1}, {12, 22, 0}}, 1), (std::vector<bool>{true, false, false, true}));
  EXPECT_EQ(kept({{20, 30, 0}, {12, 22, 1}, {0, 10, 1}}, 1), (std::vector<bool>{true, false, true})) << "downwards, too";
  EXPECT_TRUE(kept({}, 1).empty());
}

}  // namespace
}  // namespace fathom::ui::tests
