// compile: the program at a level, or what a back end makes of the last one.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "execute.hpp"
#include "nvcc.hpp"
#include "session/device_code.hpp"
#include "text.hpp"

namespace fathom::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The last step whose result is read at the level.
const Step* last_step_at(const session::Compilation& compilation, Level level) {
  const Step* found = nullptr;
  for (const Step& step : compilation.record.steps)
    if (step.after.level == level) found = &step;
  return found;
}

/// The text with a comment for every refuted repair in it.
std::string marked(const session::Compilation& compilation, std::string_view comment, const std::string& text) {
  std::string marks;
  for (const std::string& choice : unsound_choices(compilation))
    marks += fmt::format("{} UNSOUND: {}, which is not derived\n", comment, choice);
  return marks + text;
}

int refused(const Refusal& why) {
  const bool is_missing = why.nodes == std::vector<std::string>{"missing"};
  return fail(is_missing ? misuse : wrong, fmt::format("fathom compile: {} {}", why.reason, why.hint));
}

Json kernels_json(const session::PtxasReport& report, const session::DeviceCode& code) {
  Json kernels = Json::array();
  for (const session::PtxasKernel& kernel : report.kernels) {
    const auto launched =
        std::find_if(code.kernels.begin(), code.kernels.end(), [&](const session::DeviceKernel& each) { return each.name == kernel.name; });
    const bool is_known = launched != code.kernels.end();
    kernels.push_back({{"name", kernel.name},
                       {"architecture", kernel.architecture},
                       {"registers", kernel.registers},
                       {"stack_bytes", kernel.stack_bytes},
                       {"spill_store_bytes", kernel.spill_store_bytes},
                       {"spill_load_bytes", kernel.spill_load_bytes},
                       {"static_shared_bytes", kernel.static_shared_bytes},
                       {"dynamic_shared_bytes", is_known ? Json(launched->dynamic_shared_bytes) : Json(nullptr)},
                       {"threads", is_known ? Json(launched->threads) : Json(nullptr)}});
  }
  return kernels;
}

std::string assembly_json(const Arguments& arguments, const session::DeviceCode& code, const GpuAssembly& made, const std::string& text) {
  Json faults = Json::array();
  for (const session::PtxasFault& fault : made.report->faults) faults.push_back({{"code", fault.code}, {"sentence", fault.sentence}});
  const Json document{{"level", arguments.emit}, {"form", made.form}, {"maker", made.maker}, {"kernels", kernels_json(*made.report, code)},
                      {"faults", faults},        {"text", text}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int emit_gpu_assembly(const Arguments& arguments, const session::Compilation& compilation, const session::DeviceCode& code) {
  const AssemblyForm form = arguments.emit == "ptx"    ? AssemblyForm::ptx
                            : arguments.emit == "sass" ? AssemblyForm::sass
                                                       : AssemblyForm::nearest;
  const auto made = assemble(code, compilation.target, form, arguments.json);
  if (!made) return refused(made.error());
  if (form == AssemblyForm::nearest) {
    const char* other =
        made->form == "sass" ? "--emit ptx gives PTX" : "for SASS put cuobjdump or nvdisasm of the CUDA toolkit beside nvcc or on the PATH";
    fmt::print(stderr, "{} for {}, made by {}; {}\n", made->form == "sass" ? "SASS" : "PTX", compilation.target.name.text(), made->maker,
               other);
  }
  const std::string text = marked(compilation, "//", made->text);
  const int written = write_output(arguments, arguments.json ? assembly_json(arguments, code, *made, text) : text);
  if (written != done || !made->report) return written;
  for (const session::PtxasFault& fault : made->report->faults)
    fmt::print(stderr, "fathom compile: ptxas {}: {}\n", fault.code, fault.sentence);
  return made->report->faults.empty() ? done : wrong;
}

/// What a back end makes of the last level.
int emit_code(const Arguments& arguments, const session::Compilation& compilation) {
  if (session::prints_device_code(compilation.target)) {
    const std::string& target = compilation.target.name.text();
    if (compilation.target.code == "hip" && arguments.emit != "code")
      return fail(wrong,
                  fmt::format("fathom compile: --emit {}: the assembly of {} is made by clang: fathom compile FILE --target {} --emit "
                              "code -o kernel.hip, then the command in its head with -S",
                              arguments.emit, target, target));
    const auto code = session::device_code(compilation);
    if (!code) return refused(code.error());
    if (arguments.emit != "code") return emit_gpu_assembly(arguments, compilation, *code);
    const std::string text = marked(compilation, "//", code->text);
    return write_output(arguments, arguments.json ? json_object({{"level", arguments.emit}, {"text", text}}) : text);
  }
  if (arguments.emit == "ptx" || arguments.emit == "sass")
    return fail(misuse, fmt::format("fathom compile: --emit {} is for targets like sm_80; for {} choose --emit asm", arguments.emit,
                                    compilation.target.name.text()));
  const auto program = compile_for_cpu(compilation);
  if (!program) return refused(program.error());
  const std::string text =
      arguments.emit == "asm" ? marked(compilation, "#", program->assembly()) : marked(compilation, ";", program->llvm_ir());
  return write_output(arguments, arguments.json ? json_object({{"level", arguments.emit}, {"text", text}}) : text);
}

}  // namespace

int compile(const Arguments& arguments) {
  const std::string emit = arguments.emit.empty() ? "kernel" : arguments.emit;
  const bool code = emit == "code" || emit == "asm" || emit == "ptx" || emit == "sass";
  const auto level = level_named(emit);
  if (!level && !code)
    return fail(misuse,
                fmt::format("fathom compile: --emit {}: choose math, loop, tile, kernel, code or asm (or ptx or sass, for GPUs)", emit));
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  if (code) return emit_code(arguments, *compilation);
  const Step* step = last_step_at(*compilation, *level);
  if (step == nullptr)
    return fail(wrong, fmt::format("fathom compile: no step reaches the {} level on {}.", emit, compilation->target.name.text()));
  const std::string text = marked(*compilation, "#", print(step->after));
  return write_output(arguments, arguments.json ? json_object({{"level", emit}, {"text", text}}) : text);
}

}  // namespace fathom::cli
