// The plug-in as programs see it: found and opened by the loader, used through the C interface alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "codegen/cpu/loader.hpp"

namespace fathom::cpu {
namespace {

const char* const text = R"(
dim N = runtime 1
module twice(x: f32[N]) -> (y: f32[N]) {
  kernel k {
    work t in 0:(N + 15) // 16 grid
    axis i = i:16
    role all warps 1 { for t in work { y[t*16 + i] = x[t*16 + i] * 2 else 0 } } } })";

TEST(Plugin, compiles_and_runs_through_the_C_interface) {
  const auto loaded = load_plugin();
  ASSERT_TRUE(loaded) << loaded.error().reason << " " << loaded.error().hint;
  const fathom_cpu_api& api = **loaded;
  EXPECT_EQ(api.abi, FATHOM_CPU_ABI);
  EXPECT_FALSE(std::string(api.host_cpu()).empty());
  EXPECT_GE(api.vector_lanes(), 1);
  char* error = nullptr;
  fathom_cpu_module* module = api.compile(text, &error);
  ASSERT_NE(module, nullptr) << error;
  float x[19], y[19];
  for (int i = 0; i < 19; ++i) x[i] = static_cast<float>(i);
  const int64_t extents[] = {19}, strides[] = {1};
  const fathom_tensor arguments[] = {{x, extents, strides, 1}, {y, extents, strides, 1}};
  ASSERT_EQ(api.run(module, arguments, 2, extents, 1, 0, &error), 0) << error;
  for (int i = 0; i < 19; ++i) EXPECT_EQ(y[i], 2 * x[i]);
  const int64_t wrong[] = {18};
  EXPECT_EQ(api.run(module, arguments, 2, wrong, 1, 1, &error), 1);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error).find("19"), std::string::npos) << error;
  api.free_text(error);
  char* ir = api.llvm_ir(module);
  EXPECT_NE(std::string(ir).find("define"), std::string::npos);
  api.free_text(ir);
  api.free_module(module);
  EXPECT_GT(api.peak_gflops(1), 0.1);
}

TEST(Plugin, a_bad_text_gives_an_error_with_its_place) {
  const auto loaded = load_plugin();
  ASSERT_TRUE(loaded);
  for (const char* bad :
       {"", "module m(", "module m(x: f32[4]) -> (y: f32[4]) { kernel k { work t in 0:1 grid role all warps 1 { y[0] = z[0] } } }",
        "\x01\x02\xff",
        "module m(x: f32[4]) -> (y: f32[4]) { kernel k { work t in 0:1 grid axis i = i:4\n"
        "role all warps 1 { for t in work { y[i] = x[i+(((((((((1] } } } }"}) {
    char* error = nullptr;
    EXPECT_EQ((*loaded)->compile(bad, &error), nullptr) << bad;
    ASSERT_NE(error, nullptr);
    EXPECT_FALSE(std::string(error).empty());
    (*loaded)->free_text(error);
  }
}

TEST(Loader, says_where_it_looked_and_what_to_do) {
  setenv("FATHOM_CPU_PLUGIN", "/nowhere/libfathom_cpu.so", 1);
  const auto missing = open_plugin();
  setenv("FATHOM_CPU_PLUGIN", "/proc/self/cmdline", 1);  // there, but no library
  const auto broken = open_plugin();
  unsetenv("FATHOM_CPU_PLUGIN");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().reason.find("/nowhere/libfathom_cpu.so"), std::string::npos);
  EXPECT_NE(missing.error().hint.find("llvm-19-dev"), std::string::npos);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().reason.find("cannot be loaded"), std::string::npos);
}

}  // namespace
}  // namespace fathom::cpu
