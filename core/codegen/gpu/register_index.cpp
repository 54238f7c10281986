#include "codegen/gpu/register_index.hpp"

namespace fathom::gpu {
namespace {

Expr part_of(Expr count, std::int64_t below, std::int64_t range, std::int64_t scale) {
  Expr e = below > 1 ? binary(Op::floordiv, count, number(below)) : count;
  if (range > 0) e = binary(Op::mod, e, number(range));
  return scale > 1 ? e * number(scale) : e;
}

Expr plus(Expr a, Expr b) {
  if (!a || a == number(0)) return b;
  if (b == number(0)) return a;
  return constant_integer(a) && constant_integer(b) ? simplify_integer(a + b) : a + b;
}

Expr times(Expr e, std::int64_t by) {
  if (by == 1 || e == number(0)) return e;
  return simplify_integer(e * number(by));
}

}  // namespace

Expr RegisterDigit::value() const { return count ? plus(part_of(count, below, range, scale), shift) : shift; }

RegisterDigit RegisterDigit::shifted(Expr more) const {
  RegisterDigit made = *this;
  made.shift = simplify_integer(shift + more);
  return made;
}

RegisterDigit RegisterDigit::halved() const {
  RegisterDigit made = *this;
  made.extent = extent / 2;
  if (!count || scale % 2 == 0) {
    made.scale = count ? scale / 2 : scale;
    made.shift = simplify_integer(binary(Op::floordiv, shift, number(2)));
  } else if (scale == 1 && shift == number(0) && range % 2 == 0) {
    made.below = below * 2;
    made.range = range / 2;
    if (range == 2) made = {{}, 1, 0, 1, number(0), stride, extent / 2};
  } else {
    made = {{}, 1, 0, 1, binary(Op::floordiv, value(), number(2)), stride, extent / 2};
  }
  return made;
}

Expr register_index(const std::vector<RegisterDigit>& digits) {
  struct Term {
    Expr count;
    std::int64_t below, range, scale;
  };
  std::vector<Term> terms;  // fastest first
  Expr shift = number(0);
  std::int64_t registers = 1;
  for (std::size_t i = digits.size(); i-- > 0;) {
    const RegisterDigit& d = digits[i];
    if (d.shift != number(0)) shift = plus(times(d.shift, registers), shift);
    if (d.count) {
      const Term own{d.count, d.below, d.range, d.scale * registers};
      Term* faster = terms.empty() ? nullptr : &terms.back();
      const bool goes_on = faster != nullptr && faster->count == own.count && faster->range > 0 &&
                           own.below == faster->below * faster->range && own.scale == faster->scale * faster->range;
      if (goes_on) {
        faster->range = own.range > 0 ? own.range * faster->range : 0;
      } else {
        terms.push_back(own);
      }
    }
    registers *= d.extent;
  }
  Expr sum;
  for (std::size_t i = terms.size(); i-- > 0;) sum = plus(sum, part_of(terms[i].count, terms[i].below, terms[i].range, terms[i].scale));
  return plus(sum, shift);
}

}  // namespace fathom::gpu
