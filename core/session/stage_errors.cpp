#include "session/stage_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "session/provenance.hpp"
#include "session/stage_plane.hpp"

namespace fathom::session::stage {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
constexpr std::size_t most_references = 400;  // programs with different limits: each is read and judged once

bool overlap(const std::vector<IndexRange>& a, const std::vector<IndexRange>& b) {
  for (const IndexRange& x : a)
    for (const IndexRange& y : b)
      if (x.index == y.index && (x.hi <= y.lo || y.hi <= x.lo)) return false;
  return true;
}

/// The write with its lanes added up, along the axes of the statement.
struct ValuesAlongAxes {
  std::vector<IndexRange> axes;
  std::vector<double> values;
};

double combined(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::mul:
      return a * b;
    case Op::max:
      return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case Op::min:
      return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case Op::logical_and:
      return a != 0 && b != 0 ? 1 : 0;
    default:
      return a != 0 || b != 0 ? 1 : 0;
  }
}

/// nullopt where lanes hold what cannot be put together by one operation.
std::optional<ValuesAlongAxes> without_lanes(const Write& write, const math::Reduction* reduction) {
  ValuesAlongAxes result;
  for (std::size_t k = 0; k < write.axes.size(); ++k)
    if (!write.lanes[k]) result.axes.push_back(write.axes[k]);
  if (result.axes.size() == write.axes.size()) return ValuesAlongAxes{write.axes, write.values};
  const auto op = reduction == nullptr ? std::nullopt : monoid_operation(*reduction->reducer);
  if (!op) return std::nullopt;
  std::int64_t size = 1;
  for (const IndexRange& each : result.axes) size *= each.hi - each.lo;
  std::vector<bool> is_there(static_cast<std::size_t>(size), false);
  result.values.resize(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < write.values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), to = 0, stride = 1;
    for (std::size_t k = write.axes.size(); k-- > 0;) {
      const std::int64_t extent = write.axes[k].hi - write.axes[k].lo, digit = rest % extent;
      rest /= extent;
      if (write.lanes[k]) continue;
      to += digit * stride;
      stride *= extent;
    }
    const auto at = static_cast<std::size_t>(to);
    result.values[at] = is_there[at] ? combined(*op, result.values[at], write.values[i]) : write.values[i];
    is_there[at] = true;
  }
  return result;
}

/// One of several values that a reducer carries: the text names only what is made of all of them, so that one alone has no reference.
bool is_component(const std::string& tensor, const std::string& statement, const math::Statement* state) {
  const math::Reduction* reduction = state == nullptr ? nullptr : state->reduction();
  return reduction != nullptr && reduction->reducer->state.size() > 1 && bare_name(tensor) != statement;
}

/// Error of one value; `bound` infinite means that rounding may do anything there, but not make a number of none.
double error_between(double value, double reference) {
  if (std::isnan(reference) || value == reference) return 0;
  if (!std::isfinite(value) || !std::isfinite(reference)) return unbounded;
  return std::abs(value - reference);
}

}  // namespace

/// How far a reduction has come in a part of its results.
struct Errors::Seen {
  std::vector<IndexRange> axes;
  std::optional<IndexRange> over;  ///< absent: all of it
  bool is_known = true;
};

struct Errors::Known {
  math::Program program;
  std::optional<interp::References> references;
};

Errors::Errors(const math::Program& statements, const math::Program& written, const interp::Arrays& inputs,
               std::vector<interp::BoundOptions::Narrowed> narrowed)
    : statements_(statements), written_(written), inputs_(inputs), dims_(math::default_dims(written)), narrowed_(std::move(narrowed)) {}
Errors::~Errors() = default;

double Errors::unit_of(const std::string& statement) const {
  const auto found = units_.find(statement);
  return found == units_.end() ? 1 : found->second;
}

bool Errors::is_state(const std::string& statement) const {
  const math::Statement* found = statement.empty() ? nullptr : statements_.find(Symbol(statement));
  return found != nullptr && found->reduction() != nullptr;
}

void Errors::see(const Write& write, const Place& place) {
  if (!is_state(write.statement)) return;
  ++moves_;
  const math::Reduction& reduction = *statements_.find(Symbol(write.statement))->reduction();
  std::vector<IndexRange> own;  // without lanes
  for (std::size_t k = 0; k < write.axes.size(); ++k)
    if (!write.lanes[k]) own.push_back(write.axes[k]);
  std::vector<Seen>& all = seen_[write.statement];
  const auto at = std::find_if(all.begin(), all.end(), [&](const Seen& each) { return each.axes == own; });
  Seen before = at == all.end() ? Seen{own, IndexRange{}, true} : *at;
  if (at != all.end()) all.erase(at);
  Seen now{own, std::nullopt, true};
  std::vector<IndexRange> limited;
  for (const math::Axis& axis : reduction.over) {
    const auto range = place.scope.find(axis.index);
    if (range == place.scope.end()) continue;
    const std::int64_t extent = extent_of(statements_, axis.index, dims_).value_or(range->second.hi);
    if (write.partial || range->second.lo > 0 || range->second.hi < extent) limited.push_back(range->second);
  }
  if (write.starts) {
    now.over = IndexRange{reduction.over.empty() ? Symbol() : reduction.over.front().index, 0, 0};
  } else if (limited.size() == 1) {  // the next value of a state has a name of its own in modules: it runs as the state does
    now.over = limited.front();
    const bool goes_on = before.over && before.over->index == now.over->index && before.over->hi > before.over->lo &&
                         before.over->hi >= now.over->lo && before.over->lo <= now.over->lo;
    if (goes_on) now.over = IndexRange{now.over->index, before.over->lo, std::max(before.over->hi, now.over->hi)};
  } else {
    now.is_known =
        limited.empty() && !write.partial && parts_.count(write.statement) == 0;  // else a merge of parts, or a walk over two indices
  }
  all.push_back(std::move(now));  // the newest is last
}

std::optional<math::Program> Errors::limited(const math::Statement& state, const Write& write) const {
  math::Program program = statements_;
  program.results = {};
  for (math::Statement& statement : program.statements) {
    auto* reduction = std::get_if<math::Reduction>(&statement.value);
    if (reduction == nullptr) continue;
    reduction->repair.reset();
    const auto found = seen_.find(statement.name.text());
    if (found == seen_.end()) continue;
    const auto at =
        std::find_if(found->second.rbegin(), found->second.rend(), [&](const Seen& each) { return overlap(each.axes, write.axes); });
    if (at == found->second.rend()) continue;
    if (!at->is_known) return std::nullopt;
    if (!at->over) continue;
    for (math::Axis& axis : reduction->over)
      if (axis.index == at->over->index) {
        axis.lo = simplify_integer(make(Op::max, {axis.lo, number(at->over->lo)}));
        axis.hi = simplify_integer(make(Op::min, {axis.hi, number(at->over->hi)}));
        if (at->over->hi <= at->over->lo) axis.hi = axis.lo;
      }
  }
  const auto extents = math::extents_of(statements_, state.name);
  if (!extents) return std::nullopt;
  math::Parameter result;
  result.name = state.name;
  result.dtype = DType::f32;
  result.extents = *extents;
  program.results.push_back(std::move(result));
  return program;
}

const interp::References* Errors::references(math::Program program, const std::string& key) {
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second->references ? &*found->second->references : nullptr;
  if (known_.size() >= most_references) return nullptr;
  auto known = std::make_unique<Known>();
  known->program = std::move(program);
  if (auto made = interp::References::of(known->program, inputs_, dims_)) known->references = *std::move(made);
  const interp::References* result = known->references ? &*known->references : nullptr;
  known_.emplace(key, std::move(known));
  return result;
}

std::optional<StateError> Errors::error_of(const Write& write) {
  if (write.statement.empty()) return std::nullopt;
  const Symbol name(write.statement);
  if (is_component(write.tensor, write.statement, statements_.find(name))) return std::nullopt;
  const bool is_result = !write.partial && written_.result(name) != nullptr;
  if (!is_result && !is_state(write.statement)) return std::nullopt;
  const math::Program& owner = is_result ? written_ : statements_;
  const math::Statement* statement = owner.find(name);
  if (statement == nullptr) return std::nullopt;
  const auto values = without_lanes(write, statement->reduction());
  if (!values) return std::nullopt;

  interp::BoundOptions options;
  options.moves = moves_;
  options.structured_data = true;
  if (is_result) options.narrowed = narrowed_;
  options.results = {name};
  std::vector<std::int64_t> first, strides(statement->axes.size(), 0);  // of the write, along the statement's axes
  const auto stated = statements_.find(name);
  for (std::size_t k = 0; k < statement->axes.size(); ++k) {
    // passes may have named the axis of a result apart from the written one: its place counts
    const Symbol other = stated != nullptr && k < stated->axes.size() ? stated->axes[k].index : statement->axes[k].index;
    const auto at = std::find_if(values->axes.begin(), values->axes.end(), [&](const IndexRange& each) { return each.index == other; });
    if (at == values->axes.end()) {
      if (extent_of(owner, statement->axes[k].index, dims_) != 1) return std::nullopt;
      first.push_back(0);
      continue;
    }
    first.push_back(at->lo);
    strides[k] = 1;
    for (auto next = at + 1; next != values->axes.end(); ++next) strides[k] *= next->hi - next->lo;
    const std::int64_t extent = extent_of(owner, statement->axes[k].index, dims_).value_or(at->hi);
    options.rows[statement->axes[k].index] = {at->lo, std::min(at->hi, extent)};
  }
  std::int64_t of_statement = 0;
  for (const std::int64_t stride : strides) of_statement += stride > 0 ? 1 : 0;
  const auto longer = std::count_if(values->axes.begin(), values->axes.end(), [](const IndexRange& each) { return each.hi - each.lo > 1; });
  if (of_statement < longer) return std::nullopt;

  const interp::References* known = nullptr;
  if (is_result) {
    known = references(written_, "written");
  } else {
    auto program = limited(*statement, write);
    if (!program) return std::nullopt;
    std::string key = write.statement;
    for (const math::Statement& each : program->statements)
      if (const math::Reduction* reduction = each.reduction())
        for (const math::Axis& axis : reduction->over) key += "," + print(axis.lo) + ":" + print(axis.hi);
    known = references(*std::move(program), key);
  }
  if (known == nullptr) return std::nullopt;
  const auto part = known->at(options);
  if (!part) return std::nullopt;
  const interp::Bounded& expected = part->results.at(name);

  StateError worst{write.tensor, 0, 0, 0, false};
  const double unit = is_result ? 1 : unit_of(write.statement);
  if (std::isnan(unit)) return std::nullopt;
  double worst_share = -1;
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    for (std::size_t k = expected.shape.size(); k-- > 0;) {
      const std::int64_t position = expected.first[k] + rest % expected.shape[k];
      rest /= expected.shape[k];
      from += (position - first[k]) * strides[k];
    }
    if (from < 0 || static_cast<std::size_t>(from) >= values->values.size()) return std::nullopt;
    const double reference = expected.value[i] * (std::isfinite(expected.value[i]) ? unit : 1);
    const double error = error_between(values->values[static_cast<std::size_t>(from)], reference);
    const double bound = expected.bound[i] * std::abs(unit);
    if (expected.undetermined[i] && (error == unbounded || !(bound < unbounded))) continue;  // the text gives it no value
    const bool overflows = error == unbounded && std::isfinite(reference);
    const bool exceeds = overflows || error > bound;
    const double share = error == 0 ? 0 : exceeds && !(bound > 0 && bound < unbounded) ? unbounded : error / bound;
    if (share <= worst_share && !(exceeds && !worst.exceeds)) continue;
    worst_share = share;
    worst.error = error;
    worst.bound = bound;
    worst.reference = reference;
    worst.exceeds = exceeds;
  }
  return worst;
}

}  // namespace fathom::session::stage
