// Integer arithmetic on expressions: extents, ranges, subscripts. Sums are kept as polynomials over atoms (anything that is not + - *),
// which gives one form to equal sums. A rule that could change a value is not here; a sum too long for the limits is left as it is.
#include <algorithm>
#include <numeric>

#include "ir/comparison.hpp"
#include "ir/expr.hpp"
#include "ir/node_map.hpp"

namespace fathom {
namespace {

__extension__ typedef __int128 Wide;
using MaybeInt = std::optional<std::int64_t>;

MaybeInt narrow(Wide value) {
  const Wide most = INT64_MAX;
  return value > most || value < -most ? std::nullopt : MaybeInt(static_cast<std::int64_t>(value));
}

/// Rounds down.
template <class Int>
Int floor_quotient(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <class Int>
Int floor_remainder(Int a, Int b) {
  return a - floor_quotient(a, b) * b;
}

MaybeInt literal(Expr expr) {
  if (!expr.is(Op::number) || expr.node().inexact != 0 || !expr.node().number.is_integer()) return std::nullopt;
  return expr.node().number.num();
}

Expr truth(bool value) { return boolean(value); }

/// A product of atoms, sorted; empty: 1.
using Monomial = std::vector<Expr>;

/// Sum of coefficient * monomial; no zero coefficients.
class Polynomial {
 public:
  static constexpr std::size_t most_terms = 48;

  static Polynomial constant(std::int64_t value) {
    Polynomial result;
    if (value != 0) result.terms_[{}] = value;
    return result;
  }

  /// Reads + - * and literals; everything else is an atom, and so is what would have too many terms or overflow.
  static Polynomial of(Expr expr) {
    int budget = most_terms * 4;
    if (std::optional<Polynomial> whole = read(expr, budget)) return *std::move(whole);
    return atom(expr);
  }

  [[nodiscard]] const std::map<Monomial, std::int64_t>& terms() const { return terms_; }
  [[nodiscard]] bool is_zero() const { return terms_.empty(); }
  [[nodiscard]] MaybeInt as_constant() const {
    if (terms_.empty()) return 0;
    if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
    return std::nullopt;
  }

  [[nodiscard]] bool add(const Monomial& monomial, std::int64_t coefficient) {
    const MaybeInt sum = narrow(Wide{coefficient} + (terms_.count(monomial) != 0 ? terms_[monomial] : 0));
    if (!sum) return false;
    if (*sum == 0) {
      terms_.erase(monomial);
    } else {
      terms_[monomial] = *sum;
    }
    return terms_.size() <= most_terms;
  }

  [[nodiscard]] static std::optional<Polynomial> sum(Polynomial a, const Polynomial& b, std::int64_t factor) {
    for (const auto& [monomial, coefficient] : b.terms_) {
      const MaybeInt scaled = narrow(Wide{coefficient} * factor);
      if (!scaled || !a.add(monomial, *scaled)) return std::nullopt;
    }
    return a;
  }

  [[nodiscard]] static std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
    if (a.terms_.size() * b.terms_.size() > 8 && a.terms_.size() > 1 && b.terms_.size() > 1) return std::nullopt;
    Polynomial result;
    for (const auto& [left, c] : a.terms_)
      for (const auto& [right, d] : b.terms_) {
        Monomial both;
        std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
        const MaybeInt coefficient = narrow(Wide{c} * d);
        if (!coefficient || !result.add(both, *coefficient)) return std::nullopt;
      }
    return result;
  }

  /// Positive terms first, then what is subtracted, the constant last.
  [[nodiscard]] Expr expr() const {
    if (const MaybeInt value = as_constant()) return number(*value);
    const auto found = terms_.find({});
    const std::int64_t last = found == terms_.end() ? 0 : found->second;
    const bool any_positive = std::any_of(terms_.begin(), terms_.end(), [](const auto& t) { return !t.first.empty() && t.second > 0; });
    Expr result;
    if (!any_positive && last > 0) result = number(last);
    for (const bool positive : {true, false})
      for (const auto& [monomial, coefficient] : terms_) {
        if (monomial.empty() || (coefficient > 0) != positive) continue;
        if (!result) {
          result = coefficient == -1 ? -scaled(monomial, 1) : scaled(monomial, coefficient);
        } else {
          result = positive ? result + scaled(monomial, coefficient) : result - scaled(monomial, -coefficient);
        }
      }
    if (last == 0 || (!any_positive && last > 0)) return result;
    return last > 0 ? result + number(last) : result - number(-last);
  }

 private:
  static Polynomial atom(Expr expr) {
    Polynomial result;
    result.terms_[{expr}] = 1;
    return result;
  }

  static Expr scaled(const Monomial& monomial, std::int64_t coefficient) {
    Expr result = monomial.front();
    for (std::size_t i = 1; i < monomial.size(); ++i) result = result * monomial[i];
    return coefficient == 1 ? result : result * number(coefficient);
  }

  static std::optional<Polynomial> read(Expr expr, int& budget) {
    if (--budget < 0) return std::nullopt;
    if (const MaybeInt value = literal(expr)) return constant(*value);
    const bool arithmetic = expr.is(Op::add) || expr.is(Op::sub) || expr.is(Op::mul) || expr.is(Op::neg);
    if (!arithmetic) return atom(expr);
    std::optional<Polynomial> left = read(expr.arg(0), budget);
    if (!left) return std::nullopt;
    if (expr.is(Op::neg)) return sum({}, *left, -1);
    const std::optional<Polynomial> right = read(expr.arg(1), budget);
    if (!right) return std::nullopt;
    if (!expr.is(Op::mul)) return sum(*std::move(left), *right, expr.is(Op::sub) ? -1 : 1);
    std::optional<Polynomial> both = product(*left, *right);
    return both ? both : atom(expr);
  }

  std::map<Monomial, std::int64_t> terms_;
};

std::optional<Polynomial> difference(Expr a, Expr b) { return Polynomial::sum(Polynomial::of(a), Polynomial::of(b), -1); }

/// a / b where b divides a term by term; otherwise nothing.
std::optional<std::pair<Monomial, std::int64_t>> quotient(const Monomial& a, std::int64_t c, const Monomial& b, std::int64_t d) {
  if (c % d != 0 || !std::includes(a.begin(), a.end(), b.begin(), b.end())) return std::nullopt;
  Monomial rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return std::pair{rest, c / d};
}

/// numerator = whole * divisor + rest, where `divisor` is one term.
struct Division {
  Polynomial whole, rest;
};
std::optional<Division> divide_terms(const Polynomial& numerator, const Polynomial& divisor) {
  if (divisor.terms().size() != 1) return std::nullopt;
  const auto& [monomial, coefficient] = *divisor.terms().begin();
  Division result;
  for (const auto& [each, c] : numerator.terms()) {
    const auto part = quotient(each, c, monomial, coefficient);
    if (!(part ? result.whole.add(part->first, part->second) : result.rest.add(each, c))) return std::nullopt;
  }
  return result;
}

/// Is it `x % c` or a constant in 0:c? Then it is below c and not negative.
bool is_below(Expr expr, std::int64_t c) {
  if (const MaybeInt value = literal(expr)) return *value >= 0 && *value < c;
  if (!expr.is(Op::mod)) return false;
  const MaybeInt modulus = literal(expr.arg(1));
  return modulus && *modulus > 0 && *modulus <= c;
}

Expr simplify_floordiv(Expr expr);

/// floor((g*n + k) / (g*c)) = floor((n + floor(k/g)) / c)
Expr without_common_factor(const Polynomial& rest, std::int64_t divisor) {
  std::int64_t common = divisor;
  for (const auto& [monomial, c] : rest.terms())
    if (!monomial.empty()) common = std::gcd(common, c);
  Polynomial reduced;
  for (const auto& [monomial, c] : rest.terms())
    if (!reduced.add(monomial, floor_quotient(c, common))) return Expr();
  const Expr numerator = reduced.expr();
  divisor /= common;
  if (divisor == 1) return numerator;
  if (is_below(numerator, divisor)) return number(0);
  if (numerator.is(Op::floordiv))  // (x // a) // b = x // (a*b) for positive a, b
    if (const MaybeInt inner = literal(numerator.arg(1)); inner && *inner > 0)
      if (const MaybeInt both = narrow(Wide{*inner} * divisor))
        return simplify_floordiv(binary(Op::floordiv, numerator.arg(0), number(*both)));
  return binary(Op::floordiv, numerator, number(divisor));
}

Expr folded_quotient(Expr expr) {
  if (!expr.is(Op::floordiv)) return expr;
  const MaybeInt a = literal(expr.arg(0));
  const MaybeInt b = literal(expr.arg(1));
  return a && b && *b != 0 ? number(floor_quotient(*a, *b)) : expr;
}

Expr simplify_floordiv(Expr expr) {
  const Polynomial numerator = Polynomial::of(expr.arg(0));
  const Polynomial divisor = Polynomial::of(expr.arg(1));
  if (divisor.is_zero()) return expr;
  if (numerator.terms() == divisor.terms()) return number(1);
  const std::optional<Division> parts = divide_terms(numerator, divisor);
  if (!parts) return numerator.is_zero() ? number(0) : expr;
  Expr rest = number(0);
  if (!parts->rest.is_zero()) {
    const MaybeInt constant = divisor.as_constant();
    rest = constant && *constant > 0 ? without_common_factor(parts->rest, *constant) : Expr();
    if (!rest) rest = binary(Op::floordiv, parts->rest.expr(), divisor.expr());
    rest = folded_quotient(rest);
  }
  const std::optional<Polynomial> sum = Polynomial::sum(parts->whole, Polynomial::of(rest), 1);
  return sum ? sum->expr() : expr;
}

Expr simplify_mod(Expr expr) {
  const Polynomial numerator = Polynomial::of(expr.arg(0));
  const Polynomial divisor = Polynomial::of(expr.arg(1));
  if (divisor.is_zero()) return expr;
  if (numerator.is_zero() || numerator.terms() == divisor.terms()) return number(0);
  const std::optional<Division> parts = divide_terms(numerator, divisor);
  if (!parts) return expr;
  const Expr rest = parts->rest.expr();
  const MaybeInt modulus = divisor.as_constant();
  if (parts->rest.is_zero()) return number(0);
  if (modulus && literal(rest)) return number(floor_remainder(*literal(rest), *modulus));
  if (modulus && *modulus > 0) {
    if (is_below(rest, *modulus)) return rest;
    if (rest.is(Op::mod)) {  // (x % k) % c = x % c where c divides k
      const MaybeInt inner = literal(rest.arg(1));
      if (inner && *inner > 0 && *inner % *modulus == 0) return simplify_mod(binary(Op::mod, rest.arg(0), divisor.expr()));
    }
  }
  return binary(Op::mod, rest, divisor.expr());
}

void flatten(Op op, Expr expr, std::vector<Expr>& into) {
  if (!expr.is(op) || into.size() > 16) return into.push_back(expr);
  for (const Expr arg : expr.args()) flatten(op, arg, into);
}

/// One operand of each group that differs by constants; sorted, the constant last.
Expr simplify_extremum(Expr expr) {
  std::vector<Expr> operands;
  for (const Expr arg : expr.args()) flatten(expr.op(), arg, operands);
  if (operands.size() > 16) return expr;
  std::vector<Expr> kept;
  for (const Expr operand : operands) {
    bool dominated = false;
    for (Expr& other : kept) {
      const std::optional<Polynomial> gap = difference(operand, other);
      const MaybeInt by = gap ? gap->as_constant() : std::nullopt;
      if (!by) continue;
      dominated = true;
      if (expr.is(Op::min) ? *by < 0 : *by > 0) other = operand;
      break;
    }
    if (!dominated) kept.push_back(operand);
  }
  std::sort(kept.begin(), kept.end(),
            [](Expr a, Expr b) { return std::pair(literal(a).has_value(), a) < std::pair(literal(b).has_value(), b); });
  Expr result = kept.front();
  for (std::size_t i = 1; i < kept.size(); ++i) result = binary(expr.op(), result, kept[i]);
  return result;
}

Expr simplify_logic(Expr expr) {
  const bool absorbing = expr.is(Op::logical_or);  // true absorbs `or`, false absorbs `and`
  const Expr a = expr.arg(0);
  const Expr b = expr.arg(1);
  if (a == b) return a;
  if (a.is(Op::boolean)) return a.node().truth == absorbing ? a : b;
  if (b.is(Op::boolean)) return b.node().truth == absorbing ? b : a;
  return expr;
}

Expr simplify_power(Expr expr) {
  const MaybeInt exponent = literal(expr.arg(1));
  if (!exponent || *exponent < 0) return expr;
  if (*exponent == 0) return number(1);
  if (*exponent == 1) return expr.arg(0);
  const MaybeInt base = literal(expr.arg(0));
  const std::optional<Rational> value = base ? power(Rational(*base), *exponent) : std::nullopt;
  return value ? number(*value) : expr;
}

Expr simplify_node(Expr expr) {
  switch (expr.op()) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::neg:
      return Polynomial::of(expr).expr();
    case Op::floordiv:
      return simplify_floordiv(expr);
    case Op::mod:
      return simplify_mod(expr);
    case Op::min:
    case Op::max:
      return simplify_extremum(expr);
    case Op::pow:
      return simplify_power(expr);
    case Op::logical_and:
    case Op::logical_or:
      return simplify_logic(expr);
    case Op::logical_not:
      return expr.arg(0).is(Op::boolean) ? truth(!expr.arg(0).node().truth) : expr;
    case Op::where:
      if (expr.arg(0).is(Op::boolean)) return expr.arg(0).node().truth ? expr.arg(1) : expr.arg(2);
      return expr.arg(1) == expr.arg(2) ? expr.arg(1) : expr;
    case Op::abs: {
      const MaybeInt value = literal(expr.arg(0));
      return value ? number(*value < 0 ? -*value : *value) : expr;
    }
    case Op::div: {
      const MaybeInt a = literal(expr.arg(0));
      const MaybeInt b = literal(expr.arg(1));
      return a && b && *b != 0 && *a % *b == 0 ? number(*a / *b) : expr;
    }
    default:
      break;
  }
  if (!is_comparison(expr.op())) return expr;
  const std::optional<Polynomial> gap = difference(expr.arg(0), expr.arg(1));
  const MaybeInt by = gap ? gap->as_constant() : std::nullopt;
  return by ? truth(holds<std::int64_t>(expr.op(), *by, 0)) : expr;
}

// ---- evaluation: intermediates in 128 bits, so that a reordered sum has the value of the written one ----
using MaybeWide = std::optional<Wide>;
constexpr Wide wide_limit = Wide{1} << 126;

MaybeWide bounded(Wide value) { return value > wide_limit || value < -wide_limit ? std::nullopt : MaybeWide(value); }

MaybeWide wide_product(Wide a, Wide b) {
  if (a == 0 || b == 0) return Wide{0};
  const Wide half = Wide{1} << 63;
  if (a >= half || a <= -half || b >= half || b <= -half) return std::nullopt;
  return a * b;
}

MaybeWide wide_power(Wide base, Wide exponent) {
  if (exponent < 0) return std::nullopt;
  if (exponent == 0 || base == 1) return Wide{1};
  if (base == 0) return Wide{0};
  if (base == -1) return exponent % 2 == 0 ? Wide{1} : Wide{-1};
  if (exponent > 126) return std::nullopt;
  MaybeWide result = Wide{1};
  for (Wide i = 0; result && i < exponent; ++i) result = wide_product(*result, base);
  return result;
}

MaybeWide wide_binary(Op op, Wide a, Wide b) {
  if (is_comparison(op)) return Wide{holds(op, a, b) ? 1 : 0};
  switch (op) {
    case Op::add:
      return bounded(a + b);
    case Op::sub:
      return bounded(a - b);
    case Op::mul:
      return wide_product(a, b);
    case Op::div:
      return b != 0 && a % b == 0 ? MaybeWide(a / b) : std::nullopt;
    case Op::floordiv:
      return b != 0 ? MaybeWide(floor_quotient(a, b)) : std::nullopt;
    case Op::mod:
      return b != 0 ? MaybeWide(floor_remainder(a, b)) : std::nullopt;
    case Op::pow:
      return wide_power(a, b);
    case Op::min:
      return a < b ? a : b;
    case Op::max:
      return a > b ? a : b;
    default:
      return std::nullopt;
  }
}

MaybeWide wide_logic(Op op, MaybeWide a, MaybeWide b) {
  const bool absorbing = op == Op::logical_or;
  for (const MaybeWide& side : {a, b})
    if (side && (*side != 0) == absorbing) return Wide{absorbing ? 1 : 0};
  return a && b ? MaybeWide(Wide{absorbing ? 0 : 1}) : std::nullopt;
}

MaybeWide wide_cast(DType dtype, Wide value) {
  if (dtype == DType::boolean) return Wide{value != 0 ? 1 : 0};
  if (!is_integer(dtype)) return std::nullopt;
  const Wide largest = (Wide{1} << (8 * size_in_bytes(dtype) - 1)) - 1;
  return value > largest ? largest : value < -largest - 1 ? -largest - 1 : value;
}

class Evaluator {
 public:
  explicit Evaluator(const DimValues& values) : values_(values) {}

  MaybeWide operator()(Expr root) {
    if (root.args().empty()) return value_of(root);
    visit(root, [&](Expr expr) { done_.insert(&expr.node(), value_of(expr)); });
    return done_.at(&root.node());
  }

 private:
  MaybeWide arg(Expr expr, std::size_t i) const { return done_.at(&expr.arg(i).node()); }

  MaybeWide named(Symbol name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : MaybeWide(found->second);
  }

  MaybeWide value_of(Expr expr) const {
    switch (expr.op()) {
      case Op::number: {
        const MaybeInt value = literal(expr);
        return value ? MaybeWide(*value) : std::nullopt;
      }
      case Op::boolean:
        return Wide{expr.node().truth ? 1 : 0};
      case Op::index:
      case Op::dim:
      case Op::symbol:
        return named(expr.name());
      case Op::read:
        return expr.args().empty() ? named(expr.name()) : std::nullopt;
      case Op::logical_and:
      case Op::logical_or:
        return wide_logic(expr.op(), arg(expr, 0), arg(expr, 1));
      case Op::where: {
        const MaybeWide condition = arg(expr, 0);
        return condition ? arg(expr, *condition != 0 ? 1 : 2) : std::nullopt;
      }
      default:
        break;
    }
    const bool plain = kind(expr.op()) == OpKind::infix || kind(expr.op()) == OpKind::prefix || kind(expr.op()) == OpKind::function;
    if (!(plain || expr.is(Op::cast)) || expr.args().empty() || !arg(expr, 0)) return std::nullopt;
    return of_values(expr);
  }

  MaybeWide of_values(Expr expr) const {
    const Wide first = *arg(expr, 0);
    switch (expr.op()) {
      case Op::neg:
        return -first;
      case Op::logical_not:
        return Wide{first == 0 ? 1 : 0};
      case Op::abs:
        return first < 0 ? -first : first;
      case Op::floor:
        return first;
      case Op::cast:
        return wide_cast(expr.node().dtype, first);
      default:
        break;
    }
    MaybeWide result = first;
    for (std::size_t i = 1; i < expr.args().size(); ++i) {
      const MaybeWide next = arg(expr, i);
      result = result && next ? wide_binary(expr.op(), *result, *next) : std::nullopt;
    }
    return expr.args().size() > 1 ? result : std::nullopt;
  }

  const DimValues& values_;
  NodeMap<MaybeWide> done_;
};

}  // namespace

Expr simplify_integer(Expr expr) { return transform(expr, simplify_node); }

std::optional<std::int64_t> constant_integer(Expr expr) { return expr ? literal(simplify_integer(expr)) : std::nullopt; }

std::optional<std::int64_t> evaluate_integer(Expr expr, const DimValues& values) {
  const MaybeWide value = expr ? Evaluator(values)(expr) : std::nullopt;
  return value ? narrow(*value) : std::nullopt;
}

}  // namespace fathom
