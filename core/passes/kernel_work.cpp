#include "passes/kernel_work.hpp"

#include <functional>

#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

void for_each_loop(const kernel::Kernel& k, const std::function<void(const kernel::For&)>& found) {
  const std::function<void(const kernel::Block&)> look = [&](const kernel::Block& block) {
    for (const kernel::Statement& s : block) {
      if (const auto* loop = std::get_if<kernel::For>(&s.op)) {
        found(*loop);
        look(loop->body);
      }
    }
  };
  for (const kernel::Role& role : k.roles) look(role.body);
}

/// Trips of all loops of an item; nothing where they are not known beforehand.
std::optional<std::int64_t> trips_of_item(const kernel::Kernel& k, std::int64_t item, const DimValues& dims) {
  Substitution lets = {{symbol(k.work.variable), number(item)}};
  for (const kernel::Let& l : k.lets) lets[symbol(l.name)] = substitute(l.value, lets);
  std::int64_t trips = 0;
  bool known = true;
  for_each_loop(k, [&](const kernel::For& loop) {
    for (const kernel::TaggedRange& r : loop.ranges) {
      const auto lo = evaluate_integer(substitute(r.lo, lets), dims), hi = evaluate_integer(substitute(r.hi, lets), dims);
      known = known && lo && hi;
      if (known) trips += std::max<std::int64_t>(0, *hi - *lo);
    }
  });
  return known ? std::optional(trips) : std::nullopt;
}

}  // namespace

bool is_uneven(const kernel::Kernel& k) {
  bool found = false;
  for_each_loop(k, [&](const kernel::For& loop) {
    for (const kernel::TaggedRange& r : loop.ranges) {
      for (const Expr e : {r.lo, r.hi}) visit(e, [&](Expr node) { found = found || node.is(Op::symbol) || node.is(Op::read); });
    }
  });
  return found;
}

void draw_items(kernel::Module& m, kernel::Kernel& k, std::vector<Names>& names) {
  Names all;
  for (const kernel::Workspace& w : m.workspaces) all.take(w.name);
  for (const Names& each : names) all.take(each);
  const Symbol counter = all.fresh("next");
  for (Names& each : names) each.take(counter);
  m.workspaces.push_back({counter, DType::i32, {number(1)}, true});
  k.work.source = kernel::WorkSource::dynamic;
  k.work.counter = counter;
}

bool longest_first(kernel::Kernel& k, const DimValues& dims) {
  const auto items = evaluate_integer(k.work.hi, dims);
  if (!items || *items < 2 || constant_integer(k.work.lo) != 0) return false;
  const auto first = trips_of_item(k, 0, dims), last = trips_of_item(k, *items - 1, dims);
  if (!first || !last || *last <= *first) return false;
  const Expr item = symbol(k.work.variable), from_the_end = simplify_integer(k.work.hi - number(1) - item);
  const auto counted = [&](Expr e) { return e ? substitute(e, {{item, from_the_end}}) : e; };
  for (kernel::Let& l : k.lets) l.value = counted(l.value);
  for (kernel::Role& role : k.roles) rewrite_expressions(role.body, counted);
  return true;
}

}  // namespace fathom::passes
