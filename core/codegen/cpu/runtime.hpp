// A compiled module and its launches: contract, workspaces, kernels in order, threads over the work.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "codegen/cpu/jit.hpp"
#include "codegen/cpu/plugin.h"

namespace fathom::cpu {

struct Program {
  kernel::Module module;
  LaunchLayout layout;
  CompiledCode code;
};

/// Parses, verifies and compiles Kernel-level text.
[[nodiscard]] Result<std::unique_ptr<Program>> compile_text(std::string_view kernel_text);
[[nodiscard]] Result<std::unique_ptr<Program>> compile_module(kernel::Module);

/// Arguments: parameters, then results. `dims`: the run-time dimensions in declared order, or none to take them from the arguments.
[[nodiscard]] Result<void> run(const Program&, std::span<const fathom_tensor> arguments, std::span<const std::int64_t> dims, int threads);

/// FMA peak of that many threads at once, GFLOP/s, best of several short runs.
[[nodiscard]] double peak_gflops(int threads);

}  // namespace fathom::cpu
