// The Tune workspace: decisions, runs on this machine, what to take away.
#include "mirror.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {

void tune(App& app, const Box& box) {
  (void)app;
  widgets::begin_panel("tune", box, {"Tune", false});
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
