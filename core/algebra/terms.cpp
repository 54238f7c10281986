// See terms.hpp. Pure functions; nothing here knows indices, producers or facts.
#include "algebra/terms.hpp"

#include <algorithm>

namespace fathom::algebra {

namespace {

int order(std::strong_ordering o) { return o < 0 ? -1 : o > 0 ? 1 : 0; }

int compare_factors(const std::map<Expr, Rational>& a, const std::map<Expr, Rational>& b) {
  auto x = a.begin();
  auto y = b.begin();
  for (; x != a.end() && y != b.end(); ++x, ++y) {
    if (x->first != y->first) return order(x->first <=> y->first);
    if (x->second != y->second) return order(x->second <=> y->second);
  }
  return x != a.end() ? 1 : y != b.end() ? -1 : 0;
}

int compare_guards(const std::set<Expr>& a, const std::set<Expr>& b) {
  auto x = a.begin();
  auto y = b.begin();
  for (; x != a.end() && y != b.end(); ++x, ++y)
    if (*x != *y) return order(*x <=> *y);
  return x != a.end() ? 1 : y != b.end() ? -1 : 0;
}

/// Orders, merges like monomials, drops zeros. False where a coefficient overflows.
bool tidy(std::vector<Term>& terms) {
  std::erase_if(terms, [](const Term& t) { return t.coefficient.sign() == 0 || is_void(t); });
  std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return compare(a, b) < 0; });
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (merged.empty() || compare(merged.back(), term) != 0) {
      merged.push_back(std::move(term));
      continue;
    }
    const auto total = add(merged.back().coefficient, term.coefficient);
    if (!total) return false;
    merged.back().coefficient = *total;
    if (total->sign() == 0) merged.pop_back();
  }
  terms = std::move(merged);
  return terms.size() <= most_terms;
}

Expr power_expr(Expr base, Rational power) {
  if (power == Rational(1)) return base;
  if (const auto half = Rational::make(1, 2); half && power == *half) return unary(Op::sqrt, base);
  return binary(Op::pow, base, number(power));
}

Expr chain(Op op, Expr so_far, Expr next) { return so_far ? binary(op, so_far, next) : next; }

}  // namespace

std::size_t weight(const std::vector<Term>& terms) {
  std::size_t all = terms.size();
  for (const Term& term : terms) all += weight(term.exponent);
  return all;
}

int compare(const std::vector<Term>& a, const std::vector<Term>& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (const int c = compare(a[i], b[i]); c != 0) return c;
    if (a[i].coefficient != b[i].coefficient) return order(a[i].coefficient <=> b[i].coefficient);
  }
  return 0;
}

int compare(const Term& a, const Term& b) {
  if (const int c = compare(a.exponent, b.exponent); c != 0) return -c;  // exponentials first
  if (const int c = compare_factors(a.factors, b.factors); c != 0) return c;
  return compare_guards(a.guards, b.guards);
}

bool equal(const Sum& a, const Sum& b) { return a.alive == b.alive && compare(a.terms, b.terms) == 0; }

Sum sum_of(Term term) {
  Sum sum;
  if (term.coefficient.sign() != 0 && !is_void(term)) sum.terms.push_back(std::move(term));
  return sum;
}

Sum constant(Rational value) {
  Term term;
  term.coefficient = value;
  return sum_of(std::move(term));
}

Term atom(Expr e, Rational power) {
  Term term;
  if (power.sign() != 0) term.factors.emplace(e, power);
  return term;
}

std::optional<Sum> add(const Sum& a, const Sum& b) {
  Sum sum = a;
  sum.alive.insert(b.alive.begin(), b.alive.end());
  sum.terms.insert(sum.terms.end(), b.terms.begin(), b.terms.end());
  if (!tidy(sum.terms)) return std::nullopt;
  return sum;
}

std::optional<Sum> scale(const Sum& sum, Rational factor) {
  if (!sum.alive.empty() && factor.sign() <= 0) return std::nullopt;
  Sum scaled = sum;
  for (Term& term : scaled.terms) {
    const auto c = multiply(term.coefficient, factor);
    if (!c) return std::nullopt;
    term.coefficient = *c;
  }
  if (!tidy(scaled.terms)) return std::nullopt;
  return scaled;
}

std::optional<Sum> subtract(const Sum& a, const Sum& b) {
  const auto negative = scale(b, Rational(-1));
  return negative ? add(a, *negative) : std::nullopt;
}

std::optional<Term> multiply(const Term& a, const Term& b) {
  Term product = a;
  const auto c = multiply(a.coefficient, b.coefficient);
  if (!c) return std::nullopt;
  product.coefficient = *c;
  for (const auto& [base, power] : b.factors) {
    const auto found = product.factors.find(base);
    if (found == product.factors.end()) {
      product.factors.emplace(base, power);
      continue;
    }
    const auto total = add(found->second, power);
    if (!total) return std::nullopt;
    if (total->sign() == 0)
      product.factors.erase(found);
    else
      found->second = *total;
  }
  product.exponent.insert(product.exponent.end(), b.exponent.begin(), b.exponent.end());
  product.guards.insert(b.guards.begin(), b.guards.end());
  if (!tidy(product.exponent)) return std::nullopt;
  return product;
}

std::optional<Sum> multiply(const Sum& sum, const Term& t) {
  Sum product;
  if (!std::includes(t.guards.begin(), t.guards.end(), sum.alive.begin(), sum.alive.end())) {
    if (!t.is_number() || t.coefficient.sign() <= 0) return std::nullopt;
    product.alive = sum.alive;
  }
  for (const Term& term : sum.terms) {
    auto next = multiply(term, t);
    if (!next) return std::nullopt;
    product.terms.push_back(std::move(*next));
  }
  if (!tidy(product.terms)) return std::nullopt;
  return product;
}

std::optional<Sum> multiply(const Sum& a, const Sum& b) {
  if (!a.alive.empty() && b.alive.empty() && b.terms.size() == 1) return multiply(a, b.terms.front());
  if (!a.alive.empty()) return std::nullopt;
  if (a.terms.size() * b.terms.size() > most_terms) return std::nullopt;
  Sum product;
  for (const Term& term : a.terms) {
    const auto part = multiply(b, term);
    if (!part) return std::nullopt;
    auto next = add(product, *part);
    if (!next) return std::nullopt;
    product = std::move(*next);
  }
  return product;
}

std::optional<Term> invert(const Term& term) {
  if (!term.guards.empty() || term.coefficient.sign() == 0) return std::nullopt;
  Term inverse;
  const auto c = divide(Rational(1), term.coefficient);
  if (!c) return std::nullopt;
  inverse.coefficient = *c;
  for (const auto& [base, power] : term.factors) {
    const auto negative = subtract(Rational(0), power);
    if (!negative) return std::nullopt;
    inverse.factors.emplace(base, *negative);
  }
  for (Term part : term.exponent) {
    const auto negative = subtract(Rational(0), part.coefficient);
    if (!negative) return std::nullopt;
    part.coefficient = *negative;
    inverse.exponent.push_back(std::move(part));
  }
  return inverse;
}

bool is_void(const Term& term) {
  return std::any_of(term.guards.begin(), term.guards.end(),
                     [&](Expr guard) { return guard == boolean(false) || term.guards.count(negate(guard)) != 0; });
}

Expr negate(Expr condition) {
  switch (condition.op()) {
    case Op::logical_not:
      return condition.arg(0);
    case Op::eq:
      return binary(Op::ne, condition.arg(0), condition.arg(1));
    case Op::ne:
      return binary(Op::eq, condition.arg(0), condition.arg(1));
    case Op::boolean:
      return boolean(!condition.node().truth);
    default:
      return unary(Op::logical_not, condition);
  }
}

Expr conjunction(const std::set<Expr>& guards) {
  Expr all;
  for (Expr guard : guards) all = chain(Op::logical_and, all, guard);
  return all ? all : boolean(true);
}

Expr guarded(const std::set<Expr>& guards, Expr value, Expr otherwise) {
  if (guards.empty()) return value;
  const Expr condition = conjunction(guards);
  if (condition.is(Op::logical_not) || condition.is(Op::ne)) return where(negate(condition), otherwise, value);
  return where(condition, value, otherwise);
}

Expr minus_infinity() { return unary(Op::neg, infinity()); }

namespace {

bool is_large(const std::pair<const Expr, Rational>& factor) { return factor.second >= Rational(2); }

/// a^p / b^q with p, q >= 2 as (a / b)^min(p, q), taken out of the factors: a power alone leaves the range that the ratio keeps.
Expr take_ratios(std::map<Expr, Rational>& factors) {
  const Rational two(2);
  Expr product;
  const std::map<Expr, Rational> all = factors;
  for (const auto& [below, power] : all) {
    const auto wanted = subtract(Rational(0), power);
    const auto above = std::find_if(factors.begin(), factors.end(), is_large);
    if (!wanted || *wanted < two || above == factors.end()) continue;
    const Rational common = above->second < *wanted ? above->second : *wanted;
    const auto left = subtract(above->second, common), rest = add(power, common);
    if (!left || !rest) continue;
    product = chain(Op::mul, product, power_expr(above->first / below, common));
    const auto keep = [&](Expr base, Rational now) {
      factors.erase(base);
      if (now.sign() != 0) factors.emplace(base, now);
    };
    keep(Expr(above->first), *left);
    keep(below, *rest);
  }
  return product;
}

}  // namespace

Expr product_expr(const Term& term, Expr exponential) {
  const bool negative = term.coefficient.sign() < 0;
  const std::int64_t num = negative ? -term.coefficient.num() : term.coefficient.num();
  Expr above;
  Expr below;
  if (num != 1) above = number(Rational(num));
  if (exponential) above = chain(Op::mul, above, exponential);
  if (term.coefficient.den() != 1) below = number(Rational(term.coefficient.den()));
  std::map<Expr, Rational> left;
  const bool may_have_ratios = std::any_of(term.factors.begin(), term.factors.end(), is_large);
  if (may_have_ratios) left = term.factors;  // mostly not: nothing to copy
  if (const Expr ratios = take_ratios(left)) above = chain(Op::mul, above, ratios);
  for (const auto& [base, power] : may_have_ratios ? left : term.factors) {
    if (power.sign() > 0)
      above = chain(Op::mul, above, power_expr(base, power));
    else if (const auto positive = subtract(Rational(0), power))
      below = chain(Op::mul, below, power_expr(base, *positive));
  }
  if (!above) above = number(Rational(1));
  if (term.is_number() && !exponential) return number(term.coefficient);
  const Expr value = below ? above / below : above;
  return negative ? unary(Op::neg, value) : value;
}

Expr to_expr(const Term& term) {
  const Expr exponential = term.exponent.empty() ? Expr{} : unary(Op::exp, sum_expr(term.exponent));
  return guarded(term.guards, product_expr(term, exponential), number(Rational(0)));
}

Expr joined(const std::vector<Term>& terms, Expr start, const std::function<Expr(const Term&)>& print) {
  Expr total = start;
  for (const bool is_negative : {false, true})
    for (const Term& term : terms) {
      if ((term.coefficient.sign() < 0) != is_negative) continue;
      const auto flipped = subtract(Rational(0), term.coefficient);
      if (!is_negative || !total || !flipped) {
        total = chain(Op::add, total, print(term));
        continue;
      }
      Term positive = term;
      positive.coefficient = *flipped;
      total = total - print(positive);
    }
  return total ? total : number(Rational(0));
}

Expr sum_expr(const std::vector<Term>& terms) {
  return joined(terms, {}, [](const Term& term) { return to_expr(term); });
}

Expr to_expr(const Sum& sum) { return guarded(sum.alive, sum_expr(sum.terms), minus_infinity()); }

}  // namespace fathom::algebra
