// Roles become neighbouring warps, groups of a role parts of them. Who waits for whom follows from channels and turns: barriers in shared
// memory between roles, named barriers inside of a group and for turns.
#include <algorithm>

#include "codegen/gpu/lowering.hpp"
#include "codegen/gpu/unused.hpp"
#include "ir/overloaded.hpp"

namespace fathom::gpu {
namespace {

const Symbol lane_of_thread(std::string_view("lane")), warp_of_thread(std::string_view("warp")), group_of_thread(std::string_view("g"));

/// Loads and hand-overs only: the copy engine does the rest.
bool needs_one_thread(const kernel::Block& body) {
  return std::all_of(body.begin(), body.end(), [](const kernel::Statement& s) {
    return std::visit(Overloaded{
                          [](const kernel::For& f) { return needs_one_thread(f.body); },
                          [](const kernel::When& w) { return needs_one_thread(w.body); },
                          [](const kernel::Let&) { return true; },
                          [](const kernel::Acquire&) { return true; },
                          [](const kernel::Copy&) { return true; },
                          [](const kernel::Publish& p) { return !p.after.empty(); },
                          [](const auto&) { return false; },
                      },
                      s.op);
  });
}

std::int64_t fixed(Expr e, std::int64_t otherwise, const std::string& what) {
  if (!e) return otherwise;
  const auto value = constant_integer(simplify_integer(e));
  if (!value || *value < 1) refused(what + " is no fixed number: `" + fathom::print(e) + "`");
  return *value;
}

}  // namespace

void KernelLowering::plan_processes() {
  std::int64_t warps = 0;
  for (const kernel::Role& r : kernel_.roles) {
    Process p;
    p.role = &r;
    p.first_warp = warps;
    p.groups = fixed(r.groups, 1, "the number of groups of `" + r.name.text() + "`");
    p.warps = fixed(r.warps, 1, "the number of warps of `" + r.name.text() + "`");
    warps += p.groups * p.warps;
    processes_.push_back(p);
  }
  const bool alone = processes_.size() == 1 && processes_[0].groups == 1;
  for (Process& p : processes_) {
    p.alone = alone;
    p.one_thread = !alone && p.groups == 1 && needs_one_thread(p.role->body);
  }
  result_.threads = warps * target_.lanes;
  constexpr std::int64_t most_threads = 1024;
  if (result_.threads > most_threads)
    refused("the roles of `" + kernel_.name.text() + "` have " + std::to_string(result_.threads) + " threads, " +
                std::to_string(most_threads) + " are the most",
            {kernel_.name.text()});
}

const KernelLowering::Process& KernelLowering::process_of(Symbol role) const {
  const auto at = std::find_if(processes_.begin(), processes_.end(), [role](const Process& p) { return p.role->name == role; });
  if (at == processes_.end()) refused("there is no role `" + role.text() + "`", {role.text()});
  return *at;
}

/// Barriers begin before any role does.
void KernelLowering::set_up() {
  ThreadBlock barriers;
  const auto of = [&](Symbol array, std::int64_t count, std::int64_t arrivals) {
    Loop loop;
    loop.variable = Symbol("i");
    loop.lo = number(0);
    loop.hi = number(count);
    const Expr set = call_of("set_up_barrier", {barrier(array, count > 1 ? symbol(loop.variable) : number(0)), number(arrivals)});
    if (count == 1) return barriers.push_back({Do{set}});
    loop.body = {{Do{set}}};
    barriers.push_back({loop});
  };
  for (const auto& [name, c] : channels_) {
    if (!c.between) continue;
    const Process& to = process_of(c.channel->to);
    of(c.full, c.rings * c.depth, 1);
    of(c.empty, c.rings * c.depth, arrivals_of(to) / (c.rings > 1 ? to.groups : 1));
  }
  if (drawn_) {
    std::int64_t takers = 0;
    for (const Process& p : processes_) takers += &p == &processes_[0] && p.one_thread ? 0 : arrivals_of(p);
    of(drawn_->ready, 2, 1);
    of(drawn_->free, 2, takers);
  }
  if (barriers.empty()) return;
  barriers.push_back({Do{call_of("publish_barriers", {})}});
  result_.setup.push_back({Branch{binary(Op::eq, call_of("thread_number", {}), number(0)), std::move(barriers), {}}});
  result_.setup.push_back({Do{call_of("wait_for_workgroup", {})}});
}

// ---- threads of a group ----

Expr KernelLowering::thread_in_group() const {
  if (process_->alone) return call_of("thread_number", {});
  return process_->warps > 1 ? symbol(warp_of_thread) * number(target_.lanes) + symbol(lane_of_thread) : symbol(lane_of_thread);
}

Expr KernelLowering::first_thread() const {
  if (process_->one_thread) return {};
  const Expr first_lane = binary(Op::eq, symbol(lane_of_thread), number(0));
  return process_->warps > 1 ? binary(Op::logical_and, binary(Op::eq, symbol(warp_of_thread), number(0)), first_lane) : first_lane;
}

void KernelLowering::once_a_group(const std::function<void()>& body) {
  const Expr first = first_thread();
  if (!first) return body();
  emit({Branch{first, inside(body), {}}});
}

void KernelLowering::wait_for_group() {
  if (process_->one_thread) return;
  if (process_->alone) return emit({Do{call_of("wait_for_workgroup", {})}});
  if (process_->warps == 1) return emit({Do{call_of("wait_for_warp", {})}});
  if (process_->group_barrier == 0) {
    process_->group_barrier = named_barriers_;
    named_barriers_ += static_cast<int>(process_->groups);
  }
  const Expr id = process_->groups > 1 ? symbol(group_of_thread) + number(process_->group_barrier) : number(process_->group_barrier);
  emit({Do{call_of("wait_for_group", {id, number(process_->warps * target_.lanes)})}});
}

// ---- a role ----

void KernelLowering::role(Process& process) {
  process_ = &process;
  const kernel::Role& r = *process.role;
  const auto layouts = layout::assign(kernel_, r, target_);
  if (!layouts) throw Refused{layouts.error()};
  layouts_ = *layouts;
  varying_.emplace(module_, kernel_, r);
  waited_ = next_started_ = false;
  const auto outer_scalars = scalars_;
  const auto outer_memories = memories_;
  scratch_used_ = false;
  products_in_flight_.clear();
  loads_.clear();
  stores_.clear();
  ThreadBlock body = inside([&] {
    const auto thread = [&](Symbol name, Expr value) { emit({Declare{{name, Type::i32, {}}, value}}); };
    thread(lane_of_thread, call_of("lane_number", {}));
    Expr own = call_of("warp_number", {});
    if (!process.alone) own = call_of("same_in_warp", {own});  // what follows from it stays out of the lanes' registers
    if (process.first_warp > 0) own = own - number(process.first_warp);
    if (process.groups > 1) thread(group_of_thread, process.warps > 1 ? binary(Op::floordiv, own, number(process.warps)) : own);
    if (process.warps > 1) thread(warp_of_thread, process.groups > 1 ? binary(Op::mod, own, number(process.warps)) : own);
    if (scalars_.count(group_of_thread) == 0)
      scalars_[group_of_thread] = {process.groups > 1 ? symbol(group_of_thread) : number(0), Type::i32};
    if (r.registers && target_.registers_move) {
      const std::int64_t registers = fixed(r.registers, 0, "the register budget of `" + r.name.text() + "`");
      const std::int64_t at_launch = target_.registers_bytes / 4 / result_.threads / 8 * 8;
      emit({Do{call_of(registers > at_launch ? "set_registers_up" : "set_registers_down", {number(registers)})}});
    }
    const auto begin = [&] {
      for (const kernel::Let& l : module_.lets) lower_let(l);
      if (result_.early && (kernel_.work.source != kernel::WorkSource::grid || lets_read_what_others_store())) {
        emit({Do{call_of("wait_for_kernels_in_front", {})}});
        waited_ = true;
      }
      if (kernel_.work.source == kernel::WorkSource::grid) begin_item();
      for (const kernel::Turn& turn : kernel_.turns) {  // the last group gives the turn to the first
        if (turn.over != r.name || process.groups == 1) continue;
        turns_[turn.name] = named_barriers_;
        named_barriers_ += static_cast<int>(process.groups);
        emit({Branch{binary(Op::eq, symbol(group_of_thread), number(process.groups - 1)),
                     {{Do{call_of("arrive_at_group", {number(turns_[turn.name]), number(2 * process.warps * target_.lanes)})}}},
                     {}}});
      }
      declare_rings(r.body);
      block(r.body);
    };
    if (process.one_thread && process.warps * target_.lanes > 1) {
      const Expr first_lane = binary(Op::eq, symbol(lane_of_thread), number(0));
      emit({Branch{process.warps > 1 ? binary(Op::logical_and, binary(Op::eq, symbol(warp_of_thread), number(0)), first_lane) : first_lane,
                   inside(begin),
                   {}}});
    } else {
      begin();
    }
  });
  remove_unused(body);
  result_.roles.push_back({r.name, process.first_warp, process.groups, process.warps, std::move(body)});
  constexpr int most_named_barriers = 16;
  if (named_barriers_ > most_named_barriers)
    refused("groups and turns of `" + kernel_.name.text() + "` need " + std::to_string(named_barriers_) + " barriers, " +
                std::to_string(most_named_barriers) + " are the most",
            {kernel_.name.text()});
  scalars_ = outer_scalars;
  memories_ = outer_memories;
  tiles_.clear();
  rings_.clear();
  lets_.clear();
}

// ---- work items ----

/// There is an item, so there are more than none: where all factors of their number but one cannot be below zero, that one cannot, either.
void KernelLowering::items_exist() {
  std::vector<Expr> factors = {kernel_.work.hi}, open;
  while (!factors.empty()) {
    const Expr factor = factors.back();
    factors.pop_back();
    if (factor.is(Op::mul)) {
      factors.insert(factors.end(), {factor.arg(0), factor.arg(1)});
    } else if (const Expr own = element(factor, {}).expr; !not_negative(own)) {
      open.push_back(own);
    }
  }
  if (constant_integer(kernel_.work.lo) == 0 && open.size() == 1 && open[0].is(Op::symbol)) not_negative_.insert(open[0].name());
}

/// The item of a grid: the workgroup's number.
void KernelLowering::begin_item() {
  const Expr lo = element(kernel_.work.lo, {}).expr;
  const Symbol item = names_.of(kernel_.work.variable);
  const Expr block = call_of("workgroup_number", {});
  emit({Declare{{item, Type::i32, {}}, constant_integer(lo) == 0 ? block : block + lo}});
  scalars_[kernel_.work.variable] = {symbol(item), Type::i32};
  if (not_negative(lo)) not_negative_.insert(item);
  if (const auto end = constant_integer(simplify_integer(kernel_.work.hi))) most_[item] = *end - 1;
  items_exist();
  for (const kernel::Let& l : kernel_.lets) lower_let(l);
}

void KernelLowering::work_loop(const kernel::Block& body) {
  if (kernel_.work.source == kernel::WorkSource::grid) return block(body);
  const Expr lo = element(kernel_.work.lo, {}).expr, hi = element(kernel_.work.hi, {}).expr;
  const Symbol item = names_.of(kernel_.work.variable);
  const Expr own = call_of("workgroup_number", {});
  emit({Declare{{item, Type::i32, {}}, constant_integer(lo) == 0 ? own : own + lo}});
  scalars_[kernel_.work.variable] = {symbol(item), Type::i32};
  if (not_negative(lo)) not_negative_.insert(item);
  if (const auto end = constant_integer(hi)) most_[item] = *end - 1;
  ++loops_;
  if (kernel_.work.source == kernel::WorkSource::dynamic) {
    drawn_items(body, item, lo, hi);
  } else {
    emit({While{binary(Op::lt, symbol(item), hi), inside([&] {
                  for (const kernel::Let& l : kernel_.lets) lower_let(l);
                  block(body);
                  emit({Assign{symbol(item), symbol(item) + call_of("workgroup_count", {})}});
                })}});
  }
  --loops_;
}

/// Every workgroup begins with the item of its own number and draws the others. Each item that is processed draws once, so the counter has
/// gone once round at the end. The number of the next item goes through a ring of two slots to all warps.
void KernelLowering::drawn_items(const kernel::Block& body, Symbol item, Expr lo, Expr hi) {
  const bool draws = process_ == &processes_[0], keeps = draws && process_->one_thread;
  const Symbol drawn = names_.fresh("drawn"), next = names_.fresh("next_" + item.text());
  not_negative_.insert(drawn);
  emit({Declare{{drawn, Type::i32, {}}, number(0)}});
  const Expr slot = binary(Op::mod, symbol(drawn), number(2)), round = binary(Op::floordiv, symbol(drawn), number(2));
  const Expr place = fathom::read(drawn_->numbers, {slot});
  emit({While{
      binary(Op::lt, symbol(item), hi), inside([&] {
        const auto draw = [&] {  // while this item is processed
          const Expr last = constant_integer(lo) == 0 ? hi - number(1) : hi - lo - number(1);
          const Expr count =
              call_of("increment_wrapping", {call_of("&", {fathom::read(memories_.at(kernel_.work.counter).name, {number(0)})}), last});
          const Expr first = constant_integer(lo) == 0 ? call_of("workgroup_count", {}) : call_of("workgroup_count", {}) + lo;
          emit({Declare{{next, Type::i32, {}}, first + count}});
          emit({Do{call_of("wait_for_barrier", {barrier(drawn_->free, slot), binary(Op::mod, round + number(1), number(2))})}});
          emit({Assign{place, symbol(next)}});
          emit({Do{call_of("arrive", {barrier(drawn_->ready, slot)})}});
        };
        if (keeps) {
          draw();
        } else if (draws) {
          const Expr in_group = first_thread();
          emit({Branch{
              process_->groups > 1 ? binary(Op::logical_and, binary(Op::eq, symbol(group_of_thread), number(0)), in_group) : in_group,
              inside(draw),
              {}}});
        }
        for (const kernel::Let& l : kernel_.lets) lower_let(l);
        block(body);
        if (keeps) {
          emit({Assign{symbol(item), symbol(next)}});
        } else {
          emit({Do{call_of("wait_for_barrier", {barrier(drawn_->ready, slot), binary(Op::mod, round, number(2))})}});
          emit({Assign{symbol(item), place}});
          emit({Do{call_of("wait_for_warp", {})}});
          emit({Branch{binary(Op::eq, symbol(lane_of_thread), number(0)), {{Do{call_of("arrive", {barrier(drawn_->free, slot)})}}}, {}}});
        }
        emit({Assign{symbol(drawn), symbol(drawn) + number(1)}});
      })}});
}

// ---- turns ----

/// A group has the turn when its own threads and those of the group before are there.
void KernelLowering::lower_take(const kernel::Take& t) {
  if (process_->groups == 1) return;
  emit({Do{call_of("wait_for_group", {symbol(group_of_thread) + number(turns_.at(t.turn)), number(2 * process_->warps * target_.lanes)})}});
}

void KernelLowering::lower_pass(const kernel::Pass& p) {
  if (process_->groups == 1) return;
  const Expr next = binary(Op::mod, symbol(group_of_thread) + number(1), number(process_->groups));
  emit({Do{call_of("arrive_at_group", {next + number(turns_.at(p.turn)), number(2 * process_->warps * target_.lanes)})}});
}

}  // namespace fathom::gpu
