#include "overlay.hpp"

#include "app.hpp"
#include "scale.hpp"
#include "tour.hpp"

namespace fathom::ui {

void open_overlay(App& app, Overlay which) {
  const bool closes = app.overlay.open == which;
  app.overlay = {};
  if (closes) return;
  app.overlay.open = which;
  app.overlay.just_opened = true;
}

bool waits_for_keys(const App& app) { return app.overlay.open == Overlay::keys && !app.overlay.waits.empty(); }

bool close_topmost(App& app) {
  if (app.scale_trial) {
    end_trial(app);
    return true;
  }
  if (app.overlay.open != Overlay::none) {
    app.overlay = {};
    return true;
  }
  if (app.tour) {
    end_tour(app);
    return true;
  }
  if (!app.view.alone.empty()) {
    app.view.alone.clear();
    return true;
  }
  return false;
}

}  // namespace fathom::ui
