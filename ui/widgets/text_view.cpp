#include "widgets/text_view.hpp"

#include <imgui.h>

#include <algorithm>
#include <utility>

#include "widgets/text_layout.hpp"

namespace fathom::ui::widgets {
namespace {

/// Numbers ascend, so the last one is the greatest.
int greatest_number(const std::vector<TextLine>& lines) {
  const auto at = std::find_if(lines.rbegin(), lines.rend(), [](const TextLine& line) { return line.number > 0; });
  return at == lines.rend() ? 0 : at->number;
}

std::optional<Hit> hit_at(const std::vector<TextLine>& lines, Place at) {
  if (at.line >= lines.size()) return std::nullopt;
  const Stretch* stretch = name_at(lines[at.line].stretches, at.column);
  return stretch == nullptr ? std::nullopt : std::optional(Hit{at.line, stretch->name});
}

/// A double click on a name takes all of it, marks of its state included.
void widen_to_name(const std::vector<TextLine>& lines, Place& caret, Place& anchor) {
  if (ImGui::GetMouseClickedCount(ImGuiMouseButton_Left) % 3 != 2 || anchor.line != caret.line) return;
  const Stretch* stretch = name_at(lines[anchor.line].stretches, anchor.column);
  if (stretch == nullptr || caret.column > stretch->end) return;
  anchor.column = stretch->begin;
  caret.column = stretch->end;
}

/// What the mouse is over and pressed.
void answer_mouse(const Area& area, const Lines& text, const std::vector<TextLine>& lines, TextViewEvents& events) {
  if (!area.hovered || lines.empty()) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  const Place near = area.place_near(text, mouse);
  if (lines[near.line].mark == '>' && area.row_of(near.line).contains(mouse)) {
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) events.unfolded = near.line;
    return;
  }
  if (mouse.x >= area.text_left) ImGui::SetMouseCursor(ImGuiMouseCursor_TextInput);
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left) && !ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;  // text is being selected
  const std::optional<Place> under = area.place_under(text, mouse);
  if (!under) return;
  const std::vector<Stretch>& stretches = lines[under->line].stretches;
  const auto name = std::find_if(stretches.begin(), stretches.end(), [&](const Stretch& each) {
    return !each.name.empty() && each.begin <= under->column && under->column < each.end;
  });
  if (name == stretches.end()) return;
  events.hovered = Hit{under->line, name->name};
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) events.chosen = events.hovered;
}

/// True where the search shall open.
bool answer_keys(Area& area, const Lines& text, const std::vector<TextLine>& lines, TextViewState& state, TextViewEvents& events,
                 const std::function<void(std::string)>& copy) {
  if (!area.focused) return false;
  if (is_pressed(area, ImGuiKey_Enter) && !lines.empty()) {
    if (lines[state.caret.line].mark == '>')
      events.unfolded = state.caret.line;
    else
      events.chosen = hit_at(lines, state.caret);
  }
  if (is_pressed_with_ctrl(area, ImGuiKey_C) && !lines.empty()) {
    std::string copied = state.caret == state.anchor ? lines[state.caret.line].text : text_between(text, state.anchor, state.caret);
    copy ? copy(std::move(copied)) : ImGui::SetClipboardText(copied.c_str());
  }
  if (is_pressed(area, ImGuiKey_Escape)) {
    if (!state.search_is_open) leave(area);
    state.search_is_open = false;
  }
  if (is_pressed(area, ImGuiKey_Tab)) {
    leave(area);
    ImGui::GetIO().WantTextInput = false;  // the same Tab moves the focus on
  }
  return is_pressed_with_ctrl(area, ImGuiKey_F);
}

}  // namespace

TextViewEvents text_view(std::string_view id, const std::vector<TextLine>& lines, TextViewState& state,
                         const std::function<Emphasis(const TextLine&, const std::string& name)>& emphasis,
                         const std::function<void(std::string)>& copy) {
  TextViewEvents events;
  const Lines text{lines.size(), [&](std::size_t line) -> std::string_view { return lines[line].text; }};
  state.caret = clamped(text, state.caret);
  state.anchor = clamped(text, state.anchor);
  const bool jumped = search_line(id, text, state.search, state.search_is_open, state.caret, state.anchor);
  Area area = begin_area(id, text, {greatest_number(lines), [&](std::size_t line) { return lines[line].mark; }});
  if (jumped) scroll_to(area, text, state.caret);
  if (state.reveal) scroll_to_line(area, std::min(*state.reveal, lines.empty() ? 0 : lines.size() - 1));
  state.reveal.reset();

  if (is_left_by_mouse(area)) leave(area);
  const std::optional<Hit> before = hit_at(lines, state.caret);
  const CaretEvents caret = move_caret(area, text, state.caret, state.anchor);
  if (caret.clicked && !lines.empty()) widen_to_name(lines, state.caret, state.anchor);
  answer_mouse(area, text, lines, events);
  const std::optional<Hit> now = hit_at(lines, state.caret);
  const bool is_new = now && (!before || now->name != before->name || now->line != before->line);
  if (caret.by_keys && state.caret == state.anchor && is_new) events.chosen = now;
  const bool searches = answer_keys(area, text, lines, state, events, copy);

  Drawing drawing;
  drawing.caret = state.caret;
  drawing.anchor = state.anchor;
  if (state.search_is_open) drawing.query = state.search;
  drawing.look = [&](std::size_t line) { return LineLook{&lines[line].stretches, lines[line].mark, lines[line].number}; };
  drawing.emphasis = [&](std::size_t line, const std::string& name) { return emphasis ? emphasis(lines[line], name) : Emphasis::none; };
  draw_area(area, text, drawing);
  end_area(area, text);
  if (searches || std::exchange(state.asks_search, false))
    open_search(id, text, state.search, state.search_is_open, state.caret, state.anchor);
  return events;
}

}  // namespace fathom::ui::widgets
