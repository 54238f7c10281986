// Runs the algebra over the opened program. Nothing is rewritten: the step holds what was concluded, fusions and refusals alike, and the
// log keeps the analysis for the passes that act on it.
#include <fmt/format.h>

#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

std::string what_was_found(const std::vector<Fusion>& fusions) {
  std::map<FusionKind, std::vector<std::string>> by_kind;
  std::vector<std::string> refused, parts;
  for (const Fusion& each : fusions) {
    if (each.refusal) {
      refused.push_back(each.consumer.text());
    } else {
      by_kind[each.kind].push_back(each.consumer.text());
    }
  }
  for (const auto& [kind, names] : by_kind) parts.push_back(fmt::format("{}: {}", name(kind), listed(names)));
  if (!refused.empty()) parts.push_back("refused: " + listed(refused));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

}  // namespace

Result<Ir> derive(const Ir& ir, StepLog& log) {
  algebra::Analysis analysis = algebra::analyse(ir.math());
  StepLog::Note note;
  note.id = "derive";
  note.title = "Derive what may share a loop";
  const auto count = static_cast<std::int64_t>(analysis.fusions.size());
  note.says = count == 0 ? "There is no reduction."
                         : capital(fmt::format("{} judged: {}.", plural(count, "reduction"), what_was_found(analysis.fusions)));
  for (const Fusion& each : analysis.fusions) {
    if (each.refusal) note.refusals.push_back(*each.refusal);
    if (note.rule.empty() && each.kind == FusionKind::repaired) note.rule = each.repair_text;
  }
  note.fusions = analysis.fusions;
  log.set_opened(ir.math());
  log.set_analysis(std::move(analysis));
  log.step(std::move(note), ir);
  return ir;
}

}  // namespace fathom::passes
