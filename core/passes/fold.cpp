// Which tree folds a Reducer: one running state (rolling), or a state for each of several parts that are merged in order (split-k). Sites
// RESULT/INDEX/fold and RESULT/INDEX/splits.
#include <fmt/format.h>

#include <algorithm>

#include "passes/cost.hpp"
#include "passes/fuse_nests.hpp"
#include "passes/lowering.hpp"
#include "passes/nest.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;

constexpr std::int64_t most_splits = 32;
/// By default a fold is split only if each part still has this many trips and the prediction wins clearly.
constexpr std::int64_t least_trips_of_a_part = 4;
constexpr double clear_win = 0.9;

Expr smaller(Expr a, Expr b) { return make(Op::min, {a, b}); }
Expr larger(Expr a, Expr b) { return make(Op::max, {a, b}); }

/// The nest with its outermost fold cut into `count` parts of whole trips, run side by side, and their states merged. The fold keeps its
/// elements, so that only the very last tile of all may be ragged and masks are those of the rolling fold; a part takes its share of the
/// trips of each range. A range that ends before it begins is empty.
Nest split_nest(const math::Program& program, Nest nest, std::int64_t count) {
  Loop& fold = nest.folds.front();
  const Symbol part(fold.index.text() + ".split");
  const Expr parts = number(Rational(count));
  const Expr trips = simplify_integer(binary(Op::floordiv, fold.hi - fold.lo + fold.tile - number(1), fold.tile));
  const Expr stride = fold.tile * parts;  // trips over parts, both rounded up, is one quotient rounded up
  const Expr share = simplify_integer(binary(Op::floordiv, fold.hi - fold.lo + stride - number(1), stride));
  nest.split = Loop{part, number(0), parts, number(1), loop::Mark::parallel, {}, nullptr};
  const Expr first = index(part) * share, end = (index(part) + number(1)) * share;
  if (fold.ranges.empty()) fold.ranges.push_back({Symbol("all"), number(0), trips});
  for (loop::TileRange& range : fold.ranges) {
    range.lo = simplify_integer(larger(range.lo, first));
    range.hi = simplify_integer(smaller(range.hi, end));
  }
  loop::Combine combine{part, parts, {}};
  for (const Symbol name : nest.body) {
    const auto* reduction = program.find(name)->reduction();
    if (reduction != nullptr &&
        std::any_of(reduction->over.begin(), reduction->over.end(), [&](const math::Axis& axis) { return axis.index == fold.index; }))
      combine.statements.push_back(name);
  }
  nest.combine = std::move(combine);
  return nest;
}

/// A fold that may be split: one decision for all nests over the index that serve one result.
struct FoldSite {
  std::string prefix;
  Symbol index;
  std::vector<std::size_t> nests;
  std::optional<Refusal> refused;  ///< of split-k
};

/// Elementwise statements whose values leave the loop would be computed by several parts; reductions without the split-k fold stay whole.
std::optional<Refusal> refuse_split(const loop::Program& program, const Nest& nest, const algebra::Analysis& analysis) {
  for (const Symbol name : nest.body) {
    const auto* reduction = program.math.find(name)->reduction();
    if (reduction == nullptr) continue;
    const Fusion* fusion = fusion_of(analysis, name);
    if (fusion == nullptr || !reduction->repair) continue;
    if (std::find(fusion->folds.begin(), fusion->folds.end(), "split-k") == fusion->folds.end())
      return Refusal{fmt::format("{} has no split-k fold.", name.text()), {name.text()}, ""};
  }
  return std::nullopt;
}

/// One trip whatever the run-time extents are: nothing to share out.
std::optional<Refusal> refuse_single_trip(const loop::Program& program, const Nest& nest) {
  const Loop& fold = nest.folds.front();
  const Expr length = fold.hi - fold.lo;
  const auto extent = is_fixed(program.math, length) ? value_at_defaults(program.math, length) : std::nullopt;
  const auto tile = constant_integer(fold.tile);
  if (!extent || !tile || *extent > *tile) return std::nullopt;
  return Refusal{fmt::format("The fold over {} has one trip: there is nothing to split.", fold.index.text()),
                 {fold.index.text()},
                 "A smaller tile makes more trips."};
}

std::vector<FoldSite> sites_in(const loop::Program& program, const algebra::Analysis& analysis) {
  std::vector<FoldSite> sites;
  const std::vector<Nest> nests = nests_of(program);
  for (std::size_t i = 0; i < nests.size(); ++i) {
    if (nests[i].folds.empty()) continue;
    const Symbol index = nests[i].folds.front().index;
    const std::string prefix = fmt::format("{}/{}", result_served(program.math, nests[i].statement_set()).text(), index.text());
    auto known = std::find_if(sites.begin(), sites.end(), [&](const FoldSite& each) { return each.prefix == prefix; });
    if (known == sites.end()) known = sites.insert(sites.end(), FoldSite{prefix, index, {}, std::nullopt});
    known->nests.push_back(i);
    if (!known->refused) known->refused = refuse_split(program, nests[i], analysis);
    if (!known->refused) known->refused = refuse_single_trip(program, nests[i]);
  }
  return sites;
}

loop::Program split_program(const loop::Program& program, const FoldSite& site, std::int64_t count) {
  loop::Program result = program;
  std::vector<Nest> nests = nests_of(program);
  for (const std::size_t i : site.nests) nests[i] = split_nest(program.math, nests[i], count);
  result.root = tree_of(nests);
  return result;
}

class Folder {
 public:
  Folder(const Ir& ir, StepLog& log) : program_(ir.loop()), current_(ir), log_(&log) {}

  Ir run() {
    const std::vector<FoldSite> sites = sites_in(program_, log_->analysis());
    for (const FoldSite& site : sites) decide(site);
    if (sites.empty()) {
      StepLog::Note note;
      note.id = "fold";
      note.title = "Choose the fold";
      const auto& all = program_.math.statements;
      const bool reduces = std::any_of(all.begin(), all.end(), [](const math::Statement& s) { return s.reduction() != nullptr; });
      note.says = reduces ? "No loop folds: what is reduced is whole in its work item." : "Nothing is reduced here.";
      log_->step(std::move(note), current_);
    }
    return current_;
  }

 private:
  /// Nothing where it varies with an outer index or the data.
  [[nodiscard]] std::optional<std::int64_t> known_trips(const FoldSite& site) const {
    const Loop fold = nests_of(program_)[site.nests.front()].folds.front();
    return value_at_defaults(program_.math, binary(Op::floordiv, fold.hi - fold.lo + fold.tile - number(1), fold.tile));
  }
  [[nodiscard]] std::int64_t trips(const FoldSite& site) const { return std::max<std::int64_t>(1, known_trips(site).value_or(1)); }

  /// Numbers of parts that are offered, with what each is predicted to take.
  [[nodiscard]] std::vector<Alternative> splits_of(const FoldSite& site, std::int64_t most = most_splits) const {
    std::vector<Alternative> all;
    for (std::int64_t count = 2; count <= std::min(most, std::max<std::int64_t>(2, trips(site))); count *= 2)
      all.push_back(
          {std::to_string(count), predict(make_ir(split_program(program_, site, count)), program_.math, log_->target()).ms, std::nullopt});
    return all;
  }
  /// The number of parts with the least predicted time; the fewest of equals.
  [[nodiscard]] static const Alternative& best_of(const std::vector<Alternative>& all) {
    return *std::min_element(all.begin(), all.end(),
                             [](const Alternative& a, const Alternative& b) { return *a.predicted_ms < *b.predicted_ms; });
  }
  /// The parallel loops alone leave workgroups without work.
  [[nodiscard]] bool is_idle(const FoldSite& site) const {
    const std::vector<Work> all = work_of(program_, log_->target());
    return std::all_of(site.nests.begin(), site.nests.end(), [&](std::size_t nest) {
      return nest >= all.size() || all[nest].items < static_cast<double>(log_->target().workgroups);
    });
  }
  [[nodiscard]] bool is_worth_it(const FoldSite& site, const Alternative& best, double rolling) const {
    const std::int64_t parts = Rational::parse(best.choice)->num();
    return trips(site) >= least_trips_of_a_part * parts && *best.predicted_ms < clear_win * rolling;
  }

  /// What the tree of parts itself forbids, and what no Tile module holds: known before the choice is offered.
  [[nodiscard]] std::optional<Refusal> refuse_parts(const FoldSite& site) const {
    const loop::Program parts = split_program(program_, site, 2);
    if (const Result<void> sound = loop::verify(parts); !sound) return sound.error();
    return refuse_tiles(parts, log_->target());
  }

  [[nodiscard]] Decision proposal(const FoldSite& site) const {
    Decision decision;
    decision.site = site.prefix + "/fold";
    decision.kind = "fold";
    decision.choice = "rolling";
    const double rolling = log_->cost_of(current_).ms;
    if (site.refused) {
      decision.reason = site.refused->reason;
      decision.alternatives = {{"rolling", rolling, std::nullopt}, {"split-k", std::nullopt, site.refused}};
      return decision;
    }
    const bool idle = is_idle(site);
    // Where the machine is busy two parts stand for all numbers: more gain nothing.
    const std::vector<Alternative> splits = splits_of(site, idle ? most_splits : 2);
    const Alternative& best = best_of(splits);
    decision.alternatives = {{"rolling", rolling, std::nullopt}, {"split-k", best.predicted_ms, std::nullopt}};
    if (!idle) {
      decision.reason = "The parallel loops keep the machine busy; one running state needs no merge.";
    } else if (is_worth_it(site, best, rolling)) {
      decision.choice = "split-k";
      decision.reason = fmt::format("One running state would leave workgroups idle: {} parts are predicted to take {} instead of {}.",
                                    best.choice, milliseconds_text(*best.predicted_ms), milliseconds_text(rolling));
    } else {
      decision.reason = "Workgroups stay idle, but parts would be too short, or their merge cost what they gain.";
    }
    return decision;
  }

  void decide(FoldSite site) {
    if (!site.refused) site.refused = refuse_parts(site);
    Decision decision = log_->decide(proposal(site));
    StepLog::Note note;
    note.id = decision.site;
    note.title = fmt::format("Choose the fold over {}", site.index.text());
    if (decision.choice == "split-k") {
      const std::int64_t count = ask_splits(site);
      program_ = split_program(program_, site, count);
      current_ = make_ir(program_);
      note.says = fmt::format("Split-k: {} parts of {} run side by side, then their states are merged in order.", count, site.index.text());
    } else {
      const std::optional<std::int64_t> count = known_trips(site);
      note.says = fmt::format("Rolling: one state runs over {}{}.", site.index.text(), count ? " in " + plural(*count, "trip") : "");
    }
    note.decision = std::move(decision);
    if (site.refused) note.refusals = {*site.refused};
    log_->step(std::move(note), current_);
  }

  [[nodiscard]] std::int64_t ask_splits(const FoldSite& site) {
    std::vector<Alternative> splits = splits_of(site);
    Decision decision;
    decision.site = site.prefix + "/splits";
    decision.kind = "splits";
    decision.choice = best_of(splits).choice;
    decision.reason = "The least predicted time of these.";
    decision.alternatives = std::move(splits);
    const auto judge = [&](std::string_view choice) -> Result<void> {
      const auto count = Rational::parse(choice);
      if (count && count->is_integer() && count->num() >= 1 && count->num() <= 4096) return {};
      return refuse(fmt::format("`{}` is no number of parts.", choice), {site.index.text()}, "Take a number from 1 to 4096.");
    };
    return Rational::parse(log_->decide(std::move(decision), judge).choice)->num();
  }

  loop::Program program_;
  Ir current_;
  StepLog* log_;
};

}  // namespace

Result<Ir> fold(const Ir& ir, StepLog& log) { return Folder(ir, log).run(); }

}  // namespace fathom::passes
