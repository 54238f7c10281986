#include "command.hpp"

#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <utility>

#include "session_files.hpp"
#include "start.hpp"
#include "tune_commands.hpp"

namespace fathom::ui {
namespace {

// ---- conditions ----
std::string always(const App&) { return {}; }
std::string needs_program(const App& app) { return app.document.shown() == nullptr ? "No program is open that compiles." : ""; }
std::string needs_later_step(const App& app) {
  if (app.document.shown() == nullptr) return needs_program(app);
  return app.step() + 1 >= app.document.shown()->steps().size() ? "This is the last step." : "";
}
std::string needs_earlier_step(const App& app) {
  if (app.document.shown() == nullptr) return needs_program(app);
  return app.step() == 0 ? "This is the first step." : "";
}
std::string needs_undo(const App& app) { return app.document.can_undo() ? "" : "Nothing was changed yet."; }
std::string needs_redo(const App& app) { return app.document.can_redo() ? "" : "Nothing was undone."; }
/// That of the step that is looked at; in Tune the one whose alternatives are shown.
const Decision* decision_here(const App& app) {
  if (app.document.shown() == nullptr) return nullptr;
  if (app.view.workspace == Workspace::tune) {
    const auto& decisions = app.document.shown()->compilation().record.decisions;
    const auto open =
        std::find_if(decisions.begin(), decisions.end(), [&](const Decision& each) { return each.site == app.tune.open_site; });
    return open == decisions.end() ? nullptr : &*open;
  }
  const Step& step = app.document.shown()->steps()[app.step()];
  return step.decision ? &*step.decision : nullptr;
}
std::string needs_decision(const App& app) {
  if (decision_here(app) != nullptr) return {};
  return app.view.workspace == Workspace::tune ? "No decision is open." : "This step decides nothing.";
}
std::string needs_override(const App& app) {
  const Decision* decision = decision_here(app);
  if (decision == nullptr) return needs_decision(app);
  return app.document.inputs().trace.find(decision->site) == nullptr ? "The choice is the scheduler's own." : "";
}
std::string needs_selection(const App& app) { return app.selected.is_empty() ? "Nothing is selected." : ""; }

// ---- actions ----
/// The first step of the next or previous level.
void to_level(App& app, int direction) {
  const auto& steps = app.document.shown()->steps();
  const Level here = steps[app.step()].level;
  auto at = static_cast<std::ptrdiff_t>(app.step());
  const auto last = static_cast<std::ptrdiff_t>(steps.size()) - 1;
  while (at + direction >= 0 && at + direction <= last && steps[static_cast<std::size_t>(at)].level == here) at += direction;
  if (direction < 0)
    while (at > 0 && steps[static_cast<std::size_t>(at - 1)].level == steps[static_cast<std::size_t>(at)].level) --at;
  app.go_to(static_cast<std::size_t>(at));
}

void toggle_lock(App& app) {
  const Decision decision = *decision_here(app);
  app.document.change([site = decision.site, locked = !decision.locked](session::Session& session) { return session.lock(site, locked); });
}

void reset_decision(App& app) {
  app.document.change([site = decision_here(app)->site](session::Session& session) { return session.reset(site); });
}

void copy_program(App& app) {
  if (app.copy) app.copy(print(app.document.shown()->steps()[app.step()].after));
}

/// The same command again closes it.
template <Ask what>
void open_palette(App& app) {
  if (app.palette.is_open && app.palette.ask == what) {
    app.palette = {};
    return;
  }
  ask(app, what, what == Ask::save_session ? session_path(app) : what == Ask::save_program ? app.document.inputs().file_name : "");
}

void save(App& app) {
  if (app.document.opened_from().empty()) return open_palette<Ask::save_session>(app);
  save_session(app, app.document.opened_from());
}

std::string needs_left_behind(const App& app) { return app.left_behind.empty() ? "The last session ended properly." : ""; }
void restore_left_behind(App& app) { open_recovered(app, std::exchange(app.left_behind, {})); }

void scale_by(App& app, float factor) { app.settings.scale = std::clamp(app.settings.scale * factor, least_scale, most_scale); }
std::string needs_larger(const App& app) { return app.settings.scale >= most_scale ? "This is the largest size." : ""; }
std::string needs_smaller(const App& app) { return app.settings.scale <= least_scale ? "This is the smallest size." : ""; }
constexpr float scale_step = 1.125F;

void play(App& app) {
  app.playing = !app.playing;
  app.play_next = 0;
}

const auto table = std::to_array<Command>({
    {"step.next", "Next step", "Right", needs_later_step, [](App& app) { app.go_to(app.step() + 1); }},
    {"step.previous", "Previous step", "Left", needs_earlier_step, [](App& app) { app.go_to(app.step() - 1); }},
    {"step.next-level", "Next level", "Shift+Right", needs_later_step, [](App& app) { to_level(app, 1); }},
    {"step.previous-level", "Previous level", "Shift+Left", needs_earlier_step, [](App& app) { to_level(app, -1); }},
    {"step.first", "First step", "Home", needs_earlier_step, [](App& app) { app.go_to(0); }},
    {"step.last", "Last step", "End", needs_later_step, [](App& app) { app.go_to(app.document.shown()->steps().size() - 1); }},
    {"step.play", "Play or pause", "Space", needs_program, play},
    {"steps.only-changed", "Show only steps that changed something", "", needs_program,
     [](App& app) { app.view.only_changed = !app.view.only_changed; }},
    {"tab.program", "Show the program", "Ctrl+1", always, [](App& app) { app.view.tab = Tab::program; }},
    {"tab.ir", "Show the program after the step", "Ctrl+2", always, [](App& app) { app.view.tab = Tab::ir; }},
    {"tab.graph", "Show the graph", "Ctrl+3", always, [](App& app) { app.view.tab = Tab::graph; }},
    {"tab.code", "Show the code", "Ctrl+4", always, [](App& app) { app.view.tab = Tab::code; }},
    {"ir.whole", "Show the difference or the whole program", "D", needs_program,
     [](App& app) { app.view.whole_text = !app.view.whole_text; }},
    {"ir.compare-here", "Compare later steps with this one", "", needs_program,
     [](App& app) { app.view.compare_with = app.document.shown()->steps()[app.step()].id; }},
    {"ir.compare-previous", "Compare with the step before", "", needs_program, [](App& app) { app.view.compare_with.clear(); }},
    {"ir.copy", "Copy the program after the step", "Ctrl+Shift+C", needs_program, copy_program},
    {"decision.lock", "Lock or unlock the choice", "L", needs_decision, toggle_lock},
    {"decision.reset", "Give the choice back to the scheduler", "", needs_override, reset_decision},
    {"select.none", "Select nothing", "Escape", needs_selection, [](App& app) { app.selected = {}; }},
    {"edit.undo", "Undo", "Ctrl+Z", needs_undo, [](App& app) { app.document.undo(); }},
    {"edit.redo", "Redo", "Ctrl+Y", needs_redo, [](App& app) { app.document.redo(); }},
    {"view.theme", "Light or dark", "", always,
     [](App& app) { app.settings.theme = app.settings.theme == Theme::dark ? Theme::light : Theme::dark; }},
    {"view.larger", "Larger", "Ctrl+=", needs_larger, [](App& app) { scale_by(app, scale_step); }},
    {"view.smaller", "Smaller", "Ctrl+-", needs_smaller, [](App& app) { scale_by(app, 1 / scale_step); }},
    {"view.usual-size", "Usual size", "Ctrl+0", always, [](App& app) { app.settings.scale = 1; }},
    {"view.present", "Show the middle panel alone, or all", "F11", always,
     [](App& app) { app.view.middle_alone = !app.view.middle_alone; }},
    {"workspace.learn", "Learn: be led, try it yourself", "F2", always, [](App& app) { app.view.workspace = Workspace::learn; }},
    {"workspace.explore", "Explore: every step of the lowering", "F3", always, [](App& app) { app.view.workspace = Workspace::explore; }},
    {"workspace.tune", "Tune: run, compare, export", "F4", always, [](App& app) { app.view.workspace = Workspace::tune; }},
    {"run.plan", "Run this plan on this machine", "Ctrl+R", why_no_run, run_plan},
    {"run.unfused", "Run the plan with nothing fused, to compare with", "", why_no_run, run_unfused},
    {"run.cancel", "Cancel what runs and what waits", "Ctrl+Shift+R", why_no_cancel, cancel_runs},
    {"run.compare", "Compare the two picked runs in turn", "C", why_no_comparison, compare_picked},
    {"trials.pick", "Pick the selected run for a comparison, or drop it", "P", needs_trial, pick_selected},
    {"trials.go-to-plan", "Make the selected run's plan the open one", "G", why_no_other_plan, go_to_plan},
    {"trials.copy", "Copy the selected run", "", needs_trial, copy_trial},
    {"trials.copy-command", "Copy the command line of the selected run", "", needs_command_line, copy_command_line},
    {"trials.clear", "Clear all runs", "", needs_trials, clear_trials},
    {"trials.put-back", "Bring the cleared runs back", "", needs_cleared_trials, [](App& app) { app.trials.put_back(); }},
    {"export.html", "Check and export the page", "", why_no_export, [](App& app) { ask_for_export(app, "html"); }},
    {"export.trace", "Check and export the trace", "", why_no_export, [](App& app) { ask_for_export(app, "trace"); }},
    {"export.cancel", "Cancel the export that waits for checks", "", needs_export, [](App& app) { app.exporter.cancel(); }},
    {"file.restore", "Open what was left when Fathom did not end properly", "", needs_left_behind, restore_left_behind},
    {"view.palette", "Commands", "Ctrl+K", always, open_palette<Ask::command>},
    {"file.open", "Open a program or a session", "Ctrl+O", always, open_palette<Ask::open>},
    {"file.sample", "Open a sample", "", always, open_palette<Ask::sample>},
    {"file.save", "Save the session", "Ctrl+S", needs_program, save},
    {"file.save-as", "Save the session as", "Ctrl+Shift+S", needs_program, open_palette<Ask::save_session>},
    {"file.save-program", "Save the program text as", "", always, open_palette<Ask::save_program>},
    {"edit.history", "Go to a state of the history", "Ctrl+H", needs_program, open_palette<Ask::state>},
    {"app.quit", "Quit", "Ctrl+Q", always, [](App& app) { leave(app, [](App& at) { at.wants_to_quit = true; }); }},
});

// ---- keys ----
struct Key {
  std::string_view name;
  ImGuiKey key;
};
constexpr std::array named_keys = std::to_array<Key>({{"Right", ImGuiKey_RightArrow},
                                                      {"Left", ImGuiKey_LeftArrow},
                                                      {"Up", ImGuiKey_UpArrow},
                                                      {"Down", ImGuiKey_DownArrow},
                                                      {"Home", ImGuiKey_Home},
                                                      {"End", ImGuiKey_End},
                                                      {"Space", ImGuiKey_Space},
                                                      {"Escape", ImGuiKey_Escape},
                                                      {"=", ImGuiKey_Equal},
                                                      {"-", ImGuiKey_Minus},
                                                      {"F1", ImGuiKey_F1},
                                                      {"F2", ImGuiKey_F2},
                                                      {"F3", ImGuiKey_F3},
                                                      {"F4", ImGuiKey_F4},
                                                      {"F11", ImGuiKey_F11}});

bool take(std::string_view& rest, std::string_view prefix) {
  if (rest.substr(0, prefix.size()) != prefix) return false;
  rest.remove_prefix(prefix.size());
  return true;
}

ImGuiKey key_named(std::string_view name) {
  for (const Key& each : named_keys)
    if (each.name == name) return each.key;
  if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return static_cast<ImGuiKey>(ImGuiKey_A + (name[0] - 'A'));
  if (name.size() == 1 && name[0] >= '0' && name[0] <= '9') return static_cast<ImGuiKey>(ImGuiKey_0 + (name[0] - '0'));
  return ImGuiKey_None;
}

/// Exactly these keys, in this frame. While a text is edited only combinations with Ctrl count.
bool is_pressed(std::string_view shortcut) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool ctrl = take(shortcut, "Ctrl+"), shift = take(shortcut, "Shift+");
  if (io.KeyCtrl != ctrl || io.KeyShift != shift || io.KeyAlt) return false;
  if (io.WantTextInput && !ctrl) return false;
  const ImGuiKey key = key_named(shortcut);
  // A field that is edited has an undo of its own.
  if ((key == ImGuiKey_Z || key == ImGuiKey_Y) && ImGui::GetInputTextState(ImGui::GetActiveID()) != nullptr) return false;
  return key != ImGuiKey_None && ImGui::IsKeyPressed(key, true);
}

}  // namespace

std::span<const Command> commands() { return table; }

void ask(App& app, Ask what, std::string query) {
  app.palette = {};
  app.palette.is_open = app.palette.just_opened = true;
  app.palette.ask = what;
  app.palette.query = std::move(query);
}

void leave(App& app, std::function<void(App&)> then) {
  if (!app.is_changed()) return then(app);
  app.leaving = std::move(then);
  ask(app, Ask::unsaved);
}

const Command* command_named(std::string_view id) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const Command& each) { return each.id == id; });
  return at == table.end() ? nullptr : &*at;
}

bool run_command(App& app, std::string_view id) {
  const Command* command = command_named(id);
  if (command == nullptr || !command->disabled(app).empty()) return false;
  command->run(app);
  return true;
}

void run_shortcuts(App& app) {
  if (ImGui::IsKeyPressed(ImGuiKey_F1, false)) run_command(app, "view.palette");
  for (const Command& command : table)
    if (!command.shortcut.empty() && is_pressed(command.shortcut)) {
      run_command(app, command.id);
      return;
    }
}

}  // namespace fathom::ui
