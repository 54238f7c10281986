// Expressions by precedence climbing: three frames of the stack a level of nesting, and no more than max_depth levels.
// The same parser reads the notation and the expressions in the texts of all levels.
#include "lang/parser.hpp"

#include <array>
#include <limits>

namespace fathom::lang {
namespace {

struct Infix {
  std::string_view text;
  Op op;
  int level;
};
constexpr int level_or = 1, level_and = 2, level_not = 3, level_comparison = 4, level_sum = 5, level_term = 6;
constexpr auto infixes = std::to_array<Infix>({
    {"or", Op::logical_or, level_or},
    {"and", Op::logical_and, level_and},
    {"==", Op::eq, level_comparison},
    {"!=", Op::ne, level_comparison},
    {"<", Op::lt, level_comparison},
    {"<=", Op::le, level_comparison},
    {">", Op::gt, level_comparison},
    {">=", Op::ge, level_comparison},
    {"+", Op::add, level_sum},
    {"-", Op::sub, level_sum},
    {"*", Op::mul, level_term},
    {"/", Op::div, level_term},
    {"//", Op::floordiv, level_term},
    {"%", Op::mod, level_term},
});

const Infix* infix_at(const Token& token) {
  if (token.kind != TokenKind::symbol && token.kind != TokenKind::word) return nullptr;
  for (const Infix& infix : infixes) {
    if (infix.text == token.text) return &infix;
  }
  return nullptr;
}

std::string shown(const Token& token) {
  if (token.kind == TokenKind::end) return "the end of the text";
  constexpr std::size_t longest = 40;
  return "`" + std::string(token.text.substr(0, longest)) + (token.text.size() > longest ? "…" : "") + "`";
}

}  // namespace

Parser::Parser(std::string_view source, const Mode& mode, Sink& sink, std::uint32_t source_id)
    : source_(source), mode_(mode), sink_(&sink), tokens_(tokenize(source, mode, source_id, sink)) {}

const Token& Parser::peek(std::size_t ahead) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }

bool Parser::at(std::string_view text, std::size_t ahead) const {
  const Token& token = peek(ahead);
  if (token.kind == TokenKind::end || token.kind == TokenKind::number) return false;
  if (text == "<-") return token.text == "<" && peek(ahead + 1).text == "-" && peek(ahead + 1).adjacent;
  return token.text == text;
}

Token Parser::next() {
  const Token token = peek();
  if (token.kind != TokenKind::end) ++position_;
  return token;
}

bool Parser::accept(std::string_view text) {
  if (!at(text)) return false;
  next();
  if (text == "<-") next();
  return true;
}

void Parser::unexpected(std::string_view wanted) {
  if (stopped_) return;
  sink_->error(peek().span, "expected " + std::string(wanted) + ", found " + shown(peek()));
}

bool Parser::expect(std::string_view text, std::string_view where) {
  if (accept(text)) return true;
  unexpected("`" + std::string(text) + "` " + std::string(where));
  return false;
}

std::optional<Symbol> Parser::name(std::string_view what) {
  if (at_name()) return Symbol(next().text);
  if (peek().kind == TokenKind::word) {
    sink_->error(peek().span, "expected " + std::string(what) + ", found the reserved word " + shown(peek()), "take another name");
  } else {
    unexpected(what);
  }
  return std::nullopt;
}

std::optional<std::int64_t> Parser::integer(std::string_view what) {
  const std::size_t start = position_;
  const bool negative = accept("-");
  if (peek().kind == TokenKind::number) {
    const Token token = next();
    const auto value = Rational::parse(token.text);
    if (value && value->is_integer()) return negative ? -value->num() : value->num();
    sink_->error(token.span, "expected " + std::string(what) + ", found " + shown(token), "write an integer of at most 63 bits");
    return std::nullopt;
  }
  unexpected(what);
  rewind(start);
  return std::nullopt;
}

std::optional<DType> Parser::dtype() {
  if (peek().kind == TokenKind::word) {
    if (const auto type = dtype_named(peek().text)) {
      next();
      return type;
    }
  }
  std::string cure = "f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i8 or bool";
  sink_->error(peek().span, "expected an element type, found " + shown(peek()), cure);
  return std::nullopt;
}

SourceSpan Parser::span_from(std::uint32_t begin) const {
  SourceSpan span = position_ > 0 ? tokens_[position_ - 1].span : peek().span;
  span.begin = std::min(begin, span.end);
  return span;
}

void Parser::stop() {
  position_ = tokens_.size() - 1;
  stopped_ = true;
}

bool Parser::enter() {
  if (nesting_ >= max_depth) {
    sink_->error(peek().span, "the text is nested too deeply here", "at most " + std::to_string(max_depth) + " levels are allowed");
    stop();
    return false;
  }
  ++nesting_;
  return true;
}

SyntaxRef Parser::make(Syntax node) {
  node.depth = 1;
  for (const SyntaxRef arg : node.args) node.depth = std::max(node.depth, arg->depth + 1);
  for (const BindSyntax& bind : node.binds) {
    for (const SyntaxRef bound : {bind.lo, bind.hi}) node.depth = std::max(node.depth, bound == nullptr ? 1 : bound->depth + 1);
  }
  if (node.depth > max_depth) {
    sink_->error(
        node.span, "the expression is nested too deeply",
        "at most " + std::to_string(max_depth) + " operations may stand inside each other; name a part of it in a statement of its own");
    stop();
    return nullptr;
  }
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

SyntaxRef Parser::literal(Expr value, SourceSpan span, SourceSpan sign) {
  Syntax node;
  node.literal = value;
  node.span = span;
  node.name_span = sign;
  return make(std::move(node));
}

SyntaxRef Parser::operation(Op op, SourceSpan span, SourceSpan sign, std::vector<SyntaxRef> args) {
  Syntax node;
  node.kind = SyntaxKind::operation;
  node.op = op;
  node.span = span;
  node.name_span = sign;
  node.args = std::move(args);
  return make(std::move(node));
}

SyntaxRef Parser::expression() { return binary(level_or); }

Expr Parser::expression(const Scope& scope) {
  const SyntaxRef syntax = expression();
  return syntax == nullptr ? Expr{} : lower(syntax, scope, *sink_);
}

SyntaxRef Parser::binary(int least) {
  if (!enter()) return nullptr;
  const std::uint32_t begin = peek().span.begin;
  SyntaxRef left = nullptr;
  if (least <= level_not && accept("not")) {
    const SyntaxRef operand = binary(level_not);
    left = operand == nullptr ? nullptr : operation(Op::logical_not, span_from(begin), {}, {operand});
  } else {
    left = unary();
  }
  while (left != nullptr) {
    const Infix* infix = infix_at(peek());
    if (infix == nullptr || infix->level < least) break;
    const Token sign = next();
    const SyntaxRef right = binary(infix->level + 1);
    if (right == nullptr) {
      left = nullptr;
      break;
    }
    left = operation(infix->op, span_from(begin), sign.span, {left, right});
    const Infix* following = infix_at(peek());
    if (infix->level == level_comparison && following != nullptr && following->level == level_comparison) {
      sink_->error(peek().span, "comparisons cannot be chained", "write `a < b and b < c`");
      left = nullptr;
    }
  }
  leave();
  return left;
}

SyntaxRef Parser::unary() {
  if (at("not")) {
    sink_->error(peek().span, "`not` binds less tightly than the operation before it", "put it in parentheses: `(not …)`");
    return nullptr;
  }
  if (at("-")) {
    if (!enter()) return nullptr;
    const Token sign = next();
    const SyntaxRef operand = unary();
    leave();
    if (operand == nullptr) return nullptr;
    const SourceSpan span = span_from(sign.span.begin);
    const bool is_number = operand->kind == SyntaxKind::literal && !operand->parenthesised && operand->literal.is(Op::number);
    if (is_number && operand->name_span == operand->span) {  // a bare literal: -2 is one number, -(2) is a negation
      const ExprNode& node = operand->literal.node();
      const auto negative = subtract(Rational(0), node.number);
      const Expr value = node.inexact != 0 ? inexact_number(-node.inexact) : negative ? number(*negative) : Expr{};
      if (value) return literal(value, span, sign.span);
    }
    return operation(Op::neg, span, sign.span, {operand});
  }
  const std::uint32_t begin = peek().span.begin;
  const SyntaxRef base = primary();
  if (base == nullptr || !at("^")) return base;
  if (!enter()) return nullptr;
  const Token sign = next();
  const SyntaxRef exponent = unary();
  leave();
  if (exponent == nullptr) return nullptr;
  return operation(Op::pow, span_from(begin), sign.span, {base, exponent});
}

SyntaxRef Parser::primary() {
  const Token token = peek();
  switch (token.kind) {
    case TokenKind::number: {
      next();
      const Expr value = number_literal(token.text, token.span, *sink_);
      if (!value) return nullptr;
      return literal(value, token.span, token.span);
    }
    case TokenKind::name:
      return named();
    case TokenKind::word:
      return primary_word();
    case TokenKind::symbol:
      if (token.text == "(") return parenthesised();
      break;
    case TokenKind::end:
      break;
  }
  unexpected("an expression");
  return nullptr;
}

SyntaxRef Parser::primary_word() {
  const Token token = peek();
  const Expr value = token.text == "inf"     ? infinity()
                     : token.text == "true"  ? boolean(true)
                     : token.text == "false" ? boolean(false)
                                             : Expr{};
  if (value) {
    next();
    return literal(value, token.span, token.span);
  }
  const auto type = dtype_named(token.text);
  if (!type && token.text != "where") {
    sink_->error(token.span, "expected an expression, found the reserved word " + shown(token));
    return nullptr;
  }
  next();
  Syntax node;
  node.kind = type ? SyntaxKind::cast : SyntaxKind::call;
  node.name = Symbol(token.text);
  node.name_span = token.span;
  if (type) node.dtype = *type;
  if (!at("(")) {
    unexpected(type ? "`(` after the element type, which casts" : "`(` after `where`");
    return nullptr;
  }
  if (!arguments(node)) return nullptr;
  node.span = span_from(token.span.begin);
  if (type && node.args.size() != 1) {
    sink_->error(node.span, "a cast takes one value, not " + std::to_string(node.args.size()));
    return nullptr;
  }
  return make(std::move(node));
}

SyntaxRef Parser::parenthesised() {
  const Token open = next();
  Syntax node;
  node.kind = SyntaxKind::tuple;
  bool ok = true, trailing_comma = false;
  do {
    trailing_comma = mode_.tuples && !node.args.empty() && at(")");
    if (trailing_comma) break;
    const SyntaxRef element = binary(level_or);
    ok = element != nullptr;
    if (ok) node.args.push_back(element);
  } while (ok && accept(","));
  ok = ok && expect(")", "to close the parenthesis");
  if (!ok) return nullptr;
  node.span = span_from(open.span.begin);
  if (node.args.size() == 1 && !trailing_comma) {
    Syntax inner = *node.args[0];
    inner.span = node.span;
    inner.parenthesised = true;
    return make(std::move(inner));
  }
  if (!mode_.tuples) {
    sink_->error(node.span, "a list in parentheses is not an expression", "write the function's name in front, or one value");
    return nullptr;
  }
  return make(std::move(node));
}

bool Parser::arguments(Syntax& node) {
  next();  // "("
  if (accept(")")) return true;
  do {
    const SyntaxRef argument = expression();
    if (argument == nullptr) return false;
    node.args.push_back(argument);
  } while (accept(","));
  return expect(")", "to close the arguments");
}

SyntaxRef Parser::named() {
  const Token token = next();
  Syntax node;
  node.name = Symbol(token.text);
  node.name_span = token.span;
  if (at("(")) {
    node.kind = SyntaxKind::call;
    if (!arguments(node)) return nullptr;
    node.span = span_from(token.span.begin);
    return make(std::move(node));
  }
  Symbol result;
  if (at(".") && !mode_.dotted_names) {
    next();
    const auto of = name("the name of a result after `.`");
    if (!of) return nullptr;
    result = *of;
    if (!at("[")) {
      unexpected("`[` and the indices to reduce over");
      return nullptr;
    }
  }
  if (at("[")) return bracketed(token, result);
  node.kind = SyntaxKind::name;
  node.span = token.span;
  return make(std::move(node));
}

/// NAME[...]: subscripts, or the indices of what follows in parentheses.
SyntaxRef Parser::bracketed(const Token& token, Symbol result) {
  Syntax node;
  node.name = Symbol(token.text);
  node.name_span = token.span;
  node.result = result;
  next();
  std::vector<BindSyntax> bound;
  std::optional<SourceSpan> range, not_a_name;
  do {
    const SyntaxRef element = expression();
    if (element == nullptr) return nullptr;
    BindSyntax one{element->name, element->span, nullptr, nullptr};
    if (element->kind != SyntaxKind::name && !not_a_name) not_a_name = element->span;
    if (accept("in")) {
      one.lo = expression();
      if (one.lo == nullptr || !expect(":", "in the range `lo:hi`")) return nullptr;
      one.hi = expression();
      if (one.hi == nullptr) return nullptr;
      if (!range) range = span_from(element->span.begin);
    }
    node.args.push_back(element);
    bound.push_back(one);
  } while (accept(","));
  if (!expect("]", "to close the subscripts")) return nullptr;
  if (at("(")) {
    if (not_a_name) {
      sink_->error(*not_a_name, "expected the name of an index to reduce over",
                   "write `" + node.name.text() + "[j](…)` or `" + node.name.text() + "[j in lo:hi](…)`");
      return nullptr;
    }
    node.kind = SyntaxKind::indexed;
    node.args.clear();
    node.binds = std::move(bound);
    if (!arguments(node)) return nullptr;
  } else {
    if (range) {
      sink_->error(*range, "a subscript cannot have a range", "`name[j in lo:hi]` must be followed by `(…)`, a reduction");
      return nullptr;
    }
    const bool operand_follows = at_name() || peek().kind == TokenKind::number;
    const std::uint32_t end = span_from(0).end;
    if (operand_follows && builtin_reducer(node.name) &&
        source_.substr(end, peek().span.begin - end).find('\n') == std::string_view::npos) {
      sink_->error(peek().span, "what `" + node.name.text() + "` reduces stands in parentheses",
                   "write `" + node.name.text() + "[" + bound.front().index.text() + "](…)`");
      return nullptr;
    }
    if (!result.empty()) {
      unexpected("`(` and the values to reduce");
      return nullptr;
    }
    node.kind = SyntaxKind::subscripted;
  }
  node.span = span_from(token.span.begin);
  return make(std::move(node));
}

std::optional<BindSyntax> Parser::bind() {
  BindSyntax bound;
  bound.span = peek().span;
  const auto index_name = name("the name of an index");
  if (!index_name) return std::nullopt;
  bound.index = *index_name;
  if (!accept("in")) return bound;
  bound.lo = expression();
  if (bound.lo == nullptr || !expect(":", "in the range `lo:hi`")) return std::nullopt;
  bound.hi = expression();
  if (bound.hi == nullptr) return std::nullopt;
  return bound;
}

std::optional<std::vector<BindSyntax>> Parser::binds(std::string_view close) {
  std::vector<BindSyntax> all;
  do {
    auto one = bind();
    if (!one) return std::nullopt;
    all.push_back(*one);
  } while (accept(","));
  if (!expect(close, "after the indices")) return std::nullopt;
  return all;
}

std::optional<std::vector<Expr>> Parser::subscripts(const Scope& scope) {
  if (!expect("[", "and subscripts")) return std::nullopt;
  std::vector<Expr> all;
  do {
    const Expr one = expression(scope);
    if (!one) return std::nullopt;
    all.push_back(one);
  } while (accept(","));
  if (!expect("]", "to close the subscripts")) return std::nullopt;
  return all;
}

}  // namespace fathom::lang
