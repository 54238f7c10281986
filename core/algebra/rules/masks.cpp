// Masks: a guard is a factor 0 or 1 that leaves no trace of what it hides, and in an exponent it is -inf.
#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

using Applied = std::optional<Expr>;

bool is_mask(Expr e) { return e.is(Op::where) && is_minus_infinity(e.arg(2)); }

/// The normal form where it is a mask itself.
Applied as_mask(bool matches, Expr e, Normaliser& n) {
  if (!matches) return {};
  const Expr after = n.canonical(e);
  return after != e && is_mask(after) ? Applied{after} : Applied{};
}

constexpr Rule rules[] = {
    {"mask into the exponent", "where(c, exp(a), 0) = exp(where(c, a, -inf))", "c and a vary with the reduction's index", "masks",
     [](Expr e, Normaliser& n) -> Applied {
       if (!e.is(Op::where) || !e.arg(1).is(Op::exp) || e.arg(2) != number(0)) return {};
       const Expr after = n.canonical(e);
       return after.is(Op::exp) ? Applied{after} : Applied{};
     }},
    {"add into a mask", "where(c, x, -inf) + y = where(c, x + y, -inf)", "y is finite", "masks",
     [](Expr e, Normaliser& n) -> Applied { return as_mask(e.is(Op::add) || e.is(Op::sub), e, n); }},
    {"scale a mask", "a * where(c, x, -inf) = where(c, a * x, -inf)", "a is a number above 0", "masks",
     [](Expr e, Normaliser& n) -> Applied { return as_mask(e.is(Op::mul), e, n); }},
    {"split a select", "where(c, a, b) = where(c, a, 0) + where(c, 0, b)", "the select mixes u and r", "masks",
     [](Expr e, Normaliser& n) -> Applied { return e.is(Op::where) ? n.rewritten_by("split a select", e) : Applied{}; }},
};

}  // namespace

std::span<const Rule> mask_rules() { return rules; }

}  // namespace fathom::algebra
