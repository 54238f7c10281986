// Integer and constant arithmetic that the lowering needs: linear forms, bounds of subscripts and masks, constants folded into numbers.
// A bound is derived from facts about loops and axes or not claimed at all: absent facts make masks, never wrong ones.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::passes {

/// Sum of integer multiples of atoms (whatever is not linear is an atom) and a constant.
struct Linear {
  std::map<Expr, std::int64_t> terms;
  std::int64_t constant = 0;
};
[[nodiscard]] Linear linear(Expr);
[[nodiscard]] Linear minus(const Linear&, const Linear&);
/// a - b where that is a constant.
[[nodiscard]] std::optional<std::int64_t> difference(Expr a, Expr b);

/// The range of an integer name: lo <= name < hi.
struct Span {
  Expr lo, hi;
};

/// What is known about the names of a kernel at some place.
struct Facts {
  std::map<Expr, Span> spans;     ///< axes (as indices), lets of outer loops
  std::map<Expr, Span> trips;     ///< loop variables: eliminated first, their ends may name the others
  std::map<Expr, Expr> lets;      ///< definitions to look through
  std::map<Expr, Span> elements;  ///< axis -> the whole index range that base + axis stays in where it counts
  std::map<Expr, Expr> bases;     ///< axis -> base: base + axis is one element number
};

/// Is e >= 0 whenever the facts hold? False means: not shown.
[[nodiscard]] bool never_negative(Expr e, const Facts&);
/// The integer expression with every min and max that the facts decide replaced by the end that it is.
[[nodiscard]] Expr with_ends_decided(Expr e, const Facts&);
/// Does the condition (comparisons joined by `and`) hold whenever the facts hold? Integers only.
[[nodiscard]] bool always_true(Expr condition, const Facts&);
/// Is the condition false whenever the facts hold?
[[nodiscard]] bool always_false(Expr condition, const Facts&);

/// A finite real constant as a literal whose text parses back to the same node.
[[nodiscard]] Expr real_constant(double);
/// The value of an expression of literals under + - * / sqrt, in double; nullopt for anything else.
[[nodiscard]] std::optional<double> constant_value(Expr);
/// Literal parts of real arithmetic become one literal; a division by a power of two becomes a multiplication. Exact up to the rounding of
/// the literal.
[[nodiscard]] Expr fold_constants(Expr);

/// Names that are not taken yet: the wish itself, else wish.2, wish.3, …
class Names {
 public:
  void take(Symbol name) { taken_.insert(name); }
  void take(const Names& others) { taken_.insert(others.taken_.begin(), others.taken_.end()); }
  [[nodiscard]] bool taken(Symbol name) const { return taken_.count(name) > 0; }
  [[nodiscard]] Symbol fresh(const std::string& wish);

 private:
  std::set<Symbol> taken_;
};

}  // namespace fathom::passes
