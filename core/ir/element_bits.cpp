#include "ir/element_bits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/bit_cast.hpp"

namespace fathom {
namespace {

/// Sign, exponent and fraction fields of a small float type.
struct Format {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5, 10, true};
    case DType::bf16:
      return {8, 7, true};
    case DType::f8e4m3:
      return {4, 3, false};
    case DType::f8e5m2:
      return {5, 2, true};
    default:
      return {8, 23, true};
  }
}

std::uint64_t small_float_bits(Format format, double value) {
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (format.exponent_bits + format.fraction_bits);
  const std::uint64_t all_ones = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t fractions = std::uint64_t{1} << format.fraction_bits;
  if (std::isnan(value)) return sign | all_ones << format.fraction_bits | (format.has_infinity ? fractions / 2 : fractions - 1);
  if (std::isinf(value)) return sign | all_ones << format.fraction_bits;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  int exponent = 0;
  const double size = std::fabs(value);
  std::frexp(size, &exponent);
  const int field = size == 0 ? 0 : std::max(exponent - 1 + bias, 0);
  const int quantum = std::max(field, 1) - bias - format.fraction_bits;       // exponent of one unit of the fraction
  const auto units = static_cast<std::uint64_t>(std::ldexp(size, -quantum));  // exact: value is of the type already
  return sign | (field == 0 ? units : (static_cast<std::uint64_t>(field) << format.fraction_bits) + (units - fractions));
}

double small_float_value(Format format, std::uint64_t bits) {
  const std::uint64_t fractions = std::uint64_t{1} << format.fraction_bits;
  const std::uint64_t all_ones = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t fraction = bits & (fractions - 1);
  const std::uint64_t field = bits >> format.fraction_bits & all_ones;
  const double sign = (bits >> (format.exponent_bits + format.fraction_bits) & 1U) != 0 ? -1 : 1;
  const bool special = field == all_ones && (format.has_infinity || fraction == fractions - 1);
  if (special) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int quantum = static_cast<int>(std::max<std::uint64_t>(field, 1)) - bias - format.fraction_bits;
  return sign * std::ldexp(static_cast<double>(field == 0 ? fraction : fraction + fractions), quantum);
}

}  // namespace

std::uint64_t to_bits(DType dtype, double value) {
  const double rounded = round_to(dtype, value);
  if (dtype == DType::f64) return bit_cast<std::uint64_t>(rounded);
  if (dtype == DType::f32 || dtype == DType::real) return bit_cast<std::uint32_t>(static_cast<float>(rounded));
  if (is_float(dtype)) return small_float_bits(format_of(dtype), rounded);
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(rounded));
}

double from_bits(DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::f64:
      return bit_cast<double>(bits);
    case DType::f32:
    case DType::real:
      return static_cast<double>(bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::i64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case DType::i32:
      return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    case DType::i8:
      return static_cast<double>(static_cast<std::int8_t>(static_cast<std::uint8_t>(bits)));
    case DType::boolean:
      return (bits & 0xFFU) != 0 ? 1 : 0;
    default:
      return small_float_value(format_of(dtype), bits);
  }
}

}  // namespace fathom
