// The check on each step (DESIGN 6): small plans (check_plans.hpp) on every data family, against the wide reference. The set of cases
// depends on the plan alone, never on the clock: a check gives the same answer everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "interp/interp.hpp"
#include "passes/passes.hpp"
#include "session/check_plans.hpp"

namespace fathom::session {
namespace {

/// Squared errors over the determined elements of one result, and of the program as written in the same precision.
struct Squares {
  double plan = 0, unfused = 0, value = 0;
  std::int64_t elements = 0;
};

/// One shape and one data family: the reference and what the program as written gives in the same precision.
struct Experiment {
  const SmallPlan* plan;
  std::string family;
  interp::Arrays inputs;
  std::map<Symbol, interp::Bounded> expected;
  std::optional<interp::Arrays> unfused;  ///< where errors of elements are independent, so that their mean square says something
};

std::optional<Experiment> prepare(const SmallPlan& plan, const std::string& family, std::uint64_t seed,
                                  const std::vector<std::int64_t>& edges) {
  if (!plan.fault.empty()) return Experiment{&plan, family, {}, {}, {}};
  Experiment experiment{&plan, family, interp::make_inputs(plan.program, plan.shape, family, seed, edges), {}, {}};
  interp::BoundOptions options;
  options.structured_data = interp::is_structured(family);
  options.moves = moves_of(plan);
  auto expected = interp::reference(plan.program, experiment.inputs, plan.shape, options);
  if (!expected) return std::nullopt;
  experiment.expected = *std::move(expected);
  if (!interp::has_independent_errors(family)) return experiment;
  interp::RunOptions run;
  run.dims = plan.shape;
  if (auto plain = interp::run(make_ir(plan.program), experiment.inputs, run)) experiment.unfused = *std::move(plain);
  return experiment;
}

void add_squares(Squares& squares, const interp::Array& actual, const interp::Array& unfused, const interp::Bounded& expected) {
  const std::size_t n = std::min({actual.data.size(), unfused.data.size(), expected.value.size()});
  for (std::size_t i = 0; i < n; ++i) {
    const double value = expected.value[i], here = actual.data[i] - value, there = unfused.data[i] - value;
    if (expected.undetermined[i] || !std::isfinite(here) || !std::isfinite(there)) continue;
    squares.plan += here * here;
    squares.unfused += there * there;
    squares.value += value * value;
    ++squares.elements;
  }
}

/// rms(plan) <= 1.25 rms(unfused) + a quarter ulp, over all cases of one result together; says what is wrong.
std::optional<std::string> rms_fault(const Squares& squares, DType dtype) {
  constexpr std::int64_t enough = 1024;  // elements of a row share the errors of its factor: a mean square of fewer says little
  if (squares.elements < enough || !is_float(dtype)) return std::nullopt;
  const auto n = static_cast<double>(squares.elements);
  const double quarter_ulp = std::sqrt(squares.value / n) * float_range(dtype).unit_roundoff / 2;
  const double plan = std::sqrt(squares.plan / n), unfused = std::sqrt(squares.unfused / n);
  if (plan <= 1.25 * unfused + quarter_ulp) return std::nullopt;
  return fmt::format("the root mean square error over {} elements is {:.3g}; {:.3g} in the unfused program", squares.elements, plan,
                     unfused);
}

/// Checks one step: its cases, one after the other.
class StepCheck {
 public:
  StepCheck(const Step& step, std::uint64_t seed, const Cases::Edit& edit) : step_(&step), seed_(seed), edit_(&edit) {}

  void run(const Experiment& experiment) {
    if (!experiment.plan->fault.empty()) return fail(experiment, experiment.plan->fault);
    const Step* same = counterpart(experiment.plan->record);
    if (same == nullptr) return;  // the small plan needs no such step
    if (experiment.plan != verified_) {
      verified_ = experiment.plan;
      judged_ = *same;
      if (*edit_) judged_.after = (*edit_)(same->after);
      if (const Result<void> sound = passes::verify_step(judged_); !sound) fail(experiment, sound.error().reason);
    }
    interp::RunOptions run;
    run.dims = experiment.plan->shape;
    run.seed = seed_;
    const auto actual = interp::run(judged_.after, experiment.inputs, run);
    if (!actual) return fail(experiment, actual.error().reason);
    for (const math::Parameter& result : experiment.plan->program.results) compare(experiment, *actual, result);
  }

  /// failed if any case failed or the errors are too large on the whole; inconclusive if too many elements are undetermined; the figures
  /// are of the case nearest to (or furthest over) its bound.
  [[nodiscard]] Check finish() {
    for (const auto& [result, squares] : squares_) judge_squares(result, squares);
    Check check;
    check.status = cases_.empty() ? CheckStatus::skipped : CheckStatus::passed;
    if (cases_.empty()) check.reason = "No small plan of this program has this step.";
    double worst = -1;
    for (const CheckCase& one : cases_) {
      check.elements += one.elements;
      check.undetermined += one.undetermined;
      if (one.status == CheckStatus::failed && check.status != CheckStatus::failed) {
        check.status = CheckStatus::failed;
        check.reason = one.detail;
      }
      const double ratio = one.bound > 0 ? one.max_error / one.bound : one.max_error;
      if (!(ratio <= worst)) {
        worst = ratio;
        check.max_error = one.max_error;
        check.bound = one.bound;
      }
    }
    if (check.status == CheckStatus::passed && interp::says_too_little(check.undetermined, check.elements)) {
      check.status = CheckStatus::inconclusive;
      check.reason = fmt::format("{} of {} elements are undetermined.", check.undetermined, check.elements);
    }
    check.cases = std::move(cases_);
    return check;
  }

 private:
  /// The step of that id; where the small plan names it otherwise (sites follow names), what the pass leaves in the end.
  [[nodiscard]] const Step* counterpart(const Record& record) const {
    const Step* found = nullptr;
    for (const Step& each : record.steps) {
      if (each.id == step_->id) return &each;
      if (each.pass == step_->pass && each.after.level == step_->after.level) found = &each;
    }
    return found;
  }

  CheckCase labelled(CheckCase one, const Experiment& experiment) const {
    one.step = step_->id;
    one.level = step_->after.level;
    one.shape = experiment.plan->shape;
    one.family = experiment.family;
    return one;
  }

  void fail(const Experiment& experiment, std::string why) {
    CheckCase failed;
    failed.status = CheckStatus::failed;
    failed.detail = std::move(why);
    cases_.push_back(labelled(std::move(failed), experiment));
  }

  void compare(const Experiment& experiment, const interp::Arrays& actual, const math::Parameter& result) {
    const auto found = actual.find(result.name);
    if (found == actual.end()) return fail(experiment, fmt::format("The step gives no result `{}`.", result.name.text()));
    const interp::Bounded& expected = experiment.expected.at(result.name);
    CheckCase one = labelled(interp::compare(found->second, expected, result.dtype, -1), experiment);
    one.dtype = result.dtype;
    if (experiment.unfused && experiment.unfused->count(result.name) != 0) {
      add_squares(squares_[result.name], found->second, experiment.unfused->at(result.name), expected);
      last_of_[result.name] = {one.dtype, cases_.size()};
    }
    cases_.push_back(std::move(one));
  }

  void judge_squares(Symbol result, const Squares& squares) {
    const auto [dtype, at] = last_of_.at(result);
    const auto fault = rms_fault(squares, dtype);
    if (!fault || cases_[at].status == CheckStatus::failed) return;
    cases_[at].status = CheckStatus::failed;
    cases_[at].detail = *fault;
  }

  const Step* step_;
  std::uint64_t seed_;
  const Cases::Edit* edit_;
  const SmallPlan* verified_ = nullptr;
  Step judged_;  ///< of the plan `verified_`
  std::vector<CheckCase> cases_;
  std::map<Symbol, Squares> squares_;
  std::map<Symbol, std::pair<DType, std::size_t>> last_of_;
};

/// Each family on `shapes_a_family` plans, turn by turn, so that every shape sees some family of each kind; random data and data that masks
/// whole tiles on all of them.
std::vector<Experiment> experiments(const Compilation& compilation, const std::vector<SmallPlan>& plans, bool miniature,
                                    std::size_t shapes_a_family, const CheckOptions& options) {
  std::vector<Experiment> all;
  const auto edges = tile_edges(compilation, miniature);
  const auto families = interp::data_families(compilation.program);
  for (std::size_t p = 0; p < plans.size(); ++p)
    for (std::size_t f = 0; f < families.size(); ++f) {
      const bool in_turn = (p + plans.size() - f % plans.size()) % plans.size() < shapes_a_family;
      if (!in_turn && !interp::has_independent_errors(families[f]) && !interp::masks_tiles(families[f])) continue;
      if (auto one = prepare(plans[p], families[f], options.seed, edges)) all.push_back(*std::move(one));
    }
  return all;
}

struct Detail {
  bool miniature;
  std::size_t shapes, shapes_a_family;
};
/// Math to Tile with miniature tiles, Kernel with the true ones and few trips.
Detail detail(Level level, const CheckOptions& options) {
  if (level == Level::kernel) return {false, options.all_shapes ? std::size_t{3} : 1, 1};
  return {true, options.all_shapes ? std::size_t{5} : 2, options.all_shapes ? std::size_t{2} : 1};
}

}  // namespace

struct Cases::Prepared {
  std::uint64_t seed = 1;
  std::vector<SmallPlan> plans;
  std::vector<Experiment> experiments;
};

Cases::Cases(const Compilation& compilation, Level level, const CheckOptions& options) {
  const auto [miniature, shapes, shapes_a_family] = detail(level, options);
  auto prepared = std::make_shared<Prepared>();
  prepared->seed = options.seed;
  prepared->plans = small_plans(compilation, miniature, shapes);
  prepared->experiments = experiments(compilation, prepared->plans, miniature, shapes_a_family, options);
  prepared_ = std::move(prepared);
}

Check Cases::check(const Step& step, const Edit& edit) const {
  StepCheck check(step, prepared_->seed, edit);
  for (const Experiment& one : prepared_->experiments) check.run(one);
  return check.finish();
}

void check_steps(Compilation& compilation, const CheckOptions& options) {
  const Cases miniature(compilation, Level::math, options), true_tiles(compilation, Level::kernel, options);
  const Step* previous = nullptr;
  for (Step& step : compilation.record.steps) {
    const bool same_ir = previous != nullptr && !step.changed && previous->after.level == step.after.level;
    if (same_ir) {
      step.check = previous->check;
      for (CheckCase& one : step.check.cases) one.step = step.id;
    } else {
      step.check = (step.after.level == Level::kernel ? true_tiles : miniature).check(step);
    }
    previous = &step;
  }
}

Check check_step(const Compilation& compilation, const Step& step, const CheckOptions& options) {
  return Cases(compilation, step.after.level, options).check(step);
}

}  // namespace fathom::session
