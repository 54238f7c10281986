// Asks the processor for its vector width (the compiler's cpuid helpers also ask whether the system saves the registers).
#include "target/host.hpp"

#if defined(__x86_64__) && !defined(__EMSCRIPTEN__)
#define FATHOM_HOST_IS_X86 1
#else
#define FATHOM_HOST_IS_X86 0
#endif

namespace fathom {

bool host_runs_x86() { return FATHOM_HOST_IS_X86 != 0; }

int host_lanes() {
#if FATHOM_HOST_IS_X86
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq");  // what x86-64-v4 means
  if (avx512) return 16;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 8;
#endif
  return 4;
}

}  // namespace fathom
