// Counting what IR does: shared by the cost of every level. Counts are doubles made with + - * / only; equal on every platform.
#pragma once

#include <map>
#include <set>

#include "ir/node_map.hpp"
#include "passes/pass.hpp"

namespace fathom::passes {

/// Work of one kernel (or nest, or statement of a Math program).
struct Work {
  double flops = 0;         ///< all arithmetic, matrix products included
  double matrix_flops = 0;  ///< of contractions that atoms can do
  double fill = 0;          ///< what atoms could have done while their accumulators were filled and drained
  double exps = 0;
  double read = 0, written = 0;  ///< bytes of main memory
  double loaded = 0;             ///< bytes into the nearest space, reloads included
  double on_chip = 0;            ///< working set, bytes
  double items = 1;              ///< independent pieces
  double trips = 0;              ///< statements executed on a tile: each has a fixed price
  double padding = 1;            ///< elements that ragged tiles compute over those that exist
};

/// Arithmetic in one evaluation of an expression, each distinct node once. Subscripts and index arithmetic are free.
struct Operations {
  double flops = 0, exps = 0;
};
[[nodiscard]] Operations operations_in(Expr);
/// What walks over expressions ask of the same nodes again and again.
class NodeFacts {
 public:
  /// Only numbers, dimensions and indices in it: bounds, masks, constants. Computed once, or by the address unit.
  bool is_index_arithmetic(Expr);
  /// operations_in() of it is not nothing.
  bool computes(Expr);

 private:
  NodeMap<bool> is_index_arithmetic_, computes_;
};
[[nodiscard]] Operations operations_of_combine(const Reducer&);
[[nodiscard]] bool is_transcendental(Op);

/// The roofline: the larger of memory time and the sum of compute and on-chip time, over the share of the machine that is busy.
[[nodiscard]] double milliseconds(const Work&, const Target&);

/// Work of each kernel of a module at the dimension values.
[[nodiscard]] std::vector<Work> work_of(const kernel::Module&, const DimValues&, const Target&);
/// Work of each nest of a Loop program, or of each statement of an opened Math program, at its own default dimension values.
[[nodiscard]] std::vector<Work> work_of(const loop::Program&, const Target&);
[[nodiscard]] std::vector<Work> work_of(const math::Program& opened, const Target&);

/// A contraction whose two factors each have an axis of the result to themselves.
[[nodiscard]] bool is_matrix_product(const math::Statement&);

}  // namespace fathom::passes
