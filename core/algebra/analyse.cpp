// One Fusion a reduction, in program order: producers are concluded before the consumers that read them.
#include "algebra/derive.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

const Fusion* Analysis::find(Symbol consumer) const {
  for (const Fusion& fusion : fusions)
    if (fusion.consumer == consumer) return &fusion;
  return nullptr;
}

Analysis analyse(const math::Program& opened, const Options&) {
  const ProgramView view(opened);
  const Facts facts(view);
  std::map<Symbol, int> passes;
  Analysis analysis;
  for (const math::Statement& statement : view.program().statements) {
    if (statement.reduction() == nullptr) continue;
    Derived derived = derive(facts, look_at(view, statement, passes));
    passes[statement.name] = derived.fusion.pass;
    analysis.fusions.push_back(std::move(derived.fusion));
  }
  return analysis;
}

std::vector<RuleInfo> rules() {
  std::vector<RuleInfo> all;
  for (const Rule* rule : all_rules())
    all.push_back({std::string(rule->name), std::string(rule->equation), std::string(rule->condition), std::string(rule->theme)});
  return all;
}

}  // namespace fathom::algebra
