// Exact numbers: literals, coefficients and exponents of the algebra. Overflow of 64 bits is reported, never wrapped.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fathom {

/// num/den in lowest terms, den > 0. Arithmetic returns nullopt where the result does not fit 64 bits (or divides by 0).
class Rational {
 public:
  constexpr Rational() = default;
  constexpr Rational(std::int64_t value) : num_(value) {}  // NOLINT(google-explicit-constructor): integers are rationals
  [[nodiscard]] static std::optional<Rational> make(std::int64_t num, std::int64_t den);
  /// Exact value of a decimal literal ("1e-3", "0.125"); nullopt if it does not fit.
  [[nodiscard]] static std::optional<Rational> parse(std::string_view decimal);

  [[nodiscard]] std::int64_t num() const { return num_; }
  [[nodiscard]] std::int64_t den() const { return den_; }
  [[nodiscard]] bool is_integer() const { return den_ == 1; }
  [[nodiscard]] int sign() const { return num_ > 0 ? 1 : num_ < 0 ? -1 : 0; }
  [[nodiscard]] double to_double() const { return static_cast<double>(num_) / static_cast<double>(den_); }
  [[nodiscard]] std::string text() const;  ///< a decimal where one is exact in at most 17 digits, else "num/den"

  friend std::optional<Rational> add(Rational, Rational);
  friend std::optional<Rational> subtract(Rational, Rational);
  friend std::optional<Rational> multiply(Rational, Rational);
  friend std::optional<Rational> divide(Rational, Rational);
  friend std::optional<Rational> power(Rational, std::int64_t);
  friend bool operator==(const Rational&, const Rational&) = default;
  friend std::strong_ordering operator<=>(const Rational&, const Rational&);

 private:
  std::int64_t num_ = 0;
  std::int64_t den_ = 1;
};

std::optional<Rational> add(Rational, Rational);
std::optional<Rational> subtract(Rational, Rational);
std::optional<Rational> multiply(Rational, Rational);
std::optional<Rational> divide(Rational, Rational);
std::optional<Rational> power(Rational, std::int64_t);

}  // namespace fathom
