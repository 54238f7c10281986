// Lessons are data that are proved: every claim of every lesson holds, and a mistake in a file is named with its line and field.
#include "session/lesson.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "session/own_repair.hpp"
#include "session/stage.hpp"

namespace fathom::session {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> all;
  for (const auto& each : std::filesystem::directory_iterator(std::string(FATHOM_SOURCE_DIR) + "/samples/lessons"))
    all.push_back(each.path());
  return all;
}

std::string first_lesson() { return read_file(std::string(FATHOM_SOURCE_DIR) + "/samples/lessons/01-flash-attention.lesson"); }

/// What is said of the text, as it is printed.
std::string said_of(const std::string& text) {
  const auto lesson = parse_lesson(text, "broken.lesson");
  if (!lesson) return render(lesson.error(), "broken.lesson", text);
  const auto checked = check_lesson(*lesson);
  return checked ? std::string() : render(checked.error(), "broken.lesson", text);
}

TEST(Lessons, every_file_is_proved) {
  ASSERT_FALSE(files().empty());
  for (const auto& path : files()) EXPECT_EQ(said_of(read_file(path)), "") << path;
}

TEST(Lessons, all_of_them_are_in_the_program) {
  EXPECT_EQ(lessons().size(), files().size());
  for (const auto& path : files()) {
    const Lesson* lesson = lesson_named(path.stem().string());
    ASSERT_NE(lesson, nullptr) << path;
    EXPECT_EQ(lesson_named(lesson->name.substr(lesson->name.find('-') + 1)), lesson) << "without its number";
  }
  EXPECT_EQ(lesson_named("nothing"), nullptr);
}

TEST(Lessons, each_is_a_whole) {
  for (const Lesson& lesson : lessons()) {
    int actions = 0, questions = 0;
    std::size_t mistakes = 0;
    for (const Page& page : lesson.pages) {
      actions += page.task ? 1 : 0;
      questions += page.question ? 1 : 0;
      EXPECT_FALSE(page.drawings.empty());
      if (page.task)
        if (const auto* write = std::get_if<WriteRepair>(&page.task->action)) mistakes += write->mistakes.size();
    }
    EXPECT_GE(actions, 3) << lesson.name;
    EXPECT_GE(questions, 1) << lesson.name;
    EXPECT_GE(mistakes, 3U) << lesson.name;
  }
}

struct Broken {
  const char* what;
  const char* old;
  const char* now;
  const char* said;
};
const Broken broken[] = {
    {"a field of another name", "summary = ", "sumary = ", "sumary is no field"},
    {"a text that is a number", "title = \"FlashAttention from plain attention\"", "title = 3", "title is no text"},
    {"no TOML", "[[page]]\ntitle = \"Tiles\"", "[[page\ntitle = \"Tiles\"", "this is no TOML"},
    {"a sample that is not there", "program = \"attention_nomask\"", "program = \"attention_x\"", "there is no sample `attention_x`"},
    {"a target that is not there", "target = \"x86-64\"", "target = \"y86\"", "there is no target `y86`"},
    {"a size that is none", "H = 32", "H = -32", "dims.H is no size"},
    {"a step that is not there", "step = \"derive\"", "step = \"divine\"", "page 4: step: there is no step `divine`"},
    {"a name that is not there", "look_at = \"p.sum\"", "look_at = \"p.som\"", "has no name `p.som`"},
    {"a quantity that is none", "{dim(H)} heads,", "{dam(H)} heads,", "`dam` is no quantity"},
    {"a tensor that is not there", "{bytes(q)}", "{bytes(qq)}", "no step has a tensor `qq`"},
    {"an answer that is typed in", "answer = \"{bytes(s)}\"", "answer = \"0 B\"", "an answer is computed, never typed in"},
    {"an answer that is no choice", "\"512 MiB\", \"2 GiB\"", "\"512 MiB\", \"3 GiB\"", "the answer is 2 GiB, which is none of them"},
    {"a wrong choice without a word", "\"one\" = ", "\"two and a half\" = ", "nothing is said to who takes one"},
    {"a task that is done already", "take = \"o/j/tile=128\"", "take = \"o/j/tile=64\"", "it is done before anyone does it"},
    {"a choice that is refused", "take = \"o/j/tile=128\"", "take = \"o/j/tile=512\"", "cannot be 512"},
    {"a right answer that is wrong", "\"exp(m - m') * acc\"", "\"exp(m' - m) * acc\"", "task.right: exp(m' - m) * acc is not derived"},
    {"a mistake that is right", "write = [\"acc\", ", "write = [\"acc * exp(m - m')\", ", "is not refuted"},
    {"an equation that does not hold", "= exp(a) * exp(b)", "= exp(a) + exp(b)", "does not hold"},
    {"a catch-all without numbers", "a term becomes {found}, but about", "a term becomes something, but about", "it tells no numbers"},
    {"a page without a figure", "[[page.figure]]\nequations = [\"exp(a + b)", "[[page.picture]]\nequations = [\"exp(a + b)",
     "page 5: figure is missing"},
    {"a figure of two things", "guard = \"p.sum\"", "guard = \"p.sum\"\ncheck = \"derive\"", "a figure shows exactly one thing"},
    {"a task of two actions", "select = \"p.m\"", "select = \"p.m\"\nstep = \"derive\"", "a task is exactly one action"},
    {"no hints", "hints = [\"What is -inf minus -inf?", "hints = [] # [\"What is -inf minus -inf?", "page 6: hints"},
};

TEST(Lessons, a_mistake_is_named_with_its_line_and_field) {
  const std::string good = first_lesson();
  for (const Broken& each : broken) {
    std::string text = good;
    const auto at = text.find(each.old);
    ASSERT_NE(at, std::string::npos) << each.what;
    text.replace(at, std::string(each.old).size(), each.now);
    const std::string said = said_of(text);
    EXPECT_NE(said.find(each.said), std::string::npos) << each.what << ":\n" << said;
    EXPECT_EQ(said.find("broken.lesson:"), 0U) << each.what << ":\n" << said;
  }
}

TEST(Lessons, a_typing_error_is_shown_where_it_stands) {
  std::string text = first_lesson();
  text.replace(text.find("sumary") == std::string::npos ? text.find("summary") : 0, 7, "sumary");
  EXPECT_EQ(said_of(text).find("broken.lesson:3:1:"), 0U) << said_of(text);
}

TEST(Lessons, hostile_texts_are_refused) {
  const std::string deep = "a = " + std::string(100000, '[');
  for (const std::string& text :
       {std::string(), std::string("\0\0\0", 3), std::string("\xff\xfe"), deep, std::string(3 << 20, 'x'), std::string("page = 3"),
        std::string("page = [1, 2]"), std::string("[page]\n"), std::string("[[page]]\n[[page.figure]]\nequations = [\"(((\"]\n")}) {
    EXPECT_FALSE(parse_lesson(text, "hostile.lesson")) << text.substr(0, 40);
  }
  std::mt19937 random(7);
  const std::string good = first_lesson();
  for (int i = 0; i < 60; ++i) {
    std::string text = good;
    for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto lesson = parse_lesson(text.substr(0, random() % text.size()), "hostile.lesson");
    if (!lesson) {
      EXPECT_FALSE(lesson.error().empty());
    }
  }
}

TEST(Lessons, call_steps_as_the_screen_does_and_keep_answers_out_of_titles) {
  for (const Lesson& lesson : lessons()) {
    auto inputs = inputs_of(lesson);
    ASSERT_TRUE(inputs);
    const auto session = Session::open(*inputs);
    ASSERT_TRUE(session);
    for (const Step& step : session->now().record.steps) {
      const auto title = filled("{title(" + step.id + ")}", session->now(), "derive");
      ASSERT_TRUE(title);
      EXPECT_EQ(*title, step.title);
      for (const Page& page : lesson.pages) {
        std::string all = page.text;
        for (const std::string& hint : page.hints) all += hint;
        if (page.question) all += page.question->ask + page.question->then;
        if (page.task) all += page.task->ask + page.task->then;
        EXPECT_EQ(all.find("`" + step.id + "`"), std::string::npos) << page.title << " names a step by what no screen shows: " << step.id;
      }
    }
    for (const Page& page : lesson.pages) {
      if (!page.question) continue;
      const auto truth = judge_answer(*page.question, "", session->now(), page.step);
      std::string title = page.title;
      for (char& c : title) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      EXPECT_TRUE(!truth || title.find(truth->truth) == std::string::npos) << page.title;
    }
  }
}

TEST(Lessons, a_typed_answer_is_read_as_people_write_it) {
  const Lesson& lesson = lessons().front();
  const auto page = std::find_if(lesson.pages.begin(), lesson.pages.end(),
                                 [](const Page& each) { return each.question && each.question->choices.empty(); });
  ASSERT_NE(page, lesson.pages.end());
  const auto session = Session::open(*inputs_of(lesson));
  ASSERT_TRUE(session);
  const auto said = [&](const std::string& given) {
    const auto answered = judge_answer(*page->question, given, session->now(), page->step);
    EXPECT_TRUE(answered);
    return answered->is_right ? "right" : answered->says;
  };
  for (const char* right : {"exp(1 - 3)", "e^(-2)", "1 / e^2", "0.135", "0.1353"}) EXPECT_EQ(said(right), "right") << right;
  for (const char* coarse : {"0.13", "0.14"}) EXPECT_NE(said(coarse).find("too coarse"), std::string::npos) << said(coarse);
  EXPECT_NE(said("m - 3").find("without names"), std::string::npos) << said("m - 3");
  EXPECT_EQ(said("0.3").find("coarse"), std::string::npos);
  EXPECT_NE(said("0.3"), "right");
}

// ---- own repairs ----
Session opened_sample(const std::string& operation, const std::string& target = "x86-64") {
  Inputs inputs;
  inputs.file_name = operation + ".fathom";
  inputs.source = read_file(std::string(FATHOM_SOURCE_DIR) + "/samples/" + operation + ".fathom");
  inputs.target = target;
  auto session = Session::open(inputs);
  EXPECT_TRUE(session);
  return *std::move(session);
}

TEST(OwnRepair, is_asked_of_every_repaired_fusion_and_its_answer_is_right) {
  int asked = 0;
  for (const char* sample : {"attention_nomask", "attention", "softmax", "logsumexp", "layernorm", "cross_entropy", "rmsnorm"}) {
    Session session = opened_sample(sample);
    for (const RepairQuestion& question : repair_questions(session.now())) {
      ++asked;
      SCOPED_TRACE(std::string(sample) + " " + question.consumer.text());
      EXPECT_TRUE(question.kept && question.wanted);
      EXPECT_NE(print(question.kept), print(question.wanted));
      const OwnRepair own = judge_own_repair(session.now(), question.consumer, question.answer);
      EXPECT_TRUE(own.is_right()) << own.judged.judgement.says;
      const auto taken = take_own_repair(session, question.consumer, question.answer);
      ASSERT_TRUE(taken) << taken.error().front().message;
      EXPECT_EQ(repair_question(session.now(), question.consumer)->written, question.answer);
    }
  }
  EXPECT_GE(asked, 5);
}

TEST(OwnRepair, short_names_and_signs_of_the_screen_are_read) {
  const Session session = opened_sample("attention_nomask");
  for (const char* text : {"acc * exp(m - m')", "acc · exp(m − m′)", "acc * exp(p.m - p.m')"}) {
    const OwnRepair own = judge_own_repair(session.now(), Symbol("p.sum"), text);
    EXPECT_TRUE(own.is_right()) << text << ": " << (own.mistake ? own.mistake->message : own.judged.judgement.says);
    EXPECT_EQ(print(own.written), "acc * exp(p.m - p.m')");
  }
}

TEST(OwnRepair, a_text_that_does_not_parse_says_where) {
  const Session session = opened_sample("softmax");
  const OwnRepair own = judge_own_repair(session.now(), repair_questions(session.now()).front().consumer, "acc * exp(m - ");
  ASSERT_TRUE(own.mistake);
  EXPECT_GE(own.mistake->span.begin, 13U);
  EXPECT_FALSE(own.is_right() || own.is_refuted());
}

TEST(OwnRepair, a_name_that_is_not_at_hand_is_a_mistake_where_it_stands) {
  const Session session = opened_sample("attention_nomask");
  struct Case {
    const char* text;
    std::uint32_t begin;
    const char* cure;
  };
  for (const Case& each : {Case{"acc * e^(p.m - p.m')", 6, "exp(x)"}, Case{"acc * n", 6, "p.m'"}, Case{"acc + sum[j](acc)", 6, "p.m'"},
                           Case{"s[j] + acc", 0, "p.m'"}, Case{"acc * p.sum", 6, "p.m'"}, Case{"acc * exp(i)", 10, "p.m'"}}) {
    const OwnRepair own = judge_own_repair(session.now(), Symbol("p.sum"), each.text);
    ASSERT_TRUE(own.mistake) << each.text;
    EXPECT_EQ(own.mistake->span.begin, each.begin) << each.text;
    EXPECT_NE(own.mistake->message.find("not at hand"), std::string::npos) << own.mistake->message;
    EXPECT_NE(own.mistake->cure.find(each.cure), std::string::npos) << own.mistake->cure;
    Session other = session;
    EXPECT_FALSE(take_own_repair(other, Symbol("p.sum"), each.text, /*even_unsound=*/true));
  }
  EXPECT_TRUE(judge_own_repair(session.now(), Symbol("p.sum"), "acc * D").is_refuted()) << "sizes are at hand";
}

TEST(OwnRepair, what_the_plan_refuses_is_known_before_and_said_without_the_answer) {
  auto session = Session::open(*inputs_of(lessons().front()));
  ASSERT_TRUE(session);
  for (const RepairQuestion& question : repair_questions(session->now())) {
    const auto taken = take_own_repair(*session, question.consumer, "acc", /*even_unsound=*/true);
    EXPECT_EQ(question.blocked.empty(), taken.has_value()) << question.consumer.text() << ": " << question.blocked;
    if (taken)
      session->undo();
    else
      EXPECT_EQ(taken.error().front().message.find(question.answer), std::string::npos) << taken.error().front().message;
  }
  // one that names what runs in the loop, but does not move what is kept
  Session fused = opened_sample("attention_nomask");
  for (const char* text : {"acc * p.sum", "acc", "acc * p.m'", "acc * D"}) {
    const OwnRepair own = judge_own_repair(fused.now(), Symbol("o"), text);
    ASSERT_FALSE(own.mistake || own.is_right()) << text;
    const auto taken = take_own_repair(fused, Symbol("o"), text, /*even_unsound=*/true);
    EXPECT_EQ(own.not_run.empty(), taken.has_value()) << text << ": " << own.not_run << (taken ? "" : taken.error().front().message);
    if (taken) fused.undo();
  }
  EXPECT_FALSE(judge_own_repair(fused.now(), Symbol("o"), "acc * p.sum").not_run.empty());
}

TEST(OwnRepair, an_unsound_one_acts_from_its_own_step_on) {
  auto session = Session::open(*inputs_of(lessons().front()));
  ASSERT_TRUE(session);
  ASSERT_TRUE(take_own_repair(*session, Symbol("p.sum"), "acc", /*even_unsound=*/true));
  const auto small = stage::on_blackboard(session->now());
  ASSERT_TRUE(small);
  const auto& steps = (*small)->record.steps;
  bool acts = false;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    acts = acts || steps[k].id == "p.sum/j/fuse";
    const auto made = stage::make(*small, k, {"ascending@k", 1, {}});
    ASSERT_TRUE(made) << made.error().reason;
    EXPECT_TRUE(made->unsound);
    EXPECT_EQ(made->unsound_from, acts ? "" : "p.sum/j/fuse") << steps[k].id;
    EXPECT_EQ(made->first_wrong().has_value(), acts) << steps[k].id;
  }
}

TEST(OwnRepair, a_refuted_one_has_its_numbers_as_data) {
  const Session session = opened_sample("attention_nomask");
  const OwnRepair kept = judge_own_repair(session.now(), Symbol("p.sum"), "acc");
  ASSERT_TRUE(kept.is_refuted());
  const algebra::Refutation& refutation = *kept.judged.refutation;
  EXPECT_FALSE(refutation.element.holds);
  EXPECT_TRUE(refutation.sum.holds) << "a sum that is left alone moves as its parts do";
  EXPECT_GT(refutation.sum.tried, 0);
  ASSERT_EQ(refutation.element.names.size(), 1U);
  const auto& m = refutation.element.names.front();
  EXPECT_EQ(m.name, "p.m");
  EXPECT_LT(m.before, m.after);
  EXPECT_DOUBLE_EQ(refutation.element.found, refutation.element.moved.front());
  EXPECT_NEAR(refutation.element.wanted, refutation.element.found * std::exp(m.before - m.after), 1e-9);
  EXPECT_FALSE(refutation.arrays.empty());
  EXPECT_GE(refutation.tiles.size(), 2U);
  EXPECT_NE(refutation.found, refutation.wanted);
  const OwnRepair added = judge_own_repair(session.now(), Symbol("p.sum"), "acc * exp(p.m - p.m') + 1");
  ASSERT_TRUE(added.is_refuted());
  EXPECT_FALSE(added.judged.refutation->sum.holds);
}

TEST(OwnRepair, a_wrong_one_is_taken_only_where_it_is_asked_for_and_then_carries_the_mark) {
  Session session = opened_sample("attention_nomask");
  EXPECT_FALSE(take_own_repair(session, Symbol("p.sum"), "acc"));
  EXPECT_FALSE(session.can_undo()) << "nothing was changed";
  ASSERT_TRUE(take_own_repair(session, Symbol("p.sum"), "acc", /*even_unsound=*/true));
  EXPECT_TRUE(repair_question(session.now(), Symbol("p.sum"))->is_unsound);
  EXPECT_TRUE(session.now().inputs.options.unsound);
  ASSERT_TRUE(take_own_repair(session, Symbol("p.sum"), "acc * exp(m - m')"));
  EXPECT_FALSE(session.now().inputs.options.unsound) << "with the last wrong one the permission goes";
  session.undo();
  session.undo();
  EXPECT_FALSE(session.now().inputs.options.unsound);
  EXPECT_TRUE(repair_question(session.now(), Symbol("p.sum"))->written.empty());
}

TEST(OwnRepair, taking_one_fuses) {
  auto inputs = inputs_of(lessons().front());
  ASSERT_TRUE(inputs);
  auto session = Session::open(*inputs);
  ASSERT_TRUE(session);
  EXPECT_FALSE(repair_question(session->now(), Symbol("p.sum"))->is_taken);
  const auto early = take_own_repair(*session, Symbol("o"), "acc * exp(m - m')");
  ASSERT_FALSE(early) << "its producers keep loops of their own";
  EXPECT_NE(early.error().front().message.find("o.sum/j/fuse"), std::string::npos) << early.error().front().message;
  ASSERT_TRUE(take_own_repair(*session, Symbol("p.sum"), "acc * exp(m - m')"));
  EXPECT_TRUE(repair_question(session->now(), Symbol("p.sum"))->is_taken);
  ASSERT_TRUE(take_own_repair(*session, Symbol("o"), "acc / exp(m' - m)"));
  EXPECT_EQ(repair_question(session->now(), Symbol("o"))->written, "acc / exp(p.m' - p.m)");
}

}  // namespace
}  // namespace fathom::session
