// The stage: any program compiled a second time for the machine to watch (`target blackboard`), one of its steps run with an observer, and
// what the observer saw as frames that can be played forward and back. Nothing here is drawn from a script: every number is an event's.
//
// Worked example, the sample attention after `o.sum/j/fuse` (8 queries, 8 keys, tiles of 4 x 2): the plane is i x j, for c[b,h,i,j] is the
// largest intermediate that a reduction (p.m, over j) reads. Frame 0 has trip (b 0, h 0, i 0): p.m, p.sum and o.sum start at -inf, 0 and 0.
// Frame 1 has trip (b 0, h 0, i 0, j 0): rows 0..4, columns 0..2, writes s.sum, c, p.m, p.e, p.sum, o.sum; p.m is partial, its values are
// the running maxima of the rows after those two keys, and its error is taken against `p.m = max[j](c)` with j limited to 0..2.
// The tile of rows 0..4 and columns 4..6 is skipped: no event of the run ever touches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interp/interp.hpp"
#include "session/session.hpp"

namespace fathom::session::stage {

using Compiled = std::shared_ptr<const Compilation>;

// ---- the small program ----
/// The same source, operator and choices on `target blackboard`, at the smallest sizes at which the program is defined and compiles: rows
/// and reduced indices of a few tiles, what is contracted short, batches of one. Tile sizes larger than a tile here are left out. Refused
/// where no size that a person can watch compiles: the reason is the compiler's.
[[nodiscard]] Result<Compiled> on_blackboard(const Compilation& document);
/// The step of the small program that stands for a step of the document's: the same id, else that of the nearest step before.
[[nodiscard]] std::size_t step_on_blackboard(const Compilation& document, std::size_t step, const Compilation& blackboard);

// ---- what the run did ----
/// Elements lo … hi - 1 of an index.
struct IndexRange {
  Symbol index;
  std::int64_t lo = 0, hi = 0;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// A part of a tensor got values.
struct Write {
  std::string tensor;            ///< as the step's program names it
  std::string statement;         ///< of the Math program that it stands for; empty: a tile of an argument, a helper
  std::vector<IndexRange> axes;  ///< of the values, outermost first, in elements of the whole tensor
  std::vector<double> values;    ///< row major
  std::vector<double> before;    ///< what stood there; empty: nothing did
  bool partial = false;          ///< a running state
  bool starts = false;           ///< the state of an empty prefix
  std::vector<bool> lanes;       ///< of each axis: partial sums that are added later lie along it
};

/// The largest error of what a frame wrote of a running state or a result.
struct StateError {
  std::string tensor;
  double error = 0;      ///< infinite where one is no number and the other is
  double bound = 0;      ///< that rounding may reach
  double reference = 0;  ///< at the element with the error
  bool exceeds = false;
};

/// What moved an old state to its new reference: the derived move, evaluated on the references as they were observed. One a row of the
/// gauge.
struct StateRepair {
  std::string tensor;
  bool is_shift = false;         ///< added instead of multiplied
  std::vector<IndexRange> axes;  ///< of the factors
  std::vector<double> factors;
};

/// A trip of the innermost loops, or what stands between two of them. At the Math level a statement.
struct Frame {
  std::vector<std::pair<Symbol, std::int64_t>> trip;
  std::size_t first_write = 0, writes = 0;
  std::optional<IndexRange> rows, columns;  ///< of the plane, that it is about
  std::size_t pass = 0;                     ///< which time it is that these tiles are visited
  std::vector<StateError> errors;
  std::vector<StateRepair> repairs;
  double largest_error() const;
  [[nodiscard]] bool exceeds() const;
};

// ---- the plane ----
enum class TileKind : std::uint8_t {
  open,    ///< everything in it counts
  mixed,   ///< the program's mask lets a part through
  masked,  ///< nothing in it counts, and it is visited all the same
  skipped  ///< no event touches it
};
enum class TileProgress : std::uint8_t { not_yet, now, done };

/// Row index x reduction index of the largest intermediate that a reduction reads (of an argument where there is none), in tiles of the
/// plan. Kinds: what is skipped is seen in the run. The mask is the program's own: conditions of `where` with an infinite branch, else with
/// a zero one, in statements over both indices, evaluated at every element; a condition on values that are no whole numbers of arguments
/// counts as open.
struct Plane {
  std::optional<Symbol> row;  ///< absent: a program without rows
  Symbol column;
  std::int64_t rows = 1, columns = 1;  ///< elements
  std::int64_t tile_rows = 1, tile_columns = 1;
  std::string tensor;           ///< the intermediate or argument
  std::vector<TileKind> kinds;  ///< row major
  [[nodiscard]] std::size_t down() const { return static_cast<std::size_t>((rows + tile_rows - 1) / tile_rows); }
  [[nodiscard]] std::size_t across() const { return static_cast<std::size_t>((columns + tile_columns - 1) / tile_columns); }
};

/// Bytes of what has been written and is kept, by place.
struct Bytes {
  double memory = 0, on_chip = 0, registers = 0;
};

// ---- being wrong on purpose ----
/// A part of the plan that can be left out. Only those are offered of which the broken program compiles, runs, and gives
/// other results on some family of data.
struct Break {
  std::string id;      ///< "repair:o.sum", "guard", "max:p.m"
  std::string title;   ///< "no repair of o.sum"
  std::string says;    ///< a sentence: what is left out and what to look for
  std::string family;  ///< data on which a result shows it
};
[[nodiscard]] std::vector<Break> breaks_of(const Compilation& blackboard, std::size_t step);

struct Options {
  std::string family = "gaussian";
  std::uint64_t seed = 1;
  std::vector<std::string> breaks;  ///< ids
};

struct Stage {
  Compiled compilation;  ///< of what ran; unsound where something is broken
  std::size_t step = 0;
  Ir ir;  ///< what ran: the step's program, or that without its guards
  Options options;
  bool unsound = false;
  std::string unsound_from;  ///< id of the later step in which a refuted repair of the plan begins to act; empty: here, or none does
  std::vector<Write> writes;
  std::vector<Frame> frames;
  std::optional<Plane> plane;
  std::string cut;                           ///< why the last frames are not here; empty: all are
  std::vector<std::string> states, results;  ///< tensors in the order in which they are first written

  /// By tile, row major.
  [[nodiscard]] std::vector<TileProgress> progress(std::size_t frame) const;
  [[nodiscard]] Bytes bytes(std::size_t frame) const;
  /// What the tensor holds after the frame at that row of the plane: values along its other axes. Empty: nothing was written there.
  [[nodiscard]] std::vector<double> held(std::size_t frame, const std::string& tensor, std::int64_t row) const;
  /// Frames at which the outer loops begin a new block, with what to call it: "i = 0 … 3".
  [[nodiscard]] std::vector<std::pair<std::size_t, std::string>> blocks() const;
  [[nodiscard]] double largest_error() const;
  [[nodiscard]] std::optional<std::size_t> first_wrong() const;
};

constexpr std::size_t most_frames = 3000, most_writes = 60'000;

/// Runs the step of a program on the blackboard. Refused where the interpreter refuses.
[[nodiscard]] Result<Stage> make(const Compiled& blackboard, std::size_t step, const Options& = {});

}  // namespace fathom::session::stage
