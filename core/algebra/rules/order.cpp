// What signs and order facts decide: absolute values and extrema of two.
#include "algebra/normal_form.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

using Applied = std::optional<Expr>;

Applied by(std::string_view rule, Op op, Expr e, Normaliser& n) { return e.is(op) ? n.rewritten_by(rule, e) : Applied{}; }

constexpr Rule rules[] = {
    {"absolute value by sign", "abs(x) = -x", "x <= 0 (x >= 0: abs(x) = x)", "order",
     [](Expr e, Normaliser& n) -> Applied { return by("absolute value by sign", Op::abs, e, n); }},
    {"absolute value of a product", "abs(x * y) = abs(x) * abs(y)", "", "order",
     [](Expr e, Normaliser& n) -> Applied { return by("absolute value of a product", Op::abs, e, n); }},
    {"maximum by order", "max(a, b) = b", "a <= b", "order",
     [](Expr e, Normaliser& n) -> Applied { return by("maximum by order", Op::max, e, n); }},
    {"minimum by order", "min(a, b) = a", "a <= b", "order",
     [](Expr e, Normaliser& n) -> Applied { return by("minimum by order", Op::min, e, n); }},
};

}  // namespace

std::span<const Rule> order_rules() { return rules; }

}  // namespace fathom::algebra
