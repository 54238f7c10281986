// Exact arithmetic at random points: a value is a residue mod p, what stands in an exponent a residue mod q, with exp(x) = g^x for a g of
// prime order q | p - 1. So exp(a) * exp(b) = exp(a + b) holds exactly, and two expressions of this ring that agree at random points are
// equal but for a chance of about 2^-30 a point. Names, and functions without laws here, take consistent random values.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::algebra {

inline constexpr std::uint64_t value_modulus = 2147481143;     ///< p = 2 q + 1
inline constexpr std::uint64_t exponent_modulus = 1073740571;  ///< q; both are 3 mod 4: roots are powers

struct Residue {
  enum class Kind : std::uint8_t { finite, minus_infinity, plus_infinity, undefined };
  std::uint64_t value = 0;     ///< mod p
  std::uint64_t exponent = 0;  ///< mod q
  Kind kind = Kind::finite;
  [[nodiscard]] bool is_finite() const { return kind == Kind::finite; }
};
[[nodiscard]] Residue operator+(const Residue&, const Residue&);
/// The values agree; exponents are not compared (they are those of other names for one number).
[[nodiscard]] bool agree(const Residue&, const Residue&);

/// A random point: what every name is. One a trial; `seed` decides all.
class Point {
 public:
  explicit Point(std::uint64_t seed) : seed_(seed) {}
  void set(Symbol symbol, Residue value) {
    symbols_[symbol] = value;
    known_.clear();
  }
  void set_index(Symbol index, std::uint64_t element) {
    indices_[index] = element;
    known_.clear();
  }
  [[nodiscard]] Residue value(Expr);
  [[nodiscard]] Residue random(std::uint64_t key) const;  ///< finite

 private:
  Residue compute(Expr);
  Residue compare(Expr);
  Residue opaque(Expr, const std::vector<Residue>& args) const;

  std::uint64_t seed_;
  std::map<Symbol, Residue> symbols_;
  std::map<Symbol, std::uint64_t> indices_;
  std::unordered_map<Expr, Residue> known_;  // each distinct node once: shared parts would cost exponential time
  int depth_ = 0;
};

/// Every operation in it has its laws here: no order, no logarithm, no wave.
[[nodiscard]] bool is_exact(Expr);

}  // namespace fathom::algebra
