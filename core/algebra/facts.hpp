// What is known of values: signs (from the operator's conditions, from functions, from reductions of signed terms) and order facts
// (`s[j] <= m` for the element that the running maximum m has seen). Signs hold on non-empty prefixes. Decisions only: nothing here
// rewrites.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "algebra/terms.hpp"
#include "algebra/view.hpp"

namespace fathom::algebra {

/// Which signs a value may have: a set of three bits.
using Signs = unsigned;
inline constexpr Signs negative = 1;
inline constexpr Signs zero = 2;
inline constexpr Signs positive = 4;
inline constexpr Signs any_sign = 7;
[[nodiscard]] constexpr bool is_within(Signs s, Signs allowed) { return (s & ~allowed) == 0; }
[[nodiscard]] Signs sign_of_sum(Signs, Signs);
[[nodiscard]] Signs sign_of_product(Signs, Signs);

class Facts {
 public:
  explicit Facts(const ProgramView&);
  [[nodiscard]] const ProgramView& view() const { return *view_; }
  [[nodiscard]] Signs sign(Expr) const;  ///< of an inlined expression
  [[nodiscard]] Signs sign(const Term&) const;
  [[nodiscard]] Signs sign(const Sum&) const;
  /// Between two numbers whatever its arguments are (cos, sin, tanh, sigmoid, erf, conditions).
  [[nodiscard]] static bool is_bounded(Expr atom);

 private:
  void learn(Expr condition);
  [[nodiscard]] Signs compute(Expr) const;
  [[nodiscard]] Signs sign_of_reduction(const math::Statement&) const;

  const ProgramView* view_;
  std::map<Expr, Signs> known_;
  mutable std::map<Expr, Signs> memo_;
};

/// For the element at the reduction index: bounded(j) <= running (upper), or >= (not upper), where all of bounded.alive hold.
struct OrderFact {
  Sum bounded;
  Expr running;  ///< read of the producer at the identity index
  bool upper = true;
};

}  // namespace fathom::algebra
