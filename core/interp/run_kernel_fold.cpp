// Folds of tiles along an axis, in index order: the left fold of what the reduced values are, vectorised over the other axes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "interp/run_kernel_tile.hpp"

namespace fathom::interp::tiles {
namespace {

double f32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// A tile seen from one of its axes: outer x extent x inner elements.
struct Around {
  std::int64_t outer = 1, extent = 1, inner = 1;
  std::vector<int> axes;
  std::vector<std::int64_t> extents;  ///< without the axis
};

Around around(const Tile& tile, int axis) {
  Around parts;
  bool passed = false;
  for (std::size_t i = 0; i < tile.axes.size(); ++i) {
    if (tile.axes[i] == axis) {
      parts.extent = tile.extents[i];
      passed = true;
      continue;
    }
    (passed ? parts.inner : parts.outer) *= tile.extents[i];
    parts.axes.push_back(tile.axes[i]);
    parts.extents.push_back(tile.extents[i]);
  }
  return parts;
}

bool has_axis(const Tile& tile, int axis) { return std::binary_search(tile.axes.begin(), tile.axes.end(), axis); }

template <class F>
Data fold_rows(const Tile& tile, const Around& parts, std::int64_t repeats, F f) {
  const Data& from = *tile.data;
  Data out(static_cast<std::size_t>(parts.outer * parts.inner));
  const std::int64_t stride = parts.extent == repeats ? parts.inner : 0;  // a tile without the axis is folded with itself
  for (std::int64_t o = 0; o < parts.outer; ++o) {
    const double* row = from.data() + o * parts.extent * parts.inner;
    double* to = out.data() + o * parts.inner;
    std::copy(row, row + parts.inner, to);
    for (std::int64_t k = 1; k < repeats; ++k) {
      const double* next = row + k * stride;
      for (std::int64_t i = 0; i < parts.inner; ++i) to[i] = f(to[i], next[i]);
    }
  }
  return out;
}

/// Adds products to a row of sums. In pieces of a constant length, which compilers run in vectors.
template <class LeftStep, class RightStep>
void add_row(std::int64_t length, float* __restrict sums, const float* __restrict left, LeftStep left_step, const float* __restrict right,
             RightStep right_step) {
  constexpr std::int64_t piece = 8;
  std::int64_t i = 0;
  for (; i + piece <= length; i += piece)
    for (std::int64_t k = 0; k < piece; ++k) sums[i + k] += left[(i + k) * left_step] * right[(i + k) * right_step];
  for (; i < length; ++i) sums[i] += left[i * left_step] * right[i * right_step];
}

/// A tile without the axis, seen as `extent` copies of itself: one block, folded with stride 0.
Around repeated(const Tile& tile) {
  Around parts;
  parts.inner = count(tile.extents);
  parts.axes = tile.axes;
  parts.extents = tile.extents;
  return parts;
}

}  // namespace

TileRef fold(Op op, const TileRef& tile, int axis, std::int64_t extent, const TileRef& identity, Budget& budget) {
  if (extent <= 0) return identity;
  const Around parts = has_axis(*tile, axis) ? around(*tile, axis) : repeated(*tile);
  budget.spend(parts.outer * parts.inner * extent);
  const bool logical = op == Op::logical_and || op == Op::logical_or;
  Kind kind = logical ? Kind::boolean : std::max(tile->kind, Kind::integer);
  const auto run = [&](auto f) { return make_tile(kind, parts.axes, parts.extents, fold_rows(*tile, parts, extent, f)); };
  switch (op) {
    case Op::logical_and:
      return run([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
    case Op::logical_or:
      return run([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
    case Op::max:
      return run([](double a, double b) { return a != a || b != b ? a + b : (a < b ? b : a); });
    case Op::min:
      return run([](double a, double b) { return a != a || b != b ? a + b : (b < a ? b : a); });
    case Op::add:
      if (kind == Kind::f32) return run([](double a, double b) { return f32(f32(a) + f32(b)); });
      return run([](double a, double b) { return a + b; });
    case Op::mul:
      if (kind == Kind::f32) return run([](double a, double b) { return f32(f32(a) * f32(b)); });
      return run([](double a, double b) { return a * b; });
    default:
      stop("a reducer folds with `" + std::string(spelling(op)) + "`, which is no monoid");
  }
}

TileRef contract(const TileRef& a, const TileRef& b, int axis, std::int64_t extent, Budget& budget) {
  Shape shape = joint_shape({a, b});
  const auto at = std::lower_bound(shape.axes.begin(), shape.axes.end(), axis);
  if (at != shape.axes.end() && *at == axis) {
    shape.extents.erase(shape.extents.begin() + (at - shape.axes.begin()));
    shape.axes.erase(at);
  }
  const std::int64_t size = count(shape.extents);
  budget.spend(size * 2 * extent);
  const std::int64_t step_a = strides_along(*a, {axis})[0], step_b = strides_along(*b, {axis})[0];
  Walk walk{shape.extents, {strides_along(*a, shape.axes), strides_along(*b, shape.axes)}};
  // A product and a sum of two floats, rounded once, are what rounding the double results to float gives: 53 bits are more than 2 * 24 + 1.
  const std::vector<float> all_a(a->data->begin(), a->data->end()), all_b(b->data->begin(), b->data->end());
  Data out(static_cast<std::size_t>(size), 0.0);
  const std::int64_t length = walk.length(), row_a = walk.step(0), row_b = walk.step(1);
  std::vector<float> sums(static_cast<std::size_t>(length));
  const auto sum = [&](auto left_step, auto right_step) {  // steps that are constants give loops that run in vectors
    walk.rows([&](std::int64_t to, const std::int64_t* offsets) {
      for (std::int64_t k = 0; k < extent; ++k) {
        const float* left = all_a.data() + offsets[0] + k * step_a;
        const float* right = all_b.data() + offsets[1] + k * step_b;
        if (k == 0) {
          for (std::int64_t i = 0; i < length; ++i) sums[static_cast<std::size_t>(i)] = left[i * left_step] * right[i * right_step];
        } else {
          add_row(length, sums.data(), left, left_step, right, right_step);
        }
      }
      std::copy(sums.begin(), sums.end(), out.begin() + static_cast<std::ptrdiff_t>(to));
    });
  };
  using One = std::integral_constant<std::int64_t, 1>;
  using None = std::integral_constant<std::int64_t, 0>;
  if (row_a == 0 && row_b == 1) {
    sum(None{}, One{});
  } else if (row_a == 1 && row_b == 0) {
    sum(One{}, None{});
  } else {
    sum(row_a, row_b);
  }
  return make_tile(Kind::f32, shape.axes, shape.extents, std::move(out));
}

TileRef slice(const TileRef& tile, int axis, std::int64_t position, Budget& budget) {
  if (!has_axis(*tile, axis)) return tile;
  const Around parts = around(*tile, axis);
  budget.spend(parts.outer * parts.inner);
  Data out(static_cast<std::size_t>(parts.outer * parts.inner));
  for (std::int64_t o = 0; o < parts.outer; ++o) {
    const double* from = tile->data->data() + (o * parts.extent + position) * parts.inner;
    std::copy(from, from + parts.inner, out.data() + o * parts.inner);
  }
  return make_tile(tile->kind, parts.axes, parts.extents, std::move(out));
}

TileRef any_except(const TileRef& tile, const std::vector<int>& kept, Budget& budget) {
  TileRef result = tile;
  for (std::size_t i = tile->axes.size(); i-- > 0;) {
    if (std::binary_search(kept.begin(), kept.end(), tile->axes[i])) continue;
    result = fold(Op::logical_or, result, tile->axes[i], tile->extents[i], scalar(Kind::boolean, 0), budget);
  }
  return result;
}

}  // namespace fathom::interp::tiles
