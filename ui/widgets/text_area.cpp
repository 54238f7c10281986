// The area with the lines: who has the keys, the caret, what is drawn.
#include <imgui_internal.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "mirror.hpp"
#include "widgets/text_layout.hpp"

namespace fathom::ui::widgets {
namespace {

// Kept by Dear ImGui between frames, in the area's own window.
constexpr const char* kept_focus = "focus";
constexpr const char* kept_scrolling = "scrolling";  // by the bars, which take the keys only as long as they are held
constexpr const char* kept_selecting = "selecting";  // the mouse went down in the text and is still down
constexpr const char* kept_x = "x";                  // of a caret that crosses shorter lines
constexpr const char* kept_width = "width";          // of the longest line seen so far
constexpr const char* kept_count = "count";          // of lines that the width belongs to

ImGuiStorage& kept(const Area& area) { return area.window->StateStorage; }
ImGuiID key(const Area& area, const char* name) { return ImHashStr(name, 0, area.id); }

float code_height() { return ImCeil(font(Font::code)->FontSize + gap(0.5F)); }

/// From the left: numbers, marks, the text.
void set_margin(Area& area, const Margin& margin) {
  const float digit = measure("0", Font::code).x;
  const std::size_t digits = margin.greatest > 0 ? std::max<std::size_t>(2, std::to_string(margin.greatest).size()) : 0;
  area.numbers_right = ImCeil(area.box.min.x + gap(1) + digit * static_cast<float>(digits));
  area.marks_left = area.numbers_right + gap(2);
  area.text_left = ImCeil(margin.mark ? area.marks_left + digit + gap(2) : area.numbers_right + gap(3));
}

std::string seen_text(const Area& area, const Lines& lines, const Margin& margin) {
  std::string out;
  for (std::size_t line = area.first; line < area.last; ++line) {
    if (line > area.first) out += '\n';
    if (margin.mark) (out += margin.mark(line)) += ' ';
    out += lines[line];
  }
  return out;
}

/// Who has the keys? The area's own item is Dear ImGui's active one as long as it has them; holding a scroll bar only interrupts that.
void settle_focus(Area& area, bool by_tab, bool returns) {
  ImGuiContext& g = *ImGui::GetCurrentContext();
  const bool scrolling = g.ActiveId != 0 && (g.ActiveId == ImGui::GetWindowScrollbarID(area.window, ImGuiAxis_X) ||
                                             g.ActiveId == ImGui::GetWindowScrollbarID(area.window, ImGuiAxis_Y));
  area.focused = kept(area).GetBool(key(area, kept_focus));
  if (area.focused && g.ActiveId == 0 && kept(area).GetBool(key(area, kept_scrolling))) ImGui::SetActiveID(area.id, area.window);
  area.focused = area.focused && (g.ActiveId == area.id || scrolling);
  kept(area).SetBool(key(area, kept_focus), area.focused);
  kept(area).SetBool(key(area, kept_scrolling), scrolling);
  const bool asked = by_tab && g.ActiveId == 0 && !g.IO.WantTextInput &&
                     (ImGui::IsKeyPressed(ImGuiKey_Enter, false) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter, false));
  if (!area.focused && (asked || returns)) {
    focus(area);
    area.entered = true;
  }
  if (g.ActiveId == area.id) g.ActiveIdAllowOverlap = !g.IO.MouseDown[0];  // the rest of the screen answers the mouse
}

}  // namespace

Area begin_area(std::string_view id, const Lines& lines, const Margin& margin, float height) {
  Area area;
  area.path = mirror().path(id);
  const bool by_tab = mirror().focusable(id);
  ImGui::PushID(id.data(), id.data() + id.size());
  bool* returns = ImGui::GetStateStorage()->GetBoolRef(ImGui::GetID(kept_return));
  const bool gets_keys = std::exchange(*returns, false);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::BeginChild("##area", {0, height}, ImGuiChildFlags_None, ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoNav);
  ImGui::PopStyleVar();
  area.window = ImGui::GetCurrentWindow();
  area.id = area.window->GetID("##keys");
  area.box = {area.window->InnerRect.Min, area.window->InnerRect.Max};
  area.line_height = code_height();
  const ImVec2 begin = ImGui::GetCursorScreenPos();
  set_margin(area, margin);
  area.x = begin.x + area.text_left - area.box.min.x;
  area.y = begin.y;
  const auto line_at = [&](float y) { return static_cast<std::size_t>(std::max(0.0F, (y - area.y) / area.line_height)); };
  area.first = std::min(line_at(area.box.min.y), lines.count);
  area.last = std::min(line_at(area.box.max.y) + 1, lines.count);
  if (kept(area).GetInt(key(area, kept_count)) != static_cast<int>(lines.count)) kept(area).SetFloat(key(area, kept_width), 0);
  kept(area).SetInt(key(area, kept_count), static_cast<int>(lines.count));
  const ImRect all(area.box.min, area.box.max);
  ImGui::ItemAdd(all, area.id);
  area.hovered = ImGui::ItemHoverable(all, area.id, ImGuiItemFlags_None);
  settle_focus(area, by_tab, gets_keys);
  mirror().add("code", id, seen_text(area, lines, margin), area.box.min, area.box.max);
  mirror().push(id);
  const float ring = metrics().focus_ring;
  focus_ring({{area.box.min.x + ring, area.box.min.y + ring}, {area.box.max.x - ring, area.box.max.y - ring}}, by_tab && !area.focused);
  return area;
}

void end_area(const Area& area, const Lines& lines) {
  const float right = area.x + kept(area).GetFloat(key(area, kept_width)) + gap(4);
  const ImVec2 end{right, area.y + area.line_height * static_cast<float>(lines.count)};
  area.window->DC.CursorMaxPos = ImMax(area.window->DC.CursorMaxPos, end);
  if (area.focused) {
    ImGui::SetNextFrameWantCaptureKeyboard(true);
    ImGui::GetCurrentContext()->WantTextInputNextFrame = 1;
  }
  mirror().pop();
  ImGui::EndChild();
  ImGui::PopID();
}

void focus(Area& area) {
  ImGui::SetActiveID(area.id, area.window);
  ImGui::FocusWindow(area.window);
  area.focused = true;
  kept(area).SetBool(key(area, kept_focus), true);
  mirror().focus(area.path);
}

void leave(Area& area) {
  if (ImGui::GetActiveID() == area.id) ImGui::ClearActiveID();
  area.focused = false;
  kept(area).SetBool(key(area, kept_focus), false);
}

bool is_left_by_mouse(const Area& area) {
  const bool down = ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  return area.focused && !area.hovered && down && ImGui::GetActiveID() == area.id;
}

/// The lock of a key that is up would end with the next frame, but it holds where the key goes down in it: that is the press to keep.
void own_keys(const Area& area, std::initializer_list<ImGuiKey> keys) {
  if (!area.focused) return;
  for (const ImGuiKey each : keys) ImGui::SetKeyOwner(each, area.id, ImGuiInputFlags_LockUntilRelease);
}

bool is_pressed(const Area& area, ImGuiKey which) {
  return area.focused && !area.entered && ImGui::IsKeyPressed(which, area.id, ImGuiInputFlags_Repeat);
}

bool is_pressed_with_ctrl(const Area& area, ImGuiKey which) {
  const ImGuiIO& io = ImGui::GetIO();
  return io.KeyCtrl && !io.KeyShift && !io.KeyAlt && is_pressed(area, which);
}

Place Area::place_near(const Lines& lines, ImVec2 point) const {
  if (lines.count == 0 || point.y < y) return {};
  const auto line = static_cast<std::size_t>((point.y - y) / line_height);
  if (line >= lines.count) return lines.end();
  return {line, column_near(lines[line], point.x - x)};
}

std::optional<Place> Area::place_under(const Lines& lines, ImVec2 point) const {
  if (point.x < text_left || point.y < y) return std::nullopt;
  const auto line = static_cast<std::size_t>((point.y - y) / line_height);
  if (line >= lines.count) return std::nullopt;
  std::size_t column = column_near(lines[line], point.x - x);
  if (x + x_of(lines[line], column) > point.x) column = column_before(lines[line], column);
  if (column >= lines[line].size()) return std::nullopt;
  return Place{line, column};
}

Box Area::row_of(std::size_t line) const {
  const float top = y + line_height * static_cast<float>(line);
  return {{box.min.x, top}, {box.max.x, top + line_height}};
}

Box Area::box_of(const Lines& lines, std::size_t line, Columns columns) const {
  const Box row = row_of(line);
  return {{x + x_of(lines[line], columns.begin), row.min.y}, {x + x_of(lines[line], columns.end), row.max.y}};
}

void scroll_to(const Area& area, const Lines& lines, Place at) {
  const float top = area.line_height * static_cast<float>(at.line), height = area.box.height();
  const float from = area.window->Scroll.y;
  if (top < from) ImGui::SetScrollY(area.window, top);
  if (top + area.line_height > from + height) ImGui::SetScrollY(area.window, top + area.line_height - height);
  const float left = x_of(lines[at.line], at.column), width = area.box.max.x - area.text_left, room = std::min(gap(8), width / 4);
  const float side = area.window->Scroll.x;
  if (left - room < side) ImGui::SetScrollX(area.window, std::max(0.0F, left - room));
  if (left + room > side + width) ImGui::SetScrollX(area.window, left + room - width);
}

void scroll_to_line(const Area& area, std::size_t line) {
  const Box row = area.row_of(line);
  if (row.min.y >= area.box.min.y && row.max.y <= area.box.max.y) return;
  ImGui::SetScrollY(area.window, std::max(0.0F, area.line_height * static_cast<float>(line) - area.box.height() / 3));
}

// ---- the caret ----
namespace {

std::optional<Move> asked_move(const Area& area) {
  struct Key {
    ImGuiKey key;
    Move plain, with_ctrl;
  };
  static constexpr Key keys[] = {{ImGuiKey_LeftArrow, Move::left, Move::word_left},
                                 {ImGuiKey_RightArrow, Move::right, Move::word_right},
                                 {ImGuiKey_UpArrow, Move::up, Move::up},
                                 {ImGuiKey_DownArrow, Move::down, Move::down},
                                 {ImGuiKey_Home, Move::home, Move::first},
                                 {ImGuiKey_End, Move::end, Move::last},
                                 {ImGuiKey_PageUp, Move::page_up, Move::page_up},
                                 {ImGuiKey_PageDown, Move::page_down, Move::page_down}};
  const ImGuiIO& io = ImGui::GetIO();
  if (io.KeyAlt) return std::nullopt;
  for (const Key& each : keys)
    if (is_pressed(area, each.key)) return io.KeyCtrl ? each.with_ctrl : each.plain;
  return std::nullopt;
}

/// One click places the caret, two take the word, three the line.
void press(Area& area, const Lines& lines, Place& caret, Place& anchor) {
  const ImGuiIO& io = ImGui::GetIO();
  focus(area);
  const int clicks = (ImGui::GetMouseClickedCount(ImGuiMouseButton_Left) - 1) % 3 + 1;
  kept(area).SetBool(key(area, kept_selecting), clicks == 1);
  kept(area).SetFloat(key(area, kept_x), -1);
  caret = area.place_near(lines, io.MousePos);
  if (clicks == 2) {
    const Columns word = word_at(lines[caret.line], area.place_under(lines, io.MousePos).value_or(caret).column);
    anchor = {caret.line, word.begin};
    caret.column = word.end;
  } else if (clicks == 3) {
    anchor = {caret.line, 0};
    caret.column = lines[caret.line].size();
  } else if (!io.KeyShift) {
    anchor = caret;
  }
}

}  // namespace

CaretEvents move_caret(Area& area, const Lines& lines, Place& caret, Place& anchor) {
  CaretEvents events;
  if (lines.count == 0) return events;
  const ImGuiIO& io = ImGui::GetIO();
  const ImGuiID selecting = key(area, kept_selecting);
  if (area.hovered && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) {
    press(area, lines, caret, anchor);
    events.clicked = true;
  } else if (kept(area).GetBool(selecting)) {
    if (!ImGui::IsMouseDown(ImGuiMouseButton_Left)) {
      kept(area).SetBool(selecting, false);
    } else if (ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
      caret = area.place_near(lines, io.MousePos);
      scroll_to(area, lines, caret);
    }
  }
  if (is_pressed_with_ctrl(area, ImGuiKey_A)) {
    anchor = {};
    caret = lines.end();
    events.by_keys = true;
  }
  const std::optional<Move> move = asked_move(area);
  if (!move) return events;
  events.by_keys = true;
  const auto page = static_cast<std::size_t>(std::max(1.0F, area.box.height() / area.line_height - 1));
  float x = kept(area).GetFloat(key(area, kept_x), -1);
  const bool collapses = !io.KeyShift && caret != anchor && (*move == Move::left || *move == Move::right);
  if (collapses) {
    caret = *move == Move::left ? std::min(caret, anchor) : std::max(caret, anchor);
    x = -1;
  } else {
    caret = moved(lines, caret, *move, page, x);
  }
  kept(area).SetFloat(key(area, kept_x), x);
  if (!io.KeyShift) anchor = caret;
  scroll_to(area, lines, caret);
  return events;
}

// ---- drawing ----
const Stretch* name_at(const std::vector<Stretch>& stretches, std::size_t column) {
  const Stretch* found = nullptr;  // where one ends and another begins, the one that begins
  for (const Stretch& each : stretches)
    if (!each.name.empty() && each.begin <= column && column <= each.end) found = &each;
  return found;
}

namespace {

ImU32 with_opacity(ImU32 ink, float opacity) {
  const auto alpha = static_cast<ImU32>(opacity * 255.0F + 0.5F);
  return (ink & ~IM_COL32_A_MASK) | (alpha << IM_COL32_A_SHIFT);
}

void draw_ground(const Area& area, std::size_t line, ImU32 ground) {
  const Box row = area.row_of(line);
  area.window->DrawList->AddRectFilled(row.min, row.max, ground);
}

void draw_mark_ground(const Area& area, std::size_t line, char mark) {
  if (mark == '+') draw_ground(area, line, faded(Role::ok, 0.13F));
  if (mark == '-') draw_ground(area, line, faded(Role::bad, 0.13F));
  if (mark == '>') draw_ground(area, line, faded(Role::raised, 0.7F));
}

void draw_margin(const Area& area, std::size_t line, const LineLook& look, bool is_hot) {
  ImDrawList& list = *area.window->DrawList;
  const float top = area.row_of(line).min.y + (area.line_height - font(Font::code)->FontSize) / 2;
  if (look.number > 0) {
    const std::string number = std::to_string(look.number);
    draw_text(list, {area.numbers_right - measure(number, Font::code).x, top}, number, colour(Role::muted), Font::code);
  }
  const ImVec2 mark{area.marks_left, top};
  if (look.mark == '+') draw_text(list, mark, "+", colour(Role::ok), Font::code_bold);
  if (look.mark == '-') draw_text(list, mark, "\xE2\x88\x92", colour(Role::bad), Font::code_bold);  // a minus, as wide as the plus
  if (look.mark == '>') draw_text(list, mark, "\xE2\x96\xB8", colour(is_hot ? Role::text : Role::muted), Font::code);
}

/// The one that is selected stands out from the others.
void draw_matches(const Area& area, const Lines& lines, std::size_t line, const Drawing& drawing) {
  const std::string_view text = lines[line], query = drawing.query;
  for (std::size_t at = text.find(query); at != std::string_view::npos; at = text.find(query, at + query.size())) {
    const Box box = area.box_of(lines, line, {at, at + query.size()});
    const bool here =
        std::min(drawing.caret, drawing.anchor) == Place{line, at} && std::max(drawing.caret, drawing.anchor).column == at + query.size();
    area.window->DrawList->AddRectFilled(box.min, box.max, faded(Role::warn, here ? 0.45F : 0.18F), metrics().control_radius / 2);
    area.window->DrawList->AddRect(box.min, box.max, here ? colour(Role::warn) : faded(Role::warn, 0.6F), metrics().control_radius / 2, 0,
                                   here ? metrics().focus_ring : hairline());
  }
}

/// Part of the box that is seen; nothing where none is.
std::optional<Box> seen(const Area& area, const Box& box) {
  const Box part{{std::max(box.min.x, area.text_left), std::max(box.min.y, area.box.min.y)},
                 {std::min(box.max.x, area.box.max.x), std::min(box.max.y, area.box.max.y)}};
  return part.width() >= 1 && part.height() >= 1 ? std::optional(part) : std::nullopt;
}

void draw_emphasis(const Area& area, const Box& box, ImU32 ink, Emphasis emphasis) {
  if (emphasis == Emphasis::none) return;
  ImDrawList& list = *area.window->DrawList;
  const bool selected = emphasis == Emphasis::selected;
  list.AddRectFilled({box.min.x - hairline(), box.min.y}, {box.max.x + hairline(), box.max.y}, with_opacity(ink, selected ? 0.28F : 0.15F),
                     metrics().control_radius / 2);
  if (!selected) return;
  const float line = metrics().focus_ring;
  list.AddRectFilled({box.min.x, box.max.y - line}, box.max, ink);
}

void draw_words(const Area& area, const Lines& lines, std::size_t line, const std::vector<Stretch>& stretches, ImU32 plain,
                const Drawing& drawing) {
  const std::string_view text = lines[line];
  ImDrawList& list = *area.window->DrawList;
  const Box row = area.row_of(line);
  const float top = row.min.y + (area.line_height - font(Font::code)->FontSize) / 2;
  float x = area.x;
  std::size_t at = 0;
  const auto piece = [&](std::size_t end, ImU32 ink, const std::string& name) {
    const std::string_view part = text.substr(at, end - at);
    const Box box{{x, row.min.y}, {x + measure(part, Font::code).x, row.max.y}};
    if (!name.empty()) {
      const Emphasis emphasis = drawing.emphasis ? drawing.emphasis(line, name) : Emphasis::none;
      draw_emphasis(area, box, ink, emphasis);
      if (const auto word = seen(area, box))
        mirror().add("word", std::to_string(line) + ":" + std::to_string(at), name, word->min, word->max, true,
                     emphasis == Emphasis::selected);
    }
    draw_text(list, {x, top}, part, ink, Font::code);
    x = box.max.x;
    at = end;
  };
  for (const Stretch& each : stretches) {
    const std::size_t begin = whole_column(text, each.begin), end = whole_column(text, each.end);
    if (begin < at || end <= begin) continue;
    if (begin > at) piece(begin, plain, {});
    piece(end, each.ink != 0 ? each.ink : plain, each.name);
  }
  if (at < text.size()) piece(text.size(), plain, {});
  const ImGuiID width = key(area, kept_width);
  kept(area).SetFloat(width, std::max(kept(area).GetFloat(width), x - area.x));
}

void draw_caret(const Area& area, const Lines& lines, const Drawing& drawing) {
  const ImGuiIO& io = ImGui::GetIO();
  const Box box = area.box_of(lines, drawing.caret.line, {drawing.caret.column, drawing.caret.column});
  constexpr double period = 1.2, shown = 0.8;  // seconds, as in Dear ImGui's own fields
  const double since = ImGui::GetTime() - ImGui::GetCurrentContext()->LastKeyboardKeyPressTime;
  const bool dark = drawing.is_edited && io.ConfigInputTextCursorBlink && since > shown && std::fmod(since, period) > shown;
  const float width = metrics().focus_ring * 0.75F;
  if (!dark) area.window->DrawList->AddRectFilled(box.min, {box.min.x + width, box.max.y}, colour(Role::accent));
}

}  // namespace

void draw_range(const Area& area, const Lines& lines, Place from, Place to, ImU32 ground) {
  if (to < from) std::swap(from, to);
  for (std::size_t line = std::max(from.line, area.first); line <= to.line && line < area.last; ++line) {
    const std::size_t begin = line == from.line ? from.column : 0, end = line == to.line ? to.column : lines[line].size();
    Box box = area.box_of(lines, line, {begin, end});
    if (line != to.line) box.max.x += measure(" ", Font::code).x;  // the break belongs to it
    box.min.x = std::max(box.min.x, area.text_left);
    if (box.max.x > box.min.x) area.window->DrawList->AddRectFilled(box.min, box.max, ground);
  }
}

void draw_area(const Area& area, const Lines& lines, const Drawing& drawing) {
  ImDrawList& list = *area.window->DrawList;
  const std::size_t last = std::min(area.last, lines.count);
  const std::size_t pointed = area.hovered ? area.place_near(lines, ImGui::GetMousePos()).line : lines.count;
  if (drawing.is_edited && area.focused) draw_ground(area, drawing.caret.line, faded(Role::raised, 0.6F));
  static const std::vector<Stretch> none;
  for (std::size_t line = area.first; line < last; ++line) {
    const LineLook look = drawing.look(line);
    const bool is_hot = look.mark == '>' && pointed == line;
    draw_mark_ground(area, line, look.mark);
    draw_margin(area, line, look, is_hot);
  }
  list.PushClipRect({area.text_left - hairline(), area.box.min.y}, area.box.max, true);
  draw_range(area, lines, drawing.anchor, drawing.caret, ImGui::GetColorU32(ImGuiCol_TextSelectedBg));
  for (std::size_t line = area.first; line < last; ++line) {
    const LineLook look = drawing.look(line);
    if (!drawing.query.empty()) draw_matches(area, lines, line, drawing);
    const ImU32 plain = colour(look.mark == '>' && pointed != line ? Role::muted : Role::text);
    draw_words(area, lines, line, look.stretches != nullptr ? *look.stretches : none, plain, drawing);
  }
  if (area.focused && lines.count > 0) draw_caret(area, lines, drawing);
  list.PopClipRect();
}

}  // namespace fathom::ui::widgets
