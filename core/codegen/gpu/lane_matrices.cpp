// Fragments in registers: numbers of 16 bits in pairs, matrices from shared memory, products of a warp. Written from the manual of the
// machine, apart from the layouts that use them.
#include <cmath>
#include <cstring>

#include "codegen/gpu/lane_process.hpp"

namespace fathom::gpu {
namespace {

std::uint32_t bits_of(Type half, double x) {
  if (x != x) return half == Type::bf16 ? 0x7fc0U : 0x7e00U;
  if (half == Type::bf16) {
    const auto f = static_cast<float>(x);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &f, sizeof bits);
    return bits >> 16U;
  }
  // binary16: x is one exactly
  const std::uint32_t sign = std::signbit(x) ? 0x8000U : 0;
  const double size = std::fabs(x);
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | 0x7c00U;
  int exponent = 0;
  (void)std::frexp(size, &exponent);
  const int biased = exponent - 1 + 15;
  if (biased <= 0) return sign | static_cast<std::uint32_t>(std::ldexp(size, 24));
  return sign | (static_cast<std::uint32_t>(biased) << 10U) | (static_cast<std::uint32_t>(std::ldexp(size, 10 - (exponent - 1))) & 0x3ffU);
}

double number_of(Type half, std::uint32_t bits) {
  if (half == Type::bf16) {
    const std::uint32_t whole = bits << 16U;
    float f = 0;
    std::memcpy(&f, &whole, sizeof f);
    return static_cast<double>(f);
  }
  const std::uint32_t exponent = bits >> 10U & 0x1fU, digits = bits & 0x3ffU;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 0x1f) return digits != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(static_cast<double>(digits), -24);
  return sign * std::ldexp(static_cast<double>(digits | 0x400U), static_cast<int>(exponent) - 25);
}

}  // namespace

double pair_of(Type half, double low, double high) {
  const DType dtype = half == Type::bf16 ? DType::bf16 : DType::f16;
  return static_cast<double>(bits_of(half, round_to(dtype, low)) | bits_of(half, round_to(dtype, high)) << 16U);
}

double half_of(Type half, double pair, bool upper) {
  if (pair != pair) return pair;
  const auto bits = static_cast<std::uint32_t>(pair);
  return number_of(half, upper ? bits >> 16U : bits & 0xffffU);
}

/// ldmatrix (PTX ISA): lane 8 q + r gives the address of row r of matrix q; each lane gets two neighbours of row lane / 4, of column lane /
/// 4 where it is transposed.
void LaneProcess::load_matrices(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();  // load_matrices_4, load_matrices_4_transposed
  whole_warps(mask, name);
  constexpr std::size_t prefix = 14;
  const int count = name[prefix] - '0';
  const bool transposed = name.size() > prefix + 1;
  const Place to = place(e.arg(0), mask), row = place(e.arg(1), mask);
  const Type half = row.memory->type;
  for (std::size_t first = 0; first < lanes_; first += warp_lanes_) {
    if (!mask[first]) continue;
    for (int q = 0; q < count; ++q) {
      double matrix[8][8];
      for (std::size_t r = 0; r < 8; ++r) {
        const std::size_t lane = first + static_cast<std::size_t>(q) * 8 + r;
        if (row.at[lane] % 8 != 0) fault("a row of a matrix in `" + row.memory->name + "` that is not aligned");
        for (std::int64_t c = 0; c < 8; ++c) matrix[r][c] = read_cell(*row.memory, row.at[lane] + c, lane);
      }
      for (std::size_t l = 0; l < warp_lanes_; ++l) {
        const std::size_t r = l / 4, c = l % 4 * 2;
        const double low = transposed ? matrix[c][r] : matrix[r][c], high = transposed ? matrix[c + 1][r] : matrix[r][c + 1];
        write_register(to, first + l, q, pair_of(half, low, high));
      }
    }
  }
}

/// mma.m16n8k16 (PTX ISA): a0 … a7, b0 … b3 and c0 … c3 of a lane by the formulas of the manual.
void LaneProcess::mma_m16n8k16(Expr e, const Mask& mask) {
  const Type half = e.name().text() == "mma_m16n8k16_bf16" ? Type::bf16 : Type::f16;
  whole_warps(mask, e.name().text());
  const Place c = place(e.arg(0), mask), a = place(e.arg(1), mask), b = place(e.arg(2), mask);
  for (std::size_t first = 0; first < lanes_; first += warp_lanes_) {
    if (!mask[first]) continue;
    double left[16][16], right[16][8];
    for (std::size_t lane = 0; lane < warp_lanes_; ++lane) {
      const std::size_t group = lane / 4, thread = lane % 4;
      for (std::size_t i = 0; i < 8; ++i) {
        const std::size_t row = i < 2 || (i >= 4 && i < 6) ? group : group + 8, column = thread * 2 + (i & 1U) + (i >= 4 ? 8 : 0);
        left[row][column] = half_of(half, read_register(a, first + lane, static_cast<std::int64_t>(i / 2)), i % 2 == 1);
      }
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = thread * 2 + (i & 1U) + (i >= 2 ? 8 : 0);
        right[row][group] = half_of(half, read_register(b, first + lane, static_cast<std::int64_t>(i / 2)), i % 2 == 1);
      }
    }
    for (std::size_t lane = 0; lane < warp_lanes_; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = i < 2 ? lane / 4 : lane / 4 + 8, column = lane % 4 * 2 + (i & 1U);
        double total = read_register(c, first + lane, static_cast<std::int64_t>(i));
        for (std::size_t k = 0; k < 16; ++k) total += left[row][k] * right[k][column];
        write_register(c, first + lane, static_cast<std::int64_t>(i), static_cast<double>(static_cast<float>(total)));
      }
    }
  }
}

/// The helper of that name: places of the instruction (PTX ISA, mma.m16n8k8 with tf32) taken by steps 2t and 2t + 1.
void LaneProcess::mma_m16n8k8_f32(Expr e, const Mask& mask) {
  whole_warps(mask, e.name().text());
  const Place c = place(e.arg(0), mask), a = place(e.arg(1), mask), b = place(e.arg(2), mask);
  for (std::size_t first = 0; first < lanes_; first += warp_lanes_) {
    if (!mask[first]) continue;
    double left[16][8], right[8][8];
    for (std::size_t lane = 0; lane < warp_lanes_; ++lane) {
      const std::size_t group = lane / 4, thread = lane % 4;
      for (std::size_t i = 0; i < 4; ++i)
        left[group + (i >= 2 ? 8 : 0)][2 * thread + (i & 1U)] = read_register(a, first + lane, static_cast<std::int64_t>(i));
      for (std::size_t i = 0; i < 2; ++i) right[2 * thread + i][group] = read_register(b, first + lane, static_cast<std::int64_t>(i));
    }
    for (std::size_t lane = 0; lane < warp_lanes_; ++lane) {
      for (std::size_t i = 0; i < 4; ++i) {
        const std::size_t row = lane / 4 + (i >= 2 ? 8 : 0), column = lane % 4 * 2 + (i & 1U);
        double total = read_register(c, first + lane, static_cast<std::int64_t>(i));
        for (std::size_t k = 0; k < 8; ++k) total += left[row][k] * right[k][column];
        write_register(c, first + lane, static_cast<std::int64_t>(i), static_cast<double>(static_cast<float>(total)));
      }
    }
  }
}

}  // namespace fathom::gpu
