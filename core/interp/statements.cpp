#include "interp/statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/approx.hpp"
#include "interp/elaborate.hpp"
#include "interp/single.hpp"

namespace fathom::interp {
namespace {

constexpr std::int64_t tensor_limit = std::int64_t{1} << 28U;

/// Elaborates an expression that may be absent.
bool replace(const math::Program& program, Expr& expr, const Ranges& scope, std::optional<Refusal>& failure) {
  if (!expr || failure) return !failure;
  Result<Expr> result = elaborate(program, expr, scope);
  if (!result) {
    failure = result.error();
    return false;
  }
  expr = *result;
  return true;
}

void prepare_reduction(const math::Program& program, const math::Reduction& reduction, const Ranges& axes, Prepared& prepared,
                       std::optional<Refusal>& failure) {
  prepared.reducer = reduction.reducer;
  prepared.result = reduction.result;
  Ranges scope = axes;
  for (const math::Axis& axis : reduction.over) {
    Bound bound{axis.index, axis.lo, axis.hi};
    replace(program, bound.lo, axes, failure);
    replace(program, bound.hi, axes, failure);
    prepared.over.push_back(bound);
    scope[axis.index] = {bound.lo, bound.hi};
  }
  prepared.values = reduction.values;
  for (Expr& value : prepared.values) replace(program, value, scope, failure);
  prepared.repair = reduction.repair;
  if (!prepared.repair) return;
  for (math::Gauge& gauge : prepared.repair->gauges) replace(program, gauge.reference, axes, failure);
  for (math::Carried& carried : prepared.repair->carried) {
    replace(program, carried.term, scope, failure);
    replace(program, carried.move, axes, failure);
  }
  replace(program, prepared.repair->project, axes, failure);
}

/// nullopt where an extent has no value or the tensor has more elements than 64 bits count. Inputs are there already: how large they may be
/// is for those to say who make them.
std::optional<std::vector<std::int64_t>> shape_of(const math::Parameter& param, const DimValues& dims) {
  std::vector<std::int64_t> shape;
  std::int64_t total = 1;
  for (const Expr extent : param.extents) {
    const auto value = evaluate_integer(extent, dims);
    if (!value || *value < 0 || __builtin_mul_overflow(total, std::max<std::int64_t>(*value, 1), &total)) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

std::string text_of(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

}  // namespace

Result<std::vector<Prepared>> prepare(const math::Program& program) {
  std::vector<Prepared> all;
  std::optional<Refusal> failure;
  for (const math::Statement& statement : program.statements) {
    Prepared prepared;
    prepared.name = statement.name;
    prepared.axes = statement.axes;
    prepared.dtype = statement.dtype;
    if (const math::Parameter* result = program.result(statement.name); result != nullptr && statement.dtype == DType::real)
      prepared.dtype = result->dtype;
    const Ranges scope = ranges_of(statement.axes);
    if (const math::Map* map = statement.map()) {
      prepared.value = map->value;
      replace(program, prepared.value, scope, failure);
    } else {
      prepare_reduction(program, *statement.reduction(), scope, prepared, failure);
    }
    if (failure) {
      failure->nodes.push_back(statement.name.text());
      return tl::unexpected(*failure);
    }
    all.push_back(std::move(prepared));
  }
  return all;
}

Result<DimValues> complete_dims(const math::Program& program, const DimValues& given) {
  DimValues dims = default_dims(program);
  for (const auto& [name, value] : given) {
    if (program.dimension(name) == nullptr) continue;  // a module's dimensions may be more than this program's
    dims[name] = value;
  }
  for (const auto& [name, value] : dims)
    if (value < 0) return refuse(fmt::format("Dimension {} is {}; it must not be negative.", name.text(), value), {name.text()});
  return dims;
}

template <class D>
Result<Tensors<D>> load_inputs(const D&, const math::Program& program, const DimValues& dims, const Arrays& inputs) {
  Tensors<D> tensors;
  for (const math::Parameter& param : program.params) {
    const auto found = inputs.find(param.name);
    if (found == inputs.end()) return refuse(fmt::format("Input `{}` is missing.", param.name.text()), {param.name.text()});
    const Array& array = found->second;
    const auto shape = shape_of(param, dims);
    if (!shape) return refuse(fmt::format("`{}` has no valid shape at these dimensions.", param.name.text()), {param.name.text()});
    if (array.shape != *shape || array.data.size() != static_cast<std::size_t>(array.size()))
      return refuse(
          fmt::format("Input `{}` has shape {}; the operator wants {}.", param.name.text(), text_of(array.shape), text_of(*shape)),
          {param.name.text()});
    std::int64_t total = 1;
    for (const std::int64_t extent : *shape) total *= extent;
    if (array.size() != total) return refuse(fmt::format("Input `{}` holds {} values, not {}.", param.name.text(), array.size(), total));
    if (array.dtype != param.dtype)
      return refuse(fmt::format("Input `{}` is {}; the operator wants {}.", param.name.text(), name(array.dtype), name(param.dtype)));
    Tensor<typename D::Value> tensor;
    tensor.kind = kind_of(param.dtype);
    tensor.lo.assign(shape->size(), 0);
    tensor.extent = *shape;
    for (const double x : array.data) {
      const bool holds = std::isnan(x) ? is_float(param.dtype) : round_to(param.dtype, x) == x;
      const bool whole = !is_discrete(tensor.kind) || std::abs(x) <= 0x1p53;
      if (!holds || !whole) return refuse(fmt::format("Input `{}` holds {}, which {} cannot.", param.name.text(), x, name(param.dtype)));
      if (is_discrete(tensor.kind)) tensor.whole.push_back(static_cast<std::int64_t>(x));
    }
    if (!is_discrete(tensor.kind)) tensor.borrowed = array.data.data();
    tensors.emplace(param.name, std::move(tensor));
  }
  return tensors;
}

template <class D>
Result<void> check_conditions(const D& domain, const math::Program& program, const DimValues& dims, const Tensors<D>& tensors) {
  std::int64_t work = std::int64_t{1} << 24U;
  const auto lookup = [&](Symbol name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
  };
  for (const Expr condition : program.conditions) {
    Evaluator<D> evaluator(domain, program, dims, lookup, work);
    const auto column = evaluator.as_kind(evaluator.evaluate(condition), Kind::boolean);
    if (evaluator.failure()) return tl::unexpected(*evaluator.failure());
    const bool holds = std::all_of(column->whole.begin(), column->whole.end(), [](std::int64_t x) { return x != 0; });
    if (!holds) return refuse(fmt::format("The operator's condition `{}` does not hold.", print(condition)));
  }
  return {};
}

template <class D>
Box open_axes(Evaluator<D>& evaluator, const std::vector<math::Axis>& axes, const Limits& limits) {
  Box box;
  for (const math::Axis& axis : axes) {
    const auto lo = evaluator.as_kind(evaluator.evaluate(axis.lo), Kind::integer);
    const auto hi = evaluator.as_kind(evaluator.evaluate(axis.hi), Kind::integer);
    std::int64_t first = lo->whole.empty() ? 0 : *std::min_element(lo->whole.begin(), lo->whole.end());
    std::int64_t last = hi->whole.empty() ? first : *std::max_element(hi->whole.begin(), hi->whole.end());
    if (const auto limit = limits.find(axis.index); limit != limits.end()) {
      first = std::max(first, limit->second.first);
      last = std::min(last, limit->second.second);
    }
    last = std::max(first, last);
    if (last - first > tensor_limit) {
      evaluator.fail(fmt::format("The range of index `{}` is too large.", axis.index.text()));
      last = first;
    }
    evaluator.push_slot(axis.index, first, last - first);
    box.emplace_back(first, last);
  }
  return box;
}

template <class D>
typename Evaluator<D>::Ref spread(Evaluator<D>& evaluator, const typename Evaluator<D>::Ref& column, std::size_t axes) {
  std::vector<int> all;
  for (std::size_t k = 0; k < axes; ++k) all.push_back(static_cast<int>(k));
  const Kind kind = column->kind == Kind::literal ? Kind::single : column->kind;
  if (column->axes == all) return evaluator.as_kind(column, kind);
  const auto shape = evaluator.shape_of_axes(all);
  if (!evaluator.spend(shape.size())) return column;
  const auto operand = evaluator.as_kind(column, kind);
  auto result = std::make_shared<typename Evaluator<D>::Col>();
  result->kind = kind;
  result->axes = std::move(all);
  result->resize(shape.size());
  sweep<1>(shape.extents, {evaluator.strides(*operand, shape.axes)}, [&](std::size_t i, const auto& at) {
    const auto from = static_cast<std::size_t>(at[0]);
    if (is_discrete(kind)) {
      result->whole[i] = operand->whole[from];
    } else {
      result->real[i] = operand->real[from];
    }
    result->set_flag(i, operand->flag(from));
  });
  return result;
}

namespace {

/// Visits the box inside the tensor: f(number of the point in the box, position in the tensor).
template <class Value, class F>
void each_in_box(const Tensor<Value>& tensor, const Box& box, F f) {
  std::vector<std::int64_t> extents, strides(box.size());
  std::int64_t stride = 1, base = 0;
  for (std::size_t k = box.size(); k-- > 0;) {
    strides[k] = stride;
    base += (box[k].first - tensor.lo[k]) * stride;
    stride *= tensor.extent[k];
  }
  for (const auto& [lo, hi] : box) extents.push_back(hi - lo);
  sweep<1>(extents, {strides}, [&](std::size_t i, const auto& at) { f(i, static_cast<std::size_t>(base + at[0])); });
}

/// The tensor with values of a larger kind.
template <class D>
void widen(Evaluator<D>& evaluator, Tensor<typename D::Value>& tensor, Kind kind) {
  if (tensor.kind >= kind) return;
  if (is_discrete(tensor.kind) && !is_discrete(kind)) {
    for (std::size_t i = 0; i < tensor.whole.size(); ++i) {
      const bool poisoned = !tensor.flags.empty() && (tensor.flags[i] & invalid) != 0;
      tensor.real.push_back(
          evaluator.domain().exact(poisoned ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(tensor.whole[i])));
      if (poisoned) tensor.flags[i] = 0;
    }
    tensor.whole.clear();
  }
  tensor.kind = kind;
}

}  // namespace

template <class D>
void write(Evaluator<D>& evaluator, Tensor<typename D::Value>& tensor, const Box& box, const typename Evaluator<D>::Ref& column) {
  if (evaluator.failure()) return;
  widen<D>(evaluator, tensor, column->kind);
  const auto source = evaluator.as_kind(column, tensor.kind);
  if (tensor.flags.empty() && !source->flags.empty()) tensor.flags.assign(static_cast<std::size_t>(tensor.size()), 0);
  each_in_box(tensor, box, [&](std::size_t i, std::size_t to) {
    if (is_discrete(tensor.kind)) {
      tensor.whole[to] = source->whole[i];
    } else {
      tensor.real[to] = source->real[i];
    }
    if (!tensor.flags.empty()) tensor.flags[to] = source->flag(i);
  });
}

template <class D>
typename Evaluator<D>::Ref view(Evaluator<D>& evaluator, const Tensor<typename D::Value>& tensor, const Box& box) {
  auto column = std::make_shared<typename Evaluator<D>::Col>();
  column->kind = tensor.kind;
  for (std::size_t k = 0; k < box.size(); ++k) column->axes.push_back(static_cast<int>(k));
  const auto shape = evaluator.shape_of_axes(column->axes);
  if (!evaluator.spend(shape.size())) return evaluator.constant(tensor.kind, 0, 0);
  column->resize(shape.size());
  each_in_box(tensor, box, [&](std::size_t i, std::size_t from) {
    if (is_discrete(tensor.kind)) {
      column->whole[i] = tensor.whole[from];
    } else {
      column->real[i] = tensor.real[from];
    }
    if (!tensor.flags.empty()) column->set_flag(i, tensor.flags[from]);
  });
  return column;
}

template <class D>
Tensor<typename D::Value> make_tensor(const D& domain, const Box& box, Kind kind, bool poison) {
  Tensor<typename D::Value> tensor;
  tensor.kind = kind == Kind::literal ? Kind::single : kind;
  for (const auto& [lo, hi] : box) {
    tensor.lo.push_back(lo);
    tensor.extent.push_back(hi - lo);
  }
  const auto n = static_cast<std::size_t>(tensor.size());
  if (is_discrete(tensor.kind)) {
    tensor.whole.assign(n, 0);
    if (poison) tensor.flags.assign(n, invalid);
  } else {
    tensor.real.assign(n, domain.exact(poison ? std::numeric_limits<double>::quiet_NaN() : 0));
  }
  return tensor;
}

std::string place_text(const std::vector<std::int64_t>& extents, std::size_t position) {
  std::vector<std::int64_t> at(extents.size());
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t k = extents.size(); k-- > 0;) {
    at[k] = extents[k] == 0 ? 0 : rest % extents[k];
    rest = extents[k] == 0 ? 0 : rest / extents[k];
  }
  return text_of(at);
}

#define FATHOM_INSTANTIATE(D)                                                                                     \
  template Result<Tensors<D>> load_inputs<D>(const D&, const math::Program&, const DimValues&, const Arrays&);    \
  template Result<void> check_conditions<D>(const D&, const math::Program&, const DimValues&, const Tensors<D>&); \
  template Box open_axes<D>(Evaluator<D>&, const std::vector<math::Axis>&, const Limits&);                        \
  template Evaluator<D>::Ref spread<D>(Evaluator<D>&, const Evaluator<D>::Ref&, std::size_t);                     \
  template void write<D>(Evaluator<D>&, Tensor<D::Value>&, const Box&, const Evaluator<D>::Ref&);                 \
  template Evaluator<D>::Ref view<D>(Evaluator<D>&, const Tensor<D::Value>&, const Box&);                         \
  template Tensor<D::Value> make_tensor<D>(const D&, const Box&, Kind, bool);
FATHOM_INSTANTIATE(Single)
FATHOM_INSTANTIATE(Bounding)
#undef FATHOM_INSTANTIATE

}  // namespace fathom::interp
