// Prints Math programs in the notation (docs/language.md). What the notation itself does not have, for opened and fused programs:
//   names may be dotted and end in `~` and primes: p.m, o.sum.2, p.m~, p.m~'
//   stmt   = name [ "[" bind { "," bind } "]" ] [ ":" dtype ] "=" expr [ "with" "repair" "{" repair "}" ]
//   repair = gauge { gauge } carry { carry } "project" expr
//   gauge  = "gauge" name "=" expr
//   carry  = "carry" name ":" reducer-name "term" expr "move" expr
// In a repair the names of carried sums and gauges (and these primed) stand for themselves, before any tensor of that name.
// A range `in lo:hi` is left out where a reader restores it: the index is, by itself, a subscript of dimensions with just that range.
#include <fmt/format.h>

#include <algorithm>

#include "ir/math.hpp"

namespace fathom::math {
namespace {

template <class Items, class Text>
std::string joined(const Items& items, const char* separator, Text text) {
  std::string result;
  bool first = true;
  for (const auto& item : items) {
    if (!first) result += separator;
    first = false;
    result += text(item);
  }
  return result;
}

std::string text_of(Symbol name) { return name.text(); }
std::string text_of(Expr expr) { return fathom::print(expr); }
const auto to_text = [](const auto& item) { return text_of(item); };

bool binds(Expr expr, Symbol index) {
  bool found = false;
  visit(expr, [&](Expr part) {
    const std::vector<Symbol>& bound = part.node().bound;
    found = found || (part.is(Op::reduce) && std::find(bound.begin(), bound.end(), index) != bound.end());
  });
  return found;
}

/// Does every dimension that `index` alone subscripts have the range lo:hi, and is there one? Then a reader infers the range.
class RangeInference {
 public:
  explicit RangeInference(const Program& program) : program_(program) {}

  [[nodiscard]] bool restores(const Axis& axis, const std::vector<Expr>& where_read, const Parameter* result, std::size_t place) const {
    const Range wanted{axis.lo, axis.hi};
    if (result != nullptr && (place >= result->extents.size() || Range{number(0), result->extents[place]} != wanted)) return false;
    int found = 0;
    for (const Expr expr : where_read) {
      if (binds(expr, axis.index)) return false;
      for (const Range& range : ranges_at(index(axis.index), expr)) {
        if (range != wanted) return false;
        ++found;
      }
    }
    return found > 0;
  }

  /// The same expression, its reductions without the ranges that a reader infers.
  [[nodiscard]] Expr without_inferred(Expr root) const {
    return transform(root, [&](Expr expr) {
      if (!expr.is(Op::reduce)) return expr;
      std::vector<Bound> bounds = bounds_of(expr);
      for (Bound& bound : bounds)
        if (bound.lo && bound.hi && restores({bound.index, bound.lo, bound.hi}, values_of(expr), nullptr, 0)) bound.lo = bound.hi = Expr();
      return reduce(expr.name(), expr.node().result, bounds, values_of(expr));
    });
  }

 private:
  [[nodiscard]] std::vector<Range> ranges_at(Expr wanted, Expr root) const {
    std::vector<Range> found;
    visit(root, [&](Expr expr) {
      if (!expr.is(Op::read) || std::find(expr.args().begin(), expr.args().end(), wanted) == expr.args().end()) return;
      const std::optional<std::vector<Range>> ranges = ranges_of(program_, expr.name());
      for (std::size_t i = 0; ranges && i < expr.args().size() && i < ranges->size(); ++i)
        if (expr.arg(i) == wanted) found.push_back((*ranges)[i]);
    });
    return found;
  }

  const Program& program_;
};

std::string bind(const Axis& axis, bool with_range) {
  if (!with_range || !axis.lo || !axis.hi) return axis.index.text();
  return fmt::format("{} in {}:{}", axis.index.text(), fathom::print(axis.lo), fathom::print(axis.hi));
}

/// Prints statements; without a program, for people: no ranges.
class StatementPrinter {
 public:
  explicit StatementPrinter(const Program* program) : program_(program) {}

  [[nodiscard]] std::string operator()(const Statement& statement) const {
    const Map* map = statement.map();
    const std::vector<Expr> read_in = map != nullptr ? std::vector<Expr>{map->value} : statement.reduction()->values;
    const Parameter* result = program_ != nullptr ? program_->result(statement.name) : nullptr;
    std::string out = statement.name.text() + axes(statement.axes, read_in, result);
    if (statement.dtype != DType::real) out += fmt::format(": {}", name(statement.dtype));
    return out + " = " + (map != nullptr ? expr(map->value) : reduction(*statement.reduction()));
  }

 private:
  [[nodiscard]] std::string expr(Expr value) const {
    return fathom::print(program_ != nullptr ? RangeInference(*program_).without_inferred(value) : value);
  }

  [[nodiscard]] std::string axes(const std::vector<Axis>& all, const std::vector<Expr>& read_in, const Parameter* result) const {
    if (all.empty()) return "";
    std::string out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool needs_range = program_ != nullptr && !RangeInference(*program_).restores(all[i], read_in, result, i);
      out += (i == 0 ? "[" : ",") + bind(all[i], needs_range);
    }
    return out + "]";
  }

  [[nodiscard]] std::string reduction(const Reduction& reduction) const {
    const std::string result = reduction.result.empty() ? "" : "." + reduction.result.text();
    const auto each = [this](Expr value) { return expr(value); };
    std::string out = fmt::format("{}{}{}({})", reduction.reducer->name.text(), result, axes(reduction.over, reduction.values, nullptr),
                                  joined(reduction.values, ", ", each));
    return reduction.repair ? out + repair(*reduction.repair) : out;
  }

  [[nodiscard]] std::string repair(const Repair& repair) const {
    std::string out = " with repair {\n";
    for (const Gauge& gauge : repair.gauges) out += fmt::format("  gauge {} = {}\n", gauge.name.text(), expr(gauge.reference));
    for (const Carried& carried : repair.carried)
      out += fmt::format("  carry {}: {} term {} move {}\n", carried.name.text(), carried.reducer->name.text(), expr(carried.term),
                         expr(carried.move));
    return out + fmt::format("  project {}\n}}", expr(repair.project));
  }

  const Program* program_;
};

std::string print_function(const Function& function) {
  std::string out = "fn " + function.name.text();
  if (!function.indices.empty()) out += "[" + joined(function.indices, ", ", to_text) + "]";
  out += fmt::format("({}) = {}", joined(function.parameters, ", ", to_text), fathom::print(function.body));
  if (function.locals.empty()) return out;
  return out + " with " +
         joined(function.locals, ", ", [](const auto& local) { return local.first.text() + " = " + fathom::print(local.second); });
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "  " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

/// The prelude's functions are in scope everywhere: only the file's own are part of the text.
bool is_own(const Function& function) { return function.span.source == 0; }

}  // namespace

std::string print(const Parameter& parameter) {
  std::string out = fmt::format("{}: {}", parameter.name.text(), name(parameter.dtype));
  if (!parameter.extents.empty()) out += "[" + joined(parameter.extents, ", ", to_text) + "]";
  if (!parameter.stored.empty()) out += " stored(" + joined(parameter.stored, ", ", to_text) + ")";
  return parameter.strided ? out + " strided" : out;
}

std::string print(const Dimension& dimension) {
  return fmt::format("{} = {}{}", dimension.name.text(), dimension.runtime ? "runtime " : "", dimension.value);
}

std::string print(const Reducer& reducer) {
  const auto component = [](const Component& c) {
    const std::string dtype = c.dtype == DType::real ? "" : fmt::format(": {}", name(c.dtype));
    return fmt::format("{}{} = {}", c.name.text(), dtype, fathom::print(c.identity));
  };
  std::string out = fmt::format("reducer {}({}) {{\n", reducer.name.text(), joined(reducer.parameters, ", ", to_text));
  out += "  state " + joined(reducer.state, ", ", component) + "\n";
  out += "  lift (" + joined(reducer.state, ", ", [](const Component& c) { return fathom::print(c.lift); }) + ")\n";
  out += "  combine (" + joined(reducer.state, ", ", [](const Component& c) { return fathom::print(c.combine); }) + ")\n";
  for (const ReducerResult& result : reducer.results)
    out += fmt::format("  result {} = {}\n", result.name.text(), fathom::print(result.value));
  return out + "}";
}

std::string print(const Statement& statement) { return StatementPrinter(nullptr)(statement); }
std::string print(const Statement& statement, const Program& program) { return StatementPrinter(&program)(statement); }

std::string print(const Program& program) {
  const auto printed = [](const auto& item) { return print(item); };
  std::string out;
  if (!program.dims.empty()) out += "dim " + joined(program.dims, ", ", printed) + "\n\n";
  for (const ReducerRef& reducer : program.reducers) out += print(*reducer) + "\n\n";
  for (const Function& function : program.functions)
    if (is_own(function)) out += print_function(function) + "\n\n";
  out += fmt::format("operator {}({}) -> ({})\n", program.name.text(), joined(program.params, ", ", printed),
                     joined(program.results, ", ", printed));
  if (!program.conditions.empty()) out += "  where " + joined(program.conditions, ", ", to_text) + "\n";
  out += "{\n";
  for (const Statement& statement : program.statements) out += indented(print(statement, program));
  return out + "}\n";
}

}  // namespace fathom::math
