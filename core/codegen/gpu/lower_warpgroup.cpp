// Products that a warpgroup issues together: A from registers or shared memory, B from shared memory, on their way until they are awaited.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
/// Of the part of an operand that begins at this row and column: rows are multiples of eight, so their chunks are as they come. Where rows
/// of memory are steps along k (`rows_are_k`), a product takes several panels.
Expr KernelLowering::descriptor(const kernel::Access& operand, Expr row, Expr column, bool rows_are_k) {
  const Memory* m = memory(operand.name);
  if (m == nullptr || !m->panels)
    refused("`" + operand.name.text() + "` lies in no panels of 128 bytes, which a product of a warpgroup needs", {operand.name.text()},
            "its slots are filled by another role with copies, rows of whole multiples of 128 bytes");
  const std::size_t rank = m->extents.size();
  const std::int64_t size = size_in_bytes(m->dtype), rows = *constant_integer(simplify_integer(m->extents[rank - 2])),
                     columns = *constant_integer(simplify_integer(m->extents[rank - 1])), width = panel_bytes / size;
  Expr place =
      binary(Op::floordiv, column, number(width)) * number(rows * width) + row * number(width) + binary(Op::mod, column, number(width));
  Expr outer;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    const Expr at = index_expression(operand.subscripts[d], {}).expr;
    outer = outer ? outer * m->extents[d] + at : at;
  }
  if (outer) place = place + outer * number(rows * columns);
  constexpr std::int64_t eight_rows = 8 * panel_bytes, unused = 16;
  return call_of("matrix_descriptor", {call_of("&", {fathom::read(m->name, {simplify_integer(place)})}),
                                       number(rows_are_k ? rows * panel_bytes : unused), number(eight_rows)});
}

void KernelLowering::lower_product_of_warpgroup(const kernel::Mma& m, const MatrixAtom& atom) {
  const std::string& token = m.token.text();
  if (layouts_.places.warps * target_.lanes != atom.issuing_lanes || process_->first_warp % 4 != 0)
    refused(
        "the product `" + token + "` is issued by a warpgroup: its role has groups of " + std::to_string(layouts_.places.warps) + " warps",
        {token}, "give the role groups of 4 warps, and the roles before it multiples of 4");
  const layout::Product product = layout::product_of(m, layouts_);
  const Tile acc = tile(m.acc.name, layouts_.of[m.acc.name], Type::f32);
  const std::int64_t tiles_m = extent_of(product.m) / atom.m, tiles_n = extent_of(product.n) / atom.n,
                     steps = extent_of(product.k) / atom.k;
  const Expr k_of_b = subscript_of(m.b, product.k);
  (void)subscript_of(m.b, product.n);
  if ((m.b.subscripts.back() == k_of_b) == atom.b_rows_are_k)
    refused("`" + atom.name.text() + "` takes B the other way round than `" + m.b.name.text() + "` has it", {atom.name.text(), token});
  const bool a_in_registers = atom.a_home == Home::registers;
  if (!a_in_registers && m.a.subscripts.back() != subscript_of(m.a, product.k))
    refused("`" + m.a.name.text() + "` has its rows along k, which `" + atom.name.text() + "` does not take", {token});
  if (std::none_of(into_.products.begin(), into_.products.end(), [&](const MatrixAtom& known) { return known.name == atom.name; }))
    into_.products.push_back(atom);
  emit({Do{call_of("fence_before_products", {})}});
  const auto loop_over = [&](const std::string& like, std::int64_t trips, const std::function<void(Expr)>& body) {
    if (trips == 1) return body(number(0));
    Loop loop;
    loop.variable = names_.fresh(like);
    loop.lo = number(0);
    loop.hi = number(trips);
    loop.unrolled = true;
    not_negative_.insert(loop.variable);
    loop.body = inside([&] { body(symbol(loop.variable)); });
    names_.release(loop.variable);
    emit({loop});
  };
  loop_over("m_tile", tiles_m, [&](Expr mt) {
    loop_over(product.n.empty() ? "n_tile" : product.n[0].name.text() + "_tile", tiles_n, [&](Expr nt) {
      loop_over("step", steps, [&](Expr step) {
        std::map<Symbol, Expr> begins;
        begin_at(product.m, simplify_integer(mt * number(atom.m)), begins);
        begin_at(product.n, simplify_integer(nt * number(atom.n)), begins);
        begin_at(product.k, simplify_integer(step * number(atom.k)), begins);
        const Expr n = simplify_integer(nt * number(atom.n)), k = simplify_integer(step * number(atom.k));
        const Expr a =
            a_in_registers ? fragment(tiles_.at(m.a.name), begins) : descriptor(m.a, simplify_integer(mt * number(atom.m)), k, false);
        const Expr b = atom.b_rows_are_k ? descriptor(m.b, k, n, true) : descriptor(m.b, n, k, false);
        const Expr adds = m.accumulate ? boolean(true) : steps == 1 ? boolean(false) : binary(Op::gt, step, number(0));
        emit({Do{call(atom.name, {}, {fragment(acc, begins), a, b, adds})}});
      });
    });
  });
  emit({Do{call_of("commit_products", {})}});
  products_in_flight_.push_back(m.token);
}

/// Products that were issued later may still be on their way.
void KernelLowering::await_product(const kernel::Await& a) {
  const auto at = std::find(products_in_flight_.begin(), products_in_flight_.end(), a.token);
  if (at == products_in_flight_.end()) return;  // of an atom that is done when it is issued
  emit({Do{call_of("wait_for_products", {number(products_in_flight_.end() - at - 1)})}});
  products_in_flight_.erase(at);
  if (!a.acc) return;
  const Tile& acc = tiles_.at(a.acc->name);
  emit({Do{call_of("landed", {fragment(acc, {}), number(acc.layout.registers())})}});
}

}  // namespace fathom::gpu
