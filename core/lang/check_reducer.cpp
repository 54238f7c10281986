// Declarations of reducers: names, counts, types; then the laws.
#include <algorithm>
#include <array>
#include <set>

#include "lang/laws.hpp"
#include "lang/reducers.hpp"

namespace fathom::lang {
namespace {

constexpr std::size_t most_components = 16;
constexpr std::size_t largest_combine = 2000;

class ReducerChecker {
 public:
  ReducerChecker(const ReducerSyntax& syntax, const Declared& declared, Sink& sink) : syntax_(syntax), declared_(declared), sink_(sink) {}

  ReducerRef run() {
    const std::size_t before = sink_.count();
    names();
    counts();
    if (sink_.count() != before) return nullptr;
    Reducer reducer;
    reducer.name = syntax_.name.name;
    for (const NameSyntax& parameter : syntax_.parameters) reducer.parameters.push_back(parameter.name);
    const std::set<Symbol> lifted(reducer.parameters.begin(), reducer.parameters.end());
    std::set<Symbol> left, both;
    for (const StateSyntax& state : syntax_.state) {
      left.insert(state.name.name);
      both.insert({state.name.name, primed(state.name.name)});
    }
    for (std::size_t i = 0; i < syntax_.state.size(); ++i) {
      const StateSyntax& state = syntax_.state[i];
      reducer.state.push_back(
          {state.name.name, state.dtype, value(state.identity, {}), value(syntax_.lift[i], lifted), value(syntax_.combine[i], both)});
    }
    for (const LocalSyntax& result : syntax_.results) reducer.results.push_back({result.name.name, value(result.value, left)});
    if (syntax_.results.empty()) reducer.results.push_back({syntax_.state[0].name.name, symbol(syntax_.state[0].name.name)});
    if (sink_.count() != before || !types(reducer)) return nullptr;
    return with_laws(std::move(reducer));
  }

 private:
  void names() {
    std::set<Symbol> parameters, state, results;
    for (const NameSyntax& one : syntax_.parameters) unique(one, parameters, "parameter");
    for (const StateSyntax& one : syntax_.state) {
      unique(one.name, state, "component");
      if (one.name.name.text().back() == '\'')
        sink_.error(one.name.span, "a component's name has no prime", "`a'` is the right operand of `a`");
    }
    for (const LocalSyntax& one : syntax_.results) unique(one.name, results, "result");
    if (syntax_.parameters.empty())
      sink_.error(syntax_.name.span, "`" + syntax_.name.name.text() + "` has no parameter", "a reducer lifts at least one value");
    if (syntax_.state.size() > most_components || syntax_.parameters.size() > most_components) {
      sink_.error(syntax_.name.span, "`" + syntax_.name.name.text() + "` is too large",
                  "at most " + std::to_string(most_components) + " components and parameters");
    }
  }
  void unique(const NameSyntax& one, std::set<Symbol>& seen, const std::string& what) {
    if (!seen.insert(one.name).second) sink_.error(one.span, "the " + what + " `" + one.name.text() + "` is declared twice");
  }
  void counts() {
    const auto check = [&](std::size_t given, SourceSpan span, const std::string& word) {
      if (given == syntax_.state.size()) return;
      sink_.error(span,
                  "`" + word + "` gives " + std::to_string(given) + " values, but the state has " + std::to_string(syntax_.state.size()) +
                      " components",
                  "one expression for each component");
    };
    check(syntax_.lift.size(), syntax_.lift_span, "lift");
    check(syntax_.combine.size(), syntax_.combine_span, "combine");
  }

  /// Over `names`, numbers and constants; calls of functions are inlined, so that a reducer stands for itself.
  Expr value(SyntaxRef syntax, const std::set<Symbol>& names) {
    if (!walk(*syntax)) return {};
    Scope scope = declared_.names;
    scope.bare = [&](Symbol name) {
      if (names.count(name) != 0) return symbol(name);
      const Expr constant = declared_.names.bare ? declared_.names.bare(name) : Expr{};
      return constant && dims_in(constant).empty() ? constant : Expr{};
    };
    scope.candidates = [&] {
      std::vector<std::string> all;
      for (const Symbol name : names) all.push_back(name.text());
      return all;
    };
    const Expr lowered = lower(syntax, scope, sink_);
    if (!lowered) return {};
    if (inlined_cost(lowered, declared_.functions).size > largest_combine) {
      sink_.error(syntax->span, "the expression is too large for a reducer",
                  "at most " + std::to_string(largest_combine) + " operations after inlining");
      return {};
    }
    return transform(lowered, [&](Expr e) { return e.is(Op::call) ? inline_call(e, {}, declared_.functions) : e; });
  }
  bool walk(const Syntax& s) {
    const bool draws = s.kind == SyntaxKind::call && s.name.text() == "random";
    if (s.kind == SyntaxKind::subscripted || s.kind == SyntaxKind::indexed || draws) {
      sink_.error(s.span, draws ? "a reducer draws no random numbers" : "a reducer reads no tensors and reduces nothing",
                  "pass such values as parameters");
      return false;
    }
    if (s.kind == SyntaxKind::call && !function_named(s.name.text()) && callee(s, declared_.functions, sink_) == nullptr) return false;
    return std::all_of(s.args.begin(), s.args.end(), [&](SyntaxRef arg) { return walk(*arg); });
  }

  // ---- types ----
  static constexpr std::array<Kind, 3> kinds = {Kind::real, Kind::boolean, Kind::integer};

  [[nodiscard]] static std::map<Symbol, Type> state_types(const Reducer& reducer) {
    std::map<Symbol, Type> types;
    for (const Component& component : reducer.state) types[component.name] = types[primed(component.name)] = declared(component.dtype);
    return types;
  }

  /// Kinds of the parameters with which every lift has the type of its component: reals are tried first.
  bool lifts(const Reducer& reducer, const std::vector<Kind>& given) const {
    std::map<Symbol, Type> parameters;
    for (std::size_t i = 0; i < given.size(); ++i) parameters[reducer.parameters[i]] = Type{given[i]};
    return std::all_of(reducer.state.begin(), reducer.state.end(), [&](const Component& component) {
      const auto type = symbolic_type(component.lift, parameters);
      return type && is_storable(*type, component.dtype);
    });
  }
  bool find_kinds(const Reducer& reducer) {
    constexpr std::size_t most_tries = 729;
    std::vector<std::size_t> choice(reducer.parameters.size(), 0);
    for (std::size_t tries = 0; tries < most_tries; ++tries) {
      parameter_kinds_.clear();
      for (const std::size_t c : choice) parameter_kinds_.push_back(kinds[c]);
      if (lifts(reducer, parameter_kinds_)) return true;
      std::size_t at = 0;
      while (at < choice.size() && ++choice[at] == kinds.size()) choice[at++] = 0;
      if (at == choice.size()) return false;
    }
    return false;
  }

  bool types(const Reducer& reducer) {
    const std::size_t before = sink_.count();
    const std::map<Symbol, Type> state = state_types(reducer);
    for (std::size_t i = 0; i < reducer.state.size(); ++i) {
      const Component& component = reducer.state[i];
      fits(component.identity, {}, component, syntax_.state[i].identity->span, "identity");
      fits(component.combine, state, component, syntax_.combine[i]->span, "combination");
    }
    for (std::size_t i = 0; i < syntax_.results.size(); ++i) {
      const auto type = symbolic_type(reducer.results[i].value, state);
      if (!type) sink_.error(syntax_.results[i].value->span, type.error().message, type.error().cure);
    }
    if (sink_.count() != before) return false;
    if (find_kinds(reducer)) return true;
    sink_.error(syntax_.lift_span, "the lift has not the types of the state, whatever the parameters are",
                "a component is real unless it says otherwise: `name: bool = false`");
    return false;
  }
  void fits(Expr value, const std::map<Symbol, Type>& names, const Component& component, SourceSpan span, const std::string& what) {
    const auto type = symbolic_type(value, names);
    if (!type) {
      sink_.error(span, type.error().message, type.error().cure);
    } else if (!is_storable(*type, component.dtype)) {
      sink_.error(span,
                  "the " + what + " of `" + component.name.text() + "` is " + text(*type) + ", but the component is " +
                      std::string(name(component.dtype)),
                  "declare it: `" + component.name.text() + ": " + (type->kind == Kind::boolean ? "bool" : "f32") + " = …`");
    }
  }

  ReducerRef with_laws(Reducer reducer) {
    const Laws laws = test_laws(reducer, parameter_kinds_);
    if (!laws.violation.empty()) {
      sink_.error(syntax_.combine_span, "`" + reducer.name.text() + "` is not a reducer: " + laws.violation,
                  "states must combine in any grouping to the same state, and the identity must change nothing");
      return nullptr;
    }
    reducer.commutative = laws.commutative;
    reducer.idempotent = laws.idempotent;
    return std::make_shared<const Reducer>(std::move(reducer));
  }

  const ReducerSyntax& syntax_;
  const Declared& declared_;
  Sink& sink_;
  std::vector<Kind> parameter_kinds_;
};

}  // namespace

ReducerRef check_reducer(const ReducerSyntax& syntax, const Declared& declared, Sink& sink) {
  return ReducerChecker(syntax, declared, sink).run();
}

}  // namespace fathom::lang
