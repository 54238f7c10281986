#include "passes/nest.hpp"

#include <algorithm>

namespace fathom::passes {
namespace {

using loop::Leaf;
using loop::Loop;
using loop::NodeRef;
using loop::Sequence;

NodeRef node(loop::Node value) { return std::make_shared<const loop::Node>(std::move(value)); }

NodeRef sequence(std::vector<NodeRef> items) {
  if (items.size() == 1) return items.front();
  return node(Sequence{std::move(items)});
}

NodeRef wrap(Loop header, NodeRef body) {
  header.body = std::move(body);
  return node(std::move(header));
}

void append(std::vector<NodeRef>& items, const std::vector<Symbol>& statements) {
  for (const Symbol each : statements) items.push_back(node(Leaf{each}));
}

NodeRef tree_of(const Nest& nest) {
  std::vector<NodeRef> items;
  append(items, nest.before);
  if (!nest.folds.empty()) {
    std::vector<NodeRef> leaves;
    append(leaves, nest.body);
    NodeRef inner = sequence(std::move(leaves));
    for (auto each = nest.folds.rbegin(); each != nest.folds.rend(); ++each) inner = wrap(*each, inner);
    if (nest.split) inner = wrap(*nest.split, inner);
    items.push_back(std::move(inner));
  }
  if (nest.combine) items.push_back(node(*nest.combine));
  append(items, nest.after);
  NodeRef tree = sequence(std::move(items));
  for (auto each = nest.outer.rbegin(); each != nest.outer.rend(); ++each) tree = wrap(*each, tree);
  return tree;
}

std::vector<NodeRef> items_of(const NodeRef& tree) {
  if (const auto* many = std::get_if<Sequence>(tree.get())) return many->items;
  return {tree};
}

Loop header_of(const Loop& loop) {
  Loop header = loop;
  header.body = nullptr;
  return header;
}

void read_folds(const NodeRef& tree, Nest& nest) {
  NodeRef at = tree;
  for (const auto* loop = std::get_if<Loop>(at.get()); loop != nullptr; loop = std::get_if<Loop>(at.get())) {
    if (loop->mark == loop::Mark::parallel) {
      nest.split = header_of(*loop);
    } else {
      nest.folds.push_back(header_of(*loop));
    }
    at = loop->body;
  }
  for (const NodeRef& each : items_of(at)) {
    if (const auto* leaf = std::get_if<Leaf>(each.get())) nest.body.push_back(leaf->statement);
  }
}

/// `under_outer`: what lies below the chain of parallel loops.
void read_items(const NodeRef& under_outer, Nest& nest) {
  for (const NodeRef& each : items_of(under_outer)) {
    if (const auto* leaf = std::get_if<Leaf>(each.get())) {
      (nest.folds.empty() ? nest.before : nest.after).push_back(leaf->statement);
    } else if (const auto* combine = std::get_if<loop::Combine>(each.get())) {
      nest.combine = *combine;
    } else {
      read_folds(each, nest);
    }
  }
  if (nest.folds.empty()) std::swap(nest.before, nest.after);
}

Nest nest_of(const NodeRef& tree) {
  Nest nest;
  NodeRef at = tree;
  for (const auto* loop = std::get_if<Loop>(at.get()); loop != nullptr && loop->mark == loop::Mark::parallel;
       loop = std::get_if<Loop>(at.get())) {
    nest.outer.push_back(header_of(*loop));
    at = loop->body;
  }
  read_items(at, nest);
  return nest;
}

bool starts_nest(const NodeRef& tree) {
  const auto* loop = std::get_if<Loop>(tree.get());
  return loop != nullptr && loop->mark == loop::Mark::parallel;
}

}  // namespace

std::vector<Symbol> Nest::statements() const {
  std::vector<Symbol> all = before;
  all.insert(all.end(), body.begin(), body.end());
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

std::set<Symbol> Nest::statement_set() const {
  const std::vector<Symbol> all = statements();
  return {all.begin(), all.end()};
}

const Loop* Nest::loop(Symbol index) const {
  for (const auto* loops : {&outer, &folds}) {
    for (const Loop& each : *loops) {
      if (each.index == index) return &each;
    }
  }
  return nullptr;
}

bool Nest::folds_over(Symbol index) const {
  return std::any_of(folds.begin(), folds.end(), [&](const Loop& each) { return each.index == index; });
}

bool same_range(const Loop& a, const Loop& b) { return a.index == b.index && a.lo == b.lo && a.hi == b.hi && a.tile == b.tile; }

NodeRef tree_of(const std::vector<Nest>& nests) {
  if (nests.size() == 1) return tree_of(nests.front());
  Sequence all;
  // A nest is one item of the root: a parallel loop, or a sequence where it has none. nests_of finds its borders by that.
  for (const Nest& each : nests) {
    NodeRef tree = tree_of(each);
    const bool is_marked = starts_nest(tree) || std::holds_alternative<Sequence>(*tree);
    all.items.push_back(is_marked ? std::move(tree) : node(Sequence{{std::move(tree)}}));
  }
  return node(std::move(all));
}

std::vector<Nest> nests_of(const loop::Program& program) {
  std::vector<Nest> nests;
  const auto* many = std::get_if<Sequence>(program.root.get());
  const bool is_list = many != nullptr && std::all_of(many->items.begin(), many->items.end(), [](const NodeRef& each) {
                         return starts_nest(each) || std::holds_alternative<Sequence>(*each);
                       });
  if (!is_list) return {nest_of(program.root)};
  for (const NodeRef& each : many->items) nests.push_back(nest_of(each));
  return nests;
}

std::vector<Expr> values_of(const math::Statement& statement) {
  if (const auto* map = statement.map()) return {map->value};
  return statement.reduction()->values;
}

std::set<Symbol> reads_of(const math::Statement& statement) {
  std::set<Symbol> reads;
  const auto add = [&](Expr e) {
    if (e) reads.merge(tensors_read(e));
  };
  for (const Expr value : values_of(statement)) add(value);
  for (const math::Axis& axis : statement.axes) add(axis.lo), add(axis.hi);
  if (const auto* reduction = statement.reduction()) {
    for (const math::Axis& axis : reduction->over) add(axis.lo), add(axis.hi);
  }
  return reads;
}

math::Statement with_values(math::Statement statement, const std::function<Expr(Expr)>& rewrite) {
  if (auto* map = std::get_if<math::Map>(&statement.value)) {
    map->value = rewrite(map->value);
  } else {
    for (Expr& value : std::get<math::Reduction>(statement.value).values) value = rewrite(value);
  }
  return statement;
}

std::set<Symbol> axis_names(const math::Statement& statement) {
  std::set<Symbol> names;
  for (const math::Axis& axis : statement.axes) names.insert(axis.index);
  return names;
}

std::vector<Expr> identity_subscripts(const math::Statement& statement) {
  std::vector<Expr> subscripts;
  for (const math::Axis& axis : statement.axes) subscripts.push_back(index(axis.index));
  return subscripts;
}

bool reads_at_identity(const math::Statement& reader, const math::Statement& tensor) {
  const Expr identity = read(tensor.name, identity_subscripts(tensor));
  bool only_identity = true;
  for (const Expr value : values_of(reader)) {
    visit(value, [&](Expr e) {
      if (e.is(Op::read) && e.name() == tensor.name && !(e == identity)) only_identity = false;
    });
  }
  return only_identity;
}

bool is_result(const math::Program& program, Symbol name) { return program.result(name) != nullptr; }

Symbol result_served(const math::Program& program, const std::set<Symbol>& statements) {
  for (const math::Parameter& result : program.results) {
    std::set<Symbol> needed = {result.name};
    for (auto each = program.statements.rbegin(); each != program.statements.rend(); ++each) {
      if (needed.contains(each->name)) needed.merge(reads_of(*each));
    }
    if (std::any_of(statements.begin(), statements.end(), [&](Symbol name) { return needed.contains(name); })) return result.name;
  }
  return statements.empty() ? Symbol() : *statements.begin();
}

std::optional<std::int64_t> value_at_defaults(const math::Program& program, Expr e) {
  return evaluate_integer(e, math::default_dims(program));
}

bool is_fixed(const math::Program& program, Expr e) {
  if (!free_indices(e).empty() || !tensors_read(e).empty()) return false;
  const std::set<Symbol> dims = dims_in(e);
  return std::all_of(dims.begin(), dims.end(), [&](Symbol name) {
    const math::Dimension* dimension = program.dimension(name);
    return dimension != nullptr && !dimension->runtime;
  });
}

}  // namespace fathom::passes
