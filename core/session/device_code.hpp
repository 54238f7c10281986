// Code for devices that are not this machine, as text: what `compile --emit code` prints and the explorer shows.
#pragma once

#include <string>

#include "session/session.hpp"

namespace fathom::session {

/// CUDA C++ of the last level, for targets whose code is "cuda": kernels, helpers and a launcher, one file. Refused where the plan has no
/// Kernel level, or an op in it no form yet.
[[nodiscard]] Result<std::string> device_code(const Compilation&);

}  // namespace fathom::session
