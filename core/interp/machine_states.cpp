// States of reductions: identity, absorbing a tile, moving with the gauges, merging the parts of a split, reading the result.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "interp/machine.hpp"

namespace fathom::interp {
namespace {

constexpr std::int64_t part_limit = 1 << 20;

/// One carried sum as columns over the statement's axes.
std::size_t component_count(const Prepared& statement) {
  return statement.repair ? statement.repair->carried.size() : statement.reducer->state.size();
}

}  // namespace

Machine::State& Machine::state_of(const Prepared& statement, std::int64_t part) { return states_[{statement.name, part}]; }

Machine::Columns Machine::identity_of(Ev& evaluator, const Prepared& statement) {
  Columns columns;
  if (!statement.repair) {
    columns.components = identity<Single>(evaluator, *statement.reducer);
    return columns;
  }
  for (const math::Carried& carried : statement.repair->carried)
    columns.components.push_back(identity<Single>(evaluator, *carried.reducer).front());
  for (std::size_t k = 0; k < statement.repair->gauges.size(); ++k) {
    columns.gauges.push_back(evaluator.constant(Kind::single, 0, 0));
    columns.set.push_back(evaluator.constant(Kind::boolean, 0, 0));
  }
  return columns;
}

Machine::Columns Machine::load(Ev& evaluator, const Prepared& statement, State& state, const Box& box) {
  if (state.components.size() != component_count(statement)) return identity_of(evaluator, statement);
  Columns columns;
  for (const auto& tensor : state.components) columns.components.push_back(view<Single>(evaluator, tensor, box));
  for (const auto& tensor : state.gauges) columns.gauges.push_back(view<Single>(evaluator, tensor, box));
  for (const auto& tensor : state.set) columns.set.push_back(view<Single>(evaluator, tensor, box));
  return columns;
}

void Machine::save(Ev& evaluator, const Prepared& statement, State& state, const Box& box, const Columns& columns) {
  if (!keep_failure(evaluator, statement.name)) return;
  const auto keep = [&](std::vector<Tensor<double>>& tensors, const std::vector<Ref>& values) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      const Ref column = spread<Single>(evaluator, values[k], box.size());
      if (tensors.size() <= k) {
        Ev whole = this->evaluator();
        tensors.push_back(make_tensor<Single>(domain_, open_axes<Single>(whole, statement.axes, {}), column->kind, options_.poison));
      }
      write<Single>(evaluator, tensors[k], box, column);
    }
  };
  keep(state.components, columns.components);
  keep(state.gauges, columns.gauges);
  keep(state.set, columns.set);
}

bool Machine::start(const Prepared& statement) {
  const std::int64_t part = part_of(statement.name);
  if (part > part_limit) return fail({"A split has too many parts for the interpreter.", {statement.name.text()}, {}});
  Ev evaluator = this->evaluator();
  const Box box = open_axes<Single>(evaluator, statement.axes, limits_);
  const Columns columns = identity_of(evaluator, statement);
  save(evaluator, statement, state_of(statement, part), box, columns);
  return publish(evaluator, statement, box, result_of(evaluator, statement, columns), true);
}

/// Where the gauges stand now, by the producers' running values.
void Machine::stand(Ev& evaluator, const Prepared& statement, Columns& columns) {
  for (const math::Gauge& gauge : statement.repair->gauges) {
    Ref set;
    columns.gauges.push_back(gauge_value(evaluator, gauge.reference, &set));
    columns.set.push_back(set);
  }
}

Machine::Ref Machine::at_identity(Ev& evaluator, const Prepared& statement, const std::vector<Ref>& components) {
  // every carrier equals its identity: nothing was added yet, or nothing that counts
  const Symbol value("value");
  const Symbol neutral("neutral");
  Ref all = evaluator.constant(Kind::boolean, 1, 0);
  for (std::size_t k = 0; k < components.size(); ++k) {
    const Ref start = identity<Single>(evaluator, *statement.repair->carried[k].reducer).front();
    const Expr equal = binary(Op::logical_and, symbol(Symbol("all")), binary(Op::eq, symbol(value), symbol(neutral)));
    all = evaluator.evaluate_with(equal, {{Symbol("all"), all}, {value, components[k]}, {neutral, start}});
  }
  return all;
}

std::vector<Machine::Ref> Machine::moved(Ev& evaluator, const Prepared& statement, const Columns& from, const Columns& to) {
  const math::Repair& repair = *statement.repair;
  std::map<Symbol, Ref> bindings;
  for (std::size_t k = 0; k < repair.carried.size(); ++k) bindings[repair.carried[k].name] = from.components[k];
  for (std::size_t k = 0; k < repair.gauges.size(); ++k) {
    // an unset gauge has not been used by any term: it takes the new place without moving anything
    bindings[repair.gauges[k].name] = evaluator.select(from.set[k], from.gauges[k], to.gauges[k]);
    bindings[primed(repair.gauges[k].name)] = to.gauges[k];
  }
  const Ref untouched = at_identity(evaluator, statement, from.components);
  std::vector<Ref> result;
  for (std::size_t k = 0; k < repair.carried.size(); ++k) {
    const Ref after = evaluator.evaluate_with(repair.carried[k].move, bindings);
    result.push_back(evaluator.select(untouched, from.components[k], after));
  }
  return result;
}

Machine::Columns Machine::absorb(Ev& evaluator, const Prepared& statement, const Columns& before) {
  const std::vector<Bound> bounds = limited(statement.over);
  Columns after;
  if (!statement.repair) {
    const auto tile = fold<Single>(evaluator, bounds, *statement.reducer, statement.values);
    after.components = combine<Single>(evaluator, *statement.reducer, before.components, tile);
    return after;
  }
  stand(evaluator, statement, after);
  const std::vector<Ref> carriers = moved(evaluator, statement, before, after);
  for (std::size_t k = 0; k < carriers.size(); ++k) {
    const math::Carried& carried = statement.repair->carried[k];
    const auto tile = fold<Single>(evaluator, bounds, *carried.reducer, {carried.term});
    after.components.push_back(combine<Single>(evaluator, *carried.reducer, {carriers[k]}, tile).front());
  }
  return after;
}

Machine::Columns Machine::merge(Ev& evaluator, const Prepared& statement, const Columns& left, const Columns& right) {
  Columns after;
  if (!statement.repair) {
    after.components = combine<Single>(evaluator, *statement.reducer, left.components, right.components);
    return after;
  }
  stand(evaluator, statement, after);
  const std::vector<Ref> a = moved(evaluator, statement, left, after);
  const std::vector<Ref> b = moved(evaluator, statement, right, after);
  for (std::size_t k = 0; k < a.size(); ++k)
    after.components.push_back(combine<Single>(evaluator, *statement.repair->carried[k].reducer, {a[k]}, {b[k]}).front());
  return after;
}

Machine::Ref Machine::result_of(Ev& evaluator, const Prepared& statement, const Columns& columns) {
  if (!statement.repair) return project<Single>(evaluator, *statement.reducer, statement.result, columns.components);
  const math::Repair& repair = *statement.repair;
  std::map<Symbol, Ref> bindings;
  for (std::size_t k = 0; k < repair.carried.size(); ++k) bindings[repair.carried[k].name] = columns.components[k];
  for (std::size_t k = 0; k < repair.gauges.size(); ++k) {
    bindings[repair.gauges[k].name] = columns.gauges[k];
    bindings[primed(repair.gauges[k].name)] = columns.gauges[k];
  }
  const Ref value = evaluator.evaluate_with(repair.project, bindings);
  // an empty state projects to the identity whatever the producers are
  const auto neutral = project<Single>(evaluator, *statement.reducer, statement.result, identity<Single>(evaluator, *statement.reducer));
  return evaluator.select(at_identity(evaluator, statement, columns.components), neutral, value);
}

bool Machine::publish_state(const Prepared& statement, std::int64_t part, bool partial) {
  Ev evaluator = this->evaluator();
  const Box box = open_axes<Single>(evaluator, statement.axes, limits_);
  const Columns columns = load(evaluator, statement, state_of(statement, part), box);
  return publish(evaluator, statement, box, result_of(evaluator, statement, columns), partial);
}

bool Machine::merge_states(const loop::Combine& combine, std::int64_t left, std::int64_t right) {
  for (const Symbol name : combine.statements) {
    const Prepared& statement = *find(name);
    Ev evaluator = this->evaluator();
    const Box box = open_axes<Single>(evaluator, statement.axes, limits_);
    State& target = state_of(statement, left);
    const Columns a = load(evaluator, statement, target, box);
    const Columns b = load(evaluator, statement, state_of(statement, right), box);
    const Columns merged = merge(evaluator, statement, a, b);
    save(evaluator, statement, target, box, merged);
    if (!publish(evaluator, statement, box, result_of(evaluator, statement, merged), true)) return false;
  }
  return true;
}

/// Neighbours first, then neighbours of the merged: the tree fold, in index order.
bool Machine::combine_parts(const loop::Combine& combine) {
  const auto count = value_of_bound(combine.count);
  if (!count || *count < 0 || *count > part_limit)
    return fail({fmt::format("The combine over {} has no count that can be computed here.", combine.split.text()), {}, {}});
  for (const Symbol name : combine.statements) {
    const Prepared* statement = find(name);
    if (statement == nullptr || statement->value)
      return fail({fmt::format("{} is combined, but it is no reduction.", name.text()), {}, {}});
  }
  for (std::int64_t stride = 1; stride < *count; stride *= 2)
    for (std::int64_t left = 0; left + stride < *count; left += 2 * stride)
      if (!merge_states(combine, left, left + stride)) return false;
  for (const Symbol name : combine.statements)
    if (!publish_state(*find(name), 0, false)) return false;
  return true;
}

}  // namespace fathom::interp
