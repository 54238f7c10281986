// Which sums of the text a plan computes from operands that it rounded to a narrower type (a precision decision, passes/tile_narrow.cpp):
// the bound of the check takes that rounding in from that step on.
#pragma once

#include <vector>

#include "interp/interp.hpp"
#include "ir/record.hpp"

namespace fathom::session {

/// After each step of the record, in their order.
[[nodiscard]] std::vector<std::vector<interp::BoundOptions::Narrowed>> narrowings_after(const Record&);

}  // namespace fathom::session
