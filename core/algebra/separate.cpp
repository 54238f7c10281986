// Exact elimination over the rationals gives the rank and the factorisation M = (pivot columns) * (reduced rows).
#include "algebra/separate.hpp"

#include <algorithm>

#include "ir/comparison.hpp"

namespace fathom::algebra {

namespace {

using Matrix = std::vector<std::vector<Rational>>;

/// One term's two monomials; false, with the cause, where a factor mixes.
bool split(const Term& term, const Normaliser& n, Term& u, Term& r, Mixed& mixed_part) {
  const Roles& roles = n.roles();
  for (Expr guard : term.guards) {
    const Role role = roles.of(guard);
    if (role == mixed) {
      mixed_part = {guard, true};
      return false;
    }
    (role == u_role ? u : r).guards.insert(guard);
  }
  for (const auto& [factor, power] : term.factors) {
    const Role role = roles.of(factor);
    if (role == mixed) {
      Term alone = atom(factor, power);
      mixed_part = {n.print(alone), false};
      return false;
    }
    (role == u_role ? u : r).factors.emplace(factor, power);
  }
  for (const Term& part : term.exponent) {
    const Role role = roles.of(part);
    if (role == mixed) {
      mixed_part = {n.print_exponential(term.exponent, {}), false};
      return false;
    }
    (role == r_role ? r : u).exponent.push_back(part);
  }
  // an exponential of neither side alone stands behind the sum
  if (roles.of(u.exponent) == 0) {
    r.exponent.insert(r.exponent.end(), u.exponent.begin(), u.exponent.end());
    std::stable_sort(r.exponent.begin(), r.exponent.end(), [](const Term& a, const Term& b) { return compare(a, b) < 0; });
    u.exponent.clear();
  }
  return true;
}

std::size_t place(std::vector<Term>& monomials, const Term& wanted) {
  for (std::size_t i = 0; i < monomials.size(); ++i)
    if (compare(monomials[i], wanted) == 0) return i;
  monomials.push_back(wanted);
  return monomials.size() - 1;
}

/// Reduced row echelon form in place; the pivot columns. Nullopt on overflow.
std::optional<std::vector<std::size_t>> reduce_rows(Matrix& m) {
  std::vector<std::size_t> pivots;
  const std::size_t columns = m.empty() ? 0 : m.front().size();
  for (std::size_t column = 0, row = 0; column < columns && row < m.size(); ++column) {
    std::size_t pivot = row;
    while (pivot < m.size() && m[pivot][column].sign() == 0) ++pivot;
    if (pivot == m.size()) continue;
    std::swap(m[pivot], m[row]);
    const auto inverse = divide(Rational(1), m[row][column]);
    if (!inverse) return std::nullopt;
    for (Rational& value : m[row]) {
      const auto scaled = multiply(value, *inverse);
      if (!scaled) return std::nullopt;
      value = *scaled;
    }
    for (std::size_t other = 0; other < m.size(); ++other) {
      if (other == row || m[other][column].sign() == 0) continue;
      const Rational factor = m[other][column];
      for (std::size_t c = 0; c < columns; ++c) {
        const auto part = multiply(factor, m[row][c]);
        const auto next = part ? subtract(m[other][c], *part) : std::nullopt;
        if (!next) return std::nullopt;
        m[other][c] = *next;
      }
    }
    pivots.push_back(column);
    ++row;
  }
  return pivots;
}

Sum combine(const std::vector<Term>& monomials, const std::vector<Rational>& weights) {
  Sum sum;
  for (std::size_t i = 0; i < monomials.size(); ++i) {
    Term term = monomials[i];
    term.coefficient = weights[i];
    if (const auto next = add(sum, sum_of(std::move(term)))) sum = *next;
  }
  return sum;
}

}  // namespace

Separated separate(const Sum& sum, const Normaliser& n) {
  std::vector<Term> u;
  std::vector<Term> r;
  std::map<std::pair<std::size_t, std::size_t>, Rational> entries;
  for (const Term& term : sum.terms) {
    Term own_u;
    Term own_r;
    Mixed part;
    if (!split(term, n, own_u, own_r, part)) return {std::nullopt, part};
    entries[{place(u, own_u), place(r, own_r)}] = term.coefficient;
  }
  Matrix matrix(u.size(), std::vector<Rational>(r.size()));
  for (const auto& [at, value] : entries) matrix[at.first][at.second] = value;
  Matrix reduced = matrix;
  const auto pivots = reduce_rows(reduced);
  if (!pivots) return {std::nullopt, {n.print(sum), false}};
  Separation separation;
  for (std::size_t k = 0; k < pivots->size(); ++k) {
    std::vector<Rational> column;
    for (const auto& row : matrix) column.push_back(row[(*pivots)[k]]);
    std::vector<Rational> behind = reduced[k];
    // the number stands behind the sum: the first coefficient of the u-part is 1
    const auto first = std::find_if(column.begin(), column.end(), [](Rational c) { return c.sign() != 0; });
    const Rational lead = *first;
    for (Rational& c : column) c = divide(c, lead).value_or(c);
    for (Rational& c : behind) c = multiply(c, lead).value_or(c);
    separation.u.push_back(combine(u, column));
    separation.r.push_back(combine(r, behind));
  }
  return {std::move(separation), {}};
}

Mixed smallest_mixed(Expr inlined, Normaliser& n, Mixed fallback) {
  Mixed best = fallback;
  bool found = false;
  visit(inlined, [&](Expr part) {
    if (n.roles().of(part) != mixed || (found && part.node().depth >= best.part.node().depth)) return;
    if (is_condition(part.op())) return;
    const Sum& sum = n.of(part);
    Sum terms = sum;
    for (Expr guard : sum.alive)
      if (n.roles().of(guard) == mixed) terms.terms.clear();
    const Separated separated = separate(terms, n);
    if (separated.separation && !(terms.terms.empty() && !sum.alive.empty())) return;
    best.part = fallback.is_condition && part.is(Op::where) ? fallback.part : part;
    found = true;
  });
  best.is_condition = fallback.is_condition;
  return best;
}

}  // namespace fathom::algebra
