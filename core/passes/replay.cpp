// The compiler is one loop over the pipeline table. Passes say what they did; everything that can be computed from the IR before and after
// (cost, lives, `changed`) is filled in here, so that no pass can forget or colour it.
#include <fmt/format.h>

#include <chrono>

#include "passes/passes.hpp"

namespace fathom::passes {
namespace {

#ifdef NDEBUG
constexpr bool verify_always = false;
#else
constexpr bool verify_always = true;
#endif

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

/// Fills before, changed, cost and lives of the steps from `first` on. A step that changed nothing keeps the figures of the one before.
class Filler {
 public:
  Filler(StepLog& log, const Ir& start) : log_(&log), before_(start), text_(print(start)) {}

  void fill(Step& step, double ms) {
    step.before = before_;
    step.ms = ms;
    const bool same_object = step.after.level == before_.level && step.after.snapshot == before_.snapshot;
    std::string text = same_object ? text_ : print(step.after);
    step.changed = step.after.level != before_.level || text != text_;
    if (step.changed || !known_) {
      cost_ = log_->cost_of(step.after);
      lives_ = log_->lives_of(step.after);
      known_ = true;
    }
    step.cost = cost_;
    step.lives = lives_;
    before_ = step.after;
    text_ = std::move(text);
  }

 private:
  StepLog* log_;
  Ir before_;
  std::string text_;
  Cost cost_;
  std::vector<TensorLife> lives_;
  bool known_ = false;
};

/// A step for a pass that had nothing to say: the list of steps is the list of passes, whatever the program.
StepLog::Note nothing_to_do(const Pass& pass) {
  StepLog::Note note;
  note.id = pass.id;
  note.title = pass.title;
  note.says = "Nothing to do here.";
  return note;
}

}  // namespace

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::exact:
      return "exact";
    case Precision::matrix:
      return "matrix";
    case Precision::fast:
      return "fast";
  }
  return "";
}

std::optional<Precision> precision_named(std::string_view text) {
  for (const Precision each : {Precision::exact, Precision::matrix, Precision::fast}) {
    if (name(each) == text) return each;
  }
  return std::nullopt;
}

Result<void> verify_step(const Step& step) {
  const Result<void> sound = verify(step.after);
  if (sound) return {};
  return refuse(fmt::format("The step {} left a program that is not well formed: {}", step.id, sound.error().reason), sound.error().nodes,
                "This is a fault of the compiler, not of the program: please report it.");
}

Result<Record> replay(const math::Program& program, const Target& target, const Trace& trace, const Options& options) {
  StepLog log(program, target, trace, options);
  Ir current = make_ir(program);
  Filler filler(log, current);
  for (const Pass& pass : pipeline()) {
    log.begin_pass(std::string(pass.id));
    const std::size_t first = log.steps().size();
    const auto start = Clock::now();
    Result<Ir> next = pass.run(current, log);
    if (!next) return tl::unexpected<Refusal>(next.error());
    const double ms = ms_since(start);
    if (log.steps().size() == first) log.step(nothing_to_do(pass), *next);
    const auto count = static_cast<double>(log.steps().size() - first);
    for (std::size_t i = first; i < log.steps().size(); ++i) {
      filler.fill(log.steps()[i], ms / count);
      if (verify_always || options.verify) {
        if (const Result<void> sound = verify_step(log.steps()[i]); !sound) return tl::unexpected<Refusal>(sound.error());
      }
    }
    current = std::move(*next);
  }
  return log.take();
}

}  // namespace fathom::passes
