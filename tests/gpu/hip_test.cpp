// Kernels as HIP C++: what the text looks like, that clang makes AMD's instructions of it without ROCm, which these are and what registers
// they take. Nothing of it runs on such a machine here.
#include "code_object.hpp"
#include "codegen/gpu/helpers.hpp"
#include "lang/lang.hpp"
#include "sample_runs.hpp"
#include "session/device_code.hpp"

namespace fathom {
namespace {

const char* const caution = "// compiled and emulated, not run on AMD hardware\n";

struct Printed {
  std::string sample, type;
  Target target;
  std::string text;
};

/// The samples at their own sizes by default plans, for all targets that have instructions for the type.
const std::vector<Printed>& printed() {
  static const auto* all = [] {
    auto* made = new std::vector<Printed>;
    const std::pair<const char*, const char*> samples[] = {
        {"softmax", "f32"}, {"rmsnorm", "f16"}, {"matmul_bias_gelu", "f32"}, {"attention", "f16"}};
    for (const auto& [sample, own] : samples) {
      for (const std::string type : {"f16", "bf16", "f32"}) {
        for (const char* target : {"gfx90a", "gfx942", "gfx1100"}) {
          const bool products = std::string(sample) == "attention" || std::string(sample) == "matmul_bias_gelu";
          if (products && type == "f32" && std::string(target) == "gfx1100") continue;
          const auto c = test::compiled({sample, {}, {{std::string(own) + "[", type + "["}}}, target);
          if (!c) continue;
          const auto code = session::device_code(*c);
          EXPECT_TRUE(code) << sample << " in " << type << " on " << target << ": " << (code ? "" : code.error().reason);
          if (code) made->push_back({sample, type, c->target, code->text});
        }
      }
    }
    return made;
  }();
  return *all;
}

bool has(const std::string& text, const std::string& piece) { return text.find(piece) != std::string::npos; }

TEST(Hip, every_file_begins_with_what_was_not_tried) {
  EXPECT_EQ(printed().size(), 34U);
  for (const Printed& p : printed()) {
    EXPECT_EQ(p.text.find(caution), 0U) << p.sample;
    EXPECT_TRUE(has(p.text, "extern \"C\" __global__ void __launch_bounds__(")) << p.sample;
    EXPECT_TRUE(has(p.text, "enum { lanes_of_wave = " + std::to_string(p.target.lanes) + " };")) << p.sample;
    EXPECT_TRUE(has(p.text, "hipGetLastError()")) << p.sample;
    for (const char* other : {"cudaGet", "cudaStream", "cudaError", "__CUDACC"}) EXPECT_FALSE(has(p.text, other)) << p.sample;
    EXPECT_EQ(p.text.find("#include"), p.text.find("#include <hip/hip_runtime.h>")) << "the launcher's alone, where ROCm is";
    EXPECT_FALSE(has(p.text, "copy_async")) << p.sample;
  }
}

TEST(Hip, targets_say_in_their_title_what_was_not_tried) {
  for (const Target& target : targets()) {
    EXPECT_EQ(target.code == "hip", !target.caution.empty()) << target.name.text();
    EXPECT_TRUE(has(target.title, target.caution)) << target.name.text();
  }
}

/// The matrix instruction of a target, as the disassembler names it; empty where the sample has no products.
std::string instruction_of(const Printed& p) {
  if (p.sample != "attention" && p.sample != "matmul_bias_gelu") return "";
  if (p.target.name == Symbol("gfx1100")) return "v_wmma_f32_16x16x16_" + p.type;
  const bool newer = p.target.name == Symbol("gfx942");  // separates the type by a line
  const std::string shape = p.type == "f32" ? "16x16x4" : "16x16x16";
  return "v_mfma_f32_" + shape + (newer ? "_" : "") + p.type + (p.type == "bf16" && !newer ? "_1k" : "");
}

TEST(Hip, clang_makes_the_instructions_of_it_and_spills_nothing) {
  if (!test::has_clang()) GTEST_SKIP() << "clang 19 is not installed";
  for (const Printed& p : printed()) {
    const std::string name = p.sample + " in " + p.type + " on " + p.target.name.text();
    const test::CodeObject code = test::code_object_of(p.text, "hip_" + p.sample + "_" + p.type, p.target);
    ASSERT_EQ(code.words, "") << name;
    for (const char* spilled : {".vgpr_spill_count", ".sgpr_spill_count", ".private_segment_fixed_size"})
      EXPECT_EQ(code.number(spilled), 0) << name << ": " << spilled;
    EXPECT_EQ(code.number(".wavefront_size"), p.target.lanes) << name;
    EXPECT_LE(code.number(".group_segment_fixed_size"), p.target.shared_bytes) << name;
    EXPECT_LE(code.number(".vgpr_count"), p.target.lanes == 64 ? 512 : 256) << name;
    EXPECT_GT(code.number(".vgpr_count"), 0) << name;
    EXPECT_GT(code.number(".sgpr_count"), 0) << name;
    const std::string instruction = instruction_of(p);
    if (instruction.empty()) {
      EXPECT_FALSE(has(code.assembly, "v_mfma") || has(code.assembly, "v_wmma")) << name;
      continue;
    }
    EXPECT_GT(code.count(instruction + " "), 0) << name;
    EXPECT_GT(code.number(".group_segment_fixed_size"), 0) << name;
    EXPECT_TRUE(p.sample != "attention" || has(code.assembly, "v_exp_f32")) << name;
  }
}

TEST(Hip, what_needs_device_libraries_is_refused_with_a_reason) {
  const auto refused = [](const std::string& value, const std::string& type) -> std::string {
    const auto module = lang::parse_kernel("dim M = 8\nmodule made(x: " + type + "[M,64]) -> (y: " + type + "[M,64]) {" + R"(
  kernel rows {
    work i in 0:M grid
    axis j = j:64
    role all warps 1 {
      for i in work {
        v[j] = x[i,j]
        y[i,j] = )" + value + R"(
      } } } })");
    EXPECT_TRUE(module) << value;
    const auto code = session::device_code(*module, *target_named("gfx942"));
    return code ? "" : code.error().reason;
  };
  EXPECT_EQ(refused("exp(v[j])", "f32"), "");
  EXPECT_EQ(refused("erf(v[j]) + tanh(v[j])", "f32"), "");
  EXPECT_EQ(refused("sqrt(v[j])", "f64"), "");
  for (const auto& [value, type] : {std::pair("sin(v[j])", "f32"), std::pair("cos(v[j])", "f32"), std::pair("exp(v[j])", "f64")})
    EXPECT_TRUE(has(refused(value, type), "clang computes it only with AMD's device libraries")) << value;
}

TEST(Hip, more_shared_memory_than_there_is_is_refused) {
  const auto c = test::compiled({"matmul_bias_gelu", {}, {{"f32[", "f16["}}}, "gfx942");
  ASSERT_TRUE(c);
  kernel::Module module = c->final_ir().module();
  for (kernel::Channel& channel : module.kernels[0].channels) channel.depth = number(Rational(16));
  const auto code = session::device_code(module, c->target);
  ASSERT_FALSE(code);
  EXPECT_TRUE(has(code.error().reason, "bytes of shared memory, and a workgroup of gfx942 has 65536")) << code.error().reason;
}

/// Declarations in place of ROCm's header: what the launcher and clang's kernel calls use.
const char* const runtime_declarations = R"(#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
typedef int hipError_t;
enum { hipSuccess = 0 };
typedef struct stream_of_hip* hipStream_t;
typedef unsigned long size_t;
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" {
hipError_t hipMallocAsync(void**, size_t, hipStream_t);
hipError_t hipFreeAsync(void*, hipStream_t);
hipError_t hipMemsetAsync(void*, int, size_t, hipStream_t);
hipError_t hipGetLastError();
const char* hipGetErrorString(hipError_t);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*);
hipError_t hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t);
}
)";

TEST(Hip, the_launcher_is_there_where_the_runtime_is) {
  if (!test::has_clang()) GTEST_SKIP() << "clang 19 is not installed";
  const std::string folder = std::string(FATHOM_BINARY_DIR) + "/hip_runtime";
  std::filesystem::create_directories(folder + "/hip");
  std::ofstream(folder + "/hip/hip_runtime.h") << runtime_declarations;
  for (const Printed& p : printed()) {
    if (p.type != "f16") continue;
    const std::string file = folder + "/" + p.sample + ".hip", log = file + ".log";
    std::ofstream(file) << p.text;
    for (const char* side : {"host", "device"}) {
      const std::string command = "clang++-19 -x hip --offload-arch=" + p.target.name.text() + " -nogpuinc -nogpulib --cuda-" + side +
                                  "-only -std=c++17 -fsyntax-only -Wall -Werror -D__CLANG_HIP_RUNTIME_WRAPPER_H__ -I" + folder + " " +
                                  file + " > " + log + " 2>&1";
      EXPECT_EQ(std::system(command.c_str()), 0) << p.target.name.text() << ": " << test::read_file(log);
    }
  }
}

/// The code that stands in for device libraries, compiled for this machine and held against the C library's.
TEST(Hip, functions_of_its_own_are_as_exact_as_they_say) {
  if (!test::has_clang()) GTEST_SKIP() << "clang 19 is not installed";
  const std::string file = std::string(FATHOM_BINARY_DIR) + "/hip_functions";
  std::ofstream(file + ".cpp") << "#include <cmath>\n#include <cstdio>\n#define __device__\n"
                               << gpu::helper_texts(gpu::hip_helpers(), {"error_function", "hyperbolic_tangent", "to_bf16", "to_float"})
                               << R"(
double error(double exact, float x) {
  const float near = static_cast<float>(exact < 0 ? -exact : exact);
  return std::fabs(exact - x) / (std::nextafterf(near, 4.0f) - near);
}
int main() {
  double erf_error = 0, tanh_error = 0;
  for (int i = -60000; i <= 60000; ++i) {
    const float x = i * 0.0001f;
    erf_error = std::fmax(erf_error, error(std::erf(static_cast<double>(x)), error_function(x)));
    tanh_error = std::fmax(tanh_error, error(std::tanh(static_cast<double>(x)), hyperbolic_tangent(x)));
  }
  const bool ends = error_function(INFINITY) == 1 && hyperbolic_tangent(-INFINITY) == -1 && error_function(NAN) != error_function(NAN) &&
                    hyperbolic_tangent(NAN) != hyperbolic_tangent(NAN) && hyperbolic_tangent(60.0f) == 1;
  const bool halves = to_bf16(1.00390625f).bits == 0x3f80 && to_bf16(1.01171875f).bits == 0x3f82 && to_bf16(INFINITY).bits == 0x7f80 &&
                      to_float(to_bf16(NAN)) != to_float(to_bf16(NAN));
  std::printf("%g %g\n", erf_error, tanh_error);
  return erf_error <= 2 && tanh_error <= 2 && ends && halves ? 0 : 1;
}
)";
  ASSERT_EQ(std::system(("clang++-19 -std=c++17 -O1 -o " + file + " " + file + ".cpp > " + file + ".log 2>&1").c_str()), 0)
      << test::read_file(file + ".log");
  EXPECT_EQ(std::system((file + " > " + file + ".log").c_str()), 0) << test::read_file(file + ".log");
}

}  // namespace
}  // namespace fathom
