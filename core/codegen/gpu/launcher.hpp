// Internal to gpu: the function of a printed module that a program on the host calls.
#pragma once

#include <string>

#include "codegen/gpu/thread_program.hpp"

namespace fathom::gpu {

/// `int NAME_launch(arguments, count, dims, dim_count, stream, error)`: tensors in declared order, parameters then results; run-time
/// dimensions in declared order. 0, or 1 with `error` set to what does not hold.
/// Shared memory is asked for at launch, or declared by the kernels with its size.
enum class SharedMemory : std::uint8_t { at_launch, declared };
[[nodiscard]] std::string print_launcher(const ThreadModule&, const kernel::Module&, SharedMemory = SharedMemory::at_launch);

}  // namespace fathom::gpu
