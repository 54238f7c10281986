// Declarations, operators and statements. An error skips to the next border: a name that begins a line and is defined there, a closing
// brace, or a word that opens a declaration; then parsing goes on.
#include <array>

#include "lang/syntax.hpp"

namespace fathom::lang {
namespace {

class FileParser {
 public:
  FileParser(std::string_view source, const Mode& mode, std::uint32_t source_id, Sink& sink) : mode_(mode) {
    file_.parser = std::make_unique<Parser>(source, mode, sink, source_id);
    parser_ = file_.parser.get();
  }

  FileSyntax run() {
    while (!parser_->at_end()) {
      if (declaration()) continue;
      file_.broken = true;
      skip_to_declaration();
    }
    return std::move(file_);
  }

 private:
  using Reader = bool (FileParser::*)();
  struct Opening {
    std::string_view word;
    Reader read;
  };
  static constexpr std::array<Opening, 5> openings();

  bool declaration() {
    for (const Opening& opening : openings()) {
      if (parser_->peek().kind == TokenKind::word && parser_->accept(opening.word)) return (this->*opening.read)();
    }
    parser_->unexpected("`operator`, `dim`, `const`, `fn` or `reducer`");
    parser_->next();
    return false;
  }

  // ---- borders ----
  [[nodiscard]] bool begins_line() const {
    const std::uint32_t begin = parser_->peek().span.begin;
    const std::string_view before = parser_->source().substr(0, begin);
    const std::size_t last = before.find_last_not_of(" \t\r");
    return last == std::string_view::npos || before[last] == '\n' || before[last] == '{';
  }
  [[nodiscard]] bool at_opening() const {
    if (parser_->peek().kind != TokenKind::word) return false;
    for (const Opening& opening : openings()) {
      if (parser_->at(opening.word)) return true;
    }
    return false;
  }
  [[nodiscard]] bool at_statement() const {
    return parser_->at_name() && (parser_->at("=", 1) || parser_->at("[", 1) || parser_->at(":", 1)) && begins_line();
  }
  void skip_to_declaration() {
    while (!parser_->at_end() && !(at_opening() && begins_line())) parser_->next();
  }
  /// True if another statement of the same operator may follow.
  bool skip_to_statement() {
    while (!parser_->at_end() && !parser_->at("}") && !at_statement() && !(at_opening() && begins_line())) parser_->next();
    return at_statement();
  }

  // ---- pieces ----
  std::optional<NameSyntax> name(std::string_view what) {
    const SourceSpan span = parser_->peek().span;
    const auto read = parser_->name(what);
    if (!read) return std::nullopt;
    return NameSyntax{*read, span};
  }
  bool name_into(NameSyntax& into, std::string_view what) {
    const auto read = name(what);
    if (read) into = *read;
    return read.has_value();
  }
  bool expression_into(SyntaxRef& into) { return (into = parser_->expression()) != nullptr; }

  bool names_up_to(std::string_view close, std::string_view what, std::vector<NameSyntax>& into) {
    if (parser_->accept(close)) return true;
    do {
      NameSyntax one;
      if (!name_into(one, what)) return false;
      into.push_back(one);
    } while (parser_->accept(","));
    return parser_->expect(close, "after the names");
  }
  bool expressions_up_to(std::string_view close, std::vector<SyntaxRef>& into) {
    do {
      SyntaxRef one = nullptr;
      if (!expression_into(one)) return false;
      into.push_back(one);
    } while (parser_->accept(","));
    return parser_->expect(close, "after the expressions");
  }

  // ---- declarations ----
  bool dims() {
    do {
      DimSyntax dim;
      if (!name_into(dim.name, "the name of a dimension") || !parser_->expect("=", "and the dimension's value")) return false;
      dim.runtime = parser_->accept("runtime");
      const auto value = parser_->integer("the dimension's value, an integer");
      if (!value) return false;
      dim.value = *value;
      file_.dims.push_back(dim);
    } while (parser_->accept(","));
    return true;
  }

  bool constant() {
    ConstSyntax constant;
    if (!name_into(constant.name, "the name of a constant") || !parser_->expect("=", "and the constant's value")) return false;
    if (!expression_into(constant.value)) return false;
    file_.consts.push_back(constant);
    return true;
  }

  bool function() {
    FnSyntax fn;
    if (!name_into(fn.name, "the name of a function")) return false;
    if (parser_->accept("[") && !names_up_to("]", "the name of an index", fn.indices)) return false;
    if (!parser_->expect("(", "and the function's parameters") || !names_up_to(")", "the name of a parameter", fn.parameters)) return false;
    if (!parser_->expect("=", "and the function's body") || !expression_into(fn.body)) return false;
    if (parser_->accept("with") && !locals(fn.locals)) return false;
    file_.functions.push_back(std::move(fn));
    return true;
  }
  bool locals(std::vector<LocalSyntax>& into) {
    do {
      LocalSyntax local;
      if (!name_into(local.name, "a name after `with`") || !parser_->expect("=", "and the value of this name")) return false;
      if (!expression_into(local.value)) return false;
      into.push_back(local);
    } while (parser_->accept(","));
    return true;
  }

  bool reducer() {
    ReducerSyntax reducer;
    if (!name_into(reducer.name, "the name of a reducer")) return false;
    if (!parser_->expect("(", "and the reducer's parameters") || !names_up_to(")", "the name of a parameter", reducer.parameters))
      return false;
    if (!parser_->expect("{", "to open the reducer") || !state(reducer)) return false;
    if (!list_after("lift", reducer.lift, reducer.lift_span) || !list_after("combine", reducer.combine, reducer.combine_span)) return false;
    while (parser_->accept("result")) {
      LocalSyntax result;
      if (!name_into(result.name, "the name of a result") || !parser_->expect("=", "and the result's value")) return false;
      if (!expression_into(result.value)) return false;
      reducer.results.push_back(result);
    }
    if (!parser_->expect("}", "to close the reducer, or `result`")) return false;
    file_.reducers.push_back(std::move(reducer));
    return true;
  }
  bool state(ReducerSyntax& reducer) {
    if (!parser_->expect("state", "and the reducer's components with their identities")) return false;
    do {
      StateSyntax component;
      if (!name_into(component.name, "the name of a component")) return false;
      if (parser_->accept(":")) {
        const auto type = parser_->dtype();
        if (!type) return false;
        component.dtype = *type;
      }
      if (!parser_->expect("=", "and the component's identity") || !expression_into(component.identity)) return false;
      reducer.state.push_back(component);
    } while (parser_->accept(","));
    return true;
  }
  bool list_after(std::string_view word, std::vector<SyntaxRef>& into, SourceSpan& span) {
    const std::uint32_t begin = parser_->peek().span.begin;
    if (!parser_->expect(word, "with one expression for each component") || !parser_->expect("(", "and the expressions")) return false;
    if (!expressions_up_to(")", into)) return false;
    span = parser_->span_from(begin);
    return true;
  }

  // ---- operators ----
  bool param(ParamSyntax& param) {
    if (!name_into(param.name, "the name of a parameter") || !parser_->expect(":", "and the parameter's element type")) return false;
    const auto type = parser_->dtype();
    if (!type) return false;
    param.dtype = *type;
    if (!parser_->accept("[")) return true;
    if (!expressions_up_to("]", param.extents)) return false;
    if (parser_->accept("stored")) {
      return parser_->expect("(", "and the dimensions in storage order") && names_up_to(")", "the name of a dimension", param.stored);
    }
    param.strided = parser_->accept("strided");
    return true;
  }
  bool params_into(std::vector<ParamSyntax>& into, bool may_be_empty) {
    if (may_be_empty && parser_->accept(")")) return true;
    do {
      ParamSyntax one;
      if (!param(one)) return false;
      into.push_back(std::move(one));
    } while (parser_->accept(","));
    return parser_->expect(")", "after the parameters");
  }

  bool operator_() {
    OperatorSyntax op;
    if (!name_into(op.name, "the name of an operator")) return false;
    if (!parser_->expect("(", "and the operator's parameters") || !params_into(op.params, true)) return false;
    if (!parser_->expect("->", "and the operator's results")) return false;
    if (!parser_->expect("(", "around the results") || !params_into(op.results, false)) return false;
    if (parser_->accept("where")) {
      do {
        SyntaxRef condition = nullptr;
        if (!expression_into(condition)) return false;
        op.conditions.push_back(condition);
      } while (parser_->accept(","));
    }
    if (!parser_->expect("{", "to open the operator's body")) return false;
    body(op);
    op.close = parser_->peek().span;
    const bool closed = parser_->expect("}", "to close the operator");
    file_.operators.push_back(std::move(op));
    return closed;
  }
  void body(OperatorSyntax& op) {
    while (!parser_->at("}") && !parser_->at_end() && !at_opening()) {
      StatementSyntax statement;
      if (this->statement(statement)) {
        op.statements.push_back(std::move(statement));
        continue;
      }
      op.broken = true;
      if (!statement.name.name.empty()) op.broken_names.push_back(statement.name);
      if (!skip_to_statement()) return;
    }
  }

  bool statement(StatementSyntax& statement) {
    const std::uint32_t begin = parser_->peek().span.begin;
    if (!name_into(statement.name, "a statement or `}`")) return false;
    if (parser_->accept("[")) {
      auto axes = parser_->binds("]");
      if (!axes) return false;
      statement.axes = std::move(*axes);
    }
    statement.dtype_span = parser_->peek().span;
    if (parser_->accept(":")) {
      const auto type = parser_->dtype();
      if (!type) return false;
      statement.dtype = *type;
      statement.dtype_span = parser_->span_from(statement.dtype_span.begin);
    }
    if (!parser_->expect("=", "and the value of `" + statement.name.name.text() + "`") || !expression_into(statement.value)) return false;
    if (parser_->at("with") && !mode_.dotted_names) {
      parser_->sink().error(parser_->peek().span, "`with` names parts of a function, not of a statement",
                            "define the part in a statement of its own");
      return false;
    }
    if (parser_->accept("with") && !repair(statement.repair.emplace())) return false;
    if (!ends_here()) return false;
    statement.span = parser_->span_from(begin);
    return true;
  }

  /// `repair { gauge … carry … project … }` after `with`: what math::print writes for a fused reduction.
  bool repair(RepairSyntax& repair) {
    if (!parser_->expect("repair", "after `with`") || !parser_->expect("{", "to open the repair")) return false;
    while (parser_->accept("gauge")) {
      GaugeSyntax gauge;
      if (!name_into(gauge.name, "the name of a gauge") || !parser_->expect("=", "and the gauge's reference")) return false;
      if (!expression_into(gauge.reference)) return false;
      repair.gauges.push_back(gauge);
    }
    while (parser_->accept("carry")) {
      CarriedSyntax carried;
      if (!name_into(carried.name, "the name of a carried value") || !parser_->expect(":", "and its reducer")) return false;
      if (!name_into(carried.reducer, "the name of a reducer") || !parser_->expect("term", "and the term")) return false;
      if (!expression_into(carried.term) || !parser_->expect("move", "and the move") || !expression_into(carried.move)) return false;
      repair.carried.push_back(carried);
    }
    return parser_->expect("project", "and the result") && expression_into(repair.project) && parser_->expect("}", "to close the repair");
  }

  /// After a value only the next statement or the end of the body may follow.
  bool ends_here() {
    const bool another = parser_->at_name() && (parser_->at("=", 1) || parser_->at("[", 1) || parser_->at(":", 1));
    if (parser_->at("}") || parser_->at_end() || another || at_opening()) return true;
    parser_->unexpected("an operator, the next statement or `}`");
    return false;
  }

  const Mode& mode_;
  FileSyntax file_;
  Parser* parser_ = nullptr;
};

constexpr std::array<FileParser::Opening, 5> FileParser::openings() {
  return {{{"dim", &FileParser::dims},
           {"const", &FileParser::constant},
           {"fn", &FileParser::function},
           {"reducer", &FileParser::reducer},
           {"operator", &FileParser::operator_}}};
}

}  // namespace

FileSyntax parse_syntax(std::string_view source, const Mode& mode, std::uint32_t source_id, Sink& sink) {
  return FileParser(source, mode, source_id, sink).run();
}

}  // namespace fathom::lang
