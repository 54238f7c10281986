// An estimate of the registers that a thread needs for the products of a nest, on targets with warps: what the choice of tiles asks, so
// that no plan that is predicted to spill is the default.
#pragma once

#include "ir/loop.hpp"
#include "target/target.hpp"

namespace fathom::passes {

/// Registers of a thread (of 4 bytes). `values`: accumulators that loops carry, operands that stay through them, and the largest tile of a
/// trip. `copies`: of the copies that a trip has on their way, each with an address of 64 bits, a place in shared memory and what says
/// whether it is inside; they stay in registers from trip to trip.
///
/// Together they may take what a thread has, copies five eighths of it. Source: 54 plans of the samples with products (f16 and f32, tiles
/// of 32 to 128 that divide their extents), compiled for sm_80 by ptxas of CUDA 13.0: of those that fit none spills, of the others all do
/// but one. Workgroups of up to eight warps leave each thread 255 of the file of 64 Ki registers.
struct RegisterNeed {
  double values = 0, copies = 0;
  /// Registers beyond that; 0: it fits.
  [[nodiscard]] double excess() const;
};
/// The most that a nest of the program needs, at the tiles that it has.
[[nodiscard]] RegisterNeed register_need(const loop::Program&, const Target&);

/// Rows of the largest atom that a warp issues by itself.
[[nodiscard]] std::int64_t rows_of_atoms(const Target&);
/// Warps that rows are dealt out to: as many as they keep busy, each `atom_rows` or a multiple.
[[nodiscard]] std::int64_t warps_of_rows(std::int64_t rows, std::int64_t atom_rows);

}  // namespace fathom::passes
