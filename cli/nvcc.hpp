// Assembly of kernels for NVIDIA's GPUs: made by its own compiler, where that is installed.
#pragma once

#include "ir/result.hpp"
#include "session/device_code.hpp"
#include "session/ptxas_report.hpp"
#include "target/target.hpp"

namespace fathom::cli {

enum class AssemblyForm : std::uint8_t {
  nearest,  ///< SASS where a disassembler is there, else PTX
  ptx,      ///< of the virtual machine: what the driver, too, takes
  sass,     ///< of the machine itself
};
struct GpuAssembly {
  std::string text;
  std::string form;   ///< "ptx" or "sass"
  std::string maker;  ///< "nvcc 13.0"
  std::optional<session::PtxasReport> report;
};
/// `with_report`: ptxas runs and is asked what each kernel takes, which PTX alone does not need. A refusal whose node is "missing" names
/// the tool that is not installed.
[[nodiscard]] Result<GpuAssembly> assemble(const session::DeviceCode&, const Target&, AssemblyForm, bool with_report);

}  // namespace fathom::cli
