// What the commands of the Tune workspace do, and why they cannot be done now.
#pragma once

#include <string>

#include "app.hpp"
#include "target/target.hpp"

namespace fathom::ui {

/// Why nothing can be run now: no program, no runner, another machine's target. Empty: it can.
[[nodiscard]] std::string why_no_run(const App&);
void run_plan(App&);
void run_unfused(App&);
[[nodiscard]] std::string why_no_cancel(const App&);
void cancel_runs(App&);

[[nodiscard]] std::string why_no_comparison(const App&);
void compare_picked(App&);
[[nodiscard]] std::string needs_trial(const App&);  ///< a selected one
void pick_selected(App&);
void copy_trial(App&);
void copy_command_line(App&);
[[nodiscard]] std::string needs_command_line(const App&);
[[nodiscard]] std::string why_no_other_plan(const App&);
/// Makes the selected run's plan the document's: one change, which undo takes back.
void go_to_plan(App&);
[[nodiscard]] std::string needs_trials(const App&);
void clear_trials(App&);
[[nodiscard]] std::string needs_cleared_trials(const App&);

[[nodiscard]] std::string why_no_export(const App&);
[[nodiscard]] std::string why_no_cuda_export(const App&);
/// Asks for the path.
void ask_for_export(App&, std::string_view kind);
[[nodiscard]] std::string needs_export(const App&);

/// "8 cores of 16 lanes": what a prediction for the target supposes.
[[nodiscard]] std::string machine_of(const Target&);
/// Its rates, a line each, as its description has them.
[[nodiscard]] std::string rates_of(const Target&);
/// Is a part of the on-chip memory the program's own to fill? Else it is a cache.
[[nodiscard]] bool has_shared_memory(const Target&);

/// The row as text: one line of its columns, then the command line.
[[nodiscard]] std::string row_text(const App&, const Trial&);
/// Of the document's plan where it compiles.
[[nodiscard]] const Trial* selected_trial(const App&);
/// Why the row's times may not stand beside those of the document's plan: "another text", "other sizes"; empty: they may.
[[nodiscard]] std::string apartness(const App&, const TrialPlan&);

}  // namespace fathom::ui
