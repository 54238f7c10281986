#include "widgets/prose.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "glossary.hpp"
#include "mirror.hpp"
#include "widgets/line_breaks.hpp"

namespace fathom::ui::widgets {
namespace {

void dots_below(const Box& box, ImU32 ink) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float side = hairline(), step = 3 * side, y = box.max.y;
  for (float x = box.min.x; x + side <= box.max.x; x += step) list.AddRectFilled({x, y}, {x + side, y + side}, ink);
}

/// The place of a term, whose letters are drawn already.
bool meaning(const Term& which, std::string_view words, const Box& box, ImU32 ink) {
  const std::string id = "term." + std::string(which.word);
  ImGui::SetCursorScreenPos(box.min);
  const Pressable state = pressable(id, {box.width(), box.height()});
  dots_below(box, ink);
  focus_ring(box, state.focused);
  if (state.focused)
    tip_at(box, which.text);
  else
    tip(which.text);
  mirror().add("term", id, std::string(words), box.min, box.max);
  return state.pressed;
}

}  // namespace

std::optional<std::size_t> prose(std::string_view s, Explained& explained, Role role, Font which) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = std::max(1.0F, ImGui::GetContentRegionAvail().x), line_height = font(which)->FontSize;
  const std::vector<BrokenLine> lines = lines_within(s, width, which);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float widest = 1;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view words = s.substr(lines[i].begin, lines[i].end - lines[i].begin);
    draw_text(list, {at.x, at.y + static_cast<float>(i) * line_height}, words, colour(role), which);
    widest = std::max(widest, measure(words, which).x);
  }
  const ImVec2 end{at.x + widest, at.y + static_cast<float>(lines.size()) * line_height};
  mirror().add("text", "label", std::string(s), at, end);
  std::optional<std::size_t> pressed;
  for (const Mention& mention : mentions_in(s)) {
    if (!explained.insert(mention.term).second) continue;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const BrokenLine& line = lines[i];
      if (mention.begin < line.begin || mention.end > line.end) continue;  // a term of two words may be broken: then it has no mark
      const float y = at.y + static_cast<float>(i) * line_height;
      const float from = at.x + measure(s.substr(line.begin, mention.begin - line.begin), which).x;
      const std::string_view words = s.substr(mention.begin, mention.end - mention.begin);
      const Box box{{from, y}, {from + measure(words, which).x, y + line_height}};
      if (meaning(glossary()[mention.term], words, box, colour(role))) pressed = mention.term;
    }
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({end.x - at.x, end.y - at.y});
  return pressed;
}

bool term(std::string_view word, std::string_view label, Role role, Font which) {
  const Term* const known = term_named(word);
  IM_ASSERT(known != nullptr && "every term that is used stands in the glossary");
  if (known == nullptr) return false;
  const ImVec2 at = ImGui::GetCursorScreenPos(), extent = measure(label, which);
  draw_text(*ImGui::GetWindowDrawList(), at, label, colour(role), which);
  mirror().add("text", "label", std::string(label), at, {at.x + extent.x, at.y + extent.y});
  return meaning(*known, label, {at, {at.x + extent.x, at.y + extent.y}}, colour(role));
}

}  // namespace fathom::ui::widgets
