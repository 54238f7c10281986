// Loop level: a schedule tree over whole Math statements. A loop restricts the range of an index for the statements below it;
// a contraction stays a contraction. Nothing is scalarised.
// Invariant: in a Loop program the same index name in two statements means the same iteration axis (the pass names others apart).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/math.hpp"

namespace fathom::loop {

/// A tagged part of a loop's tiles, in tile numbers. Tags: `open` needs no mask, `mixed` does, `all` is undivided. Skipped tiles are in no
/// range.
struct TileRange {
  Symbol tag;
  Expr lo, hi;
};

enum class Mark : std::uint8_t {
  parallel,    ///< iterations are independent
  sequential,  ///< in order
  fold         ///< in order, and the reductions over this index below carry their state from trip to trip
};

struct Loop;
struct Sequence;
struct Leaf;
struct Combine;
using Node = std::variant<Loop, Sequence, Leaf, Combine>;
using NodeRef = std::shared_ptr<const Node>;

/// MARK INDEX in LO:HI by TILE: trip t covers elements [lo + t*tile, min(lo + (t+1)*tile, hi)). In the bounds and ranges of loops below,
/// the index stands for the first element of the present trip.
struct Loop {
  Symbol index;
  Expr lo, hi;
  Expr tile;  ///< elements a trip; number(1): one by one
  Mark mark = Mark::sequential;
  std::vector<TileRange> ranges;  ///< of trip numbers, in order of execution; empty: all of them, untagged
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
  Symbol split;                    ///< index of the splitting loop, e.g. "j.split"
  Expr count;                      ///< how many parts
  std::vector<Symbol> statements;  ///< reductions whose partial states are merged; producers first
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

/// Where a tensor lives, seen from the tree: inside the innermost loop that holds all its uses, and the box that is alive there.
struct Placement {
  std::vector<Symbol> inside;  ///< loops around it, outermost first; empty: whole tensor
  std::vector<Expr> extents;   ///< of the part that is alive
};
/// Of every parameter and every statement.
[[nodiscard]] std::map<Symbol, Placement> placements(const Program&);

/// Renames indices to i0, i1, … and statements that are no results to t0, t1, …, in an order that no spelling has a say in, and sorts
/// independent neighbours: two programs that print equal after this are the same plan. Origins are dropped.
[[nodiscard]] Program canonical(const Program&);

/// Where a leaf stands: the loops around it, outermost first, and its number in the order of the text.
struct Site {
  std::vector<const Loop*> loops;
  std::size_t order = 0;
};
/// Sites of all leaves (by statement); a second leaf of one statement is not in it.
[[nodiscard]] std::map<Symbol, Site> sites_of(const Program&);

}  // namespace fathom::loop
