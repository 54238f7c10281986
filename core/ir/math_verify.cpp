// Verifies Math programs: names defined before use and once, indices bound once and in scope, ranks, arities, ranges of plain subscripts.
// What depends on values of tensors or stands under a `where` is the checker's business (core/lang), not the verifier's.
#include <fmt/format.h>

#include <algorithm>

#include "ir/math.hpp"

namespace fathom::math {
namespace {

using Names = std::set<Symbol>;

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), dims_(default_dims(program)) {}

  Result<void> operator()() {
    declarations();
    for (const Statement& statement : program_.statements) {
      if (refusal_) break;
      check(statement);
      define(statement.name);
    }
    for (const Parameter& result : program_.results) check_result(result);
    if (refusal_) return tl::unexpected<Refusal>(*refusal_);
    return {};
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> reason, Args&&... args) {
    if (!refusal_) refusal_ = Refusal{fmt::format(reason, std::forward<Args>(args)...), nodes_, ""};
  }

  void define(Symbol name) {
    if (!defined_.insert(name).second) fail("The name {} is defined twice.", name.text());
  }

  void declarations() {
    for (const Dimension& dimension : program_.dims) define(dimension.name);
    for (const Parameter& param : program_.params) {
      define(param.name);
      for (const Expr extent : param.extents) expression(extent, {}, {});
    }
    for (const Expr condition : program_.conditions) expression(condition, {}, {});
    for (const Statement& statement : program_.statements)
      if (const Reduction* reduction = statement.reduction(); reduction != nullptr && reduction->repair)
        for (const Gauge& gauge : reduction->repair->gauges) gauges_.insert(gauge.name);
  }

  void check(const Statement& statement) {
    nodes_ = {statement.name.text()};
    ranges_.clear();
    Names bound;
    bind(statement.axes, bound);
    if (const Map* map = statement.map()) {
      expression(map->value, bound, {});
    } else {
      check(*statement.reduction(), bound);
    }
    nodes_.clear();
  }

  void bind(const std::vector<Axis>& axes, Names& bound) {
    for (const Axis& axis : axes) {
      if (!axis.lo || !axis.hi) return fail("The index {} has no range.", axis.index.text());
      expression(axis.lo, bound, {});
      expression(axis.hi, bound, {});
      if (!bound.insert(axis.index).second) return fail("The index {} is bound twice.", axis.index.text());
      ranges_[axis.index] = {axis.lo, axis.hi};
    }
  }

  void check(const Reduction& reduction, Names bound) {
    if (!reduction.reducer) return fail("A reduction has no reducer.");
    const Reducer& reducer = *reduction.reducer;
    bind(reduction.over, bound);
    if (reduction.values.size() != reducer.parameters.size())
      return fail("{} takes {} values, not {}.", reducer.name.text(), reducer.parameters.size(), reduction.values.size());
    check_result_name(reducer, reduction.result);
    for (const Expr value : reduction.values) expression(value, bound, {});
    if (reduction.repair) check(*reduction.repair, bound);
  }

  void check_result_name(const Reducer& reducer, Symbol wanted) {
    if (wanted.empty()) return;
    const bool known =
        std::any_of(reducer.results.begin(), reducer.results.end(), [&](const ReducerResult& r) { return r.name == wanted; });
    if (!known) fail("{} has no result named {}.", reducer.name.text(), wanted.text());
  }

  void check(const Repair& repair, const Names& bound) {
    Names gauges, moved, carried;
    for (const Gauge& gauge : repair.gauges) {
      expression(gauge.reference, bound, {});
      gauges.insert(gauge.name);
      moved.insert({gauge.name, primed(gauge.name)});
    }
    for (const Carried& each : repair.carried) carried.insert(each.name);
    if (carried.empty()) fail("A repair carries nothing.");
    moved.insert(carried.begin(), carried.end());
    for (const Carried& each : repair.carried) {
      if (!each.reducer || each.reducer->state.size() != 1) return fail("{} needs a reducer with one component.", each.name.text());
      expression(each.term, bound, gauges);
      expression(each.move, bound, moved);
    }
    carried.insert(gauges.begin(), gauges.end());
    expression(repair.project, bound, carried);
  }

  /// `symbols` are the names that may stand for themselves here. Guarded: under a `where`, where ranges are not judged.
  void expression(Expr root, const Names& bound, const Names& symbols) {
    if (!root) return fail("An expression is missing.");
    if (refusal_) return;
    walk(root, bound, symbols, false);
  }

  /// Operands that bind nothing are visited once each; a reduction opens a scope.
  void walk(Expr root, const Names& bound, const Names& symbols, bool guarded) {
    std::set<std::pair<Expr, bool>> seen;
    std::vector<std::pair<Expr, bool>> stack = {{root, guarded}};
    while (!stack.empty() && !refusal_) {
      const auto [expr, under] = stack.back();
      stack.pop_back();
      if (!seen.insert({expr, under}).second) continue;
      if (expr.is(Op::reduce)) {
        check_reduce(expr, bound, symbols, under);
        continue;
      }
      if (expr.is(Op::call)) {
        check_call(expr, bound, symbols, under);
        continue;
      }
      check_node(expr, bound, symbols, under);
      for (std::size_t i = expr.args().size(); i-- > 0;) {  // the first operand is judged first
        if (!expr.arg(i)) return fail("An operand of {} is missing.", std::string(spelling(expr.op())));
        stack.emplace_back(expr.arg(i), under || expr.is(Op::where));
      }
    }
  }

  void check_reduce(Expr expr, Names bound, const Names& symbols, bool guarded) {
    const ReducerRef reducer = reducer_named(program_.reducers, expr.name());
    if (!reducer) return fail("There is no reducer named {}.", expr.name().text());
    for (const Bound& each : bounds_of(expr)) {
      if (!each.lo || !each.hi) return fail("The index {} has no range.", each.index.text());
      walk(each.lo, bound, symbols, guarded);
      walk(each.hi, bound, symbols, guarded);
      if (!bound.insert(each.index).second) return fail("The index {} is bound twice.", each.index.text());
      ranges_[each.index] = {each.lo, each.hi};
    }
    const std::vector<Expr> values = values_of(expr);
    if (values.size() != reducer->parameters.size())
      return fail("{} takes {} values, not {}.", reducer->name.text(), reducer->parameters.size(), values.size());
    check_result_name(*reducer, expr.node().result);
    for (const Expr value : values) walk(value, bound, symbols, guarded);
  }

  void check_node(Expr expr, const Names& bound, const Names& symbols, bool guarded) {
    switch (expr.op()) {
      case Op::index:
        if (bound.count(expr.name()) == 0) fail("The index {} is not bound here.", expr.name().text());
        return;
      case Op::dim:
        if (program_.dimension(expr.name()) == nullptr) fail("There is no dimension named {}.", expr.name().text());
        return;
      case Op::symbol:
        if (symbols.count(expr.name()) == 0) fail("The name {} stands for nothing here.", expr.name().text());
        return;
      case Op::read:
        return check_read(expr, guarded);
      case Op::number:
      case Op::infinity:
      case Op::boolean:
      case Op::tuple:
      case Op::random:
        return;
      default:
        break;
    }
    const int wanted = arity(expr.op());
    if (wanted >= 0 && expr.args().size() != static_cast<std::size_t>(wanted))
      fail("{} takes {} operands, not {}.", std::string(spelling(expr.op())), wanted, expr.args().size());
  }

  /// The indices of a call are in scope of its operands; their ranges follow from the function once it is opened.
  void check_call(Expr expr, Names bound, const Names& symbols, bool guarded) {
    const auto found = std::find_if(program_.functions.begin(), program_.functions.end(),
                                    [&](const Function& function) { return function.name == expr.name(); });
    if (found == program_.functions.end()) return fail("There is no function named {}.", expr.name().text());
    if (found->parameters.size() != expr.args().size() || found->indices.size() != expr.node().bound.size())
      return fail("{} is called with the wrong number of values or indices.", expr.name().text());
    for (const Symbol each : expr.node().bound)
      if (bound.insert(each).second) ranges_.erase(each);
    for (const Expr arg : expr.args()) walk(arg, bound, symbols, guarded);
  }

  void check_read(Expr expr, bool guarded) {
    const Symbol tensor = expr.name();
    if (gauges_.count(tensor) != 0) return;  // inside a fused loop an elementwise statement reads the gauge of its producer
    const bool defined = defined_.count(tensor) != 0 && program_.dimension(tensor) == nullptr;
    const std::optional<std::vector<Range>> ranges = defined ? ranges_of(program_, tensor) : std::nullopt;
    if (!ranges) return fail("{} is read before it is defined.", tensor.text());
    if (ranges->size() != expr.args().size())
      return fail("{} has {} axes but is read with {} subscripts.", tensor.text(), ranges->size(), expr.args().size());
    for (std::size_t i = 0; !guarded && i < ranges->size(); ++i)
      if (expr.arg(i).is(Op::index)) check_covered(tensor, i, expr.arg(i).name(), (*ranges)[i]);
  }

  /// Judged where both ranges are constants at the default dimension values.
  void check_covered(Symbol tensor, std::size_t place, Symbol index, const Range& wanted) {
    const auto found = ranges_.find(index);
    if (found == ranges_.end() || found->second == wanted) return;
    const std::optional<std::int64_t> lo = evaluate_integer(found->second.lo, dims_);
    const std::optional<std::int64_t> hi = evaluate_integer(found->second.hi, dims_);
    const std::optional<std::int64_t> first = evaluate_integer(wanted.lo, dims_);
    const std::optional<std::int64_t> last = evaluate_integer(wanted.hi, dims_);
    if (!lo || !hi || !first || !last || *lo >= *hi) return;
    if (*lo < *first || *hi > *last)
      fail("The index {} runs over {}:{}, but subscript {} of {} over {}:{}.", index.text(), *lo, *hi, place + 1, tensor.text(), *first,
           *last);
  }

  void check_result(const Parameter& result) {
    nodes_ = {result.name.text()};
    const Statement* statement = program_.find(result.name);
    if (statement == nullptr) return fail("The result {} is not defined.", result.name.text());
    if (statement->axes.size() != result.extents.size())
      return fail("The result {} has {} dimensions but {} indices.", result.name.text(), result.extents.size(), statement->axes.size());
    for (std::size_t i = 0; i < result.extents.size(); ++i) {
      if (constant_integer(statement->axes[i].lo) != 0)
        return fail("Index {} of the result {} does not begin at 0.", i + 1, result.name.text());
      const std::optional<std::int64_t> hi = evaluate_integer(statement->axes[i].hi, dims_);
      const std::optional<std::int64_t> extent = evaluate_integer(result.extents[i], dims_);
      if (hi && extent && *hi != *extent)
        return fail("Dimension {} of the result {} is {}, but its index ends at {}.", i + 1, result.name.text(), *extent, *hi);
    }
  }

  const Program& program_;
  DimValues dims_;
  Names defined_;
  Names gauges_;
  std::map<Symbol, Range> ranges_;
  std::vector<std::string> nodes_;
  std::optional<Refusal> refusal_;
};

}  // namespace

Result<void> verify(const Program& program) { return Verifier(program)(); }

}  // namespace fathom::math
