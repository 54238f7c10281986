// What must not be lost or end the program: work beside a recovered session, typing into a session that opens, selections of steps that are
// gone, texts longer than anybody reads.
#include <fstream>
#include <future>

#include "headless.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::tests {
namespace {

/// A name of the last step's program, selected there.
void select_at_the_end(Explorer& explorer) {
  const std::size_t last = explorer.app.document.shown()->steps().size() - 1;
  explorer.app.go_to(last);
  explorer.app.selected = {"q", last};
  explorer.frame();
  explorer.frame();
}

TEST(Recovery, a_selection_behind_the_end_of_a_shorter_plan_is_forgotten) {
  Explorer explorer;
  explorer.open("attention");
  select_at_the_end(explorer);
  const std::size_t steps = explorer.app.document.shown()->steps().size();
  for (const Tab tab : {Tab::program, Tab::ir, Tab::graph, Tab::code, Tab::stage}) {
    explorer.app.view.tab = tab;
    explorer.app.document.change([](session::Session& session) { return session.set_target("sm_80"); });
    explorer.settle();
    ASSERT_LT(explorer.app.document.shown()->steps().size(), steps);
    EXPECT_TRUE(explorer.app.selected.is_empty());
    EXPECT_FALSE(explorer.app.colour_of(steps, "q")) << "a step that is not there has no colours";
    explorer.app.document.undo();
    explorer.settle();
    select_at_the_end(explorer);
  }
}

TEST(Recovery, a_session_file_may_select_a_step_that_is_not_there) {
  Explorer explorer;
  explorer.open("softmax");
  select_at_the_end(explorer);
  std::string json = session_file(explorer.app);
  const std::string step = "\"selected_step\": " + std::to_string(explorer.app.selected.step);
  ASSERT_NE(json.find(step), std::string::npos);
  json.replace(json.find(step), step.size(), "\"selected_step\": 400");
  std::ofstream("selected.session.json") << json;
  open_file(explorer.app, "selected.session.json");
  explorer.settle();
  EXPECT_NE(explorer.app.document.opened_from().find("selected.session.json"), std::string::npos);
  EXPECT_TRUE(explorer.app.selected.is_empty());
}

TEST(Recovery, what_is_typed_while_a_session_opens_does_not_go_into_it) {
  Explorer explorer;
  explorer.open("softmax");
  save_session(explorer.app, "kept.session.json");
  const std::string kept = explorer.app.document.text();
  explorer.open("attention");
  const std::string attention = explorer.app.document.text();
  open_file(explorer.app, "kept.session.json");
  ASSERT_TRUE(explorer.app.document.is_opening());
  explorer.app.document.type(attention + "# more\n");
  explorer.app.document.change([](session::Session& session) { return session.set_dim("S", 64); });
  explorer.settle();
  EXPECT_FALSE(explorer.app.document.is_opening());
  EXPECT_EQ(explorer.app.document.text(), kept);
  EXPECT_EQ(explorer.app.document.shown()->compilation().inputs.source, kept);
  EXPECT_FALSE(explorer.app.document.is_changed());
}

TEST(Recovery, another_program_does_not_wait_for_one_that_compiles) {
  Explorer explorer;
  explorer.open("attention");
  std::promise<void> gate;
  explorer.app.document.change([done = gate.get_future().share()](session::Session&) {
    done.wait();
    return Checked<void>();
  });
  explorer.open("softmax");
  EXPECT_EQ(explorer.app.document.inputs().file_name, "softmax.fathom");
  gate.set_value();
  explorer.settle();
  EXPECT_EQ(explorer.app.document.inputs().file_name, "softmax.fathom");
}

TEST(Recovery, a_program_that_was_saved_is_no_unsaved_work_unless_choices_were_made) {
  Explorer explorer;
  explorer.open("softmax");
  explorer.app.document.type(explorer.app.document.text() + "# mine\n");
  explorer.settle();
  EXPECT_TRUE(explorer.app.is_changed());
  ASSERT_TRUE(save_program(explorer.app, "mine.fathom"));
  EXPECT_FALSE(explorer.app.is_changed());
  explorer.app.document.change([](session::Session& session) { return session.set_dim("R", 64); });
  explorer.settle();
  ASSERT_EQ(explorer.app.document.inputs().dims.size(), 1U) << explorer.app.document.message();
  ASSERT_TRUE(save_program(explorer.app, "mine.fathom"));
  EXPECT_TRUE(explorer.app.is_changed()) << "the size is in no file";
}

TEST(Recovery, a_session_file_that_was_cut_off_replaces_nothing) {
  Explorer explorer;
  explorer.open("softmax");
  for (const char* bytes : {"", "{\n  \"fath", "[1, 2]", "\xff\xfe{"}) {
    std::ofstream("cut.session.json", std::ios::binary) << bytes;
    open_file(explorer.app, "cut.session.json");
    explorer.settle();
    EXPECT_NE(explorer.app.document.message().find("cut.session.json"), std::string::npos) << bytes;
    EXPECT_EQ(explorer.app.document.inputs().file_name, "softmax.fathom");
    EXPECT_TRUE(explorer.app.document.diagnostics().empty());
    explorer.app.document.dismiss_message();
  }
}

class LeftBehindSessions : public Explorer, public testing::Test {
 public:
  /// Two sessions, the newer one first.
  void SetUp() override {
    for (const char* sample : {"softmax", "rmsnorm"}) {
      open(sample);
      const std::string path = "recovered-" + std::to_string(app.left_behind.size() + 1) + ".session.json";
      std::ofstream(path) << session_file(app);
      app.left_behind.push_back({path, "2026-11-30 14:05"});
    }
    frame();
    frame();
  }
};

TEST_F(LeftBehindSessions, are_opened_only_after_the_open_work_was_asked_about) {
  open("attention");
  app.document.type(app.document.text() + "# mine\n");
  settle();
  ASSERT_TRUE(click("status/restore"));
  frame();
  EXPECT_TRUE(app.palette.is_open) << "what is open has changes that no file has";
  EXPECT_EQ(app.document.inputs().file_name, "attention.fathom");
  ASSERT_TRUE(click("palette/leave"));
  settle();
  EXPECT_EQ(app.document.inputs().file_name, "softmax.fathom");
  EXPECT_TRUE(app.is_changed()) << "it is in no file that somebody named";
  ASSERT_EQ(app.left_behind.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists("recovered-1.session.json"));
  EXPECT_TRUE(std::filesystem::exists("opened-1.session.json")) << "offered no more, and still there";
}

TEST_F(LeftBehindSessions, are_kept_for_later_or_thrown_away) {
  ASSERT_NE(mirror().find("status/left"), nullptr);
  EXPECT_NE(mirror().find("status/left")->text.find("1 of 2"), std::string::npos);
  ASSERT_TRUE(click("status/throw-away"));
  EXPECT_FALSE(std::filesystem::exists("recovered-1.session.json"));
  ASSERT_EQ(app.left_behind.size(), 1U);
  ASSERT_TRUE(click("status/later"));
  EXPECT_TRUE(app.left_behind.empty());
  EXPECT_TRUE(std::filesystem::exists("recovered-2.session.json"));
}

TEST_F(LeftBehindSessions, do_not_hide_what_else_is_to_be_said) {
  app.document.type(app.document.text() + "@@");
  settle();
  EXPECT_NE(mirror().find("status/diagnostic"), nullptr);
  EXPECT_NE(mirror().find("status/restore"), nullptr);
  EXPECT_LT(mirror().find("status/diagnostic")->max.x, mirror().find("status/left")->min.x);
}

TEST(Recovery, a_name_of_a_hundred_thousand_letters_is_drawn_at_once) {
  Explorer explorer;
  const std::string name(100000, 'x');
  explorer.open_text(name + ".fathom", "operator f(a: f32[4]) -> (b: f32[4]) { b[i] = " + name + "[i] }\n");
  EXPECT_FALSE(explorer.app.document.diagnostics().empty());
  for (int i = 0; i < 20; ++i) explorer.frame();  // each took minutes
  EXPECT_EQ(widgets::cut_to("abc", 1000, Font::body), "abc");
  const std::string cut = widgets::cut_to(name, 100, Font::body);
  EXPECT_LE(widgets::measure(cut, Font::body).x, 100);
  EXPECT_GT(widgets::measure(cut, Font::body).x, 80);
}

}  // namespace
}  // namespace fathom::ui::tests
