// Registers of a tile are one array; a loop over some or all of them counts them, and their digits are parts of the count.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::gpu {

/// A digit of the register number: count / below % range * scale + shift. Range 0: nothing stands above it.
struct RegisterDigit {
  Expr count;  ///< a loop's variable; absent: the shift alone
  std::int64_t below = 1, range = 0, scale = 1;
  Expr shift = number(0);
  std::int64_t stride = 1, extent = 1;  ///< as the layout has it
  [[nodiscard]] Expr value() const;
  [[nodiscard]] RegisterDigit shifted(Expr more) const;
  /// Of registers that hold two elements each, the digit being the fastest.
  [[nodiscard]] RegisterDigit halved() const;
};

/// A digit that is known otherwise.
[[nodiscard]] inline RegisterDigit digit_of(Expr value, std::int64_t stride, std::int64_t extent) {
  return {{}, 1, 0, 1, value, stride, extent};
}

/// Where an element lies whose digits these are, slowest first. Neighbouring digits of one count are one again: all of them are the count.
[[nodiscard]] Expr register_index(const std::vector<RegisterDigit>& digits);

}  // namespace fathom::gpu
