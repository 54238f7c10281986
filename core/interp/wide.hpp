// Numbers with the mantissa of a double and a 64-bit exponent: exp(1e5) is a number, and exp(1e5) / exp(1e5) is 1.
// Invariant: the mantissa is 0, infinite, NaN (exponent 0), or 0.5 <= |mantissa| < 1. Infinities and NaN behave as in IEEE 754.
// Exponents saturate: beyond 2^62 a value is infinite, below -2^62 it is 0.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ir/bit_cast.hpp"

namespace fathom::interp {

class Wide {
 public:
  constexpr Wide() = default;
  Wide(double value) : Wide(normalised(value, 0)) {}  // NOLINT(google-explicit-constructor): every double is a Wide
  /// mantissa * 2^exponent; the mantissa is 0, infinite, NaN or a normal double.
  [[nodiscard]] static Wide normalised(double mantissa, std::int64_t exponent);

  [[nodiscard]] double mantissa() const { return mantissa_; }
  [[nodiscard]] std::int64_t exponent() const { return exponent_; }
  [[nodiscard]] bool is_nan() const { return mantissa_ != mantissa_; }
  [[nodiscard]] bool is_infinite() const { return std::isinf(mantissa_); }
  [[nodiscard]] bool is_finite() const { return std::isfinite(mantissa_); }
  [[nodiscard]] bool is_zero() const { return mantissa_ == 0; }
  [[nodiscard]] bool is_negative() const { return mantissa_ < 0; }
  /// The nearest double: 0 or infinite where a double cannot hold it.
  [[nodiscard]] double to_double() const;
  /// 0, or a finite number whose exponent is within the limit: where limits are far from those of a double, arithmetic on the doubles gives
  /// the same bits as arithmetic on the Wides.
  [[nodiscard]] bool is_within(std::int64_t limit) const { return std::abs(mantissa_) < 1 && exponent_ <= limit && exponent_ >= -limit; }
  /// The number as a double; is_within(1000) must hold.
  [[nodiscard]] double as_double() const {
    if (mantissa_ == 0) return mantissa_;
    return bit_cast<double>(bit_cast<std::uint64_t>(mantissa_) + (static_cast<std::uint64_t>(exponent_) << 52U));
  }
  /// Position of the lowest set bit (value is an odd multiple of 2^position). Finite values other than 0.
  [[nodiscard]] std::int64_t lowest_bit() const;

  friend Wide operator-(Wide a) { return Wide(-a.mantissa_, a.exponent_); }
  friend Wide operator+(Wide a, Wide b);
  friend Wide operator-(Wide a, Wide b) { return a + -b; }
  friend Wide operator*(Wide a, Wide b) {
    const double product = a.mantissa_ * b.mantissa_;
    return normalised(product, a.exponent_ + b.exponent_);
  }
  friend Wide operator/(Wide a, Wide b) { return normalised(a.mantissa_ / b.mantissa_, a.exponent_ - b.exponent_); }
  friend bool operator==(Wide a, Wide b) { return a.mantissa_ == b.mantissa_ && (a.exponent_ == b.exponent_ || a.mantissa_ == 0); }
  friend bool operator<(Wide a, Wide b);
  friend bool operator>(Wide a, Wide b) { return b < a; }
  friend bool operator<=(Wide a, Wide b) { return a < b || a == b; }
  friend bool operator>=(Wide a, Wide b) { return b < a || a == b; }

 private:
  constexpr Wide(double mantissa, std::int64_t exponent) : mantissa_(mantissa), exponent_(exponent) {}
  double mantissa_ = 0;
  std::int64_t exponent_ = 0;
};

/// Exponents beyond this saturate.
inline constexpr std::int64_t wide_exponent_limit = std::int64_t{1} << 62;

inline Wide Wide::normalised(double mantissa, std::int64_t exponent) {
  const auto bits = bit_cast<std::uint64_t>(mantissa);
  const auto field = static_cast<std::int64_t>((bits >> 52U) & 0x7ffU);
  if (field == 0x7ff) return {mantissa, std::int64_t{0}};
  if (field == 0) {
    if (mantissa == 0) return {mantissa, std::int64_t{0}};
    return normalised(mantissa * 0x1p64, exponent - 64);  // a subnormal double
  }
  const std::int64_t shifted = exponent + field - 1022;
  if (shifted > wide_exponent_limit) return {std::copysign(std::numeric_limits<double>::infinity(), mantissa), std::int64_t{0}};
  if (shifted < -wide_exponent_limit) return {std::copysign(0.0, mantissa), std::int64_t{0}};
  return {bit_cast<double>((bits & ~(std::uint64_t{0x7ff} << 52U)) | (std::uint64_t{1022} << 52U)), shifted};
}

inline Wide operator+(Wide a, Wide b) {
  if (!a.is_finite() || !b.is_finite()) return Wide(a.mantissa_ + b.mantissa_, std::int64_t{0});
  if (a.mantissa_ == 0) return b;
  if (b.mantissa_ == 0) return a;
  const bool a_leads = a.exponent_ >= b.exponent_;
  const Wide& large = a_leads ? a : b;
  const Wide& small = a_leads ? b : a;
  const std::int64_t distance = large.exponent_ - small.exponent_;
  if (distance > 60) return large;
  const double scale = bit_cast<double>(static_cast<std::uint64_t>(1023 - distance) << 52U);
  return Wide::normalised(large.mantissa_ + small.mantissa_ * scale, large.exponent_);
}

inline bool operator<(Wide a, Wide b) {
  if (a.is_nan() || b.is_nan()) return false;
  const bool ordinary = a.is_finite() && b.is_finite() && a.mantissa_ != 0 && b.mantissa_ != 0;
  if (!ordinary || (a.mantissa_ < 0) != (b.mantissa_ < 0) || a.exponent_ == b.exponent_) return a.mantissa_ < b.mantissa_;
  return (a.exponent_ < b.exponent_) == (a.mantissa_ > 0);
}

[[nodiscard]] inline Wide abs(Wide x) { return x.is_negative() ? -x : x; }
/// The larger; NaN if either is.
[[nodiscard]] inline Wide maximum(Wide a, Wide b) { return a.is_nan() ? a : b.is_nan() ? b : a < b ? b : a; }
[[nodiscard]] inline Wide minimum(Wide a, Wide b) { return a.is_nan() ? a : b.is_nan() ? b : b < a ? b : a; }

[[nodiscard]] Wide exp(Wide);
[[nodiscard]] Wide expm1(Wide);
[[nodiscard]] Wide exp2(Wide);
[[nodiscard]] Wide log(Wide);
[[nodiscard]] Wide log1p(Wide);
[[nodiscard]] Wide log2(Wide);
[[nodiscard]] Wide sqrt(Wide);
[[nodiscard]] Wide pow(Wide base, Wide exponent);
[[nodiscard]] Wide floor(Wide);
[[nodiscard]] Wide sin(Wide);
[[nodiscard]] Wide cos(Wide);
[[nodiscard]] Wide tanh(Wide);
[[nodiscard]] Wide erf(Wide);
[[nodiscard]] Wide sigmoid(Wide);

}  // namespace fathom::interp
