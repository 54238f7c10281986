// The lesson's column: the page, what it asks, hints, and the way on. Without a lesson: which there are.
#include "lesson.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <utility>

#include "command.hpp"
#include "command_button.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "own_repairs.hpp"
#include "panels/lesson_parts.hpp"
#include "panels/panels.hpp"
#include "session/own_repair.hpp"

namespace fathom::ui {

struct LessonState::Made {
  // What it was made of.
  std::uint64_t version = 0;
  std::size_t page = 0;
  float em = 0, width = 0;
  std::string lesson;

  std::string broken;  ///< why the page cannot be shown with this program; empty: it can
  std::string text, ask, then, task, task_then;
  std::vector<std::string> hints;
  std::vector<panels::Figure> figures;
  std::string given, says;   ///< what is said to the answer that was given
  std::string seen;          ///< what of the page has come up; what is new is scrolled to
  int scrolling = 0;         ///< frames
  float asked_until = 0;     ///< on the screen: where what the page asks for ends
  bool is_below = false;     ///< beyond the fold, and a link leads there
  bool wants_asked = false;  ///< scroll to it
};

namespace panels {
namespace {

using PageMade = LessonState::Made;

std::string filled(const App& app, const std::string& text, PageMade& made) {
  if (text.empty()) return {};
  const auto full = session::filled(text, app.document.shown()->compilation(), open_page(app)->step);
  if (full) return *full;
  made.broken = full.error().reason;
  return {};
}

/// Texts and figures of the page, for the program as it is.
PageMade& made_page(App& app) {
  constexpr float formula_em = 4.25F;
  const session::Lesson& lesson = *open_lesson(app);
  const session::Page& page = *open_page(app);
  const float em = gap(formula_em), width = ImGui::GetContentRegionAvail().x;
  auto& made = app.lesson.made;
  if (made && made->version == app.document.version() && made->page == app.view.lesson.page && made->lesson == lesson.name &&
      made->em == em && made->width == width)
    return *made;
  const bool same_page = made && made->page == app.view.lesson.page && made->lesson == lesson.name;
  const std::string seen = same_page ? made->seen : std::string();
  const float asked_until = same_page ? made->asked_until : 0;
  const bool is_below = same_page && made->is_below;
  made = std::make_shared<PageMade>();
  made->seen = seen;
  made->asked_until = asked_until;
  made->is_below = is_below;
  made->version = app.document.version();
  made->page = app.view.lesson.page;
  made->lesson = lesson.name;
  made->em = em;
  made->width = width;
  made->text = filled(app, page.text, *made);
  for (const std::string& hint : page.hints) made->hints.push_back(filled(app, hint, *made));
  if (page.question) {
    made->ask = filled(app, page.question->ask, *made);
    made->then = filled(app, page.question->then, *made);
  }
  if (page.task) made->task = filled(app, page.task->ask, *made);
  if (page.task && progress(app).done) made->task_then = filled(app, page.task->then, *made);
  for (const session::Drawing& drawing : page.drawings) made->figures.push_back(make_figure(app, lesson, page, drawing, em, width));
  return *made;
}

void box_head(std::string_view words, Role role) {
  ImGui::Dummy({1, gap(2)});
  widgets::text(words, role, Font::body_bold);
}

// ---- the question ----
/// What was tried is marked.
bool choice(const std::string& id, const std::string& label, float width, const PageProgress& here, const std::string& truth) {
  const widgets::Pressable state = widgets::pressable(id, {width, metrics().row + gap(2)}, !here.answered);
  const bool is_right = here.answered && label == truth, is_wrong = !here.answered && here.given == label;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Role edge = is_right ? Role::ok : is_wrong ? Role::bad : Role::muted;
  list.AddRectFilled(state.box.min, state.box.max, state.hovered && !here.answered ? colour(Role::line) : colour(Role::raised),
                     metrics().control_radius);
  if (is_right || is_wrong || !here.answered)
    list.AddRect(state.box.min, state.box.max, colour(edge), metrics().control_radius, 0, hairline());
  const char* sign = is_right ? "✓ " : is_wrong ? "✕ " : "";
  const float y = state.box.min.y + (state.box.height() - font(Font::lesson)->FontSize) / 2;
  widgets::draw_text(list, {state.box.min.x + gap(3), y}, sign + label, colour(is_right || is_wrong ? edge : Role::text), Font::lesson);
  widgets::focus_ring(state.box, state.focused);
  mirror().add("choice", id, label, state.box.min, state.box.max, !here.answered, here.given == label);
  return state.pressed;
}

/// As many beside each other as the longest leaves room for.
void choices(App& app, const session::Question& question, const PageProgress& here) {
  const float whole = ImGui::GetContentRegionAvail().x, between = ImGui::GetStyle().ItemSpacing.x;
  float longest = 0;
  for (const std::string& each : question.choices) longest = std::max(longest, widgets::measure("✓ " + each, Font::lesson).x + 2 * gap(3));
  std::size_t columns = question.choices.size();
  const auto width_of = [&](std::size_t n) { return (whole - static_cast<float>(n - 1) * between) / static_cast<float>(n); };
  while (columns > 1 && width_of(columns) < longest) columns = (columns + 1) / 2 == columns ? 1 : (columns + 1) / 2;
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    if (i % columns != 0) ImGui::SameLine();
    if (choice(fmt::format("choice-{}", i), question.choices[i], width_of(columns), here, here.given))
      give_answer(app, question.choices[i]);
  }
}

void number_field(App& app) {
  std::string& typed = app.lesson.typed;
  widgets::field("answer", {}, typed, "a number, or an expression", ImGui::GetContentRegionAvail().x - gap(24));
  const bool entered = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Enter);
  ImGui::SameLine();
  widgets::ButtonOptions options;
  if (typed.empty()) options.disabled = "Type a number first.";
  if ((widgets::button("give", "Answer", options) || entered) && !typed.empty()) give_answer(app, typed);
}

/// What is said to the answer that was given last.
const std::string& said_to(App& app, const session::Question& question, const PageProgress& here, PageMade& made) {
  if (made.given != here.given) {
    made.given = here.given;
    const auto answered = session::judge_answer(question, here.given, app.document.shown()->compilation(), open_page(app)->step);
    made.says = answered && !answered->is_right ? answered->says : "";
  }
  return made.says;
}

void ask_question(App& app, const session::Question& question, PageMade& made) {
  const MirrorScope scope("question");
  const PageProgress here = progress(app);
  box_head("What do you expect?", Role::accent);
  running_text(app, "ask", made.ask);
  ImGui::Dummy({1, gap(1)});
  if (!question.choices.empty()) choices(app, question, here);
  if (question.choices.empty() && !here.answered) number_field(app);
  if (!here.answered) {
    if (here.given.empty()) return;
    const std::string& says = said_to(app, question, here, made);
    running_text(app, "says", "✕ " + (question.choices.empty() ? here.given + ": " : std::string()) + says, Role::warn);
    return;
  }
  ImGui::Dummy({1, gap(1)});
  const char* sign = here.was_shown ? "" : "✓ ";
  running_text(app, "then", (question.choices.empty() ? fmt::format("{}{}. ", sign, here.given) : std::string(sign)) + made.then);
}

// ---- the task ----
void take_choice(App& app, const session::TakeChoice& take) {
  for (const Decision& decision : app.document.shown()->compilation().record.decisions) {
    if (decision.site != take.site) continue;
    small_head(fmt::format("Decision {}, made by {}", decision.site,
                           decision.origin == Origin::by_user     ? "you"
                           : decision.origin == Origin::by_lesson ? "the lesson"
                                                                  : "the scheduler"));
    const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
    float end = 0;  // of the button before
    for (const Alternative& each : decision.alternatives) {
      widgets::ButtonOptions options;
      options.selected = each.choice == decision.choice;
      if (each.refused) options.disabled = each.refused->reason;
      const bool has_time = each.predicted_ms && !each.refused;
      const std::string label = has_time ? fmt::format("{}   {}", each.choice, milliseconds_text(*each.predicted_ms)) : each.choice;
      if (end > 0 && end + ImGui::GetStyle().ItemSpacing.x + widgets::button_width(label) <= right) ImGui::SameLine();
      if (widgets::button(each.choice, label, options) && !options.selected)
        app.document.change(
            [site = decision.site, wanted = each.choice](session::Session& session) { return session.override_choice(site, wanted); });
      end = ImGui::GetItemRectMax().x;
    }
    widgets::wrapped("Predicted for the whole program at this decision; later steps still change it.", Role::muted, Font::caption);
    for (const Alternative& each : decision.alternatives)
      if (each.refused) widgets::wrapped(fmt::format("{}: {}", each.choice, each.refused->reason), Role::muted, Font::caption);
  }
}

/// The sentence that belongs to what is written wrongly.
void sentence(App& app, const session::WriteRepair& write) {
  const session::OwnRepair* own = written_repair(app);
  if (own == nullptr || !own->is_refuted()) return;
  ImGui::Dummy({1, gap(1)});
  running_text(app, "sentence", session::sentence_for(write, *own), Role::warn);
}

void ask_task(App& app, const session::Task& task, PageMade& made) {
  const MirrorScope scope("task");
  const bool done = progress(app).done;
  box_head(done ? "Your turn: done" : "Your turn", done ? Role::ok : Role::accent);
  running_text(app, "ask", made.task);
  ImGui::Dummy({1, gap(1)});
  if (const auto* take = std::get_if<session::TakeChoice>(&task.action)) take_choice(app, *take);
  if (const auto* write = std::get_if<session::WriteRepair>(&task.action)) {
    if (const session::RepairQuestion* question = app.own_repairs.question(app.document, write->consumer)) repair_field(app, *question);
    if (!done) sentence(app, *write);
  }
  if (!done) return;
  if (made.task_then.empty()) made.task_then = filled(app, task.then, made);
  running_text(app, "then", "✓ " + made.task_then);
}

void hints(App& app, const PageMade& made) {
  const auto shown = std::min(made.hints.size(), static_cast<std::size_t>(std::max(0, progress(app).hints)));
  for (std::size_t i = 0; i < shown; ++i) {
    small_head(fmt::format("Hint {} of {}", i + 1, made.hints.size()));
    running_text(app, fmt::format("hint-{}", i), made.hints[i], Role::muted);
  }
}

float way_down_height() { return metrics().row + gap(1); }

/// Answers, hints and sentences come up at the end of the page.
void scroll_to_new(App& app, PageMade& made) {
  constexpr int frames = 2;  // the height of what is new is known in the next one
  const PageProgress& here = progress(app);
  const session::OwnRepair* own = repair_task(app) != nullptr ? written_repair(app) : nullptr;
  const std::string now =
      fmt::format("{} {} {} {} {}", here.answered, here.done, here.hints, here.given, own != nullptr && own->is_refuted());
  if (!made.seen.empty() && made.seen != now) made.scrolling = frames;
  made.seen = now;
  if (made.scrolling == 0) return;
  --made.scrolling;
  ImGui::SetScrollHereY(1);
}

void page_body(App& app, const session::Page& page) {
  PageMade& made = made_page(app);
  widgets::wrapped(page.title, Role::text, Font::head);
  ImGui::Dummy({1, gap(1)});
  if (!made.broken.empty()) {
    widgets::wrapped(fmt::format("The lesson cannot go on with this program: {}.", made.broken), Role::warn);
    widgets::wrapped("Undo your last change, or start the lesson again.", Role::muted);
    command_button(app, "restart", "lesson.restart", "Start again");
    return;
  }
  if (app.document.shown()->steps()[app.step()].id != page.step &&
      !(page.task && std::holds_alternative<session::GoToStep>(page.task->action))) {
    if (widgets::link("here", "You are at another step: back to that of this page")) run_command(app, "lesson.here");
  }
  running_text(app, "body", made.text);
  const bool is_open = !is_page_done(app);
  for (std::size_t i = 0; i < made.figures.size(); ++i)
    if (!made.figures[i].drawing.after || !is_open) draw_figure(app, fmt::format("figure-{}", i), made.figures[i]);
  if (page.question) ask_question(app, *page.question, made);
  if (page.task && !hides_answer(app)) ask_task(app, *page.task, made);
  made.asked_until = ImGui::GetCursorScreenPos().y;
  if (std::exchange(made.wants_asked, false)) ImGui::SetScrollHereY(1);
  if (is_open) hints(app, made);
  ImGui::Dummy({1, way_down_height()});  // whatever the scroll, the link that leads here can go
  scroll_to_new(app, made);
}

/// The link takes a line from the page: once it is there, it stays until what is asked stands above it.
bool has_task_below(App& app, float fold) {
  if (app.document.shown() == nullptr || !app.lesson.made || app.lesson.shown_page != app.view.lesson.page) return false;
  PageMade& made = *app.lesson.made;
  const float until = made.asked_until - ImGui::GetStyle().ItemSpacing.y;
  made.is_below = !is_page_done(app) && until > fold - (made.is_below ? way_down_height() : 0);
  return made.is_below;
}

/// Below the fold something is asked: says so, and leads there.
void way_down(App& app, const Box& box) {
  const MirrorScope scope("foot");
  ImGui::GetWindowDrawList()->AddLine(box.min, {box.max.x, box.min.y}, colour(Role::line), hairline());
  const std::string words = hides_answer(app) ? "↓ Your answer" : "↓ Your turn";
  ImGui::SetCursorScreenPos({box.min.x, box.min.y + (box.height() - widgets::measure(words, Font::body).y) / 2});
  if (widgets::link("down", words)) app.lesson.made->wants_asked = true;
}

void footer(App& app, const Box& box) {
  const MirrorScope scope("foot");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddLine(box.min, {box.max.x, box.min.y}, colour(Role::line), hairline());
  ImGui::SetCursorScreenPos({box.min.x, box.min.y + gap(2)});
  widgets::ButtonOptions quiet;
  quiet.look = widgets::Look::quiet;
  command_button(app, "hint", "lesson.hint", "Hint", quiet);
  ImGui::SameLine(0, gap(1));
  command_button(app, "show", "lesson.show", "Show me", quiet);
  const session::Lesson& lesson = *open_lesson(app);
  const bool is_last = app.view.lesson.page + 1 == lesson.pages.size();
  const char* const next = is_last ? "Lessons" : "Next";
  const float right = widgets::button_width("Back", icons::chevron_left) + gap(1) + widgets::button_width(next, icons::chevron_right);
  ImGui::SetCursorScreenPos({box.max.x - right, box.min.y + gap(2)});
  widgets::ButtonOptions back;
  back.icon = icons::chevron_left;
  command_button(app, "back", "lesson.back", "Back", back);
  ImGui::SameLine(0, gap(1));
  widgets::ButtonOptions on;
  on.icon = icons::chevron_right;
  on.look = is_page_done(app) ? widgets::Look::primary : widgets::Look::normal;
  command_button(app, "next", is_last ? "lesson.list" : "lesson.next", next, on);
}

/// Number of the lesson and of the page, in the panel's head.
void page_head(App& app, const Box& box) {
  const auto& all = session::lessons();
  const session::Lesson& lesson = *open_lesson(app);
  const auto number = static_cast<std::size_t>(&lesson - all.data()) + 1;
  const float y = box.min.y + (metrics().panel_head - font(Font::body)->FontSize) / 2;
  const std::string where = fmt::format("{} of {}", app.view.lesson.page + 1, lesson.pages.size());
  const float width = widgets::measure(where, Font::body).x;
  ImGui::SetCursorScreenPos({box.min.x + gap(3), y});
  if (widgets::link("list", fmt::format("Lesson {} ▾", number), Role::text)) run_command(app, "lesson.list");
  ImGui::SameLine(0, gap(3));
  if (widgets::link("leave", "Leave", Role::muted)) run_command(app, "lesson.leave");
  ImGui::SetCursorScreenPos({box.max.x - gap(3) - width, y});
  widgets::fitted("page", where, width + 1, Role::muted);
  const float done = static_cast<float>(app.view.lesson.page + 1) / static_cast<float>(lesson.pages.size());
  const float bottom = box.min.y + metrics().panel_head;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled({box.min.x, bottom - metrics().focus_ring}, {box.max.x, bottom}, colour(Role::line));
  list.AddRectFilled({box.min.x, bottom - metrics().focus_ring}, {box.min.x + done * box.width(), bottom}, colour(Role::accent));
}

void list_of_lessons(App& app) {
  widgets::wrapped("Be led through a lowering, and do the decisive parts yourself.", Role::text, Font::lesson);
  for (const session::Lesson& each : session::lessons()) {
    const MirrorScope scope(each.name);
    ImGui::PushID(each.name.c_str());
    ImGui::Dummy({1, gap(3)});
    widgets::wrapped(each.title, Role::text, Font::head);
    running_text(app, "summary", each.summary);
    widgets::text(fmt::format("{} pages", each.pages.size()), Role::muted, Font::caption);
    ImGui::Dummy({1, gap(1)});
    widgets::ButtonOptions start;
    start.icon = icons::play;
    start.look = widgets::Look::primary;
    start.tip = "Opens the lesson's program in place of the one that is open";
    if (widgets::button("start", "Start", start))
      leave(app, [name = each.name](App& then) { start_lesson(then, *session::lesson_named(name)); });
    ImGui::PopID();
  }
  ImGui::Dummy({1, gap(4)});
  running_text(app, "without",
               "Or stay with the program that is open: the right column says why its steps are legal, and asks you for its repairs.",
               Role::muted);
}

}  // namespace

void lesson(App& app, const Box& box) {
  const session::Page* page = open_page(app);
  widgets::begin_panel("lesson", box, {page == nullptr ? "Lessons" : "", false});
  if (page == nullptr) {
    ImGui::BeginChild("##list", {0, 0});
    list_of_lessons(app);
    ImGui::EndChild();
    return widgets::end_panel();
  }
  page_head(app, box);
  page = open_page(app);
  if (page == nullptr) return widgets::end_panel();  // it was left just now
  const float foot = metrics().row + gap(4), top = box.min.y + metrics().panel_head + gap(2), bottom = box.max.y - foot;
  const bool is_below = has_task_below(app, bottom);
  ImGui::SetCursorScreenPos({box.min.x + gap(3), top});
  ImGui::BeginChild("##page", {box.width() - 2 * gap(3), bottom - top - (is_below ? way_down_height() : 0)});
  if (app.lesson.shown_page != app.view.lesson.page) ImGui::SetScrollY(0);
  app.lesson.shown_page = app.view.lesson.page;
  if (app.document.shown() == nullptr)
    widgets::wrapped("The program of the lesson is being compiled…", Role::muted);
  else
    page_body(app, *page);
  ImGui::EndChild();
  if (is_below) way_down(app, {{box.min.x + gap(3), bottom - way_down_height()}, {box.max.x - gap(3), bottom}});
  footer(app, {{box.min.x + gap(3), bottom}, {box.max.x - gap(3), box.max.y}});
  widgets::end_panel();
}

}  // namespace panels
}  // namespace fathom::ui
