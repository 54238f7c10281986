// Finds and opens the CPU back end at run time. Holds no LLVM; a program without the plug-in starts as fast and says what is missing.
#pragma once

#include "codegen/cpu/plugin.h"
#include "ir/result.hpp"

namespace fathom::cpu {

/// The plug-in, opened once a process. Looked for in $FATHOM_CPU_PLUGIN (a file), else beside the executable, in ../lib of it, and in the
/// folder above (a build tree). The Refusal says where it looked, what the system answered and what to do.
[[nodiscard]] Result<const fathom_cpu_api*> load_plugin();
/// The same without remembering the answer.
[[nodiscard]] Result<const fathom_cpu_api*> open_plugin();

}  // namespace fathom::cpu
