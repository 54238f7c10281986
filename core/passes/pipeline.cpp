// The table of contents of the compiler: every pass in order. The explorer, the command line, the docs and the tests iterate this table.
#include <array>

#include "passes/lowering.hpp"
#include "passes/passes.hpp"

namespace fathom::passes {
namespace {

constexpr std::array rows = {
    Pass{"open-prelude", "Open the prelude", "Named functions become their definitions, every reduction a statement of its own.",
         Level::math, Level::math, open_prelude},
    Pass{"derive", "Derive what may share a loop",
         "For each reduction: which producers it may ride with, and how its accumulator is repaired.", Level::math, Level::math, derive},
    Pass{"move-factors-out", "Move factors out", "What does not vary with the reduced index leaves the reduction; terms become canonical.",
         Level::math, Level::math, move_factors_out},
    Pass{"name-apart", "Name the axes apart", "One name, one axis: indices that data connects share a name, all others do not.",
         Level::math, Level::math, name_apart},
    Pass{"make-loops", "Make loops", "Every reduction becomes a loop nest; contractions stay whole.", Level::math, Level::loop, make_loops},
    Pass{"tile", "Tile the loops", "Loops take more than one element a trip, as many as fit on chip and the target's atoms like.",
         Level::loop, Level::loop, tile},
    Pass{"bound-by-mask", "Bound loops by the masks",
         "Tiles that a mask excludes wholly are skipped; those that it leaves whole lose the test.", Level::loop, Level::loop,
         bound_by_mask},
    Pass{"fuse", "Fuse reductions", "Reductions over one index share one loop; what moved is repaired.", Level::loop, Level::loop, fuse},
    Pass{"fold", "Choose the fold", "One running state, or partial states that are merged: the tree of every Reducer.", Level::loop,
         Level::loop, fold},
    Pass{"lower-to-tiles", "Lower to tiles",
         "Parallel loops become work items, values tiles; masks stand only where a tile reaches outside.", Level::loop, Level::tile,
         lower_to_tiles},
    Pass{"use-exp2", "Use exp2", "Exponentials become powers of two; log2(e) joins the scale, so that a score is one multiply-add.",
         Level::tile, Level::tile, use_exp2},
    Pass{"hoist", "Hoist what does not vary", "Values that a loop does not change stand in front of it.", Level::tile, Level::tile,
         hoist_invariants},
    Pass{"narrow", "Narrow operands",
         "Computed operands are rounded to the dtype that the matrix unit takes, if the precision policy allows it.", Level::tile,
         Level::tile, narrow_operands},
    Pass{"lower-to-kernel", "Place values and products",
         "Products go to the target's atoms, operands to panels and buffers, sums to lanes.", Level::tile, Level::kernel, lower_to_kernel},
};

}  // namespace

std::span<const Pass> pipeline() { return rows; }

}  // namespace fathom::passes
