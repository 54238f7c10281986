// Assignment to tiles and stores to memory: masks of `if`, clipping at extents, rounding to the stored type, events.
#include <algorithm>
#include <cmath>

#include "interp/run_kernel_process.hpp"

namespace fathom::interp::tiles {
namespace {

bool contains(const std::vector<int>& axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

bool in_any(const std::vector<const std::set<Symbol>*>& sets, Symbol name) {
  return std::any_of(sets.begin(), sets.end(), [name](const std::set<Symbol>* names) { return names->count(name) > 0; });
}

/// One store to memory: what lies outside is left out, an element of a result is stored once.
struct Storing {
  Memory& memory;
  Symbol name;
  std::vector<std::pair<std::int64_t, std::int64_t>> box;  ///< of the elements stored so far

  void put(std::int64_t at, double value) {
    if (!memory.stored.empty()) {
      if (memory.stored[static_cast<std::size_t>(at)]) stop("an element of result `" + name.text() + "` is stored twice", {name.text()});
      memory.stored[static_cast<std::size_t>(at)] = true;
    }
    memory.own[static_cast<std::size_t>(at)] = stored_as(memory.dtype, value);
  }
  /// Elements of a buffer: `step` and `from_step` apart.
  void copy(std::int64_t at, std::int64_t step, const double* from, std::int64_t from_step, std::int64_t count) {
    double* to = memory.own.data() + at;
    if (memory.dtype == DType::f32) {
      for (std::int64_t i = 0; i < count; ++i) to[i * step] = static_cast<double>(static_cast<float>(from[i * from_step]));
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * step] = round_to(memory.dtype, from[i * from_step]);
    }
  }
  void reach(std::size_t dimension, std::int64_t index) {
    box[dimension] = {std::min(box[dimension].first, index), std::max(box[dimension].second, index + 1)};
  }

  /// Every subscript moves by whole steps: row by row along the last axis, whose part inside is one stretch.
  void rows(const Evaluation::Place& to, const std::vector<std::int64_t>& first, const Tile& value, const Tile& mask) {
    const std::size_t axes = to.shape.axes.size(), dims = memory.shape.size();
    Walk walk{to.shape.extents, {strides_along(value, to.shape.axes), strides_along(mask, to.shape.axes)}};
    std::vector<std::int64_t> along(dims, 0);
    for (std::size_t d = 0; d < dims; ++d) {
      std::vector<std::int64_t> steps = to.steps[d];
      if (axes > 0) along[d] = steps.back();
      walk.strides.push_back(std::move(steps));
    }
    walk.rows([&](std::int64_t, const std::int64_t* offsets) {
      std::int64_t lo = 0, hi = walk.length(), at = 0, step = 0;
      for (std::size_t d = 0; d < dims; ++d) {
        const auto [low, high] = stretch_inside(first[d] + offsets[2 + d], along[d], memory.shape[d], hi);
        lo = std::max(lo, low), hi = std::min(hi, high);
      }
      if (lo >= hi) return;
      for (std::size_t d = 0; d < dims; ++d) {
        at = at * memory.shape[d] + first[d] + offsets[2 + d];
        step = step * memory.shape[d] + along[d];
      }
      const double *from = value.data->data() + offsets[0], *held = mask.data->data() + offsets[1];
      std::int64_t last = hi - 1;
      if (memory.stored.empty() && mask.axes.empty() && *held != 0) {
        copy(at + lo * step, step, from + lo * walk.step(0), walk.step(0), hi - lo);
      } else {
        last = -1;
        for (std::int64_t i = lo, end = hi; i < end; ++i) {
          if (held[i * walk.step(1)] == 0) continue;
          if (last < 0) lo = i;
          last = i;
          put(at + i * step, from[i * walk.step(0)]);
        }
      }
      for (std::size_t d = 0; last >= 0 && d < dims; ++d) {
        reach(d, first[d] + offsets[2 + d] + lo * along[d]);
        reach(d, first[d] + offsets[2 + d] + last * along[d]);
      }
    });
  }

  void each(const Evaluation::Place& to, std::int64_t size, const Tile& value, const Tile& mask) {
    const std::vector<std::int64_t> value_strides = strides_along(value, to.shape.axes), mask_strides = strides_along(mask, to.shape.axes);
    std::vector<std::int64_t> position(to.shape.axes.size(), 0);
    std::vector<std::int64_t> place(memory.shape.size(), 0);
    for (std::int64_t element = 0; element < size; ++element) {
      std::int64_t at = 0, from = 0, held = 0;
      for (std::size_t i = 0; i < position.size(); ++i) {
        from += position[i] * value_strides[i];
        held += position[i] * mask_strides[i];
      }
      bool inside = (*mask.data)[static_cast<std::size_t>(held)] != 0;
      for (std::size_t d = 0; inside && d < memory.shape.size(); ++d) {
        const double index = to.at(d, position);
        inside = index >= 0 && index < static_cast<double>(memory.shape[d]) && index == std::floor(index);
        place[d] = inside ? static_cast<std::int64_t>(index) : 0;
        at = at * memory.shape[d] + place[d];
      }
      if (inside) {
        put(at, (*value.data)[static_cast<std::size_t>(from)]);
        for (std::size_t d = 0; d < place.size(); ++d) reach(d, place[d]);
      }
      next_position(position, to.shape.extents);
    }
  }
};

}  // namespace

double stored_as(DType dtype, double value) {
  return dtype == DType::f32 ? static_cast<double>(static_cast<float>(value)) : round_to(dtype, value);
}

void Process::assign_all(const Step& step, const TileRef& fill) {
  if (step.targets.empty()) return;
  Evaluation evaluation(frame_, step.formula, fill);
  const std::vector<TileRef> values = right_sides(evaluation, step);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (step.targets[i].stored) {
      if (step.targets[i].once && group_ > 0) continue;
      store(evaluation, step, step.targets[i], values[i]);
    } else {
      assign(step.targets[i], values[i]);
    }
  }
}

/// One value a target, made only where the enclosing `if` statements hold.
std::vector<TileRef> Process::right_sides(Evaluation& evaluation, const Step& step) {
  bool complete = true;
  TileRef mask;
  if (mask_) {
    std::vector<int> axes;
    for (const Step::Target& target : step.targets) {
      const std::vector<int>& more = target.stored ? step.formula.nodes[static_cast<std::size_t>(target.place)].axes : target.dims;
      axes.insert(axes.end(), more.begin(), more.end());
    }
    mask = mask_for(axes, complete);
  }
  std::vector<TileRef> values;
  if (step.values.size() == step.targets.size()) {
    for (const int value : step.values) values.push_back(evaluation.value(value, mask));
  } else {
    values = evaluation.states(step.values[0], mask);
  }
  if (values.size() != step.targets.size()) {
    stop("`" + step.targets[0].name.text() + "` and its neighbours get " + std::to_string(values.size()) + " values", {});
  }
  return values;
}

void Process::check_cover(const Step::Target& target, const Tile& value, const std::vector<int>& axes) {
  for (const int axis : value.axes) {
    if (contains(axes, axis)) continue;
    const std::string name = frame_.axis(axis).name.text();
    stop("the value of `" + target.name.text() + "` varies with `" + name + "`, which is not on its left side", {target.name.text()});
  }
}

void Process::assign(const Step::Target& target, TileRef value) {
  check_cover(target, *value, target.dims);
  Binding& binding = frame_.binding(target.slot);
  if (mask_ && in_any(if_carries_, target.name)) {
    bool complete = true;
    const TileRef mask = mask_for(target.dims, complete);
    if (!complete) stop("`" + target.name.text() + "` is wider than the parts on which its `if` acts", {target.name.text()});
    if (!binding.tile) stop("`" + target.name.text() + "` has no value before the `if` that changes it", {target.name.text()});
    value = apply(Op::where, {mask, value, binding.tile}, frame_.budget());
  }
  binding = {value, target.dims, nullptr, nullptr};
  if (options_.observer) report_tile(target, *value);
}

// ---- masks of `if` ----

/// The mask over other axes: a part may stand for its axis. `complete` is false where a mask axis has no counterpart.
TileRef Process::mask_for(const std::vector<int>& axes, bool& complete) {
  TileRef mask = mask_;
  std::vector<int> kept;
  for (const int axis : mask_->axes) {
    const int whole = frame_.axis(axis).whole;
    if (contains(axes, axis)) {
      kept.push_back(axis);
    } else if (whole >= 0 && contains(axes, whole)) {
      mask = spread(mask, axis, whole);
      kept.push_back(whole);
    } else {
      complete = false;
    }
  }
  std::sort(kept.begin(), kept.end());
  return any_except(mask, kept, frame_.budget());
}

/// A tile over a part, as a tile over the whole axis.
TileRef Process::spread(const TileRef& mask, int part, int whole) {
  const std::int64_t stride = frame_.axis(part).stride, digits = frame_.axis(part).extent, extent = frame_.axis(whole).extent;
  std::vector<TileRef> rows;
  Data index(static_cast<std::size_t>(extent));
  for (std::int64_t i = 0; i < extent; ++i) index[static_cast<std::size_t>(i)] = static_cast<double>(i / stride % digits);
  const TileRef digit = make_tile(Kind::integer, {whole}, {extent}, std::move(index));
  TileRef result = scalar(Kind::boolean, 0);
  for (std::int64_t value = 0; value < digits; ++value) {
    const TileRef here = apply(Op::eq, {digit, scalar(Kind::integer, static_cast<double>(value))}, frame_.budget());
    const TileRef held = apply(Op::logical_and, {here, slice(mask, part, value, frame_.budget())}, frame_.budget());
    result = apply(Op::logical_or, {result, held}, frame_.budget());
  }
  return result;
}

// ---- stores ----

void Process::store(Evaluation& evaluation, const Step& step, const Step::Target& target, const TileRef& value) {
  Memory* memory = frame_.binding(target.slot).memory;
  if (memory == nullptr || memory->input != nullptr) {
    stop("`" + target.name.text() + "` is no place to store to", {target.name.text()});
  }
  const Node& node = step.formula.nodes[static_cast<std::size_t>(target.place)];
  if (node.subscripts.size() != memory->shape.size()) {
    stop("`" + target.name.text() + "` has " + std::to_string(memory->shape.size()) + " axes, but " +
             std::to_string(node.subscripts.size()) + " subscripts",
         {target.name.text()});
  }
  bool complete = true;
  const TileRef mask = mask_ ? mask_for(node.axes, complete) : scalar(Kind::boolean, 1);
  if (!complete) stop("the store to `" + target.name.text() + "` is wider than the parts on which its `if` acts", {target.name.text()});
  const Evaluation::Place to = evaluation.place(node, mask_ ? mask : nullptr);
  check_cover(target, *value, to.shape.axes);
  const std::int64_t size = count(to.shape.extents);
  frame_.budget().spend(2 * size);
  Storing storing{*memory, target.name, {}};
  storing.box.assign(memory->shape.size(), {std::int64_t{1} << 60U, 0});
  const std::optional<std::vector<std::int64_t>> first = to.first_element();
  if (size > 0 && first) {
    storing.rows(to, *first, *value, *mask);
  } else if (size > 0) {
    storing.each(to, size, *value, *mask);
  }
  if (options_.observer) report_store(target, *memory, storing.box);
}

// ---- events ----

void Process::report(Symbol name, std::vector<std::pair<std::int64_t, std::int64_t>> box, const Data& values) {
  Event event;
  event.tensor = name;
  event.box = std::move(box);
  event.trip = trips_;
  event.partial = in_any(loop_carries_, name);
  event.values = &values;
  options_.observer(event);
}

void Process::report_tile(const Step::Target& target, const Tile& value) {
  std::vector<std::pair<std::int64_t, std::int64_t>> box;
  Walk walk;
  std::vector<std::int64_t> strides;
  for (const int axis : target.dims) {
    const std::int64_t extent = frame_.axis(axis).extent;
    box.emplace_back(0, extent);
    walk.extents.push_back(extent);
    strides.push_back(strides_along(value, {axis})[0]);
  }
  walk.strides.push_back(strides);
  Data dense(static_cast<std::size_t>(count(walk.extents)));
  walk.rows([&](std::int64_t at, const std::int64_t* offsets) {
    for (std::int64_t i = 0; i < walk.length(); ++i) {
      dense[static_cast<std::size_t>(at + i)] = (*value.data)[static_cast<std::size_t>(offsets[0] + i * walk.step(0))];
    }
  });
  report(target.name, std::move(box), dense);
}

void Process::report_store(const Step::Target& target, const Memory& memory,
                           const std::vector<std::pair<std::int64_t, std::int64_t>>& box) {
  std::vector<std::int64_t> extents;
  for (const auto& [lo, hi] : box) extents.push_back(std::max<std::int64_t>(hi - lo, 0));
  const std::int64_t size = count(extents);
  if (size == 0) return;
  Data values(static_cast<std::size_t>(size));
  std::vector<std::int64_t> position(box.size(), 0);
  for (double& value : values) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < box.size(); ++d) at = at * memory.shape[d] + box[d].first + position[d];
    value = memory.own[static_cast<std::size_t>(at)];
    next_position(position, extents);
  }
  report(target.name, box, values);
}

}  // namespace fathom::interp::tiles
