#include <algorithm>

#include "passes/make_loops.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;
using loop::Mark;
using math::Axis;
using math::Statement;

/// A contraction over at most this many elements is one operation on tiles: it needs no loop of its own.
constexpr std::int64_t most_contracted = 1024;
/// Columns of a result that ride whole in a tile.
constexpr std::int64_t most_whole_columns = 256;

bool is_at_most(const math::Program& program, const Axis& axis, std::int64_t most) {
  if (!is_fixed(program, axis.lo) || !is_fixed(program, axis.hi)) return false;
  const auto extent = value_at_defaults(program, axis.hi - axis.lo);
  return extent && *extent <= most;
}

/// The last axis of a contraction's result, where one operand has it and another does not: the columns of a matrix product.
bool is_column(const Statement& statement, const Axis& axis) {
  const auto* reduction = statement.reduction();
  if (reduction == nullptr || statement.axes.size() < 2 || !(statement.axes.back() == axis)) return false;
  std::vector<std::set<Symbol>> with, without;
  for (const Expr value : reduction->values) {
    visit(value, [&](Expr e) {
      if (!e.is(Op::read)) return;
      std::set<Symbol> indices = free_indices(e);
      (indices.contains(axis.index) ? with : without).push_back(std::move(indices));
    });
  }
  return !with.empty() && std::any_of(statement.axes.begin(), statement.axes.end(), [&](const Axis& row) {
    const auto has_row = [&](const std::set<Symbol>& indices) { return indices.contains(row.index); };
    return row.index != axis.index && std::any_of(without.begin(), without.end(), has_row) &&
           !std::any_of(with.begin(), with.end(), has_row);
  });
}

Loop header(const Axis& axis, Mark mark) { return Loop{axis.index, axis.lo, axis.hi, number(1), mark, {}, nullptr}; }

class Planner {
 public:
  explicit Planner(const math::Program& program) : program_(&program) { find_needed(); }

  std::vector<Nest> run() {
    for (const Statement& statement : program_->statements) {
      if (needed_.contains(statement.name) && statement.reduction() != nullptr && !placed_.contains(statement.name) &&
          !has_absorber(statement))
        make_nest(statement);
    }
    for (const Statement& statement : program_->statements) {
      if (!needed_.contains(statement.name) || placed_.contains(statement.name)) continue;
      if (statement.reduction() != nullptr || !join_behind(statement)) make_nest(statement);
    }
    return std::move(nests_);
  }

  bool join_behind(const Statement& map);
  void adopt(std::vector<Nest> nests) {
    nests_ = std::move(nests);
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      for (const Symbol each : nests_[i].statements()) placed_[each] = i;
    }
  }
  void make_nest(const Statement& root);
  std::vector<Nest> take() { return std::move(nests_); }

 private:
  void find_needed() {
    for (const math::Parameter& result : program_->results) needed_.insert(result.name);
    for (auto each = program_->statements.rbegin(); each != program_->statements.rend(); ++each) {
      if (!needed_.contains(each->name)) continue;
      for (const Symbol name : reads_of(*each)) needed_.insert(name);
    }
    for (const Statement& reader : program_->statements) {
      if (!needed_.contains(reader.name)) continue;
      for (const Symbol name : reads_of(reader)) readers_[name].push_back(&reader);
    }
  }

  [[nodiscard]] const std::vector<const Statement*>& readers(Symbol name) { return readers_[name]; }

  [[nodiscard]] bool always_read_at_identity(const Statement& statement) {
    const auto& all = readers(statement.name);
    return std::all_of(all.begin(), all.end(), [&](const Statement* reader) { return reads_at_identity(*reader, statement); });
  }

  /// Outer axes of a reduction's nest: its result's axes, columns excepted that ride whole in a tile.
  [[nodiscard]] std::vector<Axis> outer_axes(const Statement& root) const {
    std::vector<Axis> axes;
    for (const Axis& axis : root.axes) {
      if (!(is_column(root, axis) && is_at_most(*program_, axis, most_whole_columns))) axes.push_back(axis);
    }
    return axes;
  }

  [[nodiscard]] bool is_small_contraction(const Statement& statement) const {
    const auto* reduction = statement.reduction();
    return reduction != nullptr && std::all_of(reduction->over.begin(), reduction->over.end(),
                                               [&](const Axis& axis) { return is_at_most(*program_, axis, most_contracted); });
  }

  /// Whether a later reduction takes the contraction's results one by one as it folds: then the two share that nest.
  [[nodiscard]] bool has_absorber(const Statement& contraction) {
    if (!is_small_contraction(contraction) || is_result(*program_, contraction.name) || is_chained(contraction)) return false;
    std::set<Symbol> reached = {contraction.name};
    for (const Statement& reader : program_->statements) {
      if (!needed_.contains(reader.name)) continue;
      std::set<Symbol> reads = reads_of(reader);
      if (std::none_of(reads.begin(), reads.end(), [&](Symbol name) { return reached.contains(name); })) continue;
      for (const Symbol name : reached) {
        if (reads.contains(name) && !reads_at_identity(reader, *program_->find(name))) return false;
      }
      if (reader.map() != nullptr) {
        reached.insert(reader.name);
      } else {
        return absorbs(reader, contraction);
      }
    }
    return false;
  }

  /// Needs another reduction over its own index: the two want to share a loop over it.
  [[nodiscard]] bool is_chained(const Statement& reduction) const {
    std::set<Symbol> needed = reads_of(reduction);
    for (auto each = program_->statements.rbegin(); each != program_->statements.rend(); ++each) {
      if (!needed.contains(each->name)) continue;
      needed.merge(reads_of(*each));
      const auto* producer = each->reduction();
      if (producer == nullptr) continue;
      for (const Axis& axis : producer->over) {
        const auto& over = reduction.reduction()->over;
        if (std::any_of(over.begin(), over.end(), [&](const Axis& mine) { return mine.index == axis.index; })) return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool absorbs(const Statement& consumer, const Statement& contraction) const {
    const std::set<Symbol> axes = axis_names(contraction);
    const auto& over = consumer.reduction()->over;
    if (std::none_of(over.begin(), over.end(), [&](const Axis& axis) { return axes.contains(axis.index); })) return false;
    const std::vector<Axis> outer = outer_axes(consumer);
    return std::all_of(outer.begin(), outer.end(), [&](const Axis& axis) { return axes.contains(axis.index); });
  }

  [[nodiscard]] bool is_needed_outside(const Statement& statement, const std::set<Symbol>& closure) {
    if (is_result(*program_, statement.name)) return true;
    const auto& all = readers(statement.name);
    return std::any_of(all.begin(), all.end(), [&](const Statement* reader) { return !closure.contains(reader->name); });
  }

  /// Whether the nest can compute `statement` itself, element by element of its own loops.
  [[nodiscard]] bool can_join(const Statement& statement, const Nest& nest, const std::set<Symbol>& closure) {
    if (!always_read_at_identity(statement)) return false;
    const std::set<Symbol> axes = axis_names(statement);
    const bool folds = std::any_of(nest.folds.begin(), nest.folds.end(), [&](const Loop& each) { return axes.contains(each.index); });
    if (statement.reduction() != nullptr && (!folds || !is_small_contraction(statement))) return false;
    for (const Axis& axis : statement.axes) {
      const Loop* loop = nest.loop(axis.index);
      if (loop == nullptr && !is_at_most(*program_, axis, most_contracted)) return false;
      // Loops over a part of the axis leave the rest uncomputed, which matters where someone else needs it.
      if (loop != nullptr && !(loop->lo == axis.lo && loop->hi == axis.hi)) return false;
    }
    const bool covers = std::all_of(nest.outer.begin(), nest.outer.end(), [&](const Loop& each) { return axes.contains(each.index); });
    return covers || (statement.map() != nullptr && !is_needed_outside(statement, closure));
  }

  [[nodiscard]] std::set<Symbol> closure_of(const Statement& root) {
    std::set<Symbol> closure = {root.name};
    for (auto each = program_->statements.rbegin(); each != program_->statements.rend(); ++each) {
      if (!closure.contains(each->name)) continue;
      for (const Symbol name : reads_of(*each)) {
        if (program_->find(name) != nullptr && !placed_.contains(name)) closure.insert(name);
      }
    }
    return closure;
  }

  void add_needs(const Statement& root, Nest& nest, const std::set<Symbol>& closure);

  const math::Program* program_;
  std::set<Symbol> needed_;
  std::map<Symbol, std::vector<const Statement*>> readers_;
  std::map<Symbol, std::size_t> placed_;
  std::vector<Nest> nests_;
};

/// In program order, so that what a statement reads is decided before it. What a nest of its own computes after all leaves this nest.
void Planner::add_needs(const Statement& root, Nest& nest, const std::set<Symbol>& closure) {
  for (const Statement& needed : program_->statements) {
    if (needed.name == root.name || !closure.contains(needed.name) || placed_.contains(needed.name)) continue;
    const std::set<Symbol> axes = axis_names(needed);
    const bool folds = std::any_of(nest.folds.begin(), nest.folds.end(), [&](const Loop& each) { return axes.contains(each.index); });
    if (!folds && needed.map() != nullptr && join_behind(needed)) continue;
    if (can_join(needed, nest, closure)) {
      (folds ? nest.body : nest.before).push_back(needed.name);
    } else {
      make_nest(needed);
    }
  }
  for (auto* part : {&nest.before, &nest.body}) std::erase_if(*part, [&](Symbol name) { return placed_.contains(name); });
}

void Planner::make_nest(const Statement& root) {
  Nest nest;
  const auto* reduction = root.reduction();
  for (const Axis& axis : reduction != nullptr ? outer_axes(root) : root.axes) nest.outer.push_back(header(axis, Mark::parallel));
  if (reduction != nullptr) {
    for (const Axis& axis : reduction->over) nest.folds.push_back(header(axis, Mark::fold));
  }
  add_needs(root, nest, closure_of(root));
  (reduction != nullptr ? nest.body : nest.after).push_back(root.name);
  for (const Symbol each : nest.statements()) placed_[each] = nests_.size();
  nests_.push_back(std::move(nest));
}

/// A map joins the last nest that computes something it reads: behind the folds where it does not vary with them, in their body where it
/// needs nothing that is complete only after them.
bool Planner::join_behind(const Statement& map) {
  std::optional<std::size_t> last;
  for (const Symbol name : reads_of(map)) {
    if (program_->find(name) == nullptr) continue;
    const auto at = placed_.find(name);
    if (at == placed_.end()) return false;
    last = std::max(last.value_or(0), at->second);
  }
  if (!last) return false;
  Nest& nest = nests_[*last];
  const std::set<Symbol> axes = axis_names(map);
  const bool covers = std::all_of(nest.outer.begin(), nest.outer.end(), [&](const Loop& each) { return axes.contains(each.index); });
  if (!covers) return false;
  bool folds = false;
  for (const Axis& axis : map.axes) {
    const Loop* loop = nest.loop(axis.index);
    if (loop == nullptr && !is_at_most(*program_, axis, most_whole_columns)) return false;
    if (loop != nullptr && !(loop->lo == axis.lo && loop->hi == axis.hi)) return false;
    folds = folds || nest.folds_over(axis.index);
  }
  for (const Symbol name : reads_of(map)) {
    const Statement* read = program_->find(name);
    if (read == nullptr || placed_.at(name) != *last) continue;
    if (!reads_at_identity(map, *read)) return false;
    const auto* reduction = read->reduction();
    const bool complete_later = reduction != nullptr && std::any_of(reduction->over.begin(), reduction->over.end(),
                                                                    [&](const Axis& axis) { return nest.folds_over(axis.index); });
    const bool is_behind = std::find(nest.after.begin(), nest.after.end(), name) != nest.after.end();
    if (folds && (complete_later || is_behind)) return false;
  }
  (folds ? nest.body : nest.after).push_back(map.name);
  placed_[map.name] = *last;
  return true;
}

}  // namespace

loop::Program plan_loops(const math::Program& program) {
  const std::vector<Nest> nests = Planner(program).run();
  loop::Program result{program, nullptr};
  std::set<Symbol> kept;
  for (const Nest& nest : nests) kept.merge(nest.statement_set());
  std::erase_if(result.math.statements, [&](const Statement& statement) { return !kept.contains(statement.name); });
  result.root = tree_of(nests);
  return result;
}

std::vector<Symbol> stored_between(const math::Program& program, const std::vector<Nest>& nests) {
  std::map<Symbol, std::size_t> computed_in;
  for (std::size_t i = 0; i < nests.size(); ++i) {
    for (const Symbol each : nests[i].statements()) computed_in[each] = i;
  }
  std::set<Symbol> stored;
  for (const Statement& reader : program.statements) {
    const auto here = computed_in.find(reader.name);
    if (here == computed_in.end()) continue;
    for (const Symbol name : reads_of(reader)) {
      const auto there = computed_in.find(name);
      if (there != computed_in.end() && there->second != here->second) stored.insert(name);
    }
  }
  std::vector<Symbol> ordered;
  for (const Statement& statement : program.statements) {
    if (stored.contains(statement.name)) ordered.push_back(statement.name);
  }
  return ordered;
}

void place_behind(const math::Program& program, std::vector<Nest>& nests, const Statement& map) {
  Planner planner(program);
  planner.adopt(std::move(nests));
  if (!planner.join_behind(map)) planner.make_nest(map);
  nests = planner.take();
}

}  // namespace fathom::passes
