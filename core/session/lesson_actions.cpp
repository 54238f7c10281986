// What a person does in a lesson, and what the lesson says to a wrong repair.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "algebra/judge_functions.hpp"
#include "ir/overloaded.hpp"
#include "session/lesson.hpp"
#include "session/own_repair.hpp"
#include "session/provenance.hpp"
#include "session/short_text.hpp"

namespace fathom::session {
namespace {

const Decision* decision_at(const Compilation& compilation, const std::string& site) {
  for (const Decision& decision : compilation.record.decisions)
    if (decision.site == site) return &decision;
  return nullptr;
}

/// Values that names take at the n-th of a few points: different for every name, above 0 where n is odd.
double value_at(Symbol name, std::uint64_t n) {
  const auto bits = hash_combine(hash_bytes(name.text()), n + 1) % 4096;
  const double x = static_cast<double>(bits + 1) / 1024;
  return n % 2 == 1 ? x : x - 2;
}

double value_of(Expr e, std::uint64_t point) {
  if (e.is(Op::number)) return e.node().inexact != 0 ? e.node().inexact : e.node().number.to_double();
  if (e.is(Op::infinity)) return INFINITY;
  if (e.is(Op::boolean)) return e.node().truth ? 1 : 0;
  const OpKind which = kind(e.op());
  if (which == OpKind::leaf || which == OpKind::special || e.is(Op::random) || e.is(Op::extent)) return value_at(e.name(), point);
  std::vector<double> args;
  for (const Expr each : e.args()) args.push_back(value_of(each, point));
  if (e.is(Op::where)) return args[0] != 0 ? args[1] : args[2];
  return algebra::value_of(e.op(), args);
}

bool is_the_mistake(const Mistake& mistake, const OwnRepair& own) {
  if (std::any_of(mistake.forms.begin(), mistake.forms.end(), [&](Expr form) { return is_same_function(form, own.written); })) return true;
  return mistake.breaks_sums && own.judged.refutation && !own.judged.refutation->sum.holds;
}

/// Without the indices that nobody needs to see: they are the same on both sides.
Expr without(Expr e, const std::vector<std::string>& hidden) {
  const auto is_hidden = [&](Symbol name) { return std::find(hidden.begin(), hidden.end(), name.text()) != hidden.end(); };
  return transform(e, [&](Expr part) {
    if (!part.is(Op::read)) return part;
    std::vector<Expr> at;
    for (const Expr each : part.args())
      if (!each.is(Op::index) || !is_hidden(each.name())) at.push_back(each);
    return read(part.name(), std::move(at));
  });
}

const math::Program* program_after(const Compilation& compilation, const std::string& id) {
  for (const Step& step : compilation.record.steps) {
    if (step.id != id) continue;
    if (step.after.level == Level::math) return &step.after.math();
    if (step.after.level == Level::loop) return &step.after.loop().math;
  }
  return nullptr;
}

}  // namespace

bool is_same_function(Expr a, Expr b) {
  constexpr std::uint64_t points = 6;
  constexpr double digits = 1e-9;
  for (std::uint64_t point = 0; point < points; ++point) {
    const double x = value_of(a, point), y = value_of(b, point);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (!(x == y || std::fabs(x - y) <= digits * std::max(std::fabs(x), std::fabs(y)))) return false;
  }
  return true;
}

bool is_done(const Task& task, const Situation& at) {
  const Compilation& now = *at.compilation;
  return std::visit(Overloaded{[&](const SelectValue& select) { return !at.selected.empty() && bare_name(at.selected) == select.name; },
                               [&](const TakeChoice& take) {
                                 const Decision* decision = decision_at(now, take.site);
                                 return decision != nullptr && decision->choice == take.choice;
                               },
                               [&](const GoToStep& go) { return at.step == go.step; },
                               [&](const WriteRepair& write) {
                                 const auto question = repair_question(now, Symbol(write.consumer));
                                 return question && question->is_taken && !question->written.empty() && !question->is_unsound;
                               }},
                    task.action);
}

Checked<void> perform(const Task& task, Session& session) {
  if (const auto* take = std::get_if<TakeChoice>(&task.action)) return session.override_choice(take->site, take->choice);
  if (const auto* write = std::get_if<WriteRepair>(&task.action))
    return take_own_repair(session, Symbol(write->consumer), write->right.front());
  return {};
}

std::optional<Formula> formula_of(const Lesson& lesson, const Compilation& compilation, const std::string& step, const std::string& name,
                                  bool of_text) {
  const math::Program* program = of_text ? &compilation.program : program_after(compilation, step);
  const math::Statement* statement = program == nullptr ? nullptr : program->find(Symbol(name));
  if (statement == nullptr) return std::nullopt;
  std::vector<Expr> at;
  for (const math::Axis& axis : statement->axes) at.push_back(index(axis.index));
  Formula formula{without(read(statement->name, std::move(at)), lesson.hidden), {}};
  if (const math::Reduction* reduction = statement->reduction()) {
    std::vector<Bound> bound;
    for (const math::Axis& axis : reduction->over) bound.push_back({axis.index, {}, {}});
    std::vector<Expr> values;
    for (const Expr each : reduction->values) values.push_back(without(each, lesson.hidden));
    formula.right = reduce(reduction->reducer->name, reduction->result, bound, values);
  } else {
    formula.right = transform(without(statement->map()->value, lesson.hidden), [](Expr part) {
      if (!part.is(Op::reduce)) return part;  // whole ranges go without saying
      std::vector<Bound> bound = bounds_of(part);
      for (Bound& each : bound) each.lo = each.hi = {};
      return reduce(part.name(), part.node().result, bound, values_of(part));
    });
  }
  return formula;
}

std::string moves_of(const OwnRepair& own) {
  if (!own.judged.refutation) return {};
  const algebra::Refutation& refutation = *own.judged.refutation;
  const algebra::LawTrial& law = refutation.element.holds ? refutation.sum : refutation.element;
  std::string text;
  for (const algebra::LawTrial::Name& name : law.names)
    text += fmt::format("{}{} = {}, {}' = {}", text.empty() ? "" : ", ", name.name, number_text(name.before), name.name,
                        number_text(name.after));
  return text;
}

std::string sentence_for(const WriteRepair& write, const OwnRepair& own) {
  if (!own.is_refuted()) return {};
  const auto found =
      std::find_if(write.mistakes.begin(), write.mistakes.end(), [&](const Mistake& each) { return is_the_mistake(each, own); });
  std::string text = found != write.mistakes.end() ? found->says : write.otherwise;
  const algebra::Refutation& refutation = *own.judged.refutation;
  const algebra::LawTrial& law = refutation.element.holds ? refutation.sum : refutation.element;
  const bool has_law = !law.holds;
  const std::string moves = moves_of(own);
  text = replaced(std::move(text), "{moves}", moves.empty() ? "some array" : "`" + moves + "`");
  text = replaced(std::move(text), "{found}", number_text(has_law ? law.found : refutation.found));
  return replaced(std::move(text), "{wanted}", number_text(has_law ? law.wanted : refutation.wanted));
}

}  // namespace fathom::session
