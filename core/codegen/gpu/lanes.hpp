// Lane mode: runs thread programs lane by lane on the host, as a machine would that has no program of its own. All lanes of a workgroup go
// through the statements together, under masks; matrix instructions move their fragments as the manual of the machine says, not as our
// layouts say; asynchronous copies land when they are waited for. It finds wrong fragments and addresses, accesses outside of extents,
// shared memory that warps use without a wait between them, waits and exchanges in which lanes are missing, and elements that two lanes
// store.
#pragma once

#include <map>
#include <vector>

#include "codegen/gpu/thread_program.hpp"
#include "target/target.hpp"

namespace fathom::gpu {

/// Values are doubles that the dtype holds exactly, row major.
struct LaneTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};
using LaneTensors = std::map<Symbol, LaneTensor>;

struct LaneOptions {
  DimValues dims;                         ///< of run time
  std::int64_t most_steps = 200'000'000;  ///< operations on all lanes; beyond it a Refusal
};

/// Parameters by the module's names; returns the results. Everything that is not written is NaN.
[[nodiscard]] Result<LaneTensors> run_lanes(const ThreadModule&, const kernel::Module&, const LaneTensors& inputs, const LaneOptions&);

}  // namespace fathom::gpu
