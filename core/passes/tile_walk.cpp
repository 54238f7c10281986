// Statement walks by recursion over blocks; nesting is bounded by the verifier.
#include "passes/tile_walk.hpp"

#include <algorithm>

#include "passes/tile_masks.hpp"

namespace fathom::passes {
namespace {

using kernel::Block;
using kernel::Statement;

Block* body_of(Statement& s) {
  if (auto* loop = std::get_if<kernel::For>(&s.op)) return &loop->body;
  if (auto* when = std::get_if<kernel::When>(&s.op)) return &when->body;
  if (auto* branch = std::get_if<kernel::If>(&s.op)) return &branch->body;
  return nullptr;
}
const Block* body_of(const Statement& s) { return body_of(const_cast<Statement&>(s)); }

void count_in(Expr e, std::map<Symbol, int>& counts) {
  if (!e) return;
  visit(e, [&](Expr node) {
    if (node.is(Op::read) || node.is(Op::symbol)) ++counts[node.name()];
  });
}

void count_in(const Block& block, std::map<Symbol, int>& counts) {
  for (const Statement& s : block) {
    if (const auto* v = std::get_if<kernel::Value>(&s.op)) {
      for (const Expr e : v->values) count_in(e, counts);
      for (const kernel::Access& target : v->targets) {
        for (const Expr e : target.subscripts) count_in(e, counts);
      }
    } else if (const auto* let = std::get_if<kernel::Let>(&s.op)) {
      count_in(let->value, counts);
    } else if (const auto* loop = std::get_if<kernel::For>(&s.op)) {
      for (const kernel::TaggedRange& r : loop->ranges) {
        count_in(r.lo, counts);
        count_in(r.hi, counts);
      }
      for (const kernel::Carry& c : loop->carry) {
        ++counts[c.value.name];
        count_in(c.initial, counts);
      }
    } else if (const auto* when = std::get_if<kernel::When>(&s.op)) {
      count_in(when->condition, counts);
    } else if (const auto* branch = std::get_if<kernel::If>(&s.op)) {
      ++counts[branch->condition.name];
      for (const kernel::Carry& c : branch->carry) ++counts[c.value.name];
    }
    if (const Block* body = body_of(s)) count_in(*body, counts);
  }
}

bool defines(const Statement& s, Symbol name) {
  const auto* v = std::get_if<kernel::Value>(&s.op);
  return v != nullptr && std::any_of(v->targets.begin(), v->targets.end(), [&](const kernel::Access& t) { return t.name == name; });
}

/// The whole right-hand side is y at the target's own axes.
std::optional<Symbol> copied(const Statement& s) {
  const auto* v = std::get_if<kernel::Value>(&s.op);
  if (v == nullptr || v->targets.size() != 1 || v->values.size() != 1 || !v->values[0].is(Op::read) || v->otherwise) return std::nullopt;
  const Expr e = v->values[0];
  if (!std::equal(e.args().begin(), e.args().end(), v->targets[0].subscripts.begin(), v->targets[0].subscripts.end())) return std::nullopt;
  return e.name();
}

}  // namespace

void for_each_value(Block& block, const std::function<void(kernel::Value&, Block&)>& f) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (auto* v = std::get_if<kernel::Value>(&block[i].op)) f(*v, block);
    if (Block* body = body_of(block[i])) for_each_value(*body, f);
  }
}

void for_each_value(const Block& block, const std::function<void(const kernel::Value&)>& f) {
  for (const Statement& s : block) {
    if (const auto* v = std::get_if<kernel::Value>(&s.op)) f(*v);
    if (const Block* body = body_of(s)) for_each_value(*body, f);
  }
}

std::map<Symbol, int> count_reads(const Block& block) {
  std::map<Symbol, int> counts;
  count_in(block, counts);
  return counts;
}

bool remove_values(Block& block, const std::function<bool(const kernel::Value&)>& dead) {
  bool changed = false;
  for (std::size_t i = 0; i < block.size();) {
    bool drop = false;
    if (const auto* v = std::get_if<kernel::Value>(&block[i].op)) drop = dead(*v);
    if (Block* body = body_of(block[i])) {
      changed = remove_values(*body, dead) || changed;
      drop = body->empty() && std::holds_alternative<kernel::When>(block[i].op);
    }
    if (drop) {
      block.erase(block.begin() + static_cast<std::ptrdiff_t>(i));
      changed = true;
    } else {
      ++i;
    }
  }
  return changed;
}

bool merge_copies(Block& block, const std::map<Symbol, int>& counts, const std::map<Symbol, MemoryShape>& memory, CameFrom& came_from) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (Block* body = body_of(block[i])) {
      if (merge_copies(*body, counts, memory, came_from)) return true;
    }
    const std::optional<Symbol> from = copied(block[i]);
    if (!from || memory.count(*from) > 0) continue;
    const Symbol to = std::get<kernel::Value>(block[i].op).targets[0].name;
    if (memory.count(to) > 0 || counts.at(*from) != 1) continue;
    const auto end = block.begin() + static_cast<std::ptrdiff_t>(i);
    const auto definitions = std::count_if(block.begin(), end, [&](const Statement& s) { return defines(s, *from); });
    if (definitions != 1) continue;
    const auto definition = std::find_if(block.begin(), end, [&](const Statement& s) { return defines(s, *from); });
    if (std::get<kernel::Value>(definition->op).targets.size() != 1) continue;
    Block copy_gone(definition, end);
    if (count_reads(copy_gone).count(to) > 0) continue;
    std::get<kernel::Value>(definition->op).targets[0].name = to;
    take_over(came_from, to, *from);
    definition->origins = merge(definition->origins, block[i].origins);
    block.erase(end);
    return true;
  }
  return false;
}

void insert_before(Block& block, const kernel::Value* statement, Statement fresh) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (std::get_if<kernel::Value>(&block[i].op) != statement) continue;
    if (fresh.origins.empty()) fresh.origins = block[i].origins;
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(i), std::move(fresh));
    return;
  }
}

void rewrite_expressions(Block& block, const std::function<Expr(Expr)>& f) {
  const auto apply = [&](Expr& e) {
    if (e) e = f(e);
  };
  for (Statement& s : block) {
    if (auto* v = std::get_if<kernel::Value>(&s.op)) {
      for (Expr& e : v->values) apply(e);
      for (kernel::Access& target : v->targets) {
        for (Expr& e : target.subscripts) apply(e);
      }
      apply(v->otherwise);
    } else if (auto* let = std::get_if<kernel::Let>(&s.op)) {
      apply(let->value);
    } else if (auto* loop = std::get_if<kernel::For>(&s.op)) {
      for (kernel::TaggedRange& r : loop->ranges) {
        apply(r.lo);
        apply(r.hi);
      }
      for (kernel::Carry& c : loop->carry) {
        for (Expr& e : c.value.subscripts) apply(e);
        apply(c.initial);
      }
    } else if (auto* when = std::get_if<kernel::When>(&s.op)) {
      apply(when->condition);
    }
    if (Block* body = body_of(s)) rewrite_expressions(*body, f);
  }
}

void rename_value(Block& block, Symbol from, Symbol to) {
  rewrite_expressions(block, [&](Expr e) {
    return transform(
        e, [&](Expr node) { return node.is(Op::read) && node.name() == from ? read(to, {node.args().begin(), node.args().end()}) : node; });
  });
  const auto rename = [&](kernel::Access& a) {
    if (a.name == from) a.name = to;
  };
  for (Statement& s : block) {
    if (auto* v = std::get_if<kernel::Value>(&s.op)) std::for_each(v->targets.begin(), v->targets.end(), rename);
    if (auto* loop = std::get_if<kernel::For>(&s.op)) {
      for (kernel::Carry& c : loop->carry) rename(c.value);
    }
    if (Block* body = body_of(s)) rename_value(*body, from, to);
  }
}

std::vector<Symbol> axes_in_order(Expr e) {
  const std::set<Symbol> free = free_indices(e);
  std::vector<Symbol> out;
  visit(e, [&](Expr node) {
    if (node.is(Op::index) && free.count(node.name()) > 0 && std::find(out.begin(), out.end(), node.name()) == out.end())
      out.push_back(node.name());
  });
  return out;
}

}  // namespace fathom::passes
