// Whether this machine can hold what a launch and its check need, asked before any of it is allocated.
#pragma once

#include "ir/kernel.hpp"
#include "ir/math.hpp"

namespace fathom::cli {

/// `nodes` of the refusal.
inline constexpr const char* resource_limit = "resource_limit";

/// A refusal with both amounts and a smaller size to try, where the machine has less than that available.
[[nodiscard]] Result<void> fits_in_memory(const math::Program&, const kernel::Module&, const DimValues&);

}  // namespace fathom::cli
