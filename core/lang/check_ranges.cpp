// Subscripts against dimensions, with what the ranges, the operator's conditions and the enclosing `where`s say.
#include <algorithm>

#include "lang/statement_checks.hpp"

namespace fathom::lang {
namespace {

constexpr std::size_t longest_shown = 80;  // of an expression in a message

class RangeChecker {
 public:
  RangeChecker(const StatementSyntax& syntax, Indices& indices, OperatorScope& scope) : syntax_(syntax), indices_(indices), scope_(scope) {}

  void run() {
    const std::size_t known = scope_.facts.size();
    indices_.leave(0);
    enter(syntax_.axes);
    walk(*syntax_.value);
    indices_.leave(0);
    scope_.facts.resize(known);
  }

 private:
  void enter(const std::vector<BindSyntax>& binds) {
    for (const BindSyntax& bind : binds) {
      const Index* index = indices_.of(bind);
      if (index == nullptr) continue;
      indices_.enter(bind);
      if (index->range.lo && index->range.hi) scope_.facts.add_range(fathom::index(bind.index), index->range.lo, index->range.hi);
    }
  }

  void walk(const Syntax& s) {
    if (s.kind == SyntaxKind::call && s.name.text() == "where" && s.args.size() == 3) return walk_where(s);
    if (s.kind == SyntaxKind::indexed) return walk_indexed(s);
    for (const SyntaxRef arg : s.args) walk(*arg);
    if (s.kind == SyntaxKind::subscripted) check_read(s);
  }

  void walk_where(const Syntax& s) {
    walk(*s.args[0]);
    for (const bool holds : {true, false}) {
      const std::size_t known = scope_.facts.size();
      scope_.facts.add_condition(s.args[0]->expr, holds);
      walk(*s.args[holds ? 1 : 2]);
      scope_.facts.resize(known);
    }
  }

  void walk_indexed(const Syntax& s) {
    for (const BindSyntax& bind : s.binds) {
      for (const SyntaxRef edge : {bind.lo, bind.hi}) {
        if (edge != nullptr) walk(*edge);
      }
    }
    const std::size_t outer = indices_.depth(), known = scope_.facts.size();
    enter(s.binds);
    for (const SyntaxRef arg : s.args) walk(*arg);
    indices_.leave(outer);
    scope_.facts.resize(known);
  }

  void check_read(const Syntax& s) {
    const auto tensor = scope_.tensors.find(s.name);
    if (tensor == scope_.tensors.end() || tensor->second.is_broken) return;
    for (std::size_t i = 0; i < s.args.size() && i < tensor->second.ranges.size(); ++i) {
      if (s.args[i]->expr && tensor->second.ranges[i].hi) check_subscript(s, i, tensor->second.ranges[i]);
    }
  }

  void check_subscript(const Syntax& s, std::size_t place, const Range& range) {
    const Expr e = s.args[place]->expr;
    const Index* index = e.is(Op::index) ? indices_.in_scope(e.name()) : nullptr;
    if (index != nullptr && index->range.lo == range.lo && index->range.hi == range.hi) return;
    const bool above = scope_.facts.implies_not_negative(e - range.lo);
    const bool below = scope_.facts.implies_not_negative(range.hi - number(1) - e);
    if ((above && below) || indices_.depends_on_data(e)) return;
    report(s, place, range, above, below);
  }

  void report(const Syntax& s, std::size_t place, const Range& range, bool above, bool below) {
    const Syntax& subscript = *s.args[place];
    std::string e = print(subscript.expr);
    if (e.size() > longest_shown) e = e.substr(0, longest_shown) + "…";
    const std::string which =
        s.args.size() == 1 ? "`" + s.name.text() + "`" : "dimension " + std::to_string(place + 1) + " of `" + s.name.text() + "`";
    std::string guard;
    if (!above) guard = e + " >= " + print(simplify_integer(range.lo));
    if (!below) guard += (guard.empty() ? "" : " and ") + e + " < " + print(simplify_integer(range.hi));
    const auto interval = interval_of(subscript.expr, scope_.defaults, indices_.intervals());
    const auto lo = evaluate_integer(range.lo, scope_.defaults), hi = evaluate_integer(range.hi, scope_.defaults);
    const bool leaves = interval && lo && hi && (interval->least < *lo || interval->most >= *hi);
    const bool has_scalar = !tensors_read(subscript.expr).empty() || !ranges_read_nothing(subscript.expr);
    std::string message = "`" + e + "` ";
    message += leaves ? "runs over " + std::to_string(interval->least) + ":" + std::to_string(interval->most + 1) + ", but "
                      : "may leave its range: ";
    message += which + " is " + scope_.text(range);
    if (has_scalar && index_range(subscript.expr) != nullptr) {
      guard = print(simplify_integer(index_range(subscript.expr)->hi)) + " <= " + print(simplify_integer(range.hi));
    }
    const std::string guarded = "guard the read: `where(" + guard + ", " + scope_.file_text(s.span) + ", …)`";
    std::string cure = guarded + ", or narrow the range of the index";
    if (!leaves) cure = "state how the run-time dimensions relate, as in `where S <= T` after the operator's results, or " + guarded;
    if (has_scalar)
      cure = "scalars are known only at the launch: state what holds, as in `where " + guard + "` after the operator's results";
    scope_.sink.error(subscript.span, message, cure, {{Severity::note, scope_.tensors.at(s.name).span, "declared here", {}, {}}});
  }
  [[nodiscard]] const Range* index_range(Expr e) const {
    const Index* index = e.is(Op::index) ? indices_.in_scope(e.name()) : nullptr;
    return index == nullptr || !index->range.hi ? nullptr : &index->range;
  }
  /// Do the ranges of the indices in `e` read no scalar?
  [[nodiscard]] bool ranges_read_nothing(Expr e) const {
    const std::set<Symbol>& names = free_indices(e);
    return std::all_of(names.begin(), names.end(), [&](Symbol name) {
      const Index* index = indices_.in_scope(name);
      return index == nullptr || !index->range.hi || (tensors_read(index->range.lo).empty() && tensors_read(index->range.hi).empty());
    });
  }

  const StatementSyntax& syntax_;
  Indices& indices_;
  OperatorScope& scope_;
};

}  // namespace

std::map<Symbol, Interval> Indices::intervals() const {
  std::map<Symbol, Interval> known;
  for (const Index* index : scope_) {
    const auto lo = interval_of(index->range.lo, operator_.defaults, known), hi = interval_of(index->range.hi, operator_.defaults, known);
    if (lo && hi) known[index->bind->index] = {lo->least, hi->most - 1};
  }
  return known;
}

bool Indices::depends_on_data(Expr e, int depth) const {
  if (!e || depth > static_cast<int>(most_axes)) return false;
  for (const Symbol name : tensors_read(e)) {
    const auto tensor = operator_.tensors.find(name);
    const bool is_scalar_parameter = tensor != operator_.tensors.end() && tensor->second.is_parameter && tensor->second.ranges.empty();
    if (!is_scalar_parameter) return true;
  }
  const std::set<Symbol>& names = free_indices(e);
  return std::any_of(names.begin(), names.end(), [&](Symbol name) {
    const Index* index = in_scope(name);
    return index != nullptr && (depends_on_data(index->range.lo, depth + 1) || depends_on_data(index->range.hi, depth + 1));
  });
}

void check_ranges(const StatementSyntax& syntax, Indices& indices, OperatorScope& scope) { RangeChecker(syntax, indices, scope).run(); }

}  // namespace fathom::lang
