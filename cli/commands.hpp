// The table of commands.
#pragma once

#include <span>

#include "command.hpp"

namespace fathom::cli {

[[nodiscard]] std::span<const Command> commands();

}  // namespace fathom::cli
