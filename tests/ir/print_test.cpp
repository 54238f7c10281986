// The printer against a reader of the notation's grammar (docs/language.md) that was written from the grammar alone.
#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/expr.hpp"
#include "random_expr.hpp"

namespace fathom {
namespace {

/// Recursive descent, one function a rule; absent where the text is not of the grammar. Names by their first letter: i j k l are indices, N
/// M dims, a b symbols.
class Reader {
 public:
  explicit Reader(std::string text) : text_(std::move(text)) {}

  Expr all() {
    const Expr e = disjunction();
    return failed_ || at_ != text_.size() ? Expr() : e;
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool looking_at(const std::string& token) {
    space();
    return text_.compare(at_, token.size(), token) == 0;
  }
  bool word(const std::string& token) {
    space();
    const bool found = looking_at(token) && (at_ + token.size() == text_.size() || std::isalnum(text_[at_ + token.size()]) == 0);
    if (found) at_ += token.size();
    return found;
  }
  bool accept(const std::string& token) {
    const bool found = looking_at(token);
    if (found) at_ += token.size();
    space();
    return found;
  }
  void expect(const std::string& token) { failed_ = !accept(token) || failed_; }

  Expr disjunction() {
    Expr e = conjunction();
    while (word("or")) e = binary(Op::logical_or, e, conjunction());
    return e;
  }
  Expr conjunction() {
    Expr e = negation();
    while (word("and")) e = binary(Op::logical_and, e, negation());
    return e;
  }
  Expr negation() { return word("not") ? unary(Op::logical_not, comparison()) : comparison(); }
  Expr comparison() {
    const Expr e = sum();
    for (const auto& [token, op] : {std::pair{"==", Op::eq}, {"!=", Op::ne}, {"<=", Op::le}, {">=", Op::ge}, {"<", Op::lt}, {">", Op::gt}})
      if (accept(token)) return binary(op, e, sum());
    return e;
  }
  Expr sum() {
    Expr e = term();
    for (;;) {
      if (accept("+")) {
        e = e + term();
      } else if (accept("-")) {
        e = e - term();
      } else {
        return e;
      }
    }
  }
  Expr term() {
    Expr e = prefixed();
    for (;;) {
      if (accept("//")) {
        e = binary(Op::floordiv, e, prefixed());
      } else if (accept("*")) {
        e = e * prefixed();
      } else if (accept("/")) {
        e = e / prefixed();
      } else if (accept("%")) {
        e = binary(Op::mod, e, prefixed());
      } else {
        return e;
      }
    }
  }
  Expr prefixed() {
    if (!accept("-")) return power();
    const bool literal = at_ < text_.size() && std::isdigit(text_[at_]) != 0;
    const Expr e = prefixed();
    if (!literal || !e.is(Op::number)) return -e;  // with a ^ it is no literal any more
    return e.node().inexact != 0 ? inexact_number(-e.node().inexact) : number(*subtract(Rational(0), e.node().number));
  }
  Expr power() {
    const Expr e = primary();
    return accept("^") ? binary(Op::pow, e, prefixed()) : e;
  }

  std::string name() {
    space();
    std::string result;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) != 0 || text_[at_] == '\'' || text_[at_] == '_')) result += text_[at_++];
    return result;
  }
  std::vector<Expr> list(const std::string& end) {
    std::vector<Expr> result;
    if (failed_ || accept(end)) return result;
    do result.push_back(disjunction());
    while (accept(","));
    expect(end);
    return result;
  }
  Expr number_literal() {
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(text_[end]) != 0 || text_[end] == '.' || ((text_[end] == '-' || text_[end] == '+') && text_[end - 1] == 'e')))
      ++end;
    const std::string digits = text_.substr(at_, end - at_);
    at_ = end;
    space();
    const auto exact = Rational::parse(digits);
    return exact ? number(*exact) : inexact_number(std::strtod(digits.c_str(), nullptr));
  }
  Expr primary() {
    space();
    if (at_ < text_.size() && std::isdigit(text_[at_]) != 0) return number_literal();
    if (accept("(")) {
      const std::vector<Expr> parts = list(")");
      return parts.size() == 1 ? parts.front() : tuple(parts);
    }
    return named(name());
  }
  Expr named(const std::string& text) {
    if (text == "inf") return infinity();
    if (text == "true" || text == "false") return boolean(text == "true");
    const Symbol result(accept(".") ? name() : "");
    if (accept("[")) return indexed(text, result);
    if (accept("(")) return applied(text, list(")"));
    const char first = text.empty() ? '?' : text.front();
    if (first == 'N' || first == 'M') return dim(Symbol(text));
    return first == 'a' || first == 'b' ? symbol(Symbol(text)) : index(Symbol(text));
  }
  Expr applied(const std::string& text, std::vector<Expr> args) {
    failed_ = failed_ || args.empty();
    if (failed_) return number(0);
    if (const auto dtype = dtype_named(text)) return cast(*dtype, args[0]);
    for (int op = 0; op < op_count; ++op)
      if (kind(static_cast<Op>(op)) == OpKind::function && spelling(static_cast<Op>(op)) == text)
        return make(static_cast<Op>(op), std::move(args));
    return call(Symbol(text), {}, std::move(args));
  }
  Expr indexed(const std::string& text, Symbol result) {
    if (text != "sum" && text != "f" && text != "g") return read(Symbol(text), list("]"));
    std::vector<Bound> bounds;
    do {
      Bound bound{Symbol(name()), Expr(), Expr()};
      if (word("in")) {
        bound.lo = disjunction();
        expect(":");
        bound.hi = disjunction();
      }
      bounds.push_back(bound);
    } while (accept(","));
    expect("]");
    expect("(");
    std::vector<Expr> values = list(")");
    if (text == "sum") return reduce(Symbol(text), result, bounds, values);
    std::vector<Symbol> indices;
    for (const Bound& bound : bounds) indices.push_back(bound.index);
    return call(Symbol(text), indices, std::move(values));
  }

  std::string text_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

TEST(Print, what_is_printed_reads_back_as_the_same_node) {
  testing::RandomExpr random(21);
  for (int count = 0; count < 5000; ++count) {
    const Expr e = random.any(5);
    ASSERT_EQ(Reader(print(e)).all(), e) << print(e) << "\n" << print(Reader(print(e)).all());
  }
}

TEST(Print, no_pair_of_parentheses_could_be_left_out) {
  testing::RandomExpr random(22);
  int tried = 0;
  for (int count = 0; count < 1500; ++count) {
    const Expr e = random.any(3);
    const std::string text = print(e);
    std::vector<std::size_t> open;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '(') open.push_back(at);
      if (text[at] != ')') continue;
      const std::size_t from = open.back();
      open.pop_back();
      const bool grouping = from == 0 || text[from - 1] == ' ' || text[from - 1] == '(' || text[from - 1] == '-' || text[from - 1] == '[' ||
                            text[from - 1] == ',';
      if (!grouping || text.find(',', from) < at) continue;  // arguments, tuples
      std::string without = text;
      without[from] = without[at] = ' ';
      ++tried;
      EXPECT_NE(Reader(without).all(), e) << text << " without the pair at " << from;
    }
  }
  EXPECT_GT(tried, 200);
}

TEST(Print, is_the_notation) {
  const Expr i = index(Symbol("i")), j = index(Symbol("j"));
  const auto x = [&](std::vector<Expr> s) { return read(Symbol("x"), std::move(s)); };
  const Expr h = dim(Symbol("H"));
  EXPECT_EQ(print(x({i, binary(Op::floordiv, j, binary(Op::floordiv, h, number(2)))})), "x[i,j // (H // 2)]");
  EXPECT_EQ(print(binary(Op::le, j, i + (h - number(1)))), "j <= i + (H - 1)");
  EXPECT_EQ(print(-binary(Op::pow, x({i}), number(2))), "-x[i] ^ 2");
  EXPECT_EQ(print(binary(Op::pow, -x({i}), number(2))), "(-x[i]) ^ 2");
  EXPECT_EQ(print(binary(Op::pow, number(-3), number(2))), "(-3) ^ 2");
  EXPECT_EQ(print(-number(3)), "-(3)");
  EXPECT_EQ(print(-binary(Op::pow, number(3), number(2))), "-3 ^ 2");
  EXPECT_EQ(print(where(binary(Op::eq, x({i}), -infinity()), number(0), x({i}))), "where(x[i] == -inf, 0, x[i])");
  EXPECT_EQ(print(reduce(Symbol("top"), Symbol("at"), {{Symbol("j"), number(0), h}}, {x({j}), j})), "top.at[j in 0:H](x[j], j)");
  EXPECT_EQ(print(number(*Rational::make(1, 3)) * i), "1 / 3 * i");
  EXPECT_EQ(print(i * number(*Rational::make(1, 3))), "i * (1 / 3)");
  EXPECT_EQ(print(inexact_number(1e-39)), "1e-39");
  EXPECT_EQ(print(cast(DType::bf16, read(Symbol("p.m~'"), {}))), "bf16(p.m~')");
}

}  // namespace
}  // namespace fathom
