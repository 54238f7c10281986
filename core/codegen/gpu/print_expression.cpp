#include "codegen/gpu/print_expression.hpp"

#include <fmt/format.h>

#include <limits>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {
namespace {

enum Binding : std::uint8_t { ternary = 1, either, both, equality, order, sum, product, prefix, whole };

struct Printed {
  std::string text;
  int binding = whole;
};

std::string literal(const ExprNode& n, DType type) {
  const double value = n.inexact != 0 ? n.inexact : n.number.to_double();
  std::string digits = type == DType::f64 ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value);
  if (digits.find_first_of(".en") == std::string::npos) digits += ".0";
  return type == DType::f64 ? digits : digits + "f";
}

class ExpressionPrinter {
 public:
  explicit ExpressionPrinter(std::set<std::string>& used) : used_(used) {}

  Printed print(Expr e) {
    switch (e.op()) {
      case Op::number:
        return number_text(e);
      case Op::infinity:
        used_.insert("infinity");
        return {"infinity", whole};
      case Op::boolean:
        return {e.node().truth ? "true" : "false", whole};
      case Op::symbol:
        return {e.name().text(), whole};
      case Op::read: {
        std::string text = e.name().text();
        for (const Expr arg : e.args()) text += "[" + print(arg).text + "]";
        return {text, whole};
      }
      case Op::cast:
        return conversion(e);
      case Op::call:
        return call_text(e);
      case Op::neg:
        return {"-" + at_least(e.arg(0), prefix), prefix};
      case Op::logical_not:
        return {"!" + at_least(e.arg(0), prefix), prefix};
      case Op::where:
        return {at_least(e.arg(0), either) + " ? " + at_least(e.arg(1), either) + " : " + at_least(e.arg(2), ternary), ternary};
      case Op::min:
      case Op::max:
        used_.insert(e.is(Op::min) ? "min" : "max");
        return {(e.is(Op::min) ? "min(" : "max(") + print(e.arg(0)).text + ", " + print(e.arg(1)).text + ")", whole};
      default:
        return infix(e);
    }
  }

 private:
  std::string at_least(Expr e, int binding) {
    const Printed p = print(e);
    return p.binding < binding ? "(" + p.text + ")" : p.text;
  }

  static Printed number_text(Expr e) {
    const ExprNode& n = e.node();
    if (n.inexact != 0 || !n.number.is_integer()) return {literal(n, DType::f32), n.number < Rational(0) || n.inexact < 0 ? prefix : whole};
    const std::int64_t value = n.number.num();
    const bool wide = value > std::numeric_limits<std::int32_t>::max() || value < std::numeric_limits<std::int32_t>::min();
    return {std::to_string(value) + (wide ? "LL" : ""), value < 0 ? prefix : whole};
  }

  Printed conversion(Expr e) {
    const Expr inner = e.arg(0);
    const DType to = e.node().dtype;
    if (inner.is(Op::number) && (to == DType::f32 || to == DType::f64)) {
      return {literal(inner.node(), to), inner.node().number < Rational(0) || inner.node().inexact < 0 ? prefix : whole};
    }
    if (to == DType::i64) return {"(long long)" + at_least(inner, prefix), prefix};
    return {std::string(type_word(type_of(to))) + "(" + print(inner).text + ")", whole};
  }

  Printed call_text(Expr e) {
    const std::string& name = e.name().text();
    if (name == "&") return {"&" + print(e.arg(0)).text, prefix};
    used_.insert(name);
    static const std::set<std::string> constants = {"wait_for_copies",         "wait_for_products", "wait_for_stores",
                                                    "wait_for_stores_to_read", "set_registers_up",  "set_registers_down"};
    if (constants.count(name) > 0) return {name + "<" + print(e.arg(0)).text + ">()", whole};
    if (name == "landed") return {name + "<" + print(e.arg(1)).text + ">(" + print(e.arg(0)).text + ")", whole};
    if (name == "load_vector" || name == "store_vector") {
      return {name + "<" + print(e.arg(2)).text + ">(&" + print(e.arg(0)).text + ", &" + print(e.arg(1)).text + ")", whole};
    }
    std::string text = name + "(";
    for (std::size_t i = 0; i < e.args().size(); ++i) text += (i > 0 ? ", " : "") + print(e.arg(i)).text;
    return {text + ")", whole};
  }

  Printed infix(Expr e) {
    const char* sign = nullptr;
    int binding = whole;
    bool left_to_right = true;  // the right side needs parentheses where it binds as much
    switch (e.op()) {
      case Op::add:
        sign = " + ", binding = sum;
        left_to_right = false;
        break;
      case Op::sub:
        sign = " - ", binding = sum;
        break;
      case Op::mul:
        sign = " * ", binding = product;
        left_to_right = true;
        break;
      case Op::div:
      case Op::floordiv:
        sign = " / ", binding = product;
        break;
      case Op::mod:
        sign = " % ", binding = product;
        break;
      case Op::eq:
        sign = " == ", binding = equality;
        break;
      case Op::ne:
        sign = " != ", binding = equality;
        break;
      case Op::lt:
        sign = " < ", binding = order;
        break;
      case Op::le:
        sign = " <= ", binding = order;
        break;
      case Op::gt:
        sign = " > ", binding = order;
        break;
      case Op::ge:
        sign = " >= ", binding = order;
        break;
      case Op::logical_and:
        sign = " && ", binding = both;
        left_to_right = false;
        break;
      case Op::logical_or:
        sign = " || ", binding = either;
        break;
      default:
        refused("`" + fathom::print(e) + "` has no text in C++");
    }
    // A sum of floats is not associative: what stands on the right keeps its parentheses.
    return {at_least(e.arg(0), binding) + sign + at_least(e.arg(1), left_to_right || e.is(Op::add) ? binding + 1 : binding), binding};
  }

  std::set<std::string>& used_;
};

}  // namespace

std::string_view type_word(Type type) {
  switch (type) {
    case Type::boolean:
      return "bool";
    case Type::i32:
      return "int";
    case Type::i64:
      return "long long";
    case Type::f32:
      return "float";
    case Type::f64:
      return "double";
    case Type::bf16:
      return "bf16";
    case Type::f16:
      return "f16";
    case Type::pair_bf16:
    case Type::pair_f16:
      return "unsigned";
    case Type::barrier:
      return "unsigned long long";
  }
  return "";
}

std::string print_expression(Expr e, std::set<std::string>& used) { return ExpressionPrinter(used).print(e).text; }

}  // namespace fathom::gpu
