#include "session/stage_plane.hpp"

#include <algorithm>
#include <tuple>

namespace fathom::session::stage {
namespace {

std::vector<math::Axis> all_axes(const math::Statement& statement) {
  std::vector<math::Axis> axes = statement.axes;
  if (const math::Reduction* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
  return axes;
}

/// Elements of the whole tensor; 0 where they cannot be counted.
double size_of(const math::Program& program, Symbol tensor, const DimValues& dims) {
  const auto extents = math::extents_of(program, tensor);
  if (!extents) return 0;
  double size = 1;
  for (const Expr extent : *extents) size *= static_cast<double>(evaluate_integer(extent, dims).value_or(0));
  return size;
}

/// The longest index among the subscripts of the read that the reduction keeps.
std::optional<Symbol> row_of(const math::Program& program, const math::Statement& reader, Expr read, Symbol column, const DimValues& dims) {
  std::optional<Symbol> row;
  std::int64_t longest = 1;
  for (const Expr subscript : read.args()) {
    if (!subscript.is(Op::index) || subscript.name() == column) continue;
    const auto kept = [&](const math::Axis& axis) { return axis.index == subscript.name(); };
    if (std::none_of(reader.axes.begin(), reader.axes.end(), kept)) continue;
    const std::int64_t extent = extent_of(program, subscript.name(), dims).value_or(0);
    if (extent <= longest) continue;
    longest = extent;
    row = subscript.name();
  }
  return row;
}

// ---- the mask ----

/// Conditions under which an element counts.
struct Mask {
  std::vector<Expr> conditions;
  std::vector<Expr> negated;
};

bool has_both(const math::Statement& statement, const PlaneIndices& plane) {
  const auto has = [&](Symbol index) {
    return std::any_of(statement.axes.begin(), statement.axes.end(), [&](const math::Axis& axis) { return axis.index == index; });
  };
  return has(plane.column) && (!plane.row || has(*plane.row));
}

Mask mask_of(const math::Program& program, const PlaneIndices& plane) {
  Mask infinite, zero;
  for (const math::Statement& statement : program.statements) {
    const math::Map* map = statement.map();
    if (map == nullptr || !has_both(statement, plane)) continue;
    visit(map->value, [&](Expr e) {
      if (!e.is(Op::where) || free_indices(e.arg(0)).count(plane.column) == 0) return;
      if (is_infinite(e.arg(2))) infinite.conditions.push_back(e.arg(0));
      if (is_infinite(e.arg(1))) infinite.negated.push_back(e.arg(0));
      if (constant_integer(e.arg(2)) == 0) zero.conditions.push_back(e.arg(0));
      if (constant_integer(e.arg(1)) == 0) zero.negated.push_back(e.arg(0));
    });
  }
  return infinite.conditions.empty() && infinite.negated.empty() ? zero : infinite;
}

/// Reads of whole numbers of arguments as these numbers.
Expr with_inputs(Expr condition, const DimValues& at, const interp::Arrays& inputs) {
  return transform(condition, [&](Expr e) {
    if (!e.is(Op::read)) return e;
    const auto input = inputs.find(e.name());
    if (input == inputs.end() || input->second.shape.size() != e.args().size()) return e;
    std::int64_t place = 0;
    for (std::size_t k = 0; k < e.args().size(); ++k) {
      const auto subscript = evaluate_integer(e.arg(k), at);
      if (!subscript || *subscript < 0 || *subscript >= input->second.shape[k]) return e;
      place = place * input->second.shape[k] + *subscript;
    }
    const double value = input->second.data[static_cast<std::size_t>(place)];
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? number(Rational(whole)) : e;
  });
}

bool counts(const Mask& mask, const DimValues& at, const interp::Arrays& inputs) {
  const auto holds = [&](Expr condition) { return evaluate_integer(with_inputs(condition, at, inputs), at); };
  for (const Expr each : mask.conditions)
    if (holds(each).value_or(1) == 0) return false;
  for (const Expr each : mask.negated)
    if (holds(each).value_or(0) != 0) return false;
  return true;
}

void mark_mask(Plane& plane, const Mask& mask, const DimValues& dims, const math::Program& program, const interp::Arrays& inputs) {
  DimValues at = dims;  // other indices stand at their first element
  for (const math::Statement& statement : program.statements)
    for (const math::Axis& axis : all_axes(statement)) at.emplace(axis.index, evaluate_integer(axis.lo, dims).value_or(0));
  for (std::size_t down = 0; down < plane.down(); ++down)
    for (std::size_t across = 0; across < plane.across(); ++across) {
      std::int64_t open = 0, all = 0;
      const auto first_row = static_cast<std::int64_t>(down) * plane.tile_rows,
                 first = static_cast<std::int64_t>(across) * plane.tile_columns;
      for (std::int64_t r = first_row; r < std::min(first_row + plane.tile_rows, plane.rows); ++r)
        for (std::int64_t c = first; c < std::min(first + plane.tile_columns, plane.columns); ++c) {
          if (plane.row) at[*plane.row] = r;
          at[plane.column] = c;
          ++all;
          open += counts(mask, at, inputs) ? 1 : 0;
        }
      plane.kinds.push_back(open == all ? TileKind::open : open > 0 ? TileKind::mixed : TileKind::masked);
    }
}

std::int64_t tile_of(const loop::Program* loops, Symbol index, std::int64_t extent, const DimValues& dims) {
  std::int64_t tile = 0;
  if (loops != nullptr)
    for (const auto& [name, site] : loop::sites_of(*loops))
      for (const loop::Loop* loop : site.loops)
        if (loop->index == index) tile = std::max(tile, evaluate_integer(loop->tile, dims).value_or(0));
  return tile > 0 ? std::min(tile, extent) : extent;
}

void find_merges(const loop::NodeRef& node, std::set<std::string>& names) {
  if (!node) return;
  if (const auto* combine = std::get_if<loop::Combine>(node.get()))
    for (const Symbol name : combine->statements) names.insert(name.text());
  if (const auto* inner = std::get_if<loop::Loop>(node.get())) find_merges(inner->body, names);
  if (const auto* sequence = std::get_if<loop::Sequence>(node.get()))
    for (const loop::NodeRef& each : sequence->items) find_merges(each, names);
}

}  // namespace

std::set<std::string> merged_statements(const loop::Program& program) {
  std::set<std::string> names;
  find_merges(program.root, names);
  return names;
}

const math::Program& math_at(const Compilation& compilation, std::size_t step) {
  const math::Program* found = &compilation.record.steps.front().after.math();
  for (std::size_t k = 0; k <= step && k < compilation.record.steps.size(); ++k)
    if (compilation.record.steps[k].after.level == Level::math) found = &compilation.record.steps[k].after.math();
  return *found;
}

const loop::Program* loops_at(const Compilation& compilation, std::size_t step) {
  const loop::Program* found = nullptr;
  for (std::size_t k = 0; k <= step && k < compilation.record.steps.size(); ++k)
    if (compilation.record.steps[k].after.level == Level::loop) found = &compilation.record.steps[k].after.loop();
  return found;
}

std::optional<std::int64_t> extent_of(const math::Program& program, Symbol index, const DimValues& dims) {
  for (const math::Statement& statement : program.statements)
    for (const math::Axis& axis : all_axes(statement))
      if (axis.index == index) return evaluate_integer(axis.hi, dims);
  return std::nullopt;
}

std::optional<PlaneIndices> find_plane(const math::Program& program, const DimValues& dims) {
  using Merit = std::tuple<bool, bool, double>;  // has rows, is an intermediate, size
  std::optional<PlaneIndices> best;
  Merit merit;
  for (const math::Statement& statement : program.statements) {
    const math::Reduction* reduction = statement.reduction();
    if (reduction == nullptr) continue;
    for (const math::Axis& over : reduction->over)
      for (const Expr value : reduction->values)
        visit(value, [&](Expr e) {
          if (!e.is(Op::read)) return;
          const auto args = e.args();
          if (std::find(args.begin(), args.end(), index(over.index)) == args.end()) return;
          const auto row = row_of(program, statement, e, over.index, dims);
          const Merit here{row.has_value(), program.find(e.name()) != nullptr, size_of(program, e.name(), dims)};
          if (best && here <= merit) return;
          merit = here;
          best = PlaneIndices{row, over.index, e.name().text()};
        });
  }
  return best;
}

std::optional<Plane> make_plane(const Compilation& compilation, std::size_t step, const interp::Arrays& inputs) {
  const math::Program& program = math_at(compilation, step);
  const DimValues dims = math::default_dims(program);
  const auto indices = find_plane(program, dims);
  if (!indices) return std::nullopt;
  const auto columns = extent_of(program, indices->column, dims);
  const auto rows = indices->row ? extent_of(program, *indices->row, dims) : std::optional<std::int64_t>(1);
  if (!columns || !rows || *columns < 1 || *rows < 1) return std::nullopt;
  const loop::Program* loops = loops_at(compilation, compilation.record.steps.size());
  Plane plane;
  plane.row = indices->row;
  plane.column = indices->column;
  plane.tensor = indices->tensor;
  plane.rows = *rows;
  plane.columns = *columns;
  plane.tile_rows = indices->row ? tile_of(loops, *indices->row, *rows, dims) : 1;
  plane.tile_columns = tile_of(loops, indices->column, *columns, dims);
  mark_mask(plane, mask_of(program, *indices), dims, program, inputs);
  return plane;
}

}  // namespace fathom::session::stage
