// Loop level: a schedule tree over whole Math statements. A loop restricts the range of an index for the statements below it;
// a contraction stays a contraction. Nothing is scalarised.
// Invariant: in a Loop program the same index name in two statements means the same iteration axis (the pass names others apart).
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/math.hpp"

namespace fathom::loop {

/// A tagged part of a loop's tiles, in tile numbers. Tags: `open` needs no mask, `mixed` does, `all` is undivided. Skipped tiles are in no range.
struct TileRange {
  Symbol tag;
  Expr lo, hi;
};

enum class Mark : std::uint8_t {
  parallel,     ///< iterations are independent
  sequential,   ///< in order
  fold          ///< in order, and the reductions over this index below carry their state from trip to trip
};

struct Loop;
struct Sequence;
struct Leaf;
struct Combine;
using Node = std::variant<Loop, Sequence, Leaf, Combine>;
using NodeRef = std::shared_ptr<const Node>;

/// for INDEX in LO:HI by TILE MARK: trip t covers elements [lo + t*tile, min(lo + (t+1)*tile, hi)).
struct Loop {
  Symbol index;
  Expr lo, hi;
  Expr tile;                          ///< elements a trip; number(1): one by one
  Mark mark = Mark::sequential;
  std::vector<TileRange> ranges;      ///< of trip numbers, in order of execution; empty: all of them, untagged
  NodeRef body;
};

struct Sequence {
  std::vector<NodeRef> items;
};

/// The statement of that name, on the box that the loops around it leave.
struct Leaf {
  Symbol statement;
};

/// Merges the states of the named reductions over the trips of the parallel loop `split` (split-k): the tree fold, in index order.
struct Combine {
  Symbol split;                       ///< index of the splitting loop, e.g. "j.split"
  Expr count;                         ///< how many parts
  std::vector<Symbol> statements;     ///< reductions whose partial states are merged; producers first
};

/// Statements (with their repairs) and the tree that orders them.
struct Program {
  math::Program math;
  NodeRef root;
};

/// Each statement at exactly one leaf, definitions before uses on every path, no use of a reduction inside its own unfinished loop
/// unless the reader carries a repair for it, parallel loops free of carried state.
[[nodiscard]] Result<void> verify(const Program&);
[[nodiscard]] std::string print(const Program&);

/// Where a tensor lives, seen from the tree: the innermost loop that holds all its uses, and the box that is alive there.
struct Placement {
  std::vector<Symbol> inside;         ///< loops around it, outermost first; empty: whole tensor
  std::vector<Expr> extents;          ///< of the part that is alive
};
[[nodiscard]] Placement placement(const Program&, Symbol tensor);

}  // namespace fathom::loop
