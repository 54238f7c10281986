// Compiling, running, checking and timing on this machine's CPU.
#pragma once

#include <string>

#include "command.hpp"
#include "verify.hpp"

namespace fathom::cli {

struct Execution {
  Verdict verdict;
  Timing timing;
  double compile_ms = 0;
};

[[nodiscard]] Result<CpuProgram> compile_for_cpu(const session::Compilation&);
/// Gaussian data at the program's dimension values; parts of the result are compared with the wide reference.
[[nodiscard]] Result<Execution> execute(const session::Compilation&, int threads, double seconds, int most);

}  // namespace fathom::cli
