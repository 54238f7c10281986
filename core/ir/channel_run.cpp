#include "ir/channel_run.hpp"

#include <algorithm>
#include <map>

#include "ir/overloaded.hpp"
#include "ir/trips.hpp"

namespace fathom::kernel {
namespace {

constexpr std::size_t most_steps = 200'000;  // of all roles together in one sample, events and trips: one beyond it says nothing
constexpr std::size_t most_in_all = 2'000'000;

using Values = DimValues;

/// Integers and conditions. An element of a parameter of integers is some small number that only depends on its subscripts; any other value
/// that is not known from sizes has none.
class Evaluator {
 public:
  explicit Evaluator(const Module& m) {
    for (const math::Parameter& p : m.params)
      if (is_integer(p.dtype)) tables_.insert(p.name);
  }
  [[nodiscard]] std::optional<std::int64_t> operator()(Expr e, const Values& values) const {
    if (!e) return std::nullopt;
    const auto without_tensors = [&](Expr part) {
      if (!part.is(Op::read)) return part;
      if (const auto known = values.find(part.name()); part.args().empty() && known != values.end()) return number(known->second);
      if (part.args().empty() || tables_.count(part.name()) == 0) return part;
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

 private:
  std::set<Symbol> tables_;
};

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

/// Steps that may still be made, and the expression that had no value.
struct Tracing {
  std::size_t left = 0;
  Expr unknown;
  bool spend() {
    if (left == 0) return false;
    --left;
    return true;
  }
};

class Tracer {
 public:
  Tracer(const Kernel& k, const Evaluator& evaluator, const std::vector<std::int64_t>& items, std::int64_t groups, Trace& trace,
         Tracing& state)
      : k_(k), evaluate_(evaluator), items_(items), groups_(groups), trace_(trace), state_(state) {}
  /// False where a range or condition has no value, or there are too many steps.
  bool block(const Block& block, Values& values) {
    return std::all_of(block.begin(), block.end(), [&](const Statement& s) { return statement(s, values); });
  }

 private:
  bool statement(const Statement& s, Values& values) {
    if (!state_.spend()) return false;
    return std::visit(Overloaded{
                          [&](const Acquire& a) { return add(Kind::acquire, a.channel, s, values); },
                          [&](const Publish& p) { return add(Kind::publish, p.channel, s, values); },
                          [&](const Receive& r) { return add(Kind::receive, r.channel, s, values); },
                          [&](const Release& r) { return add(Kind::release, r.channel, s, values); },
                          [&](const Take& t) { return add(Kind::take, {t.turn, {}}, s, values); },
                          [&](const Pass& p) { return add(Kind::pass, {p.turn, {}}, s, values); },
                          [&](const Atomic& a) {
                            values.erase(a.result);
                            return groups_ == 1 || add(Kind::meet, {a.result, {}}, s, values);
                          },
                          [&](const Value& v) {
                            for (std::size_t i = 0; i < v.targets.size(); ++i) {
                              if (v.targets[i].subscripts.empty())
                                set(v.targets[i].name, v.values.size() == v.targets.size() ? v.values[i] : Expr(), values);
                            }
                            const bool meets = groups_ > 1 && !v.values.empty() && reduces_over_groups(v.values[0]);
                            return !meets || add(Kind::meet, v.targets[0], s, values, false);
                          },
                          [&](const Let& l) {
                            set(l.name, l.value, values);
                            return true;
                          },
                          [&](const For& f) { return loop(f, values); },
                          [&](const When& w) {
                            if (!has_events(w.body)) {
                              forget(w.body, values);
                              return true;
                            }
                            const auto holds = known(w.condition, values);
                            return holds && (*holds == 0 || block(w.body, values));
                          },
                          [&](const If& i) {
                            forget(i.body, values);
                            return true;
                          },
                          [&](const auto&) { return true; },
                      },
                      s.op);
  }

  void set(Symbol name, Expr value, Values& values) {
    const auto known = evaluate_(value, values);
    values.erase(name);
    if (known) values[name] = *known;
  }
  /// What a block that is not followed may change has no value behind it.
  static void forget(const Block& block, Values& values) {
    for (const Statement& s : block) {
      if (const auto* v = std::get_if<Value>(&s.op)) {
        for (const Access& target : v->targets) values.erase(target.name);
      }
      if (const auto* w = std::get_if<When>(&s.op)) forget(w->body, values);
      if (const auto* i = std::get_if<If>(&s.op)) forget(i->body, values);
      if (const auto* f = std::get_if<For>(&s.op)) forget(f->body, values);
    }
  }
  std::optional<std::int64_t> known(Expr e, const Values& values) {
    const auto value = evaluate_(e, values);
    if (!value) state_.unknown = e;
    return value;
  }

  bool has_events(const Block& block) const {
    return std::any_of(block.begin(), block.end(), [&](const Statement& s) {
      if (const auto* w = std::get_if<When>(&s.op)) return has_events(w->body);
      if (const auto* f = std::get_if<For>(&s.op)) return has_events(f->body);
      if (const auto* v = std::get_if<Value>(&s.op)) return groups_ > 1 && !v->values.empty() && reduces_over_groups(v->values[0]);
      return std::holds_alternative<Acquire>(s.op) || std::holds_alternative<Publish>(s.op) || std::holds_alternative<Receive>(s.op) ||
             std::holds_alternative<Release>(s.op) || std::holds_alternative<Take>(s.op) || std::holds_alternative<Pass>(s.op) ||
             (groups_ > 1 && std::holds_alternative<Atomic>(s.op));
    });
  }

  bool add(Kind kind, const Access& access, const Statement& s, const Values& values, bool with_group = true) {
    Event event{kind, access.name, trace_.group, item_, &s};
    if (with_group && !access.subscripts.empty()) {
      const auto group = known(access.subscripts[0], values);
      if (!group) return false;
      event.group = *group;
    }
    trace_.events.push_back(event);
    return true;
  }

  bool work_loop(const For& f, const Values& values) {
    for (const std::int64_t item : items_) {
      Values inner = values;
      item_ = item;
      inner[k_.work.variable] = item;
      for (const Let& l : k_.lets) set(l.name, l.value, inner);
      if (!block(f.body, inner)) return false;
    }
    return true;
  }

  /// An iteration: the range that it is of, and its number there.
  using Iteration = std::pair<std::size_t, std::int64_t>;
  Values values_in(const For& f, const Iteration& iteration, const std::vector<Placed>& body, const Values& around) {
    Values own = around;
    own[f.variable] = iteration.second;
    for (const TaggedRange& r : f.ranges) {
      if (!r.tag.empty()) own[r.tag] = r.tag == f.ranges[iteration.first].tag ? 1 : 0;
    }
    for (const Placed& p : body) {
      if (const auto* let = std::get_if<Let>(&p.statement->op)) set(let->name, let->value, own);
    }
    return own;
  }

  bool loop(const For& f, Values& values) {
    if (f.ranges.empty()) return work_loop(f, values);
    forget(f.body, values);
    if (!has_events(f.body)) return true;
    std::vector<Iteration> iterations;
    std::vector<std::vector<Placed>> bodies;
    for (std::size_t range = 0; range < f.ranges.size(); ++range) {
      bodies.push_back(body_in(f, range));
      const auto lo = known(f.ranges[range].lo, values), hi = known(f.ranges[range].hi, values);
      if (!lo || !hi) return false;
      for (std::int64_t i = *lo; i < *hi; ++i) {
        if (!state_.spend()) return false;
        iterations.emplace_back(range, i);
      }
    }
    const auto count = static_cast<std::int64_t>(iterations.size());
    const int last = last_stage(f);
    std::map<std::int64_t, Values> under_way;
    for (std::int64_t trip = 0; trip < count + last && count > 0; ++trip) {
      if (trip < count) {
        const Iteration& begun = iterations[static_cast<std::size_t>(trip)];
        under_way.emplace(trip, values_in(f, begun, bodies[begun.first], values));
      }
      std::vector<std::pair<const Placed*, std::int64_t>> now;
      for (int stage = last; stage >= 0; --stage) {
        const std::int64_t at = trip - stage;
        if (!state_.spend()) return false;
        if (at < 0 || at >= count) continue;
        for (const Placed& p : bodies[iterations[static_cast<std::size_t>(at)].first])
          if ((p.at ? p.at->stage : 0) == stage) now.emplace_back(&p, at);
      }
      std::stable_sort(now.begin(), now.end(), [](const auto& a, const auto& b) {
        return (a.first->at ? a.first->at->order : -1) < (b.first->at ? b.first->at->order : -1);
      });
      for (const auto& [placed, at] : now) {
        if (!statement(*placed->statement, under_way.at(at))) return false;
      }
      under_way.erase(trip - last);
    }
    return true;
  }

  const Kernel& k_;
  const Evaluator& evaluate_;
  const std::vector<std::int64_t>& items_;
  std::int64_t groups_;
  Trace& trace_;
  Tracing& state_;
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
  Network(const Kernel& k, const Evaluator& evaluate, const Values& values, std::vector<Trace>& traces) : k_(k), traces_(traces) {
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
    for (const Turn& turn : k_.turns) {
      const auto passed = passed_.find(turn.name);
      if (passed == passed_.end()) continue;
      for (std::int64_t group = 1; group < groups_of(turn.over); ++group) {
        const std::int64_t own = passed->second.count(group) > 0 ? passed->second.at(group) : 0;
        if (own != passed->second.at(0))
          return "turn `" + turn.name.text() + "` is taken " + std::to_string(passed->second.at(0)) + " times by group 0, but " +
                 std::to_string(own) + " times by group " + std::to_string(group);
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
      if (turns_[event.what] != trace.group) return false;
      ++passed_[event.what][trace.group];
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
  std::map<Symbol, std::map<std::int64_t, std::int64_t>> passed_;
  std::map<const Statement*, Meeting> meetings_;
};

std::string shown(const Module& m, const Values& values) {
  std::string text;
  for (const math::Dimension& d : m.dims) {
    if (d.runtime) text += (text.empty() ? "" : ", ") + d.name.text() + " = " + std::to_string(values.at(d.name));
  }
  return text.empty() ? "" : " (" + text + ")";
}

/// One sample after the other, and what they have shown.
class Samples {
 public:
  Samples(const Module& m, const Kernel& k) : m_(m), k_(k), evaluate_(m) {
    for (const std::int64_t size : {1, 2, 5, 64, 130, 300, 700, 1000}) sizes_.push_back(size);
    for (const std::int64_t size : {1, 2, 3}) numbers_.push_back(size);
    for (const Require& r : m.requires_) bounds_in(r.condition);
    bounds_in(k.when);
    for (const Role& r : k.roles) bounds_in(r.body);
  }

  std::optional<Refusal> run() {
    constexpr std::uint64_t most_samples = 400;
    constexpr int wanted = 16;
    for (std::uint64_t sample = 0; sample < most_samples && meant_ < wanted; ++sample) {
      Values values;
      const auto drawn = [&](Symbol name, const std::vector<std::int64_t>& from) {
        return from[hash_combine(hash_bytes(name.text()), sample) % from.size()];
      };
      for (const math::Dimension& d : m_.dims) values[d.name] = d.runtime && sample > 0 ? drawn(d.name, sizes_) : d.value;
      for (const math::Parameter& p : m_.params) {
        if (p.extents.empty() && is_integer(p.dtype)) values[p.name] = drawn(p.name, numbers_);
      }
      if (auto wrong = sizes(std::move(values))) return wrong;
    }
    const std::string what = "it cannot be shown that the roles of kernel `" + k_.name.text() + "` hand over equal counts: ";
    if (unknown_ && shown_ == 0)
      return Refusal{what + "`" + fathom::print(unknown_) + "` has no value in front of the launch",
                     {k_.name.text()},
                     "let it depend on sizes, on integers among the parameters and on elements of integer tensors"};
    if (!launched_) return Refusal{what + "no sizes that were tried meet the launch contract", {k_.name.text()}, {}};
    return std::nullopt;
  }

 private:
  /// Sizes near the numbers that conditions compare with.
  void bounds_in(Expr e) {
    if (!e) return;
    constexpr std::int64_t largest = 1 << 20;
    visit(e, [&](Expr part) {
      const auto n = constant_integer(part);
      if (!n || *n < 2 || *n > largest) return;
      for (const std::int64_t near : {*n - 1, *n, *n + 1, 2 * *n}) {
        sizes_.push_back(near);
        if (*n < 100) numbers_.push_back(near);
      }
    });
  }
  void bounds_in(const Block& block) {
    for (const Statement& s : block) {
      if (const auto* f = std::get_if<For>(&s.op)) bounds_in(f->body);
      if (const auto* w = std::get_if<When>(&s.op)) {
        bounds_in(w->condition);
        bounds_in(w->body);
      }
    }
  }

  std::optional<Refusal> sizes(Values values) {
    for (const Let& l : m_.lets) {
      if (const auto value = evaluate_(l.value, values)) values[l.name] = *value;
    }
    for (const Require& r : m_.requires_) {
      if (evaluate_(r.condition, values).value_or(1) == 0) return std::nullopt;
    }
    launched_ = true;
    if (k_.when && evaluate_(k_.when, values).value_or(1) == 0) return std::nullopt;
    const auto lo = evaluate_(k_.work.lo, values), hi = evaluate_(k_.work.hi, values);
    if (!lo || !hi || *hi <= *lo) return std::nullopt;
    ++meant_;
    constexpr std::uint64_t few = 16;
    std::set<std::int64_t> items = {*lo, *lo + (*hi - *lo) / 2, *hi - 1};
    if (static_cast<std::uint64_t>(*hi) - static_cast<std::uint64_t>(*lo) <= few) {
      for (std::int64_t item = *lo; item < *hi; ++item) items.insert(item);
    }
    if (k_.work.source != WorkSource::grid) return workgroup(values, {items.begin(), items.end()});
    for (const std::int64_t item : items) {  // a workgroup has one item
      if (auto wrong = workgroup(values, {item})) return wrong;
    }
    return std::nullopt;
  }

  /// One workgroup with these items.
  std::optional<Refusal> workgroup(const Values& values, const std::vector<std::int64_t>& items) {
    std::vector<Trace> traces;
    Tracing state;
    state.left = std::min(most_steps, left_);
    const std::size_t before = state.left;
    bool whole = true;
    for (const Role& r : k_.roles) {
      const auto groups = r.groups ? evaluate_(r.groups, values) : std::optional<std::int64_t>(1);
      if (!groups) state.unknown = r.groups;
      whole = whole && groups && *groups <= most_groups;
      for (std::int64_t group = 0; whole && group < *groups; ++group) {
        Trace& trace = traces.emplace_back();
        trace.role = &r;
        trace.group = group;
        Values own = values;
        own.emplace(Symbol("g"), group);
        whole = Tracer(k_, evaluate_, items, *groups, trace, state).block(r.body, own);
      }
    }
    left_ -= before - state.left;
    if (state.unknown) unknown_ = state.unknown;
    if (!whole) return std::nullopt;
    ++shown_;
    Network network(k_, evaluate_, values, traces);
    network.run();
    const std::string& name = k_.name.text();
    if (!network.over())
      return Refusal{"the roles of kernel `" + name + "` wait for each other" + shown(m_, values) + ": " + network.who_waits(), {name}, {}};
    const std::string lost = network.left_over();
    if (lost.empty()) return std::nullopt;
    return Refusal{"in kernel `" + name + "` " + lost + shown(m_, values),
                   {name},
                   "producer and receivers hand over the same number of items in every work item, and groups take a turn as often"};
  }

  static constexpr std::int64_t most_groups = 32;
  const Module& m_;
  const Kernel& k_;
  const Evaluator evaluate_;
  std::vector<std::int64_t> sizes_, numbers_;
  std::size_t left_ = most_in_all;
  bool launched_ = false;  ///< some sizes meet the contract
  int meant_ = 0;          ///< and the kernel runs
  int shown_ = 0;
  Expr unknown_;
};

}  // namespace

std::optional<Refusal> run_channels(const Module& m, const Kernel& k) {
  const auto alone = [](const Role& r) { return !r.groups || constant_integer(r.groups) == 1; };
  if (k.channels.empty() && k.turns.empty() && std::all_of(k.roles.begin(), k.roles.end(), alone)) return std::nullopt;
  return Samples(m, k).run();
}

}  // namespace fathom::kernel
