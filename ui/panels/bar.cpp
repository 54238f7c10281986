// The bar on top: what is open, for which target; undo, theme, commands.
#include <fmt/format.h>

#include <array>

#include "command.hpp"
#include "command_button.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "start.hpp"

namespace fathom::ui::panels {
namespace {

widgets::ButtonOptions quiet(const char* icon) {
  widgets::ButtonOptions options;
  options.icon = icon;
  options.look = widgets::Look::quiet;
  return options;
}

void target_menu(App& app) {
  const std::string now = app.document.inputs().target;
  widgets::ButtonOptions options = quiet(icons::chip);
  options.tip = "The machine that the program is lowered for";
  options.look = widgets::Look::quiet;
  if (widgets::button("target", now + " ▾", options)) ImGui::OpenPopup("targets");
  ImGui::SetNextWindowPos({ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + gap(1)}, ImGuiCond_Appearing);
  if (!ImGui::BeginPopup("targets")) return;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) ImGui::CloseCurrentPopup();
  for (const Target& target : targets()) {
    const std::string name = target.name.text();
    widgets::ButtonOptions row = quiet(nullptr);
    row.selected = name == now;
    if (widgets::button("target." + name, fmt::format("{}   {}", name, target.title), row)) {
      app.document.change([name](session::Session& session) { return session.set_target(name); });
      ImGui::CloseCurrentPopup();
    }
  }
  ImGui::EndPopup();
}

struct WorkspaceTab {
  Workspace workspace;
  const char* id;
  const char* title;
};
constexpr std::array workspace_tabs = std::to_array<WorkspaceTab>(
    {{Workspace::learn, "learn", "LEARN"}, {Workspace::explore, "explore", "EXPLORE"}, {Workspace::tune, "tune", "TUNE"}});

/// In the middle of the bar.
void workspaces(App& app, const Box& box) {
  float width = 0;
  for (const WorkspaceTab& each : workspace_tabs) width += widgets::button_width(each.title);
  ImGui::SetCursorScreenPos({box.min.x + (box.width() - width) / 2, box.min.y + (box.height() - metrics().row) / 2});
  for (const WorkspaceTab& each : workspace_tabs) {
    if (widgets::tab(each.id, each.title, app.view.workspace == each.workspace)) run_command(app, std::string("workspace.") + each.id);
    ImGui::SameLine(0, 0);
  }
}

}  // namespace

void bar(App& app, const Box& box) {
  const MirrorScope scope("bar");
  ImGui::GetWindowDrawList()->AddRectFilled(box.min, box.max, colour(Role::panel));
  const float y = box.min.y + (box.height() - metrics().row) / 2;
  ImGui::SetCursorScreenPos({box.min.x + gap(3), y});
  ImGui::BeginGroup();
  const std::string file = app.document.inputs().file_name;
  const std::size_t slash = file.rfind('/');
  widgets::ButtonOptions name = quiet(nullptr);
  name.tip = file + ": show its text";
  if (widgets::button("file", slash == std::string::npos ? file : file.substr(slash + 1), name)) run_command(app, "tab.program");
  ImGui::SameLine();
  command_button(app, "edit.undo", "edit.undo", {}, quiet(icons::undo));
  ImGui::SameLine();
  command_button(app, "edit.redo", "edit.redo", {}, quiet(icons::redo));
  ImGui::EndGroup();
  workspaces(app, box);

  const float commands_width = widgets::button_width("Commands  Ctrl+K", icons::search);
  const float target_width = widgets::button_width(app.document.inputs().target + " ▾", icons::chip);
  const float theme_width = widgets::button_width("Light / dark");
  ImGui::SetCursorScreenPos({box.max.x - commands_width - target_width - theme_width - 2 * gap(2) - gap(3), y});
  target_menu(app);
  ImGui::SameLine();
  command_button(app, "view.theme", "view.theme", "Light / dark", quiet(nullptr));
  ImGui::SameLine();
  command_button(app, "view.palette", "view.palette", "Commands  Ctrl+K", quiet(icons::search));
}

}  // namespace fathom::ui::panels
