// How a Loop program falls into kernels, and how each statement reaches its readers: as a tile of the same kernel, through memory, or
// computed anew. The same question is asked while planning and while emitting, so both get the same answer. Knows the tree, emits nothing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/loop.hpp"

namespace fathom::passes {

/// One kernel: parallel loops around a body.
struct KernelNest {
  std::vector<const loop::Loop*> outer;  ///< outermost first
  std::vector<loop::NodeRef> body;
  Symbol last;  ///< the last statement that it computes: names the kernel
};

/// Where a leaf stands: the loops of the body around it (those of `KernelNest::outer` excluded), outermost first.
struct Place {
  int nest = 0;
  std::vector<const loop::Loop*> path;
};

enum class Route : std::uint8_t { tile, memory, anew };

class TilePlan {
 public:
  /// Refuses trees that no kernel can run (a fold that is carried through a loop over one of its result's axes).
  static Result<TilePlan> make(const loop::Program&);

  [[nodiscard]] const std::vector<KernelNest>& nests() const { return nests_; }
  [[nodiscard]] const math::Program& math() const { return program_->math; }
  /// How `reader`, standing at `at`, gets statement `name` at these subscripts.
  [[nodiscard]] Route route(Symbol name, const std::vector<Expr>& subscripts, const Place& at, const math::Statement& reader) const;
  [[nodiscard]] bool in_memory(Symbol statement) const { return memory_.count(statement) > 0; }
  /// Is the statement read as a tile somewhere, so that a store alone is not enough?
  [[nodiscard]] bool read_as_tile(Symbol statement) const { return tiles_.count(statement) > 0; }
  /// The Combine that merges the statement's partial states, or nullptr.
  [[nodiscard]] const loop::Combine* combine_of(Symbol statement) const;
  /// Gauges of the program, by name.
  [[nodiscard]] const math::Gauge* gauge(Symbol name) const;
  [[nodiscard]] const Place& place(Symbol statement) const { return places_.at(statement); }

 private:
  void split(const loop::NodeRef& root);
  void add_nest(std::vector<const loop::Loop*> outer, std::vector<loop::NodeRef> body);
  void visit(const loop::NodeRef&, Place at);
  void connect(Expr value, const Place& at, const math::Statement& reader, int depth);
  void connect_all();
  [[nodiscard]] Result<void> check_folds() const;
  [[nodiscard]] Place visible(const math::Statement&, int nest) const;
  [[nodiscard]] bool compatible(const math::Statement&, const std::vector<Expr>& subscripts, const Place& at,
                                const math::Statement& reader) const;
  void find_passing();
  [[nodiscard]] bool is_passing(const math::Statement&) const;

  const loop::Program* program_ = nullptr;
  std::vector<KernelNest> nests_;
  std::map<Symbol, Place> places_;
  std::map<Symbol, const loop::Combine*> combines_;
  std::map<Symbol, int> combined_in_;  ///< statement -> nest of its Combine
  std::map<Symbol, math::Gauge> gauges_;
  std::set<Symbol> memory_, tiles_;
  std::set<Symbol> passing_;  ///< elementwise values that only hold while their loop runs
};

/// Of the statement's result, or reduced by it; null: none has that index.
[[nodiscard]] const math::Axis* axis_of(const math::Statement&, Symbol index);
/// Does the reduction run over this index?
[[nodiscard]] bool runs_over(const math::Statement&, Symbol index);
/// Is the loop one in which the reduction carries its state?
[[nodiscard]] inline bool carries(const loop::Loop& loop, const math::Statement& s) {
  return loop.mark != loop::Mark::parallel && runs_over(s, loop.index);
}
/// Every expression of a statement that is evaluated at its leaf (repair included, its projection too).
[[nodiscard]] std::vector<Expr> expressions_of(const math::Statement&);
/// Statements below a node, in order.
void leaves(const loop::NodeRef&, std::vector<Symbol>& out);

}  // namespace fathom::passes
