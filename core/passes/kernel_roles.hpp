// Rewrites of one Kernel: loads get a role of their own, rows are dealt out to groups of warps, and a product runs under the work on the
// next one. Each says whether it applies; none knows an operator.
#pragma once

#include "ir/kernel.hpp"
#include "passes/tile_arith.hpp"
#include "passes/tile_masks.hpp"
#include "target/target.hpp"

namespace fathom::passes {

/// Why the loads of the kernel's one role cannot run ahead in a role of their own, or nothing: each is a box of a tensor that the target's
/// copy engine moves, there is a loop for them to run ahead of, and rows of `rows` are whole groups of what an atom takes.
[[nodiscard]] std::optional<Refusal> why_not_separate(const kernel::Kernel&, const Memory&, const Target&, Symbol rows,
                                                      std::int64_t atom_rows);

/// Acquire, copy and publish go to a role `producer` with the loops around them; all else is `consumer`. Channels lead from one to the
/// other.
[[nodiscard]] kernel::Kernel separate(const kernel::Kernel&);

/// `groups` groups of the consumer have the rows of the axis, each a neighbouring part; rings of slots along the axis are one a group. The
/// axis is as long as a part afterwards: row i of group g is row i + g * part.
[[nodiscard]] kernel::Kernel partition(const kernel::Kernel&, const Memory&, Symbol axis, std::int64_t groups, Names&);

/// The last asynchronous product of each loop of the consumer, where its left operand is computed in the trip, runs in the next trip, under
/// the first product and what follows it. What would disturb it (its operands in registers, its sums) waits for its end. The producer's
/// loads keep the order of the receives. Nothing where no loop has such a product.
[[nodiscard]] std::optional<kernel::Kernel> overlap(const kernel::Kernel&, const Target&);

/// What the verifier asks of the target.
[[nodiscard]] kernel::KnownMachine machine_of(const Target&);

/// Registers for the threads of the producer and of a consumer, so that all fit what a launch of the roles has.
struct RegisterSplit {
  std::int64_t producer = 0, consumer = 0;
};
[[nodiscard]] std::optional<RegisterSplit> split_registers(const Target&, std::int64_t groups);

}  // namespace fathom::passes
