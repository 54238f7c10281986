// Element types as one table, and rounding to each: exact scaling by powers of two, ties to even, no dependence on the rounding mode.
#include "ir/dtype.hpp"

#include <array>
#include <cmath>
#include <limits>

#include "ir/bit_cast.hpp"

namespace fathom {
namespace {

/// Floats: `precision` significant bits, exponents from min_exponent (of the smallest normal) up; `largest` is finite.
struct Row {
  DType dtype;
  std::string_view name;
  int bytes;
  bool is_float;
  int precision;
  int min_exponent;
  double largest;
  bool has_infinity;
};

constexpr std::array<Row, 11> rows = {{
    {DType::real, "real", 4, true, 24, -126, 0x1.fffffep127, true},
    {DType::f64, "f64", 8, true, 53, -1022, 0x1.fffffffffffffp1023, true},
    {DType::f32, "f32", 4, true, 24, -126, 0x1.fffffep127, true},
    {DType::f16, "f16", 2, true, 11, -14, 65504.0, true},
    {DType::bf16, "bf16", 2, true, 8, -126, 0x1.fep127, true},
    {DType::f8e4m3, "f8e4m3", 1, true, 4, -6, 448.0, false},  // OCP e4m3: all ones is NaN, there is no infinity
    {DType::f8e5m2, "f8e5m2", 1, true, 3, -14, 57344.0, true},
    {DType::i64, "i64", 8, false, 0, 0, 9223372036854774784.0, false},  // the largest i64 that a double holds
    {DType::i32, "i32", 4, false, 0, 0, 2147483647.0, false},
    {DType::i8, "i8", 1, false, 0, 0, 127.0, false},
    {DType::boolean, "bool", 1, false, 0, 0, 1.0, false},
}};

const Row& row(DType dtype) { return rows[static_cast<std::size_t>(dtype)]; }

/// The nearest integer, ties to even.
double nearest_integer(double x) {
  if (std::fabs(x) >= 0x1p52) return x;
  const double below = std::floor(x);
  const double rest = x - below;  // exact
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return below / 2 == std::floor(below / 2) ? below : below + 1;
}

/// Where the value is a normal number of the type, in place: adds just below half of the last kept bit (half of it where that bit is 1,
/// ties to even) and cuts; a carry runs into the exponent, as it should.
double round_bits(const Row& type, std::uint64_t bits) {
  const int dropped = 53 - type.precision;
  const std::uint64_t half_below = (std::uint64_t{1} << (dropped - 1)) - 1;
  bits += half_below + ((bits >> dropped) & 1U);
  return bit_cast<double>(bits & ~((std::uint64_t{1} << dropped) - 1));
}

double round_to_float(const Row& type, double x) {
  const double overflow = type.has_infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  const auto bits = bit_cast<std::uint64_t>(x);
  const int place = static_cast<int>((bits >> 52U) & 0x7ffU) - 1023;  // |x| in [2^place, 2^(place+1))
  if (place >= type.min_exponent && place <= 1023) {
    const double rounded = round_bits(type, bits);
    return std::fabs(rounded) > type.largest ? std::copysign(overflow, x) : rounded;
  }
  if (std::isnan(x) || x == 0) return x;
  if (std::isinf(x)) return type.has_infinity ? x : overflow;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  const int quantum = (exponent - 1 > type.min_exponent ? exponent - 1 : type.min_exponent) - (type.precision - 1);
  const double rounded = std::ldexp(nearest_integer(std::ldexp(x, -quantum)), quantum);
  if (std::fabs(rounded) > type.largest) return std::copysign(overflow, x);
  return rounded == 0 ? std::copysign(0.0, x) : rounded;
}

double round_to_integer(const Row& type, double x) {
  if (std::isnan(x)) return 0;
  const double smallest = type.dtype == DType::i64 ? -9223372036854775808.0 : -type.largest - 1;
  if (x >= type.largest) return type.largest;
  if (x <= smallest) return smallest;
  return nearest_integer(x) + 0.0;  // + 0.0: integers have no -0
}

bool holds(DType wide, DType narrow) {
  const Row& a = row(wide);
  const Row& b = row(narrow);
  return a.precision >= b.precision && a.min_exponent - a.precision <= b.min_exponent - b.precision && a.largest >= b.largest &&
         (a.has_infinity || !b.has_infinity);
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_named(std::string_view text) {
  for (const Row& type : rows)
    if (type.dtype != DType::real && type.name == text) return type.dtype;
  return std::nullopt;
}

int size_in_bytes(DType dtype) { return row(dtype).bytes; }

bool is_float(DType dtype) { return row(dtype).is_float; }

bool is_integer(DType dtype) { return !row(dtype).is_float && dtype != DType::boolean; }

FloatRange float_range(DType dtype) {
  const Row& type = row(dtype);
  if (!type.is_float) return {0, type.largest, 1, 1};
  return {std::ldexp(1.0, -type.precision), type.largest, std::ldexp(1.0, type.min_exponent),
          std::ldexp(1.0, type.min_exponent - (type.precision - 1))};
}

double round_to(DType dtype, double x) {
  const Row& type = row(dtype);
  if (dtype == DType::f64) return x;
  if (dtype == DType::boolean) return x != 0 ? 1 : 0;
  return type.is_float ? round_to_float(type, x) : round_to_integer(type, x);
}

DType join(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_integer(a) && is_integer(b)) return size_in_bytes(a) > size_in_bytes(b) ? a : b;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  if (is_integer(a) || is_integer(b) || a == DType::real || b == DType::real) return DType::real;
  if (holds(a, b)) return a;
  if (holds(b, a)) return b;
  return holds(DType::f16, a) && holds(DType::f16, b) ? DType::f16 : DType::f32;
}

}  // namespace fathom
