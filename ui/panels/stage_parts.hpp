// Parts of the stage's panel; only stage*.cpp of this folder include it.
#pragma once

#include <string>
#include <vector>

#include "app.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::panels::stage_parts {

using widgets::Box;

/// Place in the document of the step that ran: names are of the program after it.
[[nodiscard]] std::size_t step_of_names(const App&);
[[nodiscard]] ImU32 ink_of(const App&, const std::string& tensor);
/// "−inf", "1.25", "3.1e-08"
[[nodiscard]] std::string number_text(double);
/// What the data of that family are, in words: "k rising along j".
[[nodiscard]] std::string data_text(const session::stage::Stage&, const std::string& family);
/// "[0.2 0.7 0.1]"; the middle is left out of long ones.
[[nodiscard]] std::string values_text(const std::vector<double>&);

/// What is kept, and how far the tiles are, after the trip.
[[nodiscard]] const StageView::Kept& kept_of(App&);

/// The square of tiles, or the strip of a program without rows, with the names of its axes and what the patterns mean.
void plane(App&, const Box&, float arrived);
/// Running states and results at the row that is looked at, as they were and as they are.
void values(App&, const Box&);
/// What has been written and is kept, by place.
void places(App&, const Box&);
/// The error of each trip.
void errors(App&, const Box&);

}  // namespace fathom::ui::panels::stage_parts
