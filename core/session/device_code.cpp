#include "session/device_code.hpp"

#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"

namespace fathom::session {

Result<std::string> device_code(const Compilation& compilation) {
  const Ir& last = compilation.final_ir();
  const std::string target = compilation.target.name.text();
  if (compilation.target.code != "cuda") return refuse("No code is printed for " + target + ".", {target});
  if (last.level != Level::kernel) {
    const std::vector<Refusal>& why = compilation.record.refusals;
    return refuse("The plan has no Kernel level on " + target + (why.empty() ? "." : ": " + why.back().reason), {target},
                  why.empty() ? "" : why.back().hint);
  }
  const auto made = gpu::lower(last.module(), compilation.target);
  if (!made) return tl::unexpected(made.error());
  return gpu::print_cuda(*made, last.module());
}

}  // namespace fathom::session
