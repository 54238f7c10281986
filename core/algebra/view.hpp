// An opened program as the algebra looks at it: index names unified (one name an iteration axis wherever a statement reads another at its
// own indices), elementwise statements looked through. A statement whose declared type narrows its value is not looked through: the
// conversion is meaning. Nor is one whose value has become deeper than `deepest`: recursion stays bounded.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/math.hpp"

namespace fathom::algebra {

inline constexpr std::uint32_t deepest = 300;

/// The same program with equal names for axes that are read at each other's place, where no statement then has one name twice.
[[nodiscard]] math::Program unify_indices(const math::Program& opened);

class ProgramView {
 public:
  explicit ProgramView(const math::Program& opened);

  [[nodiscard]] const math::Program& program() const { return program_; }
  /// The expression with elementwise statements in place of reads of them: only parameters, reductions and narrowed statements are read.
  [[nodiscard]] Expr inlined(Expr) const;
  [[nodiscard]] const math::Statement* reduction(Symbol name) const;
  /// Elementwise, and its value may stand wherever it is read.
  [[nodiscard]] bool is_looked_through(const math::Statement&) const;
  /// Reductions and narrowed statements that an expression reads, directly or through narrowed statements.
  [[nodiscard]] std::set<Symbol> reductions_read(Expr) const;

 private:
  math::Program program_;
  std::map<Symbol, Expr> values_;  ///< of the statements that are looked through, inlined
};

}  // namespace fathom::algebra
