// One expression by itself: what a person writes as a repair, and what tools ask for.
#include "lang/lang.hpp"
#include "lang/parser.hpp"

namespace fathom::lang {
namespace {

/// Names of a program: dimensions, scalars, indices of its statements.
Expr bare_name(const math::Program& program, Symbol name) {
  if (program.dimension(name) != nullptr) return dim(name);
  if (const math::Parameter* parameter = program.param(name)) return parameter->extents.empty() ? read(name, {}) : Expr{};
  if (const math::Statement* statement = program.find(name)) return statement->axes.empty() ? read(name, {}) : Expr{};
  for (const math::Statement& statement : program.statements) {
    for (const math::Axis& axis : statement.axes) {
      if (axis.index == name) return index(name);
    }
    if (const math::Reduction* reduction = statement.reduction()) {
      for (const math::Axis& axis : reduction->over) {
        if (axis.index == name) return index(name);
      }
    }
  }
  return {};
}

std::vector<std::string> names_of(const math::Program& program) {
  std::vector<std::string> names;
  for (const math::Dimension& d : program.dims) names.push_back(d.name.text());
  for (const math::Parameter& p : program.params) names.push_back(p.name.text());
  for (const math::Statement& s : program.statements) names.push_back(s.name.text());
  return names;
}

}  // namespace

Checked<Expr> parse_expression(std::string_view source, const math::Program* scope) {
  Sink sink;
  Parser parser(source, level_mode, sink);
  Scope names;
  if (scope != nullptr) {
    names.bare = [scope](Symbol name) { return bare_name(*scope, name); };
    names.reducer = [scope](Symbol name) { return reducer_named(scope->reducers, name); };
    names.candidates = [scope] { return names_of(*scope); };
  }
  const Expr result = parser.expression(names);
  if (result && !parser.at_end()) parser.unexpected("an operator or the end of the expression");
  if (!sink.ok()) return tl::unexpected<Diagnostics>(sink.take());
  return result;
}

}  // namespace fathom::lang
