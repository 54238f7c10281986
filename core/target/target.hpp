// Machine descriptions as data: hierarchy, spaces, rates, capabilities and a table of matrix atoms. No pass asks for a target by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.hpp"
#include "ir/expr.hpp"
#include "ir/result.hpp"

namespace fathom {

enum class Home : std::uint8_t { memory, shared, registers, cache };

/// Where the number of a place counts: registers of a lane, lanes of a warp, warps of a group.
enum class HierarchyLevel : std::uint8_t { registers, lane, warp };

/// Which element of an operand a place holds: the number `place` at its level has the digit (place / step) % extent, and each of its values
/// moves the coordinate of `dimension` by `stride`. The coordinate is the sum over all digits.
struct FragmentDigit {
  enum class Dimension : std::uint8_t { m, n, k };
  HierarchyLevel level = HierarchyLevel::registers;
  int step = 1;
  int extent = 1;
  Dimension dimension = Dimension::m;
  int stride = 1;
};
/// Digits of registers stand slowest first; pairs of 16-bit elements share a register of 32 bits.
using Fragment = std::vector<FragmentDigit>;

/// One matrix instruction (or register tile on a CPU): c[m,n] += a[m,k] * b[k,n].
struct MatrixAtom {
  Symbol name;  ///< "fma_6x32_f32", "mma_m16n8k16_bf16"
  int m = 1, n = 1, k = 1;
  DType a = DType::f32, b = DType::f32, accumulator = DType::f32;
  Home a_home = Home::cache, b_home = Home::cache, accumulator_home = Home::cache;
  int issuing_lanes = 1;  ///< lanes that issue it together
  bool asynchronous = false;
  bool quiet_operands = false;  ///< no register operand is written while one is in flight
  bool b_rows_are_k = false;    ///< B in shared memory: a row of memory is one step along k, else one column
  bool ragged = false;          ///< also does edges smaller than m x n, at the price of whole ones
  double fill = 0;              ///< steps along k that loading, draining and storing the accumulator take the time of
  Fragment a_fragment, b_fragment, accumulator_fragment;  ///< of operands whose home is registers; empty elsewhere
};

/// Peak rates of one workgroup's share of the machine, per second, and of the whole machine.
struct Rates {
  double matrix_flops = 0;  ///< whole machine, f32 accumulation
  double vector_flops = 0;
  double exps = 0;           ///< exponentials
  double memory_bytes = 0;   ///< main memory
  double on_chip_bytes = 0;  ///< nearest shared space
};

struct Target {
  Symbol name;  ///< "x86-64", "blackboard", "sm_90a", …
  std::string title;
  int lanes = 1;                  ///< vector or warp width in f32 elements
  int workgroups = 1;             ///< that run at once
  int registers_bytes = 0;        ///< of one workgroup
  std::int64_t shared_bytes = 0;  ///< of one workgroup: shared memory, or the cache a tile may fill
  bool copy_engine = false;       ///< moves boxes of tensors to shared memory and back by itself, and reports to barriers
  bool registers_move = false;    ///< groups give registers to others while they run
  bool copies_beside = false;     ///< threads copy 16 bytes from memory to shared memory without waiting for them (cp.async)
  bool loads_matrices = false;    ///< a warp reads fragments of 16-bit numbers from shared memory as matrices of 8 x 8 (ldmatrix)
  bool starts_early = false;      ///< a kernel may be there before the one in front of it has ended, and waits for it by itself
  std::vector<Symbol> spaces;
  std::vector<MatrixAtom> atoms;
  Rates rates;
  bool runs_here = false;  ///< a back end of this build can execute it on this machine
  /// What a back end prints for it: "llvm" (the CPU plug-in), "cuda" or "hip" (core/codegen/gpu); empty: nothing yet.
  std::string code;
  std::string caution;   ///< how far its code has been tried where it has not been run: stands wherever the code is seen; else empty
  std::string features;  ///< of the host CPU, for the back end ("znver5 +avx512f …"); empty elsewhere
};

/// All descriptions, the host's first. The host's vector width is asked of the machine, never assumed; in the browser it is a fixed 4
/// lanes.
[[nodiscard]] const std::vector<Target>& targets();
/// Refusal names the known ones.
[[nodiscard]] Result<Target> target_named(std::string_view name);

}  // namespace fathom
