// A workgroup: its memory, its processes, and which of them goes on.
#include <algorithm>
#include <limits>

#include "codegen/gpu/lane_process.hpp"

namespace fathom::gpu {

LaneWorkgroup::LaneWorkgroup(const LaneLaunch& launch, std::int64_t number)
    : launch_(launch),
      number_(number),
      warp_lanes_(static_cast<std::size_t>(launch.module.lanes)),
      warps_(static_cast<std::size_t>(launch.kernel.threads) / warp_lanes_),
      warpgroups_((warps_ * warp_lanes_ + lanes_of_warpgroup - 1) / lanes_of_warpgroup),
      fences_(static_cast<std::size_t>(launch.kernel.threads)),
      stores_by_thread_(static_cast<std::size_t>(launch.kernel.threads)),
      storing_(warps_),
      state_(launch.seed + static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15ULL) {
  if (launch.kernel.threads % static_cast<std::int64_t>(warp_lanes_) != 0) fault("a workgroup of a part of a warp");
  lay_out_memory();
  clocks_.assign(warps_, Clocks(copies_of(barriers_.size()), 0));
  for (std::size_t w = 0; w < warps_; ++w) clocks_[w][w] = 1;
}

LaneWorkgroup::~LaneWorkgroup() = default;

std::shared_ptr<SharedCells> LaneWorkgroup::shared_cells(const std::string& name, Type type, std::int64_t elements) {
  auto cells = std::make_shared<SharedCells>();
  cells->name = name;
  cells->type = type;
  cells->cells.assign(static_cast<std::size_t>(elements), std::numeric_limits<double>::quiet_NaN());
  if (type == Type::barrier) {
    cells->first_barrier = barriers_.size();
    for (std::int64_t i = 0; i < elements; ++i) {
      Barrier barrier;
      barrier.name = elements == 1 ? name : name + "[" + std::to_string(i) + "]";
      barriers_.push_back(std::move(barrier));
    }
  }
  return cells;
}

std::shared_ptr<SharedUses> LaneWorkgroup::no_uses(std::int64_t bytes, std::int64_t piece) const {
  auto uses = std::make_shared<SharedUses>();
  uses->piece = piece;
  uses->readers = has_products() || !launch_.kernel.maps.empty() ? copies_of(0) : warps_;
  uses->written.resize(static_cast<std::size_t>(bytes / piece));
  uses->read.assign(uses->written.size() * uses->readers, 0);
  return uses;
}

void LaneWorkgroup::share(Symbol name, std::vector<std::int64_t> extents, const std::shared_ptr<SharedCells>& cells) {
  LaneVariable v;
  v.name = name;
  v.type = cells->type;
  v.extents = std::move(extents);
  v.points_to = cells;
  shared_[name] = std::move(v);
}

void LaneWorkgroup::lay_out_memory() {
  const ThreadKernel& kernel = launch_.kernel;
  for (const Variable& v : kernel.shared) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : v.extents) elements *= extent;
    const auto cells = shared_cells(v.name.text(), v.type, elements);
    cells->uses = no_uses(elements * size_in_bytes(v.type), size_in_bytes(v.type));
    share(v.name, v.extents, cells);
  }
  std::int64_t bytes = 0;
  const std::vector<std::int64_t> offsets = dynamic_offsets(kernel, bytes);
  std::map<std::int64_t, std::vector<const ThreadKernel::DynamicShared*>> places;
  for (std::size_t i = 0; i < offsets.size(); ++i) places[offsets[i]].push_back(&kernel.dynamic_shared[i]);
  for (const auto& [offset, parts] : places) lay_out_parts(offset, parts);
}

/// Parts that lie at one place: those of one type are one array, those of another have the uses in common.
void LaneWorkgroup::lay_out_parts(std::int64_t offset, const std::vector<const ThreadKernel::DynamicShared*>& parts) {
  std::map<Type, std::int64_t> elements;
  std::int64_t piece = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (const ThreadKernel::DynamicShared* d : parts) {
    elements[d->type] = std::max(elements[d->type], d->elements);
    piece = std::min(piece, size_in_bytes(d->type));
    most = std::max(most, d->elements * size_in_bytes(d->type));
  }
  constexpr std::int64_t largest = 8;
  const auto uses = no_uses((most + largest - 1) / largest * largest, piece);
  std::map<Type, std::shared_ptr<SharedCells>> views;
  for (const ThreadKernel::DynamicShared* d : parts) {
    std::shared_ptr<SharedCells>& view = views[d->type];
    if (!view) {
      view = shared_cells(d->name.text(), d->type, elements[d->type]);
      view->uses = uses;
      view->address = offset;
    }
    share(d->name, {d->elements}, view);
  }
  for (const auto& one : views) {
    for (const auto& other : views)
      if (one.first != other.first) one.second->others.push_back(other.second.get());
  }
}

void LaneWorkgroup::run() {
  const auto threads = static_cast<std::size_t>(launch_.kernel.threads);
  const std::vector<ThreadRole>& roles = launch_.kernel.roles;
  processes_.push_back(std::make_unique<LaneProcess>(*this, "all threads", 0, threads));
  LaneProcess& all = *processes_[0];
  all.see(launch_.globals, threads, 0);
  all.see(shared_, threads, 0);
  all.start(launch_.kernel.setup);
  go_on();
  if (roles.size() == 1 && roles[0].groups == 1) {
    all.start(roles[0].body);
  } else {
    all.check_end();
    start_roles();
  }
  go_on();
  for (const auto& process : processes_) process->check_end();
  check_end();
}

void LaneWorkgroup::start_roles() {
  const std::unique_ptr<LaneProcess> all = std::move(processes_[0]);
  processes_.clear();
  std::vector<bool> taken(warps_, false);
  for (const ThreadRole& role : launch_.kernel.roles) {
    for (std::int64_t g = 0; g < role.groups; ++g) {
      const auto first = static_cast<std::size_t>(role.first_warp + g * role.warps), warps = static_cast<std::size_t>(role.warps);
      if (first + warps > warps_) fault("the role `" + role.name.text() + "` has warps that the workgroup lacks");
      for (std::size_t w = first; w < first + warps; ++w) {
        if (taken[w]) fault("warp " + std::to_string(w) + " is in two roles");
        taken[w] = true;
      }
      const std::string name = role.groups == 1 ? role.name.text() : role.name.text() + " " + std::to_string(g);
      processes_.push_back(std::make_unique<LaneProcess>(*this, name, first * warp_lanes_, warps * warp_lanes_));
      processes_.back()->see(all->variables(), static_cast<std::size_t>(launch_.kernel.threads), first * warp_lanes_);
      processes_.back()->start(role.body);
    }
  }
  for (std::size_t w = 0; w < warps_; ++w)
    if (!taken[w]) fault("warp " + std::to_string(w) + " is in no role");
}

std::size_t LaneWorkgroup::drawn(std::size_t choices) {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<std::size_t>((state_ >> 33U) % choices);
}

/// Seed 0: the first that can, and what is on its way lands when nothing else is left to do.
void LaneWorkgroup::go_on() {
  while (true) {
    std::vector<LaneProcess*> able;
    bool all_ended = true;
    for (const auto& process : processes_) {
      all_ended = all_ended && process->ended();
      if (process->may_go_on()) able.push_back(process.get());
    }
    if (all_ended) return;
    const std::size_t lands = loads_.size() + (launch_.seed != 0 ? stores_.size() : 0);
    if (able.empty() && loads_.empty()) {
      std::string who;
      for (const auto& process : processes_)
        if (!process->ended()) who += (who.empty() ? "" : "; ") + process->waits_for();
      fault("a cyclic wait: " + who);
    }
    const std::size_t choice = launch_.seed == 0 ? 0 : drawn(able.size() + lands);
    if (choice < able.size()) {
      able[choice]->go_on();
    } else {
      land_one(choice - able.size());
    }
  }
}

void LaneWorkgroup::land_one(std::size_t which) {
  if (which < loads_.size()) {
    const Load load = std::move(loads_[which]);
    loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(which));
    return land(load);
  }
  which -= loads_.size();
  const Store store = std::move(stores_[which]);
  stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(which));
  land(store);
}

void LaneWorkgroup::check_end() {
  for (const Load& load : loads_) fault("nothing waits for a copy to `" + load.memory->name + "`");
  for (const Barrier& b : barriers_) {
    if (b.copied > b.waited) fault("nothing waits for a copy on `" + b.name + "`");
    if (b.bytes > 0) fault("`" + b.name + "` expects " + std::to_string(b.bytes) + " bytes that nothing brings");
  }
  for (const Stores& s : stores_by_thread_)
    if (s.last > s.read) fault("nothing waits for a store of a box");
  for (const Store& store : stores_) land(store);  // have read what they store
}

}  // namespace fathom::gpu
