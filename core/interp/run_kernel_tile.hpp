// Internal to the interpreter of kernels: a tile is a dense array over some axes of the kernel; what does not vary with an axis does not
// have it. Axes are numbers, in the order of their declaration, and stand sorted in every tile. Floats are rounded to f32 (or f64) after
// each operation, integers are exact up to 2^53; a number that does not exist (x // 0, an overflow) is NaN and no index.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ir/expr.hpp"
#include "ir/result.hpp"

namespace fathom::interp::tiles {

/// In order of their join. Literals keep all their digits until they meet a float.
enum class Kind : std::uint8_t { boolean, integer, f32, f64 };
[[nodiscard]] Kind kind_of(DType);

using Data = std::vector<double>;
struct Tile {
  Kind kind = Kind::f32;
  std::vector<int> axes;              ///< sorted
  std::vector<std::int64_t> extents;  ///< one an axis
  std::shared_ptr<const Data> data;   ///< row major
};
using TileRef = std::shared_ptr<const Tile>;
inline constexpr std::int64_t largest_tile = std::int64_t{1} << 26U;

/// Leaves the interpreter from any depth; caught where the module is run.
struct Stop {
  Refusal why;
};
[[noreturn]] void stop(std::string reason, std::vector<std::string> nodes = {}, std::string hint = {});

/// Counts elementary operations against the limit, before they are made.
class Budget {
 public:
  explicit Budget(std::int64_t limit) : left_(limit) {}
  void spend(std::int64_t operations);

 private:
  std::int64_t left_;
};

[[nodiscard]] TileRef scalar(Kind kind, double value);
[[nodiscard]] TileRef make_tile(Kind kind, std::vector<int> axes, std::vector<std::int64_t> extents, Data data);
[[nodiscard]] std::int64_t count(const std::vector<std::int64_t>& extents);
[[nodiscard]] double only_value(const Tile& tile);  ///< of a tile without axes

/// A walk over a box: for each row along the last axis calls row(output offset, offset of each operand). Strides 0 broadcast.
struct Walk {
  std::vector<std::int64_t> extents;
  std::vector<std::vector<std::int64_t>> strides;  ///< of each operand
  void rows(const std::function<void(std::int64_t out, const std::int64_t* offsets)>& row) const;
  [[nodiscard]] std::int64_t length() const { return extents.empty() ? 1 : extents.back(); }
  [[nodiscard]] std::int64_t step(std::size_t operand) const { return extents.empty() ? 0 : strides[operand].back(); }
};
/// Strides of a tile along other axes: 0 where it does not vary.
[[nodiscard]] std::vector<std::int64_t> strides_along(const Tile& tile, const std::vector<int>& axes);
/// The union of the axes of some tiles, with extents.
struct Shape {
  std::vector<int> axes;
  std::vector<std::int64_t> extents;
};
[[nodiscard]] Shape joint_shape(const std::vector<TileRef>& tiles);

/// One elementwise operation: prefix, infix or function, `where` and `random` included.
[[nodiscard]] TileRef apply(Op op, const std::vector<TileRef>& operands, Budget& budget);
[[nodiscard]] TileRef convert(DType dtype, const TileRef& tile, Budget& budget);
[[nodiscard]] bool any_true(const Tile& tile);

/// Folds along one axis in index order with a one-component operation: add, mul, min, max, logical_and, logical_or. `extent` repeats a tile
/// that does not vary with the axis. The fold of nothing is `identity`.
[[nodiscard]] TileRef fold(Op op, const TileRef& tile, int axis, std::int64_t extent, const TileRef& identity, Budget& budget);
/// Sum along one axis of products, without the array of products: the same numbers as fold(add, a * b).
[[nodiscard]] TileRef contract(const TileRef& a, const TileRef& b, int axis, std::int64_t extent, Budget& budget);
/// The part at one position of an axis.
[[nodiscard]] TileRef slice(const TileRef& tile, int axis, std::int64_t position, Budget& budget);
/// `any` over all axes but those kept.
[[nodiscard]] TileRef any_except(const TileRef& tile, const std::vector<int>& kept, Budget& budget);

}  // namespace fathom::interp::tiles
