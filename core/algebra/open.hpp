// Opening a Math program: functions inlined, every reduction a statement of its own, names as docs/architecture.md fixes them.
// A pure function from value to value; the pass `open-prelude` wraps it, the tests of the algebra start from it.
#pragma once

#include "ir/math.hpp"

namespace fathom::math {

/// `as_written` as lang::parse_file returns it. The result satisfies is_opened, except where functions call each other without end:
/// there the call stays (the checker refuses such programs before).
[[nodiscard]] Program open(const Program& as_written);

}  // namespace fathom::math
