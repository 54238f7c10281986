// Sums: separation by rank, then what moves (a gauge), what stands behind the sum, what is refused for its range.
// Range rule (docs/algebra.md): exp(u + r) is carried only where an order fact bounds u plus the gauge on every prefix; what is free of u
// may stand behind the sum; a power of u / m with |u| <= m keeps its gauge m, since u^p alone would square the range of the text.
#include <algorithm>
#include <functional>

#include "algebra/derive.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

namespace {

/// The moving part of r: exponents or powers of running extrema, and how they read.
struct Gauging {
  std::vector<Term> exponent;                       ///< of running extrema, to be carried with u
  std::vector<std::pair<Symbol, Rational>> powers;  ///< gauge name, power: u^p * m^-p
  std::vector<math::Gauge> gauges;
  Substitution as_gauge;  ///< read of the producer -> gauge symbol
};

Symbol gauge_name(Symbol producer) { return Symbol(producer.text() + "~"); }

struct SumDerivation {
  Normaliser& n;
  const Consumer& consumer;
  const math::Reduction& reduction;
  Separation parts;
  Gauging gauging;

  [[nodiscard]] Expr read_text(Expr e) const { return named(e, consumer); }
};

Refusal refusal(std::string reason, Expr part, std::string hint = {}) { return Refusal{std::move(reason), {print(part)}, std::move(hint)}; }

bool is_bounded_part(const Term& term, const Normaliser& n) {
  if (!term.exponent.empty() && !n.is_nonpositive(Sum{{}, term.exponent}, term.guards)) return false;
  return std::all_of(term.factors.begin(), term.factors.end(),
                     [&](const auto& factor) { return factor.second.sign() > 0 && Facts::is_bounded(factor.first); });
}

/// All u-parts bounded, or all terms of one sign: then factoring at rank K loses no digits (docs/algebra.md).
bool may_factor(const Sum& sum, const Separation& parts, const Normaliser& n) {
  const auto has = [&](const std::vector<Sum>& sums, Role role) {
    return std::any_of(sums.begin(), sums.end(), [&](const Sum& s) {
      return std::any_of(s.terms.begin(), s.terms.end(), [&](const Term& term) { return (n.roles().of(term.exponent) & role) != 0; });
    });
  };
  if (has(parts.u, u_role) && has(parts.r, r_role)) return false;  // exp(u) alone may leave the range
  const bool bounded = std::all_of(parts.u.begin(), parts.u.end(), [&](const Sum& u) {
    return std::all_of(u.terms.begin(), u.terms.end(), [&](const Term& term) { return is_bounded_part(term, n); });
  });
  const auto all = [&](Signs allowed) {
    return std::all_of(sum.terms.begin(), sum.terms.end(), [&](const Term& term) { return is_within(n.facts().sign(term), allowed); });
  };
  return bounded || all(positive | zero) || all(negative | zero);
}

const OrderFact* fact_about(const Normaliser& n, Expr running) {
  for (const OrderFact& fact : n.order_facts())
    if (fact.running == running) return &fact;
  return nullptr;
}

/// weight * m, m a running extremum with an order fact, the weight free of both sides.
const OrderFact* moves_with(const Normaliser& n, const Term& term) {
  if (!term.exponent.empty() || !term.guards.empty()) return nullptr;
  const OrderFact* fact = nullptr;
  for (const auto& [factor, power] : term.factors) {
    if (n.roles().of(factor) == 0) continue;
    if (fact != nullptr || power != Rational(1)) return nullptr;
    fact = fact_about(n, factor);
    if (fact == nullptr) return nullptr;
  }
  return fact;
}

void add_gauge(Gauging& gauging, Expr running, Expr reference) {
  const Symbol name = gauge_name(running.name());
  if (!gauging.as_gauge.emplace(running, symbol(name)).second) return;
  gauging.gauges.push_back({name, reference});
}

/// The r-exponent that moves with the running extrema; refused where u plus it is not bounded on every prefix.
Result<void> gauge_exponent(SumDerivation& d, const std::vector<Term>& r_exponent) {
  for (const Term& term : r_exponent) {
    const OrderFact* fact = moves_with(d.n, term);
    if (fact == nullptr) continue;
    d.gauging.exponent.push_back(term);
    add_gauge(d.gauging, fact->running, fact->running);
  }
  for (const Term& row : d.parts.u[0].terms) {
    if (row.exponent.empty()) continue;
    const auto total = add(Sum{{}, row.exponent}, Sum{{}, d.gauging.exponent});
    if (total && d.n.is_nonpositive(*total, row.guards)) continue;
    const Expr alone = unary(Op::exp, sum_expr(row.exponent));
    Term whole = row;
    whole.exponent.insert(whole.exponent.end(), r_exponent.begin(), r_exponent.end());
    return tl::unexpected(refusal(
        "range: " + print(alone) +
            " is not bounded on a prefix by any order fact (finite rank 1, but no reference in the text keeps it in range).",
        d.n.print_exponential(whole.exponent, {}), "A running maximum of " + print(sum_expr(row.exponent)) + " would keep it in range."));
  }
  return {};
}

/// u^p * m^-p with |u| <= m over the same elements: the ratio is carried, gauge m where m > 0.
void gauge_powers(SumDerivation& d, const Term& r) {
  for (const auto& [factor, power] : r.factors) {
    const OrderFact* fact = d.n.roles().of(factor) == r_role ? fact_about(d.n, factor) : nullptr;
    const auto ratio = subtract(Rational(0), power);
    if (fact == nullptr || !ratio || *ratio < Rational(2)) continue;
    const bool in_every_row = std::all_of(d.parts.u[0].terms.begin(), d.parts.u[0].terms.end(), [&](const Term& row) {
      return d.n.factor_within(row, *fact, *ratio) &&
             std::includes(row.guards.begin(), row.guards.end(), fact->bounded.alive.begin(), fact->bounded.alive.end());
    });
    if (!in_every_row) continue;
    add_gauge(d.gauging, factor, where(binary(Op::gt, factor, number(0)), factor, number(1)));
    d.gauging.powers.emplace_back(gauge_name(factor.name()), *ratio);
  }
}

/// Every r-part has the same exponent, the one that would move; nullptr where they differ.
const std::vector<Term>* common_exponent(const Sum& r) {
  for (const Term& term : r.terms)
    if (compare(term.exponent, r.terms.front().exponent) != 0) return nullptr;
  return &r.terms.front().exponent;
}

std::optional<Refusal> refused_by_set(const Consumer& consumer) {
  for (const Producer& producer : consumer.producers)
    if (!producer.same_set)
      return refusal(
          consumer.statement->name.text() + " runs over another index set than " + producer.name.text() + ", which it would repair.",
          producer.read, "Let both run over the same range.");
  return std::nullopt;
}

/// exp(u) alone would leave the range.
bool grows(const SumDerivation& d) {
  return std::any_of(d.parts.u[0].terms.begin(), d.parts.u[0].terms.end(),
                     [&](const Term& row) { return !row.exponent.empty() && !d.n.is_nonpositive(Sum{{}, row.exponent}, row.guards); });
}

bool has_reference(const SumDerivation& d) {
  return std::any_of(d.parts.r[0].terms.begin(), d.parts.r[0].terms.end(),
                     [&](const Term& term) { return (d.n.roles().of(term.exponent) & r_role) != 0; });
}

/// u <= 0 needs no reference to stay in range, but without the text's own all of exp(u) may be 0 where exp(u - m) has its peak of 1.
void keep_reference(SumDerivation& d) {
  const std::vector<Term>* exponent = common_exponent(d.parts.r[0]);
  if (exponent == nullptr || refused_by_set(d.consumer) || !gauge_exponent(d, *exponent)) d.gauging = {};
}

/// exp(weight * (m - m')) times (m / m')^p: the factor by which a carrier moves, over `name` of a reference.
Expr move_factor(const SumDerivation& d, const std::function<Symbol(Expr running)>& name) {
  const auto at = [&](Expr running, bool next) { return symbol(next ? primed(name(running)) : name(running)); };
  Expr factor;
  // One exponential a reference: the difference of two large sums would lose the digits that each difference keeps.
  for (const Term& term : d.gauging.exponent) {
    Term weight = term;
    const Expr running = moves_with(d.n, weight)->running;
    weight.factors.erase(running);
    const bool falls = weight.coefficient.sign() < 0;  // -λ m: exp(λ (m - m'))
    if (falls) weight.coefficient = subtract(Rational(0), weight.coefficient).value_or(weight.coefficient);
    const Expr difference = falls ? at(running, false) - at(running, true) : at(running, true) - at(running, false);
    std::vector<Term> whole{weight};
    const Op power = take_log_of_two(whole) ? Op::exp2 : Op::exp;
    const bool plain = whole[0].is_number() && whole[0].coefficient == Rational(1);
    const Expr moved = unary(power, plain ? difference : d.n.print(whole[0]) * difference);
    factor = factor ? factor * moved : moved;
  }
  for (const auto& [running, gauge] : d.gauging.as_gauge)
    for (const auto& [gauge_symbol, power] : d.gauging.powers) {
      if (gauge.name() != gauge_symbol) continue;
      const Expr ratio = binary(Op::pow, at(running, false) / at(running, true), number(power));
      factor = factor ? factor * ratio : ratio;
    }
  return factor;
}

/// The carried term over reads of the running extrema, the r-part that stays behind the sum, and both as expressions.
struct Carriage {
  Sum term;
  Sum behind;
};

Carriage carriage(const SumDerivation& d) {
  Carriage c{d.parts.u[0], d.parts.r[0]};
  if (!d.gauging.exponent.empty()) {
    Term moving;
    moving.exponent = d.gauging.exponent;
    Term back;
    for (Term term : moving.exponent) {
      term.coefficient = subtract(Rational(0), term.coefficient).value_or(term.coefficient);
      back.exponent.push_back(std::move(term));
    }
    c.term = multiply(c.term, moving).value_or(c.term);
    c.behind = multiply(c.behind, back).value_or(c.behind);
  }
  for (const auto& [running, gauge] : d.gauging.as_gauge)
    for (const auto& [name, power] : d.gauging.powers) {
      if (gauge.name() != name) continue;
      c.term = multiply(c.term, atom(running, subtract(Rational(0), power).value_or(power))).value_or(c.term);
      c.behind = multiply(c.behind, atom(running, power)).value_or(c.behind);
    }
  return c;
}

bool is_one(const Sum& sum) { return sum.is_one_term() && sum.terms[0].is_number() && sum.terms[0].coefficient == Rational(1); }

/// r without its guards, as people read it: "1 / l"; empty for 1.
std::string delayed_text(const SumDerivation& d, Sum behind) {
  for (Term& term : behind.terms) term.guards.clear();
  if (is_one(behind)) return {};
  return print(d.read_text(d.n.print(behind)));
}

std::string guard_text(const SumDerivation& d, const Sum& behind) {
  std::string text;
  for (const math::Gauge& gauge : d.gauging.gauges)
    text += (text.empty() ? "" : "; ") + gauge.name.text() + " = " + print(d.read_text(gauge.reference)) + " where finite, else unset";
  if (!text.empty()) text += "; an empty or wholly masked prefix adds nothing";
  std::set<Expr> guards;
  for (const Term& term : behind.terms) guards.insert(term.guards.begin(), term.guards.end());
  if (!guards.empty())
    text += (text.empty() ? "" : "; ") + std::string("0 unless ") + print(d.read_text(conjunction(guards))) + ", at the end";
  return text;
}

/// The lines from the sum as it stands to what is carried: guards out, factors out, bound, pivot.
void derive_lines(const SumDerivation& d, const Sum& sum, const Carriage& c, Fusion& fusion) {
  const auto over = [&](const Sum& value) { return reduction_expr(d.reduction, d.n.print(value)); };
  const auto push = [&](DerivationLine next) {
    if (next.before == next.after) return;
    fusion.all_lines.push_back(next);
    fusion.derivation.push_back(std::move(next));
  };
  begin_derivation(fusion, d.consumer, d.n, d.n.print(sum));
  Expr now = over(sum);
  Sum behind = c.behind;
  std::set<Expr> guards = behind.terms.empty() ? std::set<Expr>{} : behind.terms[0].guards;
  for (Term& term : behind.terms) term.guards.clear();
  const Expr plain = is_one(behind) ? over(c.term) : d.n.print(d.n.product(sum_of(atom(over(c.term))), behind));
  if (!guards.empty()) {
    const Sum inner = d.n.product(c.term, behind);
    const Expr next = guarded(guards, over(inner), number(0));
    push(line("pull a guard behind the sum", now, next));
    now = next;
  }
  push(line("pull a factor behind the sum", now, guarded(guards, plain, number(0))));
  if (d.gauging.gauges.empty()) return;
  for (const Term& row : c.term.terms)
    if (!row.exponent.empty()) {
      push(line("bound by the running maximum", unary(Op::exp, sum_expr(row.exponent)), number(1)));
      break;
    }
  const Expr acc = symbol(Symbol("acc"));
  const Expr h = acc * move_factor(d, [](Expr running) { return running.name(); });
  Substitution next;
  for (const auto& [running, gauge] : d.gauging.as_gauge) next[running] = symbol(primed(running.name()));
  const Expr term = d.n.print(c.term);
  push(line("pivot", acc * (substitute(term, next) / d.read_text(term)), h));
}

/// What the plan does not do: exp(u + r) taken apart, which would leave exp(u) alone without a bound.
void refuse_to_take_apart(const SumDerivation& d, Fusion& fusion) {
  if (d.gauging.exponent.empty()) return;
  for (const Term& row : d.parts.u[0].terms) {
    if (row.exponent.empty() || d.n.is_nonpositive(Sum{{}, row.exponent}, row.guards)) continue;
    const Expr alone = unary(Op::exp, sum_expr(row.exponent));
    const Expr moving = d.read_text(unary(Op::exp, sum_expr(d.gauging.exponent)));
    fusion.not_taken.push_back(refusal("range: " + print(moving) + " is not moved behind the sum of " + fusion.consumer.text() + ", for " +
                                           print(alone) + " alone leaves the range of numbers.",
                                       alone));
    return;
  }
}

bool all_rows(const std::vector<Sum>& sums, const std::function<bool(const Term&)>& holds) {
  return std::all_of(sums.begin(), sums.end(), [&](const Sum& sum) { return std::all_of(sum.terms.begin(), sum.terms.end(), holds); });
}

/// m != -inf behind the sum, m a running maximum over elements that all of the rows' masks let through: there is one.
bool is_known_to_have_elements(const SumDerivation& d, const std::vector<Sum>& carried, const Sum& behind) {
  const auto says_so = [&](Expr guard) {
    const OrderFact* fact = guard.is(Op::ne) && is_minus_infinity(guard.arg(1)) ? fact_about(d.n, guard.arg(0)) : nullptr;
    return fact != nullptr && all_rows(carried, [&](const Term& row) {
             return std::includes(fact->bounded.alive.begin(), fact->bounded.alive.end(), row.guards.begin(), row.guards.end());
           });
  };
  return std::any_of(behind.terms.begin(), behind.terms.end(),
                     [&](const Term& term) { return std::any_of(term.guards.begin(), term.guards.end(), says_so); });
}

/// A running maximum over the very elements that the masks of all rows let through: -inf where there are none.
Expr maximum_over(const SumDerivation& d, const std::vector<Sum>& carried) {
  for (const OrderFact& fact : d.n.order_facts())
    if (fact.upper && all_rows(carried, [&](const Term& row) { return !row.guards.empty() && row.guards == fact.bounded.alive; }))
      return fact.running;
  return {};
}

/// What stands behind the sums divides by a sum that may be 0: of no elements, or of none that masks let through, the text gives 0.
/// `carried`: the terms of each sum; `behind`: what each is multiplied by.
void guard_against_no_elements(const SumDerivation& d, const std::vector<Sum>& carried, const std::vector<Sum>& behind, Derived& derived) {
  const auto divides = [&](const Sum& each) {
    return may_divide_by_zero(each, d.n.facts()) && !is_known_to_have_elements(d, carried, each);
  };
  if (std::none_of(behind.begin(), behind.end(), divides)) return;
  if (const Expr maximum = maximum_over(d, carried)) {
    derived.project = where(binary(Op::eq, maximum, minus_infinity()), number(0), derived.project);
    return;
  }
  const math::Program& program = d.n.facts().view().program();
  if (!all_rows(carried,
                [](const Term& row) { return !row.guards.empty(); })) {  // a term without a mask counts wherever there is an element
    derived.project = unless_empty(d.reduction, program, derived.project, number(0));
    return;
  }
  Expr counts;
  for (const Sum& sum : carried)
    for (const Term& row : sum.terms) {
      const Expr mask = conjunction(row.guards);
      counts = counts && counts != mask ? binary(Op::logical_or, counts, mask) : mask;
    }
  const Symbol any = unused_name(program, d.consumer.statement->name.text() + ".any");
  derived.parts.push_back({any, builtin_reducer(Symbol("any")), {}, {counts}});
  derived.project = where(symbol(any), derived.project, number(0));
}

Derived finish(SumDerivation& d, const Sum& sum) {
  Derived derived;
  Fusion& fusion = derived.fusion;
  const Carriage c = carriage(d);
  const math::Statement& statement = *d.consumer.statement;
  const bool whole = is_one(c.behind);
  const Symbol name = carried_name(d.n.facts().view().program(), statement, whole);
  const Expr term = d.n.print(c.term);
  const Expr project = whole ? symbol(name) : d.n.print(d.n.product(sum_of(atom(symbol(name))), c.behind));
  fusion.rank = 1;
  for (const Producer& producer : d.consumer.producers)
    if (std::find(fusion.producers.begin(), fusion.producers.end(), producer.name) == fusion.producers.end())
      fusion.producers.push_back(producer.name);
  fusion.delayed = delayed_text(d, c.behind);
  fusion.guard = guard_text(d, c.behind);
  derive_lines(d, sum, c, fusion);
  if (d.gauging.gauges.empty()) {
    fusion.kind = FusionKind::factored;
    fusion.factored = {{name, d.reduction.reducer, term, symbol(name)}};
    fusion.project = project;
  } else {
    fusion.kind = FusionKind::repaired;
    const Expr move = symbol(name) * move_factor(d, [](Expr running) { return gauge_name(running.name()); });
    fusion.repair = math::Repair{d.gauging.gauges, {{name, d.reduction.reducer, substitute(term, d.gauging.as_gauge), move}}, project};
    fusion.repair_text = print(symbol(Symbol("acc")) * move_factor(d, [](Expr running) { return running.name(); }));
    fusion.consumer = statement.name;
    refuse_to_take_apart(d, fusion);
  }
  derived.parts.push_back({name, d.reduction.reducer, d.reduction.result, {term}});
  derived.project = project;
  if (!whole) guard_against_no_elements(d, {c.term}, {c.behind}, derived);
  return derived;
}

/// Rank K with terms of one sign or bounded u-parts: K sums free of r.
Derived factor_at_rank_k(SumDerivation& d, const Sum& sum) {
  Derived derived;
  Fusion& fusion = derived.fusion;
  fusion.kind = FusionKind::factored;
  fusion.rank = d.parts.rank();
  for (const Producer& producer : d.consumer.producers) fusion.producers.push_back(producer.name);
  Sum project;
  for (std::size_t k = 0; k < d.parts.u.size(); ++k) {
    const Symbol name = unused_name(d.n.facts().view().program(), d.consumer.statement->name.text() + "." + std::to_string(k));
    const Expr term = d.n.print(d.parts.u[k]);
    fusion.factored.push_back({name, d.reduction.reducer, term, symbol(name)});
    derived.parts.push_back({name, d.reduction.reducer, d.reduction.result, {term}});
    project = add(project, d.n.product(sum_of(atom(symbol(name))), d.parts.r[k])).value_or(project);
  }
  fusion.project = d.n.print(project);
  derived.project = fusion.project;
  guard_against_no_elements(d, d.parts.u, d.parts.r, derived);
  begin_derivation(fusion, d.consumer, d.n, d.n.print(sum));
  Substitution sums;
  for (const math::Carried& carried : fusion.factored) sums[symbol(carried.name)] = reduction_expr(d.reduction, carried.term);
  const DerivationLine last =
      line("pull a factor behind the sum", reduction_expr(d.reduction, d.n.print(sum)), substitute(fusion.project, sums));
  fusion.derivation.push_back(last);
  fusion.all_lines.push_back(last);
  return derived;
}

/// The places where the text reads a producer, not only its finite rank, decide (docs/algebra.md).
std::optional<Refusal> refused_by_place(const Consumer& consumer) {
  for (const Producer& producer : consumer.producers) {
    if (producer.at_identity) continue;
    std::string places;
    for (Expr at : producer.read.args()) places += (places.empty() ? "" : ", ") + print(at);
    return refusal(producer.name.text() + " is read at " + places + ", not at the identity index.", producer.read,
                   "Read it at the consumer's own indices, or accept a second pass.");
  }
  return std::nullopt;
}

/// u^p / r^p with p >= 2, r no gauge: u^p alone leaves the range that the ratio keeps.
std::optional<Refusal> refused_by_power(const SumDerivation& d) {
  const Rational two(2);
  const auto& rows = d.parts.u[0].terms;
  const bool grows_by_power = std::any_of(rows.begin(), rows.end(), [&](const Term& row) {
    return std::any_of(row.factors.begin(), row.factors.end(), [&](const auto& factor) { return factor.second >= two; });
  });
  if (!grows_by_power || !d.parts.r[0].is_one_term()) return std::nullopt;
  for (const auto& [factor, power] : d.parts.r[0].terms[0].factors) {
    const auto wanted = subtract(Rational(0), power);
    const bool is_gauge = d.gauging.as_gauge.count(factor) != 0;
    if (!wanted || *wanted < two || is_gauge || (d.n.roles().of(factor) & r_role) == 0) continue;
    return refusal("range: " + print(d.n.print(d.parts.u[0])) + " without its divisor " + print(d.read_text(factor)) +
                       " leaves the range that the ratio keeps.",
                   factor, "A running maximum of the element's magnitude as divisor would keep it in range.");
  }
  return std::nullopt;
}

bool is_partial(Expr atom, Rational power, const Facts& facts) {
  if (atom.is(Op::log) || atom.is(Op::log2)) return !is_within(facts.sign(atom.arg(0)), positive);
  if (power.sign() < 0) return !is_within(facts.sign(atom), positive) && !is_within(facts.sign(atom), negative);
  return !power.is_integer() && !is_within(facts.sign(atom), positive | zero);
}

/// where(ok, f(u), 0), ok a running `all`, f not defined everywhere: f may be taken only under the running ok (absorbed).
std::optional<Derived> absorb(SumDerivation& d, const Sum& sum) {
  const Sum& behind = d.parts.r[0];
  if (!behind.is_one_term() || behind.terms[0].guards.size() != 1 || d.consumer.producers.size() != 1) return std::nullopt;
  const Expr ok = *behind.terms[0].guards.begin();
  const math::Statement* producer = ok.is(Op::read) ? d.n.facts().view().reduction(ok.name()) : nullptr;
  if (producer == nullptr || monoid_operation(*producer->reduction()->reducer) != Op::logical_and) return std::nullopt;
  const bool partial = std::any_of(d.parts.u[0].terms.begin(), d.parts.u[0].terms.end(), [&](const Term& row) {
    return std::any_of(row.factors.begin(), row.factors.end(), [&](const auto& f) { return is_partial(f.first, f.second, d.n.facts()); });
  });
  Term bare = behind.terms[0];
  bare.guards.clear();
  if (!partial || !is_one(sum_of(bare))) return std::nullopt;
  Derived derived = finish(d, sum);
  const Symbol name = d.consumer.statement->name;
  const Symbol gauge = gauge_name(ok.name());
  const Expr term = d.n.print(d.parts.u[0]);
  const Expr none = number(0);
  Fusion& fusion = derived.fusion;
  fusion.kind = FusionKind::absorbed;
  fusion.factored.clear();
  fusion.project = {};
  fusion.repair =
      math::Repair{{{gauge, ok}},
                   {{name, d.reduction.reducer, where(symbol(gauge), term, none), where(symbol(primed(gauge)), symbol(name), none)}},
                   where(ok, symbol(name), none)};
  fusion.repair_text = print(where(symbol(primed(ok.name())), symbol(Symbol("acc")), none));
  fusion.guard = print(d.read_text(term)) + " is evaluated only under the running " + ok.name().text();
  derived.parts = {{name, d.reduction.reducer, d.reduction.result, {where(ok, term, none)}}};
  derived.project = symbol(name);
  return derived;
}

}  // namespace

Result<Derived> derive_sum(Normaliser& n, const Consumer& consumer, std::optional<int>& rank) {
  const Sum& sum = n.of(consumer.values[0]);
  const math::Reduction& reduction = *consumer.statement->reduction();
  if ((n.roles().of(sum.terms) & r_role) == 0 && sum.alive.empty()) {  // r cancelled
    Consumer independent = consumer;
    independent.producers.clear();
    return derive_classic(n.facts(), independent);
  }
  if (!sum.alive.empty()) return tl::unexpected(refusal("A sum of terms that may be -inf has no parts to carry.", n.print(sum)));
  Separated separated = separate(sum, n);
  if (!separated.separation) {
    const Mixed part = smallest_mixed(consumer.values[0], n, separated.mixed);
    if (part.is_condition) return tl::unexpected(refusal("A condition compares u with r: " + print(part.part) + ".", part.part));
    return tl::unexpected(
        refusal(print(part.part) + " is not of finite rank.", part.part, "It needs what it reads complete: it runs in the next pass."));
  }
  SumDerivation d{n, consumer, reduction, std::move(*separated.separation), {}};
  rank = d.parts.rank();
  if (auto by_place = refused_by_place(consumer)) return tl::unexpected(std::move(*by_place));
  if (d.parts.rank() > 1) {
    if (may_factor(sum, d.parts, n)) return factor_at_rank_k(d, sum);
    std::string sums;
    for (const Sum& u : d.parts.u) sums += (sums.empty() ? "" : ", ") + print(reduction_expr(reduction, n.print(u)));
    return tl::unexpected(
        Refusal{"rank " + std::to_string(*rank) + ": needs " + std::to_string(*rank) + " carried sums; not supported yet.",
                {print(consumer.values[0])},
                "The sums are " + sums + ", about a gauge near the data."});
  }
  if (has_reference(d) && grows(d)) {
    if (auto by_set = refused_by_set(consumer)) return tl::unexpected(std::move(*by_set));
    const std::vector<Term>* exponent = common_exponent(d.parts.r[0]);
    if (exponent == nullptr)
      return tl::unexpected(
          refusal("Two parts of " + consumer.statement->name.text() + " would need different references.", n.print(d.parts.r[0])));
    if (auto gauged = gauge_exponent(d, *exponent); !gauged) return tl::unexpected(std::move(gauged.error()));
  } else if (has_reference(d)) {
    keep_reference(d);
  }
  if (d.parts.r[0].is_one_term()) gauge_powers(d, d.parts.r[0].terms[0]);
  if (auto by_power = refused_by_power(d)) return tl::unexpected(std::move(*by_power));
  if (!d.gauging.gauges.empty())
    if (auto by_set = refused_by_set(consumer)) return tl::unexpected(std::move(*by_set));
  if (d.gauging.gauges.empty())
    if (auto absorbed = absorb(d, sum)) return std::move(*absorbed);
  return finish(d, sum);
}

}  // namespace fathom::algebra
