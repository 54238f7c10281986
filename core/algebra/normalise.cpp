// The program in the form in which it was fused. Rounds of derivation move what is free of an index behind its
// reduction, until nothing moves; the terms of what is left are final then. Elementwise statements are looked through and come back
// where two terms share a value: under the name that the text gave it, else NAME.term. Statements that no result needs are gone.
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>

#include "algebra/derive.hpp"
#include "ir/comparison.hpp"

namespace fathom::algebra {

using math::Axis;
using math::Map;
using math::Program;
using math::Reduction;
using math::Statement;

namespace {

constexpr int most_rounds = 6;

/// Whether something stands behind the parts of the reduction, or it is several.
bool moves(const Derived& derived) { return derived.parts.size() != 1 || derived.project != symbol(derived.fusion.consumer); }

/// The opened program with each reduction as its parts and an elementwise statement for what stands behind them.
Program moved_behind(const ProgramView& view, const std::vector<Derived>& all, std::map<Symbol, Symbol>& came_from) {
  Program moved = view.program();
  moved.statements.clear();
  Substitution renamed;  // reads of a consumer whose part keeps its name
  const auto renaming = [&](Expr e) {
    return transform(e, [&](Expr part) {
      if (!part.is(Op::read)) return part;
      const auto found = renamed.find(symbol(part.name()));
      return found == renamed.end() ? part : read(found->second.name(), {part.args().begin(), part.args().end()});
    });
  };
  std::size_t next = 0;
  for (const Statement& statement : view.program().statements) {
    if (const Map* map = statement.map()) {
      Statement copy = statement;
      copy.value = Map{renaming(map->value)};
      moved.statements.push_back(std::move(copy));
      continue;
    }
    const Derived& derived = all[next++];
    std::vector<Expr> subscripts;
    for (const Axis& axis : statement.axes) subscripts.push_back(index(axis.index));
    Substitution parts;
    for (const Part& part : derived.parts) {
      Statement own = statement;
      own.name = part.name;
      Reduction reduction = *statement.reduction();
      reduction.reducer = part.reducer;
      reduction.result = part.result;
      reduction.values.clear();
      for (Expr value : part.values) reduction.values.push_back(renaming(value));
      const auto operation = monoid_operation(*part.reducer);
      if (part.name != statement.name || derived.project != symbol(part.name))
        own.dtype = operation && is_condition(*operation) ? DType::boolean : DType::real;
      own.value = std::move(reduction);
      moved.statements.push_back(std::move(own));
      const auto from = came_from.find(statement.name);
      came_from.emplace(part.name, from == came_from.end() ? statement.name : from->second);
      parts[symbol(part.name)] = read(part.name, subscripts);
    }
    if (!moves(derived)) continue;
    Statement behind = statement;
    const bool taken =
        std::any_of(derived.parts.begin(), derived.parts.end(), [&](const Part& part) { return part.name == statement.name; });
    if (taken) behind.name = Symbol(statement.name.text() + ".value");
    behind.value = Map{substitute(renaming(derived.project), parts)};
    if (taken) renamed[symbol(statement.name)] = symbol(behind.name);
    moved.statements.push_back(std::move(behind));
  }
  return moved;
}

/// A statement that a result needs, and its values as the normal form has them.
struct Live {
  const Statement* statement = nullptr;
  std::vector<Expr> values;
};

/// Orders the operands of sums and products by where their indices stand in the parameters and in the program, never by name: renaming a
/// program renames its normal form and changes nothing else; nor do statements that nothing needs.
class Arranger {
 public:
  Arranger(const Program& program, const std::vector<Live>& live) {
    rank_indices(program, live);
    for (const math::Parameter& parameter : program.params) tensor_.emplace(parameter.name, static_cast<int>(tensor_.size()));
    for (const Live& each : live) tensor_.emplace(each.statement->name, static_cast<int>(tensor_.size()));
    for (const math::Dimension& dimension : program.dims) tensor_.emplace(dimension.name, static_cast<int>(tensor_.size()));
  }

  Expr operator()(Expr e) {
    const auto found = done_.find(e);
    if (found != done_.end()) return found->second;
    const Expr arranged = arrange(e);
    done_.emplace(e, arranged);
    return arranged;
  }

 private:
  using Key = std::tuple<std::vector<int>, int, std::vector<int>>;  ///< index places, minus depth, what the leaves are

  Expr arrange(Expr e) {
    if (e.is(Op::read) || e.args().empty() || tensors_read(e).empty()) return e;
    if (e.is(Op::add) || e.is(Op::sub)) return chain(e, Op::add, Op::sub);
    if (e.is(Op::mul)) return chain(e, Op::mul, Op::mul);
    if (e.is(Op::div) && e.arg(0).is(Op::mul) && !tensors_read(e.arg(1)).empty()) return quotient(e);
    std::vector<Expr> args;
    for (Expr arg : e.args()) args.push_back((*this)(arg));
    return with_args(e, std::move(args));
  }

  Expr chain(Expr e, Op plus, Op minus) {
    std::vector<Expr> with;
    std::vector<Expr> without;
    flatten(e, plus, minus, true, with, without);
    for (std::vector<Expr>* side : {&with, &without})
      std::stable_sort(side->begin(), side->end(), [&](Expr a, Expr b) { return key(a) < key(b); });
    // A reference is a plain read and goes first, behind what varies most: ((s - m) + c) - log(l) keeps digits that (c + s) - m loses.
    const auto references_end = std::stable_partition(without.begin(), without.end(), [](Expr part) { return part.is(Op::read); });
    auto before = with.end();  // how many stand in front of the references
    if (references_end != without.begin() && !with.empty()) {
      const auto varies_less = [](Expr a, Expr b) { return free_indices(a).size() < free_indices(b).size(); };
      const auto element = std::max_element(with.begin(), with.end(), varies_less);
      if (!free_indices(*element).empty()) {
        std::rotate(with.begin(), element, element + 1);
        before = with.begin() + 1;
      }
    }
    Expr total;
    const auto add = [&](auto part, auto end) {
      for (; part != end; ++part) total = total ? binary(plus, total, *part) : *part;
    };
    const auto take = [&](auto part, auto end) {
      for (; part != end; ++part) total = total ? binary(minus, total, *part) : unary(Op::neg, *part);
    };
    add(with.begin(), before);
    take(without.begin(), references_end);
    add(before, with.end());
    take(references_end, without.end());
    return total;
  }

  /// a * b / c as (a / c) * b, a the first factor that varies with all that c varies with: c is mostly made of a, and a * b may leave the
  /// range that a / c keeps.
  Expr quotient(Expr e) {
    std::vector<Expr> factors;
    std::vector<Expr> none;
    flatten(e.arg(0), Op::mul, Op::mul, true, factors, none);
    std::stable_sort(factors.begin(), factors.end(), [&](Expr a, Expr b) { return key(a) < key(b); });
    const Expr divisor = (*this)(e.arg(1));
    const std::set<Symbol> wanted = free_indices(divisor);
    auto first = std::find_if(factors.begin(), factors.end(), [&](Expr factor) {
      const std::set<Symbol> has = free_indices(factor);
      return !tensors_read(factor).empty() && std::includes(has.begin(), has.end(), wanted.begin(), wanted.end());
    });
    if (first == factors.end()) return (*this)(e.arg(0)) / divisor;
    Expr total = *first / divisor;
    factors.erase(first);
    for (Expr factor : factors) total = total * factor;
    return total;
  }

  void flatten(Expr e, Op plus, Op minus, bool positive_side, std::vector<Expr>& with, std::vector<Expr>& without) {
    if (e.is(plus) || (plus != minus && e.is(minus))) {
      flatten(e.arg(0), plus, minus, positive_side, with, without);
      flatten(e.arg(1), plus, minus, e.is(plus) ? positive_side : !positive_side, with, without);
      return;
    }
    (positive_side ? with : without).push_back((*this)(e));
  }

  Key key(Expr e) const {
    Key key;
    std::set<int> places;
    std::get<1>(key) = -static_cast<int>(e.node().depth);
    visit(e, [&](Expr part) {
      const auto place = rank_.find(part.name());
      const auto tensor = tensor_.find(part.name());
      if (part.is(Op::index)) places.insert(place == rank_.end() ? -1 : place->second);
      if (part.is(Op::number)) std::get<2>(key).push_back(-1);
      if (part.is(Op::read) || part.is(Op::dim)) std::get<2>(key).push_back(tensor == tensor_.end() ? -1 : tensor->second);
    });
    std::get<0>(key).assign(places.begin(), places.end());
    return key;
  }

  /// By the first parameter and subscript that an index stands at; where none is, by its first axis.
  void rank_indices(const Program& program, const std::vector<Live>& live) {
    std::vector<Symbol> order;
    std::map<Symbol, std::size_t> places;
    const auto meet = [&](const Axis& axis) {
      if (places.emplace(axis.index, std::numeric_limits<std::size_t>::max()).second) order.push_back(axis.index);
    };
    for (const Live& each : live) {
      for (const Axis& axis : each.statement->axes) meet(axis);
      if (const Reduction* reduction = each.statement->reduction())
        for (const Axis& axis : reduction->over) meet(axis);
    }
    std::map<Symbol, std::size_t> first;
    std::size_t subscripts = 0;
    for (const math::Parameter& parameter : program.params) {
      first.emplace(parameter.name, subscripts);
      subscripts += parameter.extents.size();
    }
    for (const Live& each : live)
      for (Expr value : each.values)
        visit(value, [&](Expr part) {
          const auto start = part.is(Op::read) ? first.find(part.name()) : first.end();
          if (start == first.end()) return;
          for (std::size_t k = 0; k < part.args().size(); ++k) {
            const auto place = part.arg(k).is(Op::index) ? places.find(part.arg(k).name()) : places.end();
            if (place != places.end()) place->second = std::min(place->second, start->second + k);
          }
        });
    std::stable_sort(order.begin(), order.end(), [&](Symbol a, Symbol b) { return places.at(a) < places.at(b); });
    for (const Symbol index : order) rank_.emplace(index, static_cast<int>(rank_.size()));
  }

  std::map<Symbol, int> rank_;
  std::map<Symbol, int> tensor_;
  std::map<Expr, Expr> done_;
};

class Emitter {
 public:
  Emitter(const ProgramView& view, const std::vector<Derived>& all, const std::map<Symbol, Symbol>& came_from)
      : view_(view), facts_(view), came_from_(came_from) {
    normal_.program = view.program();
    normal_.program.statements.clear();
    std::size_t next = 0;
    for (const Statement& statement : view.program().statements)
      if (statement.reduction() != nullptr) derived_[statement.name] = &all[next++];
  }

  NormalForm run() {
    collect();
    count_uses();
    for (const Statement* statement : order_) emit(*statement);
    return std::move(normal_);
  }

 private:
  /// Final values of every statement that a result needs, in program order.
  void collect() {
    std::set<Symbol> needed;
    for (const math::Parameter& result : view_.program().results) needed.insert(result.name);
    const auto& statements = view_.program().statements;
    std::vector<Live> live;
    for (auto it = statements.rbegin(); it != statements.rend(); ++it) {
      if (needed.count(it->name) == 0) continue;
      order_.insert(order_.begin(), &*it);
      live.insert(live.begin(), {&*it, unarranged_values(*it)});
      for (Expr value : live.front().values)
        for (Symbol name : tensors_read(value)) needed.insert(name);
      if (const Reduction* reduction = it->reduction())
        for (const Axis& axis : reduction->over)
          for (Expr bound : {axis.lo, axis.hi})
            for (Symbol name : tensors_read(bound)) needed.insert(name);
    }
    arranged_.emplace(view_.program(), live);
  }

  /// The terms that were derived; of what would still move something, the text's own.
  std::vector<Expr> values_of_reduction(const Statement& statement) const {
    const Derived& derived = *derived_.at(statement.name);
    if (!moves(derived)) return derived.parts[0].values;
    Normaliser n(facts_, Roles(indices_over(*statement.reduction()), {}));
    std::vector<Expr> values;
    for (const Expr value : statement.reduction()->values) values.push_back(n.canonical(view_.inlined(value)));
    return values;
  }

  std::vector<Expr> unarranged_values(const Statement& statement) {
    const Map* map = statement.map();
    if (map == nullptr) return values_of_reduction(statement);
    const Expr value = view_.inlined(map->value);
    Normaliser n(facts_, Roles({}, {}));
    know_references(n, {value}, statement.axes);
    return {n.canonical(value)};
  }

  const std::vector<Expr>& values_of_statement(const Statement& statement) {
    const auto found = values_.find(statement.name);
    if (found != values_.end()) return found->second;
    std::vector<Expr> values = unarranged_values(statement);
    for (Expr& value : values) value = (*arranged_)(value);
    return values_.emplace(statement.name, std::move(values)).first->second;
  }

  [[nodiscard]] static bool may_be_shared(Expr e) {
    switch (kind(e.op())) {
      case OpKind::infix:
      case OpKind::function:
        break;
      default:
        return false;
    }
    return !is_condition(e.op()) && !free_indices(e).empty() && !tensors_read(e).empty();
  }

  void count_uses() {
    std::set<Expr> seen;
    for (const Statement* statement : order_)
      for (Expr root : values_of_statement(*statement)) {
        ++uses_[root];
        visit(root, [&](Expr e) {
          if (!seen.insert(e).second) return;
          if (e.is(Op::read)) return;
          for (Expr arg : e.args())
            if (arg) ++uses_[arg];
        });
      }
  }

  [[nodiscard]] bool is_shared(Expr e) const {
    const auto found = uses_.find(e);
    return found != uses_.end() && found->second > 1 && may_be_shared(e);
  }

  void emit(const Statement& statement) {
    std::vector<Axis> scope = statement.axes;
    if (const Reduction* reduction = statement.reduction()) scope.insert(scope.end(), reduction->over.begin(), reduction->over.end());
    Statement result = statement;
    std::vector<Expr> values;
    for (Expr value : values_of_statement(statement)) {
      const bool is_root_map = statement.map() != nullptr;
      values.push_back(is_root_map && is_shared(value) ? with_shared_operands(value, statement, scope)
                                                       : with_shared(value, statement, scope));
    }
    if (Reduction* reduction = std::get_if<Reduction>(&result.value))
      reduction->values = values;
    else
      result.value = Map{values[0]};
    const auto from = came_from_.find(statement.name);
    if (from != came_from_.end() && from->second != statement.name) normal_.node_map[statement.name.text()] = {from->second.text()};
    normal_.program.statements.push_back(std::move(result));
  }

  Expr with_shared_operands(Expr e, const Statement& user, const std::vector<Axis>& scope) {
    if (e.args().empty() || e.is(Op::read)) return e;
    std::vector<Expr> args;
    for (Expr arg : e.args()) args.push_back(arg ? with_shared(arg, user, scope) : arg);
    return with_args(e, std::move(args));
  }

  Expr with_shared(Expr e, const Statement& user, const std::vector<Axis>& scope) {
    if (!is_shared(e)) return with_shared_operands(e, user, scope);
    std::vector<Axis> axes;
    for (const Axis& axis : scope)
      if (free_indices(e).count(axis.index) != 0) axes.push_back(axis);
    // Rows of different lengths have no box: such a value is computed where it is used.
    const bool is_ragged = std::any_of(axes.begin(), axes.end(),
                                       [](const Axis& axis) { return !free_indices(axis.lo).empty() || !free_indices(axis.hi).empty(); });
    if (is_ragged) return with_shared_operands(e, user, scope);
    Place place{e, {}};  // the same value over another range is another tensor
    for (const Axis& axis : axes) place.second.insert(place.second.end(), {index(axis.index), axis.lo, axis.hi});
    const auto found = shared_.find(place);
    if (found != shared_.end()) return found->second;
    const Expr value = with_shared_operands(e, user, scope);
    Statement own;
    own.name = name_for(e, axes, user);
    own.origins = user.origins;
    own.axes = axes;
    std::vector<Expr> subscripts;
    for (const Axis& axis : own.axes) subscripts.push_back(index(axis.index));
    own.value = Map{value};
    const Expr access = read(own.name, std::move(subscripts));
    if (view_.program().find(own.name) == nullptr)
      normal_.node_map[own.name.text()] = {came_from_.count(user.name) != 0 ? came_from_.at(user.name).text() : user.name.text()};
    normal_.program.statements.push_back(std::move(own));
    shared_.emplace(std::move(place), access);
    return access;
  }

  static bool are_over_the_same(const std::vector<Axis>& a, const std::vector<Axis>& b) {
    return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Axis& axis) {
             return std::any_of(b.begin(), b.end(),
                                [&](const Axis& other) { return axis.index == other.index && axis.lo == other.lo && axis.hi == other.hi; });
           });
  }

  /// The text's name of an elementwise statement with that value, else a name after the first user.
  Symbol name_for(Expr e, const std::vector<Axis>& axes, const Statement& user) {
    Normaliser n(facts_, Roles({}, {}));
    const Sum& wanted = n.of(e);
    for (const Statement& statement : view_.program().statements) {
      if (statement.map() == nullptr || view_.program().result(statement.name) != nullptr || taken_.count(statement.name) != 0) continue;
      if (!are_over_the_same(statement.axes, axes)) continue;
      if (!equal(n.of(view_.inlined(statement.map()->value)), wanted)) continue;
      taken_.insert(statement.name);
      return statement.name;
    }
    const std::string base = user.name.text() + ".term";
    Symbol name(base);
    for (int k = 2; !taken_.insert(name).second || view_.program().find(name) != nullptr; ++k)
      name = Symbol(base + "." + std::to_string(k));
    return name;
  }

  const ProgramView& view_;
  Facts facts_;
  std::optional<Arranger> arranged_;  // once it is known what is live
  const std::map<Symbol, Symbol>& came_from_;
  std::map<Symbol, const Derived*> derived_;
  std::map<Symbol, std::vector<Expr>> values_;
  std::vector<const Statement*> order_;
  std::map<Expr, int> uses_;
  using Place = std::pair<Expr, std::vector<Expr>>;  ///< a value, and the axes that it stands over with their ranges
  std::map<Place, Expr> shared_;
  std::set<Symbol> taken_;
  NormalForm normal_;
};

}  // namespace

NormalForm normalise(const Program& opened, const Analysis&) {
  ProgramView view(opened);
  std::map<Symbol, Symbol> came_from;
  std::vector<DerivationLine> lines;
  std::vector<Derived> all = derive_all(Facts(view));
  // A round may bring a factor to light (|x / l| as |x| / l) that the next one moves.
  for (int round = 0; round < most_rounds; ++round) {
    const bool ends = std::none_of(all.begin(), all.end(), moves);
    if (round == 0 || !ends)
      for (const Derived& derived : all) lines.insert(lines.end(), derived.fusion.derivation.begin(), derived.fusion.derivation.end());
    if (ends) break;
    view = ProgramView(moved_behind(view, all, came_from));
    all = derive_all(Facts(view));
  }
  NormalForm normal = Emitter(view, all, came_from).run();
  normal.lines = std::move(lines);
  return normal;
}

Result<math::Repair> repair_for(const Program& normalised, const Analysis& analysis, Symbol consumer) {
  const Statement* statement = normalised.find(consumer);
  if (statement == nullptr || statement->reduction() == nullptr)
    return refuse("There is no reduction " + consumer.text() + " in this program.", {consumer.text()});
  const Fusion* fusion = analysis.find(consumer);
  if (fusion == nullptr) return refuse("Nothing was concluded about " + consumer.text() + ".", {consumer.text()});
  if (fusion->refusal) return tl::unexpected(*fusion->refusal);
  const Reduction& reduction = *statement->reduction();
  math::Repair repair;
  if (fusion->repair) {
    repair = *fusion->repair;
    Substitution gauges;
    if (fusion->kind == FusionKind::repaired)
      for (const math::Gauge& gauge : repair.gauges)
        visit(gauge.reference, [&](Expr part) {
          if (part.is(Op::read)) gauges[part] = symbol(gauge.name);
        });
    if (repair.carried.size() == 1 && fusion->kind == FusionKind::repaired)
      repair.carried[0].term = substitute(reduction.values[0], gauges);
    return repair;
  }
  if (reduction.values.size() != 1) return refuse(consumer.text() + " needs no repair.", {consumer.text()});
  repair.carried = {{consumer, reduction.reducer, reduction.values[0], symbol(consumer)}};
  repair.project = symbol(consumer);
  return repair;
}

}  // namespace fathom::algebra
