#include "session/numpy_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>

#include "interp/interp.hpp"
#include "ir/embedded_text.hpp"

extern const EmbeddedText cuda_scripts[];

namespace fathom::session {
namespace {

/// A value that NumPy gives as a truth: its arithmetic refuses some of these.
bool is_truth(Expr e) {
  if (e.is(Op::where)) return is_truth(e.arg(1)) && is_truth(e.arg(2));
  const bool compares = e.op() >= Op::eq && e.op() <= Op::ge;
  return compares || e.is(Op::boolean) || e.is(Op::logical_and) || e.is(Op::logical_or) || e.is(Op::logical_not);
}

std::optional<std::string_view> infix_of(Op op) {
  switch (op) {
    case Op::add:
      return " + ";
    case Op::sub:
      return " - ";
    case Op::mul:
      return " * ";
    case Op::eq:
      return " == ";
    case Op::ne:
      return " != ";
    case Op::lt:
      return " < ";
    case Op::le:
      return " <= ";
    case Op::gt:
      return " > ";
    case Op::ge:
      return " >= ";
    default:
      return std::nullopt;
  }
}

/// The function of NumPy, or of the engine, with the operands as they stand.
std::optional<std::string_view> function_of(Op op) {
  static const std::map<Op, std::string_view> functions{
      {Op::neg, "np.negative"},
      {Op::logical_not, "np.logical_not"},
      {Op::logical_and, "np.logical_and"},
      {Op::logical_or, "np.logical_or"},
      {Op::div, "quotient"},
      {Op::floordiv, "floor_quotient"},
      {Op::mod, "remainder"},
      {Op::pow, "power"},
      {Op::where, "np.where"},
      {Op::min, "np.minimum"},
      {Op::max, "np.maximum"},
      {Op::abs, "np.abs"},
      {Op::floor, "np.floor"},
      {Op::exp, "np.exp"},
      {Op::exp2, "np.exp2"},
      {Op::log, "np.log"},
      {Op::log2, "np.log2"},
      {Op::sqrt, "np.sqrt"},
      {Op::sin, "np.sin"},
      {Op::cos, "np.cos"},
      {Op::tanh, "np.tanh"},
      {Op::erf, "erf"},
      {Op::sigmoid, "sigmoid"},
      {Op::random, "random"},
  };
  const auto found = functions.find(op);
  return found == functions.end() ? std::nullopt : std::optional(found->second);
}

std::string_view reduction_of(Op monoid) {
  switch (monoid) {
    case Op::add:
      return "np.add";
    case Op::mul:
      return "np.multiply";
    case Op::max:
      return "np.maximum";
    case Op::min:
      return "np.minimum";
    case Op::logical_and:
      return "np.logical_and";
    default:
      return "np.logical_or";
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string comma_list(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

class Printer {
 public:
  std::optional<Refusal> refusal;  ///< of the first thing that has no form

  /// A name of Python that is taken by nothing else: letters, digits and `_` stay.
  std::string word(Symbol symbol) {
    const auto known = words_.find(symbol);
    if (known != words_.end()) return known->second;
    std::string text;
    for (const char c : symbol.text()) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      text += plain ? std::string(1, c) : c == '\'' ? "_next" : "_";
    }
    while (!taken_.insert(text).second) text += "_";
    words_[symbol] = text;
    return text;
  }

  std::string expr(Expr e) {
    if (const auto infix = infix_of(e.op())) return "(" + number_text(e.arg(0)) + std::string(*infix) + number_text(e.arg(1)) + ")";
    if (const auto function = function_of(e.op())) return std::string(*function) + "(" + comma_list(all(e.args(), !is_truth(e))) + ")";
    switch (e.op()) {
      case Op::number:
        return number_of(e.node());
      case Op::infinity:
        return "np.inf";
      case Op::boolean:
        return e.node().truth ? "True" : "False";
      case Op::index:
      case Op::dim:
      case Op::symbol:
        return word(e.name());
      case Op::rsqrt:
        return "quotient(1, np.sqrt(" + number_text(e.arg(0)) + "))";
      case Op::cast:
        return "rounded(" + number_text(e.arg(0)) + ", " + type(e.node().dtype) + ")";
      case Op::read: {
        std::vector<std::string> parts{quoted(e.name().text())};
        for (std::string& each : all(e.args(), true)) parts.push_back(std::move(each));
        return "t.at(" + comma_list(parts) + ")";
      }
      default:
        return no_form(print(e));
    }
  }

  /// The type that a statement's values are rounded to; real numbers stay as they are.
  std::string type(DType dtype) {
    if (dtype == DType::real) return "None";
    if (dtype == DType::f8e4m3 || dtype == DType::f8e5m2) return no_form(std::string(name(dtype)));
    return quoted(name(dtype));
  }

  std::string statement(const math::Statement& s) {
    std::string parameters = "t", body;
    for (const math::Axis& axis : s.axes) parameters += ", " + word(axis.index);
    const math::Reduction* reduction = s.reduction();
    if (reduction != nullptr) {
      body = reduce(*reduction);
    } else {
      body = "    return " + number_text(s.map()->value) + "\n";
    }
    return fmt::format("# {}\ndef {}({}):\n{}{}\n\n", one_line(print(s)), word(s.name), parameters, dims_of(s), body);
  }

  std::string dims_text(const std::set<Symbol>& dims) {
    std::string text;
    for (const Symbol dim : dims) text += fmt::format("    {} = t.dims[{}]\n", word(dim), quoted(dim.text()));
    return text;
  }

 private:
  std::string no_form(const std::string& what) {
    if (!refusal)
      refusal = Refusal{fmt::format("{} has no form in the reference on NumPy that an exported folder is tested with.", what), {what}, {}};
    return "None";
  }

  static std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
  }

  static std::string number_of(const ExprNode& node) {
    if (node.inexact != 0) return fmt::format("{}", node.inexact);
    const std::string text = node.number.text();
    const auto slash = text.find('/');
    if (slash != std::string::npos) return fmt::format("({} / {})", text.substr(0, slash), text.substr(slash + 1));
    return text.front() == '-' ? "(" + text + ")" : text;
  }

  std::string number_text(Expr e) { return is_truth(e) && !e.is(Op::boolean) ? "(1 * " + expr(e) + ")" : is_truth(e) ? truth(e) : expr(e); }
  static std::string truth(Expr e) { return e.node().truth ? "1" : "0"; }

  std::vector<std::string> all(std::span<const Expr> args, bool as_numbers) {
    std::vector<std::string> parts;
    for (const Expr arg : args) parts.push_back(as_numbers ? number_text(arg) : expr(arg));
    return parts;
  }

  std::string dims_of(const math::Statement& s) {
    std::set<Symbol> dims;
    const auto add = [&](Expr e) {
      if (e) dims.merge(dims_in(e));
    };
    if (s.map() != nullptr) add(s.map()->value);
    if (const math::Reduction* r = s.reduction()) {
      for (const Expr value : r->values) add(value);
      for (const math::Axis& axis : r->over) add(axis.lo), add(axis.hi);
    }
    return dims_text(dims);
  }

  std::string reduce(const math::Reduction& r) {
    std::string text;
    for (const math::Axis& axis : r.over)
      text += axis.lo && axis.hi ? fmt::format("    {} = t.over({}, {})\n", word(axis.index), expr(axis.lo), expr(axis.hi))
                                 : no_form("An open range of " + axis.index.text());
    const Reducer& reducer = *r.reducer;
    if (const auto monoid = monoid_operation(reducer); monoid && r.values.size() == 1)
      return text + fmt::format("    return t.reduced({}, {}, {}, {})\n", reduction_of(*monoid), number_text(reducer.state[0].identity),
                                r.over.size(), number_text(r.values[0]));
    return text + fold(r, reducer);
  }

  /// Any other reducer: states are tuples of arrays.
  std::string fold(const math::Reduction& r, const Reducer& reducer) {
    Substitution lift;
    for (std::size_t i = 0; i < reducer.parameters.size() && i < r.values.size(); ++i) lift[symbol(reducer.parameters[i])] = r.values[i];
    std::vector<std::string> names, primes, identities, lifted, combined;
    for (const Component& c : reducer.state) {
      names.push_back(word(c.name));
      primes.push_back(word(primed(c.name)));
      identities.push_back(number_text(c.identity));
      lifted.push_back(number_text(substitute(c.lift, lift)));
      combined.push_back(number_text(c.combine));
    }
    Expr result = reducer.results.front().value;
    for (const ReducerResult& each : reducer.results)
      if (each.name == r.result) result = each.value;
    return fmt::format(
        "    def combine(left, right):\n        {0}, = left\n        {1}, = right\n        return [{2}]\n"
        "    {0}, = t.folded([{3}], {4}, [{5}], combine)\n    return {6}\n",
        comma_list(names), comma_list(primes), comma_list(combined), comma_list(identities), r.over.size(), comma_list(lifted),
        number_text(result));
  }

  std::map<Symbol, std::string> words_;
  std::set<std::string> taken_{// Python's own words, and what the module uses.
                               "False",      "None",       "True",
                               "and",        "as",         "assert",
                               "async",      "await",      "break",
                               "class",      "continue",   "def",
                               "del",        "elif",       "else",
                               "except",     "finally",    "for",
                               "from",       "global",     "if",
                               "import",     "in",         "is",
                               "lambda",     "nonlocal",   "not",
                               "or",         "pass",       "raise",
                               "return",     "try",        "while",
                               "with",       "yield",      "t",
                               "np",         "math",       "combine",
                               "left",       "right",      "rounded",
                               "power",      "quotient",   "floor_quotient",
                               "remainder",  "erf",        "sigmoid",
                               "random",     "philox",     "random_number",
                               "decoded",    "encoded",    "Frame",
                               "Evaluation", "TooLarge",   "MOST",
                               "KEPT",       "NAME",       "TARGET",
                               "DIMS",       "RUNTIME",    "PARAMETERS",
                               "TOLERANCE",  "STATEMENTS", "extents",
                               "holds",      "int",        "list",
                               "tuple",      "getattr",    "max",
                               "zip",        "enumerate",  "range"};
};

std::string parameter_text(Printer& printer, const math::Program& program, const DimValues& dims, const math::Parameter& p,
                           bool is_result) {
  std::string order;
  for (const Symbol stored : p.stored) {
    const auto axis = std::find(p.extents.begin(), p.extents.end(), dim(stored));
    order += fmt::format("{}{}", order.empty() ? "" : ", ", axis - p.extents.begin());
  }
  const interp::InputUse use = is_result ? interp::InputUse{} : interp::use_of(program, dims, p.name);
  return fmt::format("    {{\"name\": {}, \"dtype\": {}, \"result\": {}, \"order\": [{}], \"positive\": {}, \"largest\": {}}},\n",
                     quoted(p.name.text()), printer.type(p.dtype), is_result ? "True" : "False", order, use.positive ? "True" : "False",
                     use.largest);
}

std::string sizes_text(const math::Program& program) {
  std::vector<std::string> sizes, runtime;
  for (const math::Dimension& d : program.dims) {
    sizes.push_back(fmt::format("{}: {}", quoted(d.name.text()), d.value));
    if (d.runtime) runtime.push_back(quoted(d.name.text()));
  }
  return fmt::format("DIMS = {{{}}}\nRUNTIME = [{}]  # those that a launch takes, in this order\n", comma_list(sizes), comma_list(runtime));
}

std::string extents_text(Printer& printer, const math::Program& program) {
  std::set<Symbol> dims;
  std::string rows;
  for (const auto* list : {&program.params, &program.results})
    for (const math::Parameter& p : *list) {
      std::string row;
      for (const Expr extent : p.extents) {
        dims.merge(dims_in(extent));
        row += printer.expr(extent) + ", ";
      }
      rows += fmt::format("        {}: ({}),\n", quoted(p.name.text()),
                          row.substr(0, row.size() - (p.extents.size() > 1 ? 2
                                                      : row.empty()        ? 0
                                                                           : 1)));
    }
  return "def extents(t):\n" + printer.dims_text(dims) + "    return {\n" + rows + "    }\n\n\n";
}

std::string conditions_text(Printer& printer, const math::Program& program) {
  std::set<Symbol> dims;
  std::vector<std::string> conditions;
  for (const Expr condition : program.conditions) {
    dims.merge(dims_in(condition));
    conditions.push_back("bool(np.all(" + printer.expr(condition) + "))");
  }
  return "# The operator's own conditions.\ndef holds(t):\n" + printer.dims_text(dims) + "    return all([" + comma_list(conditions) +
         "])\n\n\n";
}

}  // namespace

Result<std::string> numpy_reference(const math::Program& opened, const ReferenceFacts& facts) {
  Printer printer;
  const DimValues dims = default_dims(opened);
  std::string parameters, statements, table;
  for (const math::Parameter& p : opened.params) parameters += parameter_text(printer, opened, dims, p, false);
  for (const math::Parameter& p : opened.results) parameters += parameter_text(printer, opened, dims, p, true);
  for (const math::Statement& s : opened.statements) {
    statements += printer.statement(s);
    const std::size_t reduced = s.reduction() == nullptr ? 0 : s.reduction()->over.size();
    const bool is_result = opened.result(s.name) != nullptr;  // its rounding is what the tolerance is for
    table += fmt::format("    {}: ({}, {}, {}),\n", quoted(s.name.text()), printer.word(s.name), reduced,
                         is_result ? "None" : printer.type(s.dtype));
  }
  const std::string rest = extents_text(printer, opened) + conditions_text(printer, opened);
  if (printer.refusal) return tl::unexpected(*printer.refusal);
  return fmt::format(
      "\"\"\"{0} as mathematics, in float64 on NumPy: what test.py compares the kernel with. Made by Fathom.\"\"\"\n"
      "import math\n\nimport numpy as np\n\nnp.seterr(all=\"ignore\")\n\nNAME = {1}\nTARGET = {2}\n{3}"
      "PARAMETERS = [  # as a launch takes them; order: axes from the slowest in memory, empty: as declared\n{4}]\n"
      "TOLERANCE = {5}  # of an element, relative to 1 + |reference|\n\n\n{6}{7}{8}"
      "# name: function, reduced indices, the type that the text rounds it to\nSTATEMENTS = {{\n{9}}}\n",
      opened.name.text(), quoted(opened.name.text()), quoted(facts.target), sizes_text(opened), parameters, facts.tolerance,
      cuda_scripts[0].text, statements, rest, table);
}

}  // namespace fathom::session
