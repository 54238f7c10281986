// The passes from Loop to Tile and from Tile to Kernel: rows of the pipeline. Each is a pure function that reports its steps and decisions.
// They ask for laws, extents and the target's table, never for an operator or a target by name.
#pragma once

#include "passes/pass.hpp"

namespace fathom::passes {

/// Loop -> Tile: outer parallel loops become work items, the rest loops over tiles; folds carry their state, gauges move once a trip.
[[nodiscard]] Result<Ir> lower_to_tiles(const Ir&, StepLog&);
/// Why the Loop program has no Tile module, or nullopt: asked before a choice is offered.
[[nodiscard]] std::optional<Refusal> refuse_tiles(const loop::Program&, const Target&);
/// Tile -> Tile: exp(x) becomes exp2 with log2(e) folded into the scale, so that a score is one multiply-add. Site VALUE/exp2.
[[nodiscard]] Result<Ir> use_exp2(const Ir&, StepLog&);
/// Tile -> Tile: values that do not vary with a loop move in front of it.
[[nodiscard]] Result<Ir> hoist_invariants(const Ir&, StepLog&);
/// Tile -> Tile: an operand that was computed is rounded to the dtype of the other one, where the target has an atom for it. Site
/// VALUE/precision.
[[nodiscard]] Result<Ir> narrow_operands(const Ir&, StepLog&);
/// Tile -> Kernel, for targets whose atoms are synchronous: atoms, packed panels, cache buffers, lanes, the work source.
/// For other targets the level is refused by name and the Tile module stays.
[[nodiscard]] Result<Ir> lower_to_kernel(const Ir&, StepLog&);

}  // namespace fathom::passes
