#include "session/binding_strength.hpp"

namespace fathom::session::typeset {
namespace {

constexpr std::uint32_t legible_exponent_depth = 4;

}  // namespace

Strength strength(Expr e) {
  switch (e.op()) {
    case Op::logical_or:
    case Op::logical_and:
      return logical;
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return comparison;
    case Op::add:
    case Op::sub:
      return additive;
    case Op::mul:
    case Op::mod:
    case Op::reduce:
      return multiplicative;
    case Op::neg:
    case Op::logical_not:
      return prefix;
    default:
      return tight;
  }
}

bool is_raised(Expr e) { return e.is(Op::exp) && e.arg(0).node().depth <= legible_exponent_depth; }

}  // namespace fathom::session::typeset
