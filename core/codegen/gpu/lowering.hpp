// Internal to gpu: lowers one kernel. lower.cpp the module, roles and flow; lower_value.cpp statements on tiles; lower_expression.cpp
// single elements; lower_reduction.cpp registers, lanes and warps; lower_memory.cpp loads and stores.
#pragma once

#include <functional>
#include <map>

#include "codegen/gpu/lower.hpp"
#include "ir/kernel_kinds.hpp"
#include "ir/trips.hpp"
#include "layout/assign.hpp"

namespace fathom::gpu {

/// Leaves the lowering from any depth; caught where it began.
struct Refused {
  Refusal why;
};
[[noreturn]] void refused(std::string reason, std::vector<std::string> nodes = {}, std::string hint = {});

/// Names of the text as names of the language; each once.
class CNames {
 public:
  explicit CNames(const std::set<std::string>& taken) : taken_(taken) {}
  Symbol of(Symbol name);                 ///< the same for the same name
  Symbol fresh(const std::string& like);  ///< another one each time
  void release(Symbol name) { taken_.erase(name.text()); }

 private:
  Symbol free_name(const std::string& like);
  std::set<std::string> taken_;
  std::map<Symbol, Symbol> known_;
};

/// An element's expression and what it is.
struct Typed {
  Expr expr;
  Type type = Type::f32;
};
[[nodiscard]] bool is_float(Type);
[[nodiscard]] bool is_integer(Type);
[[nodiscard]] Type join(Type, Type);
[[nodiscard]] Typed converted(Typed, Type to);
[[nodiscard]] Expr call_of(const char* function, std::vector<Expr> args);

/// Where a statement stands among the elements of its tiles: a loop variable for each digit of the registers.
struct Element {
  struct RegisterDigit {
    Expr value;
    std::int64_t stride = 1, extent = 1;
  };
  std::map<Symbol, std::vector<RegisterDigit>> registers;  ///< by part
  std::map<Expr, Expr> axes;                               ///< coordinates along whole axes that are given, by subscript
  layout::Layout layout;
};

/// A tile in registers.
struct Tile {
  Symbol name;
  Type type = Type::f32;
  layout::Layout layout;
  bool pairs = false;  ///< its fastest register digit is stored two to a register
};

class KernelLowering {
 public:
  KernelLowering(const kernel::Module& module, const kernel::Kernel& kernel, const Target& target, ThreadModule& into);
  ThreadKernel run();

 private:
  // module, roles, flow (lower.cpp)
  void parameters();
  void role(const kernel::Role& role);
  void block(const kernel::Block& body);
  void statement(const kernel::Statement& s);
  void lower_statement(const kernel::Statement& s);
  void lower_let(const kernel::Let& l) { lower_let_as(l, names_.of(l.name)); }
  void lower_let_as(const kernel::Let& l, Symbol name);
  void lower_if(const kernel::If& i);
  void lower_for(const kernel::For& f);
  void range_loop(const kernel::For& f, std::size_t range, const std::function<void()>& body);  ///< the trips of one range
  void lower_when(const kernel::When& w);
  void emit(ThreadStatement s) {
    if (s.made_for == nullptr) s.made_for = present_;
    block_->push_back(std::move(s));
  }
  Symbol scalar(const std::string& like, Typed value);    ///< a new variable
  ThreadBlock inside(const std::function<void()>& body);  ///< what `body` emits

  // statements on tiles (lower_value.cpp)
  void lower_value(const kernel::Value& v);
  void define(const kernel::Access& target, Expr value, Expr otherwise);
  void store(const kernel::Access& target, Expr value);
  Tile& tile(Symbol name, const layout::Layout& layout, Type type);
  Type type_of_value(Expr value);
  bool define_reduction(const kernel::Access& target, Expr value);
  [[nodiscard]] Type stored_type(Symbol name, Type of_value) const;
  [[nodiscard]] bool pairs(const layout::Layout& layout, Type type) const;
  Expr paired(Type type, Typed low, Typed high);
  [[nodiscard]] Expr one_of_equals(const layout::Layout& layout) const;
  /// A loop for each digit of the registers; of the fastest `leave_fastest` elements are left to the body.
  void over_registers(const layout::Layout& layout, const Element& outer, const std::function<void(const Element&)>& body,
                      std::int64_t leave_fastest = 1);
  Expr place_in(const Tile& tile, const Element& at);
  std::vector<Symbol> parts_of(const std::vector<Expr>& subscripts) const;
  // elements (lower_expression.cpp)
  Typed element(Expr e, const Element& at);
  Typed read_tile(const Tile& tile, Expr e, const Element& at);
  Typed function(Expr e, const Element& at);
  Expr coordinate(Symbol part, const Element& at) const;
  Expr coordinate_of_axis(Expr subscript, const Element& at) const;
  Expr register_coordinate(Symbol part, const Element& at) const;
  Typed index_expression(Expr e, const Element& at);
  [[nodiscard]] bool not_negative(Expr e) const;
  // reductions (lower_reduction.cpp)
  struct Reduction {
    ReducerRef reducer;
    bool states = false;
    std::vector<Expr> values;
    std::set<Symbol> gone;        ///< parts that are reduced
    layout::Layout layout, kept;  ///< of the values, of the result
    layout::Layout inner;         ///< registers that are reduced
  };
  using Merge = std::function<void(const std::vector<Expr>& own, const std::vector<Expr>& other)>;
  Expr without_reductions(Expr e);
  static bool free_of_reductions(Expr e);
  Reduction reduction_of(Expr e);
  Expr reduced(Expr e, const std::string& like);
  [[nodiscard]] layout::Layout spread_layout(const Reduction& r) const;
  void over_lanes(const layout::Digit& digit, const std::function<void(Expr bit)>& body);
  void reduce_states(const std::vector<kernel::Access>& targets, Expr e);
  void states_of_lanes(const std::vector<Expr>& own, const std::vector<Type>& types, Expr bit, const Merge& merge);
  void across_warps(const std::vector<Tile>& tiles, const std::vector<layout::Digit>& digits, const Merge& merge);
  Symbol combine_function(const ReducerRef& reducer, const std::vector<Type>& types);
  Typed typed_at_zero(Expr value);
  Tile scalar_tile(Symbol name, const std::string& like, Type type);
  Tile named_tile(Symbol name, const std::string& like, const layout::Layout& layout, Type type);
  // channels and copies (lower_channel.cpp)
  struct Ring {
    const kernel::Channel* channel = nullptr;
    std::int64_t depth = 1, elements = 0;  ///< of a slot
    Symbol memory, filled, taken;          ///< counters where there are several slots
    bool copies = false;                   ///< filled by copies, since its last acquire
    bool used = false;                     ///< by what is lowered so far
    std::int64_t in_flight = 0;            ///< items that are acquired and not received
  };
  void declare_channels();
  Ring& ring(const kernel::Access& channel);
  void next_slot(Symbol slot, Ring& r, Symbol counter);
  void lower_acquire(const kernel::Acquire& a, bool wait_first);
  void lower_publish(const kernel::Publish& p);
  void lower_receive(const kernel::Receive& a, std::int64_t younger);
  void lower_copy(const kernel::Copy& c);
  // loops with stages (lower_trips.cpp)
  struct Waits;
  void lower_staged(const kernel::For& f);
  static void keeps_the_texts_order(const kernel::For& f, const std::vector<std::vector<kernel::Placed>>& bodies,
                                    const std::vector<const kernel::Statement*>& lets);
  Waits waits_in(const std::vector<const kernel::Statement*>& prologue, const std::vector<const kernel::Statement*>& trip, int stages);
  void placed_statement(const kernel::Statement& s, const Waits& waits);
  // products (lower_product.cpp)
  void lower_mma(const kernel::Mma& m);
  bool load_operand(const kernel::Value& v);
  Expr load_b(const kernel::Mma& m, const layout::Product& product, const MatrixAtom& atom, Expr nt, Expr kk, std::int64_t steps);
  Expr load_a(const kernel::Mma& m, const layout::Product& product, const MatrixAtom& atom, Expr mt, Expr step);
  void load_a_into(Expr registers, const kernel::Access& a, const layout::Product& product, const MatrixAtom& atom, Expr mt, Expr step);
  Expr matrix_row(const kernel::Access& slot, Expr row_axis, Expr row, Expr column_axis, Expr column);
  [[nodiscard]] Expr fragment(const Tile& tile, const std::map<Symbol, Expr>& begins) const;
  [[nodiscard]] Expr subscript_of(const kernel::Access& access, const std::vector<layout::Part>& parts) const;
  [[nodiscard]] const kernel::Mma* product_with(Symbol atom) const;
  // memory (lower_memory.cpp)
  struct Memory {
    Symbol name;
    DType dtype = DType::f32;
    std::vector<Expr> extents;
    bool global = true;
    Symbol tensor;  ///< the module's name of a global one
  };
  const Memory* memory(Symbol name) const;
  Typed load(Expr e, const Element& at);
  void fill_registers(const Tile& to, const Element& at, std::int64_t elements, Expr fill);
  bool load_vectors(const Tile& to, Expr value, Expr otherwise);
  bool store_vectors(const kernel::Access& target, Expr value, const layout::Layout& layout);
  Expr offset(const Memory& m, const std::vector<Expr>& subscripts, const Element& at);
  Expr inside_of(const Memory& m, const std::vector<Expr>& subscripts, const Element& at);
  [[nodiscard]] bool whole_chunks(const Memory& source, const std::vector<Expr>& subscripts, Expr axis, std::int64_t elements) const;
  std::int64_t vector_elements(const Memory& m, const std::vector<Expr>& subscripts, const layout::Layout& layout) const;
  [[nodiscard]] std::int64_t multiple_of(Expr e) const;
  [[nodiscard]] bool aligned(Symbol tensor, std::int64_t bytes) const;

  const kernel::Module& module_;
  const kernel::Kernel& kernel_;
  const Target& target_;
  ThreadModule& into_;
  CNames names_;
  ThreadKernel result_;
  ThreadBlock* block_ = nullptr;
  const kernel::Statement* present_ = nullptr;  ///< that is lowered
  layout::Assignment layouts_;
  kernel::Kinds kinds_;
  std::map<Symbol, Memory> memories_;
  std::map<Symbol, Tile> tiles_;
  std::map<Symbol, Typed> scalars_;
  std::map<Symbol, Ring> rings_;
  std::map<Symbol, Symbol> slots_of_;  ///< the channel of each slot
  Expr ahead_inside_;                  ///< the iteration whose loads are issued exists
  Expr fill_;                          ///< what a load outside of its extents gives, in the statement that is lowered
  std::map<Symbol, Expr> lets_;        ///< of the text: what a name is a multiple of
  std::set<Symbol> not_negative_;      ///< variables of the program
  int reductions_ = 0;
  int loops_ = 0;              ///< around what is lowered, the work loop aside
  bool scratch_used_ = false;  ///< shared memory that a reduction across warps has used: the next one waits first
};

}  // namespace fathom::gpu
