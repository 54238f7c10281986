#include "lesson.hpp"

#include <algorithm>
#include <utility>

#include "ir/overloaded.hpp"

namespace fathom::ui {

namespace {

/// The reduction that the step decides about; empty: none.
std::string consumer_decided(const App& app) {
  for (const Fusion* fusion : app.document.shown()->provenance.fusions_decided(app.step()))
    if (!fusion->producers.empty()) return fusion->consumer.text();
  return {};
}

}  // namespace

const session::Lesson* open_lesson(const App& app) {
  return app.view.lesson.name.empty() ? nullptr : session::lesson_named(app.view.lesson.name);
}

const session::Page* open_page(const App& app) {
  const session::Lesson* lesson = open_lesson(app);
  return lesson == nullptr ? nullptr : &lesson->pages[std::min(app.view.lesson.page, lesson->pages.size() - 1)];
}

PageProgress& progress(App& app) { return app.view.lesson.pages[app.view.lesson.page]; }

const PageProgress& progress(const App& app) {
  static const PageProgress none;
  const auto at = app.view.lesson.pages.find(app.view.lesson.page);
  return at == app.view.lesson.pages.end() ? none : at->second;
}

const session::WriteRepair* repair_task(const App& app) {
  const session::Page* page = open_page(app);
  return page == nullptr || !page->task ? nullptr : std::get_if<session::WriteRepair>(&page->task->action);
}

void start_lesson(App& app, const session::Lesson& lesson) {
  auto inputs = session::inputs_of(lesson);
  if (!inputs) return app.document.say(inputs.error().front().message);
  app.document.open(*std::move(inputs));
  app.view.lesson = {lesson.name, 0, {}};
  app.view.repairs.clear();
  app.view.workspace = Workspace::learn;
  app.view.whole_text = true;
  turn_to_page(app, 0);
}

void leave_lesson(App& app) { app.view.lesson = {}; }

void turn_to_page(App& app, std::size_t page) {
  const session::Lesson* lesson = open_lesson(app);
  if (lesson == nullptr) return;
  app.view.lesson.page = std::min(page, lesson->pages.size() - 1);
  app.view.step = open_page(app)->step;
  app.view.compare_with.clear();
  app.view.why.clear();
  app.playing = false;
  app.selected = {};
  app.lesson.looks_at.reset();
}

bool hides_answer(const App& app) {
  const session::Page* page = open_page(app);
  return page != nullptr && page->question && !progress(app).answered;
}

std::optional<std::size_t> page_to_write(const App& app, const std::string& consumer) {
  const session::Lesson* lesson = open_lesson(app);
  if (lesson == nullptr || app.document.shown() == nullptr) return std::nullopt;
  const auto line_of = [&](const std::string& name) {
    for (const Fusion& fusion : app.document.shown()->compilation().record.fusions)
      if (fusion.consumer.text() == name) return fusion.repair_text;
    return std::string();
  };
  for (std::size_t page = 0; page < lesson->pages.size(); ++page) {
    const auto& task = lesson->pages[page].task;
    const auto* write = task ? std::get_if<session::WriteRepair>(&task->action) : nullptr;
    const auto here = app.view.lesson.pages.find(page);
    if (write == nullptr || (here != app.view.lesson.pages.end() && here->second.done)) continue;
    if (write->consumer == consumer || (!line_of(consumer).empty() && line_of(consumer) == line_of(write->consumer))) return page;
  }
  return std::nullopt;
}

bool hides_derivation(const App& app, const std::string& consumer) { return hides_answer(app) || page_to_write(app, consumer); }

bool is_page_done(const App& app) {
  const session::Page* page = open_page(app);
  return page == nullptr || ((!page->question || progress(app).answered) && (!page->task || progress(app).done));
}

void give_answer(App& app, const std::string& given) {
  const session::Page* page = open_page(app);
  if (page == nullptr || !page->question || app.document.shown() == nullptr || given.empty()) return;
  const auto answered = session::judge_answer(*page->question, given, app.document.shown()->compilation(), page->step);
  if (!answered) return app.document.say(answered.error().reason);
  PageProgress& here = progress(app);
  here.given = given;
  here.answered = here.answered || answered->is_right;
  if (!answered->is_right) ++here.tries;
}

void show_answer(App& app) {
  const session::Page* page = open_page(app);
  if (page == nullptr || app.document.shown() == nullptr) return;
  PageProgress& here = progress(app);
  here.was_shown = true;
  if (page->question && !here.answered) {
    const auto truth = session::judge_answer(*page->question, "", app.document.shown()->compilation(), page->step);
    if (!truth) return app.document.say(truth.error().reason);
    here.given = truth->truth;
    here.answered = true;
    return;
  }
  if (!page->task || here.done) return;
  const session::Task& task = *page->task;
  std::visit(Overloaded{[&](const session::SelectValue& select) { app.selected = {select.name, app.step()}; },
                        [&](const session::GoToStep& go) {
                          app.view.step = go.step;
                          app.view.compare_with.clear();
                        },
                        [&](const session::TakeChoice&) {
                          app.document.change([task](session::Session& session) { return session::perform(task, session); });
                        },
                        [&](const session::WriteRepair& write) {
                          app.view.repairs[write.consumer] = write.right.front();
                          app.document.change([task](session::Session& session) { return session::perform(task, session); });
                        }},
             task.action);
}

std::string why_consumer(const App& app) {
  if (app.document.shown() == nullptr) return {};
  const auto& fusions = app.document.shown()->compilation().record.fusions;
  const auto is_there = [&](const std::string& name) {
    return std::any_of(fusions.begin(), fusions.end(), [&](const Fusion& each) { return each.consumer.text() == name; });
  };
  if (const auto* write = repair_task(app); write != nullptr && is_there(write->consumer)) return write->consumer;
  if (is_there(app.view.why)) return app.view.why;
  if (std::string here = consumer_decided(app); !here.empty()) return here;
  const auto repaired = std::find_if(fusions.begin(), fusions.end(), [](const Fusion& each) { return each.kind == FusionKind::repaired; });
  return repaired != fusions.end() ? repaired->consumer.text() : fusions.empty() ? std::string() : fusions.front().consumer.text();
}

void follow_lesson(App& app) {
  const session::Page* page = open_page(app);
  if (page == nullptr || app.document.shown() == nullptr) return;
  LessonState& state = app.lesson;
  // What is looked at is selected when it gives no answer away, and once.
  if (!state.looks_at && !hides_answer(app) && !page->look_at.empty()) app.selected = {page->look_at, app.step()};
  if (!hides_answer(app)) state.looks_at = page->look_at;
  if (!page->task || progress(app).done) return;
  const auto& steps = app.document.shown()->steps();
  const LessonState::Followed now{app.document.version(), app.view.lesson.page, steps[app.step()].id, app.selected.name};
  if (state.followed == now) return;
  state.followed = now;
  const session::Situation at{&app.document.shown()->compilation(), now.step, now.selected};
  if (session::is_done(*page->task, at)) progress(app).done = true;
}

}  // namespace fathom::ui
