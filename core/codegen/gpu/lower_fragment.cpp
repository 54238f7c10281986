// Operands of atoms on targets whose warps read no matrices: registers are filled from shared memory as the atom's fragment says, by wide
// accesses along rows and number by number along columns; and operands that other lanes of the warp hold.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

constexpr std::int64_t widest_access = 16;  // bytes

std::int64_t registers_of(const Fragment& fragment) {
  std::int64_t count = 1;
  for (const FragmentDigit& digit : fragment)
    if (digit.level == HierarchyLevel::registers) count *= digit.extent;
  return count;
}

/// The digit of neighbouring registers.
FragmentDigit fastest_of(const Fragment& fragment) {
  for (const FragmentDigit& digit : fragment)
    if (digit.level == HierarchyLevel::registers && digit.step == 1) return digit;
  return {};
}

/// What `number_at`, one of so many values, adds to a coordinate.
Expr digit_term(const FragmentDigit& digit, Expr number_at, std::int64_t values) {
  if (digit.step > 1) number_at = binary(Op::floordiv, number_at, number(digit.step));
  if (digit.step * digit.extent < values) number_at = binary(Op::mod, number_at, number(digit.extent));
  return digit.stride > 1 ? number_at * number(digit.stride) : number_at;
}

Type paired_type(DType dtype) { return dtype == DType::bf16 ? Type::pair_bf16 : Type::pair_f16; }

}  // namespace

/// Registers of one fragment, whose tile begins at `row` and `step`: the axis of rows or columns of the result, and the contracted one.
Expr KernelLowering::load_fragment(const kernel::Access& from, const FragmentSource& source, const Fragment& fragment, const char* like) {
  const Memory& slot = *memory(from.name);
  const std::int64_t size = size_in_bytes(slot.dtype), count = registers_of(fragment);
  const bool halves = size == 2;
  const FragmentDigit fastest = fastest_of(fragment);
  const auto axis_of = [&](const FragmentDigit& digit) {
    return digit.dimension == FragmentDigit::Dimension::k ? source.step_axis : source.row_axis;
  };
  const bool along_rows = fastest.stride == 1 && from.subscripts.back() == axis_of(fastest);
  const std::int64_t wide = std::min<std::int64_t>(fastest.extent, widest_access / size);
  const std::int64_t together = along_rows && fastest.extent % wide == 0 ? wide : halves ? 2 : 1;
  if (count % together != 0)
    refused("an operand of " + std::to_string(count) + " numbers of 16 bits a lane has no pairs", {from.name.text()});
  const Symbol registers = names_.fresh(like);
  emit({Declare{{registers, halves ? paired_type(slot.dtype) : type_of(slot.dtype), {halves ? count / 2 : count}}, {}}});
  const Expr lane_here =
      keeps_no_addresses() ? symbol(scalar("here", {call_of("again", {symbol(Symbol("lane"))}), Type::i32})) : symbol(Symbol("lane"));
  if (keeps_no_addresses()) not_negative_.insert(lane_here.name());
  const auto element_at = [&](Expr number_at) {  // of a register's number, in elements
    Expr row = source.row, step = source.step;
    for (const FragmentDigit& digit : fragment) {
      const bool lane = digit.level == HierarchyLevel::lane;
      Expr& place = digit.dimension == FragmentDigit::Dimension::k ? step : row;
      place = place + digit_term(digit, lane ? lane_here : number_at, lane ? layouts_.places.lanes : count);
    }
    Element at;
    at.axes[source.row_axis] = simplify_integer(row);
    at.axes[source.step_axis] = simplify_integer(step);
    return fathom::read(slot.name, {offset(slot, from.subscripts, at)});
  };
  const auto fill = [&](Expr i) {  // the i-th access
    const Expr first = simplify_integer(i * number(together));
    const Expr place = fathom::read(registers, {simplify_integer(i * number(halves ? together / 2 : together))});
    if (along_rows && together * size >= 4) return emit({Do{call_of("load_vector", {place, element_at(first), number(together * size)})}});
    if (!halves) return emit({Assign{place, element_at(first)}});
    emit({Assign{place, call_of(slot.dtype == DType::bf16 ? "join_bf16" : "join_f16",
                                {element_at(first), element_at(simplify_integer(first + number(1)))})}});
  };
  if (count == together) {
    fill(number(0));
    if (keeps_no_addresses()) names_.release(lane_here.name());
    return symbol(registers);
  }
  Loop loop;
  loop.variable = names_.fresh("r");
  loop.lo = number(0);
  loop.hi = number(count / together);
  loop.unrolled = true;
  not_negative_.insert(loop.variable);
  loop.body = inside([&] { fill(symbol(loop.variable)); });
  names_.release(loop.variable);
  emit({loop});
  if (keeps_no_addresses()) names_.release(lane_here.name());
  return symbol(registers);
}

/// `p16[i,j] = f16(p[i,j]) as o.mma.a`, where half of what a lane needs is in the lane whose number differs in one bit: computed where it
/// is held, then exchanged. False where the value's lanes are those of the operand.
bool KernelLowering::gather_operand(const kernel::Value& v) {
  const Symbol name = v.targets[0].name;
  const layout::Layout to = layouts_.of[name];
  const auto from = layout::layout_of(v.values[0], layouts_);
  if (!from || from->digits().empty() || from->agrees_with(to)) return false;
  const auto exchange = exchange_between(*from, to);
  if (!exchange) return false;  // the reads say why
  const Symbol held(name.text() + " held");
  layouts_.of[held] = *from;
  tiles_.erase(held);
  define({held, v.targets[0].subscripts}, v.values[0], v.otherwise);
  const Tile own = tiles_.at(held), whole = tile(name, to, own.type);
  const std::int64_t in_register = own.pairs ? 2 : 1;
  if (own.pairs != whole.pairs || exchange->block % in_register != 0)
    refused("`" + name.text() + "` is exchanged in halves of registers, which has no form on this target yet", {name.text()});
  const std::int64_t block = exchange->block / in_register, count = from->registers() / in_register;
  Loop loop;
  loop.variable = names_.fresh("r");
  loop.lo = number(0);
  loop.hi = number(count);
  loop.unrolled = true;
  not_negative_.insert(loop.variable);
  loop.body = inside([&] {
    const Expr i = symbol(loop.variable);
    const Expr mine = is_array(own) ? fathom::read(own.name, {i}) : symbol(own.name);
    const Type type = own.pairs ? (own.type == Type::bf16 ? Type::pair_bf16 : Type::pair_f16) : own.type;
    const Symbol other = scalar("other", {call_of("shuffle_xor", {mine, number(exchange->bit)}), type});
    const Expr upper =
        binary(Op::ne, binary(Op::mod, binary(Op::floordiv, symbol(Symbol("lane")), number(exchange->bit)), number(2)), number(0));
    const Expr first = count == block ? i : binary(Op::floordiv, i, number(block)) * number(2 * block) + binary(Op::mod, i, number(block));
    emit({Assign{fathom::read(whole.name, {first}), where(upper, symbol(other), mine)}});
    emit({Assign{fathom::read(whole.name, {first + number(block)}), where(upper, mine, symbol(other))}});
    names_.release(other);
  });
  names_.release(loop.variable);
  emit({loop});
  return true;
}

/// Both lanes that differ in `bit` need the registers of both: blocks of one lie in front of those of the other. Found by comparing places.
std::optional<KernelLowering::Exchange> KernelLowering::exchange_between(const layout::Layout& from, const layout::Layout& to) const {
  if (to.registers() != 2 * from.registers()) return std::nullopt;
  std::set<Symbol> parts;
  for (const layout::Layout* layout : {&from, &to})
    for (const layout::Digit& digit : layout->digits()) parts.insert(digit.part);
  const auto same = [&](std::int64_t reg, std::int64_t lane, std::int64_t to_reg, std::int64_t to_lane, std::int64_t warp) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](Symbol part) { return from.coordinate(part, reg, lane, warp) == to.coordinate(part, to_reg, to_lane, warp); });
  };
  const auto fits = [&](const Exchange& e) {
    for (std::int64_t warp = 0; warp < layouts_.places.warps; ++warp)
      for (std::int64_t lane = 0; lane < layouts_.places.lanes; ++lane)
        for (std::int64_t reg = 0; reg < from.registers(); ++reg) {
          const std::int64_t first = reg / e.block * 2 * e.block + reg % e.block, half = lane / e.bit % 2;
          if (!same(reg, lane, first + half * e.block, lane, warp) || !same(reg, lane, first + half * e.block, lane ^ e.bit, warp))
            return false;
        }
    return true;
  };
  for (std::int64_t bit = 1; bit < layouts_.places.lanes; bit *= 2)
    for (std::int64_t block = 1; block <= from.registers(); block *= 2)
      if (fits({bit, block})) return Exchange{bit, block};
  return std::nullopt;
}

}  // namespace fathom::gpu
