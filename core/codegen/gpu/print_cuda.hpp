// Thread programs as CUDA C++: one file that needs no other, for nvcc and NVRTC.
#pragma once

#include <string>

#include "codegen/gpu/thread_program.hpp"

namespace fathom::gpu {

/// The kernels, the helpers that they use, and a launcher with a C interface (`NAME_launch`): it checks the launch contract and says in
/// `error` what does not hold.
[[nodiscard]] std::string print_cuda(const ThreadModule&, const kernel::Module&);

}  // namespace fathom::gpu
