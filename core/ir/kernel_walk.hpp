// A walk over every name and expression of a module's kernels that may be rewritten in place. Derive from it, say `using Rewrite::apply`,
// and declare `apply` for what is to change: a Symbol, an Expr, an Access, a statement's kind. Names of atoms' rows, of spaces, of paths
// and of the module's tensors are not the kernels' own and are left out.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "ir/kernel.hpp"

namespace fathom::kernel {

template <class Self>
class Rewrite {
 public:
  void apply(Symbol&) {}
  void apply(Expr&) {}
  template <class T>
  void apply(std::vector<T>& list) {
    for (T& item : list) self().apply(item);
  }
  template <class T>
  void apply(std::optional<T>& item) {
    if (item) self().apply(*item);
  }
  void apply(Access& a) { all(a.name, a.subscripts); }
  void apply(OperandLayout& l) { all(l.atom); }
  void apply(TokenUse& t) { all(t.token); }
  void apply(Carry& c) { all(c.value, c.initial); }
  void apply(TaggedRange& r) { all(r.tag, r.lo, r.hi); }
  void apply(AxisPart& p) { all(p.name, p.extent); }
  void apply(TileAxis& a) { all(a.name, a.parts); }
  void apply(AtomUse& a) { all(a.name); }
  void apply(Buffer& b) { all(b.name, b.each, b.box, b.alias); }
  void apply(Channel& c) { all(c.name, c.each, c.box, c.depth, c.from, c.to); }
  void apply(Turn& t) { all(t.name, t.over); }
  void apply(Workspace& w) { all(w.name, w.box); }
  void apply(Require& r) { all(r.condition); }
  void apply(Let& l) { all(l.name, l.value); }
  void apply(Value& v) { all(v.targets, v.values, v.otherwise, v.layout); }
  void apply(Copy& c) { all(c.token, c.to, c.from, c.otherwise); }
  void apply(Mma& m) { all(m.token, m.atom, m.acc, m.a, m.b); }
  void apply(Await& a) { all(a.acc, a.token); }
  void apply(Atomic& a) { all(a.result, a.place, a.value); }
  void apply(Acquire& a) { all(a.slot, a.channel); }
  void apply(Receive& r) { all(r.slot, r.channel); }
  void apply(Publish& p) { all(p.channel, p.after); }
  void apply(Release& r) { all(r.channel, r.after); }
  void apply(Take& t) { all(t.turn); }
  void apply(Pass& p) { all(p.turn); }
  void apply(For& f) { all(f.variable, f.ranges, f.carry, f.body); }
  void apply(When& w) { all(w.condition, w.body); }
  void apply(If& i) { all(i.condition, i.carry, i.body); }
  void apply(Statement& s) {
    std::visit([this](auto& op) { self().apply(op); }, s.op);
  }
  void apply(Role& r) { all(r.name, r.groups, r.warps, r.registers, r.partition, r.body); }
  void apply(Kernel& k) {
    all(k.name, k.when, k.after, k.work.variable, k.work.lo, k.work.hi, k.work.resident, k.work.counter);
    all(k.axes, k.atoms, k.lets, k.buffers, k.channels, k.turns, k.roles);
  }
  void apply(Module& m) { all(m.requires_, m.lets, m.workspaces, m.kernels); }

 private:
  friend Self;
  Rewrite() = default;
  [[nodiscard]] Self& self() { return static_cast<Self&>(*this); }
  template <class... T>
  void all(T&... items) {
    (self().apply(items), ...);
  }
};

}  // namespace fathom::kernel
