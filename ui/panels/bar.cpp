// The bar on top: what is open, for which target; undo, theme, commands.
#include <fmt/format.h>

#include <array>

#include "command.hpp"
#include "command_button.hpp"
#include "icons.hpp"
#include "keys.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "start.hpp"
#include "widgets/menu.hpp"

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
  std::vector<widgets::MenuRow> rows;
  for (const Target& target : targets()) {
    const std::string name = target.name.text();
    rows.push_back({name, name, target.title, {}, name == now, false});
  }
  if (const auto taken = widgets::menu_button("target", now + " ▾", options, rows))
    app.document.change([name = rows[*taken].id](session::Session& session) { return session.set_target(name); });
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
  ImVec2 at{box.min.x + (box.width() - width) / 2, box.min.y + (box.height() - metrics().panel_head) / 2};
  for (const WorkspaceTab& each : workspace_tabs) {
    ImGui::SetCursorScreenPos(at);
    if (widgets::tab(each.id, each.title, app.view.workspace == each.workspace)) run_command(app, std::string("workspace.") + each.id);
    at.x = ImGui::GetItemRectMax().x;
  }
}

/// What is open, and what was done to it.
void file_and_changes(App& app) {
  const std::string file = app.document.inputs().file_name;
  const std::size_t slash = file.rfind('/');
  widgets::ButtonOptions name = quiet(nullptr);
  name.tip = file + ": show its text";
  constexpr float longest = 40;  // gaps
  const std::string short_name = widgets::cut_to(slash == std::string::npos ? file : file.substr(slash + 1), gap(longest), Font::body);
  if (widgets::button("file", short_name, name)) run_command(app, "tab.program");
  ImGui::SameLine();
  command_button(app, "edit.undo", "edit.undo", {}, quiet(icons::undo));
  ImGui::SameLine();
  command_button(app, "edit.redo", "edit.redo", {}, quiet(icons::redo));
}

}  // namespace

void bar(App& app, const Box& box) {
  const MirrorScope scope("bar");
  ImGui::GetWindowDrawList()->AddRectFilled(box.min, box.max, colour(Role::panel));
  const float y = box.min.y + (box.height() - metrics().row) / 2;
  const bool narrow = is_narrow(), has_room = box.width() >= gap(270);
  ImGui::SetCursorScreenPos({box.min.x + (narrow ? gap(1) : gap(3)), y});
  ImGui::BeginGroup();
  file_menu(app, has_room);
  if (!narrow) {
    ImGui::SameLine();
    file_and_changes(app);
  }
  ImGui::EndGroup();
  workspaces(app, box);

  const std::string commands = has_room ? "Commands  " + shortcut_of(app, *command_named("view.palette")) : std::string();
  const std::string target = app.document.inputs().target + " ▾";
  float width = widgets::button_width(commands, icons::search);
  if (!narrow) width += widgets::button_width(target, icons::chip) + gap(2);
  if (has_room) width += widgets::button_width("Light / dark") + gap(2);
  ImGui::SetCursorScreenPos({box.max.x - width - (narrow ? gap(1) : gap(3)), y});
  if (!narrow) {
    target_menu(app);
    ImGui::SameLine();
  }
  if (has_room) {
    command_button(app, "view.theme", "view.theme", "Light / dark", quiet(nullptr));
    ImGui::SameLine();
  }
  command_button(app, "view.palette", "view.palette", commands, quiet(icons::search));
}

}  // namespace fathom::ui::panels
