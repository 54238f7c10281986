// Helper functions of what lanes, workgroups and kernels do together: values that move between lanes, atomics and fences, loads of what
// others have stored, kernels that start early. PTX names are those of the PTX ISA.
#include "codegen/gpu/helpers.hpp"

namespace fathom::gpu {

const std::vector<Helper>& cooperation_helpers() {
  static const auto* table = new std::vector<Helper>{
      {"copy_async_evict_first",
       {},
       R"(// 16 bytes to shared memory, on their way until waited for; zeros where there is nothing to copy. The second-level cache gives them up
// first: nobody reads them again.
__device__ inline void copy_async_evict_first(void* to, const void* from, bool inside) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
               : : "r"(address), "l"(from), "r"(inside ? 16 : 0), "l"(policy) : "memory");
}
)"},
      {"copy_async_evict_last",
       {},
       R"(// 16 bytes to shared memory, on their way until waited for; zeros where there is nothing to copy. The second-level cache keeps them
// longest: others read them, too.
__device__ inline void copy_async_evict_last(void* to, const void* from, bool inside) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;"
               : : "r"(address), "l"(from), "r"(inside ? 16 : 0), "l"(policy) : "memory");
}
)"},
      {"transposed_matrix",
       {},
       R"(// Of a matrix of 8 x 8 pairs' halves: lane 4r + c has (r, 2c) and (r, 2c + 1), and gets (2c, r) and (2c + 1, r).
__device__ inline unsigned transposed_matrix(unsigned pair) {
  unsigned moved;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(pair));
  return moved;
}
)"},
      {"shuffle_from", {}, R"(// The value of that lane.
template <class T>
__device__ inline T shuffle_from(T x, int lane) {
  return __shfl_sync(0xffffffffu, x, lane);
}
__device__ inline bool shuffle_from(bool x, int lane) { return __shfl_sync(0xffffffffu, x ? 1 : 0, lane) != 0; }
)"},
      {"load_fresh", {}, R"(// From the second-level cache, which all workgroups share: what others have stored while this kernel was there.
template <class T>
__device__ inline T load_fresh(const T* from) {
  if constexpr (sizeof(T) == 8) {
    unsigned long long bits;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(bits) : "l"(from) : "memory");
    return *reinterpret_cast<const T*>(&bits);
  } else if constexpr (sizeof(T) == 4) {
    unsigned bits;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(bits) : "l"(from) : "memory");
    return *reinterpret_cast<const T*>(&bits);
  } else {
    unsigned short bits;
    asm volatile("ld.global.cg.u16 %0, [%1];" : "=h"(bits) : "l"(from) : "memory");
    return *reinterpret_cast<const T*>(&bits);
  }
}
)"},
      {"atomic_add", {}, R"(// Adds; returns what was there. So do the two others.
__device__ inline int atomic_add(int* place, int x) { return atomicAdd(place, x); }
__device__ inline long long atomic_add(long long* place, long long x) {
  return static_cast<long long>(atomicAdd(reinterpret_cast<unsigned long long*>(place), static_cast<unsigned long long>(x)));
}
)"},
      {"atomic_max", {}, R"(__device__ inline int atomic_max(int* place, int x) { return atomicMax(place, x); }
__device__ inline long long atomic_max(long long* place, long long x) { return atomicMax(place, x); }
)"},
      {"atomic_min", {}, R"(__device__ inline int atomic_min(int* place, int x) { return atomicMin(place, x); }
__device__ inline long long atomic_min(long long* place, long long x) { return atomicMin(place, x); }
)"},
      {"wait_for_kernels_in_front", {}, R"(// Until the kernels in front have ended and what they stored is seen.
__device__ inline void wait_for_kernels_in_front() { asm volatile("griddepcontrol.wait;" : : : "memory"); }
)"},
      {"start_kernel_behind", {}, R"(// The kernel behind may start where there is room; it waits for what this one stores.
__device__ inline void start_kernel_behind() { asm volatile("griddepcontrol.launch_dependents;" : : : "memory"); }
)"},
  };
  return *table;
}

}  // namespace fathom::gpu
