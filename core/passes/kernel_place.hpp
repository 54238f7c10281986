// The three steps from a Tile kernel to a Kernel one on a target with synchronous atoms: states merged by a loop, contractions on atoms
// with their panels and buffers, sums kept per vector lane until the end. Each works on one kernel and says what it did.
#pragma once

#include <string>
#include <vector>

#include "ir/kernel.hpp"
#include "ir/kernel_kinds.hpp"
#include "ir/result.hpp"
#include "passes/came_from.hpp"
#include "passes/tile_arith.hpp"
#include "passes/tile_masks.hpp"
#include "target/target.hpp"

namespace fathom::passes {

/// Every name that the kernel or module uses.
[[nodiscard]] Names names_in(const kernel::Module&, const kernel::Kernel&);

/// The loop over z that is the same as the value `m, l = R.states[z in lo:hi](w[z,…], …)`: it merges one state after the other.
[[nodiscard]] kernel::For merging_loop(const kernel::Value&, const Reducer&, Names&, const Origins&);
/// `m, l = R.states[z in lo:hi](w[z,…], …)` becomes a loop over z that merges one state after the other by R's combine.
void expand_states(kernel::Kernel&, const std::vector<ReducerRef>&, Names&);

/// A product and the register tiles that it may run on.
struct AtomChoice {
  Symbol token, result;                               ///< of the mma
  std::int64_t rows = 0, columns = 0, depth = 0;      ///< of one tile of the kernel
  std::vector<std::pair<Symbol, double>> candidates;  ///< atom and steps of its k loop (weighted by width) for one tile, the best first
};
struct AtomSummary {
  std::vector<AtomChoice> choices;
  int products = 0;                 ///< contractions on atoms
  std::vector<std::string> panels;  ///< channels
  std::vector<std::string> buffers;
  std::int64_t bytes = 0;         ///< of panels and buffers
  std::vector<Refusal> refusals;  ///< contractions that stay value statements, and why
  CameFrom came_from;             ///< values that took another's place
};
/// Contractions become `mma` where an atom of the target fits; operands are packed into panels (channels inside loops, else buffers).
/// Only products that are real numbers in f32 are: an atom for f32 holds neither the integers nor the digits of f64.
AtomSummary place_atoms(kernel::Kernel&, const Memory&, const kernel::Kinds&, const Target&, Names&);
/// Another atom for the product with that token.
void choose_atom(kernel::Kernel&, Symbol token, Symbol atom, Names&);

/// A carried sum that can be kept as one partial sum a lane.
struct LaneSum {
  Symbol name, axis;
};
/// How the elements of an axis are dealt out to lanes: each has `neighbours`, then the next lane goes on.
struct LaneSplit {
  int lanes = 1, neighbours = 1;
};
[[nodiscard]] std::vector<LaneSum> lane_sums(const kernel::Kernel&, const Memory&, LaneSplit);
void keep_per_lane(kernel::Kernel&, const LaneSum&, LaneSplit, Names&);

}  // namespace fathom::passes
