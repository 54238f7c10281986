// What the notation means at its edges: masks, laziness, scans, ragged ranges, reducers, empty sets.
#include "interp_test.hpp"

namespace fathom::interp {
namespace {

TEST(Semantics, a_masked_out_element_is_neither_loaded_nor_are_its_indices) {
  const auto program = parse(
      "dim T = 4, P = 2, M = 3\n"
      "operator paged(x: f32[M, P], page: i32[2], len: i32) -> (o: f32) {\n"
      "  o = sum[j in 0:T](where(j < len, x[page[j // P], j % P], 0))\n}\n");
  const Arrays inputs{{Symbol("x"), array({3, 2}, {1, 2, nan, nan, 3, 4})},
                      {Symbol("page"), array({2}, {2, 1000}, DType::i32)},
                      {Symbol("len"), array({}, {2}, DType::i32)}};
  EXPECT_EQ(reference_of(program, inputs).at(Symbol("o")).value[0], 7);
  EXPECT_EQ(run_of(make_ir(program), inputs).at(Symbol("o")).data[0], 7);
  Arrays further = inputs;
  further[Symbol("len")].data[0] = 3;
  const auto refused = reference(program, further, {}, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().reason.find("outside a tensor"), std::string::npos);
}

TEST(Semantics, a_factor_that_a_mask_makes_zero_absorbs_what_it_multiplies) {
  const auto program = parse(
      "dim T = 4\n"
      "operator f(s: f32[T], v: f32[T], keep: bool[T]) -> (o: f32) {\n"
      "  p[j] = softmax[j](where(keep[j], s[j], -inf))\n  o = sum[j](p[j] * v[j])\n}\n");
  const Arrays inputs{
      {Symbol("s"), row({1, 1, nan, inf})}, {Symbol("v"), row({3, 5, nan, inf})}, {Symbol("keep"), row({1, 1, 0, 0}, DType::boolean)}};
  EXPECT_NEAR(reference_of(program, inputs).at(Symbol("o")).value[0], 4, 1e-12);
  EXPECT_EQ(run_of(make_ir(program), inputs).at(Symbol("o")).data[0], 4);
  Arrays none = inputs;
  none[Symbol("keep")].data = {0, 0, 0, 0};
  EXPECT_EQ(reference_of(program, none).at(Symbol("o")).value[0], 0);
  EXPECT_EQ(run_of(make_ir(program), none).at(Symbol("o")).data[0], 0);
}

TEST(Semantics, a_zero_that_no_mask_made_times_infinity_is_not_a_number) {
  const auto program = parse("dim T = 2\noperator f(a: f32[T], b: f32[T]) -> (o: f32) { o = sum[j](a[j] * b[j]) }\n");
  const Arrays inputs{{Symbol("a"), row({0, 1})}, {Symbol("b"), row({inf, 1})}};
  EXPECT_TRUE(std::isnan(run_of(make_ir(program), inputs).at(Symbol("o")).data[0]));
  EXPECT_TRUE(std::isnan(reference_of(program, inputs).at(Symbol("o")).value[0]));
}

TEST(Semantics, an_empty_sum_is_zero_and_an_empty_maximum_minus_infinity) {
  const auto program = parse("dim T = 3\noperator f(x: f32[T]) -> (a: f32, b: f32) { a = sum[j](x[j])\n b = max[j](x[j]) }\n", {{"T", 0}});
  const auto results = reference_of(program, {{Symbol("x"), row({})}});
  EXPECT_EQ(results.at(Symbol("a")).value[0], 0);
  EXPECT_EQ(results.at(Symbol("b")).value[0], -inf);
}

TEST(Semantics, softmax_of_an_impossible_row_is_zero_and_of_an_infinite_one_not_a_number) {
  const auto program =
      parse("dim T = 2\noperator f(x: f32[T]) -> (p: f32[T], l: f32) { p[j] = softmax[j](x[j])\n l = logsumexp[j](x[j]) }\n");
  const auto masked_row = reference_of(program, {{Symbol("x"), row({-inf, -inf})}});
  EXPECT_EQ(masked_row.at(Symbol("p")).value, (std::vector<double>{0, 0}));
  EXPECT_EQ(masked_row.at(Symbol("l")).value[0], -inf);
  const auto infinite_row = reference_of(program, {{Symbol("x"), row({inf, 0})}});
  EXPECT_TRUE(std::isnan(infinite_row.at(Symbol("p")).value[0]));
}

TEST(Semantics, a_scan_sums_what_stands_before) {
  const auto program = parse("dim T = 5\noperator f(x: f32[T]) -> (c: f32[T]) { c[j in 0:T] = sum[k in 0:j+1](x[k]) }\n");
  const Arrays inputs{{Symbol("x"), row({1, 2, 3, 4, 5})}};
  EXPECT_EQ(reference_of(program, inputs).at(Symbol("c")).value, (std::vector<double>{1, 3, 6, 10, 15}));
  EXPECT_EQ(run_of(make_ir(program), inputs).at(Symbol("c")).data, (std::vector<double>{1, 3, 6, 10, 15}));
}

TEST(Semantics, a_reducer_that_is_not_commutative_folds_in_index_order) {
  const auto program = parse(
      "dim T = 4\nreducer last(x, t) { state v = 0, has: bool = false\n lift (x, t)\n combine (where(has', v', v), has or has')\n result v "
      "= v }\n"
      "operator f(s: f32[T]) -> (o: f32) { o = last[j](s[j], s[j] > 0) }\n");
  EXPECT_EQ(reference_of(program, {{Symbol("s"), row({1, 2, 3, -1})}}).at(Symbol("o")).value[0], 3);
}

TEST(Semantics, the_lowest_index_of_ties_is_the_place_of_the_maximum) {
  const auto program = parse("dim T = 4\noperator f(s: f32[T]) -> (o: f32) { at = argmax[j](s[j])\n o = at * 1.0 }\n");
  EXPECT_EQ(reference_of(program, {{Symbol("s"), row({1, 7, 7, 3})}}).at(Symbol("o")).value[0], 1);
  EXPECT_EQ(run_of(make_ir(program), {{Symbol("s"), row({1, 7, 7, 3})}}).at(Symbol("o")).data[0], 1);
}

TEST(Reference, of_some_rows_is_that_part_of_the_whole) {
  const auto program = parse(
      "dim S = 9, T = 7, D = 3\n"
      "operator f(q: f32[S, D], k: f32[T, D], v: f32[T, D]) -> (o: f32[S, D]) {\n"
      "  s[i,j] = sum[d](q[i,d] * k[j,d])\n  p[i,j] = softmax[j](where(j <= i, s[i,j], -inf))\n  o[i,d] = sum[j](p[i,j] * v[j,d])\n}\n");
  const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", 2);
  const Bounded whole = reference_of(program, inputs).at(Symbol("o"));
  BoundOptions options;
  options.rows[Symbol("i")] = {4, 6};
  const Bounded part = reference_of(program, inputs, {}, options).at(Symbol("o"));
  EXPECT_EQ(part.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(part.first, (std::vector<std::int64_t>{4, 0}));
  EXPECT_EQ(part.value, std::vector<double>(whole.value.begin() + 12, whole.value.begin() + 18));
  EXPECT_EQ(part.bound, std::vector<double>(whole.bound.begin() + 12, whole.bound.begin() + 18));
}

TEST(Reference, of_some_rows_keeps_all_that_a_shifted_reader_needs) {
  const auto program = parse("dim S = 9\noperator f(x: f32[S]) -> (o: f32[8]) {\n  y[i] = x[i] * 2\n  o[i in 0:8] = y[i] + y[i + 1]\n}\n");
  const Arrays inputs{{Symbol("x"), row({0, 1, 2, 3, 4, 5, 6, 7, 8})}};
  BoundOptions options;
  options.rows[Symbol("i")] = {3, 5};
  EXPECT_EQ(reference_of(program, inputs, {}, options).at(Symbol("o")).value, (std::vector<double>{14, 18}));
}

TEST(Reference, of_some_rows_leaves_out_what_only_another_result_needs) {
  const auto program = parse(
      "dim S = 5, T = 4\noperator f(x: f32[S, T]) -> (y: f32[S, T], z: f32[S, T]) {\n"
      "  y[i,j] = x[i,j] * 2\n  z[i,j] = y[i,j] - max[k](y[k,j])\n}\n");
  const Arrays inputs = make_inputs(program, default_dims(program), "small-integers", 2);
  BoundOptions options;
  options.rows[Symbol("i")] = {1, 3};
  options.rows[Symbol("j")] = {2, 3};
  const auto whole = reference_of(program, inputs), part = reference_of(program, inputs, {}, options);
  for (const char* name : {"y", "z"}) {
    const Bounded& all = whole.at(Symbol(name));
    EXPECT_EQ(part.at(Symbol(name)).shape, (std::vector<std::int64_t>{2, 1})) << name << ": z needs every row of y";
    EXPECT_EQ(part.at(Symbol(name)).first, (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(part.at(Symbol(name)).value, (std::vector<double>{all.value[1 * 4 + 2], all.value[2 * 4 + 2]}));
  }
}

TEST(Run, refuses_what_breaks_the_contract) {
  const auto program = parse("dim T = 2\noperator f(x: f32[T], tau: f32) -> (o: f32) where tau > 0 { o = sum[j](x[j]) * tau }\n");
  const Array x = row({1, 2});
  EXPECT_FALSE(run(make_ir(program), {{Symbol("x"), x}}, {}));
  EXPECT_FALSE(run(make_ir(program), {{Symbol("x"), x}, {Symbol("tau"), array({}, {-1})}}, {}));
  EXPECT_FALSE(run(make_ir(program), {{Symbol("x"), row({1, 2, 3})}, {Symbol("tau"), array({}, {1})}}, {}));
  EXPECT_FALSE(run(make_ir(program), {{Symbol("x"), row({0.1, 2})}, {Symbol("tau"), array({}, {1})}}, {})) << "0.1 is no f32";
  EXPECT_TRUE(run(make_ir(program), {{Symbol("x"), x}, {Symbol("tau"), array({}, {1})}}, {}));
}

TEST(Run, stops_at_its_work_limit) {
  const auto program = parse("dim T = 4096\noperator f(x: f32[T]) -> (o: f32) { o = sum[i in 0:T, j in 0:T](x[i] * x[j]) }\n");
  RunOptions options;
  options.work_limit = 100'000;
  const auto refused = run(make_ir(program), {{Symbol("x"), row(std::vector<double>(4096, 1))}}, options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().reason.find("work limit"), std::string::npos);
}

}  // namespace
}  // namespace fathom::interp
