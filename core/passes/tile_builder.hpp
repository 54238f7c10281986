// Emits one kernel of the Tile level from a nest of the plan. Scopes are the loops that are open; a value is put into the outermost scope
// in which everything it reads is known. Masks, fills and the division into open and mixed trips are not made here (tile_masks.hpp).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "passes/tile_arith.hpp"
#include "passes/tile_plan.hpp"
#include "target/target.hpp"

namespace fathom::passes {

/// What the masks need to know about a loop over tiles.
struct LoopFact {
  Symbol axis;  ///< empty: one element a trip
  Expr base;    ///< number of the tile's first element
  Expr lo, hi;  ///< elements of the whole loop
  Expr tile;
  Symbol open, mixed;  ///< tags of its ranges
};

struct BuiltKernel {
  kernel::Kernel kernel;
  std::map<Symbol, LoopFact> loops;       ///< by loop variable
  std::vector<LoopFact> whole;            ///< axes without a loop that reach outside of their index
  Facts real;                             ///< what every lane of a tile satisfies
  Facts meant;                            ///< what holds for elements inside the extents
  std::vector<kernel::Workspace> states;  ///< partial states of a split that this kernel writes
  std::vector<ReducerRef> reducers;       ///< declared ones that it uses
};

[[nodiscard]] Result<BuiltKernel> build_tile_kernel(const TilePlan&, int nest, const std::map<Symbol, std::int64_t>& fixed,
                                                    Symbol kernel_name, const Target&);

/// The program's fixed dimensions as numbers, folded and simplified where it is index arithmetic.
[[nodiscard]] Expr fold_dims(Expr, const std::map<Symbol, std::int64_t>& fixed);
/// Is it made of indices, dimensions, uniform names and integer operations only?
[[nodiscard]] bool is_index_arithmetic(Expr);

}  // namespace fathom::passes
