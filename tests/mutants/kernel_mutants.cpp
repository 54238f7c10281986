// Mutants of Kernel modules: panels in channels, accumulators in flight, lanes, merges of split parts.
#include <algorithm>

#include "mutants.hpp"

namespace fathom::mutants {
namespace {

using kernel::Block;
using kernel::Module;
using kernel::Statement;

template <class Op>
bool is_statement(const Statement& statement) {
  return std::holds_alternative<Op>(statement.op);
}

Edit block_edit(std::function<void(Block&)> f) {
  return on_module([f = std::move(f)](Module& module) { each_block(module, f); });
}

template <class Op>
Edit without() {
  return block_edit([](Block& block) { block.erase(std::remove_if(block.begin(), block.end(), is_statement<Op>), block.end()); });
}

/// The release of a slot stands before the product that reads it.
void release_early(Block& block) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (!is_statement<kernel::Release>(block[i])) continue;
    for (std::size_t k = i; k-- > 0;)
      if (is_statement<kernel::Mma>(block[k])) {
        std::rotate(block.begin() + static_cast<std::ptrdiff_t>(k), block.begin() + static_cast<std::ptrdiff_t>(i),
                    block.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        break;
      }
  }
}

/// A panel is filled after it was published.
void fill_late(Block& block) {
  for (std::size_t i = 1; i < block.size(); ++i)
    if (is_statement<kernel::Publish>(block[i]) && is_statement<kernel::Value>(block[i - 1])) std::swap(block[i], block[i - 1]);
}

/// The names of slots between acquire and publish.
std::vector<Symbol> filled_slots(Module& module) {
  std::vector<Symbol> slots;
  each_block(module, [&](Block& block) {
    for (const Statement& each : block)
      if (const auto* acquire = std::get_if<kernel::Acquire>(&each.op)) slots.push_back(acquire->slot);
  });
  return slots;
}

/// Panels hold what the trip before should have had: the offset of the tile is that of the last trip.
void fill_from_last_trip(Module& module) {
  const std::vector<Symbol> slots = filled_slots(module);
  each_for(module, [&](kernel::For& loop) {
    Symbol offset;
    for (const Statement& each : loop.body)
      if (const auto* let = std::get_if<kernel::Let>(&each.op); let != nullptr && let->value.is(Op::mul)) offset = let->name;
    if (offset.text().empty()) return;
    for (Statement& each : loop.body) {
      auto* value = std::get_if<kernel::Value>(&each.op);
      if (value == nullptr || std::find(slots.begin(), slots.end(), value->targets.front().name) == slots.end()) continue;
      rewrite(*value, [&](Expr e) { return e == symbol(offset) ? binary(Op::max, e - number(2), number(0)) : e; });
    }
  });
}

/// The operands of a product with both subscripts swapped.
void transpose_panel(Block& block) {
  for (Statement& each : block)
    if (auto* mma = std::get_if<kernel::Mma>(&each.op); mma != nullptr && mma->b.subscripts.size() == 2)
      std::swap(mma->b.subscripts[0], mma->b.subscripts[1]);
}

void restart_accumulator(Block& block) {
  for (Statement& each : block)
    if (auto* mma = std::get_if<kernel::Mma>(&each.op)) mma->accumulate = false;
}

/// The wrong one of two products in a trip: each mma takes the b of the other.
void swap_panels(Block& block) {
  std::vector<kernel::Mma*> products;
  for (Statement& each : block)
    if (auto* mma = std::get_if<kernel::Mma>(&each.op)) products.push_back(mma);
  if (products.size() == 2) std::swap(products[0]->b.name, products[1]->b.name);
}

/// sum[j.y](…) behind a loop: the sum across the lanes.
Edit across_lanes(std::function<Expr(Expr)> f) {
  return block_edit([f = std::move(f)](Block& block) {
    bool behind_loop = false;
    for (Statement& each : block) {
      behind_loop = behind_loop || is_statement<kernel::For>(each);
      if (auto* value = std::get_if<kernel::Value>(&each.op); behind_loop && value != nullptr && is_reduce(value->values.front(), "sum"))
        value->values.front() = f(value->values.front());
    }
  });
}

/// Loops behind the first kernel: the merge of the parts.
Edit merge_edit(std::function<void(kernel::For&)> f) {
  return on_module([f = std::move(f)](Module& module) {
    if (module.kernels.size() < 2) return;
    Module last = module;
    last.kernels = {module.kernels.back()};
    each_for(last, f);
    module.kernels.back() = last.kernels.front();
  });
}

void merge_without_move(kernel::For& loop) {
  for (Statement& each : loop.body)
    if (auto* value = std::get_if<kernel::Value>(&each.op)) rewrite(*value, [](Expr e) { return e.is(Op::exp) ? number(1) : e; });
}

/// The variable of the merging loop, wherever it is a subscript, replaced.
void read_other_part(kernel::For& loop) {
  for (Statement& each : loop.body)
    if (auto* value = std::get_if<kernel::Value>(&each.op))
      rewrite(*value, [&](Expr e) { return e == symbol(loop.variable) ? number(0) : e; });
}

void merge_unguarded(kernel::For& loop) {
  for (Statement& each : loop.body)
    if (auto* value = std::get_if<kernel::Value>(&each.op))
      rewrite(*value, [](Expr e) { return e.is(Op::where) && e.arg(0).is(Op::logical_or) ? e.arg(2) : e; });
}

/// Parts are written where the first one belongs.
void write_first_part(Module& module) {
  each_value(module, [&](kernel::Value& value) {
    for (const kernel::Workspace& each : module.workspaces)
      if (value.targets.front().name == each.name) value.targets.front().subscripts.front() = number(0);
  });
}

Expr twice(Expr e) { return e + e; }

}  // namespace

std::vector<Mutant> kernel_mutants() {
  return {
      {"release-early", "a slot is released before its last reader", attention, Level::kernel, block_edit(release_early)},
      {"publish-missing", "a panel is never published", attention, Level::kernel, without<kernel::Publish>()},
      {"release-missing", "a slot is never released", attention, Level::kernel, without<kernel::Release>()},
      {"await-missing", "an accumulator is read while it is in flight", attention, Level::kernel, without<kernel::Await>()},
      {"fill-after-publish", "a panel is filled after it was published", attention, Level::kernel, block_edit(fill_late)},
      {"panel-of-last-trip", "panels hold the tile of the trip before", attention, Level::kernel, on_module(fill_from_last_trip)},
      {"panel-transposed", "a product takes its panel with swapped axes", attention, Level::kernel, block_edit(transpose_panel)},
      {"panels-swapped", "each product takes the panel of the other", attention, Level::kernel, block_edit(swap_panels)},
      {"accumulator-restarted", "each trip's product starts from 0", matmul, Level::kernel, block_edit(restart_accumulator)},
      {"lanes-counted-twice", "the partial sums are added twice", softmax, Level::kernel, across_lanes(twice)},
      {"lanes-by-maximum", "across the lanes the largest is taken, not the sum", softmax, Level::kernel,
       across_lanes([](Expr e) { return reduce(Symbol("max"), Symbol(), bounds_of(e), values_of(e)); })},
      {"merge-without-move", "parts are added without moving to one gauge", split, Level::kernel, merge_edit(merge_without_move)},
      {"merge-reads-first-part", "the first part is merged again and again", split, Level::kernel, merge_edit(read_other_part)},
      {"merge-drops-last-part", "the last part is not merged", split, Level::kernel,
       merge_edit([](kernel::For& loop) { loop.ranges.back().hi = loop.ranges.back().hi - number(1); })},
      {"merge-unguarded", "an empty part is moved like any other", split, Level::kernel, merge_edit(merge_unguarded)},
      {"parts-share-a-slot", "all parts are written to the first slot of the workspace", split, Level::kernel, on_module(write_first_part)},
  };
}

}  // namespace fathom::mutants
