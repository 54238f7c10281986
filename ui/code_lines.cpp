#include "code_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "session/text_diff.hpp"

namespace fathom::ui {
namespace {

using widgets::Stretch;
using widgets::TextLine;

constexpr std::size_t context = 3;  ///< unchanged lines that are shown around a change

bool is_near_change(const std::vector<session::DiffLine>& lines, std::size_t at) {
  const std::size_t from = at > context ? at - context : 0, to = std::min(lines.size(), at + context + 1);
  return std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.begin() + static_cast<std::ptrdiff_t>(to),
                     [](const session::DiffLine& line) { return line.mark != ' '; });
}

/// Of a program's line: its names stand after `step`.
std::vector<Stretch> program_stretches(const App& app, std::string_view line, std::size_t step) {
  return stretches_of(line, [&](std::string_view name) { return app.colour_of(step, std::string(name)); });
}

}  // namespace

std::vector<Stretch> stretches_of(std::string_view line, const std::function<std::optional<std::size_t>(std::string_view)>& entity) {
  std::vector<Stretch> stretches;
  for (const session::Word& word : session::words_of(line)) {
    if (word.kind == session::WordKind::keyword) stretches.push_back({word.begin, word.end, colour(Role::accent), {}});
    if (word.kind == session::WordKind::comment) stretches.push_back({word.begin, word.end, colour(Role::muted), {}});
    if (word.kind != session::WordKind::name) continue;
    const std::string_view name = text_of(line, word);
    if (const auto number = entity(name)) stretches.push_back({word.begin, word.end, entity_colour(*number), std::string(name)});
  }
  return stretches;
}

widgets::Emphasis emphasis_of(const App& app, std::size_t step, const std::string& name) {
  return app.is_selected(step, name)  ? widgets::Emphasis::selected
         : app.is_hovered(step, name) ? widgets::Emphasis::hovered
                                      : widgets::Emphasis::none;
}

std::vector<TextLine> program_lines(const App& app, std::size_t step) {
  const std::string text = print(app.document.shown()->steps()[step].after);
  std::vector<TextLine> lines;
  int number = 0;
  for (const std::string_view line : session::lines_of(text))
    lines.push_back({std::string(line), program_stretches(app, line, step), ' ', ++number, step});
  return lines;
}

std::vector<TextLine> difference_lines(const App& app, const ProgramText& before, const ProgramText& after, const std::vector<int>& open) {
  const auto all = session::diff_lines(before.text, after.text);
  std::vector<TextLine> lines;
  int number = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t tag = all[i].mark == '-' ? before.step : after.step;
    if (all[i].mark != '-') ++number;
    const auto add = [&](std::size_t at, int shown) {
      lines.push_back(
          {std::string(all[at].text), program_stretches(app, all[at].text, tag), all[at].mark, all[at].mark == '-' ? 0 : shown, tag});
    };
    if (is_near_change(all, i)) {
      add(i, number);
      continue;
    }
    std::size_t end = i;
    while (end < all.size() && !is_near_change(all, end)) ++end;
    const bool is_open = std::find(open.begin(), open.end(), number) != open.end();
    if (is_open)
      for (std::size_t k = i; k < end; ++k) add(k, number + static_cast<int>(k - i));
    else
      lines.push_back({fmt::format("{} more unchanged line{}", end - i, end - i == 1 ? "" : "s"), {}, '>', number, tag});
    number += static_cast<int>(end - i) - 1;
    i = end - 1;
  }
  return lines;
}

}  // namespace fathom::ui
