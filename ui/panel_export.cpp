#include "panel_export.hpp"

#include <fmt/format.h>
#include <imgui_internal.h>

#include "mirror.hpp"
#include "session_files.hpp"

namespace fathom::ui {
namespace {

constexpr std::string_view panel_ending = "/panel";

std::string panel_of(const MirrorItem& item) { return item.id.substr(0, item.id.size() - panel_ending.size()); }

/// Panels of the workspace; what lies over it is asked about by nobody.
bool is_panel(const MirrorItem& item) {
  return item.kind == "panel" && item.id.size() > panel_ending.size() && item.id != "keys/panel" && item.id != "settings/panel";
}

std::string title_of_panel(const App& app) { return app.panel == "card" ? "this step" : name_of_panel(app); }

/// Is the mouse in the workspace? What lies over it (a menu, a list) is no panel.
bool is_mouse_in_shell() {
  const ImGuiWindow* over = ImGui::GetCurrentContext()->HoveredWindow;
  return over == nullptr || std::string_view(over->RootWindow->Name) == "##shell";
}

}  // namespace

std::string name_of_panel(const App& app) { return app.panel.substr(app.panel.rfind('/') + 1); }

void follow_panel(App& app) {
  if (app.palette.is_open || app.overlay.open != Overlay::none) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  const bool counts = is_mouse_in_shell(),
             clicks = ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  const std::string& focused = mirror().focused();
  bool is_there = false;
  std::string under, first;
  for (const MirrorItem& item : mirror().items()) {
    if (!is_panel(item)) continue;
    const std::string id = panel_of(item);
    if (first.empty()) first = id;
    is_there = is_there || id == app.panel;
    if (mirror().is_by_keyboard() && focused.compare(0, id.size() + 1, id + "/") == 0) {
      app.panel = id;
      app.panel_is_taken = true;
      return;
    }
    if (counts && mouse.x >= item.min.x && mouse.x < item.max.x && mouse.y >= item.min.y && mouse.y < item.max.y) under = id;
  }
  if (!is_there) app.panel_is_taken = false;
  if (!under.empty() && (clicks || !app.panel_is_taken)) {
    app.panel = under;
    app.panel_is_taken = clicks;
  } else if (!is_there) {
    app.panel = first;
  }
}

void copy_panel_text(App& app) {
  if (app.copy) app.copy(mirror().text_of(app.panel));
  app.document.say(fmt::format("The text of the panel “{}” is in the clipboard.", title_of_panel(app)), Said::done);
}

void save_panel_text(App& app, const std::string& path) {
  say_saved(app, path, write_whole(whole_path(path), mirror().text_of(app.panel)));
}

void save_panel_picture(App& app, const std::string& path) {
  const MirrorItem* panel = mirror().find(app.panel + std::string(panel_ending));
  if (panel == nullptr) return app.document.say("The panel is not on the screen any more.");
  app.picture = PictureRequest{full_path(path), panel->min, panel->max};
}

}  // namespace fathom::ui
