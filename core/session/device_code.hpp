// Code for devices that are not this machine, as text: what `compile --emit code` prints and the explorer shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "session/session.hpp"

namespace fathom::session {

/// What a program needs to know that starts a kernel itself.
struct DeviceKernel {
  std::string name;
  std::int64_t threads = 0;               ///< of a workgroup
  std::int64_t dynamic_shared_bytes = 0;  ///< that a launch reserves
};
struct DeviceCode {
  std::string text;
  std::vector<int> lines;  ///< for each line of it that of the printed Kernel module that it is made for, counted from 1; 0: of none
  std::vector<DeviceKernel> kernels = {};
};
/// Has the target code that is printed for a machine that is not this one?
[[nodiscard]] bool prints_device_code(const Target&);
/// CUDA C++ for targets whose code is "cuda", HIP C++ where it is "hip": kernels, helpers and a launcher, one file. Refused where an op has
/// no form yet.
[[nodiscard]] Result<DeviceCode> device_code(const kernel::Module&, const Target&);
/// Of the last level; refused where that is not the Kernel level.
[[nodiscard]] Result<DeviceCode> device_code(const Compilation&);
/// Why a plan ends at the Tile level, and what helps.
[[nodiscard]] Refusal why_no_kernel(const Compilation&);

}  // namespace fathom::session
