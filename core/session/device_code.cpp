#include "session/device_code.hpp"

#include <algorithm>

#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"
#include "codegen/gpu/print_hip.hpp"

namespace fathom::session {

bool prints_device_code(const Target& target) { return target.code == "cuda" || target.code == "hip"; }

Result<DeviceCode> device_code(const kernel::Module& module, const Target& target) {
  if (!prints_device_code(target))
    return refuse("No code is printed for " + target.name.text() + ".", {target.name.text()}, "Choose a target like sm_80 or gfx942.");
  const auto made = gpu::lower(module, target);
  if (!made) return tl::unexpected(made.error());
  auto printed = target.code == "hip" ? gpu::print_hip(*made, module, target) : Result<gpu::PrintedCode>(gpu::print_cuda(*made, module));
  if (!printed) return tl::unexpected(printed.error());
  DeviceCode code{std::move(printed->text), std::move(printed->lines)};
  for (const gpu::ThreadKernel& kernel : made->kernels) {
    std::int64_t bytes = 0;
    (void)gpu::dynamic_offsets(kernel, bytes);
    code.kernels.push_back({kernel.name.text(), kernel.threads, bytes});
  }
  return code;
}

Result<DeviceCode> device_code(const Compilation& compilation) {
  const Ir& last = compilation.final_ir();
  if (last.level != Level::kernel) return tl::unexpected(why_no_kernel(compilation));
  return device_code(last.module(), compilation.target);
}

Refusal why_no_kernel(const Compilation& compilation) {
  const std::string& target = compilation.target.name.text();
  Refusal why{"The plan has no Kernel level on " + target, {target}, {}};
  const std::vector<Step>& steps = compilation.record.steps;
  const auto lowering = std::find_if(steps.begin(), steps.end(), [](const Step& step) { return step.id == "lower-to-kernel"; });
  if (lowering == steps.end() || lowering->refusals.empty()) {
    why.reason += ".";
  } else {
    why.reason += ": " + lowering->refusals.front().reason;
    why.hint = lowering->refusals.front().hint;
  }
  return why;
}

}  // namespace fathom::session
