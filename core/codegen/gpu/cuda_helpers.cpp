// The helper functions of CUDA kernels. PTX names are those of the PTX ISA; everything is there from compute capability 8.0 on.
#include <algorithm>

#include "codegen/gpu/helpers.hpp"

namespace fathom::gpu {

const std::vector<Helper>& cuda_helpers() {
  static const auto* table = new std::vector<Helper>{
      {"unrolled", {}, R"(#define unrolled _Pragma("unroll")
)"},
      {"infinity", {}, R"(#define infinity __int_as_float(0x7f800000)
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
      {"to_float",
       {"bf16", "f16"},
       R"(__device__ inline float to_float(bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
__device__ inline float to_float(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
)"},
      {"to_bf16", {"bf16"}, R"(// To the nearest, ties to even.
__device__ inline bf16 to_bf16(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
)"},
      {"to_f16", {"f16"}, R"(// To the nearest, ties to even.
__device__ inline f16 to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
)"},
      {"pair_bf16", {}, R"(// Two numbers in one register, the first one below.
__device__ inline unsigned pair_bf16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
)"},
      {"pair_f16", {}, R"(// Two numbers in one register, the first one below.
__device__ inline unsigned pair_f16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
)"},
      {"half_of_pair_bf16", {}, R"(// The first (0) or second (1) number of a pair.
__device__ inline float half_of_pair_bf16(unsigned pair, int half) { return __uint_as_float(half == 0 ? pair << 16 : pair & 0xffff0000u); }
)"},
      {"half_of_pair_f16", {"to_float"}, R"(// The first (0) or second (1) number of a pair.
__device__ inline float half_of_pair_f16(unsigned pair, int half) {
  return to_float(f16{static_cast<unsigned short>(half == 0 ? pair & 0xffffu : pair >> 16)});
}
)"},
      {"maximum", {}, R"(// NaN where one of them is NaN.
__device__ inline float maximum(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ inline double maximum(double a, double b) { return a != a || b != b ? a + b : fmax(a, b); }
)"},
      {"minimum", {}, R"(// NaN where one of them is NaN.
__device__ inline float minimum(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
__device__ inline double minimum(double a, double b) { return a != a || b != b ? a + b : fmin(a, b); }
)"},
      {"power_of_two", {}, R"(// 2 to the x, to two units in the last place; 0 below the smallest normal number.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline double power_of_two(double x) { return exp2(x); }
)"},
      {"exponential", {}, R"(__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
)"},
      {"logarithm", {}, R"(__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }
)"},
      {"logarithm_2", {}, R"(__device__ inline float logarithm_2(float x) { return log2f(x); }
__device__ inline double logarithm_2(double x) { return log2(x); }
)"},
      {"square_root", {}, R"(__device__ inline float square_root(float x) { return sqrtf(x); }
__device__ inline double square_root(double x) { return sqrt(x); }
)"},
      {"reciprocal_root", {}, R"(__device__ inline float reciprocal_root(float x) { return rsqrtf(x); }
__device__ inline double reciprocal_root(double x) { return rsqrt(x); }
)"},
      {"sine", {}, R"(__device__ inline float sine(float x) { return sinf(x); }
__device__ inline double sine(double x) { return sin(x); }
)"},
      {"cosine", {}, R"(__device__ inline float cosine(float x) { return cosf(x); }
__device__ inline double cosine(double x) { return cos(x); }
)"},
      {"hyperbolic_tangent", {}, R"(__device__ inline float hyperbolic_tangent(float x) { return tanhf(x); }
__device__ inline double hyperbolic_tangent(double x) { return tanh(x); }
)"},
      {"error_function", {}, R"(__device__ inline float error_function(float x) { return erff(x); }
__device__ inline double error_function(double x) { return erf(x); }
)"},
      {"sigmoid", {}, R"(__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline double sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
)"},
      {"power", {}, R"(__device__ inline float power(float x, float y) { return powf(x, y); }
__device__ inline double power(double x, double y) { return pow(x, y); }
)"},
      {"absolute", {}, R"(__device__ inline float absolute(float x) { return fabsf(x); }
__device__ inline double absolute(double x) { return fabs(x); }
)"},
      {"round_down", {}, R"(__device__ inline float round_down(float x) { return floorf(x); }
__device__ inline double round_down(double x) { return floor(x); }
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
      {"lane_number", {}, R"(__device__ inline int lane_number() { return threadIdx.x % 32; }
)"},
      {"warp_number", {}, R"(__device__ inline int warp_number() { return threadIdx.x / 32; }
)"},
      {"same_in_warp", {}, R"(// The first lane's value, which the compiler knows to be that of all lanes.
__device__ inline int same_in_warp(int x) { return __shfl_sync(0xffffffffu, x, 0); }
)"},
      {"workgroup_number", {}, R"(__device__ inline int workgroup_number() { return blockIdx.x; }
)"},
      {"shuffle_xor", {}, R"(// The value of the lane whose number differs in these bits.
template <class T>
__device__ inline T shuffle_xor(T x, int bits) {
  return __shfl_xor_sync(0xffffffffu, x, bits);
}
__device__ inline bool shuffle_xor(bool x, int bits) { return __shfl_xor_sync(0xffffffffu, x ? 1 : 0, bits) != 0; }
)"},
      {"any_of_warp", {}, R"(// Does it hold in one of the lanes?
__device__ inline bool any_of_warp(bool x) { return __any_sync(0xffffffffu, x) != 0; }
)"},
      {"wait_for_workgroup", {}, R"(// All threads of the workgroup are here, and see what the others have written to shared memory.
__device__ inline void wait_for_workgroup() { __syncthreads(); }
)"},
      {"thread_number", {}, R"(__device__ inline int thread_number() { return threadIdx.x; }
)"},
      {"swizzled_column",
       {},
       R"(// Where a column lies in its row of shared memory: chunks of 16 bytes are exchanged, so that eight rows of a chunk are in different banks.
__device__ inline int swizzled_column(int row, int column, int chunk, int repeat, int period) {
  return (column / chunk ^ row / repeat % period) * chunk + column % chunk;
}
)"},
      {"copy_async", {}, R"(// 16 bytes to shared memory, on their way until waited for; zeros where there is nothing to copy.
__device__ inline void copy_async(void* to, const void* from, bool inside) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" : : "r"(address), "l"(from), "r"(inside ? 16 : 0) : "memory");
}
)"},
      {"commit_copies", {}, R"(// The copies of this thread since the last commit are one group.
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
)"},
      {"wait_for_copies", {}, R"(// Until at most `younger` groups of copies are on their way.
template <int younger>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(younger) : "memory");
}
)"},
      {"load_matrices_4", {}, R"(// Four matrices of 8 x 8 numbers of 16 bits; lane i gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices_4(unsigned* to, const void* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}
)"},
      {"load_matrices_4_transposed",
       {},
       R"(// Four matrices of 8 x 8 numbers of 16 bits, transposed; lane i gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices_4_transposed(unsigned* to, const void* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address) : "memory");
}
)"},
      {"load_matrices_2", {}, R"(// Two matrices of 8 x 8 numbers of 16 bits; lane i gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices_2(unsigned* to, const void* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(address) : "memory");
}
)"},
      {"load_matrices_2_transposed",
       {},
       R"(// Two matrices of 8 x 8 numbers of 16 bits, transposed; lane i gives the address of row i % 8 of matrix i / 8.
__device__ inline void load_matrices_2_transposed(unsigned* to, const void* row) {
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(address) : "memory");
}
)"},
      {"mma_m16n8k16_bf16",
       {},
       R"(// c += a * b on the tensor cores: 16 rows, 8 columns, 16 steps, one warp. Fragments as the PTX ISA has them for mma.m16n8k16.
__device__ inline void mma_m16n8k16_bf16(float* c, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
      {"mma_m16n8k16_f16",
       {},
       R"(// c += a * b on the tensor cores: 16 rows, 8 columns, 16 steps, one warp. Fragments as the PTX ISA has them for mma.m16n8k16.
__device__ inline void mma_m16n8k16_f16(float* c, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
      {"mma_m16n8k8_f32",
       {},
       R"(// c += a * b in f32 on the tensor cores: 16 rows, 8 columns, 8 steps, one warp. Each operand is a sum of two numbers of tf32 (11 bits each);
// of the four products the one of the lower parts is left out, which is below 2^-22 of the whole. Steps 2t and 2t + 1 lie at the places t and
// t + 4 of the instruction.
__device__ inline unsigned upper_part(float x) {
  unsigned y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
__device__ inline void mma_m16n8k8_tf32(float* c, const unsigned* a, const unsigned* b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[2]), "r"(a[1]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_m16n8k8_f32(float* c, const float* a, const float* b) {
  unsigned a_upper[4], a_lower[4], b_upper[2], b_lower[2];
  for (int i = 0; i < 4; ++i) {
    a_upper[i] = upper_part(a[i]);
    a_lower[i] = upper_part(a[i] - __uint_as_float(a_upper[i]));
  }
  for (int i = 0; i < 2; ++i) {
    b_upper[i] = upper_part(b[i]);
    b_lower[i] = upper_part(b[i] - __uint_as_float(b_upper[i]));
  }
  mma_m16n8k8_tf32(c, a_lower, b_upper);
  mma_m16n8k8_tf32(c, a_upper, b_lower);
  mma_m16n8k8_tf32(c, a_upper, b_upper);
}
)"},
      {"load_vector", {}, R"(// Neighbours in memory into neighbouring registers, in one access of that many bytes.
template <int bytes, class To, class From>
__device__ inline void load_vector(To* to, const From* from) {
  unsigned* words = reinterpret_cast<unsigned*>(to);
  if constexpr (bytes == 16) {
    const uint4 v = *reinterpret_cast<const uint4*>(from);
    words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
  } else if constexpr (bytes == 8) {
    const uint2 v = *reinterpret_cast<const uint2*>(from);
    words[0] = v.x, words[1] = v.y;
  } else {
    words[0] = *reinterpret_cast<const unsigned*>(from);
  }
}
)"},
      {"store_vector", {}, R"(// Neighbouring registers to neighbours in memory, in one access of that many bytes.
template <int bytes, class To, class From>
__device__ inline void store_vector(To* to, const From* from) {
  const unsigned* words = reinterpret_cast<const unsigned*>(from);
  if constexpr (bytes == 16) {
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else if constexpr (bytes == 8) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  } else {
    *reinterpret_cast<unsigned*>(to) = words[0];
  }
}
)"},
  };
  return *table;
}

std::string helper_texts(const std::vector<Helper>& table, const std::set<std::string>& used) {
  std::set<std::string_view> wanted(used.begin(), used.end());
  for (std::size_t i = table.size(); i-- > 0;) {  // what is needed stands above
    if (wanted.count(table[i].name) > 0) wanted.insert(table[i].needs.begin(), table[i].needs.end());
  }
  std::string text;
  for (const Helper& helper : table) {
    if (wanted.count(helper.name) > 0) text += helper.text;
  }
  return text;
}

}  // namespace fathom::gpu
