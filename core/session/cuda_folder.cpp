#include "session/cuda_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/embedded_text.hpp"
#include "session/device_code.hpp"
#include "session/numpy_reference.hpp"

extern const EmbeddedText cuda_scripts[];
extern const unsigned cuda_scripts_count;

namespace fathom::session {
namespace {

const std::string& name_of(const Compilation& compilation) { return compilation.program.name.text(); }

/// The arguments that make the same plan of program.fathom and plan.trace.
std::string options_text(const Compilation& compilation) {
  const Inputs& inputs = compilation.inputs;
  std::string text = fmt::format("program.fathom:{} --target {}", name_of(compilation), compilation.target.name.text());
  for (const auto& [name, size] : inputs.dims) text += fmt::format(" --dim {}={}", name, size);
  text += fmt::format(" --precision {}", passes::name(inputs.options.precision));
  if (inputs.options.deterministic_batch) text += " --deterministic batch";
  if (inputs.options.unsound) text += " --unsound";
  return text + " --trace plan.trace";
}

std::string unsound_marks(const Compilation& compilation, std::string_view before) {
  std::string marks;
  for (const Decision& decision : compilation.record.decisions)
    if (decision.unsound) marks += fmt::format("{}UNSOUND: {} = {}, which is not derived\n", before, decision.site, decision.choice);
  return marks;
}

const math::Program* opened_mathematics(const Compilation& compilation) {
  for (const Step& step : compilation.record.steps)
    if (step.pass == "open-prelude") return &step.after.math();
  return nullptr;
}

/// Half a unit in the last place of the narrowest type that values pass through, times what sums and functions add to it: twice what the
/// samples in tests/device need.
double tolerance_of(const Compilation& compilation) {
  double roundoff = 0;
  const auto add = [&](DType dtype) {
    if (is_float(dtype)) roundoff = std::max(roundoff, float_range(dtype).unit_roundoff);
  };
  for (const auto* list : {&compilation.program.params, &compilation.program.results})
    for (const math::Parameter& p : *list)
      if (list == &compilation.program.results || !p.extents.empty()) add(p.dtype);
  add(DType::f32);  // what kernels compute in
  for (const Decision& decision : compilation.record.decisions)
    if (decision.kind == "precision")
      if (const auto dtype = dtype_named(decision.choice)) add(*dtype);
  constexpr double of_f32 = 2e-5, units = 8;
  return std::max(of_f32, units * roundoff);
}

std::string error_text(std::optional<double> number) { return number ? fmt::format("{:.1e}", *number) : ""; }

/// In a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string checks_text(const Compilation& compilation) {
  std::string text = fmt::format(
      "# Checks of the plan of {}\n\nEach step of the lowering, run by Fathom's interpreter on small shapes of the same plan and on data "
      "that is "
      "meant to break it, against a reference with an error bound. That is no proof, and no run of kernel.cu: test.py does that.\n\n"
      "| step | level | cases | status | largest error | allowed | note |\n|---|---|---|---|---|---|---|\n",
      name_of(compilation));
  for (const Step& step : compilation.record.steps)
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", cell(step.id), name(step.level), step.check.cases.size(),
                        step.check.status == CheckStatus::pending ? "not checked" : name(step.check.status),
                        error_text(step.check.max_error), error_text(step.check.bound), cell(step.check.reason));
  return text;
}

std::string summary_of_checks(const Compilation& compilation) {
  const auto count = [&](CheckStatus status) {
    const auto& steps = compilation.record.steps;
    return std::count_if(steps.begin(), steps.end(), [&](const Step& step) { return step.check.status == status; });
  };
  if (count(CheckStatus::pending) > 0) return "The steps were not checked";
  return fmt::format("Of {} steps {} passed their check, {} failed, {} are inconclusive, {} had nothing to check",
                     compilation.record.steps.size(), count(CheckStatus::passed), count(CheckStatus::failed),
                     count(CheckStatus::inconclusive), count(CheckStatus::skipped));
}

std::string arguments_table(const Compilation& compilation) {
  std::string text = "| argument | type | extents | |\n|---|---|---|---|\n";
  const math::Program& program = compilation.program;
  for (const auto* list : {&program.params, &program.results})
    for (const math::Parameter& p : *list) {
      std::string extents, stored;
      for (const Expr extent : p.extents) extents += (extents.empty() ? "" : ", ") + print(extent);
      for (const Symbol each : p.stored) stored += (stored.empty() ? "stored " : ", ") + each.text();
      const bool is_scalar = p.extents.empty() && list == &program.params;
      text += fmt::format("| {} | {} | {} | {}{} |\n", p.name.text(), name(p.dtype), is_scalar ? "scalar" : extents,
                          list == &program.results ? "result" : "", stored.empty() ? "" : (list == &program.results ? ", " : "") + stored);
    }
  return text;
}

std::string sizes_line(const math::Program& program) {
  std::string text;
  for (const math::Dimension& d : program.dims)
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", d.name.text(), d.runtime ? "given at run time, for example" : "=", d.value);
  return text.empty() ? "None." : text + ".";
}

std::string contract_text(const kernel::Module& module) {
  std::string text =
      "- Tensors lie as the table says, without gaps; strides count elements.\n"
      "- A result overlaps no other argument. No pointer is null, unless its tensor has no elements.\n";
  for (const kernel::Require& require : module.requires_)
    text += fmt::format("- `{}`, where a tensor's name stands for its address in bytes\n", print(require.condition));
  return text;
}

std::string kernels_table(const DeviceCode& code) {
  std::string text = "| kernel | threads of a workgroup | dynamic shared memory |\n|---|---|---|\n";
  for (const DeviceKernel& kernel : code.kernels)
    text += fmt::format("| {} | {} | {} bytes |\n", kernel.name, kernel.threads, kernel.dynamic_shared_bytes);
  return text;
}

std::string choices_table(const Compilation& compilation) {
  std::string text = "| site | choice | by | why |\n|---|---|---|---|\n";
  for (const Decision& decision : compilation.record.decisions)
    text +=
        fmt::format("| {} | {} | {} | {} |\n", cell(decision.site), cell(decision.choice), name(decision.origin), cell(decision.reason));
  return text;
}

std::string readme_of_use(const Compilation& compilation, const DeviceCode& code) {
  const std::string& target = compilation.target.name.text();
  return fmt::format(
      "## Build and call\n\n"
      "```\nnvcc -std=c++17 -arch={1} -shared -Xcompiler -fPIC -o kernel.so kernel.cu\n```\n\n"
      "makes a library with one function of C:\n\n"
      "```c\nstruct fathom_tensor {{ void* data; const long long* extents; const long long* strides; int rank; }};\n"
      "int {0}_launch(const fathom_tensor* arguments, int count, const long long* dims, int dim_count, void* stream, const char** "
      "error);\n```\n\n"
      "Arguments come in the order of the table above; `data` points to memory of the GPU, of a scalar (rank 0) to the host's. `dims` are "
      "the "
      "sizes given at run time, in declared order. `stream` is a cudaStream_t, null for the default one. It returns 0 without waiting for "
      "the "
      "kernels; or 1, and `error` says which part of the contract is not kept.\n\n"
      "NVRTC takes kernel.cu as it is (`--std=c++17 --gpu-architecture={1}`), without the launcher. Kernels are `extern \"C\"`; launch "
      "each with\n\n"
      "{2}\nand ask for dynamic shared memory beyond 48 KiB with cuFuncSetAttribute. The launcher in kernel.cu says how many workgroups, "
      "in which "
      "order, and what each kernel is given.\n\n"
      "## From Python\n\n"
      "launch.py builds and calls it with NumPy alone:\n\n"
      "```python\nimport launch\narguments, sizes = launch.inputs()   # random ones\n"
      "outputs = launch.Kernel(launch.Device()).run(arguments, sizes)\n```\n\n"
      "Tensors of PyTorch: call `{0}_launch` of kernel.so through ctypes with their `data_ptr()`, `shape` and `stride()`, and "
      "`torch.cuda.current_stream().cuda_stream`.\n\n"
      "## Test and time\n\n"
      "- `python3 test.py` compares rows of every result with reference.py (float64 on NumPy), allows {3:.1e} of 1 + |reference|, and "
      "wants the same "
      "bits from a second launch and nothing written beside the tensors. NaN where a number belongs fails.\n"
      "- `python3 bench.py` times launches with events of the GPU; its first lines say what is in the times.\n\n"
      "Both need NumPy and nvcc. Without a GPU that the kernel is for they say so and exit with 77.\n\n",
      name_of(compilation), target, kernels_table(code), tolerance_of(compilation));
}

std::string readme(const Compilation& compilation, const DeviceCode& code) {
  const math::Program& program = compilation.program;
  return fmt::format(
      "# {0} for {1}\n\n{2}A CUDA kernel made by Fathom. It computes\n\n```\n{3}```\n\n"
      "## The contract\n\n{4}\nSizes: {5}\n\n{6}\n{7}"
      "## How it was made\n\n"
      "{8}: checks.md. The plan is a trace of choices, plan.trace; Fathom makes the same kernel again with\n\n"
      "```\nfathom compile {9} --emit code\n```\n\n{10}",
      name_of(compilation), compilation.target.name.text(), unsound_marks(compilation, "**Warning.** "), print(program),
      arguments_table(compilation), sizes_line(program), contract_text(compilation.final_ir().module()), readme_of_use(compilation, code),
      summary_of_checks(compilation), options_text(compilation), choices_table(compilation));
}

std::string script(std::string_view name) {
  for (unsigned i = 0; i < cuda_scripts_count; ++i)
    if (cuda_scripts[i].name == name) return cuda_scripts[i].text;
  return {};
}

}  // namespace

Result<std::vector<ExportFile>> cuda_folder(const Compilation& compilation) {
  const std::string& its_target = compilation.target.name.text();
  if (compilation.target.code != "cuda")
    return refuse("No CUDA C++ is printed for " + its_target + ".", {its_target}, "Choose a target like sm_80 or sm_90a.");
  const auto code = device_code(compilation);
  if (!code) return tl::unexpected(code.error());
  const math::Program* opened = opened_mathematics(compilation);
  if (opened == nullptr) return refuse("The compilation has no opened program.");
  auto reference = numpy_reference(*opened, {compilation.target.name.text(), tolerance_of(compilation)});
  if (!reference) return tl::unexpected(reference.error());
  return std::vector<ExportFile>{{"kernel.cu", unsound_marks(compilation, "// ") + code->text},
                                 {"README.md", readme(compilation, *code)},
                                 {"program.fathom", compilation.inputs.source},
                                 {"plan.trace", print(compilation.record.trace)},
                                 {"checks.md", checks_text(compilation)},
                                 {"reference.py", *std::move(reference)},
                                 {"launch.py", script("launch")},
                                 {"test.py", script("test")},
                                 {"bench.py", script("bench")}};
}

}  // namespace fathom::session
