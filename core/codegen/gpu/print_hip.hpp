// HIP C++ from thread programs: one file that clang compiles to AMD's instructions without ROCm.
#pragma once

#include "codegen/gpu/print_cuda.hpp"
#include "target/target.hpp"

namespace fathom::gpu {

/// The kernels, the helpers that they use, and the launcher, which is compiled only where ROCm's headers are. The first line is the
/// target's caution. Refused where a helper has no form without device libraries. The module is the one that was lowered.
[[nodiscard]] Result<PrintedCode> print_hip(const ThreadModule&, const kernel::Module&, const Target&);
/// The command that compiles such a file to a code object (or, with `-S`, to assembly with the numbers of its registers).
[[nodiscard]] std::string hip_command(const Target&);

}  // namespace fathom::gpu
