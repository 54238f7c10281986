// What signs and order facts decide: absolute values and extrema of two.
#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

using Applied = std::optional<Expr>;

Applied normal_if(bool matches, Expr e, Normaliser& n) {
  if (!matches) return {};
  const Expr after = n.canonical(e);
  return after == e ? Applied{} : Applied{after};
}

constexpr Rule rules[] = {
    {"absolute value by sign", "abs(x) = -x", "x <= 0 (x >= 0: abs(x) = x)", "order",
     [](Expr e, Normaliser& n) -> Applied {
       const Applied after = normal_if(e.is(Op::abs), e, n);
       return after && !contains(*after, e) && !after->is(Op::mul) ? after : Applied{};
     }},
    {"absolute value of a product", "abs(x * y) = abs(x) * abs(y)", "", "order",
     [](Expr e, Normaliser& n) -> Applied { return normal_if(e.is(Op::abs) && (e.arg(0).is(Op::mul) || e.arg(0).is(Op::div)), e, n); }},
    {"maximum by order", "max(a, b) = b", "a <= b", "order",
     [](Expr e, Normaliser& n) -> Applied {
       const Applied after = normal_if(e.is(Op::max), e, n);
       return after && !after->is(Op::max) ? after : Applied{};
     }},
    {"minimum by order", "min(a, b) = a", "a <= b", "order",
     [](Expr e, Normaliser& n) -> Applied {
       const Applied after = normal_if(e.is(Op::min), e, n);
       return after && !after->is(Op::min) ? after : Applied{};
     }},
};

}  // namespace

std::span<const Rule> order_rules() { return rules; }

}  // namespace fathom::algebra
