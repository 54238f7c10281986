// What becomes of one consumer reduction: classic, factored, absorbed, repaired, or refused with its cause (docs/algebra.md).
// Also the parts of its normal form: what is carried, and what stands behind the reduction.
#pragma once

#include <string>
#include <vector>

#include "algebra/algebra.hpp"
#include "algebra/normal_form.hpp"
#include "algebra/separate.hpp"

namespace fathom::algebra {

/// A reduction of the normal form: name = reducer(value), values of lifts of several arguments included.
struct Part {
  Symbol name;
  ReducerRef reducer;
  Symbol result;
  std::vector<Expr> values;
};

struct Derived {
  Fusion fusion;
  std::vector<Part> parts;
  Expr project;  ///< the consumer's value, over symbol(part name) and reads
};

/// A producer as the consumer reads it.
struct Producer {
  Symbol name;
  Expr read;  ///< at the consumer's indices
  bool at_identity = true;
  bool same_set = true;  ///< over the consumer's index set
};

/// Order facts of the extrema that the values read, where they read two of them or more: for an element at one of `axes` that such an
/// extremum runs over, where that is complete. With them one exponential a reference is printed; the sum of two differences has not the
/// digits of either.
void know_references(Normaliser&, const std::vector<Expr>& values, const std::vector<math::Axis>& axes);

/// No factor stands in the term by more than its first power or its inverse: put behind a reduction it leaves the range of numbers as it
/// is.
[[nodiscard]] bool has_first_powers(const Term&);

/// The consumer, ready: names unified, values inlined.
struct Consumer {
  const math::Statement* statement = nullptr;
  std::vector<Expr> values;         ///< inlined
  std::vector<Producer> producers;  ///< that share its loop and its pass
  int pass = 1;
};

[[nodiscard]] std::set<Symbol> indices_over(const math::Reduction&);
/// What each reduction of a program is to a consumer. `passes`: of the reductions before it.
[[nodiscard]] Consumer look_at(const ProgramView&, const math::Statement&, const std::map<Symbol, int>& passes);

/// Refused: the fusion has the refusal, pass + 1, and the parts are those of the classic reduction over complete producers.
[[nodiscard]] Derived derive(const Facts&, const Consumer&);

/// All reductions of the program, in its order.
[[nodiscard]] std::vector<Derived> derive_all(const Facts&);

// ---- for the kinds of consumer; each fills fusion, parts and project, or returns the Refusal ----
[[nodiscard]] Result<Derived> derive_sum(Normaliser&, const Consumer&, std::optional<int>& rank);  ///< `rank`: as found, on refusal too
[[nodiscard]] Result<Derived> derive_extremum(Normaliser&, const Consumer&, Op operation);
[[nodiscard]] Derived derive_classic(const Facts&, const Consumer&);

// ---- shared ----
/// `base`, or base2, base3, … where a statement of the program has that name.
[[nodiscard]] Symbol unused_name(const math::Program&, const std::string& base);
/// `result` where the reduction's range has an element, `identity` where it is empty; only as far as dimensions leave that open.
[[nodiscard]] Expr unless_empty(const math::Reduction&, const math::Program&, Expr result, Expr identity);
/// A factor 1 / l in it, l not known to differ from 0: behind the sum of no elements it is 0 * inf, and the text gives 0.
[[nodiscard]] bool may_divide_by_zero(const Sum& behind, const Facts&);
/// The name of what is carried: the consumer's own where nothing stands behind it, else NAME.sum (a name that ends so keeps it), unused.
/// The part in front of the last dot is the consumer: passes rely on it.
[[nodiscard]] Symbol carried_name(const math::Program&, const math::Statement&, bool is_whole);
[[nodiscard]] std::vector<std::string> folds_of(const Reducer&);
/// Reads of producers as plain names, for the texts of a Fusion.
[[nodiscard]] Expr named(Expr, const Consumer&);
[[nodiscard]] DerivationLine line(std::string_view rule, Expr before, Expr after);
/// `sum[j](value)` as an expression, for derivations.
[[nodiscard]] Expr reduction_expr(const math::Reduction&, Expr value);
/// The first lines of every derivation: the text's own value, and what the normal form made of it.
void begin_derivation(Fusion&, const Consumer&, const Normaliser&, Expr normal);

}  // namespace fathom::algebra
