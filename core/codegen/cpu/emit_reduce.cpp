// Reductions. Each reduce inside a statement becomes a nest of its own that leaves a temporary. Lanes run along a kept axis (every lane
// its own state) or along a reduced one (partial states, merged across lanes at the end; only for commutative reducers). States and
// reducers that are not commutative merge in index order. The tree depends on the text alone, so results are the same on every run.
#include <bit>

#include "codegen/cpu/emitter.hpp"

namespace fathom::cpu {
namespace {
constexpr std::int64_t chains_of_a_row = 4;
}

std::vector<NestAxis> KernelEmitter::reduced_axes(Expr reduce) {
  std::vector<NestAxis> result;
  for (const Bound& bound : bounds_of(reduce)) {
    const auto known = extents_.find(bound.index);
    NestAxis axis{bound.index, ops_.i64(0), nullptr, std::nullopt};
    if (bound.lo) {
      axis.lo = scalar_integer(bound.lo);
      axis.hi = scalar_integer(bound.hi);
      const auto lo = constant_of(axis.lo), hi = constant_of(axis.hi);
      if (lo == 0 && hi) axis.extent = std::max<std::int64_t>(*hi, 0);
    } else if (known != extents_.end()) {
      axis.extent = known->second;
      axis.hi = ops_.i64(known->second);
    } else {
      fail("The extent of the reduced axis '" + bound.index.text() + "' is not known.");
      axis.hi = ops_.i64(0);
    }
    result.push_back(axis);
  }
  return result;
}

Expr KernelEmitter::hoist_reductions(Expr e, const std::vector<Symbol>& axes, Expr otherwise) {
  if (e.is(Op::reduce)) {
    Reduction r;
    r.reducer = reducer_named(m_.reducers, e.name());
    if (r.reducer == nullptr) {
      fail("There is no reducer named '" + e.name().text() + "'.");
      return number(0);
    }
    r.states = e.node().result == "states"_sym;
    if (!r.states) r.result = e.node().result;
    r.otherwise = otherwise;
    r.reduced = reduced_axes(e);
    std::vector<Symbol> inner = axes;
    for (const NestAxis& axis : r.reduced) inner.push_back(axis.name);
    for (Expr value : values_of(e)) r.values.push_back(hoist_reductions(value, inner, otherwise));
    const std::set<Symbol> free = free_indices(e);
    std::vector<Symbol> kept;
    for (Symbol axis : axes)
      if (free.contains(axis)) kept.push_back(axis);
    r.kept = nest_axes(kept);
    kernel::Access temporary{Symbol("%" + std::to_string(temporaries_++)), {}};
    for (Symbol axis : kept) temporary.subscripts.push_back(index(axis));
    kinds_[temporary.name] = settled(kind_of(e, kinds_, m_));
    reads_[temporary.name] = 2;
    r.targets = {temporary};
    emit_reduction(std::move(r));
    return read(temporary.name, temporary.subscripts);
  }
  std::vector<Expr> args;
  bool changed = false;
  for (Expr arg : e.args()) {
    args.push_back(hoist_reductions(arg, axes, otherwise));
    changed = changed || args.back() != arg;
  }
  return changed ? with_args(e, std::move(args)) : e;
}

// ---- states ----

std::vector<Kind> KernelEmitter::state_kinds(const Reduction& r) const {
  std::vector<Kind> values;
  for (const Expr value : r.values) values.push_back(kind_of(value, kinds_, m_));
  std::vector<Kind> result = kernel::component_kinds(*r.reducer, values, r.states, m_.reducers);
  for (Kind& kind : result) kind = settled(kind);
  return result;
}

std::vector<Val> KernelEmitter::identity(const Reduction& r, int lanes) {
  std::vector<Val> result;
  const std::vector<Kind> kinds = state_kinds(r);
  for (std::size_t i = 0; i < kinds.size(); ++i)
    result.push_back(ops_.splat(ops_.convert(scalar(r.reducer->state[i].identity), kinds[i]), lanes));
  return result;
}

std::vector<Val> KernelEmitter::lift(const Reduction& r, Frame& frame) {
  std::vector<Val> values;
  for (Expr value : r.values) values.push_back(eval_or(value, r.otherwise, frame));
  if (r.states) return values;
  Frame scope;
  scope.lanes = frame.lanes;
  for (std::size_t i = 0; i < r.reducer->parameters.size() && i < values.size(); ++i) scope.symbols[r.reducer->parameters[i]] = values[i];
  std::vector<Val> result;
  for (const Component& part : r.reducer->state) result.push_back(eval(part.lift, scope));
  return result;
}

std::vector<Val> KernelEmitter::combine(const Reduction& r, const std::vector<Val>& left, const std::vector<Val>& right) {
  const std::vector<Kind> kinds = state_kinds(r);
  if (r.reducer->state.size() == 1)
    if (const auto operation = monoid_operation(*r.reducer)) {
      Val before = left[0], after = ops_.convert(right[0], kinds[0]);
      // The test for NaN is of the first operand: that of the new element does not wait for the state.
      if (*operation == Op::max || *operation == Op::min) std::swap(before, after);
      return {ops_.binary(*operation, before, after)};
    }
  Frame scope;
  for (std::size_t i = 0; i < left.size(); ++i) {
    scope.lanes = std::max({scope.lanes, left[i].lanes, right[i].lanes});
    scope.symbols[r.reducer->state[i].name] = left[i];
    scope.symbols[primed(r.reducer->state[i].name)] = ops_.convert(right[i], kinds[i]);
  }
  std::vector<Val> result;
  for (std::size_t i = 0; i < left.size(); ++i)
    result.push_back(ops_.splat(ops_.convert(eval(r.reducer->state[i].combine, scope), kinds[i]), left[i].lanes));
  return result;
}

// Lane l meets lane l + half: log2(lanes) combines.
std::vector<Val> KernelEmitter::across_lanes(const Reduction& r, std::vector<Val> state, int lanes) {
  for (int half = lanes / 2; half >= 1; half /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(i + half);
    }
    std::vector<Val> left, right;
    for (const Val& part : state) {
      const auto pick = [&](const std::vector<int>& which) {
        llvm::Value* v =
            half == 1 ? b_.CreateExtractElement(part.v, static_cast<std::uint64_t>(which[0])) : b_.CreateShuffleVector(part.v, which);
        return Val{v, part.kind, half};
      };
      left.push_back(pick(low));
      right.push_back(pick(high));
    }
    state = combine(r, left, right);
  }
  return state;
}

void KernelEmitter::finish_reduction(const Reduction& r, const std::vector<Val>& state, Frame& frame) {
  Frame scope = frame;
  scope.memo.clear();
  for (std::size_t i = 0; i < state.size(); ++i) scope.symbols[r.reducer->state[i].name] = state[i];
  const Val active = active_mask(frame);
  for (std::size_t i = 0; i < r.targets.size(); ++i) {
    Val value;
    if (r.states)
      value = i < state.size() ? state[i] : fail("More targets than the reducer '" + r.reducer->name.text() + "' has carriers.");
    else if (!r.result.empty()) {
      for (const ReducerResult& result : r.reducer->results)
        if (result.name == r.result) value = eval(result.value, scope);
      if (!value) fail("The reducer '" + r.reducer->name.text() + "' has no result '" + r.result.text() + "'.");
    } else {
      value = i < r.reducer->results.size() ? eval(r.reducer->results[i].value, scope)
                                            : fail("More targets than the reducer '" + r.reducer->name.text() + "' has results.");
    }
    const Place* place = find_place(r.targets[i]);
    if (place == nullptr || !error_.empty()) return;
    frame.active = conditional_.contains(r.targets[i].name) ? active : Val{};
    store(*place, subscripts_of(*place, r.targets[i].subscripts), frame, value);
    frame.active = {};
  }
}

// ---- nests ----

void KernelEmitter::emit_reduction(Reduction r) {
  flush();
  if (!error_.empty()) return;
  if (r.values.size() != (r.states ? r.reducer->state.size() : r.reducer->parameters.size())) {
    fail("'" + r.reducer->name.text() + "' takes " + std::to_string(r.states ? r.reducer->state.size() : r.reducer->parameters.size()) +
         " values, not " + std::to_string(r.values.size()) + ".");
    return;
  }
  define_targets(r.targets);
  if (!error_.empty()) return;
  const std::vector<kernel::Access> loads = accesses_in(r.values);
  std::vector<NestAxis> axes = r.kept;
  axes.insert(axes.end(), r.reduced.begin(), r.reduced.end());
  std::set<Symbol> allowed;
  for (const NestAxis& axis : r.kept) allowed.insert(axis.name);
  if (!r.states && r.reducer->commutative)
    for (const NestAxis& axis : r.reduced) allowed.insert(axis.name);
  const Symbol vector_axis = choose_vector_axis(loads, {}, axes, allowed);
  std::vector<kernel::Access> all = loads;
  all.insert(all.end(), r.targets.begin(), r.targets.end());
  llvm::Value* inside = guard(all, axes);
  if (inside == nullptr)
    reduce_elements(r, vector_axis, false);
  else
    branch(inside, [&] { reduce_elements(r, vector_axis, false); }, [&] { reduce_elements(r, vector_axis, true); });
}

/// Running states in stack cells, which LLVM turns into registers.
struct KernelEmitter::Accumulator {
  std::vector<Kind> kinds;
  int lanes = 1;
  bool along_lanes = false;         ///< lanes hold partial states of one result
  std::vector<llvm::Value*> cells;  ///< one a component
};

KernelEmitter::Accumulator KernelEmitter::start_accumulator(const Reduction& r, int lanes, bool along_lanes) {
  Accumulator result{state_kinds(r), lanes, along_lanes, {}};
  const std::vector<Val> unit = identity(r, lanes);
  llvm::BasicBlock& entry = b_.GetInsertBlock()->getParent()->getEntryBlock();
  for (std::size_t i = 0; i < unit.size(); ++i) {
    llvm::IRBuilder<> top(&entry, entry.begin());
    result.cells.push_back(top.CreateAlloca(ops_.type(result.kinds[i], lanes)));
    b_.CreateStore(unit[i].v, result.cells.back());
  }
  return result;
}

std::vector<Val> KernelEmitter::state_of(const Accumulator& a) {
  std::vector<Val> state;
  for (std::size_t i = 0; i < a.cells.size(); ++i)
    state.push_back({b_.CreateLoad(ops_.type(a.kinds[i], a.lanes), a.cells[i]), a.kinds[i], a.lanes});
  return state;
}

void KernelEmitter::accumulate(const Reduction& r, const Accumulator& a, Frame& element) {
  element.memo.clear();
  std::vector<Val> right = lift(r, element);
  for (Val& value : right) value = ops_.splat(value, a.lanes);
  const std::vector<Val> left = state_of(a), sum = combine(r, left, right);
  for (std::size_t i = 0; i < a.cells.size(); ++i)
    b_.CreateStore(a.along_lanes && element.tail ? ops_.select(element.tail, sum[i], left[i]).v : sum[i].v, a.cells[i]);
}

// Long rows of one carrier: several chains hide the latency of the combine. Chain c takes the blocks c, c + chains, …; they merge in order.
std::vector<Val> KernelEmitter::reduce_in_chains(const Reduction& r, const NestAxis& along, Frame& at, int lanes, std::int64_t chains) {
  std::vector<Accumulator> parts;
  for (std::int64_t c = 0; c < chains; ++c) parts.push_back(start_accumulator(r, lanes, true));
  std::vector<NestAxis> outer;
  for (const NestAxis& axis : r.reduced)
    if (axis.name != along.name) outer.push_back(axis);
  const std::int64_t whole = *along.extent / lanes * lanes;
  loop_axes(outer, Symbol(), at, [&](Frame& inner) {
    const auto block = [&](llvm::Value* first, Val tail, const Accumulator& part) {
      Frame element = inner;
      element.vector_axis = along.name;
      element.lanes = lanes;
      element.first = first;
      element.tail = tail;
      element.index[along.name] = ops_.iota(first, lanes);
      accumulate(r, part, element);
    };
    loop(ops_.i64(0), ops_.i64(whole), lanes * chains, [&](llvm::Value* first) {
      for (std::int64_t c = 0; c < chains; ++c) block(b_.CreateAdd(first, ops_.i64(c * lanes)), {}, parts[static_cast<std::size_t>(c)]);
    });
    if (whole < *along.extent) block(ops_.i64(whole), ops_.first_lanes(*along.extent - whole, lanes), parts[0]);
  });
  std::vector<Val> state = state_of(parts[0]);
  for (std::size_t c = 1; c < parts.size(); ++c) state = combine(r, state, state_of(parts[c]));
  return state;
}

void KernelEmitter::reduce_elements(const Reduction& r, Symbol vector_axis, bool checked) {
  std::vector<NestAxis> axes = r.kept;
  axes.insert(axes.end(), r.reduced.begin(), r.reduced.end());
  const auto along = std::find_if(r.reduced.begin(), r.reduced.end(), [&](const NestAxis& axis) { return axis.name == vector_axis; });
  const bool along_lanes = !vector_axis.empty() && along != r.reduced.end();
  Frame frame;
  frame.axes = axes;
  frame.checked = checked;
  loop_axes(r.kept, along_lanes ? Symbol() : vector_axis, frame, [&](Frame& at) {
    const int lanes = along_lanes ? lanes_for(*along->extent) : at.lanes;
    const std::int64_t blocks = along_lanes ? *along->extent / lanes : 0;
    std::vector<Val> state;
    if (blocks > 0 && blocks % chains_of_a_row == 0 && r.reducer->state.size() == 1) {
      state = reduce_in_chains(r, *along, at, lanes, chains_of_a_row);
    } else {
      const Accumulator one = start_accumulator(r, lanes, along_lanes);
      loop_axes(r.reduced, along_lanes ? vector_axis : Symbol(), at, [&](Frame& element) { accumulate(r, one, element); });
      state = state_of(one);
    }
    if (along_lanes) state = across_lanes(r, state, lanes);
    Frame result = at;
    result.memo.clear();
    finish_reduction(r, state, result);
  });
}

}  // namespace fathom::cpu
