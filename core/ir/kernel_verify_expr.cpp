// Verifies expressions: names have a meaning, subscripts fit what they read, and which axes a value varies with.
#include <algorithm>
#include <functional>

#include "ir/kernel_verify.hpp"

namespace fathom::kernel {
namespace {
constexpr std::uint32_t deepest = 2000;
}

std::string Verifier::extent_of(Symbol axis) const {
  const auto at = extents_.find(axis);
  return at == extents_.end() ? "" : fathom::print(at->second);
}

bool Verifier::axes_of(Expr e, Axes& axes) {
  ReadScope scope;
  if (!e) return fail("an expression is missing");
  if (e.node().depth > deepest) return fail("an expression is nested more than 2000 deep");
  return expression(e, scope, axes);
}

bool Verifier::uniform(Expr e, const std::string& what) {
  Axes axes;
  if (!axes_of(e, axes)) return false;
  if (axes.empty()) return true;
  return fail(what + " must be uniform, but varies with `" + axes.begin()->text() + "`", {fathom::print(e)});
}

bool Verifier::expression(Expr e, ReadScope& scope, Axes& axes) {
  if (const auto known = scope.known.find(e); known != scope.known.end()) {
    axes.insert(known->second.begin(), known->second.end());
    return true;
  }
  Axes own;
  if (!check_expression(e, scope, own)) return false;
  axes.insert(own.begin(), own.end());
  scope.known.emplace(e, std::move(own));
  return true;
}

bool Verifier::check_expression(Expr e, ReadScope& scope, Axes& axes) {
  switch (e.op()) {
    case Op::number:
    case Op::infinity:
    case Op::boolean:
      return true;
    case Op::index:
      if (!is_axis(e.name()) && scope.ranged.count(e.name()) == 0) {
        return fail("`" + e.name().text() + "` is no axis of the kernel", {e.name().text()},
                    "declare it: `axis " + e.name().text() + " = " + e.name().text() + ":…`");
      }
      axes.insert(e.name());
      return true;
    case Op::dim:
    case Op::symbol:
      return bare_name(e);
    case Op::read:
      return reading(e, scope, axes);
    case Op::reduce:
      return reduction(e, scope, axes);
    case Op::call:
      return fail("there is no function `" + e.name().text() + "` here", {fathom::print(e)});
    case Op::tuple:
      return fail("the tuple " + fathom::print(e) + " can only be the subscript of a split axis", {fathom::print(e)});
    case Op::extent:
      if (!e.arg(0).is(Op::index)) return fail("`size` takes an index", {fathom::print(e)});
      {
        Axes ignored;
        return expression(e.arg(0), scope, ignored);
      }
    default:
      break;
  }
  return std::all_of(e.args().begin(), e.args().end(), [&](Expr arg) { return arg && expression(arg, scope, axes); });
}

bool Verifier::bare_name(Expr e) {
  const Info* info = find(e.name());
  const bool meaningful =
      info != nullptr && (e.is(Op::dim) ? info->means == Means::dimension : info->means == Means::uniform || info->means == Means::tag);
  if (meaningful && !in_work_ && info->depends.count(k_ == nullptr ? Symbol() : k_->work.variable) > 0)
    return fail("`" + e.name().text() + "` belongs to a work item, and has no value outside of the work loop", {e.name().text()});
  if (meaningful) return true;
  return fail("`" + e.name().text() + "` is not defined here", {e.name().text()});
}

bool Verifier::reading(Expr e, ReadScope& scope, Axes& axes) {
  const std::string& name = e.name().text();
  const auto at = names_.find(e.name());
  if (at == names_.end()) return fail("`" + name + "` is read, but not defined on every path to here", {name});
  Info& info = at->second;
  info.fresh = false;
  if (!info.readable) {
    if (info.means == Means::slot) return fail("slot `" + name + "` is read outside of receive and release", {name});
    return fail("`" + name + "` is read between an mma that writes it and its await", {name});
  }
  if (info.means == Means::tile || info.means == Means::scalar) {
    if (info.axes.size() != e.args().size()) {
      return fail(
          "`" + name + "` has " + std::to_string(info.axes.size()) + " axes, but " + std::to_string(e.args().size()) + " subscripts",
          {name});
    }
    if (info.arrival && !in_condition_)
      return fail("`" + name + "` says who came first, which no value may depend on: it can be compared in the condition of a `when`",
                  {name});
    const std::vector<Symbol> own = info.axes;
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!tile_subscript(e.name(), own[i], e.arg(i), scope, axes)) return false;
    }
    return true;
  }
  const bool memory = info.means == Means::parameter || info.means == Means::workspace || info.means == Means::result ||
                      info.means == Means::buffer || info.means == Means::slot;
  if (!memory) return fail("`" + name + "` is no value", {name});
  if (!own_place(e.name(), e.args().empty() ? Expr() : e.arg(0))) return false;
  if (info.means == Means::buffer && role_ != nullptr && !info.filled && stored_by(e.name()).empty() && !filled_by_another(e.name()))
    return fail("buffer `" + name + "` is read, but not stored to on every path to here", {name});
  if (info.means == Means::workspace && written_.count(e.name()) == 0) {
    const auto same = [&](const Workspace& w) { return w.name == e.name(); };
    const auto w = std::find_if(m_.workspaces.begin(), m_.workspaces.end(), same);
    if (w == m_.workspaces.end() || !w->zero) return fail("workspace `" + name + "` is read before a kernel stores to it", {name});
  }
  if (info.means == Means::result && written_.count(e.name()) == 0) {
    return fail("result `" + name + "` is read before a kernel stores to it", {name},
                "it holds what this module stored, nothing before that");
  }
  if (const std::string by = stored_by(e.name()); !by.empty())
    return fail("`" + name + "` is read while the copy `" + by + "` into it is in flight", {name}, "await `" + by + "` before");
  if (info.rank != e.args().size()) {
    return fail("`" + name + "` has " + std::to_string(info.rank) + " axes, but " + std::to_string(e.args().size()) + " subscripts",
                {name});
  }
  return std::all_of(e.args().begin(), e.args().end(), [&](Expr arg) { return subscript(arg, scope, axes); });
}

bool Verifier::subscript(Expr e, ReadScope& scope, Axes& axes) {
  std::string ignored;
  if (!e) return fail("a subscript is missing");
  return e.is(Op::tuple) ? tuple_subscript(e, axes, &ignored) : expression(e, scope, axes);
}

/// The parts of one axis, all of them, slowest first.
bool Verifier::tuple_subscript(Expr e, Axes& axes, std::string* extent) {
  for (const auto& [name, whole] : wholes_) {
    if (whole->parts.size() != e.args().size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < whole->parts.size(); ++i) same = same && e.arg(i) == index(whole->parts[i].name);
    if (!same) continue;
    for (const AxisPart& part : whole->parts) axes.insert(part.name);
    *extent = extent_of(name);
    return true;
  }
  return fail("the tuple " + fathom::print(e) + " does not list the parts of an axis in their order", {fathom::print(e)});
}

bool Verifier::tile_subscript(Symbol tile, Symbol axis, Expr e, ReadScope& scope, Axes& axes) {
  std::string extent;
  if (e.is(Op::tuple)) {
    if (!tuple_subscript(e, axes, &extent)) return false;
  } else if (e.is(Op::index) && is_axis(e.name())) {
    axes.insert(e.name());
    extent = extent_of(e.name());
  } else {
    Axes own;
    if (!expression(e, scope, own)) return false;
    axes.insert(own.begin(), own.end());
    const bool ranged = e.is(Op::index);
    if (!within_parts(axis, own, "`" + fathom::print(read(tile, {e})) + "`")) return false;
    if (own.empty() || ranged) return true;  // one element, or a range of its own: checked while it runs
    return fail("`" + tile.text() + "` is a tile: its subscripts are axes, not " + fathom::print(e), {tile.text()});
  }
  if (extent == extent_of(axis)) return true;
  return fail("`" + tile.text() + "` varies with `" + axis.text() + "` of " + extent_of(axis) + " elements, but is read by " +
                  fathom::print(e) + " of " + extent,
              {tile.text()});
}

/// Under a condition on parts of a tile no other part is read: an axis of the condition, or the whole of it, stays.
bool Verifier::within_parts(Symbol axis, const Axes& kept, const std::string& what) {
  for (const BlockKind& around : blocks_) {
    if (!around.part) continue;
    for (const Expr part : around.condition->subscripts) {
      if (!part.is(Op::index) || (axis != part.name() && !is_part(part.name(), axis))) continue;
      if (kept.count(axis) > 0 || kept.count(part.name()) > 0) continue;
      return fail(what + " is wider than the parts on which `if " + around.condition->name.text() + "` acts", {what});
    }
  }
  return true;
}

bool Verifier::reduction(Expr e, ReadScope& scope, Axes& axes) {
  const ReducerRef r = reducer_named(m_.reducers, e.name());
  if (!r) return fail("there is no reducer `" + e.name().text() + "`", {fathom::print(e)});
  const Symbol result = e.node().result;
  const bool states = result == Symbol("states");
  const auto same = [&](const ReducerResult& one) { return one.name == result; };
  if (!states && !result.empty() && std::none_of(r->results.begin(), r->results.end(), same)) {
    return fail("reducer `" + e.name().text() + "` has no result `" + result.text() + "`", {fathom::print(e)});
  }
  const std::vector<Expr> values = fathom::values_of(e);
  if (values.size() != (states ? r->state.size() : r->parameters.size())) {
    return fail("reducer `" + e.name().text() + "` gets the wrong number of values", {fathom::print(e)});
  }
  ReadScope inner;
  inner.ranged = scope.ranged;
  bool own_range = false;
  for (const Bound& bound : bounds_of(e)) {
    if (bound.lo) {
      Axes ends;
      if (!bound.hi || !expression(bound.lo, scope, ends) || !expression(bound.hi, scope, ends)) return fail("a range has no end");
      if (!ends.empty()) return fail("the range of `" + bound.index.text() + "` must be uniform", {fathom::print(e)});
      if (is_axis(bound.index)) return fail("`" + bound.index.text() + "` is an axis and has its range already", {fathom::print(e)});
      inner.ranged.insert(bound.index);
      own_range = true;
    } else if (!is_axis(bound.index)) {
      return fail("`" + bound.index.text() + "` is no axis of the kernel and has no range", {fathom::print(e)});
    } else if (!within_parts(bound.index, {}, "`" + fathom::print(e) + "`")) {
      return false;
    }
  }
  ReadScope& used = own_range ? inner : scope;
  Axes all;
  for (const Expr value : values) {
    if (!expression(value, used, all)) return false;
  }
  for (const Bound& bound : bounds_of(e)) all.erase(bound.index);
  axes.insert(all.begin(), all.end());
  return true;
}

bool Verifier::is_own_group(Expr e) const {
  const bool alone = !role_->groups || constant_integer(role_->groups) == 1;
  return e && (e == symbol(Symbol("g")) || (alone && constant_integer(e) == 0));
}

/// A buffer for each group is a group's own, and a counter of work items is nobody else's.
bool Verifier::own_place(Symbol name, Expr first) {
  if (role_ == nullptr) return true;  // a declaration
  const auto buffer =
      std::find_if(k_->buffers.begin(), k_->buffers.end(), [&](const Buffer& b) { return b.name == name && !b.each.empty(); });
  if (buffer != k_->buffers.end()) {
    if (buffer->each != role_->name)
      return fail("buffer `" + name.text() + "` belongs to the groups of role `" + buffer->each.text() + "`", {name.text()});
    if (!is_own_group(first))
      return fail("a group has its own part of `" + name.text() + "` only: `" + name.text() + "[g,…]`", {name.text()});
  }
  const auto counts = [&](const Kernel& k) { return k.work.source == WorkSource::dynamic && k.work.counter == name; };
  if (std::none_of(m_.kernels.begin(), m_.kernels.end(), counts)) return true;
  return fail("`" + name.text() + "` counts work items, and nothing else uses it", {name.text()});
}

/// Is it stored to by another role? When, is said with the order of the two.
bool Verifier::filled_by_another(Symbol buffer) const {
  return std::any_of(k_->roles.begin(), k_->roles.end(), [&](const Role& r) {
    std::set<Symbol> stored;
    collect_stored(r.body, {buffer}, stored);
    return r.name != role_->name && !stored.empty();
  });
}

/// Loop and work variables on which an expression depends, through lets.
void Verifier::symbols_in(Expr e, std::set<Symbol>& names) const {
  visit(e, [&](Expr part) {
    if (!part.is(Op::symbol) && !part.is(Op::read)) return;
    if (const Info* info = find(part.name())) names.insert(info->depends.begin(), info->depends.end());
  });
}

}  // namespace fathom::kernel
