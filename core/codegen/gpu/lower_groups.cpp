// What the groups of a role do together: waits of all of them, reductions over the groups, and what one of them does for all.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"
#include "ir/overloaded.hpp"

namespace fathom::gpu {
namespace {
const Symbol own_group(std::string_view("g"));

layout::Layout with_slowest(const layout::Layout& layout, const layout::Digit& slowest) {
  std::vector<layout::Digit> digits = layout.digits();
  for (layout::Digit& digit : digits) {
    if (digit.level != HierarchyLevel::registers) continue;
    digit = slowest;
    break;
  }
  return layout::Layout(digits);
}
}  // namespace

void KernelLowering::wait_for_role() {
  if (process_->groups == 1) return wait_for_group();
  if (processes_.size() == 1) return emit({Do{call_of("wait_for_workgroup", {})}});
  if (process_->role_barrier == 0) process_->role_barrier = named_barriers_++;
  emit({Do{call_of("wait_for_group", {number(process_->role_barrier), number(process_->groups * process_->warps * target_.lanes)})}});
}

Expr KernelLowering::group_zero() const { return process_->groups > 1 ? binary(Op::eq, symbol(own_group), number(0)) : Expr(); }

/// What stands inside is not done by all groups alike.
bool KernelLowering::parts_groups(const kernel::Statement& s) const {
  if (process_->groups == 1) return false;
  const kernel::Varying& varies = *varying_;
  if (const auto* w = std::get_if<kernel::When>(&s.op)) return varies(w->condition);
  if (const auto* i = std::get_if<kernel::If>(&s.op)) return varies(i->condition);
  const auto* f = std::get_if<kernel::For>(&s.op);
  return f != nullptr && !f->ranges.empty() && varies(f->variable);
}

/// Stores of what does not vary with the group, to places that do not, and values for them that nobody else asks for.
bool KernelLowering::done_once(const kernel::Statement& s) const {
  const kernel::Varying& varies = *varying_;
  return std::visit(
      Overloaded{
          [&](const kernel::Value& v) {
            return std::none_of(v.values.begin(), v.values.end(), [&](Expr e) { return varies(e) || kernel::reduces_over_groups(e); }) &&
                   std::none_of(v.targets.begin(), v.targets.end(), [&](const kernel::Access& to) { return varies(to); });
          },
          [&](const kernel::Let& l) { return !varies(l.value); },
          [&](const kernel::When& w) {
            return !varies(w.condition) && std::all_of(w.body.begin(), w.body.end(), [&](const auto& each) { return done_once(each); });
          },
          [](const auto&) { return false; },
      },
      s.op);
}

bool KernelLowering::stores_once(const kernel::Statement& s) const {
  if (process_->groups == 1 || by_one_group_ || apart_ > 0) return false;
  if (const auto* v = std::get_if<kernel::Value>(&s.op))
    return done_once(s) && std::all_of(v->targets.begin(), v->targets.end(),
                                       [&](const kernel::Access& to) { return tiles_.count(to.name) == 0 && memory(to.name) != nullptr; });
  const auto* w = std::get_if<kernel::When>(&s.op);
  return w != nullptr && done_once(s) && changes_no_value(w->body);
}

/// Of those that are known in front of it.
bool KernelLowering::changes_no_value(const kernel::Block& body) const {
  return std::all_of(body.begin(), body.end(), [&](const kernel::Statement& s) {
    if (const auto* w = std::get_if<kernel::When>(&s.op)) return changes_no_value(w->body);
    const auto* v = std::get_if<kernel::Value>(&s.op);
    return v == nullptr || std::all_of(v->targets.begin(), v->targets.end(), [&](const kernel::Access& to) {
             return tiles_.count(to.name) == 0 && scalars_.count(to.name) == 0;
           });
  });
}

/// A store, or a condition with nothing but such stores under it: its values are not known behind it.
void KernelLowering::lower_once(const kernel::Statement& s) {
  by_one_group_ = true;
  if (const auto* w = std::get_if<kernel::When>(&s.op)) {
    Branch branch;
    branch.condition = binary(Op::logical_and, converted(element(w->condition, {}), Type::boolean).expr, group_zero());
    branch.then = inside([&] { block(w->body); });
    emit({branch});
  } else {
    Branch branch;
    branch.condition = group_zero();
    branch.then = inside([&] { lower_value(std::get<kernel::Value>(s.op)); });
    emit({branch});
  }
  by_one_group_ = false;
}

/// The memory of a ring that no group uses now: all items have been received and released by those who are here.
Symbol KernelLowering::free_ring(std::int64_t bytes) {
  if (processes_.size() > 1) return {};
  for (const auto& [key, r] : rings_)
    if (r.in_flight != 0 || r.held != 0) return {};
  for (const auto& [name, c] : channels_)
    if (c.elements * c.depth * c.rings * size_in_bytes(type_of(c.channel->dtype)) >= bytes) return c.memory;
  return {};
}

/// The part of a wide state that one group folds for all: so many of the slowest registers. Absent: each folds the whole.
std::optional<layout::Digit> KernelLowering::share_of_group(const Fold& f) const {
  const std::vector<layout::Digit> registers = f.widest.at(HierarchyLevel::registers);
  if (registers.empty() || registers[0].extent % process_->groups != 0) return std::nullopt;
  for (const Tile& to : f.to)
    for (const layout::Digit& digit : to.layout.digits())
      if (to.layout != f.widest && digit.part == registers[0].part) return std::nullopt;
  layout::Digit share = registers[0];
  share.extent /= process_->groups;
  return share;
}

/// Every group writes its states where all see them, then folds those of all groups, in their order: of the widest states its share, which
/// all read at the end.
void KernelLowering::reduce_over_groups(const Fold& f, const std::string& like) {
  const std::int64_t groups = process_->groups, threads = process_->warps * target_.lanes;
  const bool one_type = std::all_of(f.types.begin(), f.types.end(), [&](Type t) { return t == f.types[0]; });
  if (!one_type) refused("the states of `" + like + "` have different types, which has no form between groups on this target yet", {like});
  std::vector<std::int64_t> begins;
  std::int64_t elements = 0;
  for (const Tile& to : f.to) {
    begins.push_back(elements);
    elements += groups * to.layout.registers() * threads;
  }
  const Symbol memory = names_.fresh(f.reducer->name.text() + "_of_groups");
  ThreadKernel::DynamicShared shared{memory, f.types[0], elements};
  shared.alias = free_ring(elements * size_in_bytes(f.types[0]));
  result_.dynamic_shared.push_back(shared);
  std::vector<Symbol> pointers;
  for (std::size_t c = 0; c < f.to.size(); ++c) {
    pointers.push_back(names_.fresh(f.to[c].name.text() + "_of_groups"));
    emit({Declare{{pointers[c], f.types[c], {}}, call_of("&", {fathom::read(memory, {number(begins[c])})}), true}});
  }
  const std::optional<layout::Digit> share = share_of_group(f);
  const auto is_shared_out = [&](std::size_t c) { return share && f.to[c].layout == f.widest; };
  const auto place = [&](std::size_t c, Expr of_group, const Element& at) {
    const std::int64_t registers = f.to[c].layout.registers();
    Expr reg;
    for (const layout::Digit& digit : f.to[c].layout.at(HierarchyLevel::registers)) {
      const bool is_share = is_shared_out(c) && digit.part == share->part && digit.stride == share->stride;
      Expr value = is_share && share->extent == 1 ? symbol(own_group) : Expr();
      const auto known = at.registers.find(digit.part);
      if (known != at.registers.end()) {
        for (const RegisterDigit& own : known->second) {
          if (own.stride != digit.stride) continue;
          if (is_share && own.extent == share->extent) value = symbol(own_group) * number(share->extent) + own.value();
          if (own.extent == digit.extent) value = own.value();
        }
      }
      reg = reg ? reg * number(digit.extent) + value : value;
    }
    Expr row = registers > 1 ? of_group * number(registers) : of_group;
    if (reg) row = row + reg;
    return fathom::read(pointers[c], {simplify_integer(row) * number(threads) + thread_in_group()});
  };
  wait_for_role();  // the memory is a ring's, or what a reduction before has used
  for (std::size_t c = 0; c < f.to.size(); ++c) {
    over_registers(f.to[c].layout, {}, [&](const Element& at) {
      emit({Assign{place(c, symbol(own_group), at), converted(element(f.values[c], at), f.types[c]).expr}});
    });
  }
  wait_for_role();
  Fold own = f;
  if (share) own.widest = with_slowest(f.widest, *share);
  for (std::size_t c = 0; c < f.to.size(); ++c) {
    if (is_shared_out(c)) {
      own.to[c] = {names_.fresh(f.to[c].name.text() + "_share"), f.types[c], own.widest, false};
      Variable variable{own.to[c].name, f.types[c], {}};
      if (is_array(own.to[c])) variable.extents.push_back(own.widest.registers());
      emit({Declare{variable, {}}});
    }
    over_registers(own.to[c].layout, {}, [&](const Element& at) { emit({Assign{place_in(own.to[c], at), place(c, number(0), at)}}); });
  }
  Loop loop;
  loop.variable = names_.fresh("from");
  loop.lo = number(1);
  loop.hi = number(groups);
  not_negative_.insert(loop.variable);
  loop.body = inside([&] { fold_in(own, [&](std::size_t c, const Element& at) { return place(c, symbol(loop.variable), at); }); });
  names_.release(loop.variable);
  emit({loop});
  if (share) {  // nobody else reads the places of this share
    for (std::size_t c = 0; c < f.to.size(); ++c)
      if (is_shared_out(c))
        over_registers(own.widest, {}, [&](const Element& at) { emit({Assign{place(c, number(0), at), place_in(own.to[c], at)}}); });
    wait_for_role();
    for (std::size_t c = 0; c < f.to.size(); ++c)
      if (is_shared_out(c))
        over_registers(f.widest, {}, [&](const Element& at) { emit({Assign{place_in(f.to[c], at), place(c, number(0), at)}}); });
  }
  wait_for_role();
}

}  // namespace fathom::gpu
