// Internal to lane mode: warps that run one program in step, under masks. A block that runs is a frame, so that a process can stop where it
// has to wait and go on later. lane_process.cpp runs statements, lane_values.cpp evaluates; the helper functions are in lane_calls.cpp,
// lane_matrices.cpp, lane_waves.cpp, lane_barriers.cpp, lane_boxes.cpp and lane_products.cpp.
#pragma once

#include "codegen/gpu/lane_machine.hpp"

namespace fathom::gpu {

class LaneProcess {
 public:
  LaneProcess(LaneWorkgroup& workgroup, std::string name, std::size_t first_thread, std::size_t lanes);
  /// Names of the whole workgroup that it sees: its part of their lanes.
  void see(const LaneVariables& all, std::size_t lanes_of_all, std::size_t from);
  void start(const ThreadBlock& body);
  /// Until it waits, has done something that others may see, or ends.
  void go_on();
  [[nodiscard]] bool ended() const { return stack_.empty(); }
  [[nodiscard]] bool may_go_on() const;
  [[nodiscard]] std::string waits_for() const;
  void check_end() const;  ///< that nothing is on its way
  void has_met() { --meetings_left_; }
  [[nodiscard]] const LaneVariables& variables() const { return variables_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Place {  ///< one cell for each lane
    LaneVariable* variable = nullptr;
    SharedCells* memory = nullptr;
    std::vector<std::int64_t> at;
  };
  struct Copy {
    Place to, from;
    std::int64_t elements;
    Mask inside;
    std::int64_t group;
    Mask mask;
  };
  /// A block that runs; what it declares ends with it.
  struct Frame {
    const ThreadBlock* body = nullptr;
    Mask mask;
    std::size_t next = 0;
    std::vector<std::pair<Symbol, std::optional<LaneVariable>>> hidden;
    const Loop* loop = nullptr;  ///< whose trip it is
    std::int64_t trip = 0, end = 0;
    const While* again = nullptr;
    bool stays = false;  ///< what it declares is there for what runs behind it
  };
  struct BarrierWait {
    std::size_t barrier = 0;
    std::int64_t parity = 0;
    std::size_t warp = 0;
  };
  /// Where a product finds a matrix, and who reads it.
  struct Matrix {
    SharedCells* memory = nullptr;
    std::int64_t start = 0, leading = 0, stride = 0;  ///< bytes
    Clocks known;
    std::size_t reader = 0;
    Clock group = 0;
  };

  // statements (lane_process.cpp)
  void step();
  void statement(const ThreadStatement& s, Frame& frame);
  void declare(const Declare& d, Frame& frame);
  void hide(Symbol name, Frame& frame);
  void loop(const Loop& l, const Mask& mask);
  void next_trip(Frame& frame);
  void repeat(const While& w, const Mask& mask);
  void branch(const Branch& b, const Mask& mask);
  void close(Frame& frame);
  void store(const Place& place, const Lanes& value, const Mask& mask);
  void run_inside(const ThreadBlock& body, const Mask& mask);
  [[nodiscard]] bool waits() const { return meetings_left_ > 0 || !barrier_waits_.empty(); }
  // registers
  std::size_t register_number(const Place& place, std::size_t lane, std::int64_t more) const;
  RegisterUse* register_use(const Place& place, std::size_t lane, std::int64_t more) const;
  double read_register(const Place& place, std::size_t lane, std::int64_t more = 0);
  void write_register(const Place& place, std::size_t lane, std::int64_t more, double value);
  // values
  Lanes value(Expr e, const Mask& mask);
  Lanes arithmetic(Expr e, const Mask& mask);
  Lanes load(const Place& place, const Mask& mask);
  Place place(Expr e, const Mask& mask);
  Lanes converted(const Lanes& from, Type to) const;
  std::int64_t uniform(Expr e, const Mask& mask, const char* what);
  double read_cell(SharedCells& memory, std::int64_t at, std::size_t lane) { return workgroup_.read(memory, at, first_ + lane); }
  void write_cell(SharedCells& memory, std::int64_t at, std::size_t lane, double x) { workgroup_.write(memory, at, first_ + lane, x); }
  // helper functions
  std::optional<Lanes> call(Expr e, const Mask& mask);
  bool act(Expr e, const Mask& mask);                                         ///< a function without a value
  std::optional<std::optional<Lanes>> cooperation(Expr e, const Mask& mask);  ///< lane_cooperation.cpp; absent: another function
  std::optional<Lanes> own_number(const std::string& name) const;
  Lanes of_warp(const std::string& name, const std::vector<Lanes>& args, const Mask& mask);
  void own_function(const ThreadFunction& f, Expr e, const Mask& mask);
  void load_vector(Expr e, const Mask& mask);
  void store_vector(Expr e, const Mask& mask);
  void copy_async(Expr e, const Mask& mask);
  void commit_copies(Expr e, const Mask& mask);
  void wait_for_copies(Expr e, const Mask& mask);
  void whole_warps(const Mask& mask, const std::string& what) const;
  void whole_warpgroups(const Mask& mask, const std::string& what) const;
  std::size_t only_lane(const Mask& mask, const std::string& what, const char* why) const;
  [[nodiscard]] std::size_t warp_of(std::size_t lane) const { return (first_ + lane) / warp_lanes_; }
  // lane_matrices.cpp
  void load_matrices(Expr e, const Mask& mask);
  void mma_m16n8k16(Expr e, const Mask& mask);
  void mma_m16n8k8_f32(Expr e, const Mask& mask);
  // lane_waves.cpp
  double operand_element(Type type, const Place& of, std::size_t lane, std::size_t i);
  void mfma_16x16x16(Expr e, const Mask& mask);
  void wmma_16x16x16(Expr e, const Mask& mask);
  void copy_chunk(Expr e, const Mask& mask);
  // lane_barriers.cpp
  void wait_for_workgroup(Expr e, const Mask& mask);
  void wait_for_warp(Expr e, const Mask& mask);
  void meet(Expr e, const Mask& mask);
  void set_up_barrier(Expr e, const Mask& mask);
  void publish_barriers(Expr e, const Mask& mask);
  void arrive(Expr e, const Mask& mask);
  void expect_bytes(Expr e, const Mask& mask);
  void wait_for_barrier(Expr e, const Mask& mask);
  void set_registers(Expr e, const Mask& mask);
  void nothing_to_do(Expr e, const Mask& mask);
  Lanes increment_wrapping(Expr e, const Mask& mask);
  std::vector<std::size_t> barriers(Expr e, const Mask& mask);
  // lane_boxes.cpp
  void load_box(Expr e, const Mask& mask);
  void store_box(Expr e, const Mask& mask);
  void commit_stores(Expr e, const Mask& mask);
  void wait_for_stores(Expr e, const Mask& mask);
  void fence_for_copies(Expr e, const Mask& mask);
  const BoxMap& box_map(Expr e, std::size_t coordinates) const;
  std::vector<std::int64_t> corner(Expr e, std::size_t first, const Mask& mask, std::size_t lane);
  // lane_products.cpp
  void product(const MatrixAtom& atom, Expr e, const Mask& mask);
  Matrix matrix(Expr e, const Mask& mask, std::size_t first);
  double number_of_matrix(const Matrix& m, std::int64_t byte);
  std::vector<double> left_from_registers(const MatrixAtom& atom, const Place& a, std::size_t first);
  std::vector<double> left_from_memory(Expr e, const Mask& own, std::size_t first);
  std::vector<double> right_from_memory(const MatrixAtom& atom, Expr e, const Mask& own, std::size_t first);
  void add_product(const MatrixAtom& atom, const Place& c, std::size_t first, const std::vector<double>& left,
                   const std::vector<double>& right, bool accumulates);
  [[noreturn]] static void lacks_fence(const MatrixAtom& atom, const Place& place);
  void fence_before_products(Expr e, const Mask& mask);
  void commit_products(Expr e, const Mask& mask);
  void wait_for_products(Expr e, const Mask& mask);

  /// Products of a warpgroup.
  struct Products {
    std::int64_t committed = 0, waited = 0, last = 0;  ///< groups
    std::int64_t fenced = 0;                           ///< when
  };

  LaneWorkgroup& workgroup_;
  const ThreadModule& module_;
  const std::string name_;
  const std::size_t first_, lanes_;  ///< threads of the workgroup
  const std::size_t warp_lanes_;     ///< of a warp
  LaneVariables globals_, variables_;
  std::deque<Frame> stack_;
  std::int64_t time_ = 0;  ///< statements so far
  bool others_may_see_ = false;
  std::int64_t meetings_left_ = 0, meeting_ = 0;
  std::vector<BarrierWait> barrier_waits_;
  std::vector<std::int64_t> commits_;  ///< of each lane
  std::vector<Copy> copies_;
  std::vector<Products> products_;  ///< of each warpgroup
};

}  // namespace fathom::gpu
