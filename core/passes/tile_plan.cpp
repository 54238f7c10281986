// Splits the tree into kernels and routes every read. A volatile value (one that reads a running state or a gauge) never goes to memory:
// outside its loop it is computed anew from final values.
#include "passes/tile_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fathom::passes {
namespace {

constexpr int max_anew = 64;

std::vector<loop::NodeRef> items_of(const loop::NodeRef& node) {
  if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) return sequence->items;
  return {node};
}

/// The leaves, loops and merges in order, without the sequences that only group them: a loop over parts must not hide in one.
void flatten(const loop::NodeRef& node, std::vector<loop::NodeRef>& out) {
  const auto* sequence = std::get_if<loop::Sequence>(node.get());
  if (sequence == nullptr) return out.push_back(node);
  for (const loop::NodeRef& item : sequence->items) flatten(item, out);
}

bool is_parallel(const loop::NodeRef& node) {
  const auto* loop = std::get_if<loop::Loop>(node.get());
  return loop != nullptr && loop->mark == loop::Mark::parallel;
}

void combines_below(const loop::NodeRef& node, std::map<Symbol, const loop::Combine*>& out) {
  if (const auto* combine = std::get_if<loop::Combine>(node.get())) {
    for (const Symbol name : combine->statements) out[name] = combine;
  } else if (const auto* loop = std::get_if<loop::Loop>(node.get())) {
    combines_below(loop->body, out);
  } else if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) {
    for (const loop::NodeRef& item : sequence->items) combines_below(item, out);
  }
}

bool holds_loop(const std::vector<const loop::Loop*>& path, Symbol index) {
  return std::any_of(path.begin(), path.end(), [&](const loop::Loop* l) { return l->index == index; });
}

}  // namespace

const math::Axis* axis_of(const math::Statement& s, Symbol index) {
  for (const math::Axis& axis : s.axes) {
    if (axis.index == index) return &axis;
  }
  if (const math::Reduction* r = s.reduction()) {
    for (const math::Axis& axis : r->over) {
      if (axis.index == index) return &axis;
    }
  }
  return nullptr;
}

bool runs_over(const math::Statement& s, Symbol index) {
  const math::Reduction* r = s.reduction();
  return r != nullptr && std::any_of(r->over.begin(), r->over.end(), [&](const math::Axis& a) { return a.index == index; });
}

std::vector<Expr> expressions_of(const math::Statement& s) {
  if (const math::Map* map = s.map()) return {map->value};
  const math::Reduction& r = *s.reduction();
  std::vector<Expr> out = r.values;
  if (!r.repair) return out;
  for (const math::Gauge& g : r.repair->gauges) out.push_back(g.reference);
  for (const math::Carried& c : r.repair->carried) {
    if (r.repair->carried.size() != 1 || r.values.size() != 1) out.push_back(c.term);  // else the value itself is the term
    out.push_back(c.move);
  }
  if (r.repair->project) out.push_back(r.repair->project);
  return out;
}

void leaves(const loop::NodeRef& node, std::vector<Symbol>& out) {
  if (const auto* leaf = std::get_if<loop::Leaf>(node.get())) {
    out.push_back(leaf->statement);
  } else if (const auto* loop = std::get_if<loop::Loop>(node.get())) {
    leaves(loop->body, out);
  } else if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) {
    for (const loop::NodeRef& item : sequence->items) leaves(item, out);
  }
}

Result<TilePlan> TilePlan::make(const loop::Program& program) {
  TilePlan plan;
  plan.program_ = &program;
  combines_below(program.root, plan.combines_);
  for (const math::Statement& s : program.math.statements) {
    const math::Reduction* r = s.reduction();
    if (r == nullptr || !r->repair) continue;
    for (const math::Gauge& g : r->repair->gauges) plan.gauges_.emplace(g.name, g);
  }
  plan.split(program.root);
  for (std::size_t n = 0; n < plan.nests_.size(); ++n) {
    for (const loop::NodeRef& node : plan.nests_[n].body) plan.visit(node, {static_cast<int>(n), {}});
  }
  for (const math::Parameter& result : program.math.results) {
    if (program.math.find(result.name) != nullptr) plan.memory_.insert(result.name);
  }
  for (const math::Statement& s : program.math.statements) {
    if (plan.memory_.count(s.name) > 0 && plan.places_.count(s.name) == 0)
      return refuse(fmt::format("The result {} is at no leaf of the loops.", s.name.text()), {s.name.text()});
  }
  if (const Result<void> sound = plan.check_folds(); !sound) return tl::unexpected<Refusal>(sound.error());
  plan.find_passing();
  plan.connect_all();
  return plan;
}

/// Nests of the root: each parallel loop one, neighbours that are not parallel together one.
void TilePlan::split(const loop::NodeRef& root) {
  std::vector<loop::NodeRef> serial;
  const auto flush = [&] {
    if (!serial.empty()) add_nest({}, std::move(serial));
    serial.clear();
  };
  std::vector<loop::NodeRef> items;
  flatten(root, items);
  for (const loop::NodeRef& item : items) {
    if (!is_parallel(item)) {
      serial.push_back(item);
      continue;
    }
    flush();
    add_nest({}, {item});
  }
  flush();
}

/// Descends through single parallel loops. Where a loop over the parts of a split stands beside its Combine, the body is cut there:
/// the parts are work items of their own.
void TilePlan::add_nest(std::vector<const loop::Loop*> outer, std::vector<loop::NodeRef> body) {
  while (body.size() == 1 && is_parallel(body[0])) {
    const loop::Loop& loop = std::get<loop::Loop>(*body[0]);
    outer.push_back(&loop);
    body = items_of(loop.body);
  }
  std::set<Symbol> splits;
  for (const auto& [name, combine] : combines_) splits.insert(combine->split);
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto* loop = std::get_if<loop::Loop>(body[i].get());
    if (loop == nullptr || loop->mark != loop::Mark::parallel || splits.count(loop->index) == 0) continue;
    if (i > 0) add_nest(outer, {body.begin(), body.begin() + static_cast<std::ptrdiff_t>(i)});
    add_nest(outer, {body[i]});
    if (i + 1 < body.size()) add_nest(outer, {body.begin() + static_cast<std::ptrdiff_t>(i) + 1, body.end()});
    return;
  }
  KernelNest nest{std::move(outer), std::move(body), Symbol()};
  std::vector<Symbol> names;
  for (const loop::NodeRef& node : nest.body) {
    leaves(node, names);
    if (const auto* combine = std::get_if<loop::Combine>(node.get()))
      names.insert(names.end(), combine->statements.begin(), combine->statements.end());
  }
  if (names.empty()) return;
  nest.last = names.back();
  nests_.push_back(std::move(nest));
}

void TilePlan::visit(const loop::NodeRef& node, Place at) {
  if (const auto* leaf = std::get_if<loop::Leaf>(node.get())) {
    places_.emplace(leaf->statement, std::move(at));
  } else if (const auto* loop = std::get_if<loop::Loop>(node.get())) {
    at.path.push_back(loop);
    visit(loop->body, std::move(at));
  } else if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) {
    for (const loop::NodeRef& item : sequence->items) visit(item, at);
  } else if (const auto* combine = std::get_if<loop::Combine>(node.get())) {
    for (const Symbol name : combine->statements) combined_in_[name] = at.nest;
  }
}

Result<void> TilePlan::check_folds() const {
  for (const math::Statement& s : program_->math.statements) {
    const auto found = places_.find(s.name);
    if (s.reduction() == nullptr || found == places_.end()) continue;
    bool inside = false;
    for (const loop::Loop* l : found->second.path) {
      if (carries(*l, s)) {
        inside = true;
      } else if (inside) {
        return refuse(
            fmt::format("The state of {} would be carried through the loop over {}, which lies inside its own loop and is none of it.",
                        s.name.text(), l->index.text()),
            {s.name.text(), l->index.text()}, fmt::format("Put the loop over {} outside.", l->index.text()));
      }
      if (l->mark == loop::Mark::parallel && runs_over(s, l->index))
        return refuse(fmt::format("{} is reduced over {}, but that loop is parallel.", s.name.text(), l->index.text()), {s.name.text()},
                      "A split of the reduction needs an index of its own and a combine.");
    }
  }
  return {};
}

/// From where on the value stands as a whole, for readers of this nest.
Place TilePlan::visible(const math::Statement& s, int nest) const {
  Place at = places_.at(s.name);
  if (const auto merged = combined_in_.find(s.name); merged != combined_in_.end() && nest != at.nest) return {merged->second, {}};
  for (std::size_t i = 0; i < at.path.size(); ++i) {
    if (!carries(*at.path[i], s)) continue;
    at.path.resize(i);
    break;
  }
  return at;
}

bool TilePlan::compatible(const math::Statement& s, const std::vector<Expr>& subscripts, const Place& at,
                          const math::Statement& reader) const {
  const Place from = visible(s, at.nest);
  const KernelNest& nest = nests_[static_cast<std::size_t>(at.nest)];
  for (std::size_t k = 0; k < s.axes.size(); ++k) {
    if (k >= subscripts.size() || !subscripts[k].is(Op::index)) return false;
    const Symbol used = subscripts[k].name();
    const Symbol own = s.axes[k].index;
    const bool tiled = holds_loop(nest.outer, own) || holds_loop(from.path, own);
    if (tiled) {
      if (used != own) return false;
      continue;
    }
    if (holds_loop(nest.outer, used) || holds_loop(at.path, used)) return false;
    const math::Axis* range = axis_of(reader, used);
    if (range == nullptr || range->lo != s.axes[k].lo || range->hi != s.axes[k].hi) return false;
  }
  return true;
}

/// In the order of the program: what a statement reads is known before it.
void TilePlan::find_passing() {
  for (const math::Statement& s : program_->math.statements)
    if (is_passing(s)) passing_.insert(s.name);
}

bool TilePlan::is_passing(const math::Statement& s) const {
  const auto found = places_.find(s.name);
  if (s.map() == nullptr || found == places_.end()) return false;
  for (const Symbol name : tensors_read(s.map()->value)) {
    if (gauges_.count(name) > 0) return true;
    const math::Statement* read = program_->math.find(name);
    if (read == nullptr || places_.count(name) == 0) continue;
    const Place& there = places_.at(name);
    if (there.nest != found->second.nest) continue;
    for (const loop::Loop* l : found->second.path) {
      if (carries(*l, *read) && holds_loop(there.path, l->index)) return true;
    }
    if (passing_.count(name) > 0) return true;
  }
  return false;
}

Route TilePlan::route(Symbol name, const std::vector<Expr>& subscripts, const Place& at, const math::Statement& reader) const {
  const math::Statement& s = *program_->math.find(name);
  if (places_.count(name) == 0) return s.map() != nullptr ? Route::anew : Route::memory;
  const Place from = visible(s, at.nest);
  const bool volatile_value = passing_.count(name) > 0;
  if (from.nest != at.nest) return volatile_value ? Route::anew : Route::memory;
  const bool around = from.path.size() <= at.path.size() && std::equal(from.path.begin(), from.path.end(), at.path.begin());
  if (around && compatible(s, subscripts, at, reader)) return Route::tile;
  return s.map() != nullptr ? Route::anew : Route::memory;
}

void TilePlan::connect(Expr value, const Place& at, const math::Statement& reader, int depth) {
  if (!value || depth > max_anew) return;
  fathom::visit(value, [&](Expr node) {
    if (!node.is(Op::read)) return;
    if (gauges_.count(node.name()) > 0) {
      connect(gauges_.at(node.name()).reference, at, reader, depth + 1);
      return;
    }
    const math::Statement* s = program_->math.find(node.name());
    if (s == nullptr) return;
    const std::vector<Expr> subscripts(node.args().begin(), node.args().end());
    switch (route(s->name, subscripts, at, reader)) {
      case Route::tile:
        tiles_.insert(s->name);
        break;
      case Route::memory:
        memory_.insert(s->name);
        break;
      case Route::anew: {
        Substitution indices;
        for (std::size_t k = 0; k < s->axes.size() && k < subscripts.size(); ++k) indices[index(s->axes[k].index)] = subscripts[k];
        connect(substitute(s->map()->value, indices), at, reader, depth + 1);
        break;
      }
    }
  });
}

void TilePlan::connect_all() {
  for (const math::Statement& s : program_->math.statements) {
    const auto found = places_.find(s.name);
    if (found == places_.end()) continue;
    std::vector<Expr> values = expressions_of(s);
    const math::Reduction* r = s.reduction();
    if (r != nullptr && r->repair && r->repair->project) {
      values.pop_back();
      connect(r->repair->project, visible(s, -1), s, 0);
    }
    for (const Expr value : values) connect(value, found->second, s, 0);
  }
}

const loop::Combine* TilePlan::combine_of(Symbol statement) const {
  const auto found = combines_.find(statement);
  return found == combines_.end() ? nullptr : found->second;
}

const math::Gauge* TilePlan::gauge(Symbol name) const {
  const auto found = gauges_.find(name);
  return found == gauges_.end() ? nullptr : &found->second;
}

}  // namespace fathom::passes
