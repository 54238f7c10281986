// The small program of the stage: sizes at which it is defined, compiles and can be watched.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "session/stage_plane.hpp"

namespace fathom::session::stage {
namespace {

constexpr std::int64_t watched = 8, contracted = 4, alone = 1;
constexpr std::int64_t each_own_size = 0;  // the one that the file gives
constexpr std::int64_t longest_watched = 64;
constexpr std::size_t most_attempts = 24;

/// What a dimension should be: long along the plane, short where it is contracted, 1 where it only repeats.
std::map<Symbol, std::int64_t> wanted_sizes(const math::Program& program, const DimValues& dims) {
  std::map<Symbol, std::int64_t> wanted;
  const auto plane = find_plane(program, dims);
  std::set<Symbol> reduced, beside;  // indices
  for (const math::Statement& statement : program.statements) {
    if (const math::Reduction* reduction = statement.reduction())
      for (const math::Axis& axis : reduction->over) reduced.insert(axis.index);
    const bool is_plane = plane && statement.name.text() == plane->tensor;
    for (const math::Axis& axis : statement.axes)
      if (is_plane) beside.insert(axis.index);
  }
  const auto want = [&](const math::Axis& axis) {
    const bool is_watched = plane && (axis.index == plane->column || axis.index == plane->row);
    const std::int64_t size = is_watched ? watched : reduced.count(axis.index) == 0 && beside.count(axis.index) > 0 ? alone : contracted;
    for (const Symbol dim : dims_in(axis.hi)) {
      const auto [at, is_new] = wanted.emplace(dim, size);
      if (!is_new) at->second = std::max(at->second, size);
    }
  };
  for (const math::Statement& statement : program.statements) {
    for (const math::Axis& axis : statement.axes) want(axis);
    if (const math::Reduction* reduction = statement.reduction())
      for (const math::Axis& axis : reduction->over) want(axis);
  }
  return wanted;
}

bool meets_conditions(const math::Program& program, const DimValues& dims) {
  return std::all_of(program.conditions.begin(), program.conditions.end(),
                     [&](Expr condition) { return evaluate_integer(condition, dims).value_or(1) != 0; });
}

/// Sizes to try, the best first: as wanted, single dimensions otherwise, all of them larger.
std::vector<DimValues> sizes_to_try(const math::Program& program, const std::map<Symbol, std::int64_t>& wanted) {
  std::vector<DimValues> all;
  const auto add = [&](const DimValues& dims) {
    const bool is_small = std::all_of(dims.begin(), dims.end(), [](const auto& each) { return each.second <= longest_watched; });
    if (is_small && meets_conditions(program, dims) && std::find(all.begin(), all.end(), dims) == all.end()) all.push_back(dims);
  };
  for (const std::int64_t factor : {1, 2, 4, 8}) {
    DimValues dims;
    for (const math::Dimension& each : program.dims) {
      const auto found = wanted.find(each.name);
      const std::int64_t size = found == wanted.end() ? alone : found->second;
      dims[each.name] = std::min(size == alone ? alone : size * factor, std::max<std::int64_t>(each.value, 1));
    }
    add(dims);
    for (const math::Dimension& one : program.dims)
      for (const std::int64_t size : {alone, std::int64_t{2}, contracted, watched, each_own_size}) {
        DimValues other = dims;
        other[one.name] = size == each_own_size ? one.value : std::min(size, std::max<std::int64_t>(one.value, 1));
        add(other);
        for (const math::Dimension& two : program.dims) {
          DimValues both = other;
          both[two.name] = other[one.name];
          if (!(one.name == two.name)) add(both);
        }
      }
  }
  return all;
}

/// Choices that mean something here: all but tiles that are longer than half of what is watched.
Trace fitting(const Trace& trace) {
  Trace kept;
  for (const TraceEntry& entry : trace.entries) {
    const std::string_view site = entry.site;
    const bool is_tile = site.size() > 5 && site.substr(site.size() - 5) == "/tile";
    if (!is_tile || std::strtoll(entry.choice.c_str(), nullptr, 10) <= watched / 2) kept.entries.push_back(entry);
  }
  return kept;
}

/// The dimension that ends the index' range.
std::optional<Symbol> dim_of(const math::Program& program, Symbol index) {
  for (const math::Statement& statement : program.statements) {
    std::vector<math::Axis> axes = statement.axes;
    if (const math::Reduction* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
    for (const math::Axis& axis : axes)
      if (axis.index == index && axis.hi.is(Op::dim)) return axis.hi.name();
  }
  return std::nullopt;
}

/// Twice as long where the plan has too few tiles to watch, as far as that helps.
Compiled with_more_tiles(Compiled compiled, const math::Program& written) {
  constexpr std::size_t fewest_across = 4, fewest_down = 2;
  constexpr std::int64_t longest = 32;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const auto plane = make_plane(*compiled, compiled->record.steps.size(), {});
    if (!plane) return compiled;
    const bool wide = plane->across() >= fewest_across, high = !plane->row || plane->down() >= fewest_down;
    const auto dim = dim_of(math_at(*compiled, compiled->record.steps.size()), wide ? plane->row.value_or(plane->column) : plane->column);
    if ((wide && high) || !dim) return compiled;
    Inputs inputs = compiled->inputs;
    std::int64_t& size = inputs.dims[dim->text()];
    const math::Dimension* declared = written.dimension(*dim);
    size *= 2;
    if (size > longest || declared == nullptr || size > declared->value) return compiled;
    DimValues dims = math::default_dims(compiled->program);
    dims[*dim] = size;
    if (!meets_conditions(written, dims)) return compiled;
    const auto longer = compile(inputs);
    if (!longer) return compiled;
    compiled = *longer;
  }
  return compiled;
}

}  // namespace

Result<Compiled> on_blackboard(const Compilation& document) {
  const math::Program& opened = math_at(document, 0);
  Inputs inputs = document.inputs;
  inputs.target = "blackboard";
  inputs.trace = fitting(document.inputs.trace);
  inputs.options.deterministic_batch = false;
  std::string why;
  std::size_t attempts = 0;
  for (const DimValues& dims : sizes_to_try(document.program, wanted_sizes(opened, math::default_dims(document.program)))) {
    if (attempts++ == most_attempts) break;
    for (const auto& [name, value] : dims) inputs.dims[name.text()] = value;
    const auto compiled = compile(inputs);
    if (compiled) return with_more_tiles(*compiled, document.program);
    if (why.empty() && !compiled.error().empty()) why = compiled.error().front().message;
  }
  return refuse(fmt::format("The program has no small form that could be watched{}{}", why.empty() ? "." : ": ", why), {},
                "The stage needs dimensions that may be 4 to 64; give those that the program fixes a name and a condition.");
}

std::size_t step_on_blackboard(const Compilation& document, std::size_t step, const Compilation& blackboard) {
  const auto& there = blackboard.record.steps;
  const auto& steps = document.record.steps;
  for (std::size_t k = std::min(step + 1, steps.size()); k-- > 0;)
    for (std::size_t i = 0; i < there.size(); ++i)
      if (there[i].id == steps[k].id) {
        // steps of the levels between have other ids here: go on to the last of them that is no deeper than the document's
        std::size_t at = i;
        while (k < step && at + 1 < there.size() && there[at + 1].level <= steps[step].level && there[at].level < steps[step].level) ++at;
        return at;
      }
  return 0;
}

}  // namespace fathom::session::stage
