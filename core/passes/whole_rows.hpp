// Rows that a work item holds whole, on targets with warps: where every reduction over an index and the maps behind them fit the registers
// of a workgroup, the loops over that index are gone. One work item has the row (or a few short ones), and each element is loaded once.
// Decided by the structure of the nests and the numbers of the target.
#pragma once

#include "passes/nest.hpp"
#include "target/target.hpp"

namespace fathom::passes {

/// Are there atoms that several lanes issue together?
[[nodiscard]] bool has_warps(const Target&);

/// How the elements of a row are dealt out: neighbouring lanes take neighbouring vectors, warps neighbouring runs of these.
struct RowSplit {
  std::int64_t vector = 1;    ///< elements that a lane loads at once
  std::int64_t warps = 1;     ///< that share a row
  std::int64_t extent = 1;    ///< elements, rounded up to whole vectors of all lanes
  std::int64_t elements = 1;  ///< of a thread
};
/// `bytes`: of the widest element that is loaded or stored along the row.
[[nodiscard]] RowSplit row_split(std::int64_t extent, std::int64_t bytes, const Target&);

/// The extent of an axis without a loop: as it is, or rounded up to what atoms or lanes divide. What lies outside is filled and clipped.
[[nodiscard]] std::int64_t whole_extent(const math::Program&, Symbol index, std::int64_t extent, const Target&);

/// Neighbouring nests that run over one index and share their other loops.
struct RowGroup {
  Symbol index;
  Symbol rows;  ///< the innermost of the loops beside it; empty: there is none
  std::size_t first = 0, last = 0;
  std::int64_t extent = 1;  ///< elements of a row
  std::int64_t rows_extent = 1;
  std::int64_t items = 1;  ///< rows in all, at the default dimension values
  double words = 1;        ///< registers that an element of the row keeps at once, over all of its values
  RowSplit split;

  /// Registers of a thread for the values of its rows, `tile` of them a work item.
  [[nodiscard]] double registers(std::int64_t tile, const Target&) const;
  [[nodiscard]] bool fits(std::int64_t tile, const Target&) const;
  /// Rows of a work item: one, or as many short ones as there are warps in a usual workgroup.
  [[nodiscard]] std::int64_t usual_rows(const Target&) const;
};
[[nodiscard]] std::vector<RowGroup> row_groups(const loop::Program&, const Target&);

/// The program with the nests of these indices joined, their loops over the index gone.
[[nodiscard]] loop::Program with_whole_rows(loop::Program, const std::set<Symbol>& indices, const Target&);

/// Warps of a workgroup at most where rows are dealt out to warps.
constexpr std::int64_t most_row_warps = 8;
/// Warps that share one row at most: 512 threads leave each 128 registers of the file of 64 Ki.
constexpr std::int64_t most_warps_of_a_row = 16;

}  // namespace fathom::passes
