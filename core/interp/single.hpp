// The arithmetic of a run: every operation rounded to f32 (f64 where an operand is f64); literals stay exact until they meet a variable.
#pragma once

#include "interp/column.hpp"
#include "ir/expr.hpp"

namespace fathom::interp {

struct Single {
  using Value = double;
  using Unary = Value (*)(const Single&, Kind, const Value&, std::uint8_t& flags);
  using Binary = Value (*)(const Single&, Kind, const Value&, const Value&, std::uint8_t& flags);

  [[nodiscard]] Value exact(double x) const { return x; }
  [[nodiscard]] double approximate(const Value& x) const { return x; }
  [[nodiscard]] bool is_zero(const Value& x) const { return x == 0; }
  [[nodiscard]] bool is_infinite(const Value& x) const;
  /// A value of a smaller kind as one of kind `to`.
  [[nodiscard]] Value coerce(Kind to, const Value& x) const { return to == Kind::single ? static_cast<double>(static_cast<float>(x)) : x; }
  /// What a cast to the type, or a store in it, leaves.
  [[nodiscard]] Value store(DType type, const Value& x, std::uint8_t& flags) const;
  [[nodiscard]] bool compare(Op op, const Value& a, const Value& b, std::uint8_t& flags) const;
  /// The value of `where` when the condition may be wrong.
  [[nodiscard]] Value either(const Value& taken, const Value& other, std::uint8_t& flags) const;
  [[nodiscard]] Unary unary(Op op) const;
  [[nodiscard]] Binary binary(Op op) const;

  /// A running sum, in order.
  struct Sum {
    double total = 0;
    void add(const Single& domain, Kind kind, double x) { total = domain.coerce(kind, total + x); }
    void add_product(const Single& domain, Kind kind, double a, double b, std::uint8_t&) { add(domain, kind, domain.coerce(kind, a * b)); }
    [[nodiscard]] double value(const Single&, Kind, std::uint8_t&) const { return total; }

    /// Factors of many sums, as the sums take them.
    struct Factors {
      const std::vector<double>* values;
      static Factors of(const Single&, const std::vector<double>& values) { return {&values}; }
    };
    /// As add_product, `count` times: the factors are `step` apart.
    void add_products(const Single&, Kind kind, const Factors& a, Row at_a, const Factors& b, Row at_b, std::int64_t count, std::uint8_t&) {
      const double *x = a.values->data() + at_a.first, *y = b.values->data() + at_b.first;
      if (kind != Kind::single) {
        for (std::int64_t i = 0; i < count; ++i) total += x[i * at_a.step] * y[i * at_b.step];
        return;
      }
      auto sum = static_cast<float>(total);  // adding two floats rounds as adding them in double and rounding that
      for (std::int64_t i = 0; i < count; ++i) sum += static_cast<float>(x[i * at_a.step] * y[i * at_b.step]);
      total = static_cast<double>(sum);
    }
  };
  [[nodiscard]] Sum sum_over(const std::vector<Symbol>&) const { return {}; }
};

}  // namespace fathom::interp
