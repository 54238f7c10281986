// The panels of the Tune workspace; files are named after the functions.
#pragma once

#include "panels/panels.hpp"

namespace fathom::ui::panels {

void tune_decisions(App&, const Box&);  ///< every decision of the plan, its alternatives in place
void tune_plots(App&, const Box&);      ///< times over runs, roofline, traffic
void tune_trials(App&, const Box&);     ///< the table of runs, and what comparisons said
void tune_card(App&, const Box&);       ///< the selected run, what its plan uses, what can be taken away

}  // namespace fathom::ui::panels
