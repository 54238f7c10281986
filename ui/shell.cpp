#include "shell.hpp"

#include <imgui.h>

#include <array>
#include <string>
#include <utility>

#include "mirror.hpp"
#include "panels/panels.hpp"

namespace fathom::ui {
namespace {

using widgets::Box;

/// One panel, and tabs to choose it.
void one_column(App& app, const Box& box) {
  constexpr std::array<std::pair<const char*, const char*>, 3> choices = {
      {{"steps", "Steps"}, {"middle", "Program"}, {"card", "This step"}}};
  std::string shown = "middle";
  for (const auto& [id, title] : choices)
    if (app.view.alone == id) shown = id;
  {
    const MirrorScope scope("column");
    ImGui::SetCursorScreenPos(box.min);
    for (const auto& [id, title] : choices) {
      if (widgets::tab(id, title, shown == id)) app.view.alone = id;
      ImGui::SameLine(0, 0);
    }
  }
  const Box below{{box.min.x, box.min.y + metrics().panel_head + gap(1)}, box.max};
  if (shown == "steps") return panels::steps(app, below);
  if (shown == "card") return panels::step_card(app, below);
  panels::middle(app, below);
}

/// Left, middle and right panel with what moves the borders between them, or the middle one alone.
void explore(App& app, const Box& box) {
  const float between = gap(2);
  if (panels::is_narrow()) return one_column(app, box);
  if (app.view.alone == "steps") return panels::steps(app, box);
  if (app.view.alone == "card") return panels::step_card(app, box);
  if (app.view.alone == "middle") return panels::middle(app, box);
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
  if (head.empty()) return;
  const bool has_columns = app.view.workspace != Workspace::tune;
  if (has_columns) app.view.alone = app.view.alone.empty() ? head : "";
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
  ImGui::Begin("##shell", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
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
