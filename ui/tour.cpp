#include "tour.hpp"

#include <array>

namespace fathom::ui {
namespace {

constexpr std::array stops = std::to_array<TourStop>({
    {"steps/panel",
     "Fathom lowers an operator, written as mathematics, to a kernel. These are its steps in order; the sign says how the check went."},
    {"ribbon/step.next", "These walk through the steps, and so do the arrow keys Left and Right."},
    {"middle/ir",
     "Here stands the program after the step, with what the step changed; the other tabs show its text, its graph and its code."},
    {"card/panel",
     "The card says why the step is right and what it saves; where it had a choice, a click takes another one and Ctrl+Z takes it back."},
    {"bar/learn",
     "Three workspaces: Learn leads through a lowering and asks you, Explore shows all of it, Tune runs plans on this machine."},
    {"bar/view.palette", "Every command can be found here by its name, and ? lists all keys."},
});

}  // namespace

std::span<const TourStop> tour_stops() { return stops; }

void begin_tour(App& app) {
  app.view.workspace = Workspace::explore;
  app.view.alone.clear();
  app.tour = 0;
}

void next_stop(App& app) {
  if (!app.tour) return;
  if (*app.tour + 1 < stops.size())
    ++*app.tour;
  else
    end_tour(app);
}

void previous_stop(App& app) {
  if (app.tour && *app.tour > 0) --*app.tour;
}

void end_tour(App& app) { app.tour.reset(); }

}  // namespace fathom::ui
