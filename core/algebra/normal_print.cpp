// The normal form as an expression again: where masks stand, which differences and ratios stay whole.
#include <algorithm>

#include "algebra/normal_form.hpp"

namespace fathom::algebra {

bool take_log_of_two(std::vector<Term>& exponent) {
  const Expr log_of_two = unary(Op::log, number(2));
  for (const Term& term : exponent) {
    const auto found = term.factors.find(log_of_two);
    if (found == term.factors.end() || found->second != Rational(1)) return false;
  }
  for (Term& term : exponent) term.factors.erase(log_of_two);
  return true;
}

namespace {

/// c of c * s - c * m, c > 0, and the terms without it: (s - m) * c keeps digits that the difference of two products loses.
Rational take_common_scale(std::vector<Term>& terms) {
  const auto size = [](const Term& term) {
    return term.coefficient.sign() < 0 ? subtract(Rational(0), term.coefficient) : term.coefficient;
  };
  const auto scale = size(terms.front());
  if (!scale) return Rational(1);
  for (const Term& term : terms)
    if (size(term) != scale) return Rational(1);
  for (Term& term : terms) term.coefficient = Rational(term.coefficient.sign());
  return *scale;
}

}  // namespace

Expr Normaliser::factor_within(const Term& row, const OrderFact& fact, Rational power) const {
  if (!fact.upper || fact.bounded.terms.size() != 1) return {};
  const Term& bound = fact.bounded.terms[0];
  if (bound.factors.size() != 1 || bound.factors.begin()->second != Rational(1) || bound.coefficient != Rational(1)) return {};
  if (!bound.exponent.empty() || !is_within(facts_->sign(bound), zero | positive)) return {};
  const Expr element = bound.factors.begin()->first;
  const auto has = [&](Expr factor) {
    const auto found = row.factors.find(factor);
    return found != row.factors.end() && found->second >= power;
  };
  if (has(element)) return element;
  // |x| to an even power stands as x
  const bool even = power.is_integer() && power.num() % 2 == 0;
  return even && element.is(Op::abs) && has(element.arg(0)) ? element.arg(0) : Expr{};
}

std::vector<std::vector<Term>> Normaliser::bounded_groups(std::vector<Term> terms) const {
  std::vector<std::vector<Term>> groups;
  const auto place_of = [&](const Term& wanted) {
    return std::find_if(terms.begin(), terms.end(),
                        [&](const Term& term) { return compare(term, wanted) == 0 && term.coefficient == wanted.coefficient; });
  };
  for (const OrderFact& fact : order_) {
    const auto at = std::find_if(terms.begin(), terms.end(), [&](const Term& term) {
      const auto found = term.factors.find(fact.running);
      return found != term.factors.end() && found->second == Rational(1) && term.guards.empty();
    });
    if (at == terms.end()) continue;
    Term weight = *at;
    weight.factors.erase(fact.running);
    const auto turned = subtract(Rational(0), weight.coefficient);
    if (!turned) continue;
    weight.coefficient = *turned;
    std::vector<Term> group{*at};
    for (const Term& term : fact.bounded.terms)
      if (const auto partner = multiply(term, weight); partner && place_of(*partner) != terms.end()) group.push_back(*partner);
    if (group.size() != fact.bounded.terms.size() + 1) continue;
    for (const Term& term : group) terms.erase(place_of(term));
    groups.push_back(std::move(group));
  }
  if (groups.empty() || terms.empty()) {
    if (!terms.empty()) groups.push_back(std::move(terms));
  } else {
    groups.back().insert(groups.back().end(), terms.begin(), terms.end());
  }
  for (std::vector<Term>& group : groups)
    std::stable_sort(group.begin(), group.end(), [](const Term& a, const Term& b) { return compare(a, b) < 0; });
  return groups;
}

Expr Normaliser::print_exponential(const std::vector<Term>& exponent, const std::set<Expr>& u_guards) const {
  std::vector<Term> terms = exponent;
  const bool is_of_two = !terms.empty() && take_log_of_two(terms);
  Expr product;
  for (std::vector<Term>& group : bounded_groups(std::move(terms))) {
    const Rational scale = is_of_two ? take_common_scale(group) : Rational(1);
    std::vector<Term> u;
    std::vector<Term> r;
    for (const Term& term : group) ((roles_.of(term) & r_role) != 0 ? r : u).push_back(term);
    // The mask stands on each: outside of it a difference is not bounded, and 0 times inf is NaN.
    const Expr start = u.empty() ? Expr{} : guarded(u_guards, sum_expr(u), minus_infinity());
    const Expr sum = joined(r, start, [this](const Term& term) { return print(term); });
    const Expr power = unary(is_of_two ? Op::exp2 : Op::exp, scale == Rational(1) ? sum : sum * number(scale));
    product = product ? product * power : power;
  }
  return product;
}

Expr Normaliser::print_ratios(Term& term) const {
  Expr product;
  for (const OrderFact& fact : order_) {
    const auto running = term.factors.find(fact.running);
    if (running == term.factors.end()) continue;
    const auto power = subtract(Rational(0), running->second);
    if (!power || power->sign() <= 0 || *power < Rational(2)) continue;
    const Expr element = factor_within(term, fact, *power);
    if (!element) continue;
    const auto left = subtract(term.factors.at(element), *power);
    if (!left) continue;
    term.factors.erase(running);
    term.factors.erase(element);
    if (left->sign() != 0) term.factors.emplace(element, *left);
    const Expr ratio = binary(Op::pow, element / fact.running, number(*power));
    product = product ? product * ratio : ratio;
  }
  return product;
}

namespace {

/// exp(s) * s: where s is masked out because it is -inf, 0 * -inf would be NaN. Such a term is masked as a whole.
bool reads_its_scores(const Term& term) {
  std::set<Symbol> scores;
  for (Expr guard : term.guards) scores.merge(tensors_read(guard));
  for (const Term& part : term.exponent)
    for (const auto& [factor, power] : part.factors) scores.merge(tensors_read(factor));
  return std::any_of(term.factors.begin(), term.factors.end(), [&](const auto& factor) {
    const std::set<Symbol> read = tensors_read(factor.first);
    return std::any_of(read.begin(), read.end(), [&](Symbol name) { return scores.count(name) != 0; });
  });
}

}  // namespace

Expr Normaliser::print(const Term& term) const {
  if (order_.empty()) return print_beside(term, {});  // mostly: nothing to take out, nothing to copy
  Term rest = term;
  const Expr ratios = print_ratios(rest);
  return print_beside(rest, ratios);
}

/// x / l beside exp(-inf) = 0: where l may be 0, the masked term is 0 only if it is masked as a whole.
bool Normaliser::divides_by_masked(const Term& term) const {
  return std::any_of(term.factors.begin(), term.factors.end(), [&](const auto& factor) {
    const auto& [base, power] = factor;
    if (power.sign() >= 0 || (roles_.of(base) & r_role) != 0) return false;  // r stands behind the sum
    bool sums = false;                                                       // of no elements, whatever the sign of its terms
    visit(base, [&](Expr part) { sums = sums || (part.is(Op::read) && facts_->view().reduction(part.name()) != nullptr); });
    return sums || !(is_within(facts_->sign(base), positive) || is_within(facts_->sign(base), negative));
  });
}

Expr Normaliser::print_beside(const Term& term, Expr ratios) const {
  std::set<Expr> inside;
  std::set<Expr> outside;
  const bool takes_mask = (roles_.of(term.exponent) & u_role) != 0 && !reads_its_scores(term) && !divides_by_masked(term);
  for (Expr guard : term.guards) (takes_mask && roles_.of(guard) == u_role ? inside : outside).insert(guard);
  const Expr exponential = print_exponential(term.exponent, inside);
  const Expr body = product_expr(term, ratios && exponential ? ratios * exponential : ratios ? ratios : exponential);
  return guarded(outside, body, number(Rational(0)));
}

Expr Normaliser::print(const Sum& sum) const {
  return guarded(sum.alive, joined(sum.terms, {}, [this](const Term& term) { return print(term); }), minus_infinity());
}

}  // namespace fathom::algebra
