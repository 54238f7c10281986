#include "ir/reducer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace fathom {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// Just the operations that reducers are made of, on doubles; max and min propagate NaN.
double value_of(Expr e, const std::map<Symbol, double>& names) {
  const auto arg = [&](std::size_t i) { return value_of(e.arg(i), names); };
  switch (e.op()) {
    case Op::symbol:
      return names.at(e.name());
    case Op::number:
      return e.node().number.to_double();
    case Op::infinity:
      return inf;
    case Op::boolean:
      return e.node().truth ? 1 : 0;
    case Op::neg:
      return -arg(0);
    case Op::add:
      return arg(0) + arg(1);
    case Op::mul:
      return arg(0) * arg(1);
    case Op::max:
      return std::isnan(arg(0)) || std::isnan(arg(1)) ? NAN : std::max(arg(0), arg(1));
    case Op::min:
      return std::isnan(arg(0)) || std::isnan(arg(1)) ? NAN : std::min(arg(0), arg(1));
    case Op::logical_or:
      return arg(0) != 0 || arg(1) != 0 ? 1 : 0;
    case Op::logical_and:
      return arg(0) != 0 && arg(1) != 0 ? 1 : 0;
    case Op::logical_not:
      return arg(0) == 0 ? 1 : 0;
    case Op::eq:
      return arg(0) == arg(1) ? 1 : 0;
    case Op::ne:
      return arg(0) != arg(1) ? 1 : 0;
    case Op::lt:
      return arg(0) < arg(1) ? 1 : 0;
    case Op::le:
      return arg(0) <= arg(1) ? 1 : 0;
    case Op::gt:
      return arg(0) > arg(1) ? 1 : 0;
    case Op::where:
      return arg(0) != 0 ? arg(1) : arg(2);
    default:
      ADD_FAILURE() << print(e);
      return NAN;
  }
}

using State = std::vector<double>;

State combine(const Reducer& reducer, const State& left, const State& right) {
  std::map<Symbol, double> names;
  for (std::size_t i = 0; i < left.size(); ++i) {
    names[reducer.state[i].name] = left[i];
    names[primed(reducer.state[i].name)] = right[i];
  }
  State result;
  for (const Component& each : reducer.state) result.push_back(value_of(each.combine, names));
  return result;
}

State identity(const Reducer& reducer) {
  State result;
  for (const Component& each : reducer.state) result.push_back(value_of(each.identity, {}));
  return result;
}

State lift(const Reducer& reducer, double value, double place) {
  std::map<Symbol, double> names = {{reducer.parameters[0], value}};
  if (reducer.parameters.size() > 1) names[reducer.parameters[1]] = place;
  State result;
  for (const Component& each : reducer.state) result.push_back(value_of(each.lift, names));
  return result;
}

bool same(const State& a, const State& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
  return true;
}

std::vector<double> data_of(const Reducer& reducer) {
  if (reducer.state.front().dtype == DType::boolean) return {0, 1, 1, 0};
  return {2, -1, 2, -inf, NAN, 0, 3, NAN, inf};
}

TEST(BuiltinReducers, are_monoids_with_the_properties_that_they_claim) {
  for (const ReducerRef& reducer : builtin_reducers()) {
    const std::vector<double> data = data_of(*reducer);
    std::vector<State> states = {identity(*reducer)};
    for (std::size_t i = 0; i < data.size(); ++i) states.push_back(lift(*reducer, data[i], static_cast<double>(i)));
    for (const State& a : states) {
      EXPECT_TRUE(same(combine(*reducer, identity(*reducer), a), a)) << reducer->name.text();
      EXPECT_TRUE(same(combine(*reducer, a, identity(*reducer)), a)) << reducer->name.text();
      if (reducer->idempotent) {
        EXPECT_TRUE(same(combine(*reducer, a, a), a)) << reducer->name.text();
      }
      for (const State& b : states) {
        if (reducer->commutative) {
          EXPECT_TRUE(same(combine(*reducer, a, b), combine(*reducer, b, a))) << reducer->name.text();
        }
        for (const State& c : states)
          EXPECT_TRUE(same(combine(*reducer, combine(*reducer, a, b), c), combine(*reducer, a, combine(*reducer, b, c))))
              << reducer->name.text();
      }
    }
  }
}

TEST(BuiltinReducers, argmax_and_argmin_find_the_lowest_index_of_ties_and_the_first_nan) {
  const auto found = [](const char* name, const std::vector<double>& data) {
    const Reducer& reducer = *builtin_reducer(Symbol(name));
    State state = identity(reducer);
    for (std::size_t i = 0; i < data.size(); ++i) state = combine(reducer, state, lift(reducer, data[i], static_cast<double>(i)));
    return value_of(reducer.results.front().value, {{reducer.state[0].name, state[0]}, {reducer.state[1].name, state[1]}});
  };
  EXPECT_EQ(found("argmax", {1, 3, 3, 2}), 1);
  EXPECT_EQ(found("argmin", {1, 0, 3, 0}), 1);
  EXPECT_EQ(found("argmax", {1, NAN, 3, NAN}), 1);
  EXPECT_EQ(found("argmax", {-inf, -inf}), 0);
}

TEST(BuiltinReducers, are_found_by_name_and_no_other_is) {
  for (const char* name : {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"})
    EXPECT_TRUE(builtin_reducer(Symbol(name))) << name;
  EXPECT_EQ(builtin_reducers().size(), 8U);
  EXPECT_FALSE(builtin_reducer(Symbol("mean")));
}

TEST(MonoidOperation, is_asked_of_the_combine_and_never_of_the_name) {
  EXPECT_EQ(monoid_operation(*builtin_reducer(Symbol("sum"))), Op::add);
  EXPECT_EQ(monoid_operation(*builtin_reducer(Symbol("all"))), Op::logical_and);
  EXPECT_FALSE(monoid_operation(*builtin_reducer(Symbol("argmax"))));
  Reducer own = *builtin_reducer(Symbol("max"));
  own.name = Symbol("sum");
  EXPECT_EQ(monoid_operation(own), Op::max);
  const Expr a = symbol(own.state[0].name), next = symbol(primed(own.state[0].name));
  own.state[0].combine = make(Op::max, {next, a});
  EXPECT_EQ(monoid_operation(own), Op::max);
  own.state[0].combine = make(Op::max, {a, a});
  EXPECT_FALSE(monoid_operation(own));
  own.state[0].combine = a - next;
  EXPECT_FALSE(monoid_operation(own));
  own.state[0].combine = a + next;
  own.state[0].lift = unary(Op::exp, symbol(own.parameters[0]));
  EXPECT_FALSE(monoid_operation(own)) << "its lift is not its parameter";
}

}  // namespace
}  // namespace fathom
