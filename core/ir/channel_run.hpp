// Runs the channels, turns and meetings of a kernel without its values, in the order of the trips. What a role hands over does not depend
// on when the others run (a Kahn network of bounded queues), so one order of running finds every cyclic wait and every item that nobody
// takes, for the sizes that are tried: 16 draws from 1 to 1000 for each run-time dimension that the launch contract lets through, three
// work items.
#pragma once

#include <optional>

#include "ir/kernel.hpp"

namespace fathom::kernel {

/// Why the roles do not go together: with the sizes, the work item and who waits for what. Nothing if they do.
[[nodiscard]] std::optional<Refusal> run_channels(const Module&, const Kernel&);

}  // namespace fathom::kernel
