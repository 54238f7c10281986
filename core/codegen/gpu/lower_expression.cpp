// One element of an expression: which register, which address, which conversion.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

bool is_float(Type type) { return type >= Type::f32 && type != Type::barrier; }
bool is_integer(Type type) { return type == Type::i32 || type == Type::i64; }

Type type_of(DType dtype) {
  switch (dtype) {
    case DType::real:
    case DType::f32:
      return Type::f32;
    case DType::f64:
      return Type::f64;
    case DType::bf16:
      return Type::bf16;
    case DType::f16:
      return Type::f16;
    case DType::i32:
      return Type::i32;
    case DType::i64:
      return Type::i64;
    case DType::boolean:
      return Type::boolean;
    default:
      refused("elements of type " + std::string(name(dtype)) + " have no form on this target yet");
  }
}

/// In which arithmetic two of them meet; numbers of 16 bits are computed with in f32.
Type join(Type a, Type b) {
  const auto arithmetic = [](Type t) { return t > Type::f64 ? Type::f32 : t; };
  a = arithmetic(a);
  b = arithmetic(b);
  return std::max(a, b);
}

Expr call_of(const char* function, std::vector<Expr> args) { return call(Symbol(std::string_view(function)), {}, std::move(args)); }

Typed converted(Typed from, Type to) {
  if (from.type == to) return from;
  if (from.type == Type::bf16 || from.type == Type::f16) return converted({call_of("to_float", {from.expr}), Type::f32}, to);
  switch (to) {
    case Type::bf16:
      return {call_of("to_bf16", {converted(from, Type::f32).expr}), to};
    case Type::f16:
      return {call_of("to_f16", {converted(from, Type::f32).expr}), to};
    case Type::f32:
      return {cast(DType::f32, from.expr), to};
    case Type::f64:
      return {cast(DType::f64, from.expr), to};
    case Type::i32:
      return {cast(DType::i32, from.expr), to};
    case Type::i64:
      return {cast(DType::i64, from.expr), to};
    case Type::boolean:
      return {binary(Op::ne, from.expr, number(0)), to};
    default:
      refused("a conversion that no instruction makes");
  }
}

// ---- coordinates ----

/// Sums and products in the order in which they are written, without what changes nothing.
static Expr plus(Expr a, Expr b) {
  if (a == number(0)) return b;
  if (b == number(0)) return a;
  return constant_integer(a) && constant_integer(b) ? simplify_integer(a + b) : a + b;
}
static Expr times(Expr a, std::int64_t by) {
  if (by == 1 || a == number(0)) return a;
  return constant_integer(a) ? simplify_integer(a * number(by)) : a * number(by);
}

Expr KernelLowering::register_coordinate(Symbol part, const Element& at) const {
  Expr sum = number(0);
  const auto found = at.registers.find(part);
  if (found != at.registers.end()) {
    for (const RegisterDigit& digit : found->second) sum = plus(sum, times(digit.value(), digit.stride));
  }
  return sum;
}

Expr KernelLowering::coordinate(Symbol part, const Element& at) const {
  Expr sum = register_coordinate(part, at);
  for (const layout::Digit& digit : at.layout.digits()) {
    if (digit.part != part || digit.level == HierarchyLevel::registers) continue;
    const bool lane = digit.level == HierarchyLevel::lane;
    Expr number_at = symbol(Symbol(lane ? "lane" : "warp"));
    if (digit.step > 1) number_at = binary(Op::floordiv, number_at, number(digit.step));
    const std::int64_t all = lane ? layouts_.places.lanes : layouts_.places.warps;
    if (digit.step * digit.extent < all) number_at = binary(Op::mod, number_at, number(digit.extent));
    sum = plus(sum, times(number_at, digit.stride));
  }
  return sum;
}

/// The number of an element along an axis or some of its parts.
Expr KernelLowering::coordinate_of_axis(Expr subscript, const Element& at) const {
  if (const auto given = at.axes.find(subscript); given != at.axes.end()) return given->second;
  Expr sum = number(0);
  for (const layout::Part& part : layouts_.parts_of(subscript)) sum = plus(times(sum, part.extent), coordinate(part.name, at));
  return sum;
}

/// No operand can be below zero: rounding down is what the machine's division does.
bool KernelLowering::not_negative(Expr e) const {
  switch (e.op()) {
    case Op::number:
      return !(e.node().number < Rational(0));
    case Op::symbol:
    case Op::dim: {
      static const std::set<std::string> counts = {"lane", "warp", "g"};
      if (e.is(Op::dim) || counts.count(e.name().text()) > 0) return true;
      return not_negative_.count(e.name()) > 0;
    }
    case Op::index:
      return true;
    case Op::add:
    case Op::mul:
    case Op::floordiv:
    case Op::mod:
    case Op::min:
      return not_negative(e.arg(0)) && not_negative(e.arg(1));
    case Op::max:
      return not_negative(e.arg(0)) || not_negative(e.arg(1));
    case Op::where:
      return not_negative(e.arg(1)) && not_negative(e.arg(2));
    case Op::cast:
      return not_negative(e.arg(0));
    case Op::sub: {  // counted from the end
      const auto whole = constant_integer(e.arg(0));
      const auto most = e.arg(1).is(Op::symbol) ? most_.find(e.arg(1).name()) : most_.end();
      return whole && most != most_.end() && most->second <= *whole;
    }
    default:
      return false;
  }
}

// ---- elements ----

Typed KernelLowering::read_tile(const Tile& tile, Expr e, const Element& at) {
  if (tile.layout.digits().empty()) return {symbol(tile.name), tile.type};
  std::vector<Symbol> wanted = parts_of({e.args().begin(), e.args().end()});
  for (const layout::Digit& digit : tile.layout.digits()) {
    if (std::find(wanted.begin(), wanted.end(), digit.part) == wanted.end())
      refused("`" + e.name().text() + "` is read along other axes than its own: `" + fathom::print(e) + "`", {e.name().text()});
  }
  if (!tile.layout.agrees_with(at.layout)) {
    refused("`" + e.name().text() + "` is held by other lanes than need it in `" + fathom::print(e) + "`: " + layout::print(tile.layout) +
                ", needed " + layout::print(at.layout),
            {e.name().text()});
  }
  std::vector<RegisterDigit> places;
  for (const layout::Digit& digit : tile.layout.at(HierarchyLevel::registers)) {
    std::optional<RegisterDigit> place;
    const auto found = at.registers.find(digit.part);
    if (found != at.registers.end()) {
      for (const RegisterDigit& own : found->second)
        if (own.stride == digit.stride && own.extent == digit.extent) place = own;
    }
    if (!place) {  // the same part in other digits
      Expr value = register_coordinate(digit.part, at);
      if (digit.stride > 1) value = binary(Op::floordiv, value, number(digit.stride));
      place = {{}, 1, 0, 1, simplify_integer(binary(Op::mod, value, number(digit.extent))), digit.stride, digit.extent};
    }
    places.push_back(*place);
  }
  const auto place = [&] { return is_array(tile) ? fathom::read(tile.name, {register_index(places)}) : symbol(tile.name); };
  if (!tile.pairs) return {place(), tile.type};
  const Expr half = simplify_integer(binary(Op::mod, places.back().value(), number(2)));
  places.back() = places.back().halved();
  const char* pick = tile.type == Type::bf16 ? "half_of_pair_bf16" : "half_of_pair_f16";
  return {call_of(pick, {place(), half}), Type::f32};
}

Typed KernelLowering::index_expression(Expr e, const Element& at) {
  const Typed value = element(e, at);
  if (!is_integer(value.type)) refused("a subscript is no integer: `" + fathom::print(e) + "`", {fathom::print(e)});
  return value;
}

Typed KernelLowering::element(Expr e, const Element& at) {
  switch (e.op()) {
    case Op::number: {
      const bool whole = e.node().inexact == 0 && e.node().number.is_integer();
      return {e, whole ? Type::i32 : Type::f32};
    }
    case Op::infinity:
      return {e, Type::f32};
    case Op::boolean:
      return {e, Type::boolean};
    case Op::index:
      if (const auto loop = scalars_.find(e.name()); loop != scalars_.end() && layouts_.parts.count(e.name()) == 0) return loop->second;
      return {coordinate_of_axis(e, at), Type::i32};
    case Op::dim:
    case Op::symbol: {
      const auto known = scalars_.find(e.name());
      if (known == scalars_.end()) refused("`" + e.name().text() + "` has no value here", {e.name().text()});
      return known->second;
    }
    case Op::read: {
      if (const auto known = tiles_.find(e.name()); known != tiles_.end()) return read_tile(known->second, e, at);
      if (memory(e.name()) != nullptr) return load(e, at);
      const auto known = scalars_.find(e.name());
      if (known == scalars_.end()) refused("`" + e.name().text() + "` has no value here", {e.name().text()});
      return known->second;
    }
    case Op::where: {
      const Typed condition = element(e.arg(0), at), then = element(e.arg(1), at), otherwise = element(e.arg(2), at);
      const bool same = then.type == otherwise.type;
      const Type type = same ? then.type : join(then.type, otherwise.type);
      return {where(converted(condition, Type::boolean).expr, converted(then, type).expr, converted(otherwise, type).expr), type};
    }
    case Op::cast:
      return converted(element(e.arg(0), at), type_of(e.node().dtype));
    case Op::reduce:
      refused("a reduction inside of another: `" + fathom::print(e) + "`", {fathom::print(e)});
    case Op::extent:
      if (e.arg(0).is(Op::index)) {
        std::int64_t extent = 1;
        for (const layout::Part& part : layouts_.parts_of(e.arg(0))) extent *= part.extent;
        return {number(extent), Type::i32};
      }
      refused("`size` takes an index", {fathom::print(e)});
    default:
      return function(e, at);
  }
}

Typed KernelLowering::function(Expr e, const Element& at) {
  std::vector<Typed> operands;
  for (const Expr arg : e.args()) operands.push_back(element(arg, at));
  Type type = operands[0].type;
  for (const Typed& operand : operands) type = join(type, operand.type);
  const auto as = [&](Type to) {
    std::vector<Expr> args;
    for (const Typed& operand : operands) args.push_back(converted(operand, to).expr);
    return args;
  };
  const auto real = [&] { return type == Type::f64 ? Type::f64 : Type::f32; };
  switch (e.op()) {
    case Op::neg:
      type = type == Type::boolean ? Type::i32 : type;
      return {unary(Op::neg, as(type)[0]), type};
    case Op::logical_not:
      return {unary(Op::logical_not, as(Type::boolean)[0]), Type::boolean};
    case Op::logical_and:
    case Op::logical_or:
      return {make(e.op(), as(Type::boolean)), Type::boolean};
    case Op::add:
    case Op::sub:
    case Op::mul:
      type = type == Type::boolean ? Type::i32 : type;
      return {make(e.op(), as(type)), type};
    case Op::div:
      return {make(Op::div, as(real())), real()};
    case Op::floordiv:
    case Op::mod: {
      if (is_float(type)) refused("`" + fathom::print(e) + "` divides whole numbers, and these are none", {fathom::print(e)});
      const std::vector<Expr> args = as(type);
      const bool plain = not_negative(args[0]) && not_negative(args[1]);
      return {plain ? make(e.op(), args) : call_of(e.is(Op::mod) ? "floor_mod" : "floor_div", args), type};
    }
    case Op::pow: {
      const auto exponent = constant_integer(e.arg(1));
      if (exponent && *exponent >= 1 && *exponent <= 4) {
        const Expr base = converted(operands[0], real()).expr;
        Expr product = base;
        for (std::int64_t i = 1; i < *exponent; ++i) product = product * base;
        return {product, real()};
      }
      return {call_of("power", as(real())), real()};
    }
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return {make(e.op(), as(type)), Type::boolean};
    case Op::min:
    case Op::max:
      if (is_float(type)) return {call_of(e.is(Op::max) ? "maximum" : "minimum", as(type)), type};
      return {make(e.op(), as(type)), type};
    case Op::abs:
      return {call_of(is_float(type) ? "absolute" : "abs", as(type)), type};
    case Op::floor:
      if (!is_float(type)) return {as(type)[0], type};
      return {call_of("round_down", as(type)), type};
    case Op::exp:
      return {call_of("exponential", as(real())), real()};
    case Op::exp2:
      return {call_of("power_of_two", as(real())), real()};
    case Op::log:
      return {call_of("logarithm", as(real())), real()};
    case Op::log2:
      return {call_of("logarithm_2", as(real())), real()};
    case Op::sqrt:
      return {call_of("square_root", as(real())), real()};
    case Op::rsqrt:
      return {call_of("reciprocal_root", as(real())), real()};
    case Op::sin:
      return {call_of("sine", as(real())), real()};
    case Op::cos:
      return {call_of("cosine", as(real())), real()};
    case Op::tanh:
      return {call_of("hyperbolic_tangent", as(real())), real()};
    case Op::erf:
      return {call_of("error_function", as(real())), real()};
    case Op::sigmoid:
      return {call_of("sigmoid", as(real())), real()};
    default:
      refused("`" + fathom::print(e) + "` has no form on this target yet", {fathom::print(e)});
  }
}

}  // namespace fathom::gpu
