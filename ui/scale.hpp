// The size of everything, tried before it stays.
#pragma once

#include <array>

#include "app.hpp"

namespace fathom::ui {

inline constexpr std::array offered_percents = {75, 100, 125, 150, 200, 250, 300};
[[nodiscard]] int percent_of(float scale);
/// For ten seconds, unless it is kept.
void try_scale(App&, float scale);
/// Back to the size before.
void end_trial(App&);

}  // namespace fathom::ui
