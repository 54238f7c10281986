#include "interp/single.hpp"

#include <cmath>
#include <limits>

#include "ir/comparison.hpp"

namespace fathom::interp {
namespace {

template <auto function>
double unary_of(const Single& domain, Kind kind, const double& x, std::uint8_t&) {
  return domain.coerce(kind, function(x));
}
template <auto function>
double binary_of(const Single& domain, Kind kind, const double& a, const double& b, std::uint8_t&) {
  return domain.coerce(kind, function(a, b));
}

constexpr auto negate = [](double x) { return -x; };
constexpr auto absolute = [](double x) { return std::fabs(x); };
constexpr auto floor_of = [](double x) { return std::floor(x); };
constexpr auto exp_of = [](double x) { return std::exp(x); };
constexpr auto exp2_of = [](double x) { return std::exp2(x); };
constexpr auto log_of = [](double x) { return std::log(x); };
constexpr auto log2_of = [](double x) { return std::log2(x); };
constexpr auto sqrt_of = [](double x) { return std::sqrt(x); };
constexpr auto rsqrt_of = [](double x) { return 1 / std::sqrt(x); };
constexpr auto sin_of = [](double x) { return std::sin(x); };
constexpr auto cos_of = [](double x) { return std::cos(x); };
constexpr auto tanh_of = [](double x) { return std::tanh(x); };
constexpr auto erf_of = [](double x) { return std::erf(x); };
constexpr auto sigmoid_of = [](double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); };
constexpr auto plus = [](double a, double b) { return a + b; };
constexpr auto minus = [](double a, double b) { return a - b; };
constexpr auto times = [](double a, double b) { return a * b; };
constexpr auto over = [](double a, double b) { return a / b; };
constexpr auto power = [](double a, double b) { return std::pow(a, b); };
constexpr auto floor_over = [](double a, double b) { return std::floor(a / b); };
constexpr auto modulo = [](double a, double b) { return a - b * std::floor(a / b); };
constexpr auto smaller = [](double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a; };
constexpr auto larger = [](double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a; };

}  // namespace

bool Single::is_infinite(const Value& x) const { return std::isinf(x); }

double Single::store(DType type, const Value& x, std::uint8_t&) const { return round_to(type, x); }

bool Single::compare(Op op, const Value& a, const Value& b, std::uint8_t&) const { return holds(op, a, b); }

double Single::either(const Value& taken, const Value&, std::uint8_t&) const { return taken; }

Single::Unary Single::unary(Op op) const {
  switch (op) {
    case Op::neg:
      return unary_of<negate>;
    case Op::abs:
      return unary_of<absolute>;
    case Op::floor:
      return unary_of<floor_of>;
    case Op::exp:
      return unary_of<exp_of>;
    case Op::exp2:
      return unary_of<exp2_of>;
    case Op::log:
      return unary_of<log_of>;
    case Op::log2:
      return unary_of<log2_of>;
    case Op::sqrt:
      return unary_of<sqrt_of>;
    case Op::rsqrt:
      return unary_of<rsqrt_of>;
    case Op::sin:
      return unary_of<sin_of>;
    case Op::cos:
      return unary_of<cos_of>;
    case Op::tanh:
      return unary_of<tanh_of>;
    case Op::erf:
      return unary_of<erf_of>;
    case Op::sigmoid:
      return unary_of<sigmoid_of>;
    default:
      return nullptr;
  }
}

Single::Binary Single::binary(Op op) const {
  switch (op) {
    case Op::add:
      return binary_of<plus>;
    case Op::sub:
      return binary_of<minus>;
    case Op::mul:
      return binary_of<times>;
    case Op::div:
      return binary_of<over>;
    case Op::pow:
      return binary_of<power>;
    case Op::floordiv:
      return binary_of<floor_over>;
    case Op::mod:
      return binary_of<modulo>;
    case Op::min:
      return binary_of<smaller>;
    case Op::max:
      return binary_of<larger>;
    default:
      return nullptr;
  }
}

}  // namespace fathom::interp
