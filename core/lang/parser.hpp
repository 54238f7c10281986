// Tokens, expression syntax and its lowering: what the notation and the texts of all levels have in common.
// A Parser reads tokens with bounded size and nesting and reports to a Sink; it never throws. `expression()` gives a syntax tree with
// spans (the notation's checker needs them); `expression(scope)` gives an Expr at once (the parsers of Loop and Kernel texts).
// After an error functions return nullptr, nullopt, false or an absent Expr; the error is in the Sink already.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.hpp"
#include "ir/reducer.hpp"
#include "ir/result.hpp"

namespace fathom::lang {

inline constexpr std::size_t max_source_bytes = std::size_t{1} << 20U;  ///< of one text of the notation
inline constexpr std::size_t max_level_bytes = std::size_t{1} << 24U;   ///< of one text of a level, which a program printed
inline constexpr int max_depth = 400;                                   ///< of an expression, and of nested blocks
inline constexpr std::size_t max_diagnostics = 50;

/// Collects diagnostics, at most `max_diagnostics`, never two at one place.
class Sink {
 public:
  void error(SourceSpan span, std::string message, std::string cure = {}, Diagnostics notes = {});
  [[nodiscard]] bool ok() const { return diagnostics_.empty(); }
  [[nodiscard]] std::size_t count() const { return diagnostics_.size(); }
  [[nodiscard]] Diagnostics take();  ///< in source order

 private:
  Diagnostics diagnostics_;
};

enum class TokenKind : std::uint8_t { name, word, number, symbol, end };

/// `text` points into the source. Words are the notation's reserved ones.
struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;
  SourceSpan span;
  bool adjacent = false;  ///< no space or comment before it
};

/// How a text is read. Level texts have names of opened programs (`p.m`, `p.m~`, `p.m'`, `s.sum.2`), rational literals (`1/3` without
/// spaces), tuples as subscripts (`acc[(n,y,e)]`), and may be longer.
struct Mode {
  bool dotted_names = false;
  bool tuples = false;
  std::size_t max_bytes = max_source_bytes;
};
inline constexpr Mode notation_mode{};
inline constexpr Mode level_mode{true, true, max_level_bytes};

[[nodiscard]] bool is_reserved(std::string_view word);
/// The tokens of a text, closed by one of kind `end`. On a byte that belongs to no token: reported, and skipped.
[[nodiscard]] std::vector<Token> tokenize(std::string_view source, const Mode& mode, std::uint32_t source_id, Sink& sink);

// ---- syntax ----
struct Syntax;
using SyntaxRef = const Syntax*;

/// `j` or `j in lo:hi`.
struct BindSyntax {
  Symbol index;
  SourceSpan span;
  SyntaxRef lo = nullptr, hi = nullptr;
  mutable Expr given_lo{}, given_hi{};  ///< a range that the checker inferred: `lower` puts it in
};

enum class SyntaxKind : std::uint8_t {
  literal,      ///< number, inf, true, false: `expr`
  name,         ///< x
  subscripted,  ///< x[args]
  call,         ///< f(args), `where` included
  indexed,      ///< f[binds](args), f.result[binds](args)
  cast,         ///< dtype(arg)
  operation,    ///< prefix or infix `op` on args
  tuple         ///< (a, b)
};

/// A node of an expression as written. Owned by its Parser.
struct Syntax {
  SyntaxKind kind = SyntaxKind::literal;
  SourceSpan span;
  SourceSpan name_span;  ///< of the name, the operator's sign, or the literal
  Symbol name;
  Symbol result;
  Op op = Op::number;
  DType dtype = DType::real;
  bool parenthesised = false;
  int depth = 1;
  Expr literal;
  std::vector<SyntaxRef> args;
  std::vector<BindSyntax> binds;
  mutable Expr expr;  ///< what `lower` made of it; absent before, or after an error
};

/// What names mean while an expression is lowered. Indices bound by a reduction inside are known already and hide others.
struct Scope {
  /// A name without subscripts: index(..), dim(..), symbol(..), read(name, {}), or absent where it is unknown.
  std::function<Expr(Symbol)> bare;
  /// The reducer of that name; empty function: the built-in ones.
  std::function<ReducerRef(Symbol)> reducer;
  /// Builds a call over indices (its arguments lowered); empty: `call`.
  std::function<Expr(const Syntax&, std::vector<Expr>)> indexed_call;
  /// A message and a cure for a name that `bare` does not know, where there is a better one than "not defined"; may be empty.
  std::function<std::optional<std::pair<std::string, std::string>>(Symbol)> explain;
  /// The value of an integer that every launch gives: a divisor that is 0 is reported. Empty: divisors are not looked at.
  std::function<std::optional<std::int64_t>(Expr)> fixed_value;
  /// Names to suggest for one that is unknown; may be empty.
  std::function<std::vector<std::string>()> candidates;
};

/// The Expr that a syntax tree means. `name[…]` is a read, `f(…)` an operation of that spelling or a call, `f[…](…)` a reduction if `f`
/// names a reducer, else a call over indices. argmax and argmin get the index as their second value where the text leaves it out. Absent
/// after an error; sets `expr` of every node that it could lower.
[[nodiscard]] Expr lower(SyntaxRef, const Scope&, Sink&);

/// The operation of kind `function` with this spelling ("exp", "where", "size", …).
[[nodiscard]] std::optional<Op> function_named(std::string_view);
/// ` Did you mean `x`?`, or nothing if no candidate is near.
[[nodiscard]] std::string suggest(std::string_view unknown, const std::vector<std::string>& candidates);

/// A literal's value: a Rational where it fits, else inexact. Reports what no f64 holds.
[[nodiscard]] Expr number_literal(std::string_view text, SourceSpan span, Sink& sink);

// ---- the parser ----
class Parser {
 public:
  /// `source` must outlive the parser.
  Parser(std::string_view source, const Mode& mode, Sink& sink, std::uint32_t source_id = 0);

  // tokens
  [[nodiscard]] const Token& peek(std::size_t ahead = 0) const;
  [[nodiscard]] bool at(std::string_view text, std::size_t ahead = 0) const;  ///< a word, name or symbol with this text
  [[nodiscard]] bool at_name() const { return peek().kind == TokenKind::name; }
  [[nodiscard]] bool at_end() const { return peek().kind == TokenKind::end; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  Token next();                                                ///< stays at the end
  bool accept(std::string_view text);                          ///< "<-" is accepted as `<` directly followed by `-`
  bool expect(std::string_view text, std::string_view where);  ///< reports "expected `text` WHERE, found `…`"
  std::optional<Symbol> name(std::string_view what);           ///< reports "expected WHAT, found `…`"
  std::optional<std::int64_t> integer(std::string_view what);  ///< a literal with an optional minus sign
  std::optional<DType> dtype();
  void unexpected(std::string_view wanted);                       ///< reports "expected WANTED, found `…`" at this token
  [[nodiscard]] SourceSpan span_from(std::uint32_t begin) const;  ///< up to the last token that was read
  [[nodiscard]] std::size_t position() const { return position_; }
  void rewind(std::size_t position) { position_ = position; }
  void stop();  ///< jumps to the end: nothing more is reported

  // expressions
  SyntaxRef expression();
  Expr expression(const Scope& scope);                                   ///< parsed and lowered
  std::optional<BindSyntax> bind();                                      ///< `j` or `j in lo:hi`
  std::optional<std::vector<BindSyntax>> binds(std::string_view close);  ///< at least one, up to and with `close`
  /// `[e, …]` after a name, or nothing.
  std::optional<std::vector<Expr>> subscripts(const Scope& scope);
  [[nodiscard]] Sink& sink() { return *sink_; }
  [[nodiscard]] std::string_view source() const { return source_; }

  /// Guards recursion of blocks: false (and reported) beyond max_depth.
  [[nodiscard]] bool enter();
  void leave() { --nesting_; }

 private:
  SyntaxRef binary(int least);
  SyntaxRef unary();
  SyntaxRef primary();
  SyntaxRef primary_word();
  SyntaxRef named();
  SyntaxRef parenthesised();
  SyntaxRef bracketed(const Token& name, Symbol result);
  bool arguments(Syntax& node);
  SyntaxRef make(Syntax node);
  SyntaxRef literal(Expr value, SourceSpan span, SourceSpan sign);
  SyntaxRef operation(Op op, SourceSpan span, SourceSpan sign, std::vector<SyntaxRef> args);

  std::string_view source_;
  Mode mode_;
  Sink* sink_;
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  int nesting_ = 0;
  bool stopped_ = false;
  std::deque<Syntax> nodes_;
};

}  // namespace fathom::lang
