// Verifies modules: names, declarations, and the subset of the model that back ends implement so far. What lies outside of the subset can
// be written, parsed and printed, and is refused here by its name.
#include "ir/kernel_verify.hpp"

#include <algorithm>
#include <utility>

#include "ir/channel_run.hpp"
#include "ir/shared_memory.hpp"

namespace fathom::kernel {

bool Verifier::fail(std::string reason, std::vector<std::string> nodes, std::string hint) {
  if (!refusal_) refusal_ = Refusal{std::move(reason), std::move(nodes), std::move(hint)};
  return false;
}

bool Verifier::later(const std::string& what, const std::string& node) {
  return fail(what + (subset_ == Subset::whole ? " cannot be run yet: it can be written and printed only"
                                               : " is nothing that a back end of one thread a workgroup has"),
              {node});
}

const Verifier::Info* Verifier::find(Symbol name) const {
  const auto at = names_.find(name);
  return at == names_.end() ? nullptr : &at->second;
}

bool Verifier::declare(Symbol name, Info info) {
  if (name.empty()) return fail("a declaration has no name");
  if (!names_.emplace(name, std::move(info)).second) return fail("`" + name.text() + "` is declared twice", {name.text()});
  return true;
}

Result<void> Verifier::run() {
  if (!module()) return tl::unexpected(*refusal_);
  return {};
}

// ---- the module ----

bool Verifier::module() {
  if (!globals()) return false;
  const std::map<Symbol, Info> outer = names_;
  std::set<Symbol> kernels;
  for (std::size_t i = 0; i < m_.kernels.size(); ++i) {
    const Kernel& k = m_.kernels[i];
    if (!k.after.empty() && kernels.count(k.after) == 0) {
      return fail("kernel `" + k.name.text() + "` follows `" + k.after.text() + "`, which does not stand before it", {k.name.text()});
    }
    if (!kernels.insert(k.name).second) return fail("two kernels are called `" + k.name.text() + "`", {k.name.text()});
    names_ = outer;
    if (!kernel(k, i)) return false;
  }
  return results_stored();
}

bool Verifier::globals() {
  for (const math::Dimension& d : m_.dims) {
    if (!declare(d.name, of(Means::dimension))) return false;
  }
  for (const auto& [list, means] : {std::pair{&m_.params, Means::parameter}, std::pair{&m_.results, Means::result}}) {
    for (const math::Parameter& p : *list) {
      Info info = of(means);
      info.rank = p.extents.size();
      if (!declare(p.name, info)) return false;
      for (const Expr extent : p.extents) {
        if (!uniform(extent, "an extent of `" + p.name.text() + "`")) return false;
      }
    }
  }
  for (const Let& l : m_.lets) {
    if (!uniform(l.value, "`" + l.name.text() + "`") || !declare(l.name, of(Means::uniform))) return false;
  }
  for (const Workspace& w : m_.workspaces) {
    Info info = of(Means::workspace);
    info.rank = w.box.size();
    for (const Expr extent : w.box) {
      if (!uniform(extent, "an extent of workspace `" + w.name.text() + "`")) return false;
    }
    if (!declare(w.name, info)) return false;
  }
  for (const Require& r : m_.requires_) {
    bool known = true;
    visit(r.condition, [&](Expr part) {
      if (part.is(Op::dim) || part.is(Op::symbol) || part.is(Op::read)) known = known && find(part.name()) != nullptr;
    });
    if (!known)
      return fail("the launch condition `" + fathom::print(r.condition) + "` has a name that is not declared", {r.otherwise.text()});
  }
  return std::all_of(m_.reducers.begin(), m_.reducers.end(), [&](const ReducerRef& r) { return reducer(*r); });
}

bool Verifier::reducer(const Reducer& r) {
  if (r.state.empty() || r.results.empty()) return fail("reducer `" + r.name.text() + "` has no carrier or no result", {r.name.text()});
  std::set<Symbol> parameters(r.parameters.begin(), r.parameters.end()), carriers, both;
  for (const Component& part : r.state) {
    carriers.insert(part.name);
    both.insert({part.name, primed(part.name)});
  }
  const auto closed = [&](Expr e, const std::set<Symbol>& names) {
    bool good = static_cast<bool>(e);
    if (!good) return false;
    visit(e, [&](Expr part) {
      if (part.is(Op::symbol)) good = good && names.count(part.name()) > 0;
      if (part.is(Op::read) || part.is(Op::index) || part.is(Op::reduce) || part.is(Op::call) || part.is(Op::dim)) good = false;
    });
    return good ||
           fail("`" + fathom::print(e) + "` in reducer `" + r.name.text() + "` uses a name that has no meaning there", {r.name.text()});
  };
  for (const Component& part : r.state) {
    if (!closed(part.identity, {}) || !closed(part.lift, parameters) || !closed(part.combine, both)) return false;
  }
  return std::all_of(r.results.begin(), r.results.end(), [&](const ReducerResult& result) { return closed(result.value, carriers); });
}

/// Two stores that name the same elements, as far as their texts tell: what else meets is found while it runs.
bool Verifier::at_one_place(const ResultStore& a, const ResultStore& b) {
  const auto same_trips = [](const auto& one, const auto& other) {
    if (one.first == other.first) return one.second == other.second;
    if (one.first->ranges.empty() || other.first->ranges.empty()) return one.first->ranges.empty() == other.first->ranges.empty();
    const TaggedRange &x = one.first->ranges[one.second], &y = other.first->ranges[other.second];
    return x.lo == y.lo && x.hi == y.hi;
  };
  return a.place == b.place && !a.part && !b.part && a.loops.size() == b.loops.size() &&
         std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), same_trips);
}

bool Verifier::results_stored() {
  for (const math::Parameter& r : m_.results) {
    const auto at = stores_.find(r.name);
    if (at == stores_.end()) return fail("result `" + r.name.text() + "` is never stored", {r.name.text()});
    const std::vector<ResultStore>& all = at->second;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool apart = all[i].kernel != all[j].kernel ? all[i].kernel_conditional || all[j].kernel_conditional
                                                          : !all[i].whens.empty() && !all[j].whens.empty() && all[i].whens != all[j].whens;
        if (!apart && at_one_place(all[i], all[j]))
          return fail("result `" + r.name.text() + "` is stored twice for one work item", {r.name.text()});
      }
    }
  }
  return true;
}

// ---- kernels ----

bool Verifier::kernel(const Kernel& k, std::size_t position) {
  k_ = &k;
  role_ = nullptr;
  kernel_number_ = position;
  extents_.clear();
  wholes_.clear();
  if (k.when && !uniform(k.when, "the condition of kernel `" + k.name.text() + "`")) return false;
  if (!subset(k) || !machine_has(k) || !axes(k) || !work(k) || !places(k)) return false;
  const std::set<Symbol> memory = places_of(m_, k);
  stored_here_.clear();
  for (const Role& r : k.roles) collect_stored(r.body, memory, stored_here_);
  const std::map<Symbol, Info> declared = names_;
  for (const Role& r : k.roles) {
    names_ = declared;
    if (!role(r)) return false;
  }
  std::optional<Refusal> wrong = find_race(m_, k);
  if (!wrong && subset_ == Subset::whole) wrong = run_channels(m_, k);
  return !wrong || fail(wrong->reason, wrong->nodes, wrong->hint);
}

/// What the level, or the back ends so far, do not have.
bool Verifier::subset(const Kernel& k) {
  const std::string& name = k.name.text();
  if (k.roles.empty()) return fail("kernel `" + name + "` has no role", {name});
  for (const Buffer& b : k.buffers) {
    if (!b.alias.empty()) return later("a buffer that shares its place", b.name.text());
  }
  if (subset_ == Subset::whole) return true;
  if (k.roles.size() != 1) return later("a kernel with " + std::to_string(k.roles.size()) + " roles", name);
  const Role& r = k.roles[0];
  if (r.groups && constant_integer(r.groups) != 1) return later("a role of several groups", r.name.text());
  if (!r.partition.empty() || !r.combine.empty()) return later("a role with a partition", r.name.text());
  if (r.registers) return later("a register budget", r.name.text());
  if (k.early) return later("a kernel that starts early", name);
  if (k.work.source == WorkSource::persistent) return later("a persistent work source", name);
  if (subset_ == Subset::sequential) return sequential_subset(k);
  if (!k.buffers.empty() || !k.channels.empty() || !k.turns.empty() || !k.atoms.empty()) {
    return fail("kernel `" + name + "` has buffers, channels, turns or atoms: they belong to the Kernel level", {name});
  }
  if (k.work.source != WorkSource::grid) return fail("the work source of kernel `" + name + "` belongs to the Kernel level", {name});
  return true;
}

bool Verifier::sequential_subset(const Kernel& k) {
  if (!k.turns.empty()) return later("a turn", k.turns[0].name.text());
  for (const Buffer& b : k.buffers) {
    if (!b.each.empty()) return later("a buffer for each group", b.name.text());
  }
  for (const Channel& c : k.channels) {
    if (!c.each.empty()) return later("a channel for each group", c.name.text());
    if (constant_integer(c.depth) != 1) return later("a channel of a depth other than 1", c.name.text());
  }
  return true;
}

bool Verifier::machine_has(const Kernel& k) {
  atom_rows_.clear();
  for (const AtomUse& a : k.atoms) {
    if (machine_ == nullptr) continue;
    const auto same = [&](const KnownAtom& row) { return row.name == a.atom; };
    const auto row = std::find_if(machine_->atoms.begin(), machine_->atoms.end(), same);
    if (row == machine_->atoms.end()) return fail("the target has no atom `" + a.atom.text() + "`", {a.name.text()});
    if (row->asynchronous && subset_ == Subset::sequential) return later("an asynchronous atom", a.atom.text());
    atom_rows_[a.name] = &*row;
  }
  return true;
}

bool Verifier::axes(const Kernel& k) {
  for (const TileAxis& a : k.axes) {
    if (a.parts.empty()) return fail("axis `" + a.name.text() + "` has no parts", {a.name.text()});
    if (a.name == Symbol("g")) return fail("`g` is the number of the own group: it has an extent, and no axis is called so", {"g"});
    if (!declare(a.name, of(Means::axis))) return false;
    extents_[a.name] = extent(a);
    wholes_[a.name] = &a;
    for (const AxisPart& part : a.parts) {
      if (!part.extent || !uniform(part.extent, "an extent of axis `" + a.name.text() + "`")) return false;
      if (a.parts.size() == 1 && part.name == a.name) continue;
      if (!declare(part.name, of(Means::axis))) return false;
      extents_[part.name] = simplify_integer(part.extent);
    }
  }
  return true;
}

bool Verifier::work(const Kernel& k) {
  if (!uniform(k.work.lo, "the work range") || !uniform(k.work.hi, "the work range")) return false;
  if (k.work.source == WorkSource::dynamic) {
    const auto same = [&](const Workspace& w) { return w.name == k.work.counter; };
    const auto counter = std::find_if(m_.workspaces.begin(), m_.workspaces.end(), same);
    const bool counts = counter != m_.workspaces.end() && counter->zero && counter->dtype == DType::i32 && counter->box.size() == 1;
    if (!counts) return fail("the counter of a dynamic work source is a workspace `i32[1] zero`", {k.work.counter.text()});
  }
  if (k.work.resident && !uniform(k.work.resident, "the number of resident workgroups")) return false;
  Info info = of(Means::uniform);
  info.depends = {k.work.variable};
  return declare(k.work.variable, info);
}

static bool has_role(const Kernel& k, Symbol name) {
  return std::any_of(k.roles.begin(), k.roles.end(), [name](const Role& r) { return r.name == name; });
}

bool Verifier::places(const Kernel& k) {
  for (const Let& l : k.lets) {
    in_work_ = true;  // it may depend on the item
    const bool good = uniform(l.value, "`" + l.name.text() + "`");
    in_work_ = false;
    if (!good) return false;
    Info info = of(Means::uniform);
    symbols_in(l.value, info.depends);
    if (!declare(l.name, info)) return false;
  }
  for (const AtomUse& a : k.atoms) {
    if (!declare(a.name, of(Means::atom))) return false;
  }
  for (const Buffer& b : k.buffers) {
    Info info = of(Means::buffer);
    info.rank = b.box.size();
    for (const Expr extent : b.box) {
      if (!uniform(extent, "an extent of buffer `" + b.name.text() + "`")) return false;
    }
    if (!b.each.empty()) {
      if (!has_role(k, b.each)) return fail("there is no role `" + b.each.text() + "` for buffer `" + b.name.text() + "`", {b.name.text()});
      ++info.rank;  // the group's number comes first
    }
    if (!declare(b.name, info)) return false;
  }
  for (const Channel& c : k.channels) {
    Info info = of(Means::channel);
    info.rank = c.box.size();
    for (const Expr extent : c.box) {
      if (!uniform(extent, "an extent of channel `" + c.name.text() + "`")) return false;
    }
    if (!declare(c.name, info)) return false;
    for (const Symbol end : {c.from, c.to, c.each}) {
      if (end.empty() || has_role(k, end)) continue;
      return fail("channel `" + c.name.text() + "` joins roles that the kernel does not have: `" + end.text() + "`", {c.name.text()},
                  "a self-channel goes from a role to itself");
    }
    if (!c.each.empty() && c.each != c.to)
      return fail("channel `" + c.name.text() + "` is one for each group of `" + c.each.text() + "`, but goes to `" + c.to.text() + "`",
                  {c.name.text()});
    if (!uniform(c.depth, "the depth of channel `" + c.name.text() + "`")) return false;
  }
  for (const Turn& t : k.turns) {
    if (!has_role(k, t.over)) return fail("turn `" + t.name.text() + "` goes over a role that the kernel does not have", {t.name.text()});
    if (!declare(t.name, of(Means::turn))) return false;
  }
  return true;
}

bool Verifier::role(const Role& r) {
  role_ = &r;
  in_work_ = false;
  channels_.clear();
  turns_.clear();
  in_flight_.clear();
  blocks_.clear();
  quiet_operands_.clear();
  find_quiet_operands(r.body);
  if (!uniform(r.warps, "the warps of role `" + r.name.text() + "`")) return false;
  if (r.groups && !uniform(r.groups, "the groups of role `" + r.name.text() + "`")) return false;
  if (r.registers && !uniform(r.registers, "the registers of role `" + r.name.text() + "`")) return false;
  const Symbol group("g");
  extents_.erase(group);
  if (find(group) == nullptr) {  // a tensor of that name hides the word
    Info info = of(Means::uniform);
    if (!declare(group, info)) return false;
    extents_[group] = r.groups ? r.groups : number(1);
  }
  const auto is_work = [](const Statement& s) { return std::holds_alternative<For>(s.op) && std::get<For>(s.op).ranges.empty(); };
  if (std::count_if(r.body.begin(), r.body.end(), is_work) != 1) {
    return fail("role `" + r.name.text() + "` needs exactly one loop over its work: `for " + k_->work.variable.text() + " in work { … }`",
                {r.name.text()});
  }
  return block(r.body, {});
}

Result<void> verify_tile(const Module& m) { return Verifier(m, Subset::tile, nullptr).run(); }
Result<void> verify(const Module& m) { return Verifier(m, Subset::whole, nullptr).run(); }
Result<void> verify(const Module& m, const KnownMachine& machine) { return Verifier(m, Subset::whole, &machine).run(); }
Result<void> verify_sequential(const Module& m) { return Verifier(m, Subset::sequential, nullptr).run(); }
Result<void> verify_sequential(const Module& m, const KnownMachine& machine) { return Verifier(m, Subset::sequential, &machine).run(); }

}  // namespace fathom::kernel
