// Types of a statement's operations, reported at the smallest expression that is wrong.
#include <algorithm>

#include "lang/statement_checks.hpp"

namespace fathom::lang {
namespace {

class TypeChecker {
 public:
  explicit TypeChecker(OperatorScope& scope) : scope_(scope) {}

  Type run(const Syntax& s) {
    switch (s.kind) {
      case SyntaxKind::literal:
        return reported(symbolic_type(s.literal, {}), s.span);
      case SyntaxKind::name:
        return named(s);
      case SyntaxKind::subscripted:
        return subscripted(s);
      case SyntaxKind::call:
        return call(s);
      case SyntaxKind::indexed:
        return indexed(s);
      case SyntaxKind::cast:
        static_cast<void>(run(*s.args[0]));
        return declared(s.dtype);
      case SyntaxKind::operation: {
        const std::vector<Type> types = all(s.args);
        return reported(operation_type(s.op, types, values(s)), s.span);
      }
      case SyntaxKind::tuple:
        return {};
    }
    return {};
  }

  void integer(const Syntax& s, const std::string& what, const std::string& tensor) {
    const Type type = run(s);
    if (type.kind == Kind::unknown || type.kind == Kind::integer) return;
    scope_.sink.error(s.span, what + " must be an integer, not " + text(type) + tensor,
                      type.kind == Kind::boolean ? "compare, or use `where(…, 1, 0)`" : "`i32(…)` makes an integer; `//` divides integers");
  }

 private:
  Type reported(const Typed<Type>& type, SourceSpan span) {
    if (type) return *type;
    scope_.sink.error(span, type.error().message, type.error().cure);
    return {};
  }
  std::vector<Type> all(const std::vector<SyntaxRef>& args) {
    std::vector<Type> types;
    for (const SyntaxRef arg : args) types.push_back(run(*arg));
    return types;
  }
  static std::vector<Expr> values(const Syntax& s) {
    std::vector<Expr> exprs;
    for (const SyntaxRef arg : s.args) exprs.push_back(arg->expr);
    return exprs;
  }
  [[nodiscard]] Type tensor_type(Symbol name) const {
    const auto found = scope_.tensors.find(name);
    return found == scope_.tensors.end() ? Type{} : found->second.type;
  }

  Type named(const Syntax& s) {
    if (!s.expr) return {};
    if (s.expr.is(Op::read)) return tensor_type(s.expr.name());
    return reported(symbolic_type(s.expr, {}), s.span);
  }
  Type subscripted(const Syntax& s) {
    for (const SyntaxRef arg : s.args) integer(*arg, "a subscript", "");
    return tensor_type(s.name);
  }
  Type call(const Syntax& s) {
    const std::vector<Type> types = all(s.args);
    const auto op = function_named(s.name.text());
    if (op && (*op == Op::min || *op == Op::max)) {
      Type folded = types.empty() ? Type{} : types[0];
      for (std::size_t i = 1; i < types.size(); ++i)
        folded = reported(operation_type(*op, std::vector<Type>{folded, types[i]}, values(s)), s.span);
      return folded;
    }
    return op ? reported(operation_type(*op, types, values(s)), s.span) : inlined(s, types);
  }
  Type inlined(const Syntax& s, const std::vector<Type>& types) {
    for (const Type& type : types) {
      if (type.kind == Kind::unknown) return {};
    }
    TypeScope names{[this](Symbol name) { return tensor_type(name); }, [this](Symbol name) { return scope_.reducer(name); }};
    if (!s.expr) return {};
    divisors(s);
    return reported(inlined_type(s.expr, {}, scope_.file.functions, names), s.span);
  }
  /// A divisor of the function's body that the arguments make 0; one that is 0 whatever they are was reported there.
  void divisors(const Syntax& s) {
    const auto divides = [](Expr root) {
      bool found = false;
      visit(root, [&](Expr e) { found = found || e.is(Op::floordiv) || e.is(Op::mod); });
      return found;
    };
    const std::vector<math::Function> called = scope_.file.functions.reached_from({s.expr});
    const bool any = divides(s.expr) || std::any_of(called.begin(), called.end(), [&](const math::Function& function) {
                       return divides(function.body) || std::any_of(function.locals.begin(), function.locals.end(),
                                                                    [&](const auto& local) { return divides(local.second); });
                     });
    if (!any) return;  // mostly: nothing needs to be written out
    visit(s.expr.is(Op::call) ? inline_call(s.expr, {}, scope_.file.functions) : s.expr, [&](Expr e) {
      if ((e.is(Op::floordiv) || e.is(Op::mod)) && evaluate_integer(e.arg(1), scope_.facts.fixed()) == 0)
        scope_.sink.error(s.span, "`" + s.name.text() + "` divides by 0 here" + scope_.with_values({e.arg(1)}));
    });
  }
  Type indexed(const Syntax& s) {
    for (const BindSyntax& bind : s.binds) {
      for (const SyntaxRef edge : {bind.lo, bind.hi}) {
        if (edge != nullptr) integer(*edge, "the bound of a range", "");
      }
    }
    std::vector<Type> types = all(s.args);
    const ReducerRef reducer = scope_.reducer(s.name);
    if (!reducer) return inlined(s, types);
    while (types.size() < reducer->parameters.size()) types.push_back(Type{Kind::integer});  // the implicit index of argmax
    return reported(reduction_type(*reducer, s.result, types), s.span);
  }

  OperatorScope& scope_;
};

}  // namespace

Type check_types(const StatementSyntax& syntax, OperatorScope& scope) {
  TypeChecker checker(scope);
  for (const BindSyntax& axis : syntax.axes) {
    for (const SyntaxRef edge : {axis.lo, axis.hi}) {
      if (edge != nullptr) checker.integer(*edge, "the bound of a range", "");
    }
  }
  const Type type = checker.run(*syntax.value);
  DType stored = syntax.dtype;
  for (const ParamSyntax& result : scope.syntax.results) {
    if (result.name.name != syntax.name.name) continue;
    if (stored != DType::real && stored != result.dtype) {
      scope.sink.error(syntax.dtype_span,
                       "`" + syntax.name.name.text() + "` is " + std::string(name(stored)) + " here, but " +
                           std::string(name(result.dtype)) + " among the operator's results",
                       "leave the type out", {{Severity::note, result.name.span, "declared here", {}, {}}});
    }
    stored = result.dtype;
  }
  if (stored == DType::real) return type;
  if (!is_storable(type, stored)) {
    const std::string to(name(stored));
    const bool from_bool = type.kind == Kind::boolean;
    scope.sink.error(syntax.value->span, "`" + syntax.name.name.text() + "` is " + to + ", but its value is " + text(type),
                     stored == DType::boolean ? "compare, as in `x != 0`"
                     : from_bool              ? "a bool becomes a number by `where(…, 1, 0)`"
                                              : "write `" + to + "(…)` if you mean to round");
  }
  return declared(stored);
}

}  // namespace fathom::lang
