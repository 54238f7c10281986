#include "app.hpp"

#include <imgui.h>

#include <algorithm>
#include <utility>

#include "keys.hpp"
#include "lesson.hpp"
#include "mirror.hpp"
#include "panel_export.hpp"
#include "session/layout_picture.hpp"
#include "shell.hpp"
#include "start.hpp"

namespace fathom::ui {

std::size_t App::step() const {
  if (document.shown() == nullptr) return 0;
  const auto& steps = document.shown()->steps();
  const auto at = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.id == view.step; });
  return at == steps.end() ? 0 : static_cast<std::size_t>(at - steps.begin());
}

void App::go_to(std::size_t step) {
  if (document.shown() == nullptr || document.shown()->steps().empty()) return;
  const auto& steps = document.shown()->steps();
  view.step = steps[std::min(step, steps.size() - 1)].id;
  view.compare_with.clear();
  view.why.clear();
}

bool App::is_animating() const {
  return playing || roles.playing || scale_trial.has_value() || picture.has_value() ||
         stage.is_moving(ImGui::GetTime(), settings.reduced_motion);
}

bool App::is_selected(std::size_t step, const std::string& name) const {
  return document.shown() != nullptr && !selected.is_empty() && selected.step < document.shown()->steps().size() &&
         document.shown()->provenance.are_counterparts(step, name, selected.step, selected.name);
}

bool App::is_hovered(std::size_t step, const std::string& name) const {
  return document.shown() != nullptr && !hovered.is_empty() && hovered.step < document.shown()->steps().size() &&
         document.shown()->provenance.are_counterparts(step, name, hovered.step, hovered.name);
}

std::optional<std::size_t> App::colour_of(std::size_t step, const std::string& name) const {
  if (document.shown() == nullptr || step >= document.shown()->steps().size()) return std::nullopt;
  const session::Provenance& provenance = document.shown()->provenance;
  return provenance.colour(provenance.origin(step, name));
}

bool shows_lanes(const App& app) {
  return app.document.shown() != nullptr && session::has_lanes(app.document.shown()->compilation().target);
}

std::optional<std::size_t> compared_step(const App& app) {
  if (app.document.shown() == nullptr) return std::nullopt;
  const auto& steps = app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].id == app.view.compare_with) return i;
  return app.step() > 0 ? std::optional(app.step() - 1) : std::nullopt;
}

namespace {
/// Another plan may have fewer steps: what was selected behind its end is not there any more.
void forget_what_is_gone(App& app) {
  if (app.document.shown() == nullptr) return;
  const std::size_t count = app.document.shown()->steps().size();
  for (Selection* each : {&app.selected, &app.hovered, &app.hovering})
    if (each->step >= count) *each = {};
}
}  // namespace

void App::frame() {
  if (document.collect()) forget_what_is_gone(*this);
  machine_code.collect();
  stage.collect();
  stage.play(ImGui::GetTime());
  roles.collect();
  roles.play(ImGui::GetTime());
  collect_repairs(*this);
  follow_lesson(*this);
  trials.collect(!document.is_compiling() && !document.is_checking());
  exporter.advance(document);
  const bool is_broken = document.shown() == nullptr && !document.diagnostics().empty();
  if (is_broken && !was_broken_) view.tab = Tab::program;  // where it says what is wrong
  was_broken_ = is_broken;
  if (document.is_empty()) {  // what was asked for was refused: nobody is left without a program
    const std::string refused = document.message();
    open_sample(*this, session::samples().front());
    document.say(refused);
  }
  constexpr double seconds_a_step = 1.2;
  if (playing && ImGui::GetTime() >= play_next) {
    play_next = ImGui::GetTime() + seconds_a_step;
    const std::size_t before = step();
    go_to(before + 1);
    if (step() == before) playing = false;
  }
  ImGui::GetIO().ConfigInputTextCursorBlink = !settings.reduced_motion;
  mirror().begin_frame();
  run_shortcuts(*this);
  draw_shell(*this);
  mirror().end_frame();
  follow_panel(*this);
  hovered = std::exchange(hovering, {});
}

}  // namespace fathom::ui
