// Running text: words are measured and placed one by one, since code and names among them have faces and colours of their own.
#include <imgui.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "mirror.hpp"
#include "panels/lesson_parts.hpp"
#include "session/provenance.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::panels {
namespace {

constexpr std::string_view widest_line = "a line of the text of a lesson, which no eye has to search for ba";  // 64 letters

/// What is set without a break: a word, or a stretch of code.
struct Piece {
  std::string text;
  bool is_code = false;
  bool follows = false;  ///< no space in front of it
};

/// Pieces of a paragraph; code stays whole where it fits into the width.
std::vector<Piece> pieces_of(std::string_view paragraph, float width) {
  std::vector<Piece> pieces;
  bool is_code = false, follows = false, is_whole = false;
  std::string word;
  const auto end_word = [&](bool next_follows) {
    if (!word.empty()) pieces.push_back({std::exchange(word, {}), is_code, follows});
    follows = next_follows;
  };
  for (std::size_t i = 0; i < paragraph.size(); ++i) {
    const char c = paragraph[i];
    if (c == '`') {
      end_word(!word.empty() || follows);
      is_code = !is_code;
      const auto end = paragraph.find('`', i + 1);
      is_whole = is_code && widgets::measure(paragraph.substr(i + 1, end - i - 1), Font::lesson_code).x < width;
    } else if (c == '\n' || (c == ' ' && !(is_code && is_whole))) {
      end_word(false);
    } else {
      word += c;
    }
  }
  end_word(false);
  return pieces;
}

/// Its names have their colours, and are selected by a click.
void draw_code(App& app, const Piece& piece, ImVec2 at, ImVec2 size, std::size_t& number) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled({at.x - gap(0.5F), at.y}, {at.x + size.x + gap(0.5F), at.y + size.y}, colour(Role::raised), metrics().control_radius);
  float x = at.x;
  for (const session::Word& word : session::words_of(piece.text)) {
    const std::string text(session::text_of(piece.text, word));
    const ImVec2 from{x, at.y}, to{x + widgets::measure(text, Font::lesson_code).x, at.y + size.y};
    x = to.x;
    const std::string name = session::bare_name(text);
    const auto entity =
        word.kind == session::WordKind::name && app.document.shown() != nullptr ? app.colour_of(app.step(), name) : std::nullopt;
    if (entity && (app.is_selected(app.step(), name) || app.is_hovered(app.step(), name)))
      list.AddRectFilled(from, to, faded(Role::accent, 0.28F), metrics().control_radius);
    widgets::draw_text(list, from, text, entity ? entity_colour(*entity) : colour(Role::text), Font::lesson_code);
    if (!entity) continue;
    mirror().add("word", "name-" + std::to_string(number++), text, from, to);
    if (!ImGui::IsWindowHovered() || !ImGui::IsMouseHoveringRect(from, to)) continue;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    app.hovering = {name, app.step()};
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) app.selected = app.hovering;
  }
}

/// Draws it from the cursor on; returns where the next one begins.
float paragraph(App& app, std::string_view text, ImVec2 start, float width, Role role, std::size_t& number) {
  const float line = font(Font::lesson)->FontSize * 1.22F, space = widgets::measure(" ", Font::lesson).x;
  ImVec2 at = start;
  for (const Piece& piece : pieces_of(text, width)) {
    const Font face = piece.is_code ? Font::lesson_code : Font::lesson;
    const ImVec2 size = widgets::measure(piece.text, face);
    if (at.x > start.x && !piece.follows) at.x += space;
    if (at.x > start.x && at.x + size.x > start.x + width) at = {start.x, at.y + line};
    const ImVec2 on_line{at.x, at.y + (line - size.y) / 2};
    if (piece.is_code)
      draw_code(app, piece, on_line, size, number);
    else
      widgets::draw_text(*ImGui::GetWindowDrawList(), on_line, piece.text, colour(role), face);
    at.x += size.x;
  }
  return at.y + line;
}

}  // namespace

void running_text(App& app, std::string_view id, std::string_view text, Role role) {
  const MirrorScope scope(id);
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const float width = std::min(ImGui::GetContentRegionAvail().x, widgets::measure(widest_line, Font::lesson).x);
  float y = start.y;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = rest.find("\n\n");
    y = paragraph(app, rest.substr(0, end), {start.x, y}, width, role, number);
    if (end == std::string_view::npos) break;
    y += gap(2);
    rest.remove_prefix(end + 2);
  }
  ImGui::SetCursorScreenPos(start);
  ImGui::Dummy({width, y - start.y});
  mirror().add("text", "text", std::string(text), start, {start.x + width, y});
}

void small_head(std::string_view words) {
  ImGui::Dummy({1, gap(1)});
  widgets::text(words, Role::muted, Font::caption);
}

}  // namespace fathom::ui::panels
