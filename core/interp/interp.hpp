// Reference semantics: runs every level on whole arrays, reports what it does to an observer.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ir/record.hpp"

namespace fathom::interp {

/// A dense array, row major. Values are doubles that the dtype can hold exactly (i64 up to 2^53; larger ones are refused at input).
struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(data.size()); }
};
using Arrays = std::map<Symbol, Array>;

/// One event: a part of a tensor got values. `box` is lo, hi for each axis in elements of the whole tensor; `trip` names the loops around
/// it and their trip numbers; for a reduction the values are its running state after this trip.
struct Event {
  Symbol tensor;
  std::vector<std::pair<std::int64_t, std::int64_t>> box;
  std::vector<std::pair<Symbol, std::int64_t>> trip;
  bool partial = false;  ///< a running state, not yet the result
  const std::vector<double>* values = nullptr;
};
using Observer = std::function<void(const Event&)>;

/// What one group of a role did, or that it waits, in one round of a watched run: then the groups of a workgroup make one operation each
/// in turn. Rounds are the clock; an operation takes one, whatever it is.
struct Operation {
  const kernel::Statement* statement = nullptr;  ///< of the module that runs; no loop, condition or `let`
  Symbol kernel, role;
  int group = 0;
  std::int64_t workgroup = 0;  ///< in the order in which they begin
  std::int64_t round = 0;
  bool waits = false;                ///< it is not made yet
  std::size_t ring = 0;              ///< of a channel: which of its rings
  std::int64_t item = 0;             ///< of a ring: which of all that pass through it
  std::vector<std::int64_t> tokens;  ///< copies and products that it issues, waits for, or hands on
};
/// False ends the run with a Refusal.
using Watcher = std::function<bool(const Operation&)>;

struct RunOptions {
  DimValues dims;                         ///< values of all dimensions (run-time ones included)
  Observer observer;                      ///< may be empty
  Watcher watcher;                        ///< of kernels with roles; may be empty
  std::int64_t work_limit = 200'000'000;  ///< elementary operations; beyond it a Refusal, never a hang
  std::uint64_t seed = 0;                 ///< of the interleaving of roles
  bool poison = true;                     ///< NaN in and around every buffer before it is written
};

/// Runs IR of any level in the precision that it states (intermediates in f32, stores rounded to their dtype, sums in the plan's order).
[[nodiscard]] Result<Arrays> run(const Ir&, const Arrays& inputs, const RunOptions&);

// ---- the wide reference (docs/checks.md) ----
/// Value with a 53-bit mantissa and a 64-bit exponent, and a running bound on the error that a plan may make.
struct Bounded {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> first;  ///< position of the first element in the whole result: 0 but for chosen rows
  std::vector<double> value;        ///< rounded to double at the end (0 or inf where double cannot hold it)
  std::vector<double> bound;        ///< absolute; infinite where any outcome must be accepted (at a discontinuity, past the type's range)
  std::vector<bool> undetermined;   ///< near a discontinuity, or the bound is above the value and not small against its row (the last axis)
};
struct BoundOptions {
  bool structured_data = false;         ///< d*u instead of min(5 sqrt(d)*u, d*u)
  std::int64_t summation_depth = 0;     ///< of the plan's own tree; 0: the length of the sum
  std::int64_t moves = 0;               ///< how often a repair may rescale an accumulator: each adds 4 to the depth of sums that are longer
  bool truncating_matrix_unit = false;  ///< u doubled
  /// Index of a result -> half-open range: only these elements are evaluated, and only what they need. For rows of large shapes.
  std::map<Symbol, std::pair<std::int64_t, std::int64_t>> rows;
  std::set<Symbol> results;  ///< only these; empty: all
  /// Sums over `index` in a statement of the text, of products of which a plan rounds one factor to a narrower type.
  struct Narrowed {
    Symbol statement, index;
    DType dtype = DType::f32;
  };
  std::vector<Narrowed> narrowed;
};
/// Elements of which the bound is small against `size` are determined, also where they are 0 and it exceeds them: nothing that counts can
/// hide in it.
void determine_small_elements(Bounded&, double size);
/// Evaluated from the Math program as written.
[[nodiscard]] Result<std::map<Symbol, Bounded>> reference(const math::Program&, const Arrays& inputs, const DimValues&,
                                                          const BoundOptions&);

/// The reference for many parts of large shapes: the inputs are read and judged once. Program and inputs must outlive it.
class References {
 public:
  [[nodiscard]] static Result<References> of(const math::Program&, const Arrays& inputs, const DimValues&);
  struct Part {
    std::map<Symbol, Bounded> results;
    std::int64_t work = 0;  ///< operations on one element each
  };
  [[nodiscard]] Result<Part> at(const BoundOptions&) const;

 private:
  struct Loaded;
  std::shared_ptr<const Loaded> loaded_;
};

// ---- data ----
/// The families of docs/checks.md. Deterministic (Philox).
[[nodiscard]] std::vector<std::string> data_families();
[[nodiscard]] bool is_structured(std::string_view family);
/// Rounding errors of different elements have nothing to do with each other: their mean square says something.
[[nodiscard]] bool has_independent_errors(std::string_view family);
/// Whether the family masks whole tiles: what a plan does with those depends on where its tiles and parts end.
[[nodiscard]] bool masks_tiles(std::string_view family);
/// Whether the family holds +inf or NaN that no mask removes. Where the text gives them no meaning, the reference says "undetermined".
[[nodiscard]] bool holds_special_values(std::string_view family);
/// Inputs for every parameter; index-valued ones stay in range. `edges`: positions that matter (tile borders) for one-hot families.
[[nodiscard]] Arrays make_inputs(const math::Program&, const DimValues&, std::string_view family, std::uint64_t seed,
                                 const std::vector<std::int64_t>& edges = {});

/// What the program does with a parameter, as far as inputs must know.
struct InputUse {
  bool positive = false;     ///< operand of log, sqrt or rsqrt
  std::int64_t largest = 7;  ///< integers: the largest value that keeps subscripts and ranges inside
};
[[nodiscard]] InputUse use_of(const math::Program&, const DimValues&, Symbol parameter);

/// The families for every float parameter in turn: "descending@k" puts the pattern on k. All of them are names that make_inputs takes.
[[nodiscard]] std::vector<std::string> data_families(const math::Program&);

/// More than 2 % of the elements are undetermined: a check of them is inconclusive.
[[nodiscard]] bool says_too_little(std::int64_t undetermined, std::int64_t elements);
/// The same of one case, which may be small: two elements may be open always, for 2 % of 36 elements is none.
[[nodiscard]] bool case_says_too_little(std::int64_t undetermined, std::int64_t elements);

/// How far an error reaches towards its bound; infinite where nothing is allowed.
[[nodiscard]] double share_of_bound(double error, double bound);

/// The error nearest to (or furthest over) its bound among many.
struct Worst {
  double error = 0, bound = 0;
  bool any = false;
  /// True if it is the worst so far.
  bool add(double error, double bound);
};

/// Root of the mean square error over the elements that are determined; 0 where there are none.
[[nodiscard]] double rms_error(const Array& actual, const Bounded& expected);

/// `rms_unfused`: rms_error of the program as written in the same precision; negative: not measured. It counts from 64 determined elements
/// on. NaN against a number, the sign of infinity, dtype and shape count as differences; returns the case's status, max error and bound.
[[nodiscard]] CheckCase compare(const Array& actual, const Bounded& expected, DType dtype, double rms_unfused);

}  // namespace fathom::interp
