// The tour of the first minute: a few places of the screen, one sentence each.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "app.hpp"

namespace fathom::ui {

struct TourStop {
  std::string_view item;      ///< of the mirror
  std::string_view sentence;  ///< what is there
};
[[nodiscard]] std::span<const TourStop> tour_stops();
void begin_tour(App&);
/// After the last stop it ends.
void next_stop(App&);
void previous_stop(App&);
void end_tour(App&);

}  // namespace fathom::ui
