#include "ir/shared_memory.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "ir/groups.hpp"
#include "ir/trips.hpp"

namespace fathom::kernel {
namespace {

/// What a statement reads, inner blocks left out.
std::vector<Access> reads_of(const Statement& s) {
  std::vector<Access> found;
  const auto look = [&](Expr e) {
    if (!e) return;
    visit(e, [&](Expr part) {
      if (part.is(Op::read)) found.push_back({part.name(), {part.args().begin(), part.args().end()}});
    });
  };
  const auto place = [&](const Access& a) { std::for_each(a.subscripts.begin(), a.subscripts.end(), look); };
  if (const auto* v = std::get_if<Value>(&s.op)) {
    std::for_each(v->values.begin(), v->values.end(), look);
    look(v->otherwise);
    std::for_each(v->targets.begin(), v->targets.end(), place);
  } else if (const auto* l = std::get_if<Let>(&s.op)) {
    look(l->value);
  } else if (const auto* c = std::get_if<Copy>(&s.op)) {
    look(c->from);
    look(c->otherwise);
    place(c->to);
  } else if (const auto* m = std::get_if<Mma>(&s.op)) {
    for (const Access* a : {&m->a, &m->b}) look(read(a->name, a->subscripts));
    if (m->accumulate) look(read(m->acc.name, m->acc.subscripts));
  } else if (const auto* a = std::get_if<Atomic>(&s.op)) {
    place(a->place);
    look(a->value);
  } else if (const auto* f = std::get_if<For>(&s.op)) {
    for (const TaggedRange& r : f->ranges) {
      look(r.lo);
      look(r.hi);
    }
    for (const Carry& carried : f->carry) look(carried.initial);
  } else if (const auto* w = std::get_if<When>(&s.op)) {
    look(w->condition);
  } else if (const auto* i = std::get_if<If>(&s.op)) {
    look(read(i->condition.name, i->condition.subscripts));
  }
  return found;
}

const Block* inner_of(const Statement& s) {
  if (const auto* w = std::get_if<When>(&s.op)) return &w->body;
  if (const auto* i = std::get_if<If>(&s.op)) return &i->body;
  if (const auto* f = std::get_if<For>(&s.op)) return &f->body;
  return nullptr;
}

/// What the roles use, each for itself.
struct Usage {
  std::set<Symbol> stored, read;
};
void collect(const Block& block, const std::set<Symbol>& places, Usage& usage) {
  collect_stored(block, places, usage.stored);
  for (const Statement& s : block) {
    for (const Access& a : reads_of(s))
      if (places.count(a.name) > 0) usage.read.insert(a.name);
    if (const Block* inner = inner_of(s)) collect(*inner, places, usage);
  }
}

/// One role, along its text: a loop twice, so that the next trip is seen; what stands under a condition may not have been.
class RoleRaces {
 public:
  RoleRaces(const Module& m, const Kernel& k, const Role& role, const std::map<Symbol, Usage>& all)
      : m_(m), k_(k), role_(role), all_(all), varies_(m, k, role) {
    several_ = role.groups && constant_integer(role.groups) != 1;
    one_item_ = constant_integer(simplify_integer(k.work.hi - k.work.lo)) == 1;
    for (const Let& l : k.lets) lets_[symbol(l.name)] = substitute(l.value, lets_);
    std::set<Symbol> tensors, own;
    for (const math::Parameter& r : m.results) tensors.insert(r.name);
    results_ = tensors;
    for (const Workspace& w : m.workspaces) tensors.insert(w.name);
    for (const auto& [name, usage] : all) {
      for (const Symbol place : usage.stored) {
        if (tensors.count(place) > 0) in_memory_.insert(place);
        const auto buffer = std::find_if(k.buffers.begin(), k.buffers.end(), [&](const Buffer& b) { return b.name == place; });
        if (buffer != k.buffers.end() && buffer->each.empty()) of_the_group_.insert(place);
      }
    }
    of_the_group_.insert(in_memory_.begin(), in_memory_.end());
  }

  std::optional<Refusal> run() {
    block(role_.body, false);
    return refusal_;
  }

 private:
  struct Pending {
    Access access;
    std::optional<std::int64_t> group;  ///< that alone does it
    friend bool operator==(const Pending&, const Pending&) = default;
  };
  struct State {
    std::vector<Pending> stores, reads;          ///< since all groups met
    std::set<Symbol> handed;                     ///< results of atomics that release and acquire
    std::map<Symbol, std::set<Symbol>> ordered;  ///< by such a result, what has been stored to since: no longer in order
  };

  void fail(std::string reason, Symbol name, std::string hint) {
    if (!refusal_) refusal_ = Refusal{std::move(reason), {name.text()}, std::move(hint)};
  }

  void block(const Block& body, bool conditional) {
    for (const Statement& s : body) {
      if (refusal_) return;
      ++steps_;
      statement(s, conditional);
    }
  }

  void statement(const Statement& s, bool conditional) {
    if (meets(s)) {
      state_.stores.clear();
      state_.reads.clear();
    }
    uses(s, conditional);
    if (const auto* c = std::get_if<Copy>(&s.op)) issued_[c->token] = &s;
    if (const auto* m = std::get_if<Mma>(&s.op)) issued_[m->token] = &s;
    if (const auto* a = std::get_if<Await>(&s.op); a != nullptr && issued_.count(a->token) > 0)
      uses(*issued_.at(a->token), conditional, a->source_only);  // it may have read and stored as late as here
    if (const auto* a = std::get_if<Atomic>(&s.op)) atomic(*a);
    hand_over(s);
    enter(s, conditional);
  }

  void uses(const Statement& s, bool conditional, bool source_only = false) {
    for (const Access& a : reads_of(s)) read_of(a);
    if (source_only) return;
    if (const auto* v = std::get_if<Value>(&s.op)) {
      const bool meet = !v->values.empty() && reduces_over_groups(v->values[0]);
      for (std::size_t i = 0; i < v->targets.size(); ++i) {
        const bool differs = !meet && varies_(v->values[std::min(i, v->values.size() - 1)]);
        store_to(v->targets[i], differs, conditional);
      }
    }
    if (const auto* c = std::get_if<Copy>(&s.op)) {
      if (several_ && !conditional && of_the_group_.count(c->to.name) > 0 && !varies_(c->to))
        fail("every group of role `" + role_.name.text() + "` would make the copy to `" + c->to.name.text() + "`", c->to.name,
             "let its place depend on `g`, or let one group do it");
      store_to(c->to, varies_(c->from), true);
    }
    if (const auto* m = std::get_if<Mma>(&s.op)) store_to(m->acc, varies_(m->a) || varies_(m->b), true);
  }

  void enter(const Statement& s, bool conditional) {
    if (const auto* f = std::get_if<For>(&s.op)) {
      const bool repeats = (!f->ranges.empty() || k_.work.source != WorkSource::grid) && steps_ < most_steps;
      inner(f->body, conditional || varies_(f->variable));
      if (repeats) inner(f->body, conditional || varies_(f->variable));
    }
    if (const auto* w = std::get_if<When>(&s.op)) {
      conditions_.push_back(w->condition);
      inner(w->body, conditional || varies_(w->condition));
      conditions_.pop_back();
    }
    if (const auto* i = std::get_if<If>(&s.op)) inner(i->body, conditional || varies_(i->condition));
  }

  /// The block may not have been: what waits for an order in front of it still does.
  void inner(const Block& body, bool conditional) {
    const State before = state_;
    block(body, conditional);
    const auto join = [](std::vector<Pending>& now, const std::vector<Pending>& then) {
      for (const Pending& each : then)
        if (std::find(now.begin(), now.end(), each) == now.end()) now.push_back(each);
    };
    join(state_.stores, before.stores);
    join(state_.reads, before.reads);
    state_.handed = before.handed;
  }

  static bool meets(const Statement& s) {
    const auto* v = std::get_if<Value>(&s.op);
    return std::holds_alternative<Atomic>(s.op) || (v != nullptr && !v->values.empty() && reduces_over_groups(v->values[0]));
  }

  void atomic(const Atomic& a) {
    if (several_ && (varies_(a.place) || varies_(a.value)))
      return fail("the atomic `" + a.result.text() + "` is done once for all groups, but its place or operand varies with the group",
                  a.result, "reduce over the groups before");
    const auto w =
        std::find_if(m_.workspaces.begin(), m_.workspaces.end(), [&](const Workspace& each) { return each.name == a.place.name; });
    if (w != m_.workspaces.end() && !is_integer(w->dtype) && a.operation == Symbol("add"))
      return fail("the atomic sum of real numbers in `" + a.place.name.text() + "` depends on who comes first", a.place.name,
                  "store the parts and add them in the order of an axis");
    if (a.release && a.acquire) {
      state_.handed.insert(a.result);
      state_.ordered[a.result].clear();
    }
  }

  /// Slots that are open: what a buffer of several roles is used under.
  void hand_over(const Statement& s) {
    if (const auto* a = std::get_if<Acquire>(&s.op)) ++open_[a->channel.name];
    if (const auto* r = std::get_if<Receive>(&s.op)) ++open_[r->channel.name];
    if (const auto* p = std::get_if<Publish>(&s.op)) --open_[p->channel.name];
    if (const auto* r = std::get_if<Release>(&s.op)) --open_[r->channel.name];
  }

  /// Is there a channel of depth 1 between the two that is open here?
  [[nodiscard]] bool excludes(Symbol writer, Symbol reader) const {
    return std::any_of(k_.channels.begin(), k_.channels.end(), [&](const Channel& c) {
      const auto open = open_.find(c.name);
      return c.from == writer && c.to == reader && constant_integer(c.depth) == 1 && open != open_.end() && open->second > 0;
    });
  }
  void between_roles(Symbol name, bool stores) {
    for (const auto& [other, usage] : all_) {
      if (other == role_.name || usage.stored.count(name) + (stores ? usage.read.count(name) : 0) == 0) continue;
      const bool both_store = stores && usage.stored.count(name) > 0;
      if (both_store && in_memory_.count(name) > 0 && usage.read.count(name) == 0) continue;  // parts of a tensor
      const bool ordered = !both_store && (stores ? excludes(role_.name, other) : excludes(other, role_.name));
      if (!ordered)
        fail("`" + name.text() + "` is stored by one of the roles `" + role_.name.text() + "` and `" + other.text() +
                 "` and used by the other, and nothing orders them",
             name, "hand it over by a channel, or use it between acquire and publish, receive and release of a channel of depth 1");
    }
  }

  /// The group of which a condition says that it alone comes here.
  [[nodiscard]] std::optional<std::int64_t> only_group() const {
    for (const Expr condition : conditions_) {
      if (condition.is(Op::eq) && condition.arg(0) == symbol(Symbol("g"))) return constant_integer(condition.arg(1));
    }
    return std::nullopt;
  }
  /// A subscript that both have, and that is another for every group. (That different groups give it different values is taken for
  /// granted.)
  [[nodiscard]] bool own_part(const Access& a, const Access& b) const {
    bool own = false;
    for (std::size_t d = 0; d < std::min(a.subscripts.size(), b.subscripts.size()); ++d)
      own = own || (a.subscripts[d] == b.subscripts[d] && varies_(a.subscripts[d]));
    return own;
  }
  void between_groups(const Pending& earlier, const Pending& later, const char* what) {
    if (earlier.access.name != later.access.name || (earlier.group && earlier.group == later.group) ||
        own_part(earlier.access, later.access))
      return;
    fail("`" + later.access.name.text() + "` is " + what + " by other groups of role `" + role_.name.text() + "`, and nothing orders them",
         later.access.name, "a reduction over the groups or an atomic between the two, or a part for each group");
  }

  /// A subscript as base * size + an index of at most `size` elements; size 1: the base alone.
  struct Tiled {
    Expr base;
    std::int64_t size = 1;
  };
  [[nodiscard]] Tiled tiled(Expr e) const {
    std::int64_t extent_of_index = 1;
    Expr rest = e;
    if (e.is(Op::add) && e.args().size() == 2 && e.arg(1).is(Op::index)) {
      const TileAxis* axis = find_axis(k_, e.arg(1).name());
      const auto elements = axis == nullptr ? std::nullopt : constant_integer(extent(*axis));
      if (!elements) return {};
      extent_of_index = *elements;
      rest = e.arg(0);
    }
    if (extent_of_index == 1) return {rest, 1};
    for (const std::size_t at : {0U, 1U}) {
      const auto size = rest.is(Op::mul) && rest.args().size() == 2 ? constant_integer(rest.arg(at)) : std::nullopt;
      if (size && *size >= extent_of_index) return {rest.arg(1 - at), *size};
    }
    return {};
  }
  /// How a place is another for every work item: by the number of the item, or by its quotient and its rest. Empty: it may be none.
  [[nodiscard]] std::string own_item(const Access& a) const {
    const Expr item = symbol(k_.work.variable);
    std::vector<Tiled> all;
    for (const Expr e : a.subscripts) all.push_back(tiled(substitute(e, lets_)));
    const auto shown = [](std::size_t d, const Tiled& t) {
      return std::to_string(d) + ":" + print(t.base) + "*" + std::to_string(t.size) + " ";
    };
    for (std::size_t d = 0; d < all.size(); ++d) {
      const Tiled& t = all[d];
      if (t.base && t.base == item) return shown(d, t);
      if (!t.base || !t.base.is(Op::floordiv) || t.base.arg(0) != item) continue;
      for (std::size_t r = 0; r < all.size(); ++r) {
        const Tiled& rest = all[r];
        if (rest.base && rest.base.is(Op::mod) && rest.base.arg(0) == item && rest.base.arg(1) == t.base.arg(1))
          return shown(d, t) + shown(r, rest);
      }
    }
    return {};
  }
  /// Every use of the place in the kernel is the item's own, in the same way.
  [[nodiscard]] bool only_own_items(Symbol name) const {
    std::optional<std::string> way;
    return one_item_ || std::all_of(k_.roles.begin(), k_.roles.end(), [&](const Role& r) { return only_own_items(r.body, name, way); });
  }
  bool only_own_items(const Block& body, Symbol name, std::optional<std::string>& way) const {
    return std::all_of(body.begin(), body.end(), [&](const Statement& s) {
      std::vector<Access> used = reads_of(s);
      if (const auto* v = std::get_if<Value>(&s.op)) used.insert(used.end(), v->targets.begin(), v->targets.end());
      if (const auto* c = std::get_if<Copy>(&s.op)) used.push_back(c->to);
      if (const auto* a = std::get_if<Atomic>(&s.op)) used.push_back(a->place);
      for (const Access& a : used) {
        if (a.name != name) continue;
        const std::string own = own_item(a);
        if (own.empty() || (way && *way != own)) return false;
        way = own;
      }
      const Block* inner = inner_of(s);
      return inner == nullptr || only_own_items(*inner, name, way);
    });
  }
  /// (That the condition holds only when all have released is left to runs under seeds.)
  [[nodiscard]] bool behind_an_atomic(Symbol name) const {
    return std::any_of(conditions_.begin(), conditions_.end(), [&](Expr condition) {
      return std::any_of(state_.handed.begin(), state_.handed.end(), [&](Symbol result) {
        return contains(condition, read(result, {})) && state_.ordered.at(result).count(name) == 0;
      });
    });
  }

  void read_of(const Access& a) {
    if (of_the_group_.count(a.name) == 0) return;
    between_roles(a.name, false);
    const Pending now{a, only_group()};
    if (several_) {
      for (const Pending& store : state_.stores) between_groups(store, now, "read while it is stored");
      state_.reads.push_back(now);
    }
    if (in_memory_.count(a.name) == 0 || only_own_items(a.name) || behind_an_atomic(a.name)) return;
    fail("`" + a.name.text() + "` is read in the kernel that stores it, by work items that nothing orders", a.name,
         "read it in a kernel behind, or under a condition on an atomic with `release acquire` that stands between");
  }

  void store_to(const Access& a, bool differs, bool conditional) {
    if (of_the_group_.count(a.name) == 0) return;
    between_roles(a.name, true);
    for (auto& [result, stored] : state_.ordered) stored.insert(a.name);
    const bool named = std::any_of(a.subscripts.begin(), a.subscripts.end(), [](Expr e) {
      bool found = false;
      visit(e, [&](Expr part) { found = found || part.is(Op::symbol) || part.is(Op::read); });
      return found;
    });
    if (!named && !one_item_ && conditions_.empty() && in_memory_.count(a.name) > 0 && results_.count(a.name) == 0)
      return fail("workspace `" + a.name.text() + "` is stored by every work item at the same place", a.name,
                  "let its place depend on the item");
    if (!several_) return;
    if (differs && !conditional && !varies_(a))
      return fail("the groups of role `" + role_.name.text() + "` store different values to one place of `" + a.name.text() + "`", a.name,
                  "let its place depend on `g`");
    const bool once = !differs && !conditional && !varies_(a);  // group 0 does it for all
    const Pending now{a, once ? std::optional<std::int64_t>(0) : only_group()};
    for (const Pending& read : state_.reads) between_groups(read, now, "stored while it is read");
    if (results_.count(a.name) == 0) {
      for (const Pending& store : state_.stores) between_groups(store, now, "stored while it is stored");
    }
    state_.stores.push_back(now);
  }

  const Module& m_;
  const Kernel& k_;
  const Role& role_;
  const std::map<Symbol, Usage>& all_;
  const Varying varies_;
  bool several_ = false, one_item_ = false;
  Substitution lets_;
  std::set<Symbol> results_, in_memory_, of_the_group_;
  State state_;
  static constexpr std::size_t most_steps = 100'000;  // beyond it no loop is gone through twice
  std::size_t steps_ = 0;
  std::map<Symbol, int> open_;
  std::map<Symbol, const Statement*> issued_;  ///< copies and products, by token
  std::vector<Expr> conditions_;
  std::optional<Refusal> refusal_;
};

}  // namespace

std::optional<Refusal> find_race(const Module& m, const Kernel& k) {
  const std::set<Symbol> places = places_of(m, k);
  std::map<Symbol, Usage> all;
  for (const Role& r : k.roles) collect(r.body, places, all[r.name]);
  for (const Role& r : k.roles) {
    if (auto race = RoleRaces(m, k, r, all).run()) return race;
  }
  return std::nullopt;
}

}  // namespace fathom::kernel
