// Whether the desktop is light or dark, as its own settings say.
#pragma once

#include <optional>

#include "theme.hpp"

namespace fathom::ui {

/// Asks the desktop once, when it is first called.
class SystemTheme {
 public:
  [[nodiscard]] Theme operator()();

 private:
  std::optional<Theme> known_;
};

}  // namespace fathom::ui
