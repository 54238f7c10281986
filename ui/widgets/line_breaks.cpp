#include "widgets/line_breaks.hpp"

#include <imgui.h>

#include <algorithm>

namespace fathom::ui::widgets {
namespace {

float width_of(std::string_view s, ImFont* face) {
  return s.empty() ? 0 : face->CalcTextSizeA(face->FontSize, FLT_MAX, 0, s.data(), s.data() + s.size()).x;
}

/// How many bytes of a word that is too wide stand in one line: whole characters, one at least.
std::size_t fitting(std::string_view word, float width, ImFont* face) {
  const char* stop = word.data();
  (void)face->CalcTextSizeA(face->FontSize, width, 0, word.data(), word.data() + word.size(), &stop);
  auto size = static_cast<std::size_t>(stop - word.data());
  if (size > 0) return size;
  for (size = 1; size < word.size() && (static_cast<unsigned char>(word[size]) & 0xC0U) == 0x80U;) ++size;
  return size;
}

void break_paragraph(std::string_view s, std::size_t begin, std::size_t end, float width, ImFont* face, std::vector<BrokenLine>& lines) {
  const float blank = width_of(" ", face);
  BrokenLine line{begin, begin};
  float used = 0;
  for (std::size_t at = begin; at < end;) {
    const std::size_t word = std::min(s.find_first_not_of(' ', at), end);
    const std::size_t stop = std::min(s.find(' ', word), end);
    const float before = static_cast<float>(word - at) * blank, wide = width_of(s.substr(word, stop - word), face);
    if (word == end) break;
    at = stop;
    if (used + before + wide <= width || (line.begin == line.end && wide <= width)) {
      used += before + wide;
      line.end = stop;
      continue;
    }
    if (line.end > line.begin) lines.push_back(line);
    line = {word, stop};
    used = wide;
    while (used > width && line.end - line.begin > 1) {
      const std::size_t cut = fitting(s.substr(line.begin, line.end - line.begin), width, face);
      if (cut >= line.end - line.begin) break;
      lines.push_back({line.begin, line.begin + cut});
      line.begin += cut;
      used = width_of(s.substr(line.begin, line.end - line.begin), face);
    }
  }
  lines.push_back(line);
}

}  // namespace

std::vector<BrokenLine> lines_within(std::string_view s, float width, Font which) {
  std::vector<BrokenLine> lines;
  for (std::size_t begin = 0; begin <= s.size();) {
    const std::size_t end = std::min(s.find('\n', begin), s.size());
    break_paragraph(s, begin, end, std::max(1.0F, width), font(which), lines);
    begin = end + 1;
  }
  return lines;
}

std::string broken_within(std::string_view s, float width, Font which) {
  std::string text;
  const std::vector<BrokenLine> lines = lines_within(s, width, which);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += '\n';
    text += s.substr(lines[i].begin, lines[i].end - lines[i].begin);
  }
  return text;
}

}  // namespace fathom::ui::widgets
