// Loops with stages whose first stage only loads: the loads of iteration i + S run in the trip of iteration i; those behind the end copy
// nothing but count, so what is still on its way is the same number in every trip.
#include <algorithm>
#include <utility>

#include "codegen/gpu/lowering.hpp"
#include "ir/trips.hpp"

namespace fathom::gpu {
namespace {

bool loads_only(const kernel::Statement& s) {
  return std::holds_alternative<kernel::Acquire>(s.op) || std::holds_alternative<kernel::Copy>(s.op) ||
         std::holds_alternative<kernel::Publish>(s.op);
}

}  // namespace

/// What waits in a trip: receives for copies, acquires for readers.
struct KernelLowering::Waits {
  std::map<const kernel::Statement*, std::int64_t> younger;
  std::set<const kernel::Statement*> before_acquire;
};

/// Plays the events of some trips: in each of them the same statements wait for the same.
KernelLowering::Waits KernelLowering::waits_in(const std::vector<const kernel::Statement*>& prologue,
                                               const std::vector<const kernel::Statement*>& trip, int stages) {
  struct Played {
    std::vector<std::int64_t> published;  ///< number of the commit of each item
    std::vector<std::int64_t> released;   ///< how many waits of all threads lay before each release
    std::size_t acquired = 0, received = 0;
  };
  Waits waits;
  std::map<Symbol, Played> channels;
  std::int64_t commits = 0, barriers = 0;
  const auto play = [&](const kernel::Statement* s) {
    if (const auto* a = std::get_if<kernel::Acquire>(&s->op)) {
      Played& c = channels[a->channel.name];
      const auto depth = static_cast<std::size_t>(ring(a->channel).of.depth);
      if (c.acquired >= depth && c.acquired - depth < c.released.size() && c.released[c.acquired - depth] == barriers) {
        waits.before_acquire.insert(s);
        ++barriers;
      }
      ++c.acquired;
    } else if (const auto* p = std::get_if<kernel::Publish>(&s->op)) {
      channels[p->channel.name].published.push_back(commits);
      if (!p->after.empty()) ++commits;
    } else if (const auto* r = std::get_if<kernel::Receive>(&s->op)) {
      Played& c = channels[r->channel.name];
      const std::int64_t younger = c.received < c.published.size() ? commits - 1 - c.published[c.received] : 0;
      const auto known = waits.younger.emplace(s, younger).first;
      known->second = std::min(known->second, younger);
      ++c.received;
      ++barriers;
    } else if (const auto* e = std::get_if<kernel::Release>(&s->op)) {
      channels[e->channel.name].released.push_back(barriers);
    }
  };
  for (int stage = 0; stage < stages; ++stage)
    for (const kernel::Statement* s : prologue) play(s);
  constexpr int trips = 40;  // more than any depth needs to come round
  for (int i = 0; i < trips; ++i)
    for (const kernel::Statement* s : trip) play(s);
  return waits;
}

/// Every name has one place here: what a trip computes runs in the order of the text, and a `let` reads nothing that the body makes.
void KernelLowering::keeps_the_texts_order(const kernel::For& f, const std::vector<std::vector<kernel::Placed>>& bodies,
                                           const std::vector<const kernel::Statement*>& lets) {
  const std::string& name = f.variable.text();
  std::set<Symbol> made;
  for (const std::vector<kernel::Placed>& body : bodies) {
    int order = 0;
    for (const kernel::Placed& p : body) {
      if (!p.at) continue;
      const kernel::Uses uses = kernel::uses_of(*p.statement, {});
      made.insert(uses.writes.begin(), uses.writes.end());
      if (loads_only(*p.statement)) continue;
      if (p.at->order < order)
        refused("the loop over `" + name + "` has orders other than its text's, which have no form on this target yet", {name});
      order = p.at->order;
    }
  }
  for (const kernel::Statement* let : lets) {
    for (const Symbol read : kernel::uses_of(*let, {}).reads)
      if (made.count(read) > 0)
        refused("`" + kernel::print(*let) + "` reads what the loop makes, which has no form on this target yet", {name});
  }
}

/// Only loads in front, of a role to itself: the form below.
static bool loads_ahead(const std::vector<std::vector<kernel::Placed>>& bodies, int last) {
  for (const std::vector<kernel::Placed>& body : bodies)
    for (const kernel::Placed& p : body)
      if (p.at && p.at->stage != (loads_only(*p.statement) ? 0 : last)) return false;
  return true;
}

void KernelLowering::lower_staged(const kernel::For& f) {
  const int last = kernel::last_stage(f);
  const std::string& name = f.variable.text();
  std::vector<std::vector<kernel::Placed>> bodies;
  for (std::size_t range = 0; range < f.ranges.size(); ++range) bodies.push_back(kernel::body_in(f, range));
  if (!loads_ahead(bodies, last) || meets_other_roles(f.body)) return lower_pipelined(f);
  std::vector<const kernel::Statement*> loads, lets;
  for (std::size_t range = 0; range < bodies.size(); ++range) {
    std::vector<const kernel::Statement*> own;
    for (const kernel::Placed& p : bodies[range]) {
      if (!p.at) continue;
      if (loads_only(*p.statement)) own.push_back(p.statement);
    }
    if (range == 0) loads = own;
    if (own != loads) refused("the loads of the loop over `" + name + "` differ from range to range: no form on this target yet", {name});
    if (range > 0 && simplify_integer(f.ranges[range - 1].hi) != simplify_integer(f.ranges[range].lo))
      refused("the ranges of the loop over `" + name + "` do not follow each other", {name});
  }
  for (const kernel::Statement& s : f.body)
    if (std::holds_alternative<kernel::Let>(s.op)) lets.push_back(&s);
  keeps_the_texts_order(f, bodies, lets);
  std::vector<const kernel::Statement*> by_order = loads;
  std::map<const kernel::Statement*, int> order_of;
  for (const kernel::Placed& p : bodies[0])
    if (p.at) order_of[p.statement] = p.at->order;
  std::stable_sort(by_order.begin(), by_order.end(), [&](const auto* a, const auto* b) { return order_of[a] < order_of[b]; });
  for (const kernel::Carry& c : f.carry) define(c.value, c.initial, {});
  const Expr first = element(f.ranges[0].lo, {}).expr, end = element(f.ranges.back().hi, {}).expr;
  const auto load_group = [&](const std::vector<const kernel::Statement*>& together, Expr iteration, const Waits& waits) {
    emit({Branch{boolean(true),
                 inside([&] {
                   const Symbol ahead = names_.fresh(name + "_ahead");
                   emit({Declare{{ahead, Type::i32, {}}, iteration}});
                   if (not_negative(iteration)) not_negative_.insert(ahead);
                   scalars_[f.variable] = {symbol(ahead), Type::i32};
                   ahead_inside_ = binary(Op::lt, symbol(ahead), end);
                   for (const kernel::Statement* let : lets) {
                     const auto& l = std::get<kernel::Let>(let->op);
                     const bool used = std::any_of(together.begin(), together.end(),
                                                   [&](const auto* s) { return kernel::uses_of(*s, {}).reads.count(l.name) > 0; });
                     if (used) lower_let_as(l, names_.fresh(l.name.text()));
                   }
                   for (const kernel::Statement* s : together) placed_statement(*s, waits);
                   ahead_inside_ = {};
                   names_.release(ahead);
                 }),
                 {}}});
  };
  // the trip of each range: loads ahead and what is done now, by their order
  struct Placing {
    const kernel::Statement* statement;
    int order;
    bool load;
  };
  std::vector<std::vector<Placing>> trips;
  for (const std::vector<kernel::Placed>& body : bodies) {
    std::vector<Placing>& items = trips.emplace_back();
    for (const kernel::Placed& p : body)
      if (p.at) items.push_back({p.statement, p.at->order, loads_only(*p.statement)});
    std::stable_sort(items.begin(), items.end(),
                     [](const Placing& a, const Placing& b) { return a.order != b.order ? a.order < b.order : a.load < b.load; });
  }
  std::vector<const kernel::Statement*> trip;
  for (const Placing& item : trips[0]) trip.push_back(item.statement);
  const Waits waits = waits_in(by_order, trip, last);
  std::vector<Ring*> rings;
  for (const kernel::Statement* s : loads)
    if (const auto* a = std::get_if<kernel::Acquire>(&s->op)) rings.push_back(&ring(a->channel));
  const bool in_flight = std::any_of(rings.begin(), rings.end(), [](const Ring* r) { return r->in_flight != 0; });
  if (in_flight) refused("items are in flight before the loop over `" + name + "`, which has no form on this target yet", {name});
  // The waits are those of rings that nobody reads at the beginning.
  const bool again = loops_ > 0 || std::any_of(rings.begin(), rings.end(), [](const Ring* r) { return r->used; });
  if (again) wait_for_group();
  for (int stage = 0; stage < last; ++stage)
    load_group(by_order, first == number(0) ? number(stage) : stage == 0 ? first : first + number(stage), {});
  for (std::size_t range = 0; range < bodies.size(); ++range) {
    range_loop(f, range, [&] {
      const Expr iteration = scalars_.at(f.variable).expr;
      const std::vector<Placing>& items = trips[range];
      for (const kernel::Statement* let : lets) {
        const auto& l = std::get<kernel::Let>(let->op);
        const auto reads_it = [&](const Placing& item) {
          return !item.load && kernel::uses_of(*item.statement, {}).reads.count(l.name) > 0;
        };
        if (std::any_of(items.begin(), items.end(), reads_it)) lower_let_as(l, names_.fresh(l.name.text()));
      }
      for (std::size_t i = 0; i < items.size();) {
        std::vector<const kernel::Statement*> together;
        while (i < items.size() && items[i].load) together.push_back(items[i++].statement);
        if (!together.empty()) load_group(together, iteration + number(last), waits);
        if (i < items.size()) placed_statement(*items[i++].statement, waits);
      }
    });
  }
  // Loads behind the end: nothing is on its way when its memory is another's, and nobody will receive them.
  if (target_.copies_beside) emit({Do{call_of("wait_for_copies", {number(0)})}});
  for (Ring* r : rings) {
    r->in_flight = 0;
    if (r->of.depth > 1) emit({Assign{symbol(r->filled), symbol(r->taken)}});
  }
}

/// A channel between roles is used.
bool KernelLowering::meets_other_roles(const kernel::Block& body) const {
  return std::any_of(body.begin(), body.end(), [&](const kernel::Statement& s) {
    if (const auto* a = std::get_if<kernel::Acquire>(&s.op)) return channels_.at(a->channel.name).between;
    if (const auto* r = std::get_if<kernel::Receive>(&s.op)) return channels_.at(r->channel.name).between;
    if (const auto* w = std::get_if<kernel::When>(&s.op)) return meets_other_roles(w->body);
    return false;
  });
}

void KernelLowering::placed_statement(const kernel::Statement& s, const Waits& waits) {
  const kernel::Statement* around = std::exchange(present_, &s);
  if (const auto* a = std::get_if<kernel::Acquire>(&s.op)) {
    lower_acquire(*a, waits.before_acquire.count(&s) > 0);
  } else if (const auto* r = std::get_if<kernel::Receive>(&s.op)) {
    const auto at = waits.younger.find(&s);
    lower_receive(*r, at == waits.younger.end() ? 0 : at->second);
  } else {
    lower_statement(s);
  }
  present_ = around;
}

}  // namespace fathom::gpu
