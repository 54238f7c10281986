// Masks that are comparisons of indices: which tiles they exclude wholly (skipped), leave whole (open) or cut (mixed).
#pragma once

#include <set>

#include "passes/nest.hpp"

namespace fathom::passes {

/// Tags of ranges of trips.
inline const Symbol open_trips{"open"}, mixed_trips{"mixed"};

/// The comparisons that decide about tiles of `index` in the nest: where one of them is false, every reduction of the nest gets its
/// identity (docs/algebra.md). In a trip tagged `open` all of them hold, so a lowering may take them as true there.
[[nodiscard]] std::vector<Expr> mask_conditions(const loop::Program&, const Nest&, Symbol index);

/// Ranges of trips of the nest's innermost fold: mixed, open, mixed. Empty where there is neither a mask nor a ragged last tile.
/// `open` trips are full and need no mask.
struct Bounding {
  std::vector<loop::TileRange> ranges;
  std::vector<Expr> conditions;
  std::optional<Refusal> refused;  ///< there is a mask, but it may not bound this loop
  /// Nests that read by element what this one stores: they could skip the same tiles, and until they do, this one computes them all.
  std::set<std::size_t> readers;
};
[[nodiscard]] Bounding bounds_by_mask(const loop::Program&, const std::vector<Nest>&, std::size_t nest);
/// A loop that skips tiles which a reader looks at (its own loop is not bounded) runs over all tiles again.
void compute_what_is_read(const loop::Program&, std::vector<Nest>&);

}  // namespace fathom::passes
