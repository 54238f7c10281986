// Demand-driven: a read evaluates its statement at that place, once a segment. See judge_arrays.hpp.
#include "algebra/judge_arrays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "algebra/judge_functions.hpp"
#include "ir/bit_cast.hpp"

namespace fathom::algebra {

using math::Axis;
using math::Reduction;
using math::Statement;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int most_depth = 1200;
constexpr double most_index = 1e6;
constexpr std::int64_t most_places = 65536;

double identity_of(const math::Carried& carried) {
  const Expr identity = carried.reducer->state.front().identity;
  if (identity.is(Op::boolean)) return identity.node().truth ? 1 : 0;
  if (identity.is(Op::number)) return identity.node().number.to_double();
  constexpr double inf = std::numeric_limits<double>::infinity();
  return identity.is(Op::infinity) ? inf : -inf;
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::optional<Form> form_of(const Fusion& fusion) {
  Form form;
  if (fusion.repair)
    form = {fusion.repair->gauges, fusion.repair->carried, fusion.repair->project};
  else if (!fusion.factored.empty())
    form = {{}, fusion.factored, fusion.project};
  else
    return std::nullopt;
  const bool scalars = std::all_of(form.carried.begin(), form.carried.end(),
                                   [](const math::Carried& c) { return c.reducer && monoid_operation(*c.reducer) && c.term && c.move; });
  return scalars && form.project ? std::optional(std::move(form)) : std::nullopt;
}

struct Trial::Frame {
  Memo* memo;  ///< of what is covered
  const Symbols* symbols = nullptr;
  std::vector<std::pair<Symbol, std::int64_t>> indices;
};

Trial::Trial(const ProgramView& view, const Statement& consumer, const std::set<Symbol>& running, const Inputs& inputs,
             Arithmetic arithmetic)
    : view_(&view), consumer_(&consumer), running_(running), inputs_(&inputs), arithmetic_(arithmetic), point_(consumer.axes.size(), 0) {
  for (const auto& [name, table] : inputs.tables) tables_.emplace_back(name, &table);
}

double Trial::rounded(double x) const { return arithmetic_ == Arithmetic::wide ? x : in_single_range(x); }

Trial::Frame Trial::frame(Segment covered, const Symbols& symbols) {
  Frame f{&memo_of(covered), &symbols, {}};
  for (std::size_t i = 0; i < consumer_->axes.size(); ++i) f.indices.emplace_back(consumer_->axes[i].index, point_[i]);
  return f;
}

void Trial::stand_at(std::vector<std::int64_t> point) { point_ = std::move(point); }

Segment Trial::whole() {
  const Symbols none;
  Frame f = frame({0, 0}, none);
  const Axis& axis = consumer_->reduction()->over.front();
  const double lo = evaluate(axis.lo, f);
  const double hi = evaluate(axis.hi, f);
  if (!(std::fabs(lo) < most_index) || !(std::fabs(hi) < most_index)) return {};
  return {static_cast<std::int64_t>(lo), std::max(static_cast<std::int64_t>(lo), static_cast<std::int64_t>(hi))};
}

Trial::Memo& Trial::memo_of(Segment covered) {
  for (auto memo = memos_.rbegin(); memo != memos_.rend(); ++memo)
    if ((*memo)->covered == covered) return **memo;
  return *memos_.emplace_back(std::make_unique<Memo>(Memo{covered, {}}));
}

std::optional<std::size_t> Trial::Tensor::place_of(std::span<const std::int64_t> at) const {
  if (places == 0) return std::nullopt;
  std::size_t place = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < ranges[i].begin || at[i] >= ranges[i].end) return std::nullopt;
    place = place * static_cast<std::size_t>(ranges[i].end - ranges[i].begin) + static_cast<std::size_t>(at[i] - ranges[i].begin);
  }
  return place;
}

const Table* Trial::table_named(Symbol name) const {
  for (const auto& [known, table] : tables_)
    if (known == name) return table;
  return nullptr;
}

std::size_t Trial::tensor_named(Symbol name) {
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].statement->name == name) return i;
  const Statement* statement = view_->program().find(name);
  if (statement == nullptr) return tensors_.size();
  Tensor tensor{statement, {}, 1};
  for (const Axis& axis : statement->axes) {
    const auto lo = evaluate_integer(axis.lo, inputs_->dims), hi = evaluate_integer(axis.hi, inputs_->dims);
    const bool is_small = lo && hi && *hi > *lo && *hi - *lo <= most_places;
    tensor.ranges.push_back(is_small ? Segment{*lo, *hi} : Segment{});
    tensor.places *= is_small ? static_cast<std::size_t>(*hi - *lo) : 0;
    if (tensor.places > most_places) tensor.places = 0;
  }
  tensors_.push_back(std::move(tensor));
  return tensors_.size() - 1;
}

double Trial::read_value(Expr e, Frame& f) {
  std::array<std::int64_t, 8> few;
  std::vector<std::int64_t> many(e.args().size() > few.size() ? e.args().size() : 0);
  const std::span<std::int64_t> at(many.empty() ? few.data() : many.data(), e.args().size());
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double k = evaluate(e.arg(i), f);
    if (!(std::fabs(k) < most_index)) return nan;
    at[i] = static_cast<std::int64_t>(k);
  }
  if (const Table* table = table_named(e.name())) {
    std::int64_t place = 0;
    if (at.size() != table->shape.size()) return nan;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] < 0 || at[i] >= table->shape[i]) return nan;
      place = place * table->shape[i] + at[i];
    }
    return table->data[static_cast<std::size_t>(place)];
  }
  const std::size_t which = tensor_named(e.name());
  if (which == tensors_.size() || tensors_[which].statement->axes.size() != at.size()) return nan;
  const Statement* statement = tensors_[which].statement;
  const std::optional<std::size_t> place = tensors_[which].place_of(at);
  if (f.memo->values.size() <= which) f.memo->values.resize(which + 1);
  std::vector<std::optional<double>>& known = f.memo->values[which];
  if (known.empty()) known.resize(tensors_[which].places);
  if (place && known[*place]) return *known[*place];
  const Symbols none;
  Frame inner{f.memo, &none, {}};
  inner.indices.reserve(at.size() + 2);
  for (std::size_t i = 0; i < at.size(); ++i) inner.indices.emplace_back(statement->axes[i].index, at[i]);
  const double value = statement->map() != nullptr
                           ? evaluate(statement->map()->value, inner)
                           : reduced(folding(*statement->reduction()), inner, running_.count(e.name()) != 0, f.memo->covered);
  if (place) f.memo->values[which][*place] = value;  // looked up anew: evaluating may have added tensors
  return value;
}

double Trial::evaluate(Expr e, Frame& f) {
  if (!e || ++work_ > most_work || depth_ > most_depth) return nan;
  switch (e.op()) {
    case Op::number:
      return e.node().inexact != 0 ? e.node().inexact : e.node().number.to_double();
    case Op::infinity:
      return std::numeric_limits<double>::infinity();
    case Op::boolean:
      return e.node().truth ? 1 : 0;
    case Op::index:
      for (auto at = f.indices.rbegin(); at != f.indices.rend(); ++at)
        if (at->first == e.name()) return static_cast<double>(at->second);
      return nan;
    case Op::dim: {
      const auto found = inputs_->dims.find(e.name());
      return found == inputs_->dims.end() ? nan : static_cast<double>(found->second);
    }
    case Op::symbol:
      for (const auto& [name, value] : *f.symbols)
        if (name == e.name()) return value;
      return nan;
    default:
      break;
  }
  ++depth_;
  double result = nan;
  if (e.is(Op::read)) {
    result = read_value(e, f);
  } else if (e.is(Op::where)) {
    const double condition = evaluate(e.arg(0), f);
    if (!std::isnan(condition)) result = evaluate(e.arg(condition != 0 ? 1 : 2), f);
  } else if (e.is(Op::cast)) {
    result = evaluate(e.arg(0), f);
    if (is_integer(e.node().dtype)) result = result < 0 ? -std::floor(-result) : std::floor(result);
  } else if (e.is(Op::random)) {
    std::uint64_t bits = 0;
    for (Expr arg : e.args()) bits = hash_combine(bits, bit_cast<std::uint64_t>(evaluate(arg, f) + 0.0));
    result = static_cast<double>(bits >> 40U) * 0x1p-24;
  } else if (kind(e.op()) != OpKind::special && e.args().size() <= 2) {
    double args[2] = {nan, nan};
    for (std::size_t i = 0; i < e.args().size(); ++i) args[i] = evaluate(e.arg(i), f);
    result = rounded(value_of(e.op(), {args, e.args().size()}));
  }
  --depth_;
  return result;
}

namespace {

/// Calls f at every point of the axes; the first one only within `tile` where that is given.
template <class Eval, class F>
void for_each(const std::vector<Axis>& axes, std::size_t from, const Segment* tile, std::vector<std::pair<Symbol, std::int64_t>>& indices,
              const Eval& eval, const F& f) {
  if (from == axes.size()) return f();
  const double lo = eval(axes[from].lo);
  const double hi = eval(axes[from].hi);
  if (!(std::fabs(lo) < most_index) || !(std::fabs(hi) < most_index)) return;
  auto begin = static_cast<std::int64_t>(lo);
  auto end = static_cast<std::int64_t>(hi);
  if (from == 0 && tile != nullptr) {
    begin = std::max(begin, tile->begin);
    end = std::min(end, tile->end);
  }
  for (std::int64_t i = begin; i < end; ++i) {
    indices.emplace_back(axes[from].index, i);
    for_each(axes, from + 1, tile, indices, eval, f);
    indices.pop_back();
  }
}

}  // namespace

const Trial::Operation& Trial::operation_of(const Reducer& reducer) {
  for (const Operation& known : operations_)
    if (known.reducer == &reducer) return known;
  const bool gives_state = reducer.results.size() == 1 && reducer.results.front().value == symbol(reducer.state.front().name);
  return operations_.emplace_back(Operation{&reducer, monoid_operation(reducer), gives_state});
}

Trial::Folding Trial::folding(const Reduction& reduction) {
  return {&reduction.over, reduction.reducer.get(), reduction.result, reduction.values};
}

double Trial::reduced(const Folding& folding, Frame& f, bool restricted, Segment tile) {
  const Reducer& reducer = *folding.reducer;
  const Symbols none;
  Frame inside{f.memo, &none, {}};
  const Operation operation = operation_of(reducer);
  const auto eval = [&](Expr e) { return evaluate(e, f); };
  const auto each_point = [&](const auto& f_of_point) {
    for_each(*folding.over, 0, restricted ? &tile : nullptr, f.indices, eval, [&] {
      if (work_ <= most_work) f_of_point();
    });
  };
  if (operation.op && operation.gives_state && folding.values.size() == 1) {
    double sum = evaluate(reducer.state.front().identity, inside);
    each_point([&] {
      const double both[2] = {sum, evaluate(folding.values[0], f)};
      sum = rounded(value_of(*operation.op, both));
    });
    return sum;
  }
  std::vector<double> state;
  for (const Component& component : reducer.state) state.push_back(evaluate(component.identity, inside));
  each_point([&] {
    Symbols names;
    for (std::size_t i = 0; i < folding.values.size() && i < reducer.parameters.size(); ++i)
      names.emplace_back(reducer.parameters[i], evaluate(folding.values[i], f));
    Symbols sides;
    Frame lift{f.memo, &names, {}};
    for (std::size_t i = 0; i < reducer.state.size(); ++i) {
      sides.emplace_back(reducer.state[i].name, state[i]);
      sides.emplace_back(primed(reducer.state[i].name), evaluate(reducer.state[i].lift, lift));
    }
    Frame combine{f.memo, &sides, {}};
    for (std::size_t i = 0; i < reducer.state.size(); ++i) state[i] = evaluate(reducer.state[i].combine, combine);
  });
  Symbols components;
  for (std::size_t i = 0; i < reducer.state.size(); ++i) components.emplace_back(reducer.state[i].name, state[i]);
  Frame at_end{f.memo, &components, {}};
  for (const ReducerResult& result : reducer.results)
    if (folding.result.empty() || result.name == folding.result) return evaluate(result.value, at_end);
  return nan;
}

double Trial::text_of(Segment tile, Segment covered) {
  const Symbols none;
  Frame f = frame(covered, none);
  return reduced(folding(*consumer_->reduction()), f, true, tile);
}

double Trial::text(Segment covered) { return text_of(covered, covered); }

double Trial::value(Expr e, Segment covered, const Symbols& symbols) {
  Frame f = frame(covered, symbols);
  return evaluate(e, f);
}

void Trial::set_gauges(const Form& form, Riding& riding) {
  riding.set = true;
  riding.gauges.clear();
  for (const math::Gauge& gauge : form.gauges) {
    const double reference = value(gauge.reference, riding.covered, {});
    riding.set = riding.set && std::isfinite(reference);
    riding.gauges.push_back(std::isfinite(reference) ? reference : 0);
  }
}

std::vector<double> Trial::moved(const Form& form, const Riding& from, const Riding& to) {
  Symbols symbols;
  for (std::size_t i = 0; i < form.gauges.size(); ++i) {
    symbols.emplace_back(form.gauges[i].name, from.gauges[i]);
    symbols.emplace_back(primed(form.gauges[i].name), to.gauges[i]);
  }
  for (const auto& [name, read] : named_) {
    symbols.emplace_back(name, value(read, from.covered, {}));
    symbols.emplace_back(primed(name), value(read, to.covered, {}));
  }
  for (std::size_t i = 0; i < form.carried.size(); ++i) symbols.emplace_back(form.carried[i].name, from.carried[i]);
  std::vector<double> result = from.carried;
  for (std::size_t i = 0; i < form.carried.size(); ++i)
    if (from.set && !is_same(from.carried[i], identity_of(form.carried[i]))) result[i] = value(form.carried[i].move, to.covered, symbols);
  return result;
}

Riding Trial::nothing(const Form& form, std::int64_t at) {
  Riding empty{{at, at}, false, std::vector<double>(form.gauges.size(), 0), {}};
  for (const math::Carried& carried : form.carried) empty.carried.push_back(identity_of(carried));
  return empty;
}

Riding Trial::standing(const Form& form, Segment covered) {
  Riding riding = nothing(form, covered.begin);
  riding.covered = covered;
  set_gauges(form, riding);
  return riding;
}

double Trial::contribution(const Form& form, const Riding& about, Segment tile) {
  Symbols symbols;
  for (std::size_t i = 0; i < form.gauges.size(); ++i) symbols.emplace_back(form.gauges[i].name, about.gauges[i]);
  Frame f = frame(about.covered, symbols);
  const math::Carried& carried = form.carried.front();
  return reduced({&consumer_->reduction()->over, carried.reducer.get(), {}, {&carried.term, 1}}, f, true, tile);
}

Riding Trial::grown(const Form& form, const Riding& from, Segment tile) {
  Riding next = nothing(form, from.covered.begin);
  next.covered.end = tile.end;
  set_gauges(form, next);
  if (from.covered.begin != from.covered.end) next.carried = moved(form, from, next);
  Symbols symbols;
  for (std::size_t i = 0; i < form.gauges.size(); ++i) symbols.emplace_back(form.gauges[i].name, next.gauges[i]);
  Frame f = frame(next.covered, symbols);
  for (std::size_t i = 0; i < form.carried.size(); ++i) {
    const math::Carried& carried = form.carried[i];
    const Folding of_tile{&consumer_->reduction()->over, carried.reducer.get(), {}, {&carried.term, 1}};
    const double both[2] = {next.carried[i], reduced(of_tile, f, true, tile)};
    next.carried[i] = rounded(value_of(*operation_of(*carried.reducer).op, both));
  }
  return next;
}

Riding Trial::merged(const Form& form, const Riding& left, const Riding& right) {
  Riding both = nothing(form, left.covered.begin);
  both.covered.end = right.covered.end;
  set_gauges(form, both);
  const std::vector<double> a = moved(form, left, both);
  const std::vector<double> b = moved(form, right, both);
  for (std::size_t i = 0; i < form.carried.size(); ++i) {
    const double sides[2] = {a[i], b[i]};
    both.carried[i] = rounded(value_of(*operation_of(*form.carried[i].reducer).op, sides));
  }
  return both;
}

double Trial::projected(const Form& form, const Riding& riding) {
  Symbols symbols;
  for (std::size_t i = 0; i < form.gauges.size(); ++i) symbols.emplace_back(form.gauges[i].name, riding.gauges[i]);
  for (std::size_t i = 0; i < form.carried.size(); ++i) symbols.emplace_back(form.carried[i].name, riding.carried[i]);
  return value(form.project, riding.covered, symbols);
}

std::set<Symbol> running_with(const std::vector<Fusion>& fusions, const Fusion& consumer) {
  std::set<Symbol> running = {consumer.consumer};
  std::vector<Symbol> work = consumer.producers;
  const int pass = consumer.refusal ? consumer.pass - 1 : consumer.pass;
  while (!work.empty()) {
    const Symbol name = work.back();
    work.pop_back();
    for (const Fusion& fusion : fusions)
      if (fusion.consumer == name && fusion.pass == pass && running.insert(name).second)
        work.insert(work.end(), fusion.producers.begin(), fusion.producers.end());
  }
  return running;
}

namespace {

bool holds(const math::Program& program, const DimValues& dims) {
  return std::all_of(program.conditions.begin(), program.conditions.end(), [&](Expr condition) {
    const auto value = evaluate_integer(condition, dims);
    return !value || *value != 0;
  });
}

}  // namespace

std::optional<DimValues> small_dims(const math::Program& program, const Statement& consumer, std::int64_t length) {
  const Axis& axis = consumer.reduction()->over.front();
  std::set<Symbol> of_loop = dims_in(axis.hi);
  of_loop.merge(dims_in(axis.lo));
  for (const std::int64_t other : {std::int64_t{1}, length, std::int64_t{2}}) {
    DimValues dims;
    for (const math::Dimension& dim : program.dims) dims[dim.name] = of_loop.count(dim.name) != 0 ? length : other;
    if (holds(program, dims)) return dims;
  }
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> shape_of(const math::Parameter& parameter, const DimValues& dims) {
  std::vector<std::int64_t> shape;
  std::int64_t size = 1;
  for (Expr extent : parameter.extents) {
    const auto value = evaluate_integer(extent, dims);
    if (!value || *value < 0 || *value > 4096) return std::nullopt;
    shape.push_back(*value);
    size *= *value;
    if (size > 65536) return std::nullopt;
  }
  return shape;
}

std::vector<const math::Parameter*> parameters_of(const math::Program& program, const Statement& consumer) {
  std::set<Symbol> needed;
  std::vector<const Statement*> work = {&consumer};
  const auto need = [&](Expr e) {
    if (!e) return;
    for (Symbol name : tensors_read(e))
      if (needed.insert(name).second)
        if (const Statement* statement = program.find(name)) work.push_back(statement);
  };
  while (!work.empty()) {
    const Statement& statement = *work.back();
    work.pop_back();
    for (const Axis& axis : statement.axes) need(axis.lo), need(axis.hi);
    if (statement.map() != nullptr) need(statement.map()->value);
    if (const Reduction* reduction = statement.reduction()) {
      for (Expr value : reduction->values) need(value);
      for (const Axis& axis : reduction->over) need(axis.lo), need(axis.hi);
    }
  }
  for (Expr condition : program.conditions) need(condition);
  std::vector<const math::Parameter*> all;
  for (const math::Parameter& parameter : program.params)
    if (needed.count(parameter.name) != 0) all.push_back(&parameter);
  return all;
}

bool is_admitted(const ProgramView& view, const Statement& consumer, const Inputs& inputs) {
  Trial trial(view, consumer, {}, inputs, Arithmetic::wide);
  return std::all_of(view.program().conditions.begin(), view.program().conditions.end(), [&](Expr condition) {
    const double value = trial.value(condition, {0, 0}, {});
    return std::isnan(value) || value != 0;
  });
}

std::string number_text(double x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return fmt::format("{:.7g}", x == 0 ? 0.0 : x);
}

std::string text_of(const Inputs& inputs, const std::vector<const math::Parameter*>& parameters) {
  std::string text;
  for (const math::Parameter* parameter : parameters) {
    const auto found = inputs.tables.find(parameter->name);
    if (found == inputs.tables.end()) continue;
    const Table& table = found->second;
    const auto one = [&](double x) { return table.dtype == DType::boolean ? std::string(x != 0 ? "true" : "false") : number_text(x); };
    std::string values;
    for (const double x : table.data) values += (values.empty() ? "" : ", ") + one(x);
    text += (text.empty() ? "" : ", ") + parameter->name.text() + " = " + (table.shape.empty() ? values : "[" + values + "]");
  }
  return text;
}

}  // namespace fathom::algebra
