#include "lang/complete_kernel.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/kernel_walk.hpp"

namespace fathom::lang {
namespace {

using kernel::Access;
using kernel::Kernel;
using kernel::Module;
using kernel::Rewrite;

// ---- dimensions ----

void add_dimensions(Module& m) {
  std::set<Symbol> known;
  for (const math::Dimension& d : m.dims) known.insert(d.name);
  for (const auto* list : {&m.params, &m.results}) {
    for (const math::Parameter& p : *list) {
      for (const Expr extent : p.extents) {
        visit(extent, [&](Expr part) {
          if (!part.is(Op::dim) || !known.insert(part.name()).second) return;
          math::Dimension d;
          d.name = part.name();
          d.value = 1;
          d.runtime = true;
          m.dims.push_back(d);
        });
      }
    }
  }
}

// ---- names apart ----

using Ranks = std::map<Symbol, std::size_t>;

Ranks ranks_of(const Module& m) {
  Ranks ranks;
  for (const auto* list : {&m.params, &m.results})
    for (const math::Parameter& p : *list) ranks[p.name] = p.extents.size();
  for (const kernel::Workspace& w : m.workspaces) ranks[w.name] = w.box.size();
  return ranks;
}

/// Collects values that have the name of a tensor, by number of subscripts; then gives them names of their own.
class Apart : public Rewrite<Apart> {
 public:
  explicit Apart(const Ranks& ranks) : ranks_(ranks) {}
  using Rewrite::apply;
  void apply(kernel::Value& v) {
    for (const Access& target : v.targets) define(target);
    Rewrite::apply(v);
  }
  void apply(kernel::Carry& c) {
    define(c.value);
    Rewrite::apply(c);
  }
  void apply(kernel::Mma& mma) {
    define(mma.acc);
    Rewrite::apply(mma);
  }
  void apply(Access& a) {
    Rewrite::apply(a);
    a.name = name_of(a.name, a.subscripts.size());
  }
  void apply(Expr& e) {
    if (!e) return;
    e = transform(e, [this](Expr part) {
      if (!part.is(Op::read)) return part;
      const Symbol name = name_of(part.name(), part.args().size());
      return name == part.name() ? part : read(name, {part.args().begin(), part.args().end()});
    });
  }
  /// Walks once to find them and once to rename them.
  void run(Kernel& k) {
    Kernel seen = k;
    apply(seen);
    if (!values_.empty()) apply(k);
  }

 private:
  void define(const Access& target) {
    const auto tensor = ranks_.find(target.name);
    const bool axes = std::all_of(target.subscripts.begin(), target.subscripts.end(), [](Expr e) { return e.is(Op::index); });
    if (tensor != ranks_.end() && axes && tensor->second != target.subscripts.size())
      values_[target.name] = {target.subscripts.size(), Symbol(target.name.text() + ".t")};
  }
  [[nodiscard]] Symbol name_of(Symbol name, std::size_t rank) const {
    const auto at = values_.find(name);
    return at != values_.end() && at->second.first == rank ? at->second.second : name;
  }
  const Ranks& ranks_;
  std::map<Symbol, std::pair<std::size_t, Symbol>> values_;
};

// ---- axes ----

class UndeclaredAxes : public Rewrite<UndeclaredAxes> {
 public:
  UndeclaredAxes(const Module& m, const Kernel& k) {
    const auto place = [this](Symbol name, const std::vector<Expr>& box, int preference) { places_[name] = {box, preference}; };
    for (const auto* list : {&m.params, &m.results})
      for (const math::Parameter& p : *list) place(p.name, p.extents, 1);
    for (const kernel::Workspace& w : m.workspaces) place(w.name, w.box, 2);
    for (const kernel::Buffer& b : k.buffers) {
      std::vector<Expr> box = b.box;
      if (!b.each.empty()) box.insert(box.begin(), Expr());
      place(b.name, box, 2);
    }
    for (const kernel::Channel& c : k.channels) place(c.name, c.box, 2);
    for (const kernel::TileAxis& axis : k.axes) {
      declared_.insert(axis.name);
      for (const kernel::AxisPart& part : axis.parts) declared_.insert(part.name);
    }
    declared_.insert(Symbol("g"));
  }
  using Rewrite::apply;
  void apply(kernel::Acquire& a) { places_[a.slot] = places_[a.channel.name]; }
  void apply(kernel::Receive& r) { places_[r.slot] = places_[r.channel.name]; }
  void apply(Access& a) {
    note(a.name, a.subscripts);
    Rewrite::apply(a);
  }
  void apply(Expr& e) {
    if (!e) return;
    visit(e, [this](Expr part) {
      if (part.is(Op::read)) note(part.name(), {part.args().begin(), part.args().end()});
      if (!part.is(Op::reduce)) return;
      for (const Bound& bound : bounds_of(part))
        if (bound.lo) ranged_.insert(bound.index);
    });
  }
  void declare_in(Kernel& k) const {
    for (const auto& [name, found] : extents_)
      if (ranged_.count(name) == 0) k.axes.push_back({name, {{name, found.extent}}});
  }

 private:
  struct Place {
    std::vector<Expr> box;
    int preference = 0;
  };
  struct Found {
    Expr extent;
    int preference = 0;
  };
  void note(Symbol name, const std::vector<Expr>& subscripts) {
    const auto at = places_.find(name);
    if (at == places_.end() || at->second.box.size() != subscripts.size()) return;
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      if (!subscripts[d].is(Op::index) || declared_.count(subscripts[d].name()) > 0 || !at->second.box[d]) continue;
      Found& found = extents_[subscripts[d].name()];
      if (at->second.preference > found.preference) found = {at->second.box[d], at->second.preference};
    }
  }
  std::map<Symbol, Place> places_;
  std::map<Symbol, Found> extents_;
  std::set<Symbol> declared_, ranged_;
};

}  // namespace

void complete(Module& m) {
  add_dimensions(m);
  const Ranks ranks = ranks_of(m);
  for (Kernel& k : m.kernels) {
    Apart(ranks).run(k);
    UndeclaredAxes axes(m, k);
    Kernel seen = k;
    axes.apply(seen);
    axes.declare_in(k);
  }
}

}  // namespace fathom::lang
