// The type rules of the notation, one row an operation.
#include "lang/types.hpp"

#include <algorithm>
#include <unordered_map>

namespace fathom::lang {
namespace {

enum class Rule : std::uint8_t {
  arithmetic,
  division,
  quotient,
  power,
  logic,
  comparison,
  equality,
  select,
  elementary,
  random,
  extent,
  cast
};

Rule rule_of(Op op) {
  switch (op) {
    case Op::neg:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::min:
    case Op::max:
    case Op::abs:
    case Op::floor:
      return Rule::arithmetic;
    case Op::div:
      return Rule::division;
    case Op::floordiv:
    case Op::mod:
      return Rule::quotient;
    case Op::pow:
      return Rule::power;
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
      return Rule::logic;
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return Rule::comparison;
    case Op::eq:
    case Op::ne:
      return Rule::equality;
    case Op::where:
      return Rule::select;
    case Op::random:
      return Rule::random;
    case Op::extent:
      return Rule::extent;
    case Op::cast:
      return Rule::cast;
    default:
      return Rule::elementary;
  }
}

tl::unexpected<TypeError> error(std::string message, std::string cure = {}) {
  return tl::unexpected<TypeError>({std::move(message), std::move(cure)});
}

std::string all(std::span<const Type> types) {
  std::string joined;
  for (std::size_t i = 0; i < types.size(); ++i) joined += (i == 0 ? "" : i + 1 == types.size() ? " and " : ", ") + text(types[i]);
  return joined;
}

bool any_is(std::span<const Type> types, Kind kind) {
  return std::any_of(types.begin(), types.end(), [kind](const Type& type) { return type.kind == kind; });
}

Kind widest(std::span<const Type> types) {
  Kind kind = Kind::integer;
  for (const Type& type : types) {
    if (type.kind == Kind::unknown) return Kind::unknown;
    kind = std::max(kind, type.kind);
  }
  return kind;
}

bool is_natural(Expr e) { return e.is(Op::number) && e.node().inexact == 0 && e.node().number.is_integer() && e.node().number.sign() >= 0; }

constexpr std::string_view from_bool = "a bool becomes a number by `where(…, 1, 0)`";

}  // namespace

Type declared(DType dtype) { return {dtype == DType::boolean ? Kind::boolean : is_integer(dtype) ? Kind::integer : Kind::real, dtype}; }

std::string text(Type type) {
  switch (type.kind) {
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return type.dtype == DType::real ? "integer" : std::string(name(type.dtype));
    case Kind::real:
      return std::string(name(type.dtype));
    case Kind::unknown:
      return "unknown";
  }
  return {};
}

bool is_storable(Type from, DType to) {
  const Kind kind = declared(to).kind;
  return from.kind == Kind::unknown || from.kind == kind || (from.kind == Kind::integer && kind == Kind::real);
}

Typed<Type> operation_type(Op op, std::span<const Type> operands, std::span<const Expr> values) {
  const std::string sign = "`" + std::string(spelling(op)) + "`";
  const std::string are = operands.size() == 1 ? ", not " : ", but its operands are ";
  const Rule rule = rule_of(op);
  const bool has_bool = any_is(operands, Kind::boolean);
  switch (rule) {
    case Rule::arithmetic:
      if (has_bool)
        return error(sign + (operands.size() == 1 ? " takes a number" : " takes numbers") + are + all(operands), std::string(from_bool));
      return Type{widest(operands)};
    case Rule::division:
    case Rule::power:
    case Rule::elementary:
      if (has_bool)
        return error(sign + (operands.size() == 1 ? " takes a number" : " takes numbers") + are + all(operands), std::string(from_bool));
      if (rule == Rule::power && widest(operands) == Kind::integer && is_natural(values[1])) return Type{Kind::integer};
      return Type{Kind::real};
    case Rule::quotient:
      if (has_bool || any_is(operands, Kind::real)) {
        return error(sign + " takes integers, but its operands are " + all(operands),
                     "`/` is the real division; `i32(…)` makes an integer");
      }
      return Type{Kind::integer};
    case Rule::logic:
      if (any_is(operands, Kind::integer) || any_is(operands, Kind::real))
        return error(sign + " takes bool" + are + all(operands), "compare, as in `x != 0`");
      return Type{Kind::boolean};
    case Rule::comparison:
      if (has_bool) return error(sign + " compares numbers, but its operands are " + all(operands));
      return Type{Kind::boolean};
    case Rule::equality:
      if (has_bool && !any_is(operands, Kind::unknown) && operands[0].kind != operands[1].kind) {
        return error(sign + " compares values of one kind, but its operands are " + all(operands), std::string(from_bool));
      }
      return Type{Kind::boolean};
    case Rule::select:
      if (operands[0].kind == Kind::integer || operands[0].kind == Kind::real) {
        return error("the condition of `where` must be bool, not " + text(operands[0]), "compare, as in `x != 0`");
      }
      if (operands[1].kind == operands[2].kind) return Type{operands[1].kind};
      if (has_bool && (operands[1].kind == Kind::boolean || operands[2].kind == Kind::boolean) &&
          !any_is(operands.subspan(1), Kind::unknown)) {
        return error("the branches of `where` are " + all(operands.subspan(1)), std::string(from_bool));
      }
      return Type{widest(operands.subspan(1))};
    case Rule::random:
      if (has_bool || any_is(operands, Kind::real))
        return error("`random` takes integers, not " + all(operands), "give a seed and indices");
      return Type{Kind::real};
    case Rule::extent:
      return Type{Kind::integer};
    case Rule::cast:
      break;
  }
  return Type{};
}

Typed<Type> reduction_type(const Reducer& reducer, Symbol result, std::span<const Type> values) {
  std::map<Symbol, Type> parameters, state;
  for (std::size_t i = 0; i < reducer.parameters.size() && i < values.size(); ++i) parameters[reducer.parameters[i]] = values[i];
  for (const Component& component : reducer.state) {
    auto lifted = symbolic_type(component.lift, parameters);
    if (!lifted) return error("in the lift of `" + reducer.name.text() + "`: " + lifted.error().message, lifted.error().cure);
    const bool open = component.dtype == DType::real;
    if (!is_storable(*lifted, component.dtype)) {
      const bool wants_bool = component.dtype == DType::boolean;
      return error("`" + reducer.name.text() + "` reduces " +
                       (wants_bool ? "bool"
                        : open     ? "numbers"
                                   : std::string(name(component.dtype))) +
                       ", not " + text(*lifted),
                   wants_bool                      ? "compare, as in `x != 0`"
                   : lifted->kind == Kind::boolean ? std::string(from_bool)
                                                   : "`i32(…)` makes an integer");
    }
    state[component.name] = open ? Type{lifted->kind == Kind::integer ? Kind::integer : Kind::real} : declared(component.dtype);
  }
  std::map<Symbol, Type> both = state;
  for (const auto& [name, type] : state) both[primed(name)] = type;
  for (const Component& component : reducer.state) {  // integers whose combination divides become reals
    const auto combined = symbolic_type(component.combine, both);
    if (component.dtype == DType::real && combined && combined->kind == Kind::real) state[component.name] = *combined;
  }
  for (const ReducerResult& one : reducer.results) {
    if (result.empty() || one.name == result) return symbolic_type(one.value, state);
  }
  return Type{};
}

Typed<Type> symbolic_type(Expr root, const std::map<Symbol, Type>& symbols) {
  std::unordered_map<const ExprNode*, Type> types;
  std::optional<TypeError> first;
  visit(root, [&](Expr e) {
    Type type;
    std::vector<Type> operands;
    for (const Expr arg : e.args()) operands.push_back(arg ? types[&arg.node()] : Type{});
    switch (e.op()) {
      case Op::number:
        type.kind = e.node().inexact == 0 && e.node().number.is_integer() ? Kind::integer : Kind::real;
        break;
      case Op::infinity:
        type.kind = Kind::real;
        break;
      case Op::boolean:
        type.kind = Kind::boolean;
        break;
      case Op::index:
      case Op::dim:
        type.kind = Kind::integer;
        break;
      case Op::symbol:
        if (const auto found = symbols.find(e.name()); found != symbols.end()) type = found->second;
        break;
      case Op::cast:
        type = declared(e.node().dtype);
        break;
      case Op::read:
      case Op::call:
      case Op::tuple:
      case Op::reduce:
        break;
      default: {
        auto result = operation_type(e.op(), operands, e.args());
        if (result) {
          type = *result;
        } else if (!first) {
          first = result.error();
        }
      }
    }
    types[&e.node()] = type;
  });
  if (first) return tl::unexpected<TypeError>(*first);
  return types[&root.node()];
}

}  // namespace fathom::lang
