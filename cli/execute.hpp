// Compiling, running, checking and timing on this machine's CPU.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "command.hpp"
#include "verify.hpp"

namespace fathom::cli {

struct Execution {
  Verdict verdict;
  Timing timing;
  double compile_ms = 0;
};

/// Of all runs on this machine: the same arrays each time.
inline constexpr std::uint64_t data_seed = 20;
inline constexpr const char* data_family = "gaussian";

[[nodiscard]] Result<CpuProgram> compile_for_cpu(const session::Compilation&);
/// Gaussian data at the program's dimension values; parts of the result are compared with the wide reference.
[[nodiscard]] Result<Execution> execute(const session::Compilation&, int threads, double seconds, int most);

/// Parameters with their data, results poisoned.
[[nodiscard]] Result<LaunchArguments> make_arguments(const math::Program&, const interp::Arrays& inputs, const DimValues&, int threads);

// ---- what documents and reports of runs say ----
[[nodiscard]] std::string status_word(CheckStatus);
[[nodiscard]] std::string dims_text(const session::Compilation&);  ///< "B=1 S=4096"
[[nodiscard]] int threads_used(int asked);                         ///< 0: one a core
[[nodiscard]] nlohmann::ordered_json conditions_of(const session::Compilation&, int threads, const Verdict&);
/// Tools read the status of a size that does not fit; what else goes wrong here is for a person.
int report_refusal(const Arguments&, const Refusal&);

}  // namespace fathom::cli
