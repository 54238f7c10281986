// Resolves names: indices to axes, reads to bindings, reducers to folds, subscripts to linear forms.
#include "interp/run_kernel_formula.hpp"

#include <algorithm>
#include <cmath>

namespace fathom::interp::tiles {
namespace {

constexpr std::uint32_t deepest = 2000;  // of an expression: the evaluator recurses

void merge_axes(std::vector<int>& into, const std::vector<int>& more) {
  for (const int axis : more) {
    const auto at = std::lower_bound(into.begin(), into.end(), axis);
    if (at == into.end() || *at != axis) into.insert(at, axis);
  }
}

LinearIndex scaled(LinearIndex index, std::int64_t factor) {
  const auto scale = [factor](std::int64_t& step) {
    if (__builtin_mul_overflow(step, factor, &step)) stop("a subscript has a factor of more than 63 bits");
  };
  for (auto& [axis, step] : index.axes) scale(step);
  for (auto& [node, step] : index.uniforms) scale(step);
  scale(index.constant);
  return index;
}

LinearIndex sum(LinearIndex a, const LinearIndex& b) {
  a.axes.insert(a.axes.end(), b.axes.begin(), b.axes.end());
  a.uniforms.insert(a.uniforms.end(), b.uniforms.begin(), b.uniforms.end());
  a.constant += b.constant;
  return a;
}

std::optional<std::int64_t> small_integer(Expr expr) {
  constexpr std::int64_t largest = std::int64_t{1} << 40U;  // products of two stay far from overflow
  if (!expr.is(Op::number) || expr.node().inexact != 0 || !expr.node().number.is_integer()) return std::nullopt;
  const std::int64_t value = expr.node().number.num();
  if (value > largest || value < -largest) return std::nullopt;
  return value;
}

}  // namespace

// ---- the frame ----

int Frame::slot(Symbol name) {
  const auto [at, fresh] = slots_.emplace(name, static_cast<int>(names_.size()));
  if (fresh) {
    names_.push_back(name);
    bindings_.emplace_back();
  }
  return at->second;
}

int Frame::add_axis(const AxisInfo& info) {
  axes_.push_back(info);
  return static_cast<int>(axes_.size()) - 1;
}

std::optional<int> Frame::axis_named(Symbol name) const {
  const auto at = axis_ids_.find(name);
  if (at == axis_ids_.end()) return std::nullopt;
  return at->second;
}

TileRef Frame::iota(int id) {
  const AxisInfo& info = axis(id);
  budget_->spend(info.extent);
  Data values(static_cast<std::size_t>(info.extent));
  for (std::int64_t i = 0; i < info.extent; ++i) values[static_cast<std::size_t>(i)] = static_cast<double>(info.lo + i);
  return make_tile(Kind::integer, {id}, {info.extent}, std::move(values));
}

const CompiledReducer* Frame::reducer(Symbol name) {
  if (const auto known = reducers_.find(name); known != reducers_.end()) return &known->second;
  ReducerRef found = builtin_reducer(name);
  for (const ReducerRef& own : module_->reducers) {
    if (own->name == name) found = own;
  }
  if (!found) stop("there is no reducer `" + name.text() + "`", {name.text()});
  CompiledReducer& compiled = reducers_[name];
  compiled.reducer = found;
  std::map<Symbol, int> parameters, carriers;
  for (const Symbol parameter : found->parameters) parameters.emplace(parameter, static_cast<int>(parameters.size()));
  for (const Component& part : found->state) carriers.emplace(part.name, static_cast<int>(carriers.size()));
  const auto count_of = static_cast<int>(found->state.size());
  for (int i = 0; i < count_of; ++i) carriers.emplace(primed(found->state[static_cast<std::size_t>(i)].name), count_of + i);
  FormulaBuilder lift(*this, compiled.lift, &parameters), combine(*this, compiled.combine, &carriers);
  FormulaBuilder results(*this, compiled.results, &carriers);
  for (const Component& part : found->state) {
    lift.root(part.lift);
    combine.root(part.combine);
    Formula constant;
    FormulaBuilder(*this, constant).root(part.identity);
    compiled.identity.push_back(Evaluation(*this, constant).value(constant.roots[0]));
  }
  for (const ReducerResult& result : found->results) results.root(result.value);
  compiled.monoid = monoid_operation(*found);
  const Component& first = found->state[0];
  if (found->results.size() != 1 || found->results[0].value != symbol(first.name) || first.dtype != DType::real) compiled.monoid.reset();
  return &compiled;
}

// ---- building ----

int FormulaBuilder::push(Expr expr, Node node) {
  const int id = static_cast<int>(formula_.nodes.size());
  formula_.nodes.push_back(std::move(node));
  scopes_.back().known.emplace(expr, id);
  return id;
}

void FormulaBuilder::vary_with(Node& node, const std::vector<int>& axes) { merge_axes(node.axes, axes); }

void FormulaBuilder::vary_with(Node& node, const Subscript& s) {
  if (s.linear) {
    for (const auto& [axis, step] : s.linear->axes) merge_axes(node.axes, {axis});
    for (const auto& [uniform, step] : s.linear->uniforms) node.maskable |= formula_.nodes[static_cast<std::size_t>(uniform)].maskable;
  } else {
    merge_axes(node.axes, formula_.nodes[static_cast<std::size_t>(s.node)].axes);
    node.maskable = true;
  }
}

int FormulaBuilder::add(Expr expr) {
  if (!expr) stop("an expression is missing");
  if (expr.node().depth > deepest) stop("an expression is nested more than 2000 deep");
  if (const auto known = scopes_.back().known.find(expr); known != scopes_.back().known.end()) return known->second;
  switch (expr.op()) {
    case Op::read:
      return read(expr);
    case Op::reduce:
      return reduction(expr);
    case Op::call:
      stop("there is no function `" + expr.name().text() + "`", {expr.name().text()});
    case Op::tuple:
      stop("a tuple stands for a split axis: it can only be a subscript", {print(expr)});
    case Op::number:
    case Op::infinity:
    case Op::boolean:
    case Op::index:
    case Op::dim:
    case Op::symbol:
      return leaf(expr);
    default:
      break;
  }
  Node node;
  node.op = expr.op();
  node.dtype = expr.node().dtype;
  if (expr.is(Op::extent)) {
    if (!expr.arg(0).is(Op::index)) stop("`size` takes an index", {print(expr)});
    node.axis = axis_of(expr.arg(0).name());
    return push(expr, std::move(node));
  }
  for (const Expr arg : expr.args()) {
    const int id = add(arg);
    node.args.push_back(id);
    const Node& operand = formula_.nodes[static_cast<std::size_t>(id)];
    vary_with(node, operand.axes);
    node.maskable |= operand.maskable;
  }
  return push(expr, std::move(node));
}

int FormulaBuilder::axis_of(Symbol name) {
  for (std::size_t i = scopes_.size(); i-- > 0;) {
    if (const auto at = scopes_[i].axes.find(name); at != scopes_[i].axes.end()) return at->second;
  }
  const std::optional<int> id = frame_.axis_named(name);
  if (!id)
    stop("`" + name.text() + "` is no axis of the kernel", {name.text()}, "declare it: `axis " + name.text() + " = " + name.text() + ":…`");
  return *id;
}

int FormulaBuilder::leaf(Expr expr) {
  Node node;
  node.op = expr.op();
  const ExprNode& from = expr.node();
  switch (expr.op()) {
    case Op::number: {
      const bool integer = from.inexact == 0 && from.number.is_integer();
      const double value = from.inexact != 0 ? from.inexact : from.number.to_double();
      node.constant = scalar(integer ? Kind::integer : Kind::f32, value);
      break;
    }
    case Op::infinity:
      node.constant = scalar(Kind::f32, HUGE_VAL);
      break;
    case Op::boolean:
      node.constant = scalar(Kind::boolean, from.truth ? 1 : 0);
      break;
    case Op::index:
      node.axis = axis_of(from.name);
      node.axes = {node.axis};
      break;
    default: {
      const bool is_local = locals_ != nullptr && locals_->count(from.name) > 0;
      if (is_local) node.local = locals_->at(from.name);
      if (!is_local) node.slot = frame_.slot(from.name);
      node.name = from.name;
    }
  }
  return push(expr, std::move(node));
}

int FormulaBuilder::read(Expr expr) {
  Node node;
  node.op = Op::read;
  node.name = expr.name();
  node.slot = frame_.slot(expr.name());
  const bool in_memory = frame_.memories.count(expr.name()) > 0;
  for (const Expr arg : expr.args()) {
    node.subscripts.push_back(subscript(arg));
    vary_with(node, node.subscripts.back());
    node.maskable |= in_memory || !(arg.is(Op::index) || arg.is(Op::tuple));
  }
  return push(expr, std::move(node));
}

Subscript FormulaBuilder::subscript(Expr expr) {
  Subscript s;
  if (expr.is(Op::index)) s.bare = axis_of(expr.name());
  s.linear = linear(expr);
  if (!s.linear) s.node = add(expr);
  return s;
}

std::optional<LinearIndex> FormulaBuilder::linear(Expr expr) {
  if (const auto value = small_integer(expr)) return LinearIndex{{}, {}, *value};
  if (expr.is(Op::index)) return LinearIndex{{{axis_of(expr.name()), 1}}, {}, 0};
  if (expr.is(Op::tuple)) return linear_tuple(expr);
  const int id = add(expr);
  if (formula_.nodes[static_cast<std::size_t>(id)].axes.empty()) return LinearIndex{{}, {{id, 1}}, 0};
  return linear_sum(expr);
}

std::optional<LinearIndex> FormulaBuilder::linear_sum(Expr expr) {
  if (expr.is(Op::neg)) {
    const auto inner = linear(expr.arg(0));
    return inner ? std::optional(scaled(*inner, -1)) : std::nullopt;
  }
  if (expr.is(Op::mul)) {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto factor = small_integer(expr.arg(side));
      if (!factor || *factor > 1'000'000 || *factor < -1'000'000) continue;
      const auto inner = linear(expr.arg(1 - side));
      return inner ? std::optional(scaled(*inner, *factor)) : std::nullopt;
    }
    return std::nullopt;
  }
  if (!expr.is(Op::add) && !expr.is(Op::sub)) return std::nullopt;
  const auto left = linear(expr.arg(0));
  const auto right = left ? linear(expr.arg(1)) : std::nullopt;
  if (!right) return std::nullopt;
  return sum(*left, expr.is(Op::add) ? *right : scaled(*right, -1));
}

/// (n,y,e) is the mixed-radix number whose digits are axes; the extent of each digit is its axis'.
std::optional<LinearIndex> FormulaBuilder::linear_tuple(Expr expr) {
  LinearIndex number;
  for (const Expr digit : expr.args()) {
    if (!digit.is(Op::index)) stop("the parts of `" + print(expr) + "` must be axes", {print(expr)});
    const int axis = axis_of(digit.name());
    number = sum(scaled(std::move(number), frame_.axis(axis).extent), LinearIndex{{{axis, 1}}, {}, 0});
  }
  return number;
}

int FormulaBuilder::reduction(Expr expr) {
  if (locals_ != nullptr) stop("a reducer cannot reduce inside of its own definition", {print(expr)});
  Node node;
  node.op = Op::reduce;
  node.name = expr.name();
  node.reducer = frame_.reducer(expr.name());
  const Reducer& reducer = *node.reducer->reducer;
  const Symbol wanted = expr.node().result;
  node.states = wanted == Symbol("states");
  for (std::size_t i = 0; i < reducer.results.size() && !node.states && !wanted.empty(); ++i) {
    node.result = reducer.results[i].name == wanted ? static_cast<int>(i) : node.result;
  }
  Scope inner;
  for (const Bound& bound : bounds_of(expr)) {
    ReducedAxis over;
    if (bound.lo) {
      over.lo = add(bound.lo);
      over.hi = add(bound.hi);
      over.axis = frame_.add_axis({bound.index, 0, 0, -1, 1});
      inner.axes.emplace(bound.index, over.axis);
    } else {
      over.axis = axis_of(bound.index);
    }
    node.over.push_back(over);
  }
  const bool fresh_axes = !inner.axes.empty();
  if (fresh_axes) scopes_.push_back(std::move(inner));
  for (const Expr value : values_of(expr)) node.args.push_back(add(value));
  if (fresh_axes) scopes_.pop_back();
  for (const int arg : node.args) {
    vary_with(node, formula_.nodes[static_cast<std::size_t>(arg)].axes);
    node.maskable |= formula_.nodes[static_cast<std::size_t>(arg)].maskable;
  }
  for (const ReducedAxis& over : node.over) node.axes.erase(std::remove(node.axes.begin(), node.axes.end(), over.axis), node.axes.end());
  return push(expr, std::move(node));
}

std::int64_t uniform_integer(const TileRef& tile, const std::string& what) {
  constexpr double largest = 9007199254740992.0;
  if (!tile->axes.empty()) stop(what + " varies with an axis; it must be uniform");
  const double value = only_value(*tile);
  if (!(std::fabs(value) <= largest) || value != std::floor(value)) stop(what + " is no integer");
  return static_cast<std::int64_t>(value);
}

}  // namespace fathom::interp::tiles
