// The arithmetic of the reference: a wide value and a running bound on what a plan in f32 (f64) may differ from it (docs/checks.md).
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
  /// Of a product: by how many powers of two the factors above 1 exceed it (the value's own, if that is above 1). A plan may multiply in
  /// any order, and put a factor behind a sum: what underflows on the way is multiplied by all that is left.
  std::int32_t spread = 0;
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
  /// Kept in doubles as long as every term is far from their limits: the same bits as in Wides, several times faster.
  class Sum {
   public:
    void add(const Bounding&, Kind, const Approx& x);
    /// Adds a * b, rounded once; what is open about it is added to `flags`.
    void add_product(const Bounding&, Kind, const Approx& a, const Approx& b, std::uint8_t& flags);
    /// Infinities of both signs: the text gives NaN, a plan that divides behind the sum an infinity. That is added to `flags`.
    [[nodiscard]] Approx value(const Bounding&, Kind, std::uint8_t& flags) const;

    /// Factors of many sums, and as doubles: x is NaN where one is not far from the limits of doubles. Without `error`: 0 throughout.
    struct Factors {
      const std::vector<Approx>* values;
      std::vector<double> x, error;
      bool are_exact = true;
      static Factors of(const Bounding&, const std::vector<Approx>& values);
    };
    /// As add_product, `count` times: the factors are `step` apart.
    void add_products(const Bounding&, Kind, const Factors& a, Row at_a, const Factors& b, Row at_b, std::int64_t count,
                      std::uint8_t& flags);

   private:
    friend struct Bounding;
    static bool is_plain(const Approx&);
    void add_double(double x, double error);
    template <bool exact>
    std::int64_t add_double_products(double rounding, bool in_double, const Factors& a, Row at_a, const Factors& b, Row at_b,
                                     std::int64_t count);
    void widen();
    double total_ = 0, magnitude_ = 0, error_ = 0;
    Wide wide_total_, wide_magnitude_, wide_error_;
    bool is_wide_ = false;
    bool has_nan_ = false;  ///< among its terms
    std::int64_t terms_ = 0;
    std::int64_t lowest_ = std::int64_t{1} << 62;  ///< lowest bit of any term
    double factor_share_ = 0,
           factor_quantum_ = 0;  ///< what rounding one factor of each product changes: of itself, or below all normal numbers
  };
  /// A sum over these indices, in the statement that is evaluated.
  [[nodiscard]] Sum sum_over(const std::vector<Symbol>& indices) const;
  Symbol statement;  ///< that is evaluated: sums of some have narrowed operands
};

}  // namespace fathom::interp
