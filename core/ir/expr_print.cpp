// Prints expressions as the notation's grammar (docs/language.md) reads them, with the fewest parentheses. Works on a stack of its own.
#include <fmt/format.h>

#include <array>

#include "ir/expr.hpp"

namespace fathom {
namespace {

// The grammar's levels, loosest first. An operand is put in parentheses where its level is below the one its place asks for.
enum Level : int { any = 0, disjunction = 1, conjunction, negation, comparison, sum, term, prefix, power_level, primary };

struct Infix {
  Level own, left, right;
};

std::optional<Infix> infix_of(Op op) {
  switch (op) {
    case Op::logical_or:
      return Infix{disjunction, disjunction, conjunction};
    case Op::logical_and:
      return Infix{conjunction, conjunction, negation};
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return Infix{comparison, sum, sum};
    case Op::add:
    case Op::sub:
      return Infix{sum, sum, term};
    case Op::mul:
    case Op::div:
    case Op::floordiv:
    case Op::mod:
      return Infix{term, term, prefix};
    case Op::pow:
      return Infix{power_level, primary, prefix};
    default:
      return std::nullopt;
  }
}

bool has_decimal(const Rational& value) { return value.text().find('/') == std::string::npos; }

Level level_of(Expr expr) {
  if (const std::optional<Infix> infix = infix_of(expr.op())) return infix->own;
  if (expr.is(Op::neg)) return prefix;
  if (expr.is(Op::logical_not)) return negation;
  if (!expr.is(Op::number)) return primary;
  const ExprNode& node = expr.node();
  if (!has_decimal(node.number)) return term;
  return node.number.sign() < 0 || node.inexact < 0 ? prefix : primary;
}

std::string text_of_number(const ExprNode& node) {
  if (node.inexact != 0) return fmt::format("{}", node.inexact);
  if (has_decimal(node.number)) return node.number.text();
  return fmt::format("{} / {}", node.number.num(), node.number.den());
}

/// What is still to be written: a text, or an expression in a place that asks for at least `level`.
struct Item {
  std::string text;
  Expr expr;
  Level level = any;
};

class Printer {
 public:
  std::string operator()(Expr root) {
    pending_.push_back({"", root, any});
    while (!pending_.empty()) {
      const Item item = std::move(pending_.back());
      pending_.pop_back();
      if (!item.expr) {
        out_ += item.text;
        continue;
      }
      const bool enclosed = level_of(item.expr) < item.level;
      if (enclosed) text("(");
      parts_of(item.expr);
      if (enclosed) text(")");
      pending_.insert(pending_.end(), std::make_move_iterator(parts_.rbegin()), std::make_move_iterator(parts_.rend()));
      parts_.clear();
    }
    return std::move(out_);
  }

 private:
  void text(std::string value) { parts_.push_back({std::move(value), Expr(), any}); }
  void expr(Expr value, Level level) { parts_.push_back({"", value, level}); }

  template <class List>
  void list(const List& values, const char* separator) {
    bool first = true;
    for (const Expr value : values) {
      if (!first) text(separator);
      first = false;
      expr(value, any);
    }
  }

  void bounds(Expr reduce) {
    text("[");
    bool first = true;
    for (const Bound& bound : bounds_of(reduce)) {
      text((first ? "" : ",") + bound.index.text());
      first = false;
      if (!bound.lo || !bound.hi) continue;
      text(" in ");
      expr(bound.lo, any);
      text(":");
      expr(bound.hi, any);
    }
    text("]");
  }

  void indices(const std::vector<Symbol>& names) {
    if (names.empty()) return;
    std::string joined = "[";
    for (const Symbol each : names) joined += (joined.size() > 1 ? "," : "") + each.text();
    text(joined + "]");
  }

  void function(std::string_view name, std::span<const Expr> args) {
    text(std::string(name) + "(");
    list(args, ", ");
    text(")");
  }

  void special(Expr value) {
    const ExprNode& node = value.node();
    switch (node.op) {
      case Op::read:
        text(node.name.text());
        if (node.args.empty()) return;
        text("[");
        list(node.args, ",");
        return text("]");
      case Op::tuple:
        text("(");
        list(node.args, ",");
        return text(node.args.size() == 1 ? ",)" : ")");
      case Op::cast:
        return function(name(node.dtype), node.args);
      case Op::call:
        text(node.name.text());
        indices(node.bound);
        return function("", node.args);
      default:  // reduce
        text(node.name.text() + (node.result.empty() ? "" : "." + node.result.text()));
        bounds(value);
        return function("", values_of(value));
    }
  }

  void parts_of(Expr value) {
    const ExprNode& node = value.node();
    switch (kind(node.op)) {
      case OpKind::leaf:
        if (node.op == Op::number) return text(text_of_number(node));
        if (node.op == Op::infinity) return text("inf");
        if (node.op == Op::boolean) return text(node.truth ? "true" : "false");
        return text(node.name.text());
      case OpKind::prefix:
        if (node.op == Op::logical_not) {
          text("not ");
          return expr(node.args[0], comparison);
        }
        text("-");
        // `-3` is the literal -3: the negation of a literal keeps its parentheses (a negative literal has its own minus)
        return expr(node.args[0], is_plain_literal(node.args[0]) ? forced : prefix);
      case OpKind::infix: {
        const Infix infix = *infix_of(node.op);
        expr(node.args[0], infix.left);
        text(" " + std::string(spelling(node.op)) + " ");
        return expr(node.args[1], infix.right);
      }
      case OpKind::function:
        return function(spelling(node.op), node.args);
      case OpKind::special:
        return special(value);
    }
  }

  static constexpr Level forced = static_cast<Level>(primary + 1);
  static bool is_plain_literal(Expr value) { return value.is(Op::number) && level_of(value) == primary; }

  std::string out_;
  std::vector<Item> pending_;
  std::vector<Item> parts_;
};

}  // namespace

std::string print(Expr expr) { return expr ? Printer()(expr) : std::string(); }

}  // namespace fathom
