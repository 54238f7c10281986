#include "session/check_shapes.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace fathom::session {
namespace {

constexpr std::size_t rows = 5;
constexpr std::size_t kept = 4;                   // shapes of a row
constexpr std::int64_t most_assignments = 20000;  // that are looked at for a row

/// {1, t-1, t, 2t+1, 3t+t/2}, in an order that puts the telling ones first.
std::vector<std::int64_t> sizes_for(std::int64_t tile) {
  std::vector<std::int64_t> sizes;
  for (const std::int64_t size : {2 * tile + 1, tile, std::int64_t{1}, tile - 1, 3 * tile + tile / 2})
    if (size >= 1) sizes.push_back(size);
  return sizes;
}

/// A condition on dimensions alone; those on scalar parameters are met by data.
struct Condition {
  Expr expr;
  std::vector<Symbol> dims;
};

std::vector<Condition> conditions_of(const math::Program& program) {
  std::vector<Condition> conditions;
  for (const Expr expr : program.conditions) {
    std::set<Symbol> dims;
    bool closed = true;
    visit(expr, [&](Expr e) {
      if (e.is(Op::dim)) dims.insert(e.name());
      closed = closed && !e.is(Op::read) && !e.is(Op::symbol);
    });
    if (closed && !dims.empty()) conditions.push_back({expr, {dims.begin(), dims.end()}});
  }
  return conditions;
}

/// Met, but by numbers that say nothing: 1 divides everything, and so does a number itself.
bool is_trivial(const Condition& condition, const DimValues& shape) {
  std::set<std::int64_t> values;
  for (const Symbol dim : condition.dims) values.insert(shape.at(dim));
  return condition.dims.size() > 1 && (values.size() < condition.dims.size() || values.contains(1));
}

/// Sizes that one dimension may take in a row, the wanted one first.
struct Choice {
  Symbol dim;
  bool tiled = false;
  std::vector<std::int64_t> sizes;
};

/// Smaller is better: sizes of tiled dimensions that are not the row's own, conditions that say nothing, free dimensions that are equal
/// (what mixes them up would not show), distance from the wanted sizes.
using Merit = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Merit merit_of(const std::vector<Choice>& choices, const std::vector<Condition>& conditions, const DimValues& shape, bool distinct) {
  std::int64_t moved = 0, trivial = 0, equal = 0, distance = 0;
  for (const Condition& each : conditions) trivial += is_trivial(each, shape) ? 1 : 0;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::int64_t size = shape.at(choices[i].dim), wanted = choices[i].sizes.front();
    if (choices[i].tiled) {
      moved += size != wanted ? 1 : 0;
      continue;
    }
    distance += std::abs(size - wanted);
    for (std::size_t k = 0; distinct && k < i; ++k) equal += !choices[k].tiled && size > 1 && shape.at(choices[k].dim) == size ? 1 : 0;
  }
  return {moved, trivial, equal, distance};
}

/// The best shapes of a row, by looking at every assignment.
std::vector<DimValues> best_of(const std::vector<Choice>& choices, const std::vector<Condition>& conditions, bool distinct) {
  std::vector<std::pair<Merit, DimValues>> found;
  std::vector<std::size_t> at(choices.size(), 0);
  for (bool more = true; more;) {
    DimValues shape;
    for (std::size_t i = 0; i < choices.size(); ++i) shape[choices[i].dim] = choices[i].sizes[at[i]];
    const bool legal = std::all_of(conditions.begin(), conditions.end(),
                                   [&](const Condition& each) { return evaluate_integer(each.expr, shape).value_or(0) != 0; });
    if (legal) {
      const Merit merit = merit_of(choices, conditions, shape, distinct);
      const auto place = std::find_if(found.begin(), found.end(), [&](const auto& other) { return merit < other.first; });
      found.insert(place, {merit, std::move(shape)});
      if (found.size() > kept) found.pop_back();
    }
    more = false;
    for (std::size_t i = choices.size(); i-- > 0 && !more;) {
      more = ++at[i] < choices[i].sizes.size();
      if (!more) at[i] = 0;
    }
  }
  std::vector<DimValues> shapes;
  for (auto& [merit, shape] : found) shapes.push_back(std::move(shape));
  return shapes;
}

std::int64_t assignments(const std::vector<Choice>& choices) {
  std::int64_t product = 1;
  for (const Choice& each : choices) product = std::min(product * static_cast<std::int64_t>(each.sizes.size()), 2 * most_assignments);
  return product;
}

/// What each dimension may be in the row. Tiled ones run through their sizes, each at another pace; where a condition ties one of them, it
/// may leave its own size. `largest` bounds the others, which leave `small` where a condition asks for it or to be distinct.
std::vector<Choice> choices_of(const math::Program& program, const std::vector<TiledDim>& tiled, const std::vector<Condition>& conditions,
                               std::size_t row, std::int64_t small, bool distinct, std::int64_t largest) {
  std::vector<Choice> choices;
  for (const math::Dimension& each : program.dims) {
    Choice choice{each.name, false, {}};
    const bool tied = std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
      return std::find(condition.dims.begin(), condition.dims.end(), each.name) != condition.dims.end();
    });
    const auto found = std::find_if(tiled.begin(), tiled.end(), [&](const TiledDim& other) { return other.dim == each.name; });
    if (found != tiled.end()) {
      choice.tiled = true;
      choice.sizes = sizes_for(found->tile);
      const auto pace = static_cast<std::size_t>(found - tiled.begin()) + 1;
      std::rotate(choice.sizes.begin(), choice.sizes.begin() + static_cast<std::ptrdiff_t>(row * pace % choice.sizes.size()),
                  choice.sizes.end());
      if (!tied) choice.sizes.resize(1);
    } else {
      choice.sizes = {std::min(each.value, small)};
      for (std::int64_t size = 1; (tied || distinct) && size <= std::min(each.value, largest); ++size)
        if (size != choice.sizes.front()) choice.sizes.push_back(size);
    }
    choices.push_back(std::move(choice));
  }
  return choices;
}

/// Dimensions that the program declares with one value may have to stay equal.
DimValues tie_equal_dims(const math::Program& program, DimValues shape) {
  std::map<std::int64_t, std::int64_t> value_of;
  for (const math::Dimension& each : program.dims) shape[each.name] = value_of.emplace(each.value, shape.at(each.name)).first->second;
  return shape;
}

}  // namespace

DimValues with_equals(const math::Program& program, DimValues shape, Symbol dim) {
  std::set<Symbol> same = {dim};
  for (std::size_t again = 0; again < program.conditions.size(); ++again)  // equalities may follow each other
    for (const Expr condition : program.conditions) {
      if (!condition.is(Op::eq) || !condition.arg(0).is(Op::dim) || !condition.arg(1).is(Op::dim)) continue;
      const Symbol a = condition.arg(0).name(), b = condition.arg(1).name();
      if (same.contains(a) || same.contains(b)) same.insert({a, b});
    }
  for (const Symbol each : same) shape[each] = shape.at(dim);
  return shape;
}

std::vector<std::vector<DimValues>> shapes_for(const math::Program& program, const std::vector<TiledDim>& tiled, std::int64_t small,
                                               bool distinct) {
  const std::vector<Condition> conditions = conditions_of(program);
  std::vector<std::vector<DimValues>> all;
  std::set<DimValues> seen;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<Choice> choices;
    for (std::int64_t largest = 6; largest >= small; --largest) {
      choices = choices_of(program, tiled, conditions, row, small, distinct, largest);
      if (assignments(choices) <= most_assignments) break;
    }
    if (assignments(choices) > most_assignments)  // very many dimensions: what they would be without conditions
      for (Choice& each : choices) each.sizes.resize(1);
    std::vector<DimValues> shapes = best_of(choices, conditions, distinct);
    DimValues wanted;
    for (const Choice& each : choices) wanted[each.dim] = each.sizes.front();
    shapes.push_back(tie_equal_dims(program, shapes.empty() ? wanted : shapes.front()));
    if (seen.insert(shapes.front()).second) all.push_back(std::move(shapes));
  }
  return all;
}

}  // namespace fathom::session
