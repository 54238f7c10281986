// Every command with its keys, in groups; a press on "change" waits for another combination.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "command.hpp"
#include "keys.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "widgets/floating.hpp"

namespace fathom::ui::panels {
namespace {

using GroupName = std::pair<std::string_view, std::string_view>;
/// What the first part of a command's id is called; commands of one name stand together.
constexpr std::array group_names = std::to_array<GroupName>({{"step", "Steps"},
                                                             {"steps", "Steps"},
                                                             {"decision", "Choices"},
                                                             {"edit", "Changes"},
                                                             {"select", "Changes"},
                                                             {"tab", "Middle panel"},
                                                             {"ir", "Middle panel"},
                                                             {"plan", "Middle panel"},
                                                             {"view", "Screen"},
                                                             {"panel", "Screen"},
                                                             {"file", "Files"},
                                                             {"help", "Help"},
                                                             {"app", "Fathom"}});

std::string group_of(const Command& command) {
  const std::string_view part = command.id.substr(0, command.id.find('.'));
  for (const auto& [prefix, name] : group_names)
    if (prefix == part) return std::string(name);
  std::string own(part);
  if (!own.empty()) own[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(own[0])));
  return own;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// All words of the query stand in the title or are its keys.
bool is_listed(const App& app, const Command& command, const std::string& query) {
  const std::string all = in_small_letters(std::string(command.title) + " " + shortcut_of(app, command));
  const std::string wanted = in_small_letters(query);
  for (std::size_t at = 0; at < wanted.size();) {
    const std::size_t end = std::min(wanted.find(' ', at), wanted.size());
    if (all.find(wanted.substr(at, end - at)) == std::string::npos) return false;
    at = end + 1;
  }
  return true;
}

/// The combination that a row waits for; true in the frame in which keys were pressed: they press nothing else.
bool take_combination(App& app) {
  OverlayState& state = app.overlay;
  if (state.waits.empty()) return false;
  const auto pressed = pressed_combination();
  if (!pressed) return false;
  const Command& command = *command_named(state.waits);
  state.refused.clear();
  if (*pressed != "Escape") {
    state.refused = why_not_bound(app, command, *pressed);
    if (!state.refused.empty()) return true;  // it goes on waiting
    bind(app, command, *pressed);
  }
  state.waits.clear();
  return true;
}

void row(App& app, const Command& command, bool keys_are_taken) {
  OverlayState& state = app.overlay;
  const MirrorScope scope(command.id);
  ImGui::PushID(command.id.data(), command.id.data() + command.id.size());
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, text_y = at.y + (metrics().row - font(Font::body)->FontSize) / 2;
  const bool waits = state.waits == command.id, is_mine = is_rebound(app, command);
  const std::string keys = waits ? "press the keys, Esc keeps them" : shortcut_of(app, command);
  const float links = widgets::measure("change", Font::body).x + gap(3) + widgets::measure("reset", Font::body).x;
  const float keys_width = widgets::measure(keys, Font::code).x, right = at.x + width - links - gap(4);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (waits) list.AddRectFilled(at, {at.x + width, at.y + metrics().row}, picked_ground(), metrics().control_radius);
  ImGui::SetCursorScreenPos({at.x + gap(1), text_y});
  widgets::fitted("title", command.title, right - keys_width - at.x - gap(3), Role::text, Font::body);
  ImGui::SetCursorScreenPos({right - keys_width, at.y + (metrics().row - font(Font::code)->FontSize) / 2});
  widgets::fitted("keys", keys, keys_width + gap(1), is_mine || waits ? Role::accent : Role::muted, Font::code);
  ImGui::SetCursorScreenPos({at.x + width - links, text_y});
  if (widgets::link("change", "change") && !keys_are_taken) {
    state.waits = command.id;
    state.refused.clear();
  }
  if (is_mine) {
    ImGui::SetCursorScreenPos({at.x + width - widgets::measure("reset", Font::body).x, text_y});
    if (widgets::link("reset", "reset") && !keys_are_taken) reset_binding(app, command);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::Dummy({1, metrics().row});
  if (waits && !state.refused.empty()) widgets::wrapped(state.refused, Role::warn, Font::caption);
  ImGui::PopID();
}

/// In the order of the table, each group where its first command stands.
std::vector<std::string> groups() {
  std::vector<std::string> all;
  for (const Command& command : commands())
    if (const std::string group = group_of(command); std::find(all.begin(), all.end(), group) == all.end()) all.push_back(group);
  return all;
}

void head(App& app, bool keys_are_taken) {
  const float all = widgets::button_width("Reset all");
  if (app.overlay.just_opened) ImGui::SetKeyboardFocusHere();
  widgets::field("query", {}, app.overlay.query, "search commands and keys", ImGui::GetContentRegionAvail().x - all - gap(2));
  ImGui::SameLine();
  widgets::ButtonOptions options;
  options.tip = "Every command gets the keys that it came with";
  if (app.settings.keys.empty()) options.disabled = "No keys were changed.";
  if (widgets::button("reset-all", "Reset all", options) && !keys_are_taken) reset_bindings(app);
}

}  // namespace

void keys_sheet(App& app) {
  const bool stays = widgets::begin_floating("keys", "Keys", {{gap(160), gap(160)}, app.overlay.just_opened});
  const bool keys_are_taken = take_combination(app);
  head(app, keys_are_taken);
  app.overlay.just_opened = false;
  ImGui::BeginChild("##list");
  bool is_empty = true;
  for (const std::string& group : groups()) {
    bool is_first = true;
    for (const Command& command : commands()) {
      if (group_of(command) != group || !is_listed(app, command, app.overlay.query)) continue;
      if (is_first) {
        ImGui::Dummy({1, gap(1)});
        widgets::text(group, Role::muted, Font::caption);
      }
      is_first = is_empty = false;
      row(app, command, keys_are_taken);
    }
  }
  if (is_empty) widgets::wrapped("No command and no keys have these letters.", Role::muted);
  ImGui::EndChild();
  widgets::end_floating();
  if (!stays) app.overlay = {};
}

}  // namespace fathom::ui::panels
