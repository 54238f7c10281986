// The outer columns of a workspace: as wide as the design has them for the window, until somebody moves their borders.
#pragma once

#include <string_view>

#include "widgets/basic.hpp"

namespace fathom::ui::panels {

/// The part of the width that a column has: `small` gaps in a workspace that is 320 gaps wide, `large` in one of 480, in between and
/// below in proportion.
[[nodiscard]] float usual_part(float width, float small, float large);
/// The border of an outer column, to be moved. `kept` is its part of the width, 0 until it was moved.
struct OuterBorder {
  std::string_view id;
  widgets::Box box;
  float part = 0, width = 0;  ///< of the column now; of the whole
  bool is_right = false;      ///< the column lies at the right
  float least = 0, most = 1;  ///< parts
};
void outer_border(const OuterBorder&, float& kept);

}  // namespace fathom::ui::panels
