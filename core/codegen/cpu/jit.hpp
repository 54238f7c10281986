// LLVM behind a wall: IR of a module's kernels, optimised for the host and linked into this process. Nothing of LLVM is visible here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/cpu/launch.hpp"
#include "ir/kernel.hpp"
#include "ir/result.hpp"

namespace fathom::cpu {

struct CompileTimes {
  double emit_ms = 0, optimise_ms = 0, link_ms = 0;
};

/// A printed form of the code; for each of its lines the line of the printed module that it is made for, counted from 1; 0: of none.
struct CodeListing {
  std::string text;
  std::vector<int> lines;
};

/// Compiled code of one module; owns its memory.
class CompiledCode {
 public:
  struct Impl;
  explicit CompiledCode(std::unique_ptr<Impl>);
  ~CompiledCode();
  CompiledCode(CompiledCode&&) noexcept;
  CompiledCode& operator=(CompiledCode&&) noexcept;

  [[nodiscard]] WorkFunction kernel(std::size_t) const;
  [[nodiscard]] std::int64_t arena_bytes() const;    ///< of one thread, the largest over the kernels
  [[nodiscard]] const CodeListing& llvm_ir() const;  ///< optimised
  [[nodiscard]] const CodeListing& assembly() const;
  [[nodiscard]] const CompileTimes& times() const;

 private:
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] Result<CompiledCode> compile(const kernel::Module&, const LaunchLayout&);

[[nodiscard]] const std::string& host_description();
[[nodiscard]] int host_lanes();

/// out[i] = function(in[i]) with the code generator's own vector function, or nullptr for an unknown name. For tests and benchmarks.
using ArrayFunction = void (*)(const float* in, float* out, std::int64_t count);
[[nodiscard]] ArrayFunction array_function(const std::string& name);

/// Runs `trips` trips of independent FMA chains; the number of floating-point operations of one trip.
using FmaProbe = float (*)(std::int64_t trips);
[[nodiscard]] std::pair<FmaProbe, double> fma_probe();

}  // namespace fathom::cpu
