#include "interp/elaborate.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

namespace fathom::interp {
namespace {

constexpr int call_limit = 64;  // functions inside functions; the checker refuses recursion
constexpr std::uint32_t depth_limit = 3000;
constexpr std::int64_t node_limit = 2'000'000;

/// What names mean while a function's body, or an argument in it, is written out.
struct Environment {
  const Environment* caller = nullptr;  ///< where the arguments live
  const math::Function* function = nullptr;
  std::map<Symbol, Expr> arguments;  ///< parameter -> the caller's expression, in the caller's environment
  std::map<Symbol, Symbol> renamed;  ///< index as written here -> index in the result
};

class Elaboration {
 public:
  Elaboration(const math::Program& program, Ranges scope) : program_(program), scope_(std::move(scope)) {
    for (const auto& [index, range] : scope_) taken_.insert(index);
  }

  Result<Expr> run(Expr expr) {
    if (expr.node().depth > depth_limit) return refuse("An expression is nested too deeply.");
    Environment top;
    const Expr result = write_out(expr, top, 0);
    if (failure_) return tl::unexpected(*failure_);
    return result;
  }

 private:
  Expr fail(std::string reason) {
    if (!failure_) failure_ = Refusal{std::move(reason), {}, {}};
    return number(0);
  }

  Expr write_out(Expr expr, const Environment& env, int depth) {
    if (failure_) return number(0);
    if (++nodes_ > node_limit || depth > call_limit) return fail("The functions of this statement open to too large an expression.");
    switch (expr.op()) {
      case Op::index:
        return index(in_result(env, expr.name()));
      case Op::symbol:
        return named(expr, env, depth);
      case Op::extent:
        return size_of(expr.arg(0), env, depth);
      case Op::reduce:
        return reduction(expr, env, depth);
      case Op::call:
        return called(expr, env, depth);
      default:
        break;
    }
    if (expr.args().empty()) return expr;
    std::vector<Expr> args;
    for (const Expr arg : expr.args()) args.push_back(write_out(arg, env, depth));
    return with_args(expr, std::move(args));
  }

  static Symbol in_result(const Environment& env, Symbol name) {
    const auto found = env.renamed.find(name);
    return found == env.renamed.end() ? name : found->second;
  }

  /// A parameter or a `with` name of the function that is being written out; other symbols (gauges, carriers) stay.
  Expr named(Expr expr, const Environment& env, int depth) {
    if (env.function == nullptr) return expr;
    if (const auto found = env.arguments.find(expr.name()); found != env.arguments.end())
      return write_out(found->second, argument_environment(env), depth + 1);
    for (const auto& [name, value] : env.function->locals)
      if (name == expr.name()) return write_out(value, env, depth + 1);
    return expr;
  }

  /// Arguments see the caller's names, but an index that was handed to the function follows the function's renaming of it.
  static Environment argument_environment(const Environment& env) {
    Environment result = *env.caller;
    for (const auto& [here, there] : env.renamed) {
      const auto handed = env.arguments.find(here);
      if (handed == env.arguments.end()) continue;
      result.renamed[handed->second.name()] = there;
    }
    return result;
  }

  Expr called(Expr expr, const Environment& env, int depth) {
    const math::Function* function = nullptr;
    for (const math::Function& each : program_.functions)
      if (each.name == expr.name()) function = &each;
    if (function == nullptr) return fail(fmt::format("There is no function `{}`.", expr.name().text()));
    const std::vector<Symbol>& indices = expr.node().bound;
    if (function->indices.size() != indices.size() || function->parameters.size() != expr.args().size())
      return fail(fmt::format("`{}` is called with the wrong number of indices or arguments.", expr.name().text()));
    Environment inner;
    inner.caller = &env;
    inner.function = function;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      inner.arguments[function->indices[i]] = index(indices[i]);
      inner.renamed[function->indices[i]] = in_result(env, indices[i]);
    }
    for (std::size_t i = 0; i < expr.args().size(); ++i) inner.arguments[function->parameters[i]] = expr.arg(i);
    return write_out(function->body, inner, depth + 1);
  }

  Symbol fresh(Symbol name) {
    Symbol candidate = name;
    for (int n = 1; taken_.contains(candidate); ++n) candidate = Symbol(fmt::format("{}#{}", name.text(), n));
    return candidate;
  }

  Expr reduction(Expr expr, const Environment& env, int depth) {
    Environment inner = env;
    std::vector<Bound> bounds = bounds_of(expr);
    std::vector<Symbol> added;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      Bound& bound = bounds[i];
      const Symbol here = fresh(bound.index);
      if (bound.lo) {
        bound.lo = write_out(bound.lo, env, depth);
        bound.hi = write_out(bound.hi, env, depth);
      } else if (const auto range = scope_.find(in_result(env, bound.index)); range != scope_.end()) {
        bound.lo = range->second.lo;  // a function's index takes the caller's range
        bound.hi = range->second.hi;
      } else {
        open.push_back(i);
      }
      inner.renamed[bound.index] = here;
      bound.index = here;
      taken_.insert(here);
      added.push_back(here);
    }
    // Ranges are looked up while `scope_` holds the new indices, so that functions inside see them.
    std::vector<std::pair<Symbol, std::optional<Range>>> hidden;
    for (const Bound& bound : bounds) {
      const auto old = scope_.find(bound.index);
      hidden.emplace_back(bound.index, old == scope_.end() ? std::nullopt : std::optional(old->second));
      if (bound.lo) scope_[bound.index] = {bound.lo, bound.hi};
    }
    for (const std::size_t i : open) infer(bounds[i], values_of(expr), inner, depth);
    std::vector<Expr> values;
    for (const Expr value : values_of(expr)) values.push_back(write_out(value, inner, depth));
    for (const auto& [name, range] : hidden) {
      if (range) {
        scope_[name] = *range;
      } else {
        scope_.erase(name);
      }
    }
    for (const Symbol name : added) taken_.erase(name);
    return reduce(expr.name(), expr.node().result, bounds, values);
  }

  /// An index's range is the common range of all dimensions that it indexes.
  void infer(Bound& bound, const std::vector<Expr>& values, const Environment& inner, int depth) {
    const int before = depth;
    std::optional<Range> found;
    scope_[bound.index] = {number(0), number(0)};  // sizes and nested functions of the trial do not matter
    for (const Expr value : values) {
      if (found) break;
      const Expr trial = write_out(value, inner, before + 1);
      if (!failure_) found = range_in(trial, bound.index);
    }
    if (!found) {
      scope_.erase(bound.index);
      fail(fmt::format("Nothing gives index `{}` a range.", bound.index.text()));
      bound.lo = bound.hi = number(0);
      return;
    }
    bound.lo = found->lo;
    bound.hi = found->hi;
    scope_[bound.index] = *found;
  }

  [[nodiscard]] std::optional<Range> range_in(Expr expr, Symbol name) const {
    std::optional<Range> plain, divided;
    visit(expr, [&](Expr e) {
      if (!e.is(Op::read)) return;
      for (std::size_t axis = 0; axis < e.args().size(); ++axis) {
        const Expr subscript = e.arg(axis);
        const std::optional<Range> range = axis_range(e.name(), axis);
        if (!range) continue;
        if (subscript == index(name) && !plain) plain = range;
        if (subscript.is(Op::floordiv) && subscript.arg(0) == index(name) && !divided)
          divided = Range{number(0), simplify_integer(range->hi * subscript.arg(1))};
      }
    });
    return plain ? plain : divided;
  }

  [[nodiscard]] std::optional<Range> axis_range(Symbol tensor, std::size_t axis) const {
    if (const math::Parameter* param = program_.param(tensor))
      return axis < param->extents.size() ? std::optional(Range{number(0), param->extents[axis]}) : std::nullopt;
    const math::Statement* statement = program_.find(tensor);
    if (statement == nullptr || axis >= statement->axes.size()) return std::nullopt;
    return Range{statement->axes[axis].lo, statement->axes[axis].hi};
  }

  Expr size_of(Expr argument, const Environment& env, int depth) {
    const Symbol name = argument.is(Op::index) || argument.is(Op::symbol) ? in_result(env, argument.name()) : Symbol();
    if (const auto found = scope_.find(name); found != scope_.end()) return simplify_integer(found->second.hi - found->second.lo);
    if (env.function != nullptr && env.arguments.contains(argument.name())) {
      Bound bound{name, {}, {}};
      std::vector<Expr> values;
      for (const Symbol parameter : env.function->parameters) values.push_back(symbol(parameter));
      infer(bound, values, env, depth);
      scope_.erase(name);
      return simplify_integer(bound.hi - bound.lo);
    }
    return fail(fmt::format("size({}) has no range to measure.", print(argument)));
  }

  const math::Program& program_;
  Ranges scope_;
  std::set<Symbol> taken_;
  std::optional<Refusal> failure_;
  std::int64_t nodes_ = 0;
};

}  // namespace

Result<Expr> elaborate(const math::Program& program, Expr expr, const Ranges& scope) { return Elaboration(program, scope).run(expr); }

Ranges ranges_of(const std::vector<math::Axis>& axes) {
  Ranges ranges;
  for (const math::Axis& axis : axes) ranges[axis.index] = {axis.lo, axis.hi};
  return ranges;
}

}  // namespace fathom::interp
