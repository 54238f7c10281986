// The frame of all workspaces: bar, ribbon, panels, status line.
#pragma once

#include "app.hpp"

namespace fathom::ui {

void draw_shell(App&);

}  // namespace fathom::ui
