// One function a panel: it draws the state into the box and runs commands. Files are named after the functions.
#pragma once

#include "app.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::panels {

using widgets::Box;

/// Too narrow for columns: one panel at a time, and a bar with the least.
constexpr float least_for_columns = 180;  ///< gaps
[[nodiscard]] inline bool is_narrow() { return ImGui::GetIO().DisplaySize.x < gap(least_for_columns); }

/// Wide enough for the text of the program beside its IR.
[[nodiscard]] inline bool shows_program_beside(const App& app) {
  return app.view.workspace == Workspace::explore && app.view.alone.empty() && ImGui::GetIO().DisplaySize.x >= gap(440);
}

void bar(App&, const Box&);                     ///< name of the file, workspaces, target, palette
void ribbon(App&, const Box&);                  ///< the one transport, and the life of the selected value
[[nodiscard]] float ribbon_height(const App&);  ///< a narrow window has the life in a row of its own
void status(App&, const Box&);                  ///< what is known of the whole in one line
void steps(App&, const Box&);
void middle(App&, const Box&);     ///< tabs: program, IR, graph, code, stage; of targets with lanes: layout, roles
void step_card(App&, const Box&);  ///< the step that is looked at: why, cost, decision, refusals
void palette(App&);

/// The small program of what is open, played trip by trip.
void stage(App&, const Box&);
// Over the workspace.
void keys_sheet(App&);
void settings(App&);
void tour(App&);
void scale_question(App&);  ///< does the new size stay?
/// Into the bar; without room its name is left out.
void file_menu(App&, bool has_room);

// Workspaces.
void explore(App&, const Box&);  ///< the three panels above
void learn(App&, const Box&);    ///< lesson, stage, why it is legal
void tune(App&, const Box&);     ///< decisions, runs, what to take away

// Tabs of the middle panel; they fill the child window that is open.
void program(App&);
void ir(App&);
void graph(App&);
void code(App&);
void stage_tab(App&);
void layout(App&);
void roles(App&);

}  // namespace fathom::ui::panels
