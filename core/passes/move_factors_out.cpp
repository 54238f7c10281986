// What does not vary with the reduced index leaves the reduction, and terms take their normal form: equal spellings become equal programs.
// The algebra does the work; this is its step.
#include <fmt/format.h>

#include <algorithm>

#include "passes/nest.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

/// Operations of a kind over the whole program: nodes in a statement times the elements of its domain.
double evaluations(const math::Program& program, Op op) {
  double total = 0;
  for (const math::Statement& statement : program.statements) {
    double domain = 1;
    std::vector<math::Axis> axes = statement.axes;
    if (const auto* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
    for (const math::Axis& axis : axes) domain *= static_cast<double>(value_at_defaults(program, axis.hi - axis.lo).value_or(1));
    std::set<Expr> found;
    for (const Expr value : values_of(statement)) {
      visit(value, [&](Expr e) {
        if (e.is(op)) found.insert(e);
      });
    }
    total += domain * static_cast<double>(found.size());
  }
  return total;
}

std::string what_moved(const math::Program& before, const math::Program& after, const std::vector<DerivationLine>& lines) {
  const double divisions_before = evaluations(before, Op::div), divisions_after = evaluations(after, Op::div);
  std::string text = lines.empty() ? "Every term is in normal form already"
                                   : capital(plural(static_cast<std::int64_t>(lines.size()), "rule")) + " applied";
  if (divisions_after < divisions_before)
    text += fmt::format(": {} divisions become {}", count_text(divisions_before), count_text(divisions_after));
  return text + ".";
}

}  // namespace

Result<Ir> move_factors_out(const Ir& ir, StepLog& log) {
  algebra::NormalForm form = algebra::normalise(ir.math(), log.analysis());
  StepLog::Note note;
  note.id = "move-factors-out";
  note.title = "Move factors out";
  note.says = what_moved(ir.math(), form.program, form.lines);
  if (!form.lines.empty()) note.rule = form.lines.front().equation;
  note.node_map = std::move(form.node_map);
  // Why naive forms stay refused belongs where the terms are rewritten: a reader asks here why exp(s) is not split off.
  for (const Fusion& each : log.analysis().fusions) {
    if (each.refusal && each.refusal->reason.find("range") != std::string::npos) note.refusals.push_back(*each.refusal);
  }
  Ir after = make_ir(std::move(form.program));
  log.step(std::move(note), after);
  return after;
}

}  // namespace fathom::passes
