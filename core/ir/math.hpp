// Math level: comprehensions over index sets, one statement a tensor, in SSA order. No order of evaluation, no loops.
// The same type holds the program as written (reductions and calls nested in expressions) and the opened one, where every
// reduction is the whole right-hand side of a statement: `is_opened`.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/expr.hpp"
#include "ir/reducer.hpp"
#include "ir/result.hpp"

namespace fathom::math {

/// An index of a statement and its half-open range.
struct Axis {
  Symbol index;
  Expr lo, hi;
  friend bool operator==(const Axis&, const Axis&) = default;
};

struct Dimension {
  Symbol name;
  std::int64_t value = 0;  ///< default of a run-time dimension, else the value
  bool runtime = false;    ///< left to run time: one compilation serves every value
  SourceSpan span;
};

struct Parameter {
  Symbol name;
  DType dtype = DType::f32;
  std::vector<Expr> extents;   ///< empty: a scalar
  std::vector<Symbol> stored;  ///< declared storage order of the extents' dimensions; empty: row major
  bool strided = false;        ///< strides come from the caller
  SourceSpan span;
};

/// A reference that moves as a fold goes on. Named in terms and moves: symbol(name) is the present one, symbol(name') the next.
struct Gauge {
  Symbol name;  ///< "p.m~"
  /// Over reads of the producers' running results. Where it is the identity of the extremum that it reads (without one: not finite), the
  /// gauge is *unset* and stands at 0.
  Expr reference;
  friend bool operator==(const Gauge&, const Gauge&) = default;
};

/// One carried sum of a repaired reduction.
struct Carried {
  Symbol name;         ///< the statement's own name at rank 1, else name.0, name.1, …
  ReducerRef reducer;  ///< ⊕ of this carrier, one component
  Expr term;           ///< contribution of an element; reads gauges as symbols
  Expr move;           ///< value after the gauges moved: over symbol(carried names), symbol(gauge), symbol(gauge'). Applied only where
                       ///< the old gauge is set and the carrier is not at its identity (h is a select, docs/algebra.md)
  friend bool operator==(const Carried&, const Carried&) = default;
};

/// How a reduction rides in one loop with producers that it reads: the Reducer of docs/algebra.md on states (r, acc).
struct Repair {
  std::vector<Gauge> gauges;
  std::vector<Carried> carried;
  Expr project;  ///< the result: over symbol(carried names), symbol(gauge) and reads of the producers
  friend bool operator==(const Repair&, const Repair&) = default;
};

/// name[axes] = reducer.result[over](values). `values` are the lift's arguments.
struct Reduction {
  ReducerRef reducer;
  Symbol result;  ///< which result; empty = first
  std::vector<Axis> over;
  std::vector<Expr> values;
  std::optional<Repair> repair;  ///< present after fusion with producers of the same loop
  friend bool operator==(const Reduction&, const Reduction&) = default;
};

/// Elementwise, or (as written) with reductions and calls inside.
struct Map {
  Expr value;
  friend bool operator==(const Map&, const Map&) = default;
};

/// Identity of a statement: its name. Two equal expressions of different statements stay apart, each with its own origins.
struct Statement {
  Symbol name;
  std::vector<Axis> axes;
  DType dtype = DType::real;  ///< storage type; real: left open
  std::variant<Map, Reduction> value;
  Origins origins;

  [[nodiscard]] const Map* map() const { return std::get_if<Map>(&value); }
  [[nodiscard]] const Reduction* reduction() const { return std::get_if<Reduction>(&value); }
};

/// A pure function of the file, inlined by the pass `open-prelude`.
struct Function {
  Symbol name;
  std::vector<Symbol> indices;
  std::vector<Symbol> parameters;
  Expr body;                                    ///< over symbol(parameter), symbol(local), index(index)
  std::vector<std::pair<Symbol, Expr>> locals;  ///< `with`: each visible to the right and in the body
  SourceSpan span;
};

struct Program {
  Symbol name;  ///< of the operator
  std::vector<Dimension> dims;
  std::vector<Parameter> params;
  std::vector<Parameter> results;
  std::vector<Expr> conditions;       ///< the operator's `where`: facts, and the launch contract
  std::vector<Function> functions;    ///< those in scope: the file's and the prelude's; empty once opened
  std::vector<ReducerRef> reducers;   ///< user-declared ones
  std::vector<Statement> statements;  ///< definitions before uses

  [[nodiscard]] const Statement* find(Symbol) const;
  [[nodiscard]] const Parameter* param(Symbol) const;
  [[nodiscard]] const Parameter* result(Symbol) const;
  [[nodiscard]] const Dimension* dimension(Symbol) const;
};

/// Extents of a tensor (parameter or statement), outermost first; nullopt for an unknown name.
[[nodiscard]] std::optional<std::vector<Expr>> extents_of(const Program&, Symbol tensor);
/// What may stand as its subscripts: 0:extent for a parameter, the axes' ranges for a statement (they may be ragged: use outer axes).
struct Range {
  Expr lo, hi;
  friend bool operator==(const Range&, const Range&) = default;
};
[[nodiscard]] std::optional<std::vector<Range>> ranges_of(const Program&, Symbol tensor);
[[nodiscard]] DimValues default_dims(const Program&);
[[nodiscard]] bool is_opened(const Program&);

/// Every index bound once, definitions before uses, reads of the right rank, ranges covered. Runs after every pass in debug builds and
/// tests.
[[nodiscard]] Result<void> verify(const Program&);

/// The notation; an opened or fused program uses dotted names and `with repair { … }`. `lang::parse_math` reads it back.
[[nodiscard]] std::string print(const Program&);
/// One statement, for people: ranges are left out.
[[nodiscard]] std::string print(const Statement&);
/// One statement of `program`, with the ranges that the text needs to be read back.
[[nodiscard]] std::string print(const Statement&, const Program& program);
/// What the texts of the lower levels share: "q: f16[B,H,S,D] stored(B,S,H,D)", "S = runtime 4096", "reducer top(x, i) { … }".
[[nodiscard]] std::string print(const Parameter&);
[[nodiscard]] std::string print(const Dimension&);
[[nodiscard]] std::string print(const Reducer&);

}  // namespace fathom::math
