// The built-in reducers, as data: the same values that a `reducer` declaration of the notation makes.
#include "ir/reducer.hpp"

namespace fathom {
namespace {

const Symbol a_name("a");
const Symbol x_name("x");

ReducerRef one_component(const char* name, Op op, Expr identity, DType dtype, bool idempotent) {
  Reducer reducer;
  reducer.name = Symbol(name);
  reducer.parameters = {x_name};
  reducer.state = {{a_name, dtype, identity, symbol(x_name), binary(op, symbol(a_name), symbol(primed(a_name)))}};
  reducer.results = {{Symbol("value"), symbol(a_name)}};
  reducer.idempotent = idempotent;
  return std::make_shared<const Reducer>(std::move(reducer));
}

/// (value, index): the extremum and where it is first. A NaN is found like an extremum, since max and min propagate it.
ReducerRef with_place(const char* name, Op extremum, Op better, Expr identity) {
  const Symbol v("v");
  const Symbol at("at");
  const Expr left = symbol(v);
  const Expr right = symbol(primed(v));
  const Expr here = symbol(at);
  const Expr there = symbol(primed(at));
  const Expr first = binary(Op::le, here, there);
  const auto is_nan = [](Expr e) { return binary(Op::ne, e, e); };
  const auto either = [](Expr p, Expr q) { return binary(Op::logical_or, p, q); };
  const auto both = [](Expr p, Expr q) { return binary(Op::logical_and, p, q); };
  const Expr keeps_left = either(either(binary(better, left, right), both(binary(Op::eq, left, right), first)),
                                 both(is_nan(left), either(unary(Op::logical_not, is_nan(right)), first)));
  Reducer reducer;
  reducer.name = Symbol(name);
  reducer.parameters = {x_name, Symbol("i")};
  reducer.state = {{v, DType::real, identity, symbol(x_name), binary(extremum, left, right)},
                   {at, DType::i32, number(2147483647), symbol(Symbol("i")), where(keeps_left, here, there)}};
  reducer.results = {{at, symbol(at)}, {Symbol("value"), symbol(v)}};
  reducer.idempotent = true;
  return std::make_shared<const Reducer>(std::move(reducer));
}

std::vector<ReducerRef> make_builtins() {
  return {
      one_component("sum", Op::add, number(0), DType::real, false),
      one_component("prod", Op::mul, number(1), DType::real, false),
      one_component("max", Op::max, -infinity(), DType::real, true),
      one_component("min", Op::min, infinity(), DType::real, true),
      one_component("any", Op::logical_or, boolean(false), DType::boolean, true),
      one_component("all", Op::logical_and, boolean(true), DType::boolean, true),
      with_place("argmax", Op::max, Op::gt, -infinity()),
      with_place("argmin", Op::min, Op::lt, infinity()),
  };
}

bool is_monoid(Op op) {
  return op == Op::add || op == Op::mul || op == Op::max || op == Op::min || op == Op::logical_and || op == Op::logical_or;
}

}  // namespace

const std::vector<ReducerRef>& builtin_reducers() {
  static const auto* all = new std::vector<ReducerRef>(make_builtins());
  return *all;
}

ReducerRef builtin_reducer(Symbol name) {
  for (const ReducerRef& reducer : builtin_reducers())
    if (reducer->name == name) return reducer;
  return nullptr;
}

ReducerRef reducer_named(const std::vector<ReducerRef>& declared, Symbol name) {
  for (const ReducerRef& reducer : declared)
    if (reducer->name == name) return reducer;
  return builtin_reducer(name);
}

std::optional<Op> monoid_operation(const Reducer& reducer) {
  if (reducer.state.size() != 1 || reducer.parameters.size() != 1) return std::nullopt;
  const Component& only = reducer.state.front();
  if (only.lift != symbol(reducer.parameters.front()) || !is_monoid(only.combine.op())) return std::nullopt;
  const Expr left = symbol(only.name);
  const Expr right = symbol(primed(only.name));
  const Expr p = only.combine.arg(0);
  const Expr q = only.combine.arg(1);
  return (p == left && q == right) || (p == right && q == left) ? std::optional(only.combine.op()) : std::nullopt;
}

Symbol primed(Symbol name) { return Symbol(name.text() + "'"); }

}  // namespace fathom
