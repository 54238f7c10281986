#include "command.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "compare.hpp"
#include "lesson.hpp"
#include "notation.hpp"
#include "own_repairs.hpp"
#include "panel_export.hpp"
#include "session_files.hpp"
#include "start.hpp"
#include "tour.hpp"
#include "tune_commands.hpp"

namespace fathom::ui {
namespace {

// ---- conditions ----
std::string always(const App&) { return {}; }
std::string needs_lanes(const App& app) {
  return shows_lanes(app) ? "" : "Lanes of this target hold no elements of their own: choose a GPU as the target.";
}
std::string needs_rounds(const App& app) {
  if (app.view.tab != Tab::roles) return "The roles are not shown.";
  return app.roles.rounds() == 0 ? "No run of the roles is there." : "";
}
std::string needs_later_round(const App& app) {
  if (std::string why = needs_rounds(app); !why.empty()) return why;
  return app.roles.round() + 1 >= app.roles.rounds() ? "This is the last round of the roles." : "";
}
std::string needs_earlier_round(const App& app) {
  if (std::string why = needs_rounds(app); !why.empty()) return why;
  return app.roles.round() == 0 ? "This is the first round of the roles." : "";
}
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

/// The stage has frames to play.
std::string needs_stage(const App& app) {
  if (app.document.shown() == nullptr) return needs_program(app);
  return app.stage.stage() == nullptr ? "The stage is not open. Its tab, or Learn, shows it." : "";
}
std::string needs_later_frame(const App& app) {
  if (app.stage.stage() == nullptr) return needs_stage(app);
  return app.stage.frame() + 1 >= app.stage.frames() ? "This is the last trip." : "";
}
std::string needs_broken(const App& app) { return app.stage.broken().empty() ? "Nothing on the stage is broken." : ""; }
std::string needs_earlier_frame(const App& app) {
  if (app.stage.stage() == nullptr) return needs_stage(app);
  return app.stage.frame() == 0 ? "This is the first trip." : "";
}
std::string needs_history(const App& app) {
  if (app.document.shown() == nullptr) return needs_program(app);
  return app.document.shown()->session.history().size() > 1 ? "" : "The history has one state only: make a change first.";
}
std::string needs_text_view(const App& app) { return app.view.workspace == Workspace::explore ? "" : "There is no text to search here."; }
std::string needs_pictures(const App& app) { return app.takes_pictures ? "" : "No pictures of the screen can be taken here."; }

// ---- actions ----
/// In the text or graph that is seen.
void find(App& app) {
  app.program.editor.asks_search = app.view.tab == Tab::program;
  app.ir.text.asks_search = app.view.tab == Tab::ir;
  app.graph.asks_search = app.view.tab == Tab::graph;
  app.code.text.asks_search = app.view.tab == Tab::code;
}

void show_alone(App& app) { app.view.alone = app.view.alone.empty() ? app.panel : ""; }

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

std::string proposed_path(const App& app, Ask what) {
  switch (what) {
    case Ask::save_session:
      return session_path(app);
    case Ask::save_program:
      return app.document.inputs().file_name;
    case Ask::panel_text:
      return path_beside(app, "-" + name_of_panel(app) + ".txt");
    case Ask::panel_picture:
      return path_beside(app, "-" + name_of_panel(app) + ".png");
    default:
      return {};
  }
}

/// The same command again closes it.
template <Ask what>
void open_palette(App& app) {
  if (app.palette.is_open && app.palette.ask == what) {
    app.palette = {};
    app.leaving = nullptr;
    return;
  }
  ask(app, what, proposed_path(app, what));
}

void save(App& app) {
  if (app.document.opened_from().empty()) return open_palette<Ask::save_session>(app);
  save_session(app, app.document.opened_from());
}

void begin_new_program(App& app) {
  leave(app, [](App& then) { open_sample(then, {"new", std::string(new_program()), {}}); });
}

std::string needs_left_behind(const App& app) { return app.left_behind.empty() ? "The last session ended properly." : ""; }
void restore_left_behind(App& app) {
  leave(app, [](App& then) {
    if (!then.left_behind.empty()) open_left_behind(then);
  });
}

// ---- lessons ----
std::string needs_lesson(const App& app) { return open_page(app) == nullptr ? "No lesson is open." : ""; }
std::string needs_lessons(const App&) { return session::lessons().empty() ? "There is no lesson." : ""; }
std::string needs_earlier_page(const App& app) {
  if (open_page(app) == nullptr) return needs_lesson(app);
  return app.view.lesson.page == 0 ? "This is the first page." : "";
}
std::string needs_later_page(const App& app) {
  const session::Lesson* lesson = open_lesson(app);
  if (lesson == nullptr) return needs_lesson(app);
  if (app.view.lesson.page + 1 >= lesson->pages.size()) return "This is the last page.";
  if (is_page_done(app)) return {};
  return hides_answer(app) ? "First give an answer, or press Show me." : "First do what the page asks for, or press Show me.";
}
std::string needs_hint(const App& app) {
  const session::Page* page = open_page(app);
  if (page == nullptr) return needs_lesson(app);
  if (is_page_done(app)) return "Nothing is asked here.";
  return static_cast<std::size_t>(progress(app).hints) >= page->hints.size() ? "There is no further hint." : "";
}
std::string needs_open_page(const App& app) {
  if (open_page(app) == nullptr) return needs_lesson(app);
  if (app.document.shown() == nullptr) return needs_program(app);
  return is_page_done(app) ? "Nothing is asked here." : "";
}
void restart_lesson(App& app) {
  leave(app, [name = app.view.lesson.name](App& then) {
    if (const session::Lesson* lesson = session::lesson_named(name)) start_lesson(then, *lesson);
  });
}
std::string needs_page_elsewhere(const App& app) {
  const session::Page* page = open_page(app);
  if (page == nullptr) return needs_lesson(app);
  if (app.document.shown() == nullptr) return needs_program(app);
  return app.document.shown()->steps()[app.step()].id == page->step ? "This is the step of the page." : "";
}

// ---- one's own repair ----
std::string needs_written_repair(const App& app) {
  if (app.document.shown() == nullptr) return needs_program(app);
  if (asked_consumer(app).empty()) return "No repair is asked for.";
  if (typed_repair(app).empty()) return "Write a repair first.";
  return why_not_taken(app);
}
std::string needs_right_repair(const App& app) {
  if (std::string why = needs_written_repair(app); !why.empty()) return why;
  const session::OwnRepair* own = written_repair(app);  // none yet: it is taken when it is known to be right
  return own == nullptr || own->is_right() ? "" : "It is not derived: the plan takes only what is right.";
}
std::string needs_wrong_repair(const App& app) {
  if (std::string why = needs_written_repair(app); !why.empty()) return why;
  const session::OwnRepair* own = written_repair(app);
  if (own == nullptr) return "It is being judged.";
  return own->is_right() ? "It is right: take it as it is." : own->not_run;
}

void choose_theme(App& app, Theme theme) {
  app.settings.theme = theme;
  app.settings.follows_system = false;
}

void scale_by(App& app, float factor) { app.settings.scale = std::clamp(app.settings.scale * factor, least_scale, most_scale); }
std::string needs_larger(const App& app) { return app.settings.scale >= most_scale ? "This is the largest size." : ""; }
std::string needs_smaller(const App& app) { return app.settings.scale <= least_scale ? "This is the smallest size." : ""; }
constexpr float scale_step = 1.125F;

void play(App& app) {
  app.playing = !app.playing;
  app.play_next = 0;
}

void play_stage(App& app) {
  app.stage.playing = !app.stage.playing;
  app.stage.play_next = 0;
  if (app.stage.playing && app.stage.frame() + 1 >= app.stage.frames()) app.stage.go_to(0);
}

void play_roles(App& app) {
  app.roles.playing = !app.roles.playing;
  app.roles.play_next = 0;
  if (app.roles.playing && app.roles.round() + 1 >= app.roles.rounds()) app.roles.go_to(0);
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
    {"tab.code", "Show the code", "Ctrl+4", always, [](App& app) { app.view.tab = Tab::code; }, "assembly machine instructions"},
    {"tab.stage", "Show the stage", "Ctrl+5", always, [](App& app) { app.view.tab = Tab::stage; }},
    {"tab.layout", "Show which lane holds which element", "Ctrl+6", needs_lanes, [](App& app) { app.view.tab = Tab::layout; },
     "layout registers lanes warps banks swizzle fragment"},
    {"tab.roles", "Show roles over time", "Ctrl+7", needs_lanes, [](App& app) { app.view.tab = Tab::roles; },
     "producer consumer timeline waits channels pipeline overlap"},
    {"roles.next", "Next round of the roles", "", needs_later_round, [](App& app) { app.roles.go_to(app.roles.round() + 1); }},
    {"roles.previous", "Previous round of the roles", "", needs_earlier_round, [](App& app) { app.roles.go_to(app.roles.round() - 1); }},
    {"roles.first", "First round of the roles", "", needs_earlier_round, [](App& app) { app.roles.go_to(0); }},
    {"roles.last", "Last round of the roles", "", needs_later_round, [](App& app) { app.roles.go_to(app.roles.rounds() - 1); }},
    {"roles.play", "Play or pause the roles", "", needs_rounds, play_roles},
    {"stage.next", "Next trip on the stage", ".", needs_later_frame, [](App& app) { app.stage.go_to(app.stage.frame() + 1); }},
    {"stage.previous", "Previous trip on the stage", ",", needs_earlier_frame, [](App& app) { app.stage.go_to(app.stage.frame() - 1); }},
    {"stage.first", "First trip on the stage", "Shift+,", needs_earlier_frame, [](App& app) { app.stage.go_to(0); }},
    {"stage.last", "Last trip on the stage", "Shift+.", needs_later_frame, [](App& app) { app.stage.go_to(app.stage.frames() - 1); }},
    {"stage.play", "Play or pause the stage", "Shift+Space", needs_stage, play_stage},
    {"stage.heal", "Repair what was broken on the stage", "", needs_broken, [](App& app) { app.stage.heal(); }},
    {"ir.whole", "Show the difference or the whole program", "D", needs_program,
     [](App& app) { app.view.whole_text = !app.view.whole_text; }, "diff"},
    {"ir.compare-here", "Compare later steps with this one", "", needs_program,
     [](App& app) { compare_with_step(app, app.document.shown()->steps()[app.step()].id); }},
    {"ir.compare-previous", "Compare with the step before", "", needs_program, compare_with_previous},
    {"ir.compare-with", "Compare with another step", "", needs_program, open_palette<Ask::compare_step>},
    {"plan.compare-with", "Compare with another state of the history", "", needs_history, open_palette<Ask::compare_plan>},
    {"ir.copy", "Copy the program after the step", "Ctrl+Shift+C", needs_program, copy_program},
    {"decision.lock", "Lock or unlock the choice", "L", needs_decision, toggle_lock},
    {"decision.reset", "Give the choice back to the scheduler", "", needs_override, reset_decision},
    {"select.none", "Select nothing", "Escape", needs_selection, [](App& app) { app.selected = {}; }},
    {"edit.undo", "Undo", "Ctrl+Z", needs_undo, [](App& app) { app.document.undo(); }, "back revert"},
    {"edit.redo", "Redo", "Ctrl+Y", needs_redo, [](App& app) { app.document.redo(); }},
    {"view.theme", "Light or dark", "", always,
     [](App& app) { choose_theme(app, app.settings.theme == Theme::dark ? Theme::light : Theme::dark); }, "colours night day mode"},
    {"view.theme-dark", "Dark colours", "", always, [](App& app) { choose_theme(app, Theme::dark); }},
    {"view.theme-light", "Light colours", "", always, [](App& app) { choose_theme(app, Theme::light); }},
    {"view.theme-system", "Colours as the desktop has them", "", always, [](App& app) { app.settings.follows_system = true; }},
    {"view.larger", "Larger", "Ctrl+=", needs_larger, [](App& app) { scale_by(app, scale_step); }, "zoom in scale bigger size font"},
    {"view.smaller", "Smaller", "Ctrl+-", needs_smaller, [](App& app) { scale_by(app, 1 / scale_step); }, "zoom out scale size font"},
    {"view.usual-size", "Usual size", "Ctrl+0", always, [](App& app) { app.settings.scale = 1; }, "zoom scale reset normal"},
    {"view.scale", "Choose the size of everything", "", always, open_palette<Ask::scale>, "zoom scale larger smaller font"},
    {"view.reduced-motion", "Less motion, or as usual", "", always,
     [](App& app) { app.settings.reduced_motion = !app.settings.reduced_motion; }, "animation"},
    {"view.present", "Show the middle panel alone, or all", "F11", always,
     [](App& app) { app.view.alone = app.view.alone.empty() ? "middle" : ""; }, "fullscreen presentation maximise"},
    {"workspace.learn", "Learn: be led, try it yourself", "F2", always, [](App& app) { app.view.workspace = Workspace::learn; }},
    {"workspace.explore", "Explore: every step of the lowering", "F3", always, [](App& app) { app.view.workspace = Workspace::explore; }},
    {"workspace.tune", "Tune: run, compare, export", "F4", always, [](App& app) { app.view.workspace = Workspace::tune; }},
    {"lesson.list", "Open a lesson", "Ctrl+L", needs_lessons, open_palette<Ask::lesson>, "tutorial course learn help"},
    {"lesson.next", "Next page of the lesson", "PageDown", needs_later_page, [](App& app) { turn_to_page(app, app.view.lesson.page + 1); }},
    {"lesson.back", "Previous page of the lesson", "PageUp", needs_earlier_page,
     [](App& app) { turn_to_page(app, app.view.lesson.page - 1); }},
    {"lesson.hint", "Give a hint", "H", needs_hint, [](App& app) { ++progress(app).hints; }},
    {"lesson.show", "Show the answer, or how it is done", "Shift+H", needs_open_page, show_answer},
    {"lesson.here", "Go to the step of the lesson's page", "", needs_page_elsewhere,
     [](App& app) { turn_to_page(app, app.view.lesson.page); }},
    {"lesson.restart", "Start the lesson again", "", needs_lesson, restart_lesson},
    {"lesson.leave", "Leave the lesson; its program stays open", "", needs_lesson, leave_lesson},
    {"repair.take", "Take my repair into the plan", "Ctrl+Enter", needs_right_repair, [](App& app) { take_written_repair(app, false); }},
    {"repair.take-unsound", "Take my repair all the same, unsound", "", needs_wrong_repair,
     [](App& app) { take_written_repair(app, true); }},
    {"run.plan", "Run this plan on this machine", "Ctrl+R", why_no_run, run_plan, "time measure benchmark execute"},
    {"run.unfused", "Run the plan with nothing fused, to compare with", "", why_no_run, run_unfused, "baseline measure benchmark"},
    {"run.cancel", "Cancel what runs and what waits", "Ctrl+Shift+R", why_no_cancel, cancel_runs},
    {"run.compare", "Compare the two picked runs in turn", "C", why_no_comparison, compare_picked, "benchmark faster against"},
    {"trials.pick", "Pick the selected run for a comparison, or drop it", "P", needs_trial, pick_selected},
    {"trials.go-to-plan", "Make the selected run's plan the open one", "G", why_no_other_plan, go_to_plan},
    {"trials.copy", "Copy the selected run", "", needs_trial, copy_trial},
    {"trials.copy-command", "Copy the command line of the selected run", "", needs_command_line, copy_command_line},
    {"trials.clear", "Clear all runs", "", needs_trials, clear_trials},
    {"trials.put-back", "Bring the cleared runs back", "", needs_cleared_trials, [](App& app) { app.trials.put_back(); }},
    {"export.html", "Check, then export the whole lowering as an HTML page", "", why_no_export,
     [](App& app) { ask_for_export(app, "html"); }, "report page save web"},
    {"export.trace", "Check, then export every decision as a trace", "", why_no_export, [](App& app) { ask_for_export(app, "trace"); },
     "save plan schedule"},
    {"export.cuda", "Check, then export the kernel as a folder of CUDA C++", "", why_no_cuda_export,
     [](App& app) { ask_for_export(app, "cuda"); }, "kernel code nvcc gpu python save"},
    {"export.cancel", "Cancel the export that waits for checks", "", needs_export, [](App& app) { app.exporter.cancel(); }},
    {"file.restore", "Open what was left when Fathom did not end properly", "", needs_left_behind, restore_left_behind},
    {"file.discard-left", "Throw away what was left when Fathom did not end properly", "", needs_left_behind, throw_away_left_behind},
    {"view.palette", "Commands", "Ctrl+K", always, open_palette<Ask::command>, "search palette help menu"},
    {"view.keys", "Keys: list and change them", "?", always, [](App& app) { open_overlay(app, Overlay::keys); },
     "shortcuts keyboard help bindings"},
    {"view.settings", "Settings", "Ctrl+,", always, [](App& app) { open_overlay(app, Overlay::settings); },
     "preferences options configuration"},
    {"edit.find", "Find in what the middle shows", "Ctrl+F", needs_text_view, find, "search"},
    {"panel.alone", "Show this panel alone, or all", "", always, show_alone, "fullscreen maximise"},
    {"panel.copy-text", "Copy the text of this panel", "Alt+Shift+T", always, copy_panel_text},
    {"panel.save-text", "Save the text of this panel as", "", always, open_palette<Ask::panel_text>, "txt export"},
    {"panel.save-picture", "Save a picture of this panel as", "", needs_pictures, open_palette<Ask::panel_picture>,
     "png image screenshot export"},
    {"help.tour", "Show the tour of the first minute", "", always, begin_tour, "help introduction start guide"},
    {"help.glossary", "What does this word mean?", "", always, open_palette<Ask::glossary>, "glossary words terms dictionary help"},
    {"file.new", "New program", "", always, begin_new_program, "create empty blank start file"},
    {"help.notation", "Show the notation", "", always, open_palette<Ask::notation>, "language syntax reference help manual grammar"},
    {"file.open", "Open a program or a session", "Ctrl+O", always, open_palette<Ask::open>, "load file"},
    {"file.sample", "Open a sample", "", always, open_palette<Ask::sample>, "example demo"},
    {"file.save", "Save the session", "Ctrl+S", needs_program, save, "write file keep"},
    {"file.save-as", "Save the session as", "Ctrl+Shift+S", needs_program, open_palette<Ask::save_session>},
    {"file.save-program", "Save the program text as", "", always, open_palette<Ask::save_program>},
    {"edit.history", "Go to a state of the history", "Ctrl+H", needs_program, open_palette<Ask::state>, "versions undo back"},
    {"app.quit", "Quit", "Ctrl+Q", always, [](App& app) { leave(app, [](App& at) { at.wants_to_quit = true; }); }, "exit close leave"},
});

}  // namespace

std::span<const Command> commands() { return table; }

void ask(App& app, Ask what, std::string query) {
  app.palette = {};
  app.palette.is_open = app.palette.just_opened = true;
  app.palette.ask = what;
  app.palette.query = std::move(query);
  app.leaving = nullptr;  // what waited for the answer to another question
}

void leave(App& app, std::function<void(App&)> then) {
  if (!app.is_changed()) return then(app);
  ask(app, Ask::unsaved);
  app.leaving = std::move(then);
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

}  // namespace fathom::ui
