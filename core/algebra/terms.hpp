// The ring of the normal form: sums of c * Π atom^q * exp(sum) under guards. Atoms are expressions, hash-consed, already in normal form.
// Invariants: a sum's terms are ordered by monomial, no two alike, no coefficient 0; no power is 0; an exponent is a sum of that kind.
// Arithmetic returns nullopt where a coefficient leaves 64 bits or a sum grows beyond `most_terms`: the caller keeps the expression whole.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::algebra {

inline constexpr std::size_t most_terms = 128;
/// Of an exponent, those of the exponents inside it included: they nest by value, and exp(y) + y of itself would double at every level.
inline constexpr std::size_t most_terms_of_exponent = 64;

/// c * Π atom^q * exp(exponent) where all guards hold, masked out (0) elsewhere.
struct Term {
  Rational coefficient{1};
  std::map<Expr, Rational> factors;
  std::vector<Term> exponent;
  std::set<Expr> guards;

  [[nodiscard]] bool is_number() const { return factors.empty() && exponent.empty() && guards.empty(); }
};

/// The sum of the terms where all of `alive` hold, -inf elsewhere (a masked score).
struct Sum {
  std::set<Expr> alive;
  std::vector<Term> terms;

  [[nodiscard]] bool is_zero() const { return alive.empty() && terms.empty(); }
  [[nodiscard]] bool is_one_term() const { return alive.empty() && terms.size() == 1; }
};

/// How many terms, those of all exponents included.
[[nodiscard]] std::size_t weight(const std::vector<Term>&);

/// Order of monomials: coefficients do not count. Structural.
[[nodiscard]] int compare(const Term&, const Term&);
[[nodiscard]] int compare(const std::vector<Term>&, const std::vector<Term>&);
[[nodiscard]] bool equal(const Sum&, const Sum&);

[[nodiscard]] Sum sum_of(Term);
[[nodiscard]] Sum constant(Rational);
[[nodiscard]] Term atom(Expr, Rational power = 1);

[[nodiscard]] std::optional<Sum> add(const Sum&, const Sum&);
[[nodiscard]] std::optional<Sum> subtract(const Sum&, const Sum&);
[[nodiscard]] std::optional<Sum> scale(const Sum&, Rational);  ///< keeps `alive` for a positive factor; nullopt for another one
[[nodiscard]] std::optional<Term> multiply(const Term&, const Term&);
/// Every term times `t`; `alive` is dropped where the guards of `t` imply it, kept for a positive number; nullopt otherwise.
[[nodiscard]] std::optional<Sum> multiply(const Sum&, const Term& t);
[[nodiscard]] std::optional<Sum> multiply(const Sum&, const Sum&);  ///< distributes
/// 1 / t. Nullopt under guards.
[[nodiscard]] std::optional<Term> invert(const Term&);

/// Two contradictory guards: the term is 0.
[[nodiscard]] bool is_void(const Term&);
/// The condition that holds where `condition` does not; == and != are each other's, `not not c` is c.
[[nodiscard]] Expr negate(Expr condition);
[[nodiscard]] Expr conjunction(const std::set<Expr>& guards);
/// where(guards, value, otherwise), with a single negated guard turned round: where(m == -inf, 0, x).
[[nodiscard]] Expr guarded(const std::set<Expr>& guards, Expr value, Expr otherwise);

/// The expression that people read. Equal sums give equal expressions.
[[nodiscard]] Expr to_expr(const Term&);
[[nodiscard]] Expr to_expr(const Sum&);
/// c * Π atom^q * e, where `e` (may be absent) stands for the exponential.
[[nodiscard]] Expr product_expr(const Term& without_exponent, Expr exponential);
/// start + a + b - c with the positive parts in front; `start` may be absent.
[[nodiscard]] Expr joined(const std::vector<Term>&, Expr start, const std::function<Expr(const Term&)>& print);
[[nodiscard]] Expr sum_expr(const std::vector<Term>&);
[[nodiscard]] Expr minus_infinity();

}  // namespace fathom::algebra
