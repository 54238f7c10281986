#include "compare.hpp"

#include <utility>

namespace fathom::ui {

/// States are shared, so that a session at another place is cheap; it is kept while both stay.
struct OtherPlan {
  std::uint64_t version = 0;
  std::size_t place = 0;
  std::optional<session::Session> session;
  std::vector<session::StepChange> changes;
};

namespace {

const OtherPlan* other_of(const App& app) {
  if (app.document.shown() == nullptr || !app.view.other_plan) return nullptr;
  const session::Session& now = app.document.shown()->session;
  if (*app.view.other_plan >= now.history().size()) return nullptr;  // undone and replaced since
  if (app.other_plan_made == nullptr) app.other_plan_made = std::make_shared<OtherPlan>();
  OtherPlan& kept = *app.other_plan_made;
  if (!kept.session || kept.version != app.document.version() || kept.place != *app.view.other_plan) {
    kept.session = now;
    kept.session->go_to(*app.view.other_plan);
    kept.version = app.document.version();
    kept.place = *app.view.other_plan;
    kept.changes = session::compare(kept.session->now().record, now.now().record);
  }
  return &kept;
}

}  // namespace

void compare_with_step(App& app, const std::string& id) {
  app.view.compare_with = id;
  app.view.other_plan.reset();
  app.view.whole_text = false;
}

void compare_with_previous(App& app) { compare_with_step(app, {}); }

void compare_with_plan(App& app, std::size_t place) {
  app.view.compare_with.clear();
  app.view.other_plan = place;
  app.view.whole_text = false;
}

const session::Compilation* other_plan(const App& app) {
  const OtherPlan* other = other_of(app);
  return other == nullptr ? nullptr : &other->session->now();
}

const Step* other_plan_step(const App& app, const Step& step) {
  const session::Compilation* other = other_plan(app);
  if (other == nullptr) return nullptr;
  for (const Step& each : other->record.steps)
    if (each.id == step.id && each.after.level == step.after.level) return &each;
  return nullptr;
}

std::vector<session::StepChange> plan_changes(const App& app) {
  const OtherPlan* other = other_of(app);
  return other == nullptr ? std::vector<session::StepChange>() : other->changes;
}

}  // namespace fathom::ui
