// One statement: names, then the ranges of its indices, then subscripts and types. Each stage runs only where the one before left no
// doubt, so that one mistake gives one message.
#include <algorithm>

#include "lang/operator_scope.hpp"
#include "lang/statement_checks.hpp"

namespace fathom::lang {
namespace {

std::string quoted(Symbol name) { return "`" + name.text() + "`"; }

class StatementChecker {
 public:
  StatementChecker(const StatementSyntax& syntax, OperatorScope& scope) : syntax_(syntax), scope_(scope), indices_(scope) {}

  std::optional<math::Statement> run() {
    const std::size_t before = scope_.sink.count();
    const bool is_new = name_is_new();
    axes();
    Scope names = scope_.names(axis_names());
    static_cast<void>(lower(syntax_.value, names, scope_.sink));
    collect(*syntax_.value);
    if (scope_.sink.count() == before) infer();
    std::optional<math::Statement> statement;
    if (scope_.sink.count() == before && !is_doubtful_) statement = make(names);
    if (statement && !scope_.file.is_level_text) {
      type_ = check_types(syntax_, scope_);
      if (scope_.sink.count() == before) check_ranges(syntax_, indices_, scope_);
    }
    const bool ok = scope_.sink.count() == before && statement;
    if (is_new) declare(!ok);
    return ok ? statement : std::nullopt;
  }

 private:
  // ---- names ----
  bool name_is_new() {
    const Symbol name = syntax_.name.name;
    const auto known = scope_.tensors.find(name);
    std::string message, cure = "take another name";
    Diagnostics notes;
    if (scope_.dimension(name) != nullptr) message = quoted(name) + " is a dimension and cannot be defined again";
    if (scope_.constant(name)) message = quoted(name) + " is a constant and cannot be defined again";
    if (const auto index = scope_.index_names.find(name); index != scope_.index_names.end() && !scope_.file.is_level_text) {
      message = quoted(name) + " is an index already and cannot be a tensor too";
      notes.push_back({Severity::note, index->second, "used as an index here", {}, {}});
    }
    if (known != scope_.tensors.end()) {
      message = quoted(name) + (known->second.is_parameter ? " is a parameter and cannot be defined again"
                                                           : " is defined twice; one statement defines one tensor");
      notes.push_back({Severity::note, known->second.span, "first defined here", {}, {}});
    }
    if (message.empty()) return true;
    scope_.sink.error(syntax_.name.span, message, cure, notes);
    return false;
  }

  [[nodiscard]] std::vector<Symbol> axis_names() const {
    std::vector<Symbol> names;
    for (const BindSyntax& axis : syntax_.axes) names.push_back(axis.index);
    return names;
  }

  void axes() {
    if (syntax_.axes.size() > most_axes)
      scope_.sink.error(syntax_.name.span, quoted(syntax_.name.name) + " has too many dimensions", "at most " + std::to_string(most_axes));
    const auto result = scope_.result_extents.find(syntax_.name.name);
    if (result != scope_.result_extents.end() && result->second.size() != syntax_.axes.size()) {
      const std::size_t wanted = result->second.size();
      scope_.sink.error(syntax_.name.span, "result " + quoted(syntax_.name.name) + " has " + std::to_string(wanted) +
                                               (wanted == 1 ? " dimension" : " dimensions") + ", but " +
                                               std::to_string(syntax_.axes.size()) + " indices here");
    }
    for (std::size_t i = 0; i < syntax_.axes.size(); ++i) {
      const BindSyntax& axis = syntax_.axes[i];
      for (std::size_t k = 0; k < i; ++k) {
        if (syntax_.axes[k].index == axis.index) bound_twice(axis, syntax_.axes[k].span);
      }
      static_cast<void>(scope_.may_be_index(axis.index, axis.span));
      Index& index = indices_.add(axis);
      if (axis.lo != nullptr) explicit_range(axis, scope_.names(axis_names()), index);
      if (result != scope_.result_extents.end() && i < result->second.size()) {
        index.direct.push_back({{number(0), result->second[i]}, axis.span, "result " + quoted(syntax_.name.name)});
      }
    }
  }
  void bound_twice(const BindSyntax& bind, SourceSpan first) {
    scope_.sink.error(bind.span, "index " + quoted(bind.index) + " is bound twice", "take another name for one of them",
                      {{Severity::note, first, "first bound here", {}, {}}});
  }

  /// The range of an axis of a tensor: its extent is known before any value is.
  void explicit_range(const BindSyntax& axis, const Scope& names, Index& index) {
    for (const SyntaxRef edge : {axis.lo, axis.hi}) {
      collect(*edge);
      const Expr e = lower(edge, names, scope_.sink);
      if (e && (!free_indices(e).empty() || !tensors_read(e).empty())) {
        scope_.sink.error(edge->span,
                          "the range of " + quoted(axis.index) + " must follow from dimensions alone, since it is the extent of " +
                              quoted(syntax_.name.name),
                          "take the largest range, and `where` for what lies outside");
        return;
      }
    }
    index.range = {axis.lo->expr, axis.hi->expr};
    index.is_explicit = true;
    if (index.range.lo && index.range.hi && !scope_.facts.implies_not_negative(index.range.hi - index.range.lo)) {
      scope_.sink.error(axis.span, "the range of " + quoted(axis.index) + " may end before it begins: " + scope_.text(index.range),
                        "state what holds, as in `where " + print(simplify_integer(index.range.lo)) +
                            " <= " + print(simplify_integer(index.range.hi)) + "` after the operator's results");
    }
  }

  // ---- uses ----
  void collect(const Syntax& s) {
    if (s.kind == SyntaxKind::subscripted) return collect_read(s);
    if (s.kind == SyntaxKind::indexed) return collect_indexed(s);
    if (s.kind == SyntaxKind::call && s.name.text() == "size") return collect_size(s);
    if (s.kind == SyntaxKind::call && !function_named(s.name.text())) static_cast<void>(callee(s, scope_.file.functions, scope_.sink));
    for (const SyntaxRef arg : s.args) collect(*arg);
  }

  void collect_size(const Syntax& s) {
    if (s.args.size() == 1 && s.args[0]->kind == SyntaxKind::name && (indices_.in_scope(s.args[0]->name) != nullptr)) return;
    scope_.sink.error(s.span, "`size` takes an index", "write `size(j)` where `j` is bound, or the dimension itself");
  }

  void collect_read(const Syntax& s) {
    const auto found = scope_.tensors.find(s.name);
    const bool unchecked = scope_.gauges.count(s.name) != 0 || (found != scope_.tensors.end() && found->second.is_broken);
    if (found == scope_.tensors.end() && !unchecked) scope_.unknown_tensor(s.name, s.name_span);
    const bool known = found != scope_.tensors.end() && !unchecked;
    if (known && found->second.ranges.size() != s.args.size()) {
      const std::size_t rank = found->second.ranges.size();
      const std::string has = rank == 0 ? " is a scalar" : " has " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
      scope_.sink.error(
          s.span,
          quoted(s.name) + has + ", but " + std::to_string(s.args.size()) + (s.args.size() == 1 ? " subscript" : " subscripts") + " here",
          {}, {{Severity::note, found->second.span, "declared here", {}, {}}});
    }
    for (std::size_t i = 0; i < s.args.size(); ++i) {
      collect(*s.args[i]);
      Index* doubtful = unchecked && s.args[i]->expr && s.args[i]->expr.is(Op::index) ? indices_.in_scope(s.args[i]->expr.name()) : nullptr;
      if (doubtful != nullptr) doubtful->is_doubtful = true;
      if (known && i < found->second.ranges.size()) evidence(*s.args[i], found->second.ranges[i], s);
    }
  }

  /// What a subscript says about the range of an index: `j` alone, or `j // c`.
  void evidence(const Syntax& subscript, const Range& range, const Syntax& read) {
    const Expr e = subscript.expr;
    if (!e || !range.hi) return;
    const bool quotient = e.is(Op::floordiv) && e.arg(0).is(Op::index) && free_indices(e.arg(1)).empty() && tensors_read(e.arg(1)).empty();
    if (!e.is(Op::index) && !quotient) return;
    Index* index = indices_.in_scope(e.is(Op::index) ? e.name() : e.arg(0).name());
    if (index == nullptr) return;
    const std::string where = "`" + std::string(scope_.file_text(read.span)) + "`";
    if (quotient) {
      index->quotients.push_back({{number(0), simplify_integer(range.hi * e.arg(1))}, read.span, where});
    } else {
      index->direct.push_back({range, read.span, where});
    }
  }

  void collect_indexed(const Syntax& s) {
    const bool reduces = scope_.reducer(s.name) != nullptr || is_dotted_reducer(s);
    if (reduces && !s.result.empty()) check_result_name(s);
    const Function* function = reduces ? nullptr : callee(s, scope_.file.functions, scope_.sink);
    for (const BindSyntax& bind : s.binds) {
      for (const SyntaxRef edge : {bind.lo, bind.hi}) {
        if (edge != nullptr) collect(*edge);
      }
    }
    if (s.binds.size() > most_axes) scope_.sink.error(s.span, "too many indices", "at most " + std::to_string(most_axes));
    const std::size_t outer = indices_.depth();
    for (const BindSyntax& bind : s.binds) bind_index(s, bind, reduces);
    for (const SyntaxRef arg : s.args) collect(*arg);
    indices_.leave(outer);
    if (function != nullptr && s.expr) check_variation(s);
  }
  [[nodiscard]] bool is_dotted_reducer(const Syntax& s) const {
    const std::size_t dot = s.name.text().rfind('.');
    return scope_.file.is_level_text && dot != std::string::npos && scope_.reducer(Symbol(s.name.text().substr(0, dot))) != nullptr;
  }

  void check_result_name(const Syntax& s) {
    const ReducerRef reducer = scope_.reducer(s.name);
    std::vector<std::string> names;
    for (const ReducerResult& result : reducer->results) {
      if (result.name == s.result) return;
      names.push_back(result.name.text());
    }
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
    scope_.sink.error(s.name_span, quoted(s.name) + " has no result " + quoted(s.result), "its results: " + list);
  }

  void bind_index(const Syntax& s, const BindSyntax& bind, bool reduces) {
    Index* outer = indices_.in_scope(bind.index);
    if (outer != nullptr && !reduces) {  // the call acts at the point of the index that is bound outside
      if (bind.lo != nullptr) indices_.repeated.push_back({&bind, outer});
      return;
    }
    if (outer != nullptr) return bound_twice(bind, outer->bind->span);
    if (!scope_.may_be_index(bind.index, bind.span)) return;
    Index& index = indices_.add(bind);
    index.call = reduces ? nullptr : &s;
    if (bind.lo == nullptr) return;
    index.is_explicit = true;
    index.range = {bind.lo->expr, bind.hi->expr};
  }

  /// A call over an index that nothing outside binds must reduce over it.
  void check_variation(const Syntax& s) {
    if (inlined_cost(s.expr, scope_.file.functions).size > largest_expression) return;  // reported with the statement
    const std::set<Symbol> varies = varies_with(s.expr, scope_.file.functions);
    for (const BindSyntax& bind : s.binds) {
      if (indices_.in_scope(bind.index) != nullptr || varies.count(bind.index) == 0) continue;
      scope_.sink.error(bind.span, "the value of " + quoted(s.name) + " varies with " + quoted(bind.index) + ", which nothing binds here",
                        "make " + quoted(bind.index) + " an index of " + quoted(syntax_.name.name) + ", or reduce over it");
    }
  }

  // ---- ranges ----
  void infer() {
    for (Index& index : indices_.all) {
      if (!index.is_explicit) infer(index);
      if (index.is_explicit && scope_.result_extents.count(syntax_.name.name) != 0) check_result_range(index);
      index.bind->given_lo = index.range.lo;
      index.bind->given_hi = index.range.hi;
    }
    for (const auto& [bind, index] : indices_.repeated) {
      const Range range{bind->lo->expr, bind->hi->expr};
      if (!range.lo || !range.hi || !index->range.hi) continue;
      if (scope_.equal(range.lo, index->range.lo) && scope_.equal(range.hi, index->range.hi)) continue;
      scope_.sink.error(bind->span,
                        "index " + quoted(bind->index) + " ranges over " + scope_.text(index->range) + " here, not " + scope_.text(range),
                        "leave the range out", {{Severity::note, index->bind->span, "bound here", {}, {}}});
    }
  }

  void infer(Index& index) {
    const std::vector<Evidence>& evidence = index.direct.empty() ? index.quotients : index.direct;
    const std::string name = index.bind->index.text();
    if (evidence.empty() && index.is_doubtful && !scope_.file.is_level_text) {
      is_doubtful_ = true;
      return;
    }
    if (evidence.empty()) {
      const bool is_axis = index.bind >= syntax_.axes.data() && index.bind < syntax_.axes.data() + syntax_.axes.size();
      scope_.sink.error(
          index.bind->span, "the range of `" + name + "` does not follow from the text: it is nowhere a subscript by itself",
          is_axis ? "write it: `" + syntax_.name.name.text() + "[" + name + " in 0:…] = …`" : "write it: `[" + name + " in lo:hi](…)`");
      return;
    }
    index.range = evidence.front().range;
    for (const Evidence& other : evidence) {
      index.is_simple = index.is_simple && &evidence == &index.direct && other.range.lo == number(0) && other.range.hi == index.range.hi;
      if (scope_.equal(index.range.lo, other.range.lo) && scope_.equal(index.range.hi, other.range.hi)) {
        scope_.require_equal(index.range.hi, other.range.hi);
        continue;
      }
      conflict(index, evidence.front(), other);
      return;
    }
  }

  void conflict(const Index& index, const Evidence& first, const Evidence& other) {
    const bool runtime = !scope_.is_fixed(first.range.hi) || !scope_.is_fixed(other.range.hi);
    const std::string a = print(first.range.hi), b = print(other.range.hi);
    const std::string cure =
        runtime ? "sizes of run-time dimensions are equal only by a condition: `where " + a + " == " + b + "` after the operator's results"
                : "give both dimensions one size, use two indices, or write the range: `" + index.bind->index.text() + " in 0:…`";
    scope_.sink.error(other.span,
                      "index " + quoted(index.bind->index) + " ranges over " + scope_.text(first.range) + " in " + first.text +
                          ", but over " + scope_.text(other.range) + " in " + other.text,
                      cure, {{Severity::note, first.span, "first used here", {}, {}}});
  }

  void check_result_range(const Index& index) {
    if (index.direct.empty() || !index.range.hi || index.bind < syntax_.axes.data() ||
        index.bind >= syntax_.axes.data() + syntax_.axes.size())
      return;
    const Evidence& result = index.direct.front();
    if (scope_.equal(index.range.lo, number(0)) && scope_.equal(index.range.hi, result.range.hi)) {
      scope_.require_equal(index.range.hi, result.range.hi);
      return;
    }
    scope_.sink.error(index.bind->span,
                      "index " + quoted(index.bind->index) + " ranges over " + scope_.text(index.range) + ", but that dimension of " +
                          result.text + " is " + scope_.text(result.range),
                      "a result must be defined for every index");
  }

  // ---- the statement ----
  std::optional<math::Statement> make(Scope& names) {
    names.indexed_call = [this](const Syntax& s, std::vector<Expr> args) { return call_of(s, std::move(args)); };
    const Expr value = lower(syntax_.value, names, scope_.sink);
    if (!value) return std::nullopt;
    const Cost cost = inlined_cost(value, scope_.file.functions);
    if (cost.size > largest_expression || cost.depth > deepest_expression) {
      scope_.sink.error(
          syntax_.name.span, "the value of " + quoted(syntax_.name.name) + " is too large once functions and constants are put in",
          "at most " + std::to_string(largest_expression) + " operations, " + std::to_string(deepest_expression) + " inside each other");
      return std::nullopt;
    }
    math::Statement statement;
    statement.name = syntax_.name.name;
    statement.dtype = syntax_.dtype;
    statement.origins = {syntax_.span};
    for (const BindSyntax& axis : syntax_.axes) statement.axes.push_back({axis.index, axis.given_lo, axis.given_hi});
    const ReducerRef reducer = value.is(Op::reduce) ? scope_.reducer(value.name()) : nullptr;
    if (!reducer) {
      statement.value = math::Map{value};
      if (syntax_.repair) scope_.sink.error(syntax_.name.span, "only a reduction has a repair");
      return statement;
    }
    math::Reduction reduction{reducer, value.node().result, {}, values_of(value), std::nullopt};
    for (const Bound& bound : bounds_of(value)) reduction.over.push_back({bound.index, bound.lo, bound.hi});
    if (syntax_.repair) reduction.repair = repair_of(*syntax_.repair, reduction);
    statement.value = std::move(reduction);
    return statement;
  }

  /// A call over indices. Where its index is bound by the call itself and its range is not what a dimension shows, the body is put in.
  Expr call_of(const Syntax& s, std::vector<Expr> args) const {
    std::vector<Symbol> names;
    std::vector<Bound> bounds;
    bool simple = true;
    for (const BindSyntax& bind : s.binds) {
      names.push_back(bind.index);
      const Index* index = indices_.of(bind);
      if (index == nullptr) continue;
      simple = simple && index->is_simple && !index->is_explicit;
      bounds.push_back({bind.index, index->range.lo, index->range.hi});
    }
    const Expr plain = call(s.name, std::move(names), std::move(args));
    return simple ? plain : inline_call(plain, bounds, scope_.file.functions);
  }

  std::optional<math::Repair> repair_of(const RepairSyntax& written, const math::Reduction& reduction) {
    std::vector<Symbol> axes = axis_names();
    for (const math::Axis& axis : reduction.over) axes.push_back(axis.index);
    const std::size_t before = scope_.sink.count();
    const Scope plain = scope_.names(axes);
    math::Repair repair;
    for (const GaugeSyntax& gauge : written.gauges) repair.gauges.push_back({gauge.name.name, lower(gauge.reference, plain, scope_.sink)});
    for (const GaugeSyntax& gauge : written.gauges) scope_.symbols.insert(gauge.name.name);
    for (const CarriedSyntax& carried : written.carried) {
      const ReducerRef reducer = scope_.reducer(carried.reducer.name);
      if (!reducer) scope_.sink.error(carried.reducer.span, "there is no reducer " + quoted(carried.reducer.name));
      repair.carried.push_back({carried.name.name, reducer, lower(carried.term, plain, scope_.sink), {}});
    }
    for (const CarriedSyntax& carried : written.carried) scope_.symbols.insert(carried.name.name);
    repair.project = lower(written.project, plain, scope_.sink);
    for (const GaugeSyntax& gauge : written.gauges) scope_.symbols.insert(primed(gauge.name.name));
    for (std::size_t i = 0; i < written.carried.size(); ++i) repair.carried[i].move = lower(written.carried[i].move, plain, scope_.sink);
    scope_.symbols.clear();
    return scope_.sink.count() == before ? std::optional(repair) : std::nullopt;
  }

  void declare(bool broken) {
    Tensor tensor;
    tensor.span = syntax_.name.span;
    tensor.is_broken = broken;
    tensor.type = type_;
    for (const BindSyntax& axis : syntax_.axes) tensor.ranges.push_back({axis.given_lo, axis.given_hi});
    scope_.tensors[syntax_.name.name] = std::move(tensor);
  }

  const StatementSyntax& syntax_;
  OperatorScope& scope_;
  Indices indices_;
  Type type_;
  bool is_doubtful_ = false;  ///< a range is unknown after an error elsewhere: the statement is not made
};

}  // namespace

std::optional<math::Statement> check_statement(const StatementSyntax& syntax, OperatorScope& scope) {
  return StatementChecker(syntax, scope).run();
}

}  // namespace fathom::lang
