// What a launch hands to compiled code, and how a module's tensors are numbered in it. LLVM-free: shared by the emitter and the runtime.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/kernel.hpp"

namespace fathom::cpu {

/// The only thing compiled code gets besides the work item and its arena. Read as four pointers.
struct Launch {
  void* const* data;            ///< of each tensor
  const std::int64_t* extents;  ///< flat, tensor after tensor
  const std::int64_t* strides;  ///< in elements
  const std::int64_t* dims;     ///< run-time dimensions in declared order
};

/// A tensor of the launch: parameters, then results, then workspaces.
struct LaunchTensor {
  Symbol name;
  DType dtype = DType::f32;
  std::vector<Expr> extents;   ///< over dimensions
  int contiguous = -1;         ///< axis whose stride is 1 by contract; -1: none (strided)
  std::size_t first_axis = 0;  ///< in the flat lists
};

struct LaunchLayout {
  std::vector<LaunchTensor> tensors;
  std::size_t arguments = 0;  ///< parameters and results
  std::vector<Symbol> runtime_dims;
  DimValues fixed_dims;
  std::size_t axes = 0;
};

[[nodiscard]] LaunchLayout launch_layout(const kernel::Module&);

using WorkFunction = void (*)(const Launch*, std::int64_t item, void* arena);

}  // namespace fathom::cpu
