// Programs built by hand, without the parser.
#pragma once

#include "ir/math.hpp"

namespace fathom::testing {

inline Symbol s(const char* text) { return Symbol(text); }
inline Expr ix(const char* text) { return index(Symbol(text)); }
inline Expr at(const char* tensor, std::vector<Expr> subscripts) { return read(Symbol(tensor), std::move(subscripts)); }
inline math::Axis axis(const char* name, const char* extent) { return {Symbol(name), number(0), dim(Symbol(extent))}; }

inline math::Parameter tensor(const char* name, std::vector<const char*> extents, DType dtype = DType::f32) {
  math::Parameter result;
  result.name = Symbol(name);
  result.dtype = dtype;
  for (const char* extent : extents) result.extents.push_back(dim(Symbol(extent)));
  return result;
}

inline math::Statement map(const char* name, std::vector<math::Axis> axes, Expr value) {
  return {Symbol(name), std::move(axes), DType::real, math::Map{value}, {}};
}
inline math::Statement reduction(const char* name, std::vector<math::Axis> axes, const char* reducer, math::Axis over, Expr value) {
  math::Reduction r;
  r.reducer = builtin_reducer(Symbol(reducer));
  r.over = {over};
  r.values = {value};
  return {Symbol(name), std::move(axes), DType::real, std::move(r), {}};
}

/// y[i] = sum over j of exp(x[i,j] - max over j) * v[j], opened.
inline math::Program softmax_times_v() {
  math::Program p;
  p.name = s("weigh");
  p.dims = {{s("R"), 8, false, {0, 4, 5}}, {s("T"), 16, true, {0, 9, 10}}};
  p.params = {tensor("x", {"R", "T"}, DType::f16), tensor("v", {"T"})};
  p.results = {tensor("y", {"R"})};
  p.conditions = {binary(Op::gt, dim(s("T")), number(0))};
  p.statements = {
      reduction("p.m", {axis("i", "R")}, "max", axis("j", "T"), at("x", {ix("i"), ix("j")})),
      map("p.e", {axis("i", "R"), axis("j", "T")}, make(Op::exp, {at("x", {ix("i"), ix("j")}) - at("p.m", {ix("i")})})),
      reduction("y", {axis("i", "R")}, "sum", axis("j", "T"), at("p.e", {ix("i"), ix("j")}) * at("v", {ix("j")})),
  };
  p.statements[0].origins = {{0, 30, 40}, {1, 2, 3}};
  return p;
}

/// The same with y repaired for one loop over j.
inline math::Program fused() {
  math::Program p = softmax_times_v();
  const Symbol gauge = s("p.m~");
  math::Repair repair;
  repair.gauges = {{gauge, at("p.m", {ix("i")})}};
  repair.carried = {{s("y"), builtin_reducer(s("sum")), make(Op::exp, {at("x", {ix("i"), ix("j")}) - symbol(gauge)}) * at("v", {ix("j")}),
                     symbol(s("y")) * make(Op::exp, {symbol(gauge) - symbol(primed(gauge))})}};
  repair.project = symbol(s("y"));
  std::get<math::Reduction>(p.statements[2].value).repair = repair;
  return p;
}

inline ReducerRef top() {
  Reducer r;
  r.name = s("top");
  r.parameters = {s("x"), s("i")};
  const Expr v = symbol(s("v")), v1 = symbol(s("v'")), p = symbol(s("at")), p1 = symbol(s("at'"));
  const Expr tie = binary(Op::logical_and, binary(Op::eq, v, v1), binary(Op::le, p, p1));
  const Expr left = binary(Op::logical_or, binary(Op::gt, v, v1), tie);
  r.state = {{s("v"), DType::real, -infinity(), symbol(s("x")), where(left, v, v1)},
             {s("at"), DType::i32, number(2147483647), symbol(s("i")), where(left, p, p1)}};
  r.results = {{s("value"), v}, {s("at"), p}};
  r.commutative = false;
  return std::make_shared<const Reducer>(r);
}

/// As written: a reduction and a call inside expressions, a function of the file and one of the prelude, a reducer of the file.
inline math::Program as_written() {
  math::Program p;
  p.name = s("mixed");
  p.dims = {{s("R"), 8, false, {}}, {s("T"), 16, false, {}}};
  p.params = {tensor("x", {"R", "T"}), tensor("eps", {})};
  p.params[0].stored = {s("T"), s("R")};
  p.results = {tensor("y", {"R", "T"}), tensor("a", {"R"}, DType::i32)};
  p.reducers = {top()};
  math::Function own{s("half"), {}, {s("a")}, symbol(s("b")) / number(2), {{s("b"), symbol(s("a")) + number(1)}}, {0, 1, 2}};
  math::Function prelude{s("softmax"), {s("j")}, {s("x")}, symbol(s("x")), {}, {1, 1, 2}};
  p.functions = {own, prelude};
  const Expr x = at("x", {ix("i"), ix("j")});
  const Expr mean = reduce(s("sum"), Symbol(), {{s("k"), number(0), dim(s("T"))}}, {at("x", {ix("i"), ix("k")})}) / dim(s("T"));
  p.statements = {
      map("y", {axis("i", "R"), axis("j", "T")}, call(s("softmax"), {s("j")}, {x - mean}) + call(s("half"), {}, {at("eps", {})})),
      map("a", {axis("i", "R")}, reduce(s("top"), s("at"), {{s("j"), number(0), dim(s("T"))}}, {x, ix("j")})),
  };
  p.statements[1].dtype = DType::i32;
  return p;
}

}  // namespace fathom::testing
