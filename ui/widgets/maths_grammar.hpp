// What an expression looks like on the page: binding strengths, parentheses, the parts of a name. Layout, LaTeX and speech read this one
// description; core/session/mathml.cpp has the same for HTML pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::ui::widgets::grammar {

/// How strongly what is seen holds together; a fraction or a root binds like a name.
enum Strength : int { loosest, logical, comparison, additive, multiplicative, prefix, tight };
[[nodiscard]] Strength strength(Expr);

/// Parentheses around the operands of an infix operation.
struct Sides {
  bool left = false, right = false;
};
[[nodiscard]] Sides parenthesised(Expr infix);
/// … around what a power is taken of.
[[nodiscard]] bool is_parenthesised_base(Expr);
/// … around the single value of a reduction.
[[nodiscard]] bool is_parenthesised_body(Expr);
/// … around the operand of a minus or a not.
[[nodiscard]] bool is_parenthesised_operand(Expr prefix);
/// … around one of several things in a list: cases would swallow the comma.
[[nodiscard]] bool is_parenthesised_in_list(Expr item, std::size_t at, std::size_t count);

/// Is exp(x) set as e with a raised x? A deeper exponent would be too small to read.
[[nodiscard]] bool is_raised(Expr exponential);

/// p.m~' is the segments p and m under a tilde, with one prime.
struct Name {
  std::vector<std::string> segments;
  bool tilde = false;
  int primes = 0;
};
[[nodiscard]] Name parts_of(const std::string&);

/// The name of a reduction: that of its reducer, with the result where it is not the first.
[[nodiscard]] std::string reducer_name(Expr);

/// A decimal, or numerator/denominator.
[[nodiscard]] std::string number_text(Expr);

}  // namespace fathom::ui::widgets::grammar
