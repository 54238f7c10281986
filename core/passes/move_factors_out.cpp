// What does not vary with the reduced index leaves the reduction, and terms take their normal form: equal spellings become equal programs.
// The algebra does the work; this is its step.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

/// Statements that nothing needs, by their names in the text.
std::vector<std::string> left_out(const math::Program& before, const math::Program& after,
                                  const std::map<std::string, std::vector<std::string>>& node_map) {
  std::set<std::string> kept;
  std::set<Symbol> read;
  for (const math::Statement& statement : after.statements) {
    kept.insert(statement.name.text());
    if (const auto from = node_map.find(statement.name.text()); from != node_map.end())
      kept.insert(from->second.begin(), from->second.end());
  }
  for (const math::Statement& statement : before.statements)
    for (const Expr value : values_of(statement)) read.merge(tensors_read(value));
  std::vector<std::string> names;
  for (const math::Statement& statement : before.statements) {
    const bool is_result = before.result(statement.name) != nullptr;
    if (!is_result && !kept.contains(statement.name.text()) && !read.contains(statement.name)) names.push_back(statement.name.text());
  }
  return names;
}

std::string what_moved(const math::Program& before, const math::Program& after, const std::vector<DerivationLine>& lines,
                       const std::map<std::string, std::vector<std::string>>& node_map) {
  const double divisions_before = evaluations(before, Op::div), divisions_after = evaluations(after, Op::div);
  std::string text = !lines.empty() ? capital(plural(static_cast<std::int64_t>(lines.size()), "rule")) + " applied"
                     : math::print(before) == math::print(after)
                         ? "Every term is in normal form already"
                         : "No rule applied; operands are put in order, and what terms share is named";
  if (divisions_after < divisions_before)
    text += fmt::format(": {} divisions become {}", count_text(divisions_before), count_text(divisions_after));
  if (const std::vector<std::string> names = left_out(before, after, node_map); !names.empty())
    text += fmt::format("; {} left out, for no result needs {}", listed(names) + (names.size() == 1 ? " is" : " are"),
                        names.size() == 1 ? "it" : "them");
  return text + ".";
}

}  // namespace

Result<Ir> move_factors_out(const Ir& ir, StepLog& log) {
  algebra::NormalForm form = algebra::normalise(ir.math(), log.analysis());
  StepLog::Note note;
  note.id = "move-factors-out";
  note.title = "Move factors out";
  note.says = what_moved(ir.math(), form.program, form.lines, form.node_map);
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
