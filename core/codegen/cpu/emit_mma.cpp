// Matrix atoms of a CPU: fma_MxN_f32 is a register tile of M rows by N columns, accumulated over the contracted axis with one broadcast and
// one vector FMA a cell. Operands are addressed through their strides, so any layout is right; columns that are contiguous are fast.
// Ragged edges get register tiles of their own, the last columns a mask. What an atom cannot do is emitted as a plain contraction.
#include <charconv>

#include "codegen/cpu/emitter.hpp"

namespace fathom::cpu {

/// acc[m,n] += a[m,k] * b[k,n] for one combination of the outer axes.
struct KernelEmitter::Product {
  Operand acc, a, b;
  std::vector<Symbol> m_axes, n_axes, k_axes, outer;
  Symbol m, n, k;  ///< m may be empty: one row
  std::int64_t rows = 1, columns = 1, depth = 1;
  int tile_rows = 1, tile_vectors = 1, lanes = 1;
  bool accumulate = false;
};

/// One register tile: where it lies and what its cells hold.
struct KernelEmitter::Micro {
  llvm::Value *acc = nullptr, *a = nullptr, *b = nullptr;  ///< pointers to its first elements
  llvm::Value *acc_m = nullptr, *acc_n = nullptr, *a_m = nullptr, *a_k = nullptr, *b_k = nullptr, *b_n = nullptr;
  int rows = 1, vectors = 1, tail = 0;  ///< tail: lanes of the last vector in use; 0: all
  std::vector<llvm::Value*> cells;      ///< row by row
};

namespace {
constexpr int largest_tile = 64;  ///< accumulators; no machine has more vector registers than 32

/// fma_6x32_f32 -> 6, 32.
std::optional<std::pair<int, int>> register_tile(std::string_view atom) {
  constexpr std::string_view prefix = "fma_", suffix = "_f32";
  if (!atom.starts_with(prefix) || !atom.ends_with(suffix)) return std::nullopt;
  atom = atom.substr(prefix.size(), atom.size() - prefix.size() - suffix.size());
  int m = 0, n = 0;
  const char* end = atom.data() + atom.size();
  const auto [cross, bad] = std::from_chars(atom.data(), end, m);
  if (bad != std::errc() || cross == end || *cross != 'x') return std::nullopt;
  const auto [last, worse] = std::from_chars(cross + 1, end, n);
  if (worse != std::errc() || last != end || m < 1 || n < 1 || m > 64 || n > 1024) return std::nullopt;
  return std::pair(m, n);
}
}  // namespace

void KernelEmitter::emit_mma(const kernel::Mma& s) {
  flush();
  tokens_[s.token] = s.acc;
  define_targets({s.acc});
  Symbol atom;
  for (const kernel::AtomUse& use : k_.atoms)
    if (use.name == s.atom) atom = use.atom;
  const auto tile = register_tile(atom.text());
  if (!tile) {
    fail("The atom '" + s.atom.text() + "' = '" + atom.text() +
         "' is not one of the CPU's: those are register tiles named fma_MxN_f32, such as fma_6x32_f32.");
    return;
  }
  if (error_.empty() && !emit_matrix_atom(s, tile->first, tile->second)) emit_contraction(s);
}

// acc = [acc +] sum[k](a * b), as the statement would read.
void KernelEmitter::emit_contraction(const kernel::Mma& s) {
  std::set<Symbol> kept;
  for (Symbol axis : axes_of(s.acc.subscripts)) kept.insert(axis);
  std::vector<Bound> bound;
  std::vector<Expr> both = s.a.subscripts;
  both.insert(both.end(), s.b.subscripts.begin(), s.b.subscripts.end());
  for (Symbol axis : axes_of(both))
    if (!kept.contains(axis)) bound.push_back({axis, {}, {}});
  Expr sum = reduce("sum"_sym, {}, bound, {read(s.a.name, s.a.subscripts) * read(s.b.name, s.b.subscripts)});
  kernel::Value value;
  value.targets = {s.acc};
  value.values = {s.accumulate ? read(s.acc.name, s.acc.subscripts) + sum : sum};
  emit_value(value);
}

bool KernelEmitter::sort_axes(const kernel::Mma& s, Product& p) {
  const auto names = [&](const kernel::Access& access) {
    const auto list = axes_of(access.subscripts);
    return std::set<Symbol>(list.begin(), list.end());
  };
  const std::set<Symbol> in_acc = names(s.acc), in_a = names(s.a), in_b = names(s.b);
  for (Symbol axis : axes_of(s.acc.subscripts)) {
    const bool a = in_a.contains(axis), b = in_b.contains(axis);
    (a == b ? p.outer : a ? p.m_axes : p.n_axes).push_back(axis);
  }
  for (Symbol axis : axes_of(s.a.subscripts)) {
    if (in_acc.contains(axis)) continue;
    if (!in_b.contains(axis)) return false;
    p.k_axes.push_back(axis);
  }
  for (Symbol axis : in_b)
    if (!in_acc.contains(axis) && !in_a.contains(axis)) return false;
  return !p.k_axes.empty();
}

bool KernelEmitter::fits_atom(const Product& p) {
  if (p.acc.place->dtype != DType::f32) return false;
  std::vector<NestAxis> all;
  for (const auto* list : {&p.m_axes, &p.n_axes, &p.k_axes, &p.outer})
    for (const NestAxis& axis : nest_axes(*list)) all.push_back(axis);
  for (const Operand* o : {&p.acc, &p.a, &p.b}) {
    if (!o->place->local || kind_of(o->place->dtype) != Kind::f32) return false;
    for (std::size_t d = 0; d < o->subscripts.size(); ++d) {
      if (!proved_inside(o->subscripts[d], o->place->extents[d], all)) return false;
      for (const NestAxis& axis : all)
        if (!coefficient(o->subscripts[d], axis.name)) return false;
    }
  }
  return true;
}

// Columns run along vectors: an axis that is contiguous in the accumulator and in its operand, of either operand, else the last.
bool KernelEmitter::choose_columns(Product& p) {
  const auto unit = [&](const Operand& o, Symbol axis) { return constant_of(stride_along(o, axis)) == 1; };
  const auto wide = [&](const std::vector<Symbol>& candidates, const Operand& right) {
    for (std::size_t i = candidates.size(); i-- > 0;)
      if (unit(p.acc, candidates[i]) && unit(right, candidates[i])) return candidates[i];
    return Symbol();
  };
  p.n = wide(p.n_axes, p.b);
  if (const Symbol n = p.n.empty() ? wide(p.m_axes, p.a) : Symbol(); !n.empty()) {  // the transposed product
    std::swap(p.a, p.b);
    std::swap(p.m_axes, p.n_axes);
    p.n = n;
  }
  if (p.n.empty() && !p.n_axes.empty()) p.n = p.n_axes.back();
  if (p.n.empty()) return false;
  if (!p.m_axes.empty()) p.m = p.m_axes.back();
  p.k = p.k_axes.back();
  p.k_axes.pop_back();
  for (const auto* list : {&p.m_axes, &p.n_axes})
    for (Symbol axis : *list)
      if (axis != p.m && axis != p.n) p.outer.push_back(axis);
  p.rows = p.m.empty() ? 1 : extents_.at(p.m);
  p.columns = extents_.at(p.n);
  p.depth = extents_.at(p.k);
  return true;
}

void KernelEmitter::clear_accumulator(const Product& p, const Frame& at) {
  Frame cell = at;
  const std::vector<NestAxis> cells = nest_axes(p.m.empty() ? std::vector{p.n} : std::vector{p.m, p.n});
  const bool contiguous = constant_of(stride_along(p.acc, p.n)) == 1;
  loop_axes(cells, contiguous ? p.n : Symbol(), cell,
            [&](Frame& element) { store(*p.acc.place, p.acc.subscripts, element, ops_.real(0, Kind::f32)); });
}

bool KernelEmitter::emit_matrix_atom(const kernel::Mma& s, int rows, int columns) {
  const auto operand = [&](const kernel::Access& access) {
    const Place* place = find_place(access);
    if (place == nullptr) fail("'" + access.name.text() + "' is multiplied before anything is assigned to it.");
    return place == nullptr ? Operand{} : Operand{place, subscripts_of(*place, access.subscripts)};
  };
  Product p;
  p.acc = operand(s.acc);
  p.a = operand(s.a);
  p.b = operand(s.b);
  p.accumulate = s.accumulate;
  if (!error_.empty()) return true;
  if (condition_ || !sort_axes(s, p) || !fits_atom(p)) return false;
  std::vector<NestAxis> all;
  for (const auto* list : {&p.m_axes, &p.n_axes, &p.k_axes, &p.outer})
    for (const NestAxis& axis : nest_axes(*list)) all.push_back(axis);
  if (!choose_columns(p)) return false;
  p.lanes = ops_.host_lanes();
  while (columns % p.lanes != 0) p.lanes /= 2;
  p.tile_rows = rows;
  p.tile_vectors = columns / p.lanes;
  if (rows * p.tile_vectors > largest_tile) {
    fail("A register tile of " + std::to_string(rows) + "x" + std::to_string(columns) + " needs " + std::to_string(rows * p.tile_vectors) +
         " vectors, more than " + std::to_string(largest_tile) + ".");
    return true;
  }
  Frame frame;
  frame.axes = all;
  loop_axes(nest_axes(p.outer), Symbol(), frame, [&](Frame& at) {
    Product more = p;
    if (!p.k_axes.empty()) {  // several contracted axes: start at 0 once
      if (!p.accumulate) clear_accumulator(p, at);
      more.accumulate = true;
    }
    loop_axes(nest_axes(p.k_axes), Symbol(), at, [&](Frame& inner) { emit_product(more, inner); });
  });
  return true;
}

llvm::Value* KernelEmitter::stride_along(const Operand& o, Symbol axis) {
  llvm::Value* stride = ops_.i64(0);
  for (std::size_t d = 0; d < o.subscripts.size(); ++d)
    stride = b_.CreateAdd(stride, b_.CreateMul(ops_.i64(coefficient(o.subscripts[d], axis).value_or(0)), o.place->strides[d]));
  return stride;
}

llvm::Value* KernelEmitter::operand_pointer(const Operand& o, const Frame& frame) {
  Frame origin = frame;
  origin.memo.clear();
  llvm::Value* offset = ops_.i64(0);
  for (std::size_t d = 0; d < o.subscripts.size(); ++d)
    offset = b_.CreateAdd(offset, b_.CreateMul(ops_.convert(eval(o.subscripts[d], origin), Kind::integer).v, o.place->strides[d]));
  return element_pointer(*o.place, offset);
}

void KernelEmitter::emit_product(const Product& p, const Frame& frame) {
  const std::int64_t width = static_cast<std::int64_t>(p.tile_vectors) * p.lanes;
  const auto row_blocks = [&](llvm::Value* n0, int vectors, int tail) {
    const std::int64_t whole = p.rows / p.tile_rows * p.tile_rows;
    loop(ops_.i64(0), ops_.i64(whole), p.tile_rows, [&](llvm::Value* m0) { emit_micro(p, m0, p.tile_rows, n0, vectors, tail, frame); });
    if (whole < p.rows) emit_micro(p, ops_.i64(whole), static_cast<int>(p.rows - whole), n0, vectors, tail, frame);
  };
  const std::int64_t whole = p.columns / width * width;
  loop(ops_.i64(0), ops_.i64(whole), width, [&](llvm::Value* n0) { row_blocks(n0, p.tile_vectors, 0); });
  const int rest = static_cast<int>(p.columns - whole);
  if (rest > 0) row_blocks(ops_.i64(whole), (rest + p.lanes - 1) / p.lanes, rest % p.lanes);
}

void KernelEmitter::emit_micro(const Product& p, llvm::Value* m0, int rows, llvm::Value* n0, int vectors, int tail, const Frame& frame) {
  Frame origin = frame;
  if (!p.m.empty()) origin.index[p.m] = {ops_.i64(0), Kind::integer, 1};
  origin.index[p.n] = origin.index[p.k] = {ops_.i64(0), Kind::integer, 1};
  Micro t;
  t.rows = rows;
  t.vectors = vectors;
  t.tail = tail;
  t.acc_m = p.m.empty() ? ops_.i64(0) : stride_along(p.acc, p.m);
  t.a_m = p.m.empty() ? ops_.i64(0) : stride_along(p.a, p.m);
  t.acc_n = stride_along(p.acc, p.n);
  t.b_n = stride_along(p.b, p.n);
  t.a_k = stride_along(p.a, p.k);
  t.b_k = stride_along(p.b, p.k);
  t.acc = step_from(p.acc, operand_pointer(p.acc, origin), b_.CreateAdd(b_.CreateMul(m0, t.acc_m), b_.CreateMul(n0, t.acc_n)));
  t.a = step_from(p.a, operand_pointer(p.a, origin), b_.CreateMul(m0, t.a_m));
  t.b = step_from(p.b, operand_pointer(p.b, origin), b_.CreateMul(n0, t.b_n));
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v)
      t.cells.push_back(
          p.accumulate ? load_columns(p.acc, step_from(p.acc, t.acc, times(t.acc_m, r)), t.acc_n, v, p.lanes, micro_mask(t, v, p.lanes)).v
                       : ops_.real(0, Kind::f32, p.lanes).v);
  if (p.depth > 0) accumulate_micro(p, t);
  store_micro(p, t);
}

llvm::Value* KernelEmitter::step_from(const Operand& o, llvm::Value* base, llvm::Value* offset) {
  return b_.CreateGEP(ops_.memory_type(o.place->dtype), base, offset);
}

Val KernelEmitter::micro_mask(const Micro& t, int v, int lanes) {
  return t.tail != 0 && v == t.vectors - 1 ? ops_.first_lanes(t.tail, lanes) : Val{};
}

Val KernelEmitter::load_columns(const Operand& o, llvm::Value* base, llvm::Value* step, int v, int lanes, Val mask) {
  Address address;
  address.pointer = step_from(o, base, times(step, static_cast<std::int64_t>(v) * lanes));
  address.step = step;
  return ops_.splat(load_from(address, *o.place, lanes, mask, false), lanes);
}

// The loop over the contracted axis carries every cell of the tile in a register.
void KernelEmitter::accumulate_micro(const Product& p, Micro& t) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* body = llvm::BasicBlock::Create(function->getContext(), "fma", function);
  auto* after = llvm::BasicBlock::Create(function->getContext(), "after", function);
  b_.CreateBr(body);
  b_.SetInsertPoint(body);
  llvm::PHINode* k = b_.CreatePHI(b_.getInt64Ty(), 2, "k");
  k->addIncoming(ops_.i64(0), before);
  std::vector<llvm::PHINode*> carried;
  for (llvm::Value* start : t.cells) {
    carried.push_back(b_.CreatePHI(start->getType(), 2));
    carried.back()->addIncoming(start, before);
  }
  llvm::Value* b_row = step_from(p.b, t.b, b_.CreateMul(k, t.b_k));
  llvm::Value* a_column = step_from(p.a, t.a, b_.CreateMul(k, t.a_k));
  std::vector<Val> right;
  for (int v = 0; v < t.vectors; ++v) right.push_back(load_columns(p.b, b_row, t.b_n, v, p.lanes, micro_mask(t, v, p.lanes)));
  for (int r = 0; r < t.rows; ++r) {
    Address address;
    address.pointer = step_from(p.a, a_column, times(t.a_m, r));
    const Val left = ops_.splat(load_from(address, *p.a.place, 1, {}, false), p.lanes);
    for (int v = 0; v < t.vectors; ++v) {
      const auto cell = static_cast<std::size_t>(r * t.vectors + v);
      t.cells[cell] =
          b_.CreateIntrinsic(llvm::Intrinsic::fma, {left.v->getType()}, {left.v, right[static_cast<std::size_t>(v)].v, carried[cell]});
    }
  }
  llvm::Value* next = b_.CreateAdd(k, ops_.i64(1), "", true, true);
  k->addIncoming(next, body);
  for (std::size_t cell = 0; cell < t.cells.size(); ++cell) carried[cell]->addIncoming(t.cells[cell], body);
  b_.CreateCondBr(b_.CreateICmpSLT(next, ops_.i64(p.depth)), body, after);
  b_.SetInsertPoint(after);
}

void KernelEmitter::store_micro(const Product& p, const Micro& t) {
  const llvm::Align align(4);
  for (int r = 0; r < t.rows; ++r)
    for (int v = 0; v < t.vectors; ++v) {
      llvm::Value* value = t.cells[static_cast<std::size_t>(r * t.vectors + v)];
      Address address;
      address.pointer =
          step_from(p.acc, step_from(p.acc, t.acc, times(t.acc_m, r)), times(t.acc_n, static_cast<std::int64_t>(v) * p.lanes));
      address.step = t.acc_n;
      const Val mask = micro_mask(t, v, p.lanes);
      const bool contiguous = p.lanes == 1 || constant_of(t.acc_n) == 1;
      if (contiguous && !mask)
        b_.CreateAlignedStore(value, address.pointer, align);
      else if (contiguous)
        b_.CreateMaskedStore(value, address.pointer, align, mask.v);
      else
        b_.CreateMaskedScatter(value, pointers(address, *p.acc.place, p.lanes), align,
                               (mask ? mask : ops_.first_lanes(p.lanes, p.lanes)).v);
    }
}

}  // namespace fathom::cpu
