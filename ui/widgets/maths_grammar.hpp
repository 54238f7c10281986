// What an expression looks like in the explorer: parentheses and the parts of a name, over the binding strengths that pages have too.
// Layout, LaTeX and speech read this one description.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "session/binding_strength.hpp"

namespace fathom::ui::widgets::grammar {

using namespace session::typeset;

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
