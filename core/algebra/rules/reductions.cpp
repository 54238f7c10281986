// What may stand behind a reduction. Each rule acts on a reduce node of one bound index; derive.cpp uses them by name for its lines.
#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

using Applied = std::optional<Expr>;

const Symbol sum_name("sum");
const Symbol max_name("max");

bool is_reduction(Expr e, Symbol name) { return e.is(Op::reduce) && e.name() == name && values_of(e).size() == 1; }

Expr with_value(Expr reduction, Expr value) { return reduce(reduction.name(), reduction.node().result, bounds_of(reduction), {value}); }

bool varies(Expr e, Expr reduction) {
  const std::set<Symbol>& free = free_indices(e);
  for (Symbol bound : reduction.node().bound)
    if (free.count(bound) != 0) return true;
  return false;
}

/// sum[j](where(c, x, 0)) with c free of j, at once for every guard and factor of the one term.
Applied pull(Expr e, Normaliser& n, bool guards) {
  if (!is_reduction(e, sum_name)) return {};
  const Sum value = n.of(values_of(e)[0]);
  if (!value.is_one_term()) return {};
  Term inside = value.terms[0];
  Term outside;
  if (guards) {
    for (Expr guard : value.terms[0].guards)
      if (!varies(guard, e)) {
        inside.guards.erase(guard);
        outside.guards.insert(guard);
      }
    if (outside.guards.empty()) return {};
    return guarded(outside.guards, with_value(e, n.print(inside)), number(Rational(0)));
  }
  for (const auto& [factor, power] : value.terms[0].factors)
    if (!varies(factor, e)) {
      inside.factors.erase(factor);
      outside.factors.emplace(factor, power);
    }
  std::swap(outside.coefficient, inside.coefficient);
  if (outside.is_number() && outside.coefficient == Rational(1)) return {};
  return product_expr(outside, with_value(e, n.print(inside)));
}

/// max[j](u + r): the r part behind; max[j](c * u), c > 0.
Applied pull_from_max(Expr e, Normaliser& n, bool offset) {
  if (!is_reduction(e, max_name)) return {};
  const Sum value = n.of(values_of(e)[0]);
  if (!value.alive.empty() || value.is_zero()) return {};
  Sum inside;
  Sum outside;
  if (offset) {
    for (const Term& term : value.terms) (varies(n.print(term), e) ? inside : outside).terms.push_back(term);
    if (outside.terms.empty() || inside.terms.empty()) return {};
    return with_value(e, n.print(inside)) + n.print(outside);
  }
  if (value.terms.size() != 1 || !value.terms[0].exponent.empty() || !value.terms[0].guards.empty()) return {};
  Term u = value.terms[0];
  Term r;
  for (const auto& [factor, power] : value.terms[0].factors)
    if (!varies(factor, e)) {
      u.factors.erase(factor);
      r.factors.emplace(factor, power);
    }
  if (r.factors.empty() || !is_within(n.facts().sign(r), positive)) return {};
  return product_expr(r, with_value(e, n.print(u)));
}

/// acc * g(u, r') / g(u, r) in normal form, where no u is left in it.
Applied pivot(Expr e, Normaliser& n) {
  if (!e.is(Op::mul) || !e.arg(1).is(Op::div) || (n.roles().of(e) & u_role) == 0) return {};
  const Expr h = n.canonical(e);
  return (n.roles().of(h) & u_role) == 0 ? Applied{h} : Applied{};
}

Applied rising(Expr e) {
  if (!is_reduction(e, max_name)) return {};
  const Expr value = values_of(e)[0];
  const bool rises = value.is(Op::exp) || value.is(Op::tanh) || value.is(Op::sigmoid) || value.is(Op::erf);
  return rises ? Applied{unary(value.op(), with_value(e, value.arg(0)))} : Applied{};
}

constexpr Rule rules[] = {
    {"definition", "name = its definition", "the statement is elementwise", "reductions",
     [](Expr e, Normaliser& n) -> Applied {
       const Expr inlined = n.facts().view().inlined(e);
       return inlined == e ? Applied{} : Applied{inlined};
     }},
    {"pull a guard behind the sum", "sum(where(c, x, 0)) = where(c, sum(x), 0)", "c does not vary with the reduction's index", "reductions",
     [](Expr e, Normaliser& n) -> Applied { return pull(e, n, true); }},
    {"pull a factor behind the sum", "sum(a * x) = a * sum(x)", "a does not vary with the reduction's index", "reductions",
     [](Expr e, Normaliser& n) -> Applied { return pull(e, n, false); }},
    {"pull an offset behind the maximum", "max(x + a) = max(x) + a", "a does not vary with the reduction's index; likewise min",
     "reductions", [](Expr e, Normaliser& n) -> Applied { return pull_from_max(e, n, true); }},
    {"pull a factor behind the maximum", "max(a * x) = a * max(x)", "a > 0 does not vary with the reduction's index; likewise min",
     "reductions", [](Expr e, Normaliser& n) -> Applied { return pull_from_max(e, n, false); }},
    {"maximum of a rising function", "max(f(x)) = f(max(x))", "f rises for every r; falling: f(min(x))", "reductions",
     [](Expr e, Normaliser&) -> Applied { return rising(e); }},
    {"bound by the running maximum", "exp(s - m) <= 1", "m is the running maximum of s over the same elements and masks", "reductions",
     [](Expr e, Normaliser& n) -> Applied {
       return e.is(Op::exp) && n.is_nonpositive(n.of(e.arg(0)), {}) ? Applied{number(1)} : Applied{};
     }},
    {"pivot", "h = acc * g(u, r') / g(u, r)", "g(u, r) = a(u) * b(r)", "reductions",
     [](Expr e, Normaliser& n) -> Applied { return pivot(e, n); }},
};

}  // namespace

std::span<const Rule> reduction_rules() { return rules; }

const std::vector<const Rule*>& all_rules() {
  static const auto* all = [] {
    auto* list = new std::vector<const Rule*>;
    for (std::span<const Rule> theme : {exponential_rules(), power_rules(), order_rules(), mask_rules(), reduction_rules()})
      for (const Rule& rule : theme) list->push_back(&rule);
    return list;
  }();
  return *all;
}

const Rule& rule_named(std::string_view name) {
  for (const Rule* rule : all_rules())
    if (rule->name == name) return *rule;
  return *all_rules().front();
}

}  // namespace fathom::algebra
