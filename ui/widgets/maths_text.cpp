// Formulas as LaTeX, to copy, and in words, for the mirror.
#include <fmt/format.h>

#include <algorithm>

#include "widgets/maths.hpp"
#include "widgets/maths_grammar.hpp"

namespace fathom::ui::widgets {
namespace {

// ---- LaTeX ----

std::string in_parentheses(const std::string& inner) { return "\\left(" + inner + "\\right)"; }

std::string operand(Expr e, bool parenthesised) { return parenthesised ? in_parentheses(latex(e)) : latex(e); }

std::string list(std::span<const Expr> items) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i)
    out += (i > 0 ? ", " : "") + operand(items[i], grammar::is_parenthesised_in_list(items[i], i, items.size()));
  return out;
}

std::string upright(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '_' ? std::string("\\_") : std::string(1, c);
  return "\\mathrm{" + out + "}";
}

/// Without its primes: they stand with the exponent of a subscripted name.
std::string base_of(const grammar::Name& name) {
  std::string out;
  for (const std::string& segment : name.segments)
    out += (out.empty() ? "" : ".") + (segment.size() == 1 && segment != "_" ? segment : upright(segment));
  if (!name.tilde) return out;
  return (name.segments.size() == 1 && name.segments[0].size() == 1 ? "\\tilde{" : "\\widetilde{") + out + "}";
}

std::string identifier(const std::string& text) {
  const grammar::Name name = grammar::parts_of(text);
  return base_of(name) + std::string(static_cast<std::size_t>(name.primes), '\'');
}

std::string function(std::string_view name) {
  for (const std::string_view known : {"exp", "log", "sin", "cos", "tanh", "max", "min"})
    if (name == known) return "\\" + std::string(name);
  std::string out;
  for (const char c : name) out += c == '_' ? std::string("\\_") : std::string(1, c);
  return "\\operatorname{" + out + "}";
}

std::string indices(const std::vector<Symbol>& bound) {
  std::string out;
  for (const Symbol each : bound) out += (out.empty() ? "" : ", ") + identifier(each.text());
  return out;
}

std::string big_operator(Expr e) {
  const std::string name = grammar::reducer_name(e);
  std::string op = name == "sum" ? "\\sum" : name == "prod" ? "\\prod" : function(name);
  constexpr std::string_view plain = "\\operatorname{";
  if (op.compare(0, plain.size(), plain) == 0) op.insert(plain.size() - 1, "*");  // its indices stand below
  const auto values = values_of(e);
  const std::string body =
      values.size() == 1 ? operand(values[0], grammar::is_parenthesised_body(values[0])) : in_parentheses(list(values));
  return op + (e.node().bound.empty() ? "" : "_{" + indices(e.node().bound) + "}") + " " + body;
}

std::string_view latex_sign(Op op) {
  switch (op) {
    case Op::add:
      return "+";
    case Op::sub:
      return "-";
    case Op::mul:
      return "\\cdot";
    case Op::mod:
      return "\\bmod";
    case Op::eq:
      return "=";
    case Op::ne:
      return "\\ne";
    case Op::lt:
      return "<";
    case Op::le:
      return "\\le";
    case Op::gt:
      return ">";
    case Op::ge:
      return "\\ge";
    case Op::logical_and:
      return "\\land";
    default:
      return "\\lor";
  }
}

std::string infix(Expr e) {
  const grammar::Sides sides = grammar::parenthesised(e);
  return fmt::format("{} {} {}", operand(e.arg(0), sides.left), latex_sign(e.op()), operand(e.arg(1), sides.right));
}

std::string power(Expr e) {
  const Expr base = e.arg(0);
  // A primed base has its prime where the exponent stands: braces keep TeX from calling that a double superscript.
  const bool is_primed = !grammar::is_parenthesised_base(base) && latex(base).find('\'') != std::string::npos;
  const std::string text = operand(base, grammar::is_parenthesised_base(base));
  return fmt::format("{}^{{{}}}", is_primed ? "{" + text + "}" : text, latex(e.arg(1)));
}

std::string called(Expr e) {
  const auto& bound = e.node().bound;
  return function(e.name().text()) + (bound.empty() ? "" : "_{" + indices(bound) + "}") + in_parentheses(list(e.args()));
}

}  // namespace

std::string latex(Expr e) {
  if (!e) return {};
  switch (e.op()) {
    case Op::number:
      return grammar::number_text(e);
    case Op::infinity:
      return "\\infty";
    case Op::boolean:
      return upright(print(e));
    case Op::index:
    case Op::dim:
    case Op::symbol:
      return identifier(e.name().text());
    case Op::read:
      return identifier(e.name().text()) + (e.args().empty() ? "" : "_{" + list(e.args()) + "}");
    case Op::tuple:
      return in_parentheses(list(e.args()));
    case Op::cast:
      return function(name(e.node().dtype)) + in_parentheses(list(e.args()));
    case Op::call:
      return called(e);
    case Op::reduce:
      return big_operator(e);
    case Op::neg:
      return "-" + operand(e.arg(0), grammar::is_parenthesised_operand(e));
    case Op::logical_not:
      return "\\lnot " + operand(e.arg(0), grammar::is_parenthesised_operand(e));
    case Op::div:
      return fmt::format("\\frac{{{}}}{{{}}}", latex(e.arg(0)), latex(e.arg(1)));
    case Op::floordiv:
      return fmt::format("\\left\\lfloor\\frac{{{}}}{{{}}}\\right\\rfloor", latex(e.arg(0)), latex(e.arg(1)));
    case Op::pow:
      return power(e);
    case Op::exp:
      return grammar::is_raised(e) ? fmt::format("\\mathrm{{e}}^{{{}}}", latex(e.arg(0))) : "\\exp" + in_parentheses(latex(e.arg(0)));
    case Op::exp2:
      return fmt::format("2^{{{}}}", latex(e.arg(0)));
    case Op::sqrt:
      return fmt::format("\\sqrt{{{}}}", latex(e.arg(0)));
    case Op::rsqrt:
      return fmt::format("\\frac{{1}}{{\\sqrt{{{}}}}}", latex(e.arg(0)));
    case Op::abs:
      return fmt::format("\\left|{}\\right|", latex(e.arg(0)));
    case Op::floor:
      return fmt::format("\\left\\lfloor {}\\right\\rfloor", latex(e.arg(0)));
    case Op::where:
      return fmt::format("\\begin{{cases}} {} & \\text{{if }} {} \\\\ {} & \\text{{else}} \\end{{cases}}", latex(e.arg(1)), latex(e.arg(0)),
                         latex(e.arg(2)));
    default:
      return kind(e.op()) == OpKind::infix ? infix(e) : function(spelling(e.op())) + in_parentheses(list(e.args()));
  }
}

// ---- words ----

namespace {

/// Words, and whether a listener could take what follows for a part of them: a pause, written as a comma, ends them then.
struct Words {
  std::string text;
  bool is_open = false;
};

Words words(Expr);

bool is_leaf(Expr e) {
  return kind(e.op()) == OpKind::leaf || (e.is(Op::read) && e.args().empty()) || (e.is(Op::neg) && kind(e.arg(0).op()) == OpKind::leaf);
}

Words part(Expr e, bool parenthesised) {
  Words said = words(e);
  return parenthesised ? Words{"the quantity " + said.text, true} : said;
}

Words joined(std::string_view before, Expr e) { return {fmt::format("{} {}", before, words(e).text), !is_leaf(e)}; }

std::string spoken_name(const std::string& text) {
  const grammar::Name name = grammar::parts_of(text);
  std::string out;
  for (const std::string& segment : name.segments) out += (out.empty() ? "" : ".") + segment;
  if (name.tilde) out += " tilde";
  if (name.primes == 1) out += " prime";
  if (name.primes == 2) out += " double prime";
  if (name.primes > 2) out += fmt::format(" with {} primes", name.primes);
  return out;
}

std::string spoken_indices(const std::vector<Symbol>& bound) {
  std::string out;
  for (std::size_t i = 0; i < bound.size(); ++i)
    out += (i == 0 ? "" : i + 1 == bound.size() ? " and " : ", ") + spoken_name(bound[i].text());
  return out;
}

std::string spoken_number(Expr e) {
  std::string text = grammar::number_text(e);
  if (text[0] == '-') text = "minus " + text.substr(1);
  const auto slash = text.find('/');
  return slash == std::string::npos ? text : text.substr(0, slash) + " over " + text.substr(slash + 1);
}

std::string spoken_list(std::span<const Expr> items, std::string_view last = ", ") {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i)
    out += (i == 0 ? "" : i + 1 == items.size() ? std::string(last) : ", ") + words(items[i]).text;
  return out;
}

Words spoken_read(Expr e) {
  const std::string name = spoken_name(e.name().text());
  if (e.args().empty()) return {name};
  const bool plain = std::all_of(e.args().begin(), e.args().end(), is_leaf);
  std::string subscripts;
  for (const Expr each : e.args()) subscripts += (subscripts.empty() ? "" : plain ? " " : ", ") + words(each).text;
  return {name + " sub " + subscripts, !plain};
}

std::string_view spoken_sign(Op op) {
  switch (op) {
    case Op::add:
      return "plus";
    case Op::sub:
      return "minus";
    case Op::mul:
      return "times";
    case Op::mod:
      return "mod";
    case Op::eq:
      return "equals";
    case Op::ne:
      return "is not";
    case Op::lt:
      return "is less than";
    case Op::le:
      return "is at most";
    case Op::gt:
      return "is greater than";
    case Op::ge:
      return "is at least";
    case Op::logical_and:
      return "and";
    default:
      return "or";
  }
}

Words spoken_infix(Expr e) {
  const grammar::Sides sides = grammar::parenthesised(e);
  const Words left = part(e.arg(0), sides.left), right = part(e.arg(1), sides.right);
  return {fmt::format("{}{} {} {}", left.text, left.is_open ? "," : "", spoken_sign(e.op()), right.text), right.is_open};
}

Words spoken_quotient(Expr above, Expr below) {
  const Words top = words(above), bottom = words(below);
  const bool is_sum = grammar::strength(above) <= grammar::additive;
  const bool is_long = !is_leaf(below) && grammar::strength(below) < grammar::tight;
  return {fmt::format("{}{} over {}{}", top.text,
                      is_sum        ? ", all"
                      : top.is_open ? ","
                                    : "",
                      is_long ? "the quantity " : "", bottom.text),
          is_long || bottom.is_open};
}

Words spoken_power(Expr e) {
  const Words base = part(e.arg(0), grammar::is_parenthesised_base(e.arg(0)));
  const std::string start = base.text + (base.is_open ? ", " : " ");
  if (e.arg(1) == number(2)) return {start + "squared"};
  if (e.arg(1) == number(3)) return {start + "cubed"};
  return joined(start + "to the", e.arg(1));
}

Words spoken_reduction(Expr e) {
  const auto values = values_of(e);
  const std::string name = e.name() == "prod"_sym ? "product" : grammar::reducer_name(e);
  const std::string over = e.node().bound.empty() ? name : name + " over " + spoken_indices(e.node().bound);
  const std::string body =
      values.size() == 1 ? part(values[0], grammar::is_parenthesised_body(values[0])).text : spoken_list(values, " and ");
  return {over + " of " + body, true};
}

Words spoken_function(std::string_view name, std::span<const Expr> args) {
  return {fmt::format("{} of {}", name, spoken_list(args, " and ")), args.size() != 1 || !is_leaf(args[0])};
}

Words words(Expr e) {
  switch (e.op()) {
    case Op::number:
      return {spoken_number(e)};
    case Op::infinity:
      return {"infinity"};
    case Op::boolean:
      return {print(e)};
    case Op::index:
    case Op::dim:
    case Op::symbol:
      return {spoken_name(e.name().text())};
    case Op::read:
      return spoken_read(e);
    case Op::tuple:
      return {"the tuple " + spoken_list(e.args()), true};
    case Op::cast:
      return {fmt::format("{} as {}", words(e.arg(0)).text, name(e.node().dtype)), false};
    case Op::call: {
      const std::string name = e.name().text();
      return spoken_function(e.node().bound.empty() ? name : name + " over " + spoken_indices(e.node().bound), e.args());
    }
    case Op::reduce:
      return spoken_reduction(e);
    case Op::neg: {
      const Words inner = part(e.arg(0), grammar::is_parenthesised_operand(e));
      return {"minus " + inner.text, inner.is_open};
    }
    case Op::logical_not: {
      const Words inner = part(e.arg(0), grammar::is_parenthesised_operand(e));
      return {"not " + inner.text, inner.is_open};
    }
    case Op::div:
      return spoken_quotient(e.arg(0), e.arg(1));
    case Op::floordiv:
      return {"the floor of " + spoken_quotient(e.arg(0), e.arg(1)).text, true};
    case Op::pow:
      return spoken_power(e);
    case Op::exp:
      return joined("e to the", e.arg(0));
    case Op::exp2:
      return joined("2 to the", e.arg(0));
    case Op::sqrt:
      return joined("the square root of", e.arg(0));
    case Op::rsqrt:
      return joined("1 over the square root of", e.arg(0));
    case Op::abs:
      return joined("the absolute value of", e.arg(0));
    case Op::floor:
      return joined("the floor of", e.arg(0));
    case Op::min:
      return spoken_function("the minimum", e.args());
    case Op::max:
      return spoken_function("the maximum", e.args());
    case Op::where:
      return {fmt::format("{} if {}, else {}", words(e.arg(1)).text, words(e.arg(0)).text, words(e.arg(2)).text), true};
    default:
      return kind(e.op()) == OpKind::infix ? spoken_infix(e) : spoken_function(spelling(e.op()), e.args());
  }
}

}  // namespace

std::string spoken(Expr e) { return e ? words(e).text : std::string(); }

}  // namespace fathom::ui::widgets
