// Evaluates formulas on tiles: masks, loads, reductions. Each node once for each mask that it is asked under.
#include <algorithm>
#include <cmath>

#include "interp/run_kernel_formula.hpp"

namespace fathom::interp::tiles {
namespace {

std::string shown(double index) { return index == std::floor(index) ? std::to_string(static_cast<std::int64_t>(index)) : "no integer"; }

View view_of(const Memory& memory) {
  View view{memory.data().data(), kind_of(memory.dtype), memory.shape, std::vector<std::int64_t>(memory.shape.size(), 1)};
  for (std::size_t d = memory.shape.size(); d-- > 1;) view.strides[d - 1] = view.strides[d] * memory.shape[d];
  return view;
}

View view_of(Frame& frame, const Binding& binding) {
  View view{binding.tile->data->data(), binding.tile->kind, {}, {}};
  for (const int axis : binding.dims) {
    view.shape.push_back(frame.axis(axis).extent);
    view.strides.push_back(strides_along(*binding.tile, {axis})[0]);
  }
  return view;
}

}  // namespace

TileRef Evaluation::value(int id, const TileRef& mask) {
  const Node& node = formula_.nodes[static_cast<std::size_t>(id)];
  if (node.constant) return node.constant;
  const TileRef relevant = node.maskable ? mask : nullptr;
  auto& known = memo_[static_cast<std::size_t>(id)];
  for (const auto& [under, result] : known) {
    if (under == relevant) return result;
  }
  frame_.budget().spend(1);
  TileRef result = compute(node, relevant);
  memo_[static_cast<std::size_t>(id)].emplace_back(relevant, result);
  return result;
}

TileRef Evaluation::compute(const Node& node, const TileRef& mask) {
  switch (node.op) {
    case Op::index:
      return frame_.iota(node.axis);
    case Op::extent:
      return scalar(Kind::integer, static_cast<double>(frame_.axis(node.axis).extent));
    case Op::dim:
    case Op::symbol: {
      if (node.local >= 0) return (*locals_)[static_cast<std::size_t>(node.local)];
      const TileRef& tile = frame_.binding(node.slot).tile;
      if (!tile) stop("`" + node.name.text() + "` has no value here", {node.name.text()});
      return tile;
    }
    case Op::read:
      return load(node, mask);
    case Op::where:
      return choose(node, mask);
    case Op::cast:
      return convert(node.dtype, value(node.args[0], mask), frame_.budget());
    case Op::reduce: {
      if (node.reducer->monoid) return fold_monoid(node, mask);
      const std::vector<TileRef> carriers = folded(node, mask);
      if (node.states && carriers.size() == 1) return carriers[0];
      if (node.states) stop("the states of `" + node.name.text() + "` are several values: they need a statement of their own");
      return Evaluation(frame_, node.reducer->results, nullptr, &carriers)
          .value(node.reducer->results.roots[static_cast<std::size_t>(node.result)]);
    }
    default:
      break;
  }
  std::vector<TileRef> operands;
  operands.reserve(node.args.size());
  for (const int arg : node.args) operands.push_back(value(arg, mask));
  return apply(node.op, operands, frame_.budget());
}

TileRef Evaluation::choose(const Node& node, const TileRef& mask) {
  const TileRef condition = value(node.args[0], mask);
  const auto branch = [&](int id, bool then) -> TileRef {
    if (!formula_.nodes[static_cast<std::size_t>(id)].maskable) return value(id);
    TileRef taken = then ? condition : apply(Op::logical_not, {condition}, frame_.budget());
    if (mask) taken = apply(Op::logical_and, {mask, taken}, frame_.budget());
    if (!any_true(*taken)) return scalar(Kind::boolean, 0);  // chosen nowhere
    return value(id, taken);
  };
  const TileRef then = branch(node.args[1], true);
  const TileRef otherwise = branch(node.args[2], false);
  return apply(Op::where, {condition, then, otherwise}, frame_.budget());
}

// ---- reductions ----

void Evaluation::set_ranges(const Node& node) {
  for (const ReducedAxis& over : node.over) {
    if (over.lo < 0) continue;
    AxisInfo& axis = frame_.axis(over.axis);
    const std::string what = "the range of `" + axis.name.text() + "`";
    const std::int64_t lo = uniform_integer(value(over.lo), what), hi = uniform_integer(value(over.hi), what);
    frame_.axis(over.axis).lo = lo;
    frame_.axis(over.axis).extent = std::max<std::int64_t>(hi - lo, 0);
  }
}

TileRef Evaluation::fold_monoid(const Node& node, const TileRef& mask) {
  set_ranges(node);
  const Op op = *node.reducer->monoid;
  const Node& inner = formula_.nodes[static_cast<std::size_t>(node.args[0])];
  const TileRef& identity = node.reducer->identity[0];
  if (op == Op::add && inner.op == Op::mul && node.over.size() == 1 && extent(node.over[0]) > 0) {
    const TileRef a = value(inner.args[0], mask), b = value(inner.args[1], mask);
    if (std::max(a->kind, b->kind) == Kind::f32) return contract(a, b, node.over[0].axis, extent(node.over[0]), frame_.budget());
  }
  TileRef result = value(node.args[0], mask);
  for (std::size_t i = node.over.size(); i-- > 0;) {
    result = fold(op, result, node.over[i].axis, extent(node.over[i]), identity, frame_.budget());
  }
  return result;
}

std::vector<TileRef> Evaluation::states(int id, const TileRef& mask) { return folded(formula_.nodes[static_cast<std::size_t>(id)], mask); }

std::vector<TileRef> Evaluation::folded(const Node& node, const TileRef& mask) {
  set_ranges(node);
  std::vector<TileRef> values;
  for (const int arg : node.args) values.push_back(value(arg, mask));
  return fold_states(node, std::move(values));
}

/// The left fold along each axis, the last one first, of the lifted values (or of states).
std::vector<TileRef> Evaluation::fold_states(const Node& node, std::vector<TileRef> values) {
  const CompiledReducer& r = *node.reducer;
  const std::size_t carriers = r.reducer->state.size();
  const auto rounded = [&](std::vector<TileRef> tiles) {
    for (std::size_t i = 0; i < carriers; ++i) {
      const DType dtype = r.reducer->state[i].dtype;
      if (dtype != DType::real) tiles[i] = convert(dtype, tiles[i], frame_.budget());
    }
    return tiles;
  };
  std::vector<TileRef> state(carriers);
  if (node.states) {
    state = std::move(values);
  } else {
    Evaluation lift(frame_, r.lift, nullptr, &values);
    for (std::size_t i = 0; i < carriers; ++i) state[i] = lift.value(r.lift.roots[i]);
    state = rounded(std::move(state));
  }
  for (std::size_t k = node.over.size(); k-- > 0;) {
    const int axis = node.over[k].axis;
    std::vector<TileRef> left = r.identity;
    for (std::int64_t i = 0; i < extent(node.over[k]); ++i) {
      std::vector<TileRef> both = left;
      for (const TileRef& part : state) both.push_back(slice(part, axis, i, frame_.budget()));
      if (i == 0) {
        left.assign(both.begin() + static_cast<std::ptrdiff_t>(carriers), both.end());
        continue;
      }
      Evaluation combine(frame_, r.combine, nullptr, &both);
      for (std::size_t c = 0; c < carriers; ++c) left[c] = combine.value(r.combine.roots[c]);
      left = rounded(std::move(left));
    }
    state = std::move(left);
  }
  return state;
}

// ---- places and loads ----

double Evaluation::Place::at(std::size_t d, const std::vector<std::int64_t>& position) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < position.size(); ++i) sum += steps[d][i] * position[i];
  return linear[d] ? offsets[d] + static_cast<double>(sum) : (*values[d]->data)[static_cast<std::size_t>(sum)];
}

std::optional<std::vector<std::int64_t>> Evaluation::Place::first_element() const {
  constexpr double largest = 0x1p50;
  constexpr std::int64_t largest_step = std::int64_t{1} << 30U;  // no sum of steps within a tile overflows
  if (!all_linear) return std::nullopt;
  for (const std::vector<std::int64_t>& of_subscript : steps)
    for (const std::int64_t step : of_subscript)
      if (std::abs(step) > largest_step) return std::nullopt;
  std::vector<std::int64_t> first;
  for (const double offset : offsets) {
    if (!(std::fabs(offset) <= largest) || offset != std::floor(offset)) return std::nullopt;
    first.push_back(static_cast<std::int64_t>(offset));
  }
  return first;
}

std::pair<std::int64_t, std::int64_t> stretch_inside(std::int64_t first, std::int64_t step, std::int64_t extent, std::int64_t count) {
  if (step == 0) return {0, first >= 0 && first < extent ? count : 0};
  if (step < 0) {  // seen from the other end of the dimension
    first = extent - 1 - first;
    step = -step;
  }
  const auto steps_to = [&](std::int64_t index) {  // until the index is reached or passed
    return first >= index ? 0 : std::min(count, (index - first + step - 1) / step);
  };
  return {steps_to(0), steps_to(extent)};
}

Evaluation::Place Evaluation::place(const Node& node, const TileRef& mask) {
  Place place;
  std::vector<TileRef> shapes = {scalar(Kind::boolean, 0)};
  for (const Subscript& s : node.subscripts) {
    place.linear.push_back(s.linear);
    double offset = 0;
    TileRef general;
    if (s.linear) {
      offset = static_cast<double>(s.linear->constant);
      for (const auto& [uniform, step] : s.linear->uniforms) {
        const TileRef tile = value(uniform, mask);
        if (!tile->axes.empty()) stop("a subscript of `" + node.name.text() + "` is not uniform", {node.name.text()});
        offset += static_cast<double>(step) * only_value(*tile);
      }
      for (const auto& [axis, step] : s.linear->axes) {
        offset += static_cast<double>(step * frame_.axis(axis).lo);
        Tile header{Kind::boolean, {axis}, {frame_.axis(axis).extent}, nullptr};
        shapes.push_back(std::make_shared<const Tile>(std::move(header)));
      }
    } else {
      general = value(s.node, mask);
      shapes.push_back(general);
      place.all_linear = false;
    }
    place.offsets.push_back(offset);
    place.values.push_back(general);
  }
  place.shape = joint_shape(shapes);
  for (std::size_t d = 0; d < node.subscripts.size(); ++d) {
    const std::vector<int>& axes = place.shape.axes;
    std::vector<std::int64_t> steps(axes.size(), 0);
    if (!place.linear[d]) {
      steps = strides_along(*place.values[d], axes);
    } else {
      for (const auto& [axis, step] : place.linear[d]->axes)
        steps[static_cast<std::size_t>(std::lower_bound(axes.begin(), axes.end(), axis) - axes.begin())] += step;
    }
    place.steps.push_back(std::move(steps));
  }
  return place;
}

/// The tile itself where it is read by its own axes.
TileRef Evaluation::whole_tile(const Node& node, const Binding& binding) const {
  if (!binding.tile || binding.dims.size() != node.subscripts.size()) return nullptr;
  for (std::size_t d = 0; d < binding.dims.size(); ++d) {
    if (node.subscripts[d].bare != binding.dims[d]) return nullptr;
  }
  return binding.tile;
}

/// Everything inside: a strided copy. Nullptr where a border, a gather or a mask asks for element by element.
TileRef Evaluation::load_box(const View& view, const Place& from, std::int64_t size) {
  if (!from.all_linear) return nullptr;
  double base = 0;
  std::vector<std::int64_t> strides(from.shape.axes.size(), 0);
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    double lowest = from.offsets[d], highest = from.offsets[d];
    for (std::size_t at = 0; at < strides.size(); ++at) {
      const double reach = static_cast<double>(from.steps[d][at]) * static_cast<double>(from.shape.extents[at] - 1);
      (reach < 0 ? lowest : highest) += reach;
      strides[at] += from.steps[d][at] * view.strides[d];
    }
    if (!(lowest >= 0 && highest < static_cast<double>(view.shape[d])) || lowest != std::floor(lowest)) return nullptr;
    base += from.offsets[d] * static_cast<double>(view.strides[d]);
  }
  Data out(static_cast<std::size_t>(size));
  const Walk walk{from.shape.extents, {strides}};
  const double* data = view.data + static_cast<std::int64_t>(base);
  const std::int64_t length = walk.length(), step = walk.step(0);
  walk.rows([&](std::int64_t at, const std::int64_t* offsets) {
    for (std::int64_t i = 0; i < length; ++i) out[static_cast<std::size_t>(at + i)] = data[offsets[0] + i * step];
  });
  return make_tile(view.kind, from.shape.axes, from.shape.extents, std::move(out));
}

/// Row by row along the last axis, where what lies outside has a value: the part inside is one stretch.
TileRef Evaluation::load_rows(const View& view, const Place& from, const std::vector<std::int64_t>& first, std::int64_t size) {
  const std::size_t axes = from.shape.axes.size(), dims = view.shape.size();
  Data out(static_cast<std::size_t>(size), only_value(*fill_));
  std::vector<std::int64_t> along(dims, 0);
  std::int64_t step = 0;
  for (std::size_t d = 0; d < dims; ++d) {
    if (axes > 0) along[d] = from.steps[d].back();
    step += along[d] * view.strides[d];
  }
  const Walk walk{from.shape.extents, from.steps};
  walk.rows([&](std::int64_t to, const std::int64_t* offsets) {
    std::int64_t lo = 0, hi = walk.length(), at = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      const auto [low, high] = stretch_inside(first[d] + offsets[d], along[d], view.shape[d], hi);
      lo = std::max(lo, low), hi = std::min(hi, high);
    }
    if (lo >= hi) return;
    for (std::size_t d = 0; d < dims; ++d) at += (first[d] + offsets[d]) * view.strides[d];
    for (std::int64_t i = lo; i < hi; ++i) out[static_cast<std::size_t>(to + i)] = view.data[at + i * step];
  });
  return make_tile(view.kind, from.shape.axes, from.shape.extents, std::move(out));
}

TileRef Evaluation::load_each(const Node& node, const View& view, const Place& from, std::int64_t size, const TileRef& mask) {
  const TileRef active = mask ? any_except(mask, from.shape.axes, frame_.budget()) : scalar(Kind::boolean, 1);
  const std::vector<std::int64_t> active_strides = strides_along(*active, from.shape.axes);
  const double outside = fill_ ? only_value(*fill_) : std::nan("");
  Data out(static_cast<std::size_t>(size), outside);
  std::vector<std::int64_t> position(from.shape.axes.size(), 0);
  for (std::int64_t element = 0; element < size; ++element) {
    std::int64_t mask_at = 0;
    for (std::size_t i = 0; i < position.size(); ++i) mask_at += position[i] * active_strides[i];
    bool loads = (*active->data)[static_cast<std::size_t>(mask_at)] != 0;
    std::int64_t at = 0;
    for (std::size_t d = 0; loads && d < view.shape.size(); ++d) {
      const double index = from.at(d, position);
      loads = index >= 0 && index < static_cast<double>(view.shape[d]) && index == std::floor(index);
      if (!loads && !fill_) {
        stop("`" + node.name.text() + "` is read outside of its extents: subscript " + std::to_string(d + 1) + " is " + shown(index) +
                 ", the extent " + std::to_string(view.shape[d]),
             {node.name.text()}, "give the value outside with `else`, or put the load under a `where` that masks it");
      }
      if (loads) at += static_cast<std::int64_t>(index) * view.strides[d];
    }
    if (loads) out[static_cast<std::size_t>(element)] = view.data[at];
    next_position(position, from.shape.extents);
  }
  return make_tile(view.kind, from.shape.axes, from.shape.extents, std::move(out));
}

TileRef Evaluation::load(const Node& node, const TileRef& mask) {
  const Binding& binding = frame_.binding(node.slot);
  const std::string& name = node.name.text();
  if (TileRef whole = whole_tile(node, binding)) return whole;
  if (!binding.tile && binding.memory == nullptr) stop("`" + name + "` is read before it has a value", {name});
  const View view = binding.memory != nullptr ? view_of(*binding.memory) : view_of(frame_, binding);
  if (view.shape.size() != node.subscripts.size()) {
    stop("`" + name + "` has " + std::to_string(view.shape.size()) + " axes, but " + std::to_string(node.subscripts.size()) + " subscripts",
         {name});
  }
  const Place from = place(node, mask);
  const std::int64_t size = count(from.shape.extents);
  frame_.budget().spend(size);
  if (size > largest_tile) stop("one tile would have more than 2^26 elements", {name});
  if (size == 0) return make_tile(view.kind, from.shape.axes, from.shape.extents, {});
  if (TileRef box = load_box(view, from, size)) return box;
  if (const auto first = from.first_element(); first && fill_ && !mask) return load_rows(view, from, *first, size);
  return load_each(node, view, from, size, mask);
}

void next_position(std::vector<std::int64_t>& position, const std::vector<std::int64_t>& extents) {
  for (std::size_t i = position.size(); i-- > 0;) {
    if (++position[i] < extents[i]) return;
    position[i] = 0;
  }
}

}  // namespace fathom::interp::tiles
