// A window over the workspace with a head and a cross: it stops nothing below it.
#pragma once

#include <string_view>

#include "widgets/basic.hpp"

namespace fathom::ui::widgets {

struct FloatingOptions {
  ImVec2 size;               ///< as much of it as the screen has room for
  bool just_opened = false;  ///< it comes to the front and gets the keys
};
/// In the middle below the bar. Draw its content, then end_floating(); false where its cross was pressed.
[[nodiscard]] bool begin_floating(std::string_view id, std::string_view title, const FloatingOptions&);
void end_floating();

}  // namespace fathom::ui::widgets
