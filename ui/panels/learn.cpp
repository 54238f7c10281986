// The Learn workspace: the lesson, what the program does, why the step is legal.
#include <algorithm>
#include <array>

#include "lesson.hpp"
#include "panels/alone.hpp"
#include "panels/lesson_parts.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {
namespace {

/// Widths of the columns, in gaps: at the narrow and at the wide screen of the design, in between and beyond in proportion.
struct Columns {
  float whole, left, right;
};
constexpr Columns narrow{320, 85, 95}, wide{480, 110, 150};

Columns columns_of(float width) {
  const float t = std::clamp((width - gap(narrow.whole)) / gap(wide.whole - narrow.whole), 0.0F, 1.0F);
  const auto between = [&](float a, float b) { return gap(a + t * (b - a)); };
  const float shrunk = std::min(1.0F, width / gap(narrow.whole));
  return {width, shrunk * between(narrow.left, wide.left), shrunk * between(narrow.right, wide.right)};
}

/// What is seen before an answer would give it away.
void middle_column(App& app, const Box& box) {
  if (!hides_answer(app)) return stage(app, box);
  widgets::begin_panel("stage", box, {"After your answer", false});
  widgets::wrapped("What the program does here is shown after your answer.", Role::muted, Font::lesson);
  widgets::end_panel();
}

constexpr std::array learn_panels =
    std::to_array<PanelEntry>({{"lesson", "Lesson", lesson}, {"stage", "Stage", middle_column}, {"why", "Why it is legal", why}});

}  // namespace

void learn(App& app, const Box& box) {
  const float between = gap(2);
  if (app.view.alone == "middle") return middle_column(app, box);
  if (draw_alone(app, box, learn_panels, "lesson")) return;
  const Columns columns = columns_of(ImGui::GetIO().DisplaySize.x);
  const float left = box.min.x + columns.left - between, right = box.max.x - columns.right + between;
  lesson(app, {box.min, {left, box.max.y}});
  middle_column(app, {{left + between, box.min.y}, {right - between, box.max.y}});
  why(app, {{right, box.min.y}, box.max});
}

}  // namespace fathom::ui::panels
