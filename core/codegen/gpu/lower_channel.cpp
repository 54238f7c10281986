// Channels: rings of slots in shared memory. Of a role to itself: filled by asynchronous copies of its threads (on targets that have none
// by loads and stores, which only the other threads wait for), and what has to wait for what follows from the order of the events: a
// receive waits until its copies have landed and for all threads; a slot is filled again only behind a wait that all threads have passed
// since they read it. Between roles: two barriers a slot, one says that it is full, one that it is empty.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

void KernelLowering::declare_channels() {
  for (const kernel::Channel& c : kernel_.channels) {
    const std::string& name = c.name.text();
    ChannelMemory made;
    made.channel = &c;
    made.between = c.from != c.to;
    const auto depth = constant_integer(simplify_integer(c.depth));
    if (!depth) refused("channel `" + name + "` has no fixed depth", {name});
    made.depth = *depth;
    made.elements = 1;
    for (const Expr extent : c.box) {
      const auto fixed = constant_integer(simplify_integer(extent));
      if (!fixed) refused("a slot of channel `" + name + "` has no fixed size", {name});
      made.elements *= *fixed;
    }
    if (!c.each.empty()) made.rings = process_of(c.each).groups;
    if (!made.between && c.each.empty() && process_of(c.from).groups > 1)
      refused("channel `" + name + "` goes from a role of several groups to all of them, which has no form on this target yet", {name});
    if (made.between && process_of(c.from).groups > 1)
      refused("channel `" + name + "` comes from a role of several groups, which has no form on this target yet", {name});
    made.memory = names_.of(c.name);
    made.panels = made.between && target_.copy_engine && whole_panels(c.box, c.dtype);
    result_.dynamic_shared.push_back({made.memory, type_of(c.dtype), made.elements * made.depth * made.rings,
                                      made.panels ? panel_alignment : ThreadKernel::DynamicShared().alignment});
    if (made.between) {
      made.full = names_.fresh(name + "_full");
      made.empty = names_.fresh(name + "_empty");
      for (const Symbol barriers : {made.full, made.empty}) result_.shared.push_back({barriers, Type::barrier, {made.rings * made.depth}});
    }
    channels_[c.name] = made;
  }
}

/// Rows of whole panels, each panel of whole groups of eight rows.
bool KernelLowering::whole_panels(const std::vector<Expr>& box, DType dtype) {
  if (box.size() < 2) return false;
  const auto rows = constant_integer(simplify_integer(box[box.size() - 2])), columns = constant_integer(simplify_integer(box.back()));
  return rows && columns && *rows % 8 == 0 && *columns * size_in_bytes(dtype) % panel_bytes == 0;
}

/// Buffers in shared memory, one part a group where they are `each` of a role.
void KernelLowering::declare_buffers() {
  for (const kernel::Buffer& b : kernel_.buffers) {
    const std::string& name = b.name.text();
    if (b.space != Symbol("shared")) refused("buffer `" + name + "` in space " + b.space.text() + " has no form on this target", {name});
    Memory m;
    m.name = names_.of(b.name);
    m.dtype = b.dtype;
    m.extents = b.box;
    m.global = false;
    m.panels = target_.copy_engine && whole_panels(b.box, b.dtype);
    if (!b.each.empty()) m.extents.insert(m.extents.begin(), number(process_of(b.each).groups));
    std::int64_t elements = 1;
    for (const Expr extent : m.extents) {
      const auto fixed = constant_integer(simplify_integer(extent));
      if (!fixed) refused("buffer `" + name + "` has no fixed size", {name});
      elements *= *fixed;
    }
    ThreadKernel::DynamicShared memory{m.name, type_of(b.dtype), elements};
    if (m.panels) memory.alignment = panel_alignment;
    if (!b.alias.empty()) {
      const auto over = channels_.find(b.alias.front());
      if (b.alias.size() > 1 || over == channels_.end())
        refused("buffer `" + name + "` lies over what is no channel, which has no form on this target yet", {name});
      memory.alias = over->second.memory;
    }
    result_.dynamic_shared.push_back(memory);
    memories_[b.name] = m;
  }
}

std::pair<Symbol, Expr> KernelLowering::ring_key(const kernel::Access& channel) const {
  const kernel::Access ring = kernel::ring_of(kernel_, *process_->role, channel);
  return {ring.name, ring.subscripts.empty() ? Expr() : simplify_integer(ring.subscripts[0])};
}

/// The rings that a role uses, and its counters of their items.
void KernelLowering::declare_rings(const kernel::Block& body) {
  std::set<std::pair<Symbol, Expr>> fills, takes;
  const std::function<void(const kernel::Block&)> collect = [&](const kernel::Block& block) {
    for (const kernel::Statement& s : block) {
      if (const auto* a = std::get_if<kernel::Acquire>(&s.op)) fills.insert(ring_key(a->channel));
      if (const auto* r = std::get_if<kernel::Receive>(&s.op)) takes.insert(ring_key(r->channel));
      if (const auto* c = std::get_if<kernel::Copy>(&s.op)) {
        const Memory* to = memory(c->to.name);
        (to != nullptr && to->global ? stores_ : loads_).insert(c->token);
      }
      if (const auto* f = std::get_if<kernel::For>(&s.op)) collect(f->body);
      if (const auto* w = std::get_if<kernel::When>(&s.op)) collect(w->body);
      if (const auto* i = std::get_if<kernel::If>(&s.op)) collect(i->body);
    }
  };
  collect(body);
  for (const kernel::Channel& c : kernel_.channels) {
    std::set<std::pair<Symbol, Expr>> own;
    for (const auto* keys : {&fills, &takes})
      for (const auto& key : *keys)
        if (key.first == c.name) own.insert(key);
    for (const auto& key : own) {
      Ring ring;
      ring.key = key;
      ring.of = channels_.at(c.name);
      ring.number = key.second ? element(key.second, {}).expr : Expr();
      if (ring.number && !constant_integer(ring.number) && key.second != symbol(Symbol("g")))
        refused("which ring of `" + c.name.text() + "` is meant is known at run time only: `" + fathom::print(key.second) + "`",
                {c.name.text()});
      const auto counter = [&](bool needed, const char* what) {
        if (!needed) return Symbol();
        const auto fixed = ring.number ? constant_integer(ring.number) : std::nullopt;
        const Symbol made = names_.fresh(c.name.text() + (fixed ? std::to_string(*fixed) : "") + what);
        emit({Declare{{made, Type::i32, {}}, number(0)}});
        not_negative_.insert(made);
        return made;
      };
      const bool both = !ring.of.between && ring.of.depth > 1;
      ring.filled = counter(both || (ring.of.between && fills.count(key) > 0), "_filled");
      ring.taken = counter(both || (ring.of.between && takes.count(key) > 0), "_taken");
      rings_[key] = ring;
    }
  }
}

KernelLowering::Ring& KernelLowering::ring(const kernel::Access& channel) {
  const auto at = rings_.find(ring_key(channel));
  if (at == rings_.end()) refused("there is no channel `" + channel.name.text() + "`", {channel.name.text()});
  return at->second;
}

/// A pointer to the next slot, for filling or for reading.
void KernelLowering::next_slot(Symbol slot, Ring& r, Symbol counter) {
  Expr place = number(0);
  if (r.of.depth > 1) place = binary(Op::mod, symbol(counter), number(r.of.depth));
  if (r.number) place = r.of.depth > 1 ? r.number * number(r.of.depth) + place : r.number;
  point_at(slot, r, place);
  if (r.of.depth > 1) emit({Assign{symbol(counter), symbol(counter) + number(1)}});
}

void KernelLowering::point_at(Symbol slot, Ring& r, Expr place) {
  const kernel::Channel& c = *r.of.channel;
  const Symbol pointer = names_.fresh(slot.text());
  const Expr begin = place == number(0) ? place : place * number(r.of.elements);
  emit({Declare{{pointer, type_of(c.dtype), {}}, call_of("&", {fathom::read(r.of.memory, {begin})}), true}});
  memories_[slot] = {pointer, c.dtype, c.box, false, Symbol(), r.of.panels};
  slots_of_[slot] = r.key;
}

/// Between roles: waits until the slot is handed over. Item n lies in slot n % depth and has the phase n / depth of its barrier; the phase
/// before the first counts as ended.
void KernelLowering::next_slot_between(Symbol slot, Ring& r, Symbol counter, Symbol barriers, bool one_phase_ahead) {
  const std::int64_t depth = r.of.depth;
  Expr place = number(0), phase = symbol(counter);
  if (depth > 1) {
    place = binary(Op::mod, symbol(counter), number(depth));
    phase = binary(Op::floordiv, symbol(counter), number(depth));
  }
  if (r.number) place = depth > 1 ? r.number * number(depth) + place : r.number;
  if (!constant_integer(place)) {
    const Symbol number_of = names_.fresh(slot.text() + "_slot");
    emit({Declare{{number_of, Type::i32, {}}, place}});
    not_negative_.insert(number_of);
    place = symbol(number_of);
  }
  if (one_phase_ahead) phase = phase + number(1);
  emit({Do{call_of("wait_for_barrier", {barrier(barriers, place), binary(Op::mod, phase, number(2))})}});
  point_at(slot, r, place);
  emit({Assign{symbol(counter), symbol(counter) + number(1)}});
  r.slots.push_back(place);
}

/// The slot that was taken first and is still held.
Expr KernelLowering::oldest_slot(Ring& r) {
  if (r.slots.empty())
    refused("channel `" + r.of.channel->name.text() + "` hands on a slot that is not held here", {r.of.channel->name.text()});
  const Expr slot = r.slots.front();
  r.slots.erase(r.slots.begin());
  return slot;
}

/// `wait_first`: somebody may still read the slot.
void KernelLowering::lower_acquire(const kernel::Acquire& a, bool wait_first) {
  Ring& r = ring(a.channel);
  r.copies = false;
  r.used = true;
  if (r.of.between) return next_slot_between(a.slot, r, r.filled, r.of.empty, true);
  if (wait_first) wait_for_group();
  ++r.in_flight;
  next_slot(a.slot, r, r.filled);
}

void KernelLowering::lower_publish(const kernel::Publish& p) {
  Ring& r = ring(p.channel);
  if (!r.of.between) {
    if (r.copies) emit({Do{call_of("commit_copies", {})}});
    return;
  }
  const Expr slot = oldest_slot(r);
  if (!r.copies) {  // filled by stores of all threads
    if (target_.copy_engine) emit({Do{call_of("fence_for_copies", {})}});
    wait_for_group();
  }
  once_a_group([&] { emit({Do{call_of("arrive", {barrier(r.of.full, slot)})}}); });
}

/// `younger`: groups of copies that may still be on their way.
void KernelLowering::lower_receive(const kernel::Receive& a, std::int64_t younger) {
  Ring& r = ring(a.channel);
  if (r.of.between) return next_slot_between(a.slot, r, r.taken, r.of.full, false);
  if (r.copies) emit({Do{call_of("wait_for_copies", {number(younger)})}});
  wait_for_group();
  --r.in_flight;
  ++r.held;
  next_slot(a.slot, r, r.taken);
}

/// Every warp says for itself that it has read.
void KernelLowering::lower_release(const kernel::Release& release) {
  Ring& r = ring(release.channel);
  --r.held;
  if (!r.of.between) return;
  for (const kernel::TokenUse& after : release.after) lower_await({std::nullopt, after.token, after.source_only});
  const Expr arrived = call_of("arrive", {barrier(r.of.empty, oldest_slot(r))});
  if (process_->one_thread) return emit({Do{arrived}});
  emit({Do{call_of("wait_for_warp", {})}});
  emit({Branch{binary(Op::eq, symbol(Symbol("lane")), number(0)), {{Do{arrived}}}, {}}});
}

// ---- copies ----

/// The helper for a path: all copies of threads pass the first-level cache by (`cg`).
const char* KernelLowering::copy_along(const kernel::Copy& c) {
  const char* found = "copy_async";
  for (const Symbol word : c.via) {
    if (word.text() == "l2_evict_first") {
      found = "copy_async_evict_first";
    } else if (word.text() == "l2_evict_last") {
      found = "copy_async_evict_last";
    } else if (word.text() != "cg") {
      refused("the copy `" + c.token.text() + "` goes by a path that copies of threads do not have: `" + word.text() + "`",
              {c.token.text()}, "there are cg, l2_evict_first and l2_evict_last");
    }
  }
  return found;
}

/// Chunks of 16 bytes, dealt out to all threads of the group. What lies outside becomes 0 without being read.
void KernelLowering::lower_copy(const kernel::Copy& c) {
  const Memory* to = memory(c.to.name);
  const auto of = slots_of_.find(c.to.name);
  if (to != nullptr && to->global) return lower_store_box(c);
  if (of != slots_of_.end() && rings_.at(of->second).of.between) return lower_load_box(c);
  if (to == nullptr || of == slots_of_.end())
    refused("a copy to what is no slot has no form on this target yet: `" + c.token.text() + "`", {c.token.text()});
  Expr from = c.from, condition;
  Expr fill = c.otherwise;
  if (from.is(Op::where)) {
    condition = from.arg(0);
    fill = from.arg(2);
    from = from.arg(1);
  }
  const Memory* source = from.is(Op::read) ? memory(from.name()) : nullptr;
  if (source == nullptr || !source->global) refused("a copy reads one tensor: `" + c.token.text() + "`", {c.token.text()});
  const std::vector<Expr> subscripts(from.args().begin(), from.args().end());
  const std::int64_t elements = 16 / size_in_bytes(to->dtype);
  std::vector<Expr> axes;
  for (const Expr s : c.to.subscripts)
    if (s.is(Op::index) || s.is(Op::tuple)) axes.push_back(s);
  const auto is_zero = [](Expr e) { return !e || e == number(0); };
  const bool zero = is_zero(fill) && is_zero(c.otherwise);
  const bool wide = !axes.empty() && axes.back() == c.to.subscripts.back() && zero && source->dtype == to->dtype &&
                    aligned(source->tensor, 16) && whole_chunks(*source, subscripts, axes.back(), elements);
  if (!wide)
    refused("the copy `" + c.token.text() + "` has no wide form: its rows are not whole chunks of 16 bytes by the launch contract",
            {c.token.text()}, "require that the tensor and its rows are multiples of 16 bytes");
  const bool by_chunk = !condition || !contains(condition, axes.back());
  if (!by_chunk)
    refused("the condition of the copy `" + c.token.text() + "` differs within a chunk of 16 bytes: `" + fathom::print(condition) + "`",
            {c.token.text()});
  rings_.at(of->second).copies = target_.copies_beside;
  std::int64_t chunks = 1;
  std::vector<std::int64_t> extents;
  for (const Expr axis : axes) {
    std::int64_t extent = 1;
    for (const layout::Part& part : layouts_.parts_of(axis)) extent *= part.extent;
    extents.push_back(axis == axes.back() ? extent / elements : extent);
    chunks *= extents.back();
  }
  const std::int64_t threads = layouts_.places.warps * layouts_.places.lanes, rounds = (chunks + threads - 1) / threads;
  Loop loop;
  loop.variable = names_.fresh("i");
  loop.lo = number(0);
  loop.hi = number(rounds);
  loop.unrolled = true;
  not_negative_.insert(loop.variable);
  const Expr own_thread = keeps_no_addresses() ? call_of("again", {thread_in_group()}) : thread_in_group();
  const auto body = [&](Expr round) {
    const Symbol chunk = names_.fresh("chunk");
    not_negative_.insert(chunk);
    emit({Declare{{chunk, Type::i32, {}}, round * number(threads) + own_thread}});
    Element at;
    std::int64_t below = 1;
    for (std::size_t a = axes.size(); a-- > 0;) {
      Expr place = below > 1 ? binary(Op::floordiv, symbol(chunk), number(below)) : symbol(chunk);
      if (a > 0) place = binary(Op::mod, place, number(extents[a]));
      below *= extents[a];
      const Symbol name = names_.fresh(axes[a].is(Op::index) ? axes[a].name().text() : "row");
      not_negative_.insert(name);
      emit({Declare{{name, Type::i32, {}}, a + 1 == axes.size() ? place * number(elements) : place}});
      at.axes[axes[a]] = symbol(name);
      names_.release(name);
    }
    Expr inside_it = condition && !c.otherwise ? Expr() : inside_of(*source, subscripts, at);  // what is masked may lie anywhere
    const auto also = [&](Expr more) { inside_it = inside_it ? binary(Op::logical_and, inside_it, more) : more; };
    if (condition) also(converted(element(condition, at), Type::boolean).expr);
    if (ahead_inside_) also(ahead_inside_);
    const Expr copy =
        call_of(target_.copies_beside ? copy_along(c) : "copy_chunk",
                {call_of("&", {fathom::read(to->name, {offset(*to, c.to.subscripts, at)})}),
                 call_of("&", {fathom::read(source->name, {offset(*source, subscripts, at)})}), inside_it ? inside_it : boolean(true)});
    if (rounds * threads == chunks) {
      emit({Do{copy}});
    } else {
      emit({Branch{binary(Op::lt, symbol(chunk), number(chunks)), {{Do{copy}}}, {}}});
    }
    names_.release(chunk);
  };
  constexpr std::int64_t most_together = 8;  // loads that registers hold at once, where copies go through them
  std::int64_t together = std::min(rounds, most_together);
  while (rounds % together != 0) --together;
  if (target_.copies_beside || together == rounds) {
    loop.body = inside([&] { body(symbol(loop.variable)); });
  } else {
    Loop groups = loop;
    groups.variable = names_.fresh("group");
    groups.hi = number(rounds / together);
    groups.unrolled = false;
    groups.rolled = true;
    not_negative_.insert(groups.variable);
    loop.hi = number(together);
    groups.body = inside([&] {
      loop.body = inside([&] { body(symbol(groups.variable) * number(together) + symbol(loop.variable)); });
      emit({loop});
    });
    names_.release(groups.variable);
    loop = groups;
  }
  names_.release(loop.variable);
  emit({loop});
}

/// Every chunk is whole inside or whole outside, and aligned: the last subscript is the axis and whole chunks besides, and rows are whole
/// chunks.
bool KernelLowering::whole_chunks(const Memory& source, const std::vector<Expr>& subscripts, Expr axis, std::int64_t elements) const {
  std::int64_t extent = 1;
  for (const layout::Part& part : layouts_.parts_of(axis)) extent *= part.extent;
  for (std::size_t d = 0; d + 1 < subscripts.size(); ++d)
    if (contains(subscripts[d], axis)) return false;
  const auto whole = [&](auto&& self, Expr e) -> bool {
    if (e == axis) return true;
    if (e.is(Op::add)) return self(self, e.arg(0)) && self(self, e.arg(1));
    return !contains(e, axis) && multiple_of(e) % elements == 0;
  };
  return !subscripts.empty() && contains(subscripts.back(), axis) && whole(whole, subscripts.back()) && extent % elements == 0 &&
         multiple_of(source.extents.back()) % elements == 0;
}

}  // namespace fathom::gpu
