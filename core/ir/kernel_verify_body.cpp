// Verifies statements: definitions before uses on every path, carried values, slots and channels, accumulators in flight, stores of
// results.
#include <algorithm>

#include "ir/kernel_verify.hpp"

namespace fathom::kernel {
namespace {

/// Does the block give the name a value: by a value, an await, or a loop or condition inside that carries it?
bool updates(const Block& body, Symbol name) {
  const auto names = [name](const Access& access) { return access.name == name; };
  return std::any_of(body.begin(), body.end(), [&](const Statement& s) {
    if (const auto* v = std::get_if<Value>(&s.op)) return std::any_of(v->targets.begin(), v->targets.end(), names);
    if (const auto* a = std::get_if<Await>(&s.op)) return a->acc && names(*a->acc);
    if (const auto* f = std::get_if<For>(&s.op)) return updates(f->body, name);
    if (const auto* w = std::get_if<When>(&s.op)) return updates(w->body, name);
    if (const auto* i = std::get_if<If>(&s.op)) return updates(i->body, name);
    return false;
  });
}

std::string position(const At& at) { return "@" + std::to_string(at.stage) + "." + std::to_string(at.order); }

}  // namespace

bool Verifier::block(const Block& body, const BlockKind& kind) {
  std::vector<const Statement*> statements;
  for (const Statement& s : body) statements.push_back(&s);
  return sequence(statements, kind);
}

bool Verifier::sequence(const std::vector<const Statement*>& body, const BlockKind& kind) {
  const std::map<Symbol, Info> before = names_;
  const std::map<Expr, ChannelState> channels = channels_;
  const std::map<Symbol, int> turns = turns_;
  const std::map<Symbol, InFlight> in_flight = in_flight_;
  blocks_.push_back(kind);
  bool good = std::all_of(body.begin(), body.end(), [&](const Statement* s) { return statement(*s); });
  good = good && balanced_since(channels, turns) && over_since(in_flight, kind);
  blocks_.pop_back();
  if (!good) return false;
  // What the block defined is gone; what it changed stays as it was declared outside.
  for (auto it = names_.begin(); it != names_.end();) {
    const auto outer = before.find(it->first);
    if (outer == before.end()) {
      it = names_.erase(it);
    } else {
      const bool fresh = it->second.fresh, filled = it->second.filled;
      it->second = outer->second;
      it->second.fresh = fresh && outer->second.fresh;
      it->second.filled = outer->second.filled || (filled && kind.when == 0 && !kind.part);  // a loop has a trip, it is taken
      ++it;
    }
  }
  return true;
}

/// The body of a loop; in the whole model once for each range, as its tags make it: what stands under a tag is known behind it, where the
/// same tag holds.
bool Verifier::bodies(const For& f, const BlockKind& kind) {
  const bool tagged = std::any_of(f.ranges.begin(), f.ranges.end(), [](const TaggedRange& r) { return !r.tag.empty(); });
  if (subset_ != Subset::whole || !tagged) return block(f.body, kind);
  for (std::size_t range = 0; range < f.ranges.size(); ++range) {
    std::vector<const Statement*> body;
    for (const Placed& placed : body_in(f, range)) body.push_back(placed.statement);
    BlockKind of_range = kind;
    of_range.range = range;
    of_range.one_of_several = true;  // what this range never reads another may
    if (!sequence(body, of_range)) return false;
  }
  return true;
}

bool Verifier::statement(const Statement& s) {
  constexpr std::size_t most_steps = 1'000'000;
  if (++steps_ > most_steps)
    return fail("the loops of kernel `" + k_->name.text() + "` have more combinations of ranges than can be looked at");
  if (s.at && subset_ != Subset::whole) return later("the stage and order " + position(*s.at), print(s));
  if (s.at && (blocks_.empty() || !blocks_.back().staged))
    return fail("the stage and order " + position(*s.at) + " stand outside of the body of a loop", {print(s)});
  const bool flow_or_value = std::holds_alternative<Value>(s.op) || std::holds_alternative<Let>(s.op) ||
                             std::holds_alternative<For>(s.op) || std::holds_alternative<When>(s.op);
  if (subset_ == Subset::tile && !flow_or_value) return fail("this statement belongs to the Kernel level: " + print(s), {print(s)});
  return std::visit([&](const auto& op) { return check(op); }, s.op);
}

// ---- values ----

bool Verifier::counts_agree(std::size_t targets, const std::vector<Expr>& values) {
  if (values.size() == targets && targets > 0) return true;
  const bool states = values.size() == 1 && values[0].is(Op::reduce) && values[0].node().result == Symbol("states");
  const ReducerRef r = states ? reducer_named(m_.reducers, values[0].name()) : nullptr;
  if (r && r->state.size() == targets) return true;
  return fail("a statement has " + std::to_string(targets) + " names on its left, but " + std::to_string(values.size()) + " values",
              {values.empty() ? "" : fathom::print(values[0])});
}

bool Verifier::check(const Value& v) {
  if (!counts_agree(v.targets.size(), v.values) || !groups_meet(v)) return false;
  std::vector<Axes> values(v.values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!axes_of(v.values[i], values[i])) return false;
  }
  if (v.otherwise && !uniform(v.otherwise, "the value of `else`")) return false;
  if (v.layout) {
    const Info* atom = find(v.layout->atom);
    if (subset_ == Subset::tile)
      return fail("the layout of `" + v.targets[0].name.text() + "` belongs to the Kernel level", {v.targets[0].name.text()});
    if (atom == nullptr || atom->means != Means::atom)
      return fail("there is no atom `" + v.layout->atom.text() + "`", {v.layout->atom.text()});
  }
  if (values.size() < v.targets.size()) {
    if (!axes_of_states(v.values[0], values)) return false;
  }
  std::set<Symbol> depends;
  for (const Expr value : v.values) symbols_in(value, depends);
  if (!assigned(v.targets, values)) return false;
  for (const Access& target : v.targets) {
    Info& info = names_.at(target.name);
    if (info.means == Means::scalar) info.depends.insert(depends.begin(), depends.end());
  }
  return true;
}

/// A reduction over the groups is a statement of its own, at which all of them arrive.
bool Verifier::groups_meet(const Value& v) {
  std::size_t found = 0;
  for (const Expr value : v.values) {
    if (value) visit(value, [&](Expr part) { found += reduces_over_groups(part) ? 1 : 0; });
  }
  if (found == 0) return true;
  const std::string& name = v.targets[0].name.text();
  const bool whole = found == v.values.size() && std::all_of(v.values.begin(), v.values.end(), reduces_over_groups);
  if (!whole)
    return fail("the reduction over the groups for `" + name + "` is a part of an expression", {name}, "give it a statement of its own");
  for (const BlockKind& around : blocks_) {
    if (around.part) return fail("the reduction over the groups for `" + name + "` stands under a condition on parts of a tile", {name});
  }
  return true;
}

/// A state varies with what its own value varies with, and those of the states that its combine reads.
bool Verifier::axes_of_states(Expr reduce, std::vector<Axes>& values) {
  const ReducerRef r = reducer_named(m_.reducers, reduce.name());
  const std::vector<Expr> states = fathom::values_of(reduce);
  values.assign(states.size(), {});
  for (std::size_t i = 0; i < states.size(); ++i) {
    ReadScope scope;
    for (const Bound& bound : bounds_of(reduce)) scope.ranged.insert(bound.index);
    if (!expression(states[i], scope, values[i])) return false;
    for (const Bound& bound : bounds_of(reduce)) values[i].erase(bound.index);
  }
  for (std::size_t round = 0; round < states.size(); ++round) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      for (std::size_t j = 0; j < states.size(); ++j) {
        const Symbol other = r->state[j].name;
        const Expr combine = r->state[i].combine;
        if (contains(combine, symbol(other)) || contains(combine, symbol(primed(other))))
          values[i].insert(values[j].begin(), values[j].end());
      }
    }
  }
  return true;
}

bool Verifier::assigned(const std::vector<Access>& targets, const std::vector<Axes>& values) {
  std::set<Symbol> twice;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (!twice.insert(targets[i].name).second)
      return fail("`" + targets[i].name.text() + "` is assigned twice in one statement", {targets[i].name.text()});
    const Info* info = find(targets[i].name);
    const bool memory = info != nullptr && info->means != Means::tile && info->means != Means::scalar;
    if (!(memory ? store(targets[i], values[i]) : define(targets[i], values[i]))) return false;
  }
  return true;
}

bool Verifier::define(const Access& place, const Axes& value) {
  const std::string& name = place.name.text();
  std::vector<Symbol> axes;
  for (const Expr subscript : place.subscripts) {
    if (!subscript.is(Op::index) || !is_axis(subscript.name())) {
      return fail("`" + name + "` is a value: the subscripts on its left side are axes, not " + fathom::print(subscript), {name});
    }
    if (std::count(axes.begin(), axes.end(), subscript.name()) > 0) return fail("`" + name + "` has an axis twice", {name});
    axes.push_back(subscript.name());
  }
  for (const Symbol axis : value) {
    if (std::count(axes.begin(), axes.end(), axis) > 0) continue;
    return fail("the value of `" + name + "` varies with `" + axis.text() + "`, which is not on its left side", {name});
  }
  if (const auto old = names_.find(place.name); old != names_.end()) return redefine(place, old->second, axes);
  if (!quiet_now(place.name)) return false;
  Info info = of(axes.empty() ? Means::scalar : Means::tile);
  info.axes = axes;
  info.fresh = true;
  info.depth = static_cast<int>(blocks_.size());
  return declare(place.name, info);
}

/// A new value for a name: with the same axes, and where the name lives outside of a loop or condition, carried by it.
bool Verifier::redefine(const Access& place, Info& old, const std::vector<Symbol>& axes) {
  const std::string& name = place.name.text();
  if (old.axes != axes) return fail("`" + name + "` gets a value with other axes than before", {name});
  if (const std::string by = in_use(place.name); !by.empty())
    return fail("`" + name + "` is written while `" + by + "`, which uses it, is in flight", {name});
  if (!quiet_now(place.name)) return false;
  for (std::size_t b = static_cast<std::size_t>(old.depth); b < blocks_.size(); ++b) {
    const BlockKind& around = blocks_[b];
    if (!around.loop && !around.part) continue;
    const auto same = [&](const Carry& c) { return c.value.name == place.name; };
    const bool carried = around.carry != nullptr && std::any_of(around.carry->begin(), around.carry->end(), same);
    if (!carried) return fail("`" + name + "` changes in a " + (around.loop ? "loop" : "condition") + " that does not carry it", {name});
  }
  const bool here = old.depth == static_cast<int>(blocks_.size());
  if (here && old.fresh && !blocks_.back().one_of_several)
    return fail("`" + name + "` is defined twice, and the first value is never read", {name});
  if (here) old.fresh = true;
  return true;
}

bool Verifier::check(const Let& l) {
  if (!uniform(l.value, "`" + l.name.text() + "`")) return false;
  if (find(l.name) != nullptr) return fail("`" + l.name.text() + "` is declared twice", {l.name.text()});
  Info info = of(Means::uniform);
  symbols_in(l.value, info.depends);
  return declare(l.name, info);
}

// ---- stores ----

bool Verifier::store(const Access& place, const Axes& value, bool by_copy) {
  const std::string& name = place.name.text();
  Info& info = names_.at(place.name);
  const bool memory =
      info.means == Means::result || info.means == Means::workspace || info.means == Means::buffer || info.means == Means::slot;
  if (!memory)
    return fail("`" + name + "` cannot be assigned", {name},
                info.means == Means::parameter ? "parameters are read only" : "take another name");
  if (info.means == Means::slot && !info.writable) return fail("slot `" + name + "` is stored to outside of acquire and publish", {name});
  if (!own_place(place.name, place.subscripts.empty() ? Expr() : place.subscripts[0]) || !may_store(place.name, by_copy)) return false;
  if (info.rank != place.subscripts.size()) {
    return fail("`" + name + "` has " + std::to_string(info.rank) + " axes, but " + std::to_string(place.subscripts.size()) + " subscripts",
                {name});
  }
  Axes axes;
  ReadScope scope;
  for (const Expr e : place.subscripts) {
    if (!subscript(e, scope, axes)) return false;
  }
  for (const Symbol axis : value) {
    if (axes.count(axis) == 0)
      return fail("the value stored to `" + name + "` varies with `" + axis.text() + "`, but its place does not", {name});
  }
  if (!covers_parts(place, axes)) return false;
  if (info.means == Means::buffer && !in_work_)
    return fail("buffer `" + name + "` is stored outside of the work loop: it holds nothing when an item begins", {name});
  info.filled = true;
  if (info.means == Means::workspace || info.means == Means::result) written_.insert(place.name);
  return info.means != Means::result || result_store(place);
}

/// One store for each element: the place depends on every loop around it and on the work item.
bool Verifier::result_store(const Access& place) {
  const std::string& name = place.name.text();
  std::set<Symbol> depends;
  for (const Expr e : place.subscripts) symbols_in(e, depends);
  std::vector<int> whens;
  for (const BlockKind& around : blocks_) {
    if (around.when > 0) whens.push_back(around.when);
    if (around.loop && around.variable != k_->work.variable && depends.count(around.variable) == 0) {
      return fail("result `" + name + "` is stored in every trip of `" + around.variable.text() + "` at the same place", {name});
    }
  }
  if (!in_work_) return fail("result `" + name + "` is stored outside of the work loop", {name});
  const bool one_item = constant_integer(simplify_integer(k_->work.hi - k_->work.lo)) == 1;
  if (!one_item && depends.count(k_->work.variable) == 0) {
    return fail("result `" + name + "` is stored by every work item at the same place", {name});
  }
  ResultStore stored{kernel_number_, static_cast<bool>(k_->when), whens, false, place, {}};
  for (const BlockKind& around : blocks_) {
    stored.part = stored.part || around.part;
    if (around.trips != nullptr) stored.loops.emplace_back(around.trips, around.range);
  }
  stores_[place.name].push_back(std::move(stored));
  return true;
}

// ---- flow ----

bool Verifier::loop_carry(const For& f) {
  for (const Carry& c : f.carry) {
    const std::string& name = c.value.name.text();
    if (!c.initial) return fail("`" + name + "` is carried, but has no first value", {name});
    if (c.initial == symbol(Symbol("done"))) {
      if (!carried_token(f, c)) return false;
      continue;
    }
    const Info* old = find(c.value.name);
    if (old != nullptr && old->means != Means::tile && old->means != Means::scalar)
      return fail("`" + name + "` is carried, but is no value", {name});
    Axes axes;
    if (!axes_of(c.initial, axes)) return false;
    if (const auto outer = names_.find(c.value.name); outer != names_.end()) outer->second.fresh = false;
    if (!define(c.value, axes)) return false;
    names_.at(c.value.name).fresh = false;
    if (!updates(f.body, c.value.name))
      return fail("`" + name + "` is carried by the loop over `" + f.variable.text() + "`, but never updated", {name});
  }
  return true;
}

/// The largest value that the number of a work item, or what is made of it, can take.
static std::optional<std::int64_t> largest(Expr e, const Kernel& k) {
  if (e.is(Op::symbol)) {
    const auto let = std::find_if(k.lets.begin(), k.lets.end(), [&](const Let& each) { return each.name == e.name(); });
    if (let != k.lets.end()) return largest(let->value, k);
    const auto items = constant_integer(simplify_integer(k.work.hi));
    return e.name() == k.work.variable && items ? std::optional(*items - 1) : std::nullopt;
  }
  const auto by = e.args().size() == 2 ? constant_integer(e.arg(1)) : std::nullopt;
  if (!by || *by <= 0) return std::nullopt;
  const auto inner = largest(e.arg(0), k);
  if (e.is(Op::mod)) return inner ? std::min(*inner, *by - 1) : *by - 1;
  return e.is(Op::floordiv) && inner ? std::optional(*inner / *by) : std::nullopt;
}

/// The ends that max(…) or min(…) takes one of.
static void collect_ends(Expr e, Op extreme, std::vector<Expr>& ends) {
  if (!e.is(extreme)) return ends.push_back(e);
  for (const Expr each : e.args()) collect_ends(each, extreme, ends);
}
static std::vector<Expr> ends_of(Expr e, Op extreme) {
  std::vector<Expr> ends;
  collect_ends(e, extreme, ends);
  return ends;
}

/// Does the range lie in the trips share*size : (share + 1)*size, share not below 0? Where both are numbers, an end may be one too.
static bool lies_in_share(const TaggedRange& r, Expr share, Expr size, const Kernel& k) {
  const auto trips = constant_integer(size), last = largest(share, k);
  const auto any_end = [&](Expr e, Op extreme, Expr wanted, const auto& suffices) {
    const std::vector<Expr> ends = ends_of(e, extreme);
    return std::any_of(ends.begin(), ends.end(), [&](Expr end) {
      const auto number = constant_integer(end);
      return constant_integer(simplify_integer(end - wanted)) == 0 || (number && trips && suffices(*number));
    });
  };
  return any_end(r.lo, Op::max, share * size, [&](std::int64_t n) { return last && n >= *last * *trips; }) &&
         any_end(r.hi, Op::min, (share + number(1)) * size, [&](std::int64_t n) { return n <= *trips; });
}

/// The number whose share all trips are, where there is one: the trips of different shares are different trips.
static Expr share_of(const std::vector<TaggedRange>& ranges, const Kernel& k) {
  for (const TaggedRange& r : ranges) {
    for (const Expr end : ends_of(r.lo, Op::max)) {
      const bool product = end.is(Op::mul) && end.arg(1).is(Op::symbol);
      const Expr share = product ? end.arg(1) : end.is(Op::mul) ? end.arg(0) : end;
      const Expr size = product ? end.arg(0) : end.is(Op::mul) ? end.arg(1) : number(1);
      if (!share.is(Op::symbol) || contains(size, share)) continue;
      if (std::all_of(ranges.begin(), ranges.end(), [&](const TaggedRange& each) { return lies_in_share(each, share, size, k); }))
        return share;
    }
  }
  return {};
}

bool Verifier::check(const For& f) {
  const bool is_work = f.ranges.empty();
  const std::string& name = f.variable.text();
  if (f.through) return later("a loop through the work items", name);
  for (const BlockKind& around : blocks_) {
    if (around.part) return fail("a loop cannot stand under a condition on parts of a tile", {name});
  }
  if (is_work) {
    if (f.variable != k_->work.variable)
      return fail("the work loop counts with `" + k_->work.variable.text() + "`, not with `" + name + "`", {name});
    if (blocks_.size() != 1) return fail("the work loop stands in another block", {name});
  }
  for (const TaggedRange& r : f.ranges) {
    if (!uniform(r.lo, "the range of `" + name + "`") || !uniform(r.hi, "the range of `" + name + "`")) return false;
  }
  for (const Carry& c : f.carry) {
    if (is_work && c.initial != symbol(Symbol("done"))) return later("a value carried from one work item to the next", c.value.name.text());
  }
  if (!products_over("in front of a loop") || !loop_carry(f)) return false;
  if (has_stages(f) && (is_work || !stages(f))) return is_work ? later("stages of the work loop", name) : false;
  if (!is_work) {
    Info info = of(Means::uniform);
    info.depends = {f.variable};
    if (const Expr share = share_of(f.ranges, *k_)) symbols_in(share, info.depends);
    if (!declare(f.variable, info)) return false;
  }
  std::set<Symbol> tags;  // ranges may share one
  for (const TaggedRange& r : f.ranges) {
    if (r.tag.empty() && f.ranges.size() > 1) return fail("each of several ranges needs a tag", {name});
    if (!r.tag.empty() && tags.insert(r.tag).second && !declare(r.tag, of(Means::tag))) return false;
  }
  const bool before = in_work_;
  in_work_ = in_work_ || is_work;
  BlockKind kind;
  kind.loop = true;
  kind.carry = &f.carry;
  kind.variable = f.variable;
  kind.trips = &f;
  kind.staged = has_stages(f);
  const bool good = bodies(f, kind);
  in_work_ = before;
  if (good) {
    names_.erase(f.variable == k_->work.variable ? Symbol() : f.variable);
    for (const TaggedRange& r : f.ranges) names_.erase(r.tag);
  }
  return good;
}

bool Verifier::check(const When& w) {
  in_condition_ = true;
  const bool uniform_condition = uniform(w.condition, "the condition of `when`");
  in_condition_ = false;
  if (!uniform_condition || !products_over("in front of a `when`")) return false;
  BlockKind kind;
  kind.when = ++whens_;
  return block(w.body, kind);
}

/// Do the axes tell the parts apart that a condition speaks of: by its axis, or by the whole that its axis is a part of?
bool Verifier::acts_on(const Access& condition, const Axes& axes) const {
  return std::all_of(condition.subscripts.begin(), condition.subscripts.end(), [&](Expr e) {
    return !e.is(Op::index) ||
           std::any_of(axes.begin(), axes.end(), [&](Symbol axis) { return axis == e.name() || is_part(e.name(), axis); });
  });
}

bool Verifier::is_part(Symbol part, Symbol axis) const {
  const auto whole = wholes_.find(axis);
  if (whole == wholes_.end()) return false;
  const std::vector<AxisPart>& parts = whole->second->parts;
  return std::any_of(parts.begin(), parts.end(), [part](const AxisPart& p) { return p.name == part; });
}

/// A store under a condition on parts goes to a place of those parts.
bool Verifier::covers_parts(const Access& place, const Axes& axes) {
  for (const BlockKind& around : blocks_) {
    if (!around.part || acts_on(*around.condition, axes)) continue;
    return fail(
        "the place of `" + place.name.text() + "` does not vary with the parts on which `if " + around.condition->name.text() + "` acts",
        {place.name.text()});
  }
  return true;
}

bool Verifier::check(const If& i) {
  Axes axes;
  if (!operand(i.condition, axes)) return false;
  for (const Carry& c : i.carry) {
    const Info* info = find(c.value.name);
    if (info == nullptr || (info->means != Means::tile && info->means != Means::scalar)) {
      return fail("`" + c.value.name.text() + "` may change under `if " + i.condition.name.text() + "`, but has no value before",
                  {c.value.name.text()});
    }
    if (!acts_on(i.condition, Axes(info->axes.begin(), info->axes.end())))
      return fail("`" + c.value.name.text() + "` does not vary with the parts on which `if " + i.condition.name.text() + "` acts",
                  {c.value.name.text()});
    if (!updates(i.body, c.value.name))
      return fail("`" + c.value.name.text() + "` is carried by an `if`, but never updated", {c.value.name.text()});
  }
  for (const Statement& s : i.body) {
    const bool product = std::holds_alternative<Mma>(s.op) || std::holds_alternative<Await>(s.op);
    const bool allowed = std::holds_alternative<Value>(s.op) || std::holds_alternative<Let>(s.op) || std::holds_alternative<When>(s.op) ||
                         std::holds_alternative<If>(s.op) || (product && subset_ == Subset::whole);
    if (!allowed)
      return fail("this statement is wider than the parts on which `if " + i.condition.name.text() + "` acts: " + print(s), {print(s)});
  }
  BlockKind kind;
  kind.part = true;
  kind.condition = &i.condition;
  kind.carry = &i.carry;
  return block(i.body, kind);
}

}  // namespace fathom::kernel
