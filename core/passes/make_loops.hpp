// Placing statements into nests: the plan that runs every reduction in a loop of its own, with what it needs element by element.
#pragma once

#include "passes/nest.hpp"

namespace fathom::passes {

/// One nest for each reduction, in program order, with the statements that it needs and that are not computed yet; contractions over a
/// small fixed index ride with the reduction that consumes them. Statements that no result needs are dropped.
[[nodiscard]] loop::Program plan_loops(const math::Program&);

/// Tensors that one nest computes and another reads, in program order.
[[nodiscard]] std::vector<Symbol> stored_between(const math::Program&, const std::vector<Nest>&);

/// Puts the map into the nest that it can join behind what it reads, else in a nest of its own at the end.
void place_behind(const math::Program&, std::vector<Nest>&, const math::Statement& map);

}  // namespace fathom::passes
