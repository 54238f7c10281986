// Internal to lane mode: one workgroup. Its memory, who has used a cell and what is ordered before what (lane_memory.cpp), its barriers
// (lane_barriers.cpp), boxes on their way (lane_boxes.cpp), and who goes on (lane_workgroup.cpp). What its warps do is in lane_process.hpp.
//
// Order is kept by vector clocks: every warp counts the times at which it tells others how far it is, and knows how far each other was when
// it heard of it last. What runs on its own has a count, too: the products of a warpgroup, the stores of a warp, the copies of a barrier.
// Two uses of a cell of which neither is known to the other are a fault, in whatever order they were run.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>

#include "codegen/gpu/lanes.hpp"

namespace fathom::gpu {

inline constexpr std::size_t lanes_of_warpgroup = 128;

struct LaneFault {
  Refusal why;
};
[[noreturn]] void fault(std::string reason, std::string hint = {});

/// A number of each lane.
struct Lanes {
  Type type = Type::f32;
  std::vector<double> of;
};
using Mask = std::vector<std::uint8_t>;

using Clock = std::uint32_t;
using Clocks = std::vector<Clock>;  ///< of warps, of products of warpgroups, of stores of warps, of barriers
void join(Clocks& into, const Clocks& from);

/// Who used memory of a workgroup, by pieces of bytes: the smallest element among the arrays that lie there.
struct SharedUses {
  struct Write {
    Clock at = 0;
    std::int32_t by = -1;  ///< whose clock
    std::int32_t thread = -1;
    std::uint32_t fences = 0;  ///< of that thread, before it
  };
  std::int64_t piece = 4;   ///< bytes
  std::size_t readers = 0;  ///< the first clocks, of warps, products and stores
  std::vector<Write> written;
  std::vector<Clock> read;  ///< of each piece by each reader
};

/// Memory that several lanes see.
struct SharedCells {
  std::string name;
  Type type = Type::f32;
  std::vector<double> cells;
  bool global = false, writable = true;
  std::vector<int> stored_by;  ///< of results: the lane of the whole launch, or -1
  // of shared memory
  std::shared_ptr<SharedUses> uses;
  std::int64_t address = -1;         ///< bytes, of the dynamic part
  std::size_t first_barrier = 0;     ///< of an array of barriers
  std::vector<SharedCells*> others;  ///< that lie at the same place, of other types
};

/// A register as asynchronous products see it.
struct RegisterUse {
  std::int64_t written = 0, read = 0;            ///< when an ordinary statement did so last
  std::int64_t accumulates = 0, operand_of = 0;  ///< group of products that it is in
  int columns = 0;                               ///< of the last product
};

struct LaneVariable {
  Symbol name;
  Type type = Type::f32;
  std::vector<std::int64_t> extents;
  std::vector<double> cells;               ///< element after element, lane after lane
  std::shared_ptr<SharedCells> points_to;  ///< of a pointer, of a shared array, of a tensor
  std::vector<double> offset;              ///< of a pointer, by lane
  std::vector<RegisterUse> uses;           ///< element after element, warpgroup after warpgroup; only where there are products
};
using LaneVariables = std::map<Symbol, LaneVariable>;

/// A tensor as the copy engine knows it.
struct BoxMap {
  const TensorMap* map = nullptr;
  SharedCells* tensor = nullptr;
  std::vector<std::int64_t> extents;
};

struct LaneLaunch {
  const ThreadModule& module;
  const ThreadKernel& kernel;
  std::int64_t& steps_left;
  LaneVariables globals;  ///< tensors and scalars, for all threads of a workgroup
  std::map<Symbol, BoxMap> maps;
  std::int64_t workgroups = 1;
  std::uint64_t seed = 0;
};

/// Does the launch condition hold? Over dimensions and scalars.
[[nodiscard]] bool launched(Expr when, const DimValues& dims);

class LaneProcess;

class LaneWorkgroup {
 public:
  LaneWorkgroup(const LaneLaunch& launch, std::int64_t number);
  ~LaneWorkgroup();
  LaneWorkgroup(const LaneWorkgroup&) = delete;
  LaneWorkgroup& operator=(const LaneWorkgroup&) = delete;
  void run();
  [[nodiscard]] const LaneLaunch& launch() const { return launch_; }
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] bool has_products() const { return !launch_.module.products.empty(); }

  // memory (lane_memory.cpp)
  double read(SharedCells& memory, std::int64_t at, std::size_t thread);
  void write(SharedCells& memory, std::int64_t at, std::size_t thread, double value);
  /// At some time between now and when the reader's count is known to be so high. `now`: what is ordered before it.
  double read_on_its_own(SharedCells& memory, std::int64_t at, const Clocks& now, std::size_t reader, Clock count, const char* what);
  void fence_for_copies(std::size_t thread) { fences_[thread].push_back(own_clock(thread / warp_lanes_)); }
  void store_to_tensor(SharedCells& memory, std::int64_t at, std::size_t thread, double value);

  // clocks
  [[nodiscard]] Clocks& clock(std::size_t warp) { return clocks_[warp]; }
  /// What all warps of a warpgroup know.
  [[nodiscard]] Clocks known_to_warpgroup(std::size_t warpgroup) const;
  /// What the warp does from here on is not known to those that have heard of it so far.
  void advance(std::size_t warp) { ++clocks_[warp][warp]; }
  [[nodiscard]] std::size_t products_of(std::size_t warpgroup) const { return warps_ + warpgroup; }
  [[nodiscard]] std::size_t stores_of(std::size_t warp) const { return warps_ + warpgroups_ + warp; }
  [[nodiscard]] std::size_t copies_of(std::size_t barrier) const { return 2 * warps_ + warpgroups_ + barrier; }

  // barriers (lane_barriers.cpp)
  void set_up(std::size_t barrier, std::int64_t arrivals, std::size_t thread);
  void publish(std::size_t thread);
  void arrive(std::size_t barrier, std::size_t thread);
  void expect(std::size_t barrier, std::int64_t bytes, std::size_t thread);
  [[nodiscard]] bool ended(std::size_t barrier, std::int64_t parity) const { return barriers_[barrier].phase % 2 != parity; }
  void check_use(std::size_t barrier, std::size_t warp) const;
  void pass(std::size_t barrier, std::size_t warp);
  [[nodiscard]] std::string about(std::size_t barrier) const;
  /// A warp comes to a wait of some warps, and stays where a process is given.
  void come(std::int64_t meeting, std::int64_t threads, std::size_t warp, LaneProcess* stays);
  [[nodiscard]] std::string about_meeting(std::int64_t meeting) const;

  // boxes (lane_boxes.cpp)
  void load_box(const BoxMap& map, SharedCells& memory, std::int64_t at, std::size_t barrier, std::vector<std::int64_t> corner,
                std::size_t thread);
  void store_box(const BoxMap& map, SharedCells& memory, std::int64_t at, std::vector<std::int64_t> corner, std::size_t thread);
  void commit_stores(std::size_t thread);
  void wait_for_stores(std::size_t thread, std::int64_t younger, bool to_read_only);

 private:
  struct Barrier {
    std::string name;
    std::int64_t arrivals = 0;              ///< of a phase; 0: not set up
    std::int64_t phase = 0, missing = 0;    ///< arrivals
    std::int64_t bytes = 0;                 ///< that are expected and not there
    std::int64_t announced = 0;             ///< bytes that are expected and that no copy has been issued for
    std::int64_t copied = -1, waited = -1;  ///< the last phase with a copy, and the last that was waited for
    std::size_t thread = 0;                 ///< that has set it up
    std::optional<Clock> published;
    Clocks gathered, ended;  ///< by those that have arrived in this phase, and in the one before
  };
  struct Meeting {
    std::int64_t threads = 0;
    std::vector<std::size_t> here;  ///< warps
    std::vector<std::pair<LaneProcess*, std::size_t>> staying;
    Clocks gathered;
  };
  struct Load {
    const BoxMap* map;
    SharedCells* memory;
    std::int64_t at;
    std::size_t barrier;
    std::vector<std::int64_t> corner;
  };
  struct Store {
    const BoxMap* map;
    std::vector<double> values;
    std::vector<std::int64_t> corner;
    std::size_t thread;
    std::int64_t group;
  };
  struct Stores {  ///< of a thread, in groups
    std::int64_t committed = 0, last = 0, read = 0;
  };
  [[nodiscard]] Clock own_clock(std::size_t warp) const { return clocks_[warp][warp]; }
  // lane_workgroup.cpp
  void lay_out_memory();
  void lay_out_parts(std::int64_t offset, const std::vector<const ThreadKernel::DynamicShared*>& parts);
  [[nodiscard]] std::shared_ptr<SharedUses> no_uses(std::int64_t bytes, std::int64_t piece) const;
  void share(Symbol name, std::vector<std::int64_t> extents, const std::shared_ptr<SharedCells>& cells);
  std::shared_ptr<SharedCells> shared_cells(const std::string& name, Type type, std::int64_t elements);
  void start_roles();
  void go_on();
  void land_one(std::size_t which);
  std::size_t drawn(std::size_t choices);
  void check_end();
  // lane_memory.cpp
  [[noreturn]] void read_early(const SharedCells& memory, std::int32_t writer, const std::string& who) const;
  [[noreturn]] void written_early(const SharedCells& memory, std::int32_t writer, std::optional<std::size_t> reader,
                                  const std::string& who) const;
  [[nodiscard]] std::string no_wait() const;
  void take_for_copy(SharedCells& memory, std::int64_t at, const Clocks& now, std::size_t barrier);
  void hide_from_others(SharedCells& memory, std::int64_t at);
  // lane_barriers.cpp
  void end_phase(std::size_t barrier);
  // lane_boxes.cpp
  static void each_element(const BoxMap& map, const SharedCells& memory, std::int64_t at, const std::vector<std::int64_t>& corner,
                           const std::function<void(std::int64_t in_memory, std::int64_t in_tensor)>& visit);
  void land(const Load& load);
  void land(const Store& store);

  const LaneLaunch& launch_;
  const std::int64_t number_;
  const std::size_t warp_lanes_, warps_, warpgroups_;
  LaneVariables shared_;
  std::vector<Clocks> clocks_;              ///< of each warp
  std::vector<std::vector<Clock>> fences_;  ///< of each thread: when it made its writes visible to what runs on its own
  std::vector<Barrier> barriers_;
  std::array<Meeting, 16> meetings_;
  std::vector<std::unique_ptr<LaneProcess>> processes_;
  std::deque<Load> loads_;
  std::deque<Store> stores_;
  std::vector<Stores> stores_by_thread_;
  std::vector<std::optional<std::size_t>> storing_;  ///< of each warp: the lane that stores boxes
  std::uint64_t state_ = 0;                          ///< of the draws
};

// numbers of 16 bits, two in a register (lane_matrices.cpp)
[[nodiscard]] double pair_of(Type half, double low, double high);
/// A register that holds nothing yet stays so in both halves.
[[nodiscard]] double half_of(Type half, double pair, bool upper);

}  // namespace fathom::gpu
