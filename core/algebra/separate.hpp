// Separation of a consumer's term into u-parts and r-parts: g(u, r) = sum over k < K of u_k(u) * r_k(r), K the rank of the coefficient
// matrix over (u-monomials) x (r-monomials). What depends on neither side stands with r, in an exponent with u.
#pragma once

#include <vector>

#include "algebra/normal_form.hpp"

namespace fathom::algebra {

struct Separation {
  std::vector<Sum> u;  ///< K sums of u-monomials
  std::vector<Sum> r;  ///< K sums of r-monomials; term = sum of u[k] * r[k]
  [[nodiscard]] int rank() const { return static_cast<int>(u.size()); }
};

/// Why there is no finite rank: the part that mixes both sides, and whether it is a condition.
struct Mixed {
  Expr part;
  bool is_condition = false;
};

struct Separated {
  std::optional<Separation> separation;
  Mixed mixed;  ///< where there is no separation
};
[[nodiscard]] Separated separate(const Sum&, const Normaliser&);

/// The smallest part of an inlined expression that has no finite rank over sums; its own cause.
[[nodiscard]] Mixed smallest_mixed(Expr inlined, Normaliser&, Mixed fallback);

}  // namespace fathom::algebra
