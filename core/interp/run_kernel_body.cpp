// Runs a kernel: declares what its roles share, starts workgroups, lets their processes run in turn until all have ended.
#include "interp/run_kernel_body.hpp"

#include <algorithm>
#include <limits>

#include "interp/philox.hpp"

namespace fathom::interp::tiles {

KernelRun::KernelRun(Frame& frame, const kernel::Module& module, const kernel::Kernel& kernel, const RunOptions& options)
    : frame_(frame), module_(module), kernel_(kernel), options_(options) {}

TileRef KernelRun::uniform(Frame& frame, Expr expr) {
  Formula formula;
  FormulaBuilder(frame, formula).root(expr);
  return Evaluation(frame, formula).value(formula.roots[0]);
}

// ---- declarations ----

void KernelRun::declare_axis(const kernel::TileAxis& axis) {
  const auto extent_of = [&](Expr extent) {
    const std::int64_t value = uniform_integer(uniform(frame_, extent), "the extent of axis `" + axis.name.text() + "`");
    if (value < 0 || value > largest_tile) stop("axis `" + axis.name.text() + "` has an extent that no tile can have", {axis.name.text()});
    return value;
  };
  AxisInfo whole{axis.name, 1, 0, -1, 1};
  std::vector<AxisInfo> parts;
  for (const kernel::AxisPart& part : axis.parts) {
    const std::int64_t extent = extent_of(part.extent);
    for (AxisInfo& slower : parts) slower.stride *= extent;
    parts.push_back({part.name, extent, 0, -1, 1});
    whole.extent *= extent;
  }
  if (whole.extent > largest_tile) stop("axis `" + axis.name.text() + "` has an extent that no tile can have", {axis.name.text()});
  const int id = frame_.add_axis(whole);
  frame_.name_axis(axis.name, id);
  if (parts.size() == 1 && parts[0].name == axis.name) return;
  for (AxisInfo& part : parts) {
    part.whole = id;
    frame_.name_axis(part.name, frame_.add_axis(part));
  }
}

Memory KernelRun::reserve(Frame& frame, DType dtype, const std::vector<Expr>& box, const std::string& what) {
  Memory memory{dtype, {}, {}, nullptr, {}};
  for (const Expr extent : box)
    memory.shape.push_back(std::max<std::int64_t>(uniform_integer(uniform(frame, extent), "an extent of " + what), 0));
  const std::int64_t size = count(memory.shape);
  frame.budget().spend(size);
  if (size > largest_tile) stop(what + " would have more than 2^26 elements");
  memory.own.assign(static_cast<std::size_t>(size), options_.poison ? std::numeric_limits<double>::quiet_NaN() : 0.0);
  return memory;
}

void KernelRun::declare() {
  for (const kernel::TileAxis& axis : kernel_.axes) declare_axis(axis);
  for (const kernel::Buffer& b : kernel_.buffers) frame_.memories.insert(b.name);
  std::set<Symbol> of_the_item = {kernel_.work.variable};
  for (const kernel::Let& l : kernel_.lets) {
    bool varies = false;
    visit(l.value, [&](Expr part) { varies = varies || (part.is(Op::symbol) && of_the_item.count(part.name()) > 0); });
    if (varies) of_the_item.insert(l.name);
    if (!varies) frame_.bind(l.name, uniform(frame_, l.value));
  }
}

void KernelRun::resolve() {
  codes_.reserve(kernel_.roles.size());  // a code stays where it is
  for (const kernel::Role& role : kernel_.roles) {
    const std::string what = "the groups of role `" + role.name.text() + "`";
    const std::int64_t groups = role.groups ? uniform_integer(uniform(frame_, role.groups), what) : 1;
    if (groups < 1 || groups > 32) stop(what + " are not 1 to 32", {role.name.text()});
    codes_.emplace_back(role, groups, frame_);
    Resolver(module_, kernel_, codes_.back()).run(module_);
  }
  for (RoleCode& code : codes_) {
    for (const kernel::Buffer& b : kernel_.buffers) {
      const auto uses = [&](const RoleCode& other) { return &other != &code && kernel::uses_of(other.role->body, b.name); };
      if (b.each.empty() && code.groups == 1 && std::none_of(codes_.begin(), codes_.end(), uses)) code.own_buffers.insert(b.name);
    }
  }
}

// ---- work ----

KernelRun::Draw KernelRun::item(Workgroup& workgroup, std::size_t at, std::int64_t& item) {
  if (in_order()) {
    item = first_item_ + static_cast<std::int64_t>(at);
    return item < end_of_items_ ? Draw::item : Draw::none;
  }
  if (at >= workgroup.items.size()) {
    if (workgroup.drained) return Draw::none;
    constexpr std::size_t ids_ahead = 2;  // the depth of the channel of work ids
    for (const auto& process : workgroup.processes) {
      if (process->items_begun() + ids_ahead < at) return Draw::wait;
    }
    if (items_.empty()) {
      workgroup.drained = true;
      return Draw::none;
    }
    workgroup.items.push_back(items_.front());
    items_.pop_front();
  }
  item = workgroup.items[at];
  return Draw::item;
}

std::size_t KernelRun::draw(std::size_t count) {
  if (options_.seed == 0 || count < 2) return 0;
  const auto low = static_cast<std::uint32_t>(state_), high = static_cast<std::uint32_t>(state_ >> 32U);
  ++state_;
  return philox({low, high, 0, 0}, {static_cast<std::uint32_t>(options_.seed), static_cast<std::uint32_t>(options_.seed >> 32U)})[0] %
         count;
}

bool KernelRun::lot() { return draw(2) == 0; }

std::unique_ptr<Workgroup> KernelRun::workgroup() {
  auto result = std::make_unique<Workgroup>();
  for (const kernel::Buffer& b : kernel_.buffers) {
    if (b.each.empty()) result->buffers[b.name] = reserve(frame_, b.dtype, b.box, "buffer `" + b.name.text() + "`");
  }
  const auto groups_of = [&](Symbol role) {
    const auto at = std::find_if(codes_.begin(), codes_.end(), [role](const RoleCode& code) { return code.role->name == role; });
    if (at == codes_.end()) stop("there is no role `" + role.text() + "`", {role.text()});
    return static_cast<std::size_t>(at->groups);
  };
  for (const kernel::Channel& c : kernel_.channels) {
    const std::string what = "channel `" + c.name.text() + "`";
    const std::int64_t depth = uniform_integer(uniform(frame_, c.depth), "the depth of " + what);
    if (depth < 1 || depth > 64) stop(what + " needs a depth from 1 to 64", {c.name.text()});
    const std::size_t rings = c.each.empty() ? 1 : groups_of(c.each);
    for (std::size_t each = 0; each < rings; ++each) {
      Ring& ring = result->rings[c.name].emplace_back(c.each.empty() ? groups_of(c.to) : 1);
      ring.filling.resize(static_cast<std::size_t>(depth));
      ring.reading.resize(static_cast<std::size_t>(depth));
      for (std::int64_t i = 0; i < depth; ++i) ring.slots.push_back(reserve(frame_, c.dtype, c.box, what));
    }
  }
  for (const RoleCode& code : codes_) {
    for (int group = 0; group < code.groups; ++group) result->processes.push_back(std::make_unique<Process>(*this, *result, code, group));
  }
  return result;
}

/// The next workgroup and its items, or false where there are none.
bool KernelRun::begin_workgroup() {
  const bool dynamic = kernel_.work.source == kernel::WorkSource::dynamic;
  if (in_order() ? workgroups_begun_ > 0 : stride_ > 0 ? workgroups_begun_ >= stride_ : items_.empty()) return false;
  running_.push_back(workgroup());
  Workgroup& now = *running_.back();
  now.number = workgroups_begun_;
  now.drained = !dynamic;
  if (stride_ > 0) {
    for (auto at = static_cast<std::size_t>(workgroups_begun_); at < items_.size(); at += static_cast<std::size_t>(stride_))
      now.items.push_back(items_[at]);
  } else if (!dynamic && !in_order()) {
    const std::size_t at = draw(items_.size());
    now.items = {items_[at]};
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  ++workgroups_begun_;
  return true;
}

void Workgroup::check_end() const {
  for (const auto& [name, all] : rings) {
    for (const Ring& r : all) {
      for (std::size_t by = 0; by < r.received.size(); ++by) {
        if (r.acquired == r.published && r.published == r.received[by] && r.received[by] == r.released[by]) continue;
        stop("channel `" + name.text() + "` is not empty when its workgroup ends: " + std::to_string(r.published) + " published, " +
                 std::to_string(r.received[by]) + " received, " + std::to_string(r.released[by]) + " released",
             {name.text()}, "producer and receivers hand over the same number of items in every work item");
      }
    }
  }
  for (const auto& [name, holder] : turns) {
    if (holder != 0) stop("turn `" + name.text() + "` does not end with the group that it began with", {name.text()});
  }
  for (const auto& process : processes) {
    const std::string name = process->end_in_flight();
    if (!name.empty()) stop("nothing waits for `" + name + "`", {name}, "await it, or publish a slot after it");
  }
}

void KernelRun::everyone_waits(const Workgroup& workgroup) const {
  std::string all;
  for (const auto& process : workgroup.processes) {
    if (process->ended()) continue;
    all += (all.empty() ? "" : ", ") + process->waits_for();
  }
  stop("the roles of kernel `" + kernel_.name.text() + "` wait for each other: " + all, {kernel_.name.text()});
}

void KernelRun::schedule() {
  constexpr std::size_t longest_stretch = 12;
  const std::size_t at_once = in_order() ? 1 : 1 + draw(3);
  while (true) {
    while (running_.size() < at_once && begin_workgroup()) {
    }
    if (running_.empty()) return;
    const std::size_t chosen = draw(running_.size());
    Workgroup& workgroup = *running_[chosen];
    const std::size_t processes = workgroup.processes.size(), first = draw(processes);
    bool moved = false, all_ended = true;
    for (std::size_t k = 0; k < processes && !moved; ++k) {
      Process& process = *workgroup.processes[(first + k) % processes];
      const std::size_t stretch = options_.seed == 0 ? ~std::size_t{0} : 1 + draw(longest_stretch);
      Process::Status status = Process::Status::moved;
      for (std::size_t step = 0; step < stretch && status == Process::Status::moved; ++step) {
        status = process.step();
        moved = moved || status == Process::Status::moved;
      }
      all_ended = all_ended && status == Process::Status::ended;
    }
    if (moved) continue;
    if (!all_ended) everyone_waits(workgroup);
    workgroup.check_end();
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
}

/// One workgroup after the other; of each all groups make one operation a round.
void KernelRun::schedule_watched() {
  while (begin_workgroup()) {
    Workgroup& workgroup = *running_.back();
    for (std::int64_t round = 0;; ++round) {
      bool moved = false, all_ended = true;
      for (const auto& process : workgroup.processes) {
        Operation seen;
        const Process::Status status = process->step_seen(seen);
        moved = moved || status == Process::Status::moved;
        all_ended = all_ended && status == Process::Status::ended;
        seen.round = round;
        if (seen.statement != nullptr && status != Process::Status::ended && !options_.watcher(seen)) stop("who watches has seen enough");
      }
      if (moved) continue;
      if (!all_ended) everyone_waits(workgroup);
      break;
    }
    workgroup.check_end();
    running_.pop_back();
  }
}

void KernelRun::run() {
  declare();
  resolve();
  first_item_ = uniform_integer(uniform(frame_, kernel_.work.lo), "the work range");
  end_of_items_ = uniform_integer(uniform(frame_, kernel_.work.hi), "the work range");
  if (!in_order()) {
    frame_.budget().spend(std::max<std::int64_t>(end_of_items_ - first_item_, 0));
    for (std::int64_t item = first_item_; item < end_of_items_; ++item) items_.push_back(item);
  }
  if (kernel_.work.source == kernel::WorkSource::persistent && !in_order()) {
    stride_ = uniform_integer(uniform(frame_, kernel_.work.resident), "the number of resident workgroups");
    if (stride_ < 1) stop("kernel `" + kernel_.name.text() + "` has no resident workgroup", {kernel_.name.text()});
  }
  if (options_.watcher)
    schedule_watched();
  else
    schedule();
}

}  // namespace fathom::interp::tiles
