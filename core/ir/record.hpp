// The record of a compilation: levels, steps, decisions, refusals, costs, the life of every tensor. Command line, explorer, golden
// files, lessons, links, reports and docs all read this and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/kernel.hpp"
#include "ir/loop.hpp"
#include "ir/math.hpp"
#include "ir/result.hpp"

namespace fathom {

enum class Level : std::uint8_t { math, loop, tile, kernel, code };
[[nodiscard]] std::string_view name(Level);
[[nodiscard]] std::optional<Level> level_named(std::string_view);

/// Immutable IR of some level. Never null.
using Snapshot =
    std::variant<std::shared_ptr<const math::Program>, std::shared_ptr<const loop::Program>, std::shared_ptr<const kernel::Module>>;
/// A snapshot and which level it is read at (a module is Tile or Kernel).
struct Ir {
  Level level = Level::math;
  Snapshot snapshot;
  [[nodiscard]] const math::Program& math() const { return *std::get<0>(snapshot); }
  [[nodiscard]] const loop::Program& loop() const { return *std::get<1>(snapshot); }
  [[nodiscard]] const kernel::Module& module() const { return *std::get<2>(snapshot); }
};
[[nodiscard]] Ir make_ir(math::Program);
[[nodiscard]] Ir make_ir(loop::Program);
[[nodiscard]] Ir make_ir(Level tile_or_kernel, kernel::Module);
[[nodiscard]] std::string print(const Ir&);
[[nodiscard]] Result<void> verify(const Ir&);

// ---- decisions ----
enum class Origin : std::uint8_t { by_default, by_scheduler, by_user, by_lesson };
[[nodiscard]] std::string_view name(Origin);  ///< default | scheduler | user | lesson

/// Predicted totals of the whole program at its dimension values. Computed with + - * / sqrt only.
struct Cost {
  double flops = 0;          ///< multiplications, additions and other arithmetic, transcendental functions excluded
  double bytes = 0;          ///< moved to and from main memory
  double exps = 0;           ///< exponentials, logarithms, tanh, …
  double on_chip_bytes = 0;  ///< largest working set of one workgroup
  double ms = 0;             ///< predicted time on the target
};

struct Alternative {
  std::string choice;
  std::optional<double> predicted_ms;
  std::optional<Refusal> refused;
};

/// One choice at one site. A site is a path of names ("o/j/tile", "o.sum/j/fuse", "j/fold"), stable across replays.
struct Decision {
  std::string site;
  std::string kind;  ///< tile | fuse | fold | rewrite | precision | repair | place | …
  std::string choice;
  Origin origin = Origin::by_default;
  bool locked = false;
  bool unsound = false;  ///< taken although it is refuted: everything made of it carries that
  std::optional<double> predicted_ms;
  std::string reason;                     ///< one sentence: why this choice
  std::vector<Alternative> alternatives;  ///< the choice itself included
};

/// A line of a trace: what is asked of a site.
struct TraceEntry {
  std::string site;
  std::string choice;
  bool locked = false;
  Origin origin = Origin::by_user;
  friend bool operator==(const TraceEntry&, const TraceEntry&) = default;
};
/// Ordered; a later line for the same site wins.
struct Trace {
  std::vector<TraceEntry> entries;
  [[nodiscard]] const TraceEntry* find(std::string_view site) const;
};

// ---- steps ----
struct TensorLife {
  Symbol tensor;
  std::string place;  ///< "main memory" | "tile, on chip" | "registers" | "inlined" | "argument" | "result"
  double bytes = 0;   ///< of what is alive at once in that place
  std::string shape;  ///< printed extents
};

/// One line of a derivation: the named rule turns `before` into `after`.
struct DerivationLine {
  std::string rule;
  std::string equation;  ///< the rule itself, as an equation
  Expr before, after;
};

enum class FusionKind : std::uint8_t { classic, factored, absorbed, repaired };
[[nodiscard]] std::string_view name(FusionKind);

/// What the algebra concluded about one consumer reduction. `refusal` set: it runs in a later pass, its producers complete.
struct Fusion {
  Symbol consumer;
  std::vector<Symbol> producers;
  FusionKind kind = FusionKind::classic;
  std::optional<int> rank;
  std::optional<math::Repair> repair;   ///< repaired: gauges, carried, project
  std::vector<math::Carried> factored;  ///< factored: r-free sums (`move` = the carrier itself)
  Expr project;                         ///< factored: how r is applied at the end
  std::string repair_text;              ///< h in the notation of docs/algebra.md: "acc * exp(p.m - p.m')"
  std::string delayed;                  ///< r-parts applied once at the end: "1 / p.sum"; may be empty
  std::string guard;
  std::string certificate;         ///< what was tested and how, in one sentence; empty where nothing is carried in a new way
  std::vector<std::string> folds;  ///< "rolling", "split-k"
  std::vector<DerivationLine> derivation;
  std::vector<DerivationLine> all_lines;  ///< with the pure reorderings that `derivation` folds away
  int pass = 1;                           ///< which pass over the index it rides in
  std::optional<Refusal> refusal;
  std::vector<Refusal> not_taken;  ///< simpler forms that were considered and refused: exp(s - m) taken apart, by range
};

enum class CheckStatus : std::uint8_t { passed, failed, inconclusive, pending, skipped };
[[nodiscard]] std::string_view name(CheckStatus);

struct CheckCase {
  std::string step;
  Level level = Level::math;
  DimValues shape;
  DType dtype = DType::f32;
  std::string family;  ///< data family
  double max_error = 0;
  double bound = 0;               ///< at the element with the largest error / bound
  std::int64_t elements = 0;      ///< to which the text gives a value
  std::int64_t undetermined = 0;  ///< those of them of which the reference cannot say what is right
  CheckStatus status = CheckStatus::pending;
  std::string detail;  ///< which element, both values
};
struct Check {
  CheckStatus status = CheckStatus::pending;
  std::optional<double> max_error, bound;
  std::int64_t elements = 0, undetermined = 0;  ///< of all cases; more than 2 % undetermined: inconclusive
  std::vector<CheckCase> cases;
  std::string reason;  ///< inconclusive, failed, skipped: why
};

struct Step {
  std::string id;  ///< path-named: "open-prelude", "o.sum/j/fuse"
  std::string pass;
  std::string title;
  std::string says;           ///< one sentence with this instance's numbers
  Level level = Level::math;  ///< of `after`
  bool changed = true;
  std::optional<Decision> decision;  ///< alternatives are in it
  std::vector<Refusal> refusals;     ///< what was not done here, and why
  std::vector<Fusion> fusions;       ///< steps of the algebra: what was derived
  std::string rule;                  ///< rule or equation used; may be empty
  Ir before, after;
  std::map<std::string, std::vector<std::string>> node_map;  ///< name after -> names before that it came from; absent = itself
  Cost cost;                                                 ///< after the step
  std::vector<TensorLife> lives;                             ///< after the step
  Check check;
  double ms = 0;  ///< compile time of the pass: never part of compared output
};

/// Everything that replay(program, target, trace) produced.
struct Record {
  std::vector<Step> steps;
  std::vector<Decision> decisions;  ///< in the order in which they were asked
  std::vector<Fusion> fusions;      ///< one for each consumer reduction
  std::vector<Refusal> refusals;    ///< of the whole compilation, unknown sites and lost locks included
  Trace trace;                      ///< complete: replaying it gives the same output
};

}  // namespace fathom
