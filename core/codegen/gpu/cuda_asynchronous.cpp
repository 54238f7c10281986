// Helper functions of kernels with roles: barriers in shared memory, groups of warps, the copy engine, products of a warpgroup. PTX names
// are those of the PTX ISA; all but the first ones need compute capability 9.0.
#include <fmt/format.h>

#include "codegen/gpu/helpers.hpp"

namespace fathom::gpu {

const std::vector<Helper>& asynchronous_helpers() {
  static const auto* table = new std::vector<Helper>{
      {"wait_for_warp", {}, R"(// All lanes of the warp are here, and see what the others have written.
__device__ inline void wait_for_warp() { __syncwarp(); }
)"},
      {"wait_for_group",
       {},
       R"(// So many threads are here, or have said that they were, and see what the others have written to shared memory.
__device__ inline void wait_for_group(int number, int threads) { asm volatile("bar.sync %0, %1;" : : "r"(number), "r"(threads) : "memory"); }
)"},
      {"arrive_at_group", {}, R"(// Says that this thread is here, and goes on.
__device__ inline void arrive_at_group(int number, int threads) { asm volatile("bar.arrive %0, %1;" : : "r"(number), "r"(threads) : "memory"); }
)"},
      {"fence_device", {}, R"(// What this thread has written is seen by whoever sees what it writes from here on.
__device__ inline void fence_device() { __threadfence(); }
)"},
      {"increment_wrapping", {}, R"(// Counts up to `last`, then begins again at 0; returns what was there.
__device__ inline int increment_wrapping(int* counter, int last) {
  return static_cast<int>(atomicInc(reinterpret_cast<unsigned*>(counter), static_cast<unsigned>(last)));
}
)"},
      {"workgroup_count", {}, R"(__device__ inline int workgroup_count() { return gridDim.x; }
)"},
      {"shared_address",
       {},
       R"(__device__ inline unsigned shared_address(const void* place) { return static_cast<unsigned>(__cvta_generic_to_shared(place)); }
)"},
      {"set_up_barrier",
       {"shared_address"},
       R"(// A barrier whose phases end when so many threads have arrived and all expected bytes are there.
__device__ inline void set_up_barrier(unsigned long long* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
)"},
      {"publish_barriers", {}, R"(// The copy engine sees the barriers, too.
__device__ inline void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
)"},
      {"arrive", {"shared_address"}, R"(__device__ inline void arrive(unsigned long long* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" : : "r"(shared_address(barrier)) : "memory");
}
)"},
      {"expect_bytes", {"shared_address"}, R"(// The phase does not end before so many bytes more have been copied.
__device__ inline void expect_bytes(unsigned long long* barrier, int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
)"},
      {"wait_for_barrier",
       {"shared_address"},
       R"(// Until the phase of this parity has ended. A barrier begins in phase 0; the one before it counts as ended.
__device__ inline void wait_for_barrier(unsigned long long* barrier, int parity) {
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra again;\n"
      "}" : : "r"(shared_address(barrier)), "r"(parity) : "memory");
}
)"},
      {"place_in_panels",
       {},
       R"(// Where an element of a tile lies that is stored as panels of rows of 128 bytes, whose chunks of 16 bytes are exchanged.
__device__ inline int place_in_panels(int row, int column, int rows, int chunk) {
  const int panel = column / (8 * chunk), place = column % (8 * chunk);
  return (panel * rows + row) * 8 * chunk + (place / chunk ^ row % 8) * chunk + place % chunk;
}
)"},
      {"tensor_map", {}, R"(// What the copy engine knows of a tensor; encoded by the driver.
struct alignas(64) tensor_map {
  unsigned long long words[16];
};
)"},
      {"load_box_1",
       {"tensor_map", "shared_address"},
       R"(// A box of a tensor to shared memory, on its way until the barrier's phase ends; coordinates fastest first, zeros outside.
__device__ inline void load_box_1(void* to, const tensor_map& from, unsigned long long* barrier, int x) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];"
               : : "r"(shared_address(to)), "l"(&from), "r"(shared_address(barrier)), "r"(x) : "memory");
}
)"},
      {"load_box_2",
       {"tensor_map", "shared_address"},
       R"(// A box of a tensor to shared memory, on its way until the barrier's phase ends; coordinates fastest first, zeros outside.
__device__ inline void load_box_2(void* to, const tensor_map& from, unsigned long long* barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
               : : "r"(shared_address(to)), "l"(&from), "r"(shared_address(barrier)), "r"(x), "r"(y) : "memory");
}
)"},
      {"load_box_3",
       {"tensor_map", "shared_address"},
       R"(// A box of a tensor to shared memory, on its way until the barrier's phase ends; coordinates fastest first, zeros outside.
__device__ inline void load_box_3(void* to, const tensor_map& from, unsigned long long* barrier, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
               : : "r"(shared_address(to)), "l"(&from), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z) : "memory");
}
)"},
      {"load_box_4",
       {"tensor_map", "shared_address"},
       R"(// A box of a tensor to shared memory, on its way until the barrier's phase ends; coordinates fastest first, zeros outside.
__device__ inline void load_box_4(void* to, const tensor_map& from, unsigned long long* barrier, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
               : : "r"(shared_address(to)), "l"(&from), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
)"},
      {"fence_for_copies", {}, R"(// The copy engine and asynchronous products see what this thread has written to shared memory.
__device__ inline void fence_for_copies() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }
)"},
      {"store_box_1",
       {"tensor_map", "shared_address"},
       R"(// From shared memory to a box of a tensor, clipped at its extents; coordinates fastest first.
__device__ inline void store_box_1(const tensor_map& to, const void* from, int x) {
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];"
               : : "l"(&to), "r"(shared_address(from)), "r"(x) : "memory");
}
)"},
      {"store_box_2",
       {"tensor_map", "shared_address"},
       R"(// From shared memory to a box of a tensor, clipped at its extents; coordinates fastest first.
__device__ inline void store_box_2(const tensor_map& to, const void* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];"
               : : "l"(&to), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
}
)"},
      {"store_box_3",
       {"tensor_map", "shared_address"},
       R"(// From shared memory to a box of a tensor, clipped at its extents; coordinates fastest first.
__device__ inline void store_box_3(const tensor_map& to, const void* from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];"
               : : "l"(&to), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z) : "memory");
}
)"},
      {"store_box_4",
       {"tensor_map", "shared_address"},
       R"(// From shared memory to a box of a tensor, clipped at its extents; coordinates fastest first.
__device__ inline void store_box_4(const tensor_map& to, const void* from, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];"
               : : "l"(&to), "r"(shared_address(from)), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}
)"},
      {"commit_stores", {}, R"(// The stores of this thread since the last commit are one group.
__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
)"},
      {"wait_for_stores", {}, R"(// Until at most `younger` groups of stores are on their way.
template <int younger>
__device__ inline void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group %0;" : : "n"(younger) : "memory");
}
)"},
      {"wait_for_stores_to_read", {}, R"(// Until at most `younger` groups of stores still read shared memory.
template <int younger>
__device__ inline void wait_for_stores_to_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(younger) : "memory");
}
)"},
      {"set_registers_up",
       {},
       R"(// Each thread of this warpgroup has so many registers from here on; another warpgroup has given them back.
template <int registers>
__device__ inline void set_registers_up() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(registers));
}
)"},
      {"set_registers_down", {}, R"(// Each thread of this warpgroup has so many registers from here on and gives the others back.
template <int registers>
__device__ inline void set_registers_down() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(registers));
}
)"},
      {"matrix_descriptor",
       {"shared_address"},
       R"(// Where a product of a warpgroup finds a matrix: panels of rows of 128 bytes with exchanged chunks. `stride`: bytes from eight rows to the
// next eight; `leading`: bytes from a panel to the next.
__device__ inline unsigned long long matrix_descriptor(const void* place, int leading, int stride) {
  return static_cast<unsigned long long>((shared_address(place) & 0x3ffff) >> 4) | static_cast<unsigned long long>(leading >> 4) << 16 |
         static_cast<unsigned long long>(stride >> 4) << 32 | 1ull << 62;
}
)"},
      {"fence_before_products", {}, R"(// Products of the warpgroup see the registers as they are now.
__device__ inline void fence_before_products() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
)"},
      {"commit_products", {}, R"(// The products of this warpgroup since the last commit are one group.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory"); }
)"},
      {"wait_for_products", {}, R"(// Until at most `younger` groups of products are on their way.
template <int younger>
__device__ inline void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(younger) : "memory");
}
)"},
      {"landed", {}, R"(// These registers are read below this line only, where what was on its way to them has landed.
template <int count>
__device__ inline void landed(float* registers) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i]) : : "memory");
}
)"},
  };
  return *table;
}

/// c = a * b or c += a * b by `wgmma.mma_async`; A from registers or by a descriptor, B by a descriptor.
std::string product_of_warpgroup(const MatrixAtom& atom) {
  const bool a_in_registers = atom.a_home == Home::registers;
  const std::string operand(name(atom.a));
  const int sums = atom.m * atom.n / atom.issuing_lanes, operands = a_in_registers ? 4 : 1;
  const auto list = [](int first, int count) {
    std::string s;
    for (int i = 0; i < count; ++i) s += fmt::format("{}%{}", i == 0 ? "" : ", ", first + i);
    return s;
  };
  std::string text = "// Products of a warpgroup: 64 rows, " + std::to_string(atom.n) +
                     " columns, 16 steps. On its way until waited for. Sets the sums, or adds to them.\n";
  text += fmt::format("__device__ inline void {}(float* c, {}, unsigned long long b, bool accumulate) {{\n", atom.name.text(),
                      a_in_registers ? "const unsigned* a" : "unsigned long long a");
  text += "  asm volatile(\n      \"{\\n\"\n      \".reg .pred add;\\n\"\n";
  text += fmt::format("      \"setp.ne.b32 add, %{}, 0;\\n\"\n", sums + operands + 1);
  text += fmt::format("      \"wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {{\"\n", atom.n, operand, operand);
  constexpr int a_line = 16;
  for (int i = 0; i < sums; i += a_line) text += "      \"" + list(i, a_line) + (i + a_line < sums ? ",\"\n" : "}, \"\n");
  text += fmt::format("      \"{}, %{}, add, 1, 1{};\\n\"\n      \"}}\"\n", a_in_registers ? "{" + list(sums, 4) + "}" : list(sums, 1),
                      sums + operands, a_in_registers ? (atom.b_rows_are_k ? ", 1" : ", 0") : (atom.b_rows_are_k ? ", 0, 1" : ", 0, 0"));
  for (int i = 0; i < sums; ++i) text += fmt::format("{}\"+f\"(c[{}])", i == 0 ? "      : " : i % 8 == 0 ? ",\n        " : ", ", i);
  text += "\n      : ";
  text += a_in_registers ? "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])" : "\"l\"(a)";
  text += ", \"l\"(b), \"r\"(static_cast<int>(accumulate)));\n}\n";
  return text;
}

}  // namespace fathom::gpu
