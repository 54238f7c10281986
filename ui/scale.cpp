#include "scale.hpp"

#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace fathom::ui {

int percent_of(float scale) { return static_cast<int>(std::lround(scale * 100)); }

void try_scale(App& app, float scale) {
  constexpr double seconds_of_trial = 10;
  const float before = app.scale_trial ? app.scale_trial->before : app.settings.scale;
  app.settings.scale = std::clamp(scale, least_scale, most_scale);
  app.scale_trial.reset();
  if (app.settings.scale != before) app.scale_trial = ScaleTrial{before, ImGui::GetTime() + seconds_of_trial};
}

void end_trial(App& app) {
  if (app.scale_trial) app.settings.scale = app.scale_trial->before;
  app.scale_trial.reset();
}

}  // namespace fathom::ui
