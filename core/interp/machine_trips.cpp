// Which trips of a parallel loop can run as one: those that only see what they wrote themselves, or what stood before the loop. There one
// trip over all their elements computes every element from the same numbers in the same order, so that the results are the same bits.
#include <algorithm>

#include "interp/machine.hpp"

namespace fathom::interp {
namespace {

constexpr int depth_limit = 400;
constexpr std::int64_t points_at_once = std::int64_t{1} << 18U;  // of one statement: intermediate values stay small

/// Where the statement has the index among its axes.
std::optional<std::size_t> axis_of(const Prepared& statement, Symbol index) {
  std::optional<std::size_t> found;
  for (std::size_t k = 0; k < statement.axes.size(); ++k)
    if (statement.axes[k].index == index) {
      if (found) return std::nullopt;
      found = k;
    }
  return found;
}

bool mentions(Expr expr, Symbol index) {
  bool found = false;
  if (expr) visit(expr, [&](Expr e) { found = found || ((e.is(Op::index) || e.is(Op::dim) || e.is(Op::symbol)) && e.name() == index); });
  return found;
}

/// Every expression that running the statement evaluates over its box.
std::vector<Expr> expressions_of(const Prepared& statement) {
  std::vector<Expr> all = statement.values;
  if (statement.value) all.push_back(statement.value);
  if (!statement.repair) return all;
  for (const math::Gauge& gauge : statement.repair->gauges) all.push_back(gauge.reference);
  for (const math::Carried& carried : statement.repair->carried) all.insert(all.end(), {carried.term, carried.move});
  all.push_back(statement.repair->project);
  return all;
}

}  // namespace

/// What stands below a loop, as far as it decides about its trips.
struct Machine::Below {
  std::vector<const Prepared*> statements;
  bool is_plain = true;  ///< no bound or count follows the index, every repaired sum folds there
};

void Machine::collect(const loop::NodeRef& ref, Symbol index, std::set<Symbol> around, int depth, Below& below) const {
  if (!ref || depth > depth_limit) {
    below.is_plain = false;
    return;
  }
  if (const auto* leaf = std::get_if<loop::Leaf>(ref.get())) {
    const Prepared* statement = find(leaf->statement);
    below.statements.push_back(statement);
    const auto is_folded = [&](const Bound& bound) { return around.contains(bound.index); };
    const bool runs_alone =
        statement != nullptr && statement->repair && std::none_of(statement->over.begin(), statement->over.end(), is_folded);
    below.is_plain = below.is_plain && statement != nullptr && !runs_alone;
  } else if (const auto* combine = std::get_if<loop::Combine>(ref.get())) {
    for (const Symbol name : combine->statements) below.statements.push_back(find(name));
    below.is_plain = below.is_plain && !mentions(combine->count, index) && !(combine->split == index);
  } else if (const auto* inner = std::get_if<loop::Loop>(ref.get())) {
    bool follows = inner->index == index;
    for (const Expr bound : {inner->lo, inner->hi, inner->tile}) follows = follows || mentions(bound, index);
    for (const loop::TileRange& range : inner->ranges) follows = follows || mentions(range.lo, index) || mentions(range.hi, index);
    below.is_plain = below.is_plain && !follows;
    around.insert(inner->index);
    collect(inner->body, index, std::move(around), depth + 1, below);
  } else {
    for (const loop::NodeRef& item : std::get<loop::Sequence>(*ref).items) collect(item, index, around, depth + 1, below);
  }
}

/// Whether every read of what the loop writes is at the trip's own elements, and no range follows the index.
bool Machine::reads_own_trip(Expr expr, Symbol index, const Below& below) const {
  bool own = true;
  if (!expr) return own;
  visit(expr, [&](Expr e) {
    if (e.is(Op::reduce))
      for (const Bound& bound : bounds_of(e)) own = own && !mentions(bound.lo, index) && !mentions(bound.hi, index);
    if (!e.is(Op::read) && !e.is(Op::symbol)) return;
    if (const math::Gauge* gauge = find_gauge(e.name()).first) {  // stands for its reference, which is judged as a read of its own
      const bool is_reference =
          e.args().empty() || (gauge->reference.is(Op::read) && std::equal(e.args().begin(), e.args().end(),
                                                                           gauge->reference.args().begin(), gauge->reference.args().end()));
      own = own && is_reference && !has_gauge(gauge->reference) && reads_own_trip(gauge->reference, index, below);
      return;
    }
    if (!e.is(Op::read)) return;
    for (const Prepared* written : below.statements) {
      if (!(written->name == e.name())) continue;
      const std::size_t axis = *axis_of(*written, index);
      own = own && axis < e.args().size() && e.arg(axis).is(Op::index) && e.arg(axis).name() == index;
    }
  });
  return own;
}

bool Machine::has_independent_trips(const loop::Loop& loop) const {
  Below below;
  collect(loop.body, loop.index, {}, 0, below);
  if (!below.is_plain) return false;
  for (const Prepared* statement : below.statements)
    if (statement == nullptr || !axis_of(*statement, loop.index)) return false;
  for (const Prepared* statement : below.statements) {
    for (const math::Axis& axis : statement->axes)
      if (mentions(axis.lo, loop.index) || mentions(axis.hi, loop.index)) return false;
    for (const Bound& bound : statement->over)
      if (bound.index == loop.index || mentions(bound.lo, loop.index) || mentions(bound.hi, loop.index)) return false;
    for (const Expr expr : expressions_of(*statement))
      if (!reads_own_trip(expr, loop.index, below)) return false;
  }
  return true;
}

/// Points of the largest statement below the loop that one element of its index stands for: of its box here, and of what it sums over.
std::int64_t Machine::points_a_step(const loop::Loop& loop) const {
  std::int64_t most = 1;
  Below below;
  collect(loop.body, loop.index, {}, 0, below);
  for (const Prepared* statement : below.statements) {
    std::int64_t points = 1;
    const auto times = [&](Symbol index, Expr lo, Expr hi) {
      const auto limit = limits_.find(index);
      const auto first = evaluate_integer(lo, dims_), last = evaluate_integer(hi, dims_);
      const std::int64_t extent = limit != limits_.end() ? limit->second.second - limit->second.first
                                  : first && last        ? *last - *first
                                                         : points_at_once;
      points = std::min(points, points_at_once) * std::clamp<std::int64_t>(extent, 1, points_at_once);
    };
    for (const math::Axis& axis : statement->axes)
      if (!(axis.index == loop.index)) times(axis.index, axis.lo, axis.hi);
    for (const Bound& bound : statement->over) times(bound.index, bound.lo, bound.hi);
    most = std::max(most, points);
  }
  return most;
}

/// How many trips of `tile` elements run as one. An observer wants to see each.
std::int64_t Machine::trips_at_once(const loop::Loop& loop, std::int64_t tile) {
  if (loop.mark != loop::Mark::parallel || options_.observer) return 1;
  const auto [known, is_new] = independent_.try_emplace(&loop, false);
  if (is_new) known->second = has_independent_trips(loop);
  return known->second ? std::max<std::int64_t>(points_at_once / points_a_step(loop) / tile, 1) : 1;
}

}  // namespace fathom::interp
