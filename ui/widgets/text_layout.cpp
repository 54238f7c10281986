#include "widgets/text_layout.hpp"

#include <algorithm>
#include <utility>

namespace fathom::ui::widgets {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }
bool is_space(std::string_view line, std::size_t column) { return line[column] == ' ' || line[column] == '\t'; }

}  // namespace

// ---- columns ----
std::size_t whole_column(std::string_view line, std::size_t column) {
  column = std::min(column, line.size());
  while (column > 0 && column < line.size() && continues(line[column])) --column;
  return column;
}

std::size_t column_before(std::string_view line, std::size_t column) {
  while (column > 0 && continues(line[--column])) {
  }
  return column;
}

std::size_t column_after(std::string_view line, std::size_t column) {
  if (column >= line.size()) return line.size();
  do ++column;
  while (column < line.size() && continues(line[column]));
  return column;
}

/// Letters of other scripts count, signs such as × ÷ → ∞ do not: all those have a first byte of their own.
bool is_word_character(std::string_view line, std::size_t column) {
  if (column >= line.size()) return false;
  const char c = line[column];
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_') return true;
  const auto lead = static_cast<unsigned char>(c);
  if (lead < 0xC3 || lead == 0xE2 || lead >= 0xF0) return false;
  const std::string_view whole = line.substr(column, 2);
  return whole != "\xC3\x97" && whole != "\xC3\xB7";
}

Columns word_at(std::string_view line, std::size_t column) {
  column = whole_column(line, column);
  if (!is_word_character(line, column) && column > 0 && is_word_character(line, column_before(line, column)))
    column = column_before(line, column);
  if (!is_word_character(line, column)) return {column, column_after(line, column)};
  Columns word{column, column};
  while (word.begin > 0 && is_word_character(line, column_before(line, word.begin))) word.begin = column_before(line, word.begin);
  while (is_word_character(line, word.end)) word.end = column_after(line, word.end);
  return word;
}

float x_of(std::string_view line, std::size_t column) { return measure(line.substr(0, std::min(column, line.size())), Font::code).x; }

std::size_t column_near(std::string_view line, float x) {
  float left = 0;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t next = column_after(line, at);
    const float width = measure(line.substr(at, next - at), Font::code).x;
    if (x < left + width / 2) return at;
    left += width;
    at = next;
  }
  return line.size();
}

// ---- places ----
Place clamped(const Lines& lines, Place at) {
  if (lines.count == 0) return {};
  if (at.line >= lines.count) return lines.end();
  return {at.line, whole_column(lines[at.line], at.column)};
}

std::string text_between(const Lines& lines, Place a, Place b) {
  if (b < a) std::swap(a, b);
  a = clamped(lines, a);
  b = clamped(lines, b);
  if (a.line == b.line) return std::string(lines[a.line].substr(a.column, b.column - a.column));
  std::string out(lines[a.line].substr(a.column));
  for (std::size_t line = a.line + 1; line < b.line; ++line) (out += '\n') += lines[line];
  return (out += '\n') += lines[b.line].substr(0, b.column);
}

namespace {

Place word_left(const Lines& lines, Place at) {
  if (at.column == 0) return at.line == 0 ? at : Place{at.line - 1, lines[at.line - 1].size()};
  const std::string_view line = lines[at.line];
  std::size_t column = at.column;
  while (column > 0 && is_space(line, column_before(line, column))) column = column_before(line, column);
  if (column == 0) return {at.line, 0};
  const bool word = is_word_character(line, column_before(line, column));
  const auto goes_on = [&](std::size_t before) { return is_word_character(line, before) == word && !is_space(line, before); };
  while (column > 0 && goes_on(column_before(line, column))) column = column_before(line, column);
  return {at.line, column};
}

Place word_right(const Lines& lines, Place at) {
  const std::string_view line = lines[at.line];
  if (at.column >= line.size()) return at.line + 1 < lines.count ? Place{at.line + 1, 0} : at;
  std::size_t column = at.column;
  const bool word = is_word_character(line, column);
  while (column < line.size() && !is_space(line, column) && is_word_character(line, column) == word) column = column_after(line, column);
  while (column < line.size() && is_space(line, column)) column = column_after(line, column);
  return {at.line, column};
}

/// First to where the text of the line begins, then to the line's own begin.
std::size_t home_of(std::string_view line, std::size_t column) {
  const std::size_t text = std::min(line.find_first_not_of(" \t"), line.size());
  return column == text ? 0 : text;
}

}  // namespace

Place moved(const Lines& lines, Place at, Move move, std::size_t page, float& x) {
  at = clamped(lines, at);
  const std::string_view line = lines[at.line];
  const auto vertically = [&](std::size_t target) {
    if (x < 0) x = x_of(line, at.column);
    return Place{target, column_near(lines[target], x)};
  };
  switch (move) {
    case Move::up:
      return at.line == 0 ? Place{} : vertically(at.line - 1);
    case Move::down:
      return at.line + 1 >= lines.count ? lines.end() : vertically(at.line + 1);
    case Move::page_up:
      return vertically(at.line - std::min(at.line, page));
    case Move::page_down:
      return vertically(std::min(at.line + page, lines.end().line));
    default:
      break;
  }
  x = -1;
  switch (move) {
    case Move::left:
      if (at.column > 0) return {at.line, column_before(line, at.column)};
      return at.line > 0 ? Place{at.line - 1, lines[at.line - 1].size()} : at;
    case Move::right:
      if (at.column < line.size()) return {at.line, column_after(line, at.column)};
      return at.line + 1 < lines.count ? Place{at.line + 1, 0} : at;
    case Move::word_left:
      return word_left(lines, at);
    case Move::word_right:
      return word_right(lines, at);
    case Move::home:
      return {at.line, home_of(line, at.column)};
    case Move::end:
      return {at.line, line.size()};
    case Move::first:
      return {};
    default:
      return lines.end();
  }
}

std::vector<Place> places_of(const Lines& lines, std::string_view query) {
  std::vector<Place> found;
  if (query.empty()) return found;
  for (std::size_t line = 0; line < lines.count; ++line) {
    const std::string_view text = lines.get(line);
    for (std::size_t at = text.find(query); at != std::string_view::npos; at = text.find(query, at + query.size()))
      found.push_back({line, at});
  }
  return found;
}

}  // namespace fathom::ui::widgets
