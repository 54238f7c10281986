// The check on each step (docs/checks.md): small plans (check_plans.hpp) on every data family, against the wide reference. The set of cases
// depends on the plan alone, never on the clock: a check gives the same answer everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "interp/interp.hpp"
#include "passes/passes.hpp"
#include "session/check_narrowings.hpp"
#include "session/check_plans.hpp"

namespace fathom::session {
namespace {

/// Squared errors over the determined elements of one result, and of the program as written in the same precision.
struct Squares {
  double plan = 0, unfused = 0, value = 0;
  double narrowing = 0;  ///< of what rounded operands add to the bound: the program as written does not round them
  std::int64_t elements = 0;
};

/// One shape and one data family: the reference and what the program as written gives in the same precision.
struct Experiment {
  const SmallPlan* plan;
  std::string family;
  interp::Arrays inputs;
  std::map<Symbol, interp::Bounded> expected;
  /// The same with the wider bounds of steps that round operands of sums, by how many sums they are.
  std::map<std::size_t, std::map<Symbol, interp::Bounded>> narrowed;
  std::optional<interp::Arrays> unfused;  ///< where errors of elements are independent, so that their mean square says something
};

/// The text gives special values a meaning nearly everywhere: 0 * inf, say, has none.
bool is_defined(const std::map<Symbol, interp::Bounded>& expected) {
  std::int64_t open = 0, elements = 0;
  for (const auto& [result, bounded] : expected) {
    open += std::count(bounded.undetermined.begin(), bounded.undetermined.end(), true);
    elements += static_cast<std::int64_t>(bounded.undetermined.size());
  }
  return !interp::says_too_little(open, elements);
}

/// `why_not`: set where the text has no value on these inputs, so that nothing can be compared.
std::optional<Experiment> prepare(const SmallPlan& plan, const std::string& family, std::uint64_t seed,
                                  const std::vector<std::int64_t>& edges, std::string& why_not) {
  if (!plan.fault.empty()) return Experiment{&plan, family, {}, {}, {}, {}};
  Experiment experiment{&plan, family, interp::make_inputs(plan.program, plan.shape, family, seed, edges), {}, {}, {}};
  interp::BoundOptions options;
  options.structured_data = interp::is_structured(family);
  options.moves = moves_of(plan);
  const auto references = interp::References::of(plan.program, experiment.inputs, plan.shape);
  auto expected = references ? references->at(options) : tl::unexpected(references.error());
  if (!expected) {
    why_not = expected.error().reason;
    return std::nullopt;
  }
  experiment.expected = std::move(expected->results);
  if (interp::holds_special_values(family) && !is_defined(experiment.expected)) return std::nullopt;
  for (const auto& narrowings : narrowings_after(plan.record)) {
    if (narrowings.empty() || experiment.narrowed.contains(narrowings.size())) continue;
    options.narrowed = narrowings;
    auto wider = references->at(options);
    if (!wider) return std::nullopt;
    experiment.narrowed[narrowings.size()] = std::move(wider->results);
  }
  if (!interp::has_independent_errors(family)) return experiment;
  interp::RunOptions run;
  run.dims = plan.shape;
  if (auto plain = interp::run(make_ir(plan.program), experiment.inputs, run)) experiment.unfused = *std::move(plain);
  return experiment;
}

/// `strict`: the bound without narrowed operands.
void add_squares(Squares& squares, const interp::Array& actual, const interp::Array& unfused, const interp::Bounded& expected,
                 const interp::Bounded& strict) {
  const std::size_t n = std::min({actual.data.size(), unfused.data.size(), expected.value.size()});
  for (std::size_t i = 0; i < n; ++i) {
    const double value = expected.value[i], here = actual.data[i] - value, there = unfused.data[i] - value;
    if (expected.undetermined[i] || !std::isfinite(here) || !std::isfinite(there)) continue;
    squares.plan += here * here;
    squares.unfused += there * there;
    squares.value += value * value;
    squares.narrowing += (expected.bound[i] - strict.bound[i]) * (expected.bound[i] - strict.bound[i]);
    ++squares.elements;
  }
}

/// rms(plan) <= 1.25 rms(unfused) + a quarter ulp + what narrowed operands may add, over all cases of one result together; says what is
/// wrong.
std::optional<std::string> rms_fault(const Squares& squares, DType dtype) {
  constexpr std::int64_t enough = 1024;  // elements of a row share the errors of its factor: a mean square of fewer says little
  // In f64 the errors of the reference, of 53 bits itself, are as large: the unfused program may share them to the bit.
  if (squares.elements < enough || !is_float(dtype) || dtype == DType::f64) return std::nullopt;
  const auto n = static_cast<double>(squares.elements);
  const double quarter_ulp = std::sqrt(squares.value / n) * float_range(dtype).unit_roundoff / 2;
  const double plan = std::sqrt(squares.plan / n), unfused = std::sqrt(squares.unfused / n);
  if (plan <= 1.25 * unfused + quarter_ulp + std::sqrt(squares.narrowing / n)) return std::nullopt;
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
      narrowings_ = narrowings_after(experiment.plan->record)[static_cast<std::size_t>(same - experiment.plan->record.steps.data())].size();
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
  /// are of the case nearest to (or furthest over) its bound, of passed ones with a bound among the normal numbers if there is one: a bound
  /// of a few of the least numbers there are says nothing about digits.
  /// `why_not`: why the experiments are none, if they are.
  [[nodiscard]] Check finish(const std::string& why_not) {
    for (const auto& [result, squares] : squares_) judge_squares(result, squares);
    Check check;
    check.status = cases_.empty() ? CheckStatus::skipped : CheckStatus::passed;
    if (cases_.empty()) check.reason = why_not.empty() ? "No small plan of this program has this step." : why_not;
    constexpr double least_normal = std::numeric_limits<float>::min();
    interp::Worst worst, worst_normal;
    for (const CheckCase& one : cases_) {
      check.elements += one.elements;
      check.undetermined += one.undetermined;
      if (one.status == CheckStatus::failed && check.status != CheckStatus::failed) {
        check.status = CheckStatus::failed;
        check.reason = one.detail;
      }
      worst.add(one.max_error, one.bound);
      if (one.bound >= least_normal) worst_normal.add(one.max_error, one.bound);
    }
    if (check.status == CheckStatus::passed && worst_normal.any) worst = worst_normal;
    if (worst.any) check.max_error = worst.error, check.bound = worst.bound;
    if (check.status == CheckStatus::passed && interp::says_too_little(check.undetermined, check.elements)) {
      check.status = CheckStatus::inconclusive;
      check.reason = fmt::format("{} of {} elements are undetermined.", check.undetermined, check.elements);
    }
    const auto is_open = [](const CheckCase& one) { return one.status == CheckStatus::inconclusive; };
    if (check.status == CheckStatus::passed && std::all_of(cases_.begin(), cases_.end(), is_open)) {
      check.status = CheckStatus::inconclusive;
      check.reason = fmt::format("On {} data: {}.", cases_.front().family, cases_.front().detail);
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
    const interp::Bounded& strict = experiment.expected.at(result.name);
    const interp::Bounded& expected = narrowings_ == 0 ? strict : experiment.narrowed.at(narrowings_).at(result.name);
    CheckCase one = labelled(interp::compare(found->second, expected, result.dtype, -1), experiment);
    one.dtype = result.dtype;
    if (experiment.unfused && experiment.unfused->count(result.name) != 0) {
      add_squares(squares_[result.name], found->second, experiment.unfused->at(result.name), expected, strict);
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
  Step judged_;                 ///< of the plan `verified_`
  std::size_t narrowings_ = 0;  ///< that the step has there
  std::vector<CheckCase> cases_;
  std::map<Symbol, Squares> squares_;
  std::map<Symbol, std::pair<DType, std::size_t>> last_of_;
};

void for_each(const CheckOptions& options, std::size_t count, const std::function<void(std::size_t)>& f) {
  if (options.for_each) return options.for_each(count, f);
  for (std::size_t i = 0; i < count; ++i) f(i);
}

double root_mean_square(const std::vector<double>& values) {
  double squares = 0, n = 0;
  for (const double value : values)
    if (std::isfinite(value)) squares += value * value, ++n;
  return n == 0 ? 0 : std::sqrt(squares / n);
}

/// Data or a shape may make a whole result 0 (the variance of equal numbers, or of one). Its bound says something all the same where it is
/// small against what the result is on random data, at the shape where that is least.
void determine_small_results(std::vector<std::optional<Experiment>>& experiments) {
  std::map<Symbol, double> sizes;
  for (const auto& each : experiments) {
    if (!each || !interp::has_independent_errors(each->family)) continue;
    for (const auto& [result, bounded] : each->expected) {
      const double size = root_mean_square(bounded.value);
      if (size > 0 && (sizes.count(result) == 0 || size < sizes.at(result))) sizes[result] = size;
    }
  }
  for (auto& each : experiments) {
    if (!each) continue;
    for (auto& [result, bounded] : each->expected) interp::determine_small_elements(bounded, sizes[result]);
    for (auto& [sums, results] : each->narrowed)
      for (auto& [result, bounded] : results) interp::determine_small_elements(bounded, sizes[result]);
  }
}

struct Experiments {
  std::vector<Experiment> all;
  std::string why_none;  ///< where there are none
};

/// Each family on `shapes_a_family` plans, turn by turn, so that every shape sees some family of each kind; random data and data that masks
/// whole tiles on all of them.
Experiments experiments(const Compilation& compilation, const std::vector<SmallPlan>& plans, bool miniature, std::size_t shapes_a_family,
                        const CheckOptions& options) {
  std::vector<std::pair<const SmallPlan*, std::string>> wanted;
  const auto edges = tile_edges(compilation, miniature);
  const auto families = interp::data_families(compilation.program);
  for (std::size_t p = 0; p < plans.size(); ++p)
    for (std::size_t f = 0; f < families.size(); ++f) {
      const bool in_turn = (p + plans.size() - f % plans.size()) % plans.size() < shapes_a_family;
      if (!in_turn && !interp::has_independent_errors(families[f]) && !interp::masks_tiles(families[f])) continue;
      wanted.emplace_back(&plans[p], families[f]);
    }
  std::vector<std::optional<Experiment>> prepared(wanted.size());
  std::vector<std::string> why_not(wanted.size());
  for_each(options, wanted.size(),
           [&](std::size_t i) { prepared[i] = prepare(*wanted[i].first, wanted[i].second, options.seed, edges, why_not[i]); });
  determine_small_results(prepared);
  Experiments found;
  for (auto& one : prepared)
    if (one) found.all.push_back(*std::move(one));
  if (!found.all.empty()) return found;
  found.why_none = "The program is defined at no small shape.";
  for (std::size_t i = wanted.size(); i-- > 0;)
    if (!why_not[i].empty())
      found.why_none = fmt::format("On {} data the text itself has no value to compare with: {}", wanted[i].second, why_not[i]);
  return found;
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

/// The step changed nothing: its check is that of the step before.
bool leaves_ir(const std::vector<Step>& steps, std::size_t k) {
  return k > 0 && !steps[k].changed && steps[k - 1].after.level == steps[k].after.level;
}

/// The cases of one level. Experiments point at their plans.
struct Prepared {
  std::uint64_t seed = 1;
  std::vector<SmallPlan> plans;
  Experiments experiments;
};

}  // namespace

Cases::Cases(const Compilation& compilation, Level level, const CheckOptions& options) {
  const auto [miniature, shapes, shapes_a_family] = detail(level, options);
  const auto prepared = std::make_shared<Prepared>();
  prepared->seed = options.seed;
  prepared->plans = small_plans(compilation, miniature, shapes);
  prepared->experiments = experiments(compilation, prepared->plans, miniature, shapes_a_family, options);
  judge_ = [prepared](const Step& step, const Edit& edit) {
    StepCheck check(step, prepared->seed, edit);
    for (const Experiment& one : prepared->experiments.all) check.run(one);
    return check.finish(prepared->experiments.why_none);
  };
}

Check Cases::check(const Step& step, const Edit& edit) const { return judge_(step, edit); }

void check_steps(Compilation& compilation, const CheckOptions& options) {
  const Cases miniature(compilation, Level::math, options), true_tiles(compilation, Level::kernel, options);
  std::vector<Step>& steps = compilation.record.steps;
  std::vector<Step*> changed;
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (!leaves_ir(steps, k)) changed.push_back(&steps[k]);
  for_each(options, changed.size(), [&](std::size_t i) {
    changed[i]->check = (changed[i]->after.level == Level::kernel ? true_tiles : miniature).check(*changed[i]);
  });
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (!leaves_ir(steps, k)) continue;
    steps[k].check = steps[k - 1].check;
    for (CheckCase& one : steps[k].check.cases) one.step = steps[k].id;
  }
}

Check check_step(const Compilation& compilation, const Step& step, const CheckOptions& options) {
  return Cases(compilation, step.after.level, options).check(step);
}

}  // namespace fathom::session
