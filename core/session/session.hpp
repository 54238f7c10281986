// The document: source + operator + dims + target + trace + history. Everything that a person can do to it is here, with undo; command line
// and explorer call this and nothing below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/record.hpp"
#include "passes/pass.hpp"

namespace fathom::session {

// ---- traces as text (docs/choices.md) ----
[[nodiscard]] std::string print(const Trace&);
[[nodiscard]] Checked<Trace> parse_trace(std::string_view text);

struct Inputs {
  std::string file_name;
  std::string source;
  std::string operator_name;                 ///< empty: the only one
  std::map<std::string, std::int64_t> dims;  ///< overrides
  std::string target;                        ///< name
  Trace trace;
  passes::Options options;
};

/// A compiled state: immutable.
struct Compilation {
  Inputs inputs;
  math::Program program;  ///< as written
  Target target;
  Record record;
  [[nodiscard]] const Ir& final_ir() const { return record.steps.back().after; }
};
[[nodiscard]] Checked<std::shared_ptr<const Compilation>> compile(const Inputs&);

/// How a step of one compilation relates to the same-named step of another.
enum class Change : std::uint8_t { equal, changed, added, removed };
struct StepChange {
  std::string id;
  Change change;
};
[[nodiscard]] std::vector<StepChange> compare(const Record& before, const Record& after);

/// Deeper than a session file ever is: the JSON library takes such texts apart by recursion.
[[nodiscard]] bool is_nested_deeply(std::string_view json);

/// Source + trace + history; every change is undoable. JSON round-trips.
class Session {
 public:
  static Checked<Session> open(const Inputs&);
  static Checked<Session> from_json(std::string_view);
  [[nodiscard]] std::string to_json() const;

  [[nodiscard]] const Compilation& now() const { return *states_[at_]; }
  Checked<void> override_choice(std::string site, std::string choice);
  Checked<void> lock(std::string site, bool locked);
  Checked<void> reset(std::string site);
  /// Several choices, and whether refuted repairs run (docs/choices.md), as one change.
  Checked<void> choose(const std::vector<TraceEntry>& choices, bool unsound);
  /// Sizes of dimensions that the new text has not are dropped.
  Checked<void> edit_source(std::string source);
  /// Choices that the new target does not know are reported by the compilation, and come back with the old target.
  Checked<void> set_target(std::string name);
  /// Without a value the dimension is again what the text says.
  Checked<void> set_dim(std::string name, std::optional<std::int64_t> value);
  /// Another plan as one change: all choices at once, with the sizes, the target and the policies that they were made for.
  Checked<void> set_plan(const Inputs& plan);
  [[nodiscard]] bool can_undo() const { return at_ > 0; }
  [[nodiscard]] bool can_redo() const { return at_ + 1 < states_.size(); }
  void undo();
  void redo();
  /// One line a state, oldest first: what was changed to get there. The first is "opened".
  [[nodiscard]] std::vector<std::string> history() const;
  [[nodiscard]] std::size_t place_in_history() const { return at_; }
  /// Undoes or redoes up to that state; a place beyond the last one is the last.
  void go_to(std::size_t place);

 private:
  Checked<void> change(const Inputs&);
  std::vector<std::shared_ptr<const Compilation>> states_;
  std::size_t at_ = 0;
};

// ---- checks ----
struct CheckOptions {
  bool all_shapes = true;
  std::uint64_t seed = 1;
  /// Calls f(0), …, f(count - 1), in any order, perhaps several at once; empty: one after another. Threads are the caller's business.
  std::function<void(std::size_t count, const std::function<void(std::size_t)>& f)> for_each;
};
/// Fills Step::check of every step (docs/checks.md). Steps before and at Kernel run in the interpreter.
void check_steps(Compilation&, const CheckOptions& = {});
[[nodiscard]] Check check_step(const Compilation&, const Step&, const CheckOptions& = {});

/// The cases that steps of one level are judged by: small plans, data and references, prepared once. They judge any IR that takes the place
/// of a step's just as they judge the step: that is how the check itself is checked (tests/mutants).
class Cases {
 public:
  using Edit = std::function<Ir(const Ir&)>;
  Cases(const Compilation&, Level, const CheckOptions& = {});
  /// `edit` is applied to the step's IR in every small plan; empty: the step as it is.
  [[nodiscard]] Check check(const Step&, const Edit& edit = {}) const;

 private:
  std::function<Check(const Step&, const Edit&)> judge_;  ///< holds the cases: copies share them
};

// ---- what is said of a step ----
/// Of all intermediates in main memory after it.
[[nodiscard]] double stored_bytes(const Step&);
/// Place, shape, size: what is known of them.
[[nodiscard]] std::string facts_of(const TensorLife&);

// ---- documents about a compilation ----
[[nodiscard]] std::string steps_json(const Compilation&);
[[nodiscard]] std::string explain_json(const Compilation&);
[[nodiscard]] std::string decisions_json(const Compilation&);
[[nodiscard]] std::string checks_json(const Compilation&);
/// One self-contained HTML file that shows the whole lowering.
[[nodiscard]] std::string report_html(const Compilation&);

}  // namespace fathom::session
