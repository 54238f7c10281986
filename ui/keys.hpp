// Combinations of keys by their names ("Ctrl+Shift+P"), and which of them runs a command: the table's own, or one that a person bound.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app.hpp"
#include "command.hpp"

namespace fathom::ui {

/// What is bound to the command now; empty: nothing.
[[nodiscard]] std::string shortcut_of(const App&, const Command&);
/// Exactly these keys, in this frame. While a text is edited only those count that write nothing.
[[nodiscard]] bool is_pressed(std::string_view shortcut);
/// Does the text name one?
[[nodiscard]] bool is_combination(std::string_view);
/// The combination that was pressed in this frame; nullopt: none that has a name.
[[nodiscard]] std::optional<std::string> pressed_combination();
/// Why the command cannot have the combination, as a sentence; empty: it can.
[[nodiscard]] std::string why_not_bound(const App&, const Command&, const std::string& combination);
void bind(App&, const Command&, std::string combination);
void reset_binding(App&, const Command&);
void reset_bindings(App&);
[[nodiscard]] bool is_rebound(const App&, const Command&);
/// Runs what the keys of this frame ask for; Escape first closes what lies over the workspace.
void run_shortcuts(App&);

}  // namespace fathom::ui
