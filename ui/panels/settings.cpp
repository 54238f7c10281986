// The few settings there are, and the question whether a new size can be read.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "command.hpp"
#include "command_button.hpp"
#include "keys.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "scale.hpp"
#include "widgets/floating.hpp"

namespace fathom::ui::panels {
namespace {

void setting_head(std::string_view words) {
  ImGui::Dummy({1, gap(2)});
  widgets::text(words, Role::muted, Font::caption);
}

void choice(App& app, const char* id, const char* command, const char* label, bool selected) {
  widgets::ButtonOptions options;
  options.selected = selected;
  command_button(app, id, command, label, options);
  ImGui::SameLine();
}

void colours(App& app) {
  setting_head("Colours");
  const Settings& now = app.settings;
  choice(app, "dark", "view.theme-dark", "Dark", !now.follows_system && now.theme == Theme::dark);
  choice(app, "light", "view.theme-light", "Light", !now.follows_system && now.theme == Theme::light);
  choice(app, "system", "view.theme-system", "As the desktop", now.follows_system);
  ImGui::NewLine();
}

void sizes(App& app) {
  setting_head("Size of everything");
  for (const int percent : offered_percents) {
    const std::string label = fmt::format("{} %", percent);
    widgets::ButtonOptions options;
    options.selected = percent_of(app.settings.scale) == percent;
    if (ImGui::GetContentRegionAvail().x < widgets::button_width(label)) ImGui::NewLine();
    if (widgets::button(fmt::format("scale-{}", percent), label, options)) try_scale(app, static_cast<float>(percent) / 100);
    ImGui::SameLine();
  }
  ImGui::NewLine();
}

}  // namespace

void settings(App& app) {
  const bool stays = widgets::begin_floating("settings", "Settings", {{gap(120), gap(72)}, app.overlay.just_opened});
  app.overlay.just_opened = false;
  colours(app);
  sizes(app);
  setting_head("Motion");
  bool reduced = app.settings.reduced_motion;
  if (widgets::checkbox("reduced-motion", "Less motion: nothing slides or blinks", reduced)) run_command(app, "view.reduced-motion");
  setting_head("Keys");
  widgets::ButtonOptions options;
  command_button(app, "keys", "view.keys", "List and change keys", options);
  widgets::end_floating();
  if (!stays && app.overlay.open == Overlay::settings) app.overlay = {};
}

void scale_question(App& app) {
  if (!app.scale_trial) return;
  const int left = static_cast<int>(std::ceil(app.scale_trial->until - ImGui::GetTime()));
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float width = std::min(gap(120), screen.x - gap(4)), height = metrics().row * 2 + gap(8);
  ImGui::SetNextWindowPos({(screen.x - width) / 2, screen.y - metrics().status - height - gap(4)});
  ImGui::SetNextWindowSize({width, height});
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colour(Role::raised));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline());
  ImGui::Begin("##scale", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                   ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar();
  ImGui::PopStyleColor();
  const MirrorScope scope("scale");
  widgets::wrapped(fmt::format("{} % now. Without an answer it is {} % again in {} s.", percent_of(app.settings.scale),
                               percent_of(app.scale_trial->before), left));
  widgets::ButtonOptions keep;
  keep.look = widgets::Look::primary;
  const bool keeps = widgets::button("keep", "Keep this size", keep);
  ImGui::SameLine();
  const bool goes_back = widgets::button("back", fmt::format("Back to {} %", percent_of(app.scale_trial->before)));
  ImGui::End();
  if (keeps)
    app.scale_trial.reset();
  else if (goes_back || left <= 0)
    end_trial(app);
}

}  // namespace fathom::ui::panels
