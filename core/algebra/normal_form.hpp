// The normal form of an expression for one consumer: a Sum. What depends on the consumer's index is u, what depends on a producer of the
// same loop is r; only what mixes both is expanded, everything else stays whole. Equal spellings give equal sums.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "algebra/facts.hpp"
#include "ir/record.hpp"

namespace fathom::algebra {

/// What an expression depends on: bits.
using Role = unsigned;
inline constexpr Role u_role = 1;  ///< an index of the consumer's reduction
inline constexpr Role r_role = 2;  ///< a producer that shares the consumer's loop
inline constexpr Role mixed = u_role | r_role;

class Roles {
 public:
  Roles(std::set<Symbol> over, std::set<Symbol> producers) : over_(std::move(over)), producers_(std::move(producers)) {}
  [[nodiscard]] Role of(Expr) const;
  [[nodiscard]] Role of(const Term&) const;
  [[nodiscard]] Role of(const std::vector<Term>&) const;
  [[nodiscard]] const std::set<Symbol>& producers() const { return producers_; }

 private:
  std::set<Symbol> over_;
  std::set<Symbol> producers_;
  mutable std::unordered_map<Expr, Role> memo_;
};

/// Takes log(2) out of every term of an exponent: what is left is that of exp2. False where a term has none.
[[nodiscard]] bool take_log_of_two(std::vector<Term>& exponent);

class Normaliser {
 public:
  Normaliser(const Facts& facts, Roles roles) : facts_(&facts), roles_(std::move(roles)) {}

  /// Of a real (or integer) expression that reads only what a ProgramView leaves (parameters, reductions). Lives as long as the Normaliser.
  const Sum& of(Expr);
  /// The same expression in normal form; conditions included.
  Expr canonical(Expr);
  std::set<Expr> conjuncts(Expr condition);

  void know(OrderFact fact) { order_.push_back(std::move(fact)); }
  [[nodiscard]] const std::vector<OrderFact>& order_facts() const { return order_; }
  /// sum <= 0 at the consumer's element under the guards: what order facts leave has no positive part.
  [[nodiscard]] bool is_nonpositive(const Sum& sum, const std::set<Expr>& guards) const;
  /// The factor of the row, of that power or more, whose size the fact's running extremum bounds; absent: none.
  [[nodiscard]] Expr factor_within(const Term& row, const OrderFact&, Rational power) const;
  [[nodiscard]] const Facts& facts() const { return *facts_; }
  [[nodiscard]] const Roles& roles() const { return roles_; }

  /// Prints an exponent with its u-part in one piece, so that a masked score is one expression wherever it stands.
  [[nodiscard]] Expr print(const Term&) const;
  [[nodiscard]] Expr print(const Sum&) const;
  /// The exponential of a term and the mask that it takes up; absent without an exponent. A product of one exponential for each difference
  /// that an order fact bounds: (a - m) + (b - n) keeps digits that a + b - m - n loses.
  [[nodiscard]] Expr print_exponential(const std::vector<Term>& exponent, const std::set<Expr>& u_guards) const;

  void note(std::string_view rule, Expr before, Expr after);
  [[nodiscard]] const std::vector<DerivationLine>& lines() const { return lines_; }
  void forget_lines() { lines_.clear(); }
  /// The normal form of `e` where the named rule had a part in it; nullopt where only operands changed places.
  std::optional<Expr> rewritten_by(std::string_view rule, Expr e);

  // ---- the steps that rules name; each is also the rule's `apply` ----
  Sum product(const Sum&, const Sum&);
  Sum power(const Sum&, Rational);
  Sum exponential(const Sum&);
  Sum logarithm(const Sum&);
  Sum absolute(const Sum&);

 private:
  Sum compute(Expr);
  Sum rewrite(Expr, std::span<const struct Rule> rules);
  Sum select(Expr);
  Sum extremum(Expr);
  Sum wave(Expr);
  Sum whole(Expr);         ///< kept as one atom with canonical operands
  Sum opaque(const Sum&);  ///< a sum as one atom, its leading coefficient in front
  Sum or_whole(std::optional<Sum>, Expr);
  bool is_plain_product(const Sum&) const;
  /// Parts of an exponent that order facts bound, each with its own reference; what is left stands with the last.
  [[nodiscard]] std::vector<std::vector<Term>> bounded_groups(std::vector<Term>) const;
  /// (u / m)^p of factors u^p * m^-p with |u| <= m, taken out of the term: u^p alone squares the range. Absent: there are none.
  [[nodiscard]] Expr print_ratios(Term&) const;
  [[nodiscard]] bool divides_by_masked(const Term&) const;
  [[nodiscard]] Expr print_beside(const Term&, Expr ratios) const;  ///< the term times what print_ratios took out of it

  const Facts* facts_;
  Roles roles_;
  std::vector<OrderFact> order_;
  std::unordered_map<Expr, Sum> memo_;
  std::vector<DerivationLine> lines_;
};

}  // namespace fathom::algebra
