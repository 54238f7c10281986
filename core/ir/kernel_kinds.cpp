// Kind inference over expressions, reducers and the statements of a kernel.
#include "ir/kernel_kinds.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/comparison.hpp"
#include "ir/overloaded.hpp"

namespace fathom::kernel {
namespace {

constexpr int most_kind_rounds = 8;  // the lattice has six elements, and each round raises at least one name or ends

Kind of_name(Symbol name, const Kinds& kinds) {
  const auto found = kinds.find(name);
  return found == kinds.end() ? Kind::integer : found->second;
}

bool is_natural(Expr e) { return e.is(Op::number) && e.node().inexact == 0 && e.node().number.is_integer() && e.node().number.sign() >= 0; }

bool reads_component(Expr e, Symbol component) { return contains(e, symbol(component)) || contains(e, symbol(primed(component))); }

/// Is the component chosen and compared only, never computed with? Then its identity need only be its least or greatest value.
bool is_only_chosen(Expr e, Symbol component) {
  if (!reads_component(e, component) || e.is(Op::symbol)) return true;
  const bool chooses = is_condition(e.op()) || e.is(Op::min) || e.is(Op::max) || e.is(Op::where);
  return chooses && std::all_of(e.args().begin(), e.args().end(), [&](Expr arg) { return is_only_chosen(arg, component); });
}

bool is_only_chosen(const Reducer& reducer, Symbol component) {
  return std::all_of(reducer.state.begin(), reducer.state.end(), [&](const Component& c) { return is_only_chosen(c.combine, component); });
}

/// Kinds of the nodes of one expression: what is shared is asked once.
class NodeKinds {
 public:
  NodeKinds(const Kinds& names, const std::vector<ReducerRef>& reducers) : names_(names), reducers_(reducers) {}

  Kind of(Expr root) {
    visit(root, [&](Expr e) { known_.try_emplace(&e.node(), compute(e)); });
    return known_.at(&root.node());
  }
  /// Of the result at `which`, where one reduction gives several.
  Kind of_reduce(Expr e, std::size_t which) {
    const ReducerRef reducer = reducer_named(reducers_, e.name());
    if (reducer == nullptr) return Kind::f32;
    std::vector<Kind> values;
    for (const Expr value : values_of(e)) values.push_back(known_.count(&value.node()) > 0 ? known_.at(&value.node()) : of(value));
    const bool states = e.node().result == Symbol("states");
    const std::vector<Kind> parts = component_kinds(*reducer, values, states, reducers_);
    if (states) return which < parts.size() ? parts[which] : Kind::f32;
    return result_kind(*reducer, e.node().result, which, parts, reducers_);
  }

 private:
  Kind compute(Expr e);

  const Kinds& names_;
  const std::vector<ReducerRef>& reducers_;
  std::unordered_map<const ExprNode*, Kind> known_;
};

struct Inference {
  const Module& module;
  Kinds& kinds;
  const std::set<Symbol>& fixed;
  bool changed = false;

  [[nodiscard]] Kind of(Expr e) const { return kind_of(e, kinds, module.reducers); }
  void raise(Symbol name, Kind kind) {
    if (fixed.count(name) > 0) return;
    const auto [place, fresh] = kinds.try_emplace(name, kind);
    if (!fresh && join(place->second, kind) == place->second) return;
    place->second = join(place->second, kind);
    changed = true;
  }
  void assign(const Value& value) {
    for (std::size_t i = 0; i < value.targets.size(); ++i) {
      const bool shared = i >= value.values.size();
      const Expr e = value.values[shared ? 0 : i];
      Kind kind = e.is(Op::reduce) && value.values.size() == 1 ? NodeKinds(kinds, module.reducers).of_reduce(e, i) : of(e);
      if (value.otherwise) kind = join(kind, of(value.otherwise));
      raise(value.targets[i].name, kind);
    }
  }
  void carry(const std::vector<Carry>& carried) {
    for (const Carry& c : carried)
      if (c.initial) raise(c.value.name, of(c.initial));
  }
  void block(const Block& body) {
    for (const Statement& statement : body)
      std::visit(Overloaded{[&](const Value& s) { assign(s); }, [&](const Let& s) { raise(s.name, of(s.value)); },
                            [&](const Mma& s) { raise(s.acc.name, Kind::f32); },
                            [&](const Await& s) {
                              if (s.acc) raise(s.acc->name, Kind::f32);
                            },
                            [&](const Acquire& s) { raise(s.slot, of_name(s.channel.name, kinds)); },
                            [&](const Receive& s) { raise(s.slot, of_name(s.channel.name, kinds)); },
                            [&](const For& s) {
                              for (const TaggedRange& range : s.ranges)
                                if (!range.tag.empty()) raise(range.tag, Kind::boolean);
                              carry(s.carry);
                              block(s.body);
                            },
                            [&](const When& s) { block(s.body); }, [&](const If& s) { block(s.body); }, [](const auto&) {}},
                 statement.op);
  }
};

Kind NodeKinds::compute(Expr e) {
  if (is_condition(e.op())) return Kind::boolean;
  const auto arg = [&](std::size_t i) { return known_.at(&e.arg(i).node()); };
  switch (e.op()) {
    case Op::number:
      return e.node().inexact == 0 && e.node().number.is_integer() ? Kind::literal : Kind::real_literal;
    case Op::infinity:
      return Kind::real_literal;
    case Op::index:
    case Op::dim:
    case Op::symbol:
    case Op::read:
      return of_name(e.name(), names_);
    case Op::cast:
      return kind_of(e.node().dtype);
    case Op::reduce:
      return of_reduce(e, 0);
    case Op::tuple:
    case Op::extent:
      return Kind::integer;
    case Op::neg:
    case Op::abs:
    case Op::floor:
      return arg(0) == Kind::boolean ? Kind::integer : arg(0);
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::floordiv:
    case Op::mod:
      return std::max(join(arg(0), arg(1)), Kind::literal);
    case Op::pow:
      if (is_natural(e.arg(1))) return std::max(arg(0), Kind::literal);
      [[fallthrough]];
    case Op::div: {
      const Kind kind = join(arg(0), arg(1));
      return kind == Kind::f64 ? kind : kind == Kind::real_literal || kind == Kind::literal ? Kind::real_literal : Kind::f32;
    }
    case Op::min:
    case Op::max:
      return join(arg(0), arg(1));
    case Op::where:
      return join(arg(1), arg(2));
    default:
      return e.args().empty() ? Kind::f32 : std::max(arg(0), Kind::f32);
  }
}

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

std::vector<Kind> component_kinds(const Reducer& reducer, const std::vector<Kind>& values, bool states,
                                  const std::vector<ReducerRef>& reducers) {
  std::vector<Kind> result;
  Kinds scope;
  for (std::size_t i = 0; i < reducer.parameters.size() && i < values.size(); ++i) scope[reducer.parameters[i]] = values[i];
  for (std::size_t i = 0; i < reducer.state.size(); ++i) {
    const Component& part = reducer.state[i];
    Kind kind = states && i < values.size() ? values[i] : kind_of(part.lift, scope, reducers);
    if (!is_integer_kind(kind) || !is_infinite(part.identity) || !is_only_chosen(reducer, part.name))
      kind = join(kind, kind_of(part.identity, scope, reducers));
    if (part.dtype != DType::real) kind = kind_of(part.dtype);
    result.push_back(kind);
  }
  for (int round = 0; round < most_kind_rounds; ++round) {
    Kinds state;
    for (std::size_t i = 0; i < result.size(); ++i) state[reducer.state[i].name] = state[primed(reducer.state[i].name)] = result[i];
    bool changed = false;
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (reducer.state[i].dtype != DType::real) continue;
      const Kind kind = join(result[i], kind_of(reducer.state[i].combine, state, reducers));
      changed = changed || kind != result[i];
      result[i] = kind;
    }
    if (!changed) break;
  }
  return result;
}

Kind result_kind(const Reducer& reducer, Symbol result, std::size_t which, const std::vector<Kind>& components,
                 const std::vector<ReducerRef>& reducers) {
  Kinds scope;
  for (std::size_t i = 0; i < components.size(); ++i) scope[reducer.state[i].name] = components[i];
  for (std::size_t i = 0; i < reducer.results.size(); ++i) {
    const bool wanted = result.empty() ? i == which : reducer.results[i].name == result;
    if (wanted) return kind_of(reducer.results[i].value, scope, reducers);
  }
  return Kind::f32;
}

Expr identity_in(Kind kind, Expr identity) {
  return is_integer_kind(kind) && is_infinite(identity) ? cast(DType::i64, identity) : identity;
}

bool is_integer_end(Expr e) { return e.is(Op::cast) && is_integer(e.node().dtype) && is_infinite(e.arg(0)); }

Kind kind_of(Expr e, const Kinds& kinds, const std::vector<ReducerRef>& reducers) { return NodeKinds(kinds, reducers).of(e); }

Kinds infer_kinds(const Module& module, const Kernel& k) {
  Kinds kinds;
  for (const math::Parameter& p : module.params) kinds[p.name] = kind_of(p.dtype);
  for (const math::Parameter& p : module.results) kinds[p.name] = kind_of(p.dtype);
  for (const Workspace& w : module.workspaces) kinds[w.name] = kind_of(w.dtype);
  for (const Buffer& buffer : k.buffers) kinds[buffer.name] = kind_of(buffer.dtype);
  for (const Channel& channel : k.channels) kinds[channel.name] = kind_of(channel.dtype);
  std::set<Symbol> fixed;
  for (const auto& [name, kind] : kinds) fixed.insert(name);
  for (int round = 0; round < most_kind_rounds; ++round) {
    Inference inference{module, kinds, fixed};
    for (const Let& let : module.lets) inference.raise(let.name, inference.of(let.value));
    for (const Let& let : k.lets) inference.raise(let.name, inference.of(let.value));
    for (const Role& role : k.roles) inference.block(role.body);
    if (!inference.changed && round > 0) break;
  }
  return kinds;
}

}  // namespace fathom::kernel
