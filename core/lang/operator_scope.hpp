// The names of one operator while its statements are checked: tensors with ranges and types, facts from its conditions.
#pragma once

#include "lang/check_operator.hpp"
#include "lang/linear.hpp"
#include "lang/types.hpp"

namespace fathom::lang {

struct Range {
  Expr lo, hi;  ///< absent: unknown after an error
};

struct Tensor {
  std::vector<Range> ranges;
  Type type;
  SourceSpan span;
  bool is_parameter = false;
  bool is_broken = false;  ///< its statement has errors: nothing is said about its uses
};

/// Which names mean what, and what is known about integers. One an operator.
class OperatorScope {
 public:
  OperatorScope(const OperatorSyntax&, const FileScope& file, Sink& sink);

  const OperatorSyntax& syntax;
  const FileScope& file;
  Sink& sink;
  std::map<Symbol, Tensor> tensors;          ///< parameters, and the statements so far
  std::map<Symbol, SourceSpan> index_names;  ///< every index bound so far, for clashes with later statements
  std::map<Symbol, std::vector<Expr>> result_extents;
  std::set<Symbol> symbols;      ///< gauges and carried sums of the repair that is read
  std::set<Symbol> gauges;       ///< of the whole program: read like tensors, unchecked
  std::vector<Expr> equalities;  ///< between fixed dimensions, found on the way
  Facts facts;
  DimValues defaults;  ///< of all dimensions, for messages

  [[nodiscard]] const math::Dimension* dimension(Symbol) const;
  [[nodiscard]] ReducerRef reducer(Symbol) const;
  [[nodiscard]] Expr constant(Symbol) const;
  [[nodiscard]] const StatementSyntax* statement(Symbol) const;
  [[nodiscard]] bool is_fixed(Expr) const;  ///< over fixed dimensions and numbers alone
  /// Equal for every launch: by value for fixed dimensions, by the conditions for run-time ones.
  [[nodiscard]] bool equal(Expr a, Expr b) const { return facts.implies_equal(a, b); }
  void require_equal(Expr a, Expr b);  ///< makes the equality of two different spellings part of the contract

  /// Names of values in a statement whose axes are `axes`; `tensor` reads of scalars included.
  [[nodiscard]] Scope names(const std::vector<Symbol>& axes) const;
  [[nodiscard]] std::vector<std::string> candidates(bool tensors_only) const;
  /// "0:T (T = 16)": a range with the values of its dimensions.
  [[nodiscard]] std::string text(const Range&) const;
  [[nodiscard]] std::string with_values(const std::vector<Expr>&) const;  ///< " (T = 16)" or nothing
  [[nodiscard]] std::string file_text(SourceSpan) const;                  ///< what is written there, on one line and not too long
  /// Reports a name that is not defined, or not yet.
  void unknown_tensor(Symbol name, SourceSpan span) const;
  /// True if an index may have this name; reported otherwise.
  bool may_be_index(Symbol name, SourceSpan span);
};

/// Checks one statement and returns it, or nothing after errors. Declares its tensor in either case.
[[nodiscard]] std::optional<math::Statement> check_statement(const StatementSyntax&, OperatorScope&);

inline constexpr std::size_t most_axes = 16;

}  // namespace fathom::lang
