// Where a tile may reach outside: fills of loads, masks of reductions, and the division of loops into open and mixed trips. A mask stands
// exactly where an element outside could count: a fill or a mask before it that already gives the identity of every reduction makes it
// superfluous.
#pragma once

#include "passes/came_from.hpp"
#include "passes/tile_builder.hpp"

namespace fathom::passes {

/// Extents and dtype of what lies in memory.
struct MemoryShape {
  std::vector<Expr> box;
  DType dtype = DType::f32;
};
using Memory = std::map<Symbol, MemoryShape>;

/// Parameters with extents, results and workspaces.
[[nodiscard]] Memory memory_of(const kernel::Module&);

/// What was decided, for the step's sentence.
struct MaskSummary {
  int masks = 0;        ///< selects that the lowering added
  int divided = 0;      ///< loops divided into open and mixed trips here
  int mixed_only = 0;   ///< selects of the text that mixed trips alone keep
  int fills = 0;        ///< loads with a fill
  bool settled = true;  ///< else some reduction would count what lies outside
};

MaskSummary mask_tails(BuiltKernel&, const kernel::Module&);
/// Removes values that nothing reads, and copies of a value that only the copy reads.
void remove_dead_values(kernel::Kernel&, const Memory&, CameFrom&);

}  // namespace fathom::passes
