#include "passes/registers.hpp"

#include <algorithm>

#include "passes/cost.hpp"
#include "passes/kernel_roles.hpp"
#include "passes/nest.hpp"
#include "passes/whole_rows.hpp"

namespace fathom::passes {
namespace {

constexpr double most_registers = 256, most_of_copies = 160;
constexpr double registers_of_a_copy = 8, registers_of_a_ragged_copy = 10;  // with what says whether it is inside
constexpr double bytes_of_a_copy = 16;
constexpr double register_bytes = 4;
constexpr double around_products = 32;  ///< of a warpgroup: maxima, sums and factors of its rows, places of barriers and slots

/// The needs of one nest, product by product.
class NestRegisters {
 public:
  NestRegisters(const math::Program& program, const Nest& nest, const Target& target) : program_(program), nest_(nest), target_(target) {}

  RegisterNeed run() {
    for (const Symbol name : nest_.statements()) {
      const math::Statement& s = *program_.find(name);
      if (is_matrix_product(s)) product(s);
    }
    need_.values += largest_of_a_trip_;
    if (groups_ > 0) {  // of the warpgroup's share, not of the most that a thread can have
      const auto split = split_registers(target_, groups_);
      need_.values += around_products + most_registers - (split ? static_cast<double>(split->consumer) : most_registers);
    }
    return need_;
  }

 private:
  void product(const math::Statement& s) {
    const math::Reduction& reduction = *s.reduction();
    const Symbol column = s.axes.back().index;
    double rows = 1, depth = 1;
    std::set<Symbol> row_axes;
    for (const math::Axis& axis : s.axes) {
      if (axis.index == column || extent_of(axis) == 1) continue;
      rows *= extent_of(axis);
      row_axes.insert(axis.index);
    }
    bool carried = false;
    for (const math::Axis& axis : reduction.over) {
      depth *= extent_of(axis);
      carried = carried || nest_.folds_over(axis.index);
    }
    const double warps = static_cast<double>(warps_of_rows(static_cast<std::int64_t>(rows), rows_of_atoms(target_)));
    const double threads = warps * target_.lanes, columns = extent_of(s.axes.back());
    of_trip_or_carried(rows * columns / threads, carried);
    constexpr std::int64_t rows_of_warpgroup = 64;
    const bool asynchronous = has_copy_engine(operand_type(reduction.values.front()));
    if (asynchronous) groups_ = std::max(groups_, std::max<std::int64_t>(1, static_cast<std::int64_t>(rows) / rows_of_warpgroup));
    visit(reduction.values.front(), [&](Expr e) {
      if (!e.is(Op::read) || e.args().empty()) return;
      const std::set<Symbol> indices = free_indices(e);
      const bool left = std::any_of(row_axes.begin(), row_axes.end(), [&](Symbol axis) { return indices.contains(axis); });
      if (left == indices.contains(column)) return;
      const bool in_loop = std::any_of(indices.begin(), indices.end(), [&](Symbol each) { return nest_.folds_over(each); });
      const double bytes = (left ? rows : columns) * depth * operand_bytes(reduction.values.front());
      const math::Parameter* loaded = program_.param(e.name());
      // A product of a warpgroup runs beside the next trip: what it reads from registers stays so long. What is loaded it reads elsewhere.
      const bool stays = !in_loop || (asynchronous && loaded == nullptr);
      if (left && (!asynchronous || stays)) of_trip_or_carried(bytes / register_bytes / threads, stays);
      if (in_loop && loaded != nullptr && !has_copy_engine(loaded->dtype) && copied_.insert(e).second)
        need_.copies += bytes / bytes_of_a_copy / threads * (is_ragged(indices) ? registers_of_a_ragged_copy : registers_of_a_copy);
    });
  }

  /// May a tile over one of these reach outside?
  bool is_ragged(const std::set<Symbol>& indices) const {
    return std::any_of(indices.begin(), indices.end(), [&](Symbol name) {
      const loop::Loop* loop = nest_.loop(name);
      if (loop == nullptr) return false;
      const auto tile = constant_integer(loop->tile), extent = value_at_defaults(program_, loop->hi - loop->lo);
      return !tile || !extent || !is_fixed(program_, loop->hi - loop->lo) || *extent % *tile != 0;
    });
  }

  /// Products of a warpgroup take their operands where a copy engine puts them: a producer asks for that, not the threads that compute.
  bool has_copy_engine(DType operand) const {
    return std::any_of(target_.atoms.begin(), target_.atoms.end(),
                       [&](const MatrixAtom& atom) { return atom.asynchronous && atom.a == operand && atom.b == operand; });
  }

  void of_trip_or_carried(double words, bool stays) {
    if (stays) need_.values += words;
    if (!stays) largest_of_a_trip_ = std::max(largest_of_a_trip_, words);
  }

  DType operand_type(Expr value) const {
    DType type = DType::f32;
    visit(value, [&](Expr e) {
      const math::Parameter* p = e.is(Op::read) ? program_.param(e.name()) : nullptr;
      if (p != nullptr && !e.args().empty()) type = p->dtype;
    });
    return type;
  }

  /// Of what is loaded: computed operands are rounded to that.
  double operand_bytes(Expr value) const {
    double bytes = register_bytes;
    visit(value, [&](Expr e) {
      const math::Parameter* p = e.is(Op::read) ? program_.param(e.name()) : nullptr;
      if (p != nullptr && !e.args().empty()) bytes = std::min<double>(bytes, size_in_bytes(p->dtype));
    });
    return bytes;
  }

  /// Of a tile: the loop's, or of the whole axis.
  double extent_of(const math::Axis& axis) const {
    if (const loop::Loop* loop = nest_.loop(axis.index)) return static_cast<double>(constant_integer(loop->tile).value_or(1));
    const std::int64_t extent = std::max<std::int64_t>(1, value_at_defaults(program_, axis.hi - axis.lo).value_or(1));
    return static_cast<double>(whole_extent(program_, axis.index, extent, target_));
  }

  const math::Program& program_;
  const Nest& nest_;
  const Target& target_;
  RegisterNeed need_;
  double largest_of_a_trip_ = 0;
  std::int64_t groups_ = 0;  ///< warpgroups whose products run beside their work; 0: none
  std::set<Expr> copied_;
};

}  // namespace

double RegisterNeed::excess() const { return std::max(0.0, values + copies - most_registers) + std::max(0.0, copies - most_of_copies); }

RegisterNeed register_need(const loop::Program& program, const Target& target) {
  RegisterNeed most;
  if (!has_warps(target)) return most;
  for (const Nest& nest : nests_of(program)) {
    const RegisterNeed one = NestRegisters(program.math, nest, target).run();
    if (one.excess() > most.excess() || (one.excess() == most.excess() && one.values + one.copies > most.values + most.copies)) most = one;
  }
  return most;
}

std::int64_t rows_of_atoms(const Target& target) {
  std::int64_t rows = 1;
  for (const MatrixAtom& atom : target.atoms)
    if (!atom.asynchronous) rows = std::max<std::int64_t>(rows, atom.m);
  return rows;
}

std::int64_t warps_of_rows(std::int64_t rows, std::int64_t atom_rows) {
  std::int64_t warps = most_row_warps;
  while (warps > 1 && rows % (warps * atom_rows) != 0) warps /= 2;
  return warps;
}

}  // namespace fathom::passes
