// Channels of a role to itself: rings of slots in shared memory, filled by asynchronous copies. What has to wait for what follows from the
// order of the events: a receive waits until its copies have landed and for all threads; a slot is filled again only behind a wait that all
// threads have passed since they read it.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"

namespace fathom::gpu {

void KernelLowering::declare_channels() {
  for (const kernel::Channel& c : kernel_.channels) {
    const std::string& name = c.name.text();
    if (c.from != c.to || !c.each.empty()) refused("channel `" + name + "` between roles or groups has no form on this target yet", {name});
    const auto depth = constant_integer(simplify_integer(c.depth));
    if (!depth) refused("channel `" + name + "` has no fixed depth", {name});
    Ring ring;
    ring.channel = &c;
    ring.depth = *depth;
    ring.elements = 1;
    for (const Expr extent : c.box) {
      const auto fixed = constant_integer(simplify_integer(extent));
      if (!fixed) refused("a slot of channel `" + name + "` has no fixed size", {name});
      ring.elements *= *fixed;
    }
    ring.memory = names_.of(c.name);
    result_.dynamic_shared.push_back({ring.memory, type_of(c.dtype), ring.elements * ring.depth});
    if (ring.depth > 1) {
      ring.filled = names_.fresh(name + "_filled");
      ring.taken = names_.fresh(name + "_taken");
      for (const Symbol counter : {ring.filled, ring.taken}) {
        emit({Declare{{counter, Type::i32, {}}, number(0)}});
        not_negative_.insert(counter);
      }
    }
    rings_[c.name] = ring;
  }
}

KernelLowering::Ring& KernelLowering::ring(const kernel::Access& channel) {
  const auto at = rings_.find(channel.name);
  if (at == rings_.end()) refused("there is no channel `" + channel.name.text() + "`", {channel.name.text()});
  return at->second;
}

/// A pointer to the next slot, for filling or for reading.
void KernelLowering::next_slot(Symbol slot, Ring& r, Symbol counter) {
  Expr place = number(0);
  if (r.depth > 1) place = binary(Op::mod, symbol(counter), number(r.depth)) * number(r.elements);
  const Symbol pointer = names_.fresh(slot.text());
  emit({Declare{{pointer, type_of(r.channel->dtype), {}}, call_of("&", {fathom::read(r.memory, {place})}), true}});
  if (r.depth > 1) emit({Assign{symbol(counter), symbol(counter) + number(1)}});
  Memory m{pointer, r.channel->dtype, r.channel->box, false, Symbol()};
  memories_[slot] = m;
  slots_of_[slot] = r.channel->name;
}

/// `wait_first`: somebody may still read the slot.
void KernelLowering::lower_acquire(const kernel::Acquire& a, bool wait_first) {
  if (wait_first) emit({Do{call_of("wait_for_workgroup", {})}});
  Ring& r = ring(a.channel);
  r.copies = false;
  r.used = true;
  ++r.in_flight;
  next_slot(a.slot, r, r.filled);
}

void KernelLowering::lower_publish(const kernel::Publish& p) {
  Ring& r = ring(p.channel);
  if (r.copies) emit({Do{call_of("commit_copies", {})}});
}

/// `younger`: groups of copies that may still be on their way.
void KernelLowering::lower_receive(const kernel::Receive& a, std::int64_t younger) {
  Ring& r = ring(a.channel);
  if (r.copies) emit({Do{call_of("wait_for_copies", {number(younger)})}});
  emit({Do{call_of("wait_for_workgroup", {})}});
  --r.in_flight;
  next_slot(a.slot, r, r.taken);
}

// ---- copies ----

/// Chunks of 16 bytes, dealt out to all threads. What lies outside becomes 0 without being read.
void KernelLowering::lower_copy(const kernel::Copy& c) {
  const Memory* to = memory(c.to.name);
  const auto of = slots_of_.find(c.to.name);
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
  const bool zero = !fill || fill == number(0);
  const bool wide = !axes.empty() && axes.back() == c.to.subscripts.back() && zero && source->dtype == to->dtype &&
                    aligned(source->tensor, 16) && whole_chunks(*source, subscripts, axes.back(), elements);
  if (!wide)
    refused("the copy `" + c.token.text() + "` has no wide form: its rows are not whole chunks of 16 bytes by the launch contract",
            {c.token.text()}, "require that the tensor and its rows are multiples of 16 bytes");
  rings_.at(of->second).copies = true;
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
  loop.body = inside([&] {
    const Symbol chunk = names_.fresh("chunk");
    not_negative_.insert(chunk);
    emit({Declare{{chunk, Type::i32, {}}, symbol(loop.variable) * number(threads) + call_of("thread_number", {})}});
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
    Expr inside_it = inside_of(*source, subscripts, at);
    const auto also = [&](Expr more) { inside_it = inside_it ? binary(Op::logical_and, inside_it, more) : more; };
    if (condition) also(converted(element(condition, at), Type::boolean).expr);
    if (ahead_inside_) also(ahead_inside_);
    const Expr copy = call_of("copy_async", {call_of("&", {fathom::read(to->name, {offset(*to, c.to.subscripts, at)})}),
                                             call_of("&", {fathom::read(source->name, {offset(*source, subscripts, at)})}),
                                             inside_it ? inside_it : boolean(true)});
    if (rounds * threads == chunks) {
      emit({Do{copy}});
    } else {
      emit({Branch{binary(Op::lt, symbol(chunk), number(chunks)), {{Do{copy}}}, {}}});
    }
    names_.release(chunk);
  });
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
