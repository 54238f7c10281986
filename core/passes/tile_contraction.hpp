// Contractions in Tile statements: a sum over one axis of the product of two tiles. Found by form, so that they need never be recognised
// again from scalar code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "ir/kernel.hpp"

namespace fathom::passes {

struct Contraction {
  Expr left, right;  ///< reads of tiles, each with the contracted axis
  Symbol axis;       ///< contracted
};

[[nodiscard]] inline bool has_subscript(Expr access, Symbol axis) {
  for (const Expr e : access.args()) {
    if (e == index(axis)) return true;
  }
  return false;
}

[[nodiscard]] inline bool plain_axes(Expr access, std::size_t count) {
  return access.args().size() == count && std::all_of(access.args().begin(), access.args().end(), [](Expr e) { return e.is(Op::index); });
}
/// Of an access of two plain axes.
[[nodiscard]] inline Symbol other_axis(Expr access, Symbol axis) {
  return access.arg(0) == index(axis) ? access.arg(1).name() : access.arg(0).name();
}
/// 0 where the kernel has no such axis, or none of a fixed extent.
[[nodiscard]] inline std::int64_t extent_of(const kernel::Kernel& k, Symbol axis) {
  const kernel::TileAxis* found = kernel::find_axis(k, axis);
  return found == nullptr ? 0 : constant_integer(kernel::extent(*found)).value_or(0);
}

/// Is the node sum[k](A[..k..] * B[..k..])?
[[nodiscard]] inline std::optional<Contraction> contraction(Expr node) {
  if (!node.is(Op::reduce) || node.name() != "sum"_sym || !node.node().result.empty()) return std::nullopt;
  const std::vector<Bound> bounds = bounds_of(node);
  const std::vector<Expr> values = values_of(node);
  if (bounds.size() != 1 || bounds[0].lo || values.size() != 1 || !values[0].is(Op::mul)) return std::nullopt;
  const Expr a = values[0].arg(0), b = values[0].arg(1);
  if (!a.is(Op::read) || !b.is(Op::read) || !has_subscript(a, bounds[0].index) || !has_subscript(b, bounds[0].index)) return std::nullopt;
  return Contraction{a, b, bounds[0].index};
}

[[nodiscard]] inline Expr substitute_operand(Expr node, Expr operand, Expr by) {
  const std::vector<Expr> values = values_of(node);
  const Expr product = values[0].arg(0) == operand ? by * values[0].arg(1) : values[0].arg(0) * by;
  return reduce(node.name(), node.node().result, bounds_of(node), {product});
}

}  // namespace fathom::passes
