// The Tune workspace: decisions, plots above the table of runs, what to take away.
#include <algorithm>
#include <array>

#include "mirror.hpp"
#include "panels/alone.hpp"
#include "panels/panels.hpp"
#include "panels/tune_parts.hpp"

namespace fathom::ui::panels {
namespace {

constexpr float base_width = 320, wide_width = 480;  // gaps: 1280 and 1920
constexpr float least_for_columns = 300;             // gaps: in a narrower window the table has no room between the others

/// From the width that the outer columns have on a small screen to that on a large one.
float usual_part(float width, float small, float large) {
  const float along = std::clamp((width / gap(1) - base_width) / (wide_width - base_width), 0.0F, 1.0F);
  return gap(small + along * (large - small)) / width;
}

/// A splitter over a part that stays "as usual" until it is moved.
void outer_splitter(std::string_view id, const Box& box, float part, float& kept, float width, bool from_right) {
  float at = from_right ? 1 - part : part;
  const float before = at;
  widgets::splitter(id, box, true, at, width, from_right ? 0.55F : 0.15F, from_right ? 0.80F : 0.35F);
  if (at != before) kept = from_right ? 1 - at : at;
}

constexpr std::array tune_panels = std::to_array<PanelEntry>({{"tune/decisions", "Decisions", tune_decisions},
                                                              {"tune/plots", "Plots", tune_plots},
                                                              {"tune/trials", "Trials", tune_trials},
                                                              {"tune/run", "This run", tune_card}});

}  // namespace

void tune(App& app, const Box& box) {
  const MirrorScope scope("tune");
  if (draw_alone(app, box, tune_panels, "tune/trials", least_for_columns)) return;
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
  outer_splitter("left", {{left - between / 2, box.min.y}, {left + between / 2, box.max.y}}, left_part, view.left, width, false);
  outer_splitter("right", {{right - between / 2, box.min.y}, {right + between / 2, box.max.y}}, right_part, view.right, width, true);
}

}  // namespace fathom::ui::panels
