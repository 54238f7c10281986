// Roots, powers, products of sums, waves of sums.
#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

using Applied = std::optional<Expr>;

Expr half(int sign) { return number(Rational::make(sign, 2).value_or(Rational(0))); }

Applied by(std::string_view rule, bool matches, Expr e, Normaliser& n) { return matches ? n.rewritten_by(rule, e) : Applied{}; }

/// Powers of one term: the form itself shows that the rule applied.
Applied as_term(bool matches, Expr e, Normaliser& n) {
  if (!matches) return {};
  const Expr after = n.canonical(e);
  return after == e ? Applied{} : Applied{after};
}

bool is_sum(Expr e) { return e.is(Op::add) || e.is(Op::sub); }

constexpr Rule rules[] = {
    {"root as a power", "sqrt(x) = x^(1/2)", "", "powers",
     [](Expr e, Normaliser&) -> Applied { return e.is(Op::sqrt) ? Applied{binary(Op::pow, e.arg(0), half(1))} : Applied{}; }},
    {"reciprocal root as a power", "rsqrt(x) = x^(-1/2)", "", "powers",
     [](Expr e, Normaliser&) -> Applied { return e.is(Op::rsqrt) ? Applied{binary(Op::pow, e.arg(0), half(-1))} : Applied{}; }},
    {"power of a product", "(x * y)^q = x^q * y^q", "q is an integer, or x >= 0 and y >= 0", "powers",
     [](Expr e, Normaliser& n) -> Applied { return as_term(e.is(Op::pow) && (e.arg(0).is(Op::mul) || e.arg(0).is(Op::div)), e, n); }},
    {"power of a power", "(x^p)^q = x^(p * q)", "p and q are integers, or x >= 0", "powers",
     [](Expr e, Normaliser& n) -> Applied { return as_term(e.is(Op::pow) && (e.arg(0).is(Op::pow) || e.arg(0).is(Op::exp)), e, n); }},
    {"distribute", "(a + b) * c = a * c + b * c", "a + b mixes u and r", "powers",
     [](Expr e, Normaliser& n) -> Applied { return by("distribute", e.is(Op::mul) && (is_sum(e.arg(0)) || is_sum(e.arg(1))), e, n); }},
    {"expand a power", "(a + b)^n = a^n + n * a^(n-1) * b + ... + b^n", "a + b mixes u and r, n is 2 to 6", "powers",
     [](Expr e, Normaliser& n) -> Applied { return by("expand a power", e.is(Op::pow) && is_sum(e.arg(0)), e, n); }},
    {"cosine of a sum", "cos(u + r) = cos(u) * cos(r) - sin(u) * sin(r)", "u and r are not mixed further", "powers",
     [](Expr e, Normaliser& n) -> Applied { return by("cosine of a sum", e.is(Op::cos), e, n); }},
    {"sine of a sum", "sin(u + r) = sin(u) * cos(r) + cos(u) * sin(r)", "u and r are not mixed further", "powers",
     [](Expr e, Normaliser& n) -> Applied { return by("sine of a sum", e.is(Op::sin), e, n); }},
};

}  // namespace

std::span<const Rule> power_rules() { return rules; }

}  // namespace fathom::algebra
