// The program after the step: its difference from the step before, or from any other, or the whole of it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "code_lines.hpp"
#include "command.hpp"
#include "command_button.hpp"
#include "compare.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "widgets/menu.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

/// A new level is shown whole: nothing of it stood in the program before.
bool is_whole(const App& app, std::size_t step, std::optional<std::size_t> before) {
  const auto& steps = app.document.shown()->steps();
  return app.view.whole_text || !before || *before == step || steps[*before].after.level != steps[step].after.level;
}

/// The same step of the previewed plan; nullptr where there is none, or nothing is previewed.
const Step* previewed_step(const App& app, const Step& step) {
  const Preview* preview = app.document.previewed();
  if (preview == nullptr || preview->shown == nullptr) return nullptr;
  for (const Step& each : preview->shown->steps())
    if (each.id == step.id && each.after.level == step.after.level) return &each;
  return nullptr;
}

/// Of equal programs the program itself.
std::vector<widgets::TextLine> difference_or_program(const App& app, const ProgramText& before, const ProgramText& after,
                                                     const std::vector<int>& open) {
  return before.text == after.text ? program_lines(app, after.step) : difference_lines(app, before, after, open);
}

/// What the program is compared with, at the left of the head: pressed to choose something else.
void compared_with(App& app, std::optional<std::size_t> before) {
  const auto& steps = app.document.shown()->steps();
  std::string label = "vs previous ▾";
  if (app.view.other_plan)
    label = fmt::format("vs state {} ▾", *app.view.other_plan + 1);
  else if (!app.view.compare_with.empty() && before)
    label = "vs " + widgets::cut_to(steps[*before].title, gap(40), Font::body) + " ▾";
  widgets::ButtonOptions options;
  options.look = widgets::Look::quiet;
  options.selected = app.view.other_plan || !app.view.compare_with.empty();
  options.tip = "What the program is compared with";
  const std::vector<widgets::MenuRow> rows = {{"previous", "The step before", {}, {}, !options.selected},
                                              {"step", "Another step …", {}, {}, !app.view.compare_with.empty()},
                                              {"plan",
                                               "The same step of another state of the history …",
                                               {},
                                               app.document.shown()->session.history().size() > 1 ? "" : "The history has one state only.",
                                               app.view.other_plan.has_value()}};
  const auto taken = widgets::menu_button("compare", label, options, rows);
  if (!taken) return;
  const std::array commands = {"ir.compare-previous", "ir.compare-with", "plan.compare-with"};
  run_command(app, commands[*taken]);
}

void head(App& app, std::size_t step, std::optional<std::size_t> before, bool whole, const Step* counterpart) {
  const auto& steps = app.document.shown()->steps();
  const Preview* preview = previewed_step(app, steps[step]) != nullptr ? app.document.previewed() : nullptr;
  const std::string what = preview != nullptr ? fmt::format("preview: {} = {}, against the plan as it is", preview->site, preview->choice)
                           : app.view.other_plan && counterpart == nullptr
                               ? fmt::format("“{}” has no counterpart in state {}", steps[step].title, *app.view.other_plan + 1)
                           : app.view.other_plan
                               ? fmt::format("after “{}”, against the same step of state {}", steps[step].title, *app.view.other_plan + 1)
                           : whole ? fmt::format("{} program after “{}”", title_of(steps[step].after.level), steps[step].title)
                                   : fmt::format("after “{}”, against “{}”", steps[step].title, steps[*before].title);
  const char* const other = app.view.whole_text ? "Difference" : "Whole program";
  const float buttons = widgets::button_width(other) + widgets::button_width("Copy", icons::copy) + 2 * gap(2);
  compared_with(app, before);
  const float beside = ImGui::GetContentRegionAvail().x - ImGui::GetItemRectSize().x;
  if (beside > buttons + gap(30)) ImGui::SameLine();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::SetCursorScreenPos({at.x, at.y + (metrics().row - font(Font::caption)->FontSize) / 2});
  widgets::fitted("what", what, width - buttons, Role::muted, Font::caption);
  ImGui::SetCursorScreenPos({at.x + width - buttons + gap(2), at.y});
  widgets::ButtonOptions options;
  options.look = widgets::Look::quiet;
  command_button(app, "whole", "ir.whole", other, options);
  ImGui::SameLine();
  options.icon = icons::copy;
  command_button(app, "copy", "ir.copy", "Copy", options);
}

/// Instead of a difference that is empty.
std::string why_unchanged(const Step& step) {
  std::string why = "This step changes no line of the program. " + step.says;
  if (!step.refusals.empty()) why += " " + step.refusals.front().reason;
  return why;
}

}  // namespace

void ir(App& app) {
  if (app.document.shown() == nullptr) return nothing_shown(app, "The program appears here as soon as its text compiles.");
  const std::size_t step = app.step();
  const auto before = compared_step(app);
  const Step* const other = other_plan_step(app, app.document.shown()->steps()[step]);
  const bool whole = app.view.other_plan ? other == nullptr : is_whole(app, step, before);
  head(app, step, before, whole, other);
  IrState& state = app.ir;
  const Step* preview = previewed_step(app, app.document.shown()->steps()[step]);
  const std::string previewed = preview == nullptr ? "" : app.document.previewed()->site + "=" + app.document.previewed()->choice;
  IrState::Made wanted{app.document.version(), step,      before.value_or(step), whole,
                       current_theme(),        previewed, app.view.other_plan,   state.made.open};
  const bool other_program = wanted.step != state.made.step || wanted.before != state.made.before || wanted.version != state.made.version ||
                             wanted.other_plan != state.made.other_plan;
  if (other_program) wanted.open.clear();
  if (!(wanted == state.made) || state.lines.empty()) {
    const auto text_of = [&](std::size_t at) { return ProgramText{print(app.document.shown()->steps()[at].after), at}; };
    if (preview != nullptr)
      state.lines = difference_lines(app, text_of(step), {print(preview->after), step}, wanted.open);
    else if (other != nullptr)
      state.lines = difference_or_program(app, {print(other->after), step}, text_of(step), wanted.open);
    else
      state.lines = whole ? program_lines(app, step) : difference_or_program(app, text_of(*before), text_of(step), wanted.open);
    const bool reveals = preview != nullptr ? previewed != state.made.preview : other_program && !whole;
    state.made = wanted;
    if (reveals) {
      for (std::size_t i = 0; i < state.lines.size(); ++i)
        if (state.lines[i].mark == '+' || state.lines[i].mark == '-') {
          state.text.reveal = i;
          break;
        }
    }
  }
  const bool has_changes = std::any_of(state.lines.begin(), state.lines.end(),
                                       [](const widgets::TextLine& line) { return line.mark == '+' || line.mark == '-'; });
  if (!whole && preview == nullptr && !has_changes && app.view.other_plan)
    widgets::wrapped("After this step both plans are the same program.", Role::muted, Font::caption);
  else if (!whole && preview == nullptr && !has_changes)
    widgets::wrapped(why_unchanged(app.document.shown()->steps()[step]), Role::muted, Font::caption);
  const auto emphasis = [&](const widgets::TextLine& line, const std::string& name) { return emphasis_of(app, line.tag, name); };
  const auto events = widgets::text_view("text", state.lines, state.text, emphasis, app.copy);
  if (events.hovered) app.hovering = {events.hovered->name, state.lines[events.hovered->line].tag};
  if (events.chosen && !events.chosen->name.empty()) app.selected = {events.chosen->name, state.lines[events.chosen->line].tag};
  if (events.unfolded) {
    state.made.open.push_back(state.lines[*events.unfolded].number);
    state.lines.clear();
  }
}

}  // namespace fathom::ui::panels
