// A compiled module and its launches: contract, workspaces, kernels in order, threads over the work.
#pragma once

#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/cpu/jit.hpp"
#include "codegen/cpu/plugin.h"

namespace fathom::cpu {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<void, Free>;

struct Block {
  std::int64_t bytes = 0;
  Memory memory;
};

/// The workspaces that a launch leaves to the next one of its program: asking the system for their pages may take longer than a kernel,
/// and a heap that frees and finds them again and again keeps holes of their size. Launches at the same time do not share them.
class Spares {
 public:
  [[nodiscard]] std::vector<Block> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(blocks_, {});
  }
  void give(std::vector<Block> blocks) {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_ = std::move(blocks);
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;  ///< one a workspace, or none
};

struct Program {
  kernel::Module module;
  LaunchLayout layout;
  CompiledCode code;
  std::unique_ptr<Spares> spares = std::make_unique<Spares>();
};

/// Parses, verifies and compiles Kernel-level text.
[[nodiscard]] Result<std::unique_ptr<Program>> compile_text(std::string_view kernel_text);
[[nodiscard]] Result<std::unique_ptr<Program>> compile_module(kernel::Module);

/// Arguments: parameters, then results. `dims`: the run-time dimensions in declared order, or none to take them from the arguments.
[[nodiscard]] Result<void> run(const Program&, std::span<const fathom_tensor> arguments, std::span<const std::int64_t> dims, int threads);

/// FMA peak of that many threads at once, GFLOP/s, best of several short runs.
[[nodiscard]] double peak_gflops(int threads);

}  // namespace fathom::cpu
