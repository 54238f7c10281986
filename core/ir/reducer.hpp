// Reducers as values: identity, lift, combine, results. `sum` is data like a user's own; passes ask for laws, never for names.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/expr.hpp"

namespace fathom {

/// One component of a reducer's state.
struct Component {
  Symbol name;  ///< "a"; the right operand of combine is the primed name "a'"
  DType dtype = DType::real;
  Expr identity;
  Expr lift;     ///< over symbol(parameter)
  Expr combine;  ///< over symbol(name) = left and symbol(name') = right, of all components
  friend bool operator==(const Component&, const Component&) = default;
};

struct ReducerResult {
  Symbol name;
  Expr value;  ///< over symbol(component name)
  friend bool operator==(const ReducerResult&, const ReducerResult&) = default;
};

/// A monoid on states with a lift and projections (docs/algebra.md).
struct Reducer {
  Symbol name;
  std::vector<Symbol> parameters;
  std::vector<Component> state;
  std::vector<ReducerResult> results;  ///< never empty; the first is the default
  bool commutative = true;             ///< false: in-order trees only
  bool idempotent = false;
  friend bool operator==(const Reducer&, const Reducer&) = default;
};
using ReducerRef = std::shared_ptr<const Reducer>;

/// sum prod max min any all argmax argmin. argmax and argmin take (value, index) and return the lowest index of ties.
/// max and min propagate NaN. Nullptr for another name.
[[nodiscard]] ReducerRef builtin_reducer(Symbol name);
/// One of those declared, else a built-in one; nullptr for neither.
[[nodiscard]] ReducerRef reducer_named(const std::vector<ReducerRef>& declared, Symbol name);
[[nodiscard]] const std::vector<ReducerRef>& builtin_reducers();

/// The one-component operation that combine is, whatever the reducer's name: add, mul, max, min, logical_and, logical_or, or none.
/// Only for reducers of one component whose lift is its parameter.
[[nodiscard]] std::optional<Op> monoid_operation(const Reducer&);
[[nodiscard]] Symbol primed(Symbol);  ///< m -> m'

}  // namespace fathom
