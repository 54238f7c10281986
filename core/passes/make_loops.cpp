// Every reduction becomes a loop nest of its own, with what it needs element by element. What one nest computes and another reads is
// stored between them, or (a decision) computed again by the reader.
#include "passes/make_loops.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

double bytes_of(const math::Program& program, Symbol name) {
  const math::Statement* statement = program.find(name);
  double bytes = size_in_bytes(statement->dtype);
  for (const math::Axis& axis : statement->axes) bytes *= static_cast<double>(value_at_defaults(program, axis.hi - axis.lo).value_or(1));
  return bytes;
}

/// The definition of the map in place of every read of it by statements outside `home`.
math::Program inlined(math::Program program, const math::Statement& map, const std::set<Symbol>& home) {
  const auto inline_into = [&](Expr e) {
    return transform(e, [&](Expr node) {
      if (!node.is(Op::read) || node.name() != map.name) return node;
      Substitution at;
      for (std::size_t i = 0; i < map.axes.size(); ++i) at[index(map.axes[i].index)] = node.arg(i);
      return substitute(map.map()->value, at);
    });
  };
  for (math::Statement& statement : program.statements) {
    if (statement.name != map.name && !home.contains(statement.name)) statement = with_values(std::move(statement), inline_into);
  }
  return program;
}

/// A map of one nest's body that a later nest reads.
struct StoreSite {
  Symbol statement, index;
  std::set<Symbol> home;
};

std::vector<StoreSite> store_sites(const loop::Program& plan) {
  std::vector<StoreSite> sites;
  const std::vector<Nest> nests = nests_of(plan);
  for (const Symbol name : stored_between(plan.math, nests)) {
    if (plan.math.find(name)->map() == nullptr || is_result(plan.math, name)) continue;
    for (const Nest& nest : nests) {
      if (nest.folds.empty() || std::find(nest.body.begin(), nest.body.end(), name) == nest.body.end()) continue;
      sites.push_back({name, nest.folds.back().index, nest.statement_set()});
    }
  }
  return sites;
}

Decision proposal_for(const StoreSite& site, const Ir& plan, const Ir& other, StepLog& log) {
  Decision decision;
  decision.site = fmt::format("{}/{}/store", site.statement.text(), site.index.text());
  decision.kind = "store";
  decision.choice = "store";
  decision.reason = fmt::format("Later loops read {} ({}) instead of computing it again; fusing them may do away with both.",
                                site.statement.text(), bytes_text(bytes_of(plan.loop().math, site.statement)));
  decision.alternatives = {{"store", log.cost_of(plan).ms, std::nullopt}, {"recompute", log.cost_of(other).ms, std::nullopt}};
  return decision;
}

std::string says_of(const loop::Program& plan) {
  const std::vector<Nest> nests = nests_of(plan);
  std::map<Symbol, std::int64_t> loops_over;
  std::vector<std::string> counts, stored;
  for (const Nest& nest : nests) {
    for (const loop::Loop& each : nest.folds) ++loops_over[each.index];
  }
  for (const auto& [index, count] : loops_over) counts.push_back(fmt::format("{} over {}", plural(count, "loop"), index.text()));
  for (const Symbol name : stored_between(plan.math, nests))
    stored.push_back(fmt::format("{} ({})", name.text(), bytes_text(bytes_of(plan.math, name))));
  std::string text = plural(static_cast<std::int64_t>(nests.size()), "loop nest");
  if (!counts.empty()) text += " with " + listed(counts);
  if (!stored.empty()) text += "; between them main memory holds " + listed(stored);
  return capital(text) + ". Until tiles are chosen a trip takes one element.";
}

}  // namespace

Result<Ir> make_loops(const Ir& ir, StepLog& log) {
  math::Program program = ir.math();
  Ir plan = make_ir(plan_loops(program));
  bool recomputes = false;
  for (const StoreSite& site : store_sites(plan.loop())) {
    const math::Program without = inlined(program, *program.find(site.statement), site.home);
    Ir other = make_ir(plan_loops(without));
    if (log.decide(proposal_for(site, plan, other, log)).choice != "recompute") continue;
    program = without;
    plan = std::move(other);
    recomputes = true;
  }
  if (recomputes) log.set_normalised(program);
  StepLog::Note note;
  note.id = "make-loops";
  note.title = "Make loops";
  note.says = says_of(plan.loop());
  log.step(std::move(note), plan);
  return plan;
}

}  // namespace fathom::passes
