// How strongly what is seen of an expression holds together when it is typeset: pages (mathml.cpp) and the explorer's formulas.
#pragma once

#include "ir/expr.hpp"

namespace fathom::session::typeset {

/// Ascending; a fraction or a root binds like a name.
enum Strength : int { loosest, logical, comparison, additive, multiplicative, prefix, tight };
[[nodiscard]] Strength strength(Expr);

/// Is exp(x) set as e with a raised x? A deeper exponent would be too small to read.
[[nodiscard]] bool is_raised(Expr exponential);

}  // namespace fathom::session::typeset
