// Reductions: in the registers of a lane, then across lanes by shuffles, then across warps through shared memory. The tree follows from the
// order of the parts, never from arrival.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

Expr combined(Op op, Expr a, Expr b, Type type) {
  if ((op == Op::max || op == Op::min) && is_float(type)) return call_of(op == Op::max ? "maximum" : "minimum", {a, b});
  return make(op, {a, b});
}

std::vector<layout::Digit> of_parts(const layout::Layout& layout, HierarchyLevel level, const std::set<Symbol>& parts) {
  std::vector<layout::Digit> found;
  for (const layout::Digit& digit : layout.at(level))
    if (parts.count(digit.part) > 0) found.push_back(digit);
  return found;
}

}  // namespace

/// Every reduction in the expression becomes a value of its own in front of the statement.
Expr KernelLowering::without_reductions(Expr e) {
  if (e.is(Op::reduce)) return reduced(e, e.name().text());
  if (e.args().empty() || free_of_reductions(e)) return e;
  std::vector<Expr> args;
  for (const Expr arg : e.args()) args.push_back(without_reductions(arg));
  return with_args(e, args);
}

bool KernelLowering::free_of_reductions(Expr e) {
  bool found = false;
  visit(e, [&](Expr part) { found = found || part.is(Op::reduce); });
  return !found;
}

KernelLowering::Reduction KernelLowering::reduction_of(Expr e) {
  Reduction r;
  r.reducer = reducer_named(module_.reducers, e.name());
  if (!r.reducer) refused("there is no reducer `" + e.name().text() + "`", {e.name().text()});
  r.states = e.node().result == Symbol("states");
  r.values = values_of(e);
  for (const Bound& bound : bounds_of(e)) {
    for (const layout::Part& part : layouts_.parts_of(index(bound.index))) r.gone.insert(part.name);
  }
  for (Expr& value : r.values) value = without_reductions(value);
  for (const Expr value : r.values) {
    const auto one = layout::layout_of(value, layouts_);
    if (one && one->digits().size() >= r.layout.digits().size()) r.layout = *one;
  }
  if (r.layout.digits().empty()) r.layout = spread_layout(r);
  std::vector<Symbol> kept;
  for (const layout::Digit& digit : r.layout.digits())
    if (r.gone.count(digit.part) == 0) kept.push_back(digit.part);
  r.kept = r.layout.over(kept);
  std::vector<layout::Digit> inner;
  for (const layout::Digit& digit : r.layout.digits())
    if (digit.level == HierarchyLevel::registers && r.gone.count(digit.part) > 0) inner.push_back(digit);
  r.inner = layout::Layout(inner);
  std::int64_t wanted = 1, held = 1;
  for (const Symbol part : r.gone) wanted *= layouts_.parts.at(part)[0].extent;
  for (const layout::Digit& digit : r.layout.digits())
    if (r.gone.count(digit.part) > 0) held *= digit.extent;
  if (wanted != held)
    refused("`" + fathom::print(e) + "` reduces what no value in registers holds", {fathom::print(e)}, "load it into a value first");
  return r;
}

/// Of values that come from no register: their axes spread over the threads.
layout::Layout KernelLowering::spread_layout(const Reduction& r) const {
  std::set<Symbol> touched = r.gone;
  for (const Expr value : r.values)
    for (const Symbol name : free_indices(value))
      for (const layout::Part& part : layouts_.parts_of(index(name))) touched.insert(part.name);
  std::vector<std::vector<layout::Part>> axes;
  for (const kernel::TileAxis& axis : kernel_.axes) {
    std::vector<layout::Part> parts;
    for (const layout::Part& part : layouts_.parts_of(index(axis.name)))
      if (touched.count(part.name) > 0) parts.push_back(part);
    if (!parts.empty()) axes.push_back(parts);
  }
  return layout::spread(axes, layouts_.places);
}

/// A value without the reduced parts, under a name that stands for the reduction.
Expr KernelLowering::reduced(Expr e, const std::string& like) {
  if (folds(e)) return fold_of_one(e, like);
  const Reduction r = reduction_of(e);
  const auto op = monoid_operation(*r.reducer);
  if (!op || r.values.size() != 1)
    refused("`" + fathom::print(e) + "` gives one of several states: it needs a statement of its own", {fathom::print(e)});
  const Symbol name(e.name().text() + " " + std::to_string(++reductions_));
  Typed value = typed_at_zero(r.values[0]);
  const bool logical = *op == Op::logical_or || *op == Op::logical_and;
  const Type type = logical ? Type::boolean : join(value.type, value.type == Type::boolean ? Type::i32 : value.type);
  layouts_.of[name] = r.kept;
  const Tile to = r.kept.digits().empty() ? scalar_tile(name, like, type) : named_tile(name, like, r.kept, type);
  const Typed identity = element(r.reducer->state[0].identity, {});
  const std::vector<layout::Digit> lanes = of_parts(r.layout, HierarchyLevel::lane, r.gone),
                                   warps = of_parts(r.layout, HierarchyLevel::warp, r.gone);
  Element outer;
  outer.layout = r.layout;
  over_registers(r.kept, outer, [&](const Element& at) {
    const Expr place = place_in(to, at);
    if (r.inner.digits().empty()) {
      emit({Assign{place, converted(element(r.values[0], at), type).expr}});
    } else {
      emit({Assign{place, converted(identity, type).expr}});
      over_registers(r.inner, at, [&](const Element& here) {
        emit({Assign{place, combined(*op, place, converted(element(r.values[0], here), type).expr, type)}});
      });
    }
    std::int64_t together = 1;
    for (const layout::Digit& digit : lanes) together *= digit.extent;
    if (*op == Op::logical_or && together == layouts_.places.lanes) {
      emit({Assign{place, call_of("any_of_warp", {place})}});
      return;
    }
    for (const layout::Digit& digit : lanes) {
      over_lanes(digit, [&](Expr bit) {  // every lane exchanges, whatever its value is
        const Symbol other = names_.fresh("other");
        emit({Declare{{other, type, {}}, call_of("shuffle_xor", {place, bit})}});
        emit({Assign{place, combined(*op, place, symbol(other), type)}});
        names_.release(other);
      });
    }
  });
  if (!warps.empty()) {
    across_warps({to}, warps, [&](const std::vector<Expr>& own, const std::vector<Expr>& other) {
      emit({Assign{own[0], combined(*op, own[0], other[0], type)}});
    });
  }
  if (r.kept.digits().empty()) {
    scalars_[name] = {symbol(to.name), type};
    return symbol(name);
  }
  std::vector<Expr> subscripts;
  std::set<Symbol> listed;
  for (const layout::Digit& digit : r.kept.digits())
    if (listed.insert(digit.part).second) subscripts.push_back(index(digit.part));
  return read(name, subscripts);
}

void KernelLowering::reduce_states(const std::vector<kernel::Access>& targets, Expr e) {
  if (folds(e)) {
    const Fold f = fold_of(targets, e);
    fold(f, e, targets[0].name.text());
    for (std::size_t c = 0; c < f.to.size(); ++c)
      if (f.to[c].layout.digits().empty()) scalars_[targets[c].name] = {symbol(f.to[c].name), f.types[c]};
    return;
  }
  const Reduction r = reduction_of(e);
  const std::size_t count = r.reducer->state.size();
  std::vector<Expr> states;  // of one element
  for (std::size_t c = 0; c < count; ++c) {
    if (r.states) {
      states.push_back(r.values[c]);
    } else {
      Substitution parameters;
      for (std::size_t p = 0; p < r.values.size(); ++p) parameters[symbol(r.reducer->parameters[p])] = r.values[p];
      states.push_back(substitute(r.reducer->state[c].lift, parameters));
    }
  }
  std::vector<Type> types;
  std::vector<Tile> to;
  for (std::size_t c = 0; c < count; ++c) {
    const Type type = stored_type(targets[c].name, typed_at_zero(states[c]).type);
    types.push_back(type == Type::bf16 || type == Type::f16 ? Type::f32 : type);
    const std::vector<Symbol> parts = parts_of(targets[c].subscripts);
    const layout::Layout layout = r.kept.over(parts);
    layouts_.of[targets[c].name] = layout;
    to.push_back(layout.digits().empty() ? scalar_tile(targets[c].name, targets[c].name.text(), types[c])
                                         : tile(targets[c].name, layout, types[c]));
    if (layout != r.kept)
      refused("the states of `" + fathom::print(e) + "` have different axes, which has no form on this target yet", {fathom::print(e)});
  }
  const Symbol combine = combine_function(r.reducer, types);
  const auto merge = [&](const std::vector<Expr>& own, const std::vector<Expr>& other) {
    std::vector<Expr> args = own;
    args.insert(args.end(), other.begin(), other.end());
    emit({Do{call(combine, {}, args)}});
  };
  const std::vector<layout::Digit> lanes = of_parts(r.layout, HierarchyLevel::lane, r.gone),
                                   warps = of_parts(r.layout, HierarchyLevel::warp, r.gone);
  Element outer;
  outer.layout = r.layout;
  over_registers(r.kept, outer, [&](const Element& at) {
    std::vector<Expr> own;
    for (const Tile& tile : to) own.push_back(place_in(tile, at));
    const auto element_at = [&](std::size_t c, const Element& here) { return converted(element(states[c], here), types[c]).expr; };
    if (r.inner.digits().empty()) {
      for (std::size_t c = 0; c < count; ++c) emit({Assign{own[c], element_at(c, at)}});
    } else {
      for (std::size_t c = 0; c < count; ++c) emit({Assign{own[c], converted(element(r.reducer->state[c].identity, {}), types[c]).expr}});
      over_registers(r.inner, at, [&](const Element& here) {
        std::vector<Expr> one;
        for (std::size_t c = 0; c < count; ++c) one.push_back(element_at(c, here));
        merge(own, one);
      });
    }
    for (const layout::Digit& digit : lanes) over_lanes(digit, [&](Expr bit) { states_of_lanes(own, types, bit, merge); });
  });
  if (!warps.empty()) across_warps(to, warps, merge);
  for (std::size_t c = 0; c < count; ++c) {
    if (to[c].layout.digits().empty()) scalars_[targets[c].name] = {symbol(to[c].name), types[c]};
  }
}

/// One exchange for each bit of the lanes of a digit.
void KernelLowering::over_lanes(const layout::Digit& digit, const std::function<void(Expr bit)>& body) {
  if ((digit.extent & (digit.extent - 1)) != 0)
    refused("lanes in groups of " + std::to_string(digit.extent) + " cannot be reduced by exchanges of bits");
  Loop loop;
  loop.variable = names_.fresh("bit");
  loop.lo = number(digit.step);
  loop.hi = number(digit.step * digit.extent);
  loop.unrolled = loop.doubling = true;
  not_negative_.insert(loop.variable);
  loop.body = inside([&] { body(symbol(loop.variable)); });
  names_.release(loop.variable);
  emit({loop});
}

/// Merges with the lane whose number differs in one bit; the lower lane's state stands on the left in both.
void KernelLowering::states_of_lanes(const std::vector<Expr>& own, const std::vector<Type>& types, Expr bit, const Merge& merge) {
  std::vector<Symbol> made;
  const auto declare = [&](const std::string& like, Type type, Expr value) {
    made.push_back(names_.fresh(like));
    emit({Declare{{made.back(), type, {}}, value}});
    return symbol(made.back());
  };
  const Expr upper = declare("upper", Type::boolean,
                             binary(Op::ne, binary(Op::mod, binary(Op::floordiv, symbol(Symbol("lane")), bit), number(2)), number(0)));
  std::vector<Expr> left, right;
  for (std::size_t c = 0; c < own.size(); ++c) {
    const std::string name = own[c].name().text();
    const Expr other = declare("other_" + name, types[c], call_of("shuffle_xor", {own[c], bit}));
    left.push_back(declare("left_" + name, types[c], where(upper, other, own[c])));
    right.push_back(declare("right_" + name, types[c], where(upper, own[c], other)));
  }
  merge(left, right);
  for (std::size_t c = 0; c < own.size(); ++c) emit({Assign{own[c], left[c]}});
  for (const Symbol name : made) names_.release(name);
}

/// Every warp writes what it has, then each merges those of the warps that it differs from in the reduced parts, in their order.
void KernelLowering::across_warps(const std::vector<Tile>& tiles, const std::vector<layout::Digit>& digits, const Merge& merge) {
  const std::int64_t warps = layouts_.places.warps, lanes = layouts_.places.lanes;
  const layout::Layout& kept = tiles[0].layout;
  const bool whole_lanes = kept.at(HierarchyLevel::lane).empty();  // all lanes of a warp hold the same
  if (scratch_used_) wait_for_group();
  scratch_used_ = true;
  std::vector<Symbol> shared;
  for (const Tile& tile : tiles) {
    Variable variable;
    variable.name = names_.fresh(tile.name.text() + "_of_warps");
    variable.type = tile.type;
    variable.extents = {warps, kept.registers()};
    if (!whole_lanes) variable.extents.push_back(lanes);
    if (process_->groups > 1) variable.extents.insert(variable.extents.begin(), process_->groups);
    result_.shared.push_back(variable);
    shared.push_back(variable.name);
  }
  const auto place = [&](std::size_t t, Expr warp, Expr reg) {
    std::vector<Expr> places = {warp, reg};
    if (!whole_lanes) places.push_back(symbol(Symbol("lane")));
    if (process_->groups > 1) places.insert(places.begin(), symbol(Symbol("g")));
    return fathom::read(shared[t], places);
  };
  const auto register_number = [&](const Element& at) {
    std::vector<RegisterDigit> places;
    for (const layout::Digit& digit : kept.at(HierarchyLevel::registers)) {
      for (const RegisterDigit& own : at.registers.at(digit.part))
        if (own.stride == digit.stride && own.extent == digit.extent) places.push_back(own);
    }
    return register_index(places);
  };
  const Expr warp = symbol(Symbol("warp"));
  ThreadBlock writes = inside([&] {
    over_registers(kept, {}, [&](const Element& at) {
      for (std::size_t t = 0; t < tiles.size(); ++t) emit({Assign{place(t, warp, register_number(at)), place_in(tiles[t], at)}});
    });
  });
  if (whole_lanes) {
    emit({Branch{binary(Op::eq, symbol(Symbol("lane")), number(0)), std::move(writes), {}}});
  } else {
    for (ThreadStatement& s : writes) emit(std::move(s));
  }
  wait_for_group();
  std::int64_t count = 1;
  Expr base = warp;
  for (const layout::Digit& digit : digits) {
    count *= digit.extent;
    Expr own = digit.step > 1 ? binary(Op::floordiv, warp, number(digit.step)) : warp;
    if (digit.step * digit.extent < warps) own = binary(Op::mod, own, number(digit.extent));
    base = count == warps ? number(0) : base - own * number(digit.step);
  }
  const auto other_warp = [&](Expr i) {  // the i-th of them, in the order of the parts
    Expr sum = base;
    std::int64_t below = 1;
    for (std::size_t d = digits.size(); d-- > 0;) {
      Expr digit = below > 1 ? binary(Op::floordiv, i, number(below)) : i;
      if (below * digits[d].extent < count) digit = binary(Op::mod, digit, number(digits[d].extent));
      sum = sum + digit * number(digits[d].step);
      below *= digits[d].extent;
    }
    return simplify_integer(sum);
  };
  over_registers(kept, {}, [&](const Element& at) {
    std::vector<Expr> own;
    for (const Tile& tile : tiles) own.push_back(place_in(tile, at));
    for (std::size_t t = 0; t < tiles.size(); ++t) emit({Assign{own[t], place(t, other_warp(number(0)), register_number(at))}});
    Loop loop;
    loop.variable = names_.fresh("from");
    loop.lo = number(1);
    loop.hi = number(count);
    loop.unrolled = true;
    loop.body = inside([&] {
      std::vector<Expr> other;
      for (std::size_t t = 0; t < tiles.size(); ++t) other.push_back(place(t, other_warp(symbol(loop.variable)), register_number(at)));
      merge(own, other);
    });
    names_.release(loop.variable);
    emit({loop});
  });
}

/// One function a reducer and types: the left state becomes the merged one.
Symbol KernelLowering::combine_function(const ReducerRef& reducer, const std::vector<Type>& types) {
  std::string name = "merge_" + reducer->name.text();
  for (const ThreadFunction& known : into_.functions) {
    if (known.name.text() == name) return known.name;
  }
  ThreadFunction f;
  f.name = Symbol(name);
  f.comment = "The state of two parts of `" + reducer->name.text() + "`: the left one becomes that of both.";
  const std::map<Symbol, Typed> outer = scalars_;
  CNames own_names({});
  for (std::size_t c = 0; c < reducer->state.size(); ++c) {
    const Symbol left = own_names.of(reducer->state[c].name), right = own_names.of(primed(reducer->state[c].name));
    f.states.push_back({left, types[c], {}});
    f.others.push_back({right, types[c], {}});
    scalars_[reducer->state[c].name] = {symbol(left), types[c]};
    scalars_[primed(reducer->state[c].name)] = {symbol(right), types[c]};
  }
  f.body = inside([&] {
    std::vector<Symbol> merged;
    for (std::size_t c = 0; c < reducer->state.size(); ++c) {
      merged.push_back(own_names.fresh("merged_" + reducer->state[c].name.text()));
      emit({Declare{{merged[c], types[c], {}}, converted(element(reducer->state[c].combine, {}), types[c]).expr}});
    }
    for (std::size_t c = 0; c < merged.size(); ++c) emit({Assign{symbol(f.states[c].name), symbol(merged[c])}});
  });
  scalars_ = outer;
  into_.functions.push_back(f);
  return f.name;
}

Typed KernelLowering::typed_at_zero(Expr value) {
  Element nowhere;
  return element(value, nowhere);
}

Tile KernelLowering::scalar_tile(Symbol name, const std::string& like, Type type) {
  if (const auto known = scalars_.find(name); known != scalars_.end()) return {known->second.expr.name(), known->second.type, {}, false};
  const Symbol made = names_.fresh(like);
  emit({Declare{{made, type, {}}, {}}});
  return {made, type, {}, false};
}

Tile KernelLowering::named_tile(Symbol name, const std::string& like, const layout::Layout& layout, Type type) {
  Tile made{names_.fresh(like), type, layout, false};
  Variable variable{made.name, type, {}};
  if (layout.registers() > 1) variable.extents.push_back(layout.registers());
  emit({Declare{variable, {}}});
  tiles_[name] = made;
  return made;
}

}  // namespace fathom::gpu
