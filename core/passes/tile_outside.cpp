// Abstract arithmetic on outside values. Conservative: `any` wherever a NaN or an unknown could arise, so that 0 * unknown is unknown (0 *
// inf is NaN).
#include "passes/tile_outside.hpp"

#include "ir/kernel_kinds.hpp"

namespace fathom::passes {
namespace {

bool is_finite(Outside v) { return v == Outside::finite || v == Outside::zero || v == Outside::one; }
bool is_not_low(Outside v) { return is_finite(v) || v == Outside::not_low || v == Outside::high; }

Outside negated(Outside v) {
  switch (v) {
    case Outside::low:
      return Outside::high;
    case Outside::high:
      return Outside::low;
    case Outside::zero:
      return Outside::zero;
    case Outside::one:
    case Outside::finite:
      return Outside::finite;
    default:
      return Outside::any;
  }
}

Outside added(Outside a, Outside b) {
  if (a == Outside::zero) return b;
  if (b == Outside::zero) return a;
  if (is_finite(a) && is_finite(b)) return Outside::any;  // may overflow
  if (a == Outside::low && is_finite(b)) return Outside::low;
  if (b == Outside::low && is_finite(a)) return Outside::low;
  if (a == b && (a == Outside::low || a == Outside::high)) return a;
  return Outside::any;
}

/// a - b where b is anything but -inf and a is -inf: -inf, or NaN where b is NaN, which the inside rows then have anyway.
Outside subtracted(Outside a, Outside b) {
  if (a == Outside::low && is_not_low(b)) return Outside::low;
  return added(a, negated(b));
}

Outside multiplied(Outside a, Outside b) {
  if (a == Outside::one) return b;
  if (b == Outside::one) return a;
  if ((a == Outside::zero && is_finite(b)) || (b == Outside::zero && is_finite(a))) return Outside::zero;
  return Outside::any;
}

Outside joined(Outside a, Outside b) {
  if (a == b) return a;
  if (is_finite(a) && is_finite(b)) return Outside::finite;
  if (is_not_low(a) && is_not_low(b)) return Outside::not_low;
  return Outside::any;
}

}  // namespace

Outside literal(Expr e) {
  if (e.is(Op::infinity)) return Outside::high;
  if (is_minus_infinity(e)) return Outside::low;
  if (e.is(Op::boolean)) return e.node().truth ? Outside::yes : Outside::no;
  const std::optional<double> value = constant_value(e);
  if (!value) return Outside::any;
  return *value == 0 ? Outside::zero : *value == 1 ? Outside::one : Outside::finite;
}

Outside OutsideValues::get(Symbol tile) const {
  const auto found = known_.find(tile);
  return found == known_.end() ? Outside::any : found->second;
}

Outside OutsideValues::of(Expr e) const {
  switch (e.op()) {
    case Op::number:
    case Op::infinity:
    case Op::boolean:
      return literal(e);
    case Op::index:
    case Op::symbol:
    case Op::dim:
      return Outside::finite;
    case Op::read:
      return get(e.name());
    case Op::cast:  // among integers an infinity is their least or greatest one, with which sums wrap around
      return kernel::is_integer_end(e) ? Outside::any : of(e.arg(0));
    case Op::neg:
      return negated(of(e.arg(0)));
    case Op::abs:
      return of(e.arg(0)) == Outside::zero ? Outside::zero : Outside::any;
    case Op::exp:
    case Op::exp2: {
      const Outside a = of(e.arg(0));
      return a == Outside::low ? Outside::zero : a == Outside::zero ? Outside::one : Outside::any;
    }
    case Op::sqrt:
    case Op::tanh:
    case Op::erf:
    case Op::sin:
      return of(e.arg(0)) == Outside::zero ? Outside::zero : Outside::any;
    case Op::where:
      return of_where(e);
    case Op::reduce:
      return of_reduce(e);
    default:
      return e.args().size() == 2 ? of_binary(e) : Outside::any;
  }
}

Outside OutsideValues::of_binary(Expr e) const {
  const Outside a = of(e.arg(0)), b = of(e.arg(1));
  switch (e.op()) {
    case Op::add:
      return added(a, b);
    case Op::sub:
      return subtracted(a, b);
    case Op::mul: {
      const std::optional<double> left = constant_value(e.arg(0)), right = constant_value(e.arg(1));
      if ((right && *right > 0 && (a == Outside::low || a == Outside::high))) return a;
      if ((left && *left > 0 && (b == Outside::low || b == Outside::high))) return b;
      return multiplied(a, b);
    }
    case Op::div: {
      const std::optional<double> right = constant_value(e.arg(1));
      if (right && *right != 0 && a == Outside::zero) return Outside::zero;
      return right && *right > 0 && (a == Outside::low || a == Outside::high) ? a : Outside::any;
    }
    case Op::pow: {
      const std::optional<double> power = constant_value(e.arg(1));
      return power && *power > 0 && a == Outside::zero ? Outside::zero : Outside::any;
    }
    case Op::max:
      if (a == Outside::low) return b;
      if (b == Outside::low) return a;
      return a == b ? a : Outside::any;
    case Op::min:
      if (a == Outside::high) return b;
      if (b == Outside::high) return a;
      return a == b ? a : Outside::any;
    case Op::logical_and:
      return a == Outside::no || b == Outside::no ? Outside::no : a == Outside::yes ? b : Outside::any;
    case Op::logical_or:
      return a == Outside::yes || b == Outside::yes ? Outside::yes : a == Outside::no ? b : Outside::any;
    default:
      return Outside::any;
  }
}

Outside OutsideValues::of_where(Expr e) const {
  if (always_true(e.arg(0), facts_)) return of(e.arg(1));
  if (always_false(e.arg(0), facts_)) return of(e.arg(2));
  const Outside both = joined(of(e.arg(1)), of(e.arg(2)));
  if (both != Outside::any) return both;
  // where(x == -inf, c, x) is anything but -inf
  const Expr c = e.arg(0);
  if (!c.is(Op::eq) || !is_minus_infinity(c.arg(1)) || !is_not_low(of(e.arg(1)))) return Outside::any;
  const Expr x = e.arg(2);
  const bool same = x == c.arg(0) || (x.is(Op::mul) && x.arg(0) == c.arg(0) && constant_value(x.arg(1)).value_or(0) > 0);
  return same ? Outside::not_low : Outside::any;
}

/// Reductions over other axes: of equal values at which the operation stands still.
Outside OutsideValues::of_reduce(Expr e) const {
  const std::vector<Expr> values = values_of(e);
  if (values.size() != 1 || !e.node().result.empty()) return Outside::any;
  for (const Bound& bound : bounds_of(e)) {
    if (bound.index == axis_) return Outside::any;  // an inside value
  }
  const ReducerRef reducer = builtin_reducer(e.name());
  if (!reducer) return Outside::any;
  const Outside v = of(values[0]);
  return v == literal(reducer->state[0].identity) ? v : Outside::any;
}

}  // namespace fathom::passes
