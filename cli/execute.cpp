// Commands that run code on this machine: run, time, demo; and compile --emit code|asm for it.
#include "execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "against.hpp"
#include "device.hpp"
#include "memory.hpp"
#include "text.hpp"
#include "verify.hpp"

namespace fathom::cli {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::vector<std::int64_t>> shape_of(const std::vector<Expr>& extents, const DimValues& dims) {
  std::vector<std::int64_t> shape;
  for (const Expr extent : extents) {
    const auto value = evaluate_integer(extent, dims);
    if (!value || *value < 0) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

/// The axes in the order in which the parameter is stored: `stored` names each extent once.
std::vector<std::size_t> storage_order(const math::Parameter& parameter) {
  std::vector<std::size_t> order;
  for (const Symbol name : parameter.stored) {
    const auto axis = std::find(parameter.extents.begin(), parameter.extents.end(), dim(name));
    order.push_back(static_cast<std::size_t>(axis - parameter.extents.begin()));
  }
  return order;
}

int report(const Arguments& arguments, const session::Compilation& compilation, const Execution& execution) {
  const Verdict& verdict = execution.verdict;
  const Timing& timing = execution.timing;
  const std::string dims = dims_text(compilation);
  const int threads = threads_used(arguments.threads);
  int written = done;
  if (arguments.json) {
    Json conditions = conditions_of(compilation, arguments.threads, verdict);
    conditions["compile_ms"] = execution.compile_ms;
    Json document{{"status", status_word(verdict.status)},
                  {"device", "cpu"},
                  {"max_error", verdict.worst.error},
                  {"bound", verdict.worst.bound},
                  {"cold_ms", timing.cold_ms},
                  {"warm_ms", timing.warm_ms},
                  {"p20", timing.p20},
                  {"p80", timing.p80},
                  {"n", timing.n},
                  {"conditions", conditions}};
    if (!verdict.detail.empty()) document["detail"] = verdict.detail;
    if (!unsound_choices(compilation).empty()) document["unsound"] = true;
    written = write_output(arguments, document.dump(2) + "\n");
  } else {
    written = write_output(
        arguments, fmt::format("{} on this machine's CPU, {} thread{}   {}\n"
                               "result   {}: max error {}, allowed {} ({} elements in {} of {} rows against the reference){}\n"
                               "time     {} (median of {}; 20th to 80th percentile {} to {}), first launch {}\n"
                               "compiled in {}\n",
                               compilation.program.name.text(), threads, threads == 1 ? "" : "s", dims, status_word(verdict.status),
                               error(verdict.worst.error), error(verdict.worst.bound), verdict.elements, verdict.rows, verdict.of,
                               verdict.detail.empty() ? "" : "\n         " + verdict.detail, milliseconds_text(timing.warm_ms), timing.n,
                               milliseconds_text(timing.p20), milliseconds_text(timing.p80), milliseconds_text(timing.cold_ms),
                               milliseconds_text(execution.compile_ms)));
  }
  if (written != done) return written;
  return verdict.status == CheckStatus::passed ? done : wrong;
}

int execute_command(const Arguments& arguments, double seconds, int most) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  auto execution = execute(*compilation, arguments.threads, seconds, most);
  if (!execution) return report_refusal(arguments, execution.error());
  return report(arguments, *compilation, *execution);
}

}  // namespace

Result<LaunchArguments> make_arguments(const math::Program& program, const interp::Arrays& inputs, const DimValues& dims, int threads) {
  LaunchArguments arguments;
  arguments.threads = threads;
  for (const auto* list : {&program.params, &program.results})
    for (const math::Parameter& parameter : *list) {
      const auto shape = shape_of(parameter.extents, dims);
      if (!shape) return refuse(fmt::format("The extents of `{}` have no value at these dimensions.", parameter.name.text()));
      arguments.arrays.emplace_back(parameter.dtype, *shape, storage_order(parameter));
      if (const auto found = inputs.find(parameter.name); list == &program.params && found != inputs.end())
        arguments.arrays.back().write(found->second.data);
    }
  for (const math::Dimension& each : program.dims)
    if (each.runtime) arguments.dims.push_back(dims.at(each.name));
  return arguments;
}

std::string status_word(CheckStatus status) {
  return status == CheckStatus::passed ? "ok" : status == CheckStatus::failed ? "wrong_result" : std::string(name(status));
}

std::string dims_text(const session::Compilation& compilation) {
  std::string dims;
  for (const auto& [dimension, value] : default_dims(compilation.program))
    dims += fmt::format("{}{}={}", dims.empty() ? "" : " ", dimension.text(), value);
  return dims;
}

int threads_used(int asked) { return asked > 0 ? asked : static_cast<int>(std::thread::hardware_concurrency()); }

Json conditions_of(const session::Compilation& compilation, int threads, const Verdict& verdict) {
  return {{"target", compilation.target.name.text()}, {"threads", threads_used(threads)}, {"dims", dims_text(compilation)},
          {"checked_elements", verdict.elements},     {"checked_rows", verdict.rows},     {"rows", verdict.of}};
}

int report_refusal(const Arguments& arguments, const Refusal& refusal) {
  const std::string text = fmt::format("{} {}", refusal.reason, refusal.hint);
  const bool too_large = refusal.nodes == std::vector<std::string>{resource_limit};
  if (too_large && arguments.json) {
    const Json document{{"status", resource_limit}, {"device", "cpu"}, {"detail", text}};
    if (const int written = write_output(arguments, document.dump(2) + "\n"); written != done) return written;
  }
  return fail(refusal.nodes == std::vector<std::string>{"missing"} ? misuse : wrong, "fathom: " + text);
}

Result<CpuProgram> compile_for_cpu(const session::Compilation& compilation) {
  const Ir& ir = compilation.final_ir();
  if (ir.level != Level::kernel)
    return refuse(fmt::format("The plan for {} stops at the {} level.", compilation.target.name.text(), name(ir.level)), {},
                  "Leave --target out to compile for this machine; `fathom check` runs any plan in the interpreter.");
  if (!compilation.target.runs_here)
    return refuse(fmt::format("A kernel for {} does not run on this machine.", compilation.target.name.text()), {},
                  "Leave --target out to compile for this machine; `fathom check` runs any plan in the interpreter.");
  return CpuProgram::compile(ir.module());
}

Result<Execution> execute(const session::Compilation& compilation, int threads, double seconds, int most) {
  const math::Program& program = compilation.program;
  const DimValues dims = default_dims(program);
  auto compiled = compile_for_cpu(compilation);
  if (!compiled) return tl::unexpected<Refusal>(compiled.error());
  if (auto fits = fits_in_memory(program, compilation.final_ir().module(), dims); !fits) return tl::unexpected<Refusal>(fits.error());
  const interp::Arrays inputs = interp::make_inputs(program, dims, data_family, data_seed);
  auto arguments = make_arguments(program, inputs, dims, threads);
  if (!arguments) return tl::unexpected<Refusal>(arguments.error());
  auto timing = compiled->time(*arguments, seconds, most);
  if (!timing) return tl::unexpected<Refusal>(timing.error());
  auto verdict = verify(compilation, inputs, dims, *arguments);
  if (!verdict) return tl::unexpected<Refusal>(verdict.error());
  return Execution{*std::move(verdict), *timing, compiled->compile_ms()};
}

int run(const Arguments& arguments) { return execute_command(arguments, 0.5, 10); }
int time(const Arguments& arguments) { return arguments.against.empty() ? execute_command(arguments, 5, 200) : time_against(arguments); }

}  // namespace fathom::cli
