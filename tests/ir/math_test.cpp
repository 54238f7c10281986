#include "ir/math.hpp"

#include <gtest/gtest.h>

#include "programs.hpp"

namespace fathom::math {
namespace {

using namespace fathom::testing;

std::string refusal_of(const Program& program) {
  const Result<void> result = verify(program);
  return result ? "accepted" : result.error().reason;
}

TEST(MathPrint, is_the_notation_and_leaves_out_what_a_reader_infers) {
  EXPECT_EQ(print(softmax_times_v()),
            "dim R = 8, T = runtime 16\n\n"
            "operator weigh(x: f16[R, T], v: f32[T]) -> (y: f32[R])\n"
            "  where T > 0\n"
            "{\n"
            "  p.m[i] = max[j](x[i,j])\n"
            "  p.e[i,j] = exp(x[i,j] - p.m[i])\n"
            "  y[i] = sum[j](p.e[i,j] * v[j])\n"
            "}\n");
}

TEST(MathPrint, writes_what_is_of_the_file_and_nothing_of_the_prelude) {
  EXPECT_EQ(print(as_written()),
            "dim R = 8, T = 16\n\n"
            "reducer top(x, i) {\n"
            "  state v = -inf, at: i32 = 2147483647\n"
            "  lift (x, i)\n"
            "  combine (where(v > v' or v == v' and at <= at', v, v'), where(v > v' or v == v' and at <= at', at, at'))\n"
            "  result value = v\n"
            "  result at = at\n"
            "}\n\n"
            "fn half(a) = b / 2 with b = a + 1\n\n"
            "operator mixed(x: f32[R, T] stored(T, R), eps: f32) -> (y: f32[R, T], a: i32[R])\n"
            "{\n"
            "  y[i,j] = softmax[j](x[i,j] - sum[k](x[i,k]) / T) + half(eps)\n"
            "  a[i]: i32 = top.at[j](x[i,j], j)\n"
            "}\n");
}

TEST(MathPrint, writes_a_range_where_a_reader_could_not_know_it) {
  const auto text_of = [](const Statement& statement) { return print(statement, softmax_times_v()); };
  const Expr half = binary(Op::floordiv, dim(s("T")), number(2));
  EXPECT_EQ(text_of(map("z", {axis("i", "R")}, ix("i"))), "z[i in 0:R] = i") << "i is no subscript";
  EXPECT_EQ(text_of(map("z", {{s("j"), number(0), half}}, at("v", {ix("j")}))), "z[j in 0:T // 2] = v[j]");
  EXPECT_EQ(text_of(map("z", {{s("j"), number(1), dim(s("T"))}}, at("v", {ix("j")}))), "z[j in 1:T] = v[j]");
  EXPECT_EQ(text_of(map("z", {axis("j", "T")}, at("v", {ix("j") - number(1)}))), "z[j in 0:T] = v[j - 1]");
  EXPECT_EQ(text_of(map("z", {axis("i", "R")}, at("x", {ix("i"), ix("i")}))), "z[i in 0:R] = x[i,i]") << "two ranges: which one is meant?";
  EXPECT_EQ(
      text_of(map("z", {axis("j", "T")}, reduce(s("sum"), Symbol(), {{s("k"), number(0), ix("j") + number(1)}}, {at("v", {ix("k")})}))),
      "z[j in 0:T] = sum[k in 0:j + 1](v[k])");
  EXPECT_EQ(print(map("z", {axis("i", "R")}, ix("i"))), "z[i] = i") << "for people";
}

TEST(MathPrint, writes_a_repair) {
  EXPECT_EQ(print(fused().statements[2], fused()),
            "y[i] = sum[j](p.e[i,j] * v[j]) with repair {\n"
            "  gauge p.m~ = p.m[i]\n"
            "  carry y: sum term exp(x[i,j] - p.m~) * v[j] move y * exp(p.m~ - p.m~')\n"
            "  project y\n"
            "}");
}

TEST(MathVerify, accepts_what_is_right) {
  EXPECT_EQ(refusal_of(softmax_times_v()), "accepted");
  EXPECT_EQ(refusal_of(fused()), "accepted");
  EXPECT_EQ(refusal_of(as_written()), "accepted");
}

/// The program with one thing broken; the refusal must say what.
struct Broken {
  const char* what;
  std::function<void(Program&)> breaks;
  const char* says;
};

TEST(MathVerify, refuses_each_broken_law_in_a_sentence_and_names_the_statement) {
  const Broken cases[] = {
      {"use before definition", [](Program& p) { std::swap(p.statements[0], p.statements[1]); }, "p.m is read before it is defined."},
      {"unknown tensor", [](Program& p) { p.statements[1].value = Map{at("q", {})}; }, "q is read before it is defined."},
      {"rank", [](Program& p) { p.statements[1].value = Map{at("x", {ix("i")})}; }, "x has 2 axes but is read with 1 subscripts."},
      {"twice", [](Program& p) { p.statements[1].name = s("p.m"); }, "The name p.m is defined twice."},
      {"shadowed parameter", [](Program& p) { p.statements[1].name = s("x"); }, "The name x is defined twice."},
      {"index bound twice", [](Program& p) { p.statements[1].axes[1].index = s("i"); }, "The index i is bound twice."},
      {"reduction binds an axis", [](Program& p) { std::get<Reduction>(p.statements[0].value).over[0].index = s("i"); },
       "The index i is bound twice."},
      {"free index", [](Program& p) { p.statements[1].value = Map{ix("k")}; }, "The index k is not bound here."},
      {"unknown dimension", [](Program& p) { p.statements[1].value = Map{dim(s("Q"))}; }, "There is no dimension named Q."},
      {"loose symbol", [](Program& p) { p.statements[1].value = Map{symbol(s("g"))}; }, "The name g stands for nothing here."},
      {"no range", [](Program& p) { p.statements[1].axes[0].hi = Expr(); }, "The index i has no range."},
      {"out of range", [](Program& p) { p.statements[1].axes[0].hi = dim(s("T")); },
       "The index i runs over 0:16, but subscript 1 of x over 0:8."},
      {"values", [](Program& p) { std::get<Reduction>(p.statements[0].value).values.clear(); }, "max takes 1 values, not 0."},
      {"result name", [](Program& p) { std::get<Reduction>(p.statements[0].value).result = s("at"); }, "max has no result named at."},
      {"no reducer", [](Program& p) { std::get<Reduction>(p.statements[0].value).reducer = nullptr; }, "A reduction has no reducer."},
      {"absent", [](Program& p) { p.statements[1].value = Map{Expr()}; }, "An expression is missing."},
      {"operands", [](Program& p) { p.statements[1].value = Map{make(Op::where, {boolean(true)})}; }, "where takes 3 operands, not 1."},
      {"function", [](Program& p) { p.statements[1].value = Map{call(s("f"), {}, {})}; }, "There is no function named f."},
      {"reducer", [](Program& p) { p.statements[1].value = Map{reduce(s("f"), {}, {}, {number(0)})}; }, "There is no reducer named f."},
      {"result undefined", [](Program& p) { p.statements.pop_back(); }, "The result y is not defined."},
      {"result rank", [](Program& p) { p.results[0].extents.clear(); }, "The result y has 0 dimensions but 1 indices."},
      {"result extent", [](Program& p) { p.results[0].extents = {number(7)}; },
       "Dimension 1 of the result y is 7, but its index ends at 8."},
      {"result start", [](Program& p) { p.statements[2].axes[0].lo = number(1); }, "Index 1 of the result y does not begin at 0."},
  };
  for (const Broken& each : cases) {
    Program program = softmax_times_v();
    each.breaks(program);
    EXPECT_EQ(refusal_of(program), each.says) << each.what;
  }
  Program wrong = softmax_times_v();
  wrong.statements[1].value = Map{ix("k")};
  EXPECT_EQ(verify(wrong).error().nodes, std::vector<std::string>{"p.e"});
}

TEST(MathVerify, judges_no_range_under_a_where) {
  Program program = softmax_times_v();
  program.statements[1].axes[0].hi = dim(s("T"));
  program.statements[1].value = Map{where(binary(Op::lt, ix("i"), dim(s("R"))), at("x", {ix("i"), ix("j")}), number(0))};
  program.statements[2].axes[0].hi = dim(s("R"));
  EXPECT_EQ(refusal_of(program), "accepted");
}

TEST(MathVerify, a_repair_may_use_its_own_names_and_no_others) {
  Program program = fused();
  auto& repair = *std::get<Reduction>(program.statements[2].value).repair;
  repair.carried[0].term = symbol(s("p.m~'"));
  EXPECT_EQ(refusal_of(program), "The name p.m~' stands for nothing here.") << "the next gauge is known to moves only";
  repair.carried.clear();
  EXPECT_EQ(refusal_of(program), "A repair carries nothing.");
}

TEST(Math, opened_means_that_every_reduction_is_a_statement) {
  EXPECT_TRUE(is_opened(softmax_times_v()));
  EXPECT_FALSE(is_opened(as_written()));
}

TEST(Math, extents_and_ranges_are_those_of_parameters_and_statements) {
  const Program p = softmax_times_v();
  EXPECT_EQ(extents_of(p, s("x")), (std::vector<Expr>{dim(s("R")), dim(s("T"))}));
  EXPECT_EQ(extents_of(p, s("p.m")), std::vector<Expr>{dim(s("R"))});
  EXPECT_FALSE(extents_of(p, s("nothing")));
  EXPECT_EQ(ranges_of(p, s("v")), (std::vector<Range>{{number(0), dim(s("T"))}}));
  EXPECT_EQ(default_dims(p).at(s("T")), 16);
}

}  // namespace
}  // namespace fathom::math
