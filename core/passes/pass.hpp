// What a pass is: a pure function from IR to IR that asks for decisions, says what it did, or refuses.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algebra/algebra.hpp"
#include "ir/record.hpp"
#include "target/target.hpp"

namespace fathom::passes {

enum class Precision : std::uint8_t { exact, matrix, fast };
[[nodiscard]] std::string_view name(Precision);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view);

struct Options {
  Precision precision = Precision::matrix;
  bool deterministic_batch = false;
  bool unsound = false;  ///< run a refuted repair, watermarked
  /// Reads an expression that a person wrote into a trace (a repair): core/lang's business, given by the session. Empty: such choices are
  /// refused.
  std::function<Result<Expr>(std::string_view)> parse_expression;
  bool verify = false;  ///< verify the IR after every step, as debug builds always do
};

/// What passes may know and where they report. One a compilation; passes keep no state of their own.
class StepLog {
 public:
  StepLog(const math::Program& written, const Target& target, const Trace& trace, const Options& options);

  [[nodiscard]] const Target& target() const { return *target_; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const algebra::Analysis& analysis() const { return analysis_; }
  void set_analysis(algebra::Analysis);
  /// The program as `open-prelude` left it: what algebra::judge_repair is asked about.
  [[nodiscard]] const math::Program& opened() const { return opened_; }
  void set_opened(math::Program program) { opened_ = std::move(program); }
  /// The Math program that Loop programs are made of, without repairs, and its own analysis: what algebra::repair_for is asked about.
  [[nodiscard]] const math::Program& normalised() const { return normalised_; }
  [[nodiscard]] const algebra::Analysis& normalised_analysis() const { return normalised_analysis_; }
  void set_normalised(math::Program);

  /// Asks for a choice: the trace's if it has one for the site, else `proposal.choice`. A traced choice that is among the refused
  /// alternatives, or that `parse` (when given) refuses, is recorded as a Refusal and the proposal stands. Returns the decision taken.
  Decision decide(Decision proposal, const std::function<Result<void>(std::string_view choice)>& judge = {});

  /// What only the outcome of the last decision tells: it was refuted and runs all the same.
  void mark_unsound() { record_.decisions.back().unsound = true; }

  /// Records a step: everything but before/after/cost/lives/ms, which replay fills. `id` must be unique.
  struct Note {
    std::string id, title, says, rule;
    std::optional<Decision> decision;
    std::vector<Refusal> refusals;
    std::vector<Fusion> fusions;
    std::map<std::string, std::vector<std::string>> node_map;
  };
  void step(Note, const Ir& after);
  void refuse(Refusal);

  /// predict() and lives() for the program as written. Asked more than once of one snapshot: it is computed once.
  [[nodiscard]] Cost cost_of(const Ir&);
  [[nodiscard]] std::vector<TensorLife> lives_of(const Ir&);

  // ---- for replay ----
  /// The record, its trace completed: every decision taken, then locks whose sites are gone. Unused lines of the trace become refusals.
  [[nodiscard]] Record take();
  [[nodiscard]] std::vector<Step>& steps() { return record_.steps; }
  void begin_pass(std::string pass_id);

 private:
  void apply(const TraceEntry& entry, Decision& proposal, const std::function<Result<void>(std::string_view)>& judge);

  const math::Program* written_;
  const Target* target_;
  const Trace* trace_;
  Options options_;
  algebra::Analysis analysis_, normalised_analysis_;
  math::Program opened_, normalised_;
  Record record_;
  std::string pass_;
  std::vector<bool> used_;
  /// Snapshots are immutable: one object, one cost.
  struct Known {
    Ir ir;
    std::optional<Cost> cost;
    std::optional<std::vector<TensorLife>> lives;
  };
  Known& known(const Ir&);
  std::vector<Known> known_;
};

/// A row of the pipeline table.
struct Pass {
  std::string_view id;
  std::string_view title;
  std::string_view purpose;  ///< one sentence
  Level level_in, level_out;
  Result<Ir> (*run)(const Ir&, StepLog&);
};

/// Every pass in order (passes/pipeline.cpp). The explorer, the command line, the docs and the tests iterate this table.
[[nodiscard]] std::span<const Pass> pipeline();

/// The compiler: program as written + target + trace -> record. The same inputs give the same output, byte for byte, on every platform.
/// Refusal only where no plan at all can be made; what cannot be overridden is in Record::refusals.
[[nodiscard]] Result<Record> replay(const math::Program&, const Target&, const Trace&, const Options& = {});

/// The analytical cost of IR of any level at the program's dimension values on the target.
[[nodiscard]] Cost predict(const Ir&, const math::Program& written, const Target&);
[[nodiscard]] std::vector<TensorLife> lives(const Ir&, const math::Program& written);

}  // namespace fathom::passes
