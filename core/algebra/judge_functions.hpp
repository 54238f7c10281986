// Real functions for trials on arrays, from + - * / sqrt and scaling by powers of two only: what a trial decides is the same on every
// platform. Relative accuracy about 1e-14, far below what trials tell apart.
#pragma once

#include <span>

#include "ir/expr.hpp"

namespace fathom::algebra {

/// Value of a prefix, infix or function operation (`where` and `random` excluded) on doubles; conditions are 0 or 1. NaN where undefined.
[[nodiscard]] double value_of(Op, std::span<const double> args);

/// As single precision keeps it: infinite beyond its range, 0 below. Digits are left alone.
[[nodiscard]] double in_single_range(double);

}  // namespace fathom::algebra
