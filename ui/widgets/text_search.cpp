// The line of the search above an area.
#include <algorithm>
#include <string>
#include <utility>

#include "icons.hpp"
#include "mirror.hpp"
#include "widgets/text_layout.hpp"

namespace fathom::ui::widgets {

void open_search(std::string_view id, const Lines& lines, std::string& query, bool& is_open, Place caret, Place anchor) {
  if (caret != anchor && caret.line == anchor.line) query = text_between(lines, anchor, caret);
  is_open = true;
  ImGui::PushID(id.data(), id.data() + id.size());
  ImGui::GetStateStorage()->SetBool(ImGui::GetID("search"), true);
  ImGui::PopID();
}

namespace {

/// Selects the match after (or before) what is selected, going round at the ends; `stays` keeps one that begins where the selection does.
bool go_to_match(const std::vector<Place>& found, std::size_t length, bool backwards, bool stays, Place& caret, Place& anchor) {
  if (found.empty()) return false;
  const Place from = std::min(caret, anchor);
  auto at = stays ? std::lower_bound(found.begin(), found.end(), from) : std::upper_bound(found.begin(), found.end(), from);
  if (backwards) {
    at = std::lower_bound(found.begin(), found.end(), from);
    at = at == found.begin() ? std::prev(found.end()) : std::prev(at);
  } else if (at == found.end()) {
    at = found.begin();
  }
  anchor = *at;
  caret = {at->line, at->column + length};
  return true;
}

std::string count_text(const std::vector<Place>& found, std::size_t length, Place caret, Place anchor) {
  if (found.empty()) return "none";
  const auto at = std::find(found.begin(), found.end(), std::min(caret, anchor));
  const bool is_selected = at != found.end() && std::max(caret, anchor) == Place{at->line, at->column + length};
  return (is_selected ? std::to_string(at - found.begin() + 1) + " of " : "") + std::to_string(found.size()) +
         (is_selected         ? ""
          : found.size() == 1 ? " place"
                              : " places");
}

}  // namespace

bool search_line(std::string_view id, const Lines& lines, std::string& query, bool& is_open, Place& caret, Place& anchor) {
  if (!is_open) return false;
  const MirrorScope scope(id);
  ImGui::PushID(id.data(), id.data() + id.size());
  ImGuiStorage& storage = *ImGui::GetStateStorage();
  ImGuiIO& io = ImGui::GetIO();
  if (storage.GetBool(ImGui::GetID("search"))) {
    ImGui::SetWindowFocus();  // the area's own window had it; what is not of the focused window gets no keys
    ImGui::SetKeyboardFocusHere();
  }
  storage.SetBool(ImGui::GetID("search"), false);
  const std::string before = query;
  const bool keeps = std::exchange(io.ConfigInputTextEnterKeepActive, true);  // Enter goes to the next match and typing goes on
  const bool typed = field("search", {}, query, "Search", gap(50));
  io.ConfigInputTextEnterKeepActive = keeps;
  const bool active = ImGui::IsItemActive(), left = ImGui::IsItemDeactivated();
  const bool enter = active && (ImGui::IsKeyPressed(ImGuiKey_Enter) || ImGui::IsKeyPressed(ImGuiKey_KeypadEnter));
  bool closes = left && ImGui::IsKeyPressed(ImGuiKey_Escape, false);
  if (closes) query = before;  // the field would take back what was typed

  const std::vector<Place> found = places_of(lines, query);
  bool jumped = typed && !closes && go_to_match(found, query.size(), false, true, caret, anchor);
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (metrics().row - font(Font::caption)->FontSize) / 2);
  fitted("count", query.empty() ? std::string() : count_text(found, query.size(), caret, anchor), gap(15),
         found.empty() && !query.empty() ? Role::warn : Role::muted, Font::caption);
  const auto step = [&](const char* name, const char* sign, const char* tip, const char* shortcut) {
    ImGui::SameLine(0, gap(1));
    ButtonOptions options;
    options.look = Look::quiet;
    options.tip = tip;
    options.shortcut = shortcut;
    if (found.empty()) options.disabled = "Nothing is found.";
    return button(name, sign, options);
  };
  const bool back = step("previous", "\xE2\x86\x91", "Previous match", "Shift+Enter"),
             on = step("next", "\xE2\x86\x93", "Next match", "Enter");
  if (back || on || enter) jumped = go_to_match(found, query.size(), back || (enter && io.KeyShift), false, caret, anchor) || jumped;
  ImGui::SameLine(0, gap(1));
  ButtonOptions close;
  close.icon = icons::close;
  close.look = Look::quiet;
  close.tip = "Close the search";
  close.shortcut = "Esc";
  closes = button("close", {}, close) || closes;
  if (closes) {
    is_open = false;
    storage.SetBool(ImGui::GetID(kept_return), true);
  }
  ImGui::PopID();
  return jumped;
}

}  // namespace fathom::ui::widgets
