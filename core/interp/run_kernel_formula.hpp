// Internal to the interpreter of kernels: expressions with their names resolved once a kernel, and their evaluation on tiles.
// `where` is lazy: a branch is evaluated under a mask, and an element that no mask lets through is never loaded, nor are its indices.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "interp/run_kernel_tile.hpp"
#include "ir/kernel.hpp"

namespace fathom::interp::tiles {

/// A tensor in memory: parameter, result, workspace, buffer or slot.
struct Memory {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  Data own;
  const Data* input = nullptr;  ///< a parameter's values stay where they are
  std::vector<bool> stored;     ///< of a result: each element is stored once; empty elsewhere
  [[nodiscard]] const Data& data() const { return input != nullptr ? *input : own; }
};

/// An asynchronous operation in flight (run_kernel_workgroup.hpp).
struct Token;

/// What a name stands for at the moment: a tile (`dims`: the axis of each subscript), a place in memory, a token, or nothing yet.
struct Binding {
  TileRef tile;
  std::vector<int> dims;
  Memory* memory = nullptr;
  std::shared_ptr<Token> token;
};
using Bindings = std::vector<Binding>;

struct AxisInfo {
  Symbol name;
  std::int64_t extent = 0;
  std::int64_t lo = 0;
  int whole = -1;           ///< a part: its axis
  std::int64_t stride = 1;  ///< a part: elements of the axis that one step skips
};

/// sum of multiples of axes and of uniform nodes, and a constant.
struct LinearIndex {
  std::vector<std::pair<int, std::int64_t>> axes;
  std::vector<std::pair<int, std::int64_t>> uniforms;
  std::int64_t constant = 0;
};
struct Subscript {
  std::optional<LinearIndex> linear;
  int node = -1;  ///< where it is not linear
  int bare = -1;  ///< the axis, where it is just that
};

struct ReducedAxis {
  int axis = -1;
  int lo = -1, hi = -1;  ///< nodes; -1: the axis as declared
};
struct CompiledReducer;
struct Node {
  Op op = Op::number;
  DType dtype = DType::real;
  Symbol name;
  std::vector<int> args;
  std::vector<int> axes;  ///< that it can vary with, sorted
  TileRef constant;
  int slot = -1;   ///< binding of a read, symbol or dimension
  int local = -1;  ///< parameter or carrier of a reducer
  int axis = -1;
  std::vector<Subscript> subscripts;
  std::vector<ReducedAxis> over;
  const CompiledReducer* reducer = nullptr;
  bool states = false;
  int result = 0;
  bool maskable = false;  ///< loads what may lie outside
};
struct Formula {
  std::vector<Node> nodes;
  std::vector<int> roots;
};

struct CompiledReducer {
  ReducerRef reducer;
  std::optional<Op> monoid;        ///< one carrier, folded by one operation and returned as it is
  Formula lift, combine, results;  ///< one root a carrier or result
  std::vector<TileRef> identity;
};

/// The names of one kernel and their present values.
class Frame {
 public:
  Frame(const kernel::Module& module, Budget& budget) : module_(&module), budget_(&budget) {}

  int slot(Symbol name);
  [[nodiscard]] const Symbol& name_of(int slot) const { return names_[static_cast<std::size_t>(slot)]; }
  Binding& binding(int slot) { return bindings_[static_cast<std::size_t>(slot)]; }
  void bind(Symbol name, TileRef tile) { binding(slot(name)) = {std::move(tile), {}, nullptr, nullptr}; }
  void bind(Symbol name, Memory* memory) { binding(slot(name)) = {nullptr, {}, memory, nullptr}; }
  [[nodiscard]] const Bindings& bindings() const { return bindings_; }
  void exchange(Bindings& others) { bindings_.swap(others); }

  int add_axis(const AxisInfo& info);
  void name_axis(Symbol name, int id) { axis_ids_[name] = id; }
  [[nodiscard]] std::optional<int> axis_named(Symbol name) const;
  AxisInfo& axis(int id) { return axes_[static_cast<std::size_t>(id)]; }
  TileRef iota(int axis);

  const CompiledReducer* reducer(Symbol name);
  Budget& budget() { return *budget_; }
  std::set<Symbol> memories;  ///< names that are places in memory wherever they are bound

 private:
  const kernel::Module* module_;
  Budget* budget_;
  std::map<Symbol, int> slots_;
  std::vector<Symbol> names_;
  Bindings bindings_;
  std::map<Symbol, int> axis_ids_;
  std::vector<AxisInfo> axes_;
  std::map<Symbol, CompiledReducer> reducers_;
};

/// Resolves expressions into the nodes of one formula; equal expressions are one node.
class FormulaBuilder {
 public:
  FormulaBuilder(Frame& frame, Formula& formula, const std::map<Symbol, int>* locals = nullptr)
      : frame_(frame), formula_(formula), locals_(locals) {
    scopes_.emplace_back();
  }
  int add(Expr expr);
  void root(Expr expr) { formula_.roots.push_back(add(expr)); }

 private:
  struct Scope {
    std::map<Expr, int> known;
    std::map<Symbol, int> axes;  ///< of reductions with a range of their own
  };
  int push(Expr expr, Node node);
  int leaf(Expr expr);
  int read(Expr expr);
  int reduction(Expr expr);
  Subscript subscript(Expr expr);
  std::optional<LinearIndex> linear(Expr expr);
  std::optional<LinearIndex> linear_sum(Expr expr);
  std::optional<LinearIndex> linear_tuple(Expr expr);
  int axis_of(Symbol name);
  void vary_with(Node& node, const std::vector<int>& axes);
  void vary_with(Node& node, const Subscript& subscript);
  Frame& frame_;
  Formula& formula_;
  const std::map<Symbol, int>* locals_;
  std::vector<Scope> scopes_;
};

/// A tensor to load from, whatever holds it.
struct View {
  const double* data = nullptr;
  Kind kind = Kind::f32;
  std::vector<std::int64_t> shape, strides;
};
/// The i of 0:count for which 0 <= first + i * step < extent: one stretch, lo and hi.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> stretch_inside(std::int64_t first, std::int64_t step, std::int64_t extent,
                                                                   std::int64_t count);
/// The next element of a box, the last axis fastest.
void next_position(std::vector<std::int64_t>& position, const std::vector<std::int64_t>& extents);

/// Evaluates the nodes of a formula once each (under each mask).
class Evaluation {
 public:
  Evaluation(Frame& frame, const Formula& formula, TileRef fill = nullptr, const std::vector<TileRef>* locals = nullptr)
      : frame_(frame), formula_(formula), fill_(std::move(fill)), locals_(locals), memo_(formula.nodes.size()) {}

  TileRef value(int node, const TileRef& mask = nullptr);
  /// From now on the node has this value.
  void preset(int node, TileRef value) { memo_[static_cast<std::size_t>(node)] = {{nullptr, std::move(value)}}; }
  std::vector<TileRef> states(int node, const TileRef& mask = nullptr);  ///< of a reduction

  /// Where the subscripts of a read point to, for loads and stores.
  struct Place {
    Shape shape;  ///< axes of the subscripts
    std::vector<std::optional<LinearIndex>> linear;
    std::vector<double> offsets;                   ///< of linear subscripts
    std::vector<TileRef> values;                   ///< of the others
    std::vector<std::vector<std::int64_t>> steps;  ///< by axis of the shape: of the subscript, or in the tile that holds it
    bool all_linear = true;
    [[nodiscard]] double at(std::size_t dimension, const std::vector<std::int64_t>& position) const;
    /// The subscripts of the first element, where all are linear and whole numbers: the others are whole steps away from it.
    [[nodiscard]] std::optional<std::vector<std::int64_t>> first_element() const;
  };
  Place place(const Node& node, const TileRef& mask);

 private:
  TileRef compute(const Node& node, const TileRef& mask);
  TileRef choose(const Node& node, const TileRef& mask);
  TileRef load(const Node& node, const TileRef& mask);
  TileRef load_box(const View& view, const Place& from, std::int64_t size);
  TileRef load_rows(const View& view, const Place& from, const std::vector<std::int64_t>& first, std::int64_t size);
  TileRef load_each(const Node& node, const View& view, const Place& from, std::int64_t size, const TileRef& mask);
  TileRef whole_tile(const Node& node, const Binding& binding) const;
  std::vector<TileRef> folded(const Node& node, const TileRef& mask);
  std::vector<TileRef> fold_states(const Node& node, std::vector<TileRef> values);
  TileRef fold_monoid(const Node& node, const TileRef& mask);
  void set_ranges(const Node& node);
  std::int64_t extent(const ReducedAxis& over) { return frame_.axis(over.axis).extent; }

  Frame& frame_;
  const Formula& formula_;
  TileRef fill_;
  const std::vector<TileRef>* locals_;
  std::vector<std::vector<std::pair<TileRef, TileRef>>> memo_;  ///< mask, value
};

/// An integer without axes; stops with `what` in the message otherwise.
[[nodiscard]] std::int64_t uniform_integer(const TileRef& tile, const std::string& what);

}  // namespace fathom::interp::tiles
