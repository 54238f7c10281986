// Tile and Kernel levels: one model (shared with every back end), two verifiers. A module is a list of kernels with workspaces between
// them and a launch contract. A kernel is work + roles + buffers + channels + turns; a role's body acts on whole tile values in
// index notation; thread ids do not exist. Phases, parities, arrival counts and fences are derived by code generation and never appear
// here. The Tile level is the subset without buffers, channels, turns, copies, atoms and stages, with one role. Text form: the grammar of
// docs/kernel.md.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/math.hpp"

namespace fathom::kernel {

/// A tensor, value, slot, buffer or workspace and its subscripts; a split axis is a tuple.
struct Access {
  Symbol name;
  std::vector<Expr> subscripts;
  friend bool operator==(const Access&, const Access&) = default;
};

/// `axis r = w:4, u:16`: r is the mixed-radix number (w,u), first part slowest. One part named like the axis: an unsplit axis.
struct AxisPart {
  Symbol name;
  Expr extent;
};
struct TileAxis {
  Symbol name;
  std::vector<AxisPart> parts;
};

enum class OperandRole : std::uint8_t { a, b, acc };
struct OperandLayout {  ///< `as qk.a`
  Symbol atom;
  OperandRole role = OperandRole::a;
};

// ---- values ----
/// `m[i], off[i] = e1, e2 [else e3] [as qk.a] [via(...)]`. A buffer, slot, workspace or result on the left is a store.
/// Right-hand sides are expressions in which reduce nodes may be the whole side: `l[i] = sum[j](p[i,j])`, `acc.states[w](m[w], l[w])`.
struct Value {
  std::vector<Access> targets;
  std::vector<Expr> values;  ///< one a target, or one reduce of a reducer with as many results as targets
  Expr otherwise;            ///< `else`: value outside the extents that are read; absent: reads must be inside
  std::optional<OperandLayout> layout;
  std::vector<Symbol> via;
};
struct Let {  ///< uniform scalar
  Symbol name;
  Expr value;
};
// ---- asynchronous ----
struct Copy {  ///< token = copy to <- from [else e] [via]
  Symbol token;
  Access to;
  Expr from;
  Expr otherwise;
  std::vector<Symbol> via;
};
struct Mma {  ///< token = mma atom: acc (= | +=) a * b
  Symbol token;
  Symbol atom;
  Access acc;
  bool accumulate = false;
  Access a, b;
};
struct Await {  ///< acc = await token | await token [.read]
  std::optional<Access> acc;
  Symbol token;
  bool source_only = false;
};
struct Atomic {  ///< n = atomic op place, value [release] [acquire]
  Symbol result;
  Symbol operation;
  Access place;
  Expr value;
  bool release = false;
  bool acquire = false;
};
// ---- channels and turns ----
struct TokenUse {
  Symbol token;
  bool source_only = false;
};
struct Acquire {
  Symbol slot;
  Access channel;
};
struct Receive {
  Symbol slot;
  Access channel;
};
struct Publish {
  Access channel;
  std::vector<TokenUse> after;
};
struct Release {
  Access channel;
  std::vector<TokenUse> after;
};
struct Take {
  Symbol turn;
};
struct Pass {
  Symbol turn;
};
// ---- flow ----
struct Carry {
  Access value;
  Expr initial;  ///< for: where it starts; if: absent
};
struct TaggedRange {
  Symbol tag;  ///< empty: the whole loop is one untagged range
  Expr lo, hi;
};
struct For {  ///< one loop over the concatenated ranges; tags are constants in the body
  Symbol variable;
  std::vector<TaggedRange> ranges;  ///< empty: `in work`
  bool through = false;             ///< `in work through`
  std::vector<Carry> carry;
  std::vector<struct Statement> body;
};
struct When {  ///< on tags and uniform values
  Expr condition;
  std::vector<struct Statement> body;
};
struct If {  ///< on a bool tile: the body acts on the parts where it holds
  Access condition;
  std::vector<Carry> carry;
  std::vector<struct Statement> body;
};

struct At {  ///< @stage.order
  int stage = 0;
  int order = 0;
};

struct Statement {
  std::variant<Value, Let, Copy, Mma, Await, Atomic, Acquire, Receive, Publish, Release, Take, Pass, For, When, If> op;
  std::optional<At> at;
  Origins origins;
};
using Block = std::vector<Statement>;

// ---- declarations ----
enum class WorkSource : std::uint8_t { grid, persistent, dynamic };
struct Work {
  Symbol variable;
  Expr lo, hi;
  WorkSource source = WorkSource::grid;
  Expr resident;   ///< persistent: how many workgroups
  Symbol counter;  ///< dynamic: a workspace
};
struct AtomUse {
  Symbol name;
  Symbol atom;
};  ///< atom qk = fma_6x32_f32: a row of the target's table
struct Buffer {
  Symbol name;
  Symbol each;  ///< a role, or empty
  DType dtype = DType::f32;
  std::vector<Expr> box;
  Symbol space;  ///< global, shared, register, cache, …
  std::vector<Symbol> alias;
};
struct Channel {
  Symbol name;
  Symbol each;
  DType dtype = DType::f32;
  std::vector<Expr> box;
  Expr depth;
  Symbol from, to;
};
struct Turn {
  Symbol name;
  Symbol over;
};
struct Role {
  Symbol name;
  Expr groups;  ///< absent: 1
  Expr warps;
  Expr registers;    ///< absent: the target's default
  Symbol partition;  ///< axis, or empty
  Symbol combine;    ///< reducer, or empty
  Block body;
};
struct Kernel {
  Symbol name;
  Expr when;     ///< launch condition, or absent
  Symbol after;  ///< kernel, or empty
  bool early = false;
  Work work;
  std::vector<TileAxis> axes;
  std::vector<AtomUse> atoms;
  std::vector<Let> lets;  ///< uniform, over work variable, dims and params
  std::vector<Buffer> buffers;
  std::vector<Channel> channels;
  std::vector<Turn> turns;
  std::vector<Role> roles;
};
struct Require {
  Expr condition;
  Symbol otherwise;
};  ///< launch contract: the plan that serves when it fails
struct Workspace {
  Symbol name;
  DType dtype = DType::f32;
  std::vector<Expr> box;
  bool zero = false;
};
struct Module {
  Symbol name;
  std::vector<math::Dimension> dims;  ///< fixed ones are folded into constants by lowering; run-time ones are launch arguments
  std::vector<math::Parameter> params;
  std::vector<math::Parameter> results;
  std::vector<Require> requires_;
  std::vector<Let> lets;
  std::vector<Workspace> workspaces;
  std::vector<ReducerRef> reducers;
  std::vector<Kernel> kernels;
};

// ---- verification and text ----
/// The Tile subset: one role, values, let, for, when; every read tile defined on every path; carried values updated; results stored once.
[[nodiscard]] Result<void> verify_tile(const Module&);
/// The Kernel level. Names, axes and ranks; every value defined on every path, in every range of tags; each channel filled by its producer
/// and handed over whole; nothing read before it has landed, nothing reused before its last reader, the await of an asynchronous one; the
/// law of stages; no cyclic wait and equal counts, by running the channels alone.
[[nodiscard]] Result<void> verify(const Module&);
/// What the verifier asks of a target.
struct KnownAtom {
  Symbol name;
  bool asynchronous = false;
  bool quiet_operands = false;  ///< no operand in registers is written while an atom with this flag is in flight
  int issuing_lanes = 1;
};
struct KnownMachine {
  int lanes = 1;  ///< of a warp
  std::vector<KnownAtom> atoms;
};
/// Also: every atom is a row of the table, none is issued by more lanes than a condition around it leaves, operands are quiet where they
/// have to be.
[[nodiscard]] Result<void> verify(const Module&, const KnownMachine&);
/// Also: only what a back end of one thread a workgroup has. One role of one group, values, synchronous atoms, self-channels of depth 1
/// filled by stores; anything else is refused by name.
[[nodiscard]] Result<void> verify_sequential(const Module&);
[[nodiscard]] Result<void> verify_sequential(const Module&, const KnownMachine&);
[[nodiscard]] std::string print(const Module&);
[[nodiscard]] std::string print(const Statement&, int indent = 0);

/// Is it a reduction over the groups of its role, `r.states[g](…)`? All of them make it together.
[[nodiscard]] bool reduces_over_groups(Expr);
/// Extent of a tile axis: the product of its parts.
[[nodiscard]] Expr extent(const TileAxis&);
[[nodiscard]] const TileAxis* find_axis(const Kernel&, Symbol);

/// Renames every kernel-local name to v0, v1, … in order of first definition and sorts independent statements and kernels: two modules
/// that print equal after this are the same plan. Parameters and results keep their names.
[[nodiscard]] Module canonical(const Module&);

}  // namespace fathom::kernel
