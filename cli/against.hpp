// Two plans of one program, timed in turn.
#pragma once

#include "command.hpp"

namespace fathom::cli {

/// `time` with --against.
int time_against(const Arguments&);

}  // namespace fathom::cli
