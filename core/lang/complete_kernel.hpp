// Internal to lang: what a Kernel text may leave out.
#pragma once

#include <optional>

#include "ir/kernel.hpp"

namespace fathom::lang {

/// Adds what follows from the rest of the text, so that it stands in the module:
/// - dimensions that only the shapes name: of run time, 1 where nothing says otherwise;
/// - names apart: a value that is called as a parameter or result of another rank (`o[r,d]` beside the result `o[b,h,s,d]`) becomes `o.t`,
///   or `o.t'` where the text has an `o.t` of its own;
/// - axes: an index that is declared nowhere goes over the extent of what it is a subscript of, slots, buffers and workspaces first.
/// Says so where an index would have two extents of equal right.
[[nodiscard]] std::optional<Refusal> complete(kernel::Module&);

}  // namespace fathom::lang
