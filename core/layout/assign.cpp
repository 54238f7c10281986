#include "layout/assign.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "ir/overloaded.hpp"

namespace fathom::layout {
namespace {

using kernel::Access;
using kernel::Block;
using kernel::Statement;

class Assigner {
 public:
  Assigner(const kernel::Kernel& k, const kernel::Role& r, const Target& target) : k_(k), r_(r), target_(target) {}

  Result<Assignment> run() {
    const auto warps = constant_integer(simplify_integer(r_.warps));
    if (!warps || *warps < 1) return refuse("role `" + r_.name.text() + "` has no fixed number of warps", {r_.name.text()});
    all_.places = {target_.lanes, *warps};
    for (const kernel::TileAxis& axis : k_.axes) {
      auto parts = layout::parts_of(axis);
      if (!parts) return tl::unexpected(parts.error());
      for (const Part& part : *parts) all_.parts[part.name] = {part};
      all_.parts[axis.name] = *parts;
    }
    find_products(r_.body);
    // What makes a value decides, a carried one's at the end of its loop; then what takes it; then loads of several axes are spread over
    // the threads, and what goes with them follows; at last whatever is left.
    constexpr int rounds = 7, of_matrices = 3;
    for (int round = 0; round < rounds && !refusal_; ++round) {
      spreads_ = round + 1 == rounds ? 1 : round >= of_matrices ? 2 : 1000;
      block(r_.body);
    }
    if (refusal_) return tl::unexpected(*refusal_);
    return all_;
  }

 private:
  void find_products(const Block& body) {
    for (const Statement& s : body) {
      if (const auto* m = std::get_if<kernel::Mma>(&s.op)) products_[m->atom] = m;
      if (const auto* f = std::get_if<kernel::For>(&s.op)) find_products(f->body);
      if (const auto* w = std::get_if<kernel::When>(&s.op)) find_products(w->body);
      if (const auto* i = std::get_if<kernel::If>(&s.op)) find_products(i->body);
    }
  }

  void set(Symbol name, const Layout& layout) { all_.of.emplace(name, layout); }

  void set_fragment(Symbol name, const kernel::Mma& m, const Fragment MatrixAtom::* fragment) {
    if (all_.of.count(name) > 0 || refusal_) return;
    const MatrixAtom* atom = atom_of(k_, m.atom, target_);
    if (atom == nullptr) {
      refusal_ = Refusal{"the target has no atom `" + m.atom.text() + "`", {m.atom.text()}, {}};
      return;
    }
    auto layout = repeated(atom->*fragment, *atom, product_of(m, all_), all_.places);
    if (layout) {
      set(name, *layout);
    } else {
      refusal_ = layout.error();
    }
  }

  void block(const Block& body) {
    for (const Statement& s : body) statement(s);
  }

  void statement(const Statement& s) {
    std::visit(Overloaded{
                   [&](const kernel::Value& v) { value(v); },
                   [&](const kernel::Mma& m) { set_fragment(m.acc.name, m, &MatrixAtom::accumulator_fragment); },
                   [&](const kernel::For& f) {
                     block(f.body);
                     for (const kernel::Carry& c : f.carry)
                       if (c.value.subscripts.empty()) set(c.value.name, {});
                   },
                   [&](const kernel::When& w) { block(w.body); },
                   [&](const kernel::If& i) { block(i.body); },
                   [&](const auto&) {},
               },
               s.op);
  }

  void value(const kernel::Value& v) {
    if (refusal_) return;
    if (v.layout) {
      const auto at = products_.find(v.layout->atom);
      if (at == products_.end()) {
        refusal_ = Refusal{"no product takes an operand of atom `" + v.layout->atom.text() + "`", {v.layout->atom.text()}, {}};
        return;
      }
      const auto fragment = v.layout->role == kernel::OperandRole::a   ? &MatrixAtom::a_fragment
                            : v.layout->role == kernel::OperandRole::b ? &MatrixAtom::b_fragment
                                                                       : &MatrixAtom::accumulator_fragment;
      return set_fragment(v.targets[0].name, *at->second, fragment);
    }
    const bool states = v.values.size() != v.targets.size();  // of one reduction
    for (std::size_t i = 0; i < v.targets.size(); ++i) {
      const Access& target = v.targets[i];
      if (!is_tile(target) || all_.of.count(target.name) > 0) continue;
      if (target.subscripts.empty()) {
        set(target.name, {});
        continue;
      }
      std::vector<Symbol> wanted;
      std::vector<std::vector<Part>> axes;
      for (const Expr subscript : target.subscripts) {
        axes.push_back(all_.parts_of(subscript));
        for (const Part& part : axes.back()) wanted.push_back(part.name);
      }
      const Expr from = states ? v.values[0] : v.values[i];
      const auto found = layout_of(states ? states_operand(from, i) : from, all_);
      if (found && covers(*found, wanted)) {
        set(target.name, found->over(wanted));
      } else if (target.subscripts.size() >= spreads_ && (spreads_ == 1 || only_loads(from))) {
        set(target.name, spread(states ? in_order_of_memory(target, v.values[0], i) : axes, all_.places));
      }
    }
    if (states) follow_widest(v);
    demand(v);
  }

  /// States of one merge are in the same lanes: those of few axes go with the one of most.
  void follow_widest(const kernel::Value& v) {
    const Layout* widest = nullptr;
    for (const Access& target : v.targets) {
      const auto own = all_.of.find(target.name);
      if (own != all_.of.end() && (widest == nullptr || own->second.digits().size() > widest->digits().size())) widest = &own->second;
    }
    if (widest == nullptr) return;
    const Layout layout = *widest;
    for (const Access& target : v.targets) {
      std::vector<Symbol> wanted;
      for (const Expr subscript : target.subscripts)
        for (const Part& part : all_.parts_of(subscript)) wanted.push_back(part.name);
      if (covers(layout, wanted)) set(target.name, layout.over(wanted));
    }
  }

  /// The axes of a state as the tensor has them that it is loaded from: neighbouring lanes read neighbours.
  std::vector<std::vector<Part>> in_order_of_memory(const Access& target, Expr reduction, std::size_t i) const {
    const std::vector<Expr> values = values_of(reduction);
    const Expr value = values[std::min(i, values.size() - 1)];
    std::vector<std::vector<Part>> axes;
    std::vector<Expr> listed;
    const auto add = [&](Expr subscript) {
      const bool own = std::find(target.subscripts.begin(), target.subscripts.end(), subscript) != target.subscripts.end();
      if (!own || std::find(listed.begin(), listed.end(), subscript) != listed.end()) return;
      listed.push_back(subscript);
      axes.push_back(all_.parts_of(subscript));
    };
    if (value.is(Op::read))
      for (const Expr subscript : value.args()) add(subscript);
    if (listed.size() == target.subscripts.size()) return axes;
    axes.clear();
    listed.clear();
    for (const Expr subscript : target.subscripts) add(subscript);
    return axes;
  }

  /// A value that goes into a larger one is where that is.
  void demand(const kernel::Value& v) {
    for (std::size_t i = 0; i < v.values.size(); ++i) {
      std::optional<Layout> largest = layout_of(v.values[i], all_);
      const auto own = i < v.targets.size() ? all_.of.find(v.targets[i].name) : all_.of.end();
      if (own != all_.of.end() && (!largest || own->second.digits().size() > largest->digits().size())) largest = own->second;
      if (!largest) continue;
      visit(v.values[i], [&](Expr part) {
        if (!part.is(Op::read) || part.args().empty() || all_.of.count(part.name()) > 0 || tiles().count(part.name()) == 0) return;
        std::vector<Symbol> wanted;
        for (const Expr subscript : part.args())
          for (const Part& each : all_.parts_of(subscript)) wanted.push_back(each.name);
        if (!wanted.empty() && covers(*largest, wanted)) set(part.name(), largest->over(wanted));
      });
    }
  }

  /// Every element of the parts is somewhere.
  bool covers(const Layout& layout, const std::vector<Symbol>& wanted) const {
    return std::all_of(wanted.begin(), wanted.end(), [&](Symbol part) {
      std::int64_t held = 1;
      for (const Digit& digit : layout.digits()) held *= digit.part == part ? digit.extent : 1;
      return held >= all_.parts.at(part)[0].extent;
    });
  }

  /// A state merges with what its own operand is; the reduced axes are gone.
  static Expr states_operand(Expr reduction, std::size_t i) {
    const std::vector<Expr> values = values_of(reduction);
    return reduce(Symbol("sum"), {}, bounds_of(reduction), {values[std::min(i, values.size() - 1)]});
  }

  static bool is_tile(const Access& target) {
    return std::all_of(target.subscripts.begin(), target.subscripts.end(), [](Expr e) { return e.is(Op::index); });
  }

  /// Reads no other tile, whose layout would decide.
  bool only_loads(Expr e) const {
    bool only = true;
    visit(e, [&](Expr part) { only = only && !(part.is(Op::read) && tiles().count(part.name()) > 0); });
    return only;
  }
  const std::set<Symbol>& tiles() const {
    if (tiles_.empty()) collect(r_.body);
    return tiles_;
  }
  void collect(const Block& body) const {
    for (const Statement& s : body) {
      if (const auto* v = std::get_if<kernel::Value>(&s.op))
        for (const Access& target : v->targets)
          if (is_tile(target)) tiles_.insert(target.name);  // a place of a tensor has other subscripts, too
      if (const auto* m = std::get_if<kernel::Mma>(&s.op)) tiles_.insert(m->acc.name);
      if (const auto* f = std::get_if<kernel::For>(&s.op)) {
        for (const kernel::Carry& c : f->carry) tiles_.insert(c.value.name);
        collect(f->body);
      }
      if (const auto* w = std::get_if<kernel::When>(&s.op)) collect(w->body);
      if (const auto* i = std::get_if<kernel::If>(&s.op)) collect(i->body);
    }
  }

  const kernel::Kernel& k_;
  const kernel::Role& r_;
  const Target& target_;
  Assignment all_;
  std::map<Symbol, const kernel::Mma*> products_;
  mutable std::set<Symbol> tiles_;
  std::optional<Refusal> refusal_;
  std::size_t spreads_ = 1000;  ///< values of so many axes are spread over the threads where nothing else decides
};

}  // namespace

Result<Assignment> assign(const kernel::Kernel& k, const kernel::Role& r, const Target& target) { return Assigner(k, r, target).run(); }

std::vector<Part> Assignment::parts_of(Expr subscript) const {
  std::vector<Part> found;
  const auto add = [&](Symbol name) {
    if (const auto at = parts.find(name); at != parts.end()) found.insert(found.end(), at->second.begin(), at->second.end());
  };
  if (subscript.is(Op::index)) add(subscript.name());
  if (subscript.is(Op::tuple)) {
    for (const Expr part : subscript.args())
      if (part.is(Op::index)) add(part.name());
  }
  return found;
}

const MatrixAtom* atom_of(const kernel::Kernel& k, Symbol name, const Target& target) {
  const auto use = std::find_if(k.atoms.begin(), k.atoms.end(), [name](const kernel::AtomUse& a) { return a.name == name; });
  if (use == k.atoms.end()) return nullptr;
  const auto row = std::find_if(target.atoms.begin(), target.atoms.end(), [&](const MatrixAtom& a) { return a.name == use->atom; });
  return row == target.atoms.end() ? nullptr : &*row;
}

Product product_of(const kernel::Mma& m, const Assignment& all) {
  const auto indices = [](const Access& access) {
    std::vector<Symbol> found;
    for (const Expr subscript : access.subscripts)
      for (const Symbol name : free_indices(subscript))
        if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
    return found;
  };
  const std::vector<Symbol> a = indices(m.a), b = indices(m.b), acc = indices(m.acc);
  const auto has = [](const std::vector<Symbol>& names, Symbol name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  Product product;
  const auto add = [&](std::vector<Part>& to, Symbol name) {
    const std::vector<Part> parts = all.parts_of(index(name));
    to.insert(to.end(), parts.begin(), parts.end());
  };
  for (const Symbol name : a) add(has(acc, name) ? product.m : product.k, name);
  for (const Symbol name : b)
    if (has(acc, name)) add(product.n, name);
  return product;
}

std::optional<Layout> layout_of(Expr e, const Assignment& all) {
  if (!e) return std::nullopt;
  if (e.is(Op::read)) {
    const auto at = all.of.find(e.name());
    if (at == all.of.end() || e.args().empty()) return std::nullopt;
    return at->second;
  }
  std::optional<Layout> largest;
  for (const Expr arg : e.is(Op::reduce) ? values_of(e) : std::vector<Expr>(e.args().begin(), e.args().end())) {
    const auto one = layout_of(arg, all);
    if (one && (!largest || one->digits().size() > largest->digits().size())) largest = one;
  }
  if (!largest || !e.is(Op::reduce)) return largest;
  std::set<Symbol> gone;
  for (const Bound& bound : bounds_of(e))
    for (const Part& part : all.parts_of(index(bound.index))) gone.insert(part.name);
  std::vector<Symbol> kept;
  for (const Digit& digit : largest->digits())
    if (gone.count(digit.part) == 0) kept.push_back(digit.part);
  return largest->over(kept);
}

}  // namespace fathom::layout
