#include "codegen/gpu/print_hip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "codegen/gpu/helpers.hpp"
#include "codegen/gpu/launcher.hpp"
#include "codegen/gpu/print_threads.hpp"

namespace fathom::gpu {
namespace {

/// Words that HIP's headers define, and the width of a wave. The headers are taken where the compiler has them: it then includes its own
/// wrapper first, whose guard is asked for here.
std::string prelude(const ThreadModule& made) {
  return fmt::format(R"(#ifdef __CLANG_HIP_RUNTIME_WRAPPER_H__
#include <hip/hip_runtime.h>
#else
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads, ...) __attribute__((amdgpu_flat_work_group_size(threads, threads)))
#endif
#ifndef __align__
#define __align__(bytes) __attribute__((aligned(bytes)))
#endif
enum {{ lanes_of_wave = {0} }};
#if defined(__HIP_DEVICE_COMPILE__) && defined(__AMDGCN_WAVEFRONT_SIZE)
static_assert(__AMDGCN_WAVEFRONT_SIZE == lanes_of_wave, "compiled for waves of another width than the kernels are made for");
#endif
)",
                     made.lanes);
}

/// HIP's runtime has CUDA's functions under names of its own: the launcher is that of CUDA in these words, the longer ones first.
std::string in_words_of_hip(std::string launcher) {
  static const std::pair<const char*, const char*> words[] = {
      {"#ifndef __CUDACC_RTC__", "#ifdef __CLANG_HIP_RUNTIME_WRAPPER_H__"},
      {"cudaFuncSetAttribute(", "hipFuncSetAttribute((const void*)"},
      {"cudaDevAttrMultiProcessorCount", "hipDeviceAttributeMultiprocessorCount"},
      {"cudaDevAttrMaxSharedMemoryPerBlockOptin", "hipDeviceAttributeMaxSharedMemoryPerBlock"},
      {"cuda", "hip"},
  };
  for (const auto& [from, to] : words) {
    const std::string_view word = from;
    for (std::size_t at = 0; (at = launcher.find(word, at)) != std::string::npos; at += std::string_view(to).size())
      launcher.replace(at, word.size(), to);
  }
  return launcher;
}

bool is_in(const std::vector<Helper>& table, const std::string& name) {
  return std::any_of(table.begin(), table.end(), [&](const Helper& h) { return h.name == name; });
}

bool uses_f64(const ThreadModule& made) {
  const std::function<bool(const ThreadBlock&)> in = [&](const ThreadBlock& block) {
    return std::any_of(block.begin(), block.end(), [&](const ThreadStatement& s) {
      if (const auto* d = std::get_if<Declare>(&s.op)) return d->variable.type == Type::f64;
      if (const auto* l = std::get_if<Loop>(&s.op)) return in(l->body);
      if (const auto* w = std::get_if<While>(&s.op)) return in(w->body);
      if (const auto* b = std::get_if<Branch>(&s.op)) return in(b->then) || in(b->otherwise);
      return false;
    });
  };
  const auto pointer = [](const ThreadParameter& p) { return p.variable.type == Type::f64; };
  return std::any_of(made.kernels.begin(), made.kernels.end(), [&](const ThreadKernel& k) {
    return std::any_of(k.parameters.begin(), k.parameters.end(), pointer) || in(k.setup) ||
           std::any_of(k.roles.begin(), k.roles.end(), [&](const ThreadRole& r) { return in(r.body); });
  });
}

/// What is called and has no text here.
std::optional<Refusal> lacking(const ThreadModule& made, const std::set<std::string>& used, const Target& target) {
  const std::string& where = target.name.text();
  const bool f64 = uses_f64(made);
  for (const std::string& name : used) {
    const bool elsewhere = is_in(cuda_helpers(), name) || is_in(asynchronous_helpers(), name) || is_in(cooperation_helpers(), name);
    if (elsewhere && !is_in(hip_helpers(), name))
      return Refusal{
          "`" + name + "` has no form on " + where + ": clang computes it only with AMD's device libraries, or the machine lacks it",
          {name},
          {}};
    static const std::set<std::string> of_f32 = {"power_of_two",       "exponential",    "logarithm", "logarithm_2",
                                                 "hyperbolic_tangent", "error_function", "sigmoid"};
    if (f64 && of_f32.count(name) > 0)
      return Refusal{"`" + name + "` in f64 has no form on " + where + ": clang computes it only with AMD's device libraries", {name}, {}};
  }
  return std::nullopt;
}

/// More than a workgroup may have, with what reductions across warps take.
std::optional<Refusal> too_large(const ThreadModule& made, const Target& target) {
  for (const ThreadKernel& k : made.kernels) {
    std::int64_t bytes = 0;
    (void)dynamic_offsets(k, bytes);
    for (const Variable& v : k.shared) {
      std::int64_t elements = 1;
      for (const std::int64_t extent : v.extents) elements *= extent;
      bytes += elements * size_in_bytes(v.type);
    }
    if (bytes > target.shared_bytes)
      return Refusal{"kernel `" + k.name.text() + "` takes " + std::to_string(bytes) + " bytes of shared memory, and a workgroup of " +
                         target.name.text() + " has " + std::to_string(target.shared_bytes),
                     {k.name.text()},
                     "take smaller tiles or fewer stages"};
  }
  return std::nullopt;
}

}  // namespace

std::string hip_command(const Target& target) {
  return "clang++ -x hip --offload-arch=" + target.name.text() +
         " -nogpuinc -nogpulib --cuda-device-only --no-gpu-bundle-output -std=c++17 -O3";
}

Result<PrintedCode> print_hip(const ThreadModule& made, const kernel::Module& module, const Target& target) {
  const PrintedThreads printed = print_threads(made, SharedMemory::declared);
  if (auto no = lacking(made, printed.used, target)) return tl::unexpected(std::move(*no));
  if (auto no = too_large(made, target)) return tl::unexpected(std::move(*no));
  std::string head = target.caution.empty() ? "" : "// " + target.caution + "\n";
  head += "// " + module.name.text() + " for " + target.name.text() +
          ", made by Fathom. The kernels need no other file; the launcher is there where ROCm's headers are. Without ROCm:\n// " +
          hip_command(target) + "\n\n";
  return whole_file(head + prelude(made) + helper_texts(hip_helpers(), printed.used) + "\n", printed,
                    in_words_of_hip(print_launcher(made, module, SharedMemory::declared)), module);
}

}  // namespace fathom::gpu
