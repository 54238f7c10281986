// Verifies loops with stages: the law on every dependence, and quiet operands. An operation p of iteration i runs in trip i + stage(p);
// where q needs p, of the same iteration or one `distance` later, stage(p) <= stage(q) + distance, and on equality order(p) < order(q).
#include <algorithm>
#include <memory>

#include "ir/kernel_verify.hpp"

namespace fathom::kernel {
namespace {

struct Operation {
  const Statement* statement = nullptr;
  At at;
  bool placed = false;  ///< a `let` has no place: it is made where it is read
  Uses uses;
  std::set<Symbol> memory;  ///< places that it touches; an await those of what it ends
  std::set<Symbol> stored;  ///< of them those that it stores to
  std::set<Symbol> orders;  ///< places whose uses by other groups or roles it keeps apart
};

/// What an operation reads and stores where it stands, or through a `let` where that stands.
struct Touch {
  std::size_t operation, at;
  const Operation* what;
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

std::optional<Symbol> slot_taken(const Statement& s) {
  if (const auto* a = std::get_if<Acquire>(&s.op)) return a->slot;
  if (const auto* r = std::get_if<Receive>(&s.op)) return r->slot;
  return std::nullopt;
}

std::optional<Symbol> token_issued(const Statement& s) {
  if (const auto* c = std::get_if<Copy>(&s.op)) return c->token;
  if (const auto* m = std::get_if<Mma>(&s.op)) return m->token;
  return std::nullopt;
}

bool groups_meet_in(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Statement& s) {
    if (const auto* v = std::get_if<Value>(&s.op)) return !v->values.empty() && reduces_over_groups(v->values[0]);
    if (const auto* w = std::get_if<When>(&s.op)) return groups_meet_in(w->body);
    if (const auto* f = std::get_if<For>(&s.op)) return groups_meet_in(f->body);
    return std::holds_alternative<Atomic>(s.op);
  });
}

std::set<Symbol> all_slots(const Kernel& k) {
  std::set<Symbol> slots;
  for (const Role& role : k.roles) collect_slots(role.body, slots);
  return slots;
}

/// The body of one range and what in it needs what.
class Trip {
 public:
  Trip(const For& loop, std::size_t range, const std::set<Symbol>& places, const Module& m, const Kernel& k, const Role& role)
      : k_(k), role_(role) {
    for (const math::Parameter& r : m.results) results_.insert(r.name);
    for (const Role& each : k.roles) {
      std::set<Symbol> stored;
      collect_stored(each.body, places, stored);
      of_groups_.insert(stored.begin(), stored.end());
    }
    for (const Buffer& b : k.buffers) {
      if (of_groups_.count(b.name) == 0) continue;
      const auto uses = [&](const Role& each) { return uses_of(each.body, b.name); };
      if (b.each.empty() && std::count_if(k.roles.begin(), k.roles.end(), uses) > 1) of_roles_.insert(b.name);
      if (!b.each.empty()) of_groups_.erase(b.name);
    }
    for (const Symbol slot : all_slots(k)) of_groups_.erase(slot);
    for (const Placed& placed : body_in(loop, range)) {
      Operation& o = operations.emplace_back();
      o.statement = placed.statement;
      o.placed = placed.at.has_value();
      if (placed.at) o.at = *placed.at;
      o.uses = uses_of(*placed.statement, places);
      for (const Symbol name : o.uses.reads)
        if (places.count(name) > 0) o.memory.insert(name);
      collect_stored({*placed.statement}, places, o.stored);
      add_ordered(o);
      if (const auto slot = slot_taken(*placed.statement)) slots_.insert(*slot);
    }
    for (std::size_t end = 0; end < operations.size(); ++end) add_ended(end);
    for (std::size_t q = 0; q < operations.size(); ++q) {
      if (!operations[q].placed) continue;
      std::set<std::size_t> lets;
      add_touches(q, q, lets);
    }
  }
  std::vector<Operation> operations;

  std::vector<Dependence> within() const {
    std::vector<Dependence> all;
    for (const Touch& t : touches_) {
      for (const Symbol name : t.what->uses.reads) {
        const auto p = last_maker(name, t.at);
        if (p && operations[*p].placed) add(all, {*p, t.operation, 0, "`" + name.text() + "`"});
      }
      for (const Touch& before : touches_) {
        if (before.at < t.at && shares_memory(*before.what, *t.what)) add(all, {before.operation, t.operation, 0, "memory that both use"});
      }
    }
    for (std::size_t q = 0; q < operations.size(); ++q) {
      accumulators(all, q);
      hand_over(all, q);
      turns(all, q);
    }
    return all;
  }

  /// A slot of a channel to itself is taken again when its release, `depth` iterations before, has been.
  [[nodiscard]] std::vector<Dependence> slots_again() const {
    std::vector<Dependence> all;
    for (const Channel& c : k_.channels) {
      const auto depth = constant_integer(simplify_integer(c.depth));
      std::vector<std::size_t> taken, given;
      for (std::size_t at = 0; at < operations.size(); ++at) {
        const auto channel = channel_of(operations[at]);
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
    for (const Touch& t : next.touches_) {
      for (const Symbol name : t.what->uses.reads) {
        if (carried.count(name) == 0 || next.last_maker(name, t.at)) continue;
        if (const auto p = last_maker(name, operations.size())) all.push_back({*p, t.operation, 1, "`" + name.text() + "`"});
      }
      for (const Touch& before : touches_) {
        if (shares_memory(*before.what, *t.what)) all.push_back({before.operation, t.operation, 1, "memory that both use"});
      }
    }
    for (std::size_t q = 0; q < next.operations.size(); ++q) {
      const Operation& later = next.operations[q];
      for (std::size_t p = 0; p < operations.size(); ++p) {
        const auto from = channel_of(operations[p]), to = channel_of(later);
        const bool same_kind = operations[p].statement->op.index() == later.statement->op.index();
        if (from && to && same_kind && *from == *to) all.push_back({p, q, 1, "the order of the slots of `" + from->name.text() + "`"});
      }
    }
    return all;
  }

 private:
  /// Where groups meet, what they share is neither stored nor read across; where a slot is handed over, what roles share under it.
  void add_ordered(Operation& o) const {
    if (groups_meet_in({*o.statement})) o.orders = of_groups_;
    const auto ring = channel_of(o);
    const auto between_roles = [&](const Channel& c) { return ring && c.name == ring->name && c.from != c.to; };
    if (std::any_of(k_.channels.begin(), k_.channels.end(), between_roles)) o.orders = of_roles_;
  }
  static void add(std::vector<Dependence>& all, Dependence d) {
    if (d.from != d.to) all.push_back(std::move(d));
  }
  [[nodiscard]] std::optional<std::size_t> last_maker(Symbol name, std::size_t before) const {
    for (std::size_t p = before; p-- > 0;) {
      if (operations[p].uses.writes.count(name) > 0) return p;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<Access> channel_of(const Operation& o) const {
    const auto ring = [&](const auto* op) { return op == nullptr ? std::nullopt : std::optional(ring_of(k_, role_, op->channel)); };
    if (auto a = ring(std::get_if<Acquire>(&o.statement->op))) return a;
    if (auto p = ring(std::get_if<Publish>(&o.statement->op))) return p;
    if (auto r = ring(std::get_if<Receive>(&o.statement->op))) return r;
    return ring(std::get_if<Release>(&o.statement->op));
  }
  /// An await touches what the copy or product that it ends uses: with it, not with the issue, the sources have been read and the result
  /// is there. What a role receives of itself ends the copies that were published with it.
  void add_ended(std::size_t end) {
    Operation& o = operations[end];
    const auto* await = std::get_if<Await>(&o.statement->op);
    const auto* receive = std::get_if<Receive>(&o.statement->op);
    for (std::size_t p = 0; p < operations.size(); ++p) {
      const auto token = token_issued(*operations[p].statement);
      const bool ended = token && (await != nullptr ? await->token == *token : receive != nullptr && p < end && handed(p, *token, end));
      if (!ended) continue;
      const bool freed =
          p < end && std::any_of(
                         operations.begin() + static_cast<std::ptrdiff_t>(p), operations.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const Operation& between) {
                           const auto* other = std::get_if<Await>(&between.statement->op);
                           return other != nullptr && other->token == *token;
                         });
      const Operation& issued = operations[p];
      for (const Symbol name : issued.memory)
        if (!freed || issued.stored.count(name) > 0) o.memory.insert(name);
      if (await == nullptr || !await->source_only) o.stored.insert(issued.stored.begin(), issued.stored.end());
    }
  }
  /// Does a publish between the two hand the token on to the receive?
  [[nodiscard]] bool handed(std::size_t issue, Symbol token, std::size_t receive) const {
    const auto to = channel_of(operations[receive]);
    return std::any_of(operations.begin() + static_cast<std::ptrdiff_t>(issue), operations.begin() + static_cast<std::ptrdiff_t>(receive),
                       [&](const Operation& o) {
                         const auto* publish = std::get_if<Publish>(&o.statement->op);
                         if (publish == nullptr || channel_of(o) != to) return false;
                         return std::any_of(publish->after.begin(), publish->after.end(),
                                            [&](const TokenUse& use) { return use.token == token; });
                       });
  }
  /// What is made by a `let` is read by who reads the let, but where the let stands.
  void add_touches(std::size_t q, std::size_t at, std::set<std::size_t>& lets) {
    touches_.push_back({q, at, &operations[at]});
    for (const Symbol name : operations[at].uses.reads) {
      const auto maker = last_maker(name, at);
      if (maker && !operations[*maker].placed && lets.insert(*maker).second) add_touches(q, *maker, lets);
    }
  }
  /// Slots have orders of their own, by their acquire and release; an element of a result is stored once, by one of two stores.
  [[nodiscard]] bool shares_memory(const Operation& a, const Operation& b) const {
    const auto both = [&](const Operation& store, const Operation& use) {
      return std::any_of(store.stored.begin(), store.stored.end(), [&](Symbol name) {
        const bool apart = slots_.count(name) > 0 || (results_.count(name) > 0 && use.stored.count(name) > 0);
        return use.memory.count(name) > 0 && !apart;
      });
    };
    const auto ordered = [](const Operation& order, const Operation& use) {
      return std::any_of(order.orders.begin(), order.orders.end(), [&](Symbol name) { return use.memory.count(name) > 0; });
    };
    return both(a, b) || both(b, a) || ordered(a, b) || ordered(b, a);
  }
  /// An mma takes its accumulator away: whoever reads the value before it runs before.
  void accumulators(std::vector<Dependence>& all, std::size_t q) const {
    const auto* m = std::get_if<Mma>(&operations[q].statement->op);
    if (m == nullptr || !m->accumulate) return;
    for (const Touch& t : touches_) {
      if (t.at < q && t.what->uses.reads.count(m->acc.name) > 0)
        add(all, {t.operation, q, 0, "the accumulator `" + m->acc.name.text() + "`"});
    }
  }
  /// A region between take and pass lies in one trip, or the groups behind would wait for a turn that is passed trips later.
  void turns(std::vector<Dependence>& all, std::size_t q) const {
    const auto* pass = std::get_if<Pass>(&operations[q].statement->op);
    if (pass == nullptr) return;
    for (std::size_t p = 0; p < q; ++p) {
      const auto* take = std::get_if<Take>(&operations[p].statement->op);
      if (take == nullptr || take->turn != pass->turn) continue;
      all.push_back({p, q, 0, "the turn `" + pass->turn.text() + "`"});
      all.push_back({q, p, 1, "the turn `" + pass->turn.text() + "` in the same trip"});
    }
  }
  /// A publish comes after what fills its slot, a release after its last reader, the await of an asynchronous one.
  void hand_over(std::vector<Dependence>& all, std::size_t q) const {
    const Statement& s = *operations[q].statement;
    const auto channel = channel_of(operations[q]);
    const bool gives = std::holds_alternative<Publish>(s.op) || std::holds_alternative<Release>(s.op);
    if (!channel) return;
    for (std::size_t p = 0; p < q; ++p) {
      const auto other = channel_of(operations[p]);
      if (!other || *other != *channel) continue;
      all.push_back({p, q, 0, "the hand-over of `" + channel->name.text() + "`"});
      const auto slot = slot_taken(*operations[p].statement);
      const bool taken_for = std::holds_alternative<Publish>(s.op) == std::holds_alternative<Acquire>(operations[p].statement->op);
      if (gives && slot && taken_for) users(all, *slot, p, q);
    }
  }
  void users(std::vector<Dependence>& all, Symbol slot, std::size_t from, std::size_t q) const {
    for (const Touch& t : touches_) {
      if (t.at <= from || t.at >= q || t.what->memory.count(slot) == 0) continue;
      const auto* await = std::get_if<Await>(&t.what->statement->op);
      add(all, {t.operation, q, 0,
                await == nullptr ? "a reader of the slot `" + slot.text() + "`"
                                 : "the await of `" + await->token.text() + "`, which reads the slot `" + slot.text() + "`"});
    }
  }

  const Kernel& k_;
  const Role& role_;
  std::vector<Touch> touches_;
  std::set<Symbol> slots_, results_;
  std::set<Symbol> of_groups_, of_roles_;  ///< stored places that groups share, buffers that roles share
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
  std::vector<std::unique_ptr<Trip>> trips;
  for (std::size_t range = 0; range < f.ranges.size(); ++range) {
    const Trip& trip = *trips.emplace_back(std::make_unique<Trip>(f, range, places, m_, *k_, *role_));
    for (const Operation& o : trip.operations) {
      if (o.placed && (o.at.stage < 0 || o.at.order < 0)) return fail(shown(o) + " has a negative stage or order", {print(*o.statement)});
      if (o.placed && o.at.stage > most_stages)
        return fail(shown(o) + " has a stage above " + std::to_string(most_stages), {print(*o.statement)});
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
    const Trip& own = *trips[range];
    if (!law(own, own, own.within()) || !law(own, own, own.slots_again())) return false;
    for (std::size_t next = range; next < trips.size(); ++next) {
      if (!law(own, *trips[next], own.across(*trips[next], carried))) return false;
    }
  }
  return quiet(f);
}

void Verifier::find_quiet_operands(const Block& body) {
  const std::set<Symbol> places = places_of(m_, *k_);
  for (const Statement& s : body) {
    if (const auto* f = std::get_if<For>(&s.op)) find_quiet_operands(f->body);
    if (const auto* w = std::get_if<When>(&s.op)) find_quiet_operands(w->body);
    if (const auto* i = std::get_if<If>(&s.op)) find_quiet_operands(i->body);
    const auto* m = std::get_if<Mma>(&s.op);
    const auto row = m == nullptr ? atom_rows_.end() : atom_rows_.find(m->atom);
    if (row == atom_rows_.end() || !row->second->quiet_operands) continue;
    for (const Symbol name : {m->a.name, m->b.name})
      if (places.count(name) == 0) quiet_operands_.insert(name);
    if (m->accumulate) quiet_operands_.insert(m->acc.name);
  }
}

/// Where the text is the order: no operand is written while an atom that wants them quiet is in flight. Only what this block issued counts:
/// around a block of a loop with stages, others are in flight than in the text.
bool Verifier::quiet_now(Symbol written) {
  if (quiet_operands_.count(written) == 0 || blocks_.back().staged) return true;
  for (const auto& [token, what] : in_flight_) {
    const auto row = what.mma == nullptr || what.depth != blocks_.size() ? atom_rows_.end() : atom_rows_.find(what.mma->atom);
    if (row == atom_rows_.end() || !row->second->quiet_operands || what.mma->acc.name == written) continue;
    return fail("`" + written.text() + "`, an operand in registers, is written while `" + token.text() + "` is in flight", {written.text()},
                "atoms with quiet operands: write it before the issue or after the await of all of them");
  }
  return true;
}

/// The same in the order of the trips. At a border of ranges a trip has operations of both.
bool Verifier::quiet(const For& f) {
  if (quiet_operands_.empty()) return true;
  const std::set<Symbol> places = places_of(m_, *k_);
  std::vector<std::unique_ptr<Trip>> trips;
  std::vector<Interval> in_flight;
  for (std::size_t range = 0; range < f.ranges.size(); ++range) {
    const Trip& trip = *trips.emplace_back(std::make_unique<Trip>(f, range, places, m_, *k_, *role_));
    for (const Operation& o : trip.operations) {
      const auto* m = std::get_if<Mma>(&o.statement->op);
      const auto row = m == nullptr ? atom_rows_.end() : atom_rows_.find(m->atom);
      if (row == atom_rows_.end() || !row->second->quiet_operands) continue;
      for (const Operation& end : trip.operations) {
        const auto* await = std::get_if<Await>(&end.statement->op);
        if (await != nullptr && await->token == m->token)
          in_flight.push_back({m->token, o.at.order, end.at.order, end.at.stage - o.at.stage});
      }
    }
  }
  for (const auto& trip : trips) {
    for (const Operation& o : trip->operations) {
      if (std::holds_alternative<Await>(o.statement->op) || std::holds_alternative<Mma>(o.statement->op)) continue;
      for (const Symbol name : o.uses.writes) {
        if (quiet_operands_.count(name) == 0) continue;
        for (const Interval& each : in_flight) {
          if (!each.holds(o.at.order)) continue;
          return fail(shown(o) + " writes `" + name.text() + "`, an operand in registers, while `" + each.token.text() +
                          "` is in flight in its trip",
                      {print(*o.statement)}, "atoms with quiet operands: write it before the issue or after the await of all of them");
        }
      }
    }
  }
  return true;
}

}  // namespace fathom::kernel
