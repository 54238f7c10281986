// Values of one expression over a box: a column holds one value for each point of the axes that the expression varies with, and nothing
// more (an expression that does not vary with j has no axis j). Axes are numbers of slots of the evaluator, ascending, last one fastest.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/dtype.hpp"

namespace fathom::interp {

/// Arithmetic in which a value lives, ascending: an operation works in the larger one of its operands.
enum class Kind : std::uint8_t {
  boolean,
  integer,
  literal,  ///< a constant of the text: exact until it meets a variable
  single,   ///< f32: every float type but f64 computes in it
  real64
};
[[nodiscard]] constexpr bool is_discrete(Kind kind) { return kind <= Kind::integer; }
[[nodiscard]] constexpr Kind join(Kind a, Kind b) { return a < b ? b : a; }
[[nodiscard]] Kind kind_of(DType);

/// What is known of one value besides its number.
inline constexpr std::uint8_t undetermined = 1;  ///< which side of a discontinuity, or which value of an undefined expression, is open
inline constexpr std::uint8_t masked = 2;        ///< 0 or -inf because a mask says so: absorbs its partner
inline constexpr std::uint8_t invalid = 4;       ///< read outside a tensor: an error unless a mask drops it

inline constexpr std::uint8_t carried_flags = undetermined | invalid;  ///< what operations pass on; `masked` follows its own rules

template <class Value>
struct Column {
  Kind kind = Kind::single;
  std::vector<int> axes;
  std::vector<std::int64_t> whole;  ///< values of discrete kinds
  std::vector<Value> real;          ///< values of the others
  std::vector<std::uint8_t> flags;  ///< empty: none is set

  [[nodiscard]] std::size_t size() const { return is_discrete(kind) ? whole.size() : real.size(); }
  [[nodiscard]] std::uint8_t flag(std::size_t i) const { return flags.empty() ? std::uint8_t{0} : flags[i]; }
  void resize(std::size_t n) {
    if (is_discrete(kind)) {
      whole.resize(n);
    } else {
      real.resize(n);
    }
  }
  void set_flag(std::size_t i, std::uint8_t flag) {
    if (flag == 0 && flags.empty()) return;
    if (flags.empty()) flags.assign(size(), 0);
    flags[i] = flag;
  }
};

/// A whole tensor: every axis starts at `lo`.
template <class Value>
struct Tensor {
  Kind kind = Kind::single;
  std::vector<std::int64_t> lo, extent;
  std::vector<std::int64_t> whole;
  std::vector<Value> real;
  std::vector<std::uint8_t> flags;   ///< empty: none is set
  const double* borrowed = nullptr;  ///< values of a real input, in place of `real`: inputs are never copied

  [[nodiscard]] std::int64_t size() const {
    std::int64_t n = 1;
    for (const std::int64_t e : extent) n *= e;
    return n;
  }
};

/// Where a run of elements lies in a column.
struct Row {
  std::int64_t first = 0, step = 0;
};

/// Visits every point of a grid (last axis fastest): f(number of the point, offsets), where offset k moves by strides[k][axis].
template <std::size_t K, class F>
void sweep(std::span<const std::int64_t> extents, const std::array<std::vector<std::int64_t>, K>& strides, F f) {
  std::int64_t total = 1;
  for (const std::int64_t e : extents) total *= e;
  if (total <= 0) return;
  const std::size_t rank = extents.size();
  std::vector<std::int64_t> at(rank, 0);
  std::array<std::int64_t, K> offset{};
  const std::int64_t inner = rank == 0 ? 1 : extents[rank - 1];
  std::array<std::int64_t, K> step{};
  for (std::size_t k = 0; rank != 0 && k < K; ++k) step[k] = strides[k][rank - 1];
  for (std::int64_t point = 0; point < total;) {
    std::array<std::int64_t, K> here = offset;
    for (std::int64_t i = 0; i < inner; ++i, ++point) {
      f(static_cast<std::size_t>(point), here);
      for (std::size_t k = 0; k < K; ++k) here[k] += step[k];
    }
    for (std::size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
      for (std::size_t k = 0; k < K; ++k) offset[k] += strides[k][axis];
      if (++at[axis] < extents[axis]) break;
      for (std::size_t k = 0; k < K; ++k) offset[k] -= strides[k][axis] * extents[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace fathom::interp
