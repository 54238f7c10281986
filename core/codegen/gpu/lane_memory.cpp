// Cells that several lanes see: who may read and write them.
#include <algorithm>
#include <limits>

#include "codegen/gpu/lane_machine.hpp"

namespace fathom::gpu {
namespace {

constexpr Clock on_its_way = std::numeric_limits<Clock>::max();

void check_inside(const SharedCells& memory, std::int64_t at, const char* how) {
  if (at < 0 || at >= static_cast<std::int64_t>(memory.cells.size()))
    fault("`" + memory.name + "` is " + how + " outside of its extents, at element " + std::to_string(at) + " of " +
          std::to_string(memory.cells.size()));
}

struct Pieces {
  std::size_t first, last;
};
Pieces pieces_of(const SharedCells& memory, std::int64_t at) {
  const auto each = static_cast<std::size_t>(size_in_bytes(memory.type) / memory.uses->piece);
  const std::size_t first = static_cast<std::size_t>(at) * each;
  return {first, first + each};
}

}  // namespace

void join(Clocks& into, const Clocks& from) {
  if (into.empty()) into.assign(from.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

Clocks LaneWorkgroup::known_to_warpgroup(std::size_t warpgroup) const {
  const std::size_t warps = lanes_of_warpgroup / warp_lanes_;
  Clocks known = clocks_[warpgroup * warps];
  for (std::size_t w = 1; w < warps; ++w) {
    for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::min(known[i], clocks_[warpgroup * warps + w][i]);
  }
  return known;
}

std::string LaneWorkgroup::no_wait() const {
  return processes_.size() > 1 ? "no wait stands between them" : "no wait of all threads stands between them";
}

void LaneWorkgroup::read_early(const SharedCells& memory, std::int32_t writer, const std::string& who) const {
  if (static_cast<std::size_t>(writer) >= copies_of(0))
    fault("`" + memory.name + "` is read by " + who + " that has not waited for the copy to it on `" +
          barriers_[static_cast<std::size_t>(writer) - copies_of(0)].name + "`");
  fault("`" + memory.name + "` is read by " + who + " while another has written it, and " + no_wait());
}

void LaneWorkgroup::written_early(const SharedCells& memory, std::int32_t writer, std::optional<std::size_t> reader,
                                  const std::string& who) const {
  if (reader && *reader >= stores_of(0))
    fault("`" + memory.name + "` is written by " + who + " while a store of a box may still read it, and " + no_wait());
  if (reader && *reader >= products_of(0))
    fault("`" + memory.name + "` is written by " + who + " while a product may still read it, and " + no_wait());
  if (!reader && static_cast<std::size_t>(writer) >= copies_of(0))
    fault("`" + memory.name + "` is written by " + who + " that has not waited for the copy to it on `" +
          barriers_[static_cast<std::size_t>(writer) - copies_of(0)].name + "`");
  fault("`" + memory.name + "` is written by " + who + " while another " + (reader ? "reads" : "writes") + " it, and " + no_wait());
}

double LaneWorkgroup::read(SharedCells& memory, std::int64_t at, std::size_t thread) {
  check_inside(memory, at, "read");
  if (memory.uses) {
    const std::size_t warp = thread / warp_lanes_;
    const Clocks& now = clocks_[warp];
    SharedUses& uses = *memory.uses;
    const Pieces pieces = pieces_of(memory, at);
    for (std::size_t p = pieces.first; p < pieces.last; ++p) {
      const SharedUses::Write& w = uses.written[p];
      if (w.by >= 0 && w.at > now[static_cast<std::size_t>(w.by)]) read_early(memory, w.by, "a warp");
      uses.read[p * uses.readers + warp] = now[warp];
    }
  }
  return memory.cells[static_cast<std::size_t>(at)];
}

void LaneWorkgroup::write(SharedCells& memory, std::int64_t at, std::size_t thread, double value) {
  check_inside(memory, at, "written");
  if (memory.global) return store_to_tensor(memory, at, thread, value);
  const std::size_t warp = thread / warp_lanes_;
  const Clocks& now = clocks_[warp];
  SharedUses& uses = *memory.uses;
  const Pieces pieces = pieces_of(memory, at);
  for (std::size_t p = pieces.first; p < pieces.last; ++p) {
    SharedUses::Write& w = uses.written[p];
    for (std::size_t r = 0; r < uses.readers; ++r)
      if (uses.read[p * uses.readers + r] > now[r]) written_early(memory, w.by, r, "a warp");
    if (w.by >= 0 && w.at > now[static_cast<std::size_t>(w.by)]) written_early(memory, w.by, std::nullopt, "a warp");
    w = {now[warp], static_cast<std::int32_t>(warp), static_cast<std::int32_t>(thread), static_cast<std::uint32_t>(fences_[thread].size())};
  }
  memory.cells[static_cast<std::size_t>(at)] = value;
  hide_from_others(memory, at);
}

void LaneWorkgroup::store_to_tensor(SharedCells& memory, std::int64_t at, std::size_t thread, double value) {
  check_inside(memory, at, "written");
  if (!memory.writable) fault("`" + memory.name + "` is written, but may only be read");
  const auto place = static_cast<std::size_t>(at);
  if (!memory.stored_by.empty()) {
    const int by = static_cast<int>(number_ * launch_.kernel.threads + static_cast<std::int64_t>(thread));
    if (memory.stored_by[place] >= 0 && memory.stored_by[place] != by) fault("an element of `" + memory.name + "` is stored by two lanes");
    memory.stored_by[place] = by;
  }
  memory.cells[place] = value;
}

/// What another array has at these bytes is no number of its type any longer.
void LaneWorkgroup::hide_from_others(SharedCells& memory, std::int64_t at) {
  const std::int64_t size = size_in_bytes(memory.type);
  for (SharedCells* other : memory.others) {
    const std::int64_t each = size_in_bytes(other->type), end = static_cast<std::int64_t>(other->cells.size());
    for (std::int64_t i = at * size / each; i * each < (at + 1) * size && i < end; ++i)
      other->cells[static_cast<std::size_t>(i)] = std::numeric_limits<double>::quiet_NaN();
  }
}

double LaneWorkgroup::read_on_its_own(SharedCells& memory, std::int64_t at, const Clocks& now, std::size_t reader, Clock count,
                                      const char* what) {
  check_inside(memory, at, "read");
  if (!memory.uses) fault("`" + memory.name + "` is read by " + what + ", but does not lie in shared memory");
  SharedUses& uses = *memory.uses;
  const Pieces pieces = pieces_of(memory, at);
  for (std::size_t p = pieces.first; p < pieces.last; ++p) {
    const SharedUses::Write& w = uses.written[p];
    uses.read[p * uses.readers + reader] = std::max(uses.read[p * uses.readers + reader], count);
    if (w.by < 0) continue;
    const auto by = static_cast<std::size_t>(w.by);
    if (w.at > now[by]) read_early(memory, w.by, what);
    if (by >= warps_) continue;  // was written by the copy engine itself
    const std::vector<Clock>& fences = fences_[static_cast<std::size_t>(w.thread)];
    if (fences.size() <= w.fences || fences[w.fences] > now[by])
      fault("`" + memory.name + "` is read by " + what +
                " that may not see what a thread has written there: its `fence_for_copies` is missing",
            "the thread that writes does it, before the wait that the reader has behind it");
  }
  return memory.cells[static_cast<std::size_t>(at)];
}

/// From its issue on nobody else may use it.
void LaneWorkgroup::take_for_copy(SharedCells& memory, std::int64_t at, const Clocks& now, std::size_t barrier) {
  check_inside(memory, at, "written");
  SharedUses& uses = *memory.uses;
  const Pieces pieces = pieces_of(memory, at);
  for (std::size_t p = pieces.first; p < pieces.last; ++p) {
    SharedUses::Write& w = uses.written[p];
    for (std::size_t r = 0; r < uses.readers; ++r)
      if (uses.read[p * uses.readers + r] > now[r]) written_early(memory, w.by, r, "a copy");
    if (w.by >= 0 && w.at > now[static_cast<std::size_t>(w.by)]) written_early(memory, w.by, std::nullopt, "a copy");
    w = {on_its_way, static_cast<std::int32_t>(copies_of(barrier)), -1, 0};
  }
  memory.cells[static_cast<std::size_t>(at)] = std::numeric_limits<double>::quiet_NaN();
  hide_from_others(memory, at);
}

}  // namespace fathom::gpu
