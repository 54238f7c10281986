// Commands that read the record: steps, show, explain, decisions, diff, compile.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "command.hpp"
#include "execute.hpp"
#include "parallel.hpp"
#include "session/device_code.hpp"
#include "text.hpp"

namespace fathom::cli {
namespace {

const Step* find_step(const session::Compilation& compilation, const std::string& which) {
  const auto& all = compilation.record.steps;
  const auto by_id = std::find_if(all.begin(), all.end(), [&](const Step& step) { return step.id == which; });
  if (by_id != all.end()) return &*by_id;
  char* end = nullptr;
  const long number = std::strtol(which.c_str(), &end, 10);
  if (!which.empty() && *end == '\0' && number >= 0 && number < static_cast<long>(all.size()))
    return &all[static_cast<std::size_t>(number)];
  return nullptr;
}

std::string header(const session::Compilation& compilation) {
  std::string dims;
  for (const math::Dimension& each : compilation.program.dims)
    dims += fmt::format("{}{}={}{}", dims.empty() ? "" : " ", each.name.text(), each.value, each.runtime ? " (run time)" : "");
  return fmt::format("{} on {}   {}\n", compilation.program.name.text(), compilation.target.name.text(), dims);
}

/// The last step whose result is read at the level.
const Step* last_step_at(const session::Compilation& compilation, Level level) {
  const Step* found = nullptr;
  for (const Step& step : compilation.record.steps)
    if (step.after.level == level) found = &step;
  return found;
}

std::string explain_one(const Fusion& fusion) {
  std::string producers;
  for (const Symbol producer : fusion.producers) producers += (producers.empty() ? "" : ", ") + producer.text();
  std::string text = fmt::format("{}{}{}\n", fusion.consumer.text(), producers.empty() ? "" : "  reads " + producers,
                                 fusion.refusal ? "   refused" : fmt::format("   {}", name(fusion.kind)));
  if (fusion.refusal) {
    text += fmt::format("    {}\n", fusion.refusal->reason);
    if (!fusion.refusal->hint.empty()) text += fmt::format("    {}\n", fusion.refusal->hint);
    if (fusion.rank) text += fmt::format("    rank     {}\n", *fusion.rank);
    text += fmt::format("    runs in pass {} over its index, where its producers are complete\n", fusion.pass);
    return text;
  }
  if (!fusion.repair_text.empty()) text += fmt::format("    repair   h(acc) = {}\n", fusion.repair_text);
  if (!fusion.delayed.empty()) text += fmt::format("    at the end, once   {}\n", fusion.delayed);
  if (!fusion.guard.empty()) text += fmt::format("    guard    {}\n", fusion.guard);
  for (const Refusal& refusal : fusion.not_taken) text += fmt::format("    refused  {}\n", refusal.reason);
  if (!fusion.folds.empty()) text += fmt::format("    folds    {}\n", fmt::join(fusion.folds, ", "));
  if (!fusion.certificate.empty()) text += fmt::format("    {}\n", fusion.certificate);
  std::vector<std::vector<std::string>> lines;
  for (const DerivationLine& line : fusion.derivation)
    lines.push_back({"      ", line.after ? print(line.after) : "", line.rule + (line.equation.empty() ? "" : ":  " + line.equation)});
  return text + (lines.empty() ? "" : "    derivation\n" + table(lines));
}

bool any_failed(const session::Compilation& compilation) {
  return std::any_of(compilation.record.steps.begin(), compilation.record.steps.end(),
                     [](const Step& step) { return step.check.status == CheckStatus::failed; });
}

}  // namespace

int steps(const Arguments& arguments) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  session::Compilation checked = *compilation;
  if (!arguments.quick) session::check_steps(checked, {.for_each = in_parallel});
  if (arguments.json) {
    const int written = write_output(arguments, session::steps_json(checked));
    return written == done && any_failed(checked) ? wrong : written;
  }
  std::vector<std::vector<std::string>> rows{{"#", "level", "step", "check", "error / bound", "choice", "says"}};
  int number = 0;
  for (const Step& step : checked.record.steps)
    rows.push_back({fmt::format("{}{}", number++, step.changed ? "" : " ="), std::string(name(step.level)), step.id,
                    std::string(name(step.check.status)), error(step.check.max_error) + " / " + error(step.check.bound),
                    step.decision
                        ? step.decision->choice +
                              (step.decision->origin == Origin::by_default ? "" : fmt::format(" ({})", name(step.decision->origin)))
                        : "",
                    step.says});
  std::string text = header(checked) + table(rows);
  if (any_failed(checked)) text += "\nSteps failed their check: `fathom check` lists where and why.\n";
  const int written = write_output(arguments, text);
  return written == done && any_failed(checked) ? wrong : written;
}

int show(const Arguments& arguments) {
  if (arguments.positional.size() < 2)
    return fail(misuse, "fathom show FILE STEP: which step? Give its number or id; fathom steps FILE lists them.");
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  const Step* step = find_step(*compilation, arguments.positional[1]);
  if (step == nullptr)
    return fail(misuse, fmt::format("fathom show: there is no step `{}`; fathom steps {} lists them.", arguments.positional[1],
                                    arguments.positional.front()));
  if (arguments.json)
    return write_output(arguments, json_object({{"id", step->id},
                                                {"level", std::string(name(step->level))},
                                                {"title", step->title},
                                                {"says", step->says},
                                                {"before", print(step->before)},
                                                {"after", print(step->after)}}));
  std::string text = fmt::format("# {}: {}\n# {}\n", step->id, step->title, step->says);
  if (!step->rule.empty()) text += fmt::format("# rule: {}\n", step->rule);
  for (const Refusal& refusal : step->refusals) text += fmt::format("# refused: {} {}\n", refusal.reason, refusal.hint);
  text += arguments.show_diff ? diff(print(step->before), print(step->after)) : print(step->after);
  if (!arguments.show_diff) return write_output(arguments, text);
  std::vector<std::vector<std::string>> lives{{"tensor", "shape", "bytes", "place"}};
  for (const TensorLife& life : step->lives) lives.push_back({life.tensor.text(), life.shape, bytes_text(life.bytes), life.place});
  return write_output(arguments, text + "\n" + table(lives));
}

int explain(const Arguments& arguments) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  if (arguments.json) return write_output(arguments, session::explain_json(*compilation));
  std::string text = header(*compilation);
  for (const Fusion& fusion : compilation->record.fusions) text += "\n" + explain_one(fusion);
  for (const Step& step : compilation->record.steps)
    for (const Refusal& refusal : step.refusals) text += fmt::format("\n{}: not done: {} {}\n", step.id, refusal.reason, refusal.hint);
  return write_output(arguments, text);
}

int decisions(const Arguments& arguments) {
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  if (arguments.json) return write_output(arguments, session::decisions_json(*compilation));
  std::string text = header(*compilation);
  std::vector<std::vector<std::string>> rows{{"site", "choice, predicted", "origin", "alternatives, predicted", "reason"}};
  for (const Decision& decision : compilation->record.decisions) {
    const auto with_time = [](const std::string& choice, const std::optional<double>& ms) {
      return ms ? fmt::format("{} ({})", choice, milliseconds_text(*ms)) : choice;
    };
    std::string others;
    for (const Alternative& each : decision.alternatives) {
      if (each.choice == decision.choice) continue;
      others += (others.empty() ? "" : "  ") + (each.refused ? "⊘" + each.choice : with_time(each.choice, each.predicted_ms));
    }
    rows.push_back({decision.site, with_time(decision.choice, decision.predicted_ms) + (decision.locked ? " [locked]" : ""),
                    std::string(name(decision.origin)), others, decision.reason});
  }
  return write_output(arguments, text + table(rows));
}

int diff(const Arguments& arguments) {
  const bool two_files = arguments.positional.size() > 1;
  Arguments plain = arguments;
  plain.trace.clear();
  plain.sets.clear();
  auto before = compile_file(two_files ? arguments : plain, arguments.positional.front());
  if (!before.compilation) return before.status;
  auto after = compile_file(arguments, arguments.positional[two_files ? 1 : 0]);
  if (!after.compilation) return after.status;
  if (!two_files && arguments.trace.empty() && arguments.sets.empty())
    return fail(misuse, "fathom diff FILE: give a second file, or --set or --trace to compare the default plan with yours.");
  static constexpr const char* names[] = {"equal", "changed", "added", "removed"};
  const auto changes = session::compare(before.compilation->record, after.compilation->record);
  std::vector<std::vector<std::string>> rows{{"step", "is"}};
  std::string json = "{\"steps\":[";
  int equal = 0;
  for (const auto& change : changes) {
    const char* is = names[static_cast<int>(change.change)];
    equal += change.change == session::Change::equal ? 1 : 0;
    rows.push_back({change.id, is});
    json += fmt::format("{}{{\"id\":\"{}\",\"change\":\"{}\"}}", json.back() == '[' ? "" : ",", change.id, is);
  }
  if (arguments.json) return write_output(arguments, json + fmt::format("],\"equal\":{},\"total\":{}}}\n", equal, changes.size()));
  return write_output(arguments, table(rows) +
                                     fmt::format("\n{} of {} steps are equal\n\nfinal level, before and after:\n", equal, changes.size()) +
                                     cli::diff(print(before.compilation->final_ir()), print(after.compilation->final_ir())));
}

namespace {

/// The text with a comment for every refuted repair in it.
std::string marked(const session::Compilation& compilation, std::string_view comment, const std::string& text) {
  std::string marks;
  for (const std::string& choice : unsound_choices(compilation))
    marks += fmt::format("{} UNSOUND: {}, which is not derived\n", comment, choice);
  return marks + text;
}

/// What a back end makes of the last level.
int compile_code(const Arguments& arguments, const session::Compilation& compilation, bool assembly) {
  if (session::prints_device_code(compilation.target)) {
    if (assembly && compilation.target.code == "hip")
      return fail(wrong, fmt::format("fathom compile: --emit asm: the assembly of {} is made by clang: fathom compile FILE --target {} "
                                     "--emit code -o kernel.hip, then the command in its head with -S",
                                     compilation.target.name.text(), compilation.target.name.text()));
    if (assembly)
      return fail(wrong, fmt::format("fathom compile: --emit asm: the assembly of {} is made by NVIDIA's compiler: fathom compile FILE "
                                     "--target {} --emit code -o kernel.cu, then nvcc -arch={} -ptx kernel.cu",
                                     compilation.target.name.text(), compilation.target.name.text(), compilation.target.name.text()));
    const auto code = session::device_code(compilation);
    if (!code) return fail(wrong, fmt::format("fathom compile: {} {}", code.error().reason, code.error().hint));
    const std::string text = marked(compilation, "//", code->text);
    return write_output(arguments, arguments.json ? json_object({{"level", arguments.emit}, {"text", text}}) : text);
  }
  const auto program = compile_for_cpu(compilation);
  if (!program)
    return fail(program.error().nodes == std::vector<std::string>{"missing"} ? misuse : wrong,
                fmt::format("fathom: {} {}", program.error().reason, program.error().hint));
  const std::string text = assembly ? marked(compilation, "#", program->assembly()) : marked(compilation, ";", program->llvm_ir());
  return write_output(arguments, arguments.json ? json_object({{"level", arguments.emit}, {"text", text}}) : text);
}

}  // namespace

int compile(const Arguments& arguments) {
  const std::string emit = arguments.emit.empty() ? "kernel" : arguments.emit;
  const bool code = emit == "code" || emit == "asm";
  const auto level = level_named(emit);
  if (!level && !code) return fail(misuse, fmt::format("fathom compile: --emit {}: choose math, loop, tile, kernel, code or asm", emit));
  auto [compilation, status] = compile_file(arguments, arguments.positional.front());
  if (!compilation) return status;
  if (code) return compile_code(arguments, *compilation, emit == "asm");
  const Step* step = last_step_at(*compilation, *level);
  if (step == nullptr)
    return fail(wrong, fmt::format("fathom compile: no step reaches the {} level on {}.", emit, compilation->target.name.text()));
  const std::string text = marked(*compilation, "#", print(step->after));
  return write_output(arguments, arguments.json ? json_object({{"level", emit}, {"text", text}}) : text);
}

}  // namespace fathom::cli
