// What values the expressions of the notation have: bool, integer or real. Element types narrow storage only, so arithmetic asks for the
// kind, and messages name the element type where one was declared.
#pragma once

#include <span>
#include <string>

#include "ir/expr.hpp"
#include "ir/reducer.hpp"
#include "ir/result.hpp"

namespace fathom::lang {

enum class Kind : std::uint8_t { unknown, boolean, integer, real };

struct Type {
  Kind kind = Kind::unknown;
  DType dtype = DType::real;  ///< as declared; real: nowhere declared
};

[[nodiscard]] Type declared(DType);
[[nodiscard]] std::string text(Type);
/// May a value of this type be stored as `to`? Reals take integers; nothing else mixes without a cast.
[[nodiscard]] bool is_storable(Type, DType to);

struct TypeError {
  std::string message, cure;
};
template <class T>
using Typed = tl::expected<T, TypeError>;

/// Type of a prefix, infix or function operation, and of a cast, on operands of these types.
[[nodiscard]] Typed<Type> operation_type(Op, std::span<const Type> operands, std::span<const Expr> values);
/// Type of a reduction's result.
[[nodiscard]] Typed<Type> reduction_type(const Reducer&, Symbol result, std::span<const Type> values);
/// Type of an expression over symbols alone: bodies of reducers. Reads, calls and reductions are unknown.
[[nodiscard]] Typed<Type> symbolic_type(Expr, const std::map<Symbol, Type>& symbols);

}  // namespace fathom::lang
