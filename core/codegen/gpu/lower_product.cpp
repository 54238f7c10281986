// Matrix products on the atoms of a warp: fragments in registers, or read from shared memory as matrices of 8 x 8.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
std::int64_t extent_of(const std::vector<layout::Part>& parts) {
  std::int64_t product = 1;
  for (const layout::Part& part : parts) product *= part.extent;
  return product;
}

namespace {

Expr address(Expr place) { return call_of("&", {place}); }

}  // namespace

void KernelLowering::begin_at(const std::vector<layout::Part>& parts, Expr start, std::map<Symbol, Expr>& begins) {
  std::int64_t below = 1;
  for (std::size_t i = parts.size(); i-- > 0;) {
    Expr part = below > 1 ? binary(Op::floordiv, start, number(below)) : start;
    if (i > 0) part = binary(Op::mod, part, number(parts[i].extent));
    begins[parts[i].name] = simplify_integer(part);
    below *= parts[i].extent;
  }
}

/// The first register of a fragment.
Expr KernelLowering::fragment(const Tile& tile, const std::map<Symbol, Expr>& begins) const {
  const std::vector<layout::Digit> digits = tile.layout.at(HierarchyLevel::registers);
  std::vector<RegisterDigit> places;
  for (const layout::Digit& digit : digits) {
    const auto begin = begins.find(digit.part);
    Expr place = begin == begins.end() ? number(0) : begin->second;
    if (digit.stride > 1) place = binary(Op::floordiv, place, number(digit.stride));
    const bool slowest =
        std::none_of(digits.begin(), digits.end(), [&](const layout::Digit& d) { return d.part == digit.part && d.stride > digit.stride; });
    if (!slowest) place = binary(Op::mod, place, number(digit.extent));
    places.push_back({{}, 1, 0, 1, simplify_integer(place), digit.stride, digit.extent});
  }
  if (tile.pairs) places.back() = places.back().halved();
  return address(is_array(tile) ? fathom::read(tile.name, {simplify_integer(register_index(places))}) : symbol(tile.name));
}

/// Address of the row that this lane gives for four matrices: they lie `first` and `second` apart along rows and columns of the slot.
Expr KernelLowering::matrix_row(const kernel::Access& slot, Expr row_axis, Expr row, Expr column_axis, Expr column) {
  Element at;
  at.axes[row_axis] = row;
  at.axes[column_axis] = column;
  const Memory& m = *memory(slot.name);
  return address(fathom::read(m.name, {offset(m, slot.subscripts, at)}));
}

/// The subscript that goes over these parts.
Expr KernelLowering::subscript_of(const kernel::Access& access, const std::vector<layout::Part>& parts) const {
  for (const Expr s : access.subscripts) {
    const std::vector<layout::Part> own = layouts_.parts_of(s);
    if (own.size() == parts.size() && !own.empty() && own[0].name == parts[0].name) return s;
  }
  refused("`" + fathom::print(read(access.name, access.subscripts)) + "` is no matrix that an atom can take", {access.name.text()});
}

/// Unrolled; without a loop where there is one trip.
void KernelLowering::unrolled_loop(const std::string& like, std::int64_t trips, const std::function<void(Expr)>& body) {
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
}

void KernelLowering::lower_mma(const kernel::Mma& m) {
  const MatrixAtom* atom = layout::atom_of(kernel_, m.atom, target_);
  if (atom == nullptr) refused("the target has no atom `" + m.atom.text() + "`", {m.atom.text()});
  if (atom->asynchronous) return lower_product_of_warpgroup(m, *atom);
  const layout::Product product = layout::product_of(m, layouts_);
  const layout::Layout layout = layouts_.of[m.acc.name];
  const Tile acc = tile(m.acc.name, layout, Type::f32);
  if (!m.accumulate) over_registers(layout, {}, [&](const Element& at) { emit({Assign{place_in(acc, at), cast(DType::f32, number(0))}}); });
  const std::int64_t tiles_m = extent_of(product.m) / atom->m, shared_by = std::min(layouts_.places.warps, tiles_m);
  const std::int64_t own_m = tiles_m / shared_by, tiles_n = extent_of(product.n) / atom->n, tiles_k = extent_of(product.k) / atom->k;
  if (shared_by < layouts_.places.warps) refused("the product `" + m.token.text() + "` has fewer rows than its warps do", {m.token.text()});
  const std::string tile_of = product.n.empty() ? "n" : product.n[0].name.text();
  const bool a_in_slot = tiles_.count(m.a.name) == 0, b_in_slot = tiles_.count(m.b.name) == 0;
  const bool halves = size_in_bytes(atom->b) == 2;
  // Steps along k that one load of matrices serves.
  const std::int64_t together = target_.loads_matrices && b_in_slot && halves && tiles_k % 2 == 0 ? 2 : 1;
  const Symbol mma(atom->name);
  unrolled_loop("m_tile", own_m, [&](Expr mt) {
    unrolled_loop(tile_of + "_tile", tiles_n, [&](Expr nt) {
      unrolled_loop("step", tiles_k / together, [&](Expr kk) {
        std::map<Symbol, Expr> begins;
        begin_at(product.m, simplify_integer(mt * number(atom->m)), begins);
        begin_at(product.n, simplify_integer(nt * number(atom->n)), begins);
        Expr b_registers;
        if (b_in_slot) b_registers = load_b(m, product, *atom, nt, kk, together);
        for (std::int64_t k = 0; k < together; ++k) {
          const Expr step = simplify_integer(kk * number(together) + number(k));
          begin_at(product.k, simplify_integer(step * number(atom->k)), begins);
          const Expr a = a_in_slot ? load_a(m, product, *atom, mt, step) : fragment(tiles_.at(m.a.name), begins);
          const Expr b = b_in_slot ? address(fathom::read(b_registers.name(), {number(2 * k)})) : fragment(tiles_.at(m.b.name), begins);
          emit({Do{call(mma, {}, {fragment(acc, begins), a, b})}});
        }
        if (b_registers) names_.release(b_registers.name());
      });
    });
  });
}

/// B of one or two steps along k, for eight columns.
Expr KernelLowering::load_b(const kernel::Mma& m, const layout::Product& product, const MatrixAtom& atom, Expr nt, Expr kk,
                            std::int64_t steps) {
  const Expr n_axis = subscript_of(m.b, product.n), k_axis = subscript_of(m.b, product.k), lane = symbol(Symbol("lane"));
  if (!target_.loads_matrices) {
    const FragmentSource source{n_axis, simplify_integer(nt * number(atom.n)), k_axis, simplify_integer(kk * number(atom.k))};
    return load_fragment(m.b, source, atom.b_fragment, "b");
  }
  const bool rows_are_n = m.b.subscripts.back() == k_axis;
  const Symbol registers = names_.fresh("b");
  if (size_in_bytes(atom.b) != 2) {  // element by element, as the fragment has them
    emit({Declare{{registers, type_of(atom.b), {2}}, {}}});
    for (std::int64_t i = 0; i < 2; ++i) {
      Element at;
      at.axes[n_axis] = simplify_integer(nt * number(atom.n)) + binary(Op::floordiv, lane, number(4));
      at.axes[k_axis] = simplify_integer(kk * number(atom.k)) + binary(Op::mod, lane, number(4)) * number(2) + number(i);
      const Memory& slot = *memory(m.b.name);
      emit({Assign{fathom::read(registers, {number(i)}), fathom::read(slot.name, {offset(slot, m.b.subscripts, at)})}});
    }
    return symbol(registers);
  }
  emit({Declare{{registers, Type::pair_bf16, {2 * steps}}, {}}});
  const Expr n = simplify_integer(nt * number(atom.n)), k = simplify_integer(kk * number(atom.k * steps));
  const Expr matrix = binary(Op::floordiv, lane, number(8)), row = binary(Op::mod, lane, number(8));
  const char* load = steps == 2 ? (rows_are_n ? "load_matrices_4" : "load_matrices_4_transposed")
                                : (rows_are_n ? "load_matrices_2" : "load_matrices_2_transposed");
  const Expr from = rows_are_n ? matrix_row(m.b, n_axis, n + row, k_axis, k + matrix * number(8))
                               : matrix_row(m.b, k_axis, k + (steps == 2 ? lane : binary(Op::mod, lane, number(16))), n_axis, n);
  emit({Do{call_of(load, {symbol(registers), from})}});
  return symbol(registers);
}

/// A of one step along k, for sixteen rows of this warp.
Expr KernelLowering::load_a(const kernel::Mma& m, const layout::Product& product, const MatrixAtom& atom, Expr mt, Expr step) {
  if (!target_.loads_matrices) {
    const FragmentSource source{subscript_of(m.a, product.m), own_rows(product, atom, mt), subscript_of(m.a, product.k),
                                simplify_integer(step * number(atom.k))};
    const Symbol loaded = load_fragment(m.a, source, atom.a_fragment, "a").name();
    names_.release(loaded);
    return address(fathom::read(loaded, {number(0)}));
  }
  const Symbol registers = names_.fresh("a");
  emit({Declare{{registers, Type::pair_bf16, {4}}, {}}});
  load_a_into(symbol(registers), m.a, product, atom, mt, step);
  names_.release(registers);
  return address(fathom::read(registers, {number(0)}));
}

/// Where the rows of this warp begin.
Expr KernelLowering::own_rows(const layout::Product& product, const MatrixAtom& atom, Expr mt) const {
  const std::int64_t rows = atom.m * target_.lanes / atom.issuing_lanes;  // of a warp in one tile
  const std::int64_t of_warp = extent_of(product.m) / std::min(layouts_.places.warps, extent_of(product.m) / rows);
  const Expr first = simplify_integer(mt * number(atom.m));
  if (layouts_.places.warps <= 1) return first;
  const Expr own = symbol(Symbol("warp")) * number(of_warp);
  return first == number(0) ? own : own + first;
}

void KernelLowering::load_a_into(Expr registers, const kernel::Access& a, const layout::Product& product, const MatrixAtom& atom, Expr mt,
                                 Expr step) {
  const Expr m_axis = subscript_of(a, product.m), k_axis = subscript_of(a, product.k), lane = symbol(Symbol("lane"));
  const bool rows_are_m = a.subscripts.back() == k_axis;
  if (size_in_bytes(atom.a) != 2)
    refused("a left operand of 32 bits comes from registers: give it the layout of its atom first", {a.name.text()});
  const Expr first = own_rows(product, atom, mt);
  const Expr k = simplify_integer(step * number(atom.k)), upper = binary(Op::floordiv, lane, number(16));
  const auto from_begin = [](Expr begin, Expr more) { return begin == number(0) ? more : begin + more; };
  const Expr m_place = from_begin(first, rows_are_m ? binary(Op::mod, lane, number(16))
                                                    : binary(Op::mod, binary(Op::floordiv, lane, number(8)), number(2)) * number(8));
  const Expr k_place = from_begin(k, rows_are_m ? upper * number(8) : upper * number(8) + binary(Op::mod, lane, number(8)));
  const Expr from = rows_are_m ? matrix_row(a, m_axis, m_place, k_axis, k_place) : matrix_row(a, k_axis, k_place, m_axis, m_place);
  emit({Do{call_of(rows_are_m ? "load_matrices_4" : "load_matrices_4_transposed", {registers, from})}});
}

/// `qf[r,d] = qs[r,d] as qk.a`: fragments of a whole operand, kept in registers. False where the slot is no matrix of 16-bit numbers.
bool KernelLowering::load_operand(const kernel::Value& v) {
  if (!v.layout || v.layout->role != kernel::OperandRole::a || v.values.size() != 1) return false;
  if (!target_.loads_matrices) return gather_operand(v);  // what a slot has is loaded as any value is
  if (!v.values[0].is(Op::read)) return false;
  const Expr value = v.values[0];
  const Memory* m = memory(value.name());
  const MatrixAtom* atom = layout::atom_of(kernel_, v.layout->atom, target_);
  if (m == nullptr || m->global || atom == nullptr || size_in_bytes(m->dtype) != 2 || tiles_.count(v.targets[0].name) > 0) return false;
  const kernel::Mma* taken = product_with(v.layout->atom);
  if (taken == nullptr) return false;
  const layout::Product product = layout::product_of(*taken, layouts_);
  const Tile to = tile(v.targets[0].name, layouts_.of[v.targets[0].name], type_of(m->dtype));
  const kernel::Access from{value.name(), {value.args().begin(), value.args().end()}};
  const std::int64_t own_m = extent_of(product.m) / atom->m / std::min(layouts_.places.warps, extent_of(product.m) / atom->m);
  unrolled_loop("m_tile", own_m, [&](Expr mt) {
    unrolled_loop("step", extent_of(product.k) / atom->k, [&](Expr step) {
      std::map<Symbol, Expr> begins;
      begin_at(product.m, simplify_integer(mt * number(atom->m)), begins);
      begin_at(product.k, simplify_integer(step * number(atom->k)), begins);
      load_a_into(fragment(to, begins), from, product, *atom, mt, step);
    });
  });
  return true;
}

const kernel::Mma* KernelLowering::product_with(Symbol atom) const {
  const std::function<const kernel::Mma*(const kernel::Block&)> find = [&](const kernel::Block& block) -> const kernel::Mma* {
    for (const kernel::Statement& s : block) {
      if (const auto* m = std::get_if<kernel::Mma>(&s.op); m != nullptr && m->atom == atom) return m;
      const kernel::Mma* inner = nullptr;
      if (const auto* f = std::get_if<kernel::For>(&s.op)) inner = find(f->body);
      if (const auto* w = std::get_if<kernel::When>(&s.op)) inner = find(w->body);
      if (const auto* i = std::get_if<kernel::If>(&s.op)) inner = find(i->body);
      if (inner != nullptr) return inner;
    }
    return nullptr;
  };
  return find(process_->role->body);
}

}  // namespace fathom::gpu
