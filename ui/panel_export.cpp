#include "panel_export.hpp"

#include <fmt/format.h>

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

std::string title_of_panel(const App& app) { return app.panel == "card" ? "this step" : app.panel; }

}  // namespace

void follow_panel(App& app) {
  if (app.palette.is_open || app.overlay.open != Overlay::none) return;
  const ImVec2 mouse = ImGui::GetMousePos();
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
      return;
    }
    if (mouse.x >= item.min.x && mouse.x < item.max.x && mouse.y >= item.min.y && mouse.y < item.max.y) under = id;
  }
  if (!under.empty())
    app.panel = under;
  else if (!is_there)
    app.panel = first;
}

void copy_panel_text(App& app) {
  if (app.copy) app.copy(mirror().text_of(app.panel));
  app.document.say(fmt::format("The text of the panel “{}” is in the clipboard.", title_of_panel(app)));
}

void save_panel_text(App& app, const std::string& path) {
  const std::string whole = whole_path(path);
  const auto error = write_whole(whole, mirror().text_of(app.panel));
  app.document.say(error ? *error : fmt::format("Saved: {}", whole));
}

void save_panel_picture(App& app, const std::string& path) {
  const MirrorItem* panel = mirror().find(app.panel + std::string(panel_ending));
  if (panel == nullptr) return app.document.say("The panel is not on the screen any more.");
  app.picture = PictureRequest{whole_path(path), panel->min, panel->max};
}

}  // namespace fathom::ui
