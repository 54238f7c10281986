// Elements as they lie in memory: the bits of a value of each type, and back.
#pragma once

#include <cstdint>

#include "ir/dtype.hpp"

namespace fathom {

/// Of round_to(dtype, value); the low size_in_bytes(dtype) bytes count. NaN becomes the quiet NaN of the type (integers: 0).
[[nodiscard]] std::uint64_t to_bits(DType, double value);
[[nodiscard]] double from_bits(DType, std::uint64_t bits);

}  // namespace fathom
