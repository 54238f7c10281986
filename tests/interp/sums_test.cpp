// Sums of products are added in doubles, without a column of products, and reads by steps are copied: the same bits as the long way round.
#include <random>

#include "interp/wide.hpp"
#include "interp_test.hpp"

namespace fathom::interp {
namespace {

/// The product as a statement of its own: no sum of products to shorten.
const char* const shortened = "dim S = 3, T = 37\noperator f(a: f32[S,T], b: f32[T]) -> (o: f32[S]) {\n  o[i] = sum[j](a[i,j] * b[j])\n}\n";
const char* const long_way =
    "dim S = 3, T = 37\noperator f(a: f32[S,T], b: f32[T]) -> (o: f32[S]) {\n  p[i,j] = a[i,j] * b[j]\n  o[i] = sum[j](p[i,j])\n}\n";

Arrays random_inputs(double scale, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&] { return static_cast<double>(static_cast<float>(scale * (static_cast<double>(random() >> 11U) * 0x1p-53 - 0.5))); };
  Arrays inputs{{Symbol("a"), array({3, 37}, std::vector<double>(111))}, {Symbol("b"), row(std::vector<double>(37))}};
  for (auto& [name, each] : inputs)
    for (double& x : each.data) x = draw();
  return inputs;
}

void expect_same(const Bounded& a, const Bounded& b) {
  ASSERT_EQ(a.value.size(), b.value.size());
  for (std::size_t i = 0; i < a.value.size(); ++i) {
    EXPECT_TRUE(a.value[i] == b.value[i] || (std::isnan(a.value[i]) && std::isnan(b.value[i]))) << a.value[i] << " " << b.value[i];
    EXPECT_EQ(a.bound[i], b.bound[i]);
    EXPECT_EQ(a.undetermined[i], b.undetermined[i]);
  }
}

TEST(Sums, of_products_are_what_they_are_in_two_statements) {
  const auto one = parse(shortened), two = parse(long_way);
  for (const double scale : {1.0, 1e-30, 1e18, 3e38})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(scale);
      Arrays inputs = random_inputs(scale, seed);
      if (seed == 1) inputs[Symbol("a")].data[40] = inf;
      if (seed == 2) inputs[Symbol("a")].data[40] = nan;
      if (seed == 3) inputs[Symbol("a")].data[40] = inf, inputs[Symbol("b")].data[3] = 0;
      expect_same(reference_of(one, inputs).at(Symbol("o")), reference_of(two, inputs).at(Symbol("o")));
      const Array here = run_of(make_ir(one), inputs).at(Symbol("o")), there = run_of(make_ir(two), inputs).at(Symbol("o"));
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_TRUE(here.data[i] == there.data[i] || (std::isnan(here.data[i]) && std::isnan(there.data[i])));
    }
}

/// Powers of two have exact products: those that f32 holds add no rounding, those about and below its smallest normal number (2^-126) do.
TEST(Sums, of_products_about_the_smallest_normal_number_are_what_they_are_in_two_statements) {
  const auto one = parse(shortened), two = parse(long_way);
  for (int exponent = -130; exponent <= -120; ++exponent) {
    SCOPED_TRACE(exponent);
    Arrays inputs{{Symbol("a"), array({3, 37}, std::vector<double>(111, std::ldexp(1.0, -60)))},
                  {Symbol("b"), row(std::vector<double>(37, std::ldexp(1.0, exponent + 60)))}};
    expect_same(reference_of(one, inputs).at(Symbol("o")), reference_of(two, inputs).at(Symbol("o")));
    inputs[Symbol("a")].data[50] *= 1 + 0x1p-20;
    inputs[Symbol("b")].data[13] *= 1 + 0x1p-21;
    expect_same(reference_of(one, inputs).at(Symbol("o")), reference_of(two, inputs).at(Symbol("o")));
  }
}

TEST(Sums, of_products_of_small_integers_are_exact) {
  const auto one = parse(shortened);
  Arrays inputs = random_inputs(20, 5);
  for (auto& [name, each] : inputs)
    for (double& x : each.data) x = std::nearbyint(x);
  EXPECT_EQ(reference_of(one, inputs).at(Symbol("o")).bound, std::vector<double>(3, 0));
}

TEST(Sums, of_computed_factors_carry_their_errors) {
  const std::string head = "dim S = 3, T = 37\noperator f(a: f32[S,T], b: f32[T]) -> (o: f32[S]) {\n  e[i,j] = exp(a[i,j])\n";
  const auto one = parse(head + "  o[i] = sum[j](e[i,j] * b[j])\n}\n");
  const auto two = parse(head + "  p[i,j] = e[i,j] * b[j]\n  o[i] = sum[j](p[i,j])\n}\n");
  for (const double scale : {1.0, 60.0, 170.0})  // the last with products that f32 cannot hold
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(scale);
      const Arrays inputs = random_inputs(scale, seed);
      expect_same(reference_of(one, inputs).at(Symbol("o")), reference_of(two, inputs).at(Symbol("o")));
    }
}

/// So many points that neither the products nor, in whole numbers, their columns fit into one block.
TEST(Sums, of_many_products_are_taken_in_blocks) {
  const auto text = [](const std::string& type) {
    return "dim N = 300, K = 70\noperator f(a: " + type + "[N,K], b: " + type + "[K,N]) -> (o: " + type +
           "[N,N]) {\n  o[i,j] = sum[k](a[i,k] * b[k,j])\n}\n";
  };
  for (const DType type : {DType::f32, DType::i32}) {
    Arrays inputs{{Symbol("a"), array({300, 70}, {}, type)}, {Symbol("b"), array({70, 300}, {}, type)}};
    for (std::int64_t n = 0; n < 21000; ++n) {
      inputs[Symbol("a")].data.push_back(static_cast<double>(n * 7 % 19 - 9));
      inputs[Symbol("b")].data.push_back(static_cast<double>(n * 5 % 23 - 11));
    }
    std::vector<double> expected;
    for (std::size_t i = 0; i < 300; ++i)
      for (std::size_t j = 0; j < 300; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 70; ++k) sum += inputs[Symbol("a")].data[i * 70 + k] * inputs[Symbol("b")].data[k * 300 + j];
        expected.push_back(sum);
      }
    const auto program = parse(text(std::string(name(type))));
    EXPECT_TRUE(run_of(make_ir(program), inputs).at(Symbol("o")).data == expected);
    const Bounded bounded = reference_of(program, inputs).at(Symbol("o"));
    EXPECT_TRUE(bounded.value == expected);
    EXPECT_EQ(bounded.bound, std::vector<double>(expected.size(), 0));
  }
}

TEST(Sums, of_computed_factors_far_outside_of_doubles_are_wide) {
  const std::string head = "dim T = 5\noperator f(s: f32[T], v: f32[T]) -> (o: f32) {\n  p[j] = exp(s[j])\n  q[j] = exp(0 - s[j])\n";
  const auto one = parse(head + "  o = sum[j](p[j] * q[j])\n}\n"), two = parse(head + "  r[j] = p[j] * q[j]\n  o = sum[j](r[j])\n}\n");
  const Arrays inputs{{Symbol("s"), row({1e5, 2, -3e5, 800, -1e6})}, {Symbol("v"), row({1, 1, 1, 1, 1})}};
  const Bounded sum = reference_of(one, inputs).at(Symbol("o"));
  EXPECT_NEAR(sum.value[0], 5, 1e-12);
  expect_same(sum, reference_of(two, inputs).at(Symbol("o")));
}

TEST(Sums, of_masked_factors_absorb_what_stands_beside_them) {
  const std::string head = "dim T = 6\noperator f(s: f32[T], v: f32[T]) -> (o: f32) {\n  p[j] = where(j < 4, exp(s[j]), 0)\n";
  const auto one = parse(head + "  o = sum[j](p[j] * v[j])\n}\n"), two = parse(head + "  r[j] = p[j] * v[j]\n  o = sum[j](r[j])\n}\n");
  const Arrays inputs{{Symbol("s"), row({1, 2, 3, 4, 5, 6})}, {Symbol("v"), row({1, -1, 2, 0.5, nan, inf})}};
  const Bounded sum = reference_of(one, inputs).at(Symbol("o"));
  EXPECT_TRUE(std::isfinite(sum.value[0]));
  expect_same(sum, reference_of(two, inputs).at(Symbol("o")));
}

TEST(Sums, a_narrowed_factor_adds_its_rounding_to_each_term) {
  const auto program = parse(shortened);
  const Arrays inputs = random_inputs(1, 9);
  const Bounded strict = reference_of(program, inputs).at(Symbol("o"));
  BoundOptions options;
  options.narrowed = {{Symbol("o"), Symbol("j"), DType::bf16}};
  const Bounded wider = reference_of(program, inputs, {}, options).at(Symbol("o"));
  for (std::size_t i = 0; i < 3; ++i) {
    double terms = 0;
    for (std::size_t j = 0; j < 37; ++j) terms += std::abs(inputs.at(Symbol("a")).data[i * 37 + j] * inputs.at(Symbol("b")).data[j]);
    EXPECT_EQ(wider.value[i], strict.value[i]);
    EXPECT_NEAR(wider.bound[i] - strict.bound[i], terms * 0x1p-8, terms * 0x1p-20) << "bf16 keeps 8 bits: half of the last one is 2^-8";
  }
  options.narrowed = {{Symbol("o"), Symbol("k"), DType::bf16}, {Symbol("other"), Symbol("j"), DType::bf16}};
  EXPECT_EQ(reference_of(program, inputs, {}, options).at(Symbol("o")).bound, strict.bound) << "other sums keep theirs";
}

TEST(Sums, a_wide_number_within_limits_is_its_double) {
  std::mt19937_64 random(3);
  for (int n = 0; n < 1000; ++n) {
    const double x = std::ldexp(static_cast<double>(random() >> 11U) * 0x1p-53 - 0.5, static_cast<int>(random() % 1200) - 600);
    EXPECT_EQ(Wide(x).is_within(1000) ? Wide(x).as_double() : x, x);
    EXPECT_TRUE(Wide(x).is_within(700));
  }
  EXPECT_TRUE(Wide(0.0).is_within(0));
  for (const Wide far : {Wide(inf), Wide(nan), exp(Wide(1000)), exp(Wide(-1000))}) EXPECT_FALSE(far.is_within(1000));
}

TEST(Reads, by_steps_backwards_and_at_the_border_are_what_they_say) {
  const auto program = parse(
      "dim T = 12\noperator f(x: f32[T]) -> (a: f32[6], b: f32[T], c: f32[T], d: f32[3,4]) {\n"
      "  a[i in 0:6] = x[2 * i + 1]\n  b[i] = x[T - 1 - i]\n  c[i] = where(i > 2, x[i - 3], -1)\n  d[i in 0:3, j in 0:4] = x[4 * i + "
      "j]\n}\n");
  std::vector<double> x;
  for (int i = 0; i < 12; ++i) x.push_back(i * i);
  const Arrays inputs{{Symbol("x"), row(x)}};
  const auto check = [&](const char* name, const std::vector<double>& expected) {
    EXPECT_EQ(reference_of(program, inputs).at(Symbol(name)).value, expected) << name;
    EXPECT_EQ(run_of(make_ir(program), inputs).at(Symbol(name)).data, expected) << name;
  };
  check("a", {1, 9, 25, 49, 81, 121});
  check("b", std::vector<double>(x.rbegin(), x.rend()));
  check("c", {-1, -1, -1, 0, 1, 4, 9, 16, 25, 36, 49, 64});
  check("d", x);
}

TEST(References, many_parts_of_one_reading_are_the_whole) {
  const auto program = parse(
      "dim S = 9, T = 7\noperator f(x: f32[S,T]) -> (p: f32[S,T], l: f32[S]) {\n  p[i,j] = softmax[j](x[i,j])\n  l[i] = "
      "logsumexp[j](x[i,j])\n}\n");
  const Arrays inputs = make_inputs(program, default_dims(program), "gaussian", 2);
  const auto whole = reference_of(program, inputs);
  const auto references = References::of(program, inputs, {});
  ASSERT_TRUE(references) << references.error().reason;
  for (std::int64_t i = 0; i < 9; ++i) {
    BoundOptions options;
    options.rows[Symbol("i")] = {i, i + 1};
    const auto part = references->at(options);
    ASSERT_TRUE(part) << part.error().reason;
    EXPECT_GT(part->work, 0);
    EXPECT_LT(part->work, 1000) << "a row does not ask for the others";
    const auto begin = whole.at(Symbol("p")).value.begin() + i * 7;
    EXPECT_EQ(part->results.at(Symbol("p")).value, std::vector<double>(begin, begin + 7));
    EXPECT_EQ(part->results.at(Symbol("l")).value[0], whole.at(Symbol("l")).value[static_cast<std::size_t>(i)]);
    options.results = {Symbol("l")};
    const auto one = references->at(options);
    ASSERT_TRUE(one) << one.error().reason;
    EXPECT_EQ(one->results.count(Symbol("p")), 0U);
    EXPECT_LT(one->work, part->work);
  }
}

}  // namespace
}  // namespace fathom::interp
