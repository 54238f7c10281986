// Partial states of a split: each part stores its own, and a kernel behind merges them in the order of the parts, by the Reducer that
// fusion made: producers by their own combine, what is repaired after a move to the common gauge.
#include <fmt/format.h>

#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/tile_scope.hpp"

namespace fathom::passes {
namespace {

/// A Reducer of a module speaks of its carriers alone. One that needs more (a parameter, a length known at launch) is a loop instead.
bool is_closed(const Reducer& r) {
  bool closed = true;
  for (const Component& c : r.state) {
    for (const Expr e : {c.identity, c.combine}) {
      visit(e, [&](Expr node) { closed = closed && !node.is(Op::read) && !node.is(Op::index) && !node.is(Op::dim); });
    }
  }
  return closed;
}

Symbol part_workspace(const RunningState& state, std::size_t part) {
  const std::string& name = state.statement->name.text();
  if (state.parts.size() == 1) return Symbol(name + ".part");
  return Symbol(fmt::format("{}.{}.part", name, state.parts[part].component.text()));
}

}  // namespace

void TileEmitter::store_states(const RunningState& state) {
  const math::Statement& s = *state.statement;
  const loop::Combine& combine = *plan_.combine_of(s.name);
  reading_.push_back(&s);
  for (std::size_t k = 0; k < state.parts.size(); ++k) {
    kernel::Workspace space{part_workspace(state, k), kernel::storage_of(state.parts[k].kind), {lower_uniform(combine.count)}, false};
    kernel::Access target{space.name, {lower(index(combine.split))}};
    for (const math::Axis& axis : s.axes) {
      space.box.push_back(simplify_integer(fold_dims(axis.hi, fixed_)));
      target.subscripts.push_back(lower(index(axis.index)));
    }
    const math::Reduction& r = *s.reduction();
    if (!r.repair && r.reducer->state[k].dtype != DType::real) space.dtype = r.reducer->state[k].dtype;
    kernel::Value v;
    v.targets.push_back(std::move(target));
    v.values.push_back(tile_read(state.names[k], state.axes));
    append(kernel::Statement{std::move(v), std::nullopt, s.origins});
    out_.states.push_back(std::move(space));
  }
  reading_.pop_back();
}

void TileEmitter::emit_combine(const loop::Combine& combine) {
  std::vector<RunningState> states;
  for (const Symbol name : combine.statements) {
    const math::Statement* s = plan_.math().find(name);
    if (s == nullptr || s->reduction() == nullptr)
      return fail({fmt::format("{} is no reduction, so it has no states to merge.", name.text()), {name.text()}, ""});
    states.push_back(state_of(*s));
  }
  const ReducerRef reducer = merged_reducer(combine, states);
  const Symbol z = names_.fresh("z");
  kernel::Value v;
  std::vector<Expr> partials;
  for (const RunningState& state : states) {
    reading_.push_back(state.statement);
    for (std::size_t k = 0; k < state.parts.size(); ++k) {
      std::vector<Expr> subscripts{index(z)};
      for (const math::Axis& axis : state.statement->axes) subscripts.push_back(lower(index(axis.index)));
      partials.push_back(read(part_workspace(state, k), std::move(subscripts)));
      v.targets.push_back(access(state.names[k], state.axes));
    }
    reading_.pop_back();
  }
  v.values.push_back(reduce(reducer->name, "states"_sym, {{z, number(0), lower_uniform(combine.count)}}, partials));
  const Origins& origins = states.back().statement->origins;
  if (is_closed(*reducer)) {
    out_.reducers.push_back(reducer);
    append(kernel::Statement{std::move(v), std::nullopt, origins});
  } else {
    for (const kernel::Access& target : v.targets) depths_.emplace(target.name, scopes_.size() - 1);
    append(kernel::Statement{merging_loop(v, *reducer, names_, origins), std::nullopt, origins});
  }
  for (const RunningState& state : states) finish(state);
}

/// What a move names beside the states, as it stands where the parts are merged. A state that has no one value there cannot be named.
Expr TileEmitter::within_merge(Expr e, const math::Statement& s, const loop::Combine& combine) {
  reading_.push_back(&s);
  const Expr out = transform(fold_dims(e, fixed_), [&](Expr node) {
    if (!node.is(Op::read)) return node;
    if (std::find(combine.statements.begin(), combine.statements.end(), node.name()) != combine.statements.end()) {
      fail({fmt::format("{} is moved by {}, of which the parts have no one value.", s.name.text(), node.name().text()),
            {s.name.text(), node.name().text()},
            "Take the rolling fold."});
      return node;
    }
    return lower(node);
  });
  reading_.pop_back();
  return out;
}

/// The Reducer on states that fusion made: producers by their own combine, each repaired carrier moved from its own gauge to the common
/// one.
ReducerRef TileEmitter::merged_reducer(const loop::Combine& combine, const std::vector<RunningState>& states) {
  auto out = std::make_shared<Reducer>();
  out->name = names_.fresh(combine.statements.back().text() + ".merge");
  Substitution left, right, merged;  // reads of producers -> the state's left, right and merged component
  for (const RunningState& state : states) {
    const math::Reduction& r = *state.statement->reduction();
    Substitution own, own_right;  // gauges of both sides
    std::map<std::string, Expr> unset_side;
    Expr unset_left, unset_right;
    if (r.repair) {
      for (const math::Gauge& g : r.repair->gauges) {
        const auto at = [&](const Substitution& side) {
          return transform(g.reference, [&](Expr e) {
            if (!e.is(Op::read)) return e;
            const auto found = side.find(symbol(e.name()));
            return found == side.end() ? e : found->second;
          });
        };
        const auto settled = [&](const Substitution& side) {
          return where(unset_test(g.reference, at(side), plan_.math(), kinds_), number(0), at(side));
        };
        const Expr is_left = unset_test(g.reference, at(left), plan_.math(), kinds_);
        const Expr is_right = unset_test(g.reference, at(right), plan_.math(), kinds_);
        unset_left = unset_left ? binary(Op::logical_or, unset_left, is_left) : is_left;
        unset_right = unset_right ? binary(Op::logical_or, unset_right, is_right) : is_right;
        own[symbol(g.name)] = settled(left);
        own_right[symbol(g.name)] = settled(right);
        own[symbol(primed(g.name))] = own_right[symbol(primed(g.name))] = settled(merged);
      }
    }
    for (std::size_t k = 0; k < state.parts.size(); ++k) {
      const Part& part = state.parts[k];
      const Symbol name(state.parts.size() == 1 ? state.statement->name : Symbol(state.names[k]));
      const Expr a = symbol(name), b = symbol(primed(name));
      Expr moved_left = a, moved_right = b;
      if (part.move && unset_left) {
        own[symbol(part.component)] = a;
        own_right[symbol(part.component)] = b;
        const auto guard = [&](Expr unset_one, Expr carrier) {
          return binary(Op::logical_or, unset_one, binary(Op::eq, carrier, part.identity));
        };
        moved_left = where(guard(unset_left, a), a, fold_constants(substitute(part.move, own)));
        moved_right = where(guard(unset_right, b), b, fold_constants(substitute(part.move, own_right)));
      }
      Substitution operands{{symbol(part.component), moved_left}, {symbol(primed(part.component)), moved_right}};
      for (std::size_t other = 0; other < state.parts.size(); ++other) {
        if (other == k || part.move) continue;
        const Symbol other_name = state.names[other];
        operands[symbol(state.parts[other].component)] = symbol(other_name);
        operands[symbol(primed(state.parts[other].component))] = symbol(primed(other_name));
      }
      const Expr combined = within_merge(substitute(part.combine, operands), *state.statement, combine);
      out->state.push_back({name, DType::real, fold_dims(part.identity, fixed_), a, combined});
      out->parameters.push_back(name);
      out->results.push_back({name, a});
      if (state.parts.size() == 1) {
        left[symbol(state.statement->name)] = a;
        right[symbol(state.statement->name)] = b;
        merged[symbol(state.statement->name)] = combined;
      }
    }
    if (!r.reducer->commutative) out->commutative = false;
  }
  return out;
}

}  // namespace fathom::passes
