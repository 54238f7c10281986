// Merging partial states in index order as a loop: what a target without a reducer instruction runs for `R.states[z in lo:hi](…)`.
// Exponentials that do not need all of a state's axes are computed once for the axes that they have.
#include <fmt/format.h>

#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

using kernel::Block;
using kernel::Statement;
using kernel::Value;

const Reducer* find_reducer(const std::vector<ReducerRef>& reducers, Symbol name) {
  for (const ReducerRef& r : reducers) {
    if (r->name == name) return r.get();
  }
  const ReducerRef known = builtin_reducer(name);
  return known ? known.get() : nullptr;
}

/// One statement over a memory range: the loop that replaces it.
class Expansion {
 public:
  Expansion(const Value& v, const Reducer& reducer, Names& names, const Origins& origins)
      : v_(v), reducer_(reducer), names_(names), origins_(origins) {}

  kernel::For run() {
    const Bound bound = bounds_of(v_.values[0])[0];
    kernel::For loop;
    loop.variable = bound.index;
    loop.ranges.push_back({Symbol(), bound.lo, bound.hi});
    load(bound.index);
    merge();
    loop.body = std::move(body_);
    for (std::size_t k = 0; k < v_.targets.size(); ++k) loop.carry.push_back({v_.targets[k], reducer_.state[k].identity});
    return loop;
  }

 private:
  void add(Value v) { body_.push_back(Statement{std::move(v), std::nullopt, origins_}); }

  void load(Symbol z) {
    const std::vector<Expr> lifted = values_of(v_.values[0]);
    for (std::size_t k = 0; k < v_.targets.size(); ++k) {
      const kernel::Access part{names_.fresh(v_.targets[k].name.text() + ".z"), v_.targets[k].subscripts};
      add(Value{{part}, {substitute(lifted[k], {{index(z), symbol(z)}})}, v_.otherwise, std::nullopt, {}});
      operands_[symbol(reducer_.state[k].name)] = read(v_.targets[k].name, v_.targets[k].subscripts);
      operands_[symbol(primed(reducer_.state[k].name))] = read(part.name, part.subscripts);
    }
  }

  void merge() {
    Value last;
    for (std::size_t k = 0; k < v_.targets.size(); ++k) {
      const kernel::Access next{names_.fresh(primed(v_.targets[k].name).text()), v_.targets[k].subscripts};
      const Expr combined = with_shared_exponentials(substitute(reducer_.state[k].combine, operands_), v_.targets[k].subscripts.size());
      add(Value{{next}, {combined}, Expr(), std::nullopt, {}});
      last.targets.push_back(v_.targets[k]);
      last.values.push_back(read(next.name, next.subscripts));
    }
    add(std::move(last));
  }

  Expr with_shared_exponentials(Expr e, std::size_t axes) {
    return transform(e, [&](Expr node) {
      if (!node.is(Op::exp) && !node.is(Op::exp2)) return node;
      const std::vector<Symbol> own = axes_in_order(node);
      const auto known = factors_.find(node);
      if (known == factors_.end() && own.size() >= axes) return node;
      std::vector<Expr> subscripts;
      for (const Symbol axis : own) subscripts.push_back(index(axis));
      if (known != factors_.end()) return read(known->second, subscripts);
      const Symbol name = names_.fresh("f");
      factors_[node] = name;
      add(Value{{{name, subscripts}}, {node}, Expr(), std::nullopt, {}});
      return read(name, subscripts);
    });
  }

  const Value& v_;
  const Reducer& reducer_;
  Names& names_;
  const Origins& origins_;
  Block body_;
  Substitution operands_;
  std::map<Expr, Symbol> factors_;
};

void expand(Block& block, const std::vector<ReducerRef>& reducers, Names& names) {
  for (Statement& s : block) {
    if (auto* loop = std::get_if<kernel::For>(&s.op)) expand(loop->body, reducers, names);
    auto* v = std::get_if<Value>(&s.op);
    if (v == nullptr || v->values.size() != 1 || !v->values[0].is(Op::reduce) || v->values[0].node().result != "states"_sym) continue;
    const std::vector<Bound> bounds = bounds_of(v->values[0]);
    const Reducer* reducer = find_reducer(reducers, v->values[0].name());
    if (bounds.size() != 1 || !bounds[0].lo || reducer == nullptr || reducer->state.size() != v->targets.size()) continue;
    kernel::For loop = merging_loop(*v, *reducer, names, s.origins);
    s.op = std::move(loop);
  }
}

void take_names(const Block& block, Names& names) {
  for (const Statement& s : block) {
    if (const auto* v = std::get_if<Value>(&s.op)) {
      for (const kernel::Access& t : v->targets) names.take(t.name);
    } else if (const auto* let = std::get_if<kernel::Let>(&s.op)) {
      names.take(let->name);
    } else if (const auto* loop = std::get_if<kernel::For>(&s.op)) {
      names.take(loop->variable);
      for (const kernel::TaggedRange& r : loop->ranges) names.take(r.tag);
      for (const kernel::Carry& c : loop->carry) names.take(c.value.name);
      take_names(loop->body, names);
    } else if (const auto* when = std::get_if<kernel::When>(&s.op)) {
      take_names(when->body, names);
    }
  }
}

}  // namespace

kernel::For merging_loop(const kernel::Value& v, const Reducer& reducer, Names& names, const Origins& origins) {
  return Expansion(v, reducer, names, origins).run();
}

void expand_states(kernel::Kernel& k, const std::vector<ReducerRef>& reducers, Names& names) {
  for (kernel::Role& role : k.roles) expand(role.body, reducers, names);
}

Names names_in(const kernel::Module& m, const kernel::Kernel& k) {
  Names names;
  for (const math::Dimension& d : m.dims) names.take(d.name);
  for (const math::Parameter& p : m.params) names.take(p.name);
  for (const math::Parameter& p : m.results) names.take(p.name);
  for (const kernel::Workspace& w : m.workspaces) names.take(w.name);
  for (const kernel::Let& l : m.lets) names.take(l.name);
  for (const ReducerRef& r : m.reducers) names.take(r->name);
  names.take(k.work.variable);
  for (const kernel::TileAxis& a : k.axes) {
    names.take(a.name);
    for (const kernel::AxisPart& p : a.parts) names.take(p.name);
  }
  for (const kernel::Let& l : k.lets) names.take(l.name);
  for (const kernel::Role& r : k.roles) {
    names.take(r.name);
    take_names(r.body, names);
  }
  return names;
}

}  // namespace fathom::passes
