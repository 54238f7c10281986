#include "platform/cpu_code.hpp"

#include <fmt/format.h>

#include <iterator>
#include <sstream>

#include "codegen/cpu/loader.hpp"
#include "ir/kernel.hpp"

namespace fathom::ui {
namespace {

std::string taken(const fathom_cpu_api& api, char* text) {
  if (text == nullptr) return {};
  std::string copy = text;
  api.free_text(text);
  return copy;
}

std::vector<int> numbers(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<int>(in), {}};
}

}  // namespace

Result<CodeText> cpu_code(const kernel::Module& module) {
  const auto plugin = cpu::load_plugin();
  if (!plugin) return tl::unexpected<Refusal>(plugin.error());
  const fathom_cpu_api& api = **plugin;
  char* error = nullptr;
  fathom_cpu_module* compiled = api.compile(print(module).c_str(), &error);
  if (compiled == nullptr) return refuse(taken(api, error));
  CodeText text{fmt::format("LLVM, passes at -O3, code generation for -mcpu={}, {} lanes of f32", api.host_cpu(), api.vector_lanes()),
                {taken(api, api.assembly(compiled)), numbers(taken(api, api.assembly_lines(compiled)))},
                {taken(api, api.llvm_ir(compiled)), numbers(taken(api, api.llvm_ir_lines(compiled)))}};
  api.free_module(compiled);
  return text;
}

}  // namespace fathom::ui
