// A lesson from its first page to its last, by keys and by mouse; repairs that are wrong and right, in a lesson and without one.
#include "lesson.hpp"

#include <imgui_internal.h>

#include <fstream>
#include <map>
#include <set>

#include "headless.hpp"
#include "session/own_repair.hpp"

namespace fathom::ui::tests {
namespace {

class Pupil : public Explorer {
 public:
  explicit Pupil(const std::string& name = "flash-attention") {
    ImGui::GetIO().DisplaySize = {1280, 2400};  // nothing is below the fold
    Start start;
    start.lesson = name;
    open_start(app, start);
    settle();
  }
  [[nodiscard]] const session::Page& page() const { return *open_page(app); }
  [[nodiscard]] std::size_t number() const { return app.view.lesson.page; }
  /// The session has taken what was asked for, and the lesson has seen it.
  void until_taken() {
    settle();
    frame();
  }
  void until_judged() {
    constexpr int most_waits = 3000;
    frame();
    for (int i = 0; i < most_waits && app.own_repairs.is_judging(); ++i) {
      frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    frame();
    frame();
  }
  /// In place of what stands in the field.
  void write(const std::string& field, const std::string& text) {
    ASSERT_TRUE(click(field)) << field;
    key(ImGuiKey_A, ImGuiMod_Ctrl);
    type(text);
    until_judged();
  }
  void go_to_page(std::size_t wanted) {
    while (number() < wanted) {
      run_command(app, "lesson.show");
      until_taken();
      run_command(app, "lesson.next");
      until_taken();
    }
  }
  /// All that the screen holds.
  [[nodiscard]] static std::string screen_text() {
    std::string all;
    for (const MirrorItem& item : mirror().items())
      if (item.kind != "word") all += item.text + "\n";
    return all;
  }
};

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
  return found;
}

constexpr std::size_t repair_page = 4;

TEST(Lesson, is_walked_through_by_keys_alone) {
  Pupil pupil;
  const std::size_t pages = open_lesson(pupil.app)->pages.size();
  for (std::size_t i = 0; i + 1 < pages; ++i) {
    ASSERT_EQ(pupil.number(), i);
    EXPECT_NE(mirror().text_of("lesson").find(pupil.page().title), std::string::npos);
    EXPECT_FALSE(is_page_done(pupil.app));
    pupil.key(ImGuiKey_PageDown);
    EXPECT_EQ(pupil.number(), i) << "first an answer";
    pupil.key(ImGuiKey_H);
    EXPECT_NE(mirror().text_of("lesson").find("Hint 1 of"), std::string::npos);
    pupil.key(ImGuiKey_H, ImGuiMod_Shift);
    pupil.until_taken();
    EXPECT_TRUE(is_page_done(pupil.app)) << i;
    pupil.key(ImGuiKey_PageDown);
    pupil.until_taken();
  }
  EXPECT_EQ(pupil.number(), pages - 1);
  EXPECT_FALSE(command_named("lesson.next")->disabled(pupil.app).empty());
  const session::Compilation& now = pupil.app.document.shown()->compilation();
  EXPECT_EQ(session::passes_over(now, "o.sum/j/fuse", "j").size(), 1U);
  pupil.key(ImGuiKey_PageUp);
  EXPECT_EQ(pupil.number(), pages - 2) << "what was done stays done";
  EXPECT_TRUE(is_page_done(pupil.app));
}

TEST(Lesson, is_walked_through_by_mouse_with_everything_done_by_hand) {
  Pupil pupil;
  const auto next = [&] {
    ASSERT_TRUE(pupil.click("lesson/foot/next"));
    pupil.until_taken();
  };
  // Every choice in turn: the right one ends it.
  const auto answer = [&] {
    for (std::size_t i = 0; !progress(pupil.app).answered && i < pupil.page().question->choices.size(); ++i) {
      ASSERT_TRUE(pupil.click("lesson/question/choice-" + std::to_string(i)));
      const MirrorItem* says = mirror().find("lesson/question/says/text");
      EXPECT_NE(says != nullptr, progress(pupil.app).answered) << "a wrong choice is told why";
    }
    EXPECT_TRUE(progress(pupil.app).answered);
    EXPECT_NE(mirror().find("lesson/question/then/text"), nullptr);
  };
  answer(), next();
  ASSERT_TRUE(pupil.click("lesson/body/name-0"));  // p.m
  EXPECT_EQ(pupil.app.selected.name, "p.m");
  next();
  answer(), next();
  pupil.write("lesson/question/answer", "1");
  ASSERT_TRUE(pupil.click("lesson/question/give"));
  EXPECT_FALSE(progress(pupil.app).answered);
  EXPECT_NE(mirror().find("lesson/question/says/text"), nullptr);
  pupil.write("lesson/question/answer", "exp(1 - 3)");
  ASSERT_TRUE(pupil.click("lesson/question/give"));
  EXPECT_TRUE(progress(pupil.app).answered);
  next();
  ASSERT_EQ(pupil.number(), repair_page);
  pupil.write("lesson/task/repair/written", "acc * exp(m - m')");
  ASSERT_TRUE(pupil.click("lesson/task/repair/take"));
  pupil.until_taken();
  EXPECT_TRUE(progress(pupil.app).done);
  const auto question = session::repair_question(pupil.app.document.shown()->compilation(), Symbol("p.sum"));
  EXPECT_EQ(question->written, "acc * exp(p.m - p.m')");
  EXPECT_TRUE(question->is_taken);
  next();
  answer(), next();
  ASSERT_TRUE(pupil.click("lesson/task/fuse"));
  pupil.until_taken();
  next();
  answer(), next();
  ASSERT_TRUE(pupil.click("lesson/task/128"));
  pupil.until_taken();
  next();
  ASSERT_TRUE(pupil.click("ribbon/lower-to-kernel"));  // its dot
  pupil.until_taken();
  next();
  EXPECT_EQ(pupil.number(), open_lesson(pupil.app)->pages.size() - 1);
  const Step& last = pupil.app.document.shown()->steps().back();
  EXPECT_EQ(session::stored_bytes(last), 0);
  pupil.until_checked();
  for (std::size_t i = 0; i < pupil.app.document.shown()->steps().size(); ++i)
    EXPECT_EQ(pupil.app.document.check(i).status, CheckStatus::passed) << i;
}

TEST(Lesson, keeps_an_answer_off_the_screen_until_it_is_given) {
  Pupil pupil;
  for (std::size_t i = 0; i + 1 < open_lesson(pupil.app)->pages.size(); ++i) {
    pupil.go_to_page(i);
    if (!pupil.page().question) continue;
    SCOPED_TRACE(i);
    const session::Question& question = *pupil.page().question;
    const auto truth = session::judge_answer(question, "", pupil.app.document.shown()->compilation(), pupil.page().step);
    ASSERT_TRUE(truth);
    const auto then = session::filled(question.then, pupil.app.document.shown()->compilation(), pupil.page().step);
    const std::string before = Pupil::screen_text();
    EXPECT_EQ(before.find(*then), std::string::npos);
    EXPECT_NE(before.find("shown after your answer"), std::string::npos) << "the stage is hidden";
    EXPECT_EQ(mirror().find("why/p.sum/derivation/law-0"), nullptr);
    if (question.choices.empty()) {
      EXPECT_EQ(before.find(truth->truth), std::string::npos);
    } else if (truth->truth.find(' ') != std::string::npos) {
      EXPECT_EQ(count(before, truth->truth), 1U) << "as one of the choices: " << truth->truth;
    }
    run_command(pupil.app, "lesson.show");
    pupil.until_taken();
    EXPECT_NE(Pupil::screen_text().find(*then), std::string::npos);
    EXPECT_EQ(Pupil::screen_text().find("shown after your answer"), std::string::npos);
    EXPECT_NE(mirror().find("stage/panel"), nullptr);
  }
}

TEST(Lesson, takes_a_repair_that_is_asked_for_while_it_is_judged) {
  Pupil pupil;
  pupil.go_to_page(repair_page);
  const session::WriteRepair& write = *repair_task(pupil.app);
  const auto ask = [&](const std::string& text) {
    pupil.app.view.repairs[write.consumer] = text;
    EXPECT_TRUE(run_command(pupil.app, "repair.take")) << "nothing is known about it yet";
  };
  ask(write.mistakes.front().write.front());
  pupil.until_judged();
  pupil.until_taken();
  EXPECT_EQ(pupil.app.document.inputs().trace.find("p.sum/j/repair"), nullptr) << "a wrong one is not taken";
  ask(write.right.front());
  pupil.app.view.repairs[write.consumer] = write.mistakes.back().write.front();
  pupil.until_judged();
  pupil.until_taken();
  EXPECT_EQ(pupil.app.document.inputs().trace.find("p.sum/j/repair"), nullptr) << "another was typed meanwhile";
  ask(write.right.front());
  pupil.until_judged();
  pupil.until_taken();
  ASSERT_NE(pupil.app.document.inputs().trace.find("p.sum/j/repair"), nullptr);
  EXPECT_EQ(pupil.app.document.inputs().trace.find("p.sum/j/repair")->choice, write.right.front());
}

TEST(Lesson, keeps_the_line_off_the_screen_until_it_is_written) {
  Pupil pupil;
  const auto is_hidden = [&](const std::string& consumer) {
    const std::string panel = "why/" + consumer;
    EXPECT_EQ(mirror().find(panel + "/derivation/law-0"), nullptr) << consumer;
    EXPECT_EQ(mirror().text_of(panel).find("Guard"), std::string::npos) << consumer;
    EXPECT_EQ(mirror().find(panel + "/repair/written"), nullptr) << consumer;
    EXPECT_NE(mirror().text_of(panel).find("Page 5 of the lesson"), std::string::npos) << mirror().text_of(panel);
    EXPECT_EQ(Pupil::screen_text().find("exp(p.m - p.m"), std::string::npos);
  };
  for (std::size_t page = 0; page < repair_page; ++page) {
    SCOPED_TRACE(page);
    pupil.go_to_page(page);
    run_command(pupil.app, "lesson.show");
    pupil.until_taken();
    for (const char* consumer : {"p.sum", "o"}) {  // both have the same line
      ASSERT_TRUE(pupil.click("why/reductions/" + std::string(consumer)));
      pupil.frame();
      is_hidden(consumer);
    }
  }
  pupil.go_to_page(repair_page + 1);
  run_command(pupil.app, "lesson.show");
  pupil.until_taken();
  for (const char* consumer : {"p.sum", "o"}) {
    ASSERT_TRUE(pupil.click("why/reductions/" + std::string(consumer)));
    pupil.frame();
    EXPECT_NE(mirror().find("why/" + std::string(consumer) + "/derivation/law-0"), nullptr) << consumer;
    EXPECT_NE(mirror().find("why/" + std::string(consumer) + "/repair/written"), nullptr) << consumer;
  }
}

TEST(Lesson, a_name_that_is_not_at_hand_is_said_with_its_column_and_cannot_be_taken) {
  Pupil pupil;
  pupil.go_to_page(repair_page);
  pupil.write("lesson/task/repair/written", "acc * e^(p.m - p.m')");
  const std::string verdict = mirror().text_of("lesson/task/repair/verdict");
  EXPECT_NE(verdict.find("column 7"), std::string::npos) << verdict;
  EXPECT_NE(verdict.find("exp(x)"), std::string::npos) << verdict;
  EXPECT_EQ(mirror().find("lesson/task/repair/take-unsound"), nullptr);
  EXPECT_FALSE(run_command(pupil.app, "repair.take-unsound"));
  EXPECT_NE(command_named("repair.take-unsound")->disabled(pupil.app).find("not at hand"), std::string::npos);
}

TEST(Lesson, leads_to_where_an_unsound_repair_acts) {
  Pupil pupil;
  pupil.go_to_page(repair_page);
  pupil.write("lesson/task/repair/written", "acc * exp(p.m' - p.m)");
  ASSERT_TRUE(pupil.click("lesson/task/repair/take-unsound"));
  pupil.until_taken();
  const auto staged = [&] {
    constexpr int most_waits = 3000;
    for (int i = 0; i < most_waits && (i < 3 || pupil.app.stage.is_busy()); ++i) {
      pupil.frame();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    pupil.frame();
    return mirror().text_of("stage");
  };
  EXPECT_EQ(pupil.app.view.step, "p.sum/j/fuse");
  std::string stage = staged();
  EXPECT_NE(stage.find("wrong from trip"), std::string::npos) << stage;
  ASSERT_TRUE(run_command(pupil.app, "lesson.here"));
  stage = staged();
  EXPECT_NE(stage.find("UNSOUND from “Fuse p.sum"), std::string::npos) << stage;
  EXPECT_NE(stage.find("before it"), std::string::npos) << stage;
  EXPECT_EQ(stage.find("what runs here is not the plan"), std::string::npos) << stage;
  ASSERT_TRUE(pupil.click("stage/to-unsound"));
  EXPECT_EQ(pupil.app.view.step, "p.sum/j/fuse");
}

TEST(Lesson, keeps_what_it_asks_in_reach_of_a_small_screen) {
  Pupil pupil;
  ImGui::GetIO().DisplaySize = {1280, 800};
  const std::size_t pages = open_lesson(pupil.app)->pages.size();
  constexpr std::size_t fusing_page = 6;
  for (std::size_t page = 0; page + 1 < pages; ++page) {
    SCOPED_TRACE(page);
    pupil.go_to_page(page);
    pupil.frame();
    pupil.frame();
    const float bottom = mirror().find("lesson/foot/next")->min.y;
    const auto lowest = [&] {
      float y = 0;
      for (const MirrorItem& item : mirror().items())
        if (item.id.compare(0, 16, "lesson/question/") == 0 || item.id.compare(0, 12, "lesson/task/") == 0) y = std::max(y, item.max.y);
      return y;
    };
    EXPECT_EQ(lowest() > bottom, mirror().find("lesson/foot/down") != nullptr) << "what is below the fold is announced";
    if (page == fusing_page) {
      EXPECT_LE(mirror().find("lesson/task/fuse")->max.y, bottom);
    }
    if (mirror().find("lesson/foot/down") == nullptr) continue;
    ASSERT_TRUE(pupil.click("lesson/foot/down"));
    for (int i = 0; i < 4; ++i) pupil.frame();
    EXPECT_LE(lowest(), bottom);
    EXPECT_EQ(mirror().find("lesson/foot/down"), nullptr) << "it has led there";
  }
}

TEST(Lesson, says_why_an_alternative_cannot_be_taken) {
  Pupil pupil;
  constexpr std::size_t tile_page = 8;
  pupil.go_to_page(tile_page);
  std::size_t refused = 0;
  for (const Decision& decision : pupil.app.document.shown()->compilation().record.decisions)
    for (const Alternative& each : decision.alternatives)
      if (decision.site == "o/j/tile" && each.refused) {
        ++refused;
        EXPECT_NE(mirror().text_of("lesson/task").find(each.refused->reason), std::string::npos) << each.choice;
      }
  EXPECT_GT(refused, 0U);
}

TEST(Lesson, says_to_each_wrong_repair_what_belongs_to_it) {
  Pupil pupil;
  pupil.go_to_page(repair_page);
  const session::WriteRepair& write = *repair_task(pupil.app);
  std::set<std::string> sentences;
  for (const session::Mistake& mistake : write.mistakes)
    for (const std::string& text : mistake.write) {
      SCOPED_TRACE(text);
      pupil.write("lesson/task/repair/written", text);
      const MirrorItem* said = mirror().find("lesson/task/sentence/text");
      ASSERT_NE(said, nullptr);
      EXPECT_EQ(said->text.find('{'), std::string::npos) << said->text;
      EXPECT_EQ(said->text.compare(0, 20, mistake.says, 0, 20), 0) << said->text;
      sentences.insert(said->text.substr(0, 20));
      EXPECT_FALSE(mirror().find("lesson/task/repair/take")->enabled);
      EXPECT_EQ(mirror().find("why/p.sum/derivation/law-0"), nullptr) << "the derivation waits";
    }
  EXPECT_GE(sentences.size(), 3U);
  pupil.write("lesson/task/repair/written", "acc * exp(3 * (m - m'))");
  EXPECT_EQ(mirror().find("lesson/task/sentence/text")->text.find("Not yet"), 0U) << "everything else has the numbers";
  pupil.write("lesson/task/repair/written", "acc * (");
  EXPECT_EQ(mirror().find("lesson/task/sentence/text"), nullptr);
  EXPECT_NE(mirror().text_of("lesson/task/repair/verdict").find("column"), std::string::npos);
  for (const std::string& text : write.right) {
    pupil.write("lesson/task/repair/written", text);
    EXPECT_TRUE(mirror().find("lesson/task/repair/take")->enabled) << text;
  }
  pupil.key(ImGuiKey_Enter, ImGuiMod_Ctrl);
  pupil.until_taken();
  EXPECT_TRUE(progress(pupil.app).done);
  EXPECT_EQ(pupil.app.document.inputs().trace.find("p.sum/j/repair")->choice, "acc / exp(p.m' - p.m)");
  EXPECT_NE(mirror().text_of("why").find("C1"), std::string::npos);
  EXPECT_NE(mirror().find("why/p.sum/derivation/law-0"), nullptr) << "now it is shown";
}

TEST(Lesson, goes_on_after_the_session_is_opened_again) {
  const std::string path = "kept.session.json";
  LessonProgress before;
  std::map<std::string, std::string> repairs;
  std::string text;
  {
    Pupil pupil;
    pupil.go_to_page(repair_page);
    run_command(pupil.app, "lesson.hint");
    pupil.write("lesson/task/repair/written", "acc");
    text = session_file(pupil.app);
    before = pupil.app.view.lesson;
    repairs = pupil.app.view.repairs;
  }
  Explorer again;
  ImGui::GetIO().DisplaySize = {1280, 2400};
  std::ofstream(path) << text;
  Start start;
  start.file = path;
  open_start(again.app, start);
  again.settle();
  EXPECT_EQ(again.app.view.lesson, before);
  EXPECT_EQ(again.app.view.repairs, repairs);
  EXPECT_EQ(again.app.view.workspace, Workspace::learn);
  EXPECT_NE(mirror().text_of("lesson").find("Hint 1 of"), std::string::npos);
  EXPECT_TRUE(hides_derivation(again.app, "p.sum"));
  again.open("softmax");
  EXPECT_EQ(open_lesson(again.app), nullptr) << "another program, no lesson";
}

TEST(Lesson, session_files_with_any_lesson_state_open) {
  Pupil pupil;
  const std::string good = session_file(pupil.app);
  for (const char* lesson :
       {R"({"name": "nothing", "page": 3})", R"({"name": 7})", R"([1])", R"({"name": "01-flash-attention", "page": 99999999999})",
        R"({"name": "01-flash-attention", "page": -1, "pages": [{"page": 1e300}, 3, {"page": 2, "hints": 99999, "tries": -5}]})"}) {
    std::string text = good;
    const auto at = text.find("\"lesson\": {");
    ASSERT_NE(at, std::string::npos);
    text = text.substr(0, at) + "\"lesson\": " + lesson + "}}\n";
    std::ofstream("hostile.session.json") << text;
    open_file(pupil.app, "hostile.session.json");
    pupil.settle();
    EXPECT_NE(pupil.app.document.shown(), nullptr) << lesson;
    if (const session::Lesson* open = open_lesson(pupil.app)) {
      EXPECT_LT(pupil.app.view.lesson.page, open->pages.size());
    }
    pupil.frame();
  }
}

TEST(Lesson, asks_before_unsaved_work_is_lost_and_starts_from_the_list) {
  Explorer explorer;
  explorer.open("softmax");
  explorer.app.document.type(explorer.app.document.text() + "\n# mine\n");
  explorer.settle();
  explorer.key(ImGuiKey_F2);
  ASSERT_TRUE(explorer.click("lesson/01-flash-attention/start"));
  explorer.settle();
  EXPECT_EQ(open_lesson(explorer.app), nullptr);
  EXPECT_EQ(explorer.app.palette.ask, Ask::unsaved);
  ASSERT_TRUE(explorer.click("palette/leave"));
  explorer.settle();
  ASSERT_NE(open_lesson(explorer.app), nullptr);
  EXPECT_FALSE(explorer.app.document.can_undo()) << "its history is its own";
  ASSERT_TRUE(explorer.click("lesson/leave"));
  explorer.frame();
  EXPECT_EQ(open_lesson(explorer.app), nullptr);
  EXPECT_NE(explorer.app.document.shown(), nullptr) << "the program stays";
}

TEST(Lesson, a_program_that_no_longer_fits_says_so_and_can_be_started_again) {
  Pupil pupil;
  pupil.go_to_page(2);
  std::string text = pupil.app.document.text();
  for (std::size_t at = text.find("p["); at != std::string::npos; at = text.find("p[", at + 1)) text.replace(at, 1, "w");
  pupil.app.document.type(text);
  pupil.settle();
  EXPECT_NE(mirror().text_of("lesson").find("cannot go on with this program"), std::string::npos) << mirror().text_of("lesson");
  ASSERT_TRUE(pupil.click("lesson/restart"));
  pupil.settle();
  ASSERT_TRUE(pupil.click("palette/leave"));
  pupil.settle();
  EXPECT_EQ(pupil.number(), 0U);
}

TEST(Lesson, is_named_on_the_command_line) {
  EXPECT_TRUE(parse_start({"--lesson", "01-flash-attention"}));
  const auto start = parse_start({"--lesson", "nothing"});
  ASSERT_FALSE(start);
  EXPECT_NE(start.error().find("01-flash-attention"), std::string::npos) << "those that there are: " << start.error();
}

// ---- without a lesson ----
TEST(OwnRepair, is_written_for_every_repaired_reduction_of_any_program) {
  const OwnFolder folder;
  // A norm that a running maximum keeps in range: its factor is a power, not an exponential.
  std::ofstream("scaled_norm.fathom") << "dim T = 64\noperator norm(x: f32[T]) -> (o: f32)\n{\n  m = max[j](abs(x[j]))\n"
                                         "  q = sum[j]((abs(x[j]) / m)^2)\n  o = m * sqrt(q)\n}\n";
  const std::string norm = std::filesystem::absolute("scaled_norm.fathom").string();
  for (const std::string& sample : {std::string("softmax"), std::string("attention"), std::string("cross_entropy"), norm}) {
    Explorer explorer;
    ImGui::GetIO().DisplaySize = {1280, 2400};
    explorer.open(sample);
    ASSERT_NE(explorer.app.document.shown(), nullptr) << sample;
    EXPECT_FALSE(session::repair_questions(explorer.app.document.shown()->compilation()).empty()) << sample;
    explorer.key(ImGuiKey_F2);
    for (const session::RepairQuestion& question : session::repair_questions(explorer.app.document.shown()->compilation())) {
      const std::string consumer = question.consumer.text(), panel = "why/" + consumer;
      SCOPED_TRACE(sample + " " + consumer);
      ASSERT_TRUE(explorer.click("why/reductions/" + consumer));
      const auto write = [&](const std::string& text) {
        EXPECT_TRUE(explorer.click(panel + "/repair/written"));
        explorer.key(ImGuiKey_A, ImGuiMod_Ctrl);
        explorer.type(text);
        constexpr int most_waits = 3000;
        for (int i = 0; i < most_waits && explorer.app.own_repairs.is_judging(); ++i) {
          explorer.frame();
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        explorer.frame();
        explorer.frame();
      };
      EXPECT_NE(mirror().find(panel + "/equation/kept"), nullptr);
      write("acc + 7");
      EXPECT_FALSE(mirror().find(panel + "/repair/take")->enabled);
      EXPECT_NE(mirror().text_of(panel + "/laws").find("✕ C"), std::string::npos) << mirror().text_of(panel);
      ASSERT_TRUE(explorer.click(panel + "/repair/take-unsound"));
      explorer.settle();
      EXPECT_NE(mirror().text_of(panel + "/repair/in-plan").find("UNSOUND"), std::string::npos) << mirror().text_of(panel);
      EXPECT_TRUE(explorer.app.document.inputs().options.unsound);
      write(question.answer);
      EXPECT_NE(mirror().text_of(panel + "/laws").find("✓ C1"), std::string::npos);
      ASSERT_TRUE(explorer.click(panel + "/repair/take"));
      explorer.settle();
      EXPECT_FALSE(explorer.app.document.inputs().options.unsound);
      EXPECT_EQ(session::repair_question(explorer.app.document.shown()->compilation(), question.consumer)->written, question.answer);
      run_command(explorer.app, "edit.undo");
      explorer.settle();
      run_command(explorer.app, "edit.undo");
      explorer.settle();
      EXPECT_TRUE(session::repair_question(explorer.app.document.shown()->compilation(), question.consumer)->written.empty());
    }
  }
}

TEST(OwnRepair, a_refused_reduction_says_why_and_asks_for_none) {
  Explorer explorer;
  ImGui::GetIO().DisplaySize = {1280, 2400};
  explorer.open_text("refused.fathom",
                     "dim T = 64\noperator r(s: f32[T]) -> (o: f32)\n{\n  m = max[j](s[j])\n  o = sum[j](max(s[j] - m / 2, 0))\n}\n");
  explorer.key(ImGuiKey_F2);
  ASSERT_TRUE(explorer.click("why/reductions/o"));
  EXPECT_NE(mirror().text_of("why").find("waits for a pass of its own"), std::string::npos) << mirror().text_of("why");
  EXPECT_EQ(mirror().find("why/o/repair/written"), nullptr);
}

// ---- glyphs ----
TEST(Lesson, every_code_point_of_its_texts_has_a_glyph) {
  const Screen screen;
  int letters = 0;
  const auto check = [&](const std::string& text) {
    for (const char* at = text.c_str(); *at != 0;) {
      unsigned code = 0;
      at += ImTextCharFromUtf8(&code, at, nullptr);
      if (code == '\n') continue;
      ++letters;
      for (const Font face : {Font::lesson, Font::lesson_code})
        EXPECT_NE(font(face)->FindGlyphNoFallback(static_cast<ImWchar>(code)), nullptr) << std::hex << code << " in " << text;
    }
  };
  for (const session::Lesson& lesson : session::lessons()) {
    for (const std::string& text : {lesson.title, lesson.summary}) check(text);
    for (const session::Page& page : lesson.pages) {
      check(page.title), check(page.text);
      for (const std::string& hint : page.hints) check(hint);
      for (const session::Drawing& drawing : page.drawings)
        for (const session::Bar& bar : drawing.bars) check(bar.label);
      if (page.question) {
        check(page.question->ask), check(page.question->then);
        for (const std::string& each : page.question->choices) check(each);
        for (const auto& [choice, says] : page.question->because) check(says);
      }
      if (!page.task) continue;
      check(page.task->ask), check(page.task->then);
      if (const auto* write = std::get_if<session::WriteRepair>(&page.task->action)) {
        check(write->otherwise);
        for (const session::Mistake& mistake : write->mistakes) check(mistake.says);
      }
    }
  }
  EXPECT_GT(letters, 4000);
}

}  // namespace
}  // namespace fathom::ui::tests
