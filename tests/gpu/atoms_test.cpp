// Every atom by itself, on operands whose sums are exact in f32: lane mode against the plain product, and both written down for
// tests/device/atoms.py, which compares a GPU with lane mode bit for bit.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "codegen/gpu/lanes.hpp"
#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"
#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

Symbol symbol_of(const char* text) { return Symbol(std::string_view(text)); }

/// One product: what its operands look like in memory, and on which atom.
struct Product {
  std::string name, atom, type;
  std::int64_t m = 64, n = 64, k = 64;
  bool b_rows_are_k = false;  ///< B in memory: [k,n], else [n,k]
  bool a_rows_are_k = false;  ///< A in memory: [k,m], else [m,k]
  bool a_from_slot = false;   ///< else it is loaded into registers first
  bool warpgroup = false;
  std::int64_t warps = 4;
};

std::string box(const std::string& rows, const std::string& columns) { return "[" + rows + "," + columns + "]"; }

std::string product_text(const Product& p) {
  const auto size = [](std::int64_t x) { return std::to_string(x); };
  const std::string a_box = p.a_rows_are_k ? box(size(p.k), size(p.m)) : box(size(p.m), size(p.k));
  const std::string b_box = p.b_rows_are_k ? box(size(p.k), size(p.n)) : box(size(p.n), size(p.k));
  const std::string a_at = p.a_rows_are_k ? "[k,m]" : "[m,k]", b_at = p.b_rows_are_k ? "[k,n]" : "[n,k]";
  const std::string from = p.warpgroup ? "producer" : "all", to = p.warpgroup ? "consumer" : "all";
  const std::string rows = std::to_string(p.m / p.warps);
  const std::string loads = "fa = acquire A\n ta = copy fa" + a_at + " <- left" + a_at + "\n publish A after ta\n" +
                            "fb = acquire B\n tb = copy fb" + b_at + " <- right" + b_at + "\n publish B after tb\n";
  const std::string products = std::string("sa = receive A\n") + (p.a_from_slot ? "" : "fr[m,k] = sa" + a_at + " as x.a\n release A\n") +
                               "sb = receive B\n p = mma x: s[m,n] = " + (p.a_from_slot ? "sa" + a_at : "fr[m,k]") + " * sb" + b_at +
                               "\n s[m,n] = await p\n release B\n" + (p.a_from_slot ? "release A\n" : "") + "c[m,n] = s[m,n]\n";
  const std::string roles = p.warpgroup ? "role producer warps 4 { for t in work {\n" + loads +
                                              "} }\n role consumer warps 4 { for t in work {\n" + products + "} }\n"
                                        : "role all warps " + size(p.warps) + " { for t in work {\n" + loads + products + "} }\n";
  return "module product(left: " + p.type + a_box + ", right: " + p.type + b_box + ") -> (c: f32" + box(size(p.m), size(p.n)) + ") {\n" +
         "require left % 16 == 0 and right % 16 == 0 and c % 16 == 0 else unsupported\nkernel product {\nwork t in 0:1 grid\naxis m = w:" +
         size(p.warps) + ", u:" + rows + "\naxis n = n:" + size(p.n) + "\naxis k = k:" + size(p.k) + "\natom x = " + p.atom +
         "\nchannel A: " + p.type + a_box + " depth 1 from " + from + " to " + to + "\nchannel B: " + p.type + b_box + " depth 1 from " +
         from + " to " + to + "\n" + roles + "} }\n";
}

std::vector<Product> products() {
  std::vector<Product> all;
  for (const std::string type : {"bf16", "f16", "f32"}) {
    const std::string atom = type == "f32" ? "mma_m16n8k8_f32" : "mma_m16n8k16_" + type;
    for (const bool b_rows_are_k : {false, true})
      all.push_back({atom + (b_rows_are_k ? "_b_kn" : "_b_nk"), atom, type, 32, 32, 32, b_rows_are_k, false, false, false, 2});
    if (type != "f32") {
      all.push_back({atom + "_a_km", atom, type, 32, 32, 32, false, true, false, false, 2});
      all.push_back({atom + "_k16", atom, type, 16, 32, 16, false, false, false, false, 1});
      all.push_back({atom + "_k16_b_kn", atom, type, 16, 32, 16, true, false, true, false, 1});
    }
  }
  const Target hopper = *target_named("sm_90a");
  for (const MatrixAtom& atom : hopper.atoms) {
    if (!atom.asynchronous) continue;
    all.push_back({atom.name.text(), atom.name.text(), std::string(name(atom.a)), 64, atom.n, 128, atom.b_rows_are_k, false,
                   atom.a_home == Home::shared, true, 4});
  }
  return all;
}

/// Row m and column n of the places' product are told apart by m + 64 n; the noise has small whole numbers everywhere.
double left_at(bool places, std::int64_t m, std::int64_t k) {
  if (places) return k == 0 ? static_cast<double>(m) : k == 1 ? 64 : 0;
  return static_cast<double>((m * 7 + k * 13 + m * k) % 17 - 8);
}
double right_at(bool places, std::int64_t n, std::int64_t k) {
  if (places) return k == 0 ? 1 : k == 1 ? static_cast<double>(n) : static_cast<double>((n + k) % 3);
  return static_cast<double>((n * 5 + k * 11 + n * k) % 19 - 9);
}

gpu::LaneTensors operands(const Product& p, bool places) {
  const DType dtype = p.type == "bf16" ? DType::bf16 : p.type == "f16" ? DType::f16 : DType::f32;
  gpu::LaneTensors in;
  in[symbol_of("left")] = {dtype, p.a_rows_are_k ? std::vector{p.k, p.m} : std::vector{p.m, p.k}, {}};
  in[symbol_of("right")] = {dtype, p.b_rows_are_k ? std::vector{p.k, p.n} : std::vector{p.n, p.k}, {}};
  for (std::int64_t i = 0; i < p.m * p.k; ++i)
    in[symbol_of("left")].data.push_back(p.a_rows_are_k ? left_at(places, i % p.m, i / p.m) : left_at(places, i / p.k, i % p.k));
  for (std::int64_t i = 0; i < p.n * p.k; ++i)
    in[symbol_of("right")].data.push_back(p.b_rows_are_k ? right_at(places, i % p.n, i / p.n) : right_at(places, i / p.k, i % p.k));
  return in;
}

/// Numbers as f32, in order.
void write_down(const std::filesystem::path& file, const std::vector<double>& numbers) {
  std::ofstream out(file, std::ios::binary);
  for (const double x : numbers) {
    const auto single = static_cast<float>(x);
    out.write(reinterpret_cast<const char*>(&single), sizeof single);
  }
}

TEST(Atoms, give_the_plain_product_in_lane_mode) {
  const std::filesystem::path folder = std::filesystem::path(FATHOM_BINARY_DIR) / "atoms";
  std::filesystem::create_directories(folder);
  std::ofstream list(folder / "list.txt");
  for (const Product& p : products()) {
    const auto module = lang::parse_kernel(product_text(p));
    ASSERT_TRUE(module) << p.name << "\n" << product_text(p);
    const auto made = gpu::lower(*module, *target_named(p.warpgroup ? "sm_90a" : "sm_80"));
    ASSERT_TRUE(made) << p.name << ": " << made.error().reason;
    std::ofstream(folder / (p.name + ".cu")) << gpu::print_cuda(*made, *module).text;
    list << p.name << " " << p.type << " " << p.m << " " << p.n << " " << p.k << " " << p.a_rows_are_k << " " << p.b_rows_are_k << "\n";
    for (const bool places : {true, false}) {
      const gpu::LaneTensors in = operands(p, places);
      const auto out = gpu::run_lanes(*made, *module, in, {});
      ASSERT_TRUE(out) << p.name << ": " << out.error().reason;
      const std::vector<double>& c = out->at(symbol_of("c")).data;
      int wrong = 0;
      for (std::int64_t m = 0; m < p.m; ++m) {
        for (std::int64_t n = 0; n < p.n; ++n) {
          double sum = 0;
          for (std::int64_t k = 0; k < p.k; ++k) sum += left_at(places, m, k) * right_at(places, n, k);
          wrong += c[static_cast<std::size_t>(m * p.n + n)] == sum ? 0 : 1;
        }
      }
      EXPECT_EQ(wrong, 0) << p.name << (places ? " places" : " noise");
      const std::string stem = p.name + (places ? ".places" : ".noise");
      write_down(folder / (stem + ".left"), in.at(symbol_of("left")).data);
      write_down(folder / (stem + ".right"), in.at(symbol_of("right")).data);
      write_down(folder / (stem + ".lanes"), c);
    }
  }
}

}  // namespace
}  // namespace fathom
