// What is asked of the machine that this runs on: only how wide its vectors are, and whether x86 code runs on it at all.
#pragma once

namespace fathom {

/// f32 elements of the widest vectors that the processor and the system support: 16, 8 or 4. In the browser and on other processors 4.
[[nodiscard]] int host_lanes();
[[nodiscard]] bool host_runs_x86();

}  // namespace fathom
