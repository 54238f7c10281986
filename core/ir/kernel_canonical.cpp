// Canonical modules: two spellings of one plan become one text. Names are told apart by their surroundings, not by their spelling: each
// name's mark is refined, round by round, by the texts of all statements that mention it (written with the marks of the round before).
// Declarations and independent statements are then ordered by marks, and names are counted in the order of the text.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "ir/kernel_walk.hpp"

namespace fathom::kernel {
namespace {

constexpr int rounds = 10;  // a mark sees statements that many uses away

using Names = std::map<Symbol, Symbol>;

// ---- renaming ----

class Renamer : public Rewrite<Renamer> {
 public:
  explicit Renamer(const Names& names) : names_(names) {}
  using Rewrite::apply;
  void apply(Symbol& s) {
    if (const auto at = names_.find(s); at != names_.end()) s = at->second;
  }
  void apply(Expr& e) {
    if (e) e = transform(e, [this](Expr part) { return renamed(part); });
  }

 private:
  [[nodiscard]] Expr renamed(Expr e) {
    Symbol name = e.node().name;
    apply(name);
    switch (e.op()) {
      case Op::index:
        return index(name);
      case Op::symbol:
        return symbol(name);
      case Op::read:
        return read(name, std::vector<Expr>(e.args().begin(), e.args().end()));
      case Op::reduce: {
        std::vector<Bound> bound = bounds_of(e);
        for (Bound& b : bound) apply(b.index);
        return reduce(e.name(), e.node().result, bound, values_of(e));
      }
      default:
        return e;
    }
  }
  const Names& names_;
};

/// Every name that a visitor may rename, in the order of the text: a Renamer that only collects would need the same walk, so it is that
/// walk.
class Collector {
 public:
  explicit Collector(const std::set<Symbol>& kept) : kept_(kept) {}
  void add(Symbol s) {
    if (!s.empty() && kept_.count(s) == 0 && seen_.insert(s).second) order.push_back(s);
  }
  void bound_in(Expr e) {
    if (!e) return;
    visit(e, [this](Expr part) {
      if (!part.is(Op::reduce)) return;
      for (const Bound& b : bounds_of(part)) add(b.index);
    });
  }
  void block(const Block& body) {
    for (const Statement& s : body) statement(s);
  }
  void statement(const Statement& s) {
    if (const auto* v = std::get_if<Value>(&s.op)) {
      for (const Expr value : v->values) bound_in(value);
      for (const Access& t : v->targets) add(t.name);
    } else if (const auto* l = std::get_if<Let>(&s.op)) {
      bound_in(l->value);
      add(l->name);
    } else if (const auto* c = std::get_if<Copy>(&s.op)) {
      bound_in(c->from);
      add(c->token);
    } else if (const auto* m = std::get_if<Mma>(&s.op)) {
      add(m->acc.name);
      add(m->token);
    } else if (const auto* a = std::get_if<Await>(&s.op)) {
      if (a->acc) add(a->acc->name);
    } else if (const auto* n = std::get_if<Atomic>(&s.op)) {
      add(n->result);
    } else if (const auto* q = std::get_if<Acquire>(&s.op)) {
      add(q->slot);
    } else if (const auto* r = std::get_if<Receive>(&s.op)) {
      add(r->slot);
    } else if (const auto* f = std::get_if<For>(&s.op)) {
      for (const Carry& carried : f->carry) add(carried.value.name);
      add(f->variable);
      for (const TaggedRange& range : f->ranges) add(range.tag);
      block(f->body);
    } else if (const auto* w = std::get_if<When>(&s.op)) {
      block(w->body);
    } else if (const auto* i = std::get_if<If>(&s.op)) {
      block(i->body);
    }
  }
  void kernel(const Kernel& k) {
    add(k.name);
    add(k.work.variable);
    for (const TileAxis& a : k.axes) {
      add(a.name);
      for (const AxisPart& p : a.parts) add(p.name);
    }
    for (const Let& l : k.lets) add(l.name);
    for (const AtomUse& a : k.atoms) add(a.name);
    for (const Buffer& b : k.buffers) add(b.name);
    for (const Channel& c : k.channels) add(c.name);
    for (const Turn& t : k.turns) add(t.name);
    for (const Role& r : k.roles) {
      add(r.name);
      block(r.body);
    }
  }
  std::vector<Symbol> order;

 private:
  const std::set<Symbol>& kept_;
  std::set<Symbol> seen_;
};

template <class T>
T renamed(T item, const Names& names) {
  Renamer(names).apply(item);
  return item;
}

// ---- marks ----

/// One line of the text: a declaration or a statement without its block.
using Line = std::function<std::string(const Names&)>;

class Marks {
 public:
  Marks(const Module& m, const std::vector<Symbol>& names) : names_(names) {
    for (const Workspace& w : m.workspaces) declaration(w, &Module::workspaces);
    for (const Let& l : m.lets) declaration(l, &Module::lets);
    for (const Kernel& k : m.kernels) kernel(k);
    for (const Symbol n : names_) marks_[n] = Symbol("h");
    find_mentions();
    for (int round = 0; round < rounds; ++round) refine();
  }
  [[nodiscard]] const Names& names() const { return marks_; }
  /// Where statements first name it: of two that nothing else tells apart, as turns that are taken one after the other.
  [[nodiscard]] std::size_t first_use(Symbol name) const {
    const auto lines = mentions_.find(name);
    if (lines == mentions_.end()) return lines_.size();
    const auto used = std::find_if(lines->second.begin(), lines->second.end(), [&](std::size_t line) { return in_body_.count(line) > 0; });
    return used == lines->second.end() ? lines_.size() : *used;
  }

 private:
  template <class T>
  void declaration(const T& item, std::vector<T> Module::* list) {
    lines_.push_back([item, list](const Names& n) {
      Module shell;
      (shell.*list).push_back(renamed(item, n));
      return print(shell);
    });
  }
  template <class T>
  void declaration(const T& item, std::vector<T> Kernel::* list, const std::string& prefix) {
    lines_.push_back([item, list, prefix](const Names& n) {
      Kernel shell;
      (shell.*list).push_back(renamed(item, n));
      shell.work.lo = shell.work.hi = number(0);
      Module around;
      around.kernels.push_back(std::move(shell));
      return prefix + print(around);
    });
  }
  void kernel(const Kernel& k) {
    Kernel head = k;
    for (Role& r : head.roles) r.body.clear();
    head.axes.clear();
    head.lets.clear();
    head.atoms.clear();
    head.buffers.clear();
    head.channels.clear();
    head.turns.clear();
    declaration(head, &Module::kernels);
    for (const AtomUse& a : k.atoms) declaration(a, &Kernel::atoms, "");
    for (const Turn& t : k.turns) declaration(t, &Kernel::turns, "");
    for (const TileAxis& a : k.axes) declaration(a, &Kernel::axes, "");
    for (const Let& l : k.lets) declaration(l, &Kernel::lets, "");
    for (const Buffer& b : k.buffers) declaration(b, &Kernel::buffers, "");
    for (const Channel& c : k.channels) declaration(c, &Kernel::channels, "");
    for (const Role& r : k.roles) block(r.body, "/");
  }
  void block(const Block& body, const std::string& path) {
    for (Statement s : body) {
      Block inner;
      if (auto* f = std::get_if<For>(&s.op)) std::swap(inner, f->body);
      if (auto* w = std::get_if<When>(&s.op)) std::swap(inner, w->body);
      if (auto* i = std::get_if<If>(&s.op)) std::swap(inner, i->body);
      if (auto* f = std::get_if<For>(&s.op)) {  // what is carried is a set
        for (const Carry& c : f->carry) {
          lines_.push_back(
              [c, path](const Names& n) { return path + "carry " + print(read(c.value.name, c.value.subscripts), c.initial, n); });
        }
        f->carry.clear();
      }
      in_body_.insert(lines_.size());
      lines_.push_back([s, path](const Names& n) { return path + kernel::print(renamed(s, n)); });
      block(inner, path + "/");
    }
  }
  static std::string print(Expr place, Expr initial, const Names& n) {
    Renamer(n).apply(place);
    Renamer(n).apply(initial);
    return fathom::print(place) + (initial ? " = " + fathom::print(initial) : "");
  }
  static std::string print(const Module& m) { return kernel::print(m); }

  void find_mentions() {
    std::vector<std::string> plain;
    for (const Line& line : lines_) plain.push_back(line(marks_));
    for (const Symbol n : names_) {
      Names marked = marks_;
      marked[n] = Symbol("SELF");
      for (std::size_t i = 0; i < lines_.size(); ++i) {
        if (lines_[i](marked) != plain[i]) mentions_[n].push_back(i);
      }
    }
  }

  void refine() {
    Names next;
    for (const Symbol n : names_) {
      Names marked = marks_;
      marked[n] = Symbol("SELF");
      std::vector<std::string> seen;
      for (const std::size_t line : mentions_[n]) seen.push_back(lines_[line](marked));
      std::sort(seen.begin(), seen.end());
      std::uint64_t hash = hash_bytes(marks_.at(n).text());
      for (const std::string& text : seen) hash = hash_bytes(text, hash);
      next[n] = Symbol(fmt::format("h{:016x}", hash));
    }
    marks_ = std::move(next);
  }

  const std::vector<Symbol>& names_;
  std::vector<Line> lines_;
  std::set<std::size_t> in_body_;
  std::map<Symbol, std::vector<std::size_t>> mentions_;
  Names marks_;
};

// ---- order ----

/// Names that a statement gives a value to or whose state it changes, and names that it uses.
struct Effects {
  std::set<Symbol> writes, reads;
  bool in_order = false;  ///< tokens, turns, atomics and meetings of groups keep their order
};

void reads_of(Expr e, Effects& effects) {
  if (!e) return;
  visit(e, [&](Expr part) {
    if (part.is(Op::read) || part.is(Op::symbol)) effects.reads.insert(part.name());
  });
}

void used(const Access& a, Effects& effects) {
  effects.reads.insert(a.name);
  for (const Expr e : a.subscripts) reads_of(e, effects);
}

void effects_of(const Statement& s, Effects& effects);
void effects_of(const Block& body, Effects& effects) {
  for (const Statement& s : body) effects_of(s, effects);
}

void place_of(const Access& a, Effects& effects) {
  effects.writes.insert(a.name);
  for (const Expr e : a.subscripts) reads_of(e, effects);
}

void effects_of(const Statement& s, Effects& effects) {
  if (const auto* v = std::get_if<Value>(&s.op)) {
    for (const Access& t : v->targets) place_of(t, effects);
    for (const Expr e : v->values) reads_of(e, effects);
    reads_of(v->otherwise, effects);
    effects.in_order = effects.in_order || std::any_of(v->values.begin(), v->values.end(), reduces_over_groups);
  } else if (const auto* l = std::get_if<Let>(&s.op)) {
    effects.writes.insert(l->name);
    reads_of(l->value, effects);
  } else if (const auto* f = std::get_if<For>(&s.op)) {
    for (const Carry& c : f->carry) {
      place_of(c.value, effects);
      reads_of(c.initial, effects);
    }
    for (const TaggedRange& r : f->ranges) {
      reads_of(r.lo, effects);
      reads_of(r.hi, effects);
    }
    effects.writes.insert(f->variable);
    effects_of(f->body, effects);
  } else if (const auto* w = std::get_if<When>(&s.op)) {
    reads_of(w->condition, effects);
    effects_of(w->body, effects);
  } else if (const auto* i = std::get_if<If>(&s.op)) {
    effects.reads.insert(i->condition.name);
    effects_of(i->body, effects);
  } else if (const auto* c = std::get_if<Copy>(&s.op)) {
    place_of(c->to, effects);
    reads_of(c->from, effects);
    reads_of(c->otherwise, effects);
    effects.in_order = effects.in_order || !c->token.empty();
  } else if (const auto* m = std::get_if<Mma>(&s.op)) {
    place_of(m->acc, effects);
    for (const Access* operand : {&m->acc, &m->a, &m->b}) used(*operand, effects);
    effects.in_order = effects.in_order || !m->token.empty();
  } else if (const auto* a = std::get_if<Atomic>(&s.op)) {
    effects.writes.insert(a->result);
    place_of(a->place, effects);
    reads_of(a->value, effects);
    effects.in_order = true;
  } else {
    effects.in_order = true;
  }
}

/// Of a whole kernel, seen from its neighbours: what it does in an order inside is its own affair.
Effects effects_of(const Kernel& k) {
  Effects effects;
  for (const Expr e : {k.when, k.work.lo, k.work.hi}) reads_of(e, effects);
  for (const Role& r : k.roles) effects_of(r.body, effects);
  if (!k.after.empty()) effects.reads.insert(k.after);
  effects.writes.insert(k.name);
  effects.in_order = false;
  return effects;
}

bool meet(const std::set<Symbol>& a, const std::set<Symbol>& b) {
  return std::any_of(a.begin(), a.end(), [&](Symbol s) { return b.count(s) > 0; });
}

bool depends(const Effects& later, const Effects& earlier) {
  return later.in_order || earlier.in_order || meet(later.reads, earlier.writes) || meet(later.writes, earlier.reads) ||
         meet(later.writes, earlier.writes);
}

/// The first, by its text in marks, of what depends on nothing that is left.
template <class T>
void schedule(std::vector<T>& items, const std::vector<Effects>& effects, const std::vector<std::string>& keys) {
  std::vector<T> sorted;
  std::vector<bool> taken(items.size(), false);
  for (std::size_t n = 0; n < items.size(); ++n) {
    std::size_t best = items.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
      bool ready = !taken[i];
      for (std::size_t j = 0; ready && j < i; ++j) ready = taken[j] || !depends(effects[i], effects[j]);
      if (ready && (best == items.size() || keys[i] < keys[best])) best = i;
    }
    taken[best] = true;
    sorted.push_back(std::move(items[best]));
  }
  items = std::move(sorted);
}

void sort_block(Block& body, const Names& marks) {
  std::vector<Effects> effects(body.size());
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < body.size(); ++i) {
    Statement& s = body[i];
    if (auto* f = std::get_if<For>(&s.op)) {
      const auto key = [&](const Carry& c) { return marks.count(c.value.name) > 0 ? marks.at(c.value.name) : c.value.name; };
      std::stable_sort(f->carry.begin(), f->carry.end(), [&](const Carry& a, const Carry& b) { return key(a) < key(b); });
      sort_block(f->body, marks);
    }
    if (auto* w = std::get_if<When>(&s.op)) sort_block(w->body, marks);
    if (auto* c = std::get_if<If>(&s.op)) sort_block(c->body, marks);
    effects_of(s, effects[i]);
    keys.push_back(print(renamed(s, marks)));
  }
  schedule(body, effects, keys);
}

void sort_lets(std::vector<Let>& lets, const Names& marks) {
  Block block;
  for (const Let& l : lets) block.push_back({l, {}, {}});
  sort_block(block, marks);
  for (std::size_t i = 0; i < lets.size(); ++i) lets[i] = std::get<Let>(block[i].op);
}

template <class T>
void sort_by_mark(std::vector<T>& items, const Marks& marks) {
  const auto key = [&](const T& item) {
    const auto mark = marks.names().find(item.name);
    return std::pair(mark == marks.names().end() ? item.name : mark->second, marks.first_use(item.name));
  };
  std::stable_sort(items.begin(), items.end(), [&](const T& a, const T& b) { return key(a) < key(b); });
}

void sort_kernels(std::vector<Kernel>& kernels, const Names& marks) {
  std::vector<Effects> effects;
  std::vector<std::string> keys;
  for (const Kernel& k : kernels) {
    effects.push_back(effects_of(k));
    Module around;
    around.kernels.push_back(renamed(k, marks));
    keys.push_back(print(around));
  }
  schedule(kernels, effects, keys);
}

}  // namespace

Module canonical(const Module& module) {
  Module m = module;
  m.name = Symbol("plan");
  std::set<Symbol> kept = {Symbol("g"), Symbol("done")};
  for (const math::Dimension& d : m.dims) kept.insert(d.name);
  // Parameters are told apart by their place until names are counted: their spelling has no say in the order.
  Names by_place, by_name;
  for (const auto* list : {&m.params, &m.results}) {
    for (const math::Parameter& p : *list) {
      const Symbol place(fmt::format("parameter.{}", by_place.size()));
      by_place[p.name] = place;
      by_name[place] = p.name;
      kept.insert(place);
    }
  }
  m = renamed(std::move(m), by_place);
  std::vector<Symbol> globals;
  Collector shared(kept);
  for (const Workspace& w : m.workspaces) shared.add(w.name);
  for (const Let& l : m.lets) shared.add(l.name);
  for (const Kernel& k : m.kernels) shared.add(k.name);
  std::vector<Symbol> all = shared.order;
  std::set<Symbol> outside = kept;
  outside.insert(all.begin(), all.end());
  for (std::size_t i = 0; i < m.kernels.size(); ++i) {  // equal names of two kernels are two names
    Collector local(outside);
    local.kernel(m.kernels[i]);
    Names apart;
    for (const Symbol name : local.order) {
      apart[name] = Symbol(fmt::format("k{}.{}", i, name.text()));
      all.push_back(apart[name]);
    }
    m.kernels[i] = renamed(std::move(m.kernels[i]), apart);
  }
  const Marks found(m, all);
  const Names& marks = found.names();
  sort_by_mark(m.workspaces, found);
  sort_lets(m.lets, marks);
  for (Kernel& k : m.kernels) {
    sort_by_mark(k.axes, found);
    sort_by_mark(k.atoms, found);
    sort_by_mark(k.buffers, found);
    sort_by_mark(k.channels, found);
    sort_by_mark(k.turns, found);
    sort_lets(k.lets, marks);
    for (Role& r : k.roles) sort_block(r.body, marks);
  }
  sort_kernels(m.kernels, marks);
  Collector counted(kept);
  for (const Workspace& w : m.workspaces) counted.add(w.name);
  for (const Let& l : m.lets) counted.add(l.name);
  for (const Kernel& k : m.kernels) counted.kernel(k);
  Names final_names;
  for (const Symbol name : counted.order) final_names[name] = Symbol(fmt::format("v{}", final_names.size()));
  final_names.insert(by_name.begin(), by_name.end());
  return renamed(std::move(m), final_names);
}

}  // namespace fathom::kernel
