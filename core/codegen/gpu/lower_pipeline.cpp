// Loops with two stages that both compute: trip t runs stage 0 of iteration t and stage 1 of iteration t - 1, by their orders. The first
// trip has no stage 1 and the trip behind the last no stage 0: they stand in front of the loop and behind it, so the loop itself asks
// nothing. Waits between roles are said by their channels.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

std::vector<KernelLowering::Item> KernelLowering::by_order(const std::vector<kernel::Placed>& body, int stage_from, int stage_to) {
  std::vector<Item> items;
  for (const kernel::Placed& p : body)
    if (p.at && p.at->stage >= stage_from && p.at->stage <= stage_to) items.push_back({p.statement, *p.at});
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.at.order < b.at.order; });
  return items;
}

std::vector<const kernel::Statement*> KernelLowering::of_stage(const std::vector<kernel::Placed>& body, int stage) {
  std::vector<const kernel::Statement*> found;
  for (const Item& item : by_order(body, stage, stage)) found.push_back(item.statement);
  return found;
}

/// What stage 0 hands on is declared in front of all trips: each of them gives it a value.
void KernelLowering::declare_handed_on(const std::vector<kernel::Placed>& body) {
  std::set<Symbol> handed_on;
  for (const kernel::Statement* s : of_stage(body, 1)) {
    const kernel::Uses uses = kernel::uses_of(*s, {});
    handed_on.insert(uses.reads.begin(), uses.reads.end());
  }
  for (const kernel::Statement* s : of_stage(body, 0)) {
    if (const auto* m = std::get_if<kernel::Mma>(&s->op); m != nullptr && handed_on.count(m->acc.name) > 0)
      (void)tile(m->acc.name, layouts_.of[m->acc.name], Type::f32);
    const auto* v = std::get_if<kernel::Value>(&s->op);
    if (v == nullptr || v->values.size() != v->targets.size()) continue;
    for (std::size_t i = 0; i < v->targets.size(); ++i) {
      const Symbol name = v->targets[i].name;
      const bool known = tiles_.count(name) > 0 || scalars_.count(name) > 0 || memory(name) != nullptr;
      if (known || handed_on.count(name) == 0 || v->targets[i].subscripts.empty()) continue;
      const Type rounded = v->values[i].is(Op::cast) ? type_of(v->values[i].node().dtype) : Type::f32;
      (void)tile(name, layouts_.of[name], stored_type(name, rounded));
    }
  }
}

void KernelLowering::lower_pipelined(const kernel::For& f) {
  const std::string& name = f.variable.text();
  if (kernel::last_stage(f) != 1)
    refused("the loop over `" + name + "` has more than two stages that compute: no form on this target yet", {name});
  std::vector<std::vector<kernel::Placed>> bodies;
  for (std::size_t range = 0; range < f.ranges.size(); ++range) bodies.push_back(kernel::body_in(f, range));
  for (std::size_t range = 1; range < bodies.size(); ++range) {
    if (of_stage(bodies[range], 1) != of_stage(bodies[0], 1))
      refused("the second stage of the loop over `" + name + "` differs from range to range: no form on this target yet", {name});
    if (simplify_integer(f.ranges[range - 1].hi) != simplify_integer(f.ranges[range].lo))
      refused("the ranges of the loop over `" + name + "` do not follow each other", {name});
  }
  for (const kernel::Carry& c : f.carry)
    if (c.initial != symbol(Symbol("done"))) define(c.value, c.initial, {});
  for (const std::vector<kernel::Placed>& body : bodies) declare_handed_on(body);
  const std::vector<Expr> ends = ends_of(f);
  const Expr first = element(f.ranges[0].lo, {}).expr, end = ends.back();
  const auto tags_of = [&](std::size_t range) {
    for (const kernel::TaggedRange& r : f.ranges)
      if (!r.tag.empty()) scalars_[r.tag] = {boolean(r.tag == f.ranges[range].tag), Type::boolean};
  };
  const auto holds = [](Expr condition) {  // known, and how
    const auto lo = constant_integer(simplify_integer(condition.arg(0))), hi = constant_integer(simplify_integer(condition.arg(1)));
    return lo && hi ? std::optional(*lo < *hi) : std::nullopt;
  };
  // In front of the loop: the first iteration, under the tag of the range that it is in.
  const std::vector<Symbol> before = products_in_flight_;
  std::vector<Symbol> in_flight = before;
  const std::function<void(std::size_t)> prologue = [&](std::size_t range) {
    if (range == bodies.size()) return;
    std::size_t last = range;  // ranges that do the same here
    while (last + 1 < bodies.size() && of_stage(bodies[last + 1], 0) == of_stage(bodies[range], 0)) ++last;
    const Expr inside_range = binary(Op::lt, first, ends[last]);
    const auto own = [&] {
      products_in_flight_ = before;
      tags_of(range);
      trip(f, by_order(bodies[range], 0, 0), first, {});
      in_flight = products_in_flight_;
    };
    const auto known = holds(inside_range);
    if (known && *known) return own();
    if (known) return prologue(last + 1);
    Branch branch;
    branch.condition = inside_range;
    branch.then = inside(own);
    branch.otherwise = inside([&] { prologue(last + 1); });
    emit({branch});
  };
  if (tags_may_be_values(f)) {
    for (std::size_t range = 0; range < bodies.size(); ++range) {
      const Expr inside_range = binary(Op::lt, first, ends[range]);
      const Expr own = range == 0 ? inside_range : binary(Op::logical_and, binary(Op::ge, first, ends[range - 1]), inside_range);
      if (!f.ranges[range].tag.empty()) scalars_[f.ranges[range].tag] = {own, Type::boolean};
    }
    const Expr any = binary(Op::lt, first, end);
    const auto own = [&] {
      trip(f, whens_by_order(f), first, {});
      in_flight = products_in_flight_;
    };
    const auto known = holds(any);
    if (known && *known) {
      own();
    } else if (!known) {
      emit({Branch{any, inside(own), {}}});
    }
  } else {
    prologue(0);
  }
  products_in_flight_ = in_flight;
  for (std::size_t range = 0; range < bodies.size(); ++range) {
    std::size_t last = range;  // ranges that do the same
    while (last + 1 < bodies.size() && same_trips(bodies[last + 1], bodies[range])) ++last;
    kernel::For steady = f;
    steady.ranges[range].hi = f.ranges[last].hi;
    const Expr second = simplify_integer(f.ranges[0].lo + number(1));
    const auto own = constant_integer(simplify_integer(f.ranges[range].lo)), least = constant_integer(second);
    const bool behind_first = own && least && *own >= *least;
    if (!behind_first) steady.ranges[range].lo = range == 0 ? second : binary(Op::max, f.ranges[range].lo, second);
    range_loop(steady, range, [&] {
      const Expr iteration = scalars_.at(f.variable).expr;
      trip(f, by_order(bodies[range], 0, 1), iteration, iteration - number(1));
    });
    range = last;
    if (products_in_flight_ != in_flight)
      refused("the products in flight are others at the end of a trip of the loop over `" + name + "` than at its begin", {name});
  }
  // Behind it: the second stage of the last iteration, if there was one.
  const auto epilogue = [&] {
    tags_of(bodies.size() - 1);
    trip(f, by_order(bodies.back(), 1, 1), {}, simplify_integer(end - number(1)));
  };
  const Expr any = binary(Op::lt, first, end);
  const auto known = holds(any);
  if (known && *known) {
    epilogue();
  } else if (!known) {
    emit({Branch{any, inside(epilogue), {}}});
    products_in_flight_ = before;
  }
  scalars_.erase(f.variable);
}

bool KernelLowering::same_trips(const std::vector<kernel::Placed>& a, const std::vector<kernel::Placed>& b) {
  const std::vector<Item> left = by_order(a, 0, 1), right = by_order(b, 0, 1);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const Item& x, const Item& y) { return x.statement == y.statement; });
}

/// Stage 0 with its conditions on tags as they stand.
std::vector<KernelLowering::Item> KernelLowering::whens_by_order(const kernel::For& f) {
  std::vector<kernel::Placed> body;
  for (const kernel::Statement& s : f.body) body.push_back({&s, s.at});
  return by_order(body, 0, 0);
}

/// In front of the loop a condition on tags may be asked where it stands, if it only changes what is there without it.
bool KernelLowering::tags_may_be_values(const kernel::For& f) {
  std::set<Symbol> made;
  for (const kernel::Carry& c : f.carry) made.insert(c.value.name);
  bool differ = false;
  for (const kernel::Statement& s : f.body) {
    if (const auto* w = std::get_if<kernel::When>(&s.op)) {
      differ = true;
      if (!w->body.empty() && !s.at) return false;
      for (const Symbol name : kernel::uses_of(s, {}).writes)
        if (made.count(name) == 0) return false;
      const bool values = std::all_of(w->body.begin(), w->body.end(),
                                      [](const kernel::Statement& inner) { return std::holds_alternative<kernel::Value>(inner.op); });
      if (!values) return false;
      continue;
    }
    const kernel::Uses uses = kernel::uses_of(s, {});
    made.insert(uses.writes.begin(), uses.writes.end());
  }
  const auto first = constant_integer(simplify_integer(f.ranges[0].lo)), end = constant_integer(simplify_integer(f.ranges[0].hi));
  const bool one_range = first && end && *first < *end;  // then the tag is known
  return differ && !one_range;
}

/// Where each range ends, named once: they are compared with in several places.
std::vector<Expr> KernelLowering::ends_of(const kernel::For& f) {
  std::vector<Expr> ends;
  for (const kernel::TaggedRange& range : f.ranges) ends.push_back(element(range.hi, {}).expr);
  return ends;
}

/// What a trip does, of iteration `own` in stage 0 and `before` in stage 1.
void KernelLowering::trip(const kernel::For& f, const std::vector<Item>& items, Expr own, Expr before) {
  const std::string& name = f.variable.text();
  std::map<int, std::map<Symbol, Typed>> lets;  // of each stage's iteration
  for (const int stage : {0, 1}) {
    const Expr iteration = stage == 0 ? own : before;
    if (!iteration) continue;
    scalars_[f.variable] = {iteration, Type::i32};
    for (const kernel::Statement& s : f.body) {
      const auto* l = std::get_if<kernel::Let>(&s.op);
      if (l == nullptr) continue;
      const bool used = std::any_of(items.begin(), items.end(), [&](const Item& item) {
        return item.at.stage == stage && kernel::uses_of(*item.statement, {}).reads.count(l->name) > 0;
      });
      if (!used) continue;
      for (const Symbol read : kernel::uses_of(s, {}).reads) {
        const bool made = std::any_of(items.begin(), items.end(),
                                      [&](const Item& item) { return kernel::uses_of(*item.statement, {}).writes.count(read) > 0; });
        if (made) refused("`" + kernel::print(s) + "` reads what the loop makes, which has no form on this target yet", {name});
      }
      lower_let_as(*l, names_.fresh(l->name.text()));
      lets[stage][l->name] = scalars_.at(l->name);
    }
  }
  for (const Item& item : items) {
    scalars_[f.variable] = {item.at.stage == 0 ? own : before, Type::i32};
    for (const auto& [let, value] : lets[item.at.stage]) scalars_[let] = value;
    statement(*item.statement);
  }
}

}  // namespace fathom::gpu
