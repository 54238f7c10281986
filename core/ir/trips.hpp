// How a loop with stages runs. Its text stands in iteration order; an operation of stage s of iteration i runs in trip i + s, and in a trip
// operations run by their order, equals as the text has them. Shared by the verifier, the interpreter and the printers.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/kernel.hpp"

namespace fathom::kernel {

/// An operation of a loop's body. A `when` that tags decide is gone: what stood in it has its stage and order.
struct Placed {
  const Statement* statement = nullptr;
  std::optional<At> at;  ///< absent: a `let`, which is made anew for each operation that reads it
};

[[nodiscard]] bool has_stages(const For&);
/// 0 where no operation has a stage.
[[nodiscard]] int last_stage(const For&);
constexpr int most_stages = 64;
/// The body as it is in range `range` of the loop, in iteration order. The statements are those of the loop, which must outlive them.
[[nodiscard]] std::vector<Placed> body_in(const For&, std::size_t range);

/// Names that a statement reads before it gives them a value itself, and names that it gives one. A store reads its place; an mma
/// without a start reads its accumulator and takes it away, its await gives it back.
struct Uses {
  std::set<Symbol> reads, writes;
};
/// `places`: names of memory, slots included.
[[nodiscard]] Uses uses_of(const Statement&, const std::set<Symbol>& places);
/// Places that a block stores to, by its inner blocks, too.
[[nodiscard]] bool uses_of(const Block&, Symbol place);
void collect_stored(const Block&, const std::set<Symbol>& places, std::set<Symbol>& stored);
/// The slots of a block and its inner blocks.
void collect_slots(const Block&, std::set<Symbol>& slots);
/// The ring that a channel's name means in a role: of a channel `each`, a group's own one is `Q[g]`, however it is written.
[[nodiscard]] Access ring_of(const Kernel&, const Role&, const Access& channel);
/// Tensors, workspaces, buffers of a kernel, and the slots of its roles.
[[nodiscard]] std::set<Symbol> places_of(const Module&, const Kernel&);

}  // namespace fathom::kernel
