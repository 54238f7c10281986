// Commands that read the record: steps, show, explain, decisions, diff.
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "parallel.hpp"
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

}  // namespace fathom::cli
