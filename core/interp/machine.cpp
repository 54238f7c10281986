#include "interp/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "interp/elaborate.hpp"

namespace fathom::interp {
namespace {

constexpr int depth_limit = 400;
constexpr std::int64_t small_tile = 3;  // of a repaired reduction that runs alone: several moves even on short rows

bool folds_over(const Prepared& statement, Symbol index) {
  return std::any_of(statement.over.begin(), statement.over.end(), [&](const Bound& bound) { return bound.index == index; });
}

/// Visits the names at the leaves under a node, in order.
template <class F>
bool each_leaf(const loop::NodeRef& ref, int depth, F f) {
  if (!ref || depth > depth_limit) return true;
  if (const auto* leaf = std::get_if<loop::Leaf>(ref.get())) return f(leaf->statement);
  if (const auto* inner = std::get_if<loop::Loop>(ref.get())) return each_leaf(inner->body, depth + 1, f);
  if (const auto* sequence = std::get_if<loop::Sequence>(ref.get()))
    for (const loop::NodeRef& item : sequence->items)
      if (!each_leaf(item, depth + 1, f)) return false;
  return true;
}

}  // namespace

Machine::Machine(const math::Program& program, DimValues dims, std::vector<Prepared> statements, Tensors<Single> tensors,
                 const RunOptions& options)
    : program_(program),
      dims_(std::move(dims)),
      statements_(std::move(statements)),
      tensors_(std::move(tensors)),
      options_(options),
      work_left_(options.work_limit) {}

const Prepared* Machine::find(Symbol name) const {
  for (const Prepared& statement : statements_)
    if (statement.name == name) return &statement;
  return nullptr;
}

bool Machine::fail(Refusal refusal) {
  if (!failure_) failure_ = std::move(refusal);
  return false;
}

bool Machine::keep_failure(const Ev& evaluator, Symbol statement) {
  if (!evaluator.failure()) return !failure_;
  Refusal refusal = *evaluator.failure();
  refusal.nodes.push_back(statement.text());
  return fail(std::move(refusal));
}

// ---- the tree ----

Result<void> Machine::run_tree(const loop::NodeRef& root) {
  find_splits(root, 0);
  if (!node(root, 0)) return tl::unexpected(*failure_);
  return {};
}

void Machine::find_splits(const loop::NodeRef& ref, int depth) {
  if (!ref || depth > depth_limit) return;
  if (const auto* combine = std::get_if<loop::Combine>(ref.get()))
    for (const Symbol name : combine->statements) split_of_[name] = combine->split;
  if (const auto* inner = std::get_if<loop::Loop>(ref.get())) find_splits(inner->body, depth + 1);
  if (const auto* sequence = std::get_if<loop::Sequence>(ref.get()))
    for (const loop::NodeRef& item : sequence->items) find_splits(item, depth + 1);
}

bool Machine::node(const loop::NodeRef& ref, int depth) {
  if (!ref) return fail({"The tree has an empty node.", {}, {}});
  if (depth > depth_limit) return fail({"The tree is nested too deeply.", {}, {}});
  if (const auto* inner = std::get_if<loop::Loop>(ref.get())) return loop(*inner, depth);
  if (const auto* one = std::get_if<loop::Leaf>(ref.get())) return leaf(one->statement);
  if (const auto* combine = std::get_if<loop::Combine>(ref.get())) return combine_parts(*combine);
  for (const loop::NodeRef& item : std::get<loop::Sequence>(*ref).items)
    if (!node(item, depth + 1)) return false;
  return true;
}

/// Of a bound: an index of a loop around stands for the first element of its trip; scalars and lists of whole numbers are read.
std::optional<std::int64_t> Machine::value_of_bound(Expr bound) {
  DimValues values = dims_;
  Substitution first;
  for (const auto& [name, limit] : limits_) {
    values[name] = limit.first;
    first[index(name)] = number(limit.first);
  }
  if (const auto value = evaluate_integer(bound, values)) return value;
  if (tensors_read(bound).empty()) return std::nullopt;
  Ev evaluator = this->evaluator();
  const Ref column = evaluator.as_kind(evaluator.evaluate(substitute(bound, first)), Kind::integer);
  if (evaluator.failure() || column->whole.size() != 1 || column->flag(0) != 0) return std::nullopt;
  return column->whole[0];
}

bool Machine::loop(const loop::Loop& loop, int depth) {
  const auto lo = value_of_bound(loop.lo);
  const auto hi = value_of_bound(loop.hi);
  const auto tile = value_of_bound(loop.tile);
  if (!lo || !hi || !tile || *tile < 1)
    return fail({fmt::format("The loop over {} has no bounds that can be computed here.", loop.index.text()), {loop.index.text()}, {}});
  if (!start_folds(loop.body, loop.index, depth)) return false;
  const std::int64_t trips = *hi <= *lo ? 0 : (*hi - *lo + *tile - 1) / *tile;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  if (loop.ranges.empty()) ranges.emplace_back(0, trips);
  for (const loop::TileRange& range : loop.ranges) {
    const auto first = value_of_bound(range.lo);
    const auto last = value_of_bound(range.hi);
    if (!first || !last)
      return fail({fmt::format("A tile range of the loop over {} cannot be computed here.", loop.index.text()), {loop.index.text()}, {}});
    ranges.emplace_back(std::max<std::int64_t>(*first, 0), std::min(*last, trips));
  }
  const std::int64_t together = trips_at_once(loop, *tile);
  for (const auto& [first, last] : ranges)
    for (std::int64_t number = first; number < last; number += together) {
      const std::int64_t begin = *lo + number * *tile, end = *lo + std::min(number + together, last) * *tile;
      if (!trip(loop, number, begin, std::min(end, *hi), depth)) return false;
    }
  return finish_folds(loop.body, loop.index, depth);
}

bool Machine::trip(const loop::Loop& loop, std::int64_t number, std::int64_t lo, std::int64_t hi, int depth) {
  if (--work_left_ < 0) return fail({"The interpreter's work limit is used up.", {}, "Use smaller dimensions, or a higher limit."});
  const Limits saved = limits_;
  limits_[loop.index] = {lo, hi};
  trips_.emplace_back(loop.index, number);
  const bool done = node(loop.body, depth + 1);
  trips_.pop_back();
  limits_ = saved;
  return done;
}

bool Machine::leaf(Symbol name) {
  const Prepared* statement = find(name);
  if (statement == nullptr) return fail({fmt::format("There is no statement named {}.", name.text()), {name.text()}, {}});
  return statement->value ? elementwise(*statement) : reduction(*statement);
}

bool Machine::start_folds(const loop::NodeRef& ref, Symbol index, int depth) {
  return each_leaf(ref, depth, [&](Symbol name) {
    const Prepared* statement = find(name);
    if (statement == nullptr || !folds_over(*statement, index) || is_folding(*statement)) return true;
    return start(*statement);
  });
}

bool Machine::finish_folds(const loop::NodeRef& ref, Symbol index, int depth) {
  return each_leaf(ref, depth, [&](Symbol name) {
    const Prepared* statement = find(name);
    if (statement == nullptr || !folds_over(*statement, index) || is_folding(*statement)) return true;
    return publish_state(*statement, part_of(name), split_of_.contains(name));
  });
}

/// A loop around folds over one of the reduction's indices.
bool Machine::is_folding(const Prepared& statement) const {
  return std::any_of(statement.over.begin(), statement.over.end(), [&](const Bound& bound) { return limits_.contains(bound.index); });
}

std::int64_t Machine::part_of(Symbol statement) const {
  const auto split = split_of_.find(statement);
  if (split == split_of_.end()) return 0;
  for (const auto& [index, number] : trips_)
    if (index == split->second) return number;
  return 0;
}

// ---- expressions ----

Machine::Ev Machine::evaluator() {
  Ev evaluator(
      domain_, program_, dims_,
      [this](Symbol name) {
        const auto found = tensors_.find(name);
        return found == tensors_.end() ? nullptr : &found->second;
      },
      work_left_);
  evaluator.set_meaning([this](Ev& inner, Expr expr) { return meaning(inner, expr); });
  return evaluator;
}

std::pair<const math::Gauge*, const Prepared*> Machine::find_gauge(Symbol name) const {
  for (const Prepared& statement : statements_) {
    if (!statement.repair) continue;
    for (const math::Gauge& gauge : statement.repair->gauges)
      if (gauge.name == name) return {&gauge, &statement};
  }
  return {nullptr, nullptr};
}

Machine::Ref Machine::meaning(Ev& evaluator, Expr expr) {
  const auto [gauge, owner] = find_gauge(expr.name());
  if (gauge == nullptr) return nullptr;
  Expr reference = gauge->reference;
  if (expr.is(Op::read) && !expr.args().empty()) {
    // subscripts follow the reference's own where it is one read, else its indices in the order of the owner's axes
    std::vector<Expr> places;
    if (reference.is(Op::read)) {
      places.assign(reference.args().begin(), reference.args().end());
    } else {
      for (const math::Axis& axis : owner->axes)
        if (free_indices(reference).contains(axis.index)) places.push_back(index(axis.index));
    }
    if (places.size() != expr.args().size())
      return evaluator.fail(
          fmt::format("The gauge {} is read with {} subscripts; it has {}.", expr.name().text(), expr.args().size(), places.size()));
    Substitution subscripts;
    for (std::size_t k = 0; k < places.size(); ++k) subscripts[places[k]] = expr.arg(k);
    reference = substitute(reference, subscripts);
  }
  return gauge_value(evaluator, reference, nullptr);
}

/// The value of an empty prefix, where the reference reads an extremum: there alone the gauge is unset. +inf and NaN in a row are no empty
/// prefix: they must arrive in the sums.
std::optional<double> Machine::unset_at(Expr reference) const {
  const Prepared* statement = reference.is(Op::read) ? find(reference.name()) : nullptr;
  if (statement == nullptr || !statement->reducer || statement->repair || statement->reducer->state.size() != 1) return std::nullopt;
  const Expr identity = statement->reducer->state.front().identity;
  if (identity.is(Op::infinity)) return std::numeric_limits<double>::infinity();
  const bool negative = is_minus_infinity(identity);
  return negative ? std::optional(-std::numeric_limits<double>::infinity()) : std::nullopt;
}

/// The reference; 0 where the gauge is unset (without an extremum: where the reference is not finite).
Machine::Ref Machine::gauge_value(Ev& evaluator, Expr reference, Ref* set) {
  const Ref raw = evaluator.evaluate(reference);
  const Ref value = evaluator.as_kind(raw, join(Ev::real_kind(*raw), Kind::single));
  auto stands = std::make_shared<Ev::Col>(*value);
  const std::optional<double> empty = unset_at(reference);
  auto is_set = std::make_shared<Ev::Col>();
  is_set->kind = Kind::boolean;
  is_set->axes = value->axes;
  is_set->resize(value->size());
  for (std::size_t i = 0; i < value->size(); ++i) {
    const bool stands_there = empty ? value->real[i] != *empty : std::isfinite(value->real[i]);
    is_set->whole[i] = stands_there ? 1 : 0;
    if (!stands_there) stands->real[i] = 0;
  }
  if (set != nullptr) *set = is_set;
  return stands;
}

std::vector<Bound> Machine::limited(const std::vector<Bound>& over) const {
  std::vector<Bound> bounds = over;
  for (Bound& bound : bounds) {
    const auto limit = limits_.find(bound.index);
    if (limit == limits_.end()) continue;
    const auto lo = evaluate_integer(bound.lo, dims_), hi = evaluate_integer(bound.hi, dims_);
    bound.lo = lo ? number(std::max(*lo, limit->second.first)) : binary(Op::max, bound.lo, number(limit->second.first));
    bound.hi = hi ? number(std::min(*hi, limit->second.second)) : binary(Op::min, bound.hi, number(limit->second.second));
  }
  return bounds;
}

// ---- statements ----

bool Machine::publish(Ev& evaluator, const Prepared& statement, const Box& box, const Ref& raw, bool partial) {
  Ref column = raw;
  if (statement.dtype != DType::real && !partial) column = evaluator.cast_to(statement.dtype, column);
  column = spread<Single>(evaluator, column, box.size());
  if (!keep_failure(evaluator, statement.name)) return false;
  auto found = tensors_.find(statement.name);
  if (found == tensors_.end()) {
    Ev whole = this->evaluator();
    const Box all = open_axes<Single>(whole, statement.axes, {});
    if (!keep_failure(whole, statement.name)) return false;
    const Kind kind = statement.dtype == DType::real ? column->kind : kind_of(statement.dtype);
    found = tensors_.emplace(statement.name, make_tensor<Single>(domain_, all, kind, options_.poison)).first;
  }
  write<Single>(evaluator, found->second, box, column);
  if (options_.observer && !quiet_) {
    std::vector<double> values;
    for (std::size_t i = 0; i < column->size(); ++i)
      values.push_back(is_discrete(column->kind) ? static_cast<double>(column->whole[i]) : column->real[i]);
    options_.observer({statement.name, box, trips_, partial, &values});
  }
  return keep_failure(evaluator, statement.name);
}

bool Machine::elementwise(const Prepared& statement) {
  Ev evaluator = this->evaluator();
  const Box box = open_axes<Single>(evaluator, statement.axes, limits_);
  return publish(evaluator, statement, box, evaluator.evaluate(statement.value), false);
}

bool Machine::reduction(const Prepared& statement) {
  if (statement.repair && !is_folding(statement)) return repaired_alone(statement);
  Ev evaluator = this->evaluator();
  const Box box = open_axes<Single>(evaluator, statement.axes, limits_);
  if (!is_folding(statement)) {
    const auto states = fold<Single>(evaluator, statement.over, *statement.reducer, statement.values);
    return publish(evaluator, statement, box, project<Single>(evaluator, *statement.reducer, statement.result, states), false);
  }
  State& state = state_of(statement, part_of(statement.name));
  const Columns after = absorb(evaluator, statement, load(evaluator, statement, state, box));
  save(evaluator, statement, state, box, after);
  return publish(evaluator, statement, box, result_of(evaluator, statement, after), true);
}

Result<Arrays> Machine::results() const {
  Arrays arrays;
  for (const math::Parameter& result : program_.results) {
    const auto found = tensors_.find(result.name);
    if (found == tensors_.end()) return refuse(fmt::format("Result `{}` is never computed.", result.name.text()), {result.name.text()});
    const Tensor<double>& tensor = found->second;
    Array array;
    array.dtype = result.dtype;
    array.shape = tensor.extent;
    const auto n = static_cast<std::size_t>(tensor.size());
    for (std::size_t i = 0; i < n; ++i) {
      if (!tensor.flags.empty() && (tensor.flags[i] & invalid) != 0)
        return refuse(fmt::format("`{}`{} needs an element outside a tensor, or one that was never written.", result.name.text(),
                                  place_text(tensor.extent, i)),
                      {result.name.text()});
      array.data.push_back(round_to(result.dtype, is_discrete(tensor.kind) ? static_cast<double>(tensor.whole[i]) : tensor.real[i]));
    }
    arrays.emplace(result.name, std::move(array));
  }
  return arrays;
}

// ---- Math programs ----

Result<void> Machine::run_math() {
  for (const Prepared& statement : statements_)
    if (!leaf(statement.name)) return tl::unexpected(*failure_);
  return {};
}

bool Machine::has_gauge(Expr expr) const {
  bool found = false;
  if (expr) visit(expr, [&](Expr e) { found = found || ((e.is(Op::symbol) || e.is(Op::read)) && find_gauge(e.name()).first != nullptr); });
  return found;
}

/// A repaired reduction outside any loop: a private fold over its first index with the producers that its gauges follow, all from the
/// start again. Their complete values come back afterwards.
bool Machine::repaired_alone(const Prepared& statement) {
  if (statement.over.empty())
    return fail({fmt::format("{} has a repair but no index to fold.", statement.name.text()), {statement.name.text()}, {}});
  const Symbol index = statement.over.front().index;
  std::set<Symbol> wanted = {statement.name};
  loop::Sequence body;
  std::vector<Symbol> order;
  for (std::size_t k = statements_.size(); k-- > 0;) {
    const Prepared& each = statements_[k];
    if (!wanted.contains(each.name)) continue;
    if (&each != &statement && !folds_over(each, index) && !has_gauge(each.value)) continue;
    order.push_back(each.name);
    const auto follow = [&](Expr e) {
      if (!e) return;
      visit(e, [&](Expr part) {
        if (part.is(Op::read)) wanted.insert(part.name());
        if (!part.is(Op::read) && !part.is(Op::symbol)) return;
        if (const math::Gauge* gauge = find_gauge(part.name()).first) wanted.merge(tensors_read(gauge->reference));
      });
    };
    follow(each.value);
    if (!each.repair) continue;
    for (const math::Gauge& gauge : each.repair->gauges) wanted.merge(tensors_read(gauge.reference));
    for (const math::Carried& carried : each.repair->carried) follow(carried.term);
    follow(each.repair->project);
  }
  std::reverse(order.begin(), order.end());
  for (const Symbol name : order) body.items.push_back(std::make_shared<const loop::Node>(loop::Leaf{name}));
  Tensors<Single> complete;
  for (const Symbol name : order)
    if (const auto found = tensors_.find(name); found != tensors_.end() && !(name == statement.name)) complete.insert(*found);

  Ev evaluator = this->evaluator();
  const Box box = open_axes<Single>(evaluator, {{index, statement.over.front().lo, statement.over.front().hi}}, limits_);
  if (!keep_failure(evaluator, statement.name)) return false;
  const loop::Loop tiles{index,
                         number(box[0].first),
                         number(box[0].second),
                         number(small_tile),
                         loop::Mark::fold,
                         {},
                         std::make_shared<const loop::Node>(std::move(body))};
  const bool was_quiet = std::exchange(quiet_, true);
  const bool done = loop(tiles, 0);
  quiet_ = was_quiet;
  for (auto& [name, tensor] : complete) tensors_[name] = std::move(tensor);
  return done && publish_state(statement, 0, false);
}

}  // namespace fathom::interp
