// Tiles that a mask excludes wholly are in no range; those that it leaves whole are tagged `open`. Ranges, not scalar tests: a tile is
// never touched to find out that nothing of it counts. Site RESULT/INDEX/bound.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "passes/masks.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

/// How many tiles of the rectangle that the mask compares are skipped, mixed and open.
struct Tiles {
  std::int64_t skipped = 0, mixed = 0, open = 0;
};

constexpr std::int64_t most_counted = 100000;

/// Nothing where inputs decide: the loop ends at an element of a tensor.
std::optional<Tiles> count_tiles(const loop::Program& program, const Nest& nest) {
  const loop::Loop& fold = nest.folds.back();
  DimValues values = math::default_dims(program.math);
  std::vector<const loop::Loop*> outer;
  for (const loop::Loop& each : nest.outer) {
    const auto uses = [&](const loop::TileRange& range) {
      return contains(range.lo, index(each.index)) || contains(range.hi, index(each.index));
    };
    if (std::any_of(fold.ranges.begin(), fold.ranges.end(), uses)) outer.push_back(&each);
  }
  Tiles tiles;
  std::int64_t left = most_counted;
  bool known = true;
  const auto at = [&](Expr e) {
    const auto value = evaluate_integer(e, values);
    known = known && value;
    return value.value_or(0);
  };
  const std::function<void(std::size_t)> walk = [&](std::size_t depth) {
    if (depth < outer.size()) {
      const loop::Loop& each = *outer[depth];
      const std::int64_t step = std::max<std::int64_t>(1, at(each.tile));
      for (std::int64_t first = at(each.lo); first < at(each.hi) && left > 0; first += step) {
        values[each.index] = first;
        walk(depth + 1);
      }
      values.erase(each.index);
      return;
    }
    const std::int64_t tile = std::max<std::int64_t>(1, at(fold.tile));
    std::int64_t rest = std::max<std::int64_t>(0, (at(fold.hi - fold.lo) + tile - 1) / tile);
    for (const loop::TileRange& range : fold.ranges) {
      const std::int64_t count = std::max<std::int64_t>(0, at(range.hi) - at(range.lo));
      (range.tag == open_trips ? tiles.open : tiles.mixed) += count;
      rest -= count;
    }
    tiles.skipped += rest;
    --left;
  };
  walk(0);
  return known ? std::optional(tiles) : std::nullopt;
}

std::string says_of(const loop::Program& program, const Nest& nest, const Bounding& bounding) {
  const std::optional<Tiles> counted = count_tiles(program, nest);
  const std::string index = nest.folds.back().index.text();
  if (!counted && bounding.conditions.empty())
    return fmt::format("The last tile over {} may be ragged; the inputs decide how many are full.", index);
  if (!counted)
    return fmt::format("Only tiles in which some {} passes the mask {} are visited; the inputs decide how many.", index,
                       print(bounding.conditions.front()));
  const Tiles& tiles = *counted;
  if (bounding.conditions.empty())
    return fmt::format("The last tile over {} may be ragged: {} full, {} not.", index, tiles.open, tiles.mixed);
  const std::int64_t all = tiles.skipped + tiles.mixed + tiles.open;
  const auto verb = [](std::int64_t n, const char* of_one, const char* of_many) {
    return fmt::format("{} {}", n, n == 1 ? of_one : of_many);
  };
  return fmt::format("Of {}, {}, {} the mask {} and {} no test.", plural(all, "tile"), verb(tiles.skipped, "is skipped", "are skipped"),
                     verb(tiles.mixed, "tests", "test"), print(bounding.conditions.front()), verb(tiles.open, "needs", "need"));
}

/// Nests that fold over one index and serve one result: one decision.
struct BoundSite {
  std::string site;
  Symbol index;
  std::vector<std::pair<std::size_t, Bounding>> nests;
};

std::vector<BoundSite> sites_in(const loop::Program& program, const std::vector<Nest>& nests, std::vector<Refusal>& refusals) {
  std::vector<BoundSite> sites;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    Bounding bounding = bounds_by_mask(program, nests, i);
    if (bounding.refused) refusals.push_back(*bounding.refused);
    if (bounding.ranges.empty()) continue;
    const Symbol index = nests[i].folds.back().index;
    const std::string site = fmt::format("{}/{}/bound", result_served(program.math, nests[i].statement_set()).text(), index.text());
    auto known = std::find_if(sites.begin(), sites.end(), [&](const BoundSite& each) { return each.site == site; });
    if (known == sites.end()) known = sites.insert(sites.end(), {site, index, {}});
    known->nests.emplace_back(i, std::move(bounding));
  }
  return sites;
}

using Bounds = std::map<std::size_t, Bounding>;  ///< by nest

/// Those that may be bounded at once: whoever reads their elements is bounded already, or becomes so with them.
Bounds without_unbounded_readers(Bounds candidates, const std::set<std::size_t>& bounded) {
  const auto is_bounded = [&](std::size_t nest) {
    const auto candidate = candidates.find(nest);
    return bounded.contains(nest) || (candidate != candidates.end() && !candidate->second.conditions.empty());
  };
  for (std::size_t before = candidates.size() + 1; candidates.size() < before;) {
    before = candidates.size();
    for (auto each = candidates.begin(); each != candidates.end();) {
      const std::set<std::size_t>& readers = each->second.readers;
      each = std::all_of(readers.begin(), readers.end(), is_bounded) ? std::next(each) : candidates.erase(each);
    }
  }
  return candidates;
}

loop::Program with_ranges(const loop::Program& program, const Bounds& bounds) {
  loop::Program result = program;
  std::vector<Nest> nests = nests_of(program);
  for (const auto& [i, bounding] : bounds) nests[i].folds.back().ranges = bounding.ranges;
  result.root = tree_of(nests);
  return result;
}

class Bounder {
 public:
  Bounder(const Ir& ir, StepLog& log) : program_(ir.loop()), current_(ir), log_(&log) {}

  Ir run() {
    const std::vector<BoundSite> sites = sites_in(program_, nests_of(program_), refusals_);
    for (const BoundSite& site : sites) decide(site);
    if (sites.empty()) note_nothing();
    return current_;
  }

 private:
  void decide(const BoundSite& site) {
    Bounds candidates = waiting_;
    candidates.insert(site.nests.begin(), site.nests.end());
    const Bounds now = without_unbounded_readers(candidates, bounded_);
    const Ir other = now.empty() ? current_ : make_ir(with_ranges(program_, now));
    Decision decision;
    decision.site = site.site;
    decision.kind = "bound";
    decision.choice = "bound";
    decision.reason = "Tiles in which nothing counts cost nothing, and full tiles need no test.";
    decision.alternatives = {{"bound", log_->cost_of(other).ms, std::nullopt}, {"no", log_->cost_of(current_).ms, std::nullopt}};
    decision = log_->decide(std::move(decision));
    StepLog::Note note;
    note.id = site.site;
    note.title = fmt::format("Bound the loop over {} by the mask", site.index.text());
    note.says = fmt::format("The loop over {} runs over all tiles.", site.index.text());
    if (decision.choice == "bound") {
      take(now, other);
      waiting_ = std::move(candidates);
      for (const auto& [nest, bounding] : now) waiting_.erase(nest);
      describe(site, now, note);
    }
    note.decision = std::move(decision);
    note.refusals = std::exchange(refusals_, {});
    log_->step(std::move(note), current_);
  }

  void take(const Bounds& now, const Ir& other) {
    for (const auto& [nest, bounding] : now) {
      if (!bounding.conditions.empty()) bounded_.insert(nest);
    }
    current_ = other;
    program_ = current_.loop();
  }

  void describe(const BoundSite& site, const Bounds& now, StepLog::Note& note) const {
    const auto first = std::find_if(site.nests.begin(), site.nests.end(), [&](const auto& each) { return now.contains(each.first); });
    const Bounding& shown = first == site.nests.end() ? site.nests.front().second : first->second;
    if (!shown.conditions.empty()) note.rule = print(shown.conditions.front());
    if (first == site.nests.end()) {
      note.says = fmt::format("Later loops read what the loop over {} stores: it is bounded as soon as they are.", site.index.text());
      return;
    }
    if (shown.conditions.empty()) note.title = fmt::format("Part the ragged tile from the loop over {}", site.index.text());
    note.says = says_of(program_, nests_of(program_)[first->first], shown);
  }

  void note_nothing() {
    StepLog::Note note;
    note.id = "bound-by-mask";
    note.title = "Bound loops by the masks";
    note.says = refusals_.empty() ? "No mask compares indices, and every tile is full." : "No mask may bound a loop here.";
    note.refusals = std::move(refusals_);
    log_->step(std::move(note), current_);
  }

  loop::Program program_;
  Ir current_;
  StepLog* log_;
  std::vector<Refusal> refusals_;
  std::set<std::size_t> bounded_;  ///< by a mask
  Bounds waiting_;                 ///< to be bounded as soon as their readers are
};

}  // namespace

Result<Ir> bound_by_mask(const Ir& ir, StepLog& log) { return Bounder(ir, log).run(); }

}  // namespace fathom::passes
