// Loop programs as the passes of this folder make them: a list of nests. A nest is a chain of parallel loops, then statements before, one
// chain of fold loops over a body, statements after. Passes rewrite nests; `tree_of` makes the schedule tree, `nests_of` reads it back.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ir/loop.hpp"
#include "ir/result.hpp"

namespace fathom::passes {

struct Nest {
  std::vector<loop::Loop> outer;    ///< parallel, outermost first; `body` of these headers is null
  std::vector<Symbol> before;       ///< statements that the body needs and that do not vary with the folds
  std::optional<loop::Loop> split;  ///< split-k: the parallel loop round the folds
  std::vector<loop::Loop> folds;    ///< outermost first; empty: only `before` and `after`
  std::vector<Symbol> body;
  std::optional<loop::Combine> combine;
  std::vector<Symbol> after;

  [[nodiscard]] std::vector<Symbol> statements() const;
  [[nodiscard]] std::set<Symbol> statement_set() const;
  [[nodiscard]] const loop::Loop* loop(Symbol index) const;  ///< outer or fold
  [[nodiscard]] bool folds_over(Symbol index) const;
};

[[nodiscard]] std::vector<Nest> nests_of(const loop::Program&);
[[nodiscard]] loop::NodeRef tree_of(const std::vector<Nest>&);
[[nodiscard]] bool same_range(const loop::Loop&, const loop::Loop&);  ///< index, lo, hi and tile

// ---- statements ----
[[nodiscard]] std::vector<Expr> values_of(const math::Statement&);  ///< right-hand sides: one, or the lifted values
[[nodiscard]] std::set<Symbol> reads_of(const math::Statement&);    ///< tensors read, parameters and gauges included
[[nodiscard]] math::Statement with_values(math::Statement, const std::function<Expr(Expr)>& rewrite);
[[nodiscard]] std::set<Symbol> axis_names(const math::Statement&);  ///< of the result, not those reduced
[[nodiscard]] std::vector<Expr> identity_subscripts(const math::Statement&);
/// Whether every read of `tensor` in `reader` is at the tensor's own axes, in order.
[[nodiscard]] bool reads_at_identity(const math::Statement& reader, const math::Statement& tensor);
[[nodiscard]] bool is_result(const math::Program&, Symbol);
/// The first result, in the order of the signature, that needs one of the statements.
[[nodiscard]] Symbol result_served(const math::Program&, const std::set<Symbol>& statements);
/// Value of an extent at the program's dimension values; nullopt where it depends on indices or data.
[[nodiscard]] std::optional<std::int64_t> value_at_defaults(const math::Program&, Expr);
/// No run-time dimension in it and no index.
[[nodiscard]] bool is_fixed(const math::Program&, Expr);

}  // namespace fathom::passes
