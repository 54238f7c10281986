// Internal to the interpreter of kernels: one group of one role, a sequential process. It runs until it waits for another; what it computes
// does not depend on when the others run.
#pragma once

#include "interp/run_kernel_workgroup.hpp"

namespace fathom::interp::tiles {

class KernelRun;

/// A value as a place of this type holds it.
[[nodiscard]] double stored_as(DType dtype, double value);

class Process {
 public:
  Process(KernelRun& run, Workgroup& workgroup, const RoleCode& code, int group);
  enum class Status : std::uint8_t { moved, waits, ended };
  /// One operation, or one trip of a loop begun.
  Status step();
  /// Goes on up to the end of its next operation that is seen: loops, conditions and `let` take no time of their own.
  Status step_seen(Operation& seen);
  /// What it waits for, as a part of a sentence.
  [[nodiscard]] std::string waits_for() const;
  [[nodiscard]] bool ended() const { return stack_.empty(); }
  [[nodiscard]] const RoleCode& code() const { return code_; }
  [[nodiscard]] std::size_t items_begun() const { return items_begun_; }
  /// When its workgroup ends, copies that have read their sources land. Returns the name of what nothing has waited for, or nothing.
  std::string end_in_flight();
  /// Lets a copy or an mma that it issued go on until it has read its sources, or has stored.
  void advance(Token& token, Token::Progress to);

 private:
  /// A loop with stages that runs: iterations that some of their operations have still before them.
  struct Iterations {
    const StagedLoop* code = nullptr;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::int64_t count = 0, trip = 0;
    using Versions = std::map<int, std::map<int, Binding>>;  ///< all values that an iteration's text gives a name
    std::map<std::int64_t, Versions> values;
    std::map<int, Binding> carried;  ///< what the oldest of them finds
    std::int64_t present = -1;       ///< whose variable and tags the names stand for
  };
  struct Planned {
    const StagedLoop::Operation* operation = nullptr;
    std::int64_t iteration = 0;
  };
  /// A block that runs: the role's body, a trip of a loop, what stands under a condition.
  struct Activation {
    const Step* owner = nullptr;
    const std::vector<Step>* body = nullptr;
    std::size_t next = 0;
    // of a loop
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::size_t range = 0;
    std::int64_t at = 0;
    bool begun = false;
    std::unique_ptr<Iterations> iterations;
    std::vector<Planned> planned;
    // of a condition on a bool tile
    TileRef outer_mask;
  };

  // blocks (run_kernel_process.cpp)
  [[nodiscard]] const Step* next_step() const;
  void push(const Step& owner);
  void pop();
  bool next_trip(Activation& loop, Status& status);
  bool next_item(Activation& loop, Status& status);
  void start_item(std::int64_t item);
  void bind_tags(const Step& loop, std::size_t range);
  bool ready(const Step& step);
  void run(const Step& step);
  // loops with stages (run_kernel_staged.cpp)
  void begin_iterations(Activation& loop);
  bool next_staged_trip(Activation& loop);
  void before(Activation& loop, const Planned& planned);
  void present(Iterations& its, std::int64_t iteration, const std::vector<StagedLoop::Read>& reads, const Step& reader);
  void after(Activation& loop, const Planned& planned);
  Binding carried_into(Iterations& its, std::int64_t iteration, int slot);
  void retire(Iterations& its, std::int64_t iteration);
  // operations (run_kernel_operations.cpp)
  void run_op(const Step& step, const kernel::Value& value);
  void run_op(const Step& step, const kernel::Let& let);
  void run_op(const Step& step, const kernel::Copy& copy);
  void run_op(const Step& step, const kernel::Mma& mma);
  void run_op(const Step& step, const kernel::Await& await);
  void run_op(const Step& step, const kernel::Atomic& atomic);
  void run_op(const Step& step, const kernel::Acquire& acquire);
  void run_op(const Step& step, const kernel::Receive& receive);
  void run_op(const Step& step, const kernel::Publish& publish);
  void run_op(const Step& step, const kernel::Release& release);
  void run_op(const Step& step, const kernel::Take& take);
  void run_op(const Step& step, const kernel::Pass& pass);
  void run_op(const Step& step, const kernel::For& loop);
  void run_op(const Step& step, const kernel::When& when);
  void run_op(const Step& step, const kernel::If& condition);
  void issue(const Step& step, Symbol name);
  TokenRef token(Symbol name);
  Ring& ring(const Step& step, Symbol channel);
  [[nodiscard]] std::size_t number_of_ring(const Step& step, Symbol channel);
  [[nodiscard]] std::size_t receiver(Symbol channel) const;
  bool meet(const Step& step);
  void arrive(const Step& step, Meeting& meeting);
  void leave(Meeting& meeting);
  TileRef fill_of(const Step& step);
  std::vector<TileRef> together(const Step& step, const Meeting& meeting);
  TileRef update(const Step& step, const kernel::Atomic& atomic);
  TileRef stacked(const std::vector<TileRef>& parts);
  TileRef uniform(Expr expr);
  void poison(Memory& memory);
  // assignments (run_kernel_assign.cpp)
  void assign_all(const Step& step, const TileRef& fill);
  std::vector<TileRef> right_sides(Evaluation& evaluation, const Step& step);
  void assign(const Step::Target& target, TileRef value);
  void store(Evaluation& evaluation, const Step& step, const Step::Target& target, const TileRef& value);
  void check_cover(const Step::Target& target, const Tile& value, const std::vector<int>& axes);
  TileRef mask_for(const std::vector<int>& axes, bool& complete);
  TileRef spread(const TileRef& mask, int part, int whole);
  void report_tile(const Step::Target& target, const Tile& value);
  void report_store(const Step::Target& target, const Memory& memory, const std::vector<std::pair<std::int64_t, std::int64_t>>& box);
  void report(Symbol name, std::vector<std::pair<std::int64_t, std::int64_t>> box, const Data& values);

  KernelRun& run_;
  Workgroup& workgroup_;
  const RoleCode& code_;
  const int group_;
  Frame frame_;
  std::map<Symbol, Memory> own_buffers_;
  std::vector<Activation> stack_;
  std::size_t items_begun_ = 0;
  const Step* arrived_ = nullptr;  ///< where it has arrived and waits for the other groups
  std::vector<TokenRef> issued_;
  std::vector<std::pair<Symbol, std::int64_t>> trips_;
  std::vector<const std::set<Symbol>*> loop_carries_, if_carries_;
  const Step* last_ = nullptr;
  Operation noted_;  ///< what the operation that ran last has to say of itself
  TileRef mask_;     ///< of the enclosing `if` statements
  const RunOptions& options_;
  const kernel::Kernel& kernel_;
};

}  // namespace fathom::interp::tiles
