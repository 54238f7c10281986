// Signs by structure, memoised. See facts.hpp.
#include "algebra/facts.hpp"

#include <algorithm>

namespace fathom::algebra {

Signs sign_of_sum(Signs a, Signs b) {
  Signs s = 0;
  if (((a | b) & positive) != 0) s |= positive;
  if (((a | b) & negative) != 0) s |= negative;
  if ((a & zero) != 0 && (b & zero) != 0) s |= zero;
  if (((a & positive) != 0 && (b & negative) != 0) || ((a & negative) != 0 && (b & positive) != 0)) s = any_sign;
  return s;
}

Signs sign_of_product(Signs a, Signs b) {
  Signs s = 0;
  if (((a | b) & zero) != 0) s |= zero;
  if (((a & positive) != 0 && (b & positive) != 0) || ((a & negative) != 0 && (b & negative) != 0)) s |= positive;
  if (((a & positive) != 0 && (b & negative) != 0) || ((a & negative) != 0 && (b & positive) != 0)) s |= negative;
  return s;
}

namespace {

Signs sign_of_number(int sign) { return sign > 0 ? positive : sign < 0 ? negative : zero; }

Signs flipped(Signs s) { return (s & zero) | ((s & positive) != 0 ? negative : 0U) | ((s & negative) != 0 ? positive : 0U); }

Signs sign_of_power(Signs base, Rational power) {
  if (is_within(base, positive)) return positive;
  const Signs at_zero = (base & zero) != 0 ? zero : 0U;
  if (power.is_integer() && power.num() % 2 == 0) return positive | at_zero;
  if (!power.is_integer()) return positive | at_zero;  // where it is defined at all
  return base;
}

}  // namespace

Facts::Facts(const ProgramView& view) : view_(&view) {
  for (Expr condition : view.program().conditions) learn(view.inlined(condition));
}

void Facts::learn(Expr condition) {
  if (condition.is(Op::logical_and)) {
    learn(condition.arg(0));
    learn(condition.arg(1));
    return;
  }
  const bool greater = condition.is(Op::gt) || condition.is(Op::ge);
  if (!greater && !condition.is(Op::lt) && !condition.is(Op::le)) return;
  const bool strict = condition.is(Op::gt) || condition.is(Op::lt);
  const Expr large = condition.arg(greater ? 0 : 1);
  const Expr small = condition.arg(greater ? 1 : 0);
  const Signs above = strict ? positive : positive | zero;
  if (is_within(sign(small), zero | positive)) known_[large] = above | (is_within(sign(small), positive) ? 0U : above);
  if (is_within(sign(large), zero | negative)) known_[small] = flipped(above);
  known_[large - small] = above;
  memo_.clear();
}

Signs Facts::sign(Expr e) const {
  if (const auto told = known_.find(e); told != known_.end()) return told->second;
  if (const auto found = memo_.find(e); found != memo_.end()) return found->second;
  memo_[e] = any_sign;  // a cycle cannot be, but costs nothing to survive
  const Signs s = compute(e);
  memo_[e] = s;
  return s;
}

Signs Facts::compute(Expr e) const {
  const auto of = [&](std::size_t i) { return sign(e.arg(i)); };
  switch (e.op()) {
    case Op::number:
      return e.node().inexact != 0 ? sign_of_number(e.node().inexact > 0 ? 1 : -1) : sign_of_number(e.node().number.sign());
    case Op::infinity:
    case Op::dim:
    case Op::sigmoid:
    case Op::exp:
    case Op::exp2:
      return positive;
    case Op::index:
    case Op::extent:
    case Op::random:
      return zero | positive;
    case Op::neg:
      return flipped(of(0));
    case Op::add:
      return sign_of_sum(of(0), of(1));
    case Op::sub:
      return sign_of_sum(of(0), flipped(of(1)));
    case Op::mul:
      return e.arg(0) == e.arg(1) ? (of(0) & zero) | positive : sign_of_product(of(0), of(1));
    case Op::div:
      return sign_of_product(of(0), of(1));
    case Op::pow:
      return e.arg(1).is(Op::number) && e.arg(1).node().inexact == 0 ? sign_of_power(of(0), e.arg(1).node().number)
             : is_within(of(0), positive)                            ? positive
                                                                     : any_sign;
    case Op::abs:
    case Op::sqrt:
    case Op::rsqrt:
      return (of(0) & zero) | positive;
    case Op::tanh:
    case Op::erf:
      return of(0);
    case Op::floor:
      return is_within(of(0), positive | zero) ? positive | zero : any_sign;
    case Op::floordiv:
    case Op::mod:
      return is_within(of(0), positive | zero) && is_within(of(1), positive) ? positive | zero : any_sign;
    case Op::log:
    case Op::log2:
      return e.arg(0) == number(2) ? positive : any_sign;
    case Op::where:
      return of(1) | of(2);
    case Op::max:
      return is_within(of(0), positive) || is_within(of(1), positive)                 ? positive
             : is_within(of(0), positive | zero) || is_within(of(1), positive | zero) ? positive | zero
                                                                                      : of(0) | of(1);
    case Op::min:
      return is_within(of(0), negative) || is_within(of(1), negative) ? negative : of(0) | of(1);
    case Op::cast:
      return of(0);
    case Op::read: {
      const math::Statement* statement = view_->reduction(e.name());
      return statement != nullptr ? sign_of_reduction(*statement) : any_sign;
    }
    default:
      return any_sign;
  }
}

/// On non-empty prefixes: a sum of terms of one sign has it, an extremum has one of the terms', a product of non-negative ones too.
Signs Facts::sign_of_reduction(const math::Statement& statement) const {
  const math::Reduction& reduction = *statement.reduction();
  const auto operation = monoid_operation(*reduction.reducer);
  if (!operation || reduction.values.size() != 1) return any_sign;
  const Signs of_term = sign(view_->inlined(reduction.values.front()));
  switch (*operation) {
    case Op::add:
      return sign_of_sum(of_term, of_term);
    case Op::mul:
      return sign_of_product(of_term, of_term) | of_term;
    case Op::max:
    case Op::min:
      return of_term;
    default:
      return any_sign;
  }
}

Signs Facts::sign(const Term& term) const {
  Signs s = sign_of_number(term.coefficient.sign());
  for (const auto& [base, power] : term.factors) s = sign_of_product(s, sign_of_power(sign(base), power));
  return term.guards.empty() ? s : s | zero;
}

Signs Facts::sign(const Sum& sum) const {
  if (sum.terms.empty()) return sum.alive.empty() ? zero : zero | negative;
  Signs s = sign(sum.terms.front());
  for (std::size_t i = 1; i < sum.terms.size(); ++i) s = sign_of_sum(s, sign(sum.terms[i]));
  return sum.alive.empty() ? s : s | negative;
}

bool Facts::is_bounded(Expr atom) {
  switch (atom.op()) {
    case Op::cos:
    case Op::sin:
    case Op::tanh:
    case Op::sigmoid:
    case Op::erf:
    case Op::random:
      return true;
    default:
      return false;
  }
}

}  // namespace fathom::algebra
