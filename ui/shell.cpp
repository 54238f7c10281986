#include "shell.hpp"

#include <imgui.h>

#include <string>

#include "panels/panels.hpp"

namespace fathom::ui {
namespace {

using widgets::Box;

/// A double click on a panel's head gives it all the place, and takes it back.
void answer_heads(App& app) {
  const std::string head = widgets::double_clicked_head();
  if (!head.empty()) app.view.alone = app.view.alone.empty() ? head : "";
}

void over_workspace(App& app) {
  if (app.overlay.open == Overlay::keys) panels::keys_sheet(app);
  if (app.overlay.open == Overlay::settings) panels::settings(app);
  panels::tour(app);
  panels::scale_question(app);
}

}  // namespace

void draw_shell(App& app) {
  const ImVec2 size = ImGui::GetIO().DisplaySize;
  ImGui::SetNextWindowPos({0, 0});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  // The ground is what the platform clears the screen to: filling it once more takes a third of a frame that is drawn by software.
  ImGui::Begin("##shell", nullptr,
               ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                   ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar();
  const Metrics& sizes = metrics();
  float top = 0;
  const auto strip = [&](float height) {
    const Box box{{0, top}, {size.x, top + height}};
    top += height;
    return box;
  };
  panels::bar(app, strip(sizes.bar));
  panels::ribbon(app, strip(panels::ribbon_height(app)));
  const float edge = gap(2);
  const Box workspace{{edge, top + edge}, {size.x - edge, size.y - sizes.status - edge}};
  switch (app.view.workspace) {
    case Workspace::learn:
      panels::learn(app, workspace);
      break;
    case Workspace::explore:
      panels::explore(app, workspace);
      break;
    case Workspace::tune:
      panels::tune(app, workspace);
      break;
  }
  answer_heads(app);
  panels::status(app, {{0, size.y - sizes.status}, size});
  ImGui::End();
  over_workspace(app);
  panels::palette(app);
}

}  // namespace fathom::ui
