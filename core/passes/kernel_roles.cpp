#include "passes/kernel_roles.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/trips.hpp"
#include "passes/tile_walk.hpp"
#include "passes/words.hpp"

namespace fathom::passes {
namespace {

using kernel::Block;
using kernel::Statement;

const Symbol producer_role(std::string_view("producer")), consumer_role(std::string_view("consumer")), group(std::string_view("g"));
constexpr std::int64_t warps_of_group = 4;

bool is_load(const Statement& s) {
  return std::holds_alternative<kernel::Acquire>(s.op) || std::holds_alternative<kernel::Copy>(s.op) ||
         std::holds_alternative<kernel::Publish>(s.op);
}

/// Statements with the blocks around them, blocks first.
void for_each(const Block& block, const std::function<void(const Statement&)>& visit_it) {
  for (const Statement& s : block) {
    visit_it(s);
    if (const auto* f = std::get_if<kernel::For>(&s.op)) for_each(f->body, visit_it);
    if (const auto* w = std::get_if<kernel::When>(&s.op)) for_each(w->body, visit_it);
    if (const auto* i = std::get_if<kernel::If>(&s.op)) for_each(i->body, visit_it);
  }
}

bool has_loads(const Block& block) {
  bool found = false;
  for_each(block, [&](const Statement& s) { found = found || is_load(s); });
  return found;
}

/// The block with only its loads (`loads`), or without them; loops around loads stay in both.
Block part_of(const Block& block, bool loads) {
  Block made;
  for (const Statement& s : block) {
    if (is_load(s)) {
      if (loads) made.push_back(s);
      continue;
    }
    Statement copy = s;
    if (auto* f = std::get_if<kernel::For>(&copy.op)) {
      if (loads && !has_loads(f->body)) continue;
      f->body = part_of(f->body, loads);
      if (loads) f->carry.clear();
    } else if (auto* w = std::get_if<kernel::When>(&copy.op)) {
      if (loads && !has_loads(w->body)) continue;
      w->body = part_of(w->body, loads);
    } else if (loads && !std::holds_alternative<kernel::Let>(s.op)) {
      continue;
    }
    made.push_back(std::move(copy));
  }
  return made;
}

}  // namespace

std::optional<Refusal> why_not_separate(const kernel::Kernel& k, const Memory& memory, const Target& target, Symbol rows,
                                        std::int64_t atom_rows) {
  const auto no = [&](const std::string& why) { return Refusal{why, {k.name.text()}, {}}; };
  if (!target.copy_engine) return no(target.name.text() + " has no copy engine.");
  if (k.roles.size() != 1) return no("The kernel has several roles already.");
  const kernel::TileAxis* axis = kernel::find_axis(k, rows);
  const std::int64_t extent = axis == nullptr ? 0 : constant_integer(kernel::extent(*axis)).value_or(0);
  constexpr std::int64_t most_groups = 4;
  if (extent == 0 || extent % atom_rows != 0 || extent / atom_rows > most_groups)
    return no(fmt::format("A tile of {} rows is not 1 to {} groups of {}.", extent, most_groups, atom_rows));
  bool in_loop = false;
  for_each(k.roles[0].body, [&](const Statement& s) {
    const auto* f = std::get_if<kernel::For>(&s.op);
    in_loop = in_loop || (f != nullptr && !f->ranges.empty() && has_loads(f->body));
  });
  if (!in_loop) return no("No loop loads: there is nothing to run ahead of.");
  std::optional<Refusal> refused;
  constexpr std::int64_t bytes_of_row = 128, rows_of_atom = 8, most_rows = 256;
  constexpr std::size_t most_axes = 4;
  for_each(k.roles[0].body, [&](const Statement& s) {
    const auto* c = std::get_if<kernel::Copy>(&s.op);
    if (c == nullptr || refused) return;
    const auto extent_of = [&](Expr e) {
      const kernel::TileAxis* own = e.is(Op::index) ? kernel::find_axis(k, e.name()) : nullptr;
      return own == nullptr ? 0 : constant_integer(kernel::extent(*own)).value_or(0);
    };
    const std::string& what = c->token.text();
    const bool plain = c->from.is(Op::read) && memory.count(c->from.name()) > 0 && c->to.subscripts.size() == 2 &&
                       c->from.args().size() <= most_axes && (!c->otherwise || c->otherwise == number(0));
    if (!plain) {
      refused = no("The load " + what + " is no box of a tensor.");
      return;
    }
    const Expr row = c->to.subscripts[0], column = c->to.subscripts[1];
    const std::int64_t size = size_in_bytes(memory.at(c->from.name()).dtype);
    const bool panels = extent_of(row) % rows_of_atom == 0 && extent_of(row) <= most_rows && extent_of(column) * size % bytes_of_row == 0;
    if (!panels) {
      refused = no(fmt::format("The load {} has rows of {} bytes; the copy engine's panels are of 128.", what, extent_of(column) * size));
      return;
    }
    for (std::size_t d = 0; d < c->from.args().size(); ++d) {
      const Expr at = c->from.arg(d);
      const std::set<Symbol> used = free_indices(at);
      const bool last = d + 1 == c->from.args().size();
      const bool fits = used.empty() || (used.size() == 1 && *used.begin() == (last ? column : row).name());
      if (!fits || (last && used.empty())) refused = no("The load " + what + " is no box of a tensor.");
    }
  });
  return refused;
}

kernel::Kernel separate(const kernel::Kernel& k) {
  kernel::Kernel made = k;
  kernel::Role consumer = k.roles[0], producer;
  producer.name = producer_role;
  producer.warps = number(warps_of_group);
  producer.body = part_of(k.roles[0].body, true);
  consumer.name = consumer_role;
  consumer.warps = number(warps_of_group);
  consumer.body = part_of(k.roles[0].body, false);
  made.roles = {producer, consumer};
  for (kernel::Channel& c : made.channels) {
    c.from = producer_role;
    c.to = consumer_role;
  }
  return made;
}

// ---- partition ----
namespace {

class Partition {
 public:
  Partition(const kernel::Kernel& k, const Memory& memory, Symbol axis, std::int64_t groups, Names& names)
      : k_(k), memory_(memory), axis_(axis), groups_(groups), names_(names) {
    part_ = *constant_integer(kernel::extent(*kernel::find_axis(k, axis))) / groups;
    for (const kernel::Channel& c : k.channels)
      if (each_of(c)) rings_.insert(c.name);
  }

  kernel::Kernel run() {
    for (kernel::TileAxis& axis : k_.axes)
      if (axis.name == axis_)
        axis.parts = {{names_.fresh(axis_.text() + ".w"), number(warps_of_group)},
                      {names_.fresh(axis_.text() + ".u"), number(part_ / warps_of_group)}};
    for (kernel::Channel& c : k_.channels) {
      if (rings_.count(c.name) == 0) continue;
      if (groups_ > 1) c.each = consumer_role;
      for (std::size_t d = 0; d < c.box.size(); ++d)
        if (d == along_.at(c.name)) c.box[d] = number(part_);
    }
    if (groups_ == 1) return k_;
    for (kernel::Role& role : k_.roles) {
      if (role.name == consumer_role) {
        role.groups = number(groups_);
        role.partition = axis_;
        role.body = of_group(role.body, symbol(group));
      } else {
        role.body = for_all_groups(role.body);
      }
    }
    return k_;
  }

 private:
  /// Slots of the channel go along the axis.
  bool each_of(const kernel::Channel& c) {
    bool found = false;
    for (const kernel::Role& role : k_.roles) {
      for_each(role.body, [&](const Statement& s) {
        const auto* copy = std::get_if<kernel::Copy>(&s.op);
        if (copy == nullptr || slot_of(role.body, c.name) != copy->to.name) return;
        for (std::size_t d = 0; d < copy->to.subscripts.size(); ++d) {
          if (copy->to.subscripts[d] != index(axis_)) continue;
          found = true;
          along_[c.name] = d;
        }
      });
    }
    return found;
  }
  static Symbol slot_of(const Block& block, Symbol channel) {
    Symbol slot;
    for_each(block, [&](const Statement& s) {
      if (const auto* a = std::get_if<kernel::Acquire>(&s.op); a != nullptr && a->channel.name == channel) slot = a->slot;
    });
    return slot;
  }

  /// Row i of group `g` where its number counts: everywhere but as the subscript of a tile or slot.
  Expr of_group(Expr e, Expr g) const {
    if (!e) return e;
    if (e == index(axis_)) return constant_integer(g) ? simplify_integer(e + g * number(part_)) : e + g * number(part_);
    if (e.args().empty()) return e;
    const bool tile = e.is(Op::read) && memory_.count(e.name()) == 0;
    std::vector<Expr> args;
    for (const Expr arg : e.args()) args.push_back(tile && arg == index(axis_) ? arg : of_group(arg, g));
    return with_args(e, args);
  }
  kernel::Access of_group(const kernel::Access& a, Expr g) const {
    kernel::Access made = a;
    if (memory_.count(a.name) > 0)
      for (Expr& subscript : made.subscripts) subscript = of_group(subscript, g);
    return made;
  }
  kernel::Access ring_of(kernel::Access channel, Expr g) const {
    if (rings_.count(channel.name) > 0) channel.subscripts = {g};
    return channel;
  }
  void change(Statement& s, Expr g) const {
    const auto expr = [&](Expr& e) {
      if (e) e = of_group(e, g);
    };
    if (auto* v = std::get_if<kernel::Value>(&s.op)) {
      for (kernel::Access& target : v->targets) target = of_group(target, g);
      for (Expr& value : v->values) expr(value);
      expr(v->otherwise);
    } else if (auto* l = std::get_if<kernel::Let>(&s.op)) {
      expr(l->value);
    } else if (auto* c = std::get_if<kernel::Copy>(&s.op)) {
      expr(c->from);
    } else if (auto* a = std::get_if<kernel::Acquire>(&s.op)) {
      a->channel = ring_of(a->channel, g);
    } else if (auto* p = std::get_if<kernel::Publish>(&s.op)) {
      p->channel = ring_of(p->channel, g);
    } else if (auto* r = std::get_if<kernel::Receive>(&s.op)) {
      r->channel = ring_of(r->channel, g);
    } else if (auto* release = std::get_if<kernel::Release>(&s.op)) {
      release->channel = ring_of(release->channel, g);
    } else if (auto* f = std::get_if<kernel::For>(&s.op)) {
      for (kernel::Carry& carry : f->carry) expr(carry.initial);
      f->body = of_group(f->body, g);
    } else if (auto* w = std::get_if<kernel::When>(&s.op)) {
      expr(w->condition);
      w->body = of_group(w->body, g);
    } else if (auto* i = std::get_if<kernel::If>(&s.op)) {
      i->body = of_group(i->body, g);
    }
  }
  Block of_group(const Block& block, Expr g) const {
    Block made = block;
    for (Statement& s : made) change(s, g);
    return made;
  }

  /// The producer fills the rings of all groups, one group after the other.
  Block for_all_groups(const Block& block) {
    Block made;
    for (std::size_t i = 0; i < block.size(); ++i) {
      Statement s = block[i];
      const auto* a = std::get_if<kernel::Acquire>(&s.op);
      if (a == nullptr || rings_.count(a->channel.name) == 0) {
        if (auto* f = std::get_if<kernel::For>(&s.op)) f->body = for_all_groups(f->body);
        if (auto* w = std::get_if<kernel::When>(&s.op)) w->body = for_all_groups(w->body);
        made.push_back(std::move(s));
        continue;
      }
      std::size_t end = i;  // up to its publish
      while (!std::holds_alternative<kernel::Publish>(block[end].op)) ++end;
      for (std::int64_t g = 0; g < groups_; ++g) {
        std::map<Symbol, Symbol> own;  // names of slot and token
        for (std::size_t j = i; j <= end; ++j) {
          Statement each = block[j];
          change(each, number(g));
          rename(each, own, g);
          made.push_back(std::move(each));
        }
      }
      i = end;
    }
    return made;
  }
  void rename(Statement& s, std::map<Symbol, Symbol>& own, std::int64_t g) {
    const auto name = [&](Symbol& symbol) {
      if (own.count(symbol) == 0) own[symbol] = g == 0 ? symbol : names_.fresh(fmt::format("{}.{}", symbol.text(), g));
      symbol = own[symbol];
    };
    if (auto* a = std::get_if<kernel::Acquire>(&s.op)) name(a->slot);
    if (auto* c = std::get_if<kernel::Copy>(&s.op)) {
      name(c->token);
      name(c->to.name);
    }
    if (auto* p = std::get_if<kernel::Publish>(&s.op))
      for (kernel::TokenUse& after : p->after) name(after.token);
  }

  kernel::Kernel k_;
  const Memory& memory_;
  Symbol axis_;
  std::int64_t groups_, part_ = 0;
  Names& names_;
  std::set<Symbol> rings_;
  std::map<Symbol, std::size_t> along_;
};

}  // namespace

kernel::Kernel partition(const kernel::Kernel& k, const Memory& memory, Symbol axis, std::int64_t groups, Names& names) {
  return Partition(k, memory, axis, groups, names).run();
}

// ---- overlap ----
namespace {

/// How the trips of one loop run.
struct TripOrder {
  std::vector<const Statement*> trip;
  std::set<const Statement*> next_trip;  ///< stage 1
};

bool touches(const Statement& s, const std::set<Symbol>& names) {
  const kernel::Uses uses = kernel::uses_of(s, {});
  const auto has = [&](Symbol name) { return names.count(name) > 0; };
  return std::any_of(uses.reads.begin(), uses.reads.end(), has) || std::any_of(uses.writes.begin(), uses.writes.end(), has);
}

std::optional<TripOrder> overlapped(const Block& body, const std::function<bool(const kernel::Mma&)>& asynchronous) {
  const Statement *first = nullptr, *last = nullptr;
  for (const Statement& s : body) {
    const auto* m = std::get_if<kernel::Mma>(&s.op);
    if (m == nullptr || !asynchronous(*m)) continue;
    if (first == nullptr) first = &s;
    last = &s;
  }
  if (first == last) return std::nullopt;
  const auto& product = std::get<kernel::Mma>(last->op);
  const bool computed = std::any_of(body.begin(), body.end(), [&](const Statement& s) {
    const auto* v = std::get_if<kernel::Value>(&s.op);
    return v != nullptr && v->targets[0].name == product.a.name;
  });
  if (!computed) return std::nullopt;
  const Statement *receive = nullptr, *await = nullptr, *release = nullptr;
  for (const Statement& s : body) {
    if (const auto* r = std::get_if<kernel::Receive>(&s.op); r != nullptr && r->slot == product.b.name) receive = &s;
    if (const auto* a = std::get_if<kernel::Await>(&s.op); a != nullptr && a->token == product.token) await = &s;
  }
  if (receive == nullptr || await == nullptr) return std::nullopt;
  const kernel::Access ring = std::get<kernel::Receive>(receive->op).channel;
  for (const Statement& s : body)
    if (const auto* r = std::get_if<kernel::Release>(&s.op); r != nullptr && r->channel == ring) release = &s;
  if (release == nullptr) return std::nullopt;
  TripOrder order;
  order.next_trip = {receive, last, await, release};
  std::vector<const Statement*> now, behind;
  std::set<Symbol> disturbs = {product.a.name, product.acc.name};
  bool begun = false;
  for (const Statement& s : body) {
    if (std::holds_alternative<kernel::Let>(s.op) || order.next_trip.count(&s) > 0) continue;
    if (!begun) {
      order.trip.push_back(&s);
      begun = &s == first;
    } else if (touches(s, disturbs)) {
      const kernel::Uses uses = kernel::uses_of(s, {});
      disturbs.insert(uses.writes.begin(), uses.writes.end());
      behind.push_back(&s);
    } else {
      now.push_back(&s);
    }
  }
  const auto add = [&](const std::vector<const Statement*>& more) { order.trip.insert(order.trip.end(), more.begin(), more.end()); };
  add({receive, last});
  add(now);
  add({await, release});
  add(behind);
  return order;
}

}  // namespace

std::optional<kernel::Kernel> overlap(const kernel::Kernel& k, const Target& target) {
  const auto asynchronous = [&](const kernel::Mma& m) {
    const auto use = std::find_if(k.atoms.begin(), k.atoms.end(), [&](const kernel::AtomUse& a) { return a.name == m.atom; });
    return use != k.atoms.end() && std::any_of(target.atoms.begin(), target.atoms.end(),
                                               [&](const MatrixAtom& a) { return a.name == use->atom && a.asynchronous; });
  };
  kernel::Kernel made = k;
  std::map<Symbol, kernel::At> received;  // by channel
  bool any = false;
  const std::function<void(Block&)> consume = [&](Block& block) {
    for (Statement& s : block) {
      auto* f = std::get_if<kernel::For>(&s.op);
      if (f == nullptr) continue;
      const auto order = f->ranges.empty() ? std::nullopt : overlapped(f->body, asynchronous);
      if (!order) {
        consume(f->body);
        continue;
      }
      any = true;
      std::map<const Statement*, kernel::At> at;
      for (std::size_t i = 0; i < order->trip.size(); ++i)
        at[order->trip[i]] = {order->next_trip.count(order->trip[i]) > 0 ? 1 : 0, static_cast<int>(i) + 1};
      for (Statement& each : f->body) {
        const auto own = at.find(&each);
        if (own == at.end()) continue;
        each.at = own->second;
        if (const auto* r = std::get_if<kernel::Receive>(&each.op)) received[r->channel.name] = own->second;
      }
    }
  };
  const std::function<void(Block&)> produce = [&](Block& block) {
    for (Statement& s : block) {
      if (auto* f = std::get_if<kernel::For>(&s.op)) {
        bool staged = false;
        for (const Statement& each : f->body)
          if (const auto* a = std::get_if<kernel::Acquire>(&each.op)) staged = staged || received.count(a->channel.name) > 0;
        if (!staged) {
          produce(f->body);
          continue;
        }
        kernel::At at;
        for (Statement& each : f->body) {
          if (const auto* a = std::get_if<kernel::Acquire>(&each.op)) at = received[a->channel.name];
          if (is_load(each)) each.at = at;
        }
      }
    }
  };
  for (kernel::Role& role : made.roles)
    if (role.name == consumer_role) consume(role.body);
  if (!any) return std::nullopt;
  for (kernel::Role& role : made.roles)
    if (role.name == producer_role) produce(role.body);
  return made;
}

kernel::KnownMachine machine_of(const Target& target) {
  kernel::KnownMachine machine;
  machine.lanes = target.lanes;
  for (const MatrixAtom& a : target.atoms) machine.atoms.push_back({a.name, a.asynchronous, a.quiet_operands, a.issuing_lanes});
  return machine;
}

/// At launch every thread has the same number, a multiple of eight below its share; the producer gives back what it does not need.
std::optional<RegisterSplit> split_registers(const Target& target, std::int64_t groups) {
  if (!target.registers_move) return std::nullopt;
  constexpr std::int64_t step = 8, least_for_producer = 32, most = 240, bytes = 4;
  const std::int64_t threads = (groups + 1) * warps_of_group * target.lanes;
  const std::int64_t each = std::min<std::int64_t>(target.registers_bytes / bytes / threads / step * step, 256 - step);
  const std::int64_t consumer = std::min(((groups + 1) * each - least_for_producer) / groups / step * step, most);
  if (consumer <= each) return std::nullopt;
  return RegisterSplit{std::max(least_for_producer, std::min(each, (groups + 1) * each - groups * consumer)), consumer};
}

}  // namespace fathom::passes
