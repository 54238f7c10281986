// The state of one Tile kernel while it is emitted: scopes, bindings of indices, tile values, running states. Shared by the files that emit
// (tile_builder.cpp: loops and leaves; tile_lower.cpp: expressions and loads; tile_folds.cpp: running states, gauges, repairs;
// tile_merge.cpp: the states of parts).
#pragma once

#include "ir/math_kinds.hpp"
#include "passes/tile_builder.hpp"

namespace fathom::passes {

/// What an index of the Loop program is at this place: base + axis, or base alone.
struct IndexBinding {
  Expr base;
  Symbol axis;
  Expr lo, hi;
};

/// A statement's value: its tile name, and for each axis of the statement the tile axis (empty where one element a trip).
struct TileValue {
  Symbol name;
  std::vector<Symbol> axes;
};

/// One carried component of a reduction.
struct Part {
  Symbol component;  ///< its name in `combine`; the right operand is primed
  Expr identity, combine;
  std::optional<Op> operation;  ///< combine is this one operation
  Expr lift;                    ///< contribution of an element, not lowered
  Expr move;                    ///< repair, or absent
  kernel::Kind kind = kernel::Kind::f32;
};

struct RunningState {
  const math::Statement* statement = nullptr;
  std::vector<Part> parts;
  std::vector<Symbol> names;  ///< carried tile values, one a part
  std::vector<Symbol> next;   ///< names after this trip's update, where old and new are both needed
  std::vector<Symbol> axes;   ///< one for each axis of the statement
  bool renewed = false;       ///< old and new are both needed
  bool updated = false;       ///< in this trip
};

struct RunningGauge {
  math::Gauge gauge;
  Symbol name, next;
  std::vector<Symbol> axes;  ///< tile axes, without empties
  bool updated = false;
};

/// The carried value takes the value that this trip made beside it.
struct Renewal {
  Symbol name, next;
  std::vector<Symbol> axes;
};

struct Scope {
  kernel::Block block;
  const loop::Loop* loop = nullptr;
  std::map<Expr, Symbol> loads;        ///< read -> tile
  std::map<Symbol, TileValue> values;  ///< statements
  std::map<Expr, Symbol> factors;      ///< repair factors of this trip
  std::vector<Renewal> renewals;       ///< at the end of the trip
};

/// `reference` is not a reference yet: at the identity of the extremum that it reads, else not finite.
Expr unset_test(Expr unlowered, Expr lowered, const math::Program&, const kernel::Kinds&);

class TileEmitter {
 public:
  TileEmitter(const TilePlan& plan, int nest, const std::map<Symbol, std::int64_t>& fixed, const Target& target);
  Result<BuiltKernel> run(Symbol kernel_name);

 private:
  // ---- tile_builder.cpp ----
  void open_work(Symbol kernel_name);
  void bind_outer(const std::vector<Expr>& trips, Symbol work);
  void emit(const loop::NodeRef&);
  void emit_leaf(const math::Statement&);
  void emit_map(const math::Statement&);
  void emit_loop(const loop::Loop&);
  Expr lower_end(Expr end, Op extreme);
  Symbol tag_for(Symbol wish);
  void store(const math::Statement&, Expr value);
  void define(const math::Statement&, Expr value);
  [[nodiscard]] Expr stated(const math::Statement&, DType, Expr value) const;
  Symbol axis_for(Symbol index, Expr extent);
  Symbol tile_name(Symbol statement);
  [[nodiscard]] std::vector<Symbol> axes_of(const math::Statement&);
  [[nodiscard]] kernel::Access access(Symbol name, const std::vector<Symbol>& axes) const;
  [[nodiscard]] static Expr tile_read(Symbol name, const std::vector<Symbol>& axes);
  void append(kernel::Statement, std::size_t depth);
  void append(kernel::Statement s) { append(std::move(s), scopes_.size() - 1); }
  void assign(Symbol name, const std::vector<Symbol>& axes, Expr value);
  void fail(Refusal);

  // ---- tile_lower.cpp ----
  Expr lower(Expr);
  Expr lower_uniform(Expr);
  Expr lower_node(Expr, bool uniform);
  Expr lower_read(Expr, bool uniform);
  Expr lower_subscript(Expr, bool uniform);
  Expr lower_symbol(Expr);
  [[nodiscard]] Expr against_end(Expr whole, Expr end) const;
  [[nodiscard]] Expr as_real(Symbol statement, Expr value) const;
  Expr lower_anew(const math::Statement&, const std::vector<Expr>& subscripts);
  Expr load(Expr memory_read);
  const IndexBinding& binding(Symbol index);
  Symbol whole_axis(Symbol index, const IndexBinding&);
  [[nodiscard]] std::size_t depth_of(Expr) const;
  [[nodiscard]] std::vector<Symbol> tile_axes_in(Expr) const;
  [[nodiscard]] const TileValue* find_value(Symbol statement) const;

  // ---- tile_folds.cpp ----
  [[nodiscard]] std::vector<Part> parts_of(const math::Statement&) const;
  [[nodiscard]] std::vector<Symbol> folded_below(const loop::Loop&) const;
  std::vector<kernel::Carry> start_states(const loop::Loop&, std::vector<Symbol>& started);
  void start_gauges(const std::vector<Symbol>& statements, std::vector<kernel::Carry>&, std::vector<Symbol>& started);
  void finish_trip();
  void finish_states(const std::vector<Symbol>& started);
  void finish(const RunningState&);
  void emit_reduction(const math::Statement&);
  void emit_update(RunningState&);
  void emit_complete(const math::Statement&);
  Expr partial(const math::Statement&, const Part&, Expr lifted);
  std::vector<Expr> partial_states(const math::Statement&, const std::vector<Part>&, const std::vector<Expr>& lifted,
                                   const std::vector<Symbol>& axes);
  std::vector<Bound> reduced_axes(const math::Statement&);
  Expr within_own_range(const math::Statement&, const Part&, Expr lifted);
  Expr moved(const RunningState&, const Part&, Expr carrier);
  Expr factor(Expr unlowered, Expr neutral, const math::Repair&);
  Expr unset(const math::Repair&, bool before);
  Expr unset(const math::Gauge&, bool before);
  Expr gauge_value(Symbol gauge);
  void update_gauge(RunningGauge&);
  void declare(const ReducerRef&);
  RunningState state_of(const math::Statement&);

  // ---- tile_merge.cpp ----
  void store_states(const RunningState&);
  void emit_combine(const loop::Combine&);
  Expr within_merge(Expr, const math::Statement&, const loop::Combine&);
  ReducerRef merged_reducer(const loop::Combine&, const std::vector<RunningState>&);

  const TilePlan& plan_;
  const kernel::Kinds kinds_;  ///< of the program's values
  int nest_;
  const std::map<Symbol, std::int64_t>& fixed_;
  const Target& target_;
  Names names_;
  BuiltKernel out_;
  std::vector<Scope> scopes_;
  std::map<Symbol, IndexBinding> bindings_;
  std::map<Symbol, std::size_t> depths_;  ///< names that are not known everywhere
  std::map<std::pair<Symbol, Expr>, Symbol> axis_names_;
  std::map<std::pair<std::size_t, Symbol>, Symbol> tags_;  ///< of ranges: by the depth of the loop
  std::map<Symbol, RunningState> states_;
  std::map<Symbol, RunningGauge> gauges_;
  std::map<Symbol, Expr> symbols_;               ///< meaning of gauge and carrier symbols in the expression that is being lowered
  std::vector<const math::Statement*> reading_;  ///< whose expression is being lowered, innermost last
  bool before_ = false;                          ///< running states are read as they were before this trip
  int anew_ = 0;
  std::optional<Refusal> failure_;
};

}  // namespace fathom::passes
