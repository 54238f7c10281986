#include "machine_code.hpp"

#include <utility>

#include "session/device_code.hpp"

namespace fathom::ui {

/// Printed for a machine that is not this one.
static Result<CodeText> source_for(const kernel::Module& module, const Target& target) {
  auto code = session::device_code(module, target);
  if (!code) return tl::unexpected(code.error());
  CodeText text;
  const std::string& name = target.name.text();
  text.maker = target.code == "hip" ? "HIP C++ for " + name + ", " + target.caution
                                    : "CUDA C++ for " + name + "; compile it with nvcc -std=c++17 -arch=" + name +
                                          ". Its assembly: fathom compile FILE --target " + name +
                                          " --emit ptx, with nvcc installed; --emit sass, with cuobjdump or nvdisasm besides";
  text.source = {std::move(code->text), std::move(code->lines)};
  return text;
}

bool MachineCode::request(std::uint64_t version, const kernel::Module& module, const Target& target) {
  if (asked_ == version) return answer_.has_value();
  asked_ = version;
  answer_.reset();
  lane_.cancel();
  const bool printed = session::prints_device_code(target);
  if (!generate && !printed) {
    answer_ = refuse("This build has no back end that prints code.", {}, "Open the same session in the desktop explorer.");
    return true;
  }
  lane_.start({}, [this, module, target, printed, make = generate](const Cancel&, const auto& deliver) {
    deliver([this, made = printed ? source_for(module, target) : make(module)] { answer_ = made; });
  });
  return false;
}

}  // namespace fathom::ui
