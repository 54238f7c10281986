// check: every step on many shapes and data families.  export: the report, the trace.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "command.hpp"
#include "parallel.hpp"
#include "session/exports.hpp"
#include "text.hpp"

namespace fathom::cli {
namespace {

std::string shape_text(const DimValues& shape) {
  std::string text;
  for (const auto& [name, value] : shape) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name.text(), value);
  return text;
}

/// Refusals come before the checks, which take longer.
int export_folder(const Arguments& arguments, const session::ExportKind& kind, const session::Compilation& compilation) {
  if (arguments.output.empty() || arguments.output == "-")
    return fail(misuse,
                fmt::format("fathom export: --as {} writes a folder: -o {}{}", kind.id, compilation.program.name.text(), kind.ending));
  if (const auto files = kind.files(compilation); !files)
    return fail(wrong, fmt::format("fathom export: {} {}", files.error().reason, files.error().hint));
  session::Compilation checked = compilation;
  if (!arguments.quick) session::check_steps(checked, {.for_each = in_parallel});
  const auto files = kind.files(checked);
  std::error_code error;
  const std::filesystem::path folder = arguments.output;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(misuse, fmt::format("fathom export: the folder {} cannot be made: {}", folder.string(), error.message()));
  for (const session::ExportFile& file : *files) {
    Arguments one = arguments;
    one.output = folder / file.name;
    if (const int written = write_output(one, file.text); written != done) return written;
  }
  const bool any_failed = std::any_of(checked.record.steps.begin(), checked.record.steps.end(),
                                      [](const Step& step) { return step.check.status == CheckStatus::failed; });
  return any_failed ? fail(wrong, "fathom export: steps failed their check; checks.md says which.") : done;
}

}  // namespace

int check(const Arguments& arguments) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  session::Compilation checked = *compilation;
  session::check_steps(checked, {.for_each = in_parallel});
  int failed = 0, inconclusive = 0;
  std::size_t cases = 0;
  std::vector<std::vector<std::string>> rows{{"step", "level", "cases", "status", "max error", "bound", "note"}};
  for (const Step& step : checked.record.steps) {
    cases += step.check.cases.size();
    for (const CheckCase& one : step.check.cases) {
      failed += one.status == CheckStatus::failed ? 1 : 0;
      inconclusive += one.status == CheckStatus::inconclusive ? 1 : 0;
      if (one.status == CheckStatus::failed && failed <= 20 && !arguments.json)
        fmt::print(stderr, "failed: {} at {} on {} data: {}\n", one.step, shape_text(one.shape), one.family, one.detail);
    }
    rows.push_back({step.id, std::string(name(step.level)), fmt::format("{}", step.check.cases.size()),
                    std::string(name(step.check.status)), error(step.check.max_error), error(step.check.bound), step.check.reason});
  }
  std::string summary = fmt::format("\n{} failed, {} inconclusive of {} cases\n", failed, inconclusive, cases);
  if (inconclusive > 0)
    summary +=
        "A case is inconclusive if the reference cannot say what is right for more than 2 % of its elements; a step, if that holds for all "
        "of its cases together.\n";
  const std::string text = arguments.json ? session::checks_json(checked) : table(rows) + summary;
  if (const int written = write_output(arguments, text); written != done) return written;
  if (cases == 0) return fail(wrong, "fathom check: nothing was checked. " + checked.record.steps.front().check.reason);
  return failed > 0 ? wrong : done;
}

int export_to(const Arguments& arguments) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  const session::ExportKind* kind = session::export_kind_named(arguments.format.empty() ? "html" : arguments.format);
  if (kind == nullptr)
    return fail(misuse, fmt::format("fathom export: --as {}: choose {}", arguments.format, session::export_kind_words()));
  if (kind->files != nullptr) return export_folder(arguments, *kind, *compilation);
  if (!kind->shows_checks) return write_output(arguments, kind->text(*compilation));
  if (arguments.output.empty() && isatty(STDOUT_FILENO) != 0)
    return fail(misuse, fmt::format("fathom export: a page belongs in a file: -o {}.html", compilation->program.name.text()));
  session::Compilation checked = *compilation;
  if (!arguments.quick) session::check_steps(checked, {.for_each = in_parallel});
  return write_output(arguments, kind->text(checked));
}

}  // namespace fathom::cli
