// The Learn workspace: the lesson, the stage, why the step is legal.
#include "mirror.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {

void learn(App& app, const Box& box) { stage(app, box); }

}  // namespace fathom::ui::panels
