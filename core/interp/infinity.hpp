// Which inputs may hold infinities and NaN in checks: those for which the program has one value, or takes them as masks.
#pragma once

#include <set>

#include "ir/math.hpp"

namespace fathom::interp {

/// Whether -inf in elements of the parameter keeps the results determined: it never meets 0 or another infinity in a way that gives NaN.
/// An infinite factor of a product is no mask (0 * inf), nor is an infinite term of a sum whose total is subtracted from it. What comes
/// through exp, a comparison or a choice is finite again. `ones`: parameters that hold 1 throughout, harmless as factors.
[[nodiscard]] bool takes_infinity(const math::Program&, Symbol param, const std::set<Symbol>& ones);

/// Whether the parameter is multiplied by what a mask may have made 0. There, inside of a tile that the mask cuts, infinities and NaN may
/// reach rows that do not see them (docs/language.md): the text gives them no meaning.
[[nodiscard]] bool stands_beside_mask(const math::Program&, Symbol param);

/// Whether infinities of the parameter may be subtracted from each other outside of an exponent: max(m - x) is NaN as it stands, and m -
/// min(x) is an infinity.
[[nodiscard]] bool meets_its_infinities(const math::Program&, Symbol param);

/// Whether every reduction that the parameter reaches gives one value beside elements of that value, however it is grouped. A comparison of
/// NaN chooses without regard to what it drops: of such a combination the text's own order gives a value, another grouping another.
[[nodiscard]] bool folds_alike(const math::Program&, Symbol param, double special);

/// -1 or 1: the sign of the infinity that stands for a masked element of the parameter. A minimum masks by +inf.
[[nodiscard]] int sign_of_masks(const math::Program&, Symbol param);

}  // namespace fathom::interp
