// The copy engine: boxes of tensors to shared memory and back. A box lies there row after row of 128 bytes; bits 4 to 6 of the address of a
// byte are exchanged by its bits 7 to 9 (PTX ISA, swizzle of 128 bytes).
#include <algorithm>

#include "codegen/gpu/lane_process.hpp"

namespace fathom::gpu {
namespace {

constexpr std::int64_t bytes_of_box_row = 128, bytes_of_pattern = 1024, longest_side = 256;

std::int64_t elements_of_box(const TensorMap& map) {
  std::int64_t elements = 1;
  for (const std::int64_t side : map.box) elements *= side;
  return elements;
}

/// What lies outside of the tensor counts, too.
std::int64_t bytes_of_box(const TensorMap& map) { return elements_of_box(map) * size_in_bytes(map.type); }

void check_panel(const TensorMap& map, const SharedCells& memory, std::int64_t at) {
  const std::int64_t size = size_in_bytes(map.type);
  if (memory.type != map.type) fault("`" + memory.name + "` has another type than the boxes of `" + map.name.text() + "`");
  if (memory.address < 0) fault("`" + memory.name + "` does not lie in the dynamic part of shared memory, where boxes do");
  if ((memory.address + at * size) % bytes_of_pattern != 0)
    fault("a panel of `" + memory.name + "` that is not aligned to 1024 bytes, at element " + std::to_string(at));
  if (map.box.back() * size != bytes_of_box_row) fault("a row of a box of `" + map.name.text() + "` is not 128 bytes");
  for (const std::int64_t side : map.box)
    if (side < 1 || side > longest_side) fault("a box of `" + map.name.text() + "` has a side of " + std::to_string(side) + " elements");
}

}  // namespace

/// Elements of the box in order, with their places; -1 outside of the tensor.
void LaneWorkgroup::each_element(const BoxMap& map, const SharedCells& memory, std::int64_t at, const std::vector<std::int64_t>& corner,
                                 const std::function<void(std::int64_t, std::int64_t)>& visit) {
  const std::int64_t size = size_in_bytes(map.map->type), elements = elements_of_box(*map.map);
  for (std::int64_t i = 0; i < elements; ++i) {
    std::int64_t rest = i, in_tensor = 0, step = 1;
    for (std::size_t d = corner.size(); d-- > 0;) {
      const std::int64_t x = corner[d] + rest % map.map->box[d];
      rest /= map.map->box[d];
      if (x < 0 || x >= map.extents[d]) in_tensor = -1;
      if (in_tensor >= 0) in_tensor += x * step;
      step *= map.extents[d];
    }
    const std::int64_t plain = memory.address + at * size + i * size;
    const std::int64_t swizzled = plain ^ (plain >> 7 & 7) << 4;
    visit((swizzled - memory.address) / size, in_tensor);
  }
}

void LaneWorkgroup::load_box(const BoxMap& map, SharedCells& memory, std::int64_t at, std::size_t barrier, std::vector<std::int64_t> corner,
                             std::size_t thread) {
  check_panel(*map.map, memory, at);
  check_use(barrier, thread / warp_lanes_);
  Barrier& b = barriers_[barrier];
  const std::int64_t bytes = bytes_of_box(*map.map);
  if (bytes > b.announced)
    fault("more bytes are copied to `" + memory.name + "` than `" + b.name + "` expects: " + std::to_string(bytes) + " of " +
              std::to_string(b.announced),
          "`expect_bytes` stands in front of the copies");
  b.announced -= bytes;
  each_element(map, memory, at, corner,
               [&](std::int64_t in_memory, std::int64_t) { take_for_copy(memory, in_memory, clocks_[thread / warp_lanes_], barrier); });
  loads_.push_back({&map, &memory, at, barrier, std::move(corner)});
}

void LaneWorkgroup::land(const Load& load) {
  Barrier& b = barriers_[load.barrier];
  each_element(*load.map, *load.memory, load.at, load.corner, [&](std::int64_t in_memory, std::int64_t in_tensor) {
    load.memory->cells[static_cast<std::size_t>(in_memory)] =
        in_tensor < 0 ? 0 : load.map->tensor->cells[static_cast<std::size_t>(in_tensor)];
    const std::int64_t pieces = size_in_bytes(load.memory->type) / load.memory->uses->piece;
    for (std::int64_t p = in_memory * pieces; p < (in_memory + 1) * pieces; ++p)
      load.memory->uses->written[static_cast<std::size_t>(p)].at = static_cast<Clock>(b.phase + 1);
  });
  b.bytes -= bytes_of_box(*load.map->map);
  b.copied = b.phase;
  end_phase(load.barrier);
}

void LaneWorkgroup::store_box(const BoxMap& map, SharedCells& memory, std::int64_t at, std::vector<std::int64_t> corner,
                              std::size_t thread) {
  check_panel(*map.map, memory, at);
  const std::size_t warp = thread / warp_lanes_;
  if (storing_[warp].value_or(thread) != thread) fault("boxes are stored by two lanes of one warp: each would wait for its own only");
  storing_[warp] = thread;
  Stores& own = stores_by_thread_[thread];
  own.last = own.committed + 1;
  Store store{&map, {}, std::move(corner), thread, own.last};
  each_element(map, memory, at, store.corner, [&](std::int64_t in_memory, std::int64_t) {
    store.values.push_back(
        read_on_its_own(memory, in_memory, clocks_[warp], stores_of(warp), static_cast<Clock>(own.last), "a store of a box"));
  });
  stores_.push_back(std::move(store));
}

void LaneWorkgroup::land(const Store& store) {
  std::size_t i = 0;
  SharedCells as_if_at_0;
  as_if_at_0.address = 0;
  each_element(*store.map, as_if_at_0, 0, store.corner, [&](std::int64_t, std::int64_t in_tensor) {
    const double x = store.values[i++];
    if (in_tensor >= 0) store_to_tensor(*store.map->tensor, in_tensor, store.thread, x);
  });
}

void LaneWorkgroup::commit_stores(std::size_t thread) { ++stores_by_thread_[thread].committed; }

void LaneWorkgroup::wait_for_stores(std::size_t thread, std::int64_t younger, bool to_read_only) {
  const std::size_t warp = thread / warp_lanes_;
  if (storing_[warp] != thread) return;
  Stores& own = stores_by_thread_[thread];
  own.read = std::max(own.read, own.committed - younger);
  clocks_[warp][stores_of(warp)] = static_cast<Clock>(own.read);
  if (to_read_only) return;
  for (std::size_t i = 0; i < stores_.size();) {
    if (stores_[i].thread == thread && stores_[i].group <= own.committed - younger) {
      land(stores_[i]);
      stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// ---- calls ----

const BoxMap& LaneProcess::box_map(Expr e, std::size_t coordinates) const {
  const auto found = e.is(Op::symbol) ? workgroup_.launch().maps.find(e.name()) : workgroup_.launch().maps.end();
  if (found == workgroup_.launch().maps.end()) fault("`" + fathom::print(e) + "` is no map of a tensor");
  if (found->second.extents.size() != coordinates)
    fault("a box of `" + e.name().text() + "` has " + std::to_string(found->second.extents.size()) + " coordinates");
  return found->second;
}

/// Coordinates stand fastest first in the call.
std::vector<std::int64_t> LaneProcess::corner(Expr e, std::size_t first, const Mask& mask, std::size_t lane) {
  std::vector<std::int64_t> all;
  for (std::size_t i = e.args().size(); i-- > first;) all.push_back(static_cast<std::int64_t>(value(e.arg(i), mask).of[lane]));
  return all;
}

void LaneProcess::load_box(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  const std::size_t lane = only_lane(mask, name, "each of them would copy the box");
  const Place to = place(e.arg(0), mask);
  const BoxMap& map = box_map(e.arg(1), e.args().size() - 3);
  if (to.memory == nullptr || to.memory->global) fault("`" + fathom::print(e.arg(0)) + "` does not lie in shared memory");
  workgroup_.load_box(map, *to.memory, to.at[lane], barriers(e.arg(2), mask)[lane], corner(e, 3, mask, lane), first_ + lane);
}

void LaneProcess::store_box(Expr e, const Mask& mask) {
  const std::string& name = e.name().text();
  const std::size_t lane = only_lane(mask, name, "each of them would store the box");
  const Place from = place(e.arg(1), mask);
  const BoxMap& map = box_map(e.arg(0), e.args().size() - 2);
  if (from.memory == nullptr || from.memory->global) fault("`" + fathom::print(e.arg(1)) + "` does not lie in shared memory");
  workgroup_.store_box(map, *from.memory, from.at[lane], corner(e, 2, mask, lane), first_ + lane);
}

void LaneProcess::commit_stores(Expr, const Mask& mask) {
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    if (mask[lane]) workgroup_.commit_stores(first_ + lane);
}

void LaneProcess::wait_for_stores(Expr e, const Mask& mask) {
  const std::int64_t younger = uniform(e.arg(0), mask, "the number of stores");
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    if (mask[lane]) workgroup_.wait_for_stores(first_ + lane, younger, e.name().text() == "wait_for_stores_to_read");
}

void LaneProcess::fence_for_copies(Expr, const Mask& mask) {
  for (std::size_t lane = 0; lane < lanes_; ++lane)
    if (mask[lane]) workgroup_.fence_for_copies(first_ + lane);
}

}  // namespace fathom::gpu
