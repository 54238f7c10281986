// What a panel says while no program compiles.
#pragma once

#include <string_view>

#include "app.hpp"

namespace fathom::ui::panels {

/// What will stand here, what is in the way, and the way to it. A text that is being compiled for the first time just takes its time.
void nothing_shown(App&, std::string_view promise);
/// To the editor, where what is wrong is marked.
void show_errors(App&);

}  // namespace fathom::ui::panels
