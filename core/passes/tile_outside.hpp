// What a tile value is at elements outside the extents along one axis: the abstract values that decide whether a reduction needs a mask.
#pragma once

#include <map>
#include <vector>

#include "ir/kernel.hpp"
#include "passes/tile_arith.hpp"

namespace fathom::passes {

/// From what is known least to most. `not_low`: anything but -inf. The last five are single values.
enum class Outside : std::uint8_t { any, not_low, finite, zero, one, low, high, no, yes };

/// Evaluates expressions at lanes that lie outside along `axis`; values without the axis are ordinary values.
class OutsideValues {
 public:
  OutsideValues(Symbol axis, Facts outside) : axis_(axis), facts_(std::move(outside)) {}

  void set(Symbol tile, Outside value) { known_[tile] = value; }
  [[nodiscard]] Outside get(Symbol tile) const;
  [[nodiscard]] Outside of(Expr) const;
  [[nodiscard]] Symbol axis() const { return axis_; }
  [[nodiscard]] const Facts& facts() const { return facts_; }

 private:
  [[nodiscard]] Outside of_binary(Expr) const;
  [[nodiscard]] Outside of_where(Expr) const;
  [[nodiscard]] Outside of_reduce(Expr) const;

  Symbol axis_;
  Facts facts_;
  std::map<Symbol, Outside> known_;
};

/// The literal's abstract value; `any` for what is no literal.
[[nodiscard]] Outside literal(Expr);

}  // namespace fathom::passes
