// An operator: parameters, results, conditions, statements; then what the program needs of its file.
#include "lang/check_operator.hpp"

#include <algorithm>

#include "lang/operator_scope.hpp"

namespace fathom::lang {
namespace {

constexpr std::size_t most_parameters = 256;
constexpr double most_elements = 4611686018427387904.0;  // 2^62: every offset fits 64 bits

std::string quoted(Symbol name) { return "`" + name.text() + "`"; }

class OperatorChecker {
 public:
  OperatorChecker(const OperatorSyntax& syntax, const FileScope& file, Sink& sink)
      : syntax_(syntax), file_(file), sink_(sink), scope_(syntax, file, sink) {}

  std::optional<math::Program> run() {
    const std::size_t before = sink_.count();
    program_.name = syntax_.name.name;
    if (syntax_.params.size() + syntax_.results.size() > most_parameters) {
      sink_.error(syntax_.name.span, quoted(program_.name) + " has too many parameters and results",
                  "at most " + std::to_string(most_parameters));
      return std::nullopt;
    }
    parameters();
    results();
    if (!conditions()) return std::nullopt;
    declare_gauges();
    for (const StatementSyntax& statement : syntax_.statements) {
      if (auto checked = check_statement(statement, scope_)) program_.statements.push_back(std::move(*checked));
    }
    if (!syntax_.broken) results_defined();
    if (sink_.count() != before || syntax_.broken) return std::nullopt;
    for (const Expr equality : scope_.equalities) {
      if (std::find(program_.conditions.begin(), program_.conditions.end(), equality) == program_.conditions.end())
        program_.conditions.push_back(equality);
    }
    complete();
    return std::move(program_);
  }

 private:
  // ---- parameters and results ----
  bool is_new(const NameSyntax& name, const std::string& what) {
    std::string as;
    if (scope_.dimension(name.name) != nullptr) as = "a dimension";
    if (scope_.constant(name.name)) as = "a constant";
    if (!as.empty()) sink_.error(name.span, quoted(name.name) + " is " + as + " and cannot be a " + what + " too", "take another name");
    const auto [known, inserted] = declared_.emplace(name.name, name.span);
    if (!inserted) {
      sink_.error(name.span, quoted(name.name) + " is declared twice",
                  what == "result" ? "a result needs a name of its own" : "take another name",
                  {{Severity::note, known->second, "first declared here", {}, {}}});
    }
    return as.empty() && inserted;
  }

  std::optional<math::Parameter> parameter(const ParamSyntax& syntax, const std::string& what) {
    const std::size_t before = sink_.count();
    math::Parameter parameter;
    parameter.name = syntax.name.name;
    parameter.dtype = syntax.dtype;
    parameter.strided = syntax.strided;
    parameter.span = syntax.name.span;
    if (syntax.extents.size() > most_axes)
      sink_.error(syntax.name.span, "the " + what + " " + quoted(parameter.name) + " has too many dimensions",
                  "at most " + std::to_string(most_axes));
    double elements = 1;
    for (const SyntaxRef extent : syntax.extents) {
      const Expr e = this->extent(*extent, parameter.name);
      parameter.extents.push_back(e);
      const auto value = e ? evaluate_integer(e, scope_.defaults) : std::nullopt;
      if (value) elements *= static_cast<double>(std::max<std::int64_t>(*value, 1));
    }
    if (elements > most_elements)
      sink_.error(syntax.name.span, quoted(parameter.name) + " has more than 2^62 elements" + scope_.with_values(parameter.extents));
    storage(syntax, parameter);
    if (sink_.count() != before) return std::nullopt;
    return parameter;
  }

  Expr extent(const Syntax& syntax, Symbol owner) {
    Scope names;
    names.bare = [this](Symbol name) { return scope_.dimension(name) != nullptr ? dim(name) : scope_.constant(name); };
    names.explain = [this](Symbol name) -> std::optional<std::pair<std::string, std::string>> {
      if (declared_.count(name) == 0) return std::nullopt;
      return std::pair(quoted(name) + " is a parameter; an extent is made of dimensions", "declare `dim " + name.text() + " = runtime …`");
    };
    names.candidates = [this] { return scope_.candidates(false); };
    names.fixed_value = scope_.names({}).fixed_value;
    if (syntax.kind == SyntaxKind::name && scope_.dimension(syntax.name) == nullptr && !scope_.constant(syntax.name) &&
        declared_.count(syntax.name) == 0) {
      const std::string near = suggest(syntax.name.text(), scope_.candidates(false));
      if (!file_.is_broken)
        sink_.error(syntax.span, "there is no dimension " + quoted(syntax.name),
                    near.empty() ? "declare it: `dim " + syntax.name.text() + " = 128`" : near);
      return {};
    }
    const Expr e = lower(&syntax, names, sink_);
    if (!e) return {};
    const auto type = symbolic_type(e, {});
    if (!type || type->kind != Kind::integer) {
      sink_.error(syntax.span, "an extent of " + quoted(owner) + " must be an integer, not " + (type ? text(*type) : "this"),
                  "`//` divides integers");
      return {};
    }
    const auto value = evaluate_integer(e, scope_.defaults);
    if (!value || *value < 0 || !scope_.facts.implies_not_negative(e)) {
      sink_.error(syntax.span, "an extent of " + quoted(owner) +
                                   (value && *value < 0 ? " is negative: " + std::to_string(*value) : " may be negative or undefined") +
                                   scope_.with_values({e}));
      return {};
    }
    return e;
  }

  void storage(const ParamSyntax& syntax, math::Parameter& parameter) {
    if (syntax.stored.empty()) return;
    std::set<Symbol> given, wanted;
    bool plain = syntax.stored.size() == parameter.extents.size();
    for (const Expr extent : parameter.extents) plain = plain && extent.is(Op::dim) && wanted.insert(extent.name()).second;
    for (const NameSyntax& name : syntax.stored) {
      plain = plain && given.insert(name.name).second;
      parameter.stored.push_back(name.name);
    }
    if (plain && given == wanted) return;
    SourceSpan span = syntax.stored.front().span;
    span.end = syntax.stored.back().span.end;
    sink_.error(span, "the storage order of " + quoted(parameter.name) + " must name each of its dimensions once",
                "reorder them, as in `x: f32[A, B] stored(B, A)`; all must be different");
  }

  void parameters() {
    for (const ParamSyntax& syntax : syntax_.params) {
      const bool named = is_new(syntax.name, "parameter");
      auto checked = parameter(syntax, "parameter");
      Tensor tensor;
      tensor.span = syntax.name.span;
      tensor.type = declared(syntax.dtype);
      tensor.is_parameter = true;
      tensor.is_broken = !checked;
      for (std::size_t i = 0; i < syntax.extents.size(); ++i) tensor.ranges.push_back({number(0), checked ? checked->extents[i] : Expr{}});
      if (named) scope_.tensors[syntax.name.name] = std::move(tensor);
      if (checked) program_.params.push_back(std::move(*checked));
    }
  }
  void results() {
    for (const ParamSyntax& syntax : syntax_.results) {
      const bool named = is_new(syntax.name, "result");
      auto checked = parameter(syntax, "result");
      if (!checked) continue;
      if (named) scope_.result_extents[syntax.name.name] = checked->extents;
      program_.results.push_back(std::move(*checked));
    }
  }
  void results_defined() {
    for (const ParamSyntax& result : syntax_.results) {
      if (scope_.tensors.count(result.name.name) != 0) continue;
      std::string subscripts;
      for (std::size_t i = 0; i < result.extents.size(); ++i) subscripts += i == 0 ? "…" : ",…";
      sink_.error(result.name.span, "result " + quoted(result.name.name) + " is never defined",
                  "add `" + result.name.name.text() + (subscripts.empty() ? "" : "[" + subscripts + "]") + " = …`");
    }
  }

  // ---- conditions ----
  /// Returns whether all of them hold at these dimensions: what is wrong there besides follows from that.
  bool conditions() {
    bool hold = true;
    Scope names = scope_.names({});
    for (const SyntaxRef syntax : syntax_.conditions) {
      if (!is_uniform(*syntax)) continue;
      const Expr condition = lower(syntax, names, sink_);
      if (!condition) continue;
      const auto type = condition_type(condition);
      if (!type || type->kind != Kind::boolean) {
        sink_.error(syntax->span, type ? "a condition must be bool, not " + text(*type) : type.error().message,
                    type ? "compare, as in `S == T`" : type.error().cure);
        continue;
      }
      if (evaluate_integer(condition, scope_.defaults) == 0) {
        sink_.error(syntax->span, "the condition `" + print(condition) + "` does not hold" + values_in(condition),
                    "change the dimensions in the file, or with `--dim`");
        hold = false;
        continue;
      }
      scope_.facts.add_condition(condition, true);
      program_.conditions.push_back(condition);
    }
    return hold;
  }
  [[nodiscard]] Typed<Type> condition_type(Expr condition) const {
    const TypeScope names{[this](Symbol name) {
                            const auto found = scope_.tensors.find(name);
                            return found == scope_.tensors.end() ? Type{} : found->second.type;
                          },
                          {}};
    return inlined_type(condition, {}, file_.functions, names);
  }
  bool is_uniform(const Syntax& s) {
    const bool calls = s.kind == SyntaxKind::call && !function_named(s.name.text());
    if (s.kind == SyntaxKind::subscripted || s.kind == SyntaxKind::indexed || calls) {
      sink_.error(s.span, "a condition is about dimensions and scalar parameters, since it is tested before the launch");
      return false;
    }
    return std::all_of(s.args.begin(), s.args.end(), [&](SyntaxRef arg) { return is_uniform(*arg); });
  }
  [[nodiscard]] std::string values_in(Expr e) const {
    std::string text;
    for (const Symbol name : dims_in(e))
      text += (text.empty() ? ": " : ", ") + name.text() + " = " + std::to_string(scope_.defaults.at(name));
    return text;
  }

  // ---- what the program needs of its file ----
  void declare_gauges() {
    for (const StatementSyntax& statement : syntax_.statements) {
      if (!statement.repair) continue;
      for (const GaugeSyntax& gauge : statement.repair->gauges) scope_.gauges.insert(gauge.name.name);
    }
  }

  [[nodiscard]] std::vector<Expr> all_expressions() const {
    std::vector<Expr> all = program_.conditions;
    const auto add_axes = [&](const std::vector<math::Axis>& axes) {
      for (const math::Axis& axis : axes) all.insert(all.end(), {axis.lo, axis.hi});
    };
    for (const auto* list : {&program_.params, &program_.results}) {
      for (const math::Parameter& parameter : *list) all.insert(all.end(), parameter.extents.begin(), parameter.extents.end());
    }
    for (const math::Statement& statement : program_.statements) {
      add_axes(statement.axes);
      if (const math::Map* map = statement.map()) {
        all.push_back(map->value);
        continue;
      }
      const math::Reduction& reduction = *statement.reduction();
      add_axes(reduction.over);
      all.insert(all.end(), reduction.values.begin(), reduction.values.end());
      if (!reduction.repair) continue;
      for (const math::Gauge& gauge : reduction.repair->gauges) all.push_back(gauge.reference);
      for (const math::Carried& carried : reduction.repair->carried) all.insert(all.end(), {carried.term, carried.move});
      all.push_back(reduction.repair->project);
    }
    return all;
  }

  void complete() {
    std::vector<Expr> all = all_expressions();
    program_.functions = file_.functions.reached_from(all);
    for (const math::Function& function : program_.functions) {
      all.push_back(function.body);
      for (const auto& [name, value] : function.locals) all.push_back(value);
    }
    std::set<Symbol> dims, reducers;
    for (const Expr e : all) {
      dims.merge(dims_in(e));
      visit(e, [&](Expr part) {
        if (part.is(Op::reduce)) reducers.insert(part.name());
      });
    }
    for (const math::Statement& statement : program_.statements) {
      if (const math::Reduction* reduction = statement.reduction()) reducers.insert(reduction->reducer->name);
      if (const math::Reduction* reduction = statement.reduction(); reduction != nullptr && reduction->repair) {
        for (const math::Carried& carried : reduction->repair->carried) reducers.insert(carried.reducer->name);
      }
    }
    for (const math::Dimension& dimension : file_.dims) {
      if (dims.count(dimension.name) != 0) program_.dims.push_back(dimension);
    }
    for (const ReducerRef& reducer : file_.reducers) {
      if (reducers.count(reducer->name) != 0) program_.reducers.push_back(reducer);
    }
  }

  const OperatorSyntax& syntax_;
  const FileScope& file_;
  Sink& sink_;
  OperatorScope scope_;
  math::Program program_;
  std::map<Symbol, SourceSpan> declared_;
};

}  // namespace

std::optional<math::Program> check_operator(const OperatorSyntax& syntax, const FileScope& file, Sink& sink) {
  return OperatorChecker(syntax, file, sink).run();
}

}  // namespace fathom::lang
