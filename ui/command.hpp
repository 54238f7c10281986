// Everything that can be done, in one table: menu, palette, keys, cheat sheet and tests iterate it.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "app.hpp"

namespace fathom::ui {

struct Command {
  std::string_view id;        ///< stable: settings and tests name it
  std::string_view title;     ///< a verb and what it acts on
  std::string_view shortcut;  ///< "Ctrl+K", "Left"; may be empty. What is bound now: shortcut_of (keys.hpp)
  /// Why it cannot be done now; empty: it can.
  std::string (*disabled)(const App&);
  void (*run)(App&);
  std::string_view words = {};  ///< that people look for it by, besides those of the title
};
[[nodiscard]] std::span<const Command> commands();
[[nodiscard]] const Command* command_named(std::string_view id);
/// Runs it where it can be run; true where it was.
bool run_command(App&, std::string_view id);
/// Opens the palette with the question, `query` typed already.
void ask(App&, Ask, std::string query = {});
/// Does what ends the open session; first asks where it has changes that no file has.
void leave(App&, std::function<void(App&)> then);
}  // namespace fathom::ui
