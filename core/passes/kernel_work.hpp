// Who takes which work item: dealt out beforehand, or drawn from a counter by whoever is free.
#pragma once

#include <vector>

#include "ir/kernel.hpp"
#include "passes/tile_arith.hpp"

namespace fathom::passes {

/// Do items of work differ in how many trips they make?
[[nodiscard]] bool is_uneven(const kernel::Kernel&);
/// Items are drawn from a counter, a workspace of the module that holds 0 between launches. `names`: of every kernel.
void draw_items(kernel::Module&, kernel::Kernel&, std::vector<Names>& names);
/// Where the last item makes more trips than the first, items are counted from the end: the longest begin first. False where nothing
/// changed.
bool longest_first(kernel::Kernel&, const DimValues& dims);

}  // namespace fathom::passes
