// Internal to passes: products of one kernel on atoms of a warp, and the rings that their operands come through.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel_kinds.hpp"
#include "passes/tile_arith.hpp"
#include "passes/tile_masks.hpp"
#include "target/target.hpp"

namespace fathom::passes {

struct WarpProducts {
  std::vector<std::string> results, atoms;  ///< of each product
  std::vector<std::string> rings;           ///< operands that are copied to shared memory
  std::vector<std::string> stored;          ///< rings whose slots are filled by loads and stores: their rows are no whole chunks
  std::set<Symbol> rows;                    ///< axes along the rows of the products
  std::set<Symbol> columns;                 ///< axes along their columns
  int in_loops = 0;                         ///< products inside of loops over tiles
  std::int64_t atom_rows = 1;
};

/// Which atoms a product may take: those of a warp, or those of a warpgroup, which run beside the work of the warps.
enum class AtomWidth : std::uint8_t { warp, warpgroup };

/// Refusal where a product fits no atom.
[[nodiscard]] Result<WarpProducts> place_on_warps(kernel::Kernel&, const Memory&, const kernel::Kinds&, const Target&, Names&, AtomWidth);

}  // namespace fathom::passes
