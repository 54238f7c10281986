// Expressions and reducers in JSON, Math and Loop programs. The fields of everything else: json_fields.hpp.
#include "ir/json.hpp"

#include <cmath>

#include "ir/json_fields.hpp"

namespace fathom {
namespace json {
namespace {

constexpr std::array<std::string_view, op_count> identifiers = {
#define FATHOM_OP_IDENTIFIER(id, spelling, kind) #id,
    FATHOM_OPS(FATHOM_OP_IDENTIFIER)
#undef FATHOM_OP_IDENTIFIER
};

/// Shared parts are written out: a small graph may be a tree of any size.
constexpr std::uint64_t most_nodes = 1'000'000;

ReducerRef find_reducer(const std::vector<ReducerRef>* reducers, Symbol name) {
  if (reducers != nullptr)
    for (const ReducerRef& each : *reducers)
      if (each && each->name == name) return each;
  return builtin_reducer(name);
}

}  // namespace

std::string_view identifier(Op op) { return identifiers[static_cast<std::size_t>(op)]; }

std::optional<Op> op_identified(std::string_view text) {
  for (std::size_t i = 0; i < identifiers.size(); ++i)
    if (identifiers[i] == text) return static_cast<Op>(i);
  return std::nullopt;
}

// ---- writing ----
Json Writer::expression(Expr expr) {
  if (!expr) return Json();
  const ExprNode& node = expr.node();
  if (node.depth > deepest || node.size > most_nodes) return Json{{"op", "text"}, {"value", print(expr)}};
  Json out = {{"op", std::string(identifier(node.op))}};
  if (node.op == Op::number) {
    if (node.inexact != 0) {
      out["value"] = node.inexact;
    } else {
      out["num"] = node.number.num();
      out["den"] = node.number.den();
    }
  }
  if (node.op == Op::boolean) out["value"] = node.truth;
  if (node.op == Op::cast) out["dtype"] = encode(node.dtype);
  if (!node.name.empty()) out["name"] = node.name.text();
  if (node.op == Op::reduce) {
    out["result"] = node.result.text();
    Json over = Json::array();
    for (const Bound& bound : bounds_of(expr))
      over.push_back({{"index", bound.index.text()}, {"lo", expression(bound.lo)}, {"hi", expression(bound.hi)}});
    out["over"] = std::move(over);
    out["args"] = encode(values_of(expr));
    return out;
  }
  if (node.op == Op::call) out["indices"] = encode(node.bound);
  if (kind(node.op) != OpKind::leaf) out["args"] = encode(node.args);
  return out;
}

Json Writer::reducer(const ReducerRef& reducer) {
  if (!reducer) return Json();
  const ReducerRef known = find_reducer(reducers_, reducer->name);
  return known && *known == *reducer ? Json(reducer->name.text()) : encode(*reducer);
}

// ---- reading ----
void Reader::dtype(const Json& from, DType& value) {
  value = DType::real;
  if (from.is_null()) return;
  const std::optional<DType> named = from.is_string() ? dtype_named(from.get_ref<const std::string&>()) : std::nullopt;
  if (!named) return fail("{} is no element type", from.dump());
  value = *named;
}

ReducerRef Reader::reducer(const Json& from) {
  if (from.is_object()) {
    Reducer own;
    decode(from, own);
    return std::make_shared<const Reducer>(std::move(own));
  }
  if (!from.is_string()) {
    fail("a reducer is wanted");
    return nullptr;
  }
  ReducerRef found = find_reducer(reducers_, Symbol(from.get_ref<const std::string&>()));
  if (!found) fail("there is no reducer named {}", from.get_ref<const std::string&>());
  return found;
}

Symbol Reader::name_in(const Json& from, const char* key) {
  const auto found = from.find(key);
  if (found != from.end() && found->is_string() && !found->get_ref<const std::string&>().empty())
    return Symbol(found->get_ref<const std::string&>());
  fail("the field {} is missing", key);
  return {};
}

std::vector<Expr> Reader::args(const Json& from, const char* key) {
  std::vector<Expr> result;
  const auto found = from.find(key);
  if (found == from.end()) {
    fail("the field {} is missing", key);
    return result;
  }
  enter("." + std::string(key), [&] { decode(*found, result); });
  for (const Expr arg : result)
    if (!arg) fail("an operand is missing");
  return result;
}

Expr Reader::number_of(const Json& from) {
  const auto value = from.find("value");
  if (value != from.end()) {
    if (value->is_number() && std::isfinite(value->get<double>())) return inexact_number(value->get<double>());
    fail("a finite number is wanted");
    return {};
  }
  std::int64_t num = 0;
  std::int64_t den = 0;
  if (!from.contains("num") || !from.contains("den")) {
    fail("a number needs num and den, or value");
    return {};
  }
  integer(from["num"], num);
  integer(from["den"], den);
  const std::optional<Rational> exact = failed() ? std::nullopt : Rational::make(num, den);
  if (!exact) {
    fail("{}/{} is not a number", num, den);
    return {};
  }
  return number(*exact);
}

/// Operations whose nodes have more than operands.
Expr Reader::special(Op op, const Json& from) {
  switch (op) {
    case Op::number:
      return number_of(from);
    case Op::infinity:
      return infinity();
    case Op::boolean: {
      const auto value = from.find("value");
      if (value == from.end() || !value->is_boolean()) fail("true or false is wanted");
      return failed() ? Expr() : boolean(value->get<bool>());
    }
    case Op::index:
      return index(name_in(from, "name"));
    case Op::dim:
      return dim(name_in(from, "name"));
    case Op::symbol:
      return symbol(name_in(from, "name"));
    case Op::read:
      return read(name_in(from, "name"), args(from, "args"));
    case Op::tuple:
      return tuple(args(from, "args"));
    case Op::cast: {
      DType type = DType::real;
      dtype(from.value("dtype", Json()), type);
      const std::vector<Expr> operands = args(from, "args");
      if (operands.size() != 1) fail("a cast takes one operand");
      return failed() ? Expr() : cast(type, operands.front());
    }
    case Op::call: {
      std::vector<Symbol> indices;
      decode(from.value("indices", Json::array()), indices);
      std::vector<Expr> operands = args(from, "args");
      return failed() ? Expr() : call(name_in(from, "name"), std::move(indices), std::move(operands));
    }
    default:
      break;
  }
  std::vector<math::Axis> over;
  decode(from.value("over", Json()), over);
  std::vector<Bound> bounds;
  for (const math::Axis& axis : over) bounds.push_back({axis.index, axis.lo, axis.hi});
  const Symbol result(from.value("result", Json("")).is_string() ? from.value("result", Json("")).get<std::string>() : "");
  const std::vector<Expr> values = args(from, "args");
  return failed() ? Expr() : reduce(name_in(from, "name"), result, bounds, values);
}

Expr Reader::expression(const Json& from) {
  if (from.is_null() || failed()) return {};
  const auto found = from.is_object() ? from.find("op") : from.end();
  if (!from.is_object() || found == from.end() || !found->is_string()) {
    fail("an expression is an object with the field op");
    return {};
  }
  const std::optional<Op> op = op_identified(found->get_ref<const std::string&>());
  if (!op) {
    fail("there is no operation named {}", found->get_ref<const std::string&>());
    return {};
  }
  Expr result;
  if (kind(*op) == OpKind::leaf || kind(*op) == OpKind::special) {
    result = special(*op, from);
  } else {
    std::vector<Expr> operands = args(from, "args");
    const bool right = arity(*op) < 0 ? !operands.empty() : operands.size() == static_cast<std::size_t>(arity(*op));
    if (!right) fail("{} does not take {} operands", identifier(*op), operands.size());
    if (!failed()) result = make(*op, std::move(operands));
  }
  return failed() ? Expr() : result;
}

namespace {

const std::vector<ReducerRef>& no_reducers(const Expr&) {
  static const auto* none = new std::vector<ReducerRef>;
  return *none;
}
const std::vector<ReducerRef>& reducers_of_math(const math::Program& program) { return program.reducers; }
const std::vector<ReducerRef>& reducers_of_loop(const loop::Program& program) { return program.math.reducers; }

}  // namespace
}  // namespace json

std::string to_json(Expr expr) { return json::text_of(expr, nullptr); }
std::string to_json(const math::Program& program) { return json::text_of(program, &program.reducers); }
std::string to_json(const loop::Program& program) { return json::text_of(program, &program.math.reducers); }

std::string to_json(const Ir& ir) {
  const std::string text = std::visit([](const auto& program) { return to_json(*program); }, ir.snapshot);
  return fmt::format("{{\"level\":\"{}\",\"ir\":{}}}", name(ir.level), text);
}

Result<Expr> expr_from_json(std::string_view text) { return json::value_of<Expr>(text, {}, json::no_reducers); }
Result<math::Program> math_from_json(std::string_view text) { return json::value_of<math::Program>(text, {}, json::reducers_of_math); }
Result<loop::Program> loop_from_json(std::string_view text) { return json::value_of<loop::Program>(text, {}, json::reducers_of_loop); }

}  // namespace fathom
