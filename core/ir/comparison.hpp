// What the comparison operators of the notation mean, on any type that has == and <.
#pragma once

#include "ir/expr.hpp"

namespace fathom {

[[nodiscard]] constexpr bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }

/// Gives true or false: a comparison, a logical operation, or one of the two themselves.
[[nodiscard]] constexpr bool is_condition(Op op) {
  return is_comparison(op) || op == Op::logical_and || op == Op::logical_or || op == Op::logical_not || op == Op::boolean;
}

/// `a op b`; with NaN every comparison but `!=` is false.
template <class T>
[[nodiscard]] bool holds(Op op, const T& a, const T& b) {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return !(a == b);
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return b < a;
    default:
      return b <= a;
  }
}

}  // namespace fathom
