#include "ir/groups.hpp"

#include <algorithm>

#include "ir/overloaded.hpp"
#include "ir/trips.hpp"

namespace fathom::kernel {

Varying::Varying(const Module& m, const Kernel& k, const Role& role) : k_(k), places_(places_of(m, k)) {
  if (!role.groups || constant_integer(role.groups) == 1) return;
  const Symbol own_number("g");
  if (places_.count(own_number) == 0) names_.insert(own_number);
  for (const Buffer& b : k.buffers)
    if (!b.each.empty()) names_.insert(b.name);
  while (note(role.body, false)) {
  }
}

bool Varying::operator()(Expr e) const {
  bool found = false;
  if (!e || names_.empty()) return found;
  visit(e, [&](Expr part) { found = found || ((part.is(Op::symbol) || part.is(Op::read)) && names_.count(part.name()) > 0); });
  return found;
}

bool Varying::operator()(const Access& access) const {
  return (*this)(access.name) || std::any_of(access.subscripts.begin(), access.subscripts.end(), [&](Expr e) { return (*this)(e); });
}

/// True if another name was found.
bool Varying::note(const Block& block, bool conditional) {
  const auto& varies = *this;
  bool found = false;
  const auto target = [&](const Access& to, bool differs) { found = (places_.count(to.name) == 0 && add(to.name, differs)) || found; };
  const auto slot = [&](Symbol name, const Access& channel) {
    const auto same = [&](const Channel& c) { return c.name == channel.name && !c.each.empty(); };
    found = add(name, std::any_of(k_.channels.begin(), k_.channels.end(), same)) || found;
  };
  for (const Statement& s : block) {
    std::visit(Overloaded{
                   [&](const Value& v) {
                     const bool one_for_all = !v.values.empty() && std::all_of(v.values.begin(), v.values.end(), reduces_over_groups);
                     bool differs = conditional;
                     for (const Expr value : v.values) differs = differs || (!one_for_all && varies(value));
                     for (const Access& to : v.targets) target(to, differs);
                   },
                   [&](const Let& l) { found = add(l.name, conditional || varies(l.value)) || found; },
                   [&](const Mma& m) { target(m.acc, conditional || varies(m.a) || varies(m.b) || varies(m.acc)); },
                   [&](const Acquire& a) { slot(a.slot, a.channel); },
                   [&](const Receive& r) { slot(r.slot, r.channel); },
                   [&](const For& loop) {
                     bool differs = conditional;
                     for (const TaggedRange& r : loop.ranges) differs = differs || varies(r.lo) || varies(r.hi);
                     found = add(loop.variable, differs) || found;
                     for (const TaggedRange& r : loop.ranges) found = add(r.tag, differs) || found;
                     for (const Carry& c : loop.carry) found = add(c.value.name, varies(c.initial)) || found;
                     found = note(loop.body, differs) || found;
                   },
                   [&](const When& w) { found = note(w.body, conditional || varies(w.condition)) || found; },
                   [&](const If& i) { found = note(i.body, conditional || varies(i.condition)) || found; },
                   [&](const auto&) {},
               },
               s.op);
  }
  return found;
}

}  // namespace fathom::kernel
