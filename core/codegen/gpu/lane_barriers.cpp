// Waits and what they wait for: all threads, named groups of warps, barriers in shared memory; counters that workgroups share.
#include <algorithm>
#include <set>

#include "codegen/gpu/lane_process.hpp"

namespace fathom::gpu {

// ---- barriers (PTX ISA, mbarrier): a phase ends when all arrivals and all expected bytes are there ----

void LaneWorkgroup::set_up(std::size_t barrier, std::int64_t arrivals, std::size_t thread) {
  Barrier& b = barriers_[barrier];
  if (b.arrivals != 0) fault("`" + b.name + "` is set up twice");
  if (arrivals <= 0) fault("`" + b.name + "` is set up for no arrivals");
  b.arrivals = b.missing = arrivals;
  b.thread = thread;
}

void LaneWorkgroup::publish(std::size_t thread) {
  for (Barrier& b : barriers_)
    if (b.arrivals != 0 && b.thread == thread && !b.published) b.published = own_clock(thread / warp_lanes_);
}

void LaneWorkgroup::check_use(std::size_t barrier, std::size_t warp) const {
  const Barrier& b = barriers_[barrier];
  if (b.arrivals == 0) fault("`" + b.name + "` is used before it is set up");
  const std::size_t by = b.thread / warp_lanes_;
  if (!b.published) fault("`" + b.name + "` is used before it is published: `publish_barriers` is missing");
  if (*b.published > clocks_[warp][by])
    fault("`" + b.name + "` is used by a warp that has not waited since it was published: no wait of all threads stands between them");
}

void LaneWorkgroup::arrive(std::size_t barrier, std::size_t thread) {
  const std::size_t warp = thread / warp_lanes_;
  check_use(barrier, warp);
  Barrier& b = barriers_[barrier];
  if (b.missing == 0) fault("more threads arrive at `" + b.name + "` than it counts");
  join(b.gathered, clocks_[warp]);
  --b.missing;
  end_phase(barrier);
}

void LaneWorkgroup::expect(std::size_t barrier, std::int64_t bytes, std::size_t thread) {
  check_use(barrier, thread / warp_lanes_);
  barriers_[barrier].bytes += bytes;
  barriers_[barrier].announced += bytes;
}

void LaneWorkgroup::end_phase(std::size_t barrier) {
  Barrier& b = barriers_[barrier];
  if (b.missing > 0 || b.bytes > 0) return;
  b.ended = std::move(b.gathered);
  b.gathered.clear();
  ++b.phase;
  b.missing = b.arrivals;
  b.ended[copies_of(barrier)] = static_cast<Clock>(b.phase);  // all copies of phases so far
}

void LaneWorkgroup::pass(std::size_t barrier, std::size_t warp) {
  Barrier& b = barriers_[barrier];
  b.waited = std::max(b.waited, b.phase - 1);
  if (b.phase > 0) join(clocks_[warp], b.ended);
}

std::string LaneWorkgroup::about(std::size_t barrier) const {
  const Barrier& b = barriers_[barrier];
  return "the end of phase " + std::to_string(b.phase) + " of `" + b.name + "` (" + std::to_string(b.arrivals - b.missing) + " of " +
         std::to_string(b.arrivals) + " arrivals, " + std::to_string(b.bytes) + " bytes missing)";
}

// ---- waits of some warps (PTX ISA, bar.sync and bar.arrive) ----

void LaneWorkgroup::come(std::int64_t number, std::int64_t threads, std::size_t warp, LaneProcess* stays) {
  if (number < 0 || number >= static_cast<std::int64_t>(meetings_.size())) fault("there is no group " + std::to_string(number));
  if (threads <= 0 || threads % static_cast<std::int64_t>(warp_lanes_) != 0 || threads > launch_.kernel.threads)
    fault("a group of " + std::to_string(threads) + " threads: it has to be whole warps of the workgroup");
  Meeting& m = meetings_[static_cast<std::size_t>(number)];
  if (!m.here.empty() && m.threads != threads)
    fault("counts of group " + std::to_string(number) + " do not fit: " + std::to_string(m.threads) + " and " + std::to_string(threads) +
          " threads");
  if (std::find(m.here.begin(), m.here.end(), warp) != m.here.end())
    fault("warp " + std::to_string(warp) + " comes to group " + std::to_string(number) + " a second time before the others are there");
  m.threads = threads;
  m.here.push_back(warp);
  join(m.gathered, clocks_[warp]);
  advance(warp);
  if (stays != nullptr) m.staying.emplace_back(stays, warp);
  if (static_cast<std::int64_t>(m.here.size() * warp_lanes_) < threads) return;
  for (const auto& [process, waiting] : m.staying) {
    join(clocks_[waiting], m.gathered);
    process->has_met();
  }
  m = {};
}

std::string LaneWorkgroup::about_meeting(std::int64_t number) const {
  const Meeting& m = meetings_[static_cast<std::size_t>(number)];
  return (number == 0 ? std::string("all threads") : "group " + std::to_string(number)) + " (" +
         std::to_string(m.here.size() * warp_lanes_) + " of " + std::to_string(m.threads) + " threads are there)";
}

// ---- calls ----

void LaneProcess::wait_for_workgroup(Expr, const Mask& mask) {
  if (!std::all_of(mask.begin(), mask.end(), [](std::uint8_t b) { return b != 0; }))
    fault("some threads do not come to a wait of all threads");
  meeting_ = 0;
  for (std::size_t first = 0; first < lanes_; first += warp_lanes_) {
    ++meetings_left_;
    workgroup_.come(0, workgroup_.launch().kernel.threads, warp_of(first), this);
  }
}

void LaneProcess::wait_for_warp(Expr, const Mask& mask) { whole_warps(mask, "wait_for_warp"); }

void LaneProcess::meet(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  whole_warps(mask, name);
  const Lanes numbers = value(e.arg(0), mask), threads = value(e.arg(1), mask);
  const bool stays = name == "wait_for_group";
  for (std::size_t first = 0; first < lanes_; first += warp_lanes_) {
    if (!mask[first]) continue;
    for (std::size_t lane = first; lane < first + warp_lanes_; ++lane)
      if (numbers.of[lane] != numbers.of[first] || threads.of[lane] != threads.of[first]) fault("`" + name + "` differs between lanes");
    const auto number = static_cast<std::int64_t>(numbers.of[first]);
    if (stays) {
      ++meetings_left_;
      meeting_ = number;
    }
    workgroup_.come(number, static_cast<std::int64_t>(threads.of[first]), warp_of(first), stays ? this : nullptr);
  }
}

std::vector<std::size_t> LaneProcess::barriers(Expr e, const Mask& mask) {
  const Place to = place(e, mask);
  if (to.memory == nullptr || to.memory->type != Type::barrier) fault("`" + fathom::print(e) + "` is no barrier");
  std::vector<std::size_t> all(lanes_);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (to.at[lane] < 0 || to.at[lane] >= static_cast<std::int64_t>(to.memory->cells.size()))
      fault("`" + to.memory->name + "` has no barrier " + std::to_string(to.at[lane]));
    all[lane] = to.memory->first_barrier + static_cast<std::size_t>(to.at[lane]);
  }
  return all;
}

void LaneProcess::set_up_barrier(Expr e, const Mask& mask) {
  const std::vector<std::size_t> which = barriers(e.arg(0), mask);
  const Lanes arrivals = value(e.arg(1), mask);
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    if (mask[lane]) workgroup_.set_up(which[lane], static_cast<std::int64_t>(arrivals.of[lane]), first_ + lane);
}

void LaneProcess::publish_barriers(Expr, const Mask& mask) {
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    if (mask[lane]) workgroup_.publish(first_ + lane);
}

void LaneProcess::arrive(Expr e, const Mask& mask) {
  const std::vector<std::size_t> which = barriers(e.arg(0), mask);
  std::set<std::size_t> warps;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    workgroup_.arrive(which[lane], first_ + lane);
    warps.insert(warp_of(lane));
  }
  for (const std::size_t warp : warps) workgroup_.advance(warp);
}

void LaneProcess::expect_bytes(Expr e, const Mask& mask) {
  const std::vector<std::size_t> which = barriers(e.arg(0), mask);
  const Lanes bytes = value(e.arg(1), mask);
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    if (mask[lane]) workgroup_.expect(which[lane], static_cast<std::int64_t>(bytes.of[lane]), first_ + lane);
}

/// All lanes of the process stop with those that wait; only the warps of these know more behind it.
void LaneProcess::wait_for_barrier(Expr e, const Mask& mask) {
  const std::vector<std::size_t> which = barriers(e.arg(0), mask);
  const Lanes parity = value(e.arg(1), mask);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    const auto of_phase = static_cast<std::int64_t>(parity.of[lane]);
    if (of_phase != 0 && of_phase != 1) fault("a wait for a parity of " + std::to_string(of_phase));
    workgroup_.check_use(which[lane], warp_of(lane));
    const bool known = std::any_of(barrier_waits_.begin(), barrier_waits_.end(), [&](const BarrierWait& w) {
      return w.barrier == which[lane] && w.parity == of_phase && w.warp == warp_of(lane);
    });
    if (!known) barrier_waits_.push_back({which[lane], of_phase, warp_of(lane)});
  }
}

void LaneProcess::set_registers(Expr e, const Mask& mask) { whole_warpgroups(mask, e.name().text()); }

void LaneProcess::nothing_to_do(Expr, const Mask&) {}

Lanes LaneProcess::increment_wrapping(Expr e, const Mask& mask) {
  Lanes old{Type::i32, std::vector<double>(lanes_, 0)};
  if (std::find(mask.begin(), mask.end(), 1) == mask.end()) return old;  // the other side of a choice
  const std::size_t lane = only_lane(mask, "increment_wrapping", "each of them would count");
  const Place counter = place(e.arg(0), mask);
  if (counter.memory == nullptr || !counter.memory->global) fault("`" + fathom::print(e.arg(0)) + "` is no counter in global memory");
  SharedCells& memory = *counter.memory;
  const std::int64_t at = counter.at[lane];
  if (at < 0 || at >= static_cast<std::int64_t>(memory.cells.size())) fault("`" + memory.name + "` has no counter " + std::to_string(at));
  const double last = value(e.arg(1), mask).of[lane];
  double& count = memory.cells[static_cast<std::size_t>(at)];
  if (count != count) fault("`" + memory.name + "` counts on from nothing: it has to be marked `zero`");
  old.of[lane] = count;
  count = count >= last ? 0 : count + 1;
  return old;
}

}  // namespace fathom::gpu
