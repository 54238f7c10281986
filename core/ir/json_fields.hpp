// The JSON form of every type of the IR: each field once, in the order in which it is written.
// Absent expressions, unset options and the dtype `real` are null; a name that is left out is "".
#pragma once

#include "ir/json_archive.hpp"
#include "ir/kernel.hpp"
#include "ir/loop.hpp"
#include "ir/math.hpp"

namespace fathom::json {

template <>
struct Names<loop::Mark> {
  static constexpr std::array<const char*, 3> all = {"parallel", "sequential", "fold"};
};
template <>
struct Names<kernel::OperandRole> {
  static constexpr std::array<const char*, 3> all = {"a", "b", "acc"};
};
template <>
struct Names<kernel::WorkSource> {
  static constexpr std::array<const char*, 3> all = {"grid", "persistent", "dynamic"};
};

}  // namespace fathom::json

// In the namespaces of the types, so that they are found by argument-dependent look-up.
#define FATHOM_FIELDS(Type) \
  template <class Archive>  \
  void fields(Archive& field, typename Archive::template Ref<Type> x)

namespace fathom::json {

/// {"kind": …} and the fields of the alternative that it names. `kinds` are in the order of the variant.
template <class Variant, std::size_t n>
void alternatives(Writer& field, const Variant& x, const std::array<const char*, n>& kinds) {
  field("kind", std::string(kinds[x.index()]));
  std::visit([&](const auto& each) { fields(field, each); }, x);
}
template <std::size_t at, class Variant>
void emplace_alternative(Variant& x, std::size_t wanted) {
  if constexpr (at < std::variant_size_v<Variant>) {
    if (at == wanted) {
      x.template emplace<at>();
    } else {
      emplace_alternative<at + 1>(x, wanted);
    }
  }
}
template <class Variant, std::size_t n>
void alternatives(Reader& field, Variant& x, const std::array<const char*, n>& kinds) {
  static_assert(n == std::variant_size_v<Variant>);
  const std::string kind = field.text_of("kind");
  if (field.failed()) return;
  std::size_t wanted = 0;
  while (wanted < n && kind != kinds[wanted]) ++wanted;
  if (wanted == n) return field.fail("there is no kind {}", kind);
  emplace_alternative<0>(x, wanted);
  std::visit([&](auto& each) { fields(field, each); }, x);
}

}  // namespace fathom::json

namespace fathom {

FATHOM_FIELDS(Component) {
  field("name", x.name);
  field("dtype", x.dtype);
  field("identity", x.identity);
  field("lift", x.lift);
  field("combine", x.combine);
}
FATHOM_FIELDS(ReducerResult) {
  field("name", x.name);
  field("value", x.value);
}
FATHOM_FIELDS(Reducer) {
  field("name", x.name);
  field("parameters", x.parameters);
  field("state", x.state);
  field("results", x.results);
  field("commutative", x.commutative);
  field("idempotent", x.idempotent);
}

/// A `with` of a function.
using Local = std::pair<Symbol, Expr>;
FATHOM_FIELDS(Local) {
  field("name", x.first);
  field("value", x.second);
}

}  // namespace fathom

namespace fathom::math {

FATHOM_FIELDS(Axis) {
  field("index", x.index);
  field("lo", x.lo);
  field("hi", x.hi);
}
FATHOM_FIELDS(Dimension) {
  field("name", x.name);
  field("value", x.value);
  field("runtime", x.runtime);
  field("span", x.span);
}
FATHOM_FIELDS(Parameter) {
  field("name", x.name);
  field("dtype", x.dtype);
  field("extents", x.extents);
  field("stored", x.stored);
  field("strided", x.strided);
  field("span", x.span);
}
FATHOM_FIELDS(Gauge) {
  field("name", x.name);
  field("reference", x.reference);
}
FATHOM_FIELDS(Carried) {
  field("name", x.name);
  field("reducer", x.reducer);
  field("term", x.term);
  field("move", x.move);
}
FATHOM_FIELDS(Repair) {
  field("gauges", x.gauges);
  field("carried", x.carried);
  field("project", x.project);
}
FATHOM_FIELDS(Map) { field("value", x.value); }
FATHOM_FIELDS(Reduction) {
  field("reducer", x.reducer);
  field("result", x.result);
  field("over", x.over);
  field("values", x.values);
  field("repair", x.repair);
}
FATHOM_FIELDS(Statement) {
  field("name", x.name);
  field("axes", x.axes);
  field("dtype", x.dtype);
  json::alternatives(field, x.value, std::array{"map", "reduction"});
  field("origins", x.origins);
}
FATHOM_FIELDS(Function) {
  field("name", x.name);
  field("indices", x.indices);
  field("parameters", x.parameters);
  field("body", x.body);
  field("locals", x.locals);
  field("span", x.span);
}
FATHOM_FIELDS(Program) {
  field("operator", x.name);
  field("dims", x.dims);
  field.definitions("reducers", x.reducers);
  field("params", x.params);
  field("results", x.results);
  field("conditions", x.conditions);
  field("functions", x.functions);
  field("statements", x.statements);
}

}  // namespace fathom::math

namespace fathom::loop {

FATHOM_FIELDS(TileRange) {
  field("tag", x.tag);
  field("lo", x.lo);
  field("hi", x.hi);
}
FATHOM_FIELDS(Loop) {
  field("index", x.index);
  field("lo", x.lo);
  field("hi", x.hi);
  field("tile", x.tile);
  field("mark", x.mark);
  field("ranges", x.ranges);
  field("body", x.body);
}
FATHOM_FIELDS(Sequence) { field("items", x.items); }
FATHOM_FIELDS(Leaf) { field("statement", x.statement); }
FATHOM_FIELDS(Combine) {
  field("split", x.split);
  field("count", x.count);
  field("statements", x.statements);
}
FATHOM_FIELDS(Node) { json::alternatives(field, x, std::array{"loop", "sequence", "leaf", "combine"}); }
FATHOM_FIELDS(Program) {
  field("math", x.math);
  field("root", x.root);
}

}  // namespace fathom::loop

namespace fathom::kernel {

FATHOM_FIELDS(Access) {
  field("name", x.name);
  field("subscripts", x.subscripts);
}
FATHOM_FIELDS(AxisPart) {
  field("name", x.name);
  field("extent", x.extent);
}
FATHOM_FIELDS(TileAxis) {
  field("name", x.name);
  field("parts", x.parts);
}
FATHOM_FIELDS(OperandLayout) {
  field("atom", x.atom);
  field("role", x.role);
}
FATHOM_FIELDS(Value) {
  field("targets", x.targets);
  field("values", x.values);
  field("otherwise", x.otherwise);
  field("layout", x.layout);
  field("via", x.via);
}
FATHOM_FIELDS(Let) {
  field("name", x.name);
  field("value", x.value);
}
FATHOM_FIELDS(Copy) {
  field("token", x.token);
  field("to", x.to);
  field("from", x.from);
  field("otherwise", x.otherwise);
  field("via", x.via);
}
FATHOM_FIELDS(Mma) {
  field("token", x.token);
  field("atom", x.atom);
  field("acc", x.acc);
  field("accumulate", x.accumulate);
  field("a", x.a);
  field("b", x.b);
}
FATHOM_FIELDS(Await) {
  field("acc", x.acc);
  field("token", x.token);
  field("source_only", x.source_only);
}
FATHOM_FIELDS(Atomic) {
  field("result", x.result);
  field("operation", x.operation);
  field("place", x.place);
  field("value", x.value);
  field("release", x.release);
  field("acquire", x.acquire);
}
FATHOM_FIELDS(TokenUse) {
  field("token", x.token);
  field("source_only", x.source_only);
}
FATHOM_FIELDS(Acquire) {
  field("slot", x.slot);
  field("channel", x.channel);
}
FATHOM_FIELDS(Receive) {
  field("slot", x.slot);
  field("channel", x.channel);
}
FATHOM_FIELDS(Publish) {
  field("channel", x.channel);
  field("after", x.after);
}
FATHOM_FIELDS(Release) {
  field("channel", x.channel);
  field("after", x.after);
}
FATHOM_FIELDS(Take) { field("turn", x.turn); }
FATHOM_FIELDS(Pass) { field("turn", x.turn); }
FATHOM_FIELDS(Carry) {
  field("value", x.value);
  field("initial", x.initial);
}
FATHOM_FIELDS(TaggedRange) {
  field("tag", x.tag);
  field("lo", x.lo);
  field("hi", x.hi);
}
FATHOM_FIELDS(At) {
  field("stage", x.stage);
  field("order", x.order);
}
FATHOM_FIELDS(For) {
  field("variable", x.variable);
  field("ranges", x.ranges);
  field("through", x.through);
  field("carry", x.carry);
  field("body", x.body);
}
FATHOM_FIELDS(When) {
  field("condition", x.condition);
  field("body", x.body);
}
FATHOM_FIELDS(If) {
  field("condition", x.condition);
  field("carry", x.carry);
  field("body", x.body);
}
inline constexpr std::array statement_kinds = {"value",   "let",     "copy", "mma",  "await", "atomic", "acquire", "receive",
                                               "publish", "release", "take", "pass", "for",   "when",   "if"};
FATHOM_FIELDS(Statement) {
  json::alternatives(field, x.op, statement_kinds);
  field("at", x.at);
  field("origins", x.origins);
}
FATHOM_FIELDS(Work) {
  field("variable", x.variable);
  field("lo", x.lo);
  field("hi", x.hi);
  field("source", x.source);
  field("resident", x.resident);
  field("counter", x.counter);
}
FATHOM_FIELDS(AtomUse) {
  field("name", x.name);
  field("atom", x.atom);
}
FATHOM_FIELDS(Buffer) {
  field("name", x.name);
  field("each", x.each);
  field("dtype", x.dtype);
  field("box", x.box);
  field("space", x.space);
  field("alias", x.alias);
}
FATHOM_FIELDS(Channel) {
  field("name", x.name);
  field("each", x.each);
  field("dtype", x.dtype);
  field("box", x.box);
  field("depth", x.depth);
  field("from", x.from);
  field("to", x.to);
}
FATHOM_FIELDS(Turn) {
  field("name", x.name);
  field("over", x.over);
}
FATHOM_FIELDS(Role) {
  field("name", x.name);
  field("groups", x.groups);
  field("warps", x.warps);
  field("registers", x.registers);
  field("partition", x.partition);
  field("combine", x.combine);
  field("body", x.body);
}
FATHOM_FIELDS(Kernel) {
  field("name", x.name);
  field("when", x.when);
  field("after", x.after);
  field("early", x.early);
  field("work", x.work);
  field("axes", x.axes);
  field("atoms", x.atoms);
  field("lets", x.lets);
  field("buffers", x.buffers);
  field("channels", x.channels);
  field("turns", x.turns);
  field("roles", x.roles);
}
FATHOM_FIELDS(Require) {
  field("condition", x.condition);
  field("otherwise", x.otherwise);
}
FATHOM_FIELDS(Workspace) {
  field("name", x.name);
  field("dtype", x.dtype);
  field("box", x.box);
  field("zero", x.zero);
}
FATHOM_FIELDS(Module) {
  field("module", x.name);
  field("dims", x.dims);
  field.definitions("reducers", x.reducers);
  field("params", x.params);
  field("results", x.results);
  field("requires", x.requires_);
  field("lets", x.lets);
  field("workspaces", x.workspaces);
  field("kernels", x.kernels);
}

}  // namespace fathom::kernel

#undef FATHOM_FIELDS
