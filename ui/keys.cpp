#include "keys.hpp"

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <utility>

#include "overlay.hpp"

namespace fathom::ui {
namespace {

struct Key {
  std::string_view name;
  ImGuiKey key;
};
constexpr std::array named_keys = std::to_array<Key>({{"Right", ImGuiKey_RightArrow},
                                                      {"Left", ImGuiKey_LeftArrow},
                                                      {"Up", ImGuiKey_UpArrow},
                                                      {"Down", ImGuiKey_DownArrow},
                                                      {"Home", ImGuiKey_Home},
                                                      {"End", ImGuiKey_End},
                                                      {"Space", ImGuiKey_Space},
                                                      {"Escape", ImGuiKey_Escape},
                                                      {"Enter", ImGuiKey_Enter},
                                                      {"Tab", ImGuiKey_Tab},
                                                      {"PageUp", ImGuiKey_PageUp},
                                                      {"PageDown", ImGuiKey_PageDown},
                                                      {"Insert", ImGuiKey_Insert},
                                                      {"Delete", ImGuiKey_Delete},
                                                      {"Backspace", ImGuiKey_Backspace},
                                                      {"=", ImGuiKey_Equal},
                                                      {"-", ImGuiKey_Minus},
                                                      {",", ImGuiKey_Comma},
                                                      {".", ImGuiKey_Period},
                                                      {"/", ImGuiKey_Slash},
                                                      {";", ImGuiKey_Semicolon},
                                                      {"'", ImGuiKey_Apostrophe},
                                                      {"[", ImGuiKey_LeftBracket},
                                                      {"]", ImGuiKey_RightBracket},
                                                      {"\\", ImGuiKey_Backslash},
                                                      {"`", ImGuiKey_GraveAccent},
                                                      {"F1", ImGuiKey_F1},
                                                      {"F2", ImGuiKey_F2},
                                                      {"F3", ImGuiKey_F3},
                                                      {"F4", ImGuiKey_F4},
                                                      {"F5", ImGuiKey_F5},
                                                      {"F6", ImGuiKey_F6},
                                                      {"F7", ImGuiKey_F7},
                                                      {"F8", ImGuiKey_F8},
                                                      {"F9", ImGuiKey_F9},
                                                      {"F10", ImGuiKey_F10},
                                                      {"F11", ImGuiKey_F11},
                                                      {"F12", ImGuiKey_F12}});

/// A sign that stands on another key in every country: it counts as a letter that was typed.
constexpr std::string_view typed_sign = "?";

/// Other ways to the palette, beside the one that is bound.
constexpr std::array palette_keys = std::to_array<std::string_view>({"F1", "Ctrl+Shift+P"});
constexpr std::string_view palette_command = "view.palette";

/// A browser keeps these to itself, so that a page never sees them.
constexpr std::array kept_by_browsers = std::to_array<std::string_view>(
    {"Ctrl+W", "Ctrl+T", "Ctrl+N", "Ctrl+Tab", "Ctrl+Shift+W", "Ctrl+Shift+T", "Ctrl+Shift+N", "Ctrl+Shift+Tab"});

/// These move and press within the window.
constexpr std::array kept_by_us = std::to_array<std::string_view>({"Tab", "Shift+Tab", "Enter", "Up", "Down"});

bool take(std::string_view& rest, std::string_view prefix) {
  if (rest.substr(0, prefix.size()) != prefix) return false;
  rest.remove_prefix(prefix.size());
  return true;
}

ImGuiKey key_named(std::string_view name) {
  for (const Key& each : named_keys)
    if (each.name == name) return each.key;
  if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return static_cast<ImGuiKey>(ImGuiKey_A + (name[0] - 'A'));
  if (name.size() == 1 && name[0] >= '0' && name[0] <= '9') return static_cast<ImGuiKey>(ImGuiKey_0 + (name[0] - '0'));
  return ImGuiKey_None;
}

std::string name_of(ImGuiKey key) {
  for (const Key& each : named_keys)
    if (each.key == key) return std::string(each.name);
  if (key >= ImGuiKey_A && key <= ImGuiKey_Z) return std::string(1, static_cast<char>('A' + (key - ImGuiKey_A)));
  if (key >= ImGuiKey_0 && key <= ImGuiKey_9) return std::string(1, static_cast<char>('0' + (key - ImGuiKey_0)));
  return {};
}

bool was_typed(std::string_view sign) {
  const auto& letters = ImGui::GetIO().InputQueueCharacters;
  return std::any_of(letters.begin(), letters.end(), [&](ImWchar letter) { return letter == static_cast<ImWchar>(sign.front()); });
}

template <std::size_t n>
bool is_among(const std::array<std::string_view, n>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::string shortcut_of(const App& app, const Command& command) {
  const auto bound = app.settings.keys.find(command.id);
  return bound == app.settings.keys.end() ? std::string(command.shortcut) : bound->second;
}

bool is_rebound(const App& app, const Command& command) { return app.settings.keys.count(command.id) > 0; }

bool is_pressed(std::string_view shortcut) {
  const ImGuiIO& io = ImGui::GetIO();
  if (shortcut == typed_sign) return !io.WantTextInput && was_typed(typed_sign);
  const bool ctrl = take(shortcut, "Ctrl+"), alt = take(shortcut, "Alt+"), shift = take(shortcut, "Shift+");
  if (io.KeyCtrl != ctrl || io.KeyAlt != alt || io.KeyShift != shift) return false;
  const ImGuiKey key = key_named(shortcut);
  const bool writes = !ctrl && !alt && (key < ImGuiKey_F1 || key > ImGuiKey_F12);
  if (io.WantTextInput && writes) return false;
  // A field that is edited has an undo of its own.
  if ((key == ImGuiKey_Z || key == ImGuiKey_Y) && ImGui::GetInputTextState(ImGui::GetActiveID()) != nullptr) return false;
  return key != ImGuiKey_None && ImGui::IsKeyPressed(key, true);
}

bool is_combination(std::string_view text) {
  if (text == typed_sign) return true;
  for (const std::string_view modifier : {"Ctrl+", "Alt+", "Shift+"}) (void)take(text, modifier);
  return key_named(text) != ImGuiKey_None;
}

std::optional<std::string> pressed_combination() {
  if (was_typed(typed_sign)) return std::string(typed_sign);
  const ImGuiIO& io = ImGui::GetIO();
  for (int key = ImGuiKey_NamedKey_BEGIN; key < ImGuiKey_NamedKey_END; ++key) {
    const std::string name = name_of(static_cast<ImGuiKey>(key));
    if (name.empty() || !ImGui::IsKeyPressed(static_cast<ImGuiKey>(key), false)) continue;
    return fmt::format("{}{}{}{}", io.KeyCtrl ? "Ctrl+" : "", io.KeyAlt ? "Alt+" : "", io.KeyShift ? "Shift+" : "", name);
  }
  return std::nullopt;
}

std::string why_not_bound(const App& app, const Command& wanted, const std::string& combination) {
  if (is_among(kept_by_browsers, combination))
    return fmt::format("{} belongs to the browser, which never hands it on. Choose another combination.", combination);
  if (is_among(kept_by_us, combination)) return fmt::format("{} moves and presses within the window. Choose another one.", combination);
  for (const Command& command : commands())
    if (command.id != wanted.id && shortcut_of(app, command) == combination)
      return fmt::format("{} is “{}” already. Give that another combination first.", combination, command.title);
  if (wanted.id != palette_command && is_among(palette_keys, combination))
    return fmt::format("{} opens the list of commands. Choose another combination.", combination);
  return {};
}

void bind(App& app, const Command& command, std::string combination) {
  if (combination == command.shortcut)
    app.settings.keys.erase(std::string(command.id));
  else
    app.settings.keys[std::string(command.id)] = std::move(combination);
}

void reset_binding(App& app, const Command& command) { app.settings.keys.erase(std::string(command.id)); }
void reset_bindings(App& app) { app.settings.keys.clear(); }

void run_shortcuts(App& app) {
  // A menu has the keys while it is open, and so has a row of the list of keys that waits for its combination.
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopupId | ImGuiPopupFlags_AnyPopupLevel) || waits_for_keys(app)) return;
  if (!app.palette.is_open && is_pressed("Escape") && close_topmost(app)) return;
  if (std::any_of(palette_keys.begin(), palette_keys.end(), is_pressed)) {
    run_command(app, palette_command);
    return;
  }
  for (const Command& command : commands()) {
    const std::string shortcut = shortcut_of(app, command);
    if (shortcut.empty() || !is_pressed(shortcut)) continue;
    run_command(app, command.id);
    return;
  }
}

}  // namespace fathom::ui
