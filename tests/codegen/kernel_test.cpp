// Kernels against plain loops: matrix products, rows, split reductions, storage types, lazy masks, contracts.
#include <algorithm>
#include <bit>
#include <set>
#include <sstream>
#include <thread>

#include "ir/element_bits.hpp"
#include "ir/kernel_lines.hpp"
#include "lang/lang.hpp"
#include "launch_helpers.hpp"

namespace fathom::cpu::test {
namespace {

using F = Tensor<float>;

std::string matmul_text(const std::string& product, const std::string& source = "grid") {
  return R"(
dim M = runtime 1, K = runtime 1, N = runtime 1
module matmul(a: f32[M,K], b: f32[K,N]) -> (c: f32[M,N]) {
  let MB = (M + 12) // 13
  let NB = (N + 36) // 37
  workspace next: i32[1] zero
  kernel product {
    work t in 0:MB*NB )" +
         source + R"(
    axis i = i:13
    axis j = j:37
    axis x = x:19
    atom mm = fma_6x32_f32
    role all warps 1 {
      for t in work {
        let i0 = t // NB * 13
        let j0 = t % NB * 37
        for p in 0:(K + 18) // 19 carry(acc[i,j] = 0) {
          let x0 = p*19
          at[i,x] = a[i0 + i, x0 + x] else 0
          bt[x,j] = b[x0 + x, j0 + j] else 0
          )" +
         product + R"(
        }
        c[i0 + i, j0 + j] = acc[i,j]
      } } } })";
}
const char* const with_atom = "z = mma mm: acc[i,j] += at[i,x] * bt[x,j]\n          acc[i,j] = await z";
const char* const with_sum = "acc[i,j] = acc[i,j] + sum[x](at[i,x] * bt[x,j])";

void expect_product(F& a, F& b, F& c) {
  const std::int64_t depth = a.extents()[1];
  c.each([&](const auto& at, float got) {
    double sum = 0, magnitude = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += static_cast<double>(a({at[0], k})) * static_cast<double>(b({k, at[1]}));
      magnitude += std::fabs(static_cast<double>(a({at[0], k})) * static_cast<double>(b({k, at[1]})));
    }
    EXPECT_NEAR(got, sum, 1e-6 * magnitude + 1e-30) << at[0] << "," << at[1];
  });
}

TEST(Matmul, is_right_for_ragged_shapes_and_leaves_the_guard_bands_alone) {
  for (const char* product : {with_atom, with_sum}) {
    const auto program = compiled(matmul_text(product));
    for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {13, 37, 19}, {50, 75, 40}, {14, 38, 20}, {5, 100, 3}}) {
      F a({m, k}), b({k, n}), c({m, n});
      a.fill_normal(1);
      b.fill_normal(2);
      ASSERT_EQ(launch(program.get(), {a.view(), b.view(), c.view()}), "");
      expect_product(a, b, c);
      EXPECT_TRUE(a.guards_untouched() && b.guards_untouched() && c.guards_untouched()) << m << " " << n << " " << k;
    }
  }
}

TEST(Matmul, of_depth_0_is_0_and_of_no_rows_does_nothing) {
  const auto program = compiled(matmul_text(with_atom));
  F a({4, 0}), b({0, 5}), c({4, 5});
  ASSERT_EQ(launch(program.get(), {a.view(), b.view(), c.view()}), "");
  c.each([](const auto&, float x) { EXPECT_EQ(x, 0); });
  F none({0, 3}), right({3, 5}), empty({0, 5});
  EXPECT_EQ(launch(program.get(), {none.view(), right.view(), empty.view()}), "");
  EXPECT_TRUE(empty.guards_untouched());
}

TEST(Matmul, gives_the_same_bits_for_any_number_of_threads_and_any_source_of_work) {
  F a({70, 41}), b({41, 90}), first({70, 90});
  a.fill_normal(3);
  b.fill_normal(4);
  for (const char* source : {"grid", "dynamic next"}) {
    const auto program = compiled(matmul_text(with_atom, source));
    for (int threads : {1, 2, 3}) {
      F c({70, 90});
      ASSERT_EQ(launch(program.get(), {a.view(), b.view(), c.view()}, threads), "");
      if (std::isnan(first({0, 0}))) first = c;
      EXPECT_TRUE(c.same_bits(first)) << source << ", " << threads << " threads";
    }
  }
}

TEST(Matmul, takes_operands_in_any_layout) {
  // at is stored transposed and the accumulator's rows are b's columns: strides, not layouts, say what an operand is.
  const auto program = compiled(R"(
module product(a: f32[24,16], b: f32[16,40]) -> (c: f32[40,24]) {
  kernel k {
    work t in 0:1 grid
    axis i = i:24
    axis j = j:40
    axis x = x:16
    atom mm = fma_4x16_f32
    role all warps 1 {
      for t in work {
        at[x,i] = a[i,x]
        bt[x,j] = b[x,j]
        z = mma mm: acc[j,i] = at[x,i] * bt[x,j]
        acc[j,i] = await z
        y = mma mm: twice[i,j] = at[x,i] * bt[x,j]
        twice[i,j] = await y
        c[j,i] = acc[j,i] + twice[i,j]
      } } } })");
  F a({24, 16}), b({16, 40}), c({40, 24});
  a.fill_normal(5);
  b.fill_normal(6);
  ASSERT_EQ(launch(program.get(), {a.view(), b.view(), c.view()}), "");
  c.each([&](const auto& at, float got) {
    double sum = 0;
    for (std::int64_t k = 0; k < 16; ++k) sum += static_cast<double>(a({at[1], k})) * static_cast<double>(b({k, at[0]}));
    EXPECT_NEAR(got, 2 * sum, 1e-4);
  });
}

// ---- rows ----

const char* const softmax_text = R"(
dim M = runtime 1, N = runtime 1
module softmax(x: f32[M,N]) -> (y: f32[M,N]) {
  kernel rows {
    work t in 0:(M + 3) // 4 grid
    axis i = i:4
    axis j = j:48
    role all warps 1 {
      for t in work {
        let i0 = t*4
        for p in 0:(N + 47) // 48 carry(m[i] = -inf, l[i] = 0) {
          xt[i,j] = x[i0 + i, p*48 + j] else -inf
          m1[i] = max(m[i], max[j](xt[i,j]))
          base[i] = where(m1[i] == -inf, 0, m1[i])
          e[i,j] = exp(xt[i,j] - base[i])
          l[i] = l[i] * where(m[i] == -inf, 0, exp(m[i] - base[i])) + sum[j](e[i,j])
          m[i] = m1[i]
        }
        b[i] = where(m[i] == -inf, 0, m[i])
        for p in 0:(N + 47) // 48 {
          out[i,j] = x[i0 + i, p*48 + j] else 0
          y[i0 + i, p*48 + j] = where(l[i] > 0, exp(out[i,j] - b[i]) / l[i], 0)
        }
      } } } })";

TEST(Softmax, of_rows_is_right_with_large_scores_and_masked_rows) {
  const auto program = compiled(softmax_text);
  for (const std::int64_t n : {1, 47, 48, 49, 200}) {
    F x({6, n}), y({6, n});
    x.fill_normal(9, 3);
    for (std::int64_t j = 0; j < n; ++j) {
      x({1, j}) = -INFINITY;                 // masked out entirely
      if (j < n / 2) x({2, j}) = -INFINITY;  // masked at first
      x({3, j}) *= 1e5F;
      x({4, j}) = -200;
    }
    ASSERT_EQ(launch(program.get(), {x.view(), y.view()}), "");
    for (std::int64_t i = 0; i < 6; ++i) {
      double m = -HUGE_VAL, l = 0;
      for (std::int64_t j = 0; j < n; ++j) m = std::max(m, static_cast<double>(x({i, j})));
      for (std::int64_t j = 0; j < n; ++j) l += m == -HUGE_VAL ? 0 : std::exp(static_cast<double>(x({i, j})) - m);
      for (std::int64_t j = 0; j < n; ++j)
        EXPECT_NEAR(y({i, j}), l == 0 ? 0 : std::exp(static_cast<double>(x({i, j})) - m) / l, 2e-6) << i << "," << j << " of " << n;
    }
    EXPECT_TRUE(y.guards_untouched());
  }
}

TEST(Rows, take_two_reductions_and_weights_of_their_own) {
  const auto program = compiled(R"(
dim M = runtime 1, N = runtime 1
module layernorm(x: f32[M,N], gain: f32[N], bias: f32[N], eps: f32) -> (y: f32[M,N]) {
  kernel rows {
    work i in 0:M grid
    axis j = j:100
    role all warps 1 {
      for i in work {
        xv[j] = x[i,j] else 0
        s = sum[j](xv[j]) / N
        c[j] = where(j < N, xv[j] - s, 0)
        q = sum[j](c[j]^2) / N
        rs = rsqrt(q + eps)
        y[i,j] = c[j] * rs * gain[j] + bias[j] else 0
      } } } })");
  const std::int64_t n = 77;
  F x({5, n}), gain({n}), bias({n}), eps({}), y({5, n});
  x.fill_normal(1, 2);
  gain.fill_normal(2);
  bias.fill_normal(3);
  eps({}) = 1e-5F;
  ASSERT_EQ(launch(program.get(), {x.view(), gain.view(), bias.view(), eps.view(), y.view()}), "");
  for (std::int64_t i = 0; i < 5; ++i) {
    double mean = 0, variance = 0;
    for (std::int64_t j = 0; j < n; ++j) mean += static_cast<double>(x({i, j})) / n;
    for (std::int64_t j = 0; j < n; ++j) variance += std::pow(static_cast<double>(x({i, j})) - mean, 2) / n;
    for (std::int64_t j = 0; j < n; ++j) {
      const double wanted = (static_cast<double>(x({i, j})) - mean) / std::sqrt(variance + 1e-5) * static_cast<double>(gain({j})) +
                            static_cast<double>(bias({j}));
      EXPECT_NEAR(y({i, j}), wanted, 1e-5);
    }
  }
  EXPECT_TRUE(y.guards_untouched());
}

TEST(Reducers, of_every_built_in_kind_agree_with_loops) {
  const auto program = compiled(R"(
dim M = runtime 1, N = runtime 1
module all(x: f32[M,N]) -> (s: f32[M], p: f32[M], hi: f32[M], lo: f32[M], some: bool[M], every: bool[M], at: i32[M]) {
  kernel rows {
    work t in 0:(M + 7) // 8 grid
    axis i = i:8
    axis j = j:21
    role all warps 1 {
      for t in work {
        xt[i,j] = x[t*8 + i, j] else 1
        s[t*8 + i] = sum[j](xt[i,j])
        p[t*8 + i] = prod[j](xt[i,j])
        hi[t*8 + i] = max[j](xt[i,j])
        lo[t*8 + i] = min[j](xt[i,j])
        some[t*8 + i] = any[j](xt[i,j] > 1.5)
        every[t*8 + i] = all[j](xt[i,j] > -1.5)
        at[t*8 + i] = argmax[j](xt[i,j], j)
      } } } })");
  const std::int64_t rows = 13, n = 21;
  F x({rows, n}), s({rows}), p({rows}), hi({rows}), lo({rows});
  Tensor<std::int8_t> some({rows}), every({rows});
  Tensor<std::int32_t> at({rows});
  x.fill_normal(11);
  ASSERT_EQ(launch(program.get(), {x.view(), s.view(), p.view(), hi.view(), lo.view(), some.view(), every.view(), at.view()}), "");
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 0, product = 1;
    float most = -INFINITY, least = INFINITY;
    bool any = false, all = true;
    std::int64_t where = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const float v = x({i, j});
      sum += static_cast<double>(v);
      product *= static_cast<double>(v);
      if (v > most) where = j;
      most = std::max(most, v);
      least = std::min(least, v);
      any = any || v > 1.5F;
      all = all && v > -1.5F;
    }
    EXPECT_NEAR(s({i}), sum, 1e-4);
    EXPECT_NEAR(p({i}), product, 1e-5 * std::fabs(product));
    EXPECT_EQ(hi({i}), most);
    EXPECT_EQ(lo({i}), least);
    EXPECT_EQ(some({i}) != 0, any);
    EXPECT_EQ(every({i}) != 0, all);
    EXPECT_EQ(at({i}), where);
  }
}

TEST(Reducers, max_and_min_let_NaN_through) {
  const auto program = compiled(R"(
module extremes(x: f32[4,40]) -> (hi: f32[4], lo: f32[4]) {
  kernel rows {
    work t in 0:1 grid
    axis i = i:4
    axis j = j:40
    role all warps 1 {
      for t in work {
        hi[i] = max[j](x[i,j])
        lo[i] = min[j](x[i,j])
      } } } })");
  F x({4, 40}), hi({4}), lo({4});
  x.fill_normal(12);
  x({0, 0}) = x({1, 39}) = x({2, 17}) = NAN;
  ASSERT_EQ(launch(program.get(), {x.view(), hi.view(), lo.view()}), "");
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(std::isnan(hi({i})), i < 3) << i;
    EXPECT_EQ(std::isnan(lo({i})), i < 3) << i;
  }
}

// ---- storage ----

TEST(Storage, rounds_f16_and_bf16_to_nearest_even) {
  const auto program = compiled(R"(
dim N = runtime 1
module narrow(x: f32[N]) -> (h: f16[N], b: bf16[N], hb: f32[N]) {
  kernel k {
    work t in 0:(N + 31) // 32 grid
    axis i = i:32
    role all warps 1 {
      for t in work {
        v[i] = x[t*32 + i] else 0
        h[t*32 + i] = v[i]
        b[t*32 + i] = v[i]
        hb[t*32 + i] = f32(bf16(v[i]))
      } } } })");
  const std::vector<float> hard = {
      1.00048828125F,           1.00146484375F, 65504,       65519.996F, 65520,  1e30F, -INFINITY, 5.9604645e-8F, 2.9802322e-8F,
      2.98023224e-8F * 1.0001F, 1.00390625F,    1.01171875F, 3.4e38F,    1e-40F, 0.0F,  -0.0F,     6.1e-5F};
  const std::int64_t n = 77;
  F x({n}), hb({n});
  x.fill_normal(4, 100);
  for (std::size_t i = 0; i < hard.size(); ++i) x({static_cast<std::int64_t>(i)}) = hard[i];
  Tensor<std::uint16_t> h({n}), b({n});
  ASSERT_EQ(launch(program.get(), {x.view(), h.view(), b.view(), hb.view()}), "");
  const auto half_value = [](std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double magnitude = exponent == 31  ? (mantissa != 0 ? NAN : HUGE_VAL)
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(half_value(h({i})), round_to(DType::f16, static_cast<double>(x({i})))) << x({i});
    const float wide = std::bit_cast<float>(static_cast<std::uint32_t>(b({i})) << 16);
    EXPECT_EQ(static_cast<double>(wide), round_to(DType::bf16, static_cast<double>(x({i})))) << x({i});
    EXPECT_EQ(wide, hb({i}));
  }
  EXPECT_TRUE(h.guards_untouched() && b.guards_untouched());
}

/// Every code is read, and every code, the middles between codes and their neighbours are written.
TEST(Storage, of_8_bits_is_read_and_rounded_like_the_element_type_says) {
  const auto program = compiled(R"(
dim N = runtime 1
module narrow(x: f32[N], p: f8e4m3[N], q: f8e5m2[N]) -> (a: f8e4m3[N], b: f8e5m2[N], c: f32[N], d: f32[N], e: f32[N]) {
  kernel k {
    work t in 0:(N + 31) // 32 grid
    axis i = i:32
    role all warps 1 {
      for t in work {
        v[i] = x[t*32 + i] else 0
        a[t*32 + i] = v[i]
        b[t*32 + i] = v[i]
        c[t*32 + i] = p[t*32 + i] else 0
        d[t*32 + i] = q[t*32 + i] else 0
        e[t*32 + i] = f32(f8e4m3(v[i]))
      } } } })");
  std::vector<float> values = {NAN,    INFINITY, -INFINITY, 0.0F,   -0.0F,    1e30F,    -1e30F,
                               1e-30F, 463.9F,   464.0F,    464.1F, 61439.0F, 61440.0F, 1e-40F};
  const auto decoded = [](DType dtype, std::uint64_t code) { return from_bits(dtype, code); };
  for (const DType dtype : {DType::f8e4m3, DType::f8e5m2}) {
    for (std::uint64_t code = 0; code < 0x7f; ++code) {
      const double low = decoded(dtype, code), high = decoded(dtype, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) continue;
      const auto middle = static_cast<float>((low + high) / 2);
      for (const float x : {static_cast<float>(low), middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e30F)}) {
        values.push_back(x);
        values.push_back(-x);
      }
    }
  }
  const auto n = static_cast<std::int64_t>(values.size());
  F x({n}), c({n}), d({n}), e({n});
  Tensor<std::uint8_t> p({n}), q({n}), a({n}), b({n});
  for (std::int64_t i = 0; i < n; ++i) {
    x({i}) = values[static_cast<std::size_t>(i)];
    p({i}) = q({i}) = static_cast<std::uint8_t>(i);
  }
  ASSERT_EQ(launch(program.get(), {x.view(), p.view(), q.view(), a.view(), b.view(), c.view(), d.view(), e.view()}), "");
  const auto expect_same = [](double got, double want, double of) {
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << of;
    } else {
      EXPECT_EQ(got, want) << of;
      EXPECT_EQ(std::signbit(got), std::signbit(want)) << of;
    }
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const auto given = static_cast<double>(x({i}));
    expect_same(decoded(DType::f8e4m3, a({i})), round_to(DType::f8e4m3, given), given);
    expect_same(decoded(DType::f8e5m2, b({i})), round_to(DType::f8e5m2, given), given);
    expect_same(static_cast<double>(e({i})), round_to(DType::f8e4m3, given), given);
    expect_same(static_cast<double>(c({i})), decoded(DType::f8e4m3, static_cast<std::uint8_t>(i)), static_cast<double>(i));
    expect_same(static_cast<double>(d({i})), decoded(DType::f8e5m2, static_cast<std::uint8_t>(i)), static_cast<double>(i));
  }
}

TEST(Storage, strided_arguments_may_have_any_strides) {
  const auto program = compiled(R"(
dim M = runtime 1, N = runtime 1
module copy(x: f32[M,N] strided) -> (y: f32[M,N]) {
  kernel k {
    work t in 0:M grid
    axis j = j:16
    role all warps 1 {
      for t in work {
        for p in 0:(N + 15) // 16 { y[t, p*16 + j] = x[t, p*16 + j] * 2 else 0 }
      } } } })");
  F x({9, 20}), y({20, 9});
  x.fill_normal(1);
  fathom_tensor view = x.view();
  const std::int64_t extents[] = {20, 9}, strides[] = {view.strides[1], view.strides[0]};
  view.extents = extents;
  view.strides = strides;
  ASSERT_EQ(launch(program.get(), {view, y.view()}), "");
  y.each([&](const auto& at, float got) { EXPECT_EQ(got, 2 * x({at[1], at[0]})); });
}

// ---- masks ----

TEST(Masks, an_element_that_is_masked_out_is_never_loaded_nor_are_its_indices) {
  const auto program = compiled(R"(
dim P = runtime 1, N = runtime 1
module gather(x: f32[P,4], page: i32[N], len: i32) -> (y: f32[N,4]) {
  kernel k {
    work t in 0:(N + 15) // 16 grid
    axis i = i:16
    axis c = c:4
    role all warps 1 {
      for t in work {
        v[i,c] = where(t*16 + i < len, x[page[t*16 + i], c], 7)
        y[t*16 + i, c] = v[i,c]
      } } } })");
  const std::int64_t n = 21;
  F x({5, 4}), y({n, 4});
  Tensor<std::int32_t> page({n}), len({});
  x.fill_normal(2);
  len({}) = 18;
  for (std::int64_t i = 0; i < n; ++i)
    page({i}) = i < 18 ? static_cast<std::int32_t>(i * 3 % 5) : 2'000'000'000;  // a load there would crash
  ASSERT_EQ(launch(program.get(), {x.view(), page.view(), len.view(), y.view()}), "");
  y.each([&](const auto& at, float got) { EXPECT_EQ(got, at[0] < 18 ? x({at[0] * 3 % 5, at[1]}) : 7) << at[0]; });
}

TEST(Masks, an_if_on_a_bool_tile_changes_only_the_parts_where_it_holds) {
  const auto program = compiled(R"(
dim M = runtime 1
module pick(x: f32[M,8]) -> (y: f32[M,8]) {
  kernel k {
    work t in 0:(M + 11) // 12 grid
    axis r = w:3, u:4
    axis j = j:8
    role all warps 1 {
      for t in work {
        v[r,j] = x[t*12 + r, j] else 0
        bad[w] = any[u,j](v[(w,u),j] > 1)
        if bad[w] carry(v[r,j]) { v[r,j] = v[r,j] * 10 }
        y[t*12 + r, j] = v[r,j]
      } } } })");
  F x({30, 8}), y({30, 8});
  x.fill_normal(5, 0.4);
  ASSERT_EQ(launch(program.get(), {x.view(), y.view()}), "");
  int changed = 0;
  y.each([&](const auto& at, float got) {
    bool bad = false;
    for (std::int64_t r = at[0] / 4 * 4; r < std::min<std::int64_t>(at[0] / 4 * 4 + 4, 30); ++r)
      for (std::int64_t j = 0; j < 8; ++j) bad = bad || x({r, j}) > 1;
    changed += bad;
    EXPECT_EQ(got, bad ? x({at[0], at[1]}) * 10 : x({at[0], at[1]})) << at[0];
  });
  EXPECT_GT(changed, 0);
  EXPECT_LT(changed, 240);
}

// ---- several kernels ----

/// Workspaces stay with the program: a launch after a larger, a smaller or a simultaneous one finds none of what those left.
TEST(Modules, launches_of_one_program_do_not_see_each_other_in_workspaces) {
  const auto program = compiled(R"(
dim R = runtime 1
module count(x: f32[R]) -> (y: f32[R]) {
  workspace w: f32[R]
  workspace n: f32[R] zero
  kernel first {
    work r in 0:R grid
    role all warps 1 {
      for r in work {
        w[r] = x[r] * 2 + n[r]
      } } }
  kernel second after first {
    work r in 0:R grid
    role all warps 1 {
      for r in work {
        n[r] = 7
        y[r] = w[r] + 1
      } } } })");
  const auto expect_right = [&](std::int64_t size, float first) {
    F x({size}), y({size});
    x.each([&](const auto& at, float& e) { e = first + static_cast<float>(at[0]); });
    EXPECT_EQ(launch(program.get(), {x.view(), y.view()}, 2), "");
    y.each([&](const auto& at, float got) { EXPECT_EQ(got, 2 * (first + static_cast<float>(at[0])) + 1); });
  };
  for (const std::int64_t size : {5, 300, 2, 300, 0, 1000}) expect_right(size, static_cast<float>(size));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int trip = 0; trip < 20; ++trip) expect_right(100 + 40 * i, static_cast<float>(i));
    });
  for (std::thread& each : threads) each.join();
}

TEST(Modules, read_a_result_that_an_earlier_kernel_stored) {
  const auto program = compiled(R"(
dim R = runtime 1, T = runtime 1
module shares(x: f32[R,T]) -> (s: f32[R], y: f32[R,T]) {
  kernel totals {
    work r in 0:R grid
    axis j = j:16
    role all warps 1 {
      for r in work {
        for i in 0:(T + 15) // 16 carry(l = 0) {
          xt[j] = x[r, i*16 + j] else 0
          l = l + sum[j](xt[j])
        }
        s[r] = l
      } } }
  kernel divide after totals {
    work r in 0:R grid
    axis j = j:16
    role all warps 1 {
      for r in work {
        for i in 0:(T + 15) // 16 {
          xt[j] = x[r, i*16 + j] else 0
          y[r, i*16 + j] = xt[j] / s[r]
        } } } } })");
  F x({5, 37}), s({5}), y({5, 37});
  x.each([](const auto& at, float& e) { e = static_cast<float>(1 + (at[0] * 7 + at[1] * 3) % 11); });
  ASSERT_EQ(launch(program.get(), {x.view(), s.view(), y.view()}, 2), "");
  y.each([&](const auto& at, float got) {
    double sum = 0;
    for (std::int64_t j = 0; j < 37; ++j) sum += static_cast<double>(x({at[0], j}));
    EXPECT_NEAR(got, static_cast<double>(x(at)) / sum, 1e-6);
    EXPECT_NEAR(s({at[0]}), sum, 1e-4);
  });
  EXPECT_TRUE(y.guards_untouched());
}

TEST(Modules, split_a_reduction_over_workgroups_and_merge_the_states_in_index_order) {
  const auto program = compiled(R"(
dim R = runtime 1, T = runtime 1
module attend(s: f32[R,T], v: f32[T,8], SP: i32) -> (o: f32[R,8]) {
  workspace pm: f32[R,SP]
  workspace pl: f32[R,SP]
  workspace pa: f32[R,SP,8]
  reducer flash(s, x) { state m = -inf, l = 0, a = 0
    lift (s, 1, x)
    combine (max(m, m'), l * where(m == -inf, 0, exp(m - max(m,m'))) + l' * where(m' == -inf, 0, exp(m' - max(m,m'))),
             a * where(m == -inf, 0, exp(m - max(m,m'))) + a' * where(m' == -inf, 0, exp(m' - max(m,m')))) }
  kernel forward {
    work u in 0:R*SP grid
    axis j = j:16
    axis d = d:8
    let r = u // SP
    let z = u % SP
    let n = (T + 15) // 16
    role all warps 1 {
      for u in work {
        for i in z*n // SP:(z + 1)*n // SP carry(m = -inf, l = 0, a[d] = 0) {
          st[j] = s[r, i*16 + j] else -inf
          vt[j,d] = v[i*16 + j, d] else 0
          m2, l2, a2[d] = flash.states[j](st[j], 1, vt[j,d])
          top = max(m, m2)
          f = where(m == -inf, 0, exp(m - top))
          f2 = where(m2 == -inf, 0, exp(m2 - top))
          l = l * f + l2 * f2
          a[d] = a[d] * f + a2[d] * f2
          m = top
        }
        pm[r,z] = m
        pl[r,z] = l
        pa[r,z,d] = a[d]
      } } }
  kernel merge when SP > 0 after forward {
    work w in 0:R grid
    axis d = d:8
    role all warps 1 {
      for w in work {
        m3, l3, a3[d] = flash.states[z in 0:SP](pm[w,z], pl[w,z], pa[w,z,d])
        o[w,d] = where(l3 > 0, a3[d] / l3, 0)
      } } } })");
  for (const std::int64_t t : {0, 1, 17, 100})
    for (const std::int32_t parts : {1, 3, 8}) {
      F s({4, t}), v({t, 8}), o({4, 8}), again({4, 8});
      Tensor<std::int32_t> sp({});
      sp({}) = parts;
      s.fill_normal(6, 20);
      v.fill_normal(7);
      ASSERT_EQ(launch(program.get(), {s.view(), v.view(), sp.view(), o.view()}), "");
      ASSERT_EQ(launch(program.get(), {s.view(), v.view(), sp.view(), again.view()}, 3), "");
      EXPECT_TRUE(o.same_bits(again));
      o.each([&](const auto& at, float got) {
        double m = -HUGE_VAL, l = 0, a = 0;
        for (std::int64_t j = 0; j < t; ++j) m = std::max(m, static_cast<double>(s({at[0], j})));
        for (std::int64_t j = 0; j < t; ++j) {
          const double p = std::exp(static_cast<double>(s({at[0], j})) - m);
          l += p;
          a += p * static_cast<double>(v({j, at[1]}));
        }
        EXPECT_NEAR(got, t == 0 ? 0 : a / l, 5e-6) << t << " keys in " << parts;
      });
    }
}

// ---- contracts and refusals ----

TEST(Contract, a_launch_that_breaks_it_is_refused_with_the_condition) {
  const auto program = compiled(R"(
dim N = runtime 1
module scale(x: f32[N], c: f32) -> (y: f32[N]) {
  require N % 4 == 0 and x % 16 == 0 else scale_any
  require c > 0 else scale_down
  kernel k {
    work t in 0:(N + 15) // 16 grid
    axis i = i:16
    role all warps 1 { for t in work { y[t*16 + i] = x[t*16 + i] * c else 0 } } } })");
  alignas(16) float x[16] = {}, y[16];
  float c = 2;
  const std::int64_t eight[] = {8}, six[] = {6}, one[] = {1}, two[] = {2};
  const fathom_tensor scalar{&c, nullptr, nullptr, 0};
  EXPECT_EQ(launch(program.get(), {{x, eight, one, 1}, scalar, {y, eight, one, 1}}), "");
  EXPECT_NE(launch(program.get(), {{x, six, one, 1}, scalar, {y, six, one, 1}}).find("N % 4 == 0"), std::string::npos);
  EXPECT_NE(launch(program.get(), {{x + 1, eight, one, 1}, scalar, {y, eight, one, 1}}).find("x % 16 == 0"), std::string::npos);
  EXPECT_NE(launch(program.get(), {{x, eight, one, 1}, scalar, {y, six, one, 1}}).find("'y'"), std::string::npos);
  EXPECT_NE(launch(program.get(), {{x, eight, two, 1}, scalar, {y, eight, one, 1}}).find("contiguous"), std::string::npos);
  EXPECT_NE(launch(program.get(), {{nullptr, eight, one, 1}, scalar, {y, eight, one, 1}}).find("no data"), std::string::npos);
  EXPECT_NE(launch(program.get(), {{x, eight, one, 1}, scalar}).find("3 tensors"), std::string::npos);
  c = -1;
  EXPECT_NE(launch(program.get(), {{x, eight, one, 1}, scalar, {y, eight, one, 1}}).find("c > 0"), std::string::npos);
}

TEST(Contract, what_fails_is_said_with_its_values_and_a_cure) {
  const auto program = compiled(R"(
module first(x: f32[8], n: i32) -> (y: f32[8]) {
  require n <= 8 else unsupported
  require n % 2 == 0 else first_any
  kernel k {
    work t in 0:1 grid
    axis i = i:8
    role all warps 1 { for t in work { y[i] = x[i] } } } })");
  ASSERT_NE(program, nullptr);
  float x[8] = {}, y[8];
  std::int32_t n = 9;
  const std::int64_t eight[] = {8}, one[] = {1};
  const std::vector<fathom_tensor> arguments = {{x, eight, one, 1}, {&n, nullptr, nullptr, 0}, {y, eight, one, 1}};
  const auto beyond = run(*program, arguments, {}, 1);
  ASSERT_FALSE(beyond);
  EXPECT_NE(beyond.error().reason.find("n <= 8 does not hold (n = 9)"), std::string::npos) << beyond.error().reason;
  EXPECT_EQ(beyond.error().hint.find("unsupported"), std::string::npos) << "no plan has that name";
  EXPECT_NE(beyond.error().hint.find("`where`"), std::string::npos) << beyond.error().hint;
  n = 7;
  const auto odd = run(*program, arguments, {}, 1);
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().hint.find("'first_any'"), std::string::npos) << odd.error().hint;
}

TEST(Contract, a_counter_is_one_cell_that_starts_at_0) {
  std::string text = matmul_text(with_atom, "dynamic next");
  text.replace(text.find("i32[1] zero"), 11, "i32[0] zero");
  const auto program = compiled(text);
  F a({14, 3}), b({3, 5}), c({14, 5});
  EXPECT_NE(launch(program.get(), {a.view(), b.view(), c.view()}).find("'next'"), std::string::npos);
}

TEST(Compile, names_what_it_cannot_do) {
  std::string why;
  EXPECT_EQ(compiled("module", &why), nullptr);
  EXPECT_FALSE(why.empty());
  std::string foreign = matmul_text(with_atom);
  foreign.replace(foreign.find("fma_6x32_f32"), 12, "mma_m16n8k16_bf16");
  EXPECT_EQ(compiled(foreign, &why), nullptr);
  EXPECT_NE(why.find("mma_m16n8k16_bf16"), std::string::npos) << why;
  std::string vast = matmul_text(with_atom);
  vast.replace(vast.find("fma_6x32_f32"), 12, "fma_60x999_f32");
  EXPECT_EQ(compiled(vast, &why), nullptr);
  EXPECT_NE(why.find("60x999"), std::string::npos) << why;
}

TEST(Compile, shows_the_optimised_IR_and_the_assembly) {
  const auto program = compiled(matmul_text(with_atom));
  ASSERT_NE(program, nullptr);
  EXPECT_NE(program->code.llvm_ir().text.find("@llvm.fma"), std::string::npos);
  EXPECT_NE(program->code.assembly().text.find("kernel0"), std::string::npos);
}

// A listing knows for its instructions which statement they are made for; it is never one line off, which would show in the sums.
TEST(Compile, says_for_which_statement_an_instruction_is_made) {
  const auto program = compiled(matmul_text(with_atom));
  ASSERT_NE(program, nullptr);
  const auto module = lang::parse_kernel(matmul_text(with_atom));
  ASSERT_TRUE(module);
  std::map<int, std::string> statements;
  for (const auto& [statement, line] : kernel::lines_of(*module)) {
    const std::string text = kernel::print(*statement, 0);
    statements[line] = text.substr(0, text.find('\n'));
  }
  for (const CodeListing* listing : {&program->code.assembly(), &program->code.llvm_ir()}) {
    std::istringstream text(listing->text);
    std::size_t number = 0, made = 0, products = 0, products_of_the_sum = 0;
    std::set<std::string> seen;
    for (std::string line; std::getline(text, line); ++number) {
      ASSERT_LT(number, listing->lines.size());
      const int of = listing->lines[number];
      EXPECT_EQ(line.find("!dbg"), std::string::npos);
      EXPECT_EQ(line.find(".loc"), std::string::npos);
      if (of == 0) continue;
      ++made;
      ASSERT_TRUE(statements.contains(of)) << line;
      seen.insert(statements[of]);
      const bool is_product = line.find("fmadd") != std::string::npos || line.find("@llvm.fma") != std::string::npos;
      products += is_product ? 1 : 0;
      products_of_the_sum += is_product && statements[of].find("acc[i,j]") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(number, listing->lines.size());
    EXPECT_GT(made, number / 2);
    EXPECT_GT(products, 0U);
    EXPECT_EQ(products, products_of_the_sum);
    const auto is_seen = [&](const std::string& part) {
      return std::any_of(seen.begin(), seen.end(), [&](const std::string& each) { return each.find(part) != std::string::npos; });
    };
    EXPECT_TRUE(is_seen("at[i,x] = "));
    EXPECT_TRUE(is_seen("bt[x,j] = "));
    EXPECT_TRUE(is_seen("c[i0 + i,j0 + j] = "));
  }
}

}  // namespace
}  // namespace fathom::cpu::test
