// Internal to gpu: lowers one kernel. lower.cpp the module and flow; lower_roles.cpp roles, groups, work items and turns; lower_value.cpp
// statements on tiles; lower_expression.cpp single elements; lower_reduction.cpp registers, lanes and warps; lower_memory.cpp loads and
// stores; lower_channel.cpp slots and copies of threads; lower_box.cpp copies of the machine's copy engine; lower_trips.cpp and
// lower_pipeline.cpp loops with stages; lower_product.cpp, lower_fragment.cpp and lower_warpgroup.cpp products; lower_groups.cpp what
// groups do together; lower_fold.cpp states that are folded one after the other; lower_relayout.cpp values that move between lanes;
// lower_atomic.cpp atomics and what other workgroups and kernels have stored.
#pragma once

#include <functional>
#include <map>

#include "codegen/gpu/lower.hpp"
#include "codegen/gpu/register_index.hpp"
#include "ir/groups.hpp"
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
[[nodiscard]] std::int64_t extent_of(const std::vector<layout::Part>&);  ///< of the axis that they are
[[nodiscard]] Expr call_of(const char* function, std::vector<Expr> args);

/// Where a statement stands among the elements of its tiles.
struct Element {
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

/// States that are folded one after the other: those of groups, or of the indices of a range.
struct Fold {
  ReducerRef reducer;
  std::vector<Expr> values;  ///< of one state
  std::vector<Tile> to;
  std::vector<Type> types;
  layout::Layout widest;
  /// Merges two states of one element.
  std::function<void(const std::vector<Expr>& own, const std::vector<Expr>& other)> merge;
};

class KernelLowering {
 public:
  KernelLowering(const kernel::Module& module, const kernel::Kernel& kernel, const Target& target, ThreadModule& into);
  ThreadKernel run();

 private:
  // module, flow (lower.cpp)
  void parameters();
  void workgroups();
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

  // roles, groups, work items, turns (lower_roles.cpp)
  struct Process {  ///< the role that is lowered, as its groups run it
    const kernel::Role* role = nullptr;
    std::int64_t first_warp = 0, groups = 1, warps = 1;
    bool alone = true;        ///< the kernel's only process
    bool one_thread = false;  ///< nothing in it needs more
    int group_barrier = 0;    ///< number of the named barrier of group 0; 0: none yet
    int role_barrier = 0;     ///< of all groups; 0: none yet
  };
  void plan_processes();
  void set_up();
  void role(Process& process);
  void begin_item();
  void items_exist();
  void work_loop(const kernel::Block& body);
  void drawn_items(const kernel::Block& body, Symbol item, Expr lo, Expr hi);
  void lower_take(const kernel::Take& t);
  void lower_pass(const kernel::Pass& p);
  void wait_for_group();                    ///< all threads of the own group are here
  [[nodiscard]] Expr first_thread() const;  ///< of the own group; absent: there is only one
  [[nodiscard]] Expr thread_in_group() const;
  void once_a_group(const std::function<void()>& body);
  [[nodiscard]] const Process& process_of(Symbol role) const;
  [[nodiscard]] static std::int64_t arrivals_of(const Process& p) { return p.one_thread ? p.groups : p.groups * p.warps; }
  [[nodiscard]] Expr barrier(Symbol barriers, Expr number) const { return call_of("&", {fathom::read(barriers, {number})}); }
  // what groups do together (lower_groups.cpp)
  void wait_for_role();                                              ///< all threads of all groups are here
  [[nodiscard]] Expr group_zero() const;                             ///< absent: there is one group only
  [[nodiscard]] bool stores_once(const kernel::Statement& s) const;  ///< group 0, for all
  [[nodiscard]] bool parts_groups(const kernel::Statement& s) const;
  [[nodiscard]] bool done_once(const kernel::Statement& s) const;
  [[nodiscard]] bool changes_no_value(const kernel::Block& body) const;
  void lower_once(const kernel::Statement& s);
  void reduce_over_groups(const Fold& f, const std::string& like);
  [[nodiscard]] std::optional<layout::Digit> share_of_group(const Fold& f) const;
  [[nodiscard]] Symbol free_ring(std::int64_t bytes);
  // states that are folded one after the other (lower_fold.cpp)
  [[nodiscard]] Fold fold_of(const std::vector<kernel::Access>& targets, Expr e);
  [[nodiscard]] Expr fold_of_one(Expr e, const std::string& like);
  void fold(const Fold& f, Expr e, const std::string& like);
  void fold_in(const Fold& f, const std::function<Expr(std::size_t state, const Element&)>& other);
  void fold_over_range(const Fold& f, const Bound& range);
  void keeps_axes_apart(const Fold& f, const Reducer& reducer, const std::string& what) const;
  [[nodiscard]] static bool folds(Expr e);
  // values that move between lanes (lower_relayout.cpp)
  bool define_elsewhere(const kernel::Access& target, Expr value, Expr otherwise);
  void move_registers(const Tile& from, const Tile& to, layout::Conversion how);
  [[nodiscard]] Expr digit_at(const layout::Digit& wanted, const Element& at) const;
  [[nodiscard]] Typed register_of(const Tile& tile, const Element& at);
  [[nodiscard]] static bool transposes_pairs(const Tile& from, const Tile& to);
  // atomics, what others have stored (lower_atomic.cpp)
  void lower_atomic(const kernel::Atomic& a);
  void find_what_others_store();
  [[nodiscard]] bool reads_what_others_store(const kernel::Statement& s) const;
  [[nodiscard]] bool lets_read_what_others_store() const;
  void meet_other_kernels(const kernel::Statement& s);
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
  /// A loop over the registers; of the fastest digit `leave_fastest` elements are left to the body.
  void over_registers(const layout::Layout& layout, const Element& outer, const std::function<void(const Element&)>& body,
                      std::int64_t leave_fastest = 1);
  Expr place_in(const Tile& tile, const Element& at);
  [[nodiscard]] static bool is_array(const Tile& tile);
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
  struct Memory {
    Symbol name;
    DType dtype = DType::f32;
    std::vector<Expr> extents;
    bool global = true;
    Symbol tensor;        ///< the module's name of a global one
    bool panels = false;  ///< rows of 128 bytes, panel after panel
    bool fresh = false;   ///< other workgroups or kernels may have stored it while this one was there
  };
  // channels and copies (lower_channel.cpp)
  /// What a channel is in memory, for all roles.
  struct ChannelMemory {
    const kernel::Channel* channel = nullptr;
    std::int64_t depth = 1, elements = 0, rings = 1;  ///< elements of a slot; rings: one a group of the role that `each` names
    Symbol memory;
    bool between = false;  ///< roles; they wait for each other at barriers
    Symbol full, empty;    ///< barriers, one a slot
    bool panels = false;   ///< slots are panels of 128 bytes, as the copy engine and products of a warpgroup have them
  };
  /// One ring of a channel, as the role that is lowered sees it.
  struct Ring {
    ChannelMemory of;
    std::pair<Symbol, Expr> key;
    Expr number;                 ///< of the ring; absent: the only one
    Symbol filled, taken;        ///< counters of the items so far, where they are needed
    std::vector<Expr> slots;     ///< between roles: numbers of the slots that are held, oldest first
    bool copies = false;         ///< filled by copies, since its last acquire
    bool used = false;           ///< by what is lowered so far
    std::int64_t in_flight = 0;  ///< items that are acquired and not received
    std::int64_t held = 0;       ///< of a role to itself: slots that are received and not released
  };
  void declare_channels();
  void declare_buffers();
  void declare_rings(const kernel::Block& body);
  Ring& ring(const kernel::Access& channel);
  [[nodiscard]] std::pair<Symbol, Expr> ring_key(const kernel::Access& channel) const;
  void next_slot(Symbol slot, Ring& r, Symbol counter);
  void point_at(Symbol slot, Ring& r, Expr place);
  void next_slot_between(Symbol slot, Ring& r, Symbol counter, Symbol barriers, bool one_phase_ahead);
  Expr oldest_slot(Ring& r);
  static constexpr std::int64_t panel_bytes = 128;       ///< of a row of a panel
  static constexpr std::int64_t panel_alignment = 1024;  ///< eight rows, after which the exchange of chunks begins again
  [[nodiscard]] static bool whole_panels(const std::vector<Expr>& box, DType dtype);
  void lower_acquire(const kernel::Acquire& a, bool wait_first);
  void lower_publish(const kernel::Publish& p);
  void lower_receive(const kernel::Receive& a, std::int64_t younger);
  void lower_release(const kernel::Release& r);
  void lower_copy(const kernel::Copy& c);
  [[nodiscard]] static const char* copy_along(const kernel::Copy& c);
  // copies of boxes (lower_box.cpp)
  struct Box {
    Symbol map;
    std::vector<Expr> begin;  ///< of the box in the tensor, slowest first
    std::int64_t rows = 1, panels = 1, row_elements = 64;
    std::int64_t bytes = 0;
  };
  Box box_of(const Memory& tensor, const std::vector<Expr>& subscripts, const kernel::Access& panels, const std::string& what);
  static bool moves_one_by_one(Expr subscript, Expr axis);
  Expr place_of_panel(const Memory& m, const kernel::Access& access, const Box& box, std::int64_t panel);
  void lower_load_box(const kernel::Copy& c);
  void lower_store_box(const kernel::Copy& c);
  void lower_await(const kernel::Await& a);
  // loops with stages (lower_trips.cpp)
  struct Waits;
  void lower_staged(const kernel::For& f);
  // loops with two stages that compute (lower_pipeline.cpp)
  struct Item {
    const kernel::Statement* statement;
    kernel::At at;
  };
  static std::vector<Item> by_order(const std::vector<kernel::Placed>& body, int stage_from, int stage_to);
  static std::vector<const kernel::Statement*> of_stage(const std::vector<kernel::Placed>& body, int stage);
  void lower_pipelined(const kernel::For& f);
  static bool same_trips(const std::vector<kernel::Placed>& a, const std::vector<kernel::Placed>& b);
  static std::vector<Item> whens_by_order(const kernel::For& f);
  static bool tags_may_be_values(const kernel::For& f);
  void declare_handed_on(const std::vector<kernel::Placed>& body);
  std::vector<Expr> ends_of(const kernel::For& f);
  void trip(const kernel::For& f, const std::vector<Item>& items, Expr own, Expr before);
  [[nodiscard]] bool meets_other_roles(const kernel::Block& body) const;
  static void keeps_the_texts_order(const kernel::For& f, const std::vector<std::vector<kernel::Placed>>& bodies,
                                    const std::vector<const kernel::Statement*>& lets);
  Waits waits_in(const std::vector<const kernel::Statement*>& prologue, const std::vector<const kernel::Statement*>& trip, int stages);
  void placed_statement(const kernel::Statement& s, const Waits& waits);
  // products (lower_product.cpp)
  void lower_mma(const kernel::Mma& m);
  void lower_product_of_warpgroup(const kernel::Mma& m, const MatrixAtom& atom);  ///< lower_warpgroup.cpp
  void await_product(const kernel::Await& a);
  Expr descriptor(const kernel::Access& operand, Expr row, Expr column, bool rows_are_k);
  /// The coordinates of parts where a tile begins along an axis.
  static void begin_at(const std::vector<layout::Part>& parts, Expr start, std::map<Symbol, Expr>& begins);
  void unrolled_loop(const std::string& like, std::int64_t trips, const std::function<void(Expr)>& body);
  bool load_operand(const kernel::Value& v);
  Expr load_b(const kernel::Mma& m, const layout::Product& product, const MatrixAtom& atom, Expr nt, Expr kk, std::int64_t steps);
  Expr load_a(const kernel::Mma& m, const layout::Product& product, const MatrixAtom& atom, Expr mt, Expr step);
  void load_a_into(Expr registers, const kernel::Access& a, const layout::Product& product, const MatrixAtom& atom, Expr mt, Expr step);
  [[nodiscard]] Expr own_rows(const layout::Product& product, const MatrixAtom& atom, Expr mt) const;
  // operands by their fragments (lower_fragment.cpp)
  struct FragmentSource {  ///< where a tile of an operand begins along its axes, as subscripts of its slot
    Expr row_axis, row, step_axis, step;
  };
  Expr load_fragment(const kernel::Access& from, const FragmentSource& source, const Fragment& fragment, const char* like);
  struct Exchange {
    std::int64_t bit = 1;    ///< of the lane's number
    std::int64_t block = 1;  ///< registers of a lane that follow each other in the result
  };
  [[nodiscard]] std::optional<Exchange> exchange_between(const layout::Layout& from, const layout::Layout& to) const;
  bool gather_operand(const kernel::Value& v);
  /// Addresses are made where they are used: a wave of 32 has 256 registers a lane, and its operands are there twice.
  [[nodiscard]] bool keeps_no_addresses() const { return !target_.loads_matrices && target_.lanes <= 32; }
  Expr matrix_row(const kernel::Access& slot, Expr row_axis, Expr row, Expr column_axis, Expr column);
  [[nodiscard]] Expr fragment(const Tile& tile, const std::map<Symbol, Expr>& begins) const;
  [[nodiscard]] Expr subscript_of(const kernel::Access& access, const std::vector<layout::Part>& parts) const;
  [[nodiscard]] const kernel::Mma* product_with(Symbol atom) const;
  // memory (lower_memory.cpp)
  const Memory* memory(Symbol name) const;
  Typed load(Expr e, const Element& at);
  void fill_registers(const Tile& to, const Element& at, std::int64_t elements, Expr fill);
  bool load_vectors(const Tile& to, Expr value, Expr otherwise);
  bool store_vectors(const kernel::Access& target, Expr value, const layout::Layout& layout);
  Expr offset(const Memory& m, const std::vector<Expr>& subscripts, const Element& at);
  Expr offset_in_panels(const Memory& m, const std::vector<Expr>& subscripts, const Element& at);
  Expr inside_of(const Memory& m, const std::vector<Expr>& subscripts, const Element& at);
  [[nodiscard]] Expr without_lets(Expr e) const;
  [[nodiscard]] bool is_below(Expr e, Expr bound) const;
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
  std::vector<Process> processes_;
  Process* process_ = nullptr;  ///< that is lowered
  int named_barriers_ = 1;      ///< numbers given; 0 is that of the workgroup
  std::map<Symbol, int> turns_;
  std::map<Symbol, ChannelMemory> channels_;
  std::map<std::pair<Symbol, Expr>, Ring> rings_;
  std::map<Symbol, std::pair<Symbol, Expr>> slots_of_;  ///< the ring of each slot
  std::set<Symbol> stores_, loads_;                     ///< tokens of copies out of shared memory and into slots
  std::vector<Symbol> products_in_flight_;              ///< tokens, oldest first
  struct Drawn {                                        ///< work items that one thread draws and hands on
    Symbol numbers, ready, free;
  };
  std::optional<Drawn> drawn_;
  std::optional<kernel::Varying> varying_;      ///< in the role that is lowered
  int apart_ = 0;                               ///< conditions and loops around what is lowered that differ between groups
  bool by_one_group_ = false;                   ///< group 0 alone is here
  std::set<Symbol> others_store_;               ///< tensors that other workgroups or kernels store while this one is there
  std::set<Symbol> next_reads_;                 ///< tensors that a kernel behind waits for by itself
  bool waited_ = false, next_started_ = false;  ///< for kernels in front; for kernels behind
  Expr ahead_inside_;                           ///< the iteration whose loads are issued exists
  Expr fill_;                                   ///< what a load outside of its extents gives, in the statement that is lowered
  std::map<Symbol, Expr> lets_;                 ///< of the text: what a name is a multiple of
  std::set<Symbol> not_negative_;               ///< variables of the program
  std::map<Symbol, std::int64_t> most_;         ///< of variables: what they do not exceed
  int reductions_ = 0;
  int loops_ = 0;              ///< around what is lowered, the work loop aside
  int conditions_ = 0;         ///< likewise
  bool scratch_used_ = false;  ///< shared memory that a reduction across warps has used: the next one waits first
};

}  // namespace fathom::gpu
