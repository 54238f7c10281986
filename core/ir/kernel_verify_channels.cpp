// Verifies what is shared and what is in flight: matrix products and copies from issue to await, slots from acquire to publish and from
// receive to release, turns, atomics.
#include <algorithm>

#include "ir/kernel_verify.hpp"

namespace fathom::kernel {
namespace {

std::string shown(const Access& access) {
  return access.subscripts.empty() ? access.name.text() : print(read(access.name, access.subscripts));
}

}  // namespace

// ---- in flight ----

/// At the end of a block: what it issued is over, and what was in flight before still is, so that the list of tokens in flight is the same
/// on every path. A token that the block itself carries is the next trip's to wait for. What was handed on is over when its sources are
/// nobody's to overwrite.
bool Verifier::over_since(const std::map<Symbol, InFlight>& before, const BlockKind& kind) {
  const auto carries = [&](Symbol token) {
    const auto same = [token](const Carry& c) { return c.value.name == token; };
    return kind.carry != nullptr && std::any_of(kind.carry->begin(), kind.carry->end(), same);
  };
  for (auto it = in_flight_.begin(); it != in_flight_.end();) {
    const auto& [token, what] = *it;
    const auto old = before.find(token);
    const bool same = old != before.end() && old->second.uses == what.uses && old->second.stores == what.stores;
    if (old == before.end() && what.handed && what.uses.empty()) {
      it = in_flight_.erase(it);
      continue;
    }
    if (old != before.end() && !same && !carries(token)) break;
    if (old == before.end() && what.handed)
      return fail("the copy `" + token.text() + "` may still read `" + what.uses.begin()->text() + "` at the end of its block",
                  {token.text()}, "`await " + token.text() + ".read`");
    if (old == before.end()) {
      return fail("`" + token.text() + "` is not awaited at the end of its block", {token.text()}, "await it, or publish a slot after it");
    }
    ++it;
  }
  for (const auto& [token, what] : before) {
    const auto now = in_flight_.find(token);
    if (what.handed && what.uses.empty()) continue;
    if (carries(token) || (now != in_flight_.end() && now->second.uses == what.uses && now->second.stores == what.stores)) continue;
    return fail("`" + token.text() + "` is awaited in a block that other paths pass by: the tokens in flight are the same on every path",
                {token.text()}, "await it in the block that issued it");
  }
  return true;
}

/// Back ends of one thread finish a product before they begin a block.
bool Verifier::products_over(const std::string& where) {
  if (subset_ == Subset::whole) return true;
  for (const auto& [token, what] : in_flight_) {
    if (what.mma != nullptr) return fail("the mma `" + token.text() + "` is not awaited " + where, {token.text()});
  }
  return true;
}

/// The token of what uses the name in flight, or empty.
std::string Verifier::in_use(Symbol name) const {
  for (const auto& [token, what] : in_flight_) {
    if (what.uses.count(name) > 0 || what.stores.count(name) > 0) return token.text();
  }
  return {};
}

/// The token of a copy in flight into the place, or empty.
std::string Verifier::stored_by(Symbol name) const {
  for (const auto& [token, what] : in_flight_) {
    if (what.copy != nullptr && what.stores.count(name) > 0) return token.text();
  }
  return {};
}

/// Two copies may fill parts of one slot, and an element of a result is stored once, whoever does it.
bool Verifier::may_store(Symbol name, bool by_copy) {
  const Means means = names_.at(name).means;
  const bool apart = means == Means::result || (means == Means::slot && by_copy);
  for (const auto& [token, what] : in_flight_) {
    if (what.uses.count(name) == 0 && (apart || what.stores.count(name) == 0)) continue;
    return fail("`" + name.text() + "` is written while `" + token.text() + "`, which uses it, is in flight", {name.text()});
  }
  return true;
}

/// What an expression reads that somebody may overwrite: slots, and what this kernel stores to.
void Verifier::add_memory_of(Expr e, std::set<Symbol>& names) const {
  visit(e, [&](Expr part) {
    const Info* info = part.is(Op::read) ? find(part.name()) : nullptr;
    if (info != nullptr && (info->means == Means::slot || stored_here_.count(part.name()) > 0)) names.insert(part.name());
  });
}

bool Verifier::operand(const Access& access, Axes& axes) { return axes_of(read(access.name, access.subscripts), axes); }

bool Verifier::check(const Mma& m) {
  const Info* atom = find(m.atom);
  if (atom == nullptr || atom->means != Means::atom) return fail("there is no atom `" + m.atom.text() + "`", {m.atom.text()});
  std::int64_t lanes = 0;  // that all conditions around leave
  for (const BlockKind& around : blocks_) {
    if (!around.part) continue;
    const auto row = atom_rows_.find(m.atom);
    const bool known = row != atom_rows_.end() && role_->warps && constant_integer(role_->warps);
    if (subset_ != Subset::whole) return fail("an mma cannot stand under a condition on parts of a tile", {m.token.text()});
    if (!known) continue;
    if (lanes == 0) lanes = *constant_integer(role_->warps) * machine_->lanes;
    for (const Expr part : around.condition->subscripts) {
      const auto parts = part.is(Op::index) ? constant_integer(extents_.at(part.name())) : std::nullopt;
      if (parts && *parts > 0) lanes /= *parts;
    }
    if (row->second->issuing_lanes > lanes) {
      return fail("atom `" + m.atom.text() + "` is issued by " + std::to_string(row->second->issuing_lanes) + " lanes together, but `if " +
                      shown(*around.condition) + "` leaves " + std::to_string(lanes),
                  {m.token.text()}, "take an atom of " + std::to_string(lanes) + " lanes or fewer");
    }
  }
  if (find(m.token) != nullptr) return fail("the token `" + m.token.text() + "` has the name of something else", {m.token.text()});
  Axes a, b, acc;
  if (!operand(m.a, a) || !operand(m.b, b)) return false;
  ReadScope scope;
  for (const Expr e : m.acc.subscripts) {
    if (!subscript(e, scope, acc)) return false;
  }
  for (const Symbol axis : acc) {
    if (a.count(axis) + b.count(axis) != 1) {
      return fail("the axis `" + axis.text() + "` of `" + m.acc.name.text() + "` must belong to exactly one operand of its mma",
                  {m.token.text()});
    }
  }
  for (const Axes* side : {&a, &b}) {
    for (const Symbol axis : *side) {
      const bool contracted = a.count(axis) > 0 && b.count(axis) > 0;
      if (contracted || acc.count(axis) > 0) continue;
      return fail("the axis `" + axis.text() + "` of an operand is neither contracted nor an axis of `" + m.acc.name.text() + "`",
                  {m.token.text()});
    }
  }
  Axes own;
  if (m.accumulate && !operand(m.acc, own)) return false;
  if (!assigned({m.acc}, {acc})) return false;
  names_.at(m.acc.name).fresh = false;
  names_.at(m.acc.name).readable = false;
  InFlight& what = in_flight_[m.token];
  what.mma = &m;
  what.depth = blocks_.size();
  what.uses = {m.acc.name, m.a.name, m.b.name};
  return true;
}

bool Verifier::check(const Copy& c) {
  const std::string& token = c.token.text();
  const Info* old = find(c.token);
  if (old != nullptr && !(old->means == Means::token && old->carried))
    return fail("the token `" + token + "` has the name of something else", {token});
  if (const auto again = in_flight_.find(c.token); again != in_flight_.end()) {  // into results, more than one may be under way
    const std::set<Symbol>& stores = again->second.stores;
    const auto result = [&](Symbol name) { return find(name) != nullptr && find(name)->means == Means::result; };
    if (!again->second.uses.empty() || !std::all_of(stores.begin(), stores.end(), result))
      return fail("`" + token + "` is issued again before it was awaited", {token});
  }
  for (const BlockKind& around : blocks_) {
    if (around.part) return fail("a copy cannot stand under a condition on parts of a tile", {token});
  }
  const Info* to = find(c.to.name);
  const bool memory = to != nullptr && (to->means == Means::slot || to->means == Means::buffer || to->means == Means::result ||
                                        to->means == Means::workspace);
  if (!memory)
    return fail("`" + c.to.name.text() + "` is no place that a copy can fill", {token},
                "copy to a slot, a buffer, a workspace or a result");
  Axes axes;
  if (!axes_of(c.from, axes)) return false;
  if (c.otherwise && !uniform(c.otherwise, "the value of `else`")) return false;
  if (!store(c.to, axes, true)) return false;
  InFlight& what = in_flight_[c.token] = {};
  what.copy = &c;
  add_memory_of(c.from, what.uses);
  what.stores = {c.to.name};
  if (old != nullptr) return true;
  return declare(c.token, of(Means::token));
}

bool Verifier::check(const Await& a) {
  const std::string& token = a.token.text();
  const auto at = in_flight_.find(a.token);
  const Info* info = find(a.token);
  if (at == in_flight_.end()) {
    const bool complete = info == nullptr ? token == "done" : info->means == Means::token && info->carried;  // `done`, or awaited already
    if (complete && !a.acc) return true;
    return fail("`" + token + "` is awaited, but nothing of this name is in flight", {token});
  }
  const InFlight& what = at->second;
  if (a.source_only) {
    if (subset_ != Subset::whole) return later("an await of the sources only", token);
    if (what.copy == nullptr)
      return fail("`await " + token + ".read` waits for the sources of a copy, but `" + token + "` is an mma", {token});
    at->second.uses.clear();
    if (at->second.handed) in_flight_.erase(at);
    return true;
  }
  if (what.copy != nullptr) {
    if (a.acc) return fail("the await of the copy `" + token + "` gives nothing back", {token});
    in_flight_.erase(at);
    return true;
  }
  const Mma& m = *what.mma;
  if (!a.acc || *a.acc != m.acc) return fail("the await of `" + token + "` must give the accumulator of its mma back", {token});
  names_.at(m.acc.name).readable = true;
  in_flight_.erase(at);
  return true;
}

/// A token from one trip to the next: complete at first; in every trip it stands for what the trip before issued.
bool Verifier::carried_token(const For& f, const Carry& c) {
  const std::string& name = c.value.name.text();
  if (subset_ != Subset::whole) return later("a carried token", name);
  if (find(c.value.name) != nullptr) return fail("the token `" + name + "` has the name of something else", {name});
  const Copy* issued = nullptr;
  std::size_t count = 0;
  for (const Statement& s : f.body) {
    const auto* copy = std::get_if<Copy>(&s.op);
    if (copy == nullptr || copy->token != c.value.name) continue;
    issued = copy;
    ++count;
  }
  if (count != 1)
    return fail("the token `" + name + "` is carried, but the loop over `" + f.variable.text() + "` issues " + std::to_string(count) +
                    " copies of its name",
                {name}, "one copy in the body of the loop, under no condition");
  Info info = of(Means::token);
  info.carried = true;
  if (!declare(c.value.name, info)) return false;
  InFlight& what = in_flight_[c.value.name];
  what.copy = issued;
  add_memory_of(issued->from, what.uses);
  if (find(issued->to.name) != nullptr) what.stores = {issued->to.name};
  return true;
}

bool Verifier::check(const Atomic& a) {
  const std::string& name = a.result.text();
  if (subset_ != Subset::whole) return later("an atomic operation", name);
  if (!in_work_) return fail("the atomic `" + name + "` stands outside of the work loop: how often it is done, no text says", {name});
  for (const BlockKind& around : blocks_) {
    if (around.part) return fail("an atomic is done once a workgroup: it cannot stand under a condition on parts of a tile", {name});
  }
  const std::set<std::string> known = {"inc_wrap", "add", "max", "min"};
  if (known.count(a.operation.text()) == 0)
    return fail("there is no atomic operation `" + a.operation.text() + "`", {name}, "there are inc_wrap, add, max and min");
  const Info* place = find(a.place.name);
  if (place == nullptr || place->means != Means::workspace)
    return fail("an atomic acts on a workspace, and `" + a.place.name.text() + "` is none", {name});
  if (place->rank != a.place.subscripts.size())
    return fail("`" + a.place.name.text() + "` has " + std::to_string(place->rank) + " axes, but " +
                    std::to_string(a.place.subscripts.size()) + " subscripts",
                {name});
  for (const Expr e : a.place.subscripts) {
    if (!uniform(e, "the place of an atomic")) return false;
  }
  if (!uniform(a.value, "the operand of an atomic")) return false;
  const auto same = [&](const Workspace& w) { return w.name == a.place.name; };
  const auto w = std::find_if(m_.workspaces.begin(), m_.workspaces.end(), same);
  if (a.operation.text() == "inc_wrap" && !w->zero)
    return fail("the counter `" + a.place.name.text() + "` of `inc_wrap` is a workspace that holds 0 between launches", {name},
                "declare it `zero`");
  if (!own_place(a.place.name, {})) return false;
  if (const std::string by = in_use(a.place.name); !by.empty())
    return fail("`" + a.place.name.text() + "` is written while `" + by + "`, which uses it, is in flight", {name});
  Info info = of(Means::scalar);
  info.arrival = true;
  return declare(a.result, info);
}

// ---- channels ----

const Channel* Verifier::channel(const Access& access, bool produces) {
  const std::string& name = access.name.text();
  const auto at = std::find_if(k_->channels.begin(), k_->channels.end(), [&](const Channel& c) { return c.name == access.name; });
  if (at == k_->channels.end()) {
    fail("there is no channel `" + name + "`", {name});
    return nullptr;
  }
  if (role_->name != (produces ? at->from : at->to)) {
    fail(std::string("role `") + role_->name.text() + "` " + (produces ? "fills" : "receives from") + " channel `" + name + "`, but " +
             (produces ? "its producer is `" + at->from.text() : "it goes to `" + at->to.text()) + "`",
         {name});
    return nullptr;
  }
  const bool own = access.subscripts.empty() && at->to == role_->name;
  const std::size_t wanted = at->each.empty() ? 0 : 1;
  if (access.subscripts.size() != wanted && !(own && wanted == 1)) {
    fail("channel `" + name + "` is " +
             (wanted == 1 ? "one for each group of `" + at->each.text() + "`: say which, `" + name + "[g]`"
                          : "one for all groups, without a subscript"),
         {name});
    return nullptr;
  }
  const auto groups = role_->groups ? constant_integer(role_->groups) : std::optional<std::int64_t>(1);
  const Access ring = ring_of(*k_, *role_, access);
  if (!ring.subscripts.empty() && (!produces || groups != 1 || at->to == role_->name) && ring.subscripts[0] != symbol(Symbol("g"))) {
    fail("a group of role `" + role_->name.text() + "` has its own ring of channel `" + name + "` only: `" + name + "[g]`", {name});
    return nullptr;
  }
  for (const Expr e : access.subscripts) {
    if (!uniform(e, "the group of channel `" + name + "`")) return nullptr;
  }
  for (const BlockKind& around : blocks_) {
    if (around.part) {
      fail("channel `" + name + "` is handed over by the whole group: not under a condition on parts of a tile", {name});
      return nullptr;
    }
  }
  if (produces && at->each.empty() && groups != 1) {
    fail("channel `" + name + "` has one producer, but role `" + role_->name.text() + "` has several groups", {name},
         "make it one for each group: `channel " + name + " each " + at->to.text() + ": …`");
    return nullptr;
  }
  return &*at;
}

/// A block hands over as many slots as it takes, so that every trip finds its channels as the one before did; it may stand between the
/// receive and the release of another.
bool Verifier::balanced_since(const std::map<Expr, ChannelState>& before, const std::map<Symbol, int>& turns) {
  for (const auto& [access, c] : channels_) {
    const auto at = before.find(access);
    const ChannelState start = at == before.end() ? ChannelState() : at->second;
    const int acquired = c.acquired - start.acquired, published = c.published - start.published;
    const int received = c.received - start.received, released = c.released - start.released;
    const auto same = [name = access.name()](const Channel& each) { return each.name == name; };
    const auto it = std::find_if(k_->channels.begin(), k_->channels.end(), same);
    const bool to_itself = it->from == it->to;
    const bool even = acquired == published && received == released && (!to_itself || published == received);
    if (even && c.filling == start.filling && c.reading == start.reading) continue;
    if (even)
      return fail(
          "channel `" + access.name().text() + "` is handed over by a block while the block around it holds a slot: which of the two?",
          {access.name().text()}, "the first that was taken is given first");
    const char* missing = published < acquired ? "published" : to_itself && received < published ? "received" : "released";
    return fail("channel `" + access.name().text() + "` has a slot that is not " + missing + " in the block that took it",
                {access.name().text()}, "acquire and publish match in every trip, and so do receive and release");
  }
  for (const auto& [name, taken] : turns_) {
    const auto at = turns.find(name);
    if (taken == (at == turns.end() ? 0 : at->second)) continue;
    return fail("turn `" + name.text() + "` is not passed in the block that took it", {name.text()});
  }
  return true;
}

bool Verifier::check(const Acquire& a) {
  const Channel* c = channel(a.channel, true);
  if (c == nullptr) return false;
  ChannelState& state = state_of(a.channel);
  const auto depth = constant_integer(simplify_integer(c->depth));
  if (c->from == c->to && depth && state.acquired - state.released >= *depth) {
    return fail("channel `" + a.channel.name.text() + "` is acquired before its slot was released: the role would wait for itself",
                {a.channel.name.text()});
  }
  ++state.acquired;
  state.filling.push_back(a.slot);
  Info info = of(Means::slot);
  info.rank = c->box.size();
  info.readable = false;
  info.channel = c->name;
  return declare(a.slot, info);
}

/// What a publish hands on: copies into its slot, all of them, or a receiver could read before they have landed. Their sources stay in use.
bool Verifier::tokens_of(const Publish& p, Symbol slot) {
  const std::string& channel = p.channel.name.text();
  for (const TokenUse& use : p.after) {
    const auto at = in_flight_.find(use.token);
    const bool fills = at != in_flight_.end() && at->second.copy != nullptr && !at->second.handed && at->second.copy->to.name == slot;
    if (!fills)
      return fail("channel `" + channel + "` is published after `" + use.token.text() + "`, which is no copy into its slot", {channel});
    if (use.source_only)
      return fail("channel `" + channel + "` is published after the sources of `" + use.token.text() + "`, not after what it stores",
                  {channel}, "publish it after `" + use.token.text() + "`");
    at->second.handed = ring(p.channel);
    at->second.number = state_of(p.channel).published;
    at->second.stores.clear();
  }
  for (const auto& [token, what] : in_flight_) {
    if (what.copy == nullptr || what.handed || what.copy->to.name != slot) continue;
    return fail("channel `" + channel + "` is published while the copy `" + token.text() + "` into its slot is in flight", {channel},
                "publish it after `" + token.text() + "`");
  }
  return true;
}

bool Verifier::check(const Publish& p) {
  const std::string& name = p.channel.name.text();
  if (channel(p.channel, true) == nullptr) return false;
  if (subset_ != Subset::whole && !p.after.empty()) return later("a publish after copies", name);
  ChannelState& c = state_of(p.channel);
  if (c.filling.empty()) return fail("channel `" + name + "` publishes a slot that it did not acquire", {name});
  const Symbol filled = c.filling.front();
  c.filling.pop_front();
  const auto slot = names_.find(filled);
  if (slot == names_.end() || !slot->second.filled)
    return fail("channel `" + name + "` publishes a slot that nothing filled on every path to here", {name});
  slot->second.writable = false;
  ++c.published;
  return tokens_of(p, filled);
}

bool Verifier::check(const Receive& r) {
  const std::string& name = r.channel.name.text();
  const Channel* c = channel(r.channel, false);
  if (c == nullptr) return false;
  ChannelState& state = state_of(r.channel);
  if (c->from == c->to && state.received >= state.published)
    return fail("channel `" + name + "` receives a slot before it is published: the role would wait for itself", {name});
  ++state.received;
  for (auto it = in_flight_.begin(); it != in_flight_.end();) {  // what the role handed to itself has landed
    const bool landed = it->second.handed && it->second.handed == ring(r.channel) && it->second.number == state.received;
    it = landed ? in_flight_.erase(it) : std::next(it);
  }
  state.reading.push_back(r.slot);
  Info info = of(Means::slot);
  info.rank = c->box.size();
  info.writable = false;
  info.channel = c->name;
  return declare(r.slot, info);
}

bool Verifier::check(const Release& r) {
  const std::string& name = r.channel.name.text();
  if (channel(r.channel, false) == nullptr) return false;
  if (subset_ != Subset::whole && !r.after.empty()) return later("a release after tokens", name);
  ChannelState& c = state_of(r.channel);
  if (c.reading.empty()) return fail("channel `" + name + "` releases a slot that it did not receive", {name});
  const Symbol slot = c.reading.front();
  c.reading.pop_front();
  for (const TokenUse& use : r.after) {
    const auto at = in_flight_.find(use.token);
    if (at == in_flight_.end() || at->second.copy == nullptr || at->second.uses.erase(slot) == 0)
      return fail("channel `" + name + "` is released after `" + use.token.text() + "`, which is no copy in flight that reads its slot",
                  {name});
  }
  for (const auto& [token, what] : in_flight_) {
    if (what.uses.count(slot) == 0) continue;
    return fail("channel `" + name + "` is released before its last reader, the await of `" + token.text() + "`", {name});
  }
  if (const auto at = names_.find(slot); at != names_.end()) at->second.readable = false;
  ++c.released;
  return true;
}

// ---- turns ----

bool Verifier::check(const Take& t) {
  const auto at = std::find_if(k_->turns.begin(), k_->turns.end(), [&](const Turn& each) { return each.name == t.turn; });
  if (subset_ != Subset::whole) return later("a turn", t.turn.text());
  for (const BlockKind& around : blocks_) {
    if (around.part)
      return fail("turn `" + t.turn.text() + "` is taken by the whole group: not under a condition on parts of a tile", {t.turn.text()});
  }
  if (at == k_->turns.end()) return fail("there is no turn `" + t.turn.text() + "`", {t.turn.text()});
  if (at->over != role_->name)
    return fail("turn `" + t.turn.text() + "` goes over role `" + at->over.text() + "`, not over `" + role_->name.text() + "`",
                {t.turn.text()});
  if (++turns_[t.turn] > 1) return fail("turn `" + t.turn.text() + "` is taken again before it was passed", {t.turn.text()});
  return true;
}

bool Verifier::check(const Pass& p) {
  if (subset_ != Subset::whole) return later("a turn", p.turn.text());
  if (--turns_[p.turn] < 0) return fail("turn `" + p.turn.text() + "` is passed, but was not taken", {p.turn.text()});
  return true;
}

}  // namespace fathom::kernel
