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
  return ranks;
}

/// All names of a kernel.
class Names : public Rewrite<Names> {
 public:
  using Rewrite::apply;
  void apply(Symbol& s) { all.insert(s); }
  void apply(Expr& e) {
    if (!e) return;
    visit(e, [this](Expr part) { all.insert(part.node().name); });
  }
  std::set<Symbol> all;
};

/// Collects values that have the name of a parameter or result, by number of subscripts; then gives them names of their own. (A workspace
/// is no such tensor: one subscript too few would silently store nothing.)
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
    if (values_.empty()) return;
    Names names;
    names.apply(seen);
    for (const auto& [tensor, rank] : ranks_) names.all.insert(tensor);
    for (auto& [value, name] : values_) {
      std::string free = value.first.text() + ".t";
      while (!names.all.insert(Symbol(free)).second) free += "'";
      name = Symbol(free);
    }
    apply(k);
  }

 private:
  void define(const Access& target) {
    const auto tensor = ranks_.find(target.name);
    const bool axes = std::all_of(target.subscripts.begin(), target.subscripts.end(), [](Expr e) { return e.is(Op::index); });
    if (tensor != ranks_.end() && axes && tensor->second != target.subscripts.size())
      values_.try_emplace({target.name, target.subscripts.size()}, target.name);
  }
  [[nodiscard]] Symbol name_of(Symbol name, std::size_t rank) const {
    const auto at = values_.find({name, rank});
    return at == values_.end() ? name : at->second;
  }
  const Ranks& ranks_;
  std::map<std::pair<Symbol, std::size_t>, Symbol> values_;  ///< by name and rank
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
  void apply(Expr& e) { look(e, {}); }
  /// The fault of an index that has two extents, or nothing.
  [[nodiscard]] std::optional<Refusal> declare_in(Kernel& k) const {
    for (const auto& [name, found] : extents_) {
      if (found.other)
        return Refusal{"the axis `" + name.text() + "` of kernel `" + k.name.text() +
                           "` is declared nowhere, and what it is a subscript of has " + print(found.extent) +
                           " elements in one place and " + print(found.other) + " in another",
                       {name.text()},
                       "declare it: `axis " + name.text() + " = " + name.text() + ":" + print(found.extent) + "`"};
      k.axes.push_back({name, {{name, found.extent}}});
    }
    return std::nullopt;
  }

 private:
  struct Place {
    std::vector<Expr> box;
    int preference = 0;
  };
  struct Found {
    Expr extent, other;
    int preference = 0;
  };
  /// An index with a range of its own is no axis where it has it.
  void look(Expr e, std::set<Symbol> ranged) {
    if (!e) return;
    if (e.is(Op::reduce)) {
      for (const Bound& bound : bounds_of(e)) {
        if (!bound.lo) continue;
        look(bound.lo, ranged);
        look(bound.hi, ranged);
        ranged.insert(bound.index);
      }
      for (const Expr value : values_of(e)) look(value, ranged);
      return;
    }
    if (e.is(Op::read)) note(e.name(), {e.args().begin(), e.args().end()}, ranged);
    for (const Expr arg : e.args()) look(arg, ranged);
  }
  void note(Symbol name, const std::vector<Expr>& subscripts, const std::set<Symbol>& ranged = {}) {
    const auto at = places_.find(name);
    if (at == places_.end() || at->second.box.size() != subscripts.size()) return;
    for (std::size_t d = 0; d < subscripts.size(); ++d) {
      const bool free =
          subscripts[d].is(Op::index) && declared_.count(subscripts[d].name()) == 0 && ranged.count(subscripts[d].name()) == 0;
      if (!free || !at->second.box[d]) continue;
      Found& found = extents_[subscripts[d].name()];
      const Expr extent = at->second.box[d];
      if (at->second.preference > found.preference) {
        found = {extent, {}, at->second.preference};
      } else if (at->second.preference == found.preference && simplify_integer(extent - found.extent) != number(0)) {
        found.other = extent;
      }
    }
  }
  std::map<Symbol, Place> places_;
  std::map<Symbol, Found> extents_;
  std::set<Symbol> declared_;
};

}  // namespace

std::optional<Refusal> complete(Module& m) {
  add_dimensions(m);
  const Ranks ranks = ranks_of(m);
  for (Kernel& k : m.kernels) {
    Apart(ranks).run(k);
    UndeclaredAxes axes(m, k);
    Kernel seen = k;
    axes.apply(seen);
    if (auto wrong = axes.declare_in(k)) return wrong;
  }
  return std::nullopt;
}

}  // namespace fathom::lang
