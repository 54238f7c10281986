#include "session/mathml.hpp"

#include <fmt/format.h>

#include "session/binding_strength.hpp"

namespace fathom::session {
namespace {

using namespace typeset;

std::string item(Expr e);
std::string operand(Expr e, int at_least) {
  std::string inner = item(e);
  if (strength(e) >= at_least) return inner;
  return fmt::format("<mrow><mo>(</mo>{}<mo>)</mo></mrow>", inner);
}

std::string list(std::span<const Expr> parts) {
  std::string text;
  for (const Expr part : parts) text += (text.empty() ? "" : "<mo separator=\"true\">,</mo>") + item(part);
  return "<mrow>" + text + "</mrow>";
}

/// p.m~' -> p.m with tilde and prime as marks.
std::string identifier(const std::string& name) {
  std::string base = name, marks;
  while (!base.empty() && base.back() == '\'') {
    base.pop_back();
    marks += "′";
  }
  const bool tilde = !base.empty() && base.back() == '~';
  if (tilde) base.pop_back();
  std::string text = fmt::format("<mi>{}</mi>", escape_html(base));
  if (tilde) text = fmt::format("<mover accent=\"true\">{}<mo>~</mo></mover>", text);
  return marks.empty() ? text : fmt::format("<msup>{}<mo>{}</mo></msup>", text, marks);
}

std::string applied(std::string_view function, std::span<const Expr> args) {
  return fmt::format("<mrow><mi mathvariant=\"normal\">{}</mi><mo>&#x2061;</mo><mrow><mo>(</mo>{}<mo>)</mo></mrow></mrow>",
                     escape_html(function), list(args));
}

std::string infix(Expr e, std::string_view symbol) {
  const int own = strength(e);
  // The right operand of - binds tighter, so that a - (b - c) keeps its parentheses.
  const int right = e.op() == Op::sub || own == comparison ? own + 1 : own;
  return fmt::format("<mrow>{}<mo>{}</mo>{}</mrow>", operand(e.arg(0), own), symbol, operand(e.arg(1), right));
}

std::string big_operator(Expr e) {
  const std::string& name = e.name().text();
  const std::string symbol = name == "sum" ? "<mo>∑</mo>" : name == "prod" ? "<mo>∏</mo>" : fmt::format("<mo>{}</mo>", escape_html(name));
  std::string under;
  for (const Symbol bound : e.node().bound) under += (under.empty() ? "" : "<mo>,</mo>") + identifier(bound.text());
  const auto values = values_of(e);
  const std::string body =
      values.size() == 1 ? operand(values[0], multiplicative) : fmt::format("<mrow><mo>(</mo>{}<mo>)</mo></mrow>", list(values));
  return fmt::format("<mrow><munder>{}<mrow>{}</mrow></munder>{}</mrow>", symbol, under, body);
}

std::string power(Expr base, const std::string& exponent) { return fmt::format("<msup>{}{}</msup>", operand(base, tight), exponent); }

std::string cases(Expr e) {
  return fmt::format(
      "<mrow><mo>{{</mo><mtable columnalign=\"left left\"><mtr><mtd>{}</mtd><mtd><mrow><mtext>if&nbsp;</mtext>{}</mrow></mtd></mtr>"
      "<mtr><mtd>{}</mtd><mtd><mtext>else</mtext></mtd></mtr></mtable></mrow>",
      item(e.arg(1)), item(e.arg(0)), item(e.arg(2)));
}

std::string item(Expr e) {
  switch (e.op()) {
    case Op::number: {
      const std::string text = print(e);
      return fmt::format("<mn>{}</mn>", escape_html(text));
    }
    case Op::infinity:
      return "<mn>∞</mn>";
    case Op::boolean:
      return fmt::format("<mi mathvariant=\"normal\">{}</mi>", print(e));
    case Op::index:
    case Op::dim:
    case Op::symbol:
      return identifier(e.name().text());
    case Op::read:
      if (e.args().empty()) return identifier(e.name().text());
      return fmt::format("<msub>{}{}</msub>", identifier(e.name().text()), list(e.args()));
    case Op::tuple:
      return fmt::format("<mrow><mo>(</mo>{}<mo>)</mo></mrow>", list(e.args()));
    case Op::cast:
      return applied(name(e.node().dtype), e.args());
    case Op::call:
      return applied(e.name().text(), e.args());
    case Op::reduce:
      return big_operator(e);
    case Op::neg:
      return fmt::format("<mrow><mo>−</mo>{}</mrow>", operand(e.arg(0), multiplicative));
    case Op::logical_not:
      return fmt::format("<mrow><mo>¬</mo>{}</mrow>", operand(e.arg(0), prefix));
    case Op::add:
      return infix(e, "+");
    case Op::sub:
      return infix(e, "−");
    case Op::mul:
      return infix(e, "&#x22C5;");
    case Op::mod:
      return infix(e, "mod");
    case Op::eq:
      return infix(e, "=");
    case Op::ne:
      return infix(e, "≠");
    case Op::lt:
      return infix(e, "&lt;");
    case Op::le:
      return infix(e, "≤");
    case Op::gt:
      return infix(e, "&gt;");
    case Op::ge:
      return infix(e, "≥");
    case Op::logical_and:
      return infix(e, "∧");
    case Op::logical_or:
      return infix(e, "∨");
    case Op::div:
      return fmt::format("<mfrac>{}{}</mfrac>", item(e.arg(0)), item(e.arg(1)));
    case Op::floordiv:
      return fmt::format("<mrow><mo>⌊</mo><mfrac>{}{}</mfrac><mo>⌋</mo></mrow>", item(e.arg(0)), item(e.arg(1)));
    case Op::pow:
      return power(e.arg(0), item(e.arg(1)));
    case Op::exp:
      if (!is_raised(e)) return applied("exp", e.args());
      return fmt::format("<msup><mi mathvariant=\"normal\">e</mi>{}</msup>", item(e.arg(0)));
    case Op::exp2:
      return fmt::format("<msup><mn>2</mn>{}</msup>", item(e.arg(0)));
    case Op::sqrt:
      return fmt::format("<msqrt>{}</msqrt>", item(e.arg(0)));
    case Op::rsqrt:
      return fmt::format("<mfrac><mn>1</mn><msqrt>{}</msqrt></mfrac>", item(e.arg(0)));
    case Op::abs:
      return fmt::format("<mrow><mo>|</mo>{}<mo>|</mo></mrow>", item(e.arg(0)));
    case Op::floor:
      return fmt::format("<mrow><mo>⌊</mo>{}<mo>⌋</mo></mrow>", item(e.arg(0)));
    case Op::where:
      return cases(e);
    default:
      return applied(spelling(e.op()), e.args());
  }
}

}  // namespace

std::string mathml(Expr e) { return e ? "<math>" + item(e) + "</math>" : std::string(); }

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace fathom::session
