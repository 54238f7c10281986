// Loops and leaves: the work item, the loops of the body, maps and stores.
#include "passes/tile_builder.hpp"

#include <fmt/format.h>

#include "passes/masks.hpp"
#include "passes/tile_scope.hpp"

namespace fathom::passes {
namespace {

bool is_one(Expr e) { return constant_integer(e) == 1; }

Expr trips_of(Expr lo, Expr hi, Expr tile) {
  const Expr extent = simplify_integer(hi - lo);
  if (is_one(tile)) return extent;
  return simplify_integer(binary(Op::floordiv, extent + (tile - number(1)), tile));
}

Expr product(const std::vector<Expr>& factors, std::size_t from) {
  Expr out = number(1);
  for (std::size_t i = from; i < factors.size(); ++i) out = out * factors[i];
  return simplify_integer(out);
}

/// Ranges that are known to have no trip; one range is kept.
void drop_empty(std::vector<kernel::TaggedRange>& ranges) {
  for (std::size_t i = 0; i < ranges.size() && ranges.size() > 1;) {
    const std::optional<std::int64_t> trips = constant_integer(ranges[i].hi - ranges[i].lo);
    if (trips && *trips <= 0) {
      ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

}  // namespace

Expr fold_dims(Expr e, const std::map<Symbol, std::int64_t>& fixed) {
  return transform(e, [&](Expr node) {
    if (!node.is(Op::dim)) return node;
    const auto found = fixed.find(node.name());
    return found == fixed.end() ? node : number(found->second);
  });
}

bool is_index_arithmetic(Expr e) {
  switch (e.op()) {
    case Op::number:
      return e.node().inexact == 0 && e.node().number.is_integer();
    case Op::index:
    case Op::dim:
    case Op::symbol:
      return true;
    case Op::neg:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::floordiv:
    case Op::mod:
    case Op::min:
    case Op::max:
      for (const Expr arg : e.args()) {
        if (!is_index_arithmetic(arg)) return false;
      }
      return true;
    default:
      return false;
  }
}

TileEmitter::TileEmitter(const TilePlan& plan, int nest, const std::map<Symbol, std::int64_t>& fixed, const Target& target)
    : plan_(plan), kinds_(math::value_kinds(plan.math())), nest_(nest), fixed_(fixed), target_(target) {
  const math::Program& math = plan.math();
  for (const math::Dimension& d : math.dims) names_.take(d.name);
  for (const math::Parameter& p : math.params) names_.take(p.name);
  for (const math::Parameter& r : math.results) names_.take(r.name);
  for (const math::Statement& s : math.statements) {
    if (plan.in_memory(s.name)) names_.take(s.name);
  }
}

void TileEmitter::fail(Refusal refusal) {
  if (!failure_) failure_ = std::move(refusal);
}

Result<BuiltKernel> TileEmitter::run(Symbol kernel_name) {
  open_work(kernel_name);
  for (const loop::NodeRef& node : plan_.nests()[static_cast<std::size_t>(nest_)].body) emit(node);
  if (failure_) return tl::unexpected<Refusal>(*failure_);
  kernel::For items;
  items.variable = out_.kernel.work.variable;
  items.body = std::move(scopes_[0].block);
  kernel::Role all;
  all.name = "all"_sym;
  all.warps = number(1);
  all.body.push_back(kernel::Statement{std::move(items), std::nullopt, {}});
  out_.kernel.roles.push_back(std::move(all));
  return std::move(out_);
}

void TileEmitter::open_work(Symbol kernel_name) {
  const std::vector<const loop::Loop*>& outer = plan_.nests()[static_cast<std::size_t>(nest_)].outer;
  scopes_.emplace_back();
  out_.kernel.name = kernel_name;
  std::vector<Expr> trips;
  for (const loop::Loop* l : outer) {
    const Expr lo = lower_uniform(l->lo), hi = lower_uniform(l->hi), tile = lower_uniform(l->tile);
    trips.push_back(trips_of(lo, hi, tile));
  }
  const Symbol work = names_.fresh("t");
  out_.kernel.work.variable = work;
  out_.kernel.work.lo = number(0);
  out_.kernel.work.hi = product(trips, 0);
  bind_outer(trips, work);
}

/// The number of an item in mixed radix, outermost loop slowest. A loop of one trip is a constant.
void TileEmitter::bind_outer(const std::vector<Expr>& trips, Symbol work) {
  const std::vector<const loop::Loop*>& outer = plan_.nests()[static_cast<std::size_t>(nest_)].outer;
  bool first = true;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    const loop::Loop& l = *outer[i];
    const Expr lo = lower_uniform(l.lo), hi = lower_uniform(l.hi), tile = lower_uniform(l.tile);
    const bool single = is_one(tile);
    const Expr inner = product(trips, i + 1);
    Expr number_of_tile = symbol(work);
    if (!is_one(inner)) number_of_tile = binary(Op::floordiv, number_of_tile, inner);
    if (!first) number_of_tile = binary(Op::mod, number_of_tile, trips[i]);
    IndexBinding bound{lo, single ? Symbol() : axis_for(l.index, tile), lo, hi};
    if (!is_one(trips[i])) {
      first = false;
      const Symbol name = names_.fresh(single ? l.index.text() : l.index.text() + "0");
      const Expr value = simplify_integer(lo + number_of_tile * tile);
      out_.kernel.lets.push_back({name, value});
      bound.base = symbol(name);
      const Expr last = simplify_integer(lo + (trips[i] - number(1)) * tile + number(1));
      out_.real.spans[bound.base] = {lo, last};
      out_.meant.spans[bound.base] = {lo, hi};
    }
    if (!bound.axis.empty()) {
      const Expr axis = index(bound.axis);
      out_.real.spans[axis] = {number(0), tile};
      out_.meant.spans[axis] = constant_integer(bound.base) ? Span{number(0), simplify_integer(hi - bound.base)} : Span{number(0), tile};
      out_.meant.elements[axis] = {lo, hi};
      out_.meant.bases[axis] = bound.base;
    }
    bindings_[l.index] = bound;
  }
}

/// One axis for each index and extent: loops over the same index with equal tiles share it.
Symbol TileEmitter::axis_for(Symbol index_name, Expr extent) {
  const auto key = std::make_pair(index_name, extent);
  if (const auto known = axis_names_.find(key); known != axis_names_.end()) return known->second;
  const Symbol name = names_.fresh(index_name.text());
  axis_names_[key] = name;
  out_.kernel.axes.push_back({name, {{name, extent}}});
  out_.real.spans[index(name)] = {number(0), extent};
  out_.meant.spans[index(name)] = {number(0), extent};
  return name;
}

Symbol TileEmitter::tile_name(Symbol statement) {
  return names_.fresh(plan_.in_memory(statement) ? statement.text() + ".t" : statement.text());
}

kernel::Access TileEmitter::access(Symbol name, const std::vector<Symbol>& axes) const {
  kernel::Access out{name, {}};
  for (const Symbol axis : axes) {
    if (!axis.empty()) out.subscripts.push_back(index(axis));
  }
  return out;
}

Expr TileEmitter::tile_read(Symbol name, const std::vector<Symbol>& axes) {
  std::vector<Expr> subscripts;
  for (const Symbol axis : axes) {
    if (!axis.empty()) subscripts.push_back(index(axis));
  }
  return read(name, std::move(subscripts));
}

void TileEmitter::append(kernel::Statement s, std::size_t depth) {
  if (const auto* value = std::get_if<kernel::Value>(&s.op)) {
    for (const kernel::Access& target : value->targets) depths_.emplace(target.name, depth);
  }
  if (s.origins.empty() && !reading_.empty()) s.origins = reading_.front()->origins;
  scopes_[depth].block.push_back(std::move(s));
}

void TileEmitter::assign(Symbol name, const std::vector<Symbol>& axes, Expr value) {
  kernel::Value v;
  v.targets.push_back(access(name, axes));
  v.values.push_back(value);
  append(kernel::Statement{std::move(v), std::nullopt, {}});
}

std::vector<Symbol> TileEmitter::axes_of(const math::Statement& s) {
  std::vector<Symbol> out;
  for (const math::Axis& axis : s.axes) out.push_back(binding(axis.index).axis);
  return out;
}

void TileEmitter::emit(const loop::NodeRef& node) {
  if (failure_) return;
  if (const auto* sequence = std::get_if<loop::Sequence>(node.get())) {
    for (const loop::NodeRef& item : sequence->items) emit(item);
  } else if (const auto* leaf = std::get_if<loop::Leaf>(node.get())) {
    if (const math::Statement* s = plan_.math().find(leaf->statement)) emit_leaf(*s);
  } else if (const auto* loop = std::get_if<loop::Loop>(node.get())) {
    emit_loop(*loop);
  } else if (const auto* combine = std::get_if<loop::Combine>(node.get())) {
    emit_combine(*combine);
  }
}

void TileEmitter::emit_leaf(const math::Statement& s) {
  reading_.push_back(&s);
  if (s.map() != nullptr) {
    emit_map(s);
  } else {
    emit_reduction(s);
  }
  reading_.pop_back();
}

void TileEmitter::emit_map(const math::Statement& s) { define(s, fold_constants(lower(s.map()->value))); }

/// The value rounded to the type that the text states.
Expr TileEmitter::stated(const math::Statement& s, DType dtype, Expr value) const {
  const kernel::Kind kind = s.dtype == dtype ? math::computed_kind(s, kinds_, plan_.math().reducers) : kinds_.at(s.name);
  if (!math::is_narrower(dtype, kind) || (value.is(Op::cast) && value.node().dtype == dtype)) return value;
  return cast(dtype, is_float(dtype) ? as_real(s.name, value) : value);
}

/// The value of a statement is known: as a tile where tiles are read, in memory where memory is.
void TileEmitter::define(const math::Statement& s, Expr value) {
  value = stated(s, s.dtype, value);
  if (!plan_.in_memory(s.name)) {
    const TileValue tile{tile_name(s.name), axes_of(s)};
    assign(tile.name, tile.axes, value);
    scopes_.back().values[s.name] = tile;
    return;
  }
  if (plan_.read_as_tile(s.name)) {
    const TileValue tile{tile_name(s.name), axes_of(s)};
    const math::Parameter* result = plan_.math().result(s.name);
    if (result != nullptr) value = stated(s, result->dtype, value);
    assign(tile.name, tile.axes, value);
    scopes_.back().values[s.name] = tile;
    value = tile_read(tile.name, tile.axes);
  }
  store(s, value);
}

void TileEmitter::store(const math::Statement& s, Expr value) {
  kernel::Value v;
  kernel::Access target{s.name, {}};
  for (const math::Axis& axis : s.axes) target.subscripts.push_back(lower(index(axis.index)));
  v.targets.push_back(std::move(target));
  const math::Parameter* result = plan_.math().result(s.name);
  v.values.push_back(result != nullptr && is_float(result->dtype) ? as_real(s.name, value) : value);
  append(kernel::Statement{std::move(v), std::nullopt, s.origins});
}

/// An end of a range that depends on a tiled index is taken over the whole tile; each element then counts its own range.
Expr TileEmitter::lower_end(Expr end, Op extreme) {
  const Expr first = lower_uniform(end);
  Substitution last;
  for (const Symbol name : free_indices(end)) {
    const IndexBinding& bound = binding(name);
    if (bound.axis.empty()) continue;
    const kernel::TileAxis* axis = kernel::find_axis(out_.kernel, bound.axis);
    last[index(name)] = index(name) + (kernel::extent(*axis) - number(1));
  }
  return last.empty() ? first : simplify_integer(make(extreme, {first, lower_uniform(substitute(end, last))}));
}

/// Loops inside each other have tags of their own; those that follow one another share them.
Symbol TileEmitter::tag_for(Symbol wish) {
  const auto [tag, is_new] = tags_.try_emplace({scopes_.size(), wish.empty() ? "all"_sym : wish});
  if (is_new) tag->second = names_.fresh(tag->first.second.text());
  return tag->second;
}

void TileEmitter::emit_loop(const loop::Loop& l) {
  if (bindings_.count(l.index) > 0 && bindings_.at(l.index).axis.empty())
    return fail({fmt::format("There are two loops over {} inside each other.", l.index.text()), {l.index.text()}, ""});
  const Expr lo = lower_end(l.lo, Op::min), hi = lower_end(l.hi, Op::max), tile = lower_uniform(l.tile);
  const bool single = is_one(tile);
  kernel::For loop;
  loop.variable = names_.fresh(single && constant_integer(lo) == 0 ? l.index.text() : l.index.text() + "t");
  for (const loop::TileRange& part : l.ranges) loop.ranges.push_back({tag_for(part.tag), lower_uniform(part.lo), lower_uniform(part.hi)});
  drop_empty(loop.ranges);
  if (loop.ranges.empty()) loop.ranges.push_back({tag_for("all"_sym), number(0), trips_of(lo, hi, tile)});
  const bool may_divide = !single || !l.ranges.empty();
  const Symbol open = may_divide ? tag_for(open_trips) : Symbol(), mixed = may_divide ? tag_for(mixed_trips) : Symbol();
  std::vector<Symbol> started;
  loop.carry = start_states(l, started);

  const std::optional<IndexBinding> hidden = bindings_.count(l.index) > 0 ? std::optional(bindings_.at(l.index)) : std::nullopt;
  scopes_.emplace_back();
  scopes_.back().loop = &l;
  depths_[loop.variable] = scopes_.size() - 1;
  IndexBinding bound{symbol(loop.variable), single ? Symbol() : axis_for(l.index, tile), lo, hi};
  if (!single || constant_integer(lo) != 0) {
    const Symbol base = names_.fresh(single ? l.index.text() : l.index.text() + "0");
    const Expr value = simplify_integer(lo + symbol(loop.variable) * tile);
    append(kernel::Statement{kernel::Let{base, value}, std::nullopt, {}});
    depths_[base] = scopes_.size() - 1;
    bound.base = symbol(base);
    out_.real.lets[bound.base] = value;
    out_.meant.lets[bound.base] = value;
  }
  out_.loops[loop.variable] = {bound.axis, bound.base, lo, hi, tile, open, mixed};
  bindings_[l.index] = bound;
  emit(l.body);
  finish_trip();
  bindings_.erase(l.index);
  if (hidden) bindings_[l.index] = *hidden;
  loop.body = std::move(scopes_.back().block);
  scopes_.pop_back();
  if (failure_) return;
  append(kernel::Statement{std::move(loop), std::nullopt, {}});
  finish_states(started);
}

Result<BuiltKernel> build_tile_kernel(const TilePlan& plan, int nest, const std::map<Symbol, std::int64_t>& fixed, Symbol kernel_name,
                                      const Target& target) {
  return TileEmitter(plan, nest, fixed, target).run(kernel_name);
}

}  // namespace fathom::passes
