// Where running text breaks: between words. (Dear ImGui breaks behind full stops as well, in the middle of numbers and names.)
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "fonts.hpp"

namespace fathom::ui::widgets {

struct BrokenLine {
  std::size_t begin = 0, end = 0;  ///< bytes; blanks at a break belong to no line
};

/// `width` in device pixels. A word that alone is wider is broken between two characters.
[[nodiscard]] std::vector<BrokenLine> lines_within(std::string_view, float width, Font);
/// The same as one text with line ends.
[[nodiscard]] std::string broken_within(std::string_view, float width, Font);

}  // namespace fathom::ui::widgets
