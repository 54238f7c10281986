#include "passes/cost.hpp"

#include <algorithm>

#include "algebra/open.hpp"

namespace fathom::passes {
namespace {

bool is_arithmetic(Op op) {
  switch (op) {
    case Op::neg:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::pow:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
    case Op::where:
    case Op::min:
    case Op::max:
    case Op::abs:
    case Op::floor:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::random:
      return true;
    default:
      return false;
  }
}

void count(Expr e, NodeFacts& facts, std::set<Expr>& seen, Operations& total) {
  if (!e || e.is(Op::read) || facts.is_index_arithmetic(e) || !seen.insert(e).second) return;
  if (is_transcendental(e.op())) {
    total.exps += 1;
  } else if (is_arithmetic(e.op())) {
    total.flops += 1;
  }
  for (const Expr arg : e.args()) count(arg, facts, seen, total);
}

/// Of starting one statement on one tile, in vector operations: addresses, the loop, what does not fill the pipeline. An estimate.
constexpr double statement_price = 128;

void flatten_product(Expr e, std::vector<Expr>& factors) {
  if (!e.is(Op::mul)) return factors.push_back(e);
  flatten_product(e.arg(0), factors);
  flatten_product(e.arg(1), factors);
}

Cost total(const std::vector<Work>& all, const Target& target) {
  Cost cost;
  for (const Work& work : all) {
    cost.flops += work.flops;
    cost.exps += work.exps;
    cost.bytes += work.read + work.written;
    cost.on_chip_bytes = std::max(cost.on_chip_bytes, work.on_chip);
    cost.ms += milliseconds(work, target);
  }
  return cost;
}

}  // namespace

bool is_transcendental(Op op) {
  switch (op) {
    case Op::exp:
    case Op::exp2:
    case Op::log:
    case Op::log2:
    case Op::sin:
    case Op::cos:
    case Op::tanh:
    case Op::erf:
    case Op::sigmoid:
      return true;
    default:
      return false;
  }
}

bool NodeFacts::is_index_arithmetic(Expr e) {
  if (const bool* known = is_index_arithmetic_.find(&e.node())) return *known;
  bool only = !(e.is(Op::read) || e.is(Op::symbol) || e.is(Op::reduce) || e.is(Op::call) || e.is(Op::random));
  for (const Expr arg : e.args()) only = only && is_index_arithmetic(arg);
  is_index_arithmetic_.insert(&e.node(), only);
  return only;
}

bool NodeFacts::computes(Expr e) {
  if (!e || e.is(Op::read) || is_index_arithmetic(e)) return false;
  if (const bool* known = computes_.find(&e.node())) return *known;
  bool any = is_transcendental(e.op()) || is_arithmetic(e.op());
  for (const Expr arg : e.args()) any = any || computes(arg);
  computes_.insert(&e.node(), any);
  return any;
}

Operations operations_in(Expr e) {
  Operations result;
  NodeFacts facts;
  std::set<Expr> seen;
  count(e, facts, seen, result);
  return result;
}

Operations operations_of_combine(const Reducer& reducer) {
  Operations result;
  if (monoid_operation(reducer)) return {1, 0};
  NodeFacts facts;
  std::set<Expr> seen;
  for (const Component& component : reducer.state) count(component.combine, facts, seen, result);
  return result;
}

bool is_matrix_product(const math::Statement& statement) {
  const auto* reduction = statement.reduction();
  if (reduction == nullptr || reduction->values.size() != 1 || monoid_operation(*reduction->reducer) != Op::add) return false;
  std::vector<Expr> factors;
  flatten_product(reduction->values.front(), factors);
  if (factors.size() < 2) return false;
  // Row axes of one factor and column axes of another.
  std::set<Symbol> shared_by_none;
  std::vector<std::set<Symbol>> indices;
  for (const Expr factor : factors) indices.push_back(free_indices(factor));
  std::set<std::size_t> owners;
  for (const math::Axis& axis : statement.axes) {
    std::size_t owner = factors.size(), holders = 0;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i].contains(axis.index)) owner = i, ++holders;
    }
    if (holders == 1) owners.insert(owner);
  }
  return owners.size() >= 2;
}

double milliseconds(const Work& work, const Target& target) {
  const Rates& rates = target.rates;
  const auto over = [](double amount, double rate) { return rate > 0 ? amount / rate : 0; };
  // What comes on chip is written there and read again.
  const double chip = over(2 * work.loaded, rates.on_chip_bytes);
  const double compute = over(work.matrix_flops + work.fill, rates.matrix_flops) +
                         over(work.flops - work.matrix_flops, rates.vector_flops) + over(work.exps, rates.exps);
  const double overhead = over(work.trips * statement_price * target.lanes, rates.vector_flops);
  const double memory = over(work.read + work.written, rates.memory_bytes);
  const auto at_once = static_cast<double>(std::max(1, target.workgroups));
  const double items = std::max(1.0, work.items);
  // Whole waves: the last one may leave workgroups idle. Items are counts below 2^53, so the conversions are exact.
  const double waves = static_cast<double>(static_cast<std::int64_t>((items + at_once - 1) / at_once));
  const double busy = items / (waves * at_once);
  return 1e3 * (std::max(memory, (compute * work.padding + chip) / busy) + overhead / busy);
}

Cost predict(const Ir& ir, const math::Program& written, const Target& target) {
  if (ir.level == Level::math) {
    return total(work_of(math::is_opened(ir.math()) ? ir.math() : math::open(ir.math()), target), target);
  }
  if (ir.level == Level::loop) return total(work_of(ir.loop(), target), target);
  return total(work_of(ir.module(), math::default_dims(written), target), target);
}

}  // namespace fathom::passes
