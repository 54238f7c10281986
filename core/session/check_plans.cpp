#include "session/check_plans.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "lang/lang.hpp"
#include "session/check_shapes.hpp"

namespace fathom::session {
namespace {

constexpr std::int64_t miniature_tile = 4;

std::int64_t number_of(const std::string& choice) { return std::max<std::int64_t>(1, std::strtoll(choice.c_str(), nullptr, 10)); }

/// A row without a loop: it is as long as the shape says.
bool is_whole(const Decision& decision) { return decision.choice == "whole"; }

/// The smallest tile of at least four elements that the site offers: atoms and lanes may ask for multiples. Never above the plan's own.
std::int64_t miniature_of(const Decision& decision) {
  std::int64_t smallest = is_whole(decision) ? std::numeric_limits<std::int64_t>::max() : number_of(decision.choice);
  for (const Alternative& each : decision.alternatives) {
    const std::int64_t tile = number_of(each.choice);  // 1 where it is none
    if (!each.refused && tile >= miniature_tile) smallest = std::min(smallest, tile);
  }
  return smallest;
}

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

/// The dimensions with the tiles that the plan has, or with the smallest ones that are worth looking at.
std::vector<TiledDim> tiled_dims(const Compilation& compilation, bool miniature) {
  std::vector<TiledDim> tiled;
  const math::Program& program = opened_program(compilation);
  for (const Decision& decision : compilation.record.decisions) {
    if (decision.kind != "tile") continue;
    const auto dimension = dim_of_index(program, index_of_site(decision.site));
    const std::int64_t tile = miniature || is_whole(decision) ? miniature_of(decision) : number_of(decision.choice);
    if (!dimension) continue;
    const auto same = std::find_if(tiled.begin(), tiled.end(), [&](const TiledDim& each) { return each.dim == *dimension; });
    if (same == tiled.end()) tiled.push_back({*dimension, tile});
  }
  return tiled;
}

/// nullopt where the program is not defined at the shape (its conditions, its index ranges): that is no fault of a plan.
std::optional<SmallPlan> plan_at(const Compilation& compilation, const DimValues& shape, const Trace& trace) {
  Inputs inputs = compilation.inputs;
  for (const auto& [dimension, value] : shape) inputs.dims[dimension.text()] = value;
  const auto file = lang::parse_file(inputs.source, inputs.dims);
  if (!file) return std::nullopt;
  inputs.trace = trace;
  const auto small = compile(inputs);
  if (small) return SmallPlan{shape, (*small)->program, (*small)->record, {}};
  const auto& messages = small.error();
  return SmallPlan{shape, compilation.program, {}, messages.empty() ? "The compiler gives no plan." : messages.front().message};
}

/// The plan's complete trace with small tiles.
Trace miniature_trace(const Compilation& compilation) {
  Trace trace = compilation.record.trace;
  for (TraceEntry& entry : trace.entries) {
    const auto decision = std::find_if(compilation.record.decisions.begin(), compilation.record.decisions.end(),
                                       [&](const Decision& each) { return each.site == entry.site; });
    if (decision == compilation.record.decisions.end() || decision->kind != "tile" || is_whole(*decision)) continue;
    entry.choice = std::to_string(miniature_of(*decision));
  }
  return trace;
}

/// Tile decisions of the compilation that the small plan never asks: an axis so short that it needs no loop.
std::vector<std::string> missing_sites(const Compilation& compilation, const SmallPlan& plan) {
  std::vector<std::string> missing;
  for (const Decision& decision : compilation.record.decisions) {
    const auto& small = plan.record.decisions;
    const bool asked = std::any_of(small.begin(), small.end(), [&](const Decision& each) { return each.site == decision.site; });
    if (decision.kind == "tile" && !asked) missing.push_back(decision.site);
  }
  return missing;
}

/// The shape with the dimensions of those sites longer than any axis that rides whole, as far as the program itself is that long.
DimValues lengthened(const Compilation& compilation, const math::Program& opened, DimValues shape, const std::vector<std::string>& sites) {
  constexpr std::int64_t longer_than_whole = 257, short_beside_it = 9;
  for (auto& [name, value] : shape) value = std::min(value, short_beside_it);
  for (const std::string& site : sites) {
    const auto dimension = dim_of_index(opened, index_of_site(site));
    if (!dimension) continue;
    for (const math::Dimension& each : compilation.program.dims)
      if (each.name == *dimension) shape[each.name] = std::max(shape[each.name], std::min(each.value, longer_than_whole));
    shape = with_equals(compilation.program, std::move(shape), *dimension);
  }
  return shape;
}

/// The first trip finds nothing to rescale.
std::int64_t moves_in(const loop::Loop& loop, const DimValues& dims) {
  std::int64_t longest = 1;
  for (const auto& [name, value] : dims) longest = std::max(longest, value);
  const std::int64_t tile = std::max<std::int64_t>(evaluate_integer(loop.tile, dims).value_or(1), 1);
  const std::int64_t extent = std::max<std::int64_t>(evaluate_integer(loop.hi - loop.lo, dims).value_or(longest), 1);
  return (extent - 1) / tile;
}

/// The most moves of one accumulator below the node: nested folds and the merges of their parts add up, nests behind each other do not.
std::int64_t moves_below(const loop::NodeRef& node, const DimValues& dims, int depth) {
  constexpr int deepest = 400;
  if (!node || depth > deepest) return 0;
  if (const auto* loop = std::get_if<loop::Loop>(node.get())) {
    const std::int64_t inner = moves_below(loop->body, dims, depth + 1);
    return loop->mark == loop::Mark::fold ? moves_in(*loop, dims) + inner : inner;
  }
  std::int64_t most = 0, merges = 0;
  if (const auto* sequence = std::get_if<loop::Sequence>(node.get()))
    for (const loop::NodeRef& each : sequence->items) {
      most = std::max(most, moves_below(each, dims, depth + 1));
      if (const auto* combine = std::get_if<loop::Combine>(each.get()))
        merges = std::max<std::int64_t>(merges, evaluate_integer(combine->count, dims).value_or(1) - 1);
    }
  return most + merges;
}

bool has_repair(const loop::Program& program) {
  return std::any_of(program.math.statements.begin(), program.math.statements.end(), [](const math::Statement& each) {
    const auto* reduction = each.reduction();
    return reduction != nullptr && reduction->repair.has_value();
  });
}

/// Of the plan with most points; the first of equals.
const DimValues& largest_shape(const std::vector<SmallPlan>& plans) {
  const auto points = [](const SmallPlan& plan) {
    double product = 1;
    for (const auto& [dimension, size] : plan.shape) product *= static_cast<double>(size);
    return product;
  };
  const auto fewer = [&](const SmallPlan& a, const SmallPlan& b) { return points(a) < points(b); };
  return std::max_element(plans.begin(), plans.end(), fewer)->shape;
}

}  // namespace

std::vector<SmallPlan> small_plans(const Compilation& compilation, bool miniature, std::size_t at_most) {
  std::vector<SmallPlan> plans;
  const Trace trace = miniature ? miniature_trace(compilation) : compilation.record.trace;
  const auto add = [&](const std::vector<DimValues>& shapes) {  // the first at which the program is defined
    for (const DimValues& shape : shapes)
      if (auto plan = plan_at(compilation, shape, trace)) return plans.push_back(*std::move(plan));
  };
  constexpr std::int64_t small_beside_miniatures = 3, small_beside_true_tiles = 2;
  for (const auto& shapes : shapes_for(compilation.program, tiled_dims(compilation, miniature),
                                       miniature ? small_beside_miniatures : small_beside_true_tiles, miniature))
    if (plans.size() < at_most) add(shapes);
  if (plans.empty()) {  // a program without tiled or free dimensions: its own sizes
    add({default_dims(compilation.program)});
  } else if (const auto missing = missing_sites(compilation, plans.front()); !missing.empty()) {
    const DimValues largest = largest_shape(plans);  // the other loops of the plan should take several trips there too
    const DimValues shape = lengthened(compilation, opened_program(compilation), largest, missing);
    if (shape != largest) add({shape});
  }
  return plans;
}

std::vector<std::int64_t> tile_edges(const Compilation& compilation, bool miniature) {
  std::set<std::int64_t> edges{0};
  for (const TiledDim& each : tiled_dims(compilation, miniature))
    for (const std::int64_t edge : {each.tile - 1, each.tile, 2 * each.tile}) edges.insert(edge);
  return {edges.begin(), edges.end()};
}

std::int64_t moves_of(const SmallPlan& plan) {
  std::int64_t most = 0;
  for (const Step& step : plan.record.steps)
    if (step.after.level == Level::loop && has_repair(step.after.loop()))
      most = std::max(most, moves_below(step.after.loop().root, plan.shape, 0));
  return most;
}

}  // namespace fathom::session
