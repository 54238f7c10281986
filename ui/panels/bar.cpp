// The bar on top: what is open, for which target; undo, theme, commands.
#include <fmt/format.h>

#include "command.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "start.hpp"

namespace fathom::ui::panels {
namespace {

/// A button for a command: disabled with the command's reason, its keys in the tooltip.
void command_button(App& app, const char* id, const char* icon, std::string_view label = {}) {
  const Command* command = command_named(id);
  widgets::ButtonOptions options;
  options.icon = icon;
  options.tip = std::string(command->title);
  options.shortcut = std::string(command->shortcut);
  options.look = widgets::Look::quiet;
  if (std::string why = command->disabled(app); !why.empty()) options.disabled = std::move(why);
  if (widgets::button(id, label, options)) command->run(app);
}

void target_menu(App& app) {
  const std::string now = app.document.inputs().target;
  widgets::ButtonOptions options;
  options.icon = icons::chip;
  options.tip = "The machine that the program is lowered for";
  options.look = widgets::Look::quiet;
  if (widgets::button("target", now + " ▾", options)) ImGui::OpenPopup("targets");
  ImGui::SetNextWindowPos({ImGui::GetItemRectMin().x, ImGui::GetItemRectMax().y + gap(1)}, ImGuiCond_Appearing);
  if (!ImGui::BeginPopup("targets")) return;
  if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) ImGui::CloseCurrentPopup();
  for (const Target& target : targets()) {
    const std::string name = target.name.text();
    widgets::ButtonOptions row;
    row.look = widgets::Look::quiet;
    row.selected = name == now;
    if (widgets::button("target." + name, fmt::format("{}   {}", name, target.title), row)) {
      app.document.change([name](session::Session& session) { return session.set_target(name); });
      ImGui::CloseCurrentPopup();
    }
  }
  ImGui::EndPopup();
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
  widgets::ButtonOptions name;
  name.look = widgets::Look::quiet;
  name.tip = file + ": show its text";
  if (widgets::button("file", slash == std::string::npos ? file : file.substr(slash + 1), name)) run_command(app, "tab.program");
  ImGui::SameLine();
  command_button(app, "edit.undo", icons::undo);
  ImGui::SameLine();
  command_button(app, "edit.redo", icons::redo);
  ImGui::EndGroup();

  const float commands_width =
      widgets::button_width("Commands  Ctrl+K", {icons::search, {}, {}, std::nullopt, widgets::Look::quiet, false, 0});
  const float target_width =
      widgets::button_width(app.document.inputs().target + " ▾", {icons::chip, {}, {}, std::nullopt, widgets::Look::quiet, false, 0});
  const float theme_width = widgets::button_width("Light / dark");
  ImGui::SetCursorScreenPos({box.max.x - commands_width - target_width - theme_width - 2 * gap(2) - gap(3), y});
  target_menu(app);
  ImGui::SameLine();
  command_button(app, "view.theme", nullptr, "Light / dark");
  ImGui::SameLine();
  command_button(app, "view.palette", icons::search, "Commands  Ctrl+K");
}

}  // namespace fathom::ui::panels
