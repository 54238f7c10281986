// Where columns come from: reads of tensors by computed subscripts, and random numbers.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "interp/approx.hpp"
#include "interp/evaluator.hpp"
#include "interp/philox.hpp"
#include "interp/single.hpp"

namespace fathom::interp {

template <class D>
auto Evaluator<D>::read(Expr expr) -> Ref {
  const Tensor<Value>* tensor = lookup_(expr.name());
  if (tensor == nullptr) {
    Ref column = meaning_ ? meaning_(*this, expr) : nullptr;
    return column ? column : fail(fmt::format("`{}` has no values yet.", expr.name().text()), {expr.name().text()});
  }
  if (tensor->extent.size() != expr.args().size())
    return fail(fmt::format("`{}` is read with {} subscripts; it has {}.", expr.name().text(), expr.args().size(), tensor->extent.size()));
  if (Ref box = read_box(*tensor, expr)) return box;
  // offset = sum of subscript * stride; -1 where any subscript is outside
  auto offset = std::make_shared<Col>();
  offset->kind = Kind::integer;
  offset->whole = {0};
  std::int64_t stride = tensor->size();
  for (std::size_t axis = 0; axis < expr.args().size(); ++axis) {
    stride = tensor->extent[axis] == 0 ? 0 : stride / tensor->extent[axis];
    Ref subscript = as_kind(evaluate(expr.arg(axis)), Kind::integer);
    if (failure_) return subscript;
    const Shape shape = common_shape({offset.get(), subscript.get()});
    if (!spend(shape.size())) return subscript;
    auto next = column_over(Kind::integer, shape);
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

/// The read as a strided copy, where every subscript moves by one step along at most one index and stays inside: nullptr elsewhere.
template <class D>
auto Evaluator<D>::read_box(const Tensor<Value>& tensor, Expr expr) -> Ref {
  std::map<int, std::int64_t> steps;
  std::int64_t base = 0, stride = tensor.size();
  for (std::size_t axis = 0; axis < expr.args().size(); ++axis) {
    stride = tensor.extent[axis] == 0 ? 0 : stride / tensor.extent[axis];
    Ref subscript = evaluate(expr.arg(axis));
    if (failure_) return subscript;
    if (subscript->kind != Kind::integer || subscript->axes.size() > 1 || !subscript->flags.empty() || subscript->whole.empty())
      return nullptr;
    const std::vector<std::int64_t>& at = subscript->whole;
    const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 0;
    for (std::size_t i = 1; i < at.size(); ++i)
      if (at[i] - at[i - 1] != step) return nullptr;
    const auto [low, high] = std::minmax(at.front(), at.back());
    if (low < tensor.lo[axis] || high >= tensor.lo[axis] + tensor.extent[axis]) return nullptr;
    base += (at.front() - tensor.lo[axis]) * stride;
    if (!subscript->axes.empty()) steps[subscript->axes[0]] += step * stride;
  }
  std::vector<int> axes;
  std::vector<std::int64_t> along;
  for (const auto& [axis, step] : steps) axes.push_back(axis), along.push_back(step);
  const Shape shape = shape_of_axes(std::move(axes));
  if (!spend(shape.size())) return constant(tensor.kind, 0, 0);
  const auto result = column_over(tensor.kind, shape);
  sweep<1>(shape.extents, {along}, [&](std::size_t i, const auto& at) {
    const auto from = static_cast<std::size_t>(base + at[0]);
    if (is_discrete(tensor.kind)) {
      result->whole[i] = tensor.whole[from];
    } else {
      result->real[i] = tensor.borrowed != nullptr ? domain_.exact(tensor.borrowed[from]) : tensor.real[from];
    }
    if (!tensor.flags.empty() && tensor.flags[from] != 0) result->set_flag(i, tensor.flags[from]);
  });
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
  const auto result = column_over(Kind::single, shape);
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

#define FATHOM_INSTANTIATE(D)                                                    \
  template Evaluator<D>::Ref Evaluator<D>::read(Expr);                           \
  template Evaluator<D>::Ref Evaluator<D>::read_box(const Tensor<Value>&, Expr); \
  template Evaluator<D>::Ref Evaluator<D>::random(Expr);
FATHOM_INSTANTIATE(Single)
FATHOM_INSTANTIATE(Bounding)
#undef FATHOM_INSTANTIATE

}  // namespace fathom::interp
