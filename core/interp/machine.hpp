// Runs Math and Loop programs in f32, statement by statement, box by box. Reductions under a loop over one of their indices keep a state
// from trip to trip (one for each part of a split); repairs move it when a gauge moved. A producer's tensor holds its running value until
// its fold is over, as the conventions of docs/architecture.md say.
#pragma once

#include <set>

#include "interp/single.hpp"
#include "interp/statements.hpp"
#include "ir/loop.hpp"

namespace fathom::interp {

class Machine {
 public:
  Machine(const math::Program& program, DimValues dims, std::vector<Prepared> statements, Tensors<Single> tensors,
          const RunOptions& options);

  /// Statements in order; a repaired reduction is folded in tiles of a few elements together with the producers that it follows.
  [[nodiscard]] Result<void> run_math();
  [[nodiscard]] Result<void> run_tree(const loop::NodeRef& root);
  [[nodiscard]] Result<Arrays> results() const;

 private:
  using Ev = Evaluator<Single>;
  using Ref = Ev::Ref;

  /// State of one reduction: components of its reducer, or carried sums, and where its gauges stand.
  struct State {
    std::vector<Tensor<double>> components;
    std::vector<Tensor<double>> gauges;
    std::vector<Tensor<double>> set;  ///< bool: the gauge stands at a reference
  };
  struct Columns {
    std::vector<Ref> components, gauges, set;
  };
  struct Part {
    Symbol split;  ///< empty: not split
    std::int64_t number = 0;
  };

  [[nodiscard]] const Prepared* find(Symbol name) const;
  [[nodiscard]] bool fail(Refusal refusal);
  [[nodiscard]] bool keep_failure(const Ev& evaluator, Symbol statement);

  bool node(const loop::NodeRef& ref, int depth);
  [[nodiscard]] std::optional<std::int64_t> value_of_bound(Expr bound);
  bool loop(const loop::Loop& loop, int depth);
  bool trip(const loop::Loop& loop, std::int64_t number, std::int64_t lo, std::int64_t hi, int depth);
  bool leaf(Symbol name);

  // trips that run as one (machine_trips.cpp)
  struct Below;
  [[nodiscard]] std::int64_t trips_at_once(const loop::Loop& loop, std::int64_t tile);
  [[nodiscard]] bool has_independent_trips(const loop::Loop& loop) const;
  [[nodiscard]] bool reads_own_trip(Expr expr, Symbol index, const Below& below) const;
  [[nodiscard]] std::int64_t points_a_step(const loop::Loop& loop) const;
  void collect(const loop::NodeRef& ref, Symbol index, std::set<Symbol> around, int depth, Below& below) const;

  bool combine_parts(const loop::Combine& combine);

  [[nodiscard]] Ev evaluator();
  /// Indices of the loops around that are no axis of a statement stand for the first element of their trip.
  Ref meaning(Ev& evaluator, Expr expr);
  [[nodiscard]] std::optional<double> unset_at(Expr reference) const;
  Ref gauge_value(Ev& evaluator, Expr reference, Ref* set);
  [[nodiscard]] std::pair<const math::Gauge*, const Prepared*> find_gauge(Symbol name) const;

  bool elementwise(const Prepared& statement);
  bool reduction(const Prepared& statement);
  [[nodiscard]] std::vector<Bound> limited(const std::vector<Bound>& over) const;
  [[nodiscard]] bool is_folding(const Prepared& statement) const;
  /// Identity states, in the present box, for every reduction under the loop that folds over its index.
  bool start_folds(const loop::NodeRef& ref, Symbol index, int depth);
  bool finish_folds(const loop::NodeRef& ref, Symbol index, int depth);
  bool start(const Prepared& statement);

  [[nodiscard]] Columns identity_of(Ev& evaluator, const Prepared& statement);
  [[nodiscard]] Columns load(Ev& evaluator, const Prepared& statement, State& state, const Box& box);
  void save(Ev& evaluator, const Prepared& statement, State& state, const Box& box, const Columns& columns);
  [[nodiscard]] Columns absorb(Ev& evaluator, const Prepared& statement, const Columns& before);
  [[nodiscard]] Columns merge(Ev& evaluator, const Prepared& statement, const Columns& left, const Columns& right);
  /// The carriers after their gauges moved to the present ones.
  [[nodiscard]] std::vector<Ref> moved(Ev& evaluator, const Prepared& statement, const Columns& from, const Columns& to);
  void stand(Ev& evaluator, const Prepared& statement, Columns& columns);
  [[nodiscard]] Ref at_identity(Ev& evaluator, const Prepared& statement, const std::vector<Ref>& components);
  [[nodiscard]] Ref result_of(Ev& evaluator, const Prepared& statement, const Columns& columns);

  [[nodiscard]] State& state_of(const Prepared& statement, std::int64_t part);
  [[nodiscard]] std::int64_t part_of(Symbol statement) const;
  bool publish(Ev& evaluator, const Prepared& statement, const Box& box, const Ref& column, bool partial);
  bool merge_states(const loop::Combine& combine, std::int64_t left, std::int64_t right);
  bool publish_state(const Prepared& statement, std::int64_t part, bool partial);
  void find_splits(const loop::NodeRef& ref, int depth);

  [[nodiscard]] bool has_gauge(Expr expr) const;
  bool repaired_alone(const Prepared& statement);

  const math::Program& program_;
  DimValues dims_;
  std::vector<Prepared> statements_;
  Tensors<Single> tensors_;
  const RunOptions& options_;
  Single domain_;
  std::int64_t work_left_;
  std::optional<Refusal> failure_;
  Limits limits_;  ///< of the indices of the loops around
  std::vector<std::pair<Symbol, std::int64_t>> trips_;
  std::map<Symbol, Symbol> split_of_;  ///< reduction -> index of the loop whose parts a Combine merges
  std::map<std::pair<Symbol, std::int64_t>, State> states_;
  std::map<const loop::Loop*, bool> independent_;  ///< what has_independent_trips says of each loop of the tree
  bool quiet_ = false;                             ///< a private fold of run_math: no events
};

}  // namespace fathom::interp
