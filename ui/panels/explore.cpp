// The Explore workspace: steps, what the program looks like after the one that is looked at, what that step is. On a wide screen the text
// of the program stands beside.
#include <array>

#include "mirror.hpp"
#include "panels/alone.hpp"
#include "panels/columns.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {
namespace {

void program_panel(App& app, const Box& box) {
  widgets::begin_panel("program", box, {"Program", false});
  program(app);
  widgets::end_panel();
}

constexpr std::array explore_panels =
    std::to_array<PanelEntry>({{"steps", "Steps", steps}, {"middle", "Program, IR, code", middle}, {"card", "This step", step_card}});

}  // namespace

void explore(App& app, const Box& box) {
  if (draw_alone(app, box, explore_panels, "middle")) return;
  if (app.view.alone == "program") return program_panel(app, box);
  View& view = app.view;
  const float between = gap(2), width = box.width();
  const float left_part = view.left > 0 ? view.left : usual_part(width, 70, 80);
  const float right_part = view.right > 0 ? view.right : usual_part(width, 95, 110);
  const float left = box.min.x + left_part * width, right = box.max.x - right_part * width;
  const float middle_from = shows_program_beside(app) ? left + view.program * (right - left) : left;
  steps(app, {box.min, {left - between / 2, box.max.y}});
  if (middle_from > left) program_panel(app, {{left + between / 2, box.min.y}, {middle_from - between / 2, box.max.y}});
  middle(app, {{middle_from + between / 2, box.min.y}, {right - between / 2, box.max.y}});
  step_card(app, {{right + between / 2, box.min.y}, box.max});
  const auto border = [&](float x) { return Box{{x - between / 2, box.min.y}, {x + between / 2, box.max.y}}; };
  outer_border({"left", border(left), left_part, width, false, 0.12F, 0.40F}, view.left);
  outer_border({"right", border(right), right_part, width, true, 0.18F, 0.45F}, view.right);
  if (middle_from > left) widgets::splitter("program-end", border(middle_from), true, view.program, right - left, 0.25F, 0.75F);
}

}  // namespace fathom::ui::panels
