// Look-ups in Math programs.
#include "ir/math.hpp"

#include <algorithm>

namespace fathom::math {
namespace {

template <class Item>
const Item* find_in(const std::vector<Item>& items, Symbol name) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const Item& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

/// Neither a reduction nor a call of a function inside.
bool is_elementwise(Expr expr) {
  bool result = true;
  visit(expr, [&](Expr part) { result = result && !part.is(Op::reduce) && !part.is(Op::call); });
  return result;
}

}  // namespace

const Statement* Program::find(Symbol wanted) const { return find_in(statements, wanted); }
const Parameter* Program::param(Symbol wanted) const { return find_in(params, wanted); }
const Parameter* Program::result(Symbol wanted) const { return find_in(results, wanted); }
const Dimension* Program::dimension(Symbol wanted) const { return find_in(dims, wanted); }

std::optional<std::vector<Expr>> extents_of(const Program& program, Symbol tensor) {
  if (const Parameter* param = program.param(tensor)) return param->extents;
  const Statement* statement = program.find(tensor);
  if (statement == nullptr) return std::nullopt;
  std::vector<Expr> extents;
  for (const Axis& axis : statement->axes) extents.push_back(simplify_integer(axis.hi - axis.lo));
  return extents;
}

std::optional<std::vector<Range>> ranges_of(const Program& program, Symbol tensor) {
  std::vector<Range> ranges;
  if (const Parameter* param = program.param(tensor)) {
    for (const Expr extent : param->extents) ranges.push_back({number(0), extent});
    return ranges;
  }
  const Statement* statement = program.find(tensor);
  if (statement == nullptr) return std::nullopt;
  for (const Axis& axis : statement->axes) ranges.push_back({axis.lo, axis.hi});
  return ranges;
}

DimValues default_dims(const Program& program) {
  DimValues values;
  for (const Dimension& dimension : program.dims) values[dimension.name] = dimension.value;
  return values;
}

bool is_opened(const Program& program) {
  return std::all_of(program.statements.begin(), program.statements.end(), [](const Statement& statement) {
    if (const Map* map = statement.map()) return is_elementwise(map->value);
    const std::vector<Expr>& values = statement.reduction()->values;
    return std::all_of(values.begin(), values.end(), is_elementwise);
  });
}

}  // namespace fathom::math
