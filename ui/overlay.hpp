// What lies over the workspace without stopping it: the list of keys, the settings, the tour of the first minute.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace fathom::ui {

class App;

enum class Overlay : unsigned char { none, keys, settings };

struct OverlayState {
  Overlay open = Overlay::none;
  bool just_opened = false;
  // ---- the list of keys ----
  std::string query;
  std::string waits;    ///< id of the command that gets the next combination; empty: none
  std::string refused;  ///< why the last one was not taken
};

/// Where the tour of the first minute stands; nullopt: it is not shown.
using TourPlace = std::optional<std::size_t>;

void open_overlay(App&, Overlay);
/// Does a command wait for its combination?
[[nodiscard]] bool waits_for_keys(const App&);
/// Escape: closes what was opened last; false where nothing lies over the workspace.
bool close_topmost(App&);

}  // namespace fathom::ui
