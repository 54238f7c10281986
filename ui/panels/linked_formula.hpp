// A formula of the open program at its step, linked with all other panels.
#pragma once

#include <string>

#include "app.hpp"
#include "widgets/maths.hpp"

namespace fathom::ui::panels {

/// Names have their colours, stand out and are pressed as everywhere. Scrolls where it is wider than the place.
void linked_formula(App&, const std::string& id, const widgets::MathsBox&);

}  // namespace fathom::ui::panels
