// Reductions whose states come one after the other: over the groups of a role, over a range of its own. The order is that of the indices.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

bool KernelLowering::folds(Expr e) {
  if (!e.is(Op::reduce)) return false;
  const std::vector<Bound> bounds = bounds_of(e);
  return kernel::reduces_over_groups(e) || std::any_of(bounds.begin(), bounds.end(), [](const Bound& b) { return bool(b.lo); });
}

Fold KernelLowering::fold_of(const std::vector<kernel::Access>& targets, Expr e) {
  Fold f;
  f.reducer = reducer_named(module_.reducers, e.name());
  if (!f.reducer) refused("there is no reducer `" + e.name().text() + "`", {e.name().text()});
  std::vector<Expr> given = values_of(e);
  for (Expr& value : given) value = without_reductions(value);
  const bool states = e.node().result == Symbol("states");
  std::map<Symbol, Typed> hidden = scalars_;
  for (const Bound& bound : bounds_of(e)) scalars_[bound.index] = {number(0), Type::i32};  // types do not depend on it
  for (std::size_t c = 0; c < f.reducer->state.size(); ++c) {
    if (states) {
      f.values.push_back(given[c]);
    } else {
      Substitution parameters;
      for (std::size_t p = 0; p < given.size(); ++p) parameters[symbol(f.reducer->parameters[p])] = given[p];
      f.values.push_back(substitute(f.reducer->state[c].lift, parameters));
    }
    const Type type = stored_type(targets[c].name, typed_at_zero(f.values[c]).type);
    f.types.push_back(type == Type::bf16 || type == Type::f16 ? Type::f32 : type);
  }
  scalars_ = std::move(hidden);
  for (std::size_t c = 0; c < f.values.size(); ++c) {
    layout::Layout layout = layouts_.of[targets[c].name];
    if (const auto own = layout::layout_of(f.values[c], layouts_)) layout = own->over(parts_of(targets[c].subscripts));
    layouts_.of[targets[c].name] = layout;
    f.to.push_back(layout.digits().empty() ? scalar_tile(targets[c].name, targets[c].name.text(), f.types[c])
                                           : tile(targets[c].name, layout, f.types[c]));
    if (layout.digits().size() > f.widest.digits().size()) f.widest = layout;
  }
  for (const Tile& to : f.to)
    if (!to.layout.agrees_with(f.widest))
      refused("the states of `" + fathom::print(e) + "` are held by different lanes (" + layout::print(to.layout) + " and " +
                  layout::print(f.widest) + "), which has no form on this target yet",
              {fathom::print(e)});
  keeps_axes_apart(f, *f.reducer, fathom::print(e));
  const Symbol combine = combine_function(f.reducer, f.types);
  f.merge = [this, combine](const std::vector<Expr>& own, const std::vector<Expr>& other) {
    std::vector<Expr> args = own;
    args.insert(args.end(), other.begin(), other.end());
    emit({Do{call(combine, {}, args)}});
  };
  return f;
}

/// A state of few axes is one for all elements of a state of more: it may not be made of them.
void KernelLowering::keeps_axes_apart(const Fold& f, const Reducer& reducer, const std::string& what) const {
  const auto parts = [&](std::size_t c) {
    std::set<Symbol> found;
    for (const layout::Digit& digit : f.to[c].layout.digits()) found.insert(digit.part);
    return found;
  };
  for (std::size_t c = 0; c < reducer.state.size(); ++c) {
    const std::set<Symbol> own = parts(c);
    for (std::size_t other = 0; other < reducer.state.size(); ++other) {
      const std::set<Symbol> its = parts(other);
      if (std::includes(own.begin(), own.end(), its.begin(), its.end())) continue;
      visit(reducer.state[c].combine, [&](Expr part) {
        const bool named = part.is(Op::symbol) || part.is(Op::read);
        if (named && (part.name() == reducer.state[other].name || part.name() == primed(reducer.state[other].name)))
          refused("the state `" + reducer.state[c].name.text() + "` of `" + what + "` has fewer axes than `" +
                      reducer.state[other].name.text() + "`, which it is made of",
                  {what});
      });
    }
  }
}

/// States of few axes are merged anew beside each element of the wider ones: each time with what stood there before.
void KernelLowering::fold_in(const Fold& f, const std::function<Expr(std::size_t state, const Element&)>& other) {
  std::vector<std::optional<Tile>> before(f.to.size());
  for (std::size_t c = 0; c < f.to.size(); ++c) {
    if (f.to[c].layout == f.widest) continue;
    const Tile& to = f.to[c];
    Tile kept{names_.fresh(to.name.text() + "_before"), to.type, to.layout, false};
    Variable variable{kept.name, kept.type, {}};
    if (is_array(kept)) variable.extents.push_back(to.layout.registers());
    emit({Declare{variable, {}}});
    over_registers(to.layout, {}, [&](const Element& at) { emit({Assign{place_in(kept, at), place_in(to, at)}}); });
    before[c] = kept;
  }
  over_registers(f.widest, {}, [&](const Element& at) {
    std::vector<Expr> own, others;
    std::vector<Symbol> made;
    for (std::size_t c = 0; c < f.to.size(); ++c) {
      others.push_back(other(c, at));
      if (!before[c]) {
        own.push_back(place_in(f.to[c], at));
        continue;
      }
      made.push_back(names_.fresh(f.to[c].name.text() + "_left"));
      emit({Declare{{made.back(), f.types[c], {}}, place_in(*before[c], at)}});
      own.push_back(symbol(made.back()));
    }
    f.merge(own, others);
    for (std::size_t c = 0; c < f.to.size(); ++c)
      if (before[c]) emit({Assign{place_in(f.to[c], at), own[c]}});
    for (const Symbol name : made) names_.release(name);
  });
  for (const std::optional<Tile>& kept : before)
    if (kept) names_.release(kept->name);
}

/// All states of one index are loaded before any is merged, so that the loads are on their way together.
void KernelLowering::fold_over_range(const Fold& f, const Bound& range) {
  for (std::size_t c = 0; c < f.to.size(); ++c) {
    const Expr identity = converted(element(f.reducer->state[c].identity, {}), f.types[c]).expr;
    over_registers(f.to[c].layout, {}, [&](const Element& at) { emit({Assign{place_in(f.to[c], at), identity}}); });
  }
  Loop loop;
  loop.variable = names_.fresh(range.index.text());
  loop.lo = element(range.lo, {}).expr;
  loop.hi = element(range.hi, {}).expr;
  if (not_negative(loop.lo)) not_negative_.insert(loop.variable);
  loop.body = inside([&] {
    scalars_[range.index] = {symbol(loop.variable), Type::i32};
    std::vector<Tile> one;
    for (std::size_t c = 0; c < f.to.size(); ++c) {
      Tile next{names_.fresh(f.to[c].name.text() + "_next"), f.types[c], f.to[c].layout, false};
      Variable variable{next.name, next.type, {}};
      if (is_array(next)) variable.extents.push_back(next.layout.registers());
      emit({Declare{variable, {}}});
      over_registers(next.layout, {},
                     [&](const Element& at) { emit({Assign{place_in(next, at), converted(element(f.values[c], at), f.types[c]).expr}}); });
      one.push_back(next);
    }
    fold_in(f, [&](std::size_t c, const Element& at) { return place_in(one[c], at); });
    for (const Tile& next : one) names_.release(next.name);
  });
  names_.release(loop.variable);
  emit({loop});
}

void KernelLowering::fold(const Fold& f, Expr e, const std::string& like) {
  const std::vector<Bound> bounds = bounds_of(e);
  if (bounds.size() != 1)
    refused("`" + fathom::print(e) + "` folds a range of its own or the groups and another index, which has no form on this target yet",
            {fathom::print(e)}, "reduce one after the other, each in a statement of its own");
  if (bounds[0].lo) return fold_over_range(f, bounds[0]);
  if (process_->groups > 1) return reduce_over_groups(f, like);
  for (std::size_t c = 0; c < f.to.size(); ++c) {  // of the only group
    over_registers(f.to[c].layout, {},
                   [&](const Element& at) { emit({Assign{place_in(f.to[c], at), converted(element(f.values[c], at), f.types[c]).expr}}); });
  }
}

/// A reduction with one operation, under a name that stands for it.
Expr KernelLowering::fold_of_one(Expr e, const std::string& like) {
  Fold f;
  f.reducer = reducer_named(module_.reducers, e.name());
  if (!f.reducer) refused("there is no reducer `" + e.name().text() + "`", {e.name().text()});
  const auto op = monoid_operation(*f.reducer);
  f.values = values_of(e);
  if (!op || f.values.size() != 1)
    refused("`" + fathom::print(e) + "` gives one of several states: it needs a statement of its own", {fathom::print(e)});
  f.values[0] = without_reductions(f.values[0]);
  std::set<Symbol> bound;
  for (const Bound& each : bounds_of(e)) bound.insert(each.index);
  const std::map<Symbol, Typed> outer = scalars_;
  for (const Symbol each : bound) scalars_[each] = {number(0), Type::i32};  // types do not depend on it
  const Typed value = typed_at_zero(f.values[0]);
  scalars_ = outer;
  const bool logical = *op == Op::logical_or || *op == Op::logical_and;
  f.types = {logical ? Type::boolean : join(value.type, value.type == Type::boolean ? Type::i32 : value.type)};
  const auto held = layout::layout_of(f.values[0], layouts_);
  const auto wanted = layouts_.of.find(Symbol(like));
  if (held) {
    f.widest = *held;
  } else if (wanted != layouts_.of.end()) {
    f.widest = wanted->second;
  } else {
    std::vector<std::vector<layout::Part>> axes;
    for (const Symbol name : free_indices(f.values[0]))
      if (bound.count(name) == 0 && !layouts_.parts_of(index(name)).empty()) axes.push_back(layouts_.parts_of(index(name)));
    if (!axes.empty()) f.widest = layout::spread(axes, layouts_.places);
  }
  const Symbol name(e.name().text() + " " + std::to_string(++reductions_));
  layouts_.of[name] = f.widest;
  f.to = {f.widest.digits().empty() ? scalar_tile(name, like, f.types[0]) : named_tile(name, like, f.widest, f.types[0])};
  f.merge = [this, &f, op](const std::vector<Expr>& own, const std::vector<Expr>& other) {
    const bool call_it = (*op == Op::max || *op == Op::min) && is_float(f.types[0]);
    emit({Assign{own[0], call_it ? call_of(*op == Op::max ? "maximum" : "minimum", {own[0], other[0]}) : make(*op, {own[0], other[0]})}});
  };
  fold(f, e, like);
  if (f.widest.digits().empty()) {
    scalars_[name] = {symbol(f.to[0].name), f.types[0]};
    return symbol(name);
  }
  std::vector<Expr> subscripts;
  std::set<Symbol> listed;
  for (const layout::Digit& digit : f.widest.digits())
    if (listed.insert(digit.part).second) subscripts.push_back(index(digit.part));
  return read(name, subscripts);
}

}  // namespace fathom::gpu
