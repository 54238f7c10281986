// Expressions: immutable, hash-consed, without identity. Equal expressions are one node, so equality is a pointer comparison.
// Order and hash are structural (deterministic on every platform); nothing may depend on addresses.
// Nodes live as long as the program: memory grows with the number of *distinct* expressions, and replays find theirs again.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/dtype.hpp"
#include "ir/rational.hpp"
#include "ir/symbol.hpp"

namespace fathom {

// Every operation: (identifier, spelling in the notation, kind). A new one breaks the build in each exhaustive switch.
// kinds: leaf | prefix | infix | function | special. Function names are exactly the notation's.
#define FATHOM_OPS(X)             \
  X(number, "", leaf)             \
  X(infinity, "inf", leaf)        \
  X(boolean, "", leaf)            \
  X(index, "", leaf)              \
  X(dim, "", leaf)                \
  X(symbol, "", leaf)             \
  X(read, "", special)            \
  X(tuple, "", special)           \
  X(cast, "", special)            \
  X(call, "", special)            \
  X(reduce, "", special)          \
  X(extent, "size", function)     \
  X(neg, "-", prefix)             \
  X(logical_not, "not", prefix)   \
  X(add, "+", infix)              \
  X(sub, "-", infix)              \
  X(mul, "*", infix)              \
  X(div, "/", infix)              \
  X(floordiv, "//", infix)        \
  X(mod, "%", infix)              \
  X(pow, "^", infix)              \
  X(eq, "==", infix)              \
  X(ne, "!=", infix)              \
  X(lt, "<", infix)               \
  X(le, "<=", infix)              \
  X(gt, ">", infix)               \
  X(ge, ">=", infix)              \
  X(logical_and, "and", infix)    \
  X(logical_or, "or", infix)      \
  X(where, "where", function)     \
  X(min, "min", function)         \
  X(max, "max", function)         \
  X(abs, "abs", function)         \
  X(floor, "floor", function)     \
  X(exp, "exp", function)         \
  X(exp2, "exp2", function)       \
  X(log, "log", function)         \
  X(log2, "log2", function)       \
  X(sqrt, "sqrt", function)       \
  X(rsqrt, "rsqrt", function)     \
  X(sin, "sin", function)         \
  X(cos, "cos", function)         \
  X(tanh, "tanh", function)       \
  X(erf, "erf", function)         \
  X(sigmoid, "sigmoid", function) \
  X(random, "random", function)

enum class Op : std::uint8_t {
#define FATHOM_OP_ENUM(id, spelling, kind) id,
  FATHOM_OPS(FATHOM_OP_ENUM)
#undef FATHOM_OP_ENUM
};
enum class OpKind : std::uint8_t { leaf, prefix, infix, function, special };
[[nodiscard]] std::string_view spelling(Op);
[[nodiscard]] OpKind kind(Op);
/// How many operands a prefix, infix or function operation and a cast take; -1: any number (random), or not one of these.
[[nodiscard]] int arity(Op);
inline constexpr int op_count = 0
#define FATHOM_OP_COUNT(id, spelling, kind) +1
    FATHOM_OPS(FATHOM_OP_COUNT);
#undef FATHOM_OP_COUNT

class Expr;

/// One node. Fields that an operation does not use are empty.
struct ExprNode {
  Op op;
  DType dtype = DType::real;  // cast: the type
  bool truth = false;         // boolean: its value
  Rational number;            // number: its value when `inexact` is 0
  double inexact = 0;         // number: a literal that no 64-bit rational holds (1e-39); otherwise 0
  Symbol name;                // index, dim, symbol, read, call, reduce: the name (reduce: the reducer's)
  Symbol result;              // reduce: which result of the reducer; empty = the first
  std::vector<Symbol> bound;  // reduce, call over indices: the indices that it binds
  std::vector<Expr> args;     // operands. reduce: the lifted values, then lo, hi for each bound index (both absent where left open)
  std::uint64_t hash = 0;     // structural
  std::uint32_t depth = 1;
  std::uint64_t size = 1;                  // nodes of the tree that it prints as (saturating): what inlining must bound
  const std::set<Symbol>* free = nullptr;  // cache of free_indices; null where those are many
};

/// A handle to a node. Never null after construction through a builder; a default-constructed Expr is "absent".
class Expr {
 public:
  Expr() = default;
  explicit Expr(const ExprNode* node) : node_(node) {}

  [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
  [[nodiscard]] const ExprNode& node() const { return *node_; }
  [[nodiscard]] Op op() const { return node_->op; }
  [[nodiscard]] bool is(Op op) const { return node_ != nullptr && node_->op == op; }
  [[nodiscard]] Symbol name() const { return node_->name; }
  [[nodiscard]] std::span<const Expr> args() const { return node_->args; }
  [[nodiscard]] Expr arg(std::size_t i) const { return node_->args[i]; }

  friend bool operator==(Expr a, Expr b) { return a.node_ == b.node_; }
  friend std::strong_ordering operator<=>(Expr a, Expr b);  ///< structural; absent < all

 private:
  const ExprNode* node_ = nullptr;
};

// ---- builders: they intern and never simplify ----
[[nodiscard]] Expr number(Rational);
[[nodiscard]] Expr inexact_number(double);  ///< finite, not representable as Rational
[[nodiscard]] Expr infinity();              ///< +inf; -inf is neg(infinity())
[[nodiscard]] bool is_minus_infinity(Expr);
[[nodiscard]] bool is_infinite(Expr);  ///< either of them, as it is written
[[nodiscard]] Expr boolean(bool);
[[nodiscard]] Expr index(Symbol);   ///< an iteration index
[[nodiscard]] Expr dim(Symbol);     ///< a dimension of the program
[[nodiscard]] Expr symbol(Symbol);  ///< a uniform name that is neither: let of a kernel, tag, parameter of a fn or reducer, gauge
[[nodiscard]] Expr read(Symbol tensor, std::vector<Expr> subscripts);  ///< a scalar parameter is a read without subscripts
[[nodiscard]] Expr tuple(std::vector<Expr>);                           ///< subscript of a split axis: (n,y,e)
[[nodiscard]] Expr cast(DType, Expr);
[[nodiscard]] Expr call(Symbol function, std::vector<Symbol> indices, std::vector<Expr> args);
struct Bound {
  Symbol index;
  Expr lo, hi;  ///< half-open; both absent where the text leaves the range open
};
[[nodiscard]] Expr reduce(Symbol reducer, Symbol result, const std::vector<Bound>& bound, const std::vector<Expr>& values);
[[nodiscard]] Expr unary(Op, Expr);
[[nodiscard]] Expr binary(Op, Expr, Expr);
[[nodiscard]] Expr make(Op, std::vector<Expr>);  ///< prefix, infix and function operations
[[nodiscard]] Expr where(Expr condition, Expr then, Expr otherwise);

inline Expr operator+(Expr a, Expr b) { return binary(Op::add, a, b); }
inline Expr operator-(Expr a, Expr b) { return binary(Op::sub, a, b); }
inline Expr operator*(Expr a, Expr b) { return binary(Op::mul, a, b); }
inline Expr operator/(Expr a, Expr b) { return binary(Op::div, a, b); }
inline Expr operator-(Expr a) { return unary(Op::neg, a); }

// ---- parts of a reduce node ----
[[nodiscard]] std::vector<Bound> bounds_of(Expr reduce);
[[nodiscard]] std::vector<Expr> values_of(Expr reduce);

// ---- traversal ----
/// The same node with other operands (same count).
[[nodiscard]] Expr with_args(Expr, std::vector<Expr>);
/// Bottom-up rewrite, each distinct node once. `f` sees a node whose operands are rewritten already.
[[nodiscard]] Expr transform(Expr, const std::function<Expr(Expr)>& f);
/// Calls f once for each distinct node, operands first.
void visit(Expr, const std::function<void(Expr)>& f);
using Substitution = std::map<Expr, Expr>;
/// Replaces whole nodes, simultaneously. A bound index hides the outer one of that name, and is primed where it would capture an index of a
/// replacement. The indices of a call are the caller's: an index that replaces one of them replaces it there too, and nothing is captured.
[[nodiscard]] Expr substitute(Expr, const Substitution&);
[[nodiscard]] bool contains(Expr, Expr part);
[[nodiscard]] std::set<Symbol> free_indices(Expr);  ///< indices not bound inside (by a reduce, or named by a call over indices)
[[nodiscard]] std::set<Symbol> tensors_read(Expr);
[[nodiscard]] std::set<Symbol> dims_in(Expr);

// ---- integers: extents, bounds, offsets ----
/// `//` rounds down and `%` has the sign of the divisor, here and everywhere.
/// Constant folding and the identities of integer arithmetic (x+0, x*1, (a*b)//b, min(a,a), …); sums are ordered. Exact: never changes a
/// value. Used for extents, ranges and subscripts only; real arithmetic is the algebra's business.
[[nodiscard]] Expr simplify_integer(Expr);
[[nodiscard]] std::optional<std::int64_t> constant_integer(Expr);  ///< of a number node with an integer value, after simplify_integer
using DimValues = std::map<Symbol, std::int64_t>;
/// Value of an integer or bool expression over dimensions (and symbols or indices given in `values`); nullopt where it reads a tensor,
/// divides by 0 or overflows.
[[nodiscard]] std::optional<std::int64_t> evaluate_integer(Expr, const DimValues& values);

// ---- text ----
/// As the notation writes it, with the fewest parentheses; parses back to the same node: a minus directly before a literal that no `^`
/// follows belongs to the literal (`-3` is number(-3), `-(3)` is neg(number(3))); only a fraction that no decimal holds comes back as a
/// division.
[[nodiscard]] std::string print(Expr);

}  // namespace fathom

template <>
struct std::hash<fathom::Expr> {
  std::size_t operator()(fathom::Expr e) const noexcept { return e ? static_cast<std::size_t>(e.node().hash) : 0; }
};
