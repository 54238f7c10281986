#include "interp/approx.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/bit_cast.hpp"
#include "ir/comparison.hpp"

namespace fathom::interp {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::uint64_t below_f32 = (std::uint64_t{1} << 29U) - 1;  // bits of a double's significand that an f32 does not have

Wide times_power_of_two(Wide x, std::int64_t exponent) { return Wide::normalised(x.mantissa(), x.exponent() + exponent); }

/// Unit round-off as a power of two. f64: two roundings, since the reference has the same precision.
std::int64_t unit(const Bounding& domain, Kind kind) {
  if (kind == Kind::real64) return -52;
  return domain.options.truncating_matrix_unit ? -23 : -24;
}

bool fits_f32(Wide x) {
  if (x.is_zero()) return true;
  return (bit_cast<std::uint64_t>(x.mantissa()) & below_f32) == 0 && x.exponent() > -125 && x.exponent() <= 128;
}

/// What rounding the value once may change.
Wide rounding(const Bounding& domain, Kind kind, Wide value) {
  if (value.is_zero() || !value.is_finite()) return {};
  if (kind == Kind::real64) return times_power_of_two(abs(value), unit(domain, kind));
  if (value.exponent() > 128) return infinite;                      // the plan overflows
  if (value.exponent() < -125) return Wide::normalised(0.5, -148);  // below the normal numbers: one quantum
  return times_power_of_two(abs(value), unit(domain, kind));
}

Approx finished(Wide value, Wide error, std::uint8_t& flags) {
  if (!value.is_finite()) return {value, {}};
  if (error.is_nan()) {
    flags |= undetermined;
    return {value, {}};
  }
  return {value, error};
}

/// The value with the errors carried over from its operands and `units` roundings of its own.
Approx rounded(const Bounding& domain, Kind kind, Wide value, Wide carried, double units, std::uint8_t& flags) {
  return finished(value, carried + rounding(domain, kind, value) * Wide(units), flags);
}

/// An undefined expression of the text (-inf - -inf, 0 * inf, 0 / 0): what a plan gives there is open. +inf - +inf is NaN everywhere.
Approx undefined(Wide value, bool open, std::uint8_t& flags) {
  if (open) flags |= undetermined;
  return {value, {}};
}

/// The smallest number above 0.
Wide smallest(Kind kind) { return kind == Kind::real64 ? Wide::normalised(0.5, -1073) : Wide::normalised(0.5, -148); }

/// Powers of two that bound the products of some factors of a value: of those above 1, and of those below.
struct Factors {
  std::int64_t above = 0, below = 0;
};
Factors factors_of(const Approx& x) {
  if (x.value.is_zero() || !x.value.is_finite()) return {};
  const std::int64_t exponent = x.value.exponent();
  return {std::max<std::int64_t>(exponent, 0) + x.spread, std::min<std::int64_t>(exponent, 0) - x.spread};
}
Factors inverse(Factors f) { return {-f.below, -f.above}; }

/// A product or quotient with what the order of its factors may change: below the normal numbers one quantum, times all that is left.
Approx of_factors(Kind kind, Approx product, Factors a, Factors b, bool are_two) {
  if (product.value.is_zero() || !product.value.is_finite()) return product;
  constexpr std::int64_t most = 1 << 20, last_normal = -124;
  const std::int64_t above = a.above + b.above;
  product.spread =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(above - std::max<std::int64_t>(product.value.exponent(), 0), 0, most));
  if (!are_two && kind != Kind::real64 && a.below + b.below < last_normal)
    product.error = product.error + Wide::normalised(0.5, -148 + above);
  return product;
}

/// Factors of at most 26 bits need no fused operation to see it: f32 has 24.
bool product_is_exact(double a, double b, double product) {
  constexpr std::uint64_t below_26_bits = (std::uint64_t{1} << 27U) - 1;
  if (((bit_cast<std::uint64_t>(a) | bit_cast<std::uint64_t>(b)) & below_26_bits) == 0) return true;
  return std::fma(a, b, -product) == 0;
}

/// As Wide has it: |x| in [2^(exponent-1), 2^exponent). Normal numbers; far below all limits for 0.
std::int64_t exponent_of(double x) { return static_cast<std::int64_t>((bit_cast<std::uint64_t>(x) >> 52U) & 0x7ffU) - 1022; }
std::int64_t lowest_bit(double x) {
  const auto bits = bit_cast<std::uint64_t>(x);
  const std::uint64_t significand = (bits & ((std::uint64_t{1} << 52U) - 1)) | (std::uint64_t{1} << 52U);
  return exponent_of(x) - 53 + std::countr_zero(significand);
}

/// Whether elaboration and passes made the index of the other: "j#1", "d.o".
bool is_copy_of(Symbol index, Symbol original) {
  const auto base = [](std::string_view text) { return text.substr(0, text.find_first_of("#.", 1)); };
  return base(index.text()) == base(original.text());
}

bool sum_is_exact(Wide a, Wide b, Wide sum) {  // Knuth: the rounding error of a sum is a number of the same format
  const Wide part = sum - a;
  return ((a - (sum - part)) + (b - part)).is_zero();
}

Approx add(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  const Wide value = a.value + b.value;
  if (value.is_nan()) return undefined(value, a.value.is_negative() && !a.value.is_nan() && !b.value.is_nan(), flags);
  if (!value.is_finite()) return {value, {}};
  const bool exact = a.error.is_zero() && b.error.is_zero();
  if (exact && kind != Kind::real64 && fits_f32(value) && sum_is_exact(a.value, b.value, value)) return {value, {}};
  if (a.value.is_zero() || b.value.is_zero()) return finished(value, a.error + b.error, flags);
  return rounded(domain, kind, value, a.error + b.error, 1, flags);
}

Approx sub(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  return add(domain, kind, a, {-b.value, b.error}, flags);
}

Approx product(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  const Wide value = a.value * b.value;
  if (value.is_nan()) return undefined(value, !a.value.is_nan() && !b.value.is_nan(), flags);
  const bool exact = a.error.is_zero() && b.error.is_zero();
  if (exact) {
    if (kind != Kind::real64 && fits_f32(value) &&
        product_is_exact(a.value.mantissa(), b.value.mantissa(), a.value.mantissa() * b.value.mantissa()))
      return {value, {}};
    return rounded(domain, kind, value, {}, 1, flags);
  }
  if (!value.is_finite()) {  // 0 * inf in a plan whose finite factor is 0
    const Approx& finite = a.value.is_finite() ? a : b;
    if (finite.value.is_finite() && !(abs(finite.value) > finite.error + smallest(kind))) flags |= undetermined;
    return {value, {}};
  }
  const Wide carried = abs(a.value) * b.error + abs(b.value) * a.error + a.error * b.error;
  return rounded(domain, kind, value, carried, 1, flags);
}

Approx mul(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  const bool are_two = a.spread == 0 && b.spread == 0;
  return of_factors(kind, product(domain, kind, a, b, flags), factors_of(a), factors_of(b), are_two);
}

Approx quotient(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  const Wide value = a.value / b.value;
  if (value.is_nan()) return undefined(value, !a.value.is_nan() && !b.value.is_nan(), flags);
  if (!value.is_finite()) return {value, {}};
  if (a.error.is_zero() && b.error.is_zero()) {
    const bool is_power_of_two = std::fabs(b.value.mantissa()) == 0.5;
    if (kind != Kind::real64 && fits_f32(value) && is_power_of_two) return {value, {}};
    // w / w is 1, but a plan may divide later, (w * x) / w, or multiply by the inverse: two roundings, however exact the quotient is.
    return rounded(domain, kind, value, {}, 2, flags);
  }
  const Wide least = abs(b.value) - b.error;
  if (!(least > Wide())) return {value, infinite};
  if (b.value.is_infinite()) return {value, {}};
  return rounded(domain, kind, value, (a.error + abs(value) * b.error) / least, 1, flags);
}

Approx div(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  const bool are_two = a.spread == 0 && b.spread == 0;
  return of_factors(kind, quotient(domain, kind, a, b, flags), factors_of(a), inverse(factors_of(b)), are_two);
}

/// A monotone or Lipschitz function evaluated at both ends of what its operand may be.
Wide swing(Wide (*f)(Wide), Wide x, Wide error, Wide at) {
  if (error.is_zero()) return {};
  return maximum(abs(f(x + error) - at), abs(at - f(x - error)));
}

/// e^x (expm1(eps + 5/4 u |x|) + 2u): on its way to a base-2 exponential the argument may be rounded once more, after a product with
/// log2(e), whose own rounding is 0.22 u in f32.
template <Wide (*f)(Wide)>
Approx exponential(const Bounding& domain, Kind kind, const Approx& x, std::uint8_t& flags) {
  const Wide value = f(x.value);
  if (!value.is_finite() || value.is_zero()) return {value, {}};
  const Wide slack = x.error + times_power_of_two(abs(x.value) * Wide(1.25), unit(domain, kind));
  const Wide growth = slack.exponent() < -10 ? slack * Wide(1.001) : expm1(slack);
  return rounded(domain, kind, value, value * growth, 2, flags);
}

Wide one_over_sqrt(Wide x) { return Wide(1.0) / sqrt(x); }

/// Functions that exist for positive operands only; an operand that may as well be negative leaves the result open.
template <Wide (*f)(Wide)>
Approx on_positive(const Bounding& domain, Kind kind, const Approx& x, std::uint8_t& flags) {
  const Wide value = f(x.value);
  if (!value.is_finite()) {
    if (x.error > Wide()) flags |= undetermined;
    return {value, {}};
  }
  if (x.error.is_zero()) {
    const bool square = f == interp::sqrt && value * value == x.value &&
                        product_is_exact(value.mantissa(), value.mantissa(), value.mantissa() * value.mantissa());
    if (square && kind != Kind::real64 && fits_f32(value)) return {value, {}};
    return rounded(domain, kind, value, {}, 2, flags);
  }
  const Wide least = x.value - x.error;
  if (least.is_negative() || !f(least).is_finite()) return {value, infinite};
  return rounded(domain, kind, value, swing(f, x.value, x.error, value), 2, flags);
}

Wide slope_of_tanh(Wide x) {
  const Wide t = tanh(x);
  return Wide(1.0) - t * t;
}
Wide slope_of_erf(Wide x) { return Wide(1.1283791670955126) * exp(-(x * x)); }
Wide slope_of_sigmoid(Wide x) {
  const Wide s = sigmoid(-abs(x));
  return s * (Wide(1.0) - s);
}

/// f with its steepest slope at the point nearest to 0.
template <Wide (*f)(Wide), Wide (*slope)(Wide)>
Approx smooth(const Bounding& domain, Kind kind, const Approx& x, std::uint8_t& flags) {
  const Wide value = f(x.value);
  const Wide nearest = maximum(abs(x.value) - x.error, Wide());
  const Wide carried = x.error.is_zero() ? Wide() : x.error * slope(nearest);
  return rounded(domain, kind, value, carried, 4, flags);
}

/// sin and cos: reduction of a large argument is part of the function, so the error is absolute.
template <Wide (*f)(Wide)>
Approx wave(const Bounding& domain, Kind kind, const Approx& x, std::uint8_t& flags) {
  return finished(f(x.value), x.error + times_power_of_two(Wide(2.0), unit(domain, kind)), flags);
}

Approx negated(const Bounding&, Kind, const Approx& x, std::uint8_t&) { return {-x.value, x.error, x.spread}; }
Approx absolute(const Bounding&, Kind, const Approx& x, std::uint8_t&) { return {abs(x.value), x.error, x.spread}; }

Approx floored(const Bounding&, Kind, const Approx& x, std::uint8_t& flags) {
  if (!x.error.is_zero() && !(floor(x.value - x.error) == floor(x.value + x.error))) flags |= undetermined;
  return {floor(x.value), {}};
}

Approx power(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  const Wide value = pow(a.value, b.value);
  if (!value.is_finite()) return {value, {}};
  const Wide size = abs(b.value);
  const double roundings = std::min(2 + size.to_double(), 1e6);
  if (a.error.is_zero() && b.error.is_zero()) {
    const bool whole = floor(b.value) == b.value && size <= Wide(64.0) && !b.value.is_negative();
    const bool exact = whole && kind != Kind::real64 && fits_f32(value) && !a.value.is_zero() &&
                       a.value.lowest_bit() * static_cast<std::int64_t>(size.to_double()) >= value.exponent() - 24;
    if (exact || value.is_zero()) return {value, {}};
    return rounded(domain, kind, value, {}, roundings, flags);
  }
  const Wide least = abs(a.value) - a.error;
  const Wide most = abs(a.value) + a.error;
  Wide carried = maximum(abs(pow(most, b.value) - abs(value)), abs(pow(maximum(least, Wide()), b.value) - abs(value)));
  if (least.is_negative() && a.value.is_negative() == false && !(floor(b.value) == b.value)) carried = infinite;
  if (least.is_negative()) carried = carried + pow(-least, b.value);
  if (!b.error.is_zero()) carried = carried + abs(value) * expm1(b.error * abs(log(abs(a.value))));
  return rounded(domain, kind, value, carried, roundings, flags);
}

template <bool want_larger>
Approx extreme(const Bounding&, Kind, const Approx& a, const Approx& b, std::uint8_t&) {
  if (a.value.is_nan()) return a;
  if (b.value.is_nan()) return b;
  const bool b_wins = want_larger ? a.value < b.value : b.value < a.value;
  const Approx& winner = b_wins ? b : a;
  const Approx& loser = b_wins ? a : b;
  if (!winner.value.is_finite() || loser.error.is_zero() || !loser.value.is_finite()) return winner;
  const bool apart = abs(winner.value - loser.value) > winner.error + loser.error;
  return {winner.value, apart ? winner.error : maximum(winner.error, loser.error), winner.spread};
}

Approx floor_over(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  return floored(domain, kind, div(domain, kind, a, b, flags), flags);
}
Approx modulo(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  return sub(domain, kind, a, mul(domain, kind, b, floor_over(domain, kind, a, b, flags), flags), flags);
}

}  // namespace

Approx Bounding::coerce(Kind to, const Approx& x) const {
  if (to != Kind::single || !x.value.is_finite() || (x.error.is_zero() && fits_f32(x.value))) return x;
  return {x.value, x.error + rounding(*this, to, x.value), x.spread};
}

Approx Bounding::store(DType type, const Approx& x, std::uint8_t& flags) const {
  if (x.value.is_nan()) return is_float(type) ? x : Approx{};
  if (!is_float(type)) {
    const double nearest = round_to(type, x.value.to_double());
    const double low = round_to(type, (x.value - x.error).to_double());
    const double high = round_to(type, (x.value + x.error).to_double());
    if (!x.error.is_zero() && low != high) flags |= undetermined;
    return exact(nearest);
  }
  if (!x.value.is_finite() || type == DType::real || type == DType::f64) return x;
  const FloatRange range = float_range(type);
  const Wide size = abs(x.value);
  // half an ulp beyond the largest number is where rounding gives infinity
  const Wide overflow = Wide(range.largest) * Wide(1 + range.unit_roundoff / 2);
  if (size - x.error > overflow) return exact(round_to(type, x.value.is_negative() ? -infinite : infinite));
  if (size + x.error > overflow) flags |= undetermined;
  if (x.error.is_zero() && round_to(type, x.value.to_double()) == x.value.to_double()) return x;
  if (type == DType::f32) return {x.value, x.error + rounding(*this, Kind::single, x.value), x.spread};
  return {x.value, x.error + size * Wide(range.unit_roundoff) + Wide(range.smallest_subnormal / 2), x.spread};
}

bool Bounding::compare(Op op, const Approx& a, const Approx& b, std::uint8_t& flags) const {
  const Wide error = a.error + b.error;
  if (!error.is_zero() && a.value.is_finite() && b.value.is_finite() && !(abs(a.value - b.value) > error)) flags |= undetermined;
  return holds(op, a.value, b.value);
}

Approx Bounding::either(const Approx& taken, const Approx& other, std::uint8_t& flags) const {
  const Wide distance = taken.value == other.value ? Wide() : abs(taken.value - other.value);
  if (!distance.is_finite()) {
    flags |= undetermined;
    return taken;
  }
  return {taken.value, maximum(taken.error, distance + other.error), taken.spread};
}

Bounding::Unary Bounding::unary(Op op) const {
  switch (op) {
    case Op::neg:
      return negated;
    case Op::abs:
      return absolute;
    case Op::floor:
      return floored;
    case Op::exp:
      return exponential<interp::exp>;
    case Op::exp2:
      return exponential<interp::exp2>;
    case Op::log:
      return on_positive<interp::log>;
    case Op::log2:
      return on_positive<interp::log2>;
    case Op::sqrt:
      return on_positive<interp::sqrt>;
    case Op::rsqrt:
      return on_positive<one_over_sqrt>;
    case Op::sin:
      return wave<interp::sin>;
    case Op::cos:
      return wave<interp::cos>;
    case Op::tanh:
      return smooth<interp::tanh, slope_of_tanh>;
    case Op::erf:
      return smooth<interp::erf, slope_of_erf>;
    case Op::sigmoid:
      return smooth<interp::sigmoid, slope_of_sigmoid>;
    default:
      return nullptr;
  }
}

Bounding::Binary Bounding::binary(Op op) const {
  switch (op) {
    case Op::add:
      return add;
    case Op::sub:
      return sub;
    case Op::mul:
      return mul;
    case Op::div:
      return div;
    case Op::pow:
      return power;
    case Op::floordiv:
      return floor_over;
    case Op::mod:
      return modulo;
    case Op::min:
      return extreme<false>;
    case Op::max:
      return extreme<true>;
    default:
      return nullptr;
  }
}

Bounding::Sum Bounding::sum_over(const std::vector<Symbol>& indices) const {
  Sum sum;
  for (const BoundOptions::Narrowed& each : options.narrowed) {
    const bool is_meant = each.statement == statement &&
                          std::any_of(indices.begin(), indices.end(), [&](Symbol index) { return is_copy_of(index, each.index); });
    if (!is_meant) continue;
    const FloatRange range = float_range(each.dtype);
    sum.factor_share_ = std::max(sum.factor_share_, range.unit_roundoff);
    sum.factor_quantum_ = std::max(sum.factor_quantum_, range.smallest_subnormal / 2);
  }
  return sum;
}

/// No order of its factors comes near the smallest numbers.
bool Bounding::Sum::is_plain(const Approx& x) {
  constexpr std::int64_t far = -60;
  return factors_of(x).below > far;
}

void Bounding::Sum::widen() {
  if (is_wide_) return;
  is_wide_ = true;
  wide_total_ = total_;
  wide_magnitude_ = magnitude_;
  wide_error_ = error_;
}

inline void Bounding::Sum::add_double(double x, double error) {
  total_ += x;
  if (x == 0 && error == 0) return;
  ++terms_;
  const double size = std::fabs(x);
  magnitude_ += size;
  error_ += error;
  if (x != 0) lowest_ = std::min(lowest_, lowest_bit(x));
}

void Bounding::Sum::add(const Bounding&, Kind, const Approx& x) {
  constexpr std::int64_t safe = 900;  // sums of 2^60 such terms stay below 2^1023, and their lowest bits above 2^-1022
  if (!is_wide_ && x.value.is_within(safe) && x.error.is_within(safe)) return add_double(x.value.as_double(), x.error.as_double());
  widen();
  has_nan_ = has_nan_ || x.value.is_nan();
  wide_total_ = wide_total_ + x.value;
  if (x.value.is_zero() && x.error.is_zero()) return;
  ++terms_;
  wide_magnitude_ = wide_magnitude_ + abs(x.value);
  if (!x.error.is_zero()) wide_error_ = wide_error_ + x.error;
  if (x.value.is_finite() && !x.value.is_zero()) lowest_ = std::min(lowest_, x.value.lowest_bit());
}

void Bounding::Sum::add_product(const Bounding& domain, Kind kind, const Approx& a, const Approx& b, std::uint8_t& flags) {
  constexpr std::int64_t safe = 400;
  if (factor_share_ != 0) {
    Approx product = mul(domain, kind, a, b, flags);
    if (!product.value.is_finite()) return add(domain, kind, product);
    product.error = product.error + abs(product.value) * Wide(factor_share_) + maximum(abs(a.value), abs(b.value)) * Wide(factor_quantum_);
    return add(domain, kind, product);
  }
  const bool safe_operands = a.value.is_within(safe) && b.value.is_within(safe) && a.error.is_within(safe) && b.error.is_within(safe) &&
                             is_plain(a) && is_plain(b);
  if (is_wide_ || !safe_operands) return add(domain, kind, mul(domain, kind, a, b, flags));
  const double x = a.value.as_double(), y = b.value.as_double(), product = x * y;
  const bool in_double = kind == Kind::real64;
  const std::int64_t exponent = exponent_of(product);
  if (exponent > 128 && !in_double) return add(domain, kind, mul(domain, kind, a, b, flags));  // the plan overflows
  const bool exact = a.error.is_zero() && b.error.is_zero();
  const double error_a = a.error.as_double(), error_b = b.error.as_double();
  double error = exact ? 0 : std::fabs(x) * error_b + std::fabs(y) * error_a + error_a * error_b;
  const bool fits = !in_double && (bit_cast<std::uint64_t>(product) & below_f32) == 0 && exponent > -125;
  if (product != 0 && !(exact && fits && product_is_exact(x, y, product))) {
    const double share = in_double ? 0x1p-52 : domain.options.truncating_matrix_unit ? 0x1p-23 : 0x1p-24;
    error += !in_double && exponent < -125 ? 0x1p-149 : std::fabs(product) * share;  // below the normal numbers: one quantum
  }
  add_double(product, error);
}

Bounding::Sum::Factors Bounding::Sum::Factors::of(const Bounding&, const std::vector<Approx>& values) {
  constexpr std::int64_t safe = 400;
  const auto is_safe = [](const Approx& each) { return each.value.is_within(safe) && each.error.is_within(safe) && is_plain(each); };
  Factors factors{&values, {}, {}, true};
  factors.x.reserve(values.size());
  for (const Approx& each : values) {
    factors.x.push_back(is_safe(each) ? each.value.as_double() : std::numeric_limits<double>::quiet_NaN());
    factors.are_exact = factors.are_exact && each.error.is_zero();
  }
  if (factors.are_exact) return factors;
  factors.error.reserve(values.size());
  for (const Approx& each : values) factors.error.push_back(is_safe(each) ? each.error.as_double() : 0);
  return factors;
}

/// Returns how many were added: it stops before a factor that is no double, and before a product that the plan overflows at.
template <bool exact>
std::int64_t Bounding::Sum::add_double_products(double rounding, bool in_double, const Factors& a, Row at_a, const Factors& b, Row at_b,
                                                std::int64_t count) {
  const double largest = in_double ? infinite : 0x1p128;
  double total = total_, magnitude = magnitude_, errors = error_;
  std::int64_t terms = terms_, lowest = lowest_, i = 0;
  for (; i < count; ++i) {
    const std::int64_t ia = at_a.first + i * at_a.step, ib = at_b.first + i * at_b.step;
    const double x = a.x[static_cast<std::size_t>(ia)], y = b.x[static_cast<std::size_t>(ib)], product = x * y;
    const double size = std::fabs(product);
    if (!(size < largest)) break;
    total += product;
    double error = 0;
    bool is_exact = exact;
    if constexpr (!exact) {
      const double error_a = a.are_exact ? 0 : a.error[static_cast<std::size_t>(ia)];
      const double error_b = b.are_exact ? 0 : b.error[static_cast<std::size_t>(ib)];
      is_exact = error_a == 0 && error_b == 0;
      if (!is_exact) error = std::fabs(x) * error_b + std::fabs(y) * error_a + error_a * error_b;
    }
    if (product != 0) {
      const bool is_normal = size >= 0x1p-126;
      const bool fits = !in_double && size >= 0x1p-125 && (bit_cast<std::uint64_t>(product) & below_f32) == 0;
      if (!(is_exact && fits && product_is_exact(x, y, product))) error += is_normal || in_double ? size * rounding : 0x1p-149;
    } else if (error == 0) {
      continue;
    }
    ++terms;
    magnitude += size;
    errors += error;
    if (errors == 0 && product != 0) lowest = std::min(lowest, lowest_bit(product));  // a sum that is inexact has no use for it
  }
  total_ = total, magnitude_ = magnitude, error_ = errors, terms_ = terms, lowest_ = lowest;
  return i;
}

void Bounding::Sum::add_products(const Bounding& domain, Kind kind, const Factors& a, Row at_a, const Factors& b, Row at_b,
                                 std::int64_t count, std::uint8_t& flags) {
  const bool in_double = kind == Kind::real64;
  const double rounding = in_double ? 0x1p-52 : domain.options.truncating_matrix_unit ? 0x1p-23 : 0x1p-24;
  for (std::int64_t done = 0; done < count; ++done) {
    if (factor_share_ == 0 && !is_wide_) {
      const Row rest_a{at_a.first + done * at_a.step, at_a.step}, rest_b{at_b.first + done * at_b.step, at_b.step};
      done += a.are_exact && b.are_exact ? add_double_products<true>(rounding, in_double, a, rest_a, b, rest_b, count - done)
                                         : add_double_products<false>(rounding, in_double, a, rest_a, b, rest_b, count - done);
      if (done == count) return;
    }
    add_product(domain, kind, (*a.values)[static_cast<std::size_t>(at_a.first + done * at_a.step)],
                (*b.values)[static_cast<std::size_t>(at_b.first + done * at_b.step)], flags);
  }
}

Approx Bounding::Sum::value(const Bounding& domain, Kind kind, std::uint8_t& flags) const {
  const Wide total = is_wide_ ? wide_total_ : Wide(total_), error = is_wide_ ? wide_error_ : Wide(error_);
  const Wide magnitude = is_wide_ ? wide_magnitude_ : Wide(magnitude_);
  if (total.is_nan()) return undefined(total, !has_nan_, flags);
  if (!total.is_finite()) return {total, {}};
  if (terms_ == 0) return {total, error};
  // every partial sum in any order is a multiple of the lowest bit below 2^24 of them
  const bool exact = kind != Kind::real64 && error.is_zero() && magnitude.exponent() - lowest_ <= 24 && magnitude.exponent() <= 128;
  if (exact) return {total, {}};
  const std::int64_t own = domain.options.summation_depth > 0 ? domain.options.summation_depth : terms_;
  // an accumulator that moves n times has more than n terms: shorter sums (the scores) are not repaired
  const std::int64_t moves = terms_ > domain.options.moves ? domain.options.moves : 0;
  const double depth = static_cast<double>(own + 4 * moves);
  const double factor = domain.options.structured_data ? depth : std::min(5 * std::sqrt(depth), depth);
  return {total, error + times_power_of_two(magnitude * Wide(factor), unit(domain, kind)) +
                     (magnitude.exponent() > 128 && kind != Kind::real64 ? Wide(infinite) : Wide())};
}

}  // namespace fathom::interp
