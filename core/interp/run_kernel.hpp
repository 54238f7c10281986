// Internal to interp: runs Tile and Kernel modules in value mode. Tiles are whole arrays, one operation of a statement is one pass over
// them.
#pragma once

#include "interp/interp.hpp"
#include "ir/kernel.hpp"

namespace fathom::interp {

/// Verifies the module for its level (tile or kernel), then runs its kernels in order. Inputs are the module's parameters by name.
[[nodiscard]] Result<Arrays> run_module(const kernel::Module&, Level, const Arrays& inputs, const RunOptions&);

}  // namespace fathom::interp
