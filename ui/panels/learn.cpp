// The Learn workspace: the lesson, the stage, why the step is legal.
#include "mirror.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {

void learn(App& app, const Box& box) {
  (void)app;
  widgets::begin_panel("learn", box, {"Learn", false});
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
