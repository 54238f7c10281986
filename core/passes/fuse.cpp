// Reductions over one index share one loop, one decision a consumer (site CONSUMER/INDEX/fuse). What a consumer reads of a producer that
// is still running is read at a gauge, and its accumulator is repaired when the gauge moves (docs/algebra.md).
#include <fmt/format.h>

#include <algorithm>

#include "passes/fuse_nests.hpp"
#include "passes/make_loops.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

std::int64_t loops_over(const loop::Program& program, Symbol index) {
  std::int64_t count = 0;
  for (const Nest& nest : nests_of(program)) count += nest.folds_over(index) ? 1 : 0;
  return count;
}

std::map<Symbol, double> stored_bytes(const std::vector<TensorLife>& lives) {
  std::map<Symbol, double> stored;
  for (const TensorLife& life : lives) {
    if (life.place == "main memory") stored[life.tensor] = life.bytes;
  }
  return stored;
}

std::string says_of(const Ir& before, const Ir& after, const FuseSite& site, StepLog& log) {
  const std::int64_t from = loops_over(before.loop(), site.index), to = loops_over(after.loop(), site.index);
  std::string text = fmt::format("{} over {} become {}", capital(plural(from, "loop")), site.index.text(), number_word(to));
  const std::map<Symbol, double> stored = stored_bytes(log.lives_of(before)), still = stored_bytes(log.lives_of(after));
  const auto only_in = [](const std::map<Symbol, double>& here, const std::map<Symbol, double>& there) {
    std::vector<std::pair<Symbol, double>> found;
    for (const auto& each : here) {
      if (!there.contains(each.first)) found.push_back(each);
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> texts;
    for (const auto& [name, bytes] : found) texts.push_back(fmt::format("{} ({})", name.text(), bytes_text(bytes)));
    return texts;
  };
  const std::vector<std::string> gone = only_in(stored, still), come = only_in(still, stored);
  if (!gone.empty()) text += fmt::format("; {} {} no longer stored", listed(gone), gone.size() == 1 ? "is" : "are");
  if (!come.empty()) text += fmt::format("; {} {} stored instead", listed(come), come.size() == 1 ? "is" : "are");
  return text + ".";
}

std::string why(const Fusion* fusion, const FuseSite& site) {
  if (site.producers.empty() || fusion == nullptr) return "Both loops read the same elements once.";
  if (fusion->kind == FusionKind::repaired) return fmt::format("Repaired by {} whenever the reference moves.", fusion->repair_text);
  return fmt::format("The algebra calls it {}: nothing needs repair.", name(fusion->kind));
}

/// What the algebra refused, or what the loops themselves forbid.
std::optional<Refusal> refusal_of(const Fusion* fusion, const Result<Ir>& attempt) {
  if (attempt) return std::nullopt;
  if (fusion != nullptr && fusion->refusal) return fusion->refusal;
  return attempt.error();
}

/// A person writes `acc`, the producers and scalars; the carrier is moved in terms of its own name and the gauges. A name that is none of
/// these cannot be read where the carrier moves.
Result<Expr> as_move(Expr written, const math::Repair& repair, const math::Program& program) {
  const Symbol carrier = repair.carried.front().name;
  Substitution names = {{symbol(Symbol("acc")), symbol(carrier)}};
  std::set<Symbol> known = {carrier};
  for (const math::Gauge& gauge : repair.gauges) {
    known.insert({gauge.name, primed(gauge.name)});
    if (!gauge.reference.is(Op::read)) continue;
    const Symbol producer = gauge.reference.name();
    names[symbol(producer)] = symbol(gauge.name);
    names[symbol(primed(producer))] = symbol(primed(gauge.name));
    names[gauge.reference] = symbol(gauge.name);
  }
  for (const math::Parameter& parameter : program.params) {
    if (parameter.extents.empty()) names.emplace(symbol(parameter.name), read(parameter.name, {}));
  }
  for (const math::Dimension& dimension : program.dims) names.emplace(symbol(dimension.name), dim(dimension.name));
  const Expr move = substitute(written, names);
  std::string unknown;
  visit(move, [&](Expr part) {
    const bool is_scalar = part.is(Op::read) && part.args().empty() && program.param(part.name()) != nullptr;
    const bool is_name = part.is(Op::symbol) || part.is(Op::read) || part.is(Op::call) || part.is(Op::reduce) || part.is(Op::index);
    if (is_name && !is_scalar && !(part.is(Op::symbol) && known.contains(part.name()))) unknown = part.name().text();
  });
  if (!unknown.empty()) return refuse(fmt::format("{} is not at hand where {} moves.", unknown, carrier.text()), {unknown});
  return move;
}

class Fuser {
 public:
  Fuser(const Ir& ir, StepLog& log)
      : program_(ir.loop()), current_(ir), log_(&log), knowledge_{&log.normalised(), &log.normalised_analysis()} {}

  Ir run() {
    std::vector<Symbol> consumers;
    for (const math::Statement& statement : program_.math.statements) {
      if (statement.reduction() != nullptr) consumers.push_back(statement.name);
    }
    for (const Symbol consumer : consumers) {
      if (const auto site = fuse_site(program_, consumer)) decide(*site);
    }
    return current_;
  }

 private:
  void decide(const FuseSite& site) {
    const Fusion* fusion = fusion_of(log_->analysis(), site.consumer);
    const Result<Ir> fused = fuse_at(program_, site, knowledge_).map([](loop::Program program) { return make_ir(std::move(program)); });
    const std::optional<Refusal> refused = refusal_of(fusion, fused);
    // Two loops that have nothing to do with each other and do not fit together are no news.
    if (refused && site.producers.empty()) return;
    StepLog::Note note;
    note.id = fmt::format("{}/{}/fuse", site.consumer.text(), site.index.text());
    note.title = title(site);
    Decision decision = log_->decide(proposal(note.id, fusion, site, fused, refused));
    if (decision.choice == "fuse" && fused) {
      note.says = says_of(current_, *fused, site, *log_);
      if (fusion != nullptr) note.rule = fusion->repair_text;
      if (fusion != nullptr) note.fusions = {*fusion};
      note.node_map = origins(program_, fused->loop());
      current_ = *fused;
      program_ = current_.loop();
      if (fusion != nullptr && take_written_repair(*fusion, site, note)) current_ = make_ir(program_);
    } else {
      note.says = refused ? fmt::format("{} keeps a loop of its own over {}: {}", site.consumer.text(), site.index.text(), refused->reason)
                          : fmt::format("{} keeps a loop of its own over {}; {} remain.", site.consumer.text(), site.index.text(),
                                        plural(loops_over(program_, site.index), "loop"));
      if (refused) note.refusals = {*refused};
    }
    note.decision = std::move(decision);
    log_->step(std::move(note), current_);
  }

  /// Site CONSUMER/INDEX/repair: a person's own repair (docs/algebra.md). One that is derived is the compiler's, in other words; a refuted
  /// one runs only with `unsound`, and the step says so. True: it changed the program.
  bool take_written_repair(const Fusion& fusion, const FuseSite& site, StepLog::Note& note) {
    const auto at = std::find_if(program_.math.statements.begin(), program_.math.statements.end(),
                                 [&](const math::Statement& each) { return each.name == site.consumer; });
    auto& repair = std::get<math::Reduction>(at->value).repair;
    if (!repair || fusion.repair_text.empty()) return false;
    Decision decision;
    decision.site = fmt::format("{}/{}/repair", site.consumer.text(), site.index.text());
    decision.kind = "repair";
    decision.choice = fusion.repair_text;
    decision.reason = "Derived.";
    decision.alternatives = {{fusion.repair_text, std::nullopt, std::nullopt}};
    Expr unsound;
    decision = log_->decide(std::move(decision), [&](std::string_view written) { return judge(written, fusion, *repair, unsound); });
    if (decision.choice != fusion.repair_text && !unsound)
      note.says += fmt::format(" The repair as it was written, {}, is derived: the same in other words.", decision.choice);
    if (!unsound || decision.choice == fusion.repair_text || repair->carried.size() != 1) return false;
    repair->carried.front().move = unsound;
    log_->mark_unsound();
    note.says += fmt::format(" UNSOUND: {} is repaired by {}, which is not derived.", site.consumer.text(), decision.choice);
    return true;
  }

  [[nodiscard]] Result<void> judge(std::string_view written, const Fusion& fusion, const math::Repair& repair, Expr& unsound) const {
    if (!log_->options().parse_expression) return refuse("A written repair cannot be read here.");
    const Result<Expr> parsed = log_->options().parse_expression(written);
    if (!parsed) return tl::unexpected<Refusal>(parsed.error());
    const algebra::Judgement judgement = algebra::judge_repair(log_->opened(), log_->analysis(), fusion.consumer, *parsed);
    if (judgement.verdict == algebra::Verdict::derived) return {};
    if (log_->options().unsound && repair.carried.size() == 1) {
      const Result<Expr> move = as_move(*parsed, repair, program_.math);
      if (!move) return tl::unexpected<Refusal>(move.error());
      unsound = *move;
      return {};
    }
    return refuse(judgement.says + (judgement.counterexample.empty() ? "" : " " + judgement.counterexample), {fusion.consumer.text()},
                  "With --unsound it runs all the same, and says so.");
  }

  [[nodiscard]] static std::string title(const FuseSite& site) {
    if (site.producers.empty()) return fmt::format("Let {} share a loop over {}", site.consumer.text(), site.index.text());
    std::vector<std::string> names;
    for (const Symbol each : site.producers) names.push_back(each.text());
    return fmt::format("Fuse {} into the loop of {}", site.consumer.text(), listed(names));
  }

  [[nodiscard]] Decision proposal(const std::string& id, const Fusion* fusion, const FuseSite& site, const Result<Ir>& fused,
                                  const std::optional<Refusal>& refused) const {
    Decision decision;
    decision.site = id;
    decision.kind = "fuse";
    decision.choice = refused ? "no" : "fuse";
    decision.reason = refused ? refused->reason : why(fusion, site);
    Alternative fuse{"fuse", std::nullopt, refused};
    if (fused) fuse.predicted_ms = log_->cost_of(*fused).ms;
    decision.alternatives = {std::move(fuse), {"no", log_->cost_of(current_).ms, std::nullopt}};
    return decision;
  }

  /// Statements that fusing made, and what they came from.
  static std::map<std::string, std::vector<std::string>> origins(const loop::Program& before, const loop::Program& after) {
    std::map<std::string, std::vector<std::string>> names;
    for (const math::Statement& each : after.math.statements) {
      const std::string& text = each.name.text();
      if (before.math.find(each.name) == nullptr && text.back() == '~') names[text] = {text.substr(0, text.size() - 1)};
    }
    return names;
  }

  loop::Program program_;
  Ir current_;
  StepLog* log_;
  Knowledge knowledge_;
};

}  // namespace

Result<Ir> fuse(const Ir& ir, StepLog& log) { return Fuser(ir, log).run(); }

}  // namespace fathom::passes
