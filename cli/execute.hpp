// Compiling, running, checking and timing on this machine's CPU.
#pragma once

#include <string>

#include "command.hpp"
#include "device.hpp"

namespace fathom::cli {

struct Execution {
  CheckStatus status = CheckStatus::pending;
  double max_error = 0, bound = 0;
  std::int64_t checked_elements = 0;
  std::string detail;
  Timing timing;
  double compile_ms = 0;
};

[[nodiscard]] Result<CpuProgram> compile_for_cpu(const session::Compilation&);
/// Gaussian data at the program's dimension values; the result is compared with the wide reference at the ends, at tile borders and
/// between.
[[nodiscard]] Result<Execution> execute(const session::Compilation&, int threads, double seconds, int most);

}  // namespace fathom::cli
