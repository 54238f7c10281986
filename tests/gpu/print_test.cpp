// Kernels as CUDA C++: what the text looks like, and that NVIDIA's compiler takes it where it is installed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"
#include "files.hpp"
#include "ir/kernel_lines.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

const std::array<const char*, 4> texts = {"softmax_rows", "layernorm", "attention_sm80", "attention_sm90a"};
/// What a text is written for.
const char* target_of(const std::string& name) { return name.find("sm90a") != std::string::npos ? "sm_90a" : "sm_80"; }

kernel::Module module_of(const std::string& name) {
  const auto module = lang::parse_kernel(test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel")));
  if (module) return *module;
  ADD_FAILURE() << name;
  return {};
}

gpu::PrintedCode cuda_of(const kernel::Module& module, const char* target) {
  const auto made = gpu::lower(module, *target_named(target));
  if (made) return gpu::print_cuda(*made, module);
  ADD_FAILURE() << module.name.text() << ": " << made.error().reason << " " << made.error().hint;
  return {};
}

TEST(Cuda, one_file_has_all_that_it_needs) {
  for (const char* name : texts) {
    const std::string text = cuda_of(module_of(name), target_of(name)).text;
    std::ofstream(std::string(FATHOM_BINARY_DIR) + "/" + name + ".cu") << text;  // for tests/device/texts.py
    EXPECT_EQ(text.find("#include"), std::string::npos);
    for (const char* word : {"extern \"C\" __global__", "_launch(const fathom_tensor* arguments", "the launch contract does not hold"})
      EXPECT_NE(text.find(word), std::string::npos) << name << ": " << word;
  }
}

TEST(Cuda, names_are_those_of_the_program) {
  const std::string text = cuda_of(module_of("attention_sm80"), "sm_80").text;
  for (const char* piece : {"const int qb = ", "float s[32];", "if (bad) {", "mma_m16n8k16_bf16(&s[n_tile * 4], &qf[step * 8], &b[0]);",
                            "unrolled for (int u = 0; u < 2; ++u) l[u] += sum[u];"})
    EXPECT_NE(text.find(piece), std::string::npos) << piece;
}

TEST(Cuda, every_line_of_a_statement_is_tied_to_it) {
  for (const char* name : texts) {
    const kernel::Module module = module_of(name);
    const gpu::PrintedCode code = cuda_of(module, target_of(name));
    EXPECT_EQ(code.lines.size(), static_cast<std::size_t>(std::count(code.text.begin(), code.text.end(), '\n')));
    for (const auto& [statement, line] : kernel::lines_of(module)) {
      // Copies and products have lines of their own; hand-overs, loops and what is taken up into another statement need not.
      const bool has_own = std::holds_alternative<kernel::Copy>(statement->op) || std::holds_alternative<kernel::Mma>(statement->op) ||
                           std::holds_alternative<kernel::Value>(statement->op);
      // One tile of keys meets the diagonal there, which is the first: the range `mixed` is empty by constants.
      const bool never = module.kernels[0].roles.size() > 1 && kernel::print(*statement).find("x[r,j] = where(") == 0;
      EXPECT_TRUE(!has_own || never || std::count(code.lines.begin(), code.lines.end(), line) > 0) << kernel::print(*statement);
    }
  }
}

const char* two_workspaces = R"(
dim M = 64
module twice(x: f32[M,32]) -> (y: f32[M,32]) {
  require x % 16 == 0 else unsupported
  workspace first: f32[M,32]
  workspace second: f32[M,32]
  kernel begin {
    work i in 0:M grid
    axis j = j:32
    role all warps 1 {
      for i in work {
        v[j] = x[i,j] else 0
        first[i,j] = v[j] + v[j]
        second[i,j] = v[j]
      } } }
  kernel finish after begin {
    work i in 0:M grid
    axis j = j:32
    role all warps 1 {
      for i in work {
        a[j] = first[i,j] else 0
        b[j] = second[i,j] else 0
        y[i,j] = a[j] + b[j]
      } } } })";

TEST(Cuda, the_launcher_gives_back_what_it_took) {
  const auto module = lang::parse_kernel(two_workspaces);
  ASSERT_TRUE(module);
  const std::string text = cuda_of(*module, "sm_80").text;
  const auto count = [&text](const std::string& piece) {
    int found = 0;
    for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("cudaMallocAsync("), 2);
  EXPECT_EQ(count("cudaFreeAsync(first, on);"), 2) << "behind the last kernel, and where there is no memory for the second";
  EXPECT_EQ(count("cudaFreeAsync(second, on);"), 1);
  EXPECT_EQ(text.find("unsupported"), std::string::npos) << "no plan has that name";
}

TEST(Cuda, accesses_are_wide_only_where_the_whole_contract_says_so) {
  const auto wide = [](const std::string& contract) {
    const auto module =
        lang::parse_kernel("dim M = 8, N = runtime 64\nmodule copied(x: f32[M,N]) -> (y: f32[M,N]) {\n  require " + contract +
                           R"( else unsupported
  kernel rows {
    work i in 0:M grid
    axis j = l:32, e:4
    role all warps 1 {
      for i in work {
        v[j] = x[i,j] else 0
        y[i,j] = v[j] + 1
      } } } })");
    EXPECT_TRUE(module) << contract;
    return module && cuda_of(*module, "sm_80").text.find("load_vector") != std::string::npos;
  };
  EXPECT_TRUE(wide("x % 16 == 0 and N % 4 == 0 and N <= 128"));
  EXPECT_FALSE(wide("x % 16 == 0 and (N % 4 == 0 or N <= 128)"));
  EXPECT_FALSE(wide("(x % 16 == 0 or N <= 128) and N % 4 == 0"));
  EXPECT_FALSE(wide("x % 16 == 0 and N % 4 == 2"));
  EXPECT_FALSE(wide("x % 8 == 0 and N % 4 == 0"));
}

/// The compiler's words; empty where it took the file without a spilled register.
std::string compiled(const std::string& source, const std::string& architecture) {
  const std::string log = source + ".log";
  const std::string command =
      "nvcc -std=c++17 -arch=" + architecture + " -cubin -Xptxas -v -o " + source + ".cubin " + source + " > " + log + " 2>&1";
  const bool took = std::system(command.c_str()) == 0;
  const std::string words = test::read_file(log);
  const bool spills = words.find(" bytes spill stores") != std::string::npos && words.find(" 0 bytes spill stores") == std::string::npos;
  return took && !spills ? "" : words;
}

TEST(Cuda, the_compiler_takes_it) {
  if (std::system("nvcc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "nvcc is not installed";
  const std::array<const char*, 4> architectures = {"sm_80", "sm_89", "sm_120", "sm_90a"};
  for (std::size_t i = 0; i < texts.size(); ++i) {  // another architecture for each; tests/device/make.sh and nvcc do all of all
    const std::string source = std::string(FATHOM_BINARY_DIR) + "/taken_" + texts[i] + ".cu";
    std::ofstream(source) << cuda_of(module_of(texts[i]), target_of(texts[i])).text;
    const std::string words = compiled(source, architectures[i]);
    if (std::string(texts[i]).find("sm90a") == std::string::npos) {
      EXPECT_EQ(words, "") << texts[i];
      continue;
    }
    // Roles give each other registers: what spills is outside of the loop (tests/device measures); products must not be serialised.
    EXPECT_TRUE(words.empty() || words.find("bytes spill stores") != std::string::npos) << words;
    for (const char* bad : {"C7510", "C7511", "C7512", "C7513", "C7514", "error", "warning"})
      EXPECT_EQ(words.find(bad), std::string::npos) << texts[i] << ": " << words;
  }
}

}  // namespace
}  // namespace fathom
