// Loop nests of elementwise statements. Neighbours over the same axes share one nest, and what one writes the next reads from registers;
// a value that nothing else reads is never stored. One axis becomes vector lanes: the one with the fewest gathers. Where a copy is
// contiguous along one axis on each side, square blocks are transposed in registers.
#include <bit>

#include "codegen/cpu/emitter.hpp"

namespace fathom::cpu {
namespace {
constexpr int gather_cost = 16;
constexpr int scatter_cost = 20;
}  // namespace

// ---- loops ----

void KernelEmitter::loop(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const std::function<void(llvm::Value*)>& body) {
  const auto first = constant_of(lo), last = constant_of(hi);
  if (first && last && *last <= *first) return;
  if (first && last && *last - *first <= step) {  // one trip
    body(lo);
    return;
  }
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = function->getContext();
  llvm::BasicBlock* before = b_.GetInsertBlock();
  auto* head = llvm::BasicBlock::Create(context, "head", function);
  auto* inside = llvm::BasicBlock::Create(context, "body", function);
  auto* after = llvm::BasicBlock::Create(context, "after", function);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  i->addIncoming(lo, before);
  b_.CreateCondBr(b_.CreateICmpSLT(i, hi), inside, after);
  b_.SetInsertPoint(inside);
  body(i);
  llvm::Value* next = b_.CreateAdd(i, ops_.i64(step), "", true, true);
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(after);
}

void KernelEmitter::branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
  llvm::Function* function = b_.GetInsertBlock()->getParent();
  llvm::LLVMContext& context = function->getContext();
  auto* yes = llvm::BasicBlock::Create(context, "then", function);
  auto* no = llvm::BasicBlock::Create(context, "else", function);
  auto* after = otherwise ? llvm::BasicBlock::Create(context, "after", function) : no;
  b_.CreateCondBr(condition, yes, no);
  b_.SetInsertPoint(yes);
  then();
  b_.CreateBr(after);
  if (otherwise) {
    b_.SetInsertPoint(no);
    otherwise();
    b_.CreateBr(after);
  }
  b_.SetInsertPoint(after);
}

int KernelEmitter::lanes_for(std::int64_t extent) const {
  return static_cast<int>(
      std::min<std::int64_t>(ops_.host_lanes(), static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(extent)))));
}

void KernelEmitter::loop_vector(const NestAxis& axis, Frame& frame, const std::function<void(Frame&)>& body) {
  const std::int64_t extent = *axis.extent;
  const int lanes = lanes_for(extent);
  const std::int64_t whole = extent / lanes * lanes;
  const auto block = [&](llvm::Value* first, Val tail) {
    Frame inner = frame;
    inner.vector_axis = axis.name;
    inner.lanes = lanes;
    inner.first = first;
    inner.tail = tail;
    inner.index[axis.name] = ops_.iota(first, lanes);
    inner.memo.clear();
    body(inner);
  };
  loop(ops_.i64(0), ops_.i64(whole), lanes, [&](llvm::Value* first) { block(first, {}); });
  if (whole < extent) block(ops_.i64(whole), ops_.first_lanes(extent - whole, lanes));
}

void KernelEmitter::loop_axes(std::span<const NestAxis> axes, Symbol vector_axis, Frame& frame, const std::function<void(Frame&)>& body) {
  const NestAxis* lanes = nullptr;
  const std::function<void(std::size_t, Frame&)> descend = [&](std::size_t d, Frame& at) {
    if (d == axes.size()) {
      if (lanes != nullptr)
        loop_vector(*lanes, at, body);
      else
        body(at);
      return;
    }
    if (axes[d].name == vector_axis) {
      lanes = &axes[d];
      descend(d + 1, at);
      return;
    }
    loop(axes[d].lo, axes[d].hi, 1, [&](llvm::Value* i) {
      Frame inner = at;
      inner.index[axes[d].name] = {i, Kind::integer, 1};
      inner.memo.clear();
      descend(d + 1, inner);
    });
  };
  descend(0, frame);
}

// ---- axes ----

std::vector<Symbol> KernelEmitter::axes_of(std::span<const Expr> subscripts) const {
  std::vector<Symbol> result;
  for (Expr subscript : subscripts)
    visit(subscript, [&](Expr node) {
      if (!node.is(Op::index) && !node.is(Op::symbol)) return;
      if (!extents_.contains(node.name()) || scalars_.contains(node.name())) return;
      if (std::find(result.begin(), result.end(), node.name()) == result.end()) result.push_back(node.name());
    });
  return result;
}

std::vector<NestAxis> KernelEmitter::nest_axes(const std::vector<Symbol>& names) {
  std::vector<NestAxis> result;
  for (Symbol name : names) {
    const std::int64_t extent = extents_.at(name);
    result.push_back({name, ops_.i64(0), ops_.i64(extent), extent});
  }
  return result;
}

Symbol KernelEmitter::choose_vector_axis(std::span<const kernel::Access> loads, std::span<const kernel::Access> stores,
                                         std::span<const NestAxis> axes, const std::set<Symbol>& allowed) const {
  Symbol best;
  std::int64_t best_cost = 0;
  for (const NestAxis& axis : axes) {
    if (!axis.extent || *axis.extent < 2 || !allowed.contains(axis.name)) continue;
    std::int64_t cost = 1;
    for (const kernel::Access& access : loads) cost += access_cost(access, axis.name, gather_cost);
    for (const kernel::Access& access : stores) cost += access_cost(access, axis.name, scatter_cost);
    std::int64_t trips = (*axis.extent + lanes_for(*axis.extent) - 1) / lanes_for(*axis.extent);
    for (const NestAxis& other : axes)
      if (other.name != axis.name) trips *= other.extent.value_or(1);
    if (best.empty() || cost * trips <= best_cost) {
      best = axis.name;
      best_cost = cost * trips;
    }
  }
  return best;
}

// ---- grouping ----

bool KernelEmitter::joins_pending(const Map& map, const std::vector<Symbol>& axes) const {
  if (pending_.empty() || axes != pending_axes_ || condition_) return pending_.empty();
  std::vector<Expr> sides = map.values;
  sides.push_back(map.otherwise);
  const std::vector<kernel::Access> reads = accesses_in(sides);
  for (const Map& earlier : pending_) {
    for (const kernel::Access& target : earlier.targets)
      for (const kernel::Access& access : reads)
        if (may_overlap(access, target)) return false;
    std::vector<Expr> earlier_sides = earlier.values;
    earlier_sides.push_back(earlier.otherwise);
    for (const kernel::Access& access : accesses_in(earlier_sides))
      for (const kernel::Access& target : map.targets)
        if (may_overlap(access, target)) return false;
    for (const kernel::Access& target : map.targets)
      for (const kernel::Access& other : earlier.targets)
        if (may_overlap(other, target)) return false;
  }
  return true;
}

void KernelEmitter::add_map(Map map) {
  if (!error_.empty()) return;
  std::vector<Expr> subscripts;
  for (const kernel::Access& target : map.targets) subscripts.insert(subscripts.end(), target.subscripts.begin(), target.subscripts.end());
  const std::vector<Symbol> axes = axes_of(subscripts);
  std::vector<Expr> sides = map.values;
  sides.push_back(map.otherwise);
  // In place with another subscript: what is still to be read must not be overwritten.
  for (const kernel::Access& access : accesses_in(sides))
    for (std::size_t i = 0; i < map.targets.size(); ++i) {
      const kernel::Access target = map.targets[i];
      if (!may_overlap(access, target)) continue;
      const kernel::Access temporary{Symbol("%" + std::to_string(temporaries_++)), {}};
      kernel::Access shaped = temporary;
      for (Symbol axis : axes) shaped.subscripts.push_back(index(axis));
      kinds_[shaped.name] = settled(kind_of(map.values[i], kinds_, m_));
      Map copy{{target}, {read(shaped.name, shaped.subscripts)}, {}, map.line};
      map.targets[i] = shaped;
      reads_[shaped.name] = 2;
      add_map(std::move(map));
      flush();
      add_map(std::move(copy));
      return;
    }
  if (!joins_pending(map, axes)) flush();
  define_targets(map.targets);
  pending_axes_ = axes;
  pending_.push_back(std::move(map));
}

// A tile value gets its array where it is first assigned; a later assignment of another shape is a new value of the same name.
void KernelEmitter::define_targets(const std::vector<kernel::Access>& targets) {
  for (const kernel::Access& target : targets) {
    const Place* known = find_place(target);
    if (known != nullptr && !known->tile) continue;
    std::vector<std::int64_t> shape;
    for (Expr subscript : target.subscripts) {
      const bool axis = (subscript.is(Op::index) || subscript.is(Op::symbol)) && extents_.contains(subscript.name());
      if (!axis) {
        fail("'" + target.name.text() + "' is a tile value, so its subscripts are axes with known extents; '" + print(subscript) +
             "' is not.");
        return;
      }
      shape.push_back(extents_.at(subscript.name()));
    }
    const auto kind = kinds_.find(target.name);
    const DType dtype = storage_of(kind == kinds_.end() ? Kind::f32 : kind->second);
    bool fits = known != nullptr && known->extents.size() == shape.size() && known->dtype == dtype;
    for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = constant_of(known->extents[i]) == shape[i];
    if (fits) continue;
    Place place = allocate(target.name, dtype, shape);
    place.tile = true;
    declare(place);
  }
}

void KernelEmitter::flush() {
  if (pending_.empty()) return;
  std::vector<Map> maps = std::move(pending_);
  pending_.clear();
  if (!error_.empty()) return;
  const int next = line_;
  come_from(maps.front().line);
  emit_maps(maps, nest_axes(pending_axes_));
  come_from(next);
}

// ---- maps ----

void KernelEmitter::emit_maps(const std::vector<Map>& maps, const std::vector<NestAxis>& axes) {
  std::vector<kernel::Access> loads, stores;
  for (const Map& map : maps) {
    std::vector<Expr> sides = map.values;
    sides.push_back(map.otherwise);
    const auto reads = accesses_in(sides);
    loads.insert(loads.end(), reads.begin(), reads.end());
    stores.insert(stores.end(), map.targets.begin(), map.targets.end());
  }
  std::set<Symbol> allowed;
  for (const NestAxis& axis : axes) allowed.insert(axis.name);
  // Targets are in registers when a later statement reads them.
  std::erase_if(loads, [&](const kernel::Access& load) {
    return std::any_of(stores.begin(), stores.end(),
                       [&](const kernel::Access& s) { return s.name == load.name && s.subscripts == load.subscripts; });
  });
  const Symbol vector_axis = choose_vector_axis(loads, stores, axes, allowed);
  std::vector<kernel::Access> all = loads;
  all.insert(all.end(), stores.begin(), stores.end());
  llvm::Value* inside = guard(all, axes);
  const auto version = [&](bool checked) {
    if (!checked && maps.size() == 1 && emit_transposed(maps.front(), axes, vector_axis)) return;
    Frame frame;
    frame.axes = axes;
    frame.checked = checked;
    loop_axes(axes, vector_axis, frame, [&](Frame& at) { emit_map_elements(maps, at); });
  };
  if (inside == nullptr)
    version(false);
  else
    branch(inside, [&] { version(false); }, [&] { version(true); });
}

// The `if` around: elements whose condition does not hold keep their values.
Val KernelEmitter::active_mask(Frame& frame) {
  if (!condition_) return {};
  return ops_.convert(eval(read(condition_->name, condition_->subscripts), frame), Kind::boolean);
}

void KernelEmitter::emit_map_elements(const std::vector<Map>& maps, Frame& frame) {
  std::map<Symbol, int> reads_here;
  for (const Map& map : maps) {
    for (Expr value : map.values) count_reads(value, reads_here);
    count_reads(map.otherwise, reads_here);
  }
  const Val active = active_mask(frame);
  for (std::size_t m = 0; m < maps.size(); ++m) {
    const Map& map = maps[m];
    come_from(map.line);
    std::vector<Val> values;
    for (Expr value : map.values) values.push_back(eval_or(value, map.otherwise, frame));
    for (std::size_t i = 0; i < map.targets.size(); ++i) {
      const kernel::Access& target = map.targets[i];
      const Symbol name = resolve(target.name);
      const Place* place = find_place(target);
      if (place == nullptr || !error_.empty()) return;
      Val value = ops_.convert(values[i], kind_of(place->dtype));
      if (place->dtype == DType::f16 || place->dtype == DType::bf16) value = ops_.round_to(value, place->dtype);
      frame.active = conditional_.contains(target.name) ? active : Val{};
      if (frame.active && place->local && frame.active.lanes >= 1)
        value = ops_.select(frame.active, value, eval(read(target.name, target.subscripts), frame));
      bool rewritten = false;
      int later_reads = 0;
      for (std::size_t n = m + 1; n < maps.size(); ++n) {
        for (const kernel::Access& other : maps[n].targets) rewritten = rewritten || resolve(other.name) == name;
        std::map<Symbol, int> counts;
        for (Expr side : maps[n].values) count_reads(side, counts);
        count_reads(maps[n].otherwise, counts);
        later_reads += counts[name];
      }
      const bool needed = !place->tile || (!rewritten && reads_[name] > later_reads);
      if (needed) store(*place, subscripts_of(*place, target.subscripts), frame, value);
      frame.active = {};
      if (place->local) frame.elements[name] = {target.subscripts, value};
    }
    frame.memo.clear();
  }
}

// ---- transposed copies ----

namespace {
// Eklundh: exchange the off-diagonal blocks of size k in pairs of rows, k = 1, 2, 4, …
std::vector<llvm::Value*> transpose(llvm::IRBuilder<>& b, std::vector<llvm::Value*> rows) {
  const int n = static_cast<int>(rows.size());
  for (int k = 1; k < n; k *= 2)
    for (int i = 0; i < n; ++i) {
      if ((i & k) != 0) continue;
      llvm::Value *upper = rows[static_cast<std::size_t>(i)], *lower = rows[static_cast<std::size_t>(i + k)];
      std::vector<int> to_upper, to_lower;
      for (int lane = 0; lane < n; ++lane) {
        to_upper.push_back((lane & k) == 0 ? lane : n + lane - k);
        to_lower.push_back((lane & k) == 0 ? lane + k : n + lane);
      }
      rows[static_cast<std::size_t>(i)] = b.CreateShuffleVector(upper, lower, to_upper);
      rows[static_cast<std::size_t>(i + k)] = b.CreateShuffleVector(upper, lower, to_lower);
    }
  return rows;
}
}  // namespace

bool KernelEmitter::emit_transposed(const Map& map, const std::vector<NestAxis>& axes, Symbol vector_axis) {
  if (map.values.size() != 1 || vector_axis.empty() || condition_) return false;
  bool lazy = false;
  std::set<Expr> reads;
  visit(map.values[0], [&](Expr node) {
    lazy = lazy || node.is(Op::where) || node.is(Op::logical_and) || node.is(Op::logical_or);
    if (node.is(Op::read) && !node.args().empty() && find_place(node.name(), node.args().size()) != nullptr) reads.insert(node);
  });
  if (reads.size() != 1 || lazy) return false;
  const Expr source = *reads.begin();
  const kernel::Access access{source.name(), {source.args().begin(), source.args().end()}};
  if (may_overlap(access, map.targets[0])) return false;
  const int lanes = ops_.host_lanes();
  const auto blocked = [&](const NestAxis& axis) { return axis.extent && *axis.extent % lanes == 0 && lanes > 1; };
  const NestAxis *down = nullptr, *across = nullptr;  // across: contiguous in the source; down: contiguous in the target
  for (const NestAxis& axis : axes) {
    if (axis.name == vector_axis && blocked(axis)) down = &axis;
    bool moves = false;
    for (Expr subscript : access.subscripts) moves = moves || coefficient(subscript, axis.name) != 0;
    if (axis.name != vector_axis && moves && blocked(axis) && access_cost(access, axis.name, gather_cost) == 1) across = &axis;
  }
  if (down == nullptr || across == nullptr || access_cost(access, down->name, gather_cost) == 1) return false;
  std::vector<NestAxis> outer;
  for (const NestAxis& axis : axes)
    if (&axis != down && &axis != across) outer.push_back(axis);
  const Place* place = find_place(access);
  const Place* target = find_place(map.targets[0]);
  Frame frame;
  frame.axes = axes;
  frame.checked = false;
  loop_axes(outer, Symbol(), frame, [&](Frame& at) {
    loop(ops_.i64(0), ops_.i64(*across->extent), lanes, [&](llvm::Value* u0) {
      loop(ops_.i64(0), ops_.i64(*down->extent), lanes, [&](llvm::Value* v0) {
        std::vector<llvm::Value*> rows;
        for (int i = 0; i < lanes; ++i) {
          Frame row = at;
          row.memo.clear();
          row.index[down->name] = {b_.CreateAdd(v0, ops_.i64(i)), Kind::integer, 1};
          row.index[across->name] = ops_.iota(u0, lanes);
          row.vector_axis = across->name;
          row.lanes = lanes;
          row.first = u0;
          rows.push_back(ops_.splat(load(*place, subscripts_of(*place, access.subscripts), row, {}), lanes).v);
        }
        const std::vector<llvm::Value*> columns = transpose(b_, std::move(rows));
        for (int i = 0; i < lanes; ++i) {
          Frame column = at;
          column.memo.clear();
          column.index[across->name] = {b_.CreateAdd(u0, ops_.i64(i)), Kind::integer, 1};
          column.index[down->name] = ops_.iota(v0, lanes);
          column.vector_axis = down->name;
          column.lanes = lanes;
          column.first = v0;
          column.given[source] = {columns[static_cast<std::size_t>(i)], kind_of(place->dtype), lanes};
          store(*target, subscripts_of(*target, map.targets[0].subscripts), column, eval(map.values[0], column));
        }
      });
    });
  });
  return true;
}

}  // namespace fathom::cpu
