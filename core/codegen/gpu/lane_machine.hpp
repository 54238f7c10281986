// Internal to lane mode: one workgroup. lanes.cpp runs statements, lane_values.cpp evaluates, lane_calls.cpp are the helper functions.
#pragma once

#include <functional>
#include <memory>

#include "codegen/gpu/lanes.hpp"

namespace fathom::gpu {

struct LaneFault {
  Refusal why;
};
[[noreturn]] void fault(std::string reason, std::string hint = {});

/// A number of each lane.
struct Lanes {
  Type type = Type::f32;
  std::vector<double> of;
};

/// Memory that several lanes see.
struct SharedCells {
  std::string name;
  Type type = Type::f32;
  std::vector<double> cells;
  bool global = false, writable = true;
  std::vector<int> stored_by;  ///< of results: the lane of the whole launch, or -1
  // of shared memory: who used a cell since the last wait of all threads
  struct Use {
    std::int64_t written = -1, read = -1;  ///< number of the wait before
    int writer = -1, reader = -1;          ///< warps; -2: several
  };
  std::vector<Use> uses;
};

struct LaneVariable {
  Type type = Type::f32;
  std::vector<std::int64_t> extents;
  std::vector<double> cells;               ///< element after element, lane after lane
  std::shared_ptr<SharedCells> points_to;  ///< of a pointer, of a shared array, of a tensor
  std::vector<double> offset;              ///< of a pointer, by lane
};

/// Does the launch condition hold? Over dimensions and scalars.
[[nodiscard]] bool launched(Expr when, const DimValues& dims);

using Mask = std::vector<bool>;

class LaneMachine {
 public:
  LaneMachine(const ThreadModule& module, const ThreadKernel& kernel, std::int64_t& steps_left);
  std::map<Symbol, LaneVariable> globals;  ///< tensors and scalars of the launch
  void run(std::int64_t workgroup);

 private:
  struct Place {  ///< one cell for each lane
    LaneVariable* variable = nullptr;
    std::shared_ptr<SharedCells> memory;
    std::vector<std::int64_t> at;
  };
  struct Copy {
    Place to, from;
    std::int64_t elements;
    Mask inside;
    std::int64_t group;
    Mask mask;
  };
  void block(const ThreadBlock& body, const Mask& mask);
  void statement(const ThreadStatement& s, const Mask& mask);
  void declare(const Declare& d, const Mask& mask);
  void loop(const Loop& l, const Mask& mask);
  void branch(const Branch& b, const Mask& mask);
  void store(const Place& place, const Lanes& value, const Mask& mask);
  // values
  Lanes value(Expr e, const Mask& mask);
  Lanes arithmetic(Expr e, const Mask& mask);
  Lanes load(const Place& place, const Mask& mask);
  Place place(Expr e, const Mask& mask);
  Lanes converted(const Lanes& from, Type to) const;
  std::int64_t uniform(Expr e, const Mask& mask, const char* what);
  double read_cell(SharedCells& memory, std::int64_t at, std::size_t lane);
  void write_cell(SharedCells& memory, std::int64_t at, std::size_t lane, double value);
  // helper functions
  std::optional<std::optional<Lanes>> cooperation(Expr e, const Mask& mask);  ///< lane_cooperation.cpp; absent: another function
  std::optional<Lanes> call(Expr e, const Mask& mask);
  void own_function(const ThreadFunction& f, Expr e, const Mask& mask);
  void load_vector(Expr e, const Mask& mask);
  void store_vector(Expr e, const Mask& mask);
  void copy_async(Expr e, const Mask& mask);
  void land(std::int64_t younger, const Mask& mask);
  void load_matrices(Expr e, int count, bool transposed, const Mask& mask);
  void mma_m16n8k16(Expr e, Type operand, const Mask& mask);
  void mma_m16n8k8_f32(Expr e, const Mask& mask);
  void whole_warps(const Mask& mask, const std::string& what) const;
  double& register_at(const Place& place, std::size_t lane, std::int64_t more = 0);

  const ThreadModule& module_;
  const ThreadKernel& kernel_;
  std::int64_t& steps_left_;
  std::size_t lanes_;
  std::int64_t workgroup_ = 0, waits_ = 0;
  std::map<Symbol, LaneVariable> variables_;
  std::vector<std::int64_t> commits_;  ///< of each lane
  std::vector<Copy> copies_;
};

}  // namespace fathom::gpu
