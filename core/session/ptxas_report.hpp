// What NVIDIA's assembler says of the kernels that it makes (`ptxas -v`): what they take of a processor, and what it could not do as asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.hpp"

namespace fathom::session {

struct PtxasKernel {
  std::string name;
  std::string architecture;  ///< "sm_90a"
  std::int64_t registers = 0;
  std::int64_t stack_bytes = 0, spill_store_bytes = 0,
               spill_load_bytes = 0;     ///< of a thread; spills are counted once in the text of the code
  std::int64_t static_shared_bytes = 0;  ///< what a launch reserves besides stands in DeviceKernel
};

/// Products of a warpgroup that ptxas serialised: the results are right, the plan is not what runs.
struct PtxasFault {
  std::string code;      ///< "C7510" … "C7514"
  std::string sentence;  ///< as ptxas says it
};

struct PtxasReport {
  std::vector<PtxasKernel> kernels;  ///< in the order of their names
  std::vector<PtxasFault> faults;
};
/// Refused where the text speaks of no kernel, or of one without saying what it takes.
[[nodiscard]] Result<PtxasReport> read_ptxas_report(std::string_view text);

}  // namespace fathom::session
