// The C interface: texts are malloc-ed, failures are strings, no exception leaves.
#include "codegen/cpu/plugin.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "codegen/cpu/runtime.hpp"

struct fathom_cpu_module {
  std::unique_ptr<fathom::cpu::Program> program;
};

namespace {

using namespace fathom;

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void set(char** error, const Refusal& refusal) {
  if (error == nullptr) return;
  *error = copy_of(refusal.hint.empty() ? refusal.reason : refusal.reason + " " + refusal.hint);
}

const char* host_cpu() { return cpu::host_description().c_str(); }

fathom_cpu_module* compile(const char* kernel_text, char** error) {
  try {
    auto program = cpu::compile_text(kernel_text);
    if (program) return new fathom_cpu_module{std::move(*program)};
    set(error, program.error());
  } catch (const std::exception& e) {
    set(error, {std::string("The CPU back end failed: ") + e.what(), {}, {}});
  }
  return nullptr;
}

int32_t run(const fathom_cpu_module* module, const fathom_tensor* arguments, int32_t count, const int64_t* dims, int32_t dim_count,
            int32_t threads, char** error) {
  try {
    const auto done =
        cpu::run(*module->program, {arguments, static_cast<std::size_t>(count)}, {dims, static_cast<std::size_t>(dim_count)}, threads);
    if (done) return 0;
    set(error, done.error());
  } catch (const std::exception& e) {
    set(error, {std::string("The launch failed: ") + e.what(), {}, {}});
  }
  return 1;
}

char* numbers(const std::vector<int>& lines) {
  std::string text;
  for (const int line : lines) text += (text.empty() ? "" : " ") + std::to_string(line);
  return copy_of(text);
}

char* llvm_ir(const fathom_cpu_module* module) { return copy_of(module->program->code.llvm_ir().text); }
char* assembly(const fathom_cpu_module* module) { return copy_of(module->program->code.assembly().text); }
char* llvm_ir_lines(const fathom_cpu_module* module) { return numbers(module->program->code.llvm_ir().lines); }
char* assembly_lines(const fathom_cpu_module* module) { return numbers(module->program->code.assembly().lines); }
void free_module(fathom_cpu_module* module) { delete module; }
void free_text(char* text) { std::free(text); }

}  // namespace

extern "C" __attribute__((visibility("default"))) const fathom_cpu_api* fathom_cpu_plugin(void) {
  static const fathom_cpu_api api = {FATHOM_CPU_ABI, host_cpu, cpu::host_lanes, compile,   llvm_ir,         assembly, llvm_ir_lines,
                                     assembly_lines, run,      free_module,     free_text, cpu::peak_gflops};
  return &api;
}
