// Internal to the interpreter of kernels: one kernel's statements, resolved against its frame, and their execution work item by work item.
// Roles are sequential processes over FIFOs, so values do not depend on how they interleave; with one role they simply run in text order.
#pragma once

#include <deque>
#include <string>

#include "interp/interp.hpp"
#include "interp/run_kernel_formula.hpp"

namespace fathom::interp::tiles {

/// A statement with its names resolved. `values` are the right sides, the first values of a loop, or a condition.
struct Step {
  struct Target {
    Symbol name;
    int slot = -1;
    bool stored = false;    ///< a place in memory; else a tile
    std::vector<int> dims;  ///< of a tile
    int place = -1;         ///< of a store: a read node
  };
  struct Range {
    Symbol tag;
    int lo = -1, hi = -1;
  };
  const kernel::Statement* from = nullptr;
  Formula formula;
  std::vector<Target> targets;
  std::vector<int> values;
  int otherwise = -1;
  std::vector<Range> ranges;
  std::set<Symbol> carried;
  std::vector<Step> body;
};

class KernelRun {
 public:
  KernelRun(Frame& frame, const kernel::Kernel& kernel, const RunOptions& options);
  void run();

 private:
  struct Ring {
    std::deque<Memory> slots;
    std::size_t acquired = 0, received = 0, released = 0;
  };
  // resolving
  void declare();
  void declare_axis(const kernel::TileAxis& axis);
  void collect_memories(const kernel::Block& block);
  Memory reserve(DType dtype, const std::vector<Expr>& box, const std::string& what);
  std::vector<Step> resolve(const kernel::Block& block);
  Step resolve(const kernel::Statement& statement);
  void resolve_assignment(Step& step, const std::vector<kernel::Access>& targets, const std::vector<Expr>& values);
  Step::Target resolve_target(Formula& formula, const kernel::Access& access);
  TileRef uniform(Expr expr);
  // running
  void run(const std::vector<Step>& steps);
  void run(const Step& step);
  void run_op(const Step& step, const kernel::Value& value);
  void run_op(const Step& step, const kernel::Let& let);
  void run_op(const Step& step, const kernel::Mma& mma);
  void run_op(const Step& step, const kernel::Await& await);
  void run_op(const Step& step, const kernel::Acquire& acquire);
  void run_op(const Step& step, const kernel::Receive& receive);
  void run_op(const Step& step, const kernel::Publish& publish);
  void run_op(const Step& step, const kernel::Release& release);
  void run_op(const Step& step, const kernel::For& loop);
  void run_op(const Step& step, const kernel::When& when);
  void run_op(const Step& step, const kernel::If& condition);
  template <class Other>
  void run_op(const Step& step, const Other& other);
  void run_work(const Step& step, const kernel::For& loop);
  void start_item(std::int64_t item);
  void poison(Memory& memory);
  void assign_all(const Step& step, const TileRef& fill);
  void assign(const Step::Target& target, TileRef value);
  void store(Evaluation& evaluation, const Step& step, const Step::Target& target, const TileRef& value);
  void check_cover(const Step::Target& target, const Tile& value, const std::vector<int>& axes);
  TileRef mask_for(const std::vector<int>& axes, bool& complete);
  TileRef spread(const TileRef& mask, int part, int whole);
  // events
  void report_tile(const Step::Target& target, const Tile& value);
  void report_store(const Step::Target& target, const Memory& memory, const std::vector<std::pair<std::int64_t, std::int64_t>>& box);
  void report(Symbol name, std::vector<std::pair<std::int64_t, std::int64_t>> box, const Data& values);

  Frame& frame_;
  const kernel::Kernel& kernel_;
  const RunOptions& options_;
  std::map<Symbol, Memory> buffers_;
  std::map<Symbol, Ring> rings_;
  std::map<Symbol, const Step*> in_flight_;  ///< token -> its mma
  std::vector<std::pair<Symbol, std::int64_t>> trips_;
  std::vector<const std::set<Symbol>*> loop_carries_, if_carries_;
  TileRef mask_;  ///< of the enclosing `if` statements
};

}  // namespace fathom::interp::tiles
