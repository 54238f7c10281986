// Joins origins and renders diagnostics: file:line:column, the source line, the span underlined. Columns count characters, not bytes.
#include "ir/result.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fathom {
namespace {

constexpr std::size_t widest_line = 160;  // of a longer line the part around the span is shown

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) { return !continues_character(byte); }));
}

struct Place {
  std::size_t line = 1, column = 1;
  std::string_view text;  // the part of the line that is shown
  std::size_t begin = 0;  // of the span in `text`, bytes
  std::size_t end = 0;
};

/// The shown part never begins or ends inside a character.
void cut(Place& place) {
  if (place.text.size() <= widest_line) return;
  std::size_t from = place.begin > widest_line / 2 ? place.begin - widest_line / 2 : 0;
  while (from > 0 && continues_character(place.text[from])) --from;
  std::size_t size = std::min(widest_line, place.text.size() - from);
  while (from + size < place.text.size() && continues_character(place.text[from + size])) ++size;
  place.text = place.text.substr(from, size);
  place.begin -= from;
  place.end = std::min(place.end - from, size);
}

Place place_of(const SourceSpan& span, std::string_view source) {
  const std::size_t begin = std::min<std::size_t>(span.begin, source.size());
  const std::size_t end = std::max(begin, std::min<std::size_t>(span.end, source.size()));
  const std::size_t before = begin == 0 ? std::string_view::npos : source.rfind('\n', begin - 1);
  const std::size_t line_begin = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t line_end = std::min(source.find('\n', begin), source.size());
  Place place;
  place.line = static_cast<std::size_t>(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(begin), '\n')) + 1;
  place.column = characters(source.substr(line_begin, begin - line_begin)) + 1;
  place.text = source.substr(line_begin, line_end - line_begin);
  if (!place.text.empty() && place.text.back() == '\r') place.text.remove_suffix(1);
  place.begin = std::min(begin - line_begin, place.text.size());
  place.end = std::min(std::max(end, begin) - line_begin, place.text.size());
  cut(place);
  return place;
}

/// Control bytes would garble a terminal; a tab stays, so that the underline below it can repeat it.
std::string shown(std::string_view text) {
  std::string result;
  for (const char byte : text) result += static_cast<unsigned char>(byte) < 0x20 && byte != '\t' ? '?' : byte;
  return result;
}

std::string underline(const Place& place) {
  std::string result;
  for (const char byte : place.text.substr(0, place.begin))
    if (!continues_character(byte)) result += byte == '\t' ? '\t' : ' ';
  const std::size_t width = characters(place.text.substr(place.begin, place.end - place.begin));
  return result + "^" + std::string(width > 1 ? width - 1 : 0, '~');
}

std::string_view word(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

void render_into(std::string& out, const Diagnostic& diagnostic, std::string_view file_name, std::string_view source) {
  if (diagnostic.span.source != 0) {
    out += fmt::format("prelude: {}: {}\n", word(diagnostic.severity), diagnostic.message);
  } else if (diagnostic.span == outside_of_text) {
    out += fmt::format("{}: {}: {}\n", file_name, word(diagnostic.severity), diagnostic.message);
  } else {
    const Place place = place_of(diagnostic.span, source);
    out += fmt::format("{}:{}:{}: {}: {}\n  {}\n  {}\n", file_name, place.line, place.column, word(diagnostic.severity), diagnostic.message,
                       shown(place.text), underline(place));
  }
  if (!diagnostic.cure.empty()) out += fmt::format("  help: {}\n", diagnostic.cure);
  for (const Diagnostic& note : diagnostic.notes) render_into(out, note, file_name, source);
}

}  // namespace

Origins merge(const Origins& a, const Origins& b) {
  Origins all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string render(const Diagnostic& diagnostic, std::string_view file_name, std::string_view source) {
  std::string out;
  render_into(out, diagnostic, file_name, source);
  return out;
}

std::string render(const Diagnostics& diagnostics, std::string_view file_name, std::string_view source) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) render_into(out, diagnostic, file_name, source);
  return out;
}

}  // namespace fathom
