// Data families: deterministic, in range, of the parameter's type, and such that scores show the pattern.
#include <algorithm>
#include <set>

#include "interp_test.hpp"

namespace fathom::interp {
namespace {

const char* const half_attention =
    "dim H = 2, S = 6, T = 16, D = 4\n"
    "operator attention(q: f16[H,S,D], k: f16[H,T,D], v: f16[H,T,D]) -> (o: f16[H,S,D]) {\n"
    "  s[h,i,j] = sum[d](q[h,i,d] * k[h,j,d])\n"
    "  o[h,i,e] = sum[j](softmax[j](s[h,i,j]) * v[h,j,e])\n}\n";

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(Data, is_a_pure_function_of_family_and_seed_and_fits_the_type) {
  const auto program = parse(half_attention);
  for (const std::string& family : data_families(program)) {
    SCOPED_TRACE(family);
    const Arrays once = make_inputs(program, default_dims(program), family, 11);
    const Arrays again = make_inputs(program, default_dims(program), family, 11);
    for (const auto& [name, array] : once) {
      EXPECT_EQ(array.dtype, DType::f16);
      for (std::size_t i = 0; i < array.data.size(); ++i) {
        EXPECT_TRUE(is_same(array.data[i], again.at(name).data[i]));
        EXPECT_TRUE(is_same(round_to(DType::f16, array.data[i]), array.data[i]));
      }
    }
  }
  EXPECT_NE(make_inputs(program, {}, "gaussian", 1).at(Symbol("q")).data, make_inputs(program, {}, "gaussian", 2).at(Symbol("q")).data);
}

std::vector<double> scores(const Arrays& inputs, std::int64_t row) {
  std::vector<double> result;
  for (std::size_t j = 0; j < 16; ++j) {
    double sum = 0;
    for (std::size_t d = 0; d < 4; ++d)
      sum += inputs.at(Symbol("q")).data[static_cast<std::size_t>(row) * 4 + d] * inputs.at(Symbol("k")).data[j * 4 + d];
    result.push_back(sum);
  }
  return result;
}

TEST(Data, patterns_of_the_keys_arrive_at_the_scores) {
  const auto program = parse(half_attention);
  const auto dims = default_dims(program);
  const Arrays rising = make_inputs(program, dims, "ascending@k", 1);
  const Arrays falling = make_inputs(program, dims, "descending@k", 1);
  const Arrays masked_first = make_inputs(program, dims, "masked-tile@k", 1, {4});
  for (std::size_t j = 1; j < 16; ++j) {
    EXPECT_GT(scores(rising, 2)[j], scores(rising, 2)[j - 1]);
    EXPECT_LT(scores(falling, 2)[j], scores(falling, 2)[j - 1]);
  }
  EXPECT_EQ(scores(masked_first, 1)[3], -inf);
  EXPECT_LT(scores(masked_first, 1)[4], -200);
  EXPECT_GT(scores(masked_first, 1)[4], -1000);
  std::set<std::size_t> peaks;
  const Arrays one_hot = make_inputs(program, dims, "one-hot@k", 1, {4, 8});
  for (std::int64_t i = 0; i < 6; ++i) {
    const auto row = scores(one_hot, i);
    peaks.insert(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  EXPECT_EQ(peaks, (std::set<std::size_t>{0, 4, 8, 15})) << "first, both tile edges, last";
}

TEST(Data, index_valued_inputs_stay_in_range_and_conditions_hold) {
  const auto program = parse(
      "dim B = 3, T = 12, P = 4, N = 5\n"
      "operator paged(x: f32[N, P], page: i32[B, 3], len: i32[B], tau: f32) -> (o: f32[B]) where tau > 0 {\n"
      "  o[b] = sum[j in 0:T](where(j < len[b], x[page[b, j // P], j % P], 0)) * tau\n}\n");
  for (const std::string& family : data_families(program))
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Arrays inputs = make_inputs(program, default_dims(program), family, seed);
      for (const double page : inputs.at(Symbol("page")).data) EXPECT_TRUE(page >= 0 && page < 5) << page;
      for (const double length : inputs.at(Symbol("len")).data) EXPECT_TRUE(length >= 0 && length <= 12) << length;
      EXPECT_GT(inputs.at(Symbol("tau")).data[0], 0);
      EXPECT_TRUE(reference(program, inputs, {}, {}));
    }
}

TEST(Data, the_end_of_a_range_stays_where_every_subscript_is_inside) {
  const auto program = parse(
      "dim B = 3, M = 5, P = 2, N = 7\n"
      "operator paged(x: f32[N, P], page: i32[B, M], len: i32[B]) -> (o: f32[B]) {\n"
      "  o[b] = max[j in 0:len[b]](x[page[b, j // P], j % P])\n}\n");
  double longest = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", seed);
    for (const double length : inputs.at(Symbol("len")).data) {
      EXPECT_TRUE(length >= 0 && length <= 10) << length;
      longest = std::max(longest, length);
    }
    EXPECT_TRUE(reference(program, inputs, {}, {}));
  }
  EXPECT_GT(longest, 7) << "beyond one page";
}

bool offers(const math::Program& program, const std::string& family) {
  const auto families = data_families(program);
  return std::find(families.begin(), families.end(), family) != families.end();
}

TEST(Data, special_values_stand_where_the_text_gives_them_a_meaning) {
  EXPECT_TRUE(offers(parse(half_attention), "infinite-peak@k"));
  EXPECT_TRUE(offers(parse(half_attention), "not-a-number@v")) << "no mask stands beside v";
  std::string masked = half_attention;
  masked.replace(masked.find("softmax[j](s[h,i,j])"), 20, "softmax[j](where(j <= i, s[h,i,j], -inf))");
  EXPECT_TRUE(offers(parse(masked), "infinite-peak@k")) << "a masked score is not looked at";
  EXPECT_FALSE(offers(parse(masked), "infinite-peak@v")) << "a weight that a mask made 0 is multiplied by v";
  EXPECT_FALSE(offers(parse(masked), "not-a-number@v"));
}

/// NaN is neither above nor below: which of two states a comparison takes then depends on where they stand, and a fold on its grouping.
TEST(Data, special_values_go_only_into_reductions_that_give_one_value_of_them) {
  const auto program = [](const std::string& reducer, const std::string& body = "o[i] = r[j](x[i,j])") {
    return parse("dim S = 6, T = 16\nreducer r(x) { " + reducer + " }\noperator f(x: f32[S,T]) -> (o: f32[S]) {\n  " + body + "\n}\n");
  };
  const std::string chosen = "state v = -inf lift (x) combine (where(v >= v', v, v'))";
  EXPECT_FALSE(offers(program(chosen), "not-a-number@x"));
  EXPECT_TRUE(offers(program(chosen), "infinite-peak@x")) << "infinities are ordered";
  EXPECT_FALSE(offers(program(chosen, "a[i,j] = 2 * x[i,j]\n  o[i] = r[j](a[i,j]) + 1"), "not-a-number@x")) << "through a statement";
  EXPECT_FALSE(offers(program(chosen, "o[i] = 1 + sum[k](x[i,k] + r[j](x[i,j]))"), "not-a-number@x")) << "inside of an expression";
  EXPECT_TRUE(offers(program(chosen, "o[i] = sum[j](x[i,j])"), "not-a-number@x")) << "declared, not used";
  EXPECT_TRUE(offers(program("state l = inf, h = -inf lift (x, x) combine (min(l, l'), max(h, h'))"), "not-a-number@x"));
  EXPECT_TRUE(offers(program("state v = -inf lift (x) combine (where(v != v or v >= v', v, v'))"), "not-a-number@x")) << "NaN is kept";
  EXPECT_TRUE(
      offers(program("state v = 0, has: bool = false lift (x, x < 2) combine (where(has', v', v), has or has')"), "infinite-peak@x"))
      << "elements that are masked out (2, inf) need not leave the identity as it is";
  const std::string m = "max(m, m')";
  const auto lse = program("state m = -inf, l = 0 lift (x, 1) combine (" + m + ", where(m == -inf, 0, l * exp(m - " + m +
                           ")) + where(m' == -inf, 0, l' * exp(m' - " + m + ")))\n result value = m + log(l)");
  EXPECT_FALSE(offers(lse, "infinite-peak@x")) << "inf - inf: one element alone is inf, beside another NaN";
  EXPECT_TRUE(offers(parse("dim S = 6, T = 16\noperator f(x: f32[S,T]) -> (o: i32[S]) { o[i] = argmax[j](x[i,j]) }"), "not-a-number@x"));
}

TEST(Data, a_peak_is_not_put_where_it_is_subtracted_from_itself) {
  const auto program = [](const std::string& body) {
    return parse("dim S = 6, T = 16\noperator f(x: f32[S,T]) -> (o: f32[S]) {\n  m[i] = max[j](x[i,j])\n" + body + "\n}\n");
  };
  EXPECT_FALSE(offers(program("  o[i] = max[j](m[i] - x[i,j])"), "infinite-peak@x")) << "inf - inf, or inf - min(x)";
  EXPECT_TRUE(offers(program("  o[i] = sum[j](exp(x[i,j] - m[i]))"), "infinite-peak@x")) << "NaN is the text's own there";
  EXPECT_TRUE(offers(program("  o[i] = m[i] + log(sum[j](exp(x[i,j] - m[i])))"), "infinite-peak@x"));
}

TEST(Data, masks_of_a_minimum_are_plus_infinity) {
  const auto sign = [](const std::string& body) {
    const auto program = parse("dim S = 6, T = 16\noperator f(x: f32[S,T]) -> (o: f32[S]) {\n" + body + "\n}\n");
    const Arrays inputs = make_inputs(program, default_dims(program), "infinite-prefix@x", 1, {0, 4, 8});
    int found = 0;
    for (const double x : inputs.at(Symbol("x")).data)
      if (std::isinf(x)) found = x > 0 ? 1 : -1;
    return found;
  };
  EXPECT_EQ(sign("  o[i] = max[j](x[i,j])"), -1);
  EXPECT_EQ(sign("  o[i] = min[j](x[i,j])"), 1);
  EXPECT_EQ(sign("  s[i,j] = -x[i,j]\n  o[i] = max[j](s[i,j])"), 1);
  EXPECT_EQ(sign("  o[i] = min[j](-2 * x[i,j])"), -1);
  EXPECT_EQ(sign("  o[i] = logsumexp[j](3 - x[i,j])"), 1);
  EXPECT_EQ(sign("  o[i] = max[j](x[i,j]) + min[j](x[i,j])"), -1) << "what one masks is a value of the other";
}

TEST(Data, special_values_arrive_in_some_rows_and_not_in_others) {
  const auto program = parse(
      "dim S = 6, T = 16\noperator f(x: f32[S,T]) -> (p: f32[S,T], l: f32[S]) {\n  p[i,j] = softmax[j](x[i,j])\n  l[i] = "
      "logsumexp[j](x[i,j])\n}\n");
  std::set<std::size_t> places;
  for (const std::string family : {"infinite-peak@x", "not-a-number@x"}) {
    SCOPED_TRACE(family);
    const Arrays inputs = make_inputs(program, default_dims(program), family, 1, {4, 8});
    const auto results = reference_of(program, inputs);
    for (std::size_t i = 0; i < 6; ++i) {
      const bool special = i % 2 == 1;
      const double sum = results.at(Symbol("l")).value[i];
      EXPECT_FALSE(results.at(Symbol("l")).undetermined[i]);
      EXPECT_EQ(std::isfinite(sum), !special);
      EXPECT_EQ(sum == inf, special && family == "infinite-peak@x");
      EXPECT_EQ(std::isnan(sum), special && family == "not-a-number@x");
      for (std::size_t j = 0; j < 16; ++j) {
        EXPECT_EQ(std::isnan(results.at(Symbol("p")).value[i * 16 + j]), special);
        EXPECT_FALSE(results.at(Symbol("p")).undetermined[i * 16 + j]);
        if (!std::isfinite(inputs.at(Symbol("x")).data[i * 16 + j])) places.insert(j);
      }
    }
  }
  EXPECT_EQ(places, (std::set<std::size_t>{0, 4, 8})) << "at edges in turn";
}

}  // namespace
}  // namespace fathom::interp
