// Running states: what a fold carries, how its gauge moves and its carriers are repaired once a trip. The repair factor is a select
// (docs/algebra.md): while a gauge is unset the carrier stays as it is.
#include <fmt/format.h>

#include <algorithm>

#include "passes/tile_scope.hpp"

namespace fathom::passes {
namespace {

struct Monoid {
  Op operation;
  const char* reducer;
};
constexpr Monoid monoids[] = {{Op::add, "sum"}, {Op::mul, "prod"},        {Op::max, "max"},
                              {Op::min, "min"}, {Op::logical_and, "all"}, {Op::logical_or, "any"}};

/// combine = name (op) name', nothing else.
std::optional<Op> one_operation(Symbol name, Expr combine) {
  for (const Monoid& m : monoids) {
    if (!combine.is(m.operation)) continue;
    const Expr left = symbol(name), right = symbol(primed(name));
    if ((combine.arg(0) == left && combine.arg(1) == right) || (combine.arg(0) == right && combine.arg(1) == left)) return m.operation;
  }
  return std::nullopt;
}

Symbol reducer_name(Op op) {
  for (const Monoid& m : monoids) {
    if (m.operation == op) return Symbol(m.reducer);
  }
  return {};
}

Part part_of(const Component& c, Expr lift, kernel::Kind kind) {
  return {c.name, kernel::identity_in(kind, c.identity), c.combine, one_operation(c.name, c.combine), lift, Expr(), kind};
}

Expr result_value(const math::Reduction& r) {
  for (const ReducerResult& result : r.reducer->results) {
    if (r.result.empty() || result.name == r.result) return result.value;
  }
  return Expr();
}

/// acc * F, F * acc, acc + F: the part that all carriers with this factor share.
struct Factored {
  Op operation;
  Expr factor, neutral;
};
std::optional<Factored> factored(Expr move, Expr carrier) {
  for (const Op op : {Op::mul, Op::add}) {
    if (!move.is(op)) continue;
    for (std::size_t k = 0; k < 2; ++k) {
      if (move.arg(k) == carrier && !contains(move.arg(1 - k), carrier))
        return Factored{op, move.arg(1 - k), number(op == Op::mul ? 1 : 0)};
    }
  }
  return std::nullopt;
}

bool is_positive_literal(Expr e) {
  const std::optional<double> value = constant_value(e);
  return value && *value > 0;
}

/// Is the expression c * (g - g') with c > 0?
bool is_step_down(Expr e, Symbol gauge) {
  if (e.is(Op::mul)) {
    return (is_positive_literal(e.arg(0)) && is_step_down(e.arg(1), gauge)) ||
           (is_positive_literal(e.arg(1)) && is_step_down(e.arg(0), gauge));
  }
  if (e.is(Op::div)) return is_positive_literal(e.arg(1)) && is_step_down(e.arg(0), gauge);
  return e.is(Op::sub) && e.arg(0) == symbol(gauge) && e.arg(1) == symbol(primed(gauge));
}

bool is_maximum(const math::Program& program, Expr reference) {
  const math::Statement* s = reference.is(Op::read) ? program.find(reference.name()) : nullptr;
  return s != nullptr && s->reduction() != nullptr && !s->reduction()->repair && monoid_operation(*s->reduction()->reducer) == Op::max;
}

/// A factor in [0, 1]: 0 stays 0 under it, so no further test is needed.
bool is_tame(Expr factor, const math::Repair& repair, const math::Program& program) {
  if (!factor.is(Op::exp) && !factor.is(Op::exp2)) return false;
  return std::any_of(repair.gauges.begin(), repair.gauges.end(),
                     [&](const math::Gauge& g) { return is_step_down(factor.arg(0), g.name) && is_maximum(program, g.reference); });
}

}  // namespace

/// `reference` is not a reference yet: at the identity of the extremum that it reads, else not finite.
Expr unset_test(Expr unlowered, Expr lowered, const math::Program& program, const kernel::Kinds& kinds) {
  const math::Statement* s = unlowered.is(Op::read) ? program.find(unlowered.name()) : nullptr;
  const math::Reduction* r = s != nullptr ? s->reduction() : nullptr;
  if (r != nullptr && !r->repair && r->reducer->state.size() == 1) {
    const Expr identity = r->reducer->state[0].identity;
    if (is_infinite(identity)) return binary(Op::eq, lowered, kernel::identity_in(kinds.at(s->name), identity));
  }
  return unary(Op::logical_not, binary(Op::lt, unary(Op::abs, lowered), infinity()));
}

std::vector<Part> TileEmitter::parts_of(const math::Statement& s) const {
  const math::Reduction& r = *s.reduction();
  const std::vector<kernel::Kind> kinds = math::carried_kinds(r, kinds_, plan_.math().reducers);
  std::vector<Part> out;
  if (!r.repair) {
    Substitution arguments;
    for (std::size_t k = 0; k < r.reducer->parameters.size() && k < r.values.size(); ++k)
      arguments[symbol(r.reducer->parameters[k])] = r.values[k];
    for (const Component& c : r.reducer->state) out.push_back(part_of(c, substitute(c.lift, arguments), kinds[out.size()]));
    return out;
  }
  for (const math::Carried& c : r.repair->carried) {
    const bool whole = r.repair->carried.size() == 1 && r.values.size() == 1;
    Part part = part_of(c.reducer->state[0], whole ? r.values[0] : c.term, kinds[out.size()]);
    Substitution renamed{{symbol(part.component), symbol(c.name)}, {symbol(primed(part.component)), symbol(primed(c.name))}};
    part.combine = substitute(part.combine, renamed);
    part.component = c.name;
    part.move = c.move;
    out.push_back(part);
  }
  return out;
}

/// Does the carried value itself serve as the statement's value?
static bool is_plain(const math::Statement& s, const std::vector<Part>& parts, const TilePlan& plan, const kernel::Kinds& kinds) {
  const math::Reduction& r = *s.reduction();
  if (parts.size() != 1 || kernel::settled(parts[0].kind) != kinds.at(s.name)) return false;
  const bool narrow = math::is_narrower(s.dtype, kinds.at(s.name));
  const math::Parameter* result = plan.math().result(s.name);
  const bool narrow_result = result != nullptr && math::is_narrower(result->dtype, kinds.at(s.name));
  if (narrow || (narrow_result && plan.read_as_tile(s.name))) return false;
  return (r.repair ? r.repair->project : result_value(r)) == symbol(parts[0].component);
}

RunningState TileEmitter::state_of(const math::Statement& s) {
  RunningState state;
  state.statement = &s;
  state.parts = parts_of(s);
  reading_.push_back(&s);
  state.axes = axes_of(s);
  reading_.pop_back();
  if (is_plain(s, state.parts, plan_, kinds_)) {
    state.names.push_back(tile_name(s.name));
  } else {
    for (const Part& part : state.parts) {
      const bool own = part.component.text().rfind(s.name.text(), 0) == 0;
      state.names.push_back(
          names_.fresh(own && part.component != s.name ? part.component.text() : s.name.text() + "." + part.component.text()));
    }
  }
  for (const Symbol name : state.names) state.next.push_back(names_.fresh(primed(name).text()));
  return state;
}

/// Reductions below the loop that carry their state in it, in order.
std::vector<Symbol> TileEmitter::folded_below(const loop::Loop& l) const {
  std::vector<Symbol> all, out;
  leaves(l.body, all);
  for (const Symbol name : all) {
    const math::Statement* s = plan_.math().find(name);
    if (s != nullptr && carries(l, *s)) out.push_back(name);
  }
  return out;
}

std::vector<kernel::Carry> TileEmitter::start_states(const loop::Loop& l, std::vector<Symbol>& started) {
  std::vector<kernel::Carry> out;
  const std::vector<Symbol> folded = folded_below(l);
  for (const Symbol name : folded) {
    if (states_.count(name) > 0) continue;
    states_[name] = state_of(*plan_.math().find(name));
    started.push_back(name);
  }
  for (const Symbol name : folded) {
    const RunningState& state = states_.at(name);
    const bool fresh = std::find(started.begin(), started.end(), name) != started.end();
    for (std::size_t k = 0; k < state.names.size(); ++k) {
      const kernel::Access value = access(state.names[k], state.axes);
      out.push_back({value, fresh ? fold_dims(state.parts[k].identity, fixed_) : read(value.name, value.subscripts)});
      depths_.emplace(state.names[k], scopes_.size() - 1);
    }
  }
  start_gauges(folded, out, started);
  return out;
}

void TileEmitter::start_gauges(const std::vector<Symbol>& statements, std::vector<kernel::Carry>& carry, std::vector<Symbol>& started) {
  std::set<Symbol> seen;
  for (const Symbol statement : statements) {
    const math::Reduction& r = *plan_.math().find(statement)->reduction();
    if (!r.repair) continue;
    for (const math::Gauge& g : r.repair->gauges) {
      if (!seen.insert(g.name).second) continue;
      const bool fresh = std::find(started.begin(), started.end(), statement) != started.end();
      const std::set<Symbol> producers = tensors_read(g.reference);
      const bool moves = std::any_of(producers.begin(), producers.end(), [&](Symbol producer) { return states_.count(producer) > 0; });
      if (fresh ? !moves : gauges_.count(g.name) == 0) continue;  // what was complete before the loop stands still in it
      if (fresh) {
        RunningGauge running{g, names_.fresh(g.name.text()), Symbol(), {}, false};
        running.next = names_.fresh(primed(running.name).text());
        for (const Symbol producer : producers) {
          const auto state = states_.find(producer);
          if (state == states_.end()) continue;
          state->second.renewed = true;
          for (const Symbol axis : state->second.axes) {
            if (!axis.empty() && std::find(running.axes.begin(), running.axes.end(), axis) == running.axes.end())
              running.axes.push_back(axis);
          }
        }
        gauges_[g.name] = running;
      }
      const RunningGauge& running = gauges_.at(g.name);
      carry.push_back({access(running.name, running.axes), fresh ? number(0) : tile_read(running.name, running.axes)});
      depths_.emplace(running.name, scopes_.size() - 1);
    }
  }
}

/// What had to be kept beside its new value becomes the new value.
void TileEmitter::finish_trip() {
  kernel::Value v;
  for (const Renewal& one : scopes_.back().renewals) {
    v.targets.push_back(access(one.name, one.axes));
    v.values.push_back(tile_read(one.next, one.axes));
  }
  if (!v.targets.empty()) append(kernel::Statement{std::move(v), std::nullopt, {}});
  for (auto& [name, state] : states_) state.updated = false;
  for (auto& [name, gauge] : gauges_) gauge.updated = false;
}

void TileEmitter::finish_states(const std::vector<Symbol>& started) {
  std::vector<RunningState> finished;
  std::set<Symbol> gauges;
  for (const Symbol name : started) {
    const math::Reduction& r = *plan_.math().find(name)->reduction();
    if (r.repair) {
      for (const math::Gauge& g : r.repair->gauges) gauges.insert(g.name);
    }
    finished.push_back(std::move(states_.at(name)));
    states_.erase(name);
  }
  for (const RunningState& state : finished) {
    for (const Symbol name : state.names) depths_[name] = scopes_.size() - 1;
  }
  for (const RunningState& state : finished) finish(state);
  for (const Symbol name : gauges) gauges_.erase(name);
}

void TileEmitter::finish(const RunningState& state) {
  const math::Statement& s = *state.statement;
  const math::Reduction& r = *s.reduction();
  if (plan_.combine_of(s.name) != nullptr && plan_.place(s.name).nest == nest_) return store_states(state);
  reading_.push_back(&s);
  if (is_plain(s, state.parts, plan_, kinds_)) {
    scopes_.back().values[s.name] = {state.names[0], state.axes};
    if (plan_.in_memory(s.name)) store(s, tile_read(state.names[0], state.axes));
  } else {
    for (std::size_t k = 0; k < state.parts.size(); ++k) symbols_[state.parts[k].component] = tile_read(state.names[k], state.axes);
    define(s, fold_constants(lower(r.repair ? r.repair->project : result_value(r))));
    for (const Part& part : state.parts) symbols_.erase(part.component);
  }
  reading_.pop_back();
}

// ---- one reduction ----

void TileEmitter::emit_reduction(const math::Statement& s) {
  if (const auto running = states_.find(s.name); running != states_.end()) {
    emit_update(running->second);
  } else {
    emit_complete(s);
  }
}

std::vector<Bound> TileEmitter::reduced_axes(const math::Statement& s) {
  std::vector<Bound> out;
  for (const math::Axis& axis : s.reduction()->over) {
    if (const Symbol tile = binding(axis.index).axis; !tile.empty()) out.push_back({tile, Expr(), Expr()});
  }
  return out;
}

/// Several reductions may share a loop over the union of their ranges: each counts its own elements.
Expr TileEmitter::within_own_range(const math::Statement& s, const Part& part, Expr lifted) {
  Expr condition;
  const auto add = [&](Expr c) { condition = condition ? binary(Op::logical_and, condition, c) : c; };
  for (const math::Axis& axis : s.reduction()->over) {
    const IndexBinding bound = binding(axis.index);
    const Expr element = lower(index(axis.index));
    const Expr lo = simplify_integer(lower(axis.lo)), hi = simplify_integer(lower(axis.hi));
    if (difference(lo, bound.lo) != 0) add(binary(Op::ge, element, lo));
    if (difference(hi, bound.hi) != 0) add(binary(Op::lt, element, hi));
  }
  return condition ? where(condition, lifted, part.identity) : lifted;
}

Expr TileEmitter::partial(const math::Statement& s, const Part& part, Expr lifted) {
  const std::vector<Bound> bounds = reduced_axes(s);
  return bounds.empty() ? lifted : reduce(reducer_name(*part.operation), Symbol(), bounds, {lifted});
}

/// States of a tile by the reducer itself, where combine is more than one operation a component.
std::vector<Expr> TileEmitter::partial_states(const math::Statement& s, const std::vector<Part>& parts, const std::vector<Expr>& lifted,
                                              const std::vector<Symbol>& axes) {
  const std::vector<Bound> bounds = reduced_axes(s);
  if (bounds.empty()) return lifted;
  const math::Reduction& r = *s.reduction();
  const ReducerRef reducer = r.repair ? r.repair->carried[0].reducer : r.reducer;
  declare(reducer);
  kernel::Value v;
  std::vector<Expr> out;
  for (const Part& part : parts) {
    const Symbol name = names_.fresh(fmt::format("{}.{}.tile", s.name.text(), part.component.text()));
    v.targets.push_back(access(name, axes));
    out.push_back(tile_read(name, axes));
  }
  v.values.push_back(reduce(reducer->name, "states"_sym, bounds, lifted));
  append(kernel::Statement{std::move(v), std::nullopt, {}});
  return out;
}

void TileEmitter::declare(const ReducerRef& reducer) {
  if (builtin_reducer(reducer->name) != nullptr) return;
  for (const ReducerRef& known : out_.reducers) {
    if (known->name == reducer->name) return;
  }
  out_.reducers.push_back(reducer);
}

static bool all_simple(const std::vector<Part>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const Part& p) { return p.operation.has_value(); });
}

void TileEmitter::emit_complete(const math::Statement& s) {
  const std::vector<Part> parts = parts_of(s);
  std::vector<Expr> lifted;
  for (const Part& part : parts) lifted.push_back(within_own_range(s, part, fold_constants(lower(part.lift))));
  const std::vector<Symbol> axes = axes_of(s);
  std::vector<Expr> states;
  if (all_simple(parts)) {
    for (std::size_t k = 0; k < parts.size(); ++k) states.push_back(partial(s, parts[k], lifted[k]));
    if (is_plain(s, parts, plan_, kinds_)) return define(s, states[0]);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Symbol name = names_.fresh(s.name.text() + "." + parts[k].component.text());
      assign(name, axes, states[k]);
      states[k] = tile_read(name, axes);
    }
  } else {
    states = partial_states(s, parts, lifted, axes);
  }
  for (std::size_t k = 0; k < parts.size(); ++k) symbols_[parts[k].component] = states[k];
  const math::Reduction& r = *s.reduction();
  define(s, fold_constants(lower(r.repair ? r.repair->project : result_value(r))));
  for (const Part& part : parts) symbols_.erase(part.component);
}

void TileEmitter::emit_update(RunningState& state) {
  const math::Statement& s = *state.statement;
  std::vector<Expr> lifted;
  for (const Part& part : state.parts) lifted.push_back(within_own_range(s, part, fold_constants(lower(part.lift))));
  kernel::Value v;
  std::vector<Expr> carriers;
  for (std::size_t k = 0; k < state.parts.size(); ++k)
    carriers.push_back(moved(state, state.parts[k], tile_read(state.names[k], state.axes)));
  const std::vector<Symbol>& targets = state.renewed ? state.next : state.names;
  if (all_simple(state.parts)) {
    for (std::size_t k = 0; k < state.parts.size(); ++k) {
      v.values.push_back(make(*state.parts[k].operation, {carriers[k], partial(s, state.parts[k], lifted[k])}));
    }
  } else {
    const std::vector<Expr> tile = partial_states(s, state.parts, lifted, state.axes);
    Substitution operands;
    for (std::size_t k = 0; k < state.parts.size(); ++k) {
      operands[symbol(state.parts[k].component)] = carriers[k];
      operands[symbol(primed(state.parts[k].component))] = tile[k];
    }
    for (const Part& part : state.parts) v.values.push_back(substitute(fold_dims(part.combine, fixed_), operands));
  }
  for (const Symbol name : targets) v.targets.push_back(access(name, state.axes));
  append(kernel::Statement{std::move(v), std::nullopt, {}});
  state.updated = true;
  if (!state.renewed) return;
  for (std::size_t k = 0; k < state.names.size(); ++k) scopes_.back().renewals.push_back({state.names[k], state.next[k], state.axes});
}

// ---- gauges and repairs ----

Expr TileEmitter::unset(const math::Gauge& g, bool before) {
  const bool outer = before_;
  before_ = before;
  const Expr test = unset_test(g.reference, lower(g.reference), plan_.math(), kinds_);
  before_ = outer;
  return test;
}

Expr TileEmitter::unset(const math::Repair& repair, bool before) {
  Expr out;
  for (const math::Gauge& g : repair.gauges) {
    const Expr one = unset(g, before);
    out = out ? binary(Op::logical_or, out, one) : one;
  }
  return out ? out : boolean(false);
}

void TileEmitter::update_gauge(RunningGauge& running) {
  const bool outer = before_;
  before_ = false;
  const Expr value = where(unset(running.gauge, false), number(0), lower(running.gauge.reference));
  before_ = outer;
  running.updated = true;
  assign(running.next, running.axes, value);
  scopes_.back().renewals.push_back({running.name, running.next, running.axes});
}

/// The gauge as terms see it: after this trip's update while the loop runs, its final place afterwards.
Expr TileEmitter::gauge_value(Symbol name) {
  const auto found = gauges_.find(name);
  if (found == gauges_.end()) {
    const math::Gauge& g = *plan_.gauge(name);
    return where(unset(g, false), number(0), lower(g.reference));
  }
  RunningGauge& running = found->second;
  bool inside = false;
  for (const Symbol producer : tensors_read(running.gauge.reference)) inside = inside || states_.count(producer) > 0;
  if (!inside) return tile_read(running.name, running.axes);
  if (!running.updated) update_gauge(running);
  return tile_read(running.next, running.axes);
}

/// h of one carrier. A factor that carriers share is computed once a trip.
Expr TileEmitter::moved(const RunningState& state, const Part& part, Expr carrier) {
  const math::Reduction& r = *state.statement->reduction();
  if (!part.move || !r.repair || r.repair->gauges.empty()) return carrier;
  const math::Repair& repair = *r.repair;
  const Expr self = symbol(part.component);
  const std::optional<Factored> shared = factored(part.move, self);
  if (!shared) {
    for (std::size_t k = 0; k < state.parts.size(); ++k) symbols_[state.parts[k].component] = tile_read(state.names[k], state.axes);
    const Expr value = factor(part.move, carrier, repair);
    for (const Part& each : state.parts) symbols_.erase(each.component);
    return where(binary(Op::eq, carrier, part.identity), carrier, value);
  }
  const Expr f = factor(shared->factor, shared->neutral, repair);
  const Expr value = binary(shared->operation, carrier, f);
  if (shared->operation == Op::mul && is_tame(shared->factor, repair, plan_.math()) && constant_value(part.identity) == 0) return value;
  if (shared->operation == Op::add && is_infinite(part.identity)) return value;
  return where(binary(Op::eq, carrier, part.identity), carrier, value);
}

/// `neutral` while the old gauge is unset, else the factor between the old gauge and the new one; a tile of its own.
Expr TileEmitter::factor(Expr unlowered, Expr neutral, const math::Repair& repair) {
  for (const math::Gauge& g : repair.gauges) {
    const Expr now = gauge_value(g.name);
    const auto running = gauges_.find(g.name);
    symbols_[g.name] = running == gauges_.end() ? now : tile_read(running->second.name, running->second.axes);
    symbols_[primed(g.name)] = now;
  }
  const Expr value = where(unset(repair, true), neutral, fold_constants(lower(unlowered)));
  for (const math::Gauge& g : repair.gauges) {
    symbols_.erase(g.name);
    symbols_.erase(primed(g.name));
  }
  if (const auto known = scopes_.back().factors.find(value); known != scopes_.back().factors.end())
    return tile_read(known->second, tile_axes_in(value));
  const std::vector<Symbol> axes = tile_axes_in(value);
  const Symbol name = names_.fresh("f");
  assign(name, axes, value);
  scopes_.back().factors[value] = name;
  return tile_read(name, axes);
}

}  // namespace fathom::passes
