// Printed programs as lines of a text view: names in the colour of the tensor they come from, words of the language muted, differences
// with folds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app.hpp"
#include "widgets/text_view.hpp"

namespace fathom::ui {

/// Comments muted, words of the language in their ink, names that `entity` knows in its colour.
[[nodiscard]] std::vector<widgets::Stretch> stretches_of(std::string_view line,
                                                         const std::function<std::optional<std::size_t>(std::string_view name)>& entity);
/// How a name of the program after the step stands out: by the selection and by what is under the mouse.
[[nodiscard]] widgets::Emphasis emphasis_of(const App&, std::size_t step, const std::string& name);
/// The program after the step, numbered.
[[nodiscard]] std::vector<widgets::TextLine> program_lines(const App&, std::size_t step);
/// A program's text and the step after which its names stand.
struct ProgramText {
  std::string text;
  std::size_t step = 0;
};
/// The difference of two programs: lines that went carry the first one's step as their tag, all others the second one's. Runs of unchanged
/// lines whose first number is not in `open` are folded.
[[nodiscard]] std::vector<widgets::TextLine> difference_lines(const App&, const ProgramText& before, const ProgramText& after,
                                                              const std::vector<int>& open);

}  // namespace fathom::ui
