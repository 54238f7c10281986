// How many elements of an index a trip takes: multiples of the target's first atom and lanes, as many as pay and fit on chip. One decision
// an index (site RESULT/INDEX/tile); the same index has the same tiles in every loop, so that loops can share tiles. Predicted for the plan
// in which everything that may fuse is fused: tiles serve that plan. On targets with warps rows may stay `whole` (whole_rows.hpp): the
// loops over the index are gone.
#include <fmt/format.h>

#include <algorithm>

#include "passes/cost.hpp"
#include "passes/fuse_nests.hpp"
#include "passes/passes.hpp"
#include "passes/registers.hpp"
#include "passes/whole_rows.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;

constexpr std::int64_t whole_row = 0;  ///< in the place of a tile: the row stays whole, without a loop
constexpr auto whole_choice = "whole";
constexpr std::int64_t largest_tile = 512;  ///< also the largest that a person may ask for, unless the whole index fits one tile
/// A smaller tile within this factor of the best prediction is preferred: it leaves room and pads less.
constexpr double near_best = 1.03;
constexpr int near_best_percent = 3;
/// The working set may take this share of the space: the rest is the caches' and the next tile's. A workgroup that a copy engine loads for
/// has a processor alone, and what its registers hold is counted, too.
double share_on_chip(const Target& target) { return target.copy_engine ? 1 : 0.5; }
/// More where a thread would spill otherwise: its workgroup has the registers of the processor to itself anyhow.
constexpr double share_rather_than_spill = 0.66;

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
  std::vector<std::int64_t> of_whole_rows;  ///< candidates beside these where rows stay whole
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
    for (TileSite& site : sites_) {
      list_candidates(site);
      if (has_warps(*target_) && is_row_of_product(site.index)) {
        const std::int64_t most = std::max(site.candidates.front(), most_row_warps * rows_of_atoms(*target_));
        std::erase_if(site.candidates, [&](std::int64_t tile) { return tile > most; });
      }
    }
    for (TileSite& site : sites_) {
      const std::int64_t row = elements_of_copied_row(site.index);
      const auto whole_rows = [row](std::int64_t tile) { return tile % row == 0; };
      if (std::any_of(site.candidates.begin(), site.candidates.end(), whole_rows))
        std::erase_if(site.candidates, [&](std::int64_t tile) { return !whole_rows(tile); });
    }
    for (const RowGroup& group : row_groups(*program_, *target_)) offer_whole_rows(group);
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

  /// The whole row, and few rows a work item.
  void offer_whole_rows(const RowGroup& group) {
    for (TileSite& site : sites_) {
      if (site.index == group.index) {
        site.of_whole_rows = {whole_row};
      } else if (site.index == group.rows && site.of_whole_rows.empty() && !is_of_product(site.index)) {
        site.grain.least = 1;
        for (std::int64_t rows = 1; rows < std::min(site.candidates.front(), most_row_warps + 1); rows *= 2)
          site.of_whole_rows.push_back(rows);
      }
    }
  }

  /// Warps take one tile of rows each: computed operands have a form for that only.
  [[nodiscard]] bool is_row_of_product(Symbol name) const {
    return std::any_of(program_->math.statements.begin(), program_->math.statements.end(), [&](const math::Statement& s) {
      return is_matrix_product(s) && axis_names(s).contains(name) && s.axes.back().index != name;
    });
  }

  [[nodiscard]] bool is_of_product(Symbol name) const {
    return std::any_of(program_->math.statements.begin(), program_->math.statements.end(),
                       [&](const math::Statement& s) { return is_matrix_product(s) && axis_names(s).contains(name); });
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

  /// A copy engine fills rows of 128 bytes for products of a warpgroup: the index that lies along them has tiles of whole rows. Else 1.
  [[nodiscard]] std::int64_t elements_of_copied_row(Symbol name) const {
    constexpr std::int64_t bytes_of_row = 128;
    if (!target_->copy_engine) return 1;
    std::int64_t elements = 1;
    for (const math::Statement& s : program_->math.statements) {
      if (!is_matrix_product(s)) continue;
      visit(s.reduction()->values.front(), [&](Expr e) {
        const math::Parameter* p = e.is(Op::read) ? program_->math.param(e.name()) : nullptr;
        if (p == nullptr || e.args().empty() || e.args().back() != index(name)) return;
        const bool taken = std::any_of(target_->atoms.begin(), target_->atoms.end(),
                                       [&](const MatrixAtom& atom) { return atom.asynchronous && atom.a == p->dtype; });
        if (taken) elements = std::max(elements, bytes_of_row / size_in_bytes(p->dtype));
      });
    }
    return elements;
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
  Judge(const loop::Program& program, const Knowledge& knowledge, const Target& target)
      : program_(program), knowledge_(knowledge), target_(&target), groups_(row_groups(program, target)) {}

  const Cost& operator()(const Tiles& tiles) {
    const auto [at, is_new] = known_.try_emplace(tiles);
    if (is_new) at->second = predict(make_ir(with_tiles(fused(whole(tiles)), tiles)), program_.math, *target_);
    return at->second;
  }
  /// Registers that a thread of that plan lacks: what it would spill.
  [[nodiscard]] double spills(const Tiles& tiles) {
    const auto [at, is_new] = spills_.try_emplace(tiles);
    if (is_new) at->second = register_need(with_tiles(fused(whole(tiles)), tiles), *target_).excess();
    return at->second;
  }

  /// Indices of which these tiles hold the whole rows.
  [[nodiscard]] std::set<Symbol> whole(const Tiles& tiles) const {
    std::set<Symbol> indices;
    for (const RowGroup& group : groups_) {
      const auto tile = tiles.find(group.index), rows = tiles.find(group.rows);
      if (tile != tiles.end() && tile->second == whole_row && group.fits(rows == tiles.end() ? 1 : rows->second, *target_))
        indices.insert(group.index);
    }
    return indices;
  }
  [[nodiscard]] const RowGroup* group_of(Symbol name) const {
    const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const RowGroup& each) { return each.index == name; });
    return found == groups_.end() ? nullptr : &*found;
  }

  /// Rows stay whole where that is not predicted to take clearly longer: the model thinks that few workgroups keep the memory as busy as
  /// many do, which they do not.
  [[nodiscard]] Tiles with_rows(const std::vector<TileSite>& sites, Tiles tiles) {
    for (const RowGroup& group : groups_) {
      Tiles rows = tiles;
      for (const TileSite& site : sites) {
        const bool few = site.index == group.rows && !site.of_whole_rows.empty();
        if (site.index == group.index) rows[site.index] = whole_row;
        if (few) rows[site.index] = group.usual_rows(*target_);
      }
      if (whole(rows).contains(group.index) && (*this)(rows).ms <= clearly_longer * (*this)(tiles).ms) tiles = std::move(rows);
    }
    return tiles;
  }

  /// All sites together: as large as the share on chip allows, then each in turn the smallest that is nearly the best.
  [[nodiscard]] Tiles defaults(const std::vector<TileSite>& sites) {
    Tiles tiles;
    for (const TileSite& site : sites) tiles[site.index] = site.candidates.front();
    const double room = share_on_chip(*target_) * static_cast<double>(target_->shared_bytes);
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
    return spills(tiles) > 0 ? without_spills(sites, tiles) : tiles;
  }

 private:
  static constexpr std::int64_t most_lanes_of_tile = 16;
  static constexpr double clearly_longer = 1.25;
  static constexpr std::int64_t most_combinations = 1000;
  static constexpr double nearly_as_fast = 1.1;  ///< where registers are scarce: small tiles leave more of them

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

  /// The tiles of which a thread lacks the fewest registers, of these the smallest that are nearly the fastest: all sites together, since
  /// fewer rows a workgroup mean more copies a thread.
  [[nodiscard]] Tiles without_spills(const std::vector<TileSite>& sites, const Tiles& usual) {
    const double room = share_rather_than_spill * static_cast<double>(target_->shared_bytes);
    std::int64_t combinations = 1;
    for (const TileSite& site : sites) combinations *= static_cast<std::int64_t>(site.candidates.size());
    if (combinations > most_combinations) return usual;
    struct Plan {
      Tiles tiles;
      double ms = 0, elements = 1;
    };
    std::vector<Plan> plans;
    double least = spills(usual);
    for (std::int64_t n = 0; n < combinations; ++n) {
      Plan plan;
      std::int64_t left = n;
      for (const TileSite& site : sites) {
        const auto count = static_cast<std::int64_t>(site.candidates.size());
        plan.tiles[site.index] = site.candidates[static_cast<std::size_t>(left % count)];
        plan.elements *= static_cast<double>(plan.tiles[site.index]);
        left /= count;
      }
      const double lacks = spills(plan.tiles);
      if (lacks > least) continue;
      const Cost& cost = (*this)(plan.tiles);
      if (cost.on_chip_bytes > room) continue;
      if (lacks < least) plans.clear();
      least = lacks;
      plan.ms = cost.ms;
      plans.push_back(std::move(plan));
    }
    if (plans.empty()) return usual;
    const auto faster = [](const Plan& a, const Plan& b) { return a.ms < b.ms; };
    const double fastest = std::min_element(plans.begin(), plans.end(), faster)->ms;
    std::erase_if(plans, [&](const Plan& plan) { return plan.ms > fastest * nearly_as_fast; });
    return std::min_element(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) { return a.elements < b.elements; })->tiles;
  }

  const loop::Program& fused(const std::set<Symbol>& whole) {
    const auto [at, is_new] = fused_.try_emplace(whole);
    if (is_new) at->second = fuse_all(whole.empty() ? program_ : with_whole_rows(program_, whole, *target_), knowledge_);
    return at->second;
  }

  loop::Program program_;
  Knowledge knowledge_;
  const Target* target_;
  std::vector<RowGroup> groups_;
  std::map<std::set<Symbol>, loop::Program> fused_;
  std::map<Tiles, Cost> known_;
  std::map<Tiles, double> spills_;
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
      : program_(ir.loop()), current_(ir), log_(&log), judge_(program_, {&log.normalised(), &log.normalised_analysis()}, log.target()) {}

  Ir run() {
    const std::vector<TileSite> sites = Sites(program_, log_->target()).run();
    plain_ = judge_.defaults(sites);
    tiles_ = judge_.with_rows(sites, plain_);
    Tiles chosen;
    for (const TileSite& site : sites) {
      tiles_ = settled(tiles_);
      const Decision decision = log_->decide(proposal(site), [&](std::string_view choice) { return judge_choice(site, choice); });
      tiles_[site.index] = decision.choice == whole_choice ? whole_row : *integer_in(decision.choice);
      if (tiles_[site.index] != whole_row) chosen[site.index] = tiles_[site.index];
      program_ = with_tiles(std::move(program_), chosen);
      current_ = make_ir(program_);
      note(site, decision);
    }
    keep_rows();
    return current_;
  }

 private:
  /// Rows that a choice made too large for the registers have the tiles of the plan in loops.
  [[nodiscard]] Tiles settled(Tiles tiles) const {
    const std::set<Symbol> whole = judge_.whole(tiles);
    for (auto& [name, tile] : tiles)
      if (tile == whole_row && !whole.contains(name)) tile = plain_.at(name);
    return tiles;
  }

  [[nodiscard]] std::int64_t rows_of(const RowGroup& group) const {
    const auto rows = tiles_.find(group.rows);
    return rows == tiles_.end() ? 1 : rows->second;
  }

  /// Nests over a row that is whole become one.
  void keep_rows() {
    for (const Symbol name : judge_.whole(tiles_)) {
      const RowGroup& group = *judge_.group_of(name);
      program_ = with_whole_rows(std::move(program_), {name}, log_->target());
      current_ = make_ir(program_);
      StepLog::Note note;
      note.id = name.text() + "/whole";
      note.title = fmt::format("Keep rows over {} whole", name.text());
      note.says = fmt::format(
          "A row of {} fits {} registers of a thread: {} over {} {} one, nothing loops over it, and what several of them read is loaded "
          "once.",
          group.extent, group.registers(rows_of(group), log_->target()),
          plural(static_cast<std::int64_t>(group.last - group.first + 1), "nest"), name.text(),
          group.last == group.first ? "is" : "become");
      log_->step(std::move(note), current_);
    }
  }

  static std::optional<std::int64_t> integer_in(std::string_view text) {
    const auto value = Rational::parse(text);
    if (!value || !value->is_integer()) return std::nullopt;
    return value->num();
  }

  static std::string text_of(std::int64_t tile) { return tile == whole_row ? whole_choice : std::to_string(tile); }

  static std::int64_t grain_of(const TileSite& site, std::int64_t tile) {
    return tile % site.grain.step == 0 ? site.grain.step : site.grain.least;
  }

  [[nodiscard]] std::optional<Refusal> refusal(const TileSite& site, std::int64_t tile, const Cost& cost) const {
    const Target& target = log_->target();
    if (const RowGroup* group = judge_.group_of(site.index); group != nullptr && tile == whole_row) {
      const std::int64_t together = rows_of(*group);
      if (group->fits(together, target)) return std::nullopt;
      return Refusal{fmt::format("{} of {} elements would take {} registers of a thread.", capital(plural(together, "row")), group->extent,
                                 group->registers(together, target)),
                     {site.index.text()},
                     "Take fewer rows, or a smaller tile."};
    }
    Tiles tiles = tiles_;
    tiles[site.index] = tile;
    if (!judge_.whole(tiles).empty()) return std::nullopt;  // registers hold it
    if (target.shared_bytes > 0 && cost.on_chip_bytes > static_cast<double>(target.shared_bytes))
      return too_large(tile, site, cost.on_chip_bytes, target);
    return std::nullopt;
  }

  [[nodiscard]] Cost cost_with(const TileSite& site, std::int64_t tile) {
    Tiles tiles = tiles_;
    tiles[site.index] = tile;
    return judge_(settled(std::move(tiles)));
  }

  [[nodiscard]] Decision proposal(const TileSite& site) {
    Decision decision;
    decision.site = site.site;
    decision.kind = "tile";
    const std::int64_t tile = tiles_[site.index];
    decision.choice = text_of(tile);
    const Cost cost = cost_with(site, tile);
    decision.reason = reason(site, tile, cost);
    std::vector<std::int64_t> offered = site.candidates;
    offered.insert(offered.end(), site.of_whole_rows.begin(), site.of_whole_rows.end());
    std::sort(offered.begin(), offered.end(),
              [](std::int64_t a, std::int64_t b) { return b == whole_row ? a != whole_row : a < b && a != whole_row; });
    for (const std::int64_t candidate : offered) {
      const Cost each = cost_with(site, candidate);
      decision.alternatives.push_back({text_of(candidate), each.ms, candidate == tile ? std::nullopt : refusal(site, candidate, each)});
    }
    return decision;
  }

  [[nodiscard]] std::string reason(const TileSite& site, std::int64_t tile, const Cost& cost) {
    if (const std::string rows = reason_of_rows(site, tile); !rows.empty()) return rows;
    const std::string set = bytes_text(cost.on_chip_bytes), space = bytes_text(static_cast<double>(log_->target().shared_bytes));
    if (refusal(site, tile, cost))
      return fmt::format("A multiple of {}, and the smallest: no tile fits, for the fused loop's working set is {} even so; {} has {}.",
                         grain_of(site, tile), set, log_->target().name.text(), space);
    return fmt::format("A multiple of {}; the fused loop's working set is {} of {}.{}{}", grain_of(site, tile), set, space,
                       why_no_larger(site, tile, cost), about_registers(site, tile, cost));
  }

  /// Of the two tiles of rows that stay whole; else nothing.
  [[nodiscard]] std::string reason_of_rows(const TileSite& site, std::int64_t tile) {
    for (const Symbol name : judge_.whole(tiles_)) {
      const RowGroup& group = *judge_.group_of(name);
      if (name == site.index)
        return fmt::format("The whole row: {} of {} lanes keep it in {} registers a thread, and each element is loaded once.",
                           plural(group.split.warps, "warp"), log_->target().lanes, group.registers(rows_of(group), log_->target()));
      if (group.rows == site.index && !site.of_whole_rows.empty())
        return fmt::format("{} of {} elements a work item, {}.", capital(plural(tile, "row")), group.extent,
                           group.split.warps > 1 ? fmt::format("for {} share one", plural(group.split.warps, "warp")) : "one a warp");
    }
    return "";
  }

  /// What kept a tile of which the plan is predicted to be faster from being the default.
  [[nodiscard]] std::string about_registers(const TileSite& site, std::int64_t tile, const Cost& cost) {
    Tiles tiles = settled(tiles_);
    tiles[site.index] = tile;
    const double lacks = judge_.spills(tiles);
    const bool passed_over = std::any_of(site.candidates.begin(), site.candidates.end(), [&](std::int64_t candidate) {
      tiles[site.index] = candidate;
      return cost_with(site, candidate).ms * near_best < cost.ms && judge_.spills(tiles) > lacks;
    });
    if (lacks > 0) return fmt::format(" A thread lacks about {} registers: some values spill.", lacks);
    return passed_over ? " Faster ones would spill registers." : "";
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
      all_fill = all_fill && larger.on_chip_bytes > share_on_chip(log_->target()) * static_cast<double>(log_->target().shared_bytes);
    }
    if (!any) return "";
    if (!gains) return fmt::format(" Larger tiles gain less than {} %.", near_best_percent);
    return all_fill ? " Larger tiles that gain more fill more than half of it." : "";
  }

  /// Sizes that no list holds: any multiple that fits.
  [[nodiscard]] Result<void> judge_choice(const TileSite& site, std::string_view choice) {
    if (choice == whole_choice && judge_.group_of(site.index) != nullptr) {
      const auto refused = refusal(site, whole_row, {});
      return refused ? Result<void>(tl::unexpected<Refusal>(*refused)) : Result<void>();
    }
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
    if (tile == whole_row) {
      note.says = fmt::format("Rows over {} stay whole.", site.index.text());
      note.decision = decision;
      return log_->step(std::move(note), current_);
    }
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
  Tiles plain_, tiles_;  ///< by default: with every loop, and as far as it is decided
};

}  // namespace

Result<Ir> tile(const Ir& ir, StepLog& log) { return Tiler(ir, log).run(); }

}  // namespace fathom::passes
