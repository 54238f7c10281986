// Words and signs of the record as people read them on the screen.
#pragma once

#include <string>

#include "ir/record.hpp"
#include "theme.hpp"

namespace fathom::ui {

/// "Math"
[[nodiscard]] std::string title_of(Level);
/// ✓ ≈ ◌ ✕ –
[[nodiscard]] const char* sign_of(CheckStatus);
[[nodiscard]] Role role_of(CheckStatus);
[[nodiscard]] Role role_of(Severity);
/// "✓ 36 cases, error 3.1e-07 of 5.6e-06 allowed"
[[nodiscard]] std::string sentence_of(const Check&);
/// "2.00 GiB → 128 MiB", or the one where nothing changed.
[[nodiscard]] std::string change_of(const std::string& before, const std::string& after);

}  // namespace fathom::ui
