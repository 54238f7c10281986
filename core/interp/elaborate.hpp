// Makes a statement's meaning explicit: functions are written out, every reduction states its range, no index hides another, sizes are
// expressions. The text's own meaning of names and ranges, kept apart from the passes that transform programs.
#pragma once

#include <map>

#include "ir/math.hpp"

namespace fathom::interp {

struct Range {
  Expr lo, hi;
};
using Ranges = std::map<Symbol, Range>;  ///< of the indices in scope

/// `expr` with the indices of `scope` free.
[[nodiscard]] Result<Expr> elaborate(const math::Program&, Expr expr, const Ranges& scope);

/// The ranges of a statement's axes.
[[nodiscard]] Ranges ranges_of(const std::vector<math::Axis>&);

}  // namespace fathom::interp
