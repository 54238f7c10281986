// How many elements of an index a trip takes: multiples of the target's first atom and lanes, as many as pay and fit on chip. One decision
// an index (site RESULT/INDEX/tile); the same index has the same tiles in every loop, so that loops can share tiles. Predicted for the plan
// in which everything that may fuse is fused: tiles serve that plan.
#include <fmt/format.h>

#include <algorithm>

#include "passes/cost.hpp"
#include "passes/fuse_nests.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;

constexpr std::int64_t largest_tile = 512;  ///< also the largest that a person may ask for, unless the whole index fits one tile
/// A smaller tile within this factor of the best prediction is preferred: it leaves room and pads less.
constexpr double near_best = 1.03;
constexpr int near_best_percent = 3;
/// The working set may take this share of the space: the rest is the caches' and the next tile's.
constexpr double share_on_chip = 0.5;

/// What tiles are multiples of: `least` always; `step` where the index is long enough, since the target's first atom takes so many.
struct Grain {
  std::int64_t least = 1, step = 1;
};

/// An index that loops may tile.
struct TileSite {
  std::string site;
  Symbol index;
  Grain grain;
  std::int64_t extent = 1;  ///< at the default dimension values
  std::string varies_with;  ///< what an extent without one value depends on: an outer index, or data
  std::vector<std::int64_t> candidates;
};

bool stands_in_bounds(const loop::Program& program, Symbol name) {
  for (const Nest& nest : nests_of(program)) {
    for (const auto* loops : {&nest.outer, &nest.folds}) {
      for (const Loop& each : *loops) {
        if (contains(each.lo, index(name)) || contains(each.hi, index(name))) return true;
      }
    }
  }
  return false;
}

/// The last axis of a matrix product of the nest.
bool is_columns(const math::Program& program, const Nest& nest, Symbol name) {
  const std::vector<Symbol> all = nest.statements();
  return std::any_of(all.begin(), all.end(), [&](Symbol each) {
    const math::Statement& statement = *program.find(each);
    return is_matrix_product(statement) && statement.axes.back().index == name;
  });
}

/// Vectors run along the columns of a matrix product, along what lies contiguous in memory beside the fold, and, where nothing folds, along
/// the last index.
bool is_vector(const math::Program& program, const Nest& nest, Symbol name) {
  if (nest.folds.empty()) return nest.outer.back().index == name;
  if (is_columns(program, nest, name)) return true;
  const Symbol fold = nest.folds.back().index;
  return std::any_of(nest.body.begin(), nest.body.end(), [&](Symbol each) {
    const math::Statement& statement = *program.find(each);
    bool found = false;
    for (const Expr value : values_of(statement)) {
      visit(value, [&](Expr e) {
        if (e.is(Op::read) && !e.args().empty() && e.args().back() == index(name) && free_indices(e).contains(fold)) found = true;
      });
    }
    return found;
  });
}

class Sites {
 public:
  Sites(const loop::Program& program, const Target& target) : program_(&program), target_(&target) {}

  std::vector<TileSite> run() {
    const std::vector<Nest> nests = nests_of(*program_);
    for (const Nest& nest : nests) {
      if (nest.outer.empty()) continue;
      const Loop& last = nest.outer.back();
      const bool columns = is_vector(program_->math, nest, last.index);
      // Columns and the rows beside them; or rows alone, with the fold for columns. Other outer indices go one by one.
      if (columns && nest.outer.size() > 1) add(nest, nest.outer[nest.outer.size() - 2], rows());
      add(nest, last, columns ? lanes(is_columns(program_->math, nest, last.index)) : rows());
    }
    for (const Nest& nest : nests) {
      if (!nest.folds.empty()) add(nest, nest.folds.back(), lanes(is_columns(program_->math, nest, nest.folds.back().index)));
    }
    for (TileSite& site : sites_) list_candidates(site);
    return std::move(sites_);
  }

 private:
  void add(const Nest& nest, const Loop& loop, Grain grain) {
    if (stands_in_bounds(*program_, loop.index)) return;
    const auto known = std::find_if(sites_.begin(), sites_.end(), [&](const TileSite& each) { return each.index == loop.index; });
    if (known != sites_.end()) {
      known->grain = {std::max(known->grain.least, grain.least), std::max(known->grain.step, grain.step)};
      return;
    }
    TileSite site;
    site.site = fmt::format("{}/{}/tile", result_served(program_->math, nest.statement_set()).text(), loop.index.text());
    site.index = loop.index;
    site.grain = grain;
    site.extent = std::max<std::int64_t>(1, value_at_defaults(program_->math, loop.hi - loop.lo).value_or(1));
    if (!value_at_defaults(program_->math, loop.hi - loop.lo)) site.varies_with = what_varies(loop.hi - loop.lo);
    sites_.push_back(std::move(site));
  }

  static std::string what_varies(Expr extent) {
    std::vector<std::string> names;
    for (const Symbol name : free_indices(extent)) names.push_back(name.text());
    for (const Symbol name : tensors_read(extent)) names.push_back(name.text());
    return listed(names);
  }

  /// The least tile, then doublings of the step, up to one that holds the whole index.
  static void list_candidates(TileSite& site) {
    const auto whole = [&](std::int64_t multiple) { return (site.extent + multiple - 1) / multiple * multiple; };
    const auto [least, step] = site.grain;
    if (least < step || whole(least) == least) site.candidates.push_back(least);
    if (whole(least) == least) return;
    for (std::int64_t tile = step; tile <= largest_tile; tile *= 2) {
      site.candidates.push_back(std::min(tile, whole(step)));
      if (tile >= whole(step)) break;
    }
  }

  /// Rows of a product: those of the first atom; of the smallest where there are few.
  [[nodiscard]] Grain rows() const {
    Grain grain;
    if (target_->atoms.empty()) return grain;
    grain.step = grain.least = std::max(1, target_->atoms.front().m);
    for (const MatrixAtom& atom : target_->atoms)
      if (atom.ragged && grain.step % atom.m == 0) grain.least = std::min<std::int64_t>(grain.least, atom.m);
    return grain;
  }

  [[nodiscard]] Grain lanes(bool columns_of_product) const {
    constexpr int most = 32;  // a wave of 64 lanes also does half of it: its atoms have fewer columns than it has lanes
    Grain grain{std::min(target_->lanes, most), target_->lanes};
    if (!columns_of_product || target_->atoms.empty()) return grain;
    const MatrixAtom& atom = target_->atoms.front();
    if (atom.ragged && atom.n % target_->lanes == 0) grain.step = atom.n;
    return grain;
  }

  const loop::Program* program_;
  const Target* target_;
  std::vector<TileSite> sites_;
};

using Tiles = std::map<Symbol, std::int64_t>;

loop::Program with_tiles(loop::Program program, const Tiles& tiles) {
  std::vector<Nest> nests = nests_of(program);
  for (Nest& nest : nests) {
    for (auto* loops : {&nest.outer, &nest.folds}) {
      for (Loop& each : *loops) {
        if (const auto tile = tiles.find(each.index); tile != tiles.end()) each.tile = number(Rational(tile->second));
      }
    }
  }
  program.root = tree_of(nests);
  return program;
}

/// Predicts the fused plan at given tiles. The same tiles are asked for again and again: what was predicted is kept.
class Judge {
 public:
  Judge(loop::Program fused, const Target& target) : fused_(std::move(fused)), target_(&target) {}

  const Cost& operator()(const Tiles& tiles) {
    const auto [at, is_new] = known_.try_emplace(tiles);
    if (is_new) at->second = predict(make_ir(with_tiles(fused_, tiles)), fused_.math, *target_);
    return at->second;
  }

  /// All sites together: as large as the share on chip allows, then each in turn the smallest that is nearly the best.
  [[nodiscard]] Tiles defaults(const std::vector<TileSite>& sites) {
    Tiles tiles;
    for (const TileSite& site : sites) tiles[site.index] = site.candidates.front();
    const double room = share_on_chip * static_cast<double>(target_->shared_bytes);
    for (bool grew = true; grew;) {
      grew = false;
      for (const TileSite& site : sites) {
        const auto at = std::find(site.candidates.begin(), site.candidates.end(), tiles[site.index]);
        if (at + 1 == site.candidates.end() || *(at + 1) > 4 * most_lanes_of_tile) continue;
        Tiles larger = tiles;
        larger[site.index] = *(at + 1);
        if ((*this)(larger).on_chip_bytes > room) continue;
        tiles = std::move(larger);
        grew = true;
      }
    }
    for (const TileSite& site : sites) tiles[site.index] = nearly_best(site, tiles, room);
    return tiles;
  }

 private:
  static constexpr std::int64_t most_lanes_of_tile = 16;

  [[nodiscard]] std::int64_t nearly_best(const TileSite& site, Tiles tiles, double room) {
    std::vector<std::pair<std::int64_t, double>> legal;
    for (const std::int64_t candidate : site.candidates) {
      tiles[site.index] = candidate;
      const Cost cost = (*this)(tiles);
      if (cost.on_chip_bytes <= room) legal.emplace_back(candidate, cost.ms);
    }
    if (legal.empty()) return site.candidates.front();
    double best = legal.front().second;
    for (const auto& [candidate, ms] : legal) best = std::min(best, ms);
    for (const auto& [candidate, ms] : legal) {
      if (ms <= best * near_best) return candidate;
    }
    return site.candidates.front();
  }

  loop::Program fused_;
  const Target* target_;
  std::map<Tiles, Cost> known_;
};

Refusal too_large(std::int64_t tile, const TileSite& site, double bytes, const Target& target) {
  return {fmt::format("A tile of {} over {} needs {} on chip; {} has {}.", tile, site.index.text(), bytes_text(bytes), target.name.text(),
                      bytes_text(static_cast<double>(target.shared_bytes))),
          {site.index.text()},
          "Take a smaller tile, here or at the other indices."};
}

class Tiler {
 public:
  Tiler(const Ir& ir, StepLog& log)
      : program_(ir.loop()),
        current_(ir),
        log_(&log),
        judge_(fuse_all(program_, {&log.normalised(), &log.normalised_analysis()}), log.target()) {}

  Ir run() {
    const std::vector<TileSite> sites = Sites(program_, log_->target()).run();
    tiles_ = judge_.defaults(sites);
    Tiles chosen;
    for (const TileSite& site : sites) {
      const Decision decision = log_->decide(proposal(site), [&](std::string_view choice) { return judge_choice(site, choice); });
      chosen[site.index] = tiles_[site.index] = *integer_in(decision.choice);
      program_ = with_tiles(std::move(program_), chosen);
      current_ = make_ir(program_);
      note(site, decision);
    }
    return current_;
  }

 private:
  static std::optional<std::int64_t> integer_in(std::string_view text) {
    const auto value = Rational::parse(text);
    if (!value || !value->is_integer()) return std::nullopt;
    return value->num();
  }

  static std::int64_t grain_of(const TileSite& site, std::int64_t tile) {
    return tile % site.grain.step == 0 ? site.grain.step : site.grain.least;
  }

  [[nodiscard]] std::optional<Refusal> refusal(const TileSite& site, std::int64_t tile, const Cost& cost) const {
    const Target& target = log_->target();
    if (target.shared_bytes > 0 && cost.on_chip_bytes > static_cast<double>(target.shared_bytes))
      return too_large(tile, site, cost.on_chip_bytes, target);
    return std::nullopt;
  }

  [[nodiscard]] Cost cost_with(const TileSite& site, std::int64_t tile) {
    Tiles tiles = tiles_;
    tiles[site.index] = tile;
    return judge_(tiles);
  }

  [[nodiscard]] Decision proposal(const TileSite& site) {
    Decision decision;
    decision.site = site.site;
    decision.kind = "tile";
    const std::int64_t tile = tiles_[site.index];
    decision.choice = std::to_string(tile);
    const Cost cost = cost_with(site, tile);
    decision.reason = reason(site, tile, cost);
    for (const std::int64_t candidate : site.candidates) {
      const Cost each = cost_with(site, candidate);
      decision.alternatives.push_back(
          {std::to_string(candidate), each.ms, candidate == tile ? std::nullopt : refusal(site, candidate, each)});
    }
    return decision;
  }

  [[nodiscard]] std::string reason(const TileSite& site, std::int64_t tile, const Cost& cost) {
    const std::string set = bytes_text(cost.on_chip_bytes), space = bytes_text(static_cast<double>(log_->target().shared_bytes));
    if (refusal(site, tile, cost))
      return fmt::format("A multiple of {}, and the smallest: no tile fits, for the fused loop's working set is {} even so; {} has {}.",
                         grain_of(site, tile), set, log_->target().name.text(), space);
    return fmt::format("A multiple of {}; the fused loop's working set is {} of {}.{}", grain_of(site, tile), set, space,
                       why_no_larger(site, tile, cost));
  }

  [[nodiscard]] std::string why_no_larger(const TileSite& site, std::int64_t tile, const Cost& cost) {
    bool any = false, gains = false, all_fill = true;
    for (const std::int64_t candidate : site.candidates) {
      if (candidate <= tile) continue;
      const Cost larger = cost_with(site, candidate);
      if (refusal(site, candidate, larger)) continue;
      any = true;
      if (larger.ms * near_best >= cost.ms) continue;
      gains = true;
      all_fill = all_fill && larger.on_chip_bytes > share_on_chip * static_cast<double>(log_->target().shared_bytes);
    }
    if (!any) return "";
    if (!gains) return fmt::format(" Larger tiles gain less than {} %.", near_best_percent);
    return all_fill ? " Larger tiles that gain more fill more than half of it." : "";
  }

  /// Sizes that no list holds: any multiple that fits.
  [[nodiscard]] Result<void> judge_choice(const TileSite& site, std::string_view choice) {
    const auto tile = integer_in(choice);
    if (!tile || *tile < 1)
      return refuse(fmt::format("`{}` is no tile size.", choice), {site.index.text()}, "A tile size is a positive integer.");
    const std::int64_t least = site.grain.least;
    if (*tile % least != 0)
      return refuse(fmt::format("{} is no multiple of {}, which the target's atoms and lanes ask for here.", *tile, least),
                    {site.index.text()}, fmt::format("{} is.", (*tile / least + 1) * least));
    if (*tile > std::max(largest_tile, site.candidates.back()))
      return refuse(fmt::format("A tile of {} over {} is more than any target can use.", *tile, site.index.text()), {site.index.text()},
                    fmt::format("At most {}.", std::max(largest_tile, site.candidates.back())));
    if (const auto refused = refusal(site, *tile, cost_with(site, *tile))) return tl::unexpected<Refusal>(*refused);
    return {};
  }

  void note(const TileSite& site, const Decision& decision) {
    const std::int64_t tile = tiles_[site.index];
    StepLog::Note note;
    note.id = site.site;
    note.title = fmt::format("Tile {}", site.index.text());
    const std::string trip =
        fmt::format("A trip over {} takes {}", site.index.text(), tile == 1 ? "one element" : fmt::format("{} elements", tile));
    const std::int64_t trips = (site.extent + tile - 1) / tile, rest = site.extent % tile;
    if (!site.varies_with.empty()) {
      note.says = fmt::format("{}; how many trips there are varies with {}.", trip, site.varies_with);
    } else if (rest != 0 && trips == 1) {
      note.says = fmt::format("{}: one trip of {}.", trip, rest);
    } else {
      note.says =
          fmt::format("{}: {} in {}{}.", trip, site.extent, plural(trips, "trip"), rest == 0 ? "" : fmt::format(", the last of {}", rest));
    }
    note.decision = decision;
    log_->step(std::move(note), current_);
  }

  loop::Program program_;
  Ir current_;
  StepLog* log_;
  Judge judge_;
  Tiles tiles_;
};

}  // namespace

Result<Ir> tile(const Ir& ir, StepLog& log) { return Tiler(ir, log).run(); }

}  // namespace fathom::passes
