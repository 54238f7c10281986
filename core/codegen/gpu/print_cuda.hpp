// Thread programs as CUDA C++: one file that needs no other, for nvcc and NVRTC.
#pragma once

#include <string>
#include <vector>

#include "codegen/gpu/thread_program.hpp"

namespace fathom::gpu {

struct PrintedCode {
  std::string text;
  std::vector<int> lines;  ///< for each line of it that of the printed module that it is made for, counted from 1; 0: of none
};
/// The kernels, the helpers that they use, and a launcher with a C interface (`NAME_launch`): it checks the launch contract and says in
/// `error` what does not hold. The module is the one that was lowered.
[[nodiscard]] PrintedCode print_cuda(const ThreadModule&, const kernel::Module&);

}  // namespace fathom::gpu
