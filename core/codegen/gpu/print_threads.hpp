// Internal to gpu: what the printed kernels of all languages have in common.
#pragma once

#include <set>

#include "codegen/gpu/launcher.hpp"
#include "codegen/gpu/print_cuda.hpp"

namespace fathom::gpu {

struct PrintedThreads {
  std::string text;                                ///< functions of the module's own, then kernels
  std::vector<const kernel::Statement*> made_for;  ///< of each line
  std::set<std::string> used;                      ///< helper functions and types
};
[[nodiscard]] PrintedThreads print_threads(const ThreadModule&, SharedMemory = SharedMemory::at_launch);
/// With the lines of the module that each line is made for.
[[nodiscard]] PrintedCode whole_file(const std::string& head, const PrintedThreads&, const std::string& launcher, const kernel::Module&);

}  // namespace fathom::gpu
