// The small shapes at which a plan is checked (docs/checks.md): tiled dimensions run through sizes about their tiles; the others are small
// numbers for which the operator's conditions hold, and mean something: for `H % Hk == 0` four and two, not three and three.
#pragma once

#include <vector>

#include "ir/math.hpp"

namespace fathom::session {

/// A dimension that some loop is tiled over, with the tile that counts here.
struct TiledDim {
  Symbol dim;
  std::int64_t tile = 1;
};

/// For each row of sizes the shapes that meet the conditions, the most telling one first: a program may be undefined at it for another
/// reason (its index ranges). Dimensions without tile and condition are `small`, or near it and `distinct`: what mixes up two equal ones
/// does not show, but units of vectors and matrices want even numbers.
[[nodiscard]] std::vector<std::vector<DimValues>> shapes_for(const math::Program&, const std::vector<TiledDim>&, std::int64_t small,
                                                             bool distinct);

/// The shape with the dimensions that a condition wants equal to `dim` as long as that one.
[[nodiscard]] DimValues with_equals(const math::Program&, DimValues shape, Symbol dim);

}  // namespace fathom::session
