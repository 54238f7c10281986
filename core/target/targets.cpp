// Every machine description, as data; each number has its source. Adding a target is adding a row to `make_targets`.
// The host's row is one of three fixed descriptions, chosen by the vector width alone: equal widths decide equally, whatever the speed.
#include <algorithm>
#include <initializer_list>

#include "target/host.hpp"
#include "target/target.hpp"

namespace fathom {
namespace {

std::vector<Symbol> spaces(std::initializer_list<const char*> names) {
  std::vector<Symbol> result;
  for (const char* each : names) result.emplace_back(std::string_view(each));
  return result;
}

// ---- x86-64 ----
struct RegisterTile {
  const char* name;
  int m, n;  // m * n/lanes accumulators, n/lanes of B and one of A must fit the registers
};
struct VectorWidth {
  const char* level;  // x86-64 micro-architecture level: the name of the CPU for the back end
  int lanes;          // f32 elements of a vector
  int registers;      // architectural vector registers
  std::vector<RegisterTile> tiles;
};
const VectorWidth avx512{"x86-64-v4", 16, 32, {{"fma_12x32_f32", 12, 32}, {"fma_6x32_f32", 6, 32}}};  // 24 or 12 + 2 + 1 of 32
const VectorWidth avx2{"x86-64-v3", 8, 16, {{"fma_6x16_f32", 6, 16}}};                                // 12 + 2 + 1 of 16
const VectorWidth sse{"x86-64-v2", 4, 16, {{"fma_4x8_f32", 4, 8}}};  // 8 + 2 + 1 of 16; also WebAssembly's 128 bits

/// Two FMAs, two loads and one store of a vector a clock (Zen 4, Sapphire Rapids and later); a chain of FMAs has a latency of 4.
MatrixAtom atom_of(const RegisterTile& tile, int lanes) {
  MatrixAtom atom;
  atom.name = Symbol(std::string_view(tile.name));
  atom.m = tile.m;
  atom.n = tile.n;
  atom.accumulator_home = Home::registers;
  atom.ragged = true;
  const int vectors_of_b = tile.n / lanes;  // tiles are whole vectors wide
  const double vectors = vectors_of_b, cells = tile.m * vectors;
  const double step = std::max(cells, tile.m + vectors) / 2;  // a broadcast of A a row, a load of B a vector
  constexpr double latency = 10;                              // of the last sum, and of finding the next tile's place
  atom.fill = (cells / 2 + cells + latency) / step;
  return atom;
}

Rates rates_of_x86(int lanes, int cores) {
  // Per lane and core, measured on one Zen 5 core: FMA peak 215..235 GF/s at 16 lanes, 114 at 8.
  constexpr double flops = 14e9;
  Rates rates;
  rates.matrix_flops = 13e9 * lanes * cores;       // 93..97 % of that peak was reached by a packed register tile
  rates.vector_flops = flops / 2 * lanes * cores;  // an addition or a product is half of a fused one
  rates.exps = flops / 2 / 14 * lanes * cores;     // a polynomial exp of 2 ulp is about 14 vector operations
  rates.memory_bytes = 40e9;                       // estimate: two channels of DDR5-5600 move 90 GB/s at best, half of it in practice
  // A panel is a transposition in registers: log2(lanes) shuffles a vector of 4 bytes a lane, one a clock at 3.4 GHz.
  rates.on_chip_bytes = 3.4e9 * 4 * 2 / (lanes == 16 ? 4 : lanes == 8 ? 3 : 2) * lanes * cores;  // counted twice: written and read
  return rates;
}

Target x86(const char* name, const char* title, const VectorWidth& width, bool runs_here) {
  constexpr int cores = 8;  // estimate: a common desktop. Not asked of the machine: plans must not depend on it
  Target target;
  target.name = Symbol(std::string_view(name));
  target.title = title;
  target.lanes = width.lanes;
  target.workgroups = cores;
  target.registers_bytes = width.registers * width.lanes * 4;
  target.shared_bytes = std::int64_t{512} * 1024;  // half of the smallest common L2 of a core (1 MiB Zen 5, 2 MiB Sapphire Rapids)
  target.spaces = spaces({"global", "cache", "register"});
  for (const RegisterTile& tile : width.tiles) target.atoms.push_back(atom_of(tile, width.lanes));
  target.rates = rates_of_x86(width.lanes, cores);
  target.runs_here = runs_here;
  target.code = "llvm";
  target.features = width.level;
  return target;
}

const VectorWidth& width_of(int lanes) { return lanes >= avx512.lanes ? avx512 : lanes >= avx2.lanes ? avx2 : sse; }

// ---- blackboard: the same passes at a size that a person can watch. One step is a millisecond ----
Target blackboard() {
  Target target;
  target.name = Symbol("blackboard");
  target.title = "A machine to watch: two lanes, 2x2 products, eight registers";
  target.lanes = 2;
  target.workgroups = 1;
  target.registers_bytes = 8 * 2 * 4;  // eight registers of two lanes
  target.shared_bytes = 384;           // 96 numbers: tiles of two rows and two columns at D = 4 fill the half that they may take
  target.spaces = spaces({"global", "cache", "register"});
  MatrixAtom dot;
  dot.name = Symbol("dot_2x2_f32");
  dot.m = dot.n = 2;
  dot.accumulator_home = Home::registers;
  target.atoms = {dot};
  target.rates.matrix_flops = 8e3;    // 2x2 products, a multiplication and an addition each, a step
  target.rates.vector_flops = 2e3;    // two lanes
  target.rates.exps = 0.5e3;          // an exponential of both lanes takes four steps
  target.rates.memory_bytes = 4e3;    // a number a step
  target.rates.on_chip_bytes = 16e3;  // four numbers a step
  return target;
}

// ---- NVIDIA ----
using Dimension = FragmentDigit::Dimension;

/// mma.m16n8k16 with 16-bit operands (PTX ISA, fragments of mma.m16n8k16): lane / 4 is the row of A and the column of B, lane % 4 a pair
/// along k; registers hold pairs, then rows eight apart (A), then the upper half of k.
Fragment mma_sync_a() {
  return {{HierarchyLevel::registers, 4, 2, Dimension::k, 8},
          {HierarchyLevel::registers, 2, 2, Dimension::m, 8},
          {HierarchyLevel::registers, 1, 2, Dimension::k, 1},
          {HierarchyLevel::lane, 4, 8, Dimension::m, 1},
          {HierarchyLevel::lane, 1, 4, Dimension::k, 2}};
}
Fragment mma_sync_b() {
  return {{HierarchyLevel::registers, 2, 2, Dimension::k, 8},
          {HierarchyLevel::registers, 1, 2, Dimension::k, 1},
          {HierarchyLevel::lane, 4, 8, Dimension::n, 1},
          {HierarchyLevel::lane, 1, 4, Dimension::k, 2}};
}
Fragment mma_sync_accumulator() {
  return {{HierarchyLevel::registers, 2, 2, Dimension::m, 8},
          {HierarchyLevel::registers, 1, 2, Dimension::n, 1},
          {HierarchyLevel::lane, 4, 8, Dimension::m, 1},
          {HierarchyLevel::lane, 1, 4, Dimension::n, 2}};
}

MatrixAtom mma_sync(const char* name, DType operand) {
  MatrixAtom atom;
  atom.name = Symbol(std::string_view(name));
  atom.m = 16;
  atom.n = 8;
  atom.k = 16;
  atom.a = atom.b = operand;
  atom.a_home = atom.b_home = atom.accumulator_home = Home::registers;
  atom.issuing_lanes = 32;  // one warp
  atom.a_fragment = mma_sync_a();
  atom.b_fragment = mma_sync_b();
  atom.accumulator_fragment = mma_sync_accumulator();
  return atom;
}

/// Products of f32 as three of mma.m16n8k8 in tf32: both parts of each operand but the product of the lower ones. Along k the instruction's
/// places t and t + 4 hold neighbours here, in both operands alike, so that A lies as an accumulator does.
MatrixAtom mma_of_f32() {
  MatrixAtom atom = mma_sync("mma_m16n8k8_f32", DType::f32);
  atom.k = 8;
  atom.a_fragment = {{HierarchyLevel::registers, 2, 2, Dimension::m, 8},
                     {HierarchyLevel::registers, 1, 2, Dimension::k, 1},
                     {HierarchyLevel::lane, 4, 8, Dimension::m, 1},
                     {HierarchyLevel::lane, 1, 4, Dimension::k, 2}};
  atom.b_fragment = {{HierarchyLevel::registers, 1, 2, Dimension::k, 1},
                     {HierarchyLevel::lane, 4, 8, Dimension::n, 1},
                     {HierarchyLevel::lane, 1, 4, Dimension::k, 2}};
  return atom;
}

std::vector<MatrixAtom> mma_sync_rows() {
  return {mma_sync("mma_m16n8k16_bf16", DType::bf16), mma_sync("mma_m16n8k16_f16", DType::f16), mma_of_f32()};
}

/// wgmma.mma_async: A from shared memory (ss) or registers (rs), B from shared memory, K-major or (bt) MN-major.
MatrixAtom wgmma(int n, DType operand, bool a_in_registers, bool b_transposed) {
  MatrixAtom atom;
  atom.name = Symbol("wgmma_m64n" + std::to_string(n) + "k16_" + std::string(name(operand)) + (a_in_registers ? "_rs" : "_ss") +
                     (b_transposed ? "_bt" : ""));
  atom.m = 64;
  atom.n = n;
  atom.k = 16;
  atom.a = atom.b = operand;
  atom.a_home = a_in_registers ? Home::registers : Home::shared;
  atom.b_home = Home::shared;
  atom.b_rows_are_k = b_transposed;
  atom.accumulator_home = Home::registers;
  atom.issuing_lanes = 128;  // one warpgroup
  atom.asynchronous = true;
  atom.quiet_operands = true;  // else ptxas serialises the instructions (its warning C7513)
  // Each warp has 16 rows and in them the fragments of mma.m16n8k16 (PTX ISA, register fragments of wgmma).
  const FragmentDigit warp_rows{HierarchyLevel::warp, 1, 4, Dimension::m, 16};
  if (a_in_registers) {
    atom.a_fragment = mma_sync_a();
    atom.a_fragment.push_back(warp_rows);
  }
  atom.accumulator_fragment = {{HierarchyLevel::registers, 4, n / 8, Dimension::n, 8}};
  for (const FragmentDigit& digit : mma_sync_accumulator()) atom.accumulator_fragment.push_back(digit);
  atom.accumulator_fragment.push_back(warp_rows);
  return atom;
}

std::vector<MatrixAtom> wgmma_rows() {
  std::vector<MatrixAtom> rows;
  for (const DType operand : {DType::bf16, DType::f16})
    for (int n = 32; n <= 256; n += 32)  // any multiple of 8 exists; measured on an H200: 64 and 128 keys best, 176 does not pay
      for (const bool a_in_registers : {false, true})
        for (const bool b_transposed : {false, true})
          if (!b_transposed || n % 64 == 0) rows.push_back(wgmma(n, operand, a_in_registers, b_transposed));  // whole panels of 64 columns
  return rows;
}

/// What all of them share: 32 lanes, a register file of 64 Ki words, rates that follow from processors and clock.
Target nvidia(const char* name, const char* title, int processors, double clock, double matrix_flops_a_clock) {
  Target target;
  target.name = Symbol(std::string_view(name));
  target.title = title;
  target.lanes = 32;
  target.workgroups = processors;
  target.registers_bytes = 65536 * 4;
  target.spaces = spaces({"global", "shared", "register"});
  target.code = "cuda";
  target.copies_beside = target.loads_matrices = true;
  const double clocks = processors * clock;
  target.rates.matrix_flops = matrix_flops_a_clock * clocks;
  target.rates.on_chip_bytes = 128 * clocks;  // shared memory: 32 banks of 4 bytes
  target.rates.exps = 16 * clocks;            // special-function unit: 16 results a clock (CUDA programming guide, arithmetic throughput)
  return target;
}

Target sm_80() {
  // A100: 108 processors at 1.41 GHz, 2048 dense f16 flops a clock and processor (312 TFLOP/s in its data sheet)
  Target target = nvidia("sm_80", "NVIDIA A100 (Ampere)", 108, 1.41e9, 2048);
  target.rates.vector_flops = 64 * 108 * 1.41e9;  // 64 f32 lanes a processor, one operation each (19.5 TFLOP/s counts an FMA twice)
  target.rates.memory_bytes = 1.555e12;           // HBM2e of the 40 GB card, data sheet
  target.shared_bytes = 166912;                   // 163 KiB a block (CUDA programming guide, compute capability 8.0)
  target.atoms = mma_sync_rows();
  return target;
}

Target sm_90a() {
  // H200: 132 processors; 4096 dense bf16 flops a clock and processor (data sheet: 989 TFLOP/s at 1.83 GHz). The clock is that measured
  // on an H200 under load at D=128 (1.62..1.68 GHz), since the card is limited by power.
  constexpr double clock = 1.65e9;
  Target target = nvidia("sm_90a", "NVIDIA H100 and H200 (Hopper)", 132, clock, 4096);
  target.rates.vector_flops = 128 * 132 * clock;  // 128 f32 lanes a processor
  target.rates.memory_bytes = 4.57e12;            // a stream of reads, measured on an H200: 4574..4647 GB/s
  target.shared_bytes = 232448;                   // 227 KiB a block (CUDA programming guide, compute capability 9.0)
  target.copy_engine = target.registers_move = target.starts_early = true;
  target.atoms = wgmma_rows();
  for (const MatrixAtom& atom : mma_sync_rows()) target.atoms.push_back(atom);
  return target;
}

// ---- AMD ----
/// v_mfma_f32_16x16x16 (AMD Instinct MI200 and MI300 ISA guides, matrix fused multiply-add): lane % 16 is the row of the machine's A and
/// the column of its B, lane / 16 a group of four steps along k; result register v of a lane has row 4 (lane / 16) + v and column lane
/// % 16. The machine's A is our B here and its B our A: then a lane's results are neighbours in a row, and an accumulator lies as the next
/// A does.
MatrixAtom mfma(const char* name, DType operand) {
  MatrixAtom atom;
  atom.name = Symbol(std::string_view(name));
  atom.m = atom.n = atom.k = 16;
  atom.a = atom.b = operand;
  atom.a_home = atom.b_home = atom.accumulator_home = Home::registers;
  atom.issuing_lanes = 64;  // one wave
  const FragmentDigit steps{HierarchyLevel::registers, 1, 4, Dimension::k, 1}, group{HierarchyLevel::lane, 16, 4, Dimension::k, 4};
  atom.a_fragment = {steps, group, {HierarchyLevel::lane, 1, 16, Dimension::m, 1}};
  atom.b_fragment = {steps, group, {HierarchyLevel::lane, 1, 16, Dimension::n, 1}};
  atom.accumulator_fragment = {{HierarchyLevel::registers, 1, 4, Dimension::n, 1},
                               {HierarchyLevel::lane, 16, 4, Dimension::n, 4},
                               {HierarchyLevel::lane, 1, 16, Dimension::m, 1}};
  return atom;
}

/// Products of f32 are four of v_mfma_f32_16x16x4_f32, whose only step of a lane is lane / 16: the i-th of them takes step i of each group
/// of four, in both operands alike, so that fragments are those of the others.
std::vector<MatrixAtom> mfma_rows() {
  return {mfma("mfma_m16n16k16_bf16", DType::bf16), mfma("mfma_m16n16k16_f16", DType::f16), mfma("mfma_m16n16k16_f32", DType::f32)};
}

/// v_wmma_f32_16x16x16 of a wave of 32 (RDNA 3 ISA guide, wave matrix multiply accumulate): lane % 16 is the row of the machine's A and the
/// column of its B, with all 16 steps in each lane, the same in both halves of the wave; result register v has row 2 v + lane / 16 and
/// column lane % 16. As above the machine's A is our B; its row 2 v + h is our column 8 h + v, so that a lane's results are neighbours,
/// too.
MatrixAtom wmma(const char* name, DType operand) {
  MatrixAtom atom;
  atom.name = Symbol(std::string_view(name));
  atom.m = atom.n = atom.k = 16;
  atom.a = atom.b = operand;
  atom.a_home = atom.b_home = atom.accumulator_home = Home::registers;
  atom.issuing_lanes = 32;  // one wave
  const FragmentDigit steps{HierarchyLevel::registers, 1, 16, Dimension::k, 1};
  atom.a_fragment = {steps, {HierarchyLevel::lane, 1, 16, Dimension::m, 1}};
  atom.b_fragment = {steps, {HierarchyLevel::lane, 2, 8, Dimension::n, 1}, {HierarchyLevel::lane, 1, 2, Dimension::n, 8}};
  atom.accumulator_fragment = {{HierarchyLevel::registers, 1, 8, Dimension::n, 1},
                               {HierarchyLevel::lane, 16, 2, Dimension::n, 8},
                               {HierarchyLevel::lane, 1, 16, Dimension::m, 1}};
  return atom;
}

/// What all of them share: 64 KiB of local data share a workgroup with 32 banks of 4 bytes, a quarter of the vector rate for exponentials
/// (ISA guides). Nothing of it was measured: clocks are the peak engine clocks of the data sheets.
Target amd(const char* name, const char* title, int lanes, int units, double clock, double matrix_flops_a_clock) {
  Target target;
  target.name = Symbol(std::string_view(name));
  target.caution = "compiled and emulated, not run on AMD hardware";
  target.title = std::string(title) + ": " + target.caution;
  target.lanes = lanes;
  target.workgroups = units;
  target.shared_bytes = 65536;
  target.spaces = spaces({"global", "shared", "register"});
  target.code = "hip";
  const double clocks = units * clock;
  target.rates.matrix_flops = matrix_flops_a_clock * clocks;
  target.rates.vector_flops = 64 * clocks;  // 64 f32 lanes a compute unit, one operation each
  target.rates.exps = 16 * clocks;
  target.rates.on_chip_bytes = 128 * clocks;
  return target;
}

Target gfx90a() {
  // One of the two dies of an MI250X: 110 units at 1.7 GHz, 1024 dense f16 flops a clock and unit (data sheet: 383 TFLOP/s of both dies).
  // Its MFMA takes subnormal numbers of 16 bits for 0 and gives 0 for them, which those of the others do not.
  Target target = amd("gfx90a", "AMD MI250 (CDNA 2)", 64, 110, 1.7e9, 1024);
  target.rates.memory_bytes = 1.6e12;      // data sheet: 3.2 TB/s of both dies
  target.registers_bytes = 4 * 512 * 256;  // four vector units of 512 registers of 64 lanes
  target.atoms = mfma_rows();
  return target;
}

Target gfx942() {
  // MI300X: 304 units at 2.1 GHz, 2048 dense f16 flops a clock and unit (data sheet: 1307 TFLOP/s)
  Target target = amd("gfx942", "AMD MI300X (CDNA 3)", 64, 304, 2.1e9, 2048);
  target.rates.memory_bytes = 5.3e12;      // HBM3, data sheet
  target.registers_bytes = 4 * 512 * 256;  // four vector units of 512 registers of 64 lanes
  target.atoms = mfma_rows();
  return target;
}

Target gfx1100() {
  // RX 7900 XTX: 96 units at 2.5 GHz, 512 dense f16 flops a clock and unit (data sheet: 123 TFLOP/s)
  Target target = amd("gfx1100", "AMD RX 7900 (RDNA 3)", 32, 96, 2.5e9, 512);
  target.rates.memory_bytes = 960e9;        // GDDR6, data sheet
  target.registers_bytes = 2 * 1536 * 128;  // two vector units of 1536 registers of 32 lanes
  target.atoms = {wmma("wmma_m16n16k16_bf16", DType::bf16), wmma("wmma_m16n16k16_f16", DType::f16)};
  return target;
}

std::vector<Target> make_targets() {
  const int lanes = host_lanes();
  const bool runs = host_runs_x86();
  return {
      x86("x86-64", runs ? "This machine's processor" : "A processor with vectors of 128 bits", width_of(lanes), runs),
      x86("x86-64-v4", "x86-64 with AVX-512", avx512, runs && lanes >= avx512.lanes),
      x86("x86-64-v3", "x86-64 with AVX2 and FMA", avx2, runs && lanes >= avx2.lanes),
      x86("x86-64-v2", "x86-64 with vectors of 128 bits", sse, runs),
      blackboard(),
      sm_80(),
      sm_90a(),
      gfx90a(),
      gfx942(),
      gfx1100(),
  };
}

}  // namespace

const std::vector<Target>& targets() {
  static const auto* all = new std::vector<Target>(make_targets());
  return *all;
}

Result<Target> target_named(std::string_view wanted) {
  std::string known;
  for (const Target& target : targets()) {
    if (target.name.text() == wanted) return target;
    known += (known.empty() ? "" : ", ") + target.name.text();
  }
  return refuse("There is no target named " + std::string(wanted) + ".", {std::string(wanted)}, "The targets are " + known + ".");
}

}  // namespace fathom
