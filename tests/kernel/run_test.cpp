// The interpreter of kernels against plain loops, and the verifier against planted faults.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_test.hpp"

namespace fathom {
namespace {

using interp::Array;
using interp::Arrays;
using test::attention;
using test::expect_near;
using test::noise;
using test::parsed;
using test::refusal;
using test::run;
using test::text_of;
using test::with;

const char* small_attention = R"(
dim S = runtime 100
dim T = runtime 100
module attention(q: f32[S,8], k: f32[T,8], v: f32[T,8]) -> (o: f32[S,8]) {
  kernel attention {
    work t in 0:(S + 47) // 48 grid
    axis i = i:48
    axis j = j:64
    axis d = d:8
    axis e = e:8
    let i0 = t * 48
    role all warps 1 {
      for t in work {
        q.t[i,d] = q[i0 + i,d] else 0
        for jt in [all 0:(T + 63) // 64] carry(p.m[i] = -inf, p.m~[i] = 0, p.sum[i] = 0, o.sum[i,e] = 0) {
          let j0 = jt * 64
          k.t[j,d] = k[j0 + j,d] else 0
          s.sum[i,j] = sum[d](q.t[i,d] * k.t[j,d])
          s[i,j] = where(j0 + j < T, s.sum[i,j] * 0.5, -inf)
          p.m'[i] = max(p.m[i], max[j](s[i,j]))
          p.m~'[i] = where(p.m'[i] == -inf, 0, p.m'[i])
          f[i] = where(p.m[i] == -inf, 1, exp(p.m~[i] - p.m~'[i]))
          p.e[i,j] = exp(s[i,j] - p.m~'[i])
          p.sum[i] = p.sum[i] * f[i] + sum[j](p.e[i,j])
          v.t[j,e] = v[j0 + j,e] else 0
          o.sum[i,e] = o.sum[i,e] * f[i] + sum[j](p.e[i,j] * v.t[j,e])
          p.m[i], p.m~[i] = p.m'[i], p.m~'[i]
        }
        o[i0 + i,e] = where(p.m[i] == -inf, 0, o.sum[i,e] / p.sum[i])
      } } } })";

TEST(RunTile, the_text_of_the_architecture_computes_attention) {
  const kernel::Module m = parsed(text_of("attention_tile"));
  ASSERT_EQ(refusal(m, Level::tile), "");
  // The whole text is 8 heads of 1024 keys: too long for a unit test, so the same text with smaller numbers.
  std::string text = kernel::print(m);
  for (int i = 0; i < 4; ++i) text = with(text, "[1,8,1024,64]", "[1,2,80,8]");
  text = with(with(with(text, "0:176", "0:4"), "t // 22", "t // 2"), "t % 22 * 48", "t % 2 * 48");
  text = with(with(with(text, "axis d = d:64", "axis d = d:8"), "axis e = e:64", "axis e = e:8"), "axis j = j:64", "axis j = j:16");
  text = with(with(text, "[all 0:16]", "[all 0:5]"), "let j0 = jt * 64", "let j0 = jt * 16");
  Arrays in;
  for (const char* name : {"q", "k", "v"}) in[Symbol(name)] = noise({1, 2, 80, 8}, static_cast<unsigned>(name[0]));
  const Arrays out = run(parsed(text), Level::tile, in);
  std::vector<double> expected;
  for (std::int64_t h = 0; h < 2; ++h) {
    const auto head = [&](const char* name) {
      Array part = in[Symbol(name)];
      part.data = {part.data.begin() + h * 640, part.data.begin() + (h + 1) * 640};
      return part;
    };
    const auto one = attention(head("q"), head("k"), head("v"), 80, 80, 8, 0.125, [](auto, auto) { return true; });
    expected.insert(expected.end(), one.begin(), one.end());
  }
  expect_near(out.at(Symbol("o")), expected, 2e-6);
}

TEST(RunTile, ragged_extents_and_run_time_dimensions_are_exact_up_to_rounding_in_few_operations) {
  const kernel::Module m = parsed(small_attention);
  ASSERT_EQ(refusal(m, Level::tile), "");
  for (const auto& [s, t] : {std::pair<std::int64_t, std::int64_t>{100, 100}, {1, 1}, {49, 63}, {48, 129}, {3, 0}}) {
    const Arrays in = {{Symbol("q"), noise({s, 8}, 1)}, {Symbol("k"), noise({t, 8}, 2)}, {Symbol("v"), noise({t, 8}, 3)}};
    interp::RunOptions options;
    options.dims = {{Symbol("S"), s}, {Symbol("T"), t}};
    options.work_limit = 1'000'000;  // 100 x 100 pairs in tiles of 48 x 64 are 300 000 products
    const Arrays out = run(m, Level::tile, in, options);
    expect_near(out.at(Symbol("o")),
                attention(in.at(Symbol("q")), in.at(Symbol("k")), in.at(Symbol("v")), s, t, 8, 0.5, [](auto, auto) { return true; }), 2e-6);
  }
}

}  // namespace
}  // namespace fathom
