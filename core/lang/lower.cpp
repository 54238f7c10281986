// Syntax to Expr: names get their meaning from a Scope, functions their arity. Ranges and types are the checker's business.
#include <array>

#include "lang/parser.hpp"

namespace fathom::lang {
namespace {

constexpr std::size_t most_arguments = 255;
constexpr std::size_t longest_shown = 80;  // of an expression in a message

class Lowering {
 public:
  Lowering(const Scope& scope, Sink& sink) : scope_(scope), sink_(sink) {}

  Expr run(SyntaxRef s) {
    s->expr = by_kind(*s);
    return s->expr;
  }

 private:
  Expr by_kind(const Syntax& s) {
    switch (s.kind) {
      case SyntaxKind::literal:
        return s.literal;
      case SyntaxKind::name:
        return bare(s);
      case SyntaxKind::subscripted:
        return with_args(s, [&](std::vector<Expr> args) { return read(s.name, std::move(args)); });
      case SyntaxKind::call:
        return call_of(s);
      case SyntaxKind::indexed:
        return indexed(s);
      case SyntaxKind::cast:
        return with_args(s, [&](const std::vector<Expr>& args) { return cast(s.dtype, args[0]); });
      case SyntaxKind::operation:
        return with_args(s,
                         [&](std::vector<Expr> args) { return divides_by_zero(s, args) ? Expr{} : fathom::make(s.op, std::move(args)); });
      case SyntaxKind::tuple:
        return with_args(s, [&](std::vector<Expr> args) { return tuple(std::move(args)); });
    }
    return {};
  }

  /// All operands are visited, so that several errors are found in one run.
  std::optional<std::vector<Expr>> args_of(const Syntax& s) {
    std::vector<Expr> args;
    bool ok = true;
    for (const SyntaxRef arg : s.args) {
      args.push_back(run(arg));
      ok = ok && args.back();
    }
    if (!ok) return std::nullopt;
    return args;
  }

  template <class Build>
  Expr with_args(const Syntax& s, Build build) {
    auto args = args_of(s);
    return args ? build(std::move(*args)) : Expr{};
  }

  bool divides_by_zero(const Syntax& s, const std::vector<Expr>& args) {
    if ((s.op != Op::floordiv && s.op != Op::mod) || !scope_.fixed_value || scope_.fixed_value(args[1]) != 0) return false;
    std::string values;
    for (const Symbol name : dims_in(args[1]))
      values += (values.empty() ? " (" : ", ") + name.text() + " = " + std::to_string(scope_.fixed_value(dim(name)).value_or(0));
    if (!values.empty()) values += ")";
    std::string text = print(fathom::make(s.op, args));
    if (text.size() > longest_shown) text = text.substr(0, longest_shown) + "…";
    sink_.error(s.span, "`" + text + "` divides by 0" + values, values.empty() ? "" : "change the dimensions in the file, or with `--dim`");
    return true;
  }

  [[nodiscard]] bool is_bound(Symbol name) const {
    for (const Symbol known : bound_) {
      if (known == name) return true;
    }
    return false;
  }

  Expr bare(const Syntax& s) {
    if (is_bound(s.name)) return index(s.name);
    const Expr meaning = scope_.bare ? scope_.bare(s.name) : symbol(s.name);
    if (meaning) return meaning;
    if (const auto why = scope_.explain ? scope_.explain(s.name) : std::nullopt) {
      sink_.error(s.span, why->first, why->second);
      return {};
    }
    std::vector<std::string> candidates = scope_.candidates ? scope_.candidates() : std::vector<std::string>{};
    for (const Symbol known : bound_) candidates.push_back(known.text());
    sink_.error(s.span, "`" + s.name.text() + "` is not defined", suggest(s.name.text(), candidates));
    return {};
  }

  Expr call_of(const Syntax& s) {
    auto args = args_of(s);
    const auto op = function_named(s.name.text());
    if (!op) return args ? call(s.name, {}, std::move(*args)) : Expr{};
    const bool folds = *op == Op::min || *op == Op::max;
    const int wanted = fathom::arity(*op);  // -1: one or more
    const std::size_t least = wanted < 0 ? 1 : static_cast<std::size_t>(wanted);
    const bool open = wanted < 0 || folds;
    if (s.args.size() < least || s.args.size() > (open ? most_arguments : least)) {
      const std::string count = (open ? "at least " : "") + std::to_string(least);
      sink_.error(
          s.span,
          "`" + s.name.text() + "` takes " + count + (least == 1 ? " argument, not " : " arguments, not ") + std::to_string(s.args.size()),
          builtin_reducer(s.name) ? "the reduction is `" + s.name.text() + "[j](…)`" : "");
      return {};
    }
    if (!args) return {};
    if (!folds) return fathom::make(*op, std::move(*args));
    Expr folded = (*args)[0];  // min(a, b, c) is min(min(a, b), c)
    for (std::size_t i = 1; i < args->size(); ++i) folded = binary(*op, folded, (*args)[i]);
    return folded;
  }

  /// Which reducer a name means, `top.value` of a level text included.
  struct Reduced {
    ReducerRef reducer;
    Symbol result;
  };
  [[nodiscard]] ReducerRef reducer_named(Symbol name) const { return scope_.reducer ? scope_.reducer(name) : builtin_reducer(name); }
  [[nodiscard]] Reduced reduced_by(const Syntax& s) const {
    if (ReducerRef whole = reducer_named(s.name)) return {whole, s.result};
    const std::string& text = s.name.text();
    const std::size_t dot = text.rfind('.');
    if (dot == std::string::npos) return {};
    return {reducer_named(Symbol(text.substr(0, dot))), Symbol(text.substr(dot + 1))};
  }

  /// How a reduction by it is written; a function of its name takes several values.
  static std::string reduction_text(const Reducer& reducer, Symbol over) {
    std::string list;
    for (const Symbol parameter : reducer.parameters) list += (list.empty() ? "" : ", ") + parameter.text();
    if (builtin_reducer(reducer.name)) list = reducer.parameters.front().text();  // the index of argmax is given by itself
    const std::string cure = "write `" + reducer.name.text() + "[" + over.text() + "](" + list + ")`";
    return function_named(reducer.name.text()) ? cure + "; of several values, `" + reducer.name.text() + "(x, y)`" : cure;
  }

  Expr indexed(const Syntax& s) {
    std::vector<Bound> bound;
    bool ok = true;
    const auto edge = [&](SyntaxRef at, Expr given) {
      const Expr e = at == nullptr ? given : run(at);
      ok = ok && (at == nullptr || e);
      return e;
    };
    for (const BindSyntax& bind : s.binds) {  // ranges see outer indices only
      const Expr lo = edge(bind.lo, bind.given_lo);
      bound.push_back({bind.index, lo, edge(bind.hi, bind.given_hi)});
    }
    for (const BindSyntax& bind : s.binds) bound_.push_back(bind.index);
    auto args = args_of(s);
    bound_.resize(bound_.size() - s.binds.size());
    if (!args || !ok) return {};
    const Reduced reduced = reduced_by(s);
    if (!reduced.reducer) {
      std::vector<Symbol> indices;
      for (const BindSyntax& bind : s.binds) indices.push_back(bind.index);
      return scope_.indexed_call ? scope_.indexed_call(s, std::move(*args)) : call(s.name, std::move(indices), std::move(*args));
    }
    const bool implicit_index = args->size() == 1 && bound.size() == 1 && (s.name.text() == "argmax" || s.name.text() == "argmin");
    if (implicit_index && builtin_reducer(s.name) == reduced.reducer) args->push_back(index(bound[0].index));
    // NAME.states merges states without `lift`: one value a carrier
    const bool states = reduced.result == Symbol("states");
    const std::size_t count = states ? reduced.reducer->state.size() : reduced.reducer->parameters.size();
    if (args->size() != count) {
      sink_.error(s.span,
                  "`" + reduced.reducer->name.text() + "` takes " + std::to_string(count) +
                      (count == 1 ? " value, not " : " values, not ") + std::to_string(args->size()),
                  states ? "" : reduction_text(*reduced.reducer, bound[0].index));
      return {};
    }
    return reduce(reduced.reducer->name, reduced.result, bound, *args);
  }

  const Scope& scope_;
  Sink& sink_;
  std::vector<Symbol> bound_;
};

}  // namespace

Expr lower(SyntaxRef syntax, const Scope& scope, Sink& sink) { return Lowering(scope, sink).run(syntax); }

std::optional<Op> function_named(std::string_view name) {
  struct Function {
    std::string_view spelling;
    OpKind kind;
    Op op;
  };
  static constexpr auto table = std::to_array<Function>({
#define FATHOM_OP_ROW(id, spelling, kind) {spelling, OpKind::kind, Op::id},
      FATHOM_OPS(FATHOM_OP_ROW)
#undef FATHOM_OP_ROW
  });
  for (const Function& function : table) {
    if (function.kind == OpKind::function && function.spelling == name) return function.op;
  }
  return std::nullopt;
}

}  // namespace fathom::lang
