#include "ir/expr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "random_expr.hpp"

namespace fathom {
namespace {

const Symbol i_name("i"), j_name("j"), k_name("k");
const Expr i = index(i_name), j = index(j_name), k = index(k_name), n = dim(Symbol("N"));

Expr x(std::vector<Expr> subscripts) { return read(Symbol("x"), std::move(subscripts)); }
Expr sum_over(Symbol over, Expr value, Expr hi = n) { return reduce(Symbol("sum"), Symbol(), {{over, number(0), hi}}, {value}); }

TEST(Expr, equal_expressions_are_one_node) {
  EXPECT_EQ(x({i}) + n, x({index(Symbol("i"))}) + dim(Symbol("N")));
  EXPECT_NE(x({i}) + n, n + x({i}));
  EXPECT_NE(index(Symbol("a")), dim(Symbol("a")));
  EXPECT_NE(dim(Symbol("a")), symbol(Symbol("a")));
  EXPECT_NE(symbol(Symbol("a")), read(Symbol("a"), {}));
  EXPECT_NE(cast(DType::f16, i), cast(DType::f32, i));
  EXPECT_NE(sum_over(j_name, x({j})), sum_over(k_name, x({j})));
}

TEST(Expr, threads_that_make_the_same_expression_get_one_node) {
  std::vector<Expr> made(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < made.size(); ++t)
    threads.emplace_back([&made, t] {
      Expr e = number(0);
      for (int step = 0; step < 500; ++step) e = e + x({index(Symbol("t" + std::to_string(step)))});
      made[t] = e;
    });
  for (std::thread& thread : threads) thread.join();
  for (const Expr each : made) EXPECT_EQ(each, made.front());
}

TEST(Expr, a_double_that_a_rational_holds_is_that_number) {
  EXPECT_EQ(inexact_number(0.5), number(*Rational::make(1, 2)));
  EXPECT_EQ(inexact_number(0), number(0));
  EXPECT_EQ(inexact_number(-3), number(-3));
  EXPECT_EQ(inexact_number(0x1p62), number(std::int64_t{1} << 62));
  EXPECT_EQ(inexact_number(1e-39).node().inexact, 1e-39);
  EXPECT_EQ(inexact_number(1e300).node().inexact, 1e300);
}

TEST(Expr, hash_and_order_do_not_depend_on_the_order_of_creation) {
  // the same 300 expressions, made in another order in a sorted list: names and numbers alone decide
  testing::RandomExpr random(5);
  std::vector<Expr> all;
  for (int count = 0; count < 300; ++count) all.push_back(random.any(4));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < all.size(); ++b) EXPECT_EQ(a < b, all[a] < all[b]);
  EXPECT_EQ(hash_bytes("fathom"), 0xbcd21128f0ded8e4ULL) << "FNV-1a, computed independently";
}

TEST(Expr, the_structural_hash_is_the_same_on_every_platform) {
  EXPECT_EQ((x({i, j + number(1)}) * n).node().hash, 0xcc69e24fce50b3d8ULL) << "computed independently";
}

TEST(Expr, absent_is_less_than_all) {
  EXPECT_LT(Expr(), number(0));
  EXPECT_FALSE(Expr() < Expr());
  EXPECT_FALSE(number(0) < Expr());
}

TEST(Expr, very_deep_expressions_neither_crash_nor_take_long) {
  Expr deep = x({i});
  for (int step = 0; step < 50000; ++step) deep = unary(Op::exp, deep);
  EXPECT_EQ(print(deep).size(), 50000 * 5 + 4);
  EXPECT_EQ(free_indices(deep), std::set<Symbol>{i_name});
  EXPECT_EQ(substitute(deep, {{i, j}}).node().depth, deep.node().depth);
  EXPECT_EQ(simplify_integer(deep), deep);
  EXPECT_FALSE(evaluate_integer(deep, {{i_name, 1}}));
  Expr chain = n;
  for (int step = 0; step < 5000; ++step) chain = chain + index(Symbol("c" + std::to_string(step)));
  EXPECT_TRUE(simplify_integer(chain));
  EXPECT_EQ(free_indices(chain).size(), 5000U);
  EXPECT_EQ(free_indices(sum_over(Symbol("c7"), chain)).size(), 4999U);
}

TEST(Expr, size_counts_the_printed_tree_and_saturates) {
  Expr e = i;
  EXPECT_EQ((e + e).node().size, 3U);
  for (int step = 0; step < 80; ++step) e = e * e;
  EXPECT_EQ(e.node().size, ~std::uint64_t{0});
}

TEST(FreeIndices, leave_out_what_a_reduction_binds) {
  EXPECT_EQ(free_indices(sum_over(j_name, x({i, j}))), std::set<Symbol>{i_name});
  EXPECT_EQ(free_indices(sum_over(j_name, x({j}), j)), std::set<Symbol>{j_name}) << "the range is outside the scope of its own index";
  const Expr ragged = reduce(Symbol("sum"), Symbol(), {{j_name, number(0), n}, {k_name, number(0), j}}, {x({j, k})});
  EXPECT_TRUE(free_indices(ragged).empty()) << "a range sees the indices bound before it";
}

TEST(FreeIndices, agree_with_a_recursive_definition) {
  const std::function<std::set<Symbol>(Expr)> reference = [&](Expr e) -> std::set<Symbol> {
    if (e.is(Op::index)) return {e.name()};
    std::set<Symbol> found;
    if (!e.is(Op::reduce)) {
      for (const Expr arg : e.args()) found.merge(reference(arg));
      for (const Symbol bound : e.node().bound) found.erase(bound);
      return found;
    }
    for (const Expr value : values_of(e)) found.merge(reference(value));
    const std::vector<Bound> bounds = bounds_of(e);
    for (std::size_t b = bounds.size(); b-- > 0;) {
      found.erase(bounds[b].index);
      if (bounds[b].lo) found.merge(reference(bounds[b].lo));
      if (bounds[b].hi) found.merge(reference(bounds[b].hi));
    }
    return found;
  };
  testing::RandomExpr random(6);
  for (int count = 0; count < 2000; ++count) {
    const Expr e = random.any(5);
    EXPECT_EQ(free_indices(e), reference(e)) << print(e);
  }
}

TEST(Visit, sees_each_distinct_node_once_operands_first) {
  testing::RandomExpr random(7);
  for (int count = 0; count < 200; ++count) {
    std::set<Expr> seen;
    visit(random.any(5), [&](Expr e) {
      for (const Expr arg : e.args()) EXPECT_TRUE(!arg || seen.count(arg) == 1);
      EXPECT_TRUE(seen.insert(e).second);
    });
  }
}

TEST(Transform, by_the_identity_changes_nothing) {
  testing::RandomExpr random(8);
  for (int count = 0; count < 500; ++count) {
    const Expr e = random.any(5);
    EXPECT_EQ(transform(e, [](Expr each) { return each; }), e);
  }
}

TEST(Substitute, replaces_simultaneously) {
  EXPECT_EQ(substitute(x({i, j}), {{i, j}, {j, i}}), x({j, i}));
  EXPECT_EQ(substitute(x({i}) + n, {{x({i}), n}, {n, x({i})}}), n + x({i}));
}

TEST(Substitute, a_bound_index_hides_the_outer_one) {
  const Expr inner = sum_over(j_name, x({i, j}));
  EXPECT_EQ(substitute(inner + j, {{j, k}}), inner + k);
  EXPECT_EQ(substitute(inner, {{x({i, j}), n}}), inner) << "that x[i,j] is another one";
}

TEST(Substitute, an_index_of_a_replacement_is_not_captured) {
  const Symbol renamed("j'");
  EXPECT_EQ(substitute(sum_over(j_name, x({i, j})), {{i, j}}), sum_over(renamed, x({j, index(renamed)})));
  const Expr ragged = reduce(Symbol("sum"), Symbol(), {{j_name, number(0), n}, {k_name, number(0), j}}, {x({i, j, k})});
  EXPECT_EQ(print(substitute(ragged, {{i, j + k}})), "sum[j' in 0:N,k' in 0:j'](x[j + k,j',k'])");
  const Expr taken = sum_over(j_name, x({i, j, index(renamed)}));
  EXPECT_EQ(free_indices(substitute(taken, {{i, j}})), (std::set<Symbol>{j_name, renamed}));
}

TEST(Substitute, the_indices_of_a_call_are_the_callers) {
  const Expr softmax = call(Symbol("softmax"), {j_name}, {x({i, j})});
  EXPECT_EQ(substitute(softmax, {{j, k}}), call(Symbol("softmax"), {k_name}, {x({i, k})}));
  const Expr body = call(Symbol("softmax"), {j_name}, {symbol(Symbol("a"))});
  EXPECT_EQ(substitute(body, {{symbol(Symbol("a")), x({j})}}), call(Symbol("softmax"), {j_name}, {x({j})}));
}

TEST(Substitute, values_of_a_reduction_are_those_under_the_substituted_environment) {
  // sum over j < 4 of f(i, j) with i := e, against evaluating with the value of e: on integer sums written out
  testing::RandomExpr random(9);
  const auto value_of_sum = [](Expr sum, DimValues environment) -> std::optional<std::int64_t> {
    const Bound bound = bounds_of(sum).front();
    const auto lo = evaluate_integer(bound.lo, environment);
    const auto hi = evaluate_integer(bound.hi, environment);
    std::int64_t total = 0;
    for (std::int64_t at = *lo; at < *hi; ++at) {
      environment[bound.index] = at;
      const auto value = evaluate_integer(values_of(sum).front(), environment);
      if (!value) return std::nullopt;
      total += *value;
    }
    return total;
  };
  int compared = 0;
  for (int count = 0; count < 2000; ++count) {
    const Expr sum = reduce(Symbol("sum"), Symbol(), {{j_name, number(0), number(4)}}, {random.integer(3)});
    const Expr replacement = random.integer(2);
    DimValues environment = random.values();
    const auto direct = value_of_sum(substitute(sum, {{i, replacement}}), environment);
    const auto value = evaluate_integer(replacement, environment);
    if (!value || !direct) continue;
    environment[i_name] = *value;
    EXPECT_EQ(direct, value_of_sum(sum, environment)) << print(sum) << " with i = " << print(replacement);
    ++compared;
  }
  EXPECT_GT(compared, 1000);
}

TEST(Names, of_tensors_and_dims_are_those_read) {
  const Expr e = sum_over(j_name, x({i, j}) * read(Symbol("y"), {x({j})}));
  EXPECT_EQ(tensors_read(e), (std::set<Symbol>{Symbol("x"), Symbol("y")}));
  EXPECT_EQ(dims_in(e), std::set<Symbol>{Symbol("N")});
  EXPECT_TRUE(contains(e, x({j})));
  EXPECT_FALSE(contains(e, x({i})));
}

}  // namespace
}  // namespace fathom
