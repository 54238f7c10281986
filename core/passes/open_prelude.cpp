// Named functions become their definitions and every reduction a statement of its own. The algebra does the work; this is its step.
#include <fmt/format.h>

#include "algebra/open.hpp"
#include "passes/nest.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

/// Statements that the text does not have came from the statement whose name begins theirs (`p.m` from `p`).
std::map<std::string, std::vector<std::string>> origins_of_names(const math::Program& written, const math::Program& opened) {
  std::map<std::string, std::vector<std::string>> names;
  for (const math::Statement& statement : opened.statements) {
    if (written.find(statement.name) != nullptr) continue;
    const std::string& text = statement.name.text();
    const std::string head = text.substr(0, text.find('.'));
    if (written.find(Symbol(head)) != nullptr) names[text] = {head};
  }
  return names;
}

}  // namespace

Result<Ir> open_prelude(const Ir& ir, StepLog& log) {
  const math::Program& written = ir.math();
  math::Program opened = math::open(written);
  std::int64_t reductions = 0;
  std::set<Symbol> over;
  for (const math::Statement& statement : opened.statements) {
    const auto* reduction = statement.reduction();
    if (reduction == nullptr) continue;
    ++reductions;
    for (const math::Axis& axis : reduction->over) over.insert(axis.index);
  }
  StepLog::Note note;
  note.id = "open-prelude";
  note.title = "Open the prelude";
  note.says = fmt::format("{} {} {}: {} over {}.", plural(static_cast<std::int64_t>(written.statements.size()), "statement"),
                          written.statements.size() == 1 ? "becomes" : "become",
                          number_word(static_cast<std::int64_t>(opened.statements.size())), plural(reductions, "reduction"),
                          over.size() == 1 ? "one index" : number_word(static_cast<std::int64_t>(over.size())) + " indices");
  note.says = capital(std::move(note.says));
  note.node_map = origins_of_names(written, opened);
  Ir after = make_ir(std::move(opened));
  log.step(std::move(note), after);
  return after;
}

}  // namespace fathom::passes
