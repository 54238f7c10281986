// The helper functions of HIP kernels: instructions by clang's builtins, without headers and without device libraries. What these would
// compute has short code of its own here, with its error, or is left out: a kernel that needs it is refused.
#include "codegen/gpu/helpers.hpp"

namespace fathom::gpu {

const std::vector<Helper>& hip_helpers() {
  static const auto* table = new std::vector<Helper>{
      {"unrolled", {}, R"(#define unrolled _Pragma("unroll")
)"},
      {"rolled", {}, R"(#define rolled _Pragma("nounroll")
)"},
      {"infinity", {}, R"(#define infinity __builtin_inff()
)"},
      {"bf16", {}, R"(// A number of 16 bits with the exponent of a float.
struct bf16 {
  unsigned short bits;
};
)"},
      {"f16", {}, R"(// A number of 16 bits with 11 of them for its digits (IEEE binary16).
struct f16 {
  unsigned short bits;
};
)"},
      {"bits_of", {}, R"(__device__ inline unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
__device__ inline float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }
)"},
      {"to_float",
       {"bf16", "f16", "bits_of"},
       R"(__device__ inline float to_float(bf16 x) { return float_of(static_cast<unsigned>(x.bits) << 16); }
__device__ inline float to_float(f16 x) { return static_cast<float>(__builtin_bit_cast(_Float16, x.bits)); }
)"},
      {"to_bf16", {"bf16", "bits_of"}, R"(// To the nearest, ties to even; a NaN stays one.
__device__ inline bf16 to_bf16(float x) {
  const unsigned bits = bits_of(x);
  return bf16{static_cast<unsigned short>((x != x ? bits | 0x400000u : bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
)"},
      {"to_f16", {"f16"}, R"(// To the nearest, ties to even.
__device__ inline f16 to_f16(float x) { return f16{__builtin_bit_cast(unsigned short, static_cast<_Float16>(x))}; }
)"},
      {"pair_bf16", {"to_bf16"}, R"(// Two numbers in one register, the first one below.
__device__ inline unsigned pair_bf16(float low, float high) {
  return static_cast<unsigned>(to_bf16(low).bits) | static_cast<unsigned>(to_bf16(high).bits) << 16;
}
)"},
      {"pair_f16", {"to_f16"}, R"(// Two numbers in one register, the first one below.
__device__ inline unsigned pair_f16(float low, float high) {
  return static_cast<unsigned>(to_f16(low).bits) | static_cast<unsigned>(to_f16(high).bits) << 16;
}
)"},
      {"join_bf16", {"bf16"}, R"(// Two numbers of memory in one register, the first one below.
__device__ inline unsigned join_bf16(bf16 low, bf16 high) { return low.bits | static_cast<unsigned>(high.bits) << 16; }
)"},
      {"join_f16", {"f16"}, R"(// Two numbers of memory in one register, the first one below.
__device__ inline unsigned join_f16(f16 low, f16 high) { return low.bits | static_cast<unsigned>(high.bits) << 16; }
)"},
      {"half_of_pair_bf16", {"bits_of"}, R"(// The first (0) or second (1) number of a pair.
__device__ inline float half_of_pair_bf16(unsigned pair, int half) { return float_of(half == 0 ? pair << 16 : pair & 0xffff0000u); }
)"},
      {"half_of_pair_f16", {"to_float"}, R"(// The first (0) or second (1) number of a pair.
__device__ inline float half_of_pair_f16(unsigned pair, int half) {
  return to_float(f16{static_cast<unsigned short>(half == 0 ? pair & 0xffffu : pair >> 16)});
}
)"},
      {"maximum", {}, R"(// NaN where one of them is NaN.
__device__ inline float maximum(float a, float b) { return __builtin_isunordered(a, b) ? __builtin_nanf("") : __builtin_fmaxf(a, b); }
__device__ inline double maximum(double a, double b) { return __builtin_isunordered(a, b) ? __builtin_nan("") : __builtin_fmax(a, b); }
)"},
      {"minimum", {}, R"(// NaN where one of them is NaN.
__device__ inline float minimum(float a, float b) { return __builtin_isunordered(a, b) ? __builtin_nanf("") : __builtin_fminf(a, b); }
__device__ inline double minimum(double a, double b) { return __builtin_isunordered(a, b) ? __builtin_nan("") : __builtin_fmin(a, b); }
)"},
      {"min", {}, R"(template <class A, class B>
__device__ inline auto min(A a, B b) -> decltype(a + b) {
  return a < b ? a : b;
}
)"},
      {"max", {}, R"(template <class A, class B>
__device__ inline auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
)"},
      {"abs", {}, R"(template <class Int>
__device__ inline Int abs(Int x) {
  return x < 0 ? -x : x;
}
)"},
      {"power_of_two", {}, R"(// 2 to the x by v_exp_f32, to one unit in the last place; 0 below the smallest normal number.
__device__ inline float power_of_two(float x) { return __builtin_amdgcn_exp2f(x); }
)"},
      {"exponential", {}, R"(__device__ inline float exponential(float x) { return __builtin_expf(x); }
)"},
      {"logarithm", {}, R"(__device__ inline float logarithm(float x) { return __builtin_logf(x); }
)"},
      {"logarithm_2", {}, R"(__device__ inline float logarithm_2(float x) { return __builtin_log2f(x); }
)"},
      {"square_root", {}, R"(__device__ inline float square_root(float x) { return __builtin_sqrtf(x); }
__device__ inline double square_root(double x) { return __builtin_sqrt(x); }
)"},
      {"reciprocal_root", {}, R"(__device__ inline float reciprocal_root(float x) { return 1.0f / __builtin_sqrtf(x); }
__device__ inline double reciprocal_root(double x) { return 1.0 / __builtin_sqrt(x); }
)"},
      {"hyperbolic_tangent", {}, R"(// To two units in the last place: a polynomial near 0, else by an exponential.
__device__ inline float hyperbolic_tangent(float x) {
  const float size = __builtin_fabsf(x);
  if (size < 0.6f) {
    const float s = x * x;
    float p = 0.00237076567f;
    p = __builtin_fmaf(p, s, -0.00841007102f);
    p = __builtin_fmaf(p, s, 0.0217883214f);
    p = __builtin_fmaf(p, s, -0.0539615527f);
    p = __builtin_fmaf(p, s, 0.133333132f);
    p = __builtin_fmaf(p, s, -0.333333343f);
    return __builtin_fmaf(p * s, x, x);
  }
  return __builtin_copysignf(1.0f - 2.0f / (__builtin_expf(size + size) + 1.0f), x);
}
)"},
      {"error_function",
       {},
       R"(// To two units in the last place: a polynomial near 0, else one less an exponential of a polynomial; 1 from 4 on.
__device__ inline float error_function(float x) {
  const float size = __builtin_fabsf(x);
  if (size < 0.95f) {
    const float s = x * x;
    float p = -0.000587650575f;
    p = __builtin_fmaf(p, s, 0.00497079734f);
    p = __builtin_fmaf(p, s, -0.0267514996f);
    p = __builtin_fmaf(p, s, 0.112814076f);
    p = __builtin_fmaf(p, s, -0.376124561f);
    p = __builtin_fmaf(p, s, 0.128379151f);
    return __builtin_fmaf(p, x, x);
  }
  if (size >= 4.0f) return __builtin_copysignf(1.0f, x);
  float q = -1.07853771e-06f;
  q = __builtin_fmaf(q, size, 3.49821057e-05f);
  q = __builtin_fmaf(q, size, -0.000503353833f);
  q = __builtin_fmaf(q, size, 0.00432243058f);
  q = __builtin_fmaf(q, size, -0.025184121f);
  q = __builtin_fmaf(q, size, 0.107917354f);
  q = __builtin_fmaf(q, size, 0.634102523f);
  q = __builtin_fmaf(q, size, 1.12891662f);
  return __builtin_copysignf(1.0f - __builtin_expf(-(q * size)), x);
}
)"},
      {"sigmoid", {}, R"(__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + __builtin_expf(-x)); }
)"},
      {"absolute", {}, R"(__device__ inline float absolute(float x) { return __builtin_fabsf(x); }
__device__ inline double absolute(double x) { return __builtin_fabs(x); }
)"},
      {"round_down", {}, R"(__device__ inline float round_down(float x) { return __builtin_floorf(x); }
__device__ inline double round_down(double x) { return __builtin_floor(x); }
)"},
      {"floor_div", {}, R"(// Rounds down, where the machine rounds to zero.
template <class Int>
__device__ inline Int floor_div(Int a, Int b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
)"},
      {"floor_mod", {"floor_div"}, R"(// The rest has the sign of the divisor.
template <class Int>
__device__ inline Int floor_mod(Int a, Int b) {
  return a - b * floor_div(a, b);
}
)"},
      {"thread_number",
       {},
       R"(__device__ inline int thread_number() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
)"},
      {"lane_number", {"thread_number"}, R"(__device__ inline int lane_number() { return thread_number() % lanes_of_wave; }
)"},
      {"warp_number", {"thread_number"}, R"(__device__ inline int warp_number() { return thread_number() / lanes_of_wave; }
)"},
      {"again",
       {},
       R"(// The same number of a lane or thread, of which the compiler does not know that: what is made of it is computed where it is used.
__device__ inline int again(int number) {
#ifdef __HIP_DEVICE_COMPILE__
  asm volatile("" : "+v"(number));
#endif
  __builtin_assume(number >= 0 && number < 1024);
  return number;
}
)"},
      {"same_in_warp", {}, R"(// The first lane's value, which the compiler knows to be that of all lanes.
__device__ inline int same_in_warp(int x) { return __builtin_amdgcn_readfirstlane(x); }
)"},
      {"workgroup_number",
       {},
       R"(__device__ inline int workgroup_number() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
)"},
      {"shuffle_from", {}, R"(// The value of that lane (ds_bpermute_b32, four bytes a lane).
template <class T>
__device__ inline T shuffle_from(T x, int lane) {
  int words[sizeof(T) / 4];
  __builtin_memcpy(words, &x, sizeof(T));
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) words[i] = __builtin_amdgcn_ds_bpermute(4 * lane, words[i]);
  __builtin_memcpy(&x, words, sizeof(T));
  return x;
}
__device__ inline bool shuffle_from(bool x, int lane) { return shuffle_from(x ? 1 : 0, lane) != 0; }
)"},
      {"shuffle_xor", {"shuffle_from", "lane_number"}, R"(// The value of the lane whose number differs in these bits.
template <class T>
__device__ inline T shuffle_xor(T x, int bits) {
  return shuffle_from(x, lane_number() ^ bits);
}
)"},
      {"any_of_warp", {}, R"(// Does it hold in one of the lanes?
__device__ inline bool any_of_warp(bool x) { return __builtin_amdgcn_ballot_w64(x) != 0; }
)"},
      {"wait_for_workgroup", {}, R"(// All threads of the workgroup are here, and see what the others have written to shared memory.
__device__ inline void wait_for_workgroup() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
)"},
      {"wait_for_warp", {}, R"(// All lanes of the wave are here, and see what the others have written.
__device__ inline void wait_for_warp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
)"},
      {"fence_device", {}, R"(// What this thread has written is seen by whoever sees what it writes from here on.
__device__ inline void fence_device() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
)"},
      {"load_fresh", {}, R"(// What other workgroups have stored while this kernel was there.
template <class T>
__device__ inline T load_fresh(const T* from) {
  if constexpr (sizeof(T) == 8) {
    return __builtin_bit_cast(T, __hip_atomic_load(reinterpret_cast<const unsigned long long*>(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bit_cast(T, __hip_atomic_load(reinterpret_cast<const unsigned*>(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  } else {
    return __builtin_bit_cast(T, __hip_atomic_load(reinterpret_cast<const unsigned short*>(from), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT));
  }
}
)"},
      {"atomic_add", {}, R"(// Adds; returns what was there. So do the two others.
template <class Int>
__device__ inline Int atomic_add(Int* place, Int x) {
  return __hip_atomic_fetch_add(place, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
)"},
      {"atomic_max", {}, R"(template <class Int>
__device__ inline Int atomic_max(Int* place, Int x) {
  return __hip_atomic_fetch_max(place, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
)"},
      {"atomic_min", {}, R"(template <class Int>
__device__ inline Int atomic_min(Int* place, Int x) {
  return __hip_atomic_fetch_min(place, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
)"},
      {"increment_wrapping", {}, R"(// Counts up to `last`, then begins again at 0; returns what was there.
__device__ inline int increment_wrapping(int* counter, int last) {
  return static_cast<int>(__builtin_amdgcn_atomic_inc32(reinterpret_cast<unsigned*>(counter), static_cast<unsigned>(last), __ATOMIC_RELAXED, "agent"));
}
)"},
      {"workgroup_count",
       {},
       R"(__device__ inline int workgroup_count() { return static_cast<int>(__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()); }
)"},
      {"swizzled_column",
       {},
       R"(// Where a column lies in its row of shared memory: chunks of 16 bytes are exchanged, so that eight rows of a chunk are in different banks.
__device__ inline int swizzled_column(int row, int column, int chunk, int repeat, int period) {
  return (column / chunk ^ row / repeat % period) * chunk + column % chunk;
}
)"},
      {"copy_chunk", {}, R"(// 16 bytes to shared memory through registers; zeros where there is nothing to copy.
__device__ inline void copy_chunk(void* to, const void* from, bool inside) {
  typedef unsigned chunk __attribute__((ext_vector_type(4), may_alias));
  chunk words = {0, 0, 0, 0};
  if (inside) words = *static_cast<const chunk*>(from);
  *static_cast<chunk*>(to) = words;
}
)"},
      {"load_vector", {}, R"(// Neighbours in memory into neighbouring registers, in one access of that many bytes.
template <int bytes, class To, class From>
__device__ inline void load_vector(To* to, const From* from) {
  __builtin_memcpy(to, __builtin_assume_aligned(from, bytes), bytes);
}
)"},
      {"store_vector", {}, R"(// Neighbouring registers to neighbours in memory, in one access of that many bytes.
template <int bytes, class To, class From>
__device__ inline void store_vector(To* to, const From* from) {
  __builtin_memcpy(__builtin_assume_aligned(to, bytes), from, bytes);
}
)"},
      {"registers_as", {}, R"(// Neighbouring registers as one operand of an instruction.
template <class Vector>
__device__ inline Vector registers_as(const void* from) {
  Vector v;
  __builtin_memcpy(&v, from, sizeof(Vector));
  return v;
}
)"},
      {"mfma_m16n16k16_bf16",
       {"registers_as"},
       R"(// c += a * b on the matrix cores: 16 rows, 16 columns, 16 steps, one wave. The instruction's A is b and its B is a (fragments of
// v_mfma_f32_16x16x16_bf16 in the ISA guide), so that its result lies as the next a does.
__device__ inline void mfma_m16n16k16_bf16(float* c, const unsigned* a, const unsigned* b) {
  typedef short operand __attribute__((ext_vector_type(4)));
  typedef float result __attribute__((ext_vector_type(4)));
  const result sum = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(registers_as<operand>(b), registers_as<operand>(a), registers_as<result>(c), 0, 0, 0);
  __builtin_memcpy(c, &sum, sizeof(sum));
}
)"},
      {"mfma_m16n16k16_f16",
       {"registers_as"},
       R"(// c += a * b on the matrix cores: 16 rows, 16 columns, 16 steps, one wave. The instruction's A is b and its B is a (fragments of
// v_mfma_f32_16x16x16_f16 in the ISA guide), so that its result lies as the next a does.
__device__ inline void mfma_m16n16k16_f16(float* c, const unsigned* a, const unsigned* b) {
  typedef _Float16 operand __attribute__((ext_vector_type(4)));
  typedef float result __attribute__((ext_vector_type(4)));
  const result sum = __builtin_amdgcn_mfma_f32_16x16x16f16(registers_as<operand>(b), registers_as<operand>(a), registers_as<result>(c), 0, 0, 0);
  __builtin_memcpy(c, &sum, sizeof(sum));
}
)"},
      {"mfma_m16n16k16_f32",
       {"registers_as"},
       R"(// c += a * b in f32 on the matrix cores: 16 rows, 16 columns, 16 steps, one wave. Four instructions of four steps, each lane's i-th number
// in the i-th of them (fragments of v_mfma_f32_16x16x4_f32 in the ISA guide). The instruction's A is b and its B is a.
__device__ inline void mfma_m16n16k16_f32(float* c, const float* a, const float* b) {
  typedef float result __attribute__((ext_vector_type(4)));
  result sum = registers_as<result>(c);
  for (int i = 0; i < 4; ++i) sum = __builtin_amdgcn_mfma_f32_16x16x4f32(b[i], a[i], sum, 0, 0, 0);
  __builtin_memcpy(c, &sum, sizeof(sum));
}
)"},
      {"wmma_m16n16k16_bf16",
       {"registers_as"},
       R"(// c += a * b on the matrix units: 16 rows, 16 columns, 16 steps, one wave of 32. The instruction's A is b and its B is a (fragments of
// v_wmma_f32_16x16x16_bf16 in the ISA guide); both halves of the wave have the same operands.
__device__ inline void wmma_m16n16k16_bf16(float* c, const unsigned* a, const unsigned* b) {
  typedef short operand __attribute__((ext_vector_type(16)));
  typedef float result __attribute__((ext_vector_type(8)));
  const result sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(registers_as<operand>(b), registers_as<operand>(a), registers_as<result>(c));
  __builtin_memcpy(c, &sum, sizeof(sum));
  __builtin_amdgcn_sched_barrier(0);  // the next operands are not loaded before: there are no registers for them
}
)"},
      {"wmma_m16n16k16_f16",
       {"registers_as"},
       R"(// c += a * b on the matrix units: 16 rows, 16 columns, 16 steps, one wave of 32. The instruction's A is b and its B is a (fragments of
// v_wmma_f32_16x16x16_f16 in the ISA guide); both halves of the wave have the same operands.
__device__ inline void wmma_m16n16k16_f16(float* c, const unsigned* a, const unsigned* b) {
  typedef _Float16 operand __attribute__((ext_vector_type(16)));
  typedef float result __attribute__((ext_vector_type(8)));
  const result sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(registers_as<operand>(b), registers_as<operand>(a), registers_as<result>(c));
  __builtin_memcpy(c, &sum, sizeof(sum));
  __builtin_amdgcn_sched_barrier(0);  // the next operands are not loaded before: there are no registers for them
}
)"},
  };
  return *table;
}

}  // namespace fathom::gpu
