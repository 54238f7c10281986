// Tiles that a mask excludes wholly are in no range; those that it leaves whole are tagged `open`. Ranges, not scalar tests: a tile is
// never touched to find out that nothing of it counts. Site RESULT/INDEX/bound.
#include <fmt/format.h>

#include <algorithm>

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

Tiles count_tiles(const loop::Program& program, const Nest& nest) {
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
  const auto at = [&](Expr e) { return evaluate_integer(e, values).value_or(0); };
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
  return tiles;
}

std::string says_of(const loop::Program& program, const Nest& nest, const Bounding& bounding) {
  const Tiles tiles = count_tiles(program, nest);
  const std::string index = nest.folds.back().index.text();
  if (bounding.conditions.empty())
    return fmt::format("The last tile over {} may be ragged: {} full, {} not.", index, tiles.open, tiles.mixed);
  return fmt::format("Of {} tiles {} are skipped, {} test the mask {} and {} need no test.", tiles.skipped + tiles.mixed + tiles.open,
                     tiles.skipped, tiles.mixed, print(bounding.conditions.front()), tiles.open);
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

loop::Program bounded(const loop::Program& program, const BoundSite& site) {
  loop::Program result = program;
  std::vector<Nest> nests = nests_of(program);
  for (const auto& [i, bounding] : site.nests) nests[i].folds.back().ranges = bounding.ranges;
  result.root = tree_of(nests);
  return result;
}

}  // namespace

Result<Ir> bound_by_mask(const Ir& ir, StepLog& log) {
  loop::Program program = ir.loop();
  Ir current = ir;
  std::vector<Refusal> refusals;
  const std::vector<BoundSite> sites = sites_in(program, nests_of(program), refusals);
  for (const BoundSite& site : sites) {
    const Ir other = make_ir(bounded(program, site));
    Decision decision;
    decision.site = site.site;
    decision.kind = "bound";
    decision.choice = "bound";
    decision.reason = "Tiles in which nothing counts cost nothing, and full tiles need no test.";
    decision.alternatives = {{"bound", log.cost_of(other).ms, std::nullopt}, {"no", log.cost_of(current).ms, std::nullopt}};
    decision = log.decide(std::move(decision));
    StepLog::Note note;
    note.id = site.site;
    note.title = fmt::format("Bound the loop over {} by the mask", site.index.text());
    note.says = fmt::format("The loop over {} runs over all tiles.", site.index.text());
    if (decision.choice == "bound") {
      current = other;
      program = current.loop();
      const std::vector<Nest> nests = nests_of(program);
      const Bounding& first = site.nests.front().second;
      if (first.conditions.empty()) note.title = fmt::format("Part the ragged tile from the loop over {}", site.index.text());
      note.says = says_of(program, nests[site.nests.front().first], first);
      if (!first.conditions.empty()) note.rule = print(first.conditions.front());
    }
    note.decision = std::move(decision);
    note.refusals = std::exchange(refusals, {});
    log.step(std::move(note), current);
  }
  if (sites.empty()) {
    StepLog::Note note;
    note.id = "bound-by-mask";
    note.title = "Bound loops by the masks";
    note.says = refusals.empty() ? "No mask compares indices, and every tile is full." : "No mask may bound a loop here.";
    note.refusals = std::move(refusals);
    log.step(std::move(note), current);
  }
  return current;
}

}  // namespace fathom::passes
