// Tile -> Kernel for targets whose atoms are issued by a warp: operands through rings of slots in shared memory, products on the atoms,
// rows dealt out to warps, loads ahead of the loop's work.
#pragma once

#include "passes/pass.hpp"

namespace fathom::passes {

/// Sites KERNEL/warps and KERNEL/stages. Refused where a product fits no atom of the target; the Tile module stays then.
[[nodiscard]] Result<Ir> lower_to_warps(const Ir&, StepLog&);

}  // namespace fathom::passes
