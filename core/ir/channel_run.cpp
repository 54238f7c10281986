#include "ir/channel_run.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "ir/overloaded.hpp"
#include "ir/trips.hpp"

namespace fathom::kernel {
namespace {

constexpr std::size_t most_events = 200'000;  // of all roles together: a sample beyond it says nothing new

using Values = DimValues;

/// Integers and conditions. A tensor's element is some small number that only depends on its subscripts.
std::optional<std::int64_t> evaluate(Expr e, const Values& values) {
  if (!e) return std::nullopt;
  const auto without_tensors = [&](Expr part) {
    if (!part.is(Op::read)) return part;
    if (const auto known = values.find(part.name()); part.args().empty() && known != values.end()) return number(known->second);
    if (part.args().empty()) return number(1);
    std::uint64_t hash = hash_bytes(part.name().text());
    for (const Expr subscript : part.args()) {
      const auto value = evaluate_integer(subscript, values);
      if (!value) return part;
      hash = hash_combine(hash, static_cast<std::uint64_t>(*value));
    }
    return number(static_cast<std::int64_t>(hash % 1500));
  };
  return evaluate_integer(transform(e, without_tensors), values);
}

enum class Kind : std::uint8_t { acquire, publish, receive, release, take, pass, meet };
struct Event {
  Kind kind;
  Symbol what;
  std::int64_t group = 0;  ///< of a channel that each group has its own of
  std::int64_t item = 0;
  const Statement* statement = nullptr;
};

/// What one group of one role does, in its order.
struct Trace {
  const Role* role = nullptr;
  std::int64_t group = 0;
  std::vector<Event> events;
  std::size_t next = 0;
};

class Tracer {
 public:
  Tracer(const Kernel& k, const std::vector<std::int64_t>& items, std::int64_t groups, Trace& trace, std::size_t& left)
      : k_(k), items_(items), groups_(groups), trace_(trace), left_(left) {}
  /// False where a range or condition has no value, or there are too many events.
  bool block(const Block& block, Values& values) {
    return std::all_of(block.begin(), block.end(), [&](const Statement& s) { return statement(s, values); });
  }

 private:
  bool statement(const Statement& s, Values& values) {
    return std::visit(Overloaded{
                          [&](const Acquire& a) { return add(Kind::acquire, a.channel, s, values); },
                          [&](const Publish& p) { return add(Kind::publish, p.channel, s, values); },
                          [&](const Receive& r) { return add(Kind::receive, r.channel, s, values); },
                          [&](const Release& r) { return add(Kind::release, r.channel, s, values); },
                          [&](const Take& t) { return add(Kind::take, {t.turn, {}}, s, values); },
                          [&](const Pass& p) { return add(Kind::pass, {p.turn, {}}, s, values); },
                          [&](const Atomic& a) {
                            values[a.result] = 0;
                            return groups_ == 1 || add(Kind::meet, {a.result, {}}, s, values);
                          },
                          [&](const Value& v) {
                            const bool meets = groups_ > 1 && !v.values.empty() && reduces_over_groups(v.values[0]);
                            return !meets || add(Kind::meet, v.targets[0], s, values, false);
                          },
                          [&](const Let& l) {
                            if (const auto value = evaluate(l.value, values)) values[l.name] = *value;
                            return true;
                          },
                          [&](const For& f) { return loop(f, values); },
                          [&](const When& w) {
                            if (!has_events(w.body)) return true;
                            const auto holds = evaluate(w.condition, values);
                            if (!holds) return false;
                            Values inner = values;
                            return *holds == 0 || block(w.body, inner);
                          },
                          [&](const auto&) { return true; },
                      },
                      s.op);
  }

  bool has_events(const Block& block) const {
    return std::any_of(block.begin(), block.end(), [&](const Statement& s) {
      if (const auto* w = std::get_if<When>(&s.op)) return has_events(w->body);
      if (const auto* f = std::get_if<For>(&s.op)) return has_events(f->body);
      if (const auto* v = std::get_if<Value>(&s.op)) return groups_ > 1 && !v->values.empty() && reduces_over_groups(v->values[0]);
      return std::holds_alternative<Acquire>(s.op) || std::holds_alternative<Publish>(s.op) || std::holds_alternative<Receive>(s.op) ||
             std::holds_alternative<Release>(s.op) || std::holds_alternative<Take>(s.op) || std::holds_alternative<Pass>(s.op) ||
             std::holds_alternative<Atomic>(s.op);
    });
  }

  bool add(Kind kind, const Access& access, const Statement& s, const Values& values, bool with_group = true) {
    if (left_ == 0) return false;
    --left_;
    Event event{kind, access.name, trace_.group, item_, &s};
    if (with_group && !access.subscripts.empty()) {
      const auto group = evaluate(access.subscripts[0], values);
      if (!group) return false;
      event.group = *group;
    }
    trace_.events.push_back(event);
    return true;
  }

  bool loop(const For& f, Values& values) {
    if (f.ranges.empty()) {
      for (const std::int64_t item : items_) {
        Values inner = values;
        item_ = item;
        inner[k_.work.variable] = item;
        for (const Let& l : k_.lets) {
          if (const auto value = evaluate(l.value, inner)) inner[l.name] = *value;
        }
        if (!block(f.body, inner)) return false;
      }
      return true;
    }
    if (!has_events(f.body)) return true;
    std::vector<std::pair<std::size_t, std::int64_t>> trips;
    for (std::size_t range = 0; range < f.ranges.size(); ++range) {
      const auto lo = evaluate(f.ranges[range].lo, values), hi = evaluate(f.ranges[range].hi, values);
      if (!lo || !hi || *hi - *lo > static_cast<std::int64_t>(most_events)) return false;
      for (std::int64_t i = *lo; i < *hi; ++i) trips.emplace_back(range, i);
    }
    std::vector<std::vector<Placed>> bodies;
    for (std::size_t range = 0; range < f.ranges.size(); ++range) bodies.push_back(body_in(f, range));
    std::vector<Values> iterations;
    for (const auto& [range, i] : trips) {
      Values& own = iterations.emplace_back(values);
      own[f.variable] = i;
      for (std::size_t tag = 0; tag < f.ranges.size(); ++tag) {
        if (!f.ranges[tag].tag.empty()) own[f.ranges[tag].tag] = f.ranges[tag].tag == f.ranges[range].tag ? 1 : 0;
      }
      for (const Placed& p : bodies[range]) {
        const auto* let = std::get_if<Let>(&p.statement->op);
        const auto value = let == nullptr ? std::nullopt : evaluate(let->value, own);
        if (value) own[let->name] = *value;
      }
    }
    const int last = last_stage(f);
    for (std::int64_t trip = 0; trip < static_cast<std::int64_t>(trips.size()) + last && !trips.empty(); ++trip) {
      std::vector<std::pair<const Placed*, std::size_t>> now;
      for (int stage = last; stage >= 0; --stage) {
        const std::int64_t at = trip - stage;
        if (at < 0 || at >= static_cast<std::int64_t>(trips.size())) continue;
        for (const Placed& p : bodies[trips[static_cast<std::size_t>(at)].first])
          if ((p.at ? p.at->stage : 0) == stage) now.emplace_back(&p, static_cast<std::size_t>(at));
      }
      std::stable_sort(now.begin(), now.end(), [](const auto& a, const auto& b) {
        return (a.first->at ? a.first->at->order : -1) < (b.first->at ? b.first->at->order : -1);
      });
      for (const auto& [placed, at] : now) {
        if (!statement(*placed->statement, iterations[at])) return false;
      }
    }
    return true;
  }

  const Kernel& k_;
  const std::vector<std::int64_t>& items_;
  std::int64_t groups_;
  Trace& trace_;
  std::size_t& left_;
  std::int64_t item_ = 0;
};

struct Queue {
  std::int64_t depth = 1;
  std::int64_t acquired = 0, published = 0;
  std::vector<std::int64_t> received, released;
};

/// All traces together.
class Network {
 public:
  Network(const Kernel& k, const Values& values, std::vector<Trace>& traces) : k_(k), traces_(traces) {
    for (const Channel& c : k.channels) {
      const std::int64_t receivers = groups_of(c.to);
      Queue queue;
      queue.depth = evaluate(c.depth, values).value_or(1);
      const auto ends = static_cast<std::size_t>(c.each.empty() ? receivers : 1);
      queue.received.assign(ends, 0);
      queue.released.assign(ends, 0);
      for (std::int64_t group = 0; group < (c.each.empty() ? 1 : receivers); ++group) queues_[{c.name, group}] = queue;
    }
  }

  /// Runs until nobody can go on.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Trace& trace : traces_) {
        while (trace.next < trace.events.size() && step(trace)) moved = true;
      }
    }
  }

  [[nodiscard]] bool over() const {
    return std::all_of(traces_.begin(), traces_.end(), [](const Trace& t) { return t.next == t.events.size(); });
  }
  [[nodiscard]] std::string who_waits() const {
    std::string all;
    for (const Trace& trace : traces_) {
      if (trace.next == trace.events.size()) continue;
      const Event& event = trace.events[trace.next];
      std::string text = print(*event.statement);
      while (!text.empty() && text.back() == '\n') text.pop_back();
      all += (all.empty() ? "" : ", ") + who(trace) + " waits at `" + text + "` of work item " + std::to_string(event.item);
    }
    return all;
  }
  [[nodiscard]] std::string left_over() const {
    for (const auto& [name, q] : queues_) {
      for (const std::int64_t received : q.received) {
        if (received != q.published)
          return "channel `" + name.first.text() + "` is given " + std::to_string(q.published) + " items, of which " +
                 std::to_string(received) + " are received";
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::int64_t groups_of(Symbol role) const {
    return std::count_if(traces_.begin(), traces_.end(), [role](const Trace& t) { return t.role->name == role; });
  }
  [[nodiscard]] std::string who(const Trace& trace) const {
    const std::string role = "role `" + trace.role->name.text() + "`";
    return groups_of(trace.role->name) > 1 ? "group " + std::to_string(trace.group) + " of " + role : role;
  }
  bool step(Trace& trace) {
    const Event& event = trace.events[trace.next];
    if (!can(trace, event)) return false;
    ++trace.next;
    return true;
  }
  bool can(const Trace& trace, const Event& event) {
    if (event.kind == Kind::take) return turns_[event.what] == trace.group;
    if (event.kind == Kind::pass) {
      turns_[event.what] = (trace.group + 1) % groups_of(trace.role->name);
      return true;
    }
    if (event.kind == Kind::meet) {  // all groups have come as far; those that went on count as here
      Meeting& m = meetings_[event.statement];
      std::int64_t& own = m.came[trace.group];
      if (own == m.left[trace.group]) ++own;
      for (std::int64_t group = 0; group < groups_of(trace.role->name); ++group)
        if (m.came[group] < own) return false;
      ++m.left[trace.group];
      return true;
    }
    const auto at = queues_.find({event.what, event.group});
    const auto whole = queues_.find({event.what, 0});
    Queue* q = at != queues_.end() ? &at->second : nullptr;
    const auto channel = std::find_if(k_.channels.begin(), k_.channels.end(), [&](const Channel& c) { return c.name == event.what; });
    if (channel->each.empty()) q = &whole->second;
    if (q == nullptr) return false;
    const auto end = static_cast<std::size_t>(q->received.size() > 1 ? trace.group : 0);
    switch (event.kind) {
      case Kind::acquire:
        if (q->acquired - *std::min_element(q->released.begin(), q->released.end()) >= q->depth) return false;
        ++q->acquired;
        return true;
      case Kind::publish:
        ++q->published;
        return true;
      case Kind::receive:
        if (q->published <= q->received[end]) return false;
        ++q->received[end];
        return true;
      default:
        ++q->released[end];
        return true;
    }
  }

  struct Meeting {
    std::map<std::int64_t, std::int64_t> came, left;
  };
  const Kernel& k_;
  std::vector<Trace>& traces_;
  std::map<std::pair<Symbol, std::int64_t>, Queue> queues_;
  std::map<Symbol, std::int64_t> turns_;
  std::map<const Statement*, Meeting> meetings_;
};

std::string shown(const Module& m, const Values& values) {
  std::string text;
  for (const math::Dimension& d : m.dims) {
    if (d.runtime) text += (text.empty() ? "" : ", ") + d.name.text() + " = " + std::to_string(values.at(d.name));
  }
  return text.empty() ? "" : " (" + text + ")";
}

/// One workgroup with these items; nothing to say where a size is not known.
std::optional<Refusal> try_items(const Module& m, const Kernel& k, const Values& values, const std::vector<std::int64_t>& items) {
  std::vector<Trace> traces;
  std::size_t left = most_events;
  for (const Role& r : k.roles) {
    const std::int64_t groups = r.groups ? evaluate(r.groups, values).value_or(0) : 1;
    for (std::int64_t group = 0; group < groups; ++group) {
      Trace& trace = traces.emplace_back();
      trace.role = &r;
      trace.group = group;
      Values own = values;
      own.emplace(Symbol("g"), group);
      if (!Tracer(k, items, groups, trace, left).block(r.body, own)) return std::nullopt;
    }
  }
  Network network(k, values, traces);
  network.run();
  const std::string& name = k.name.text();
  if (!network.over())
    return Refusal{"the roles of kernel `" + name + "` wait for each other" + shown(m, values) + ": " + network.who_waits(), {name}, {}};
  const std::string lost = network.left_over();
  if (lost.empty()) return std::nullopt;
  return Refusal{"in kernel `" + name + "` " + lost + shown(m, values),
                 {name},
                 "producer and receivers hand over the same number of items in every work item"};
}

/// One sample of sizes.
std::optional<Refusal> try_sizes(const Module& m, const Kernel& k, Values values, bool& meant) {
  for (const Let& l : m.lets) {
    if (const auto value = evaluate(l.value, values)) values[l.name] = *value;
  }
  for (const Require& r : m.requires_) {
    if (evaluate(r.condition, values).value_or(1) == 0) return std::nullopt;
  }
  if (k.when && evaluate(k.when, values).value_or(1) == 0) return std::nullopt;
  const auto lo = evaluate(k.work.lo, values), hi = evaluate(k.work.hi, values);
  if (!lo || !hi || *hi <= *lo) return std::nullopt;
  meant = true;
  const std::set<std::int64_t> items = {*lo, *lo + (*hi - *lo) / 2, *hi - 1};
  if (k.work.source != WorkSource::grid) return try_items(m, k, values, {items.begin(), items.end()});
  for (const std::int64_t item : items) {  // a workgroup has one item
    if (auto wrong = try_items(m, k, values, {item})) return wrong;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> run_channels(const Module& m, const Kernel& k) {
  if (k.channels.empty() && k.turns.empty()) return std::nullopt;
  constexpr std::array<std::int64_t, 8> sizes = {1, 2, 5, 64, 130, 300, 700, 1000};
  constexpr std::uint64_t most_samples = 200;
  constexpr int wanted = 16;
  int tried = 0;
  for (std::uint64_t sample = 0; sample < most_samples && tried < wanted; ++sample) {
    Values values;
    const auto drawn = [&](Symbol name) { return hash_combine(hash_bytes(name.text()), sample); };
    for (const math::Dimension& d : m.dims) values[d.name] = d.runtime ? sizes[drawn(d.name) % sizes.size()] : d.value;
    for (const math::Parameter& p : m.params) {
      if (p.extents.empty() && is_integer(p.dtype)) values[p.name] = static_cast<std::int64_t>(1 + drawn(p.name) % 3);
    }
    bool meant = false;  // these sizes are launched
    if (auto wrong = try_sizes(m, k, values, meant)) return wrong;
    tried += meant ? 1 : 0;
  }
  return std::nullopt;
}

}  // namespace fathom::kernel
