// What is selected or under the mouse: one for all panels.
#pragma once

#include <cstddef>
#include <string>

namespace fathom::ui {

/// One thing of the program, shared by all panels: a name as it stands in the program after a step.
struct Selection {
  std::string name;
  std::size_t step = 0;
  [[nodiscard]] bool is_empty() const { return name.empty(); }
  friend bool operator==(const Selection&, const Selection&) = default;
};

}  // namespace fathom::ui
