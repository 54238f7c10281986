// Loops with two stages that both compute: trip t runs stage 0 of iteration t and stage 1 of iteration t - 1, by their orders. The first
// trip has no stage 1 and the trip behind the last no stage 0: they stand in front of the loop and behind it, so the loop itself asks
// nothing. Waits between roles are said by their channels.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

struct Item {
  const kernel::Statement* statement;
  kernel::At at;
};

std::vector<Item> by_order(const std::vector<kernel::Placed>& body, int stage_from, int stage_to) {
  std::vector<Item> items;
  for (const kernel::Placed& p : body)
    if (p.at && p.at->stage >= stage_from && p.at->stage <= stage_to) items.push_back({p.statement, *p.at});
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.at.order < b.at.order; });
  return items;
}

std::vector<const kernel::Statement*> of_stage(const std::vector<kernel::Placed>& body, int stage) {
  std::vector<const kernel::Statement*> found;
  for (const Item& item : by_order(body, stage, stage)) found.push_back(item.statement);
  return found;
}

}  // namespace

void KernelLowering::lower_pipelined(const kernel::For& f) {
  const std::string& name = f.variable.text();
  if (kernel::last_stage(f) != 1)
    refused("the loop over `" + name + "` has more than two stages that compute: no form on this target yet", {name});
  std::vector<std::vector<kernel::Placed>> bodies;
  for (std::size_t range = 0; range < f.ranges.size(); ++range) bodies.push_back(kernel::body_in(f, range));
  const auto first = constant_integer(simplify_integer(f.ranges[0].lo)), first_end = constant_integer(simplify_integer(f.ranges[0].hi));
  if (!first || !first_end || *first >= *first_end)
    refused("the first range of the loop over `" + name + "` may be empty, which has no form with two stages on this target yet", {name},
            "begin with a range of one iteration");
  for (std::size_t range = 1; range < bodies.size(); ++range) {
    if (of_stage(bodies[range], 1) != of_stage(bodies[0], 1))
      refused("the second stage of the loop over `" + name + "` differs from range to range: no form on this target yet", {name});
    if (simplify_integer(f.ranges[range - 1].hi) != simplify_integer(f.ranges[range].lo))
      refused("the ranges of the loop over `" + name + "` do not follow each other", {name});
  }
  for (const kernel::Carry& c : f.carry)
    if (c.initial != symbol(Symbol("done"))) define(c.value, c.initial, {});
  // What a trip does, of iteration `own` in stage 0 and `before` in stage 1.
  const auto trip = [&](const std::vector<Item>& items, Expr own, Expr before) {
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
  };
  const auto tags_of = [&](std::size_t range) {
    for (const kernel::TaggedRange& r : f.ranges)
      if (!r.tag.empty()) scalars_[r.tag] = {boolean(r.tag == f.ranges[range].tag), Type::boolean};
  };
  // In front of the loop, where what the trips hand on is declared.
  tags_of(0);
  trip(by_order(bodies[0], 0, 0), number(*first), {});
  const std::vector<Symbol> in_flight = products_in_flight_;
  for (std::size_t range = 0; range < bodies.size(); ++range) {
    if (range == 0 && *first + 1 == *first_end) continue;
    kernel::For steady = f;
    if (range == 0) steady.ranges[0].lo = number(*first + 1);
    range_loop(steady, range, [&] {
      const Expr own = scalars_.at(f.variable).expr;
      trip(by_order(bodies[range], 0, 1), own, own - number(1));
    });
    if (products_in_flight_ != in_flight)
      refused("the products in flight are others at the end of a trip of the loop over `" + name + "` than at its begin", {name});
  }
  const Expr end = element(f.ranges.back().hi, {}).expr;
  tags_of(bodies.size() - 1);
  trip(by_order(bodies.back(), 1, 1), {}, simplify_integer(end - number(1)));
  scalars_.erase(f.variable);
}

}  // namespace fathom::gpu
