#include "machine_code.hpp"

#include <utility>

namespace fathom::ui {

bool MachineCode::request(std::uint64_t version, const kernel::Module& module) {
  if (asked_ == version) return answer_.has_value();
  asked_ = version;
  answer_.reset();
  lane_.cancel();
  if (!generate) {
    answer_ = refuse("This build has no back end that prints code.", {}, "Open the same session in the desktop explorer.");
    return true;
  }
  lane_.start({}, [this, module, make = generate](const Cancel&, const auto& deliver) {
    deliver([this, made = make(module)] { answer_ = made; });
  });
  return false;
}

}  // namespace fathom::ui
