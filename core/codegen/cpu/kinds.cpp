// Kind inference over a kernel's statements and read counts.
#include "codegen/cpu/kinds.hpp"

namespace fathom::cpu {
namespace {

using kernel::Block;
using kernel::Statement;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

constexpr int rounds = 8;  // the lattice has six elements, and each round raises at least one name or ends

Kind of_name(Symbol name, const Kinds& kinds) {
  const auto found = kinds.find(name);
  return found == kinds.end() ? Kind::integer : found->second;
}

/// Kinds of the reducer's components for lifted values of the given kinds, or for states merged as they are.
std::vector<Kind> component_kinds(const Reducer& reducer, const std::vector<Kind>& values, bool states, const kernel::Module& module) {
  std::vector<Kind> result;
  Kinds scope;
  for (std::size_t i = 0; i < reducer.parameters.size() && i < values.size(); ++i) scope[reducer.parameters[i]] = values[i];
  for (std::size_t i = 0; i < reducer.state.size(); ++i) {
    const Component& part = reducer.state[i];
    Kind kind = join(states && i < values.size() ? values[i] : kind_of(part.lift, scope, module), kind_of(part.identity, scope, module));
    if (part.dtype != DType::real) kind = kind_of(part.dtype);
    result.push_back(kind);
  }
  for (int round = 0; round < rounds; ++round) {
    Kinds state;
    for (std::size_t i = 0; i < result.size(); ++i) state[reducer.state[i].name] = state[primed(reducer.state[i].name)] = result[i];
    bool changed = false;
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (reducer.state[i].dtype != DType::real) continue;
      const Kind kind = join(result[i], kind_of(reducer.state[i].combine, state, module));
      changed = changed || kind != result[i];
      result[i] = kind;
    }
    if (!changed) break;
  }
  return result;
}

Kind of_reduce(Expr e, const Kinds& kinds, const kernel::Module& module, std::size_t which) {
  const ReducerRef reducer = reducer_of(module, e.name());
  if (reducer == nullptr) return Kind::f32;
  std::vector<Kind> values;
  for (Expr value : values_of(e)) values.push_back(kind_of(value, kinds, module));
  const bool states = e.node().result == "states"_sym;
  const std::vector<Kind> parts = component_kinds(*reducer, values, states, module);
  if (states) return which < parts.size() ? parts[which] : Kind::f32;
  Kinds scope;
  for (std::size_t i = 0; i < parts.size(); ++i) scope[reducer->state[i].name] = parts[i];
  for (std::size_t i = 0; i < reducer->results.size(); ++i) {
    const bool wanted = e.node().result.empty() ? i == which : reducer->results[i].name == e.node().result;
    if (wanted) return kind_of(reducer->results[i].value, scope, module);
  }
  return Kind::f32;
}

struct Inference {
  const kernel::Module& module;
  Kinds& kinds;
  const std::set<Symbol>& fixed;
  bool changed = false;

  void raise(Symbol name, Kind kind) {
    if (fixed.contains(name)) return;
    const auto [place, fresh] = kinds.try_emplace(name, kind);
    if (!fresh && join(place->second, kind) == place->second) return;
    place->second = join(place->second, kind);
    changed = true;
  }
  void assign(const kernel::Value& value) {
    for (std::size_t i = 0; i < value.targets.size(); ++i) {
      const bool shared = i >= value.values.size();
      Expr e = value.values[shared ? 0 : i];
      Kind kind = e.is(Op::reduce) && value.values.size() == 1 ? of_reduce(e, kinds, module, i) : kind_of(e, kinds, module);
      if (value.otherwise) kind = join(kind, kind_of(value.otherwise, kinds, module));
      raise(value.targets[i].name, kind);
    }
  }
  void carry(const std::vector<kernel::Carry>& carried) {
    for (const kernel::Carry& c : carried)
      if (c.initial) raise(c.value.name, kind_of(c.initial, kinds, module));
  }
  void block(const Block& body) {
    for (const Statement& statement : body)
      std::visit(Overloaded{[&](const kernel::Value& s) { assign(s); },
                            [&](const kernel::Let& s) { raise(s.name, kind_of(s.value, kinds, module)); },
                            [&](const kernel::Mma& s) { raise(s.acc.name, Kind::f32); },
                            [&](const kernel::Await& s) {
                              if (s.acc) raise(s.acc->name, Kind::f32);
                            },
                            [&](const kernel::Acquire& s) { raise(s.slot, of_name(s.channel.name, kinds)); },
                            [&](const kernel::Receive& s) { raise(s.slot, of_name(s.channel.name, kinds)); },
                            [&](const kernel::For& s) {
                              for (const kernel::TaggedRange& range : s.ranges)
                                if (!range.tag.empty()) raise(range.tag, Kind::boolean);
                              carry(s.carry);
                              block(s.body);
                            },
                            [&](const kernel::When& s) { block(s.body); }, [&](const kernel::If& s) { block(s.body); }, [](const auto&) {}},
                 statement.op);
  }
};

}  // namespace

Kind kind_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
      return Kind::boolean;
    case DType::i64:
    case DType::i32:
    case DType::i8:
      return Kind::integer;
    case DType::f64:
      return Kind::f64;
    default:
      return Kind::f32;
  }
}

DType storage_of(Kind kind) {
  switch (settled(kind)) {
    case Kind::boolean:
      return DType::boolean;
    case Kind::integer:
      return DType::i64;
    case Kind::f64:
      return DType::f64;
    default:
      return DType::f32;
  }
}

ReducerRef reducer_of(const kernel::Module& module, Symbol name) {
  for (const ReducerRef& reducer : module.reducers)
    if (reducer->name == name) return reducer;
  return builtin_reducer(name);
}

Kind kind_of(Expr e, const Kinds& kinds, const kernel::Module& module) {
  const auto of = [&](std::size_t i) { return kind_of(e.arg(i), kinds, module); };
  switch (e.op()) {
    case Op::number:
      return e.node().inexact == 0 && e.node().number.is_integer() ? Kind::literal : Kind::real_literal;
    case Op::infinity:
      return Kind::real_literal;
    case Op::boolean:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::eq:
    case Op::ne:
    case Op::lt:
    case Op::le:
    case Op::gt:
    case Op::ge:
      return Kind::boolean;
    case Op::index:
    case Op::dim:
    case Op::symbol:
    case Op::read:
      return of_name(e.name(), kinds);
    case Op::cast:
      return kind_of(e.node().dtype);
    case Op::reduce:
      return of_reduce(e, kinds, module, 0);
    case Op::tuple:
    case Op::extent:
      return Kind::integer;
    case Op::neg:
    case Op::abs:
    case Op::floor:
      return of(0) == Kind::boolean ? Kind::integer : of(0);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::floordiv:
    case Op::mod:
      return std::max(join(of(0), of(1)), Kind::literal);
    case Op::div:
    case Op::pow: {
      const Kind kind = join(of(0), of(1));
      if (e.op() == Op::pow) return kind;
      return kind == Kind::f64 ? kind : kind == Kind::real_literal || kind == Kind::literal ? Kind::real_literal : Kind::f32;
    }
    case Op::min:
    case Op::max:
      return join(of(0), of(1));
    case Op::where:
      return join(of(1), of(2));
    default:
      return e.args().empty() ? Kind::f32 : std::max(of(0), Kind::f32);
  }
}

Kinds infer_kinds(const kernel::Module& module, const kernel::Kernel& k) {
  Kinds kinds;
  for (const math::Parameter& p : module.params) kinds[p.name] = kind_of(p.dtype);
  for (const math::Parameter& p : module.results) kinds[p.name] = kind_of(p.dtype);
  for (const kernel::Workspace& w : module.workspaces) kinds[w.name] = kind_of(w.dtype);
  for (const kernel::Buffer& buffer : k.buffers) kinds[buffer.name] = kind_of(buffer.dtype);
  for (const kernel::Channel& channel : k.channels) kinds[channel.name] = kind_of(channel.dtype);
  std::set<Symbol> fixed;
  for (const auto& [name, kind] : kinds) fixed.insert(name);
  for (int round = 0; round < rounds; ++round) {
    Inference inference{module, kinds, fixed};
    for (const kernel::Let& let : module.lets) inference.raise(let.name, kind_of(let.value, kinds, module));
    for (const kernel::Let& let : k.lets) inference.raise(let.name, kind_of(let.value, kinds, module));
    for (const kernel::Role& role : k.roles) inference.block(role.body);
    if (!inference.changed && round > 0) break;
  }
  return kinds;
}

void count_reads(Expr e, std::map<Symbol, int>& counts) {
  if (!e) return;
  visit(e, [&](Expr node) {
    if (node.is(Op::read) || node.is(Op::symbol) || node.is(Op::index) || node.is(Op::dim)) ++counts[node.name()];
  });
}

void count_reads(const Block& body, std::map<Symbol, int>& counts) {
  const auto access = [&](const kernel::Access& a) {
    ++counts[a.name];
    for (Expr e : a.subscripts) count_reads(e, counts);
  };
  const auto subscripts = [&](const kernel::Access& a) {
    for (Expr e : a.subscripts) count_reads(e, counts);
  };
  for (const Statement& statement : body)
    std::visit(Overloaded{[&](const kernel::Value& s) {
                            for (const kernel::Access& target : s.targets) subscripts(target);
                            for (Expr e : s.values) count_reads(e, counts);
                            count_reads(s.otherwise, counts);
                          },
                          [&](const kernel::Let& s) { count_reads(s.value, counts); },
                          [&](const kernel::Copy& s) {
                            subscripts(s.to);
                            count_reads(s.from, counts);
                            count_reads(s.otherwise, counts);
                          },
                          [&](const kernel::Mma& s) {
                            access(s.a);
                            access(s.b);
                            if (s.accumulate) access(s.acc);
                          },
                          [&](const kernel::For& s) {
                            for (const kernel::TaggedRange& range : s.ranges) {
                              count_reads(range.lo, counts);
                              count_reads(range.hi, counts);
                            }
                            for (const kernel::Carry& c : s.carry) {
                              count_reads(c.initial, counts);
                              ++counts[c.value.name];
                            }
                            count_reads(s.body, counts);
                          },
                          [&](const kernel::When& s) {
                            count_reads(s.condition, counts);
                            count_reads(s.body, counts);
                          },
                          [&](const kernel::If& s) {
                            access(s.condition);
                            for (const kernel::Carry& c : s.carry) ++counts[c.value.name];
                            count_reads(s.body, counts);
                          },
                          [](const auto&) {}},
               statement.op);
}

}  // namespace fathom::cpu
