// One panel of a workspace with all the place: because it was asked for, or because there is room for no more.
#pragma once

#include <span>
#include <string_view>

#include "panels/panels.hpp"

namespace fathom::ui::panels {

struct PanelEntry {
  std::string_view id;     ///< its path in the mirror, which View::alone names
  std::string_view title;  ///< of its tab
  void (*draw)(App&, const Box&);
};

/// Draws the one that View::alone names. In a window of fewer gaps than `least_width` it draws one in any case, `usual` where none is
/// named, below tabs to choose it. False: nothing was drawn, the workspace shows all.
[[nodiscard]] bool draw_alone(App&, const Box&, std::span<const PanelEntry>, std::string_view usual, float least_width = least_for_columns);

}  // namespace fathom::ui::panels
