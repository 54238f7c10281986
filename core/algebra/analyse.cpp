// One Fusion a reduction, in program order: producers are concluded before the consumers that read them.
// Two tallies of passes: the real one, and the one in which rank K would be carried already. A consumer that only the second lets ride with
// its producers is refused by its rank; what it does in its real pass is concluded all the same.
#include "algebra/certificate.hpp"
#include "algebra/derive.hpp"
#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

const Fusion* Analysis::find(Symbol consumer) const {
  for (const Fusion& fusion : fusions)
    if (fusion.consumer == consumer) return &fusion;
  return nullptr;
}

namespace {

bool is_refused_by_rank(const Fusion& fusion) { return fusion.refusal && fusion.rank && *fusion.rank > 1; }

bool same_producers(const Consumer& a, const Consumer& b) {
  if (a.producers.size() != b.producers.size()) return false;
  for (std::size_t i = 0; i < a.producers.size(); ++i)
    if (a.producers[i].read != b.producers[i].read) return false;
  return true;
}

}  // namespace

std::vector<Derived> derive_all(const Facts& facts) {
  const ProgramView& view = facts.view();
  std::map<Symbol, int> passes;
  std::map<Symbol, int> with_rank_k;
  std::vector<Derived> all;
  for (const math::Statement& statement : view.program().statements) {
    if (statement.reduction() == nullptr) continue;
    const Consumer consumer = look_at(view, statement, passes);
    const Consumer ideal = look_at(view, statement, with_rank_k);
    Derived derived = derive(facts, consumer);
    int ideal_pass = is_refused_by_rank(derived.fusion) ? consumer.pass : derived.fusion.pass;
    if (!same_producers(consumer, ideal)) {
      Derived wished = derive(facts, ideal);
      ideal_pass = is_refused_by_rank(wished.fusion) ? ideal.pass : wished.fusion.pass;
      if (is_refused_by_rank(wished.fusion)) {
        derived.fusion.rank = wished.fusion.rank;
        derived.fusion.refusal = std::move(wished.fusion.refusal);
      }
    }
    passes[statement.name] = derived.fusion.pass;
    with_rank_k[statement.name] = ideal_pass;
    all.push_back(std::move(derived));
  }
  return all;
}

namespace {

Analysis conclude(const math::Program& program, Tests tests) {
  const ProgramView view(program);
  const Facts facts(view);
  Analysis analysis;
  for (Derived& derived : derive_all(facts)) analysis.fusions.push_back(std::move(derived.fusion));
  certify_all(view, analysis.fusions, tests);
  return analysis;
}

}  // namespace

Analysis analyse(const math::Program& opened) { return conclude(opened, Tests::all); }

Analysis analyse_normal_form(const math::Program& normalised, const Analysis& of_opened) {
  Analysis analysis = conclude(normalised, Tests::arrays_where_nothing_is_exact);
  for (Fusion& fusion : analysis.fusions) {
    const Fusion* told = of_opened.find(fusion.consumer);
    if (told != nullptr && told->refusal && fusion.refusal) fusion.refusal = told->refusal;
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
