// Which producers count, and the classic case. The kinds of consumer are in derive_sum.cpp and derive_extremum.cpp.
#include "algebra/derive.hpp"

#include <algorithm>

#include "algebra/rules/rule.hpp"

namespace fathom::algebra {

using math::Axis;
using math::Reduction;
using math::Statement;

std::set<Symbol> indices_over(const Reduction& reduction) {
  std::set<Symbol> all;
  for (const Axis& axis : reduction.over) all.insert(axis.index);
  return all;
}

namespace {

bool same_range(const Axis& a, const Axis& b) {
  return simplify_integer(a.lo) == simplify_integer(b.lo) && simplify_integer(a.hi) == simplify_integer(b.hi);
}

/// Ranges over a common dimension: one loop could serve both, each reduction masked to its own.
bool related_range(const Axis& a, const Axis& b) {
  if (same_range(a, b)) return true;
  const std::set<Symbol> x = dims_in(a.hi);
  const std::set<Symbol> y = dims_in(b.hi);
  return std::any_of(x.begin(), x.end(), [&](Symbol dim) { return y.count(dim) != 0; });
}

enum class Relation { none, complete, shares };

struct Seen {
  Relation relation = Relation::none;
  Producer producer;
};

/// What the producer that `access` reads is to the consumer.
Seen relate(const Statement& consumer, const Statement& producer, Expr access) {
  const Reduction& own = *consumer.reduction();
  const Reduction& other = *producer.reduction();
  Seen seen{Relation::none, {producer.name, access, true, true}};
  if (own.over.size() != other.over.size()) return seen;
  for (Symbol index : indices_over(own))
    if (free_indices(access).count(index) != 0) return seen;  // complete before each element: an input
  for (std::size_t i = 0; i < own.over.size(); ++i) {
    if (!related_range(own.over[i], other.over[i])) return seen;
    seen.producer.same_set = seen.producer.same_set && same_range(own.over[i], other.over[i]);
  }
  seen.relation = Relation::shares;
  std::set<Symbol> used;
  for (Expr at : access.args()) seen.producer.at_identity = seen.producer.at_identity && at.is(Op::index) && used.insert(at.name()).second;
  return seen;
}

/// Reductions that a complete input needs, which run over the consumer's own index: they end a pass before.
int pass_after_inputs(const ProgramView& view, const Statement& consumer, const std::set<Symbol>& inputs,
                      const std::map<Symbol, int>& passes) {
  int pass = 1;
  const std::set<Symbol> own = indices_over(*consumer.reduction());
  std::set<Symbol> seen;
  std::vector<Symbol> work(inputs.begin(), inputs.end());
  while (!work.empty()) {
    const Statement* input = view.reduction(work.back());
    work.pop_back();
    if (input == nullptr || !seen.insert(input->name).second) continue;
    for (Expr value : input->reduction()->values)
      for (Symbol name : view.reductions_read(value)) {
        const Statement* inner = view.reduction(name);
        const auto found = passes.find(name);
        const bool shares = inner != nullptr && std::any_of(inner->reduction()->over.begin(), inner->reduction()->over.end(),
                                                            [&](const Axis& axis) { return own.count(axis.index) != 0; });
        if (shares && found != passes.end()) pass = std::max(pass, found->second + 1);
        work.push_back(name);
      }
  }
  return pass;
}

}  // namespace

Consumer look_at(const ProgramView& view, const Statement& statement, const std::map<Symbol, int>& passes) {
  Consumer consumer;
  consumer.statement = &statement;
  std::vector<Producer> sharing;
  std::set<Symbol> inputs;
  for (Expr value : statement.reduction()->values) {
    const Expr inlined = view.inlined(value);
    consumer.values.push_back(inlined);
    visit(inlined, [&](Expr part) {
      const Statement* producer = part.is(Op::read) ? view.reduction(part.name()) : nullptr;
      if (producer == nullptr) return;
      Seen seen = relate(statement, *producer, part);
      if (seen.relation != Relation::shares) {
        inputs.insert(part.name());
        return;
      }
      const bool known = std::any_of(sharing.begin(), sharing.end(), [&](const Producer& other) { return other.read == part; });
      if (!known) sharing.push_back(seen.producer);
    });
  }
  consumer.pass = pass_after_inputs(view, statement, inputs, passes);
  const auto pass_of = [&](const Producer& producer) {
    const auto found = passes.find(producer.name);
    return found == passes.end() ? 1 : found->second;
  };
  for (const Producer& producer : sharing) consumer.pass = std::max(consumer.pass, pass_of(producer));
  for (const Producer& producer : sharing)
    if (pass_of(producer) == consumer.pass) consumer.producers.push_back(producer);
  const auto place = [&](Symbol name) {
    const auto& all = view.program().statements;
    return std::find_if(all.begin(), all.end(), [&](const Statement& other) { return other.name == name; }) - all.begin();
  };
  std::stable_sort(consumer.producers.begin(), consumer.producers.end(),
                   [&](const Producer& a, const Producer& b) { return place(a.name) < place(b.name); });
  return consumer;
}

Symbol carried_name(const math::Program& program, const Statement& statement, bool is_whole) {
  const std::string& name = statement.name.text();
  const std::string ending = "." + statement.reduction()->reducer->name.text();
  const bool ends_so = name.size() > ending.size() && name.find(ending + ".") != std::string::npos;
  const bool is_generated =
      ends_so || (name.size() > ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0);
  return is_whole || is_generated ? statement.name : unused_name(program, name + ending);
}

Symbol unused_name(const math::Program& program, const std::string& base) {
  Symbol name(base);
  for (int k = 2; program.find(name) != nullptr; ++k) name = Symbol(base + std::to_string(k));
  return name;
}

Expr unless_empty(const Reduction& reduction, const math::Program& program, Expr result, Expr identity) {
  DimValues fixed;
  for (const math::Dimension& dimension : program.dims)
    if (!dimension.runtime) fixed[dimension.name] = dimension.value;
  for (const Axis& axis : reduction.over) {
    const auto size = evaluate_integer(axis.hi - axis.lo, fixed);
    if (!size || *size <= 0) result = where(binary(Op::le, axis.hi, axis.lo), identity, result);
  }
  return result;
}

bool may_divide_by_zero(const Sum& behind, const Facts& facts) {
  return std::any_of(behind.terms.begin(), behind.terms.end(), [&](const Term& term) {
    return std::any_of(term.factors.begin(), term.factors.end(), [&](const auto& factor) {
      if (factor.second.sign() >= 0) return false;
      // A sum of positive terms is positive where it has terms.
      if (factor.first.is(Op::read) && facts.view().reduction(factor.first.name()) != nullptr) return true;
      const Signs sign = facts.sign(factor.first);
      return !is_within(sign, positive) && !is_within(sign, negative);
    });
  });
}

std::vector<std::string> folds_of(const Reducer&) { return {"rolling", "split-k"}; }

Expr named(Expr e, const Consumer& consumer) {
  Substitution names;
  for (const Producer& producer : consumer.producers) names[producer.read] = symbol(producer.name);
  return substitute(e, names);
}

DerivationLine line(std::string_view rule, Expr before, Expr after) {
  const Rule& found = rule_named(rule);
  return {std::string(found.name), std::string(found.equation), before, after};
}

Expr reduction_expr(const Reduction& reduction, Expr value) {
  std::vector<Bound> bounds;
  for (const Axis& axis : reduction.over) bounds.push_back({axis.index, axis.lo, axis.hi});
  return reduce(reduction.reducer->name, reduction.result, bounds, {value});
}

void begin_derivation(Fusion& fusion, const Consumer& consumer, const Normaliser& n, Expr normal) {
  const Reduction& reduction = *consumer.statement->reduction();
  if (consumer.values.size() != 1 || reduction.values.size() != 1) return;
  const Expr text = reduction_expr(reduction, reduction.values[0]);
  const Expr inlined = reduction_expr(reduction, consumer.values[0]);
  if (text != inlined) fusion.all_lines.push_back(line("definition", text, inlined));
  std::set<std::pair<Expr, Expr>> seen;
  for (const DerivationLine& each : n.lines())
    if (seen.insert({each.before, each.after}).second) fusion.all_lines.push_back(each);
  fusion.derivation = fusion.all_lines;
  const Expr now = reduction_expr(reduction, normal);
  if (now != inlined) fusion.all_lines.push_back({"normal form", "a * b = b * a, a + b = b + a", inlined, now});
}

namespace {

/// `running` is an extremum over the elements at `over`: what bounds it from there on. A bound that reads producers of the loop is none.
void know_extremum(Normaliser& n, Expr running, const std::vector<Axis>& over) {
  const ProgramView& view = n.facts().view();
  const Statement& statement = *view.reduction(running.name());
  const Reduction& reduction = *statement.reduction();
  Substitution places;
  for (std::size_t i = 0; i < statement.axes.size(); ++i) places[index(statement.axes[i].index)] = running.arg(i);
  for (std::size_t i = 0; i < reduction.over.size(); ++i) places[index(reduction.over[i].index)] = index(over[i].index);
  const Sum bounded = n.of(substitute(view.inlined(reduction.values.front()), places));
  Role role = n.roles().of(bounded.terms);
  for (Expr guard : bounded.alive) role |= n.roles().of(guard);
  if ((role & r_role) == 0) n.know({bounded, running, monoid_operation(*reduction.reducer) == Op::max});
}

bool is_extremum(const Reduction& reduction) {
  const auto operation = monoid_operation(*reduction.reducer);
  return operation == Op::max || operation == Op::min;
}

std::vector<Axis> axes_of(const Statement& statement) {
  std::vector<Axis> axes = statement.reduction()->over;
  axes.insert(axes.end(), statement.axes.begin(), statement.axes.end());
  return axes;
}

}  // namespace

bool has_first_powers(const Term& term) {
  const Rational one(1), minus_one(-1);
  return std::all_of(term.factors.begin(), term.factors.end(),
                     [&](const auto& factor) { return factor.second <= one && factor.second >= minus_one; });
}

void know_references(Normaliser& n, const std::vector<Expr>& values, const std::vector<Axis>& axes) {
  const ProgramView& view = n.facts().view();
  std::vector<Expr> references;  // in the order of the text
  for (const Expr value : values)
    visit(value, [&](Expr part) {
      const Statement* statement = part.is(Op::read) ? view.reduction(part.name()) : nullptr;
      if (statement == nullptr || !is_extremum(*statement->reduction())) return;
      if (std::find(references.begin(), references.end(), part) == references.end()) references.push_back(part);
    });
  if (references.size() < 2) return;
  for (const Expr access : references) {
    const std::vector<Axis>& over = view.reduction(access.name())->reduction()->over;
    if (over.size() != 1 || n.roles().of(access) == r_role) continue;  // a running one is told by its producer
    const std::set<Symbol> used = free_indices(access);
    const auto at =
        std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) { return same_range(axis, over[0]) && used.count(axis.index) == 0; });
    if (at != axes.end()) know_extremum(n, access, {*at});
  }
  n.forget_lines();
}

namespace {

/// A factor that is free of the index and leaves the range of numbers as it is.
bool may_stand_behind(const Term& r) { return r.guards.empty() && r.exponent.empty() && has_first_powers(r); }

}  // namespace

Derived derive_classic(const Facts& facts, const Consumer& consumer) {
  const Statement& statement = *consumer.statement;
  const Reduction& reduction = *statement.reduction();
  Derived derived;
  derived.fusion.consumer = statement.name;
  derived.fusion.kind = FusionKind::classic;
  derived.fusion.pass = consumer.pass;
  derived.fusion.folds = folds_of(*reduction.reducer);
  Normaliser n(facts, Roles(indices_over(reduction), {}));
  know_references(n, consumer.values, axes_of(statement));
  const auto operation = monoid_operation(*reduction.reducer);
  if (operation == Op::add && consumer.values.size() == 1) {
    const Sum& sum = n.of(consumer.values[0]);
    const Separated separated = separate(sum, n);
    if (sum.alive.empty() && separated.separation && separated.separation->rank() == 1) {
      const Sum& behind = separated.separation->r[0];
      // What is masked out as a whole is 0 in the text: a divisor stays with the elements then.
      const bool divides = may_divide_by_zero(behind, facts);
      const auto& rows = separated.separation->u[0].terms;
      const bool is_masked = std::any_of(rows.begin(), rows.end(), [](const Term& row) { return !row.guards.empty(); });
      if (behind.is_one_term() && may_stand_behind(behind.terms[0]) && !(divides && is_masked)) {
        const bool whole = behind.terms[0].is_number() && behind.terms[0].coefficient == Rational(1);
        const Symbol name = carried_name(facts.view().program(), statement, whole);
        derived.parts.push_back({name, reduction.reducer, reduction.result, {n.print(separated.separation->u[0])}});
        derived.project = whole ? symbol(name) : n.print(n.product(sum_of(atom(symbol(name))), behind));
        if (divides) derived.project = unless_empty(reduction, facts.view().program(), derived.project, number(0));
        return derived;
      }
    }
  }
  std::vector<Expr> values;
  for (Expr value : consumer.values) values.push_back(n.canonical(value));
  derived.parts.push_back({statement.name, reduction.reducer, reduction.result, std::move(values)});
  derived.project = symbol(statement.name);
  return derived;
}

namespace {

/// Order facts of the producers that are running extrema over the consumer's own elements, and of complete references.
void know_producers(Normaliser& n, const Consumer& consumer) {
  for (const Producer& producer : consumer.producers)
    if (producer.at_identity && producer.same_set && is_extremum(*n.facts().view().reduction(producer.name)->reduction()))
      know_extremum(n, producer.read, consumer.statement->reduction()->over);
  n.forget_lines();
  know_references(n, consumer.values, axes_of(*consumer.statement));
}

Result<Derived> derive_fused(Normaliser& n, const Consumer& consumer, std::optional<int>& rank) {
  const Reduction& reduction = *consumer.statement->reduction();
  const auto operation = monoid_operation(*reduction.reducer);
  if (!operation || consumer.values.size() != 1)
    return refuse("The reducer " + reduction.reducer->name.text() + " of " + consumer.statement->name.text() +
                      " is not one operation on one value, so what it reads of its own loop must be complete.",
                  {consumer.producers.front().name.text()});
  switch (*operation) {
    case Op::add:
      return derive_sum(n, consumer, rank);
    case Op::mul: {
      const Sum& value = n.of(consumer.values[0]);
      if (value.is_one_term() && separate(value, n).separation) {
        rank = 2;
        return refuse("rank 2: needs 2 carried values, one of them the number of factors; not supported yet.", {print(consumer.values[0])});
      }
      const Mixed part = smallest_mixed(consumer.values[0], n, {consumer.values[0], false});
      return refuse("log(" + print(part.part) + ") is not of finite rank: the product is a polynomial of growing degree in what it reads.",
                    {print(part.part)});
    }
    default:
      return derive_extremum(n, consumer, *operation);
  }
}

}  // namespace

Derived derive(const Facts& facts, const Consumer& consumer) {
  if (consumer.producers.empty()) return derive_classic(facts, consumer);
  std::set<Symbol> names;
  for (const Producer& producer : consumer.producers) names.insert(producer.name);
  const Statement& statement = *consumer.statement;
  Normaliser n(facts, Roles(indices_over(*statement.reduction()), names));
  know_producers(n, consumer);
  std::optional<int> rank;
  Result<Derived> fused = derive_fused(n, consumer, rank);
  if (fused) {
    fused->fusion.consumer = statement.name;
    fused->fusion.pass = consumer.pass;
    fused->fusion.folds = folds_of(*statement.reduction()->reducer);
    return std::move(*fused);
  }
  Consumer later = consumer;
  later.producers.clear();
  later.pass = consumer.pass + 1;
  Derived derived = derive_classic(facts, later);
  for (const Producer& producer : consumer.producers) derived.fusion.producers.push_back(producer.name);
  derived.fusion.rank = rank;
  derived.fusion.refusal = std::move(fused.error());
  return derived;
}

}  // namespace fathom::algebra
