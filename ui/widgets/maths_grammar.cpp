#include "widgets/maths_grammar.hpp"

#include <algorithm>

namespace fathom::ui::widgets::grammar {
namespace {

/// What may stand after an expression without seeming to belong to it: cases have no closing brace, a sum has no end but a weaker sign.
enum class End { closed, open_to_products, open };

End end_of(Expr e) {
  switch (e.op()) {
    case Op::where:
      return End::open;
    case Op::reduce: {
      const auto values = values_of(e);
      if (values.size() != 1 || is_parenthesised_body(values[0])) return End::open_to_products;
      return std::max(End::open_to_products, end_of(values[0]));
    }
    case Op::neg:
    case Op::logical_not:
      return is_parenthesised_operand(e) ? End::closed : end_of(e.arg(0));
    default:
      break;
  }
  const bool has_line = kind(e.op()) == OpKind::infix && strength(e) < tight;
  return !has_line || parenthesised(e).right ? End::closed : end_of(e.arg(1));
}

/// Chains of these read the same from either side, or only one way.
bool mixes(Expr outer, Expr operand, bool on_the_left) {
  if (strength(outer) == logical) return strength(operand) == logical && operand.op() != outer.op();
  return operand.is(Op::mod) && strength(outer) == multiplicative && !(on_the_left && outer.is(Op::mod));
}

}  // namespace

Sides parenthesised(Expr e) {
  const int own = strength(e);
  const Expr left = e.arg(0), right = e.arg(1);
  const End end = end_of(left);
  const int right_at_least = e.is(Op::sub) || e.is(Op::mod) || own == comparison ? own + 1 : own;  // a - (b - c) keeps its parentheses
  const bool right_is_body = right.is(Op::reduce) && own == multiplicative;                        // nothing of it can be mistaken
  Sides sides;
  sides.left = strength(left) < own || end == End::open || (end == End::open_to_products && own == multiplicative) || mixes(e, left, true);
  sides.right = (strength(right) < right_at_least && !right_is_body) || mixes(e, right, false);
  return sides;
}

bool is_parenthesised_base(Expr e) {
  if (strength(e) < tight) return true;
  switch (e.op()) {
    case Op::number:
      return e.node().number.sign() < 0 || e.node().inexact < 0 || !e.node().number.is_integer();
    case Op::pow:
    case Op::exp2:
    case Op::div:
    case Op::rsqrt:
    case Op::where:
      return true;
    case Op::exp:
      return is_raised(e);
    default:
      return false;
  }
}

bool is_parenthesised_body(Expr value) { return strength(value) < multiplicative; }

bool is_parenthesised_operand(Expr e) { return strength(e.arg(0)) < (e.is(Op::neg) ? multiplicative : prefix); }

bool is_parenthesised_in_list(Expr item, std::size_t at, std::size_t count) { return at + 1 < count && end_of(item) == End::open; }

Name parts_of(const std::string& text) {
  Name name;
  std::string base = text;
  for (; !base.empty() && base.back() == '\''; base.pop_back()) ++name.primes;
  name.tilde = !base.empty() && base.back() == '~';
  if (name.tilde) base.pop_back();
  std::size_t begin = 0;
  for (std::size_t dot = base.find('.'); dot != std::string::npos; begin = dot + 1, dot = base.find('.', begin))
    name.segments.push_back(base.substr(begin, dot - begin));
  name.segments.push_back(base.substr(begin));
  return name;
}

std::string reducer_name(Expr e) {
  const ExprNode& node = e.node();
  return node.result.empty() ? node.name.text() : node.name.text() + "." + node.result.text();
}

std::string number_text(Expr e) {
  std::string text = print(e);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

}  // namespace fathom::ui::widgets::grammar
