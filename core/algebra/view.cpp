// Unification is a union of (statement, index) places; a union that would give one statement one name twice is not made.
#include "algebra/view.hpp"

#include <algorithm>

#include "ir/math_kinds.hpp"

namespace fathom::algebra {

using math::Axis;
using math::Program;
using math::Reduction;
using math::Statement;

namespace {

using Place = std::pair<Symbol, Symbol>;  ///< statement, index

std::vector<Expr> parts_of(const Statement& statement) {
  if (const math::Map* map = statement.map()) return {map->value};
  std::vector<Expr> parts = statement.reduction()->values;
  for (const Axis& axis : statement.reduction()->over) parts.insert(parts.end(), {axis.lo, axis.hi});
  return parts;
}

bool same_range(const Axis& a, const Axis& b) {
  return a.lo && b.lo && a.hi && b.hi && simplify_integer(a.lo) == simplify_integer(b.lo) &&
         simplify_integer(a.hi) == simplify_integer(b.hi);
}

class Unifier {
 public:
  explicit Unifier(const Program& program) : program_(program) {
    for (const Statement& statement : program.statements) {
      for (const Axis& axis : statement.axes) place(statement.name, axis);
      if (const Reduction* reduction = statement.reduction())
        for (const Axis& axis : reduction->over) place(statement.name, axis);
    }
  }

  Program run() {
    for (const Statement& statement : program_.statements) join_reads(statement);
    for (const Statement& statement : program_.statements) join_reductions(statement);
    Program unified = program_;
    for (Statement& statement : unified.statements) rename(statement);
    return unified;
  }

 private:
  struct Class {
    std::vector<Place> members;
    Symbol name;
  };

  void place(Symbol statement, const Axis& axis) {
    const Place at{statement, axis.index};
    if (of_.count(at) != 0) return;
    of_[at] = classes_.size();
    axes_[at] = axis;
    classes_.push_back({{at}, axis.index});
  }

  /// Joins the classes unless a statement would then have one name for two of its indices.
  void join(const Place& a, const Place& b) {
    const auto x = of_.find(a);
    const auto y = of_.find(b);
    if (x == of_.end() || y == of_.end() || x->second == y->second) return;
    Class& keep = classes_[std::min(x->second, y->second)];
    Class& gone = classes_[std::max(x->second, y->second)];
    std::set<Symbol> statements;
    for (const Place& member : keep.members) statements.insert(member.first);
    for (const Place& member : gone.members)
      if (statements.count(member.first) != 0) return;
    const std::size_t target = std::min(x->second, y->second);
    for (const Place& member : gone.members) of_[member] = target;
    keep.members.insert(keep.members.end(), gone.members.begin(), gone.members.end());
    gone.members.clear();
  }

  void join_reads(const Statement& statement) {
    for (Expr part : parts_of(statement))
      visit(part, [&](Expr e) {
        const Statement* source = e.is(Op::read) ? program_.find(e.name()) : nullptr;
        if (source == nullptr) return;
        for (std::size_t i = 0; i < source->axes.size() && i < e.args().size(); ++i)
          if (e.arg(i).is(Op::index)) join({statement.name, e.arg(i).name()}, {source->name, source->axes[i].index});
      });
  }

  /// A consumer's reduction index takes the name of a producer's of the same range.
  void join_reductions(const Statement& statement) {
    const Reduction* reduction = statement.reduction();
    std::set<Symbol>& reached = reached_[statement.name];
    for (Expr part : parts_of(statement))
      for (Symbol name : tensors_read(part)) {
        const Statement* source = program_.find(name);
        if (source == nullptr) continue;
        if (source->reduction() != nullptr) reached.insert(name);
        reached.insert(reached_[name].begin(), reached_[name].end());
      }
    if (reduction == nullptr) return;
    for (const Axis& axis : reduction->over)
      for (Symbol name : reached)
        for (const Axis& other : program_.find(name)->reduction()->over)
          if (same_range(axis, other)) join({statement.name, axis.index}, {name, other.index});
  }

  /// Classes that still share a statement's name with another class keep apart by their own names.
  void rename(Statement& statement) {
    Substitution names;
    std::set<Symbol> used;
    const auto fresh = [&](Axis& axis) {
      const auto found = of_.find({statement.name, axis.index});
      Symbol name = found == of_.end() ? axis.index : classes_[found->second].name;
      while (!used.insert(name).second) name = primed(name);
      if (name != axis.index) names[index(axis.index)] = index(name);
      axis.index = name;
    };
    for (Axis& axis : statement.axes) fresh(axis);
    if (Reduction* reduction = std::get_if<Reduction>(&statement.value)) {
      for (Axis& axis : reduction->over) fresh(axis);
      for (Axis& axis : reduction->over) apply(axis, names);
      for (Expr& value : reduction->values) value = substitute(value, names);
    } else {
      auto& map = std::get<math::Map>(statement.value);
      map.value = substitute(map.value, names);
    }
    for (Axis& axis : statement.axes) apply(axis, names);
  }

  static void apply(Axis& axis, const Substitution& names) {
    if (names.empty()) return;
    axis.lo = substitute(axis.lo, names);
    axis.hi = substitute(axis.hi, names);
  }

  const Program& program_;
  std::map<Place, std::size_t> of_;
  std::map<Place, Axis> axes_;
  std::vector<Class> classes_;
  std::map<Symbol, std::set<Symbol>> reached_;
};

/// Is a conversion to the declared type meaning: does it round, or change the arithmetic of what reads it?
bool converts(const Statement& s, const kernel::Kinds& kinds, const std::vector<ReducerRef>& reducers) {
  const DType type = s.dtype;
  if (type == DType::real) return false;
  if (is_integer(type) || (is_float(type) && size_in_bytes(type) < 4)) return true;
  return kernel::kind_of(type) != math::computed_kind(s, kinds, reducers);
}

}  // namespace

Program unify_indices(const Program& opened) { return Unifier(opened).run(); }

ProgramView::ProgramView(const Program& opened) : program_(unify_indices(opened)) {
  const kernel::Kinds kinds = math::value_kinds(program_);
  for (const Statement& statement : program_.statements) {
    if (statement.map() == nullptr || converts(statement, kinds, program_.reducers)) continue;
    const Expr value = inlined(statement.map()->value);
    if (value.node().depth <= deepest) values_.emplace(statement.name, value);
  }
}

bool ProgramView::is_looked_through(const Statement& statement) const { return values_.count(statement.name) != 0; }

const Statement* ProgramView::reduction(Symbol name) const {
  const Statement* statement = program_.find(name);
  return statement != nullptr && statement->reduction() != nullptr ? statement : nullptr;
}

Expr ProgramView::inlined(Expr e) const {
  return transform(e, [&](Expr part) {
    if (!part.is(Op::read)) return part;
    const Statement* source = program_.find(part.name());
    if (source == nullptr || !is_looked_through(*source) || source->axes.size() != part.args().size()) return part;
    const auto found = values_.find(source->name);
    Substitution places;
    for (std::size_t i = 0; i < source->axes.size(); ++i) {
      const Expr at = part.arg(i).is(Op::index) ? part.arg(i) : simplify_integer(part.arg(i));
      if (const Expr own = index(source->axes[i].index); own != at) places[own] = at;
    }
    return places.empty() ? found->second : substitute(found->second, places);
  });
}

std::set<Symbol> ProgramView::reductions_read(Expr e) const {
  std::set<Symbol> all;
  std::vector<Symbol> work;
  for (Symbol name : tensors_read(inlined(e))) work.push_back(name);
  std::set<Symbol> seen;
  while (!work.empty()) {
    const Symbol name = work.back();
    work.pop_back();
    const Statement* statement = program_.find(name);
    if (statement == nullptr || !seen.insert(name).second) continue;
    if (statement->reduction() != nullptr)
      all.insert(name);
    else
      for (Symbol inner : tensors_read(inlined(statement->map()->value))) work.push_back(inner);
  }
  return all;
}

}  // namespace fathom::algebra
