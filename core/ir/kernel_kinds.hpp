// In which arithmetic the values of a kernel live while no storage type narrows them: what lowering gives workspaces and carries, what a
// matrix atom may take, what code generation puts into registers. One inference for all, so that they agree.
#pragma once

#include <map>
#include <vector>

#include "ir/kernel.hpp"

namespace fathom::kernel {

/// In order of their join: an integer literal meets an integer as integer, a float as float; f16 and bf16 live in f32.
enum class Kind : std::uint8_t { boolean, literal, integer, real_literal, f32, f64 };

[[nodiscard]] inline Kind join(Kind a, Kind b) { return a < b ? b : a; }
/// The kind that a stored value gets: whole literals are integers, the others real numbers.
[[nodiscard]] inline Kind settled(Kind kind) {
  return kind == Kind::literal ? Kind::integer : kind == Kind::real_literal ? Kind::f32 : kind;
}
[[nodiscard]] inline bool is_float_kind(Kind kind) { return kind >= Kind::real_literal; }
[[nodiscard]] inline bool is_integer_kind(Kind kind) { return kind == Kind::literal || kind == Kind::integer; }
[[nodiscard]] Kind kind_of(DType);
/// How a value of this kind lies in memory without loss.
[[nodiscard]] DType storage_of(Kind);

using Kinds = std::map<Symbol, Kind>;

/// Kind of an expression, given the kinds of the names it reads (absent: an integer, as indices, dimensions and tags are).
[[nodiscard]] Kind kind_of(Expr, const Kinds&, const std::vector<ReducerRef>& reducers);
/// Kinds of the reducer's components for lifted values of the given kinds, or for states merged as they are. An extremum of integers is an
/// integer although its identity is infinite.
[[nodiscard]] std::vector<Kind> component_kinds(const Reducer&, const std::vector<Kind>& values, bool states,
                                                const std::vector<ReducerRef>& reducers);
/// Kind of a result of the reducer (empty: the one at `which`) for such components.
[[nodiscard]] Kind result_kind(const Reducer&, Symbol result, std::size_t which, const std::vector<Kind>& components,
                               const std::vector<ReducerRef>& reducers);
/// The identity as a value of the kind: an infinite one among integers is the least or the greatest of them, `i64(-inf)`.
[[nodiscard]] Expr identity_in(Kind, Expr identity);
/// Is it i64(-inf) or i64(inf)?
[[nodiscard]] bool is_integer_end(Expr);
/// Kinds of every tile value, let and buffer of the kernel, parameters included. A fixed point: a carried 0 becomes f32 where f32 is
/// assigned.
[[nodiscard]] Kinds infer_kinds(const Module&, const Kernel&);

}  // namespace fathom::kernel
