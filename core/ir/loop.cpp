// Verifies Loop programs and says where tensors live in the tree.
#include "ir/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace fathom::loop {
namespace {

using math::Axis;
using math::Statement;

constexpr int deepest_tree = 400;

std::set<Symbol> tensors_of(const Statement& statement) {
  std::set<Symbol> names;
  const auto add = [&](Expr e) {
    if (e) names.merge(tensors_read(e));
  };
  if (const auto* map = statement.map()) add(map->value);
  if (const auto* reduction = statement.reduction()) {
    for (const Expr value : reduction->values) add(value);
    for (const Axis& axis : reduction->over) add(axis.lo), add(axis.hi);
  }
  for (const Axis& axis : statement.axes) add(axis.lo), add(axis.hi);
  return names;
}

bool folds_over(const Statement& statement, Symbol index) {
  const auto* reduction = statement.reduction();
  return reduction != nullptr &&
         std::any_of(reduction->over.begin(), reduction->over.end(), [&](const Axis& axis) { return axis.index == index; });
}

bool has_axis(const Statement& statement, Symbol index) {
  return std::any_of(statement.axes.begin(), statement.axes.end(), [&](const Axis& axis) { return axis.index == index; });
}

/// The producers whose running values a repair of this statement moves with.
std::set<Symbol> repaired_producers(const Statement& statement) {
  std::set<Symbol> names;
  if (const auto* reduction = statement.reduction(); reduction != nullptr && reduction->repair) {
    for (const math::Gauge& gauge : reduction->repair->gauges) names.merge(tensors_read(gauge.reference));
  }
  return names;
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(&program) {
    for (const Statement& statement : program.math.statements) {
      if (const auto* reduction = statement.reduction(); reduction != nullptr && reduction->repair) {
        for (const math::Gauge& gauge : reduction->repair->gauges) gauges_[gauge.name] = tensors_read(gauge.reference);
      }
    }
  }

  Result<void> operator()() {
    if (!program_->root) return refuse("The program has no tree.");
    walk(program_->root, 0);
    for (const Statement& statement : program_->math.statements) {
      if (!defined_.contains(statement.name)) fail("The statement {} stands at no leaf.", statement.name.text());
    }
    if (refusal_) return tl::unexpected<Refusal>(*refusal_);
    return math::verify(program_->math);
  }

 private:
  struct Definition {
    std::vector<const Loop*> loops;
    std::set<Symbol> combined;  ///< splits whose partial states are merged
  };

  template <class... Args>
  void fail(fmt::format_string<Args...> reason, Args&&... args) {
    if (!refusal_) refusal_ = Refusal{fmt::format(reason, std::forward<Args>(args)...), {}, ""};
  }

  void walk(const NodeRef& node, int depth) {
    if (refusal_) return;
    if (depth > deepest_tree) return fail("The tree is nested deeper than {} levels.", deepest_tree);
    if (!node) return fail("The tree has an empty node.");
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) walk(each, depth + 1);
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      check(*loop);
      loops_.push_back(loop);
      walk(loop->body, depth + 1);
      loops_.pop_back();
    } else if (const auto* combine = std::get_if<Combine>(node.get())) {
      check(*combine);
    } else {
      check(std::get<Leaf>(*node));
    }
  }

  void check(const Loop& loop) {
    for (const Loop* outer : loops_) {
      if (outer->index == loop.index) fail("The index {} has two loops, one inside the other.", loop.index.text());
    }
    const auto in_scope = [&](Expr e, std::string_view what) {
      if (!e) return fail("The loop over {} has no {}.", loop.index.text(), what);
      for (const Symbol index : free_indices(e)) {
        if (std::none_of(loops_.begin(), loops_.end(), [&](const Loop* outer) { return outer->index == index; }))
          fail("The {} of the loop over {} reads the index {}, which no loop around it has.", what, loop.index.text(), index.text());
      }
    };
    in_scope(loop.lo, "lower bound");
    in_scope(loop.hi, "upper bound");
    in_scope(loop.tile, "tile");
    for (const TileRange& range : loop.ranges) in_scope(range.lo, "range"), in_scope(range.hi, "range");
    if (const auto tile = loop.tile ? constant_integer(loop.tile) : std::nullopt; tile && *tile < 1)
      fail("The loop over {} takes {} elements a trip.", loop.index.text(), *tile);
  }

  void check(const Combine& combine) {
    if (!combine.count) fail("The combine over {} has no count.", combine.split.text());
    for (const Symbol name : combine.statements) {
      const auto found = defined_.find(name);
      const Statement* statement = program_->math.find(name);
      if (found == defined_.end() || statement == nullptr || statement->reduction() == nullptr)
        return fail("{} is combined, but it is no reduction computed before.", name.text());
      const auto& loops = found->second.loops;
      if (std::none_of(loops.begin(), loops.end(), [&](const Loop* loop) { return loop->index == combine.split; }))
        fail("{} is combined over {}, but no loop over {} computes parts of it.", name.text(), combine.split.text(), combine.split.text());
      found->second.combined.insert(combine.split);
    }
  }

  void check(const Leaf& leaf) {
    const Statement* statement = program_->math.find(leaf.statement);
    if (statement == nullptr) return fail("There is no statement named {}.", leaf.statement.text());
    if (defined_.contains(leaf.statement)) return fail("The statement {} stands at two leaves.", leaf.statement.text());
    for (const Symbol name : tensors_of(*statement)) {
      if (const auto gauge = gauges_.find(name); gauge != gauges_.end()) {
        for (const Symbol producer : gauge->second) check_use(*statement, producer, true);
      } else if (program_->math.find(name) != nullptr) {
        check_use(*statement, name, repaired_producers(*statement).contains(name));
      }
    }
    for (const Loop* loop : loops_) {
      if (loop->mark == Mark::parallel && folds_over(*statement, loop->index))
        fail("{} carries a state over {}, whose loop is parallel.", statement->name.text(), loop->index.text());
    }
    check_repair(*statement);
    defined_[leaf.statement] = {loops_, {}};
  }

  /// The terms that a repair carries are computed at this leaf, from what the loop has computed before it.
  void check_repair(const Statement& statement) {
    const auto* reduction = statement.reduction();
    if (reduction == nullptr || !reduction->repair) return;
    const auto reads = [&](Expr e) {
      if (!e) return;
      for (const Symbol name : tensors_read(e)) {
        if (gauges_.count(name) == 0 && name != statement.name && program_->math.find(name) != nullptr) check_use(statement, name, true);
      }
    };
    for (const math::Carried& carried : reduction->repair->carried) reads(carried.term), reads(carried.move);
    reads(reduction->repair->project);
  }

  /// `running`: the reader takes the running value, as a repair allows.
  void check_use(const Statement& reader, Symbol name, bool running) {
    const auto found = defined_.find(name);
    if (found == defined_.end()) return fail("{} reads {} before it is computed.", reader.name.text(), name.text());
    const Statement& producer = *program_->math.find(name);
    for (const Loop* loop : found->second.loops) {
      const bool is_around = std::find(loops_.begin(), loops_.end(), loop) != loops_.end();
      if (is_around && folds_over(producer, loop->index) && !running)
        return fail("{} reads {} inside the loop over {} that is still computing it, without a repair.", reader.name.text(), name.text(),
                    loop->index.text());
      // What a parallel loop leaves behind is a part for each trip, unless the tensor has an element for each.
      const bool is_part =
          loop->mark == Mark::parallel && !has_axis(producer, loop->index) && !deals_out(*loop, found->second.loops, producer);
      if (!is_around && is_part && !found->second.combined.contains(loop->index))
        return fail("{} reads {}, of which the parallel loop over {} leaves only parts.", reader.name.text(), name.text(),
                    loop->index.text());
    }
  }

  /// Trips of `loop` give a loop over one of the tensor's own axes different elements: together they compute each once.
  static bool deals_out(const Loop& loop, const std::vector<const Loop*>& path, const Statement& tensor) {
    const auto uses = [&](Expr e) { return contains(e, index(loop.index)); };
    const auto in_ranges = [&](const Loop& inner) {
      return std::any_of(inner.ranges.begin(), inner.ranges.end(), [&](const TileRange& r) { return uses(r.lo) || uses(r.hi); });
    };
    return std::any_of(path.begin(), path.end(), [&](const Loop* inner) {
      return has_axis(tensor, inner->index) && (uses(inner->lo) || uses(inner->hi) || in_ranges(*inner));
    });
  }

  const Program* program_;
  std::map<Symbol, std::set<Symbol>> gauges_;
  std::map<Symbol, Definition> defined_;
  std::vector<const Loop*> loops_;
  std::optional<Refusal> refusal_;
};

struct Uses {
  std::map<Symbol, Site> sites;
  std::map<Symbol, Expr> parts;  ///< reductions with partial states: how many
  std::map<Symbol, std::vector<const Loop*>> combined_in;
  std::size_t order = 0;

  void walk(const NodeRef& node, std::vector<const Loop*>& loops) {
    if (!node || loops.size() > static_cast<std::size_t>(deepest_tree)) return;
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) walk(each, loops);
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      loops.push_back(loop);
      walk(loop->body, loops);
      loops.pop_back();
    } else if (const auto* combine = std::get_if<Combine>(node.get())) {
      for (const Symbol each : combine->statements) {
        parts[each] = combine->count;
        combined_in[each] = loops;
      }
    } else {
      sites.try_emplace(std::get<Leaf>(*node).statement, Site{loops, order++});
    }
  }
};

void keep_common(std::vector<const Loop*>& a, const std::vector<const Loop*>& b) {
  std::size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) ++n;
  a.resize(n);
}

Expr elements_of_trip(const Loop& loop) { return simplify_integer(make(Op::min, {loop.tile, loop.hi - loop.lo})); }

}  // namespace

Result<void> verify(const Program& program) { return Verifier(program)(); }

std::map<Symbol, Site> sites_of(const Program& program) {
  Uses uses;
  std::vector<const Loop*> loops;
  uses.walk(program.root, loops);
  return uses.sites;
}

namespace {

/// Where each tensor is read: the loops round its readers.
std::map<Symbol, std::vector<const std::vector<const Loop*>*>> readers_of(const Program& program, const Uses& uses) {
  std::map<Symbol, std::vector<const std::vector<const Loop*>*>> readers;
  for (const Statement& reader : program.math.statements) {
    const auto at = uses.sites.find(reader.name);
    if (at == uses.sites.end()) continue;
    for (const Symbol tensor : tensors_of(reader)) readers[tensor].push_back(&at->second.loops);
  }
  return readers;
}

Placement placement_of(const Program& program, Symbol tensor, const Uses& uses,
                       const std::vector<const std::vector<const Loop*>*>& readers) {
  std::optional<std::vector<const Loop*>> common;
  const auto meet = [&](const std::vector<const Loop*>& loops) {
    if (!common) common = loops;
    keep_common(*common, loops);
  };
  const Statement* statement = program.math.find(tensor);
  if (const auto at = uses.sites.find(tensor); statement != nullptr && at != uses.sites.end()) {
    std::vector<const Loop*> loops = at->second.loops;
    // A state outlives the trips of the loops that fold it.
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (folds_over(*statement, loops[i]->index)) loops.resize(i);
    }
    meet(loops);
  }
  for (const std::vector<const Loop*>* loops : readers) meet(*loops);
  Placement result;
  if (const auto parts = uses.parts.find(tensor); parts != uses.parts.end()) {
    meet(uses.combined_in.at(tensor));
    result.extents.push_back(parts->second);
  }
  if (program.math.result(tensor) != nullptr || program.math.param(tensor) != nullptr || !common) common.emplace();
  for (const Loop* loop : *common) result.inside.push_back(loop->index);
  const auto ranges = math::ranges_of(program.math, tensor);
  for (std::size_t i = 0; ranges && i < ranges->size(); ++i) {
    Expr extent = simplify_integer((*ranges)[i].hi - (*ranges)[i].lo);
    for (const Loop* loop : *common) {
      if (statement != nullptr && statement->axes[i].index == loop->index) extent = elements_of_trip(*loop);
    }
    result.extents.push_back(extent);
  }
  return result;
}

}  // namespace

std::map<Symbol, Placement> placements(const Program& program) {
  Uses uses;
  std::vector<const Loop*> path;
  uses.walk(program.root, path);
  auto readers = readers_of(program, uses);
  std::map<Symbol, Placement> all;
  const auto place = [&](Symbol tensor) { all.emplace(tensor, placement_of(program, tensor, uses, readers[tensor])); };
  for (const math::Parameter& each : program.math.params) place(each.name);
  for (const Statement& each : program.math.statements) place(each.name);
  return all;
}

}  // namespace fathom::loop
