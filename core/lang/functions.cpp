// What a call means: its body with the arguments in place, each reduction over the function's index taking the caller's range.
// Costs are computed before anything is expanded, so that a small text cannot ask for a huge expression.
#include "lang/functions.hpp"

#include <algorithm>
#include <unordered_map>

namespace fathom::lang {
namespace {

constexpr std::size_t saturated = std::size_t{1} << 30U;  // a sum of two fits 32 bits: the web build

std::size_t plus(std::size_t a, std::size_t b) { return std::min(saturated, a + b); }
std::size_t times(std::size_t a, std::size_t b) { return a != 0 && b > saturated / a ? saturated : a * b; }

/// Arguments of a function by parameter, and the caller's names of its indices.
template <class T>
struct Environment {
  std::map<Symbol, T> symbols;
  std::map<Symbol, Symbol> indices;
};

Symbol renamed(const std::map<Symbol, Symbol>& names, Symbol index) {
  const auto found = names.find(index);
  return found == names.end() ? index : found->second;
}

std::map<Symbol, Symbol> indices_of_call(Expr call, const Function& function, const std::map<Symbol, Symbol>& caller) {
  std::map<Symbol, Symbol> indices;
  for (std::size_t i = 0; i < function.ir.indices.size() && i < call.node().bound.size(); ++i) {
    indices[function.ir.indices[i]] = renamed(caller, call.node().bound[i]);
  }
  return indices;
}

class Inliner {
 public:
  explicit Inliner(const Functions& functions) : functions_(functions) {}

  Expr call(Expr e, const Environment<Expr>& caller, const std::vector<Bound>& bounds) const {
    const Function* function = functions_.find(e.name());
    if (function == nullptr) return e;
    Environment<Expr> inside;
    inside.indices = indices_of_call(e, *function, caller.indices);
    for (std::size_t i = 0; i < function->ir.parameters.size() && i < e.args().size(); ++i)
      inside.symbols[function->ir.parameters[i]] = run(e.arg(i), caller, {});
    for (const auto& [name, value] : function->ir.locals) inside.symbols[name] = run(value, inside, bounds);
    return run(function->ir.body, inside, bounds);
  }

 private:
  Expr run(Expr e, const Environment<Expr>& env, const std::vector<Bound>& bounds) const {
    if (!e) return e;
    if (e.is(Op::symbol)) {
      const auto found = env.symbols.find(e.name());
      return found == env.symbols.end() ? e : found->second;
    }
    if (e.is(Op::index)) return index(renamed(env.indices, e.name()));
    if (e.is(Op::call)) return call(e, env, bounds);
    if (e.is(Op::reduce)) return reduction(e, env, bounds);
    if (e.is(Op::extent) && e.arg(0).is(Op::index)) {
      for (const Bound& given : bounds) {
        if (given.index == renamed(env.indices, e.arg(0).name())) return simplify_integer(given.hi - given.lo);
      }
    }
    std::vector<Expr> args;
    for (const Expr arg : e.args()) args.push_back(run(arg, env, bounds));
    return with_args(e, std::move(args));
  }

  Expr reduction(Expr e, const Environment<Expr>& env, const std::vector<Bound>& bounds) const {
    Environment<Expr> inside = env;
    std::vector<Bound> over;
    for (const Bound& bound : bounds_of(e)) {
      Bound one{renamed(env.indices, bound.index), run(bound.lo, env, bounds), run(bound.hi, env, bounds)};
      if (env.indices.count(bound.index) == 0) {
        one.index = fresh(bound.index, env);
        inside.indices[bound.index] = one.index;
      }
      for (const Bound& given : bounds) {
        if (given.index == one.index && !one.lo) one = given;
      }
      over.push_back(one);
    }
    std::vector<Expr> values;
    for (const Expr value : values_of(e)) values.push_back(run(value, inside, bounds));
    return reduce(e.name(), e.node().result, over, values);
  }

  /// A function's own index must not capture one that an argument uses.
  static Symbol fresh(Symbol wanted, const Environment<Expr>& env) {
    std::set<Symbol> used;
    for (const auto& [name, value] : env.symbols) used.insert(free_indices(value).begin(), free_indices(value).end());
    while (used.count(wanted) != 0) wanted = primed(wanted);
    return wanted;
  }

  const Functions& functions_;
};

/// Gives a reduction inside another one over the same index a name of its own: each is a fresh copy of the function's index.
Expr with_fresh_copies(Expr e, const std::set<Symbol>& around) {
  if (!e || e.args().empty()) return e;
  if (!e.is(Op::reduce)) {
    std::vector<Expr> args;
    for (const Expr arg : e.args()) args.push_back(with_fresh_copies(arg, around));
    return with_args(e, std::move(args));
  }
  std::set<Symbol> inside = around;
  std::vector<Bound> bounds = bounds_of(e);
  std::vector<Expr> values = values_of(e);
  for (Bound& bound : bounds) {
    bound.lo = with_fresh_copies(bound.lo, around);
    bound.hi = with_fresh_copies(bound.hi, around);
    const Symbol written = bound.index;
    while (inside.count(bound.index) != 0) bound.index = primed(bound.index);
    inside.insert(bound.index);
    if (bound.index == written) continue;
    for (Expr& value : values) value = substitute(value, {{index(written), index(bound.index)}});
  }
  for (Expr& value : values) value = with_fresh_copies(value, inside);
  return reduce(e.name(), e.node().result, bounds, values);
}

class Variation {
 public:
  using Names = std::set<Symbol>;
  explicit Variation(const Functions& functions) : functions_(functions) {}

  Names run(Expr e, const Environment<Names>& env) const {
    if (!e) return {};
    if (e.is(Op::symbol)) {
      const auto found = env.symbols.find(e.name());
      return found == env.symbols.end() ? Names{} : found->second;
    }
    if (e.is(Op::index)) return {renamed(env.indices, e.name())};
    if (e.is(Op::extent)) return {};  // the size of an index is the same at each of its points
    if (e.is(Op::call)) return call(e, env);
    if (e.is(Op::reduce)) return reduction(e, env);
    Names all;
    for (const Expr arg : e.args()) all.merge(run(arg, env));
    return all;
  }

 private:
  Names call(Expr e, const Environment<Names>& env) const {
    const Function* function = functions_.find(e.name());
    if (function == nullptr) return {};
    Environment<Names> inside;
    inside.indices = indices_of_call(e, *function, env.indices);
    for (std::size_t i = 0; i < function->ir.parameters.size() && i < e.args().size(); ++i)
      inside.symbols[function->ir.parameters[i]] = run(e.arg(i), env);
    for (const auto& [name, value] : function->ir.locals) inside.symbols[name] = run(value, inside);
    return run(function->ir.body, inside);
  }
  Names reduction(Expr e, const Environment<Names>& env) const {
    Names all;
    for (const Expr value : values_of(e)) all.merge(run(value, env));
    for (const Bound& bound : bounds_of(e)) all.erase(renamed(env.indices, bound.index));
    for (const Bound& bound : bounds_of(e)) {
      all.merge(run(bound.lo, env));
      all.merge(run(bound.hi, env));
    }
    return all;
  }
  const Functions& functions_;
};

class TypeOf {
 public:
  TypeOf(const Functions& functions, const TypeScope& scope) : functions_(functions), scope_(scope) {}

  Typed<Type> run(Expr e, const std::map<Symbol, Type>& symbols) const {
    std::vector<Type> operands;
    for (const Expr arg : e.args()) {
      auto type = arg ? run(arg, symbols) : Typed<Type>(Type{});
      if (!type) return type;
      operands.push_back(*type);
    }
    switch (e.op()) {
      case Op::read:
        return scope_.tensor ? scope_.tensor(e.name()) : Type{};
      case Op::call:
        return call(e, operands);
      case Op::reduce: {
        const ReducerRef reducer = scope_.reducer ? scope_.reducer(e.name()) : builtin_reducer(e.name());
        if (!reducer) return Type{};
        operands.resize(values_of(e).size());
        return reduction_type(*reducer, e.node().result, operands);
      }
      case Op::number:
      case Op::infinity:
      case Op::boolean:
      case Op::index:
      case Op::dim:
      case Op::symbol:
        return symbolic_type(e, symbols);
      case Op::cast:
        return declared(e.node().dtype);
      case Op::tuple:
        return Type{};
      default:
        return operation_type(e.op(), operands, e.args());
    }
  }

 private:
  Typed<Type> call(Expr e, const std::vector<Type>& args) const {
    const Function* function = functions_.find(e.name());
    if (function == nullptr) return Type{};
    std::map<Symbol, Type> symbols;
    for (std::size_t i = 0; i < function->ir.parameters.size() && i < args.size(); ++i) symbols[function->ir.parameters[i]] = args[i];
    const auto inside = [&](Typed<Type> type) -> Typed<Type> {
      if (type) return type;
      return tl::unexpected<TypeError>({"in `" + e.name().text() + "`: " + type.error().message, type.error().cure});
    };
    for (const auto& [name, value] : function->ir.locals) {
      const auto type = inside(run(value, symbols));
      if (!type) return type;
      symbols[name] = *type;
    }
    return inside(run(function->ir.body, symbols));
  }
  const Functions& functions_;
  const TypeScope& scope_;
};

}  // namespace

void Functions::add(Function function) {
  by_name_[function.ir.name] = all_.size();
  all_.push_back(std::move(function));
}

const Function* Functions::find(Symbol name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &all_[found->second];
}

std::vector<math::Function> Functions::reached_from(const std::vector<Expr>& roots) const {
  std::set<Symbol> reached;
  std::vector<Expr> pending = roots;
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    visit(e, [&](Expr part) {
      if (!part.is(Op::call) || !reached.insert(part.name()).second) return;
      const Function* function = find(part.name());
      if (function == nullptr) return;
      pending.push_back(function->ir.body);
      for (const auto& [name, value] : function->ir.locals) pending.push_back(value);
    });
  }
  std::vector<math::Function> result;
  for (const auto& [name, at] : by_name_) {
    if (reached.count(name) != 0) result.push_back(all_[at].ir);
  }
  std::sort(result.begin(), result.end(),
            [&](const math::Function& a, const math::Function& b) { return by_name_.at(a.name) < by_name_.at(b.name); });
  return result;
}

Cost inlined_cost(Expr root, const Functions& functions) {
  std::unordered_map<const ExprNode*, Cost> costs;
  visit(root, [&](Expr e) {
    Cost cost;
    std::size_t deepest = 0;
    const Function* function = e.is(Op::call) ? functions.find(e.name()) : nullptr;
    if (function != nullptr) cost.size = plus(cost.size, function->cost.size);
    for (std::size_t i = 0; i < e.args().size(); ++i) {
      if (!e.arg(i)) continue;
      const Cost arg = costs[&e.arg(i).node()];
      std::size_t count = 1;
      if (function != nullptr && i < function->ir.parameters.size()) {
        const auto uses = function->uses.find(function->ir.parameters[i]);
        count = uses == function->uses.end() ? 1 : std::max<std::size_t>(1, uses->second);
      }
      cost.size = plus(cost.size, times(count, arg.size));
      deepest = std::max(deepest, arg.depth);
    }
    cost.depth = plus(deepest, function == nullptr ? 1 : function->cost.depth);
    costs[&e.node()] = cost;
  });
  return costs[&root.node()];
}

Expr inline_call(Expr call, const std::vector<Bound>& bounds, const Functions& functions) {
  return with_fresh_copies(Inliner(functions).call(call, {}, bounds), {});
}

std::set<Symbol> varies_with(Expr e, const Functions& functions) { return Variation(functions).run(e, {}); }

Typed<Type> inlined_type(Expr e, const std::map<Symbol, Type>& symbols, const Functions& functions, const TypeScope& scope) {
  return TypeOf(functions, scope).run(e, symbols);
}

}  // namespace fathom::lang
