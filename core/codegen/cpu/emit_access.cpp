// Places and addresses: which accesses are contiguous, broadcast or gathered along the vector axis, which are proved inside their extents,
// and masked loads and stores for the rest.
#include "codegen/cpu/emitter.hpp"

namespace fathom::cpu {

std::optional<std::int64_t> constant_of(llvm::Value* value) {
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  return number == nullptr ? std::nullopt : std::optional<std::int64_t>(number->getSExtValue());
}

Symbol KernelEmitter::resolve(Symbol slot) const {
  const auto found = slots_.find(slot);
  return found == slots_.end() ? slot : found->second;
}

const Place* KernelEmitter::find_place(Symbol name, std::size_t rank) const {
  if (const auto found = places_.find({resolve(name), rank}); found != places_.end()) return &found->second;
  const auto grouped = rank == 0 ? places_.end() : places_.find({resolve(name), rank - 1});
  return grouped != places_.end() && grouped->second.drops_group ? &grouped->second : nullptr;
}

bool KernelEmitter::may_overlap(const kernel::Access& a, const kernel::Access& b) const {
  return resolve(a.name) == resolve(b.name) && a.subscripts.size() == b.subscripts.size() && a.subscripts != b.subscripts;
}

// A tuple (n,y,e) is the mixed-radix number of its parts.
Expr KernelEmitter::untuple(Expr subscript) {
  if (!subscript.is(Op::tuple)) return subscript;
  Expr sum = number(0);
  std::int64_t radix = 1;
  for (std::size_t i = subscript.args().size(); i-- > 0;) {
    Expr part = subscript.arg(i);
    sum = sum + part * number(radix);
    const auto found = part.is(Op::index) || part.is(Op::symbol) ? extents_.find(part.name()) : extents_.end();
    if (found == extents_.end() && i > 0) {
      fail("The tuple " + print(subscript) + " has a part that is no axis, so its place value is unknown.");
      return number(0);
    }
    if (found != extents_.end()) radix *= found->second;
  }
  return simplify_integer(sum);
}

std::vector<Expr> KernelEmitter::subscripts_of(const Place& place, std::span<const Expr> subscripts) {
  const std::size_t extra = place.drops_group && subscripts.size() == place.extents.size() + 1 ? 1 : 0;
  if (subscripts.size() - extra != place.extents.size()) {
    fail("'" + place.name.text() + "' has " + std::to_string(place.extents.size()) + " axes but is used with " +
         std::to_string(subscripts.size()) + " subscripts.");
    return std::vector<Expr>(place.extents.size(), number(0));
  }
  std::vector<Expr> result;
  for (std::size_t i = extra; i < subscripts.size(); ++i) result.push_back(untuple(subscripts[i]));
  return result;
}

std::optional<std::int64_t> KernelEmitter::coefficient(Expr e, Symbol axis) const {
  const auto of = [&](std::size_t i) { return coefficient(e.arg(i), axis); };
  switch (e.op()) {
    case Op::index:
    case Op::symbol:
    case Op::dim: {
      if (e.name() == axis) return 1;
      const auto part = parts_.find(axis);  // j where the nest walks its part y
      if (part != parts_.end() && part->second.axis == e.name() && !scalars_.contains(e.name())) return part->second.stride;
      const auto whole = parts_.find(e.name());  // y where the nest walks j: a quotient and a remainder
      if (whole != parts_.end() && whole->second.axis == axis) return std::nullopt;
      return 0;
    }
    case Op::neg: {
      const auto c = of(0);
      return c ? std::optional(-*c) : c;
    }
    case Op::add:
    case Op::sub: {
      const auto x = of(0), y = of(1);
      if (!x || !y) return std::nullopt;
      return e.is(Op::add) ? *x + *y : *x - *y;
    }
    case Op::mul: {
      const auto x = of(0), y = of(1);
      if (!x || !y) return std::nullopt;
      if (*x == 0 && *y == 0) return 0;
      const auto factor = constant_integer(e.arg(*x == 0 ? 0 : 1));
      if (!factor || (*x != 0 && *y != 0)) return std::nullopt;
      return *factor * (*x == 0 ? *y : *x);
    }
    default:
      for (std::size_t i = 0; i < e.args().size(); ++i)
        if (of(i) != 0) return std::nullopt;
      return 0;
  }
}

std::optional<KernelEmitter::Range> KernelEmitter::affine_range(Expr subscript, std::span<const NestAxis> axes) const {
  bool memory = false;
  visit(subscript, [&](Expr node) { memory = memory || (node.is(Op::read) && !node.args().empty()); });
  if (memory) return std::nullopt;
  Range range{subscript};
  Substitution zero;
  for (const NestAxis& axis : axes) {
    const auto c = coefficient(subscript, axis.name);
    if (!c || (*c != 0 && !axis.extent)) return std::nullopt;
    if (*c == 0) continue;
    const std::int64_t reach = *c * std::max<std::int64_t>(*axis.extent - 1, 0);
    (reach < 0 ? range.below : range.above) += reach;
    zero[index(axis.name)] = zero[symbol(axis.name)] = number(0);
    if (const auto part = parts_.find(axis.name); part != parts_.end()) zero[index(part->second.axis)] = number(0);
  }
  range.origin = simplify_integer(substitute(subscript, zero));
  return range;
}

bool KernelEmitter::proved_inside(Expr subscript, llvm::Value* extent, std::span<const NestAxis> axes) const {
  const auto range = affine_range(subscript, axes);
  const auto limit = constant_of(extent);
  if (!range || !limit) return false;
  const auto origin = constant_integer(range->origin);
  return origin && *origin + range->below >= 0 && *origin + range->above < *limit;
}

llvm::Value* KernelEmitter::guard(std::span<const kernel::Access> accesses, std::span<const NestAxis> axes) {
  llvm::Value* condition = nullptr;
  std::set<std::tuple<Expr, llvm::Value*>> seen;
  for (const kernel::Access& access : accesses) {
    const Place* place = find_place(access);
    if (place == nullptr) continue;
    const std::vector<Expr> subscripts = subscripts_of(*place, access.subscripts);
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const auto range = affine_range(subscripts[d], axes);
      if (!range || proved_inside(subscripts[d], place->extents[d], axes) || !seen.insert({subscripts[d], place->extents[d]}).second)
        continue;
      llvm::Value* origin = scalar_integer(range->origin);
      llvm::Value* inside = b_.CreateAnd(b_.CreateICmpSGE(b_.CreateAdd(origin, ops_.i64(range->below)), ops_.i64(0)),
                                         b_.CreateICmpSLT(b_.CreateAdd(origin, ops_.i64(range->above)), place->extents[d]));
      condition = condition == nullptr ? inside : b_.CreateAnd(condition, inside);
    }
  }
  return condition;
}

std::vector<kernel::Access> KernelEmitter::accesses_in(std::span<const Expr> values) const {
  std::vector<kernel::Access> result;
  for (Expr value : values) {
    if (!value) continue;
    visit(value, [&](Expr node) {
      if (node.is(Op::read) && find_place(node.name(), node.args().size()) != nullptr)
        result.push_back({node.name(), std::vector<Expr>(node.args().begin(), node.args().end())});
    });
  }
  return result;
}

KernelEmitter::Address KernelEmitter::locate(const Place& place, std::span<const Expr> subscripts, Frame& frame, Val mask) {
  Address address;
  const bool vector = frame.lanes > 1 && !frame.at_first;
  llvm::Value* step = ops_.i64(0);
  bool linear = true;
  for (std::size_t d = 0; vector && d < subscripts.size(); ++d) {
    const auto c = coefficient(subscripts[d], frame.vector_axis);
    linear = linear && c.has_value();
    if (c && *c != 0) step = b_.CreateAdd(step, b_.CreateMul(ops_.i64(*c), place.strides[d]));
  }
  llvm::Value* offset = linear ? ops_.i64(0) : b_.CreateVectorSplat(static_cast<unsigned>(frame.lanes), ops_.i64(0));
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const auto c = vector ? coefficient(subscripts[d], frame.vector_axis) : std::optional<std::int64_t>(0);
    const bool before = std::exchange(frame.at_first, frame.at_first || linear);
    Val at = ops_.convert(eval(subscripts[d], frame, mask), Kind::integer);
    frame.at_first = before;
    if (!linear) at = ops_.splat(at, frame.lanes);
    llvm::Value* stride = linear ? place.strides[d] : b_.CreateVectorSplat(static_cast<unsigned>(frame.lanes), place.strides[d]);
    offset = b_.CreateAdd(offset, b_.CreateMul(at.v, stride));
    const bool guarded = !frame.checked && affine_range(subscripts[d], frame.axes).has_value();
    if (guarded || proved_inside(subscripts[d], place.extents[d], frame.axes)) continue;
    Val position = c && *c != 0 ? ops_.convert(eval(subscripts[d], frame, mask), Kind::integer) : at;
    llvm::Value* limit =
        position.lanes == 1 ? place.extents[d] : b_.CreateVectorSplat(static_cast<unsigned>(position.lanes), place.extents[d]);
    address.ok = ops_.conjunction(address.ok, {b_.CreateICmpULT(position.v, limit), Kind::boolean, position.lanes});
  }
  if (linear) {
    address.pointer = element_pointer(place, offset);
    address.step = step;
  } else {
    address.offsets = offset;
  }
  return address;
}

llvm::Value* KernelEmitter::element_pointer(const Place& place, llvm::Value* offset) {
  return b_.CreateGEP(ops_.memory_type(place.dtype), place.base, offset);
}

llvm::Value* KernelEmitter::pointers(const Address& address, const Place& place, int lanes) {
  llvm::Type* element = ops_.memory_type(place.dtype);
  if (address.offsets != nullptr) return b_.CreateGEP(element, place.base, address.offsets);
  llvm::Value* lane = ops_.iota(ops_.i64(0), lanes).v;
  return b_.CreateGEP(element, address.pointer, b_.CreateMul(lane, b_.CreateVectorSplat(static_cast<unsigned>(lanes), address.step)));
}

Val KernelEmitter::load_from(const Address& address, const Place& place, int lanes, Val mask, bool poisoned) {
  llvm::Type* element = ops_.memory_type(place.dtype);
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  const auto fill = [&](llvm::Type* type) -> llvm::Constant* {
    if (poisoned && type->isFPOrFPVectorTy()) return llvm::ConstantFP::getNaN(type);
    return poisoned && place.dtype == DType::bf16 ? llvm::ConstantInt::get(type, 0x7fc0) : llvm::Constant::getNullValue(type);
  };
  const bool uniform = address.offsets == nullptr && (lanes == 1 || constant_of(address.step) == 0);
  if (uniform) {
    if (!mask) return ops_.from_memory(b_.CreateAlignedLoad(element, address.pointer, align), place.dtype, 1);
    auto* one = llvm::FixedVectorType::get(element, 1);
    llvm::Value* bit = b_.CreateInsertElement(llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.getInt1Ty(), 1)), ops_.any_lane(mask),
                                              static_cast<std::uint64_t>(0));
    llvm::Value* loaded = b_.CreateMaskedLoad(one, address.pointer, align, bit, fill(one));
    return ops_.from_memory(b_.CreateExtractElement(loaded, static_cast<std::uint64_t>(0)), place.dtype, 1);
  }
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  if (address.offsets == nullptr && constant_of(address.step) == 1) {
    llvm::Value* bits =
        mask ? static_cast<llvm::Value*>(b_.CreateMaskedLoad(type, address.pointer, align, vector_mask(mask, lanes).v, fill(type)))
             : b_.CreateAlignedLoad(type, address.pointer, align);
    return ops_.from_memory(bits, place.dtype, lanes);
  }
  const Val all = mask ? vector_mask(mask, lanes) : ops_.first_lanes(lanes, lanes);
  return ops_.from_memory(b_.CreateMaskedGather(type, pointers(address, place, lanes), align, all.v, fill(type)), place.dtype, lanes);
}

Val KernelEmitter::load(const Place& place, std::span<const Expr> subscripts, Frame& frame, Val mask) {
  const int lanes = frame.at_first ? 1 : frame.lanes;
  const Address address = locate(place, subscripts, frame, mask);
  if (frame.watch_inside && address.ok)
    frame.inside = ops_.conjunction(frame.inside, mask ? ops_.binary(Op::logical_or, address.ok, ops_.negation(mask)) : address.ok);
  Val all = ops_.conjunction(address.ok, mask);
  const bool varies = address.offsets != nullptr || constant_of(address.step) != 0;
  const bool contiguous = address.offsets == nullptr && constant_of(address.step) == 1;
  if (lanes > 1 && varies && !(place.local && contiguous)) all = ops_.conjunction(all, frame.tail);
  return load_from(address, place, lanes, all, !frame.watch_inside);
}

void KernelEmitter::store(const Place& place, std::span<const Expr> subscripts, Frame& frame, Val value) {
  const Address address = locate(place, subscripts, frame, {});
  Val mask = ops_.conjunction(address.ok, frame.active);
  llvm::Type* element = ops_.memory_type(place.dtype);
  const llvm::Align align(element->getPrimitiveSizeInBits() / 8);
  const bool uniform = address.offsets == nullptr && (frame.lanes == 1 || constant_of(address.step) == 0);
  if (uniform) {  // every lane has the same place: they hold the same value
    if (value.lanes > 1) value = {b_.CreateExtractElement(value.v, static_cast<std::uint64_t>(0)), value.kind, 1};
    llvm::Value* bits = ops_.to_memory(value, place.dtype, 1);
    if (!mask) {
      b_.CreateAlignedStore(bits, address.pointer, align);
      return;
    }
    branch(ops_.any_lane(mask), [&] { b_.CreateAlignedStore(bits, address.pointer, align); }, {});
    return;
  }
  mask = ops_.conjunction(mask, frame.tail);
  llvm::Value* bits = ops_.to_memory(value, place.dtype, frame.lanes);
  if (address.offsets == nullptr && constant_of(address.step) == 1) {
    if (mask)
      b_.CreateMaskedStore(bits, address.pointer, align, vector_mask(mask, frame.lanes).v);
    else
      b_.CreateAlignedStore(bits, address.pointer, align);
    return;
  }
  const Val all = mask ? vector_mask(mask, frame.lanes) : ops_.first_lanes(frame.lanes, frame.lanes);
  b_.CreateMaskedScatter(bits, pointers(address, place, frame.lanes), align, all.v);
}

int KernelEmitter::access_cost(const kernel::Access& access, Symbol axis, int gather) const {
  const Place* place = find_place(access);
  if (place == nullptr) return 0;
  const std::size_t extra = place->drops_group && access.subscripts.size() == place->extents.size() + 1 ? 1 : 0;
  bool moves = false;
  for (std::size_t d = extra; d < access.subscripts.size() && d - extra < place->strides.size(); ++d) {
    Expr subscript = const_cast<KernelEmitter*>(this)->untuple(access.subscripts[d]);
    const auto c = coefficient(subscript, axis);
    if (!c) return gather;
    if (*c == 0) continue;
    if (moves || *c != 1 || constant_of(place->strides[d - extra]) != 1) return gather;
    moves = true;
  }
  return 1;
}

}  // namespace fathom::cpu
