// Commands that run code on this machine: run, time, demo; and compile --emit code|asm.
#include "execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "device.hpp"
#include "text.hpp"

namespace fathom::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t checked_positions = 8;  // along the longest outer axis of a result
constexpr std::uint64_t data_seed = 20;

std::optional<std::vector<std::int64_t>> shape_of(const std::vector<Expr>& extents, const DimValues& dims) {
  std::vector<std::int64_t> shape;
  for (const Expr extent : extents) {
    const auto value = evaluate_integer(extent, dims);
    if (!value || *value < 0) return std::nullopt;
    shape.push_back(*value);
  }
  return shape;
}

Result<LaunchArguments> make_arguments(const math::Program& program, const interp::Arrays& inputs, const DimValues& dims, int threads) {
  LaunchArguments arguments;
  arguments.threads = threads;
  for (const auto* list : {&program.params, &program.results})
    for (const math::Parameter& parameter : *list) {
      const auto shape = shape_of(parameter.extents, dims);
      if (!shape) return refuse(fmt::format("The extents of `{}` have no value at these dimensions.", parameter.name.text()));
      arguments.arrays.emplace_back(parameter.dtype, *shape);
      if (const auto found = inputs.find(parameter.name); list == &program.params && found != inputs.end())
        arguments.arrays.back().write(found->second.data);
    }
  for (const math::Dimension& each : program.dims)
    if (each.runtime) arguments.dims.push_back(dims.at(each.name));
  return arguments;
}

using Rows = std::map<Symbol, std::pair<std::int64_t, std::int64_t>>;

/// Blocks of a result that are compared: both ends, the borders of common tiles and the middle of its longest outer axis; ends and middle
/// of the others; the last axis whole up to a limit. Small blocks one after another keep the reference's memory small at any size.
std::vector<Rows> checked_blocks(const math::Statement& result, const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t width = 4, last_axis_limit = 256;
  const auto clip = [](std::int64_t at, std::int64_t count, std::int64_t extent) {
    const std::int64_t lo = std::clamp<std::int64_t>(at, 0, std::max<std::int64_t>(extent - count, 0));
    return std::pair(lo, std::min(lo + count, extent));
  };
  const std::size_t outer = shape.size() > 1 ? shape.size() - 1 : shape.size();
  const auto longest =
      static_cast<std::size_t>(std::max_element(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(outer)) - shape.begin());
  std::vector<Rows> blocks;
  for (std::size_t k = 0; k < checked_positions; ++k) {
    Rows rows;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::int64_t extent = shape[axis];
      const std::int64_t starts[checked_positions] = {0, 46, 62, 126, extent / 3, extent / 2, extent - 2 * width, extent - width};
      const std::int64_t corners[] = {0, extent - 1, extent / 2};
      const bool whole = axis >= outer;
      rows[result.axes[axis].index] = whole             ? clip(0, last_axis_limit, extent)
                                      : axis == longest ? clip(starts[k], width, extent)
                                                        : clip(corners[(k + axis) % 3], 1, extent);
    }
    if (std::find(blocks.begin(), blocks.end(), rows) == blocks.end()) blocks.push_back(std::move(rows));
  }
  return blocks;
}

/// The block of the array that starts at `first` and has the shape, in row-major order.
interp::Array block_of(const DeviceArray& array, DType dtype, const std::vector<std::int64_t>& first,
                       const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : offsets)
      for (std::int64_t at = 0; at < shape[axis]; ++at) next.push_back(offset * array.shape()[axis] + first[axis] + at);
    offsets = std::move(next);
  }
  interp::Array part{dtype, shape, {}};
  for (const std::int64_t offset : offsets) part.data.push_back(array.at(offset));
  return part;
}

struct Verdict {
  CheckStatus status = CheckStatus::passed;
  double max_error = 0, bound = 0;
  std::int64_t elements = 0;
  std::string detail;
};

Result<Verdict> verify(const math::Program& program, const interp::Arrays& inputs, const DimValues& dims,
                       const LaunchArguments& arguments) {
  Verdict verdict;
  double worst = -1;
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    const math::Parameter& result = program.results[i];
    const DeviceArray& array = arguments.arrays[program.params.size() + i];
    if (!array.guards_intact()) {
      verdict.status = CheckStatus::failed;
      verdict.detail = fmt::format("the kernel wrote outside `{}`", result.name.text());
      return verdict;
    }
    if (array.size() == 0) continue;
    for (const Rows& rows : checked_blocks(*program.find(result.name), array.shape())) {
      interp::BoundOptions options;
      options.rows = rows;
      auto expected = interp::reference(program, inputs, dims, options);
      if (!expected) return tl::unexpected<Refusal>(expected.error());
      const interp::Bounded& block = expected->at(result.name);
      const CheckCase one = interp::compare(block_of(array, result.dtype, block.first, block.shape), block, result.dtype, -1);
      verdict.elements += static_cast<std::int64_t>(block.value.size());
      const double ratio = one.bound > 0 ? one.max_error / one.bound : one.max_error;
      if (!(ratio <= worst)) {
        worst = ratio;
        verdict.max_error = one.max_error;
        verdict.bound = one.bound;
      }
      if (one.status == CheckStatus::failed || (one.status == CheckStatus::inconclusive && verdict.status == CheckStatus::passed)) {
        verdict.status = one.status;
        verdict.detail = one.detail;
      }
    }
  }
  for (std::size_t i = 0; i < program.params.size(); ++i)
    if (!arguments.arrays[i].guards_intact()) {
      verdict.status = CheckStatus::failed;
      verdict.detail = fmt::format("the kernel wrote outside `{}`", program.params[i].name.text());
    }
  return verdict;
}

std::string status_word(CheckStatus status) {
  return status == CheckStatus::passed ? "ok" : status == CheckStatus::failed ? "wrong_result" : std::string(name(status));
}

int report(const Arguments& arguments, const session::Compilation& compilation, const Execution& execution) {
  const Verdict verdict{execution.status, execution.max_error, execution.bound, execution.checked_elements, execution.detail};
  const Timing& timing = execution.timing;
  std::string dims;
  for (const auto& [dimension, value] : default_dims(compilation.program))
    dims += fmt::format("{}{}={}", dims.empty() ? "" : " ", dimension.text(), value);
  const int threads = arguments.threads > 0 ? arguments.threads : static_cast<int>(std::thread::hardware_concurrency());
  if (arguments.json) {
    Json conditions{{"target", compilation.target.name.text()},
                    {"threads", threads},
                    {"dims", dims},
                    {"checked_elements", verdict.elements},
                    {"compile_ms", execution.compile_ms}};
    Json document{{"status", status_word(verdict.status)},
                  {"device", "cpu"},
                  {"max_error", verdict.max_error},
                  {"bound", verdict.bound},
                  {"cold_ms", timing.cold_ms},
                  {"warm_ms", timing.warm_ms},
                  {"p20", timing.p20},
                  {"p80", timing.p80},
                  {"n", timing.n},
                  {"conditions", conditions}};
    if (!verdict.detail.empty()) document["detail"] = verdict.detail;
    (void)write_output(arguments, document.dump(2) + "\n");
  } else {
    (void)write_output(
        arguments, fmt::format("{} on this machine's CPU, {} threads   {}\n"
                               "result   {}: max error {}, allowed {} ({} elements against the reference){}\n"
                               "time     {} (median of {}; 20th to 80th percentile {} to {}), first launch {}\n"
                               "compiled in {}\n",
                               compilation.program.name.text(), threads, dims, status_word(verdict.status), error(verdict.max_error),
                               error(verdict.bound), verdict.elements, verdict.detail.empty() ? "" : "\n         " + verdict.detail,
                               milliseconds_text(timing.warm_ms), timing.n, milliseconds_text(timing.p20), milliseconds_text(timing.p80),
                               milliseconds_text(timing.cold_ms), milliseconds_text(execution.compile_ms)));
  }
  return verdict.status == CheckStatus::passed ? done : wrong;
}

int execute_command(const Arguments& arguments, double seconds, int most) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  auto execution = execute(*compilation, arguments.threads, seconds, most);
  if (!execution)
    return fail(execution.error().nodes == std::vector<std::string>{"missing"} ? misuse : wrong,
                fmt::format("fathom: {} {}", execution.error().reason, execution.error().hint));
  return report(arguments, *compilation, *execution);
}

}  // namespace

Result<CpuProgram> compile_for_cpu(const session::Compilation& compilation) {
  const Ir& ir = compilation.final_ir();
  if (ir.level != Level::kernel)
    return refuse(fmt::format("The plan for {} stops at the {} level.", compilation.target.name.text(), name(ir.level)), {},
                  "Leave --target out to compile for this machine.");
  if (!compilation.target.runs_here)
    return refuse(fmt::format("{} does not run on this machine.", compilation.target.title), {},
                  "Leave --target out to compile for this machine.");
  return CpuProgram::compile(ir.module());
}

Result<Execution> execute(const session::Compilation& compilation, int threads, double seconds, int most) {
  const math::Program& program = compilation.program;
  const DimValues dims = default_dims(program);
  auto compiled = compile_for_cpu(compilation);
  if (!compiled) return tl::unexpected<Refusal>(compiled.error());
  const interp::Arrays inputs = interp::make_inputs(program, dims, "gaussian", data_seed);
  auto arguments = make_arguments(program, inputs, dims, threads);
  if (!arguments) return tl::unexpected<Refusal>(arguments.error());
  auto timing = compiled->time(*arguments, seconds, most);
  if (!timing) return tl::unexpected<Refusal>(timing.error());
  auto verdict = verify(program, inputs, dims, *arguments);
  if (!verdict) return tl::unexpected<Refusal>(verdict.error());
  return Execution{verdict->status, verdict->max_error,    verdict->bound, verdict->elements, verdict->detail,
                   *timing,         compiled->compile_ms()};
}

int run(const Arguments& arguments) { return execute_command(arguments, 0.5, 10); }
int time(const Arguments& arguments) { return execute_command(arguments, 5, 200); }

}  // namespace fathom::cli
