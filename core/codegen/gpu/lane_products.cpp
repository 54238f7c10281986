// Products of a warpgroup (PTX ISA, wgmma.mma_async): 64 rows, n columns, 16 steps, on their way until waited for.
#include <algorithm>

#include "codegen/gpu/lane_process.hpp"

namespace fathom::gpu {
namespace {

constexpr std::size_t product_rows = 64, product_steps = 16;
constexpr std::int64_t bytes_of_half = 2, bytes_of_panel_row = 128, rows_of_pattern = 8, columns_of_panel = 64;

}  // namespace

void LaneProcess::whole_warpgroups(const Mask& mask, const std::string& what) const {
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    const std::size_t begin = (first_ + lane) / lanes_of_warpgroup * lanes_of_warpgroup;  // of the workgroup's threads
    bool all = begin >= first_ && begin + lanes_of_warpgroup <= first_ + lanes_;
    for (std::size_t i = 0; all && i < lanes_of_warpgroup; ++i) all = mask[begin - first_ + i] != 0;
    if (!all) fault("`" + what + "` is done by a part of a warpgroup: lanes are missing");
  }
}

LaneProcess::Matrix LaneProcess::matrix(Expr e, const Mask& mask, std::size_t first) {
  if (!e.is(Op::call) || e.name().text() != "matrix_descriptor")
    fault("a product finds its matrices by `matrix_descriptor`, not by `" + fathom::print(e) + "`");
  const Place where = place(e.arg(0), mask);
  const std::size_t warpgroup = (first_ + first) / lanes_of_warpgroup;
  Matrix m;
  m.known = workgroup_.known_to_warpgroup(warpgroup);
  m.reader = workgroup_.products_of(warpgroup);
  m.group = static_cast<Clock>(products_[first / lanes_of_warpgroup].last);
  m.memory = where.memory;
  if (m.memory == nullptr || m.memory->address < 0)
    fault("`" + fathom::print(e.arg(0)) + "` does not lie in the dynamic part of shared memory, where matrices do");
  if (size_in_bytes(m.memory->type) != bytes_of_half) fault("`" + m.memory->name + "` has no numbers of 16 bits");
  for (std::size_t lane = first; lane < lanes_; ++lane)
    if (mask[lane] && where.at[lane] != where.at[first]) fault("the place of a matrix in `" + m.memory->name + "` differs between lanes");
  m.start = m.memory->address + where.at[first] * bytes_of_half;
  m.leading = uniform(e.arg(1), mask, "the leading distance of a matrix");
  m.stride = uniform(e.arg(2), mask, "the stride of a matrix");
  constexpr std::int64_t chunk = 16, most = 0x3fff * chunk;
  for (const std::int64_t distance : {m.leading, m.stride})
    if (distance < 0 || distance % chunk != 0 || distance > most)
      fault("a distance of " + std::to_string(distance) + " bytes has no place in a descriptor");
  if (m.start % chunk != 0) fault("a matrix in `" + m.memory->name + "` that is not aligned to 16 bytes");
  if ((m.start / bytes_of_panel_row) % rows_of_pattern != 0)
    fault("a panel of `" + m.memory->name + "` that is not aligned to 1024 bytes, at element " + std::to_string(where.at[first]));
  return m;
}

double LaneProcess::number_of_matrix(const Matrix& m, std::int64_t byte) {
  const std::int64_t plain = m.start + byte, swizzled = plain ^ (plain >> 7 & 7) << 4;
  return workgroup_.read_on_its_own(*m.memory, (swizzled - m.memory->address) / bytes_of_half, m.known, m.reader, m.group, "a product");
}

void LaneProcess::product(const MatrixAtom& atom, Expr e, const Mask& mask) {
  const std::string& name = atom.name.text();
  whole_warpgroups(mask, name);
  const Place c = place(e.arg(0), mask);
  const Place a = atom.a_home == Home::registers ? place(e.arg(1), mask) : Place{};
  for (const Place* p : {&c, &a})
    if (p->variable != nullptr && p->variable->uses.empty()) fault("`" + name + "` has its sums and its A in arrays of registers");
  for (std::size_t first = 0; first < lanes_; first += lanes_of_warpgroup) {
    if (!mask[first]) continue;
    Mask own(lanes_, 0);
    std::fill_n(own.begin() + static_cast<std::ptrdiff_t>(first), lanes_of_warpgroup, 1);
    Products& products = products_[first / lanes_of_warpgroup];
    if (products.fenced == 0) fault("`" + name + "` is the first product of its warpgroup: no `fence_before_products` stands before it");
    products.last = products.committed + 1;
    const std::vector<double> left = a.variable != nullptr ? left_from_registers(atom, a, first) : left_from_memory(e.arg(1), own, first);
    const std::vector<double> right = right_from_memory(atom, e.arg(2), own, first);
    add_product(atom, c, first, left, right, uniform(e.arg(3), own, "whether a product accumulates") != 0);
  }
}

/// Row 16w + lane / 4 (+ 8), steps 2 (lane % 4) (+ 1, + 8) of warp w, two to a register. Row after row.
std::vector<double> LaneProcess::left_from_registers(const MatrixAtom& atom, const Place& a, std::size_t first) {
  const Products& products = products_[first / lanes_of_warpgroup];
  const Type half = type_of(atom.a);
  std::vector<double> left(product_rows * product_steps);
  for (std::size_t l = 0; l < lanes_of_warpgroup; ++l) {
    for (std::size_t r = 0; r < 4; ++r) {
      const double pair = a.variable->cells[register_number(a, first + l, static_cast<std::int64_t>(r))];
      RegisterUse& use = *register_use(a, first + l, static_cast<std::int64_t>(r));
      if (use.accumulates > products.waited)
        fault("`" + a.variable->name.text() + "` is read while a product to it is on its way: nothing has waited for it");
      if (use.written > products.fenced) lacks_fence(atom, a);
      use.operand_of = products.last;
      const std::size_t row = l / 32 * 16 + l % 32 / 4 + r % 2 * 8, step = l % 4 * 2 + r / 2 * 8;
      left[row * product_steps + step] = half_of(half, pair, false);
      left[row * product_steps + step + 1] = half_of(half, pair, true);
    }
  }
  return left;
}

std::vector<double> LaneProcess::left_from_memory(Expr e, const Mask& own, std::size_t first) {
  const Matrix m = matrix(e, own, first);
  std::vector<double> left;
  for (std::int64_t row = 0; row < static_cast<std::int64_t>(product_rows); ++row) {
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(product_steps); ++k)
      left.push_back(number_of_matrix(m, row / 8 * m.stride + row % 8 * bytes_of_panel_row + k * bytes_of_half));
  }
  return left;
}

/// Column after column.
std::vector<double> LaneProcess::right_from_memory(const MatrixAtom& atom, Expr e, const Mask& own, std::size_t first) {
  const Matrix m = matrix(e, own, first);
  std::vector<double> right;
  for (std::int64_t n = 0; n < atom.n; ++n) {
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(product_steps); ++k) {
      const std::int64_t rows_are_k =
          n / columns_of_panel * m.leading + k / 8 * m.stride + k % 8 * bytes_of_panel_row + n % columns_of_panel * bytes_of_half;
      const std::int64_t rows_are_n = n / 8 * m.stride + n % 8 * bytes_of_panel_row + k * bytes_of_half;
      right.push_back(number_of_matrix(m, atom.b_rows_are_k ? rows_are_k : rows_are_n));
    }
  }
  return right;
}

/// Sum i of a lane: row 16w + lane / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (lane % 4) + i % 2. The sums are there at once, but whoever
/// looks at them before the wait is found.
void LaneProcess::add_product(const MatrixAtom& atom, const Place& c, std::size_t first, const std::vector<double>& left,
                              const std::vector<double>& right, bool accumulates) {
  const Products& products = products_[first / lanes_of_warpgroup];
  for (std::size_t l = 0; l < lanes_of_warpgroup; ++l) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(atom.n) / 2; ++i) {
      double& sum = c.variable->cells[register_number(c, first + l, static_cast<std::int64_t>(i))];
      RegisterUse& use = *register_use(c, first + l, static_cast<std::int64_t>(i));
      if (std::max(use.written, use.read) > products.fenced) lacks_fence(atom, c);
      if (use.operand_of > products.waited || (use.accumulates > products.waited && use.columns != atom.n))
        fault("`" + c.variable->name.text() + "` is used by products of two kinds at once: nothing has waited for the first");
      use.accumulates = products.last;
      use.columns = atom.n;
      const std::size_t row = l / 32 * 16 + l % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + l % 4 * 2 + i % 2;
      double total = accumulates ? sum : 0;
      for (std::size_t k = 0; k < product_steps; ++k) total += left[row * product_steps + k] * right[column * product_steps + k];
      sum = static_cast<double>(static_cast<float>(total));
    }
  }
}

void LaneProcess::lacks_fence(const MatrixAtom& atom, const Place& place) {
  fault("`" + place.variable->name.text() + "` is used by `" + atom.name.text() +
        "` after other statements have used it: `fence_before_products` is missing between them");
}

void LaneProcess::fence_before_products(Expr e, const Mask& mask) {
  whole_warpgroups(mask, e.name().text());
  for (std::size_t first = 0; first < lanes_; first += lanes_of_warpgroup)
    if (mask[first]) products_[first / lanes_of_warpgroup].fenced = time_;
}

void LaneProcess::commit_products(Expr e, const Mask& mask) {
  whole_warpgroups(mask, e.name().text());
  for (std::size_t first = 0; first < lanes_; first += lanes_of_warpgroup)
    if (mask[first]) ++products_[first / lanes_of_warpgroup].committed;
}

void LaneProcess::wait_for_products(Expr e, const Mask& mask) {
  whole_warpgroups(mask, e.name().text());
  const std::int64_t younger = uniform(e.arg(0), mask, "the number of products");
  for (std::size_t first = 0; first < lanes_; first += lanes_of_warpgroup) {
    if (!mask[first]) continue;
    Products& products = products_[first / lanes_of_warpgroup];
    products.waited = std::max(products.waited, products.committed - younger);
    for (std::size_t lane = first; lane < first + lanes_of_warpgroup; lane += warp_lanes_)
      workgroup_.clock(warp_of(lane))[workgroup_.products_of((first_ + first) / lanes_of_warpgroup)] = static_cast<Clock>(products.waited);
  }
}

}  // namespace fathom::gpu
