// Laws of exp and log on the extended reals that occur.
#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

using Applied = std::optional<Expr>;

Expr exp_of(Expr e) { return unary(Op::exp, e); }
const Expr two = number(2);

bool is_exp_pair(Expr e, Op op) { return e.is(op) && e.arg(0).is(Op::exp) && e.arg(1).is(Op::exp); }

constexpr Rule rules[] = {
    {"base two as base e", "exp2(x) = exp(x * log(2))", "", "exponentials",
     [](Expr e, Normaliser&) -> Applied { return e.is(Op::exp2) ? Applied{exp_of(e.arg(0) * unary(Op::log, two))} : Applied{}; }},
    {"binary logarithm as natural", "log2(x) = log(x) / log(2)", "", "exponentials",
     [](Expr e, Normaliser&) -> Applied { return e.is(Op::log2) ? Applied{unary(Op::log, e.arg(0)) / unary(Op::log, two)} : Applied{}; }},
    {"product of exponentials", "exp(a) * exp(b) = exp(a + b)", "", "exponentials",
     [](Expr e, Normaliser& n) -> Applied {
       return is_exp_pair(e, Op::mul) ? Applied{n.canonical(exp_of(e.arg(0).arg(0) + e.arg(1).arg(0)))} : Applied{};
     }},
    {"quotient of exponentials", "exp(a) / exp(b) = exp(a - b)", "", "exponentials",
     [](Expr e, Normaliser& n) -> Applied {
       return is_exp_pair(e, Op::div) ? Applied{n.canonical(exp_of(e.arg(0).arg(0) - e.arg(1).arg(0)))} : Applied{};
     }},
    {"exponential of a logarithm", "exp(q * log(x)) = x^q", "q is a number", "exponentials",
     [](Expr e, Normaliser& n) -> Applied { return e.is(Op::exp) ? n.rewritten_by("exponential of a logarithm", e) : Applied{}; }},
    {"logarithm of an exponential", "log(exp(a)) = a", "", "exponentials",
     [](Expr e, Normaliser& n) -> Applied {
       return e.is(Op::log) && e.arg(0).is(Op::exp) ? Applied{n.canonical(e.arg(0).arg(0))} : Applied{};
     }},
    {"logarithm of a product", "log(x * y) = log(x) + log(y)", "x >= 0 and y >= 0", "exponentials",
     [](Expr e, Normaliser& n) -> Applied { return e.is(Op::log) ? n.rewritten_by("logarithm of a product", e) : Applied{}; }},
};

}  // namespace

std::span<const Rule> exponential_rules() { return rules; }

}  // namespace fathom::algebra
