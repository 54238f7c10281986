// The middle panel: one of program, IR, graph, code and stage, with its tabs in the head.
#include <array>

#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {
namespace {

struct TabEntry {
  Tab tab;
  const char* id;
  const char* title;
  void (*draw)(App&);
};
constexpr bool is_of_lanes(Tab tab) { return tab == Tab::layout || tab == Tab::roles; }
constexpr std::array tabs = std::to_array<TabEntry>({{Tab::program, "program", "Program", program},
                                                     {Tab::ir, "ir", "IR", ir},
                                                     {Tab::graph, "graph", "Graph", graph},
                                                     {Tab::code, "code", "Code", code},
                                                     {Tab::stage, "stage", "Stage", stage_tab},
                                                     {Tab::layout, "layout", "Layout", layout},
                                                     {Tab::roles, "roles", "Roles", roles}});

/// Above what is of an older text than the one in the editor.
void stale_note(App& app) {
  if (app.document.diagnostics().empty() || app.document.shown() == nullptr) return;
  widgets::text("From the last text that compiled.", Role::warn, Font::caption);
  ImGui::SameLine();
  if (widgets::link("errors", "Show what is wrong")) show_errors(app);
}

}  // namespace

void middle(App& app, const Box& box) {
  widgets::begin_panel("middle", box, {"", false});
  ImGui::SetCursorScreenPos({box.min.x + gap(2), box.min.y});
  const bool has_program = !shows_program_beside(app);
  const bool has_lanes = shows_lanes(app);
  const bool is_there = (app.view.tab != Tab::program || has_program) && (!is_of_lanes(app.view.tab) || has_lanes);
  const Tab shown = is_there ? app.view.tab : Tab::ir;
  for (const TabEntry& entry : tabs) {
    if ((entry.tab == Tab::program && !has_program) || (is_of_lanes(entry.tab) && !has_lanes)) continue;
    if (widgets::tab(entry.id, entry.title, shown == entry.tab)) app.view.tab = entry.tab;
    ImGui::SameLine(0, 0);
  }
  ImGui::SetCursorScreenPos({box.min.x + gap(3), box.min.y + metrics().panel_head + gap(1)});
  for (const TabEntry& entry : tabs)
    if (shown == entry.tab) {
      const MirrorScope scope(entry.id);
      ImGui::BeginChild(entry.id, {box.width() - 2 * gap(3), box.height() - metrics().panel_head - gap(3)});
      if (entry.tab != Tab::program) stale_note(app);
      entry.draw(app);
      ImGui::EndChild();
    }
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
