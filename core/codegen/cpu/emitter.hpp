// One kernel of a module, emitted as an LLVM function that runs one work item. Tile values live in arrays of the worker's arena (each a
// noalias parameter), statements become loop nests, the best axis of each nest becomes vector lanes. Every access is proved inside its
// extents, guarded once a nest (fast path without masks) or masked an element: no text can make the code touch memory outside a tensor.
//   emit_access.cpp  places, addresses, loads and stores      emit_expr.cpp   expressions on an element or a vector of elements
//   emit_nest.cpp    loop nests of maps                       emit_reduce.cpp reductions
//   emit_mma.cpp     matrix atoms                             emit_kernel.cpp declarations and control flow
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cpu/launch.hpp"
#include "codegen/cpu/ops.hpp"
#include "ir/kernel.hpp"
#include "ir/kernel_lines.hpp"

namespace fathom::cpu {

/// Where elements lie: a tensor of the caller, a workspace, or an array of the arena.
struct Place {
  Symbol name;
  DType dtype = DType::f32;
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> extents, strides;  ///< i64; constants wherever they are known
  bool local = false;                          ///< of the arena: may be read past its end by a vector
  bool tile = false;                           ///< a tile value: stored only where something reads it
  bool drops_group = false;                    ///< declared `each role`: a leading group subscript is 0
};

/// A loop of a nest. A split axis appears as its parts.
struct NestAxis {
  Symbol name;
  llvm::Value* lo = nullptr;
  llvm::Value* hi = nullptr;
  std::optional<std::int64_t> extent;  ///< known: the range is 0:extent
};

/// One element of a nest, or one vector of elements along `vector_axis`.
struct Frame {
  std::map<Symbol, Val> index;
  std::map<Symbol, Val> symbols;  ///< carriers and parameters of a reducer
  Symbol vector_axis;
  int lanes = 1;
  llvm::Value* first = nullptr;                                  ///< index of lane 0 along the vector axis
  Val tail;                                                      ///< lanes in use; absent: all
  Val active;                                                    ///< `if`: elements that may change; absent: all
  std::span<const NestAxis> axes;                                ///< of the nest around it
  bool checked = true;                                           ///< test affine subscripts too: no guard covers them
  bool at_first = false;                                         ///< evaluate lane 0 only
  std::map<Symbol, std::pair<std::vector<Expr>, Val>> elements;  ///< values of this element that are in registers
  std::map<Expr, Val> given;                                     ///< reads whose value is known (transposed blocks)
  std::map<std::tuple<Expr, llvm::Value*, bool>, Val> memo;
  bool watch_inside = false;
  Val inside;  ///< with watch_inside: whether all reads so far were inside their extents
};

/// targets = values, elementwise over the axes of the targets.
struct Map {
  std::vector<kernel::Access> targets;
  std::vector<Expr> values;
  Expr otherwise;
  int line = 0;  ///< of its statement
};

/// targets[kept] = reducer over the reduced axes.
struct Reduction {
  std::vector<kernel::Access> targets;
  ReducerRef reducer;
  Symbol result;
  bool states = false;
  std::vector<NestAxis> kept, reduced;
  std::vector<Expr> values;
  Expr otherwise;
};

class KernelEmitter {
 public:
  /// Every instruction knows the line of the printed module that it is made for; `scope` is the LLVM function's entry for that.
  KernelEmitter(Ops& ops, const kernel::Module& module, const kernel::Kernel& kernel, const LaunchLayout& layout,
                const kernel::StatementLines& lines, llvm::DISubprogram* scope);
  /// Adds `name`(launch, work item, arena) to the LLVM module. Returns the bytes of arena that it needs; on failure see error().
  std::int64_t emit(const std::string& name);
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  // ---- emit_kernel.cpp ----
  void declare_launch(llvm::Value* launch);
  Place launch_place(std::size_t argument, llvm::Value* launch);
  void declare_kernel();
  void declare_axes();
  void infer_axis(Symbol name, Expr extent);
  void infer_axes(const kernel::Block&);
  void infer_axes(std::span<const Expr> subscripts, Symbol place);
  void emit_role(const kernel::Role&);
  void emit_block(const kernel::Block&);
  void come_from(int line);  ///< what is emitted from here on is of that line
  void emit_statement(const kernel::Statement&);
  void emit_for(const kernel::For&);
  void emit_when(llvm::Value* condition, const std::function<void()>& body);
  void emit_if(const kernel::If&);
  void emit_value(const kernel::Value&);
  void emit_await(const kernel::Await&);
  void finish_function(llvm::Function* draft, const std::string& name);
  Place allocate(Symbol name, DType, const std::vector<std::int64_t>& shape);
  void declare(const Place& place) { places_[{place.name, place.extents.size()}] = place; }

  // ---- emit_access.cpp ----
  struct Address {
    llvm::Value* pointer = nullptr;  ///< of lane 0
    llvm::Value* step = nullptr;     ///< elements from lane to lane; null: see offsets
    llvm::Value* offsets = nullptr;  ///< of each lane, in elements from the base
    Val ok;                          ///< inside the extents; absent: proved or guarded
  };
  /// A tile value may share its name with a tensor of another rank.
  [[nodiscard]] const Place* find_place(Symbol, std::size_t rank) const;
  [[nodiscard]] const Place* find_place(const kernel::Access& a) const { return find_place(a.name, a.subscripts.size()); }
  [[nodiscard]] bool may_overlap(const kernel::Access& a, const kernel::Access& b) const;  ///< not at the same subscripts
  [[nodiscard]] Symbol resolve(Symbol slot) const;
  std::vector<Expr> subscripts_of(const Place&, std::span<const Expr> subscripts);
  Expr untuple(Expr subscript);
  Address locate(const Place&, std::span<const Expr> subscripts, Frame&, Val mask);
  llvm::Value* element_pointer(const Place&, llvm::Value* offset);
  Val load(const Place&, std::span<const Expr> subscripts, Frame&, Val mask);
  Val load_from(const Address&, const Place&, int lanes, Val mask, bool varies);
  void store(const Place&, std::span<const Expr> subscripts, Frame&, Val value);
  llvm::Value* pointers(const Address&, const Place&, int lanes);
  Val vector_mask(Val mask, int lanes) { return ops_.splat(mask, lanes); }
  /// How the subscript moves when the axis advances by one; nullopt: not affine.
  std::optional<std::int64_t> coefficient(Expr subscript, Symbol axis) const;
  struct Range {
    Expr origin;                        ///< the subscript where all axes are 0
    std::int64_t below = 0, above = 0;  ///< how far the box reaches on either side
  };
  std::optional<Range> affine_range(Expr subscript, std::span<const NestAxis> axes) const;
  bool proved_inside(Expr subscript, llvm::Value* extent, std::span<const NestAxis> axes) const;
  /// The condition under which no affine access of the nest leaves its extents; null: nothing to test.
  llvm::Value* guard(std::span<const kernel::Access> accesses, std::span<const NestAxis> axes);
  std::vector<kernel::Access> accesses_in(std::span<const Expr> values) const;
  int access_cost(const kernel::Access&, Symbol axis, int gather) const;

  // ---- emit_expr.cpp ----
  Val eval(Expr, Frame&, Val mask = {});
  Val eval_uncached(Expr, Frame&, Val mask);
  Val eval_name(Expr, Frame&);
  Val eval_read(Expr, Frame&, Val mask);
  Val eval_index(Symbol, Frame&);
  Val eval_logical(Expr, Frame&, Val mask);
  Val eval_where(Expr, Frame&, Val mask);
  [[nodiscard]] bool reads_memory(Expr) const;
  /// With `else`: the value where the reads were inside, `otherwise` elsewhere.
  Val eval_or(Expr value, Expr otherwise, Frame&);
  Val scalar(Expr);  ///< uniform: no axis
  llvm::Value* scalar_integer(Expr);

  // ---- emit_nest.cpp ----
  void add_map(Map);
  void flush();
  bool joins_pending(const Map&, const std::vector<Symbol>& axes) const;
  void emit_maps(const std::vector<Map>&, const std::vector<NestAxis>& axes);
  void emit_map_elements(const std::vector<Map>&, Frame&);
  bool emit_transposed(const Map&, const std::vector<NestAxis>& axes, Symbol vector_axis);
  Symbol choose_vector_axis(std::span<const kernel::Access> loads, std::span<const kernel::Access> stores, std::span<const NestAxis> axes,
                            const std::set<Symbol>& allowed) const;
  void define_targets(const std::vector<kernel::Access>& targets);
  std::vector<Symbol> axes_of(std::span<const Expr> subscripts) const;
  std::vector<NestAxis> nest_axes(const std::vector<Symbol>& names);
  /// Loops over all axes but the vector axis, then its blocks of lanes; the body sees a complete frame.
  void loop_axes(std::span<const NestAxis> axes, Symbol vector_axis, Frame& frame, const std::function<void(Frame&)>& body);
  void loop_vector(const NestAxis& axis, Frame& frame, const std::function<void(Frame&)>& body);
  void loop(llvm::Value* lo, llvm::Value* hi, std::int64_t step, const std::function<void(llvm::Value*)>& body);
  void branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise);
  Val active_mask(Frame&);
  [[nodiscard]] int lanes_for(std::int64_t extent) const;

  // ---- emit_reduce.cpp ----
  /// Replaces every reduce inside by a temporary that is computed first.
  Expr hoist_reductions(Expr, const std::vector<Symbol>& axes, Expr otherwise);
  void emit_reduction(Reduction);
  std::vector<NestAxis> reduced_axes(Expr reduce);
  std::vector<Val> combine(const Reduction&, const std::vector<Val>& left, const std::vector<Val>& right);
  std::vector<Val> lift(const Reduction&, Frame&);
  std::vector<Val> identity(const Reduction&, int lanes);
  std::vector<Val> across_lanes(const Reduction&, std::vector<Val> state, int lanes);
  void finish_reduction(const Reduction&, const std::vector<Val>& state, Frame&);
  void reduce_elements(const Reduction&, Symbol vector_axis, bool checked);
  struct Accumulator;
  Accumulator start_accumulator(const Reduction&, int lanes, bool along_lanes);
  std::vector<Val> state_of(const Accumulator&);
  void accumulate(const Reduction&, const Accumulator&, Frame& element);
  std::vector<Val> reduce_in_chains(const Reduction&, const NestAxis& along, Frame&, int lanes, std::int64_t chains);
  std::vector<Kind> state_kinds(const Reduction&) const;

  // ---- emit_mma.cpp ----
  struct Operand {
    const Place* place = nullptr;
    std::vector<Expr> subscripts;
  };
  struct Product;
  void emit_mma(const kernel::Mma&);
  bool emit_matrix_atom(const kernel::Mma&, int rows, int columns);
  /// Sorts the axes into rows, columns, contracted and outer ones; false where the statement is no matrix product of local f32 values.
  bool sort_axes(const kernel::Mma&, Product&);
  bool fits_atom(const Product&);
  bool choose_columns(Product&);
  void clear_accumulator(const Product&, const Frame&);
  void emit_product(const Product&, const Frame&);
  struct Micro;
  void emit_micro(const Product&, llvm::Value* m0, int rows, llvm::Value* n0, int vectors, int tail, const Frame&);
  void accumulate_micro(const Product&, Micro&);
  void store_micro(const Product&, const Micro&);
  Val micro_mask(const Micro&, int v, int lanes);
  Val load_columns(const Operand&, llvm::Value* base, llvm::Value* step, int v, int lanes, Val mask);
  llvm::Value* step_from(const Operand&, llvm::Value* base, llvm::Value* offset);
  llvm::Value* times(llvm::Value* x, std::int64_t y) { return b_.CreateMul(x, ops_.i64(y)); }
  llvm::Value* operand_pointer(const Operand&, const Frame&);
  llvm::Value* stride_along(const Operand&, Symbol axis);
  void emit_contraction(const kernel::Mma&);

  // ---- failures ----
  Val fail(std::string message);

  Ops& ops_;
  llvm::IRBuilder<>& b_;
  const kernel::Module& m_;
  const kernel::Kernel& k_;
  const LaunchLayout& layout_;
  const kernel::StatementLines& lines_;
  llvm::DISubprogram* scope_;
  int line_ = 0;  ///< of the statement that is being emitted
  Kinds kinds_;
  std::map<Symbol, int> reads_;
  std::map<Symbol, Val> scalars_;                           ///< uniform names: lets, loop variables, tags, dimensions
  std::map<std::pair<Symbol, std::size_t>, Place> places_;  ///< by name and rank
  std::map<Symbol, Symbol> slots_;                          ///< slot -> channel
  std::map<Symbol, kernel::Access> tokens_;                 ///< of an mma: its accumulator
  std::map<Symbol, std::int64_t> extents_;                  ///< of axes and their parts
  struct Part {
    Symbol axis;
    std::int64_t stride = 1;
  };
  std::map<Symbol, Part> parts_;
  std::map<Symbol, std::vector<Symbol>> split_;                   ///< axis -> parts, slowest first
  std::vector<std::pair<llvm::Argument*, std::int64_t>> arrays_;  ///< placeholder, offset in the arena
  std::int64_t arena_bytes_ = 0;
  int temporaries_ = 0;
  std::vector<Map> pending_;
  std::vector<Symbol> pending_axes_;
  std::optional<kernel::Access> condition_;  ///< of the `if` around the present statement
  std::set<Symbol> conditional_;             ///< names that the `if` may change
  std::string error_;
};

[[nodiscard]] std::optional<std::int64_t> constant_of(llvm::Value*);

}  // namespace fathom::cpu
