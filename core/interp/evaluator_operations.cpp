// Elementwise operations on columns: kinds, broadcasting, flags, and what a mask absorbs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/approx.hpp"
#include "interp/evaluator.hpp"
#include "interp/single.hpp"
#include "ir/comparison.hpp"

namespace fathom::interp {
namespace {

std::optional<std::int64_t> floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<std::int64_t> integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent && i < 64; ++i)
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  return exponent > 64 && (base > 1 || base < -1) ? std::nullopt : std::optional(result);
}

/// nullopt: overflow, or division by 0.
std::optional<std::int64_t> whole_operation(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
    case Op::add:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::sub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::mul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
    case Op::floordiv:
      return floor_divide(a, b);
    case Op::mod: {
      const auto quotient = floor_divide(a, b);
      return quotient ? std::optional(a - *quotient * b) : std::nullopt;
    }
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    default:
      return integer_power(a, b);
  }
}

/// A masked operand absorbs its partner: 0 * x, 0 / x, -inf + x. Returns true where it does, with the result in `value`.
template <class D>
bool absorbs(const D& domain, Op op, const typename D::Value& a, std::uint8_t fa, const typename D::Value& b, std::uint8_t fb,
             typename D::Value& value) {
  const bool a_masked = (fa & masked) != 0;
  const bool b_masked = (fb & masked) != 0;
  if (op == Op::mul || op == Op::div) {
    const bool by_a = a_masked && domain.is_zero(a);
    const bool by_b = b_masked && op == Op::mul && domain.is_zero(b);
    if (by_a || by_b) value = domain.exact(0);
    return by_a || by_b;
  }
  if (op != Op::add && op != Op::sub) return false;
  const bool by_a = a_masked && domain.is_infinite(a);
  const bool by_b = b_masked && domain.is_infinite(b);
  if (by_a == by_b) {
    if (!a_masked || !b_masked || !domain.is_zero(a) || !domain.is_zero(b)) return false;
    value = domain.exact(0);
    return true;
  }
  value = by_a ? a : domain.exact(op == Op::sub ? -domain.approximate(b) : domain.approximate(b));
  return true;
}

/// Functions that keep a mask: those that take 0 to 0, and exponentials, which take -inf to 0.
bool keeps_mask(Op op) {
  return op == Op::neg || op == Op::abs || op == Op::floor || op == Op::sqrt || op == Op::tanh || op == Op::sin || op == Op::erf ||
         op == Op::exp || op == Op::exp2 || op == Op::log || op == Op::log2;
}

}  // namespace

template <class D>
Kind Evaluator<D>::real_kind(const Col& column) {
  if (!is_discrete(column.kind)) return column.kind;
  return column.axes.empty() ? Kind::literal : Kind::single;
}

template <class D>
auto Evaluator<D>::as_kind(const Ref& column, Kind kind) const -> Ref {
  if (column->kind == kind) return column;
  auto result = std::make_shared<Col>();
  result->kind = kind;
  result->axes = column->axes;
  result->flags = column->flags;
  const std::size_t n = column->size();
  result->resize(n);
  if (is_discrete(kind)) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t x = is_discrete(column->kind)
                                 ? column->whole[i]
                                 : static_cast<std::int64_t>(round_to(DType::i64, domain_.approximate(column->real[i])));
      result->whole[i] = kind == Kind::boolean && x != 0 ? 1 : x;
    }
    return result;
  }
  for (std::size_t i = 0; i < n; ++i)
    result->real[i] =
        domain_.coerce(kind, is_discrete(column->kind) ? domain_.exact(static_cast<double>(column->whole[i])) : column->real[i]);
  return result;
}

template <class D>
auto Evaluator<D>::unary(Op op, const Ref& a) -> Ref {
  auto result = std::make_shared<Col>();
  result->axes = a->axes;
  const std::size_t n = a->size();
  if (!spend(n)) return a;
  if (is_discrete(a->kind) && (op == Op::neg || op == Op::abs || op == Op::floor)) {
    result->kind = Kind::integer;
    result->whole = a->whole;
    result->flags = a->flags;
    for (std::int64_t& x : result->whole)
      if (op == Op::neg || (op == Op::abs && x < 0)) x = x == std::numeric_limits<std::int64_t>::min() ? x : -x;
    return result;
  }
  const auto function = domain_.unary(op);
  if (function == nullptr) return fail(fmt::format("`{}` takes another number of operands.", spelling(op)));
  const Kind kind = real_kind(*a);
  const Ref operand = as_kind(a, kind);
  result->kind = kind;
  result->resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t before = operand->flag(i);
    auto flags = static_cast<std::uint8_t>(before & carried_flags);
    result->real[i] = function(domain_, kind, operand->real[i], flags);
    const bool still_masked =
        (before & masked) != 0 && keeps_mask(op) && (domain_.is_zero(result->real[i]) || domain_.is_infinite(result->real[i]));
    result->set_flag(i, still_masked ? masked : flags);
  }
  return result;
}

template <class D>
auto Evaluator<D>::binary(Op op, const Ref& a, const Ref& b) -> Ref {
  if (is_discrete(a->kind) && is_discrete(b->kind) && op != Op::div) {
    const bool integral = op != Op::pow || (b->axes.empty() && b->whole[0] >= 0 && b->whole[0] < 64);
    if (integral) return discrete_binary(op, a, b);
  }
  return real_binary(op, join(real_kind(*a), real_kind(*b)), a, b);
}

template <class D>
auto Evaluator<D>::discrete_binary(Op op, const Ref& a, const Ref& b) -> Ref {
  const Shape shape = common_shape({a.get(), b.get()});
  if (!spend(shape.size())) return a;
  const auto result = column_over(Kind::integer, shape);
  sweep<2>(shape.extents, {strides(*a, shape.axes), strides(*b, shape.axes)}, [&](std::size_t i, const auto& at) {
    const auto ia = static_cast<std::size_t>(at[0]);
    const auto ib = static_cast<std::size_t>(at[1]);
    auto flags = static_cast<std::uint8_t>((a->flag(ia) | b->flag(ib)) & carried_flags);
    const auto value = whole_operation(op, a->whole[ia], b->whole[ib]);
    const bool masked_zero = op == Op::mul && ((a->flag(ia) & masked) != 0 || (b->flag(ib) & masked) != 0) && value == 0;
    result->whole[i] = value.value_or(0);
    if (!value) flags |= invalid;
    result->set_flag(i, masked_zero ? masked : flags);
  });
  return result;
}

template <class D>
auto Evaluator<D>::real_binary(Op op, Kind kind, const Ref& a, const Ref& b) -> Ref {
  const auto function = domain_.binary(op);
  if (function == nullptr) return fail(fmt::format("`{}` takes another number of operands.", spelling(op)));
  const Shape shape = common_shape({a.get(), b.get()});
  if (!spend(shape.size())) return a;
  const Ref left = as_kind(a, kind);
  const Ref right = as_kind(b, kind);
  const auto result = column_over(kind, shape);
  const bool flagged = !left->flags.empty() || !right->flags.empty();
  sweep<2>(shape.extents, {strides(*left, shape.axes), strides(*right, shape.axes)}, [&](std::size_t i, const auto& at) {
    const Value& x = left->real[static_cast<std::size_t>(at[0])];
    const Value& y = right->real[static_cast<std::size_t>(at[1])];
    std::uint8_t flags = 0;
    if (flagged) {
      const std::uint8_t fx = left->flag(static_cast<std::size_t>(at[0]));
      const std::uint8_t fy = right->flag(static_cast<std::size_t>(at[1]));
      if (((fx | fy) & masked) != 0 && absorbs(domain_, op, x, fx, y, fy, result->real[i])) {
        result->set_flag(i, masked);
        return;
      }
      flags = static_cast<std::uint8_t>((fx | fy) & carried_flags);
    }
    result->real[i] = function(domain_, kind, x, y, flags);
    result->set_flag(i, flags);
  });
  return result;
}

template <class D>
auto Evaluator<D>::comparison(Op op, const Ref& a, const Ref& b) -> Ref {
  const Shape shape = common_shape({a.get(), b.get()});
  if (!spend(shape.size())) return a;
  const bool discrete = is_discrete(a->kind) && is_discrete(b->kind);
  const Kind kind = join(real_kind(*a), real_kind(*b));
  const Ref left = discrete ? a : as_kind(a, kind);
  const Ref right = discrete ? b : as_kind(b, kind);
  const auto result = column_over(Kind::boolean, shape);
  sweep<2>(shape.extents, {strides(*left, shape.axes), strides(*right, shape.axes)}, [&](std::size_t i, const auto& at) {
    const auto ia = static_cast<std::size_t>(at[0]);
    const auto ib = static_cast<std::size_t>(at[1]);
    auto flags = static_cast<std::uint8_t>((left->flag(ia) | right->flag(ib)) & carried_flags);
    std::uint8_t doubt = 0;  // none when a value is compared with itself: the NaN test of the notation
    const bool holds =
        discrete ? fathom::holds(op, left->whole[ia], right->whole[ib]) : domain_.compare(op, left->real[ia], right->real[ib], doubt);
    if (a != b) flags |= doubt;
    result->whole[i] = holds ? 1 : 0;
    result->set_flag(i, flags);
  });
  return result;
}

template <class D>
auto Evaluator<D>::logical(Op op, const Ref& a, const Ref& b) -> Ref {
  const Shape shape = common_shape({a.get(), b.get()});
  if (!spend(shape.size())) return a;
  const Ref left = as_kind(a, Kind::boolean);
  const Ref right = as_kind(b, Kind::boolean);
  const std::int64_t deciding = op == Op::logical_or ? 1 : 0;  // the value that decides whatever the other operand is
  const auto result = column_over(Kind::boolean, shape);
  sweep<2>(shape.extents, {strides(*left, shape.axes), strides(*right, shape.axes)}, [&](std::size_t i, const auto& at) {
    const auto ia = static_cast<std::size_t>(at[0]);
    const auto ib = static_cast<std::size_t>(at[1]);
    const std::uint8_t fa = left->flag(ia) & carried_flags;
    const std::uint8_t fb = right->flag(ib) & carried_flags;
    const std::int64_t x = left->whole[ia];
    const std::int64_t y = right->whole[ib];
    const bool decided = (x == deciding && fa == 0) || (y == deciding && fb == 0);
    result->whole[i] = decided ? deciding : op == Op::logical_or ? (x | y) : (x & y);
    result->set_flag(i, decided ? std::uint8_t{0} : static_cast<std::uint8_t>(fa | fb));
  });
  return result;
}

template <class D>
auto Evaluator<D>::logical_not(const Ref& a) -> Ref {
  const Ref operand = as_kind(a, Kind::boolean);
  auto result = std::make_shared<Col>(*operand);
  if (!spend(result->size())) return a;
  for (std::int64_t& x : result->whole) x = x == 0 ? 1 : 0;
  return result;
}

template <class D>
auto Evaluator<D>::select(const Ref& condition, const Ref& then, const Ref& otherwise, std::uint8_t then_mark, std::uint8_t otherwise_mark)
    -> Ref {
  const Shape shape = common_shape({condition.get(), then.get(), otherwise.get()});
  if (!spend(shape.size())) return then;
  const bool discrete = is_discrete(then->kind) && is_discrete(otherwise->kind);
  const Kind kind = discrete ? join(then->kind, otherwise->kind) : join(real_kind(*then), real_kind(*otherwise));
  const Ref test = as_kind(condition, Kind::boolean);
  const Ref yes = as_kind(then, kind);
  const Ref no = as_kind(otherwise, kind);
  const auto result = column_over(kind, shape);
  sweep<3>(shape.extents, {strides(*test, shape.axes), strides(*yes, shape.axes), strides(*no, shape.axes)},
           [&](std::size_t i, const auto& at) {
             const std::uint8_t doubt = test->flag(static_cast<std::size_t>(at[0])) & carried_flags;
             const bool holds = test->whole[static_cast<std::size_t>(at[0])] != 0;
             const Col& taken = holds ? *yes : *no;
             const Col& other = holds ? *no : *yes;
             const auto it = static_cast<std::size_t>(holds ? at[1] : at[2]);
             const auto io = static_cast<std::size_t>(holds ? at[2] : at[1]);
             auto flags = static_cast<std::uint8_t>(taken.flag(it) | (holds ? then_mark : otherwise_mark) | (doubt & invalid));
             if (discrete) {
               result->whole[i] = taken.whole[it];
               if ((doubt & undetermined) != 0 && taken.whole[it] != other.whole[io]) flags |= undetermined;
             } else if ((doubt & undetermined) == 0) {
               result->real[i] = taken.real[it];
             } else {  // both values are possible: continuous where they meet
               flags = static_cast<std::uint8_t>((flags | (other.flag(io) & carried_flags)) & carried_flags);
               result->real[i] = domain_.either(taken.real[it], other.real[io], flags);
             }
             result->set_flag(i, flags);
           });
  return result;
}

template <class D>
auto Evaluator<D>::cast_to(DType type, const Ref& column) -> Ref {
  if (!spend(column->size())) return column;
  auto result = std::make_shared<Col>();
  result->kind = kind_of(type);
  result->axes = column->axes;
  const std::size_t n = column->size();
  result->resize(n);
  const bool from_whole = is_discrete(column->kind);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint8_t flags = column->flag(i);
    if (from_whole && type == DType::i64) {
      result->whole[i] = column->whole[i];
    } else {
      const Value before = from_whole ? domain_.exact(static_cast<double>(column->whole[i])) : column->real[i];
      const Value value = domain_.store(type, before, flags);
      if (is_discrete(result->kind)) {
        result->whole[i] = static_cast<std::int64_t>(domain_.approximate(value));
      } else {
        result->real[i] = value;
      }
    }
    result->set_flag(i, flags);
  }
  return result;
}

#define FATHOM_INSTANTIATE(D)                                                                                      \
  template Kind Evaluator<D>::real_kind(const Col&);                                                               \
  template Evaluator<D>::Ref Evaluator<D>::as_kind(const Ref&, Kind) const;                                        \
  template Evaluator<D>::Ref Evaluator<D>::unary(Op, const Ref&);                                                  \
  template Evaluator<D>::Ref Evaluator<D>::binary(Op, const Ref&, const Ref&);                                     \
  template Evaluator<D>::Ref Evaluator<D>::comparison(Op, const Ref&, const Ref&);                                 \
  template Evaluator<D>::Ref Evaluator<D>::logical(Op, const Ref&, const Ref&);                                    \
  template Evaluator<D>::Ref Evaluator<D>::logical_not(const Ref&);                                                \
  template Evaluator<D>::Ref Evaluator<D>::select(const Ref&, const Ref&, const Ref&, std::uint8_t, std::uint8_t); \
  template Evaluator<D>::Ref Evaluator<D>::cast_to(DType, const Ref&);
FATHOM_INSTANTIATE(Single)
FATHOM_INSTANTIATE(Bounding)
#undef FATHOM_INSTANTIATE

}  // namespace fathom::interp
