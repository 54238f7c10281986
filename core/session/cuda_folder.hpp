// A plan for CUDA as a folder to take away: the kernel, how it is built and called, how it was made, and scripts that test and time it on
// the machine that it is for.
#pragma once

#include <string>
#include <vector>

#include "session/exports.hpp"

namespace fathom::session {

/// kernel.cu, README.md, program.fathom, plan.trace, checks.md, reference.py, launch.py, test.py, bench.py: the same bytes for the same
/// plan. Refused where the plan has no Kernel level, or no code.
[[nodiscard]] Result<std::vector<ExportFile>> cuda_folder(const Compilation&);

}  // namespace fathom::session
