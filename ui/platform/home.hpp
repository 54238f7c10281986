// What the desktop program keeps in the user's folders: settings, and the state of a session that a crash would lose.
#pragma once

#include <optional>
#include <string>

#include "app.hpp"

namespace fathom::ui {

/// $XDG_CONFIG_HOME/fathom/explorer.json; settings that cannot be read are the usual ones.
[[nodiscard]] Settings read_settings();
/// Silent where it cannot: settings are no work of the user's that could be lost.
void write_settings(const Settings&);

/// Keeps the session of this process in $XDG_STATE_HOME/fathom; removed when the program ends properly.
class Recovery {
 public:
  Recovery();
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// A session file that a process left which is no more; each is offered once.
  [[nodiscard]] std::optional<std::string> left_behind() const;
  /// Writes the state where it changed since the last call.
  void keep(const App&);

 private:
  std::string folder_, file_, kept_;
};

}  // namespace fathom::ui
