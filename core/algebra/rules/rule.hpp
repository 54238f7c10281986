// A rule is data: the equation that people see, the condition under which it is a refinement (docs/algebra.md), and the function that
// applies it at the root of an expression. One way each: the left side is never better ranged than the right.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::algebra {

class Normaliser;

struct Rule {
  std::string_view name;
  std::string_view equation;
  std::string_view condition;  ///< empty: none
  std::string_view theme;
  /// The right side where the left side matches at the root and the condition holds under the normaliser's facts; operands are in normal
  /// form.
  std::optional<Expr> (*apply)(Expr, Normaliser&);
};

// ---- one table a theme (rules/<theme>.cpp) ----
[[nodiscard]] std::span<const Rule> exponential_rules();
[[nodiscard]] std::span<const Rule> power_rules();
[[nodiscard]] std::span<const Rule> order_rules();
[[nodiscard]] std::span<const Rule> mask_rules();
[[nodiscard]] std::span<const Rule> reduction_rules();

/// All of them, in the order of the tables.
[[nodiscard]] const std::vector<const Rule*>& all_rules();
[[nodiscard]] const Rule& rule_named(std::string_view name);

}  // namespace fathom::algebra
