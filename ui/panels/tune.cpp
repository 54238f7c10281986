// The Tune workspace: decisions, plots above the table of runs, what to take away.
#include <array>

#include "mirror.hpp"
#include "panels/alone.hpp"
#include "panels/columns.hpp"
#include "panels/panels.hpp"
#include "panels/tune_parts.hpp"

namespace fathom::ui::panels {
namespace {

constexpr float least_for_table = 300;  // gaps: in a narrower window the table has no room between the others

constexpr std::array tune_panels = std::to_array<PanelEntry>({{"tune/decisions", "Decisions", tune_decisions},
                                                              {"tune/plots", "Plots", tune_plots},
                                                              {"tune/trials", "Trials", tune_trials},
                                                              {"tune/run", "This run", tune_card}});

}  // namespace

void tune(App& app, const Box& box) {
  const MirrorScope scope("tune");
  if (draw_alone(app, box, tune_panels, "tune/trials", least_for_table)) return;
  TuneView& view = app.view.tune;
  const float between = gap(2), width = box.width();
  const float left_part = view.left > 0 ? view.left : usual_part(width, 75, 90),
              right_part = view.right > 0 ? view.right : usual_part(width, 100, 150);
  const bool alone = app.view.alone == "middle";
  const float left = alone ? box.min.x - between / 2 : box.min.x + left_part * width;
  const float right = alone ? box.max.x + between / 2 : box.max.x - right_part * width;
  const float middle = box.min.y + view.top * box.height();
  if (!alone) tune_decisions(app, {box.min, {left - between / 2, box.max.y}});
  tune_plots(app, {{left + between / 2, box.min.y}, {right - between / 2, middle - between / 2}});
  tune_trials(app, {{left + between / 2, middle + between / 2}, {right - between / 2, box.max.y}});
  if (!alone) tune_card(app, {{right + between / 2, box.min.y}, box.max});
  widgets::splitter("top", {{left + between / 2, middle - between / 2}, {right - between / 2, middle + between / 2}}, false, view.top,
                    box.height(), 0.2F, 0.75F);
  if (alone) return;
  outer_border({"left", {{left - between / 2, box.min.y}, {left + between / 2, box.max.y}}, left_part, width, false, 0.15F, 0.35F},
               view.left);
  outer_border({"right", {{right - between / 2, box.min.y}, {right + between / 2, box.max.y}}, right_part, width, true, 0.20F, 0.45F},
               view.right);
}

}  // namespace fathom::ui::panels
