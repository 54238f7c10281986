// Products of a wave of AMD's machines, and copies that wait for themselves. Written from the ISA guides, apart from the layouts that use
// them: which places of which lane are which row, column and step of the instruction.
#include <cmath>

#include "codegen/gpu/lane_process.hpp"

namespace fathom::gpu {
namespace {

constexpr std::size_t tile_rows = 16, tile_columns = 16, tile_steps = 16;

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The type of an atom's operands, by the end of its name.
Type operand_of(const std::string& name) {
  const std::string type = name.substr(name.rfind('_') + 1);
  return type == "bf16" ? Type::bf16 : type == "f16" ? Type::f16 : Type::f32;
}

}  // namespace

/// Element i of a lane's registers: the i-th register, or half of one.
double LaneProcess::operand_element(Type type, const Place& of, std::size_t lane, std::size_t i) {
  if (type == Type::f32) return read_register(of, lane, static_cast<std::int64_t>(i));
  return half_of(type, read_register(of, lane, static_cast<std::int64_t>(i / 2)), i % 2 == 1);
}

/// v_mfma_f32_16x16x16 and four of v_mfma_f32_16x16x4 (MI200 and MI300 ISA guides): row i of the machine's A, column j of its B and column
/// j of its result are in lanes that are i or j modulo 16; the four groups of lanes have four steps each, and four rows of the result. The
/// helper gives the instruction its own b as A and its own a as B.
void LaneProcess::mfma_16x16x16(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  constexpr std::size_t wave = 64, groups = 4, of_group = 4;
  if (warp_lanes_ != wave) fault("`" + name + "` is an instruction of waves of 64 lanes");
  whole_warps(mask, name);
  const Type type = operand_of(name);
  const Place c = place(e.arg(0), mask), a = place(e.arg(1), mask), b = place(e.arg(2), mask);
  for (std::size_t first = 0; first < lanes_; first += wave) {
    if (!mask[first]) continue;
    double left[tile_rows][tile_steps], right[tile_steps][tile_columns];
    for (std::size_t group = 0; group < groups; ++group) {
      for (std::size_t i = 0; i < of_group; ++i) {
        // One instruction takes all four steps of a lane; of four instructions the i-th takes step `group`, which is the lane's i-th
        // number.
        const std::size_t k = type == Type::f32 ? 4 * i + group : 4 * group + i;
        for (std::size_t lane = 0; lane < tile_rows; ++lane) left[lane][k] = operand_element(type, b, first + 16 * group + lane, i);
        for (std::size_t lane = 0; lane < tile_columns; ++lane) right[k][lane] = operand_element(type, a, first + 16 * group + lane, i);
      }
    }
    for (std::size_t lane = 0; lane < wave; ++lane) {
      for (std::size_t v = 0; v < of_group; ++v) {
        const std::size_t row = lane / 16 * 4 + v, column = lane % 16;
        double total = read_register(c, first + lane, static_cast<std::int64_t>(v));
        for (std::size_t k = 0; k < tile_steps; ++k) total += left[row][k] * right[k][column];
        write_register(c, first + lane, static_cast<std::int64_t>(v), static_cast<double>(static_cast<float>(total)));
      }
    }
  }
}

/// v_wmma_f32_16x16x16 of a wave of 32 (RDNA 3 ISA guide): lane i has row i of the machine's A and column i of its B with all steps, and
/// lane i + 16 has to have the same; register v of the result is row 2 v in the lower and row 2 v + 1 in the upper half of the wave, lane
/// modulo 16 its column. The helper gives the instruction its own b as A and its own a as B.
void LaneProcess::wmma_16x16x16(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  constexpr std::size_t wave = 32, half = 16, results = 8;
  if (warp_lanes_ != wave) fault("`" + name + "` is an instruction of waves of 32 lanes");
  whole_warps(mask, name);
  const Type type = operand_of(name);
  const Place c = place(e.arg(0), mask), a = place(e.arg(1), mask), b = place(e.arg(2), mask);
  for (std::size_t first = 0; first < lanes_; first += wave) {
    if (!mask[first]) continue;
    double left[tile_rows][tile_steps], right[tile_steps][tile_columns];
    for (std::size_t lane = 0; lane < wave; ++lane) {
      for (std::size_t k = 0; k < tile_steps; ++k) {
        const double of_a = operand_element(type, b, first + lane, k), of_b = operand_element(type, a, first + lane, k);
        if (lane >= half && !(same(left[lane - half][k], of_a) && same(right[k][lane - half], of_b)))
          fault("`" + name + "` has other operands in lane " + std::to_string(lane) + " than in lane " + std::to_string(lane - half) +
                ": both halves of a wave have to have the same");
        if (lane >= half) continue;
        left[lane][k] = of_a;
        right[k][lane] = of_b;
      }
    }
    for (std::size_t lane = 0; lane < wave; ++lane) {
      for (std::size_t v = 0; v < results; ++v) {
        const std::size_t row = 2 * v + lane / half, column = lane % half;
        double total = read_register(c, first + lane, static_cast<std::int64_t>(v));
        for (std::size_t k = 0; k < tile_steps; ++k) total += left[row][k] * right[k][column];
        write_register(c, first + lane, static_cast<std::int64_t>(v), static_cast<double>(static_cast<float>(total)));
      }
    }
  }
}

/// 16 bytes through registers: what is inside is loaded, the rest is 0; there when the statement ends.
void LaneProcess::copy_chunk(Expr e, const Mask& mask) {
  const Lanes inside = value(e.arg(2), mask);
  const Place to = place(e.arg(0), mask), from = place(e.arg(1), mask);
  constexpr std::int64_t bytes = 16;
  const std::int64_t elements = bytes / gpu::size_in_bytes(to.memory->type);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    const bool reads = inside.of[lane] != 0;
    if (to.at[lane] % elements != 0 || (reads && from.at[lane] % elements != 0))
      fault("a copy of 16 bytes to `" + to.memory->name + "` that is not aligned");
    for (std::int64_t i = 0; i < elements; ++i)
      write_cell(*to.memory, to.at[lane] + i, lane, reads ? read_cell(*from.memory, from.at[lane] + i, lane) : 0);
  }
}

}  // namespace fathom::gpu
