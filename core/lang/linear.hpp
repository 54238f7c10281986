// Linear facts over integers: what index ranges, dimensions and conditions imply. Decides whether a subscript stays in its range.
// Sound and bounded: what it cannot show within its limits counts as not shown.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::lang {

/// constant + Σ coefficient * atom. An atom is an index, a dimension, a scalar, or an integer expression that is not linear.
struct Linear {
  std::map<Expr, std::int64_t> terms;
  std::int64_t constant = 0;
};

/// The linear form of an integer expression; `values` (fixed dimensions) are put in. nullopt: 64 bits overflow, or it is too large.
[[nodiscard]] std::optional<Linear> linear_form(Expr, const DimValues& values);

/// A conjunction of facts `linear >= 0`; several alternatives where a condition is a disjunction.
using Alternatives = std::vector<std::vector<Linear>>;

/// What is known at a place of a program.
class Facts {
 public:
  explicit Facts(DimValues fixed) : fixed_(std::move(fixed)) {}

  void add_range(Expr index, Expr lo, Expr hi);         ///< lo <= index < hi
  void add_condition(Expr condition, bool holds);       ///< conditions that are not about integers say nothing
  [[nodiscard]] bool implies_not_negative(Expr) const;  ///< e >= 0 in every case
  [[nodiscard]] bool implies_equal(Expr a, Expr b) const;
  [[nodiscard]] std::size_t size() const { return known_.size(); }
  void resize(std::size_t size) { known_.resize(size); }  ///< forgets what was added since
  [[nodiscard]] const DimValues& fixed() const { return fixed_; }

 private:
  DimValues fixed_;
  std::vector<Alternatives> known_;
};

struct Interval {
  std::int64_t least, most;  ///< both included
};
/// Bounds of an integer expression from those of its indices, at the given dimension values; for messages only.
[[nodiscard]] std::optional<Interval> interval_of(Expr, const DimValues& dims, const std::map<Symbol, Interval>& indices);

}  // namespace fathom::lang
