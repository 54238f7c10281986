// Kernel ops to thread programs: which thread does what follows from the layouts (core/layout), what has to wait for what from the order of
// the text.
#pragma once

#include "codegen/gpu/thread_program.hpp"
#include "target/target.hpp"

namespace fathom::gpu {

/// Refused by name where an op has no form on the target, or not yet.
[[nodiscard]] Result<ThreadModule> lower(const kernel::Module&, const Target&);

}  // namespace fathom::gpu
