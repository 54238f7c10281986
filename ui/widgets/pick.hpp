// One of several: a button that says which, and opens the list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "widgets/basic.hpp"

namespace fathom::ui::widgets {

/// The number of the one that was picked in this frame. The button is at most `width` wide.
[[nodiscard]] std::optional<std::size_t> pick(std::string_view id, const std::vector<std::string>& names, std::size_t at, float width,
                                              std::string_view tip);

}  // namespace fathom::ui::widgets
