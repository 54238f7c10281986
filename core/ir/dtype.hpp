// Element types. `real` is the type of an intermediate that the text leaves open: a real number, computed in f32.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fathom {

enum class DType : std::uint8_t { real, f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i8, boolean };

[[nodiscard]] std::string_view name(DType);  ///< as the notation spells it ("bool", "f16"); real: "real"
[[nodiscard]] std::optional<DType> dtype_named(std::string_view);
[[nodiscard]] int size_in_bytes(DType);  ///< real: 4
[[nodiscard]] bool is_float(DType);      ///< real included
[[nodiscard]] bool is_integer(DType);    ///< bool excluded

/// Unit round-off (half an ulp of 1), largest finite value, smallest positive normal and subnormal. Float types only; real is f32.
struct FloatRange {
  double unit_roundoff;
  double largest;
  double smallest_normal;
  double smallest_subnormal;
};
[[nodiscard]] FloatRange float_range(DType);

/// The nearest value of the type, ties to even; overflow gives infinity (f8e4m3 has none: NaN), integers saturate, NaN -> 0 for integers.
/// i64 saturates at the largest i64 that a double holds; bool is x != 0.
[[nodiscard]] double round_to(DType, double);

/// What a conversion between float types does at worst, and the arithmetic type of a binary operation.
[[nodiscard]] DType join(DType, DType);

}  // namespace fathom
