// Verifies loops with stages: the law on every dependence, and quiet operands. An operation p of iteration i runs in trip i + stage(p);
// where q needs p, of the same iteration or one `distance` later, stage(p) <= stage(q) + distance, and on equality order(p) < order(q).
#include <algorithm>

#include "ir/kernel_verify.hpp"

namespace fathom::kernel {
namespace {

struct Operation {
  const Statement* statement = nullptr;
  At at;
  bool placed = false;  ///< a `let` has no place: it is made where it is read
  Uses uses;
  std::set<Symbol> memory;    ///< places that it reads or stores to
  std::set<Symbol> stored;    ///< of them those that it stores to
  std::set<Symbol> tokens;    ///< of products that it issues
  std::set<Symbol> operands;  ///< of those products: slots and tiles
};

struct Dependence {
  std::size_t from, to;
  int distance;
  std::string why;
};

std::string shown(const Operation& o) {
  std::string text = print(*o.statement);
  if (const std::size_t line = text.find('\n'); line != std::string::npos) text = text.substr(0, line) + " …";
  return "`" + text + "`";
}

/// Operations on memory and in flight of a statement, inner blocks included.
void look_into(const Statement& s, const std::set<Symbol>& places, Operation& o) {
  const auto touches = [&](const Access& access, bool stores) {
    if (places.count(access.name) == 0) return;
    o.memory.insert(access.name);
    if (stores) o.stored.insert(access.name);
  };
  const auto reads = [&](Expr e) {
    if (!e) return;
    visit(e, [&](Expr part) {
      if (part.is(Op::read) && places.count(part.name()) > 0) o.memory.insert(part.name());
    });
  };
  if (const auto* v = std::get_if<Value>(&s.op)) {
    for (const Access& target : v->targets) touches(target, true);
    for (const Expr value : v->values) reads(value);
  } else if (const auto* c = std::get_if<Copy>(&s.op)) {
    touches(c->to, true);
    reads(c->from);
  } else if (const auto* m = std::get_if<Mma>(&s.op)) {
    touches(m->acc, true);
    touches(m->a, false);
    touches(m->b, false);
    o.tokens.insert(m->token);
    o.operands.insert({m->a.name, m->b.name});
  } else if (const auto* a = std::get_if<Atomic>(&s.op)) {
    touches(a->place, true);
  }
  const Block* inner = nullptr;
  if (const auto* w = std::get_if<When>(&s.op)) inner = &w->body;
  if (const auto* i = std::get_if<If>(&s.op)) inner = &i->body;
  if (const auto* f = std::get_if<For>(&s.op)) inner = &f->body;
  if (inner == nullptr) return;
  for (const Statement& each : *inner) look_into(each, places, o);
}

std::optional<Symbol> slot_taken(const Statement& s) {
  if (const auto* a = std::get_if<Acquire>(&s.op)) return a->slot;
  if (const auto* r = std::get_if<Receive>(&s.op)) return r->slot;
  return std::nullopt;
}

std::optional<Access> channel_of(const Statement& s) {
  if (const auto* a = std::get_if<Acquire>(&s.op)) return a->channel;
  if (const auto* p = std::get_if<Publish>(&s.op)) return p->channel;
  if (const auto* r = std::get_if<Receive>(&s.op)) return r->channel;
  if (const auto* r = std::get_if<Release>(&s.op)) return r->channel;
  return std::nullopt;
}

/// The body of one range and what in it needs what.
class Trip {
 public:
  Trip(const For& loop, std::size_t range, const std::set<Symbol>& places) {
    for (const Placed& placed : body_in(loop, range)) {
      Operation& o = operations.emplace_back();
      o.statement = placed.statement;
      o.placed = placed.at.has_value();
      if (placed.at) o.at = *placed.at;
      o.uses = uses_of(*placed.statement, places);
      look_into(*placed.statement, places, o);
    }
  }
  std::vector<Operation> operations;

  std::vector<Dependence> within() const {
    std::vector<Dependence> all;
    for (std::size_t q = 0; q < operations.size(); ++q) {
      for (const Symbol name : operations[q].uses.reads) {
        if (const auto p = last_maker(name, q)) add_made(all, *p, q, "`" + name.text() + "`");
      }
      memory_order(all, q);
      accumulators(all, q);
      hand_over(all, q);
    }
    return all;
  }

  /// A slot of a channel to itself is taken again when its release, `depth` iterations before, has been.
  [[nodiscard]] std::vector<Dependence> slots_again(const std::vector<Channel>& channels) const {
    std::vector<Dependence> all;
    for (const Channel& c : channels) {
      const auto depth = constant_integer(simplify_integer(c.depth));
      std::vector<std::size_t> taken, given;
      for (std::size_t at = 0; at < operations.size(); ++at) {
        const auto channel = channel_of(*operations[at].statement);
        if (!channel || channel->name != c.name) continue;
        if (std::holds_alternative<Acquire>(operations[at].statement->op)) taken.push_back(at);
        if (std::holds_alternative<Release>(operations[at].statement->op)) given.push_back(at);
      }
      if (c.from == c.to && depth && taken.size() == 1 && given.size() == 1)
        all.push_back({given[0], taken[0], static_cast<int>(*depth), "the slots of `" + c.name.text() + "`"});
    }
    return all;
  }

  /// What an operation of the next iteration, whose body is `next`, needs of this one.
  std::vector<Dependence> across(const Trip& next, const std::set<Symbol>& carried) const {
    std::vector<Dependence> all;
    for (std::size_t q = 0; q < next.operations.size(); ++q) {
      for (const Symbol name : next.operations[q].uses.reads) {
        if (carried.count(name) == 0 || next.last_maker(name, q)) continue;
        if (const auto p = last_maker(name, operations.size())) all.push_back({*p, q, 1, "`" + name.text() + "`"});
      }
      const Operation& later = next.operations[q];
      for (std::size_t p = 0; p < operations.size(); ++p) {
        const auto from = channel_of(*operations[p].statement), to = channel_of(*later.statement);
        const bool same_kind = operations[p].statement->op.index() == later.statement->op.index();
        if (from && to && same_kind && *from == *to) all.push_back({p, q, 1, "the order of the slots of `" + from->name.text() + "`"});
        if (shares_memory(operations[p], later)) all.push_back({p, q, 1, "memory that both use"});
      }
    }
    return all;
  }

 private:
  [[nodiscard]] std::optional<std::size_t> last_maker(Symbol name, std::size_t before) const {
    for (std::size_t p = before; p-- > 0;) {
      if (operations[p].uses.writes.count(name) > 0) return p;
    }
    return std::nullopt;
  }
  /// What is made by a `let` is made by what the let reads.
  void add_made(std::vector<Dependence>& all, std::size_t p, std::size_t q, const std::string& why) const {
    if (operations[p].placed) return all.push_back({p, q, 0, why});
    for (const Symbol name : operations[p].uses.reads) {
      if (const auto maker = last_maker(name, p)) add_made(all, *maker, q, "`" + name.text() + "`");
    }
  }
  /// Slots have orders of their own, by their acquire and release.
  [[nodiscard]] bool shares_memory(const Operation& a, const Operation& b) const {
    const auto both = [&](const std::set<Symbol>& stored, const std::set<Symbol>& used) {
      return std::any_of(stored.begin(), stored.end(), [&](Symbol name) { return used.count(name) > 0 && slots().count(name) == 0; });
    };
    return both(a.stored, b.memory) || both(b.stored, a.memory);
  }
  [[nodiscard]] const std::set<Symbol>& slots() const {
    if (slots_.empty()) {
      for (const Operation& o : operations) {
        if (const auto slot = slot_taken(*o.statement)) slots_.insert(*slot);
      }
    }
    return slots_;
  }
  void memory_order(std::vector<Dependence>& all, std::size_t q) const {
    for (std::size_t p = 0; p < q; ++p) {
      if (shares_memory(operations[p], operations[q])) all.push_back({p, q, 0, "memory that both use"});
    }
  }
  /// An mma takes its accumulator away: whoever reads the value before it runs before.
  void accumulators(std::vector<Dependence>& all, std::size_t q) const {
    const auto* m = std::get_if<Mma>(&operations[q].statement->op);
    if (m == nullptr || !m->accumulate) return;
    for (std::size_t p = 0; p < q; ++p) {
      if (operations[p].uses.reads.count(m->acc.name) > 0) all.push_back({p, q, 0, "the accumulator `" + m->acc.name.text() + "`"});
    }
  }
  /// A publish comes after what fills its slot, a release after its last reader, the await of an asynchronous one.
  void hand_over(std::vector<Dependence>& all, std::size_t q) const {
    const Statement& s = *operations[q].statement;
    const auto channel = channel_of(s);
    const bool gives = std::holds_alternative<Publish>(s.op) || std::holds_alternative<Release>(s.op);
    if (!channel) return;
    for (std::size_t p = 0; p < q; ++p) {
      const auto other = channel_of(*operations[p].statement);
      if (!other || *other != *channel) continue;
      all.push_back({p, q, 0, "the hand-over of `" + channel->name.text() + "`"});
      const auto slot = slot_taken(*operations[p].statement);
      const bool taken_for = std::holds_alternative<Publish>(s.op) == std::holds_alternative<Acquire>(operations[p].statement->op);
      if (gives && slot && taken_for) users(all, *slot, p, q);
    }
  }
  void users(std::vector<Dependence>& all, Symbol slot, std::size_t from, std::size_t q) const {
    for (std::size_t u = from + 1; u < operations.size(); ++u) {
      const Operation& user = operations[u];
      if (u < q && (user.memory.count(slot) > 0 || user.uses.reads.count(slot) > 0))
        all.push_back({u, q, 0, "a reader of the slot `" + slot.text() + "`"});
      if (user.operands.count(slot) == 0) continue;
      for (std::size_t w = u + 1; w < operations.size(); ++w) {
        const auto* await = std::get_if<Await>(&operations[w].statement->op);
        if (await != nullptr && user.tokens.count(await->token) > 0)
          all.push_back({w, q, 0, "the await of `" + await->token.text() + "`, which reads the slot `" + slot.text() + "`"});
      }
    }
  }

  mutable std::set<Symbol> slots_;
};

bool lawful(const At& p, const At& q, int distance, bool in_text) {
  const int latest = q.stage + distance;
  if (p.stage != latest) return p.stage < latest;
  return p.order < q.order || (p.order == q.order && distance == 0 && in_text);
}

std::string place(const At& at) { return "@" + std::to_string(at.stage) + "." + std::to_string(at.order); }

/// In the orders of a trip, where an mma is in flight: after `from` and before `to`; both ends of the trip where its await is in a later
/// stage.
struct Interval {
  Symbol token;
  int from, to;
  int stages;
  [[nodiscard]] bool holds(int order) const {
    return stages == 0 ? from < order && order < to : stages == 1 ? order > from || order < to : true;
  }
};

}  // namespace

bool Verifier::stages(const For& f) {
  const std::set<Symbol> places = places_of(m_, *k_);
  std::set<Symbol> carried;
  for (const Carry& c : f.carry) carried.insert(c.value.name);
  std::vector<Trip> trips;
  for (std::size_t range = 0; range < f.ranges.size(); ++range) {
    const Trip& trip = trips.emplace_back(f, range, places);
    for (const Operation& o : trip.operations) {
      if (o.placed && (o.at.stage < 0 || o.at.order < 0)) return fail(shown(o) + " has a negative stage or order", {print(*o.statement)});
      if (o.placed || std::holds_alternative<Let>(o.statement->op)) continue;
      return fail(shown(o) + " has no stage and order, but others of its loop have", {print(*o.statement)},
                  "write `@stage.order` behind it");
    }
  }
  const auto law = [&](const Trip& from, const Trip& to, const std::vector<Dependence>& all) {
    for (const Dependence& d : all) {
      const Operation &p = from.operations[d.from], &q = to.operations[d.to];
      if (!p.placed || !q.placed || lawful(p.at, q.at, d.distance, d.from < d.to)) continue;
      return fail(shown(q) + " at " + place(q.at) +
                      (d.distance == 0   ? ""
                       : d.distance == 1 ? " in the next iteration"
                                         : " " + std::to_string(d.distance) + " iterations later") +
                      " needs " + shown(p) + " at " + place(p.at) + " (" + d.why + ")",
                  {print(*q.statement), print(*p.statement)},
                  "stage(p) <= stage(q) + distance, and on equality order(p) < order(q); the distance is " + std::to_string(d.distance));
    }
    return true;
  };
  for (std::size_t range = 0; range < trips.size(); ++range) {
    if (!law(trips[range], trips[range], trips[range].within())) return false;
    if (!law(trips[range], trips[range], trips[range].slots_again(k_->channels))) return false;
    for (std::size_t next = range; next < trips.size(); ++next) {
      if (!law(trips[range], trips[next], trips[range].across(trips[next], carried))) return false;
    }
    if (!quiet(f, range)) return false;
  }
  return true;
}

bool Verifier::quiet(const For& f, std::size_t range) {
  const std::set<Symbol> places = places_of(m_, *k_);
  const Trip trip(f, range, places);
  std::vector<Interval> in_flight;
  std::set<Symbol> operands;
  for (const Operation& o : trip.operations) {
    const auto* m = std::get_if<Mma>(&o.statement->op);
    const auto row = m == nullptr ? atom_rows_.end() : atom_rows_.find(m->atom);
    if (row == atom_rows_.end() || !row->second->quiet_operands) continue;
    for (const Symbol name : {m->a.name, m->b.name})
      if (places.count(name) == 0) operands.insert(name);
    if (m->accumulate) operands.insert(m->acc.name);
    for (const Operation& end : trip.operations) {
      const auto* await = std::get_if<Await>(&end.statement->op);
      if (await != nullptr && await->token == m->token)
        in_flight.push_back({m->token, o.at.order, end.at.order, end.at.stage - o.at.stage});
    }
  }
  for (const Operation& o : trip.operations) {
    if (std::holds_alternative<Await>(o.statement->op) || std::holds_alternative<Mma>(o.statement->op)) continue;
    for (const Symbol name : o.uses.writes) {
      if (operands.count(name) == 0) continue;
      for (const Interval& each : in_flight) {
        if (!each.holds(o.at.order)) continue;
        return fail(
            shown(o) + " writes `" + name.text() + "`, an operand in registers, while `" + each.token.text() + "` is in flight in its trip",
            {print(*o.statement)}, "atoms with quiet operands: write it before the issue or after the await of all of them");
      }
    }
  }
  return true;
}

}  // namespace fathom::kernel
