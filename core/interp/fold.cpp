// Reductions: states of a Reducer folded over index ranges, in index order. Ranges may depend on outer indices and on tensors: the box is
// their hull and a condition keeps each point to its own range. Long ranges are taken in blocks, so that memory stays bounded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "interp/approx.hpp"
#include "interp/evaluator.hpp"
#include "interp/single.hpp"

namespace fathom::interp {
namespace {

constexpr std::int64_t block_points = std::int64_t{1} << 16U;
constexpr std::int64_t product_points = std::int64_t{1} << 22U;  // of sums of products: below the limit of one column
constexpr std::int64_t range_limit = std::int64_t{1} << 40U;

/// Folds one reduction. Lives for one call of `fold`.
template <class D>
class Fold {
 public:
  using Value = typename D::Value;
  using Col = Column<Value>;
  using Ref = std::shared_ptr<const Col>;
  using Shape = typename Evaluator<D>::Shape;

  Fold(Evaluator<D>& evaluator, const std::vector<Bound>& bounds, const Reducer& reducer, const std::vector<Expr>& values)
      : evaluator_(evaluator), bounds_(bounds), reducer_(reducer), operation_(monoid_operation(reducer)) {
    for (const Component& component : reducer.state) terms_.push_back(lifted(component, values));
  }

  std::vector<Ref> run() {
    outer_slots_ = static_cast<int>(evaluator_.slots().size());
    evaluator_.push_level();
    const bool some = open_ranges() && extent_product() > 0;
    if (some && !evaluator_.failure()) blocks();
    evaluator_.pop_slots(evaluator_.slots().size() - static_cast<std::size_t>(outer_slots_));
    evaluator_.pop_level();
    if (!some || evaluator_.failure()) return identity<D>(evaluator_, reducer_);
    if (operation_) return {finish_monoid()};
    return state_;
  }

 private:
  /// One element as a state; mostly it is the element itself.
  [[nodiscard]] Expr lifted(const Component& component, const std::vector<Expr>& values) const {
    Substitution by;
    for (std::size_t i = 0; i < reducer_.parameters.size() && i < values.size(); ++i) {
      if (component.lift.is(Op::symbol) && component.lift.name() == reducer_.parameters[i]) return values[i];
      by[symbol(reducer_.parameters[i])] = values[i];
    }
    return substitute(component.lift, by);
  }

  bool open_ranges() {
    for (const Bound& bound : bounds_) {
      if (!bound.lo || !bound.hi) return !evaluator_.fail(fmt::format("Index `{}` has no range.", bound.index.text()));
      const Ref lo = evaluator_.as_kind(evaluator_.evaluate(bound.lo), Kind::integer);
      const Ref hi = evaluator_.as_kind(evaluator_.evaluate(bound.hi), Kind::integer);
      if (evaluator_.failure()) return false;
      if (lo->whole.empty() || hi->whole.empty()) return false;
      const std::int64_t first = *std::min_element(lo->whole.begin(), lo->whole.end());
      const std::int64_t last = *std::max_element(hi->whole.begin(), hi->whole.end());
      if (std::abs(first) > range_limit || std::abs(last) > range_limit)
        return !evaluator_.fail(fmt::format("The range of index `{}` is too large.", bound.index.text()));
      slots_.push_back(evaluator_.push_slot(bound.index, first, std::max<std::int64_t>(last - first, 0)));
      extents_.push_back(std::max<std::int64_t>(last - first, 0));
      first_.push_back(first);
      const bool ragged = lo->whole.size() != 1 || hi->whole.size() != 1;
      if (!ragged) continue;
      const Expr own = binary(Op::logical_and, binary(Op::le, bound.lo, index(bound.index)), binary(Op::lt, index(bound.index), bound.hi));
      condition_ = condition_ ? binary(Op::logical_and, condition_, own) : own;
    }
    return true;
  }

  [[nodiscard]] std::int64_t extent_product() const {
    std::int64_t product = 1;
    for (const std::int64_t e : extents_)
      if (e == 0 || __builtin_mul_overflow(product, e, &product)) return 0;
    return product;
  }

  /// Points of the present slots that the expressions vary with; of more than `enough` it only says that they are more.
  [[nodiscard]] std::int64_t outer_points(const std::vector<Expr>& exprs, std::int64_t enough = block_points) const {
    std::set<Symbol> used;
    for (const Expr expr : exprs) used.merge(free_indices(expr));
    std::int64_t points = 1;
    for (int k = 0; k < outer_slots_; ++k) {
      const auto& slot = evaluator_.slots()[static_cast<std::size_t>(k)];
      if (slot.extent > 0 && points < enough && used.contains(slot.index)) points *= slot.extent;
    }
    return points;
  }

  /// Elements of the first bound index that one block takes. A sum of products makes columns of its factors, none of the products.
  [[nodiscard]] std::int64_t block_size() const {
    if (slots_.empty()) return 1;
    const std::int64_t inner = std::max<std::int64_t>(extent_product() / extents_[0], 1);
    const auto fitting = [&](std::int64_t limit, std::int64_t points) { return limit / points / inner; };
    std::int64_t size = fitting(block_points, outer_points(terms_));
    if (sums_products_) {
      const std::int64_t factors = std::max(outer_points({terms_[0].arg(0)}), outer_points({terms_[0].arg(1)}));
      size = std::min(fitting(block_points, factors), fitting(product_points, outer_points(terms_, product_points)));
    }
    return std::clamp<std::int64_t>(size, 1, extents_[0]);
  }

  void blocks() {
    sums_products_ = operation_ && *operation_ == Op::add && !condition_ && terms_.front().is(Op::mul);
    const std::int64_t extent = slots_.empty() ? 1 : extents_[0];
    std::int64_t size = block_size();
    for (std::int64_t at = 0; at < extent && !evaluator_.failure();) {
      const std::int64_t count = std::min(size, extent - at);
      if (!slots_.empty()) evaluator_.set_slot(slots_[0], first_[0] + at, count);
      evaluator_.clear_level();
      if (sums_products_ && !add_products()) {  // products of whole numbers: columns of them, in smaller blocks
        sums_products_ = false;
        size = block_size();
        continue;
      }
      if (!sums_products_) block();
      started_ = true;
      at += count;
    }
    if (!slots_.empty()) evaluator_.set_slot(slots_[0], first_[0], extents_[0]);
  }

  void block() {
    std::vector<Ref> columns;
    for (const Expr term : terms_) columns.push_back(evaluator_.evaluate(term));
    const Ref condition = condition_ ? evaluator_.evaluate(condition_) : evaluator_.constant(Kind::boolean, 1, 0);
    if (evaluator_.failure()) return;
    if (shape_.axes.empty() && !started_) set_shape(columns, *condition);
    if (operation_) {
      add_block(*columns[0], *condition);
    } else {
      combine_block(columns, *condition);
    }
  }

  void set_shape(const std::vector<Ref>& columns, const Col& condition) {
    Col all;
    for (const Ref& column : columns) all.axes = evaluator_.common_shape({&all, column.get(), &condition}).axes;
    std::vector<int> outer;
    for (const int axis : all.axes)
      if (axis < outer_slots_) outer.push_back(axis);
    shape_ = evaluator_.shape_of_axes(std::move(outer));
  }

  /// The block's grid: outer axes, then the bound ones.
  [[nodiscard]] Shape grid() const {
    std::vector<int> axes = shape_.axes;
    axes.insert(axes.end(), slots_.begin(), slots_.end());
    return evaluator_.shape_of_axes(std::move(axes));
  }

  /// f(outer point, offset in the first column, offset in the second), in index order.
  template <class F>
  void each_pair(const Col& column, const Col& condition, F f) {
    const Shape points = grid();
    if (!evaluator_.spend(points.size())) return;
    Col outer;
    outer.axes = shape_.axes;
    sweep<3>(points.extents,
             {evaluator_.strides(outer, points.axes), evaluator_.strides(column, points.axes), evaluator_.strides(condition, points.axes)},
             [&](std::size_t, const auto& at) {
               f(static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]), static_cast<std::size_t>(at[2]));
             });
  }

  // ---- reducers that are one operation ----
  void start_monoid(Kind kind) {
    const bool logical = *operation_ == Op::logical_and || *operation_ == Op::logical_or;
    const Kind given = is_discrete(kind) ? (logical ? Kind::boolean : Kind::integer) : kind;
    result_.kind = given == Kind::literal ? Kind::single : given;
    result_.axes = shape_.axes;
    const Ref neutral = identity<D>(evaluator_, reducer_)[0];
    // an infinite identity is not a whole number: extremes of whole numbers start from the first element
    const bool representable = !is_discrete(result_.kind) || is_discrete(neutral->kind);
    if (!representable) result_.kind = Kind::single;
    const Ref start = evaluator_.as_kind(neutral, result_.kind);
    if (is_discrete(result_.kind)) {
      result_.whole.assign(shape_.size(), start->whole[0]);
    } else if (*operation_ == Op::add) {
      std::vector<Symbol> indices;
      for (const Bound& bound : bounds_) indices.push_back(bound.index);
      sums_.assign(shape_.size(), evaluator_.domain().sum_over(indices));
    } else {
      result_.real.assign(shape_.size(), start->real[0]);
    }
  }

  /// The sum of a product of reals, without a column of products: contractions are most of the work. False where it is none.
  bool add_products() {
    const Ref left = evaluator_.evaluate(terms_.front().arg(0)), right = evaluator_.evaluate(terms_.front().arg(1));
    if (evaluator_.failure()) return true;
    const Kind kind = join(Evaluator<D>::real_kind(*left), Evaluator<D>::real_kind(*right));
    const bool whole = is_discrete(left->kind) && is_discrete(right->kind);
    if (whole || kind < Kind::single) return false;
    const Ref a = evaluator_.as_kind(left, kind), b = evaluator_.as_kind(right, kind);
    if (!started_) {
      set_shape({a, b}, Col{Kind::boolean, {}, {1}, {}, {}});
      start_monoid(kind);
    }
    const Shape points = grid();
    if (!evaluator_.spend(points.size()) || !evaluator_.spend(points.size())) return true;
    if (a->flags.empty() && b->flags.empty()) {
      add_rows(kind, points, *a, *b);
    } else {
      add_flagged(kind, points, *a, *b);
    }
    return true;
  }

  [[nodiscard]] std::array<std::vector<std::int64_t>, 3> strides_in(const Shape& points, const Col& a, const Col& b) const {
    Col outer;
    outer.axes = shape_.axes;
    return {evaluator_.strides(outer, points.axes), evaluator_.strides(a, points.axes), evaluator_.strides(b, points.axes)};
  }

  /// Row by row along the last bound index: all products of a row go to one sum.
  void add_rows(Kind kind, const Shape& points, const Col& a, const Col& b) {
    const D& domain = evaluator_.domain();
    std::array<std::vector<std::int64_t>, 3> strides = strides_in(points, a, b);
    std::vector<std::int64_t> extents = points.extents;
    std::int64_t count = 1, step_a = 0, step_b = 0;
    if (!slots_.empty()) {
      count = extents.back(), step_a = strides[1].back(), step_b = strides[2].back();
      extents.pop_back();
      for (auto& each : strides) each.pop_back();
    }
    const auto left = D::Sum::Factors::of(domain, a.real), right = D::Sum::Factors::of(domain, b.real);
    sweep<3>(extents, strides, [&](std::size_t, const auto& at) {
      std::uint8_t flags = 0;
      sums_[static_cast<std::size_t>(at[0])].add_products(domain, kind, left, {at[1], step_a}, right, {at[2], step_b}, count, flags);
      mark(static_cast<std::size_t>(at[0]), flags);
    });
  }

  void add_flagged(Kind kind, const Shape& points, const Col& a, const Col& b) {
    const D& domain = evaluator_.domain();
    sweep<3>(points.extents, strides_in(points, a, b), [&](std::size_t, const auto& at) {
      const auto to = static_cast<std::size_t>(at[0]), at_a = static_cast<std::size_t>(at[1]), at_b = static_cast<std::size_t>(at[2]);
      const Value &x = a.real[at_a], &y = b.real[at_b];
      const std::uint8_t fx = a.flag(at_a), fy = b.flag(at_b);
      if (((fx & masked) != 0 && domain.is_zero(x)) || ((fy & masked) != 0 && domain.is_zero(y))) return;  // absorbs its partner
      auto flags = static_cast<std::uint8_t>((fx | fy) & carried_flags);
      sums_[to].add_product(domain, kind, x, y, flags);
      mark(to, flags);
    });
  }

  void add_block(const Col& raw, const Col& condition) {
    if (!started_) start_monoid(raw.kind);
    const Ref column = evaluator_.as_kind(std::make_shared<Col>(raw), result_.kind);
    if (is_discrete(result_.kind)) return add_whole(*column, condition);
    const auto function = *operation_ == Op::add ? nullptr : evaluator_.domain().binary(*operation_);
    each_pair(*column, condition, [&](std::size_t to, std::size_t from, std::size_t test) {
      mark(to, static_cast<std::uint8_t>(condition.flag(test) & (undetermined | invalid)));
      if (condition.whole[test] == 0) return;
      std::uint8_t flags = column->flag(from) & (undetermined | invalid);
      if (function == nullptr) {
        sums_[to].add(evaluator_.domain(), result_.kind, column->real[from]);
      } else {
        result_.real[to] = function(evaluator_.domain(), result_.kind, result_.real[to], column->real[from], flags);
      }
      mark(to, flags);
    });
  }

  void add_whole(const Col& column, const Col& condition) {
    const Op op = *operation_;
    each_pair(column, condition, [&](std::size_t to, std::size_t from, std::size_t test) {
      mark(to, static_cast<std::uint8_t>(condition.flag(test) & (undetermined | invalid)));
      if (condition.whole[test] == 0) return;
      std::uint8_t flags = column.flag(from) & (undetermined | invalid);
      std::int64_t& total = result_.whole[to];
      const std::int64_t x = column.whole[from];
      bool overflow = false;
      if (op == Op::add) overflow = __builtin_add_overflow(total, x, &total);
      if (op == Op::mul) overflow = __builtin_mul_overflow(total, x, &total);
      if (op == Op::min) total = std::min(total, x);
      if (op == Op::max) total = std::max(total, x);
      if (op == Op::logical_and || op == Op::logical_or) {
        const std::int64_t deciding = op == Op::logical_or ? 1 : 0;
        if (x == deciding && flags == 0) {
          decided(to);
        }
        total = op == Op::logical_or ? (total | x) : (total & x);
        if (is_decided(to)) {
          total = deciding;
          clear(to);
          return;
        }
      }
      if (overflow) flags |= invalid;
      mark(to, flags);
    });
  }

  void mark(std::size_t to, std::uint8_t flags) {
    if (flags == 0) return;
    if (flags_.empty()) flags_.assign(shape_.size(), 0);
    flags_[to] |= flags;
  }
  void clear(std::size_t to) {
    if (!flags_.empty()) flags_[to] = 0;
  }
  /// any and all: one certain element settles the result, whatever is doubtful beside it.
  void decided(std::size_t to) {
    if (decided_.empty()) decided_.assign(shape_.size(), false);
    decided_[to] = true;
  }
  [[nodiscard]] bool is_decided(std::size_t to) const { return !decided_.empty() && decided_[to]; }

  Ref finish_monoid() {
    auto result = std::make_shared<Col>(std::move(result_));
    if (!is_discrete(result->kind) && *operation_ == Op::add) {
      for (std::size_t i = 0; i < sums_.size(); ++i) {
        std::uint8_t flags = 0;
        result->real.push_back(sums_[i].value(evaluator_.domain(), result->kind, flags));
        mark(i, flags);
      }
    }
    result->flags = std::move(flags_);
    return result;
  }

  // ---- reducers with several components, or a combine of their own ----
  void combine_block(const std::vector<Ref>& columns, const Col& condition) {
    if (!started_) state_ = identity<D>(evaluator_, reducer_);
    const Shape points = grid();
    std::vector<std::int64_t> inner;
    for (std::size_t k = shape_.axes.size(); k < points.extents.size(); ++k) inner.push_back(points.extents[k]);
    std::vector<std::int64_t> at(inner.size(), 0);
    std::int64_t count = 1;
    for (const std::int64_t e : inner) count *= e;
    for (std::int64_t point = 0; point < count && !evaluator_.failure(); ++point) {
      std::vector<Ref> element;
      for (const Ref& column : columns) element.push_back(slice(*column, points, at));
      std::vector<Ref> next = combine<D>(evaluator_, reducer_, state_, element);
      if (condition_) {
        const Ref inside = slice(condition, points, at);
        for (std::size_t c = 0; c < next.size(); ++c) next[c] = evaluator_.select(inside, next[c], state_[c]);
      }
      state_ = std::move(next);
      for (std::size_t axis = inner.size(); axis-- > 0;) {
        if (++at[axis] < inner[axis]) break;
        at[axis] = 0;
      }
    }
  }

  /// The column at one point of the bound indices, over the outer axes.
  Ref slice(const Col& column, const Shape& points, const std::vector<std::int64_t>& at) {
    const std::vector<std::int64_t> strides = evaluator_.strides(column, points.axes);
    std::int64_t base = 0;
    for (std::size_t k = 0; k < at.size(); ++k) base += at[k] * strides[shape_.axes.size() + k];
    auto result = std::make_shared<Col>();
    result->kind = column.kind;
    result->axes = shape_.axes;
    if (!evaluator_.spend(shape_.size())) return evaluator_.constant(column.kind, 0, 0);
    result->resize(shape_.size());
    const std::vector<std::int64_t> outer(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(shape_.axes.size()));
    sweep<1>(shape_.extents, {outer}, [&](std::size_t i, const auto& offset) {
      const auto from = static_cast<std::size_t>(base + offset[0]);
      if (is_discrete(column.kind)) {
        result->whole[i] = column.whole[from];
      } else {
        result->real[i] = column.real[from];
      }
      result->set_flag(i, column.flag(from));
    });
    return result;
  }

  Evaluator<D>& evaluator_;
  const std::vector<Bound>& bounds_;
  const Reducer& reducer_;
  std::optional<Op> operation_;
  std::vector<Expr> terms_;
  Expr condition_;
  int outer_slots_ = 0;
  std::vector<int> slots_;
  std::vector<std::int64_t> first_, extents_;
  Shape shape_;
  bool started_ = false, sums_products_ = false;
  Col result_;
  std::vector<typename D::Sum> sums_;
  std::vector<std::uint8_t> flags_;
  std::vector<bool> decided_;
  std::vector<Ref> state_;
};

template <class D>
std::shared_ptr<const Column<typename D::Value>> typed(Evaluator<D>& evaluator, const Component& component,
                                                       const std::shared_ptr<const Column<typename D::Value>>& column) {
  if (component.dtype != DType::real) return evaluator.cast_to(component.dtype, column);
  return column->kind == Kind::literal ? evaluator.as_kind(column, Kind::single) : column;
}

}  // namespace

template <class D>
std::vector<typename Evaluator<D>::Ref> fold(Evaluator<D>& evaluator, const std::vector<Bound>& bounds, const Reducer& reducer,
                                             const std::vector<Expr>& values) {
  return Fold<D>(evaluator, bounds, reducer, values).run();
}

template <class D>
std::vector<typename Evaluator<D>::Ref> identity(Evaluator<D>& evaluator, const Reducer& reducer) {
  std::vector<typename Evaluator<D>::Ref> states;
  for (const Component& component : reducer.state) states.push_back(evaluator.evaluate(component.identity));
  return states;
}

template <class D>
std::vector<typename Evaluator<D>::Ref> combine(Evaluator<D>& evaluator, const Reducer& reducer,
                                                const std::vector<typename Evaluator<D>::Ref>& left,
                                                const std::vector<typename Evaluator<D>::Ref>& right) {
  std::map<Symbol, typename Evaluator<D>::Ref> bindings;
  for (std::size_t i = 0; i < reducer.state.size(); ++i) {
    bindings[reducer.state[i].name] = typed<D>(evaluator, reducer.state[i], left[i]);
    bindings[primed(reducer.state[i].name)] = typed<D>(evaluator, reducer.state[i], right[i]);
  }
  std::vector<typename Evaluator<D>::Ref> result;
  for (const Component& component : reducer.state)
    result.push_back(typed<D>(evaluator, component, evaluator.evaluate_with(component.combine, bindings)));
  return result;
}

template <class D>
typename Evaluator<D>::Ref project(Evaluator<D>& evaluator, const Reducer& reducer, Symbol result,
                                   const std::vector<typename Evaluator<D>::Ref>& states) {
  const ReducerResult* wanted = nullptr;
  for (const ReducerResult& each : reducer.results)
    if (wanted == nullptr && (result.empty() || each.name == result)) wanted = &each;
  if (wanted == nullptr) return evaluator.fail(fmt::format("`{}` has no result `{}`.", reducer.name.text(), result.text()));
  std::map<Symbol, typename Evaluator<D>::Ref> bindings;
  for (std::size_t i = 0; i < reducer.state.size(); ++i) bindings[reducer.state[i].name] = states[i];
  return evaluator.evaluate_with(wanted->value, bindings);
}

#define FATHOM_INSTANTIATE(D)                                                                                                          \
  template std::vector<Evaluator<D>::Ref> fold<D>(Evaluator<D>&, const std::vector<Bound>&, const Reducer&, const std::vector<Expr>&); \
  template std::vector<Evaluator<D>::Ref> identity<D>(Evaluator<D>&, const Reducer&);                                                  \
  template std::vector<Evaluator<D>::Ref> combine<D>(Evaluator<D>&, const Reducer&, const std::vector<Evaluator<D>::Ref>&,             \
                                                     const std::vector<Evaluator<D>::Ref>&);                                           \
  template Evaluator<D>::Ref project<D>(Evaluator<D>&, const Reducer&, Symbol, const std::vector<Evaluator<D>::Ref>&);
FATHOM_INSTANTIATE(Single)
FATHOM_INSTANTIATE(Bounding)
#undef FATHOM_INSTANTIATE

}  // namespace fathom::interp
