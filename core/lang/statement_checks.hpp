// The indices of a statement while it is checked, and the stages that follow once their ranges are known.
#pragma once

#include <deque>

#include "lang/operator_scope.hpp"

namespace fathom::lang {

/// A dimension that an index subscribes, and where.
struct Evidence {
  Range range;
  SourceSpan span;
  std::string text;  ///< "`q[b,h,i,d]`"
};

/// An axis of the statement, or an index that a reduction or a call binds.
struct Index {
  const BindSyntax* bind = nullptr;
  const Syntax* call = nullptr;  ///< the call that binds it
  Range range;
  bool is_explicit = false;
  bool is_doubtful = false;         ///< it subscribes a tensor that has errors: a missing range is not its fault
  bool is_simple = true;            ///< every dimension that it subscribes has just this range, from 0
  std::vector<Evidence> direct;     ///< `x[j]`
  std::vector<Evidence> quotients;  ///< `x[j // c]`
};

class Indices {
 public:
  explicit Indices(const OperatorScope& scope) : operator_(scope) {}
  Index& add(const BindSyntax& bind) {
    all.push_back({});
    all.back().bind = &bind;
    scope_.push_back(&all.back());
    by_bind_[&bind] = &all.back();
    return all.back();
  }
  [[nodiscard]] std::size_t depth() const { return scope_.size(); }
  void leave(std::size_t depth) { scope_.resize(depth); }
  void enter(const BindSyntax& bind) {
    if (Index* index = of(bind)) scope_.push_back(index);
  }
  [[nodiscard]] Index* in_scope(Symbol name) const {
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      if ((*it)->bind->index == name) return *it;
    }
    return nullptr;
  }
  [[nodiscard]] Index* of(const BindSyntax& bind) const {
    const auto found = by_bind_.find(&bind);
    return found == by_bind_.end() ? nullptr : found->second;
  }
  /// Bounds of the indices in scope at the default dimension values; for messages.
  [[nodiscard]] std::map<Symbol, Interval> intervals() const;
  /// Does the value depend on tensors, directly or through a range? Such subscripts are the caller's promise.
  [[nodiscard]] bool depends_on_data(Expr, int depth = 0) const;

  std::deque<Index> all;                                       ///< stable addresses
  std::vector<std::pair<const BindSyntax*, Index*>> repeated;  ///< calls that repeat the range of an outer index

 private:
  const OperatorScope& operator_;
  std::vector<Index*> scope_;
  std::map<const BindSyntax*, Index*> by_bind_;  // looked up only: the order of addresses is never seen
};

/// Every subscript stays in its dimension for the whole ranges of its indices, or under the `where` around it.
void check_ranges(const StatementSyntax&, Indices&, OperatorScope&);
/// Types of all operations; that of the statement's tensor.
[[nodiscard]] Type check_types(const StatementSyntax&, OperatorScope&);

}  // namespace fathom::lang
