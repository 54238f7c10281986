// One name, one axis: in a Loop program the same index name in two statements means the same loop. Two occurrences are one axis if data
// connects them (a statement reads another's result at its own axis), or if two reductions walk the same axis of a parameter. The
// spelling of indices has no say: `j` in one statement and `k` in the next become one axis if one reads the other there.
#include <fmt/format.h>

#include <algorithm>

#include "passes/fuse_nests.hpp"
#include "passes/nest.hpp"
#include "passes/passes.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

/// An index of a statement, result axis or reduced.
using Occurrence = std::pair<Symbol, Symbol>;

/// Disjoint sets of occurrences; a set never holds two indices of one statement, and never two different ranges.
class Axes {
 public:
  void add(const Occurrence& occurrence, Expr lo, Expr hi, std::size_t order) {
    sets_[occurrence] = order;
    members_[order] = {occurrence};
    ranges_[occurrence] = {simplify_integer(lo), simplify_integer(hi)};
  }

  void unite(const Occurrence& a, const Occurrence& b) {
    const auto x = sets_.find(a), y = sets_.find(b);
    if (x == sets_.end() || y == sets_.end() || x->second == y->second) return;
    const std::size_t into = std::min(x->second, y->second), from = std::max(x->second, y->second);
    for (const Occurrence& left : members_[into]) {
      for (const Occurrence& right : members_[from]) {
        if (left.first == right.first) return;
      }
    }
    for (const Occurrence& moved : members_[from]) {
      sets_[moved] = into;
      members_[into].push_back(moved);
    }
    members_.erase(from);
  }

  [[nodiscard]] bool same_range(const Occurrence& a, const Occurrence& b) const { return ranges_.at(a) == ranges_.at(b); }
  [[nodiscard]] const std::map<std::size_t, std::vector<Occurrence>>& sets() const { return members_; }

 private:
  std::map<Occurrence, std::size_t> sets_;
  std::map<std::size_t, std::vector<Occurrence>> members_;  // by the order of the first member
  std::map<Occurrence, std::pair<Expr, Expr>> ranges_;
};

std::vector<math::Axis> all_axes(const math::Statement& statement) {
  std::vector<math::Axis> axes = statement.axes;
  if (const auto* reduction = statement.reduction()) axes.insert(axes.end(), reduction->over.begin(), reduction->over.end());
  return axes;
}

/// Calls f(read) for every read in the statement's values.
void each_read(const math::Statement& statement, const std::function<void(Expr)>& f) {
  for (const Expr value : values_of(statement)) {
    visit(value, [&](Expr e) {
      if (e.is(Op::read)) f(e);
    });
  }
}

void unite_by_statements(const math::Program& program, Axes& axes) {
  for (const math::Statement& reader : program.statements) {
    each_read(reader, [&](Expr e) {
      const math::Statement* producer = program.find(e.name());
      if (producer == nullptr) return;
      for (std::size_t i = 0; i < e.args().size() && i < producer->axes.size(); ++i) {
        if (!e.arg(i).is(Op::index)) continue;
        const Occurrence here{reader.name, e.arg(i).name()}, there{producer->name, producer->axes[i].index};
        axes.unite(there, here);
      }
    });
  }
}

/// Reductions and elementwise statements that walk the same axis of one parameter can share its tiles. The free axes of a reduction's
/// result are another matter: the columns of a product are no rows of the next.
void unite_by_parameters(const math::Program& program, Axes& axes) {
  std::map<std::pair<Symbol, std::size_t>, Occurrence> walkers;
  for (const math::Statement& reader : program.statements) {
    const auto* reduction = reader.reduction();
    std::set<Symbol> walked = axis_names(reader);
    if (reduction != nullptr) {
      walked.clear();
      for (const math::Axis& axis : reduction->over) walked.insert(axis.index);
    }
    each_read(reader, [&](Expr e) {
      if (program.param(e.name()) == nullptr) return;
      for (std::size_t i = 0; i < e.args().size(); ++i) {
        if (!e.arg(i).is(Op::index) || !walked.contains(e.arg(i).name())) continue;
        const Occurrence here{reader.name, e.arg(i).name()};
        const auto [known, is_new] = walkers.try_emplace({e.name(), i}, here);
        if (!is_new && axes.same_range(known->second, here)) axes.unite(known->second, here);
      }
    });
  }
}

/// A reduction and one that the algebra names as its producer walk equal ranges: one loop may serve both, whatever arrays they read.
void unite_by_analysis(const math::Program& program, const algebra::Analysis& analysis, Axes& axes) {
  for (const math::Statement& consumer : program.statements) {
    const auto* reduction = consumer.reduction();
    const Fusion* fusion = reduction != nullptr ? fusion_of(analysis, consumer.name) : nullptr;
    if (fusion == nullptr) continue;
    for (const Symbol name : fusion->producers) {
      const math::Statement* producer = program.find(name);
      if (producer == nullptr || producer->reduction() == nullptr || producer == &consumer) continue;
      for (const math::Axis& theirs : producer->reduction()->over) {
        for (const math::Axis& mine : reduction->over) {
          const Occurrence here{consumer.name, mine.index}, there{name, theirs.index};
          if (axes.same_range(here, there)) axes.unite(there, here);
        }
      }
    }
  }
}

std::string head_of(Symbol name) { return name.text().substr(0, name.text().find('.')); }

/// The name of each occurrence's axis: the spelling of its first occurrence, told apart by the statement that it serves.
std::map<Occurrence, Symbol> names_of(const Axes& axes) {
  std::map<Occurrence, Symbol> names;
  std::set<Symbol> taken;
  for (const auto& [order, members] : axes.sets()) {
    const Occurrence& first = members.front();
    Symbol name = first.second;
    if (taken.contains(name)) name = Symbol(fmt::format("{}.{}", first.second.text(), head_of(first.first)));
    for (int n = 2; taken.contains(name); ++n) name = Symbol(fmt::format("{}.{}.{}", first.second.text(), head_of(first.first), n));
    taken.insert(name);
    for (const Occurrence& member : members) names[member] = name;
  }
  return names;
}

math::Statement renamed(const math::Statement& statement, const std::map<Occurrence, Symbol>& names) {
  Substitution indices;
  for (const math::Axis& axis : all_axes(statement)) {
    const Symbol name = names.at({statement.name, axis.index});
    if (name != axis.index) indices[index(axis.index)] = index(name);
  }
  if (indices.empty()) return statement;
  const auto rename_axes = [&](std::vector<math::Axis>& list) {
    for (math::Axis& axis : list)
      axis = {names.at({statement.name, axis.index}), substitute(axis.lo, indices), substitute(axis.hi, indices)};
  };
  math::Statement result = with_values(statement, [&](Expr e) { return substitute(e, indices); });
  rename_axes(result.axes);
  if (auto* reduction = std::get_if<math::Reduction>(&result.value)) rename_axes(reduction->over);
  return result;
}

}  // namespace

Result<Ir> name_apart(const Ir& ir, StepLog& log) {
  math::Program program = ir.math();
  Axes axes;
  std::size_t order = 0;
  for (const math::Statement& statement : program.statements) {
    for (const math::Axis& axis : all_axes(statement)) axes.add({statement.name, axis.index}, axis.lo, axis.hi, order++);
  }
  unite_by_statements(program, axes);
  unite_by_parameters(program, axes);
  unite_by_analysis(program, log.analysis(), axes);
  const std::map<Occurrence, Symbol> names = names_of(axes);
  for (math::Statement& statement : program.statements) statement = renamed(statement, names);
  std::map<std::pair<Symbol, Symbol>, std::vector<std::string>> renamed_in;  // old and new name -> statements
  for (const auto& [occurrence, name] : names) {
    if (name != occurrence.second) renamed_in[{occurrence.second, name}].push_back(occurrence.first.text());
  }
  std::vector<std::string> told_apart;
  for (const auto& [change, statements] : renamed_in)
    told_apart.push_back(fmt::format("{} of {} is now {}", change.first.text(), listed(statements), change.second.text()));
  Ir after = told_apart.empty() ? ir : make_ir(program);
  log.set_normalised(std::move(program));
  StepLog::Note note;
  note.id = "name-apart";
  note.title = "Name the axes apart";
  const auto count = static_cast<std::int64_t>(axes.sets().size());
  note.says = fmt::format("{} {}{}.", capital(number_word(count)), count == 1 ? "axis" : "axes",
                          told_apart.empty() ? "" : "; " + listed(told_apart));
  log.step(std::move(note), after);
  return after;
}

}  // namespace fathom::passes
