// The Learn workspace: the lesson, what the program does, why the step is legal.
#include <array>

#include "lesson.hpp"
#include "panels/alone.hpp"
#include "panels/columns.hpp"
#include "panels/lesson_parts.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {
namespace {

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
  const float width = ImGui::GetIO().DisplaySize.x;
  const float left = box.min.x + usual_part(width, 85, 110) * width - between;
  const float right = box.max.x - usual_part(width, 95, 150) * width + between;
  lesson(app, {box.min, {left, box.max.y}});
  middle_column(app, {{left + between, box.min.y}, {right - between, box.max.y}});
  why(app, {{right, box.min.y}, box.max});
}

}  // namespace fathom::ui::panels
