// What a decision could have been: shared by the card of a step and the list of decisions.
#pragma once

#include "app.hpp"

namespace fathom::ui::panels {

/// Every alternative with its time or why it is refused: looking at one previews it, pressing takes it. Below them what the preview would
/// change, lock and reset.
void choices(App&, const Decision&);

}  // namespace fathom::ui::panels
