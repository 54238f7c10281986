// What checks said of the plans that were open lately: undo, redo and a lock bring back a plan that was checked already.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace fathom::ui {

class KnownChecks {
 public:
  using OfPlan = std::vector<std::optional<Check>>;  ///< by step; none: not checked yet
  /// Of the plan whose program and IR after every step are those of the compilation. Valid until the next call.
  [[nodiscard]] OfPlan& of(const session::Compilation&);

 private:
  struct Plan {
    std::string text;
    OfPlan checks;
  };
  std::deque<Plan> plans_;  ///< the newest first
};

}  // namespace fathom::ui
