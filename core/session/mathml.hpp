// Expressions as MathML Core, for pages: fractions, exponents, big operators, cases. Input is the tree, never a string.
#pragma once

#include <string>

#include "ir/expr.hpp"

namespace fathom::session {

[[nodiscard]] std::string mathml(Expr);  ///< a <math> element
[[nodiscard]] std::string escape_html(std::string_view);

}  // namespace fathom::session
