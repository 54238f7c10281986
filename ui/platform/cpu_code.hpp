// The code that the CPU back end prints, through its plug-in.
#pragma once

#include "machine_code.hpp"

namespace fathom::ui {

[[nodiscard]] Result<CodeText> cpu_code(const kernel::Module&);

}  // namespace fathom::ui
