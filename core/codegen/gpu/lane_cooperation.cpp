// What lanes, workgroups and kernels do together, as the machine does it: written from its manual. Workgroups run one after the other here.
#include <algorithm>

#include "codegen/gpu/lane_process.hpp"
#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

bool launched(Expr when, const DimValues& dims) {
  if (when.is(Op::boolean)) return when.node().truth;
  if (when.is(Op::logical_not)) return !launched(when.arg(0), dims);
  if (when.is(Op::logical_and)) return launched(when.arg(0), dims) && launched(when.arg(1), dims);
  if (when.is(Op::logical_or)) return launched(when.arg(0), dims) || launched(when.arg(1), dims);
  const auto side = [&](std::size_t i) { return i < when.args().size() ? evaluate_integer(when.arg(i), dims) : std::nullopt; };
  const auto a = side(0), b = side(1);
  if (!a || !b) fault("the launch condition `" + fathom::print(when) + "` is not known");
  switch (when.op()) {
    case Op::eq:
      return *a == *b;
    case Op::ne:
      return *a != *b;
    case Op::lt:
      return *a < *b;
    case Op::le:
      return *a <= *b;
    case Op::gt:
      return *a > *b;
    case Op::ge:
      return *a >= *b;
    default:
      fault("the launch condition `" + fathom::print(when) + "` is no comparison of whole numbers");
  }
}

std::optional<std::optional<Lanes>> LaneProcess::cooperation(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  if (name == "wait_for_kernels_in_front" || name == "start_kernel_behind") return std::optional<Lanes>();
  if (name == "copy_async_evict_first" || name == "copy_async_evict_last") {
    copy_async(e, mask);
    return std::optional<Lanes>();
  }
  if (name == "load_fresh") return load(place(e.arg(0), mask), mask);
  if (name == "shuffle_from") {
    whole_warps(mask, name);
    const Lanes from = value(e.arg(0), mask), lane_of = value(e.arg(1), mask);
    Lanes made = from;
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      if (mask[lane]) made.of[lane] = from.of[lane / warp_lanes_ * warp_lanes_ + static_cast<std::size_t>(lane_of.of[lane]) % warp_lanes_];
    return made;
  }
  if (name == "transposed_matrix") {  // movmatrix (PTX ISA): row r of the matrix is in lanes 4r … 4r + 3, two elements each
    whole_warps(mask, name);
    const Lanes from = value(e.arg(0), mask);
    Lanes made = from;
    const auto half = [&](std::size_t first, std::size_t row, std::size_t column) {
      const double pair = from.of[first + row * 4 + column / 2];
      if (pair != pair) fault("a matrix is moved whose elements are not all there");
      const auto bits = static_cast<std::uint32_t>(pair);
      return column % 2 == 0 ? bits & 0xffffU : bits >> 16U;
    };
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      if (!mask[lane]) continue;
      const std::size_t first = lane / warp_lanes_ * warp_lanes_, row = lane % warp_lanes_ / 4, column = lane % 4 * 2;
      made.of[lane] = static_cast<double>(half(first, column, row) | half(first, column + 1, row) << 16U);
    }
    return made;
  }
  if (name != "atomic_add" && name != "atomic_max" && name != "atomic_min") return std::nullopt;
  const Place at = place(e.arg(0), mask);
  const Lanes operand = value(e.arg(1), mask);
  Lanes made{operand.type, std::vector<double>(lanes_, 0)};
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    const double before = made.of[lane] = read_cell(*at.memory, at.at[lane], lane), x = operand.of[lane];
    if (before != before) fault("`" + at.memory->name + "` is counted in before anything is stored to it");
    at.memory->cells[static_cast<std::size_t>(at.at[lane])] = name == "atomic_add"   ? before + x
                                                              : name == "atomic_max" ? std::max(before, x)
                                                                                     : std::min(before, x);
  }
  return made;
}

}  // namespace fathom::gpu
