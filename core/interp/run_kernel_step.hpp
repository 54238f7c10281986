// Internal to the interpreter of kernels: the statements of a role with their names resolved, once for all of its groups.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "interp/run_kernel_formula.hpp"
#include "ir/groups.hpp"
#include "ir/trips.hpp"

namespace fathom::interp::tiles {

struct StagedLoop;

/// A statement with its names resolved. `values` are the right sides, the first values of a loop, or a condition.
struct Step {
  struct Target {
    Symbol name;
    int slot = -1;
    bool stored = false;    ///< a place in memory; else a tile
    std::vector<int> dims;  ///< of a tile
    int place = -1;         ///< of a store: a read node
    bool once = false;      ///< all groups would store the same: one of them does
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
  std::vector<int> tokens;      ///< of a loop: carried tokens, complete at first
  std::vector<int> subscripts;  ///< of a channel: which ring
  bool meets = false;           ///< all groups of the role do it together: a reduction over the groups, an atomic
  std::vector<Step> body;
  std::shared_ptr<const StagedLoop> staged;  ///< of a loop with stages
};

/// A loop with stages, range by range.
struct StagedLoop {
  /// A name that an operation reads, and how many operations before it in the iteration's text gave it a value; 0: it comes from an
  /// earlier iteration, or from outside.
  struct Read {
    int slot = -1;
    int version = 0;
  };
  struct Let {
    const Step* step = nullptr;
    std::vector<Read> reads;
  };
  struct Operation {
    const Step* step = nullptr;
    int stage = 0, order = 0;
    std::vector<Let> lets;  ///< that it reads: made anew where it runs, of what they find in the text
    std::vector<Read> reads;
    std::vector<Read> writes;  ///< names, and which of their values it makes
  };
  struct Body {
    std::vector<Operation> operations;
    std::map<int, int> versions;  ///< how many operations give the name a value
  };
  std::vector<Body> bodies;  ///< one a range
  std::set<int> defined;     ///< names that some body gives a value
  std::set<int> carried;
  int last_stage = 0;
};

/// What the groups of one role run.
struct RoleCode {
  RoleCode(const kernel::Role& its_role, std::int64_t its_groups, Frame names)
      : role(&its_role), groups(static_cast<int>(its_groups)), frame(std::move(names)) {}
  const kernel::Role* role;
  int groups;
  Frame frame;  ///< as every group finds it
  int group_axis = -1;
  std::set<Symbol> own_buffers;  ///< that no other process uses
  std::vector<Step> steps;
};

/// Resolves the body of a role into its code.
class Resolver {
 public:
  Resolver(const kernel::Module& module, const kernel::Kernel& kernel, RoleCode& code);
  void run(const kernel::Module& module);

 private:
  std::vector<Step> block(const kernel::Block& block);
  Step statement(const kernel::Statement& statement);
  void assignment(Step& step, const std::vector<kernel::Access>& targets, const std::vector<Expr>& values);
  Step::Target target(Formula& formula, const kernel::Access& access);
  void channel(Step& step, const kernel::Access& access);
  void mark_together(Step& step, const kernel::Varying& varies, bool conditional);
  // loops with stages
  void stages(std::vector<Step>& steps);
  std::shared_ptr<const StagedLoop> staged(const Step& loop, const kernel::For& from);

  const kernel::Kernel& kernel_;
  RoleCode& code_;
  Frame& frame_;
  std::set<Symbol> places_;
};

}  // namespace fathom::interp::tiles
