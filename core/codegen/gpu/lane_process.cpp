// Statements of a process, by frames.
#include "codegen/gpu/lane_process.hpp"

#include <algorithm>
#include <limits>

#include "ir/overloaded.hpp"

namespace fathom::gpu {
namespace {

constexpr double holds_nothing = std::numeric_limits<double>::quiet_NaN();

std::size_t elements_of(const std::vector<std::int64_t>& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return static_cast<std::size_t>(product);
}

bool any_lane(const Mask& mask) {
  return std::any_of(mask.begin(), mask.end(), [](std::uint8_t b) { return b != 0; });
}

}  // namespace

LaneProcess::LaneProcess(LaneWorkgroup& workgroup, std::string name, std::size_t first_thread, std::size_t lanes)
    : workgroup_(workgroup),
      module_(workgroup.launch().module),
      name_(std::move(name)),
      first_(first_thread),
      lanes_(lanes),
      warp_lanes_(static_cast<std::size_t>(module_.lanes)),
      commits_(lanes, 0),
      products_((lanes + lanes_of_warpgroup - 1) / lanes_of_warpgroup) {}

void LaneProcess::see(const LaneVariables& all, std::size_t lanes_of_all, std::size_t from) {
  const auto part = [&](const std::vector<double>& numbers) {
    std::vector<double> own;
    for (std::size_t at = from; at < numbers.size(); at += lanes_of_all)
      own.insert(own.end(), numbers.begin() + static_cast<std::ptrdiff_t>(at), numbers.begin() + static_cast<std::ptrdiff_t>(at + lanes_));
    return own;
  };
  for (const auto& [name, v] : all) {
    LaneVariable own{v.name, v.type, v.extents, part(v.cells), v.points_to, part(v.offset), {}};
    if (!v.uses.empty()) own.uses.resize(elements_of(v.extents) * products_.size());
    variables_[name] = std::move(own);
  }
  globals_ = variables_;
}

void LaneProcess::start(const ThreadBlock& body) {
  Frame frame;
  frame.body = &body;
  frame.mask.assign(lanes_, 1);
  frame.stays = true;
  stack_.push_back(std::move(frame));
}

void LaneProcess::go_on() {
  for (const BarrierWait& w : barrier_waits_) workgroup_.pass(w.barrier, w.warp);
  barrier_waits_.clear();
  others_may_see_ = false;
  while (!stack_.empty() && !waits() && !others_may_see_) step();
}

bool LaneProcess::may_go_on() const {
  return !ended() && meetings_left_ == 0 && std::all_of(barrier_waits_.begin(), barrier_waits_.end(), [&](const BarrierWait& w) {
    return workgroup_.ended(w.barrier, w.parity);
  });
}

std::string LaneProcess::waits_for() const {
  if (meetings_left_ > 0) return "`" + name_ + "` waits for " + workgroup_.about_meeting(meeting_);
  for (const BarrierWait& w : barrier_waits_)
    if (!workgroup_.ended(w.barrier, w.parity)) return "`" + name_ + "` waits for " + workgroup_.about(w.barrier);
  return "`" + name_ + "` goes on";
}

void LaneProcess::check_end() const {
  for (const Copy& copy : copies_) fault("nothing waits for a copy to `" + copy.to.memory->name + "`");
  for (const Products& p : products_)
    if (p.last > p.waited) fault("nothing waits for a product of `" + name_ + "`");
}

// ---- blocks ----

void LaneProcess::step() {
  Frame& frame = stack_.back();  // stays where it is while others are laid on it
  if (frame.next < frame.body->size()) {
    statement((*frame.body)[frame.next++], frame);
  } else {
    close(frame);
  }
}

void LaneProcess::run_inside(const ThreadBlock& body, const Mask& mask) {
  const std::size_t depth = stack_.size();
  Frame frame;
  frame.body = &body;
  frame.mask = mask;
  stack_.push_back(std::move(frame));
  while (stack_.size() > depth) {
    step();
    if (waits()) fault("a function waits: it may only compute");
  }
}

void LaneProcess::statement(const ThreadStatement& s, Frame& frame) {
  ++time_;
  std::int64_t& steps_left = workgroup_.launch().steps_left;
  steps_left -= static_cast<std::int64_t>(lanes_);
  if (steps_left < 0) fault("the run takes more steps than it may");
  const Mask& mask = frame.mask;
  std::visit(Overloaded{
                 [&](const Declare& d) { declare(d, frame); },
                 [&](const gpu::Assign& a) { store(place(a.place, mask), value(a.value, mask), mask); },
                 [&](const Loop& l) { loop(l, mask); },
                 [&](const While& w) { repeat(w, mask); },
                 [&](const Branch& b) { branch(b, mask); },
                 [&](const Do& d) { (void)call(d.call, mask); },
                 [&](const Comment&) {},
             },
             s.op);
}

void LaneProcess::hide(Symbol name, Frame& frame) {
  const auto at = variables_.find(name);
  frame.hidden.emplace_back(name, at == variables_.end() ? std::nullopt : std::optional(std::move(at->second)));
}

void LaneProcess::declare(const Declare& d, Frame& frame) {
  const Mask& mask = frame.mask;
  LaneVariable v;
  v.name = d.variable.name;
  v.type = d.variable.type;
  v.extents = d.variable.extents;
  if (d.pointer) {
    const Place to = place(d.initial.arg(0), mask);
    if (to.memory == nullptr) fault("`" + v.name.text() + "` points to registers");
    v.points_to = to.variable->points_to;
    v.offset.assign(to.at.begin(), to.at.end());
  } else {
    v.cells.assign(elements_of(v.extents) * lanes_, holds_nothing);
    if (workgroup_.has_products() && !v.extents.empty()) v.uses.resize(elements_of(v.extents) * products_.size());
  }
  if (d.initial && !d.pointer) {
    const Lanes first = converted(value(d.initial, mask), v.type);
    for (std::size_t lane = 0; lane < lanes_; ++lane)
      if (mask[lane]) v.cells[lane] = first.of[lane];
  }
  hide(v.name, frame);
  variables_[d.variable.name] = std::move(v);
}

void LaneProcess::loop(const Loop& l, const Mask& mask) {
  const std::int64_t lo = uniform(l.lo, mask, "the begin of a loop"), hi = uniform(l.hi, mask, "the end of a loop");
  if (lo >= hi) return;
  Frame frame;
  frame.body = &l.body;
  frame.mask = mask;
  frame.loop = &l;
  frame.trip = lo;
  frame.end = hi;
  stack_.push_back(std::move(frame));
  next_trip(stack_.back());
}

/// The variable is the first that the trip declares.
void LaneProcess::next_trip(Frame& frame) {
  hide(frame.loop->variable, frame);
  LaneVariable v;
  v.name = frame.loop->variable;
  v.type = Type::i32;
  v.cells.assign(lanes_, static_cast<double>(frame.trip));
  variables_[v.name] = std::move(v);
  frame.next = 0;
}

/// Lanes for which the condition does not hold any longer wait for the others behind it.
void LaneProcess::repeat(const While& w, const Mask& mask) {
  const Lanes holds = value(w.condition, mask);
  Frame frame;
  frame.body = &w.body;
  frame.mask.assign(lanes_, 0);
  frame.again = &w;
  for (std::size_t lane = 0; lane < lanes_; ++lane) frame.mask[lane] = mask[lane] != 0 && holds.of[lane] != 0;
  if (any_lane(frame.mask)) stack_.push_back(std::move(frame));
}

void LaneProcess::branch(const Branch& b, const Mask& mask) {
  const Lanes holds = value(b.condition, mask);
  Mask then(lanes_), otherwise(lanes_);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    then[lane] = mask[lane] != 0 && holds.of[lane] != 0;
    otherwise[lane] = mask[lane] != 0 && then[lane] == 0;
  }
  const auto lay = [&](const ThreadBlock& body, Mask& own) {
    if (body.empty() || !any_lane(own)) return;
    Frame frame;
    frame.body = &body;
    frame.mask = std::move(own);
    stack_.push_back(std::move(frame));
  };
  lay(b.otherwise, otherwise);  // runs behind the other one
  lay(b.then, then);
}

void LaneProcess::close(Frame& frame) {
  for (std::size_t i = frame.stays ? 0 : frame.hidden.size(); i-- > 0;) {
    const auto ends = variables_.find(frame.hidden[i].first);
    for (std::size_t use = 0; use < ends->second.uses.size(); ++use) {
      const Products& p = products_[use % products_.size()];
      if (std::max(ends->second.uses[use].accumulates, ends->second.uses[use].operand_of) > p.waited)
        fault("`" + ends->first.text() + "` ends while a product that uses it is on its way");
    }
    if (frame.hidden[i].second) {
      ends->second = std::move(*frame.hidden[i].second);
    } else {
      variables_.erase(ends);
    }
  }
  frame.hidden.clear();
  if (frame.loop != nullptr) {
    frame.trip = frame.loop->doubling ? 2 * frame.trip : frame.trip + 1;
    if (frame.trip < frame.end) return next_trip(frame);
  }
  if (frame.again != nullptr) {
    const While& again = *frame.again;
    const Mask mask = std::move(frame.mask);
    stack_.pop_back();
    return repeat(again, mask);
  }
  stack_.pop_back();
}

// ---- stores and registers ----

void LaneProcess::store(const Place& place, const Lanes& from, const Mask& mask) {
  const Lanes made = converted(from, place.memory != nullptr ? place.memory->type : place.variable->type);
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    if (!mask[lane]) continue;
    if (place.memory != nullptr) {
      write_cell(*place.memory, place.at[lane], lane, made.of[lane]);
    } else {
      write_register(place, lane, 0, made.of[lane]);
    }
  }
}

std::size_t LaneProcess::register_number(const Place& place, std::size_t lane, std::int64_t more) const {
  const auto at = static_cast<std::size_t>(place.at[lane] + more) * lanes_ + lane;
  if (place.at[lane] + more < 0 || at >= place.variable->cells.size()) fault("a register outside of its array");
  return at;
}

RegisterUse* LaneProcess::register_use(const Place& place, std::size_t lane, std::int64_t more) const {
  if (place.variable->uses.empty()) return nullptr;
  return &place.variable->uses[static_cast<std::size_t>(place.at[lane] + more) * products_.size() + lane / lanes_of_warpgroup];
}

double LaneProcess::read_register(const Place& place, std::size_t lane, std::int64_t more) {
  const std::size_t at = register_number(place, lane, more);
  if (RegisterUse* use = register_use(place, lane, more)) {
    if (use->accumulates > products_[lane / lanes_of_warpgroup].waited)
      fault("`" + place.variable->name.text() + "` is read while a product to it is on its way: nothing has waited for it");
    use->read = time_;
  }
  return place.variable->cells[at];
}

void LaneProcess::write_register(const Place& place, std::size_t lane, std::int64_t more, double value) {
  const std::size_t at = register_number(place, lane, more);
  if (RegisterUse* use = register_use(place, lane, more)) {
    const std::int64_t waited = products_[lane / lanes_of_warpgroup].waited;
    if (use->accumulates > waited)
      fault("`" + place.variable->name.text() + "` is written while a product to it is on its way: nothing has waited for it");
    if (use->operand_of > waited)
      fault("`" + place.variable->name.text() + "` is written while a product still reads it: nothing has waited for it");
    use->written = time_;
  }
  place.variable->cells[at] = value;
}

}  // namespace fathom::gpu
