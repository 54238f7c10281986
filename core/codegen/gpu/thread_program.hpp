// What one thread of a kernel does: registers, loops over them, branches, calls of helper functions. Made from Kernel ops alone, and the
// last form before text. Barriers, shuffles, phases and waits are calls here; nothing of this form goes back into the IR.
//
// Expressions are those of the IR. A symbol is a scalar variable, a read an element of an array in registers, shared or global memory, a
// call a helper function (helpers.hpp). Conversions stand in the expression: cast(f32, 2) is a literal, cast(f32, n) a conversion.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "ir/kernel.hpp"
#include "target/target.hpp"

namespace fathom::gpu {

/// `pair_…`: two numbers of 16 bits in one register, the one with the even index below. `barrier`: a counter of arrivals and bytes in
/// shared memory that threads and copies report to.
enum class Type : std::uint8_t { boolean, i32, i64, f32, f64, bf16, f16, pair_bf16, pair_f16, barrier };
[[nodiscard]] Type type_of(DType);  ///< how an element of this type lies in memory

struct Variable {
  Symbol name;
  Type type = Type::f32;
  std::vector<std::int64_t> extents;  ///< none: a scalar
};

struct ThreadStatement;
using ThreadBlock = std::vector<ThreadStatement>;

struct Declare {
  Variable variable;
  Expr initial;          ///< of a scalar; absent: set later
  bool pointer = false;  ///< to elements of the type
};
struct Assign {
  Expr place;
  Expr value;
};
struct Loop {
  Symbol variable;
  Expr lo, hi;
  bool unrolled = false;
  bool doubling = false;  ///< the variable doubles from trip to trip
  ThreadBlock body;
  bool rolled = false;  ///< stays a loop: trips that run together would need too many registers
};
struct While {
  Expr condition;
  ThreadBlock body;
};
struct Branch {
  Expr condition;
  ThreadBlock then, otherwise;
};
struct Do {  ///< a call for what it does
  Expr call;
};
struct Comment {
  std::string text;
};
struct ThreadStatement {
  std::variant<Declare, Assign, Loop, While, Branch, Do, Comment> op;
  const kernel::Statement* made_for = nullptr;  ///< of the module that it was lowered from
};

/// A function of the module's own: the combine of a reducer on two states.
struct ThreadFunction {
  Symbol name;
  std::vector<Variable> states;  ///< changed: the left state, which becomes the result
  std::vector<Variable> others;  ///< the right state
  ThreadBlock body;
  std::string comment;
};

struct ThreadParameter {
  Symbol original;  ///< the module's name
  Variable variable;
  bool pointer = false;
  bool constant = false;  ///< what it points to is not written
  bool alone = true;      ///< nobody else writes what it points to while the kernel is there
};
/// What the machine's copy engine has to know of a tensor: it moves boxes between the tensor and panels in shared memory, rows of 128 bytes
/// whose chunks of 16 bytes are exchanged (chunk ^ row % 8). What lies outside of the tensor arrives as 0 and is not stored.
struct TensorMap {
  Symbol name;    ///< of the kernel's parameter
  Symbol tensor;  ///< the module's name
  Type type = Type::bf16;
  std::vector<Expr> extents;      ///< of the tensor, slowest first, over dimensions and scalar parameters
  std::vector<std::int64_t> box;  ///< slowest first; a row of it is a row of a panel
};
/// Neighbouring warps that run one program: all groups of a role. Which of them a thread is in, the body asks by calls.
struct ThreadRole {
  Symbol name;
  std::int64_t first_warp = 0, groups = 1, warps = 1;  ///< warps of each group
  ThreadBlock body;
};
struct ThreadKernel {
  Symbol name;
  std::vector<ThreadParameter> parameters;
  std::vector<TensorMap> maps;
  std::int64_t threads = 32;
  Expr workgroups;                  ///< over dimensions and scalar parameters
  bool early = false;               ///< may be there before the kernel in front of it has ended; its threads wait for that by themselves
  bool alone_on_processor = false;  ///< its memory leaves no room for a second workgroup
  bool resident_only = false;       ///< at most as many workgroups as the machine holds at once: they take one work item after another
  std::vector<Variable> shared;
  /// Elements of shared memory that the launch reserves, one after the other.
  struct DynamicShared {
    Symbol name;
    Type type = Type::f32;
    std::int64_t elements = 0;
    std::int64_t alignment = 128;  ///< bytes
    Symbol alias = {};             ///< lies where that part lies
  };
  std::vector<DynamicShared> dynamic_shared;
  ThreadBlock setup;  ///< of all threads, before the roles
  std::vector<ThreadRole> roles;
};
[[nodiscard]] std::int64_t size_in_bytes(Type);
/// Where each part of the dynamic shared memory begins, and its size in all.
[[nodiscard]] std::vector<std::int64_t> dynamic_offsets(const ThreadKernel&, std::int64_t& bytes);
struct ThreadModule {
  std::int64_t lanes = 32;  ///< of a warp
  std::vector<ThreadFunction> functions;
  std::vector<MatrixAtom> products;  ///< asynchronous ones, each called by its name
  std::vector<ThreadKernel> kernels;
};

}  // namespace fathom::gpu
