// Sums per vector lane: a carried sum over an axis that lies along the vector is kept as one partial sum a lane and added across lanes
// once, after the loop. Legal because the update is linear in the carried value and nothing else reads it inside.
#include <algorithm>

#include "passes/kernel_place.hpp"
#include "passes/tile_contraction.hpp"
#include "passes/tile_walk.hpp"

namespace fathom::passes {
namespace {

using kernel::Block;
using kernel::For;
using kernel::Statement;
using kernel::Value;

bool reads_name(Expr e, Symbol name) { return tensors_read(e).count(name) > 0; }

/// Linear in the carried value, lane by lane: x, x * f, where(c, x, x * f).
bool is_linear(Expr e, Symbol name) {
  if (e.is(Op::read)) return e.name() == name;
  if (e.is(Op::mul)) {
    return (is_linear(e.arg(0), name) && !reads_name(e.arg(1), name)) || (is_linear(e.arg(1), name) && !reads_name(e.arg(0), name));
  }
  return e.is(Op::where) && is_linear(e.arg(1), name) && is_linear(e.arg(2), name);
}

/// Is the index used only as a subscript?
bool only_subscript(Expr e, Symbol axis) {
  if (!e) return true;
  if (e == index(axis)) return false;
  for (const Expr arg : e.args()) {
    if (e.is(Op::read) && arg == index(axis)) continue;
    if (!only_subscript(arg, axis)) return false;
  }
  return true;
}

struct Update {
  Expr carried, sum;
  Symbol axis;
};
std::optional<Update> update_of(const Value& v, Symbol name) {
  if (v.targets.size() != 1 || v.targets[0].name != name || v.values.size() != 1 || !v.values[0].is(Op::add)) return std::nullopt;
  for (std::size_t k = 0; k < 2; ++k) {
    const Expr carried = v.values[0].arg(k), sum = v.values[0].arg(1 - k);
    if (!sum.is(Op::reduce) || sum.name() != "sum"_sym || contraction(sum) || !is_linear(carried, name)) continue;
    const std::vector<Bound> bounds = bounds_of(sum);
    if (bounds.size() != 1 || bounds[0].lo || reads_name(sum, name) || !only_subscript(values_of(sum)[0], bounds[0].index)) continue;
    return Update{carried, sum, bounds[0].index};
  }
  return std::nullopt;
}

const Value* only_definition(const For& loop, Symbol name) {
  const Value* found = nullptr;
  int definitions = 0;
  for (const Statement& s : loop.body) {
    const auto* v = std::get_if<Value>(&s.op);
    if (v == nullptr) continue;
    for (const kernel::Access& t : v->targets) {
      if (t.name == name) {
        found = v;
        ++definitions;
      }
    }
  }
  return definitions == 1 ? found : nullptr;
}

bool splits(const kernel::Kernel& k, Symbol axis, LaneSplit split) {
  const kernel::TileAxis* found = kernel::find_axis(k, axis);
  if (found == nullptr || split.lanes < 2) return false;
  const std::size_t parts = split.neighbours > 1 ? 3 : 2;
  if (found->parts.size() == parts)
    return constant_integer(found->parts[1].extent) == split.lanes &&
           (parts == 2 || constant_integer(found->parts[2].extent) == split.neighbours);
  const std::optional<std::int64_t> extent = constant_integer(kernel::extent(*found));
  const std::int64_t step = std::int64_t{split.lanes} * split.neighbours;
  return found->parts.size() == 1 && extent && *extent % step == 0 && *extent >= step;
}

void search(const kernel::Kernel& k, const Block& block, LaneSplit split, std::vector<LaneSum>& out) {
  for (const Statement& s : block) {
    const auto* loop = std::get_if<For>(&s.op);
    if (loop == nullptr) continue;
    search(k, loop->body, split, out);
    for (const kernel::Carry& c : loop->carry) {
      const Symbol name = c.value.name;
      const Value* v = only_definition(*loop, name);
      if (v == nullptr || constant_value(c.initial) != 0) continue;
      const std::optional<Update> update = update_of(*v, name);
      if (!update || !splits(k, update->axis, split)) continue;
      std::map<Symbol, int> inside;
      for (const auto& [read, count] : count_reads(loop->body)) inside[read] = count;
      std::map<Symbol, int> own = count_reads({Statement{*v, std::nullopt, {}}});
      if (inside[name] == own[name]) out.push_back({name, update->axis});
    }
  }
}

/// The parts of the axis, the second of which goes over lanes: split when first asked for.
std::vector<Symbol> parts_of(kernel::Kernel& k, Symbol axis, LaneSplit split, Names& names) {
  std::vector<Symbol> parts;
  for (kernel::TileAxis& a : k.axes) {
    if (a.name != axis) continue;
    if (a.parts.size() == 1) {
      const std::int64_t step = std::int64_t{split.lanes} * split.neighbours;
      const std::int64_t extent = constant_integer(kernel::extent(a)).value_or(step);
      a.parts = {{names.fresh(axis.text() + ".n"), number(extent / step)}, {names.fresh(axis.text() + ".y"), number(split.lanes)}};
      if (split.neighbours > 1) a.parts.push_back({names.fresh(axis.text() + ".e"), number(split.neighbours)});
    }
    for (const kernel::AxisPart& part : a.parts) parts.push_back(part.name);
  }
  return parts;
}

Expr with_lane(Expr e, Symbol name, Symbol lane) {
  return transform(e, [&](Expr node) {
    if (!node.is(Op::read) || node.name() != name) return node;
    std::vector<Expr> subscripts(node.args().begin(), node.args().end());
    subscripts.push_back(index(lane));
    return read(name, std::move(subscripts));
  });
}

void change_loop(For& loop, const LaneSum& sum, const std::vector<Symbol>& parts) {
  const Symbol y = parts[1];
  for (kernel::Carry& c : loop.carry) {
    if (c.value.name == sum.name) c.value.subscripts.push_back(index(y));
  }
  for (Statement& s : loop.body) {
    auto* v = std::get_if<Value>(&s.op);
    if (v == nullptr) continue;
    const std::optional<Update> update = update_of(*v, sum.name);
    if (!update) continue;
    std::vector<Expr> all;
    std::vector<Bound> in_lane;
    for (const Symbol part : parts) {
      all.push_back(index(part));
      if (part != y) in_lane.push_back({part, Expr(), Expr()});
    }
    const Expr split = tuple(all);
    const Expr lifted = transform(values_of(update->sum)[0], [&](Expr node) {
      if (!node.is(Op::read)) return node;
      std::vector<Expr> subscripts(node.args().begin(), node.args().end());
      std::replace(subscripts.begin(), subscripts.end(), index(sum.axis), split);
      return read(node.name(), std::move(subscripts));
    });
    v->targets[0].subscripts.push_back(index(y));
    v->values[0] = with_lane(update->carried, sum.name, y) + reduce("sum"_sym, Symbol(), in_lane, {lifted});
  }
}

bool change_block(Block& block, const LaneSum& sum, const std::vector<Symbol>& parts, Names& names) {
  for (std::size_t i = 0; i < block.size(); ++i) {
    auto* loop = std::get_if<For>(&block[i].op);
    if (loop == nullptr) continue;
    const auto carried =
        std::find_if(loop->carry.begin(), loop->carry.end(), [&](const kernel::Carry& c) { return c.value.name == sum.name; });
    if (carried == loop->carry.end()) {
      if (change_block(loop->body, sum, parts, names)) return true;
      continue;
    }
    const kernel::Access whole{names.fresh(sum.name.text() + ".all"), carried->value.subscripts};
    change_loop(*loop, sum, parts);
    Block rest(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, block.end());
    rename_value(rest, sum.name, whole.name);
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(i) + 1, block.end());
    std::vector<Expr> lanes = whole.subscripts;
    lanes.push_back(index(parts[1]));
    Value across{{whole}, {reduce("sum"_sym, Symbol(), {{parts[1], Expr(), Expr()}}, {read(sum.name, lanes)})}, Expr(), std::nullopt, {}};
    block.push_back(Statement{std::move(across), std::nullopt, block[i].origins});
    block.insert(block.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
    return true;
  }
  return false;
}

}  // namespace

std::vector<LaneSum> lane_sums(const kernel::Kernel& k, const Memory&, LaneSplit split) {
  std::vector<LaneSum> out;
  for (const kernel::Role& role : k.roles) search(k, role.body, split, out);
  return out;
}

void keep_per_lane(kernel::Kernel& k, const LaneSum& sum, LaneSplit split, Names& names) {
  const std::vector<Symbol> parts = parts_of(k, sum.axis, split, names);
  for (kernel::Role& role : k.roles) change_block(role.body, sum, parts, names);
}

}  // namespace fathom::passes
