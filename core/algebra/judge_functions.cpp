// Series after exact range reduction; floor, frexp and ldexp are exact everywhere.
#include "algebra/judge_functions.hpp"

#include <cmath>
#include <limits>

namespace fathom::algebra {

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double ln2_high = 0x1.62e42fee00000p-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;
constexpr double pi = 3.14159265358979323846;

double exponential(double x) {
  if (std::isnan(x)) return nan;
  if (x > 710) return inf;
  if (x < -746) return 0;
  const double k = std::floor(x / (ln2_high + ln2_low) + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;
  double sum = 1;
  for (int i = 16; i > 0; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, static_cast<int>(k));
}

double logarithm(double x) {
  if (std::isnan(x) || x < 0) return nan;
  if (x == 0) return -inf;
  if (std::isinf(x)) return inf;
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < 0.70710678) {
    m *= 2;
    --e;
  }
  const double t = (m - 1) / (m + 1);
  double sum = 0;
  for (int i = 27; i > 0; i -= 2) sum = sum * t * t + 1.0 / i;
  return 2 * t * sum + e * ln2_low + e * ln2_high;
}

/// Both by the series of the sine: cos(x) = sin(x + pi/2).
double sine(double x) {
  if (!std::isfinite(x)) return nan;
  const double y = x - 2 * pi * std::floor(x / (2 * pi) + 0.5);
  double sum = 0;
  double term = y;
  for (int i = 1; i < 40; i += 2) {
    sum += term;
    term *= -y * y / ((i + 1) * (i + 2));
  }
  return sum;
}

double hyperbolic_tangent(double x) {
  if (x > 20 || x < -20) return x > 0 ? 1 : -1;
  const double e = exponential(2 * x);
  return (e - 1) / (e + 1);
}

double error_function(double x) {
  if (std::isnan(x)) return nan;
  if (x > 6 || x < -6) return x > 0 ? 1 : -1;
  double sum = 0;
  double term = x;
  for (int n = 0; n < 150; ++n) {
    sum += term;
    term *= 2 * x * x / (2 * n + 3);
  }
  return 2 / std::sqrt(pi) * exponential(-x * x) * sum;
}

double power(double base, double exponent) {
  if (std::isnan(base) || std::isnan(exponent)) return nan;
  if (exponent == 0.5) return std::sqrt(base);
  if (std::floor(exponent) == exponent && std::fabs(exponent) <= 64) {
    double result = 1;
    for (int i = static_cast<int>(std::fabs(exponent)); i > 0; --i) result *= base;
    return exponent < 0 ? 1 / result : result;
  }
  return base == 0 ? (exponent > 0 ? 0 : inf) : exponential(exponent * logarithm(base));
}

double truth(bool b) { return b ? 1 : 0; }

double of_one(Op op, double x) {
  switch (op) {
    case Op::neg:
      return -x;
    case Op::logical_not:
      return truth(x == 0);
    case Op::abs:
      return std::fabs(x);
    case Op::floor:
      return std::floor(x);
    case Op::exp:
      return exponential(x);
    case Op::exp2:
      return exponential(x * (ln2_high + ln2_low));
    case Op::log:
      return logarithm(x);
    case Op::log2:
      return logarithm(x) / (ln2_high + ln2_low);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::rsqrt:
      return 1 / std::sqrt(x);
    case Op::sin:
      return sine(x);
    case Op::cos:
      return sine(x + pi / 2);
    case Op::tanh:
      return hyperbolic_tangent(x);
    case Op::erf:
      return error_function(x);
    case Op::sigmoid:
      return 1 / (1 + exponential(-x));
    default:
      return nan;
  }
}

double of_two(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::floordiv:
      return std::floor(a / b);
    case Op::mod:
      return a - b * std::floor(a / b);
    case Op::pow:
      return power(a, b);
    case Op::eq:
      return truth(a == b);
    case Op::ne:
      return truth(a != b);
    case Op::lt:
      return truth(a < b);
    case Op::le:
      return truth(a <= b);
    case Op::gt:
      return truth(a > b);
    case Op::ge:
      return truth(a >= b);
    case Op::logical_and:
      return truth(a != 0 && b != 0);
    case Op::logical_or:
      return truth(a != 0 || b != 0);
    case Op::min:
      return std::isnan(a) || std::isnan(b) ? nan : b < a ? b : a;
    case Op::max:
      return std::isnan(a) || std::isnan(b) ? nan : a < b ? b : a;
    default:
      return nan;
  }
}

}  // namespace

double value_of(Op op, std::span<const double> args) {
  if (args.size() == 1) return of_one(op, args[0]);
  return args.size() == 2 ? of_two(op, args[0], args[1]) : nan;
}

double in_single_range(double x) {
  if (std::isnan(x)) return x;
  if (std::fabs(x) > 3.4028235677973366e38) return x > 0 ? inf : -inf;
  return std::fabs(x) < 0x1p-149 ? 0 : x;
}

}  // namespace fathom::algebra
