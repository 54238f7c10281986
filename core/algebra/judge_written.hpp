// What a person wrote as a repair, read: names bound to what they mean in the program, and the repair found in the same words.
#pragma once

#include "algebra/algebra.hpp"
#include "algebra/judge_arrays.hpp"

namespace fathom::algebra {

inline const Symbol accumulator("acc");

/// A statement that is complete only with the loop, under its own name (before the tile) and its primed one (after it).
struct RunningName {
  Symbol name;
  Expr read;    ///< at the consumer's indices
  Expr inside;  ///< inlined: over reads of reductions
};

struct Written {
  Expr expression;                   ///< over symbol(acc), symbol(name), symbol(name'), reads of parameters, dims, the consumer's indices
  std::vector<RunningName> running;  ///< what may be named, in the program's order
  std::set<Symbol> used;             ///< of these, those that are, unprimed
};

/// Refused with the name that means nothing here.
[[nodiscard]] Result<Written> read_written(const ProgramView&, const math::Statement& consumer, const Fusion&, Expr written);

/// The repair found, over the same names: of what is carried, and of the consumer's value itself with what stands behind the reduction.
/// Absent where the fusion carries more than one value, or nothing.
[[nodiscard]] Expr found_of_carried(const Fusion&);
[[nodiscard]] Expr found_of_value(const ProgramView&, const Fusion&);

/// The derivation from `found` to `written` by the rules, under the order of running values (m <= m'); nullopt: none.
[[nodiscard]] std::optional<std::vector<DerivationLine>> derive_written(const ProgramView&, const Written&, Expr found);

}  // namespace fathom::algebra
