// Kernels of the example texts as CUDA C++.
#include <gtest/gtest.h>

#include <fstream>

#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/print_cuda.hpp"
#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

std::string cuda_of(const std::string& name, const char* target) {
  const auto module = lang::parse_kernel(test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel")));
  if (!module) {
    ADD_FAILURE() << name;
    return {};
  }
  const auto made = gpu::lower(*module, *target_named(target));
  if (made) return gpu::print_cuda(*made, *module).text;
  ADD_FAILURE() << name << ": " << made.error().reason << " " << made.error().hint;
  return {};
}

TEST(Cuda, rows_are_printed) {
  for (const char* name : {"softmax_rows", "layernorm", "attention_sm80"}) {
    const std::string text = cuda_of(name, "sm_80");
    std::ofstream(std::string(FATHOM_BINARY_DIR) + "/" + name + ".cu") << text;
    EXPECT_NE(text.find("__global__"), std::string::npos);
  }
}

}  // namespace
}  // namespace fathom
