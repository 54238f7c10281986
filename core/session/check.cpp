// The check on each step (DESIGN 6): the same plan at small shapes taken from its own tiles, on every data family, against the wide
// reference. Each shape is compiled by replaying the complete trace, so what is checked is what the passes really do there. The set of
// cases depends on the plan alone, never on the clock: a check gives the same answer everywhere.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "interp/interp.hpp"
#include "lang/lang.hpp"
#include "session/session.hpp"

namespace fathom::session {
namespace {

constexpr std::int64_t miniature_tile = 4;

/// A dimension that some loop is tiled over, with the tile it has in the plan.
struct TiledDim {
  Symbol dim;
  std::int64_t tile = 1;
};

/// "o/i/tile" -> index i.
Symbol index_of_site(const std::string& site) {
  const auto last = site.rfind('/');
  const auto first = last == std::string::npos ? last : site.rfind('/', last - 1);
  return first == std::string::npos ? Symbol() : Symbol(site.substr(first + 1, last - first - 1));
}

/// The dimension that ends the range of an index of some statement, if the range is 0:dim.
std::optional<Symbol> dim_of_index(const math::Program& program, Symbol index) {
  for (const math::Statement& statement : program.statements) {
    std::vector<math::Axis> axes = statement.axes;
    if (const math::Reduction* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
    for (const math::Axis& axis : axes)
      if (axis.index == index && axis.hi && axis.hi.is(Op::dim)) return axis.hi.name();
  }
  return std::nullopt;
}

/// The opened program of a compilation names every index; the written one hides those of reductions in expressions.
const math::Program& opened_program(const Compilation& compilation) {
  const math::Program* found = &compilation.program;
  for (const Step& step : compilation.record.steps)
    if (step.after.level == Level::math) found = &step.after.math();
  return *found;
}

std::vector<TiledDim> tiled_dims(const Compilation& compilation) {
  std::vector<TiledDim> tiled;
  const math::Program& program = opened_program(compilation);
  for (const Decision& decision : compilation.record.decisions) {
    if (decision.kind != "tile") continue;
    const auto dimension = dim_of_index(program, index_of_site(decision.site));
    const std::int64_t tile = std::max<std::int64_t>(1, std::strtoll(decision.choice.c_str(), nullptr, 10));
    if (!dimension) continue;
    const auto same = std::find_if(tiled.begin(), tiled.end(), [&](const TiledDim& each) { return each.dim == *dimension; });
    if (same == tiled.end()) tiled.push_back({*dimension, tile});
  }
  return tiled;
}

/// {1, t-1, t, 2t+1, 3t+t/2}, in an order that puts the telling ones first.
std::vector<std::int64_t> sizes_for(std::int64_t tile) {
  std::vector<std::int64_t> sizes{2 * tile + 1, tile, 1, tile - 1, 3 * tile + tile / 2};
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; }), sizes.end());
  return sizes;
}

/// Small values for every dimension: tiled ones run through their sizes (each pair of neighbours in the list meets), the others stay small.
std::vector<DimValues> shapes_for(const Compilation& compilation, const std::vector<TiledDim>& tiled, bool miniature) {
  DimValues base;
  for (const math::Dimension& each : compilation.program.dims) base[each.name] = std::min<std::int64_t>(each.value, 3);
  std::vector<DimValues> shapes;
  for (std::size_t row = 0; row < 5; ++row) {
    DimValues shape = base;
    for (std::size_t i = 0; i < tiled.size(); ++i) {
      const auto sizes = sizes_for(miniature ? std::min(miniature_tile, tiled[i].tile) : tiled[i].tile);
      shape[tiled[i].dim] = sizes[(row * (i + 1) + i) % sizes.size()];
    }
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

/// Dimensions that the program declares with one value may have to stay equal.
DimValues tie_equal_dims(const math::Program& program, DimValues shape) {
  std::map<std::int64_t, std::int64_t> value_of;
  for (const math::Dimension& each : program.dims) shape[each.name] = value_of.emplace(each.value, shape.at(each.name)).first->second;
  return shape;
}

struct SmallPlan {
  DimValues shape;
  math::Program program;
  Record record;
};

std::optional<SmallPlan> plan_at(const Compilation& compilation, const DimValues& shape, const Trace& trace) {
  Inputs inputs = compilation.inputs;
  for (const auto& [dimension, value] : shape) inputs.dims[dimension.text()] = value;
  inputs.trace = trace;
  auto small = compile(inputs);
  if (!small) return std::nullopt;
  return SmallPlan{shape, (*small)->program, (*small)->record};
}

/// The plan's complete trace with small tiles.
Trace miniature_trace(const Compilation& compilation) {
  Trace trace = compilation.record.trace;
  for (TraceEntry& entry : trace.entries) {
    const auto decision = std::find_if(compilation.record.decisions.begin(), compilation.record.decisions.end(),
                                       [&](const Decision& each) { return each.site == entry.site; });
    if (decision == compilation.record.decisions.end() || decision->kind != "tile") continue;
    if (std::strtoll(entry.choice.c_str(), nullptr, 10) > miniature_tile) entry.choice = std::to_string(miniature_tile);
  }
  return trace;
}

std::vector<SmallPlan> small_plans(const Compilation& compilation, bool miniature, std::size_t at_most) {
  std::vector<SmallPlan> plans;
  const Trace trace = miniature ? miniature_trace(compilation) : compilation.record.trace;
  for (const DimValues& shape : shapes_for(compilation, tiled_dims(compilation), miniature)) {
    if (plans.size() == at_most) break;
    auto plan = plan_at(compilation, shape, trace);
    if (!plan) plan = plan_at(compilation, tie_equal_dims(compilation.program, shape), trace);
    if (plan) plans.push_back(*std::move(plan));
  }
  if (plans.empty())  // a program without tiled or free dimensions: its own sizes
    if (auto plan = plan_at(compilation, default_dims(compilation.program), compilation.record.trace)) plans.push_back(*std::move(plan));
  return plans;
}

/// One shape and one data family: the reference and what the program as written gives in the same precision.
struct Experiment {
  const SmallPlan* plan;
  std::string family;
  interp::Arrays inputs;
  std::map<Symbol, interp::Bounded> expected;
  std::map<Symbol, double> rms_unfused;
};

std::optional<Experiment> prepare(const SmallPlan& plan, const std::string& family, std::uint64_t seed,
                                  const std::vector<std::int64_t>& edges) {
  Experiment experiment{&plan, family, interp::make_inputs(plan.program, plan.shape, family, seed, edges), {}, {}};
  interp::BoundOptions options;
  options.structured_data = interp::is_structured(family);
  auto expected = interp::reference(plan.program, experiment.inputs, plan.shape, options);
  if (!expected) return std::nullopt;
  experiment.expected = *std::move(expected);
  interp::RunOptions run;
  run.dims = plan.shape;
  if (auto plain = interp::run(make_ir(plan.program), experiment.inputs, run))
    for (const auto& [name, bounded] : experiment.expected)
      if (const auto found = plain->find(name); found != plain->end())
        experiment.rms_unfused[name] = interp::rms_error(found->second, bounded);
  return experiment;
}

CheckCase failed_case(const Step& step, const Experiment& experiment, std::string why) {
  CheckCase failed;
  failed.step = step.id;
  failed.level = step.after.level;
  failed.shape = experiment.plan->shape;
  failed.family = experiment.family;
  failed.status = CheckStatus::failed;
  failed.detail = std::move(why);
  return failed;
}

void run_case(const Step& step, const Experiment& experiment, std::uint64_t seed, std::vector<CheckCase>& cases) {
  const auto& steps = experiment.plan->record.steps;
  const auto same = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.id == step.id; });
  if (same == steps.end()) return;  // the small plan needs no such step
  interp::RunOptions run;
  run.dims = experiment.plan->shape;
  run.seed = seed;
  auto actual = interp::run(same->after, experiment.inputs, run);
  if (!actual) {
    cases.push_back(failed_case(step, experiment, actual.error().reason));
    return;
  }
  for (const math::Parameter& result : experiment.plan->program.results) {
    const auto found = actual->find(result.name);
    if (found == actual->end()) {
      cases.push_back(failed_case(step, experiment, fmt::format("The step gives no result `{}`.", result.name.text())));
      continue;
    }
    const auto rms = experiment.rms_unfused.find(result.name);
    CheckCase one = interp::compare(found->second, experiment.expected.at(result.name), result.dtype,
                                    rms == experiment.rms_unfused.end() ? -1 : rms->second);
    one.step = step.id;
    one.level = step.after.level;
    one.shape = experiment.plan->shape;
    one.family = experiment.family;
    one.dtype = result.dtype;
    cases.push_back(std::move(one));
  }
}

/// failed if any case failed; inconclusive if any is and none failed; the figures are of the case nearest to (or furthest over) its bound.
Check summarise(std::vector<CheckCase> cases) {
  Check check;
  check.status = cases.empty() ? CheckStatus::skipped : CheckStatus::passed;
  if (cases.empty()) check.reason = "No small shape of this program could be planned.";
  double worst = -1;
  for (const CheckCase& one : cases) {
    if (one.status == CheckStatus::failed && check.status != CheckStatus::failed) {
      check.status = CheckStatus::failed;
      check.reason = one.detail;
    }
    if (one.status == CheckStatus::inconclusive && check.status == CheckStatus::passed) {
      check.status = CheckStatus::inconclusive;
      check.reason = one.detail;
    }
    const double ratio = one.bound > 0 ? one.max_error / one.bound : one.max_error;
    if (!(ratio <= worst)) {
      worst = ratio;
      check.max_error = one.max_error;
      check.bound = one.bound;
    }
  }
  check.cases = std::move(cases);
  return check;
}

std::vector<std::int64_t> edges_of(const Compilation& compilation, bool miniature) {
  std::set<std::int64_t> edges{0};
  for (const TiledDim& each : tiled_dims(compilation)) {
    const std::int64_t tile = miniature ? std::min(miniature_tile, each.tile) : each.tile;
    for (const std::int64_t edge : {tile - 1, tile, 2 * tile}) edges.insert(edge);
  }
  return {edges.begin(), edges.end()};
}

std::vector<Experiment> experiments(const Compilation& compilation, const std::vector<SmallPlan>& plans, bool miniature,
                                    const CheckOptions& options) {
  std::vector<Experiment> all;
  const auto edges = edges_of(compilation, miniature);
  for (const SmallPlan& plan : plans)
    for (const std::string& family : interp::data_families(plan.program))
      if (auto one = prepare(plan, family, options.seed, edges)) all.push_back(*std::move(one));
  return all;
}

}  // namespace

void check_steps(Compilation& compilation, const CheckOptions& options) {
  const std::size_t shapes = options.all_shapes ? 5 : 2;
  const auto small = small_plans(compilation, true, shapes);
  const auto full = small_plans(compilation, false, options.all_shapes ? 3 : 1);
  const auto miniature = experiments(compilation, small, true, options);
  const auto true_tiles = experiments(compilation, full, false, options);
  const Step* previous = nullptr;
  for (Step& step : compilation.record.steps) {
    const bool same_ir = previous != nullptr && !step.changed && previous->after.level == step.after.level;
    std::vector<CheckCase> cases;
    if (same_ir) {
      step.check = previous->check;
      for (CheckCase& one : step.check.cases) one.step = step.id;
    } else {
      for (const Experiment& one : step.after.level == Level::kernel ? true_tiles : miniature) run_case(step, one, options.seed, cases);
      step.check = summarise(std::move(cases));
    }
    previous = &step;
  }
}

Check check_step(const Compilation& compilation, const Step& step, const CheckOptions& options) {
  const bool miniature = step.after.level != Level::kernel;
  const auto plans = small_plans(compilation, miniature, options.all_shapes ? 5 : 2);
  std::vector<CheckCase> cases;
  for (const Experiment& one : experiments(compilation, plans, miniature, options)) run_case(step, one, options.seed, cases);
  return summarise(std::move(cases));
}

}  // namespace fathom::session
