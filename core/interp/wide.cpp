#include "interp/wide.hpp"

#include <algorithm>
#include <bit>

#include "ir/bit_cast.hpp"

namespace fathom::interp {
namespace {

constexpr double ln2 = 0x1.62e42fefa39efp-1;        // the double nearest to ln 2
constexpr double ln2_tail = 0x1.abc9e3b39803fp-56;  // ln 2 - ln2
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();
constexpr double exponent_range = 0x1p61;  // arguments of exp2 beyond it saturate

/// value * 2^exponent for any double value.
Wide scaled(double value, std::int64_t exponent) { return Wide::normalised(value, exponent); }

/// x^n by repeated squaring: exact where the products are.
Wide integer_power(Wide x, std::uint64_t n) {
  Wide result = 1.0;
  for (Wide square = x; n != 0; n >>= 1U, square = square * square)
    if ((n & 1U) != 0) result = result * square;
  return result;
}

template <double (*function)(double)>
Wide through_double(Wide x) {
  return function(x.to_double());
}

}  // namespace

double Wide::to_double() const {
  if (is_within(1000)) return as_double();
  if (!is_finite() || mantissa_ == 0) return mantissa_;
  if (exponent_ > 1100) return std::copysign(infinite, mantissa_);
  if (exponent_ < -1200) return std::copysign(0.0, mantissa_);
  return std::ldexp(mantissa_, static_cast<int>(exponent_));
}

std::int64_t Wide::lowest_bit() const {
  const auto bits = bit_cast<std::uint64_t>(mantissa_);
  const std::uint64_t significand = (bits & ((std::uint64_t{1} << 52U) - 1)) | (std::uint64_t{1} << 52U);
  return exponent_ - 53 + std::countr_zero(significand);
}

Wide exp(Wide x) {
  const double value = x.to_double();
  if (!(std::abs(value) < exponent_range)) return value > 0 ? Wide(infinite) : value < 0 ? Wide(0.0) : Wide(undefined);
  const double turns = std::nearbyint(value / ln2);
  const double product = turns * ln2;
  const double rest = ((value - product) - std::fma(turns, ln2, -product)) - turns * ln2_tail;
  return scaled(std::exp(rest), static_cast<std::int64_t>(turns));
}

Wide expm1(Wide x) {
  if (x.is_finite() && x.exponent() < 1) return x.exponent() < -60 ? x : Wide(std::expm1(x.to_double()));
  return exp(x) - 1.0;
}

Wide exp2(Wide x) {
  const double value = x.to_double();
  if (!(std::abs(value) < exponent_range)) return value > 0 ? Wide(infinite) : value < 0 ? Wide(0.0) : Wide(undefined);
  const double whole = std::nearbyint(value);
  return scaled(std::exp2(value - whole), static_cast<std::int64_t>(whole));
}

Wide log(Wide x) {
  if (x.is_nan() || x.is_negative()) return undefined;
  if (x.is_zero()) return -infinite;
  if (x.is_infinite()) return x;
  double mantissa = x.mantissa();
  std::int64_t exponent = x.exponent();
  if (mantissa < 0.70710678118654752) {  // keep log(1 + small) free of cancellation
    mantissa *= 2;
    exponent -= 1;
  }
  const auto turns = static_cast<double>(exponent);
  return Wide(turns * ln2) + Wide(std::log(mantissa) + turns * ln2_tail);
}

Wide log1p(Wide x) {
  if (x.is_finite() && x.exponent() < 0) return x.exponent() < -60 ? x : Wide(std::log1p(x.to_double()));
  return log(Wide(1.0) + x);
}

Wide log2(Wide x) {
  if (!x.is_finite() || x.is_negative() || x.is_zero()) return log(x);
  const bool low = x.mantissa() < 0.70710678118654752;
  return Wide(static_cast<double>(x.exponent() - (low ? 1 : 0))) + Wide(std::log2(low ? 2 * x.mantissa() : x.mantissa()));
}

Wide sqrt(Wide x) {
  if (!x.is_finite() || x.is_zero()) return std::sqrt(x.mantissa());
  if (x.is_negative()) return undefined;
  const bool odd = (x.exponent() & 1) != 0;
  return scaled(std::sqrt(odd ? 2 * x.mantissa() : x.mantissa()), (x.exponent() - (odd ? 1 : 0)) / 2);
}

Wide pow(Wide base, Wide exponent) {
  if (exponent.is_zero()) return 1.0;
  const double power = exponent.to_double();
  if (std::abs(power) <= 64 && power == std::nearbyint(power)) {
    const Wide result = integer_power(base, static_cast<std::uint64_t>(std::abs(power)));
    return power < 0 ? Wide(1.0) / result : result;
  }
  if (power == 0.5) return sqrt(base);
  if (!base.is_finite() || !exponent.is_finite() || base.is_zero()) return std::pow(base.to_double(), power);
  if (!base.is_negative()) return exp(exponent * log(base));
  if (power != std::nearbyint(power)) return undefined;
  const Wide magnitude = exp(exponent * log(-base));
  return std::fmod(power, 2) == 0 ? magnitude : -magnitude;
}

Wide floor(Wide x) {
  if (!x.is_finite() || x.is_zero() || x.exponent() > 53) return x;
  return std::floor(x.to_double());
}

Wide sin(Wide x) { return through_double<std::sin>(x); }
Wide cos(Wide x) { return through_double<std::cos>(x); }

Wide tanh(Wide x) {
  if (x.is_finite() && x.exponent() < -30) return x;  // also where a double underflows
  return through_double<std::tanh>(x);
}

Wide erf(Wide x) {
  if (x.is_finite() && x.exponent() < -30) return x * Wide(1.1283791670955126);
  return through_double<std::erf>(x);
}

Wide sigmoid(Wide x) {
  if (x.is_nan()) return x;
  if (!x.is_negative()) return Wide(1.0) / (Wide(1.0) + exp(-x));
  const Wide e = exp(x);
  return e / (Wide(1.0) + e);
}

}  // namespace fathom::interp
