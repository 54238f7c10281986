// Values of launch-time expressions: dimensions, scalar arguments and alignments of tensor arguments.
#pragma once

#include <map>
#include <optional>

#include "ir/expr.hpp"

namespace fathom::cpu {

/// A number, integer or not; conditions are 0 or 1.
using HostValues = std::map<Symbol, double>;

/// nullopt where the expression reads what is not known at launch, or divides by 0. Integers up to 2^53 are exact.
[[nodiscard]] std::optional<double> evaluate(Expr, const HostValues&);
[[nodiscard]] std::optional<std::int64_t> evaluate_whole(Expr, const HostValues&);

}  // namespace fathom::cpu
