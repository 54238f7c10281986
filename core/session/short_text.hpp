// Numbers as sentences have them, and the places in sentences where they go.
#pragma once

#include <string>
#include <string_view>

namespace fathom::session {

/// Three significant digits; −, ∞ and NaN.
[[nodiscard]] std::string number_text(double);
/// Everywhere.
[[nodiscard]] std::string replaced(std::string text, std::string_view what, std::string_view with);

}  // namespace fathom::session
