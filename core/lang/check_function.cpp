// Declarations of functions: names, indices, calls of earlier functions. Types are checked at each call, where they are known.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lang/functions.hpp"

namespace fathom::lang {
namespace {

/// How the notation writes what other languages call by this name.
std::string elsewhere(std::string_view name) {
  struct Other {
    std::string_view name, cure;
  };
  static constexpr auto others = std::to_array<Other>({{"pow", "write `x ^ y`"},
                                                       {"power", "write `x ^ y`"},
                                                       {"square", "write `x ^ 2`"},
                                                       {"ln", "the natural logarithm is `log`"},
                                                       {"fabs", "write `abs(x)`"},
                                                       {"fmax", "write `max(x, y)`"},
                                                       {"maximum", "write `max(x, y)`"},
                                                       {"fmin", "write `min(x, y)`"},
                                                       {"minimum", "write `min(x, y)`"},
                                                       {"relu", "write `max(x, 0)`"},
                                                       {"select", "write `where(condition, x, y)`"},
                                                       {"floordiv", "write `i // j`"},
                                                       {"mod", "write `i % j`"}});
  for (const Other& other : others)
    if (other.name == name) return std::string(other.cure);
  return {};
}

std::string count_of(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : what == "index" ? "" : "s");
}

class FunctionChecker {
 public:
  FunctionChecker(const FnSyntax& syntax, const Declared& declared, Sink& sink) : syntax_(syntax), declared_(declared), sink_(sink) {}

  std::optional<Function> run() {
    const std::size_t before = sink_.count();
    declare(syntax_.indices, "index");
    declare(syntax_.parameters, "parameter");
    Function function;
    function.ir.name = syntax_.name.name;
    function.ir.span = syntax_.name.span;
    for (const NameSyntax& index : syntax_.indices) function.ir.indices.push_back(index.name);
    for (const NameSyntax& parameter : syntax_.parameters) function.ir.parameters.push_back(parameter.name);
    for (const LocalSyntax& local : syntax_.locals) {
      const Expr value = lowered(local.value);
      declare({local.name}, "name");
      if (value) function.ir.locals.emplace_back(local.name.name, value);
    }
    function.ir.body = lowered(syntax_.body);
    if (sink_.count() != before || !function.ir.body) return std::nullopt;
    measure(function);
    if (sink_.count() != before) return std::nullopt;
    return function;
  }

 private:
  void declare(const std::vector<NameSyntax>& names, const std::string& what) {
    for (const NameSyntax& name : names) {
      if (!known_.insert(name.name).second) {
        sink_.error(name.span, "`" + name.name.text() + "` is already a name of this function", "give each " + what + " a name of its own");
      }
    }
  }
  [[nodiscard]] bool is_index(Symbol name) const {
    return std::any_of(syntax_.indices.begin(), syntax_.indices.end(), [&](const NameSyntax& index) { return index.name == name; });
  }

  Expr lowered(SyntaxRef value) {
    Scope scope = declared_.names;
    scope.bare = [this](Symbol name) {
      if (is_index(name)) return index(name);
      if (known_.count(name) != 0) return symbol(name);
      return declared_.names.bare ? declared_.names.bare(name) : Expr{};
    };
    scope.candidates = [this] {
      std::vector<std::string> names = declared_.names.candidates ? declared_.names.candidates() : std::vector<std::string>{};
      for (const Symbol name : known_) names.push_back(name.text());
      return names;
    };
    std::vector<Symbol> bound;
    walk(*value, bound);
    return lower(value, scope, sink_);
  }

  void walk(const Syntax& s, std::vector<Symbol>& bound) {
    if (s.kind == SyntaxKind::subscripted) {
      sink_.error(s.span, "a function reads no tensors", "give it a parameter, and pass `" + s.name.text() + "[…]` where it is called");
      return;
    }
    const std::size_t outer = bound.size();
    if (s.kind == SyntaxKind::call && !function_named(s.name.text())) static_cast<void>(callee(s, declared_.functions, sink_));
    if (s.kind == SyntaxKind::indexed) indexed(s, bound);
    for (const SyntaxRef arg : s.args) walk(*arg, bound);
    bound.resize(outer);
    for (const BindSyntax& bind : s.binds) {
      for (const SyntaxRef edge : {bind.lo, bind.hi}) {
        if (edge != nullptr) walk(*edge, bound);
      }
    }
  }

  void indexed(const Syntax& s, std::vector<Symbol>& bound) {
    const bool reduces = (declared_.names.reducer ? declared_.names.reducer(s.name) : builtin_reducer(s.name)) != nullptr;
    if (!reduces) static_cast<void>(callee(s, declared_.functions, sink_));
    for (const BindSyntax& bind : s.binds) {
      const bool own = !is_index(bind.index);
      const bool is_bound = std::find(bound.begin(), bound.end(), bind.index) != bound.end();
      const std::string name = bind.index.text();
      if (!own && bind.lo != nullptr) {
        sink_.error(bind.span, "`" + name + "` takes its range from the caller", "write `[" + name + "]` without a range");
      } else if (own && !reduces && !is_bound) {
        sink_.error(bind.span, "`" + name + "` is not an index here",
                    fmt::format("make it an index of the function: `fn {}[{}](…)`", syntax_.name.name.text(), name));
      } else if (own && reduces && is_bound) {
        sink_.error(bind.span, "index `" + name + "` is bound twice", "take another name");
      } else if (own && reduces && bind.lo == nullptr) {
        sink_.error(bind.span, "the range of `" + name + "` does not follow from anything here",
                    fmt::format("write `{0} in lo:hi`, or make `{0}` an index of the function", name));
      }
      if (reduces) bound.push_back(bind.index);
    }
  }

  void measure(Function& function) {
    std::vector<Expr> parts = {function.ir.body};
    for (const auto& [name, value] : function.ir.locals) parts.push_back(value);
    function.cost = {0, 0};
    for (const Expr part : parts) {
      const Cost cost = inlined_cost(part, declared_.functions);
      function.cost.size = std::min(function.cost.size + cost.size, largest_expression * 2);
      function.cost.depth += cost.depth;  // a local may stand at the bottom of the next one
      visit(part, [&](Expr e) {
        const Function* called = e.is(Op::call) ? declared_.functions.find(e.name()) : nullptr;
        if (called != nullptr) function.call_depth = std::max(function.call_depth, called->call_depth + 1);
      });
      count_uses(part, function);
    }
    if (function.cost.size > largest_expression || function.cost.depth > deepest_expression || function.call_depth > deepest_call) {
      sink_.error(
          syntax_.name.span, "`" + syntax_.name.name.text() + "` is too large once the functions that it calls are inlined",
          "at most " + std::to_string(largest_expression) + " operations, " + std::to_string(deepest_call) + " calls inside each other");
    }
  }
  /// How often a parameter stands in the inlined body: the uses on each path multiply.
  void count_uses(Expr part, Function& function) const {
    for (const Symbol parameter : function.ir.parameters) {
      std::map<Expr, std::size_t> counts;
      visit(part, [&](Expr e) {
        std::size_t count = e.is(Op::symbol) && e.name() == parameter ? 1 : 0;
        const Function* called = e.is(Op::call) ? declared_.functions.find(e.name()) : nullptr;
        for (std::size_t i = 0; i < e.args().size(); ++i) {
          if (!e.arg(i)) continue;
          std::size_t weight = 1;
          if (called != nullptr && i < called->ir.parameters.size()) {
            const auto found = called->uses.find(called->ir.parameters[i]);
            weight = found == called->uses.end() ? 1 : std::max<std::size_t>(1, found->second);
          }
          count = std::min(count + weight * counts[e.arg(i)], largest_expression * 2);
        }
        counts[e] = count;
      });
      std::size_t& uses = function.uses[parameter];
      uses = std::min(uses + counts[part], largest_expression * 2);
    }
  }

  const FnSyntax& syntax_;
  const Declared& declared_;
  Sink& sink_;
  std::set<Symbol> known_;
};

}  // namespace

const Function* callee(const Syntax& call, const Functions& functions, Sink& sink) {
  const Function* function = functions.find(call.name);
  const std::string name = call.name.text();
  if (function == nullptr) {
    if (functions.broken.count(call.name) != 0) return nullptr;
    if (functions.later.count(call.name) != 0) {
      sink.error(call.name_span, "`" + name + "` is used before it is defined", "a function may call those above it, and never itself");
      return nullptr;
    }
    if (function_named(name) && call.kind == SyntaxKind::indexed) {
      sink.error(call.span, "`" + name + "` is a function of values and takes no indices", "write `" + name + "(…)`");
      return nullptr;
    }
    if (builtin_reducer(call.name) && call.kind == SyntaxKind::call) {
      sink.error(call.span, "`" + name + "` reduces over indices", "write `" + name + "[j](…)`");
      return nullptr;
    }
    std::vector<std::string> candidates;
    for (const Function& known : functions.all()) candidates.push_back(known.ir.name.text());
    if (call.kind == SyntaxKind::indexed) {
      for (const ReducerRef& reducer : builtin_reducers()) candidates.push_back(reducer->name.text());
    } else {
      for (int op = 0; op < op_count; ++op) {
        if (kind(static_cast<Op>(op)) == OpKind::function) candidates.emplace_back(spelling(static_cast<Op>(op)));
      }
    }
    const std::string known = elsewhere(name);
    const std::string cure = known.empty() ? suggest(name, candidates) : known;
    sink.error(call.name_span,
               "there is no " + std::string(call.kind == SyntaxKind::indexed ? "reducer or function" : "function") + " `" + name + "`",
               cure);
    return nullptr;
  }
  if (call.binds.size() != function->ir.indices.size() || !call.result.empty()) {
    std::string shape = name;
    for (std::size_t i = 0; i < function->ir.indices.size(); ++i) shape += (i == 0 ? "[" : ",") + function->ir.indices[i].text();
    if (!function->ir.indices.empty()) shape += "]";
    sink.error(call.name_span,
               "`" + name + "` takes " + count_of(function->ir.indices.size(), "index") + ", not " + std::to_string(call.binds.size()),
               "write `" + shape + "(…)`");
    return nullptr;
  }
  if (call.args.size() != function->ir.parameters.size()) {
    std::string list;
    for (const Symbol parameter : function->ir.parameters) list += (list.empty() ? "" : ", ") + parameter.text();
    sink.error(call.span,
               "`" + name + "` takes " + count_of(function->ir.parameters.size(), "argument") + ", not " + std::to_string(call.args.size()),
               "its parameters are (" + list + ")");
    return nullptr;
  }
  return function;
}

std::optional<Function> check_function(const FnSyntax& syntax, const Declared& declared, Sink& sink) {
  return FunctionChecker(syntax, declared, sink).run();
}

}  // namespace fathom::lang
