// Inlines functions and hoists reductions, in one walk over each statement. Invariant: what is emitted is closed under the axes in
// scope, so a hoisted statement's axes are the free indices of its value, in the order of the scope (outermost first).
// A function's index stands for the caller's index; any other index that a body binds is renamed where an argument already uses it.
#include "algebra/open.hpp"

#include <algorithm>
#include <set>

namespace fathom::math {

namespace {

constexpr int deepest_call = 64;

/// What names mean at a point of a body: parameters and locals, the caller's indices, the axes in scope.
struct Environment {
  std::map<Symbol, Expr> symbols;
  std::map<Symbol, Symbol> indices;
  std::vector<Axis> scope;
  std::vector<Expr> conditions;  ///< of the selects around: `where` is lazy, and so is what is hoisted out of it
  const Function* function = nullptr;
  std::string prefix;  ///< of names of what is hoisted here
  int depth = 0;
};

const Axis* find_axis(const std::vector<Axis>& axes, Symbol index) {
  for (const Axis& axis : axes)
    if (axis.index == index) return &axis;
  return nullptr;
}

/// Expressions hold absent operands where a range is open: free_indices and friends must not meet them.
std::set<Symbol> indices_of(const std::vector<Expr>& parts) {
  std::set<Symbol> all;
  for (Expr part : parts)
    if (part) all.merge(free_indices(part));
  return all;
}

class Opener {
 public:
  explicit Opener(const Program& written) : written_(written), opened_(written) {
    opened_.functions.clear();
    opened_.statements.clear();
    for (const Statement& statement : written.statements) taken_.insert(statement.name);
    for (const Parameter& parameter : written.params) taken_.insert(parameter.name);
  }

  Program run() {
    for (const Statement& statement : written_.statements) open_statement(statement);
    return std::move(opened_);
  }

 private:
  void open_statement(const Statement& statement) {
    current_ = &statement;
    shared_.clear();
    Statement result = statement;
    const Environment outer{{}, {}, statement.axes, {}, nullptr, statement.name.text(), 0};
    if (const Reduction* reduction = statement.reduction()) {
      Reduction opened = *reduction;
      Environment inner = outer;
      for (const Axis& axis : reduction->over) inner.scope.push_back(axis);
      for (Expr& value : opened.values) value = open_expr(value, inner);
      result.value = std::move(opened);
    } else {
      result.value = open_value(statement.map()->value, outer);
    }
    opened_.statements.push_back(std::move(result));
  }

  /// A value that becomes a statement: a reduction where the whole of it is one.
  std::variant<Map, Reduction> open_value(Expr value, Environment environment) {
    while (value.is(Op::call) && environment.depth < deepest_call) {
      const Function* function = function_named(value.name());
      if (function == nullptr) break;
      environment = enter(value, *function, environment);
      value = function->body;
    }
    if (value.is(Op::reduce)) {
      if (ReducerRef reducer = reducer_named(written_.reducers, value.name())) return open_reduction(value, reducer, environment);
    }
    return Map{open_expr(value, environment)};
  }

  /// The environment of a call's body: arguments opened in the caller's, locals made statements.
  Environment enter(Expr call, const Function& function, const Environment& caller) {
    Environment inside{{}, {}, caller.scope, caller.conditions, &function, caller.prefix, caller.depth + 1};
    std::vector<Symbol> bound = call.node().bound;
    for (Symbol& index : bound) index = renamed(index, caller);
    for (std::size_t i = 0; i < function.indices.size() && i < bound.size(); ++i) inside.indices[function.indices[i]] = bound[i];
    for (Symbol index : bound)
      if (find_axis(inside.scope, index) == nullptr) inside.scope.push_back(inferred_axis(index, call.node().args, caller));
    Environment arguments = caller;
    arguments.scope = inside.scope;
    for (std::size_t i = 0; i < function.parameters.size() && i < call.args().size(); ++i)
      inside.symbols[function.parameters[i]] = open_expr(call.arg(i), arguments);
    for (const auto& [name, value] : function.locals) {
      Environment local = inside;
      local.prefix = caller.prefix + "." + name.text();
      inside.symbols[name] = emit(local.prefix, open_value(value, local), inside);
    }
    return inside;
  }

  Expr open_expr(Expr e, const Environment& environment) {
    switch (e.op()) {
      case Op::symbol: {
        const auto found = environment.symbols.find(e.name());
        return found == environment.symbols.end() ? e : found->second;
      }
      case Op::index:
        return index(renamed(e.name(), environment));
      case Op::call:
        return open_call(e, environment);
      case Op::reduce: {
        ReducerRef reducer = reducer_named(written_.reducers, e.name());
        if (!reducer) return e;
        return emit(environment.prefix + "." + e.name().text(), open_reduction(e, reducer, environment), environment);
      }
      case Op::extent:
        return open_extent(e, environment);
      case Op::where:
        return open_select(e, environment);
      default:
        break;
    }
    if (e.args().empty()) return e;
    std::vector<Expr> args;
    args.reserve(e.args().size());
    for (Expr arg : e.args()) args.push_back(arg ? open_expr(arg, environment) : arg);
    return with_args(e, std::move(args));
  }

  Expr open_select(Expr e, const Environment& environment) {
    const Expr condition = open_expr(e.arg(0), environment);
    Environment taken = environment;
    taken.conditions.push_back(condition);
    Environment other = environment;
    other.conditions.push_back(unary(Op::logical_not, condition));
    return where(condition, open_expr(e.arg(1), taken), open_expr(e.arg(2), other));
  }

  Expr open_call(Expr e, const Environment& environment) {
    const Function* function = function_named(e.name());
    if (function == nullptr || environment.depth >= deepest_call) return e;
    return open_expr(function->body, enter(e, *function, environment));
  }

  /// size(j): the extent of an index in scope.
  Expr open_extent(Expr e, const Environment& environment) {
    if (e.args().size() == 1 && e.arg(0).is(Op::index)) {
      const Axis* axis = find_axis(environment.scope, renamed(e.arg(0).name(), environment));
      if (axis != nullptr && axis->hi) return simplify_integer(axis->lo ? axis->hi - axis->lo : axis->hi);
    }
    return e;
  }

  Reduction open_reduction(Expr e, ReducerRef reducer, const Environment& environment) {
    Environment inside = environment;
    Reduction reduction{std::move(reducer), e.node().result, {}, {}, std::nullopt};
    for (const Bound& bound : bounds_of(e)) {
      const Symbol name = bind(bound.index, inside);
      Axis axis{name, {}, {}};
      if (bound.lo && bound.hi) {
        axis.lo = open_expr(bound.lo, environment);
        axis.hi = open_expr(bound.hi, environment);
      } else if (const Axis* outer = find_axis(environment.scope, name)) {
        axis = *outer;  // a function's index takes the caller's range
      } else {
        axis = inferred_axis(name, values_of(e), inside);
      }
      reduction.over.push_back(axis);
      std::erase_if(inside.scope, [&](const Axis& other) { return other.index == name; });
      inside.scope.push_back(axis);
    }
    for (Expr value : values_of(e)) reduction.values.push_back(open_expr(value, inside));
    return reduction;
  }

  /// The name under which a body binds `index`: the caller's for a function's index, else its own, changed where an argument uses it.
  Symbol bind(Symbol index, Environment& environment) const {
    const auto given = environment.indices.find(index);
    if (given != environment.indices.end()) return given->second;
    if (environment.function == nullptr) return index;
    std::set<Symbol> used;
    for (const auto& [name, value] : environment.symbols) used.merge(free_indices(value));
    for (const Axis& axis : environment.scope) used.insert(axis.index);
    Symbol fresh = index;
    for (int n = 1; used.count(fresh) != 0; ++n)
      fresh = Symbol(index.text() + "." + environment.function->name.text() + (n == 1 ? "" : "." + std::to_string(n)));
    environment.indices[index] = fresh;
    return fresh;
  }

  static Symbol renamed(Symbol index, const Environment& environment) {
    const auto found = environment.indices.find(index);
    return found == environment.indices.end() ? index : found->second;
  }

  /// The range of the first dimension that the index alone subscribes.
  Axis inferred_axis(Symbol index, const std::vector<Expr>& values, const Environment& environment) const {
    Axis axis{index, number(0), number(0)};
    bool found = false;
    for (Expr value : values) {
      std::vector<Expr> parts{value};
      if (value)
        visit(value, [&](Expr part) {
          if (!part.is(Op::symbol)) return;
          const auto meaning = environment.symbols.find(part.name());
          if (meaning != environment.symbols.end()) parts.push_back(meaning->second);
        });
      for (Expr part : parts) found = found || infer_range(part, index, environment, axis);
    }
    return axis;
  }

  bool infer_range(Expr value, Symbol wanted, const Environment& environment, Axis& axis) const {
    bool found = false;
    if (!value) return false;
    visit(value, [&](Expr part) {
      if (found || !part.is(Op::read)) return;
      const auto extents = extents_of_tensor(part.name());
      if (!extents) return;
      for (std::size_t i = 0; i < part.args().size() && i < extents->size(); ++i)
        if (part.arg(i).is(Op::index) && renamed(part.arg(i).name(), environment) == wanted && !found) {
          axis.hi = (*extents)[i];
          found = true;
        }
    });
    return found;
  }

  [[nodiscard]] std::optional<std::vector<Expr>> extents_of_tensor(Symbol tensor) const {
    if (auto extents = extents_of(opened_, tensor)) return extents;
    return extents_of(written_, tensor);
  }

  /// A subscript that is computed may lie outside where the select around it is not taken.
  static bool computes_subscripts(Expr e) {
    bool found = false;
    visit(e, [&](Expr part) {
      if (!part.is(Op::read)) return;
      for (Expr at : part.args()) found = found || !at.is(Op::index);
    });
    return found;
  }

  /// The value under the conditions of the selects that it was hoisted out of, where it might load what they keep from being loaded.
  static void keep_lazy(std::variant<Map, Reduction>& value, const std::vector<Expr>& conditions) {
    const auto guard = [&](Expr e, Expr otherwise) {
      if (!computes_subscripts(e)) return e;
      for (auto it = conditions.rbegin(); it != conditions.rend(); ++it)
        if (!free_indices(*it).empty()) e = where(*it, e, otherwise);
      return e;
    };
    if (Map* map = std::get_if<Map>(&value)) {
      map->value = guard(map->value, number(0));
      return;
    }
    Reduction& reduction = std::get<Reduction>(value);
    if (monoid_operation(*reduction.reducer))
      for (Expr& each : reduction.values) each = guard(each, reduction.reducer->state.front().identity);
  }

  /// Makes a statement and returns a read of it; an equal value of this statement's is not emitted twice.
  Expr emit(const std::string& wanted, std::variant<Map, Reduction> value, const Environment& environment) {
    keep_lazy(value, environment.conditions);
    std::vector<Axis> axes = free_axes(value, environment.scope);
    for (const auto& [other, name] : shared_)
      if (other == value) return read_of(name, axes);
    const Symbol name = fresh_name(wanted);
    shared_.emplace_back(value, name);
    const Expr access = read_of(name, axes);
    opened_.statements.push_back(Statement{name, std::move(axes), DType::real, std::move(value), current_->origins});
    return access;
  }

  static std::vector<Axis> free_axes(const std::variant<Map, Reduction>& value, const std::vector<Axis>& scope) {
    std::set<Symbol> free;
    std::set<Symbol> bound;
    if (const Reduction* reduction = std::get_if<Reduction>(&value)) {
      free = indices_of(reduction->values);
      for (const Axis& axis : reduction->over) free.erase(axis.index);
      for (const Axis& axis : reduction->over) free.merge(indices_of({axis.lo, axis.hi}));
    } else {
      free = indices_of({std::get<Map>(value).value});
    }
    std::vector<Axis> axes;
    for (const Axis& axis : scope)
      if (free.count(axis.index) != 0) axes.push_back(axis);
    return axes;
  }

  static Expr read_of(Symbol name, const std::vector<Axis>& axes) {
    std::vector<Expr> subscripts;
    subscripts.reserve(axes.size());
    for (const Axis& axis : axes) subscripts.push_back(index(axis.index));
    return read(name, std::move(subscripts));
  }

  Symbol fresh_name(const std::string& wanted) {
    Symbol name(wanted);
    for (int n = 2; !taken_.insert(name).second; ++n) name = Symbol(wanted + "." + std::to_string(n));
    return name;
  }

  [[nodiscard]] const Function* function_named(Symbol name) const {
    for (const Function& function : written_.functions)
      if (function.name == name) return &function;
    return nullptr;
  }

  const Program& written_;
  Program opened_;
  const Statement* current_ = nullptr;
  std::set<Symbol> taken_;
  std::vector<std::pair<std::variant<Map, Reduction>, Symbol>> shared_;  ///< what the current statement emitted already
};

}  // namespace

Program open(const Program& as_written) { return Opener(as_written).run(); }

}  // namespace fathom::math
