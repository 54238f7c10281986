// What the columns of the Learn workspace are made of: running text with names in their colours, formulas, figures, a repair to write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app.hpp"
#include "session/lesson.hpp"
#include "widgets/maths.hpp"

namespace fathom::ui::panels {

/// Paragraphs between empty lines, broken at words; what stands between backticks is code, and a name of the program in it has its colour
/// and is selected by a click. Mirrored as one text under the id, with the names as words below it.
void running_text(App&, std::string_view id, std::string_view, Role = Role::text);

/// A figure with everything that it needs of the record.
struct Figure {
  session::Drawing drawing;
  std::vector<widgets::MathsBox> formulas;
  struct Pass {
    std::vector<std::string> names;
    std::vector<std::string> handed_on;  ///< "s 2 GiB": stored for a later pass
  };
  std::vector<Pass> passes;
  struct Measured {
    std::string label, text;
    double number = 0;
  };
  std::vector<Measured> bars;
  std::string text;
};
[[nodiscard]] Figure make_figure(const App&, const session::Lesson&, const session::Page&, const session::Drawing&, float em, float width);
void draw_figure(App&, const std::string& id, const Figure&);

/// A line to write the repair into and what becomes of it, and the buttons that take it.
void repair_field(App&, const session::RepairQuestion&);
/// The two laws with what the written repair makes of them.
void repair_laws(App&, const session::RepairQuestion&);

/// A muted line above a part of a column.
void small_head(std::string_view);

// The columns.
void lesson(App&, const widgets::Box&);
void why(App&, const widgets::Box&);

}  // namespace fathom::ui::panels
