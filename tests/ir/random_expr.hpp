// Random expressions for property tests. Shrinking is not needed: sizes are small and the seed is fixed.
#pragma once

#include <random>

#include "ir/expr.hpp"

namespace fathom::testing {

/// Expressions of any kind, with every operation of the notation.
class RandomExpr {
 public:
  explicit RandomExpr(std::uint64_t seed) : random_(seed) {}

  Expr any(int depth) {
    if (depth == 0 || one_in(6)) return leaf();
    switch (pick(12)) {
      case 0:
        return unary(Op::neg, any(depth - 1));
      case 1:
        return unary(Op::logical_not, any(depth - 1));
      case 2:
        return function(depth);
      case 3:
        return read(name("qkv"), args(depth, 1 + pick(3)));
      case 4:
        return cast(static_cast<DType>(1 + pick(10)), any(depth - 1));
      case 5:
        return call(name("fg"), pick(2) == 0 ? std::vector<Symbol>{} : std::vector<Symbol>{name("ij")}, args(depth, 1 + pick(2)));
      case 6: {
        std::vector<Bound> bounds = {{name("ijk"), Expr(), Expr()}};
        if (one_in(2)) bounds.push_back({Symbol("l"), any(depth - 1), any(depth - 1)});
        return reduce(Symbol("sum"), one_in(3) ? Symbol("value") : Symbol(), bounds, args(depth, 1));
      }
      case 7:
        return tuple({any(depth - 1), any(depth - 1)});
      default:
        return binary(infix(), any(depth - 1), any(depth - 1));
    }
  }

  /// Integer expressions over i, j, N, M with small values, division by anything included.
  Expr integer(int depth) {
    if (depth == 0 || one_in(6)) return integer_leaf();
    static constexpr Op ops[] = {Op::add, Op::add, Op::sub, Op::sub, Op::mul, Op::mul, Op::floordiv, Op::mod, Op::min, Op::max};
    switch (pick(14)) {
      case 0:
        return -integer(depth - 1);
      case 1:
        return where(condition(depth - 1), integer(depth - 1), integer(depth - 1));
      case 2:
        return unary(Op::abs, integer(depth - 1));
      case 3:
        return binary(one_in(2) ? Op::floordiv : Op::mod, integer(depth - 1), number(1 + pick(8)));
      default:
        return binary(ops[pick(10)], integer(depth - 1), integer(depth - 1));
    }
  }

  Expr condition(int depth) {
    static constexpr Op comparisons[] = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
    if (depth <= 0 || !one_in(3)) return binary(comparisons[pick(6)], integer(depth), integer(depth));
    if (one_in(4)) return boolean(one_in(2));
    if (one_in(3)) return unary(Op::logical_not, condition(depth - 1));
    return binary(one_in(2) ? Op::logical_and : Op::logical_or, condition(depth - 1), condition(depth - 1));
  }

  DimValues values() {
    DimValues result;
    for (const char* each : {"i", "j", "N", "M"}) result[Symbol(each)] = pick(30) - 6;
    return result;
  }

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool one_in(int count) { return pick(count) == 0; }

 private:
  Symbol name(const char* letters) { return Symbol(std::string(1, letters[pick(static_cast<int>(std::string(letters).size()))])); }

  std::vector<Expr> args(int depth, int count) {
    std::vector<Expr> result;
    for (int i = 0; i < count; ++i) result.push_back(any(depth - 1));
    return result;
  }

  Op infix() {
    const int first = static_cast<int>(Op::add);
    return static_cast<Op>(first + pick(static_cast<int>(Op::logical_or) - first + 1));
  }

  Expr function(int depth) {
    const int first = static_cast<int>(Op::where);
    const auto op = static_cast<Op>(first + pick(static_cast<int>(Op::random) - first + 1));
    const int count = op == Op::where ? 3 : op == Op::min || op == Op::max || op == Op::random ? 2 : 1;
    return make(op, args(depth, count));
  }

  Expr leaf() {
    switch (pick(9)) {
      case 0:
        return number(pick(20));
      case 1:
        return number(-pick(20));
      case 2:
        return number(*Rational::make(pick(1000) - 500, 1 << pick(12)));
      case 3:
        return inexact_number(one_in(2) ? 1e-39 : -2.5e300);
      case 4:
        return infinity();
      case 5:
        return boolean(one_in(2));
      case 6:
        return dim(name("NM"));
      case 7:
        return symbol(name("ab"));
      default:
        return index(name("ij"));
    }
  }

  Expr integer_leaf() {
    switch (pick(5)) {
      case 0:
        return number(pick(12) - 3);
      case 1:
        return number(1 << pick(6));
      case 2:
        return dim(name("NM"));
      default:
        return index(name("ij"));
    }
  }

  std::mt19937_64 random_;
};

}  // namespace fathom::testing
