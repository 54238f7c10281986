#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "session/check_plans.hpp"

namespace fathom::cli {
namespace {

constexpr std::int64_t reference_budget = 400'000'000;  // operations on one element each: a few seconds on a laptop
constexpr std::int64_t block_rows = 2;                  // rows that are evaluated together, so that memory stays small at any size
constexpr std::int64_t rows_a_lane = 64;
constexpr std::int64_t row_elements = 256;  // of a row that are compared at once
constexpr std::size_t most_lanes = 4096;

using Range = std::pair<std::int64_t, std::int64_t>;
using Rows = std::map<Symbol, Range>;

/// Numbers below `count`: both ends, the middle, quarters, and so on, each once.
std::vector<std::int64_t> spread_over(std::int64_t count, std::size_t at_most) {
  std::vector<std::int64_t> numbers;
  std::set<std::int64_t> seen;
  const auto add = [&](std::int64_t number) {
    if (number >= 0 && number < count && numbers.size() < at_most && seen.insert(number).second) numbers.push_back(number);
  };
  add(0);
  add(count - 1);
  for (std::int64_t parts = 2; parts / 2 < count && numbers.size() < at_most; parts *= 2)
    for (std::int64_t k = 1; k < parts; k += 2) add(count / parts * k + count % parts * k / parts);
  return numbers;
}

/// Parts of `width` of an axis that do not overlap: the whole of a short one; else the ends, the borders of tiles, and between.
std::vector<Range> parts_of(std::int64_t extent, std::int64_t width, std::int64_t at_most, const std::vector<std::int64_t>& edges) {
  std::vector<Range> parts;
  if (extent <= width * at_most) {
    for (std::int64_t at = 0; at < extent; at += width) parts.emplace_back(at, std::min(at + width, extent));
    std::stable_sort(parts.begin(), parts.end(),
                     [&](const Range& a, const Range& b) { return (a.second == extent) > (b.second == extent); });
    return parts;
  }
  const auto add = [&](std::int64_t at) {
    at = std::clamp<std::int64_t>(at, 0, extent - width);
    const bool overlaps = std::any_of(parts.begin(), parts.end(), [&](const Range& other) { return std::abs(other.first - at) < width; });
    if (!overlaps && static_cast<std::int64_t>(parts.size()) < at_most) parts.emplace_back(at, at + width);
  };
  add(0);
  add(extent - width);
  for (const std::int64_t edge : edges)
    if (edge > 0 && edge < extent) add(edge - width / 2);
  for (const std::int64_t at : spread_over(extent, static_cast<std::size_t>(at_most) * 4)) add(at);
  return parts;
}

/// Results of the same rows: one evaluation serves them all.
struct Group {
  std::vector<const math::Parameter*> results;
  std::vector<math::Axis> axes;
  std::vector<std::int64_t> shape;
  [[nodiscard]] std::size_t outer() const { return shape.size() > 1 ? shape.size() - 1 : shape.size(); }
  [[nodiscard]] std::int64_t rows() const {
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < outer(); ++axis) count *= shape[axis];
    return count;
  }
};

std::vector<Group> groups_of(const math::Program& program, const LaunchArguments& arguments) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < program.results.size(); ++i) {
    const math::Parameter& result = program.results[i];
    Group group{{&result}, program.find(result.name)->axes, arguments.arrays[program.params.size() + i].shape()};
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return other.shape == group.shape && std::equal(other.axes.begin(), other.axes.end(), group.axes.begin(), group.axes.end(),
                                                      [](const math::Axis& a, const math::Axis& b) { return a.index == b.index; });
    });
    if (same == groups.end()) {
      groups.push_back(std::move(group));
    } else {
      same->results.push_back(&result);
    }
  }
  return groups;
}

/// Blocks in the order in which they are compared: every part of the longest axis once, each in another lane (the other axes before the
/// last: heads), then all parts again in the next lanes.
std::vector<Rows> blocks_of(const Group& group, const std::vector<std::int64_t>& edges) {
  if (group.shape.empty()) return {Rows{}};
  const auto outer_end = group.shape.begin() + static_cast<std::ptrdiff_t>(group.outer());
  const auto longest = static_cast<std::size_t>(std::max_element(group.shape.begin(), outer_end) - group.shape.begin());
  const std::vector<Range> parts = parts_of(group.shape[longest], block_rows, rows_a_lane / block_rows, edges);
  const std::vector<Range> windows =
      group.outer() < group.shape.size() ? parts_of(group.shape.back(), row_elements, 16, edges) : std::vector<Range>{};
  const std::vector<std::int64_t> lanes = spread_over(group.rows() / group.shape[longest], most_lanes);
  std::vector<Rows> blocks;
  for (std::size_t turn = 0; turn < lanes.size(); ++turn)
    for (std::size_t p = 0; p < parts.size(); ++p) {
      Rows rows;
      std::int64_t lane = lanes[(p + turn) % lanes.size()];
      for (std::size_t axis = group.outer(); axis-- > 0;) {
        const std::int64_t at = axis == longest ? 0 : lane % group.shape[axis];
        if (axis != longest) lane /= group.shape[axis];
        rows[group.axes[axis].index] = axis == longest ? parts[p] : Range(at, at + 1);
      }
      if (!windows.empty()) rows[group.axes.back().index] = windows[(p + turn) % windows.size()];
      blocks.push_back(std::move(rows));
    }
  return blocks;
}

/// The block of the array that starts at `first` and has the shape, in row-major order.
interp::Array block_of(const DeviceArray& array, DType dtype, const std::vector<std::int64_t>& first,
                       const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> offsets{0};
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : offsets)
      for (std::int64_t at = 0; at < shape[axis]; ++at) next.push_back(offset * array.shape()[axis] + first[axis] + at);
    offsets = std::move(next);
  }
  interp::Array part{dtype, shape, {}};
  for (const std::int64_t offset : offsets) part.data.push_back(array.at(offset));
  return part;
}

const DeviceArray& array_of(const math::Program& program, const math::Parameter& result, const LaunchArguments& arguments) {
  const auto at = static_cast<std::size_t>(&result - program.results.data());
  return arguments.arrays[program.params.size() + at];
}

/// Blocks are few elements: how many of them may be undetermined is judged of all together, by `finish`.
void add(Verdict& verdict, const CheckCase& one) {
  verdict.elements += one.elements;
  verdict.undetermined += one.undetermined;
  verdict.worst.add(one.max_error, one.bound);
  if (verdict.status == CheckStatus::failed || one.status == CheckStatus::passed) return;
  if (one.status == CheckStatus::failed) verdict.status = one.status;
  verdict.detail = one.detail;
}

Verdict finish(Verdict verdict) {
  if (verdict.status == CheckStatus::failed) return verdict;
  if (interp::case_says_too_little(verdict.undetermined, verdict.elements)) {
    verdict.status = CheckStatus::inconclusive;
    verdict.detail = fmt::format("{} of {} elements are undetermined", verdict.undetermined, verdict.elements);
  } else if (verdict.elements == 0 && !verdict.detail.empty()) {
    verdict.status = CheckStatus::inconclusive;  // no block had a value: the last one says why
  } else {
    verdict.detail.clear();
  }
  return verdict;
}

/// Compares blocks of the group until the budget is spent.
Result<void> compare_rows(Verdict& verdict, const math::Program& program, const interp::References& references, const Group& group,
                          const LaunchArguments& arguments, const std::vector<std::int64_t>& edges, std::int64_t budget) {
  verdict.of += group.rows();
  std::int64_t spent = 0, dearest = 0;
  for (const Rows& rows : blocks_of(group, edges)) {
    if (spent + dearest > budget) break;
    interp::BoundOptions options;
    options.rows = rows;
    for (const math::Parameter* result : group.results) options.results.insert(result->name);
    auto part = references.at(options);
    if (!part) return tl::unexpected<Refusal>(part.error());
    spent += part->work;
    dearest = std::max(dearest, part->work);
    std::int64_t rows_here = 1;
    for (const math::Parameter* result : group.results) {
      const interp::Bounded& block = part->results.at(result->name);
      add(verdict, interp::compare(block_of(array_of(program, *result, arguments), result->dtype, block.first, block.shape), block,
                                   result->dtype, -1));
      rows_here = 1;
      for (std::size_t axis = 0; axis < group.outer(); ++axis) rows_here *= block.shape[axis];
    }
    verdict.rows += rows_here;
  }
  return {};
}

/// The name of an argument outside of which something was written.
std::optional<Symbol> overrun(const math::Program& program, const LaunchArguments& arguments) {
  std::size_t k = 0;
  for (const auto* list : {&program.results, &program.params})
    for (std::size_t i = 0; i < list->size(); ++i, ++k)
      if (!arguments.arrays[list == &program.params ? i : program.params.size() + i].guards_intact()) return (*list)[i].name;
  return std::nullopt;
}

}  // namespace

Result<Verdict> verify(const session::Compilation& compilation, const interp::Arrays& inputs, const DimValues& dims,
                       const LaunchArguments& arguments) {
  const math::Program& program = compilation.program;
  Verdict verdict;
  if (const auto touched = overrun(program, arguments)) {
    verdict.status = CheckStatus::failed;
    verdict.detail = fmt::format("the kernel wrote outside `{}`", touched->text());
    return verdict;
  }
  const auto references = interp::References::of(program, inputs, dims);
  if (!references) return tl::unexpected<Refusal>(references.error());
  const std::vector<Group> groups = groups_of(program, arguments);
  for (const Group& group : groups) {
    if (std::find(group.shape.begin(), group.shape.end(), 0) != group.shape.end()) continue;
    const auto budget = reference_budget / static_cast<std::int64_t>(groups.size());
    if (auto done = compare_rows(verdict, program, *references, group, arguments, session::tile_edges(compilation, false), budget); !done)
      return tl::unexpected<Refusal>(done.error());
  }
  return finish(std::move(verdict));
}

}  // namespace fathom::cli
