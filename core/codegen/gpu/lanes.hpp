// Lane mode: runs thread programs lane by lane on the host, as a machine would that has no program of its own. The lanes of a process (a
// group of a role) go through its statements together, under masks; processes take turns by a seed. Matrix instructions move their
// fragments as the manual of the machine says, not as our layouts say; what is asynchronous lands when a seed wants it, or when it is
// waited for. It finds wrong fragments and addresses, accesses outside of extents, shared memory and registers that are used without an
// order between the uses, fences, waits and exchanges that are missing, cyclic waits, and elements that two lanes store.
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
  std::uint64_t seed = 0;                 ///< of who goes on and when copies land; 0: the first that can, as late as possible
  std::int64_t resident = 2;              ///< workgroups that the machine holds at once
};

/// Parameters by the module's names; returns the results. Everything that is not written is NaN.
[[nodiscard]] Result<LaneTensors> run_lanes(const ThreadModule&, const kernel::Module&, const LaneTensors& inputs, const LaneOptions&);

}  // namespace fathom::gpu
