// Expressions of the Loop program as expressions over tiles: indices become base + axis, reads become tiles, loads are made once and put
// where everything that they depend on is known.
#include <fmt/format.h>

#include <algorithm>

#include "ir/comparison.hpp"
#include "passes/tile_scope.hpp"
#include "passes/whole_rows.hpp"

namespace fathom::passes {
namespace {

constexpr int max_anew = 64;

}  // namespace

Expr TileEmitter::lower(Expr e) { return lower_node(e, false); }

/// For extents, ranges and offsets: an index stands for the first element of its tile, a read stays a read.
Expr TileEmitter::lower_uniform(Expr e) { return simplify_integer(lower_node(e, true)); }

Expr TileEmitter::lower_node(Expr e, bool uniform) {
  switch (e.op()) {
    case Op::index: {
      const IndexBinding& bound = binding(e.name());
      if (uniform || bound.axis.empty()) return bound.base;
      if (constant_integer(bound.base) == 0) return index(bound.axis);
      return bound.base + index(bound.axis);
    }
    case Op::dim:
      return fold_dims(e, fixed_);
    case Op::symbol:
      return lower_symbol(e);
    case Op::read:
      return lower_read(e, uniform);
    case Op::extent: {
      if (!e.arg(0).is(Op::index)) break;
      const math::Axis* axis = reading_.empty() ? nullptr : axis_of(*reading_.back(), e.arg(0).name());
      if (axis != nullptr) return lower_uniform(axis->hi - axis->lo);
      const IndexBinding& bound = binding(e.arg(0).name());
      return simplify_integer(bound.hi - bound.lo);
    }
    default:
      break;
  }
  if (e.args().empty()) return e;
  std::vector<Expr> args;
  for (const Expr arg : e.args()) {
    Expr lowered = lower_node(arg, uniform);
    if (!uniform && arg.is(Op::read)) {
      const Expr real = as_real(arg.name(), lowered);
      if (real != lowered && kernel::is_float_kind(kernel::kind_of(e, kinds_, plan_.math().reducers))) lowered = real;
    }
    if (is_comparison(e.op()) && is_index_arithmetic(lowered)) lowered = simplify_integer(lowered);
    args.push_back(lowered);
  }
  if (is_comparison(e.op())) {
    args[0] = against_end(e.arg(1), args[0]);
    args[1] = against_end(e.arg(0), args[1]);
  }
  return with_args(e, std::move(args));
}

/// The extremum of no integers is their least or greatest one: an infinity that an integer is compared with means that.
Expr TileEmitter::against_end(Expr whole, Expr end) const {
  const Expr as_integer = kernel::identity_in(kernel::Kind::integer, end);
  if (as_integer == end) return end;
  return kernel::kind_of(whole, kinds_, plan_.math().reducers) == kernel::Kind::integer ? as_integer : end;
}

/// Among real numbers the extremum of no integers is infinite again.
Expr TileEmitter::as_real(Symbol statement, Expr value) const {
  const math::Statement* s = plan_.math().find(statement);
  const math::Reduction* r = s != nullptr ? s->reduction() : nullptr;
  if (r == nullptr || r->repair || r->reducer->state.size() != 1) return value;
  if (math::computed_kind(*s, kinds_, plan_.math().reducers) != kernel::Kind::integer) return value;
  const Expr identity = r->reducer->state[0].identity, end = kernel::identity_in(kernel::Kind::integer, identity);
  const bool never_empty = std::all_of(r->over.begin(), r->over.end(), [&](const math::Axis& axis) {
    return constant_integer(simplify_integer(fold_dims(axis.hi - axis.lo, fixed_))).value_or(0) > 0;
  });
  return end == identity || never_empty ? value : where(binary(Op::eq, value, end), identity, value);
}

/// A loop's index, or a whole axis of the statement that is read: bound when first met.
const IndexBinding& TileEmitter::binding(Symbol name) {
  if (const auto known = bindings_.find(name); known != bindings_.end()) return known->second;
  const math::Axis* axis = nullptr;
  for (auto s = reading_.rbegin(); s != reading_.rend() && axis == nullptr; ++s) axis = axis_of(**s, name);
  static const IndexBinding nothing{number(0), Symbol(), number(0), number(1)};
  if (axis == nullptr) {
    fail({fmt::format("The index {} is bound nowhere here.", name.text()), {name.text()}, ""});
    return nothing;
  }
  IndexBinding bound{lower_uniform(axis->lo), Symbol(), lower_uniform(axis->lo), lower_uniform(axis->hi)};
  if (!free_indices(axis->hi).empty() || !free_indices(axis->lo).empty()) {
    fail({fmt::format("The range of {} depends on another index, so it needs a loop.", name.text()),
          {name.text()},
          fmt::format("Give {} a tile.", name.text())});
    return nothing;
  }
  bound.axis = whole_axis(name, bound);
  bindings_[name] = bound;
  return bindings_[name];
}

/// The axis of an index without a loop. It is rounded up to what the target divides; what lies outside has fills and masks, as in a loop.
Symbol TileEmitter::whole_axis(Symbol name, const IndexBinding& bound) {
  const Expr extent = simplify_integer(bound.hi - bound.lo);
  const std::optional<std::int64_t> elements = constant_integer(extent);
  const Expr rounded = elements ? number(whole_extent(plan_.math(), name, *elements, target_)) : extent;
  const Symbol axis = axis_for(name, rounded);
  if (rounded == extent) return axis;
  out_.meant.spans[index(axis)] = {number(0), extent};
  out_.whole.push_back({axis, bound.base, bound.lo, bound.hi, rounded, Symbol(), Symbol()});
  return axis;
}

Expr TileEmitter::lower_symbol(Expr e) {
  if (const auto known = symbols_.find(e.name()); known != symbols_.end()) return known->second;
  if (plan_.gauge(e.name()) != nullptr) return gauge_value(e.name());
  return e;
}

const TileValue* TileEmitter::find_value(Symbol statement) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->values.find(statement); found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

/// base + axis stays as it reads; other index arithmetic is simplified.
Expr TileEmitter::lower_subscript(Expr e, bool uniform) {
  const Expr lowered = lower_node(e, uniform);
  return e.is(Op::index) ? lowered : simplify_integer(lowered);
}

Expr TileEmitter::lower_read(Expr e, bool uniform) {
  const Symbol name = e.name();
  if (plan_.gauge(name) != nullptr) return gauge_value(name);
  const std::vector<Expr> subscripts(e.args().begin(), e.args().end());
  const math::Statement* s = plan_.math().find(name);
  if (s == nullptr || reading_.empty()) {
    if (subscripts.empty()) return e;
    std::vector<Expr> lowered;
    for (const Expr sub : subscripts) lowered.push_back(lower_subscript(sub, uniform));
    const Expr access = read(name, std::move(lowered));
    return uniform ? access : load(access);
  }
  Place at{nest_, {}};
  for (const Scope& scope : scopes_) {
    if (scope.loop != nullptr) at.path.push_back(scope.loop);
  }
  switch (plan_.route(name, subscripts, at, *reading_.back())) {
    case Route::anew:
      return lower_anew(*s, subscripts);
    case Route::memory: {
      std::vector<Expr> lowered;
      for (const Expr sub : subscripts) lowered.push_back(lower_subscript(sub, uniform));
      return load(read(name, std::move(lowered)));
    }
    case Route::tile:
      break;
  }
  if (const auto running = states_.find(name); running != states_.end()) {
    const RunningState& state = running->second;
    const bool renewed = state.renewed && state.updated && !before_;
    return tile_read(renewed ? state.next[0] : state.names[0], state.axes);
  }
  const TileValue* value = find_value(name);
  if (value == nullptr) {
    fail({fmt::format("{} is read before it is computed.", name.text()), {name.text(), reading_.back()->name.text()}, ""});
    return e;
  }
  std::vector<Symbol> axes = value->axes;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    if (!axes[k].empty()) axes[k] = binding(subscripts[k].name()).axis;
  }
  return tile_read(value->name, axes);
}

Expr TileEmitter::lower_anew(const math::Statement& s, const std::vector<Expr>& subscripts) {
  if (++anew_ > max_anew) {
    fail({fmt::format("{} would be computed anew without end.", s.name.text()), {s.name.text()}, ""});
    return number(0);
  }
  Substitution indices;
  for (std::size_t k = 0; k < s.axes.size(); ++k) indices[index(s.axes[k].index)] = subscripts[k];
  Expr value = lower(substitute(s.map()->value, indices));
  --anew_;
  return stated(s, s.dtype, value);
}

/// The scope in which every name of the expression is known.
std::size_t TileEmitter::depth_of(Expr e) const {
  std::size_t depth = 0;
  visit(e, [&](Expr node) {
    if (!node.is(Op::symbol) && !node.is(Op::read)) return;
    const auto found = depths_.find(node.name());
    if (found != depths_.end()) depth = std::max(depth, found->second);
  });
  return depth;
}

/// Tile axes in the order in which the expression names them.
std::vector<Symbol> TileEmitter::tile_axes_in(Expr e) const {
  std::vector<Symbol> out;
  visit(e, [&](Expr node) {
    if (node.is(Op::index) && std::find(out.begin(), out.end(), node.name()) == out.end()) out.push_back(node.name());
  });
  return out;
}

Expr TileEmitter::load(Expr memory_read) {
  const bool written_here = plan_.math().find(memory_read.name()) != nullptr && plan_.place(memory_read.name()).nest == nest_;
  const std::size_t depth = written_here ? scopes_.size() - 1 : depth_of(memory_read);
  const std::vector<Symbol> axes = tile_axes_in(memory_read);
  if (!written_here) {
    if (const auto known = scopes_[depth].loads.find(memory_read); known != scopes_[depth].loads.end())
      return tile_read(known->second, axes);
  }
  const Symbol name = names_.fresh(memory_read.name().text() + ".t");
  kernel::Value v;
  v.targets.push_back(access(name, axes));
  v.values.push_back(memory_read);
  append(kernel::Statement{std::move(v), std::nullopt, {}}, depth);
  const Expr tile = tile_read(name, axes);
  if (!written_here) {
    scopes_[depth].loads[memory_read] = name;
    // ends of loops name the element itself, masks its copy: they are one number
    if (axes.empty()) out_.real.lets[tile] = out_.meant.lets[tile] = memory_read;
  }
  return tile;
}

}  // namespace fathom::passes
