// Look-ups and messages that all parts of the operator's check share.
#include "lang/operator_scope.hpp"

namespace fathom::lang {
namespace {

DimValues fixed_of(const FileScope& file) {
  DimValues values;
  for (const math::Dimension& dimension : file.dims) {
    if (!dimension.runtime) values[dimension.name] = dimension.value;
  }
  return values;
}

}  // namespace

OperatorScope::OperatorScope(const OperatorSyntax& op, const FileScope& scope, Sink& errors)
    : syntax(op), file(scope), sink(errors), facts(fixed_of(scope)) {
  for (const math::Dimension& dimension : scope.dims) defaults[dimension.name] = dimension.value;
  for (const Symbol broken : scope.broken_values) tensors[broken].is_broken = true;
  for (const NameSyntax& broken : op.broken_names) {
    tensors[broken.name].is_broken = true;
    tensors[broken.name].span = broken.span;
  }
}

const math::Dimension* OperatorScope::dimension(Symbol name) const {
  for (const math::Dimension& dimension : file.dims) {
    if (dimension.name == name) return &dimension;
  }
  return nullptr;
}

ReducerRef OperatorScope::reducer(Symbol name) const {
  for (const ReducerRef& reducer : file.reducers) {
    if (reducer->name == name) return reducer;
  }
  return builtin_reducer(name);
}

Expr OperatorScope::constant(Symbol name) const {
  const auto found = file.consts.find(name);
  return found == file.consts.end() ? Expr{} : found->second;
}

const StatementSyntax* OperatorScope::statement(Symbol name) const {
  for (const StatementSyntax& one : syntax.statements) {
    if (one.name.name == name) return &one;
  }
  return nullptr;
}

bool OperatorScope::is_fixed(Expr e) const {
  bool fixed = true;
  visit(e, [&](Expr part) {
    if (part.is(Op::dim)) fixed = fixed && facts.fixed().count(part.name()) != 0;
    if (part.is(Op::index) || part.is(Op::read) || part.is(Op::symbol)) fixed = false;
  });
  return fixed;
}

void OperatorScope::require_equal(Expr a, Expr b) {
  const Expr left = simplify_integer(a), right = simplify_integer(b);
  if (left == right || !is_fixed(a) || !is_fixed(b)) return;
  const Expr wanted = left < right ? binary(Op::eq, left, right) : binary(Op::eq, right, left);
  for (const Expr known : equalities) {
    if (known == wanted) return;
  }
  equalities.push_back(wanted);
}

Scope OperatorScope::names(const std::vector<Symbol>& axes) const {
  Scope scope;
  scope.bare = [this, axes](Symbol name) -> Expr {
    for (const Symbol axis : axes) {
      if (axis == name) return index(name);
    }
    if (symbols.count(name) != 0) return symbol(name);
    if (dimension(name) != nullptr) return dim(name);
    if (const Expr value = constant(name)) return value;
    const auto tensor = tensors.find(name);
    if (gauges.count(name) != 0 || (tensor != tensors.end() && (tensor->second.ranges.empty() || tensor->second.is_broken)))
      return read(name, {});
    return {};
  };
  scope.reducer = [this](Symbol name) { return reducer(name); };
  scope.explain = [this](Symbol name) -> std::optional<std::pair<std::string, std::string>> {
    const auto tensor = tensors.find(name);
    const std::string text = "`" + name.text() + "`";
    if (tensor != tensors.end()) {
      std::string subscripts;
      for (std::size_t i = 0; i < tensor->second.ranges.size(); ++i) subscripts += i == 0 ? "…" : ", …";
      return std::pair(text + " has " + std::to_string(tensor->second.ranges.size()) +
                           (tensor->second.ranges.size() == 1 ? " dimension" : " dimensions") + " and needs subscripts",
                       "write `" + name.text() + "[" + subscripts + "]`");
    }
    if (statement(name) != nullptr)
      return std::pair(text + " is used before it is defined", "statements are read in order: define it above this one");
    return std::nullopt;
  };
  scope.candidates = [this] { return candidates(false); };
  if (!file.is_level_text) scope.fixed_value = [this](Expr e) { return evaluate_integer(e, facts.fixed()); };
  return scope;
}

std::vector<std::string> OperatorScope::candidates(bool tensors_only) const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name.text());
  if (tensors_only) return names;
  for (const math::Dimension& dimension : file.dims) names.push_back(dimension.name.text());
  for (const auto& [name, value] : file.consts) names.push_back(name.text());
  return names;
}

std::string OperatorScope::with_values(const std::vector<Expr>& parts) const {
  std::set<Symbol> names;
  for (const Expr part : parts) {
    if (part) names.merge(dims_in(part));
  }
  std::string text;
  for (const Symbol name : names) {
    const math::Dimension* known = dimension(name);
    if (known == nullptr) continue;
    text += (text.empty() ? " (" : ", ") + name.text() + " = " + (known->runtime ? "runtime" : std::to_string(known->value));
  }
  return text.empty() ? text : text + ")";
}

std::string OperatorScope::text(const Range& range) const {
  return print(simplify_integer(range.lo)) + ":" + print(simplify_integer(range.hi)) + with_values({range.lo, range.hi});
}

std::string OperatorScope::file_text(SourceSpan span) const {
  constexpr std::size_t longest = 60;
  const std::string_view written = file.source.substr(std::min<std::size_t>(span.begin, file.source.size()), span.end - span.begin);
  std::string text;
  for (const char c : written) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) text += c;
    if (blank && (text.empty() || text.back() != ' ')) text += ' ';
    if (text.size() >= longest) return text + "…";
  }
  return text;
}

void OperatorScope::unknown_tensor(Symbol name, SourceSpan span) const {
  const std::string text = "`" + name.text() + "`";
  if (const StatementSyntax* later = statement(name)) {
    const bool itself = span.begin >= later->span.begin && span.end <= later->span.end;
    sink.error(span, itself ? text + " is defined by itself" : text + " is used before it is defined",
               itself ? "a running value is a scan: `c[j in 0:T] = sum[k in 0:j+1](x[k])`"
                      : "statements are read in order: move its definition up",
               {{Severity::note, later->name.span, "defined here", {}, {}}});
    return;
  }
  if (dimension(name) != nullptr || constant(name)) {
    sink.error(span, text + (dimension(name) != nullptr ? " is a dimension" : " is a constant") + " and has no subscripts",
               "write " + text);
    return;
  }
  if (syntax.broken || file.is_broken) return;  // it may be what could not be read
  const std::string near = suggest(name.text(), candidates(true));
  std::string all;
  for (const auto& [known, tensor] : tensors) all += (all.empty() ? "known here: `" : "`, `") + known.text();
  sink.error(span, "there is no tensor " + text, !near.empty() || all.empty() ? near : all + "`");
}

bool OperatorScope::may_be_index(Symbol name, SourceSpan span) {
  std::string what;
  if (dimension(name) != nullptr) what = "a dimension";
  if (constant(name)) what = "a constant";
  const auto tensor = tensors.find(name);
  if (tensor != tensors.end()) what = tensor->second.is_parameter ? "a parameter" : "a tensor";
  if (!what.empty() && !file.is_level_text) {
    sink.error(span, "`" + name.text() + "` is " + what + " and cannot be an index too", "give the index a name of its own");
    return false;
  }
  index_names.emplace(name, span);
  return true;
}

}  // namespace fathom::lang
