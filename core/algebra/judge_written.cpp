// Names first, then the proof: both expressions in normal form over scalars that know their order. See judge_written.hpp.
#include "algebra/judge_written.hpp"

#include <algorithm>

#include "algebra/derive.hpp"
#include "algebra/judge_residues.hpp"

namespace fathom::algebra {

using math::Statement;

namespace {

/// Reads of statements that change while the consumer's loop runs and are one value at the consumer's place.
std::vector<RunningName> running_names(const ProgramView& view, const Statement& consumer, const Fusion& fusion) {
  std::map<Symbol, Expr> in_text;
  for (Expr value : consumer.reduction()->values)
    visit(view.inlined(value), [&](Expr part) {
      if (part.is(Op::read)) in_text.emplace(part.name(), part);
    });
  std::set<Symbol> outer;
  for (const math::Axis& axis : consumer.axes) outer.insert(axis.index);
  const std::set<Symbol> producers(fusion.producers.begin(), fusion.producers.end());
  std::vector<RunningName> names;
  for (const Statement& statement : view.program().statements) {
    if (statement.name == consumer.name) continue;
    Expr read_here;
    if (const auto found = in_text.find(statement.name); found != in_text.end()) read_here = found->second;
    const bool fits =
        std::all_of(statement.axes.begin(), statement.axes.end(), [&](const math::Axis& axis) { return outer.count(axis.index) != 0; });
    if (!read_here && fits) {
      std::vector<Expr> at;
      for (const math::Axis& axis : statement.axes) at.push_back(index(axis.index));
      read_here = read(statement.name, std::move(at));
    }
    if (statement.map() != nullptr) {
      const std::set<Symbol> needs = view.reductions_read(statement.map()->value);
      if (std::none_of(needs.begin(), needs.end(), [&](Symbol name) { return producers.count(name) != 0; })) continue;
    } else if (producers.count(statement.name) == 0) {
      continue;
    }
    if (read_here) names.push_back({statement.name, read_here, view.inlined(read_here)});
  }
  return names;
}

Expr in_names(Expr e, const std::vector<RunningName>& names, bool next) {
  Substitution of_reads;
  for (const RunningName& running : names) of_reads[running.read] = symbol(next ? primed(running.name) : running.name);
  return substitute(e, of_reads);
}

class NameReader {
 public:
  NameReader(const ProgramView& view, const Statement& consumer, Written& written) : view_(view), consumer_(consumer), written_(written) {}

  Result<Expr> run(Expr e) {
    const Expr bound = transform(e, [&](Expr part) { return bind(part); });
    if (!unknown_.empty()) return refuse(unknown_ + " has no meaning in a repair of " + consumer_.name.text() + ": " + known(), {unknown_});
    return bound;
  }

 private:
  Expr bind(Expr part) {
    if (part.is(Op::reduce) || part.is(Op::call) || part.is(Op::tuple) || part.is(Op::random) || part.is(Op::extent)) {
      unknown_ = part.name().empty() ? std::string(spelling(part.op())) : part.name().text();
      return part;
    }
    if (!part.is(Op::symbol) && !part.is(Op::read) && !part.is(Op::index) && !part.is(Op::dim)) return part;
    const Symbol name = part.name();
    if (name == accumulator) return symbol(accumulator);
    for (const RunningName& running : written_.running) {
      if (name != running.name && name != primed(running.name)) continue;
      written_.used.insert(running.name);
      return symbol(name);
    }
    for (const math::Axis& axis : consumer_.axes)
      if (axis.index == name && part.args().empty()) return index(name);
    const math::Program& program = view_.program();
    if (program.dimension(name) != nullptr) return dim(name);
    const math::Parameter* parameter = program.param(name);
    if (parameter != nullptr && parameter->extents.size() == part.args().size())
      return read(name, {part.args().begin(), part.args().end()});
    unknown_ = name.text();
    return part;
  }

  [[nodiscard]] std::string known() const {
    std::string text = "it may name acc";
    for (const RunningName& running : written_.running) text += ", " + running.name.text() + ", " + primed(running.name).text();
    return text + ", scalars and dimensions.";
  }

  const ProgramView& view_;
  const Statement& consumer_;
  Written& written_;
  std::string unknown_;
};

/// where(c, x, 0) -> x: the guard decides only whether there is anything.
Expr without_guard(Expr e) {
  while (e.is(Op::where)) {
    if (e.arg(2) == number(0))
      e = e.arg(1);
    else if (e.arg(1) == number(0))
      e = e.arg(2);
    else
      break;
  }
  return e;
}

const math::Carried* only_carried(const Fusion& fusion) {
  if (fusion.repair && fusion.repair->carried.size() == 1) return &fusion.repair->carried.front();
  return !fusion.repair && fusion.factored.size() == 1 ? &fusion.factored.front() : nullptr;
}

}  // namespace

Result<Written> read_written(const ProgramView& view, const Statement& consumer, const Fusion& fusion, Expr e) {
  Written written;
  written.running = running_names(view, consumer, fusion);
  Result<Expr> bound = NameReader(view, consumer, written).run(e);
  if (!bound) return tl::unexpected<Refusal>(bound.error());
  written.expression = *bound;
  return written;
}

Expr found_of_carried(const Fusion& fusion) {
  const math::Carried* carried = only_carried(fusion);
  if (carried == nullptr) return {};
  Substitution names = {{symbol(carried->name), symbol(accumulator)}};
  if (fusion.repair)
    for (const math::Gauge& gauge : fusion.repair->gauges)
      visit(gauge.reference, [&](Expr part) {
        if (!part.is(Op::read)) return;
        names[symbol(gauge.name)] = symbol(part.name());
        names[symbol(primed(gauge.name))] = symbol(primed(part.name()));
      });
  return substitute(carried->move, names);
}

namespace {

/// max(carried, r) under a rising r (or min under a falling one): max(max(c, r), r') = max(c, r'), so the value absorbs the next r.
Expr found_of_absorbing(const ProgramView& view, const math::Carried& carried, Expr project) {
  if (!project.is(Op::max) && !project.is(Op::min)) return {};
  const bool first = project.arg(0) == symbol(carried.name);
  const Expr bound = project.arg(first ? 1 : 0);
  if (project.arg(first ? 0 : 1) != symbol(carried.name) || !bound.is(Op::read)) return {};
  const Statement* producer = view.reduction(bound.name());
  if (producer == nullptr || monoid_operation(*producer->reduction()->reducer) != project.op()) return {};
  return binary(project.op(), symbol(accumulator), symbol(primed(bound.name())));
}

}  // namespace

Expr found_of_value(const ProgramView& view, const Fusion& fusion) {
  const math::Carried* carried = only_carried(fusion);
  const Expr project = fusion.repair ? fusion.repair->project : fusion.project;
  if (carried == nullptr || !project) return {};
  if (monoid_operation(*carried->reducer) != Op::add) return found_of_absorbing(view, *carried, project);
  const Expr behind = view.inlined(without_guard(substitute(project, {{symbol(carried->name), number(1)}})));
  const auto at = [&](bool next) {
    return transform(behind, [&](Expr part) {
      const bool named =
          part.is(Op::read) && std::find(fusion.producers.begin(), fusion.producers.end(), part.name()) != fusion.producers.end();
      return named ? symbol(next ? primed(part.name()) : part.name()) : part;
    });
  };
  const bool divides = behind.is(Op::div) && behind.arg(0) == number(1);
  return found_of_carried(fusion) * (divides ? at(false).arg(1) / at(true).arg(1) : at(true) / at(false));
}

namespace {

/// A program of scalars: what the names of a repair may be, and what is known of them.
class Scratch {
 public:
  Scratch(const ProgramView& view, const Written& written) : view_(view), facts_(view) {
    program_.dims = view.program().dims;
    program_.conditions = view.program().conditions;
    add(accumulator);
    for (const RunningName& running : written.running) {
      add(running.name);
      add(primed(running.name));
      know(running);
      if (view.reduction(running.name) != nullptr) continue;
      definitions_[symbol(running.name)] = in_names(running.inside, written.running, false);
      definitions_[symbol(primed(running.name))] = in_names(running.inside, written.running, true);
    }
  }

  [[nodiscard]] const math::Program& program() const { return program_; }
  [[nodiscard]] Normaliser normaliser(const Facts& facts) const {
    Normaliser n(facts, Roles({place()}, names_));
    for (const OrderFact& fact : order_) n.know(fact);
    return n;
  }
  /// Names as scalars; elementwise statements opened.
  [[nodiscard]] Expr scalars(Expr e) const { return substitute(substitute(e, definitions_), scalars_); }
  [[nodiscard]] Expr symbols(Expr e) const { return substitute(e, symbols_); }

 private:
  static Symbol place() { return Symbol("repair'"); }
  // Every scalar counts as both sides, u and r: all that can be expanded is.
  static Expr scalar(Symbol name) { return read(name, {index(place())}); }

  void add(Symbol name) {
    if (!names_.insert(name).second) return;
    scalars_[symbol(name)] = scalar(name);
    symbols_[scalar(name)] = symbol(name);
  }

  void know(const RunningName& running) {
    const Expr now = scalar(running.name);
    const Expr next = scalar(primed(running.name));
    const Signs sign = facts_.sign(running.inside);
    for (Expr e : {now, next})
      if (is_within(sign, positive | zero))
        program_.conditions.push_back(binary(is_within(sign, positive) ? Op::gt : Op::ge, e, number(0)));
    const Statement* producer = view_.reduction(running.name);
    if (producer == nullptr) return;
    const auto operation = monoid_operation(*producer->reduction()->reducer);
    const bool rises = operation == Op::max || (operation == Op::add && is_within(sign, positive | zero));
    if (rises) order_.push_back({sum_of(atom(now)), next, true});
    if (operation == Op::min) order_.push_back({sum_of(atom(now)), next, false});
  }

  const ProgramView& view_;
  Facts facts_;
  math::Program program_;
  std::set<Symbol> names_;
  std::vector<OrderFact> order_;  ///< a running maximum never falls
  Substitution definitions_, scalars_, symbols_;
};

bool agree_at_points(Expr a, Expr b) {
  if (!is_exact(a) || !is_exact(b)) return true;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Point point(seed);
    const Residue x = point.value(a);
    const Residue y = point.value(b);
    if (x.is_finite() && y.is_finite() && !agree(x, y)) return false;
  }
  return true;
}

std::vector<DerivationLine> lines_of(Normaliser& n, Expr e, const Scratch& scratch, bool backwards) {
  n.forget_lines();
  (void)n.of(e);
  std::vector<DerivationLine> lines = n.lines();
  std::vector<DerivationLine> result;
  for (DerivationLine& line : lines) {
    line.before = scratch.symbols(line.before);
    line.after = scratch.symbols(line.after);
    if (backwards) std::swap(line.before, line.after);
    const bool known = std::any_of(result.begin(), result.end(),
                                   [&](const DerivationLine& other) { return other.before == line.before && other.after == line.after; });
    if (!known && line.before != line.after) result.push_back(std::move(line));
  }
  if (backwards) std::reverse(result.begin(), result.end());
  return result;
}

}  // namespace

std::optional<std::vector<DerivationLine>> derive_written(const ProgramView& view, const Written& written, Expr found) {
  const Scratch scratch(view, written);
  const Expr from = scratch.scalars(found);
  const Expr to = scratch.scalars(written.expression);
  if (to.node().depth > deepest || to.node().size > 4000) return std::nullopt;
  const ProgramView scalars(scratch.program());
  const Facts facts(scalars);
  Normaliser n = scratch.normaliser(facts);
  const Sum& a = n.of(from);
  const Sum& b = n.of(to);
  if (!equal(a, b) || !agree_at_points(from, to)) return std::nullopt;
  Normaliser of_found = scratch.normaliser(facts);
  Normaliser of_written = scratch.normaliser(facts);
  std::vector<DerivationLine> lines = lines_of(of_found, from, scratch, false);
  for (DerivationLine& line : lines_of(of_written, to, scratch, true)) lines.push_back(std::move(line));
  if (lines.empty()) lines.push_back({"normal form", "a * b = b * a, a + b = b + a", found, written.expression});
  return lines;
}

}  // namespace fathom::algebra
