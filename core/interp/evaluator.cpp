#include "interp/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/approx.hpp"
#include "interp/elaborate.hpp"
#include "interp/philox.hpp"
#include "interp/single.hpp"

namespace fathom::interp {
namespace {

constexpr std::uint32_t depth_limit = 3000;
constexpr std::size_t column_limit = std::size_t{1} << 24U;
constexpr std::uint8_t carried_flags = undetermined | invalid;  // `masked` follows its own rules

bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }

bool compare_whole(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    default:
      return a >= b;
  }
}

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

/// A mask's literal: 0, inf or -inf written as a branch of `where`.
std::uint8_t mask_mark(Expr branch) {
  const bool zero = branch.is(Op::number) && branch.node().number.sign() == 0 && branch.node().inexact == 0;
  const bool infinite = branch.is(Op::infinity) || (branch.is(Op::neg) && branch.arg(0).is(Op::infinity));
  return zero || infinite ? masked : std::uint8_t{0};
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

Kind kind_of(DType type) {
  if (type == DType::boolean) return Kind::boolean;
  if (is_integer(type)) return Kind::integer;
  return type == DType::f64 ? Kind::real64 : Kind::single;
}

template <class D>
Evaluator<D>::Evaluator(const D& domain, const math::Program& program, const DimValues& dims, Lookup lookup, std::int64_t& work_left)
    : domain_(domain), program_(&program), dims_(&dims), lookup_(std::move(lookup)), work_left_(&work_left), levels_(1) {}

template <class D>
int Evaluator<D>::push_slot(Symbol index, std::int64_t lo, std::int64_t extent) {
  slots_.push_back({index, lo, extent, levels_.size() - 1});
  return static_cast<int>(slots_.size()) - 1;
}

template <class D>
void Evaluator<D>::set_slot(int slot, std::int64_t lo, std::int64_t extent) {
  slots_[static_cast<std::size_t>(slot)].lo = lo;
  slots_[static_cast<std::size_t>(slot)].extent = extent;
}

template <class D>
void Evaluator<D>::pop_slots(std::size_t count) {
  slots_.resize(slots_.size() - count);
}

template <class D>
auto Evaluator<D>::fail(std::string reason, std::vector<std::string> nodes, std::string hint) -> Ref {
  if (!failure_) failure_ = Refusal{std::move(reason), std::move(nodes), std::move(hint)};
  return constant(Kind::literal, 0, 0);
}

template <class D>
auto Evaluator<D>::constant(Kind kind, std::int64_t whole, double real) const -> Ref {
  auto column = std::make_shared<Col>();
  column->kind = kind;
  if (is_discrete(kind)) {
    column->whole = {whole};
  } else {
    column->real = {domain_.exact(real)};
  }
  return column;
}

template <class D>
bool Evaluator<D>::spend(std::size_t n) {
  *work_left_ -= static_cast<std::int64_t>(std::min(n, column_limit));
  if (n > column_limit) fail("An intermediate value is too large for the interpreter.", {}, "Use smaller dimensions.");
  if (*work_left_ < 0) fail("The interpreter's work limit is used up.", {}, "Use smaller dimensions, or a higher limit.");
  return !failure_;
}

template <class D>
std::size_t Evaluator<D>::Shape::size() const {
  std::size_t n = 1;
  for (const std::int64_t e : extents) {
    if (e <= 0) return 0;
    if (n > std::numeric_limits<std::size_t>::max() / static_cast<std::size_t>(e)) return std::numeric_limits<std::size_t>::max();
    n *= static_cast<std::size_t>(e);
  }
  return n;
}

template <class D>
auto Evaluator<D>::shape_of_axes(std::vector<int> axes) const -> Shape {
  Shape shape;
  shape.axes = std::move(axes);
  for (const int axis : shape.axes) shape.extents.push_back(slots_[static_cast<std::size_t>(axis)].extent);
  return shape;
}

template <class D>
auto Evaluator<D>::common_shape(std::initializer_list<const Col*> columns) const -> Shape {
  std::vector<int> axes;
  for (const Col* column : columns) {
    std::vector<int> merged;
    std::set_union(axes.begin(), axes.end(), column->axes.begin(), column->axes.end(), std::back_inserter(merged));
    axes = std::move(merged);
  }
  return shape_of_axes(std::move(axes));
}

template <class D>
std::vector<std::int64_t> Evaluator<D>::strides(const Col& column, const std::vector<int>& axes) const {
  std::vector<std::int64_t> result(axes.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t k = column.axes.size(); k-- > 0;) {
    const auto at = std::lower_bound(axes.begin(), axes.end(), column.axes[k]);
    if (at != axes.end() && *at == column.axes[k]) result[static_cast<std::size_t>(at - axes.begin())] = stride;
    stride *= slots_[static_cast<std::size_t>(column.axes[k])].extent;
  }
  return result;
}

template <class D>
std::size_t Evaluator<D>::level_of(const Col& column) const {
  if (!bindings_.empty() || meaning_) return levels_.size() - 1;
  std::size_t level = 0;
  for (const int axis : column.axes) level = std::max(level, slots_[static_cast<std::size_t>(axis)].level);
  return level;
}

template <class D>
auto Evaluator<D>::evaluate(Expr expr) -> Ref {
  if (failure_) return constant(Kind::literal, 0, 0);
  if (!expr) return fail("An expression is missing.");
  if (expr.node().depth > depth_limit) return fail("An expression is nested too deeply.");
  for (std::size_t level = levels_.size(); level-- > 0;)
    if (const auto found = levels_[level].find(&expr.node()); found != levels_[level].end()) return found->second;
  Ref column = compute(expr);
  if (failure_) return constant(Kind::literal, 0, 0);
  levels_[level_of(*column)].emplace(&expr.node(), column);
  return column;
}

template <class D>
auto Evaluator<D>::evaluate_with(Expr expr, const std::map<Symbol, Ref>& bindings) -> Ref {
  push_level();
  bindings_.push_back(&bindings);
  Ref column = evaluate(expr);
  bindings_.pop_back();
  pop_level();
  return column;
}

template <class D>
auto Evaluator<D>::compute(Expr expr) -> Ref {
  const Op op = expr.op();
  switch (op) {
    case Op::number: {
      const ExprNode& node = expr.node();
      if (node.inexact == 0 && node.number.is_integer()) return constant(Kind::integer, node.number.num(), 0);
      return constant(Kind::literal, 0, node.inexact != 0 ? node.inexact : node.number.to_double());
    }
    case Op::infinity:
      return constant(Kind::literal, 0, std::numeric_limits<double>::infinity());
    case Op::boolean:
      return constant(Kind::boolean, expr.node().truth ? 1 : 0, 0);
    case Op::index:
      return index_column(expr.name());
    case Op::dim: {
      const auto found = dims_->find(expr.name());
      if (found == dims_->end()) return fail(fmt::format("Dimension `{}` has no value.", expr.name().text()));
      return constant(Kind::integer, found->second, 0);
    }
    case Op::symbol: {
      for (std::size_t k = bindings_.size(); k-- > 0;)
        if (const auto found = bindings_[k]->find(expr.name()); found != bindings_[k]->end()) return found->second;
      Ref column = meaning_ ? meaning_(*this, expr) : nullptr;
      return column ? column : fail(fmt::format("`{}` has no value here.", expr.name().text()), {expr.name().text()});
    }
    case Op::read:
      return read(expr);
    case Op::cast:
      return cast_to(expr.node().dtype, evaluate(expr.arg(0)));
    case Op::reduce: {
      const ReducerRef reducer = reducer_of(*program_, expr.name());
      if (!reducer) return fail(fmt::format("There is no reducer `{}`.", expr.name().text()));
      return project<D>(*this, *reducer, expr.node().result, fold<D>(*this, bounds_of(expr), *reducer, values_of(expr)));
    }
    case Op::logical_not:
      return logical_not(evaluate(expr.arg(0)));
    case Op::logical_and:
    case Op::logical_or:
      return logical(op, evaluate(expr.arg(0)), evaluate(expr.arg(1)));
    case Op::where:
      return select(evaluate(expr.arg(0)), evaluate(expr.arg(1)), evaluate(expr.arg(2)), mask_mark(expr.arg(1)), mask_mark(expr.arg(2)));
    case Op::random:
      return random(expr);
    case Op::tuple:
    case Op::call:
    case Op::extent:
      return fail(fmt::format("`{}` cannot be evaluated here.", print(expr)));
    default:
      break;
  }
  if (expr.args().size() == 1) return unary(op, evaluate(expr.arg(0)));
  const Ref a = evaluate(expr.arg(0));
  const Ref b = evaluate(expr.arg(1));
  return is_comparison(op) ? comparison(op, a, b) : binary(op, a, b);
}

template <class D>
auto Evaluator<D>::index_column(Symbol name) -> Ref {
  for (std::size_t k = slots_.size(); k-- > 0;) {
    if (!(slots_[k].index == name)) continue;
    auto column = std::make_shared<Col>();
    column->kind = Kind::integer;
    column->axes = {static_cast<int>(k)};
    if (!spend(static_cast<std::size_t>(slots_[k].extent))) return constant(Kind::integer, 0, 0);
    for (std::int64_t i = 0; i < slots_[k].extent; ++i) column->whole.push_back(slots_[k].lo + i);
    return column;
  }
  return fail(fmt::format("Index `{}` is not bound here.", name.text()), {name.text()});
}

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
  auto result = std::make_shared<Col>();
  result->kind = Kind::integer;
  result->axes = shape.axes;
  result->resize(shape.size());
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
  auto result = std::make_shared<Col>();
  result->kind = kind;
  result->axes = shape.axes;
  result->resize(shape.size());
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
  auto result = std::make_shared<Col>();
  result->kind = Kind::boolean;
  result->axes = shape.axes;
  result->resize(shape.size());
  sweep<2>(shape.extents, {strides(*left, shape.axes), strides(*right, shape.axes)}, [&](std::size_t i, const auto& at) {
    const auto ia = static_cast<std::size_t>(at[0]);
    const auto ib = static_cast<std::size_t>(at[1]);
    auto flags = static_cast<std::uint8_t>((left->flag(ia) | right->flag(ib)) & carried_flags);
    std::uint8_t doubt = 0;  // none when a value is compared with itself: the NaN test of the notation
    const bool holds =
        discrete ? compare_whole(op, left->whole[ia], right->whole[ib]) : domain_.compare(op, left->real[ia], right->real[ib], doubt);
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
  auto result = std::make_shared<Col>();
  result->kind = Kind::boolean;
  result->axes = shape.axes;
  result->resize(shape.size());
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
  auto result = std::make_shared<Col>();
  result->kind = kind;
  result->axes = shape.axes;
  result->resize(shape.size());
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

template <class D>
auto Evaluator<D>::read(Expr expr) -> Ref {
  const Tensor<Value>* tensor = lookup_(expr.name());
  if (tensor == nullptr) {
    Ref column = meaning_ ? meaning_(*this, expr) : nullptr;
    return column ? column : fail(fmt::format("`{}` has no values yet.", expr.name().text()), {expr.name().text()});
  }
  if (tensor->extent.size() != expr.args().size())
    return fail(fmt::format("`{}` is read with {} subscripts; it has {}.", expr.name().text(), expr.args().size(), tensor->extent.size()));
  // offset = sum of subscript * stride; -1 where any subscript is outside
  auto offset = std::make_shared<Col>();
  offset->kind = Kind::integer;
  offset->whole = {0};
  std::int64_t stride = tensor->size();
  for (std::size_t axis = 0; axis < expr.args().size(); ++axis) {
    stride = tensor->extent[axis] == 0 ? 0 : stride / tensor->extent[axis];
    const Ref subscript = as_kind(evaluate(expr.arg(axis)), Kind::integer);
    if (failure_) return subscript;
    const Shape shape = common_shape({offset.get(), subscript.get()});
    if (!spend(shape.size())) return subscript;
    auto next = std::make_shared<Col>();
    next->kind = Kind::integer;
    next->axes = shape.axes;
    next->resize(shape.size());
    sweep<2>(shape.extents, {strides(*offset, shape.axes), strides(*subscript, shape.axes)}, [&](std::size_t i, const auto& at) {
      const std::int64_t before = offset->whole[static_cast<std::size_t>(at[0])];
      const std::int64_t position = subscript->whole[static_cast<std::size_t>(at[1])] - tensor->lo[axis];
      const std::uint8_t flags = subscript->flag(static_cast<std::size_t>(at[1]));
      const bool inside = before >= 0 && position >= 0 && position < tensor->extent[axis] && (flags & invalid) == 0;
      next->whole[i] = inside ? before + position * stride : -1;
      next->set_flag(i, static_cast<std::uint8_t>((offset->flag(static_cast<std::size_t>(at[0])) | flags) & undetermined));
    });
    offset = std::move(next);
  }
  auto result = std::make_shared<Col>();
  result->kind = tensor->kind;
  result->axes = offset->axes;
  result->flags = offset->flags;
  const std::size_t n = offset->size();
  result->resize(n);
  const Value poison = domain_.exact(std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t at = offset->whole[i];
    const auto from = static_cast<std::size_t>(at);
    if (is_discrete(tensor->kind)) {
      result->whole[i] = at < 0 ? 0 : tensor->whole[from];
    } else {
      result->real[i] = at < 0 ? poison : tensor->borrowed != nullptr ? domain_.exact(tensor->borrowed[from]) : tensor->real[from];
    }
    const std::uint8_t own = at < 0 ? invalid : tensor->flags.empty() ? std::uint8_t{0} : tensor->flags[from];
    if (own != 0) result->set_flag(i, static_cast<std::uint8_t>(result->flag(i) | own));
  }
  return result;
}

template <class D>
auto Evaluator<D>::random(Expr expr) -> Ref {
  std::vector<Ref> args;
  Shape shape;
  for (const Expr arg : expr.args()) {
    args.push_back(as_kind(evaluate(arg), Kind::integer));
    if (failure_) return args.back();
    Col so_far;
    so_far.axes = shape.axes;
    shape = common_shape({&so_far, args.back().get()});
  }
  if (args.empty()) return fail("`random` needs a seed.");
  if (!spend(shape.size() * args.size())) return args.front();
  std::vector<std::vector<std::int64_t>> values(args.size(), std::vector<std::int64_t>(shape.size()));
  auto result = std::make_shared<Col>();
  result->kind = Kind::single;
  result->axes = shape.axes;
  result->resize(shape.size());
  for (std::size_t k = 0; k < args.size(); ++k)
    sweep<1>(shape.extents, {strides(*args[k], shape.axes)}, [&](std::size_t i, const auto& at) {
      values[k][i] = args[k]->whole[static_cast<std::size_t>(at[0])];
      const std::uint8_t flags = args[k]->flag(static_cast<std::size_t>(at[0])) & carried_flags;
      if (flags != 0) result->set_flag(i, static_cast<std::uint8_t>(result->flag(i) | flags));
    });
  std::vector<std::int64_t> counter(args.size() - 1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    for (std::size_t k = 1; k < args.size(); ++k) counter[k - 1] = values[k][i];
    result->real[i] = domain_.exact(uniform(philox_of(values[0][i], counter)[0]));
  }
  return result;
}

template class Evaluator<Single>;
template class Evaluator<Bounding>;

}  // namespace fathom::interp
