// What the program after a step is compared with: another step of this plan, or the same step of another state of the history.
#pragma once

#include <string>
#include <vector>

#include "app.hpp"

namespace fathom::ui {

void compare_with_step(App&, const std::string& id);
void compare_with_previous(App&);
void compare_with_plan(App&, std::size_t place);
/// The plan that is compared with; nullptr: none.
[[nodiscard]] const session::Compilation* other_plan(const App&);
/// The same step of that plan; nullptr: none, or it has no such step at this level.
[[nodiscard]] const Step* other_plan_step(const App&, const Step&);
/// How each step of this plan, and those that only the other has, relate to the other plan; empty: none is compared with.
[[nodiscard]] std::vector<session::StepChange> plan_changes(const App&);

}  // namespace fathom::ui
