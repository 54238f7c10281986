// One text for one plan. Labels are hashes of structure: an index is its loop's place in the tree or its place in a statement, a read is
// the label of what it reads. Independent neighbours are sorted by label, then names are given in the order of the text.
#include <algorithm>
#include <set>

#include "ir/loop.hpp"

namespace fathom::loop {
namespace {

using math::Axis;
using math::Statement;

std::vector<Axis> all_axes(const Statement& statement) {
  std::vector<Axis> axes = statement.axes;
  if (const auto* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
  return axes;
}

/// Applies f to every expression of a statement.
void rewrite(Statement& statement, const std::function<Expr(Expr)>& f) {
  const auto axes = [&](std::vector<Axis>& list) {
    for (Axis& axis : list) axis.lo = f(axis.lo), axis.hi = f(axis.hi);
  };
  axes(statement.axes);
  if (auto* map = std::get_if<math::Map>(&statement.value)) {
    map->value = f(map->value);
    return;
  }
  auto& reduction = std::get<math::Reduction>(statement.value);
  axes(reduction.over);
  for (Expr& value : reduction.values) value = f(value);
  if (!reduction.repair) return;
  for (math::Gauge& gauge : reduction.repair->gauges) gauge.reference = f(gauge.reference);
  for (math::Carried& carried : reduction.repair->carried) carried.term = f(carried.term), carried.move = f(carried.move);
  reduction.repair->project = f(reduction.repair->project);
}

using Names = std::map<Symbol, Symbol>;

Symbol look_up(const Names& names, Symbol name) {
  const std::string& text = name.text();
  if (const auto found = names.find(name); found != names.end()) return found->second;
  // `g'` is what `g` is called plus the prime.
  if (text.size() > 1 && text.back() == '\'') {
    if (const auto found = names.find(Symbol(text.substr(0, text.size() - 1))); found != names.end()) return primed(found->second);
  }
  return name;
}

Expr renamed(Expr e, const Names& indices, const Names& tensors) {
  if (!e) return e;
  return transform(e, [&](Expr node) {
    if (node.is(Op::index)) return index(look_up(indices, node.name()));
    if (node.is(Op::symbol)) return symbol(look_up(tensors, node.name()));
    if (node.is(Op::read)) return read(look_up(tensors, node.name()), {node.args().begin(), node.args().end()});
    return node;
  });
}

Statement renamed(Statement statement, const Names& indices, const Names& tensors) {
  rewrite(statement, [&](Expr e) { return renamed(e, indices, tensors); });
  const auto axes = [&](std::vector<Axis>& list) {
    for (Axis& axis : list) axis.index = look_up(indices, axis.index);
  };
  statement.name = look_up(tensors, statement.name);
  statement.origins.clear();
  axes(statement.axes);
  if (auto* reduction = std::get_if<math::Reduction>(&statement.value)) {
    axes(reduction->over);
    if (reduction->repair) {
      for (math::Gauge& gauge : reduction->repair->gauges) gauge.name = look_up(tensors, gauge.name);
      for (math::Carried& carried : reduction->repair->carried) carried.name = look_up(tensors, carried.name);
    }
  }
  return statement;
}

class Canonical {
 public:
  explicit Canonical(const Program& program) : program_(&program) {}

  Program operator()() {
    label_loops(program_->root, 0);
    label_statements();
    Program sorted{program_->math, sorted_tree(program_->root)};
    name_loops(sorted.root);
    name_statements(sorted.root);
    Program result{program_->math, nullptr};
    result.math.statements.clear();
    for (const Symbol name : order_) result.math.statements.push_back(renamed(*program_->math.find(name), indices_, tensors_));
    result.root = renamed_tree(sorted.root);
    return result;
  }

 private:
  /// Until the tree is sorted, a loop is known by its depth alone.
  void label_loops(const NodeRef& node, int depth) {
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) label_loops(each, depth);
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      depths_.try_emplace(loop->index, Symbol("d" + std::to_string(depth)));
      label_loops(loop->body, depth + 1);
    }
  }

  /// Siblings over one index are one axis.
  void name_loops(const NodeRef& node) {
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) name_loops(each);
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      if (!indices_.contains(loop->index)) indices_[loop->index] = Symbol("i" + std::to_string(indices_.size()));
      name_loops(loop->body);
    }
  }

  void label_statements() {
    for (const Statement& statement : program_->math.statements) {
      Names local = depths_;
      const std::vector<Axis> axes = all_axes(statement);
      for (std::size_t i = 0; i < axes.size(); ++i) local.try_emplace(axes[i].index, Symbol("a" + std::to_string(i)));
      Names gauges = labels_;
      if (const auto* reduction = statement.reduction(); reduction != nullptr && reduction->repair) {
        for (const math::Gauge& gauge : reduction->repair->gauges) gauges_.try_emplace(gauge.name, gauge.reference);
      }
      for (const auto& [name, reference] : gauge_references()) {
        gauges.try_emplace(name, Symbol("g" + std::to_string(hash_bytes(print(renamed(reference, local, labels_))))));
      }
      gauges.try_emplace(statement.name, Symbol("self"));
      labels_[statement.name] = Symbol("s" + std::to_string(hash_bytes(math::print(renamed(statement, local, gauges)))));
    }
  }

  const std::map<Symbol, Expr>& gauge_references() {
    if (gauges_.empty()) {
      for (const Statement& statement : program_->math.statements) {
        const auto* reduction = statement.reduction();
        if (reduction == nullptr || !reduction->repair) continue;
        for (const math::Gauge& gauge : reduction->repair->gauges) gauges_.try_emplace(gauge.name, gauge.reference);
      }
    }
    return gauges_;
  }

  /// Statements under a node, and what they read.
  struct Facts {
    std::set<Symbol> defines, reads;
    std::string label;
  };
  [[nodiscard]] Facts facts_of(const NodeRef& node) {
    Facts facts;
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) merge(facts, facts_of(each));
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      facts = facts_of(loop->body);
      facts.label = look_up(depths_, loop->index).text() + facts.label;
    } else if (const auto* combine = std::get_if<Combine>(node.get())) {
      for (const Symbol each : combine->statements) facts.reads.insert(each), facts.defines.insert(each);
      facts.label = "combine";
    } else {
      const Symbol name = std::get<Leaf>(*node).statement;
      facts.defines.insert(name);
      facts.label = labels_[name].text();
      Statement statement = *program_->math.find(name);
      rewrite(statement, [&](Expr e) {
        for (const Symbol tensor : tensors_read(e)) {
          facts.reads.insert(tensor);
          if (const auto gauge = gauges_.find(tensor); gauge != gauges_.end()) facts.reads.merge(tensors_read(gauge->second));
        }
        return e;
      });
    }
    return facts;
  }
  static void merge(Facts& into, Facts from) {
    into.defines.merge(from.defines);
    into.reads.merge(from.reads);
    into.label += from.label;
  }

  [[nodiscard]] NodeRef sorted_tree(const NodeRef& node) {
    if (const auto* loop = std::get_if<Loop>(node.get())) {
      Loop copy = *loop;
      copy.body = sorted_tree(loop->body);
      return std::make_shared<const Node>(std::move(copy));
    }
    const auto* sequence = std::get_if<Sequence>(node.get());
    if (sequence == nullptr) return node;
    struct Item {
      NodeRef node;
      Facts facts;
    };
    std::vector<Item> left;
    for (const NodeRef& each : sequence->items) {
      NodeRef sorted = sorted_tree(each);
      Facts facts = facts_of(sorted);
      left.push_back({std::move(sorted), std::move(facts)});
    }
    Sequence result;
    while (!left.empty()) {
      std::size_t best = left.size();
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (is_ready(left, i) && (best == left.size() || left[i].facts.label < left[best].facts.label)) best = i;
      }
      if (best == left.size()) best = 0;  // reads in a circle: not a verified program; keep its order
      result.items.push_back(left[best].node);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
    }
    return std::make_shared<const Node>(std::move(result));
  }

  /// Nothing that stands before it and is still left defines what it reads (or the same names).
  template <class Items>
  [[nodiscard]] static bool is_ready(const Items& left, std::size_t i) {
    const auto meets = [](const std::set<Symbol>& a, const std::set<Symbol>& b) {
      return std::any_of(a.begin(), a.end(), [&](Symbol name) { return b.contains(name); });
    };
    for (std::size_t k = 0; k < i; ++k) {
      const auto &before = left[k].facts, &here = left[i].facts;
      if (meets(before.defines, here.reads) || meets(before.defines, here.defines) || meets(before.reads, here.defines)) return false;
    }
    return true;
  }

  void name_statements(const NodeRef& node) {
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      for (const NodeRef& each : sequence->items) name_statements(each);
    } else if (const auto* loop = std::get_if<Loop>(node.get())) {
      name_statements(loop->body);
    } else if (const auto* leaf = std::get_if<Leaf>(node.get())) {
      const Statement& statement = *program_->math.find(leaf->statement);
      order_.push_back(leaf->statement);
      if (program_->math.result(leaf->statement) == nullptr) tensors_[leaf->statement] = Symbol("t" + std::to_string(tensors_.size()));
      for (const Axis& axis : all_axes(statement)) {
        if (!indices_.contains(axis.index)) indices_[axis.index] = Symbol("i" + std::to_string(indices_.size()));
      }
      if (const auto* reduction = statement.reduction(); reduction != nullptr && reduction->repair) {
        for (const math::Gauge& gauge : reduction->repair->gauges) {
          if (!tensors_.contains(gauge.name)) tensors_[gauge.name] = Symbol("t" + std::to_string(tensors_.size()) + "~");
        }
      }
    }
  }

  [[nodiscard]] NodeRef renamed_tree(const NodeRef& node) {
    if (const auto* sequence = std::get_if<Sequence>(node.get())) {
      Sequence copy;
      for (const NodeRef& each : sequence->items) copy.items.push_back(renamed_tree(each));
      return std::make_shared<const Node>(std::move(copy));
    }
    if (const auto* loop = std::get_if<Loop>(node.get())) {
      Loop copy = *loop;
      copy.index = look_up(indices_, copy.index);
      for (Expr* e : {&copy.lo, &copy.hi, &copy.tile}) *e = renamed(*e, indices_, tensors_);
      for (TileRange& range : copy.ranges)
        range.lo = renamed(range.lo, indices_, tensors_), range.hi = renamed(range.hi, indices_, tensors_);
      copy.body = renamed_tree(loop->body);
      return std::make_shared<const Node>(std::move(copy));
    }
    if (const auto* combine = std::get_if<Combine>(node.get())) {
      Combine copy = *combine;
      copy.split = look_up(indices_, copy.split);
      copy.count = renamed(copy.count, indices_, tensors_);
      for (Symbol& each : copy.statements) each = look_up(tensors_, each);
      return std::make_shared<const Node>(std::move(copy));
    }
    return std::make_shared<const Node>(Leaf{look_up(tensors_, std::get<Leaf>(*node).statement)});
  }

  const Program* program_;
  Names depths_, indices_, labels_, tensors_;
  std::map<Symbol, Expr> gauges_;
  std::vector<Symbol> order_;
};

}  // namespace

Program canonical(const Program& program) { return Canonical(program)(); }

}  // namespace fathom::loop
