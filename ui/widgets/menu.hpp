// A list of rows that opens below a button: by mouse, or by Up, Down, Enter and Esc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "widgets/basic.hpp"

namespace fathom::ui::widgets {

struct MenuRow {
  std::string id, label;
  std::string right;     ///< keys, or what it is; muted
  std::string disabled;  ///< why; empty: it can be taken
  bool selected = false;
  bool begins_group = false;
};

/// A button that opens the menu; the row that was taken in this frame.
std::optional<std::size_t> menu_button(std::string_view id, std::string_view label, const ButtonOptions&, const std::vector<MenuRow>&);

}  // namespace fathom::ui::widgets
