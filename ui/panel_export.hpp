// A panel as text or as a picture, for notes and reports.
#pragma once

#include <string>

#include "app.hpp"

namespace fathom::ui {

/// The panel that was clicked into or reached by keyboard last; where none was, that under the mouse.
void follow_panel(App&);
/// "plots" of `tune/plots`: a part of a file's name.
[[nodiscard]] std::string name_of_panel(const App&);
void copy_panel_text(App&);
void save_panel_text(App&, const std::string& path);
void save_panel_picture(App&, const std::string& path);

}  // namespace fathom::ui
