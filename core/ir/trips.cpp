#include "ir/trips.hpp"

#include <algorithm>

#include "ir/overloaded.hpp"

namespace fathom::kernel {
namespace {

enum class Truth : std::uint8_t { no, yes, open };

/// Of a condition, as far as the tags of one range decide it.
Truth truth(Expr e, const std::map<Symbol, bool>& tags) {
  switch (e.op()) {
    case Op::boolean:
      return e.node().truth ? Truth::yes : Truth::no;
    case Op::symbol: {
      const auto tag = tags.find(e.name());
      return tag == tags.end() ? Truth::open : tag->second ? Truth::yes : Truth::no;
    }
    case Op::logical_not: {
      const Truth inner = truth(e.arg(0), tags);
      return inner == Truth::open ? inner : inner == Truth::yes ? Truth::no : Truth::yes;
    }
    case Op::logical_and:
    case Op::logical_or: {
      const Truth decides = e.is(Op::logical_and) ? Truth::no : Truth::yes;
      bool open = false;
      for (const Expr arg : e.args()) {
        const Truth one = truth(arg, tags);
        if (one == decides) return decides;
        open = open || one == Truth::open;
      }
      return open ? Truth::open : decides == Truth::no ? Truth::yes : Truth::no;
    }
    default:
      return Truth::open;
  }
}

void place(const Block& block, const std::optional<At>& around, const std::map<Symbol, bool>& tags, std::vector<Placed>& body) {
  for (const Statement& s : block) {
    const std::optional<At> at = s.at ? s.at : around;
    const auto* when = std::get_if<When>(&s.op);
    const Truth holds = when != nullptr ? truth(when->condition, tags) : Truth::open;
    if (holds == Truth::open) body.push_back({&s, at});
    if (holds == Truth::yes) place(when->body, at, tags, body);
  }
}

template <class Visit>
void each_statement(const Block& block, const Visit& visit) {
  for (const Statement& s : block) {
    visit(s);
    if (const auto* loop = std::get_if<For>(&s.op)) each_statement(loop->body, visit);
    if (const auto* when = std::get_if<When>(&s.op)) each_statement(when->body, visit);
    if (const auto* part = std::get_if<If>(&s.op)) each_statement(part->body, visit);
  }
}

/// Follows the text and keeps apart what it reads from outside and what it gives a value.
class UsesOf {
 public:
  UsesOf(const std::set<Symbol>& places, Uses& uses) : places_(places), uses_(uses) {}

  void statement(const Statement& s) {
    std::visit(Overloaded{
                   [&](const Value& v) {
                     for (const Expr value : v.values) read(value);
                     read(v.otherwise);
                     for (const Access& target : v.targets) write(target);
                   },
                   [&](const Let& l) {
                     read(l.value);
                     write(l.name);
                   },
                   [&](const Copy& c) {
                     read(c.from);
                     read(c.otherwise);
                     read(c.to);
                     write(c.token);
                   },
                   [&](const Mma& m) {
                     read(m.a);
                     read(m.b);
                     if (m.accumulate) read(m.acc);
                     write(m.acc);
                     write(m.token);
                   },
                   [&](const Await& a) {
                     read(a.token);
                     if (a.acc) write(*a.acc);
                   },
                   [&](const Atomic& a) {
                     read(a.place);
                     read(a.value);
                     write(a.result);
                   },
                   [&](const Acquire& a) {
                     subscripts(a.channel);
                     write(a.slot);
                   },
                   [&](const Receive& r) {
                     subscripts(r.channel);
                     write(r.slot);
                   },
                   [&](const Publish& p) {
                     subscripts(p.channel);
                     for (const TokenUse& use : p.after) read(use.token);
                   },
                   [&](const Release& r) {
                     subscripts(r.channel);
                     for (const TokenUse& use : r.after) read(use.token);
                   },
                   [&](const Take&) {},
                   [&](const Pass&) {},
                   [&](const For& f) {
                     for (const TaggedRange& r : f.ranges) {
                       read(r.lo);
                       read(r.hi);
                     }
                     for (const Carry& c : f.carry) read(c.initial);
                     std::set<Symbol> own = {f.variable};
                     for (const TaggedRange& r : f.ranges) own.insert(r.tag);
                     for (const Carry& c : f.carry) own.insert(c.value.name);
                     inside(f.body, own);
                     for (const Carry& c : f.carry) write(c.value.name);
                   },
                   [&](const When& w) {
                     read(w.condition);
                     inside(w.body, {});
                     for (const Symbol name : changed(w.body)) write(name);
                   },
                   [&](const If& i) {
                     read(i.condition);
                     for (const Carry& c : i.carry) read(c.value.name);
                     inside(i.body, {});
                     for (const Carry& c : i.carry) write(c.value.name);
                   },
               },
               s.op);
  }

 private:
  void read(Symbol name) {
    if (own_.count(name) == 0) uses_.reads.insert(name);
  }
  void read(Expr e) {
    if (!e) return;
    visit(e, [&](Expr part) {
      if (part.is(Op::read) || part.is(Op::symbol)) read(part.name());
    });
  }
  void read(const Access& access) {
    read(access.name);
    subscripts(access);
  }
  void subscripts(const Access& access) {
    for (const Expr e : access.subscripts) read(e);
  }
  void write(Symbol name) {
    if (depth_ == 0) uses_.writes.insert(name);
    own_.insert(name);
  }
  void write(const Access& target) {
    if (places_.count(target.name) > 0) return read(target);
    write(target.name);
  }
  /// What a block gives a value before it reads it is its own.
  void inside(const Block& body, const std::set<Symbol>& names) {
    const std::set<Symbol> before = own_;
    own_.insert(names.begin(), names.end());
    ++depth_;
    for (const Statement& s : body) statement(s);
    --depth_;
    own_ = before;
  }
  /// Under a condition a name may keep what it had: what changes there is read, too.
  std::set<Symbol> changed(const Block& body) {
    std::set<Symbol> names;
    for (const Statement& s : body) {
      Uses uses;
      UsesOf(places_, uses).statement(s);
      names.insert(uses.writes.begin(), uses.writes.end());
    }
    for (const Symbol name : names) read(name);
    return names;
  }

  const std::set<Symbol>& places_;
  Uses& uses_;
  std::set<Symbol> own_;
  int depth_ = 0;
};

}  // namespace

bool reduces_over_groups(Expr e) {
  if (!e || !e.is(Op::reduce)) return false;
  const std::vector<Bound> bounds = bounds_of(e);
  return std::any_of(bounds.begin(), bounds.end(), [](const Bound& b) { return b.index == Symbol("g") && !b.lo; });
}

/// The stages of all operations, those under tags included.
template <class Visit>
static void each_stage(const For& loop, const Visit& visit) {
  for (std::size_t range = 0; range < std::max<std::size_t>(loop.ranges.size(), 1); ++range) {
    for (const Placed& placed : body_in(loop, range)) {
      if (placed.at) visit(placed.at->stage);
    }
  }
}

bool has_stages(const For& loop) {
  bool found = false;
  each_stage(loop, [&](int) { found = true; });
  return found;
}

int last_stage(const For& loop) {
  int last = 0;
  each_stage(loop, [&](int stage) { last = std::max(last, stage); });
  return last;
}

std::vector<Placed> body_in(const For& loop, std::size_t range) {
  std::map<Symbol, bool> tags;
  for (const TaggedRange& r : loop.ranges) tags[r.tag] = false;
  if (range < loop.ranges.size()) tags[loop.ranges[range].tag] = true;
  tags.erase(Symbol());
  std::vector<Placed> body;
  place(loop.body, std::nullopt, tags, body);
  return body;
}

Uses uses_of(const Statement& s, const std::set<Symbol>& places) {
  Uses uses;
  UsesOf(places, uses).statement(s);
  return uses;
}

bool uses_of(const Block& block, Symbol place) {
  return std::any_of(block.begin(), block.end(), [&](const Statement& s) { return uses_of(s, {place}).reads.count(place) > 0; });
}

void collect_stored(const Block& block, const std::set<Symbol>& places, std::set<Symbol>& stored) {
  const auto store = [&](const Access& access) {
    if (places.count(access.name) > 0) stored.insert(access.name);
  };
  each_statement(block, [&](const Statement& s) {
    if (const auto* v = std::get_if<Value>(&s.op)) std::for_each(v->targets.begin(), v->targets.end(), store);
    if (const auto* c = std::get_if<Copy>(&s.op)) store(c->to);
    if (const auto* m = std::get_if<Mma>(&s.op)) store(m->acc);
    if (const auto* a = std::get_if<Atomic>(&s.op)) store(a->place);
  });
}

void collect_slots(const Block& block, std::set<Symbol>& slots) {
  each_statement(block, [&](const Statement& s) {
    if (const auto* acquire = std::get_if<Acquire>(&s.op)) slots.insert(acquire->slot);
    if (const auto* receive = std::get_if<Receive>(&s.op)) slots.insert(receive->slot);
  });
}

Access ring_of(const Kernel& k, const Role& role, const Access& access) {
  const auto same = [&](const Channel& c) { return c.name == access.name && !c.each.empty() && c.to == role.name; };
  if (std::none_of(k.channels.begin(), k.channels.end(), same)) return access;
  const bool alone = !role.groups || constant_integer(role.groups) == 1;
  const bool own = access.subscripts.empty() || (alone && access.subscripts.size() == 1 && constant_integer(access.subscripts[0]) == 0);
  return own ? Access{access.name, {symbol(Symbol("g"))}} : access;
}

std::set<Symbol> places_of(const Module& m, const Kernel& k) {
  std::set<Symbol> places;
  for (const math::Parameter& p : m.params)
    if (!p.extents.empty()) places.insert(p.name);
  for (const math::Parameter& r : m.results) places.insert(r.name);
  for (const Workspace& w : m.workspaces) places.insert(w.name);
  for (const Buffer& b : k.buffers) places.insert(b.name);
  for (const Role& r : k.roles) collect_slots(r.body, places);
  return places;
}

}  // namespace fathom::kernel
