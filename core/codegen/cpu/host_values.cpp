// A small evaluator in double: launch conditions mix dimensions, scalars and alignments.
#include "codegen/cpu/host_values.hpp"

#include <cmath>

namespace fathom::cpu {
namespace {

std::optional<double> binary_value(Op op, double x, double y) {
  switch (op) {
    case Op::add:
      return x + y;
    case Op::sub:
      return x - y;
    case Op::mul:
      return x * y;
    case Op::div:
      return y == 0 ? std::optional<double>() : x / y;
    case Op::floordiv:
      return y == 0 ? std::optional<double>() : std::floor(x / y);
    case Op::mod:
      return y == 0 ? std::optional<double>() : x - y * std::floor(x / y);
    case Op::pow:
      return std::pow(x, y);
    case Op::eq:
      return x == y ? 1 : 0;
    case Op::ne:
      return x != y ? 1 : 0;
    case Op::lt:
      return x < y ? 1 : 0;
    case Op::le:
      return x <= y ? 1 : 0;
    case Op::gt:
      return x > y ? 1 : 0;
    case Op::ge:
      return x >= y ? 1 : 0;
    case Op::logical_and:
      return x != 0 && y != 0 ? 1 : 0;
    case Op::logical_or:
      return x != 0 || y != 0 ? 1 : 0;
    case Op::min:
      return std::fmin(x, y);
    case Op::max:
      return std::fmax(x, y);
    default:
      return std::nullopt;
  }
}

std::optional<double> unary_value(Op op, double x) {
  switch (op) {
    case Op::neg:
      return -x;
    case Op::logical_not:
      return x == 0 ? 1 : 0;
    case Op::abs:
      return std::fabs(x);
    case Op::floor:
      return std::floor(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::cast:
      return x;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<double> evaluate(Expr e, const HostValues& values) {
  switch (e.op()) {
    case Op::number:
      return e.node().inexact != 0 ? e.node().inexact : e.node().number.to_double();
    case Op::infinity:
      return HUGE_VAL;
    case Op::boolean:
      return e.node().truth ? 1 : 0;
    case Op::index:
    case Op::dim:
    case Op::symbol:
    case Op::read: {
      const auto found = values.find(e.name());
      return e.args().empty() && found != values.end() ? std::optional(found->second) : std::nullopt;
    }
    case Op::where: {
      const auto condition = evaluate(e.arg(0), values);
      return condition ? evaluate(e.arg(*condition != 0 ? 1 : 2), values) : condition;
    }
    default:
      break;
  }
  if (e.args().empty() || e.is(Op::reduce) || e.is(Op::call)) return std::nullopt;
  std::optional<double> result = evaluate(e.arg(0), values);
  if (e.args().size() == 1) return result ? unary_value(e.op(), *result) : result;
  for (std::size_t i = 1; result && i < e.args().size(); ++i) {
    const auto right = evaluate(e.arg(i), values);
    result = right ? binary_value(e.op(), *result, *right) : right;
  }
  return result;
}

std::optional<std::int64_t> evaluate_whole(Expr e, const HostValues& values) {
  const auto value = evaluate(e, values);
  if (!value || !(std::fabs(*value) <= 9007199254740992.0) || std::floor(*value) != *value) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

}  // namespace fathom::cpu
