#include "passes/fuse_nests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "passes/make_loops.hpp"
#include "passes/masks.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;
using math::Statement;

bool folds_over(const Statement& statement, Symbol index) {
  const auto* reduction = statement.reduction();
  return reduction != nullptr &&
         std::any_of(reduction->over.begin(), reduction->over.end(), [&](const math::Axis& axis) { return axis.index == index; });
}

/// Everything that `name` needs, directly or through other statements.
std::set<Symbol> needs_of(const math::Program& program, Symbol name) {
  std::set<Symbol> needed = {name};
  for (auto each = program.statements.rbegin(); each != program.statements.rend(); ++each) {
    if (needed.contains(each->name)) needed.merge(reads_of(*each));
  }
  return needed;
}

std::set<Symbol> needs_of(const math::Program& program, const std::set<Symbol>& names) {
  std::set<Symbol> needed = names;
  for (auto each = program.statements.rbegin(); each != program.statements.rend(); ++each) {
    if (needed.contains(each->name)) needed.merge(reads_of(*each));
  }
  return needed;
}

std::vector<std::string> texts(const std::vector<Symbol>& names) {
  std::vector<std::string> all;
  for (const Symbol each : names) all.push_back(each.text());
  return all;
}

bool meets(const std::set<Symbol>& a, const std::set<Symbol>& b) {
  return std::any_of(a.begin(), a.end(), [&](Symbol name) { return b.contains(name); });
}

/// The gauge of a repair as the elementwise statements of the loop read it.
Expr gauge_read(const math::Gauge& gauge, const Statement& consumer) {
  if (gauge.reference.is(Op::read)) return read(gauge.name, {gauge.reference.args().begin(), gauge.reference.args().end()});
  std::vector<Expr> subscripts;
  for (const math::Axis& axis : consumer.axes) {
    if (free_indices(gauge.reference).contains(axis.index)) subscripts.push_back(index(axis.index));
  }
  return read(gauge.name, std::move(subscripts));
}

class Merger {
 public:
  Merger(const loop::Program& program, const FuseSite& site, const Knowledge& knowledge)
      : program_(program), site_(site), knowledge_(knowledge), nests_(nests_of(program)), a_(nests_[site.into]), b_(nests_[site.nest]) {}

  Result<loop::Program> run() {
    for (const auto step : {&Merger::check_loops, &Merger::check_order, &Merger::repair, &Merger::check_reads}) {
      if (const Result<void> fine = (this->*step)(); !fine) return tl::unexpected<Refusal>(fine.error());
    }
    drop_unused();
    part_from_outside();
    share_equal_statements();
    merge();
    return std::move(program_);
  }

 private:
  [[nodiscard]] Statement& statement(Symbol name) {
    return *std::find_if(program_.math.statements.begin(), program_.math.statements.end(),
                         [&](const Statement& each) { return each.name == name; });
  }
  [[nodiscard]] Statement& consumer() { return statement(site_.consumer); }

  // ---- legality ----
  Result<void> check_loops() {
    const auto has_equal = [](const std::vector<Loop>& all, const Loop& wanted) {
      return std::any_of(all.begin(), all.end(), [&](const Loop& each) { return same_range(each, wanted); });
    };
    const bool same_outer = a_.outer.size() == b_.outer.size() &&
                            std::all_of(b_.outer.begin(), b_.outer.end(), [&](const Loop& each) { return has_equal(a_.outer, each); });
    if (!same_outer)
      return refuse(fmt::format("The loops around the two loops over {} differ.", site_.index.text()), texts({site_.consumer}),
                    "Reductions share a loop only inside the same parallel loops.");
    if (a_.folds.size() != b_.folds.size() || !std::equal(a_.folds.begin(), a_.folds.end(), b_.folds.begin(), same_range))
      return refuse(
          fmt::format("{} runs over {} in {}:{}, the loop that it would join over {}:{}.", site_.consumer.text(), site_.index.text(),
                      print(b_.folds.back().lo), print(b_.folds.back().hi), print(a_.folds.back().lo), print(a_.folds.back().hi)),
          texts({site_.consumer}), "One loop can serve both only if both fold over the same elements.");
    return {};
  }

  /// Nests between the two that need the first and are needed by the second would have to run inside the merged one.
  Result<void> check_order() {
    std::set<Symbol> after_a = a_.statement_set();
    const std::set<Symbol> needed_by_b = needs_of(program_.math, b_.statement_set());
    for (std::size_t i = site_.into + 1; i < site_.nest; ++i) {
      const std::set<Symbol> here = nests_[i].statement_set();
      if (!meets(needs_of(program_.math, here), after_a)) continue;
      if (meets(here, needed_by_b))
        return refuse(fmt::format("{} needs {}, which is complete only after the loop over {} that it would join.", site_.consumer.text(),
                                  here.begin()->text(), site_.index.text()),
                      texts({site_.consumer, *here.begin()}));
      after_a.insert(here.begin(), here.end());
    }
    const std::set<Symbol> complete = complete_after_a();
    for (const Symbol name : b_.before) {
      if (meets(reads_of(statement(name)), complete))
        return refuse(fmt::format("{} needs {} before its first trip, and the loop over {} computes what that needs.",
                                  site_.consumer.text(), name.text(), site_.index.text()),
                      texts({site_.consumer, name}));
    }
    return {};
  }

  /// What is known only when the first nest's loop has ended.
  [[nodiscard]] std::set<Symbol> complete_after_a() {
    std::set<Symbol> names(a_.after.begin(), a_.after.end());
    for (const Symbol each : a_.body) {
      if (folds_over(statement(each), site_.index)) names.insert(each);
    }
    return names;
  }

  // ---- repair ----
  Result<void> repair() {
    const std::set<Symbol> complete = complete_after_a();
    const bool is_free =
        std::none_of(b_.body.begin(), b_.body.end(), [&](Symbol name) { return meets(reads_of(statement(name)), complete); });
    if (is_free) return {};
    Result<math::Repair> found = algebra::repair_for(*knowledge_.normalised, *knowledge_.analysis, site_.consumer);
    if (!found) return tl::unexpected<Refusal>(found.error());
    Substitution running;
    for (const math::Gauge& gauge : found->gauges) running[gauge.reference] = gauge_read(gauge, consumer());
    for (const Symbol name : b_.body) {
      Statement& each = statement(name);
      Statement moved = with_values(each, [&](Expr e) { return substitute(e, running); });
      const std::set<Symbol> reads = reads_of(each);  // what reads a running value is a running value itself, in the same words
      const bool follows =
          std::any_of(originals_.begin(), originals_.end(), [&](const auto& other) { return reads.contains(other.first); });
      if (each.map() != nullptr && (follows || !(moved.map()->value == each.map()->value))) originals_[name] = each;
      each = std::move(moved);
    }
    if (!is_free_of(complete)) take_terms(*found);
    std::get<math::Reduction>(consumer().value).repair = std::move(*found);
    return {};
  }

  [[nodiscard]] bool is_free_of(const std::set<Symbol>& complete) {
    return std::none_of(b_.body.begin(), b_.body.end(), [&](Symbol name) { return meets(reads_of(statement(name)), complete); });
  }

  /// The elementwise statements do not show the gauge by itself: the consumer takes the algebra's own term instead of reading them.
  void take_terms(const math::Repair& repair) {
    if (repair.carried.size() != 1) return;
    Substitution gauges;
    for (const math::Gauge& gauge : repair.gauges) gauges[symbol(gauge.name)] = gauge_read(gauge, consumer());
    auto& reduction = std::get<math::Reduction>(consumer().value);
    reduction.values = {substitute(repair.carried.front().term, gauges)};
    for (const auto& [name, original] : originals_) statement(name) = original;
    originals_.clear();
  }

  /// Elementwise statements that the consumer no longer needs leave its body; if somebody else reads them they get a place of their own.
  void drop_unused() {
    const std::set<Symbol> needed = needs_of(program_.math, consumer().name);
    for (const Symbol name : b_.body) {
      if (!needed.contains(name)) homeless_.push_back(name);
    }
    std::erase_if(b_.body, [&](Symbol name) { return !needed.contains(name); });
  }

  Result<void> check_reads() {
    const std::set<Symbol> complete = complete_after_a();
    const std::set<Symbol> needed = needs_of(program_.math, consumer().name);
    for (const Symbol name : b_.body) {
      if (!needed.contains(name) && name != site_.consumer) continue;
      for (const Symbol producer : reads_of(statement(name))) {
        if (complete.contains(producer))
          return refuse(
              fmt::format("{} reads {}, which is complete only after the loop over {}.", name.text(), producer.text(), site_.index.text()),
              texts({name, producer}));
        const Statement* read_here = program_.math.find(producer);
        const bool is_in_a = std::find(a_.body.begin(), a_.body.end(), producer) != a_.body.end();
        if (is_in_a && !reads_at_identity(statement(name), *read_here))
          return refuse(fmt::format("{} reads {} at another place than the one at hand.", name.text(), producer.text()),
                        texts({name, producer}));
      }
    }
    return {};
  }

  // ---- statements ----
  [[nodiscard]] std::vector<Symbol> readers_outside(Symbol name) {
    std::vector<Symbol> readers;
    for (const Statement& each : program_.math.statements) {
      if (std::find(b_.body.begin(), b_.body.end(), each.name) == b_.body.end() && reads_of(each).contains(name))
        readers.push_back(each.name);
    }
    return readers;
  }

  /// The names, those that are computed from others before those.
  [[nodiscard]] std::vector<Symbol> readers_first(const std::vector<Symbol>& names) const {
    std::vector<Symbol> ordered;
    for (auto each = program_.math.statements.rbegin(); each != program_.math.statements.rend(); ++each) {
      if (std::find(names.begin(), names.end(), each->name) != names.end()) ordered.push_back(each->name);
    }
    return ordered;
  }

  /// Inside the loop an elementwise statement now stands at the running reference. Who reads it elsewhere gets the original; an original
  /// is such a reader of the statements that it is computed from.
  void part_from_outside() {
    std::vector<Symbol> names;
    for (const auto& each : originals_) names.push_back(each.first);
    for (const Symbol name : readers_first(names)) {
      const Statement& original = originals_.at(name);
      if (readers_outside(name).empty() && !is_result(program_.math, name)) continue;
      Symbol inside(name.text() + "~");
      while (program_.math.find(inside) != nullptr) inside = Symbol(inside.text() + "~");
      Statement running = statement(name);
      running.name = inside;
      const auto at = std::find_if(program_.math.statements.begin(), program_.math.statements.end(),
                                   [&](const Statement& each) { return each.name == name; });
      *at = original;
      program_.math.statements.insert(at, std::move(running));
      for (Symbol& each : b_.body) {
        if (each == name) {
          each = inside;
        } else {
          rename_reads(statement(each), name, inside);
        }
      }
      homeless_.push_back(name);
    }
  }

  /// In the values and in what a repair carries: its terms are computed from the same statements.
  static void rename_reads(Statement& reader, Symbol from, Symbol to) {
    const auto renamed = [&](Expr e) {
      return transform(e, [&](Expr node) {
        if (!node.is(Op::read) || node.name() != from) return node;
        return read(to, {node.args().begin(), node.args().end()});
      });
    };
    reader = with_values(std::move(reader), renamed);
    auto* reduction = std::get_if<math::Reduction>(&reader.value);
    if (reduction == nullptr || !reduction->repair) return;
    for (math::Gauge& gauge : reduction->repair->gauges) gauge.reference = renamed(gauge.reference);
    for (math::Carried& carried : reduction->repair->carried) {
      carried.term = renamed(carried.term);
      carried.move = renamed(carried.move);
    }
    reduction->repair->project = renamed(reduction->repair->project);
  }

  /// Two statements of the merged body with one value are one statement, under the name that the text gave.
  void share_equal_statements() {
    std::vector<Symbol> kept;
    for (const Symbol name : b_.body) {
      const Statement here = statement(name);
      const auto twin = std::find_if(a_.body.begin(), a_.body.end(), [&](Symbol other) {
        const Statement& there = statement(other);
        return here.map() != nullptr && there.map() != nullptr && here.map()->value == there.map()->value && here.axes == there.axes &&
               here.dtype == there.dtype;
      });
      if (twin == a_.body.end()) {
        kept.push_back(name);
        continue;
      }
      const bool take_this_name = twin->text() == name.text() + "~";
      const Symbol from = take_this_name ? *twin : name, to = take_this_name ? name : *twin;
      std::erase_if(program_.math.statements, [&](const Statement& each) { return each.name == name; });
      if (take_this_name) statement(from).name = to;
      *twin = to;
      for (Statement& each : program_.math.statements) {
        if (each.name != to) rename_reads(each, from, to);
      }
    }
    b_.body = std::move(kept);
  }

  // ---- the tree ----
  void merge() {
    Nest merged = a_;
    const auto append = [](std::vector<Symbol>& into, const std::vector<Symbol>& from) {
      into.insert(into.end(), from.begin(), from.end());
    };
    append(merged.before, b_.before);
    append(merged.body, b_.body);
    append(merged.after, b_.after);
    std::vector<Nest> before, after;
    std::set<Symbol> behind = merged.statement_set();
    for (std::size_t i = site_.into + 1; i < site_.nest; ++i) {
      const std::set<Symbol> here = nests_[i].statement_set();
      const bool needs_a = meets(needs_of(program_.math, here), behind);
      (needs_a ? after : before).push_back(nests_[i]);
      if (needs_a) behind.insert(here.begin(), here.end());
    }
    std::vector<Nest> all(nests_.begin(), nests_.begin() + static_cast<std::ptrdiff_t>(site_.into));
    all.insert(all.end(), before.begin(), before.end());
    all.push_back(std::move(merged));
    const std::size_t here = all.size() - 1;
    all.insert(all.end(), after.begin(), after.end());
    all.insert(all.end(), nests_.begin() + static_cast<std::ptrdiff_t>(site_.nest) + 1, nests_.end());
    for (const Symbol name : readers_first(homeless_)) settle(all, here, name);
    if (!equal_ranges(a_.folds.back(), b_.folds.back())) {
      all[here].folds.back().ranges = bounds_by_mask(program_, all, here).ranges;
      compute_what_is_read(program_, all);
    }
    program_.root = tree_of(all);
  }

  [[nodiscard]] static bool equal_ranges(const Loop& a, const Loop& b) {
    return std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(),
                      [](const auto& x, const auto& y) { return x.tag == y.tag && x.lo == y.lo && x.hi == y.hi; });
  }

  /// A statement that left its nest goes to the first nest that reads it, or into one of its own behind the merged nest; nobody: away.
  void settle(std::vector<Nest>& all, std::size_t here, Symbol name) {
    std::set<std::size_t> reader_nests;
    std::set<Symbol> readers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (const Symbol each : all[i].statements()) {
        if (each != name && reads_of(statement(each)).contains(name)) reader_nests.insert(i), readers.insert(each);
      }
    }
    const Statement moved = statement(name);
    if (reader_nests.empty() && !is_result(program_.math, name)) {
      std::erase_if(program_.math.statements, [&](const Statement& each) { return each.name == name; });
      return;
    }
    if (!reader_nests.empty()) {
      // The first reader computes it, the others read what that stored.
      Nest& nest = all[*reader_nests.begin()];
      const std::set<Symbol> axes = axis_names(moved);
      const bool fits =
          std::all_of(moved.axes.begin(), moved.axes.end(), [&](const math::Axis& axis) { return nest.loop(axis.index) != nullptr; }) &&
          std::all_of(nest.outer.begin(), nest.outer.end(), [&](const Loop& each) { return axes.contains(each.index); });
      for (auto* part : {&nest.body, &nest.after}) {
        const auto first = std::find_if(part->begin(), part->end(), [&](Symbol each) { return readers.contains(each); });
        if (!fits || first == part->end()) continue;
        part->insert(first, name);
        return;
      }
    }
    std::vector<Nest> until(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(here) + 1);
    place_behind(program_.math, until, moved);
    until.insert(until.end(), all.begin() + static_cast<std::ptrdiff_t>(here) + 1, all.end());
    all = std::move(until);
  }

  loop::Program program_;
  FuseSite site_;
  Knowledge knowledge_;
  std::vector<Nest> nests_;
  Nest a_, b_;
  std::map<Symbol, Statement> originals_;  ///< of the elementwise statements that now read a gauge
  std::vector<Symbol> homeless_;
};

}  // namespace

const Fusion* fusion_of(const algebra::Analysis& analysis, Symbol consumer) {
  if (const Fusion* found = analysis.find(consumer)) return found;
  const std::size_t dot = consumer.text().rfind('.');
  return dot == std::string::npos ? nullptr : analysis.find(Symbol(consumer.text().substr(0, dot)));
}

std::optional<FuseSite> fuse_site(const loop::Program& program, Symbol consumer) {
  const std::vector<Nest> nests = nests_of(program);
  const Statement* statement = program.math.find(consumer);
  if (statement == nullptr || statement->reduction() == nullptr) return std::nullopt;
  const std::set<Symbol> needed = needs_of(program.math, consumer);
  for (std::size_t i = 0; i < nests.size(); ++i) {
    if (nests[i].folds.empty() || std::find(nests[i].body.begin(), nests[i].body.end(), consumer) == nests[i].body.end()) continue;
    const Symbol index = nests[i].folds.back().index;
    if (!folds_over(*statement, index)) return std::nullopt;
    std::optional<FuseSite> best;
    for (std::size_t k = 0; k < i; ++k) {
      if (!nests[k].folds_over(index)) continue;
      FuseSite site{consumer, index, k, i, {}};
      for (const Symbol each : nests[k].body) {
        if (needed.contains(each) && folds_over(*program.math.find(each), index)) site.producers.push_back(each);
      }
      if (!best || !site.producers.empty() || best->producers.empty()) best = std::move(site);
    }
    return best;
  }
  return std::nullopt;
}

Result<loop::Program> fuse_at(const loop::Program& program, const FuseSite& site, const Knowledge& knowledge) {
  return Merger(program, site, knowledge).run();
}

loop::Program fuse_all(loop::Program program, const Knowledge& knowledge) {
  std::vector<Symbol> consumers;
  for (const Statement& statement : program.math.statements) consumers.push_back(statement.name);
  for (const Symbol consumer : consumers) {
    const auto site = fuse_site(program, consumer);
    if (!site) continue;
    if (Result<loop::Program> fused = fuse_at(program, *site, knowledge)) program = std::move(*fused);
  }
  return program;
}

}  // namespace fathom::passes
