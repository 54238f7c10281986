// The plans that checks run (docs/checks.md): the compilation's complete trace replayed at small shapes taken from its own tiles, with
// miniature tiles or with the true ones. What is checked is what the passes really do there.
#pragma once

#include <vector>

#include "session/session.hpp"

namespace fathom::session {

struct SmallPlan {
  DimValues shape;
  math::Program program;  ///< as written
  Record record;
  std::string fault;  ///< the compiler gives no plan at this shape: why. The record is empty then
};

/// At most `at_most` of them, each of another shape. Where small dimensions leave out a loop that the compilation has (a short axis rides
/// whole), one more with that dimension long enough.
[[nodiscard]] std::vector<SmallPlan> small_plans(const Compilation&, bool miniature, std::size_t at_most);

/// Borders of tiles, over all tiled dimensions: positions that data should put its peaks at.
[[nodiscard]] std::vector<std::int64_t> tile_edges(const Compilation&, bool miniature);

/// How often a repair may rescale one accumulator in the plan: the trips of the longest fold that carries one, and the merges of its parts.
[[nodiscard]] std::int64_t moves_of(const SmallPlan&);

}  // namespace fathom::session
