// Internal to the interpreter of kernels: one kernel. Its workgroups are independent but for workspaces; which of them run at once, and
// in which order roles and groups run, is drawn from the seed.
#pragma once

#include "interp/run_kernel_process.hpp"

namespace fathom::interp::tiles {

class KernelRun {
 public:
  KernelRun(Frame& frame, const kernel::Module& module, const kernel::Kernel& kernel, const RunOptions& options);
  void run();

  // for processes
  [[nodiscard]] const kernel::Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const RunOptions& options() const { return options_; }
  enum class Draw : std::uint8_t { item, wait, none };
  /// The workgroup's item number `at`.
  Draw item(Workgroup& workgroup, std::size_t at, std::int64_t& item);
  /// Drawn from the seed; true where there is none: everything as late as may be.
  bool lot();
  std::int64_t next_token() { return tokens_issued_++; }
  /// One process runs all items, in their order: under seed 0, and where somebody watches.
  [[nodiscard]] bool in_order() const { return codes_.size() == 1 && codes_[0].groups == 1 && (options_.seed == 0 || options_.observer); }
  Memory reserve(Frame& frame, DType dtype, const std::vector<Expr>& box, const std::string& what);

 private:
  void declare();
  void declare_axis(const kernel::TileAxis& axis);
  void resolve();
  TileRef uniform(Frame& frame, Expr expr);
  std::unique_ptr<Workgroup> workgroup();
  void schedule();
  void schedule_watched();
  bool begin_workgroup();
  std::size_t draw(std::size_t count);
  [[noreturn]] void everyone_waits(const Workgroup& workgroup) const;

  Frame& frame_;
  const kernel::Module& module_;
  const kernel::Kernel& kernel_;
  const RunOptions& options_;
  std::vector<RoleCode> codes_;
  std::int64_t first_item_ = 0, end_of_items_ = 0;
  std::deque<std::int64_t> items_;  ///< that no workgroup has drawn; unused where one process does all
  std::int64_t stride_ = 0;         ///< persistent: of the items of one workgroup
  std::int64_t workgroups_begun_ = 0, tokens_issued_ = 0;
  std::vector<std::unique_ptr<Workgroup>> running_;
  std::uint64_t state_ = 0;
};

}  // namespace fathom::interp::tiles
