// Loads and stores: addresses, what lies inside, vectors where the layout and the launch contract give them.
#include <algorithm>
#include <numeric>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {
constexpr std::int64_t widest_vector = 16;  // bytes of one access

/// D % 8 == 0 where the condition cannot hold without it: in a conjunction, not in an alternative.
void for_each_divisor(Expr condition, const std::function<void(Expr divided, std::int64_t by)>& found) {
  if (condition.is(Op::logical_and))
    for (const Expr part : condition.args()) for_each_divisor(part, found);
  if (!condition.is(Op::eq) || constant_integer(condition.arg(1)) != 0 || !condition.arg(0).is(Op::mod)) return;
  const auto by = constant_integer(condition.arg(0).arg(1));
  if (by && *by > 0) found(condition.arg(0).arg(0), *by);
}

}  // namespace

const KernelLowering::Memory* KernelLowering::memory(Symbol name) const {
  const auto at = memories_.find(name);
  return at == memories_.end() ? nullptr : &at->second;
}

/// Rows of 128 bytes, panel after panel; chunks of 16 bytes are exchanged in each row.
Expr KernelLowering::offset_in_panels(const Memory& m, const std::vector<Expr>& subscripts, const Element& at) {
  const std::size_t rank = m.extents.size();
  const std::int64_t size = size_in_bytes(m.dtype), rows = *constant_integer(simplify_integer(m.extents[rank - 2])),
                     columns = *constant_integer(simplify_integer(m.extents[rank - 1]));
  std::vector<Expr> places;
  for (const Expr s : subscripts) places.push_back(converted(index_expression(s, at), Type::i32).expr);
  Expr outer;
  for (std::size_t d = 0; d + 2 < rank; ++d)
    outer = outer ? outer * number(*constant_integer(simplify_integer(m.extents[d]))) + places[d] : places[d];
  const Expr inside = call_of("place_in_panels", {places[rank - 2], places[rank - 1], number(rows), number(16 / size)});
  return outer && outer != number(0) ? outer * number(rows * columns) + inside : inside;
}

/// Row major, in 64 bits.
Expr KernelLowering::offset(const Memory& m, const std::vector<Expr>& subscripts, const Element& at) {
  if (m.panels) return offset_in_panels(m, subscripts, at);
  Expr sum, row;
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    Expr place = converted(index_expression(subscripts[d], at), subscripts.size() == 1 || !m.global ? Type::i32
                                                                : d == 0                            ? Type::i64
                                                                                                    : Type::i32)
                     .expr;
    const Expr extent = d == 0 ? Expr() : element(m.extents[d], at).expr;
    if (!m.global && d > 0 && d + 1 == subscripts.size()) {  // rows of a slot have their chunks exchanged
      const std::int64_t size = size_in_bytes(m.dtype), columns = *constant_integer(simplify_integer(m.extents[d]));
      const layout::Swizzle swizzle = layout::swizzle_of(columns * size);
      if (swizzle.period > 1)
        place = call_of("swizzled_column", {row, place, number(16 / size), number(swizzle.repeat), number(swizzle.period)});
    }
    row = place;
    sum = d == 0 || (!m.global && sum == number(0))
              ? place
              : (constant_integer(sum) && constant_integer(extent) ? simplify_integer(sum * extent) : sum * extent) + place;
  }
  return sum ? sum : number(0);
}

/// Absent: always inside. A subscript that is an axis as long as the dimension needs no question.
Expr KernelLowering::inside_of(const Memory& m, const std::vector<Expr>& subscripts, const Element& at) {
  Expr all;
  const auto add = [&](Expr condition) { all = all ? binary(Op::logical_and, all, condition) : condition; };
  for (std::size_t d = 0; d < subscripts.size(); ++d) {
    const Expr s = subscripts[d];
    if (!m.global && s == symbol(Symbol("g"))) continue;  // the own part of a buffer
    std::int64_t extent = 1;
    for (const layout::Part& part : layouts_.parts_of(s)) extent *= part.extent;
    const bool axis = s.is(Op::index) || s.is(Op::tuple);
    const auto length = constant_integer(simplify_integer(m.extents[d]));
    if (axis && length && extent <= *length) continue;
    const bool own_item = s == symbol(kernel_.work.variable) && constant_integer(kernel_.work.lo) == 0 &&
                          simplify_integer(kernel_.work.hi) == simplify_integer(m.extents[d]);
    if (own_item) continue;
    if (m.global && not_negative(index_expression(s, at).expr) && is_below(without_lets(s), without_lets(m.extents[d]))) continue;
    const Expr place = index_expression(s, at).expr;
    if (const auto fixed = constant_integer(place); fixed && length && *fixed >= 0 && *fixed < *length) continue;
    if (!not_negative(place)) add(binary(Op::ge, place, number(0)));
    add(binary(Op::lt, place, element(m.extents[d], at).expr));
  }
  return all;
}

Expr KernelLowering::without_lets(Expr e) const {
  Substitution lets;
  for (const auto& [name, value] : lets_) lets[symbol(name)] = value;
  constexpr int deepest = 16;  // lets of lets
  for (int i = 0; i < deepest; ++i) {
    const Expr next = substitute(e, lets);
    if (next == e) break;
    e = next;
  }
  return e;
}

/// Of what is not negative, without asking: rests are below their divisors, and the work item's digits below their extents.
bool KernelLowering::is_below(Expr e, Expr bound) const {
  const auto equal = [](Expr a, Expr b) { return simplify_integer(a) == simplify_integer(b); };
  if (e.is(Op::mod)) return equal(e.arg(1), bound);
  if (e.is(Op::floordiv)) return is_below(e.arg(0), bound * e.arg(1));
  const bool item = e == symbol(kernel_.work.variable) && constant_integer(kernel_.work.lo) == 0;
  return item && equal(without_lets(kernel_.work.hi), bound);
}

Typed KernelLowering::load(Expr e, const Element& at) {
  const Memory& m = *memory(e.name());
  const std::vector<Expr> subscripts(e.args().begin(), e.args().end());
  const Type type = type_of(m.dtype);
  const Expr place = fathom::read(m.name, {offset(m, subscripts, at)});
  const Typed value{m.fresh ? call_of("load_fresh", {call_of("&", {place})}) : place, type};
  const Expr inside = fill_ ? inside_of(m, subscripts, at) : Expr();
  if (!inside) return value;
  const Typed fill = element(fill_, at);
  const Type both = type == Type::bf16 || type == Type::f16 ? Type::f32 : type;
  return {where(inside, converted(value, both).expr, converted(fill, both).expr), both};
}

// ---- vectors ----

/// A number that the expression is a multiple of, whatever the names stand for.
std::int64_t KernelLowering::multiple_of(Expr e) const {
  if (const auto fixed = constant_integer(e)) return std::abs(*fixed);
  switch (e.op()) {
    case Op::dim:
    case Op::symbol: {
      std::int64_t known = 1;
      for (const kernel::Require& r : module_.requires_) {
        for_each_divisor(r.condition, [&](Expr divided, std::int64_t by) {
          if ((divided.is(Op::dim) || divided.is(Op::symbol)) && divided.name() == e.name()) known = std::lcm(known, by);
        });
      }
      if (const auto let = lets_.find(e.name()); let != lets_.end()) known = std::lcm(known, multiple_of(let->second));
      return known;
    }
    case Op::add:
    case Op::sub:
      return std::gcd(multiple_of(e.arg(0)), multiple_of(e.arg(1)));
    case Op::mul:
      return multiple_of(e.arg(0)) * multiple_of(e.arg(1));
    case Op::neg:
      return multiple_of(e.arg(0));
    default:
      return 1;
  }
}

bool KernelLowering::aligned(Symbol tensor, std::int64_t bytes) const {
  bool known = false;
  for (const kernel::Require& r : module_.requires_) {
    for_each_divisor(r.condition, [&](Expr divided, std::int64_t by) {
      known = known || (divided.is(Op::read) && divided.name() == tensor && by % bytes == 0);
    });
  }
  return known;
}

/// How many elements one access takes: neighbours in the registers that are neighbours in memory, whole inside or whole outside, and
/// aligned. 1: none.
std::int64_t KernelLowering::vector_elements(const Memory& m, const std::vector<Expr>& subscripts, const layout::Layout& layout) const {
  const std::vector<layout::Digit> digits = layout.at(HierarchyLevel::registers);
  if (digits.empty() || subscripts.empty() || digits.back().stride != 1) return 1;
  const layout::Digit& fastest = digits.back();
  const std::int64_t size = size_in_bytes(m.dtype);
  std::int64_t elements = std::min(fastest.extent, widest_vector / size);
  while (elements > 1 && fastest.extent % elements != 0) --elements;
  if ((elements & (elements - 1)) != 0) return 1;
  if (m.global && !aligned(m.tensor, elements * size)) return 1;
  // The last subscript is `elements`-aligned but for the fastest part, and no other has that part.
  const auto has_part = [&](Expr e) {
    bool found = false;
    visit(e, [&](Expr node) {
      for (const layout::Part& part : layouts_.parts_of(node)) found = found || part.name == fastest.part;
    });
    return found;
  };
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d)
    if (has_part(subscripts[d])) return 1;
  const auto aligned_rest = [&](auto&& self, Expr e) -> bool {  // every term is an axis that ends in the part, or a multiple
    if (e.is(Op::add)) return self(self, e.arg(0)) && self(self, e.arg(1));
    if (e.is(Op::index) || e.is(Op::tuple)) {
      const std::vector<layout::Part> parts = layouts_.parts_of(e);
      return !parts.empty() && parts.back().name == fastest.part && parts.back().extent % elements == 0;
    }
    return !has_part(e) && multiple_of(e) % elements == 0;
  };
  if (!has_part(subscripts.back()) || !aligned_rest(aligned_rest, subscripts.back())) return 1;
  return multiple_of(m.extents.back()) % elements == 0 ? elements : 1;
}

/// A whole statement that is one load: with wide accesses. False where it is not one, or nothing is wide.
bool KernelLowering::load_vectors(const Tile& to, Expr value, Expr otherwise) {
  if (!value.is(Op::read)) return false;
  const Memory* m = memory(value.name());
  if (m == nullptr || m->fresh) return false;
  const std::vector<Expr> subscripts(value.args().begin(), value.args().end());
  const std::int64_t elements = vector_elements(*m, subscripts, to.layout);
  const bool sixteen_bits = to.type == Type::bf16 || to.type == Type::f16;
  if (elements < 2 || to.type != type_of(m->dtype) || (sixteen_bits && !to.pairs)) return false;
  over_registers(
      to.layout, {},
      [&](const Element& at) {
        const Expr from = fathom::read(m->name, {offset(*m, subscripts, at)});
        const Expr load_it = call_of("load_vector", {place_in(to, at), from, number(elements * size_in_bytes(m->dtype))});
        const Expr inside = otherwise ? inside_of(*m, subscripts, at) : Expr();
        if (!inside) return emit({Do{load_it}});
        Branch branch;
        branch.condition = inside;
        branch.then = {{Do{load_it}}};
        branch.otherwise = this->inside([&] { fill_registers(to, at, elements, otherwise); });
        emit({branch});
      },
      elements);
  return true;
}

void KernelLowering::fill_registers(const Tile& to, const Element& at, std::int64_t elements, Expr fill) {
  const Typed value = converted(element(fill, at), Type::f32);
  Loop loop;
  loop.variable = names_.fresh("i");
  loop.lo = number(0);
  loop.hi = number(to.pairs ? elements / 2 : elements);
  loop.unrolled = true;
  const Expr first = place_in(to, at);
  std::vector<Expr> places(first.args().begin(), first.args().end());
  places.back() = simplify_integer(places.back() + symbol(loop.variable));
  Expr filled = converted(value, to.type).expr;
  if (to.pairs) filled = call_of(to.type == Type::bf16 ? "pair_bf16" : "pair_f16", {value.expr, value.expr});
  loop.body = {{Assign{fathom::read(first.name(), places), filled}}};
  names_.release(loop.variable);
  emit({loop});
}

/// A whole store of neighbours: computed into registers, then stored at once.
bool KernelLowering::store_vectors(const kernel::Access& target, Expr value, const layout::Layout& layout) {
  const Memory& m = *memory(target.name);
  const std::int64_t elements = vector_elements(m, target.subscripts, layout);
  if (elements < 2) return false;
  const Type type = type_of(m.dtype);
  const bool sixteen_bits = type == Type::bf16 || type == Type::f16;
  over_registers(
      layout, {},
      [&](const Element& at) {
        const layout::Digit fastest = layout.at(HierarchyLevel::registers).back();
        Variable out;
        out.name = names_.fresh(target.name.text() + "_out");
        out.type = type == Type::bf16 ? Type::pair_bf16 : type == Type::f16 ? Type::pair_f16 : type;
        const std::int64_t registers = sixteen_bits ? elements / 2 : elements;
        if (registers > 1) out.extents = {registers};
        emit({Declare{out, {}}});
        const auto fill = [&](Expr i) {
          const auto one = [&](Expr along) {
            Element here = at;
            RegisterDigit& digit = here.registers[fastest.part].back();
            digit = digit.shifted(along);
            return element(value, here);
          };
          Expr made;
          if (sixteen_bits) {
            const auto number_in_f32 = [&](Typed t) {  // bf16(x) stored as bf16 is rounded once
              const bool rounding =
                  t.expr.is(Op::call) && (t.type == Type::bf16 || t.type == Type::f16) && t.type == type && !t.expr.args().empty();
              return rounding ? t.expr.arg(0) : converted(t, Type::f32).expr;
            };
            made = call_of(type == Type::bf16 ? "pair_bf16" : "pair_f16",
                           {number_in_f32(one(i * number(2))), number_in_f32(one(i * number(2) + number(1)))});
          } else {
            made = converted(one(i), type).expr;
          }
          emit({Assign{registers > 1 ? fathom::read(out.name, {i}) : symbol(out.name), made}});
        };
        if (registers == 1) {
          fill(number(0));
        } else {
          Loop loop;
          loop.variable = names_.fresh("i");
          loop.lo = number(0);
          loop.hi = number(registers);
          loop.unrolled = true;
          loop.body = inside([&] { fill(symbol(loop.variable)); });
          names_.release(loop.variable);
          emit({loop});
        }
        const Expr store_it = call_of("store_vector", {fathom::read(m.name, {offset(m, target.subscripts, at)}),
                                                       registers > 1 ? fathom::read(out.name, {number(0)}) : symbol(out.name),
                                                       number(elements * size_in_bytes(m.dtype))});
        const Expr where_inside = inside_of(m, target.subscripts, at);
        if (where_inside) {
          emit({Branch{where_inside, {{Do{store_it}}}, {}}});
        } else {
          emit({Do{store_it}});
        }
      },
      elements);
  return true;
}

}  // namespace fathom::gpu
