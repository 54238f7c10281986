// Merging two nests over the same index, as the algebra allows: the legality tests and the rewriting behind the pass `fuse`.
#pragma once

#include "algebra/algebra.hpp"
#include "passes/nest.hpp"

namespace fathom::passes {

/// What the algebra has to say about the reductions of a Loop program: its Math program without repairs, and the analysis of that.
struct Knowledge {
  const math::Program* normalised = nullptr;
  const algebra::Analysis* analysis = nullptr;
};

/// What the algebra concluded about a reduction of the normal form: `o.sum` is what became of `o` when factors moved behind its sum.
[[nodiscard]] const Fusion* fusion_of(const algebra::Analysis&, Symbol consumer);

/// A reduction whose nest could merge with an earlier one over the same index.
struct FuseSite {
  Symbol consumer, index;
  std::size_t into = 0, nest = 0;  ///< numbers in nests_of
  std::vector<Symbol> producers;   ///< reductions of the earlier nest that the consumer needs; empty: the two only share the loop
};

/// The site of that reduction, if an earlier nest folds over its index.
[[nodiscard]] std::optional<FuseSite> fuse_site(const loop::Program&, Symbol consumer);

/// The program with the two nests merged, or why not.
[[nodiscard]] Result<loop::Program> fuse_at(const loop::Program&, const FuseSite&, const Knowledge&);

/// Everything fused that may be: what tiles are chosen for.
[[nodiscard]] loop::Program fuse_all(loop::Program, const Knowledge&);

}  // namespace fathom::passes
