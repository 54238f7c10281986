// Bytes to tokens. ASCII only: a byte outside of the notation is reported once for each run of such bytes, then skipped.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "lang/parser.hpp"

namespace fathom::lang {
namespace {

constexpr auto reserved_words = std::to_array<std::string_view>(
    {"dim",   "runtime", "const",  "fn",      "with",   "reducer", "state", "lift", "combine", "result", "operator",
     "where", "in",      "stored", "strided", "or",     "and",     "not",   "inf",  "true",    "false",  "f64",
     "f32",   "f16",     "bf16",   "f8e4m3",  "f8e5m2", "i64",     "i32",   "i8",   "bool"});

// Longest first.
constexpr auto symbols = std::to_array<std::string_view>({"==", "!=", "<=", ">=", "//", "->", "+=", "(", ")", "[", "]", "{", "}",
                                                          ",",  ":",  ".",  "=",  "<",  ">",  "+",  "-", "*", "/", "%", "^", "@"});

/// What people type instead, and what the notation writes: reading goes on with that.
struct Foreign {
  std::string_view bytes, cure, instead = {};
};
constexpr auto foreign_spellings = std::to_array<Foreign>({
    {"&&", "write `and`", "and"},
    {"||", "write `or`", "or"},
    {"**", "write `x ^ 2`", "^"},
    {"!", "write `not`", "not"},
    {";", "statements need no separator"},
    {"\"", "the notation has no strings"},
    {"\\", "write `//` for the integer quotient; a line needs no continuation mark"},
    {"_", "a name starts with a letter"},
    {"\xC3\x97", "write `*`", "*"},
    {"\xC3\xB7", "write `/`", "/"},
    {"\xC2\xB7", "write `*`", "*"},
    {"\xE2\x88\x92", "write `-`", "-"},
    {"\xE2\x88\x9E", "write `inf`", "inf"},
    {"\xE2\x89\xA4", "write `<=`", "<="},
    {"\xE2\x89\xA5", "write `>=`", ">="},
    {"\xE2\x89\xA0", "write `!=`", "!="},
});

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

class Lexer {
 public:
  Lexer(std::string_view source, const Mode& mode, std::uint32_t id, Sink& sink) : source_(source), mode_(mode), id_(id), sink_(sink) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      const std::size_t before = at_;
      skip_blanks();
      const bool adjacent = before == at_ && !tokens.empty();
      if (at_ >= source_.size()) break;
      if (std::optional<Token> token = read()) {
        token->adjacent = adjacent;
        tokens.push_back(*token);
      }
    }
    tokens.push_back({TokenKind::end, {}, span(source_.size(), source_.size()), false});
    return tokens;
  }

 private:
  [[nodiscard]] char at(std::size_t i) const { return i < source_.size() ? source_[i] : '\0'; }
  [[nodiscard]] SourceSpan span(std::size_t begin, std::size_t end) const {
    return {id_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  Token token(TokenKind kind, std::size_t end) {
    const std::size_t begin = std::exchange(at_, end);
    return {kind, source_.substr(begin, end - begin), span(begin, end), false};
  }

  void skip_blanks() {
    while (at_ < source_.size()) {
      if (source_[at_] == '#') {
        at_ = std::min(source_.find('\n', at_), source_.size());
      } else if (is_space(source_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::optional<Token> read() {
    if (is_letter(source_[at_])) return name();
    if (is_digit(source_[at_])) return number();
    const auto starts = [this](std::string_view text) { return source_.substr(at_, text.size()) == text; };
    const auto symbol = std::find_if(symbols.begin(), symbols.end(), starts);
    const std::size_t length = symbol == symbols.end() ? 0 : symbol->size();
    for (const Foreign& foreign : foreign_spellings)
      if (starts(foreign.bytes) && foreign.bytes.size() > length) return instead_of(foreign);
    return length > 0 ? std::optional(token(TokenKind::symbol, at_ + length)) : unknown_bytes();
  }

  [[nodiscard]] std::size_t word_end(std::size_t i) const {
    while (is_letter(at(i)) || is_digit(at(i)) || at(i) == '_') ++i;
    return i;
  }

  Token name() {
    const auto marks_end = [&](std::size_t i) {
      while (at(i) == '\'' || (mode_.dotted_names && at(i) == '~')) ++i;
      return i;
    };
    std::size_t end = marks_end(word_end(at_));
    if (mode_.dotted_names) {  // a primed name has parts, too: j'.n
      while (at(end) == '.' && (is_letter(at(end + 1)) || is_digit(at(end + 1)))) end = marks_end(word_end(end + 1));
    }
    const bool reserved = is_reserved(source_.substr(at_, end - at_));
    return token(reserved ? TokenKind::word : TokenKind::name, end);
  }

  [[nodiscard]] std::size_t digits_end(std::size_t i) const {
    while (is_digit(at(i))) ++i;
    return i;
  }

  std::optional<Token> number() {
    std::size_t end = digits_end(at_);
    if (at(end) == '.' && is_digit(at(end + 1))) end = digits_end(end + 1);
    if (at(end) == 'e' || at(end) == 'E') {
      const std::size_t digits = end + (at(end + 1) == '+' || at(end + 1) == '-' ? 2 : 1);
      if (is_digit(at(digits))) end = digits_end(digits);
    }
    if (is_letter(at(end)) || at(end) == '_') {
      const std::size_t all = word_end(end);
      sink_.error(span(at_, all),
                  "`" + std::string(source_.substr(at_, std::min<std::size_t>(all - at_, 40))) + "` is neither a number nor a name",
                  "a name starts with a letter; products need `*`");
      while (at_ < all && !is_letter(source_[at_])) ++at_;  // read on as if the digits were not there
      return at_ < all ? std::optional(name()) : std::nullopt;
    }
    return token(TokenKind::number, end);
  }

  [[nodiscard]] bool starts_token(std::size_t i) const {
    const char c = at(i);
    if (is_letter(c) || is_digit(c) || is_space(c) || c == '#') return true;
    return std::any_of(symbols.begin(), symbols.end(), [c](std::string_view symbol) { return symbol[0] == c; });
  }

  std::optional<Token> instead_of(const Foreign& foreign) {
    const std::size_t begin = std::exchange(at_, at_ + foreign.bytes.size());
    sink_.error(span(begin, at_), "`" + std::string(foreign.bytes) + "` is not part of the notation", std::string(foreign.cure));
    if (foreign.instead.empty()) return std::nullopt;
    return Token{is_reserved(foreign.instead) ? TokenKind::word : TokenKind::symbol, foreign.instead, span(begin, at_), false};
  }

  std::optional<Token> unknown_bytes() {
    const std::size_t begin = at_;
    do ++at_;
    while (at_ < source_.size() && !starts_token(at_));
    const std::string_view bytes = source_.substr(begin, at_ - begin);
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (first > 0x20 && first < 0x7F) {
      sink_.error(span(begin, at_), "`" + std::string(1, bytes[0]) + "` is not part of the notation");
      return std::nullopt;
    }
    sink_.error(span(begin, at_), fmt::format("byte 0x{:02x} is not part of the notation", first),
                "a text is plain ASCII; only comments may hold other characters");
    return std::nullopt;
  }

  std::string_view source_;
  const Mode& mode_;
  std::uint32_t id_;
  Sink& sink_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_reserved(std::string_view word) { return std::find(reserved_words.begin(), reserved_words.end(), word) != reserved_words.end(); }

std::vector<Token> tokenize(std::string_view source, const Mode& mode, std::uint32_t source_id, Sink& sink) {
  if (source.size() > mode.max_bytes) {
    sink.error({source_id, 0, 0}, "the text has " + std::to_string(source.size()) + " bytes",
               "a text may have at most " + std::to_string(mode.max_bytes) + " bytes");
    return {Token{TokenKind::end, {}, {source_id, 0, 0}, false}};
  }
  return Lexer(source, mode, source_id, sink).run();
}

Expr number_literal(std::string_view text, SourceSpan span, Sink& sink) {
  if (const auto exact = Rational::parse(text)) return number(*exact);
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  const std::string shown(text.substr(0, 40));
  if (!std::isfinite(value)) {
    sink.error(span, "`" + shown + "` is larger than every f64", "write `inf` if you mean infinity");
    return {};
  }
  if (value == 0) {
    sink.error(span, "`" + shown + "` is smaller than every f64 but 0", "write `0`");
    return {};
  }
  return inexact_number(value);
}

}  // namespace fathom::lang
