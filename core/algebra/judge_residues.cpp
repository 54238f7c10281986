// Moduli below 2^31: products fit 64 bits. A draw that divides by 0 or takes the root of a non-square is undefined: the caller draws again.
#include "algebra/judge_residues.hpp"

#include <algorithm>

#include "ir/bit_cast.hpp"
#include "ir/comparison.hpp"

namespace fathom::algebra {

namespace {

using Kind = Residue::Kind;
constexpr std::uint64_t p = value_modulus;
constexpr std::uint64_t q = exponent_modulus;
constexpr std::uint64_t generator = 4;  // a square: of order q
constexpr int most_depth = 1200;

const Residue undefined{0, 0, Kind::undefined};
const Residue zero{0, 0, Kind::finite};
const Residue one{1, 1, Kind::finite};

std::uint64_t power_mod(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1;
  for (base %= modulus; exponent != 0; exponent >>= 1U) {
    if ((exponent & 1U) != 0) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

std::uint64_t inverse(std::uint64_t x, std::uint64_t modulus) { return power_mod(x, modulus - 2, modulus); }

std::uint64_t residue_of(std::int64_t x, std::uint64_t modulus) {
  const auto m = static_cast<std::int64_t>(modulus);
  return static_cast<std::uint64_t>((x % m + m) % m);
}

Residue of_rational(Rational r) {
  const std::uint64_t dp = residue_of(r.den(), p);
  const std::uint64_t dq = residue_of(r.den(), q);
  if (dp == 0 || dq == 0) return undefined;
  return {residue_of(r.num(), p) * inverse(dp, p) % p, residue_of(r.num(), q) * inverse(dq, q) % q, Kind::finite};
}

Residue negated(const Residue& a) {
  if (a.kind == Kind::plus_infinity) return {0, 0, Kind::minus_infinity};
  if (a.kind == Kind::minus_infinity) return {0, 0, Kind::plus_infinity};
  return {(p - a.value) % p, (q - a.exponent) % q, a.kind};
}

Residue product(const Residue& a, const Residue& b) {
  if (!a.is_finite() || !b.is_finite()) return undefined;
  return {a.value * b.value % p, a.exponent * b.exponent % q, Kind::finite};
}

Residue reciprocal(const Residue& a) {
  if (!a.is_finite()) return a.kind == Kind::undefined ? undefined : zero;
  if (a.value == 0 || a.exponent == 0) return undefined;
  return {inverse(a.value, p), inverse(a.exponent, q), Kind::finite};
}

/// The square root that is itself a square; undefined for a non-square.
Residue root(const Residue& a) {
  if (!a.is_finite()) return undefined;
  const Residue r{power_mod(a.value, (p + 1) / 4, p), power_mod(a.exponent, (q + 1) / 4, q), Kind::finite};
  return r.value * r.value % p == a.value && r.exponent * r.exponent % q == a.exponent ? r : undefined;
}

std::uint64_t key_of(const Residue& r) { return hash_combine(hash_combine(static_cast<std::uint64_t>(r.kind), r.value), r.exponent); }

Residue raised(const Residue& a, Rational power) {
  if (!a.is_finite() || (power.den() != 1 && power.den() != 2)) return undefined;
  const Residue base = power.den() == 2 ? root(a) : a;
  if (!base.is_finite()) return undefined;
  const std::uint64_t n = static_cast<std::uint64_t>(power.num() < 0 ? -(power.num() + 1) : power.num()) + (power.num() < 0 ? 1U : 0U);
  const Residue result{power_mod(base.value, n, p), power_mod(base.exponent, n, q), Kind::finite};
  return power.num() < 0 ? reciprocal(result) : result;
}

}  // namespace

Residue operator+(const Residue& a, const Residue& b) {
  if (a.is_finite() && b.is_finite()) return {(a.value + b.value) % p, (a.exponent + b.exponent) % q, Kind::finite};
  if (a.kind == Kind::undefined || b.kind == Kind::undefined) return undefined;
  if (!a.is_finite() && !b.is_finite()) return a.kind == b.kind ? a : undefined;
  return a.is_finite() ? b : a;
}

bool agree(const Residue& a, const Residue& b) { return a.kind == b.kind && (!a.is_finite() || a.value == b.value); }

Residue Point::random(std::uint64_t key) const {
  const std::uint64_t a = hash_combine(hash_combine(seed_, key), 0x51ed270b);
  const std::uint64_t b = hash_combine(hash_combine(a, key), 0x2545f491);
  return {a % (p - 1) + 1, b % (q - 1) + 1, Kind::finite};
}

Residue Point::opaque(Expr e, const std::vector<Residue>& args) const {
  std::uint64_t key = hash_combine(static_cast<std::uint64_t>(e.op()) + 1000, hash_bytes(e.name().text()));
  for (const Residue& arg : args) {
    if (arg.kind == Kind::undefined) return undefined;
    key = hash_combine(key, key_of(arg));
  }
  return random(key);
}

/// a < b is a coin that knows its arguments; the other comparisons are said with it. Equality is equality.
Residue Point::compare(Expr e) {
  Residue a = value(e.arg(0));
  Residue b = value(e.arg(1));
  if (a.kind == Kind::undefined || b.kind == Kind::undefined) return undefined;
  const bool equal = key_of(a) == key_of(b);
  if (e.is(Op::eq)) return equal ? one : zero;
  if (e.is(Op::ne)) return equal ? zero : one;
  if (e.is(Op::gt) || e.is(Op::le)) std::swap(a, b);  // a > b is b < a; a <= b is not b < a
  bool less = false;
  if (!equal) {
    const auto rank = [](Kind k) { return k == Kind::minus_infinity ? 0 : k == Kind::finite ? 1 : 2; };
    less = rank(a.kind) != rank(b.kind) ? rank(a.kind) < rank(b.kind) : (hash_combine(hash_combine(seed_, key_of(a)), key_of(b)) & 1U) != 0;
  }
  const bool negates = e.is(Op::le) || e.is(Op::ge);
  return less != negates ? one : zero;
}

Residue Point::value(Expr e) {
  if (!e || depth_ > most_depth) return undefined;
  if (const auto found = known_.find(e); found != known_.end()) return found->second;
  ++depth_;
  const Residue result = compute(e);
  --depth_;
  if (result.kind != Kind::undefined) known_.emplace(e, result);  // undefined may mean too deep here
  return result;
}

Residue Point::compute(Expr e) {
  switch (e.op()) {
    case Op::number:
      return e.node().inexact == 0 ? of_rational(e.node().number) : random(bit_cast<std::uint64_t>(e.node().inexact));
    case Op::infinity:
      return {0, 0, Kind::plus_infinity};
    case Op::boolean:
      return e.node().truth ? one : zero;
    case Op::index: {
      const auto element = indices_.find(e.name());
      return random(hash_combine(hash_bytes(e.name().text()), element == indices_.end() ? 0 : element->second));
    }
    case Op::dim:
      return random(hash_combine(hash_bytes(e.name().text()), 7));
    case Op::symbol:
      if (const auto found = symbols_.find(e.name()); found != symbols_.end()) return found->second;
      return random(hash_combine(hash_bytes(e.name().text()), 11));
    case Op::where: {
      const Residue condition = value(e.arg(0));
      if (!condition.is_finite()) return undefined;
      return value(e.arg((condition.value & 1U) != 0 ? 1 : 2));
    }
    default:
      break;
  }
  if (is_comparison(e.op())) return compare(e);
  std::vector<Residue> args;
  for (Expr arg : e.args()) args.push_back(value(arg));
  if (std::any_of(args.begin(), args.end(), [](const Residue& r) { return r.kind == Kind::undefined; })) return undefined;
  const auto truth = [](const Residue& r) { return (r.value & 1U) != 0; };
  switch (e.op()) {
    case Op::neg:
      return negated(args[0]);
    case Op::add:
      return args[0] + args[1];
    case Op::sub:
      return args[0] + negated(args[1]);
    case Op::mul:
      return product(args[0], args[1]);
    case Op::div:
      return product(args[0], reciprocal(args[1]));
    case Op::pow:
      if (e.arg(1).is(Op::number) && e.arg(1).node().inexact == 0) return raised(args[0], e.arg(1).node().number);
      return opaque(e, args);
    case Op::sqrt:
      return root(args[0]);
    case Op::rsqrt:
      return reciprocal(root(args[0]));
    case Op::logical_not:
      return truth(args[0]) ? zero : one;
    case Op::logical_and:
      return truth(args[0]) && truth(args[1]) ? one : zero;
    case Op::logical_or:
      return truth(args[0]) || truth(args[1]) ? one : zero;
    case Op::exp:
    case Op::exp2: {
      if (!args[0].is_finite()) return args[0].kind == Kind::minus_infinity ? zero : Residue{0, 0, Kind::plus_infinity};
      Residue x = args[0];
      if (e.is(Op::exp2)) x = product(x, value(unary(Op::log, number(2))));
      return {power_mod(generator, x.exponent, p), random(hash_combine(x.exponent, 13)).exponent, Kind::finite};
    }
    case Op::log2:
      return product(value(unary(Op::log, e.arg(0))), reciprocal(value(unary(Op::log, number(2)))));
    case Op::sigmoid:
      return value(number(1) / (number(1) + unary(Op::exp, -e.arg(0))));
    case Op::log:
      return e.arg(0).is(Op::exp) ? value(e.arg(0).arg(0)) : opaque(e, args);
    default:
      return opaque(e, args);
  }
}

bool is_exact(Expr e) {
  bool exact = true;
  visit(e, [&](Expr part) {
    switch (part.op()) {
      case Op::abs:
      case Op::min:
      case Op::max:
      case Op::floor:
      case Op::floordiv:
      case Op::mod:
      case Op::log:
      case Op::log2:
      case Op::sin:
      case Op::cos:
      case Op::tanh:
      case Op::erf:
        exact = exact && free_indices(part).empty() && tensors_read(part).empty();
        break;
      case Op::lt:
      case Op::le:
      case Op::gt:
      case Op::ge:  // of positions: the coin that decides them knows only which positions
        exact = exact && tensors_read(part).empty();
        break;
      case Op::eq:
      case Op::ne:
        exact = exact && (part.arg(1).is(Op::infinity) || part.arg(1).is(Op::neg));
        break;
      case Op::pow:
        exact = exact && part.arg(1).is(Op::number);
        break;
      default:
        break;
    }
  });
  return exact;
}

}  // namespace fathom::algebra
