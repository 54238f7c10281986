// Elementwise operations on tiles: kinds, broadcasting and rounding. Libm is allowed here: this is a reference, it decides nothing.
#include "interp/run_kernel_tile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/philox.hpp"
#include "ir/comparison.hpp"

namespace fathom::interp::tiles {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double largest_integer = 9007199254740992.0;  // 2^53

double exact_integer(double value) { return std::fabs(value) <= largest_integer ? value : nan; }
double f32(double value) { return static_cast<double>(static_cast<float>(value)); }

/// Output and operand shapes of an elementwise operation, flattened to one row where no operand is broadcast along a part of the axes.
Walk walk_of(const Shape& shape, const std::vector<TileRef>& operands) {
  bool flat = true;
  for (const TileRef& operand : operands) flat = flat && (operand->axes.empty() || operand->axes == shape.axes);
  Walk walk;
  if (flat) {
    walk.extents = {count(shape.extents)};
    for (const TileRef& operand : operands) walk.strides.push_back({operand->axes.empty() && !shape.axes.empty() ? 0 : 1});
    return walk;
  }
  walk.extents = shape.extents;
  for (const TileRef& operand : operands) walk.strides.push_back(strides_along(*operand, shape.axes));
  return walk;
}

Data output(const Shape& shape, Budget& budget) {
  const std::int64_t size = count(shape.extents);
  budget.spend(size);
  if (size > largest_tile) stop("one tile would have more than 2^26 elements");
  return Data(static_cast<std::size_t>(size));
}

template <class F>
TileRef map1(Kind kind, const TileRef& a, Budget& budget, F f) {
  Data out = output({a->axes, a->extents}, budget);
  const double* from = a->data->data();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(from[i]);
  return make_tile(kind, a->axes, a->extents, std::move(out));
}

template <class F>
TileRef map2(Kind kind, const std::vector<TileRef>& operands, Budget& budget, F f) {
  const Shape shape = joint_shape(operands);
  Data out = output(shape, budget);
  const Walk walk = walk_of(shape, operands);
  const std::int64_t length = walk.length();
  const std::int64_t step_a = walk.step(0), step_b = walk.step(1);
  walk.rows([&](std::int64_t at, const std::int64_t* offsets) {
    double* to = out.data() + at;
    const double* a = operands[0]->data->data() + offsets[0];
    const double* b = operands[1]->data->data() + offsets[1];
    if (step_a == 1 && step_b == 1) {
      for (std::int64_t i = 0; i < length; ++i) to[i] = f(a[i], b[i]);
    } else {
      for (std::int64_t i = 0; i < length; ++i) to[i] = f(a[i * step_a], b[i * step_b]);
    }
  });
  return make_tile(kind, shape.axes, shape.extents, std::move(out));
}

TileRef select(const std::vector<TileRef>& operands, Budget& budget) {
  const Shape shape = joint_shape(operands);
  Data out = output(shape, budget);
  const Walk walk = walk_of(shape, operands);
  walk.rows([&](std::int64_t at, const std::int64_t* offsets) {
    const double* condition = operands[0]->data->data() + offsets[0];
    const double* then = operands[1]->data->data() + offsets[1];
    const double* otherwise = operands[2]->data->data() + offsets[2];
    for (std::int64_t i = 0; i < walk.length(); ++i) {
      out[static_cast<std::size_t>(at + i)] = condition[i * walk.step(0)] != 0 ? then[i * walk.step(1)] : otherwise[i * walk.step(2)];
    }
  });
  return make_tile(std::max(operands[1]->kind, operands[2]->kind), shape.axes, shape.extents, std::move(out));
}

TileRef draw(const std::vector<TileRef>& operands, Budget& budget) {
  const Shape shape = joint_shape(operands);
  Data out = output(shape, budget);
  Walk walk;
  walk.extents = shape.extents;
  for (const TileRef& operand : operands) walk.strides.push_back(strides_along(*operand, shape.axes));
  std::vector<std::int64_t> arguments(operands.size());
  walk.rows([&](std::int64_t at, const std::int64_t* offsets) {
    for (std::int64_t i = 0; i < walk.length(); ++i) {
      bool exists = true;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const double value = (*operands[k]->data)[static_cast<std::size_t>(offsets[k] + i * walk.step(k))];
        exists = exists && std::fabs(value) <= largest_integer;
        arguments[k] = exists ? static_cast<std::int64_t>(value) : 0;
      }
      const std::span<const std::int64_t> counter(arguments.data() + 1, arguments.size() - 1);
      out[static_cast<std::size_t>(at + i)] = exists ? uniform(philox_of(arguments[0], counter)[0]) : nan;
    }
  });
  return make_tile(Kind::f32, shape.axes, shape.extents, std::move(out));
}

// ---- scalar meanings ----

double floor_quotient(double a, double b) {
  if (!(std::fabs(a) <= largest_integer) || !(std::fabs(b) <= largest_integer) || b == 0) return nan;
  const auto x = static_cast<std::int64_t>(a);
  const auto y = static_cast<std::int64_t>(b);
  const std::int64_t quotient = x / y;
  return static_cast<double>(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
}

double integer_power(double a, double b) {
  double result = 1;
  for (double base = a, left = b; left > 0;) {
    if (std::fmod(left, 2) == 1) result = exact_integer(result * base);
    left = std::floor(left / 2);
    if (left > 0) base = exact_integer(base * base);
    if (std::isnan(result)) return nan;
  }
  return result;
}

double extremum(Op op, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return nan;
  return op == Op::max ? (a < b ? b : a) : (b < a ? b : a);
}

/// Functions of one real number, in double.
double function(Op op, double x) {
  switch (op) {
    case Op::exp:
      return std::exp(x);
    case Op::exp2:
      return std::exp2(x);
    case Op::log:
      return std::log(x);
    case Op::log2:
      return std::log2(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::rsqrt:
      return 1 / std::sqrt(x);
    case Op::sin:
      return std::sin(x);
    case Op::cos:
      return std::cos(x);
    case Op::tanh:
      return std::tanh(x);
    case Op::erf:
      return std::erf(x);
    case Op::sigmoid:
      return 1 / (1 + std::exp(-x));
    default:
      stop("`" + std::string(spelling(op)) + "` has no meaning on tiles");
  }
}

TileRef unary_operation(Op op, const TileRef& a, Budget& budget) {
  const Kind number = std::max(a->kind, Kind::integer);
  switch (op) {
    case Op::neg:
      return map1(number, a, budget, [](double x) { return -x; });
    case Op::abs:
      return map1(number, a, budget, [](double x) { return std::fabs(x); });
    case Op::floor:
      return map1(number, a, budget, [](double x) { return std::floor(x); });
    case Op::logical_not:
      return map1(Kind::boolean, a, budget, [](double x) { return x != 0 ? 0.0 : 1.0; });
    default:
      break;
  }
  if (a->kind == Kind::f64) return map1(Kind::f64, a, budget, [op](double x) { return function(op, x); });
  return map1(Kind::f32, a, budget, [op](double x) { return f32(function(op, f32(x))); });
}

TileRef comparison(Op op, const std::vector<TileRef>& operands, Kind kind, Budget& budget) {
  const auto compare = [&](auto holds) {
    if (kind != Kind::f32) return map2(Kind::boolean, operands, budget, [holds](double a, double b) { return holds(a, b) ? 1.0 : 0.0; });
    return map2(Kind::boolean, operands, budget, [holds](double a, double b) { return holds(f32(a), f32(b)) ? 1.0 : 0.0; });
  };
  switch (op) {
    case Op::eq:
      return compare([](double a, double b) { return a == b; });
    case Op::ne:
      return compare([](double a, double b) { return a != b; });
    case Op::lt:
      return compare([](double a, double b) { return a < b; });
    case Op::le:
      return compare([](double a, double b) { return a <= b; });
    case Op::gt:
      return compare([](double a, double b) { return a > b; });
    default:
      return compare([](double a, double b) { return a >= b; });
  }
}

TileRef integer_operation(Op op, const std::vector<TileRef>& operands, Budget& budget) {
  const auto map = [&](auto f) { return map2(Kind::integer, operands, budget, f); };
  switch (op) {
    case Op::add:
      return map([](double a, double b) { return exact_integer(a + b); });
    case Op::sub:
      return map([](double a, double b) { return exact_integer(a - b); });
    case Op::mul:
      return map([](double a, double b) { return exact_integer(a * b); });
    case Op::floordiv:
      return map(floor_quotient);
    case Op::mod:
      return map([](double a, double b) { return a - floor_quotient(a, b) * b; });
    case Op::pow:
      return map([](double a, double b) { return b < 0 ? nan : integer_power(a, b); });
    default:
      return map([op](double a, double b) { return extremum(op, a, b); });
  }
}

template <class Round>
TileRef real_operation(Op op, Kind kind, const std::vector<TileRef>& operands, Budget& budget, Round r) {
  const auto map = [&](auto f) { return map2(kind, operands, budget, [f, r](double a, double b) { return r(f(r(a), r(b))); }); };
  switch (op) {
    case Op::add:
      return map([](double a, double b) { return a + b; });
    case Op::sub:
      return map([](double a, double b) { return a - b; });
    case Op::mul:
      return map([](double a, double b) { return a * b; });
    case Op::div:
      return map([](double a, double b) { return a / b; });
    case Op::floordiv:
      return map([](double a, double b) { return std::floor(a / b); });
    case Op::mod:
      return map([](double a, double b) { return a - std::floor(a / b) * b; });
    case Op::pow:
      return map([](double a, double b) { return b == 2 ? a * a : std::pow(a, b); });
    default:
      return map([op](double a, double b) { return extremum(op, a, b); });
  }
}

TileRef binary_operation(Op op, const std::vector<TileRef>& operands, Budget& budget) {
  Kind kind = std::max({operands[0]->kind, operands[1]->kind, Kind::integer});
  if (is_comparison(op)) return comparison(op, operands, kind, budget);
  if (op == Op::logical_and) return map2(Kind::boolean, operands, budget, [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
  if (op == Op::logical_or) return map2(Kind::boolean, operands, budget, [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
  if (kind == Kind::integer && op != Op::div) return integer_operation(op, operands, budget);
  kind = std::max(kind, Kind::f32);
  if (kind == Kind::f64) return real_operation(op, kind, operands, budget, [](double x) { return x; });
  return real_operation(op, kind, operands, budget, [](double x) { return f32(x); });
}

}  // namespace

// ---- tiles ----

void stop(std::string reason, std::vector<std::string> nodes, std::string hint) {
  throw Stop{Refusal{std::move(reason), std::move(nodes), std::move(hint)}};
}

void Budget::spend(std::int64_t operations) {
  left_ -= operations;
  if (left_ < 0) stop("the run needs more elementary operations than its limit allows", {}, "run a smaller shape, or raise the limit");
}

Kind kind_of(DType dtype) {
  if (dtype == DType::boolean) return Kind::boolean;
  if (is_integer(dtype)) return Kind::integer;
  return dtype == DType::f64 ? Kind::f64 : Kind::f32;
}

std::int64_t count(const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) {
    if (extent <= 0) return 0;
    if (product > (std::int64_t{1} << 50U) / extent) stop("a tensor or tile has more elements than 2^50");
    product *= extent;
  }
  return product;
}

TileRef make_tile(Kind kind, std::vector<int> axes, std::vector<std::int64_t> extents, Data data) {
  return std::make_shared<const Tile>(Tile{kind, std::move(axes), std::move(extents), std::make_shared<const Data>(std::move(data))});
}

TileRef scalar(Kind kind, double value) { return make_tile(kind, {}, {}, {value}); }

double only_value(const Tile& tile) { return (*tile.data)[0]; }

std::vector<std::int64_t> strides_along(const Tile& tile, const std::vector<int>& axes) {
  std::vector<std::int64_t> strides(axes.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = tile.axes.size(); i-- > 0;) {
    const auto at = std::lower_bound(axes.begin(), axes.end(), tile.axes[i]);
    if (at != axes.end() && *at == tile.axes[i]) strides[static_cast<std::size_t>(at - axes.begin())] = stride;
    stride *= tile.extents[i];
  }
  return strides;
}

Shape joint_shape(const std::vector<TileRef>& operands) {
  Shape shape{operands[0]->axes, operands[0]->extents};
  for (std::size_t k = 1; k < operands.size(); ++k) {
    const Tile& other = *operands[k];
    if (other.axes == shape.axes) continue;
    for (std::size_t i = 0; i < other.axes.size(); ++i) {
      const auto at = std::lower_bound(shape.axes.begin(), shape.axes.end(), other.axes[i]);
      if (at != shape.axes.end() && *at == other.axes[i]) continue;
      shape.extents.insert(shape.extents.begin() + (at - shape.axes.begin()), other.extents[i]);
      shape.axes.insert(at, other.axes[i]);
    }
  }
  return shape;
}

void Walk::rows(const std::function<void(std::int64_t, const std::int64_t*)>& row) const {
  const std::size_t operands = strides.size();
  std::vector<std::int64_t> offsets(operands + 1, 0);
  if (count(extents) == 0) return;
  const std::size_t outer = extents.empty() ? 0 : extents.size() - 1;
  std::vector<std::int64_t> position(outer, 0);
  std::int64_t out = 0;
  while (true) {
    row(out, offsets.data());
    out += length();
    std::size_t axis = outer;
    while (axis-- > 0) {
      for (std::size_t k = 0; k < operands; ++k) offsets[k] += strides[k][axis];
      if (++position[axis] < extents[axis]) break;
      for (std::size_t k = 0; k < operands; ++k) offsets[k] -= strides[k][axis] * extents[axis];
      position[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

TileRef apply(Op op, const std::vector<TileRef>& operands, Budget& budget) {
  if (op == Op::where) return select(operands, budget);
  if (op == Op::random) return draw(operands, budget);
  return operands.size() == 1 ? unary_operation(op, operands[0], budget) : binary_operation(op, operands, budget);
}

TileRef convert(DType dtype, const TileRef& tile, Budget& budget) {
  if (dtype == DType::f32 || dtype == DType::real) return map1(Kind::f32, tile, budget, f32);
  if (dtype == DType::boolean) return map1(Kind::boolean, tile, budget, [](double x) { return x != 0 ? 1.0 : 0.0; });
  return map1(kind_of(dtype), tile, budget, [dtype](double x) { return round_to(dtype, x); });
}

bool any_true(const Tile& tile) {
  return std::any_of(tile.data->begin(), tile.data->end(), [](double x) { return x != 0; });
}

}  // namespace fathom::interp::tiles
