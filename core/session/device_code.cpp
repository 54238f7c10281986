#include "session/device_code.hpp"

#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"

namespace fathom::session {

Result<DeviceCode> device_code(const kernel::Module& module, const Target& target) {
  if (target.code != "cuda") return refuse("No code is printed for " + target.name.text() + ".", {target.name.text()});
  const auto made = gpu::lower(module, target);
  if (!made) return tl::unexpected(made.error());
  gpu::PrintedCode printed = gpu::print_cuda(*made, module);
  return DeviceCode{std::move(printed.text), std::move(printed.lines)};
}

Result<DeviceCode> device_code(const Compilation& compilation) {
  const Ir& last = compilation.final_ir();
  const std::string target = compilation.target.name.text();
  if (last.level == Level::kernel) return device_code(last.module(), compilation.target);
  const std::vector<Refusal>& why = compilation.record.refusals;
  return refuse("The plan has no Kernel level on " + target + (why.empty() ? "." : ": " + why.back().reason), {target},
                why.empty() ? "" : why.back().hint);
}

}  // namespace fathom::session
