// The arithmetic of the reference: a wide value and a running bound on what a plan in f32 (f64) may differ from it (DESIGN 6).
// Invariant: `error` >= 0, and 0 where the value is not finite. An operation on exact operands whose result the plan's type holds exactly
// adds nothing, so that small integers are compared bit for bit.
#pragma once

#include "interp/column.hpp"
#include "interp/interp.hpp"
#include "interp/wide.hpp"
#include "ir/expr.hpp"

namespace fathom::interp {

struct Approx {
  Wide value;
  Wide error;
};

struct Bounding {
  using Value = Approx;
  using Unary = Value (*)(const Bounding&, Kind, const Value&, std::uint8_t& flags);
  using Binary = Value (*)(const Bounding&, Kind, const Value&, const Value&, std::uint8_t& flags);

  BoundOptions options;

  [[nodiscard]] Value exact(double x) const { return {Wide(x), Wide()}; }
  [[nodiscard]] double approximate(const Value& x) const { return x.value.to_double(); }
  [[nodiscard]] bool is_zero(const Value& x) const { return x.value.is_zero(); }
  [[nodiscard]] bool is_infinite(const Value& x) const { return x.value.is_infinite(); }
  [[nodiscard]] Value coerce(Kind to, const Value& x) const;
  [[nodiscard]] Value store(DType type, const Value& x, std::uint8_t& flags) const;
  [[nodiscard]] bool compare(Op op, const Value& a, const Value& b, std::uint8_t& flags) const;
  [[nodiscard]] Value either(const Value& taken, const Value& other, std::uint8_t& flags) const;
  [[nodiscard]] Unary unary(Op op) const;
  [[nodiscard]] Binary binary(Op op) const;

  /// A sum of n terms over a tree of the plan's depth d: errors of the terms, and d roundings of the sum of magnitudes.
  struct Sum {
    Wide total, magnitude, error;
    std::int64_t terms = 0;
    std::int64_t lowest = std::int64_t{1} << 62;  ///< lowest bit of any term
    void add(const Bounding&, Kind, const Approx& x);
    [[nodiscard]] Approx value(const Bounding&, Kind) const;
  };
};

}  // namespace fathom::interp
