#include "shell.hpp"

#include <imgui.h>

#include <array>
#include <string>

#include "panels/alone.hpp"
#include "panels/panels.hpp"

namespace fathom::ui {
namespace {

using widgets::Box;

constexpr std::array explore_panels = std::to_array<panels::PanelEntry>(
    {{"steps", "Steps", panels::steps}, {"middle", "Program, IR, code", panels::middle}, {"card", "This step", panels::step_card}});

/// Left, middle and right panel with what moves the borders between them.
void explore(App& app, const Box& box) {
  const float between = gap(2);
  if (panels::draw_alone(app, box, explore_panels, "middle")) return;
  const float left = box.min.x + app.view.left * box.width(), right = box.max.x - app.view.right * box.width();
  panels::steps(app, {box.min, {left - between / 2, box.max.y}});
  panels::middle(app, {{left + between / 2, box.min.y}, {right - between / 2, box.max.y}});
  panels::step_card(app, {{right + between / 2, box.min.y}, box.max});
  widgets::splitter("left", {{left - between / 2, box.min.y}, {left + between / 2, box.max.y}}, true, app.view.left, box.width(), 0.12F,
                    0.40F);
  float kept = 1 - app.view.right;
  widgets::splitter("right", {{right - between / 2, box.min.y}, {right + between / 2, box.max.y}}, true, kept, box.width(), 0.55F, 0.82F);
  app.view.right = 1 - kept;
}

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
  panels::ribbon(app, strip(sizes.ribbon));
  const float edge = gap(2);
  const Box workspace{{edge, top + edge}, {size.x - edge, size.y - sizes.status - edge}};
  switch (app.view.workspace) {
    case Workspace::learn:
      panels::learn(app, workspace);
      break;
    case Workspace::explore:
      explore(app, workspace);
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
