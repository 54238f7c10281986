#include "passes/whole_rows.hpp"

#include <algorithm>

#include "passes/cost.hpp"

namespace fathom::passes {
namespace {

using loop::Loop;

constexpr std::int64_t bytes_of_a_vector = 16;  // bytes that a lane moves at once
/// Up to this many elements a lane, a row is one warp's: nothing has to cross warps.
constexpr std::int64_t most_elements_of_one_warp = 32;
/// Warps share a longer row until each lane has so many elements: two to four loads of 16 bytes are on their way at once.
constexpr std::int64_t usual_elements = 16;
/// Registers of a thread that the values of its rows may take: half of the 128 that 512 threads leave each.
constexpr double most_row_registers = 64;
constexpr std::int64_t usual_row_warps = 4;
constexpr double bytes_of_a_register = 4;

std::int64_t up_to_multiple(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// What an extent of a product is a multiple of: of the atoms' steps where it is contracted, of their columns elsewhere.
std::int64_t atom_grain(const Target& target, bool contracted) {
  std::int64_t grain = 1;
  for (const MatrixAtom& atom : target.atoms)
    if (!atom.asynchronous) grain = std::max<std::int64_t>(grain, contracted ? atom.k : atom.n);
  return grain;
}

std::set<Symbol> own_and_reduced(const math::Statement& s) {
  std::set<Symbol> names = axis_names(s);
  if (const auto* reduction = s.reduction())
    for (const math::Axis& axis : reduction->over) names.insert(axis.index);
  return names;
}

double element_bytes(const math::Program& program, Symbol tensor) {
  const math::Parameter* p = program.param(tensor);
  if (p == nullptr) p = program.result(tensor);
  return p == nullptr ? bytes_of_a_register : size_in_bytes(p->dtype);
}

/// The widest element of parameters and results along an index.
std::int64_t widest_element(const math::Program& program, Symbol name) {
  double bytes = 1;
  for (const math::Statement& s : program.statements) {
    if (!s.axes.empty() && s.axes.back().index == name && program.result(s.name) != nullptr)
      bytes = std::max(bytes, element_bytes(program, s.name));
    for (const Expr value : values_of(s)) {
      visit(value, [&](Expr e) {
        const bool along = e.is(Op::read) && !e.args().empty() && contains(e.args().back(), index(name));
        if (along && program.param(e.name()) != nullptr) bytes = std::max(bytes, element_bytes(program, e.name()));
      });
    }
  }
  return static_cast<std::int64_t>(bytes);
}

class Grouper {
 public:
  Grouper(const loop::Program& program, const Target& target) : program_(program), target_(target), nests_(nests_of(program)) {}

  std::vector<RowGroup> run() {
    std::vector<RowGroup> groups;
    if (!has_warps(target_)) return groups;
    for (std::size_t i = 0; i < nests_.size(); ++i) {
      if (nests_[i].folds.size() != 1 || (!groups.empty() && i <= groups.back().last)) continue;
      if (auto group = group_of(i)) groups.push_back(std::move(*group));
    }
    return groups;
  }

  /// The nest of a group: its statements in order, behind the loops that all of them have.
  [[nodiscard]] static Nest joined(const std::vector<Nest>& nests, const RowGroup& group) {
    Nest all;
    all.outer = others(nests[group.first], group.index);
    for (std::size_t i = group.first; i <= group.last; ++i) {
      const std::vector<Symbol> here = nests[i].statements();
      all.after.insert(all.after.end(), here.begin(), here.end());
    }
    return all;
  }

 private:
  static std::vector<Loop> others(const Nest& nest, Symbol name) {
    std::vector<Loop> out;
    for (const Loop& each : nest.outer)
      if (each.index != name) out.push_back(each);
    return out;
  }

  std::optional<RowGroup> group_of(std::size_t start) {
    RowGroup group;
    const Loop& fold = nests_[start].folds.front();
    group.index = fold.index;
    if (!is_fixed(program_.math, fold.hi - fold.lo)) return std::nullopt;
    group.extent = value_at_defaults(program_.math, fold.hi - fold.lo).value_or(0);
    // A row that does not fill half of the lanes has nothing to gain from them.
    if (group.extent <= target_.lanes / 2 || !belongs(nests_[start], nests_[start], fold)) return std::nullopt;
    group.first = group.last = start;
    while (group.first > 0 && belongs(nests_[group.first - 1], nests_[start], fold)) --group.first;
    while (group.last + 1 < nests_.size() && belongs(nests_[group.last + 1], nests_[start], fold)) ++group.last;
    for (std::size_t i = 0; i < nests_.size(); ++i)  // who else loops over the index wants tiles of it
      if ((i < group.first || i > group.last) && nests_[i].loop(group.index) != nullptr) return std::nullopt;
    if (!reads_own_rows(group)) return std::nullopt;
    for (const Loop& each : others(nests_[start], group.index)) {
      group.rows = each.index;
      group.rows_extent = std::max<std::int64_t>(1, value_at_defaults(program_.math, each.hi - each.lo).value_or(1));
      group.items *= group.rows_extent;
    }
    group.words = words_of(group);
    group.split = row_split(group.extent, widest_element(program_.math, group.index), target_);
    if (!group.fits(1, target_)) return std::nullopt;
    return group;
  }

  /// Has the nest no axes but the row and the loops that the first one has?
  bool belongs(const Nest& nest, const Nest& first, const Loop& row) const {
    if (nest.split || nest.combine || nest.folds.size() > 1) return false;
    std::set<Symbol> known = {row.index};
    const std::vector<Loop> own = others(nest, row.index), wanted = others(first, row.index);
    if (!std::equal(own.begin(), own.end(), wanted.begin(), wanted.end(), same_range)) return false;
    for (const Loop& each : own) known.insert(each.index);
    for (const auto* loops : {&nest.outer, &nest.folds}) {
      for (const Loop& each : *loops) {
        if (!known.contains(each.index) || !each.ranges.empty()) return false;
        if (each.index == row.index && !(each.lo == row.lo && each.hi == row.hi)) return false;
      }
    }
    const std::vector<Symbol> all = nest.statements();
    return std::all_of(all.begin(), all.end(), [&](Symbol name) {
      const math::Statement& s = *program_.math.find(name);
      const std::set<Symbol> axes = own_and_reduced(s);
      return !is_matrix_product(s) && std::all_of(axes.begin(), axes.end(), [&](Symbol each) { return known.contains(each); });
    });
  }

  /// What a statement reads of the group is its own row's.
  bool reads_own_rows(const RowGroup& group) const {
    std::set<Symbol> made;
    for (std::size_t i = group.first; i <= group.last; ++i) made.merge(nests_[i].statement_set());
    return std::all_of(made.begin(), made.end(), [&](Symbol reader) {
      const math::Statement& s = *program_.math.find(reader);
      const std::set<Symbol> reads = reads_of(s);
      return std::all_of(reads.begin(), reads.end(),
                         [&](Symbol name) { return !made.contains(name) || reads_at_identity(s, *program_.math.find(name)); });
    });
  }

  /// The most registers an element that live at once between two statements: of loads and of values along the row.
  double words_of(const RowGroup& group) const {
    struct Life {
      std::size_t from = 0, to = 0;
      double words = 1;
    };
    std::vector<std::pair<Expr, Life>> lives;
    const auto used = [&](Expr value, std::size_t at, double words) {
      const auto known = std::find_if(lives.begin(), lives.end(), [&](const auto& each) { return each.first == value; });
      if (known == lives.end()) {
        lives.push_back({value, {at, at, words}});
      } else {
        known->second.to = at;
      }
    };
    std::size_t at = 0;
    for (std::size_t i = group.first; i <= group.last; ++i) {
      for (const Symbol name : nests_[i].statements()) {
        const math::Statement& s = *program_.math.find(name);
        for (const Expr value : values_of(s)) {
          visit(value, [&](Expr e) {
            if (!e.is(Op::read) || !free_indices(e).contains(group.index)) return;
            const bool made = program_.math.find(e.name()) != nullptr;
            used(made ? read(e.name(), {}) : e, at,
                 (made ? bytes_of_a_register : element_bytes(program_.math, e.name())) / bytes_of_a_register);
          });
        }
        if (axis_names(s).contains(group.index)) used(read(name, {}), at, 1);
        ++at;
      }
    }
    double most = 0;
    for (std::size_t border = 0; border < at; ++border) {
      double here = 0;
      for (const auto& [value, life] : lives) here += life.from <= border && life.to > border ? life.words : 0;
      most = std::max(most, here);
    }
    return most;
  }

  const loop::Program& program_;
  const Target& target_;
  std::vector<Nest> nests_;
};

}  // namespace

bool has_warps(const Target& target) {
  return std::any_of(target.atoms.begin(), target.atoms.end(), [](const MatrixAtom& a) { return a.issuing_lanes > 1; });
}

RowSplit row_split(std::int64_t extent, std::int64_t bytes, const Target& target) {
  const std::int64_t lanes = target.lanes;
  RowSplit split;
  split.vector = std::max<std::int64_t>(1, bytes_of_a_vector / std::max<std::int64_t>(1, bytes));
  while (split.vector > 1 && lanes * split.vector > up_to_multiple(extent, lanes)) split.vector /= 2;
  if (extent > lanes * most_elements_of_one_warp)
    while (split.warps < most_warps_of_a_row && extent > lanes * split.warps * usual_elements) split.warps *= 2;
  split.extent = up_to_multiple(extent, lanes * split.vector * split.warps);
  split.elements = split.extent / (lanes * split.warps);
  return split;
}

std::int64_t whole_extent(const math::Program& program, Symbol name, std::int64_t extent, const Target& target) {
  if (!has_warps(target)) return extent;
  bool of_product = false, contracted = false;
  for (const math::Statement& s : program.statements) {
    if (!is_matrix_product(s) || !own_and_reduced(s).contains(name)) continue;
    of_product = true;
    contracted = contracted || !axis_names(s).contains(name);
  }
  if (of_product) return up_to_multiple(extent, atom_grain(target, contracted));
  return extent <= target.lanes / 2 ? extent : row_split(extent, widest_element(program, name), target).extent;
}

double RowGroup::registers(std::int64_t tile, const Target& target) const {
  if (tile == 1) return words * static_cast<double>(split.elements);
  std::int64_t warps = most_row_warps;
  while (tile % warps != 0) warps /= 2;
  return words * static_cast<double>(split.extent / target.lanes * (tile / warps));
}

bool RowGroup::fits(std::int64_t tile, const Target& target) const { return registers(tile, target) <= most_row_registers; }

std::int64_t RowGroup::usual_rows(const Target& target) const {
  std::int64_t tile = split.warps > 1 || rows.empty() ? 1 : usual_row_warps;
  while (tile > 1 && (!fits(tile, target) || items / tile < target.workgroups)) tile /= 2;
  return tile;
}

std::vector<RowGroup> row_groups(const loop::Program& program, const Target& target) { return Grouper(program, target).run(); }

loop::Program with_whole_rows(loop::Program program, const std::set<Symbol>& indices, const Target& target) {
  for (;;) {
    const std::vector<RowGroup> groups = row_groups(program, target);
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const RowGroup& g) { return indices.contains(g.index); });
    if (found == groups.end()) return program;
    std::vector<Nest> nests = nests_of(program);
    nests[found->first] = Grouper::joined(nests, *found);
    nests.erase(nests.begin() + static_cast<std::ptrdiff_t>(found->first) + 1,
                nests.begin() + static_cast<std::ptrdiff_t>(found->last) + 1);
    program.root = tree_of(nests);
  }
}

}  // namespace fathom::passes
