// Bottom-up: operands are sums already. Every step that a rule names leaves a line; reorderings of sums and products leave none.
// Recursion is bounded by the depth that ProgramView admits.
#include "algebra/normal_form.hpp"

#include <algorithm>

#include "algebra/rules/rule.hpp"
#include "ir/comparison.hpp"

namespace fathom::algebra {

namespace {

/// Index arithmetic: no tensor, no real function. It keeps its spelling (simplified), bounds of loops are derived from it.
bool is_index_arithmetic(Expr e) {
  bool result = true;
  visit(e, [&](Expr part) {
    switch (part.op()) {
      case Op::number:
        result = result && part.node().inexact == 0 && part.node().number.is_integer();
        break;
      case Op::index:
      case Op::dim:
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::floordiv:
      case Op::mod:
      case Op::neg:
        break;
      default:
        result = false;
    }
  });
  return result;
}

const Rational minus_one(-1);

bool is_sum_atom(Expr e) { return e.is(Op::add) || e.is(Op::sub) || e.is(Op::neg); }

}  // namespace

Role Roles::of(Expr e) const {
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  Role role = 0;
  for (Symbol index : free_indices(e))
    if (over_.count(index) != 0) role |= u_role;
  visit(e, [&](Expr part) {
    if (part.is(Op::read) && producers_.count(part.name()) != 0) role |= r_role;
  });
  memo_.emplace(e, role);
  return role;
}

Role Roles::of(const std::vector<Term>& terms) const {
  Role role = 0;
  for (const Term& term : terms) role |= of(term);
  return role;
}

Role Roles::of(const Term& term) const {
  Role role = of(term.exponent);
  for (const auto& [base, power] : term.factors) role |= of(base);
  for (Expr guard : term.guards) role |= of(guard);
  return role;
}

void Normaliser::note(std::string_view rule, Expr before, Expr after) {
  if (before == after) return;
  const Rule& named = rule_named(rule);
  lines_.push_back({std::string(named.name), std::string(named.equation), before, after});
}

std::optional<Expr> Normaliser::rewritten_by(std::string_view rule, Expr e) {
  const std::size_t before = lines_.size();
  const Expr after = canonical(e);
  const bool applied = std::any_of(lines_.begin() + static_cast<std::ptrdiff_t>(before), lines_.end(),
                                   [&](const DerivationLine& line) { return line.rule == rule; });
  return applied && after != e ? std::optional(after) : std::nullopt;
}

const Sum& Normaliser::of(Expr e) {
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  Sum sum = compute(e);
  return memo_.emplace(e, std::move(sum)).first->second;
}

Sum Normaliser::or_whole(std::optional<Sum> sum, Expr e) { return sum ? std::move(*sum) : whole(e); }

Sum Normaliser::compute(Expr e) {
  switch (e.op()) {
    case Op::number:
      return e.node().inexact != 0 ? sum_of(atom(e)) : constant(e.node().number);
    case Op::neg:
      return or_whole(scale(of(e.arg(0)), minus_one), e);
    case Op::add:
      return or_whole(add(of(e.arg(0)), of(e.arg(1))), e);
    case Op::sub:
      return or_whole(subtract(of(e.arg(0)), of(e.arg(1))), e);
    case Op::mul:
      return product(of(e.arg(0)), of(e.arg(1)));
    case Op::div: {
      const Sum& above = of(e.arg(0));
      const Sum& below = of(e.arg(1));
      if (above.is_one_term() && below.is_one_term() && !above.terms[0].exponent.empty() && !below.terms[0].exponent.empty())
        if (const auto rest = subtract(Sum{{}, above.terms[0].exponent}, Sum{{}, below.terms[0].exponent}))
          note("quotient of exponentials",
               unary(Op::exp, sum_expr(above.terms[0].exponent)) / unary(Op::exp, sum_expr(below.terms[0].exponent)),
               unary(Op::exp, sum_expr(rest->terms)));
      return product(above, power(below, minus_one));
    }
    case Op::pow:
      if (const Sum exponent = of(e.arg(1)); exponent.is_one_term() && exponent.terms[0].is_number())
        return power(of(e.arg(0)), exponent.terms[0].coefficient);
      return whole(e);
    case Op::exp:
      return exponential(of(e.arg(0)));
    case Op::log:
      return logarithm(of(e.arg(0)));
    case Op::exp2:
    case Op::log2:
      return rewrite(e, exponential_rules());
    case Op::sqrt:
    case Op::rsqrt:
      return rewrite(e, power_rules());
    case Op::abs:
      return absolute(of(e.arg(0)));
    case Op::max:
    case Op::min:
      return extremum(e);
    case Op::cos:
    case Op::sin:
      return wave(e);
    case Op::where:
      return select(e);
    default:
      return whole(e);
  }
}

Sum Normaliser::rewrite(Expr e, std::span<const Rule> rules) {
  std::vector<Expr> args;
  for (Expr arg : e.args()) args.push_back(canonical(arg));
  const Expr ready = with_args(e, std::move(args));
  for (const Rule& rule : rules)
    if (const auto after = rule.apply(ready, *this); after && *after != e) {
      note(rule.name, ready, *after);
      return of(*after);
    }
  return sum_of(atom(ready));
}

Sum Normaliser::whole(Expr e) {
  if (is_condition(e.op())) return sum_of(atom(conjunction(conjuncts(e))));
  if (e.args().empty()) return sum_of(atom(e));
  if (e.is(Op::read) || e.is(Op::floordiv) || e.is(Op::mod)) {
    std::vector<Expr> args;
    for (Expr arg : e.args()) args.push_back(simplify_integer(arg));
    return sum_of(atom(with_args(e, std::move(args))));
  }
  std::vector<Expr> args;
  for (Expr arg : e.args()) args.push_back(canonical(arg));
  return sum_of(atom(with_args(e, std::move(args))));
}

Sum Normaliser::opaque(const Sum& sum) {
  if (sum.is_one_term() || sum.is_zero()) return sum;
  if (!sum.alive.empty()) return sum_of(atom(print(sum)));
  // the term with most indices leads: names do not decide the sign
  const Term* leading = &sum.terms.front();
  const auto indices = [](const Term& term) { return free_indices(to_expr(term)).size(); };
  for (const Term& term : sum.terms)
    if (indices(term) > indices(*leading)) leading = &term;
  const Rational lead = leading->coefficient;
  const auto inverse = divide(Rational(1), lead);
  const auto monic = inverse ? scale(sum, *inverse) : std::nullopt;
  if (!monic) return sum_of(atom(print(sum)));
  Term term = atom(print(*monic));
  term.coefficient = lead;
  return sum_of(std::move(term));
}

Sum Normaliser::product(const Sum& a, const Sum& b) {
  if (a.is_zero() || b.is_zero()) return Sum{};
  if (a.is_one_term() && a.terms[0].is_number())
    if (auto scaled = scale(b, a.terms[0].coefficient)) return std::move(*scaled);
  if (b.is_one_term() && b.terms[0].is_number())
    if (auto scaled = scale(a, b.terms[0].coefficient)) return std::move(*scaled);
  const auto expands = [&](const Sum& s) { return s.alive.empty() && s.terms.size() > 1 && roles_.of(s.terms) == mixed; };
  const bool distributes = expands(a) || expands(b);
  // The terms of a masked score in one piece: e * (s - m) distributed would lose the digits of the difference.
  const auto in_one_piece = [&](const Sum& s) {
    return s.terms.size() < 2 || roles_.of(s.terms) == mixed ? s : Sum{s.alive, opaque(Sum{{}, s.terms}).terms};
  };
  const Sum left = expands(a) || a.is_one_term() ? a : !a.alive.empty() && b.is_one_term() ? in_one_piece(a) : opaque(a);
  const Sum right = expands(b) || b.is_one_term() ? b : !b.alive.empty() && a.is_one_term() ? in_one_piece(b) : opaque(b);
  auto result = left.alive.empty() ? multiply(right, left) : multiply(left, right);
  if (!result) result = multiply(opaque(left).terms.size() == 1 ? opaque(left) : left, opaque(right));
  if (!result) return sum_of(atom(print(a) * print(b)));
  if (distributes) note("distribute", print(a) * print(b), print(*result));
  if (left.is_one_term() && right.is_one_term() && result->is_one_term()) {
    const Term& t = result->terms[0];
    if (!left.terms[0].exponent.empty() && !right.terms[0].exponent.empty() && !t.exponent.empty())
      note("product of exponentials", unary(Op::exp, sum_expr(left.terms[0].exponent)) * unary(Op::exp, sum_expr(right.terms[0].exponent)),
           unary(Op::exp, sum_expr(t.exponent)));
    if (is_plain_product(*result))
      if (auto opened = scale(of(t.factors.begin()->first), t.coefficient)) return std::move(*opened);
  }
  return std::move(*result);
}

/// c * (a sum kept whole)^1: the sum itself.
bool Normaliser::is_plain_product(const Sum& sum) const {
  const Term& t = sum.terms[0];
  return t.exponent.empty() && t.guards.empty() && t.factors.size() == 1 && t.factors.begin()->second == Rational(1) &&
         is_sum_atom(t.factors.begin()->first);
}

Sum Normaliser::power(const Sum& base, Rational exponent) {
  if (exponent == Rational(1)) return base;
  if (exponent.sign() == 0) return constant(Rational(1));
  if (base.is_zero() && exponent.sign() > 0) return base;
  const auto kept = [&] { return sum_of(atom(print(base), exponent)); };
  if (base.is_zero() || !base.alive.empty()) return kept();
  if (base.terms.size() > 1) {
    if (roles_.of(base.terms) == mixed && exponent.is_integer() && exponent.sign() > 0 && exponent.num() <= 6) {
      std::optional<Sum> result = base;
      for (std::int64_t i = 1; result && i < exponent.num(); ++i) result = multiply(*result, base);
      if (!result) return kept();
      note("expand a power", binary(Op::pow, print(base), number(exponent)), print(*result));
      return std::move(*result);
    }
    if (!exponent.is_integer()) return kept();
    const Sum one = opaque(base);
    return one.is_one_term() ? power(one, exponent) : kept();
  }
  const Term& t = base.terms[0];
  if (!t.guards.empty() && exponent.sign() < 0) return kept();
  Term result;
  result.guards = t.guards;
  if (exponent.is_integer()) {
    const auto c = fathom::power(t.coefficient, exponent.num());
    if (!c) return kept();
    result.coefficient = *c;
  } else if (t.coefficient != Rational(1)) {
    if (t.coefficient.sign() < 0) return kept();
    result.factors.emplace(number(t.coefficient), exponent);
  }
  std::size_t unknown = 0;
  for (const auto& [base_factor, p] : t.factors) {
    Expr factor = base_factor;
    const auto total = multiply(p, exponent);
    if (!total) return kept();
    if (!exponent.is_integer() && !is_within(facts_->sign(factor), zero | positive)) {
      if (p.is_integer() && p.num() % 2 == 0)
        factor = unary(Op::abs, factor);
      else
        ++unknown;
    }
    result.factors[factor] = *total;
  }
  if (unknown > 1 || (unknown == 1 && t.factors.size() + (t.exponent.empty() ? 0U : 1U) > 1 && t.coefficient.sign() < 0)) return kept();
  for (Term part : t.exponent) {
    const auto c = multiply(part.coefficient, exponent);
    if (!c) return kept();
    part.coefficient = *c;
    result.exponent.push_back(std::move(part));
  }
  return sum_of(std::move(result));
}

Sum Normaliser::exponential(const Sum& sum) {
  if (weight(sum.terms) > most_terms_of_exponent) return sum_of(atom(unary(Op::exp, print(sum))));
  Term rest;
  rest.guards = sum.alive;
  Sum result = constant(Rational(1));
  for (const Term& term : sum.terms) {
    const bool is_log = term.exponent.empty() && term.guards.empty() && term.factors.size() == 1 &&
                        term.factors.begin()->second == Rational(1) && term.factors.begin()->first.is(Op::log);
    if (!is_log) {
      rest.exponent.push_back(term);
      continue;
    }
    const Expr inside = term.factors.begin()->first.arg(0);
    const Sum factor = power(of(inside), term.coefficient);
    note("exponential of a logarithm", unary(Op::exp, to_expr(term)), print(factor));
    result = product(result, factor);
  }
  return product(result, sum_of(std::move(rest)));
}

Sum Normaliser::logarithm(const Sum& sum) {
  const auto kept = [&] { return sum_of(atom(unary(Op::log, print(sum)))); };
  if (!sum.is_one_term() || sum.terms[0].coefficient.sign() <= 0) return kept();
  const Term& t = sum.terms[0];
  std::size_t unknown = 0;
  for (const auto& [factor, p] : t.factors)
    if (!is_within(facts_->sign(factor), zero | positive)) unknown += p.is_integer() && p.num() % 2 == 0 ? 2 : 1;
  if (unknown > 1) return kept();
  const bool single = t.exponent.empty() && t.guards.empty() && t.coefficient == Rational(1) && t.factors.size() == 1;
  if (single && t.factors.begin()->second == Rational(1)) return kept();
  Sum result;
  result.alive = t.guards;
  std::optional<Sum> total = add(result, Sum{{}, t.exponent});
  for (const auto& [factor, p] : t.factors) {
    Term part = atom(unary(Op::log, factor));
    part.coefficient = p;
    if (total) total = add(*total, sum_of(std::move(part)));
  }
  if (t.coefficient != Rational(1) && total) total = add(*total, sum_of(atom(unary(Op::log, number(t.coefficient)))));
  if (!total) return kept();
  note(t.factors.empty() && t.coefficient == Rational(1) ? "logarithm of an exponential" : "logarithm of a product",
       unary(Op::log, print(sum)), print(*total));
  return std::move(*total);
}

Sum Normaliser::absolute(const Sum& sum) {
  const auto kept = [&] { return sum_of(atom(unary(Op::abs, print(sum)))); };
  if (!sum.alive.empty()) return kept();
  const auto flipped = scale(sum, minus_one);
  const Signs sign = facts_->sign(sum);
  if (flipped && (is_within(sign, negative | zero) || is_nonpositive(sum, {}))) {
    note("absolute value by sign", unary(Op::abs, print(sum)), print(*flipped));
    return *flipped;
  }
  if (is_within(sign, positive | zero) || (flipped && is_nonpositive(*flipped, {}))) {
    note("absolute value by sign", unary(Op::abs, print(sum)), print(sum));
    return sum;
  }
  if (!sum.is_one_term()) {
    const Sum one = opaque(sum);
    if (!one.is_one_term()) return kept();
    Term t = one.terms[0];
    Term result = atom(unary(Op::abs, t.factors.begin()->first));
    result.coefficient = t.coefficient.sign() < 0 ? subtract(Rational(0), t.coefficient).value_or(t.coefficient) : t.coefficient;
    return sum_of(std::move(result));
  }
  Term result = sum.terms[0];
  if (result.coefficient.sign() < 0) {
    const auto c = subtract(Rational(0), result.coefficient);
    if (!c) return kept();
    result.coefficient = *c;
  }
  result.factors.clear();
  for (const auto& [factor, p] : sum.terms[0].factors) {
    const bool even = p.is_integer() && p.num() % 2 == 0;
    result.factors[even || is_within(facts_->sign(factor), zero | positive) ? factor : unary(Op::abs, factor)] = p;
  }
  note("absolute value of a product", unary(Op::abs, print(sum)), print(sum_of(result)));
  return sum_of(std::move(result));
}

Sum Normaliser::extremum(Expr e) {
  Sum a = of(e.arg(0));
  const Sum& b = of(e.arg(1));
  if (equal(a, b)) return a;
  const auto difference = subtract(a, b);
  if (difference && difference->alive.empty()) {
    const auto opposite = scale(*difference, minus_one);
    const bool below = is_nonpositive(*difference, {}) || is_within(facts_->sign(*difference), negative | zero);
    const bool above = opposite && (is_nonpositive(*opposite, {}) || is_within(facts_->sign(*opposite), negative | zero));
    if (below || above) {
      const Sum& winner = below == e.is(Op::max) ? b : a;
      note(e.is(Op::max) ? "maximum by order" : "minimum by order", e, print(winner));
      return winner;
    }
  }
  Expr x = print(a);
  Expr y = print(b);
  if (y < x) std::swap(x, y);
  return sum_of(atom(binary(e.op(), x, y)));
}

/// cos(u + r), sin(u + r): separated where each term belongs to one side.
Sum Normaliser::wave(Expr e) {
  const Sum& sum = of(e.arg(0));
  const auto kept = [&] { return sum_of(atom(unary(e.op(), print(sum)))); };
  if (!sum.alive.empty() || roles_.of(sum.terms) != mixed) return kept();
  Sum u;
  Sum r;
  for (const Term& term : sum.terms) {
    if (roles_.of(term) == mixed) return kept();
    (roles_.of(term) == u_role ? u : r).terms.push_back(term);
  }
  const auto f = [&](Op op, const Sum& of_part) { return sum_of(atom(unary(op, print(of_part)))); };
  const bool is_cos = e.is(Op::cos);
  const Sum first = product(f(e.op(), u), f(Op::cos, r));
  const Sum second = product(f(is_cos ? Op::sin : Op::cos, u), f(Op::sin, r));
  const auto result = is_cos ? subtract(first, second) : add(first, second);
  if (!result) return kept();
  note(is_cos ? "cosine of a sum" : "sine of a sum", unary(e.op(), print(sum)), print(*result));
  return *result;
}

std::set<Expr> Normaliser::conjuncts(Expr c) {
  const auto one = [](Expr e) { return e == boolean(true) ? std::set<Expr>{} : std::set<Expr>{e}; };
  const auto both = [&] {
    std::set<Expr> all = conjuncts(c.arg(0));
    all.merge(conjuncts(c.arg(1)));
    return all;
  };
  switch (c.op()) {
    case Op::logical_and:
      return both();
    case Op::logical_not:
      if (c.arg(0).is(Op::logical_or)) {
        std::set<Expr> all = conjuncts(unary(Op::logical_not, c.arg(0).arg(0)));
        all.merge(conjuncts(unary(Op::logical_not, c.arg(0).arg(1))));
        return all;
      }
      return one(negate(conjunction(conjuncts(c.arg(0)))));
    case Op::logical_or: {
      Expr x = conjunction(conjuncts(c.arg(0)));
      Expr y = conjunction(conjuncts(c.arg(1)));
      if (y < x) std::swap(x, y);
      return one(x == y ? x : binary(Op::logical_or, x, y));
    }
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      break;
    default:
      return one(is_condition(c.op()) ? c : canonical(c));
  }
  const bool integers = is_index_arithmetic(c.arg(0)) && is_index_arithmetic(c.arg(1));
  Expr x = integers ? simplify_integer(c.arg(0)) : canonical(c.arg(0));
  Expr y = integers ? simplify_integer(c.arg(1)) : canonical(c.arg(1));
  const bool symmetric = c.is(Op::eq) || c.is(Op::ne);
  const auto fixed = [](Expr side) { return free_indices(side).empty() && tensors_read(side).empty(); };
  const bool sorted = fixed(x) == fixed(y) ? !(y < x) : fixed(y);  // m == -inf: what varies stands first
  const bool turns = symmetric ? !sorted : c.is(Op::gt) || c.is(Op::ge);
  if (turns) std::swap(x, y);
  return one(binary(symmetric ? c.op() : c.is(Op::gt) || c.is(Op::lt) ? Op::lt : Op::le, x, y));
}

Expr Normaliser::canonical(Expr e) {
  if (is_condition(e.op())) return conjunction(conjuncts(e));
  return print(of(e));
}

namespace {

/// Every term under more guards; nullopt for a masked score.
std::optional<Sum> under(Sum sum, const std::set<Expr>& guards) {
  if (!std::includes(guards.begin(), guards.end(), sum.alive.begin(), sum.alive.end())) return std::nullopt;
  sum.alive.clear();
  for (Term& term : sum.terms) term.guards.insert(guards.begin(), guards.end());
  std::erase_if(sum.terms, [](const Term& term) { return is_void(term); });
  return add(sum, Sum{});
}

}  // namespace

Sum Normaliser::select(Expr e) {
  const std::set<Expr> holds = conjuncts(e.arg(0));
  const Expr condition = conjunction(holds);
  if (condition == boolean(true)) return of(e.arg(1));
  if (condition == boolean(false)) return of(e.arg(2));
  const std::set<Expr> fails = conjuncts(negate(condition));
  for (const bool masked_else : {true, false}) {
    if (!is_minus_infinity(e.arg(masked_else ? 2 : 1))) continue;
    Sum score = of(e.arg(masked_else ? 1 : 2));
    const std::set<Expr>& guards = masked_else ? holds : fails;
    score.alive.insert(guards.begin(), guards.end());
    return score;
  }
  Sum then = of(e.arg(1));
  const Sum& otherwise = of(e.arg(2));
  if (then.alive == otherwise.alive && equal(then, otherwise)) return then;
  const Expr kept = where(condition, print(then), print(otherwise));
  const auto a = under(then, holds);
  const auto b = under(otherwise, fails);
  const bool splits = then.is_zero() || otherwise.is_zero() || roles_.of(e) == mixed;
  if (!a || !b || !splits) return sum_of(atom(guarded(holds, print(then), print(otherwise))));
  const auto both = add(*a, *b);
  if (!both) return sum_of(atom(kept));
  if (!then.is_zero() && !otherwise.is_zero()) note("split a select", kept, print(*both));
  return *both;
}

bool Normaliser::is_nonpositive(const Sum& sum, const std::set<Expr>& guards) const {
  if (!sum.alive.empty()) return false;
  Sum left = sum;
  for (const OrderFact& fact : order_) {
    if (!std::includes(guards.begin(), guards.end(), fact.bounded.alive.begin(), fact.bounded.alive.end())) continue;
    const Sum bounded{{}, fact.bounded.terms};
    const std::vector<Term> terms = left.terms;
    for (const Term& term : terms) {
      const auto found = term.factors.find(fact.running);
      if (found == term.factors.end() || found->second != Rational(1)) continue;
      Term weight = term;  // of the running extremum: -λ (upper) or +λ
      weight.factors.erase(fact.running);
      const Signs wanted = fact.upper ? negative | zero : positive | zero;
      if (!is_within(facts_->sign(weight), wanted)) continue;
      const auto without = subtract(left, sum_of(term));
      const auto part = multiply(bounded, weight);
      const auto next = without && part ? add(*without, *part) : std::nullopt;
      if (!next) return false;
      left = *next;
    }
  }
  return std::all_of(left.terms.begin(), left.terms.end(),
                     [&](const Term& term) { return is_within(facts_->sign(term), negative | zero); });
}

}  // namespace fathom::algebra
