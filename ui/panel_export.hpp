// A panel as text or as a picture, for notes and reports.
#pragma once

#include <string>

#include "app.hpp"

namespace fathom::ui {

/// The panel that the keyboard or the mouse is in; where that is none, the last one.
void follow_panel(App&);
void copy_panel_text(App&);
void save_panel_text(App&, const std::string& path);
void save_panel_picture(App&, const std::string& path);

}  // namespace fathom::ui
