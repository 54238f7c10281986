// Variables that nobody reads: what a role takes over from its kernel and does not need.
#pragma once

#include "codegen/gpu/thread_program.hpp"

namespace fathom::gpu {

/// Takes declarations away whose names are not read in the body, and what is assigned to them. Arrays that calls fill stay.
void remove_unused(ThreadBlock& body);

}  // namespace fathom::gpu
