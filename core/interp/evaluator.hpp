// Evaluates expressions array-wise: each distinct node once over the box of the indices it varies with. `D` is the arithmetic
// (Single: a run; Bounding: the reference). Everything is pure, so both branches of a `where` are computed and the branch not taken leaves
// neither value nor flag; a read outside its tensor is the flag `invalid`, an error only where a result would show it.
// Expressions must be elaborated (elaborate.hpp): no calls, no open ranges.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "interp/column.hpp"
#include "ir/math.hpp"

namespace fathom::interp {

template <class D>
class Evaluator {
 public:
  using Value = typename D::Value;
  using Col = Column<Value>;
  using Ref = std::shared_ptr<const Col>;
  using Lookup = std::function<const Tensor<Value>*(Symbol)>;
  /// Meaning of a symbol, or of a read of a name that is no tensor (a gauge with subscripts); nullptr for an unknown one.
  using Meaning = std::function<Ref(Evaluator&, Expr)>;

  struct Slot {
    Symbol index;
    std::int64_t lo = 0;
    std::int64_t extent = 0;
    std::size_t level = 0;
  };

  Evaluator(const D& domain, const math::Program& program, const DimValues& dims, Lookup lookup, std::int64_t& work_left);

  [[nodiscard]] const D& domain() const { return domain_; }
  [[nodiscard]] const math::Program& program() const { return *program_; }
  [[nodiscard]] const std::optional<Refusal>& failure() const { return failure_; }
  [[nodiscard]] const std::vector<Slot>& slots() const { return slots_; }
  void set_meaning(Meaning meaning) { meaning_ = std::move(meaning); }

  /// Indices are added and dropped like a stack; a level holds what depends on its slots.
  int push_slot(Symbol index, std::int64_t lo, std::int64_t extent);
  void set_slot(int slot, std::int64_t lo, std::int64_t extent);
  void pop_slots(std::size_t count);
  void push_level() { levels_.emplace_back(); }
  void pop_level() { levels_.pop_back(); }
  void clear_level() { levels_.back().clear(); }

  [[nodiscard]] Ref evaluate(Expr expr);
  /// With symbols bound to columns (carriers of a combine).
  [[nodiscard]] Ref evaluate_with(Expr expr, const std::map<Symbol, Ref>& bindings);

  /// The column as one of another kind.
  [[nodiscard]] Ref as_kind(const Ref& column, Kind kind) const;
  /// Kind of a real operation on the column.
  [[nodiscard]] static Kind real_kind(const Col& column);
  [[nodiscard]] Ref select(const Ref& condition, const Ref& then, const Ref& otherwise, std::uint8_t then_mark = 0,
                           std::uint8_t otherwise_mark = 0);
  [[nodiscard]] Ref binary(Op op, const Ref& a, const Ref& b);
  [[nodiscard]] Ref cast_to(DType type, const Ref& column);

  struct Shape {
    std::vector<int> axes;
    std::vector<std::int64_t> extents;
    [[nodiscard]] std::size_t size() const;
  };
  [[nodiscard]] Shape common_shape(std::initializer_list<const Col*> columns) const;
  [[nodiscard]] Shape shape_of_axes(std::vector<int> axes) const;
  /// A column of that kind, an element for every point of the shape.
  static std::shared_ptr<Col> column_over(Kind kind, const Shape& shape) {
    auto column = std::make_shared<Col>();
    column->kind = kind;
    column->axes = shape.axes;
    column->resize(shape.size());
    return column;
  }
  [[nodiscard]] std::vector<std::int64_t> strides(const Col& column, const std::vector<int>& axes) const;
  /// Accounts for n elements; false (and a failure) when the limit is passed.
  bool spend(std::size_t n);
  Ref fail(std::string reason, std::vector<std::string> nodes = {}, std::string hint = {});
  [[nodiscard]] Ref constant(Kind kind, std::int64_t whole, double real) const;

 private:
  Ref compute(Expr expr);
  Ref index_column(Symbol name);
  Ref unary(Op op, const Ref& a);
  Ref discrete_binary(Op op, const Ref& a, const Ref& b);
  Ref real_binary(Op op, Kind kind, const Ref& a, const Ref& b);
  Ref comparison(Op op, const Ref& a, const Ref& b);
  Ref logical(Op op, const Ref& a, const Ref& b);
  Ref logical_not(const Ref& a);
  Ref read(Expr expr);
  Ref read_box(const Tensor<Value>& tensor, Expr expr);
  Ref random(Expr expr);
  [[nodiscard]] std::size_t level_of(const Col& column) const;

  D domain_;
  const math::Program* program_;
  const DimValues* dims_;
  Lookup lookup_;
  Meaning meaning_;
  std::int64_t* work_left_;
  std::vector<Slot> slots_;
  std::vector<std::unordered_map<const ExprNode*, Ref>> levels_;
  std::vector<const std::map<Symbol, Ref>*> bindings_;
  std::optional<Refusal> failure_;
};

/// Partial states of a reduction over `bounds`: one column a component, over the evaluator's present slots.
template <class D>
std::vector<typename Evaluator<D>::Ref> fold(Evaluator<D>& evaluator, const std::vector<Bound>& bounds, const Reducer& reducer,
                                             const std::vector<Expr>& values);
/// left • right, component by component.
template <class D>
std::vector<typename Evaluator<D>::Ref> combine(Evaluator<D>& evaluator, const Reducer& reducer,
                                                const std::vector<typename Evaluator<D>::Ref>& left,
                                                const std::vector<typename Evaluator<D>::Ref>& right);
template <class D>
std::vector<typename Evaluator<D>::Ref> identity(Evaluator<D>& evaluator, const Reducer& reducer);
template <class D>
typename Evaluator<D>::Ref project(Evaluator<D>& evaluator, const Reducer& reducer, Symbol result,
                                   const std::vector<typename Evaluator<D>::Ref>& states);

}  // namespace fathom::interp
