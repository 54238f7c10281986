// What a value is while it is in registers, and the facts about a kernel's names that code generation needs before it starts:
// kinds of tile values (the join over all assignments) and who reads them. LLVM-free.
#pragma once

#include <map>
#include <set>

#include "ir/kernel.hpp"

namespace fathom::cpu {

/// Register kinds in order of their join: an integer literal meets an integer as integer, a float as float; f16 and bf16 live in f32.
enum class Kind : std::uint8_t { boolean, literal, integer, real_literal, f32, f64 };

[[nodiscard]] inline Kind join(Kind a, Kind b) { return a < b ? b : a; }
/// The kind a stored value of this kind gets: literals become f32, since they stand for real numbers.
[[nodiscard]] inline Kind settled(Kind kind) { return kind == Kind::literal || kind == Kind::real_literal ? Kind::f32 : kind; }
[[nodiscard]] inline bool is_float_kind(Kind kind) { return kind >= Kind::real_literal; }
[[nodiscard]] Kind kind_of(DType);
/// How a tile value of this kind lies in memory.
[[nodiscard]] DType storage_of(Kind);

using Kinds = std::map<Symbol, Kind>;

/// Kind of an expression, given the kinds of the names it reads (absent: an integer, as indices, dimensions and tags are).
[[nodiscard]] Kind kind_of(Expr, const Kinds&, const kernel::Module&);
/// Kinds of every tile value, let and buffer of the kernel, parameters included. A fixed point: a carried 0 becomes f32 where f32 is
/// assigned.
[[nodiscard]] Kinds infer_kinds(const kernel::Module&, const kernel::Kernel&);
/// The reducer of a reduce node: built in or declared by the module; nullptr if there is none.
[[nodiscard]] ReducerRef reducer_of(const kernel::Module&, Symbol name);

/// How often each name is read in the block (nested blocks included).
void count_reads(const kernel::Block&, std::map<Symbol, int>& counts);
void count_reads(Expr, std::map<Symbol, int>& counts);

}  // namespace fathom::cpu
