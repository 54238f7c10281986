// What evaluation rests on: slots, levels of known values, shapes, the work limit, and which operation a node is.
#include "interp/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "interp/approx.hpp"
#include "interp/elaborate.hpp"
#include "interp/single.hpp"
#include "ir/comparison.hpp"

namespace fathom::interp {
namespace {

constexpr std::uint32_t depth_limit = 3000;
constexpr std::size_t column_limit = std::size_t{1} << 24U;

/// A mask's literal: 0, inf or -inf written as a branch of `where`.
std::uint8_t mask_mark(Expr branch) {
  const bool zero = branch.is(Op::number) && branch.node().number.sign() == 0 && branch.node().inexact == 0;
  const bool infinite = fathom::is_infinite(branch);
  return zero || infinite ? masked : std::uint8_t{0};
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
  shape.extents.reserve(shape.axes.size());
  for (const int axis : shape.axes) shape.extents.push_back(slots_[static_cast<std::size_t>(axis)].extent);
  return shape;
}

template <class D>
auto Evaluator<D>::common_shape(std::initializer_list<const Col*> columns) const -> Shape {
  const Col* widest = *columns.begin();
  for (const Col* column : columns)
    if (column->axes.size() > widest->axes.size()) widest = column;
  std::vector<int> axes = widest->axes;  // mostly those of all
  for (const Col* column : columns) {
    if (std::includes(axes.begin(), axes.end(), column->axes.begin(), column->axes.end())) continue;
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
      const ReducerRef reducer = reducer_named(program_->reducers, expr.name());
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

template class Evaluator<Single>;
template class Evaluator<Bounding>;

}  // namespace fathom::interp
