// What the desktop program keeps in the user's folders: settings, and the state of a session that a crash would lose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app.hpp"

namespace fathom::ui {

/// $XDG_CONFIG_HOME/fathom/explorer.json; nullopt: there is none yet. Settings that cannot be read are the usual ones.
[[nodiscard]] std::optional<Settings> read_settings();
/// Silent where it cannot: settings are no work of the user's that could be lost.
void write_settings(const Settings&);

/// Keeps the session of this process in $XDG_STATE_HOME/fathom; removed when the program ends properly.
class Recovery {
 public:
  Recovery();
  ~Recovery();
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  /// The session files of processes that ended without a goodbye, the newest first. Each is kept under a name of its own, and found at
  /// every start until it is opened or thrown away.
  [[nodiscard]] const std::vector<LeftBehind>& left_behind() const { return left_behind_; }
  /// Writes the state where it changed since the last call.
  void keep(const App&);
  /// The program is made to end, and nobody was asked about unsaved work: it is offered at the next start.
  void leave(const App&);

 private:
  void take_what_is_left();

  /// What the kept file holds.
  struct Kept {
    std::uint64_t version = 0, trials = 0;
    std::string text;
    View view;
    Selection selected;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  std::string folder_, file_;
  std::vector<LeftBehind> left_behind_;
  std::optional<Kept> kept_;
  int lock_ = -1;
};

}  // namespace fathom::ui
