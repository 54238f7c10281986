#include "widgets/editor.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <utility>

#include "mirror.hpp"
#include "widgets/text_layout.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr std::size_t letters_until_open = 2;
constexpr std::size_t rows_shown = 8;

Lines lines_of(const EditedText& text) {
  return {text.lines().size(), [&text](std::size_t line) -> std::string_view { return text.lines()[line]; }};
}

// ---- completion ----
/// The name that ends at the caret; empty where none does.
Columns name_before(std::string_view line, std::size_t column) {
  Columns name{column, column};
  while (name.begin > 0 && is_word_character(line, column_before(line, name.begin))) name.begin = column_before(line, name.begin);
  if (name.begin < name.end && line[name.begin] >= '0' && line[name.begin] <= '9') name.begin = name.end;
  return name;
}

void close(CompletionList& list) { list = {}; }

/// Lists what begins as the name at the caret does; closes where that is nothing, or the name itself alone.
void list_completions(EditorState& state, const EditorOptions& options, bool asked) {
  CompletionList& list = state.completion;
  const EditedText& text = state.text;
  const std::string& line = text.lines()[text.caret.line];
  const Columns name = name_before(line, text.caret.column);
  const std::string_view begun = std::string_view(line).substr(name.begin, name.end - name.begin);
  if (!options.completions || text.has_selection() || (!asked && begun.size() < letters_until_open)) return close(list);
  const std::string picked = list.picked ? list.items[*list.picked].text : std::string();
  list.items.clear();
  for (Completion& each : options.completions(std::string_view(line).substr(0, text.caret.column))) {
    if (each.text.size() <= begun.size() || std::string_view(each.text).substr(0, begun.size()) != begun) continue;
    const auto same = [&](const Completion& other) { return other.text == each.text; };
    if (std::none_of(list.items.begin(), list.items.end(), same)) list.items.push_back(std::move(each));
  }
  if (list.items.empty()) return close(list);
  list.is_open = true;
  list.asked = asked;
  list.begin = {text.caret.line, name.begin};
  list.end = text.caret;
  list.picked.reset();
  for (std::size_t i = 0; i < list.items.size(); ++i)
    if (!picked.empty() && list.items[i].text == picked) list.picked = i;
  if (asked && !list.picked) list.picked = 0;
}

void accept(EditorState& state, std::size_t item) {
  CompletionList& list = state.completion;
  state.text.replace(list.begin, list.end, list.items[item].text);
  close(list);
}

/// True where the list took the key, which then is none of the text's.
bool answer_completion_keys(const Area& area, EditorState& state) {
  CompletionList& list = state.completion;
  if (!list.is_open) return false;
  const std::size_t count = list.items.size();
  if (is_pressed(area, ImGuiKey_Escape)) {
    close(list);
    return true;
  }
  if (is_pressed(area, ImGuiKey_DownArrow)) {
    list.picked = list.picked ? (*list.picked + 1) % count : 0;
    return true;
  }
  if (is_pressed(area, ImGuiKey_UpArrow) && list.picked) {
    list.picked = (*list.picked + count - 1) % count;
    return true;
  }
  const bool enter = is_pressed(area, ImGuiKey_Enter) || is_pressed(area, ImGuiKey_KeypadEnter);
  if ((enter && list.picked) || (is_pressed(area, ImGuiKey_Tab) && !ImGui::GetIO().KeyShift)) {
    accept(state, list.picked.value_or(0));
    return true;
  }
  return false;
}

/// Which rows are shown: those about the picked one.
std::size_t first_row(const CompletionList& list) {
  const std::size_t picked = list.picked.value_or(0), count = list.items.size();
  if (count <= rows_shown) return 0;
  return std::min(picked - std::min(picked, rows_shown / 2), count - rows_shown);
}

/// Where the list stands: below the beginning of the name, above where there is no room.
Box completion_box(const Area& area, const Lines& lines, const CompletionList& list) {
  float width = 0;
  for (const Completion& each : list.items)
    width = std::max(width, measure(each.text, Font::code).x + measure(each.detail, Font::caption).x + gap(4));
  const ImVec2 screen = ImGui::GetIO().DisplaySize,
               size{width + gap(4), metrics().row * static_cast<float>(std::min(list.items.size(), rows_shown))};
  const Box name = area.box_of(lines, list.begin.line, {list.begin.column, list.begin.column});
  const float left = std::max(0.0F, std::min(name.min.x - gap(2), screen.x - size.x));
  const bool below = name.max.y + size.y <= screen.y;
  const float top = below ? name.max.y : name.min.y - size.y;
  return {{left, top}, {left + size.x, top + size.y}};
}

/// The row that is pressed by the mouse.
std::optional<std::size_t> draw_completion_rows(const CompletionList& list, ImDrawList& out) {
  std::optional<std::size_t> pressed;
  const std::size_t first = first_row(list);
  for (std::size_t i = 0; i < std::min(list.items.size(), rows_shown); ++i) {
    const std::size_t item = first + i;
    const float top = list.box.min.y + metrics().row * static_cast<float>(i);
    const Box row{{list.box.min.x, top}, {list.box.max.x, top + metrics().row}};
    const bool hot = ImGui::IsWindowHovered(ImGuiHoveredFlags_AllowWhenBlockedByActiveItem) && row.contains(ImGui::GetMousePos());
    if (list.picked == item)
      out.AddRectFilled(row.min, row.max, faded(Role::accent, 0.22F), metrics().control_radius);
    else if (hot)
      out.AddRectFilled(row.min, row.max, colour(Role::line), metrics().control_radius);
    const Completion& each = list.items[item];
    draw_text(out, {row.min.x + gap(2), top + (metrics().row - font(Font::code)->FontSize) / 2}, each.text, colour(Role::text), Font::code);
    const ImVec2 detail = measure(each.detail, Font::caption);
    draw_text(out, {row.max.x - gap(2) - detail.x, top + (metrics().row - detail.y) / 2}, each.detail, colour(Role::muted), Font::caption);
    mirror().add("row", "completion/" + each.text, each.text, row.min, row.max, true, list.picked == item);
    if (hot && ImGui::IsMouseClicked(ImGuiMouseButton_Left)) pressed = item;
  }
  return pressed;
}

/// In a window of its own, in front of what is below, which never takes the keys. True where a row was pressed.
bool draw_completions(const Area& area, EditorState& state) {
  CompletionList& list = state.completion;
  if (!list.is_open) return false;
  list.box = completion_box(area, lines_of(state.text), list);
  ImGui::SetNextWindowPos(list.box.min);
  ImGui::SetNextWindowSize({list.box.width(), list.box.height()});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, metrics().control_radius);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline());
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colour(Role::raised));
  ImGui::Begin("##completion", nullptr,
               ImGuiWindowFlags_Tooltip | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoFocusOnAppearing);
  const std::optional<std::size_t> pressed = draw_completion_rows(list, *ImGui::GetWindowDrawList());
  ImGui::End();
  ImGui::PopStyleColor();
  ImGui::PopStyleVar(3);
  if (pressed) accept(state, *pressed);
  return pressed.has_value();
}

// ---- keys ----
/// What was typed in this frame.
std::string typed_text(const Area& area) {
  ImGuiIO& io = ImGui::GetIO();
  std::string out;
  if (!area.focused) return out;
  const bool is_command = (io.KeyCtrl && !io.KeyAlt) || io.KeySuper;  // Ctrl with Alt is how some keyboards write
  for (const ImWchar c : io.InputQueueCharacters) {
    constexpr unsigned first_printable = 0x20, erase = 0x7F, first_private = 0xE000, last_private = 0xF8FF;
    const auto code = static_cast<unsigned>(c);
    if (area.entered || is_command || code < first_printable || code == erase || (code >= first_private && code <= last_private)) continue;
    char bytes[5];
    out += ImTextCharToUtf8(bytes, code);
  }
  io.InputQueueCharacters.resize(0);
  return out;
}

void answer_clipboard(const Area& area, EditedText& text) {
  if (is_pressed_with_ctrl(area, ImGuiKey_C)) ImGui::SetClipboardText(text.copied().c_str());
  if (is_pressed_with_ctrl(area, ImGuiKey_X)) ImGui::SetClipboardText(text.cut().c_str());
  if (!is_pressed_with_ctrl(area, ImGuiKey_V)) return;
  if (const char* pasted = ImGui::GetClipboardText(); pasted != nullptr) text.insert(pasted);
}

void answer_editing_keys(const Area& area, EditedText& text) {
  const ImGuiIO& io = ImGui::GetIO();
  const bool redoes = is_pressed_with_ctrl(area, ImGuiKey_Y) || (io.KeyCtrl && io.KeyShift && !io.KeyAlt && is_pressed(area, ImGuiKey_Z));
  if (is_pressed_with_ctrl(area, ImGuiKey_Z)) text.undo();
  if (redoes) text.redo();
  if (is_pressed_with_ctrl(area, ImGuiKey_D)) text.duplicate_line();
  answer_clipboard(area, text);
  if (is_pressed(area, ImGuiKey_Backspace)) text.erase_before(io.KeyCtrl);
  if (is_pressed(area, ImGuiKey_Delete)) text.erase_after(io.KeyCtrl);
  if (is_pressed(area, ImGuiKey_Enter) || is_pressed(area, ImGuiKey_KeypadEnter)) text.break_line();
  if (!io.KeyCtrl && !io.KeyAlt && is_pressed(area, ImGuiKey_Tab)) io.KeyShift ? text.outdent() : text.indent();
}

// ---- drawing ----
std::optional<Place> matching_bracket(const Lines& lines, Place at) {
  constexpr std::string_view opening = "([{", closing = ")]}";
  constexpr std::size_t farthest = 2000;  // lines: this is looked for in every frame
  const char here = lines[at.line][at.column];
  const bool forwards = opening.find(here) != std::string_view::npos;
  const std::size_t kind = forwards ? opening.find(here) : closing.find(here);
  const char other = forwards ? closing[kind] : opening[kind];
  int depth = 0;
  for (std::size_t n = 0; n < farthest; ++n) {
    const std::string_view line = lines[at.line];
    for (auto column = static_cast<std::ptrdiff_t>(at.column); column >= 0 && column < static_cast<std::ptrdiff_t>(line.size());
         column += forwards ? 1 : -1) {
      const char c = line[static_cast<std::size_t>(column)];
      depth += c == here ? 1 : c == other ? -1 : 0;
      if (depth == 0) return Place{at.line, static_cast<std::size_t>(column)};
    }
    if (forwards ? at.line + 1 >= lines.count : at.line == 0) break;
    at.line = forwards ? at.line + 1 : at.line - 1;
    at.column = forwards || lines[at.line].empty() ? 0 : lines[at.line].size() - 1;
  }
  return std::nullopt;
}

/// The pair of which one stands before or after the caret.
void draw_brackets(const Area& area, const Lines& lines, Place caret) {
  const std::string_view line = lines[caret.line];
  for (const std::size_t column : {caret.column, caret.column - 1}) {
    if (column >= line.size() || std::string_view("()[]{}").find(line[column]) == std::string_view::npos) continue;
    const std::optional<Place> other = matching_bracket(lines, {caret.line, column});
    if (!other) continue;
    for (const Place& each : {Place{caret.line, column}, *other})
      draw_range(area, lines, each, {each.line, each.column + 1}, faded(Role::accent, 0.25F));
    return;
  }
}

void draw_wave(ImDrawList& list, const Box& box, ImU32 ink) {
  const float step = gap(0.5F);
  float x = box.min.x;
  bool up = false;
  while (x < box.max.x) {
    list.PathLineTo({x, box.max.y - (up ? step : 0)});
    up = !up;
    x += step;
  }
  list.PathLineTo({box.max.x, box.max.y - (up ? step : 0)});
  list.PathStroke(ink, 0, hairline());
}

/// Draws the waves, and says the message of the one that the mouse rests on.
void draw_underlined(const Area& area, const Lines& lines, const std::vector<Underlined>& all) {
  ImDrawList& list = *area.window->DrawList;
  const bool rests = area.hovered && ImGui::GetCurrentContext()->MouseStationaryTimer >= ImGui::GetStyle().HoverStationaryDelay;
  list.PushClipRect({area.text_left, area.box.min.y}, area.box.max, true);
  for (const Underlined& each : all) {
    const Place begin = clamped(lines, each.begin), end = std::max(begin, clamped(lines, each.end));
    for (std::size_t line = std::max(begin.line, area.first); line <= end.line && line < area.last; ++line) {
      const std::size_t from = line == begin.line ? begin.column : 0, to = line == end.line ? end.column : lines[line].size();
      Box box = area.box_of(lines, line, {from, to});
      box.max.x = std::max(box.max.x, box.min.x + measure("0", Font::code).x);  // a place between characters shows, too
      draw_wave(list, box, colour(each.ink));
      if (rests && box.contains(ImGui::GetMousePos())) tip_over(box, each.message);
    }
  }
  list.PopClipRect();
}

/// Where input methods show what they compose.
void place_input_method(const Area& area, const Lines& lines, Place caret) {
  if (!area.focused) return;
  const Box box = area.box_of(lines, caret.line, {caret.column, caret.column});
  ImGuiPlatformImeData& data = ImGui::GetCurrentContext()->PlatformImeData;
  data.WantVisible = true;
  data.InputPos = box.min;
  data.InputLineHeight = area.line_height;
}

void draw(const Area& area, const EditorState& state, const EditorOptions& options) {
  const Lines lines = lines_of(state.text);
  std::vector<Stretch> stretches;
  Drawing drawing;
  drawing.caret = state.text.caret;
  drawing.anchor = state.text.anchor;
  drawing.is_edited = true;
  if (state.search_is_open) drawing.query = state.search;
  drawing.look = [&](std::size_t line) {
    stretches = options.stretches ? options.stretches(lines[line]) : std::vector<Stretch>();
    return LineLook{&stretches, ' ', static_cast<int>(line + 1)};
  };
  drawing.emphasis = [&](std::size_t, const std::string& name) { return options.emphasis ? options.emphasis(name) : Emphasis::none; };
  draw_area(area, lines, drawing);
  if (area.focused) draw_brackets(area, lines, state.text.caret);
  draw_underlined(area, lines, options.underlined);
  place_input_method(area, lines, state.text.caret);
}

// ---- names ----
std::optional<Hit> name_of(const Lines& lines, const EditorOptions& options, Place at, bool within) {
  if (!options.stretches || at.line >= lines.count) return std::nullopt;
  const std::vector<Stretch> stretches = options.stretches(lines[at.line]);
  const Stretch* found = name_at(stretches, at.column);
  if (found == nullptr || (within && at.column >= found->end)) return std::nullopt;
  return Hit{at.line, found->name};
}

void answer_mouse(const Area& area, const Lines& lines, const EditorOptions& options, EditorEvents& events) {
  const ImVec2 mouse = ImGui::GetMousePos();
  if (!area.hovered || mouse.x < area.text_left) return;
  ImGui::SetMouseCursor(ImGuiMouseCursor_TextInput);
  if (ImGui::IsMouseDown(ImGuiMouseButton_Left) && !ImGui::IsMouseClicked(ImGuiMouseButton_Left)) return;  // text is being selected
  const std::optional<Place> under = area.place_under(lines, mouse);
  if (!under) return;
  events.hovered = name_of(lines, options, *under, true);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) events.chosen = events.hovered;
}

/// Keys of the text in the order in which they give way to each other: the list's, those that leave, those that change, those that move.
void answer_keys(Area& area, EditorState& state, const EditorOptions& options, EditorEvents& events) {
  own_keys(area, {ImGuiKey_Z, ImGuiKey_Y, ImGuiKey_Tab});
  EditedText& text = state.text;
  const std::size_t before = text.revision();
  if (answer_completion_keys(area, state)) {
    events.changed = text.revision() != before;
    return;
  }
  if (is_pressed(area, ImGuiKey_Escape)) {
    if (!state.search_is_open) leave(area);
    state.search_is_open = false;
    return;
  }
  const std::string typed = typed_text(area);
  text.type(typed);
  answer_editing_keys(area, text);
  events.changed = text.revision() != before;
  const Lines lines = lines_of(text);
  const CaretEvents caret = move_caret(area, lines, text.caret, text.anchor);
  const bool asks = ImGui::GetIO().KeyCtrl && is_pressed(area, ImGuiKey_Space);
  const bool erases = events.changed && state.completion.is_open && text.caret.line == state.completion.begin.line;
  if (asks || (events.changed && !typed.empty()) || erases)
    list_completions(state, options, asks || state.completion.asked);
  else if (events.changed || caret.by_keys || caret.clicked)
    close(state.completion);
}

}  // namespace

EditorEvents editor(std::string_view id, EditorState& state, const EditorOptions& options) {
  EditorEvents events;
  EditedText& text = state.text;
  const Lines lines = lines_of(text);  // follows the text
  text.caret = clamped(lines, text.caret);
  text.anchor = clamped(lines, text.anchor);
  const Place before = text.caret;
  const bool jumped = search_line(id, lines, state.search, state.search_is_open, text.caret, text.anchor);
  Area area = begin_area(id, lines, {static_cast<int>(lines.count), nullptr}, options.height);
  if (state.reveal) {
    text.caret = text.anchor = clamped(lines, *std::exchange(state.reveal, std::nullopt));
    focus(area);
    area.entered = true;
    scroll_to_line(area, text.caret.line);
  }
  const bool in_list = state.completion.is_open && state.completion.box.contains(ImGui::GetMousePos());
  if (is_left_by_mouse(area) && !in_list) leave(area);
  answer_mouse(area, lines, options, events);
  answer_keys(area, state, options, events);
  if (!area.focused) close(state.completion);
  events.changed = draw_completions(area, state) || events.changed;
  events.caret_moved = text.caret != before;
  const Lines now = lines_of(text);
  if (jumped || events.changed || events.caret_moved) scroll_to(area, now, text.caret);
  if (events.caret_moved && !events.changed && !text.has_selection() && !events.chosen)
    events.chosen = name_of(now, options, text.caret, false);
  const bool searches = is_pressed_with_ctrl(area, ImGuiKey_F);
  draw(area, state, options);
  end_area(area, now);
  if (searches || std::exchange(state.asks_search, false))
    open_search(id, now, state.search, state.search_is_open, text.caret, text.anchor);
  return events;
}

}  // namespace fathom::ui::widgets
