// Settings as readable JSON, and back: what it does not name, or names wrongly, is as usual.
#pragma once

#include <string>

#include "app.hpp"

namespace fathom::ui {

[[nodiscard]] std::string settings_text(const Settings&);
[[nodiscard]] Settings settings_of(const std::string& json);

}  // namespace fathom::ui
