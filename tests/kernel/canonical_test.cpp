// Canonical modules, and laws of the Tile level that data shows: masks, gathers, faults, limits, events.
#include <gtest/gtest.h>

#include <cmath>

#include "kernel_test.hpp"

namespace fathom {
namespace {

using interp::Array;
using interp::Arrays;
using test::expect_near;
using test::noise;
using test::parsed;
using test::refusal;
using test::run;
using test::text_of;
using test::with;

std::string all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
  return text;
}

TEST(Canonical, renamed_and_reordered_modules_are_one_plan) {
  const std::string one = text_of("attention_tile");
  std::string other = one;
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"p.m", "top"}, {"p.sum", "weight"}, {"p.e", "term"}, {"s.sum", "dots"}, {"q.t", "query"}, {"jt", "trip"}, {"j0", "first"}}) {
    other = all(other, from, to);
  }
  other = with(other, "          v.t[j,e] = v[0,h,first + j,e] else 0\n", "");
  other = with(other, "          k.t[j,d] =", "          v.t[j,e] = v[0,h,first + j,e] else 0\n          k.t[j,d] =");
  other = with(other, "    axis e = e:64\n", "");
  other = with(other, "    axis i = i:48\n", "    axis e = e:64\n    axis i = i:48\n");
  other = with(other, "weight[i] = 0, o.sum[i,e] = 0", "o.sum[i,e] = 0, weight[i] = 0");
  other = with(other, "module attention", "module another");
  EXPECT_NE(kernel::print(parsed(one)), kernel::print(parsed(other)));
  EXPECT_EQ(kernel::print(kernel::canonical(parsed(one))), kernel::print(kernel::canonical(parsed(other))));
}

TEST(Canonical, another_plan_stays_another) {
  const std::string one = text_of("attention_tile");
  const std::string plan = kernel::print(kernel::canonical(parsed(one)));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"* 0.125", "* 0.25"},
                                                        {"p.sum[i] * f[i] +", "p.sum[i] +"},
                                                        {"axis j = j:64", "axis j = j:32"},
                                                        {"-inf, 1, exp(p.m~[i] - p.m~'[i])", "-inf, 1, exp(p.m~'[i] - p.m~[i])"}}) {
    EXPECT_NE(kernel::print(kernel::canonical(parsed(with(one, from, to)))), plan) << from;
  }
}

TEST(Canonical, is_a_fixed_point_and_keeps_the_meaning) {
  const kernel::Module m = kernel::canonical(parsed(text_of("attention_tile")));
  EXPECT_TRUE(kernel::verify_tile(m)) << kernel::verify_tile(m).error().reason << kernel::print(m);
  const std::string text = kernel::print(m);
  EXPECT_EQ(kernel::print(kernel::canonical(parsed(text))), text);
}

const char* tile_head =
    "module m(x: f32[10], at: i32[4], n: i32) -> (y: f32[4]) {\n  kernel k {\n    work t in 0:1 grid\n    axis i = i:4\n    axis j = j:3\n"
    "    role all warps 1 {\n      for t in work {\n";
std::string tile(const std::string& body) { return tile_head + body + "      }\n    }\n  }\n}\n"; }
Arrays tile_inputs() {
  Array at{DType::i32, {4}, {3, 1, 9, 0}};
  return {{Symbol("x"), noise({10}, 9)}, {Symbol("at"), at}, {Symbol("n"), Array{DType::i32, {}, {2}}}};
}
std::string run_refusal(const std::string& text, const interp::RunOptions& options = {}) {
  const auto result = interp::run_module(parsed(text), Level::tile, tile_inputs(), options);
  return result ? "" : result.error().reason;
}

TEST(RunTile, a_masked_element_is_never_loaded_nor_are_its_indices) {
  Arrays in = tile_inputs();
  in[Symbol("at")].data = {3, 1, 99, -5};
  const Arrays out = run(parsed(tile("        y[i] = where(i < n, x[at[i]], 7)\n")), Level::tile, in);
  const std::vector<double>& x = in[Symbol("x")].data;
  expect_near(out.at(Symbol("y")), {x[3], x[1], 7, 7}, 0);
  EXPECT_NE(run_refusal(with(tile("        y[i] = where(i < n, x[at[i] * 4], 7)\n"), "i < n", "i < 3")).find("outside of its extents"),
            std::string::npos);
  EXPECT_NE(run_refusal(tile("        y[i] = x[i + 7]\n")).find("outside of its extents: subscript 1 is 10"), std::string::npos);
  EXPECT_EQ(run_refusal(tile("        y[i] = x[i + 7] else 0\n")), "");
  EXPECT_NE(run_refusal(tile("        y[i] = x[i // 0]\n")).find("no integer"), std::string::npos);
}

TEST(RunTile, faults_planted_in_a_tile_text_are_refused) {
  struct Fault {
    const char* body;
    const char* reason;
  };
  for (const Fault& f : std::vector<Fault>{
           {"        y[i] = u[i]\n", "not defined on every path"},
           {"        when n > 1 {\n          u[i] = 1\n        }\n        y[i] = u[i]\n", "not defined on every path"},
           {"        u[j] = x[j]\n        y[i] = u[i]\n", "is read by i of 4"},
           {"        y[i] = x[j]\n", "its place does not"},
           {"        y[i] = 1\n        y[i] = 2\n", "stored twice"},
           {"        u[i] = 1\n        u[i] = 2\n        y[i] = u[i]\n", "defined twice"},
           {"        u[i] = 1\n        for a in 0:2 {\n          u[i] = u[i] + 1\n        }\n        y[i] = u[i]\n", "does not carry"},
           {"        for a in 0:2 {\n          y[i] = a\n        }\n", "at the same place"},
           {"        y[i] = y[i]\n", "before a kernel stores to it"},
           {"        x[i] = 1\n        y[i] = 1\n", "cannot be assigned"},
           {"        u[i] = x[i,i]\n        y[i] = u[i]\n", "has 1 axes, but 2 subscripts"},
           {"        y[i] = sum[i in 0:2](x[i])\n", "is an axis"},
           {"        let a = sum[j](i)\n        y[i] = a\n", "must be uniform"},
           {"        when x[i] > 0 {\n          y[i] = 1\n        }\n", "must be uniform"},
           {"        s = acquire K\n        y[i] = 1\n", "Kernel level"},
           {"        u[i] = 1\n", "never stored"},
       }) {
    std::string text = tile(f.body);
    const std::string reason = refusal(parsed(text), Level::tile);
    EXPECT_NE(reason.find(f.reason), std::string::npos) << f.body << ": " << reason;
  }
}

TEST(RunTile, overlapping_work_items_are_found_while_they_run) {
  std::string text = with(tile("        y[t + i] = i\n"), "0:1 grid", "0:2 grid");
  EXPECT_NE(run_refusal(text).find("stored twice"), std::string::npos);
}

TEST(RunTile, ranges_may_share_a_tag_and_loops_inside_each_other_may_not) {
  const std::string text = tile(
      "        for a in [rim 0:1, core 1:3, rim 3:5] carry(u = 0) {\n          u = u * 10 + 1\n          when rim {\n            u = u + "
      "1\n"
      "          }\n          when not core {\n            u = u + 1\n          }\n        }\n        y[i] = u\n");
  ASSERT_EQ(refusal(parsed(text), Level::tile), "");
  expect_near(run(parsed(text), Level::tile, tile_inputs()).at(Symbol("y")), {31133, 31133, 31133, 31133}, 0);
  const std::string nested = tile(
      "        for a in [rim 0:1, core 1:3] carry(u = 0) {\n          for b in [rim 0:1, all 1:3] carry(u = u) {\n            u = u + 1\n"
      "          }\n        }\n        y[i] = u\n");
  EXPECT_NE(refusal(parsed(nested), Level::tile).find("`rim` is declared twice"), std::string::npos);
}

/// Every work item stores the trips of its share: a place that names the trip alone is stored once if no two shares meet.
TEST(RunTile, the_trips_of_a_share_are_the_items_own) {
  const auto reason = [](const std::string& let, const std::string& ranges) {
    const std::string text = "module m(n: i32) -> (y: f32[4]) {\n  kernel k {\n    work t in 0:2 grid\n    let s = " + let +
                             "\n    role all warps 1 {\n      for t in work {\n        for a in [" + ranges +
                             "] {\n          y[a] = a\n        }\n      }\n    }\n  }\n}\n";
    return refusal(parsed(text), Level::tile);
  };
  for (const char* ranges : {"all s * 2:(s + 1) * 2", "all max(0, s * 2):min(4, s * 2 + 2)",
                             "open s * 2:min(2, s * 2 + 2), mixed max(2, s * 2):min(4, s * 2 + 2)",
                             "open s * 2:2, mixed 2:min(4, s * 2 + 2)", "all s * n:min(s * n + n, 4)", "all s:s + 1"})
    EXPECT_EQ(reason("t", ranges), "") << ranges;
  for (const char* ranges :
       {"all s * 2:4", "all 0:s * 2 + 2", "all s * 2:s * 2 + 3", "all max(0, s * 2 - 1):s * 2 + 2", "open s * 2:s * 2 + 2, mixed 1:2",
        "open s * 2:3, mixed 2:min(4, s * 2 + 2)", "all s * n:(s + 1) * 2", "all s * s:(s + 1) * s"})
    EXPECT_NE(reason("t", ranges).find("at the same place"), std::string::npos) << ranges;
}

TEST(RunTile, a_run_ends_at_its_limit) {
  interp::RunOptions options;
  options.work_limit = 100000;
  EXPECT_NE(
      run_refusal(tile("        for a in 0:1000000000000 {\n          let b = a\n        }\n        y[i] = 1\n"), options).find("limit"),
      std::string::npos);
  EXPECT_NE(run_refusal(tile("        y[i] = sum[z in 0:1000000000](z)\n"), options).find("limit"), std::string::npos);
}

TEST(RunTile, reducers_of_several_carriers_keep_the_lowest_index_of_ties) {
  Arrays in = tile_inputs();
  in[Symbol("x")].data = {1, 5, 2, 5, 0, 0, 0, 0, 0, 0};
  const Arrays out = run(parsed(tile("        best = argmax[i](x[i], i)\n        y[i] = best\n")), Level::tile, in);
  expect_near(out.at(Symbol("y")), {1, 1, 1, 1}, 0);
}

TEST(RunTile, what_the_observer_sees_of_a_result_is_the_result) {
  const kernel::Module m =
      parsed(with(tile("        u[i] = x[t * 2 + i] else 0\n        when t < 2 {\n          y[t * 2 + i] = u[i]\n        }\n"),
                  "0:1 grid\n    axis i = i:4", "0:3 grid\n    axis i = i:2"));
  interp::RunOptions options;
  std::vector<double> seen(4, 0.0);
  int tiles = 0;
  options.observer = [&](const interp::Event& e) {
    if (e.tensor == Symbol("u")) ++tiles;
    if (e.tensor != Symbol("y")) return;
    ASSERT_EQ(e.trip.size(), 1U);
    for (std::int64_t i = e.box[0].first; i < e.box[0].second; ++i) {
      seen[static_cast<std::size_t>(i)] += (*e.values)[static_cast<std::size_t>(i - e.box[0].first)];
    }
  };
  const Arrays out = run(m, Level::tile, tile_inputs(), options);
  EXPECT_EQ(seen, out.at(Symbol("y")).data);
  EXPECT_EQ(tiles, 3);
}

TEST(RunTile, results_are_rounded_to_what_they_store) {
  const std::string text =
      "module m(x: f32[3]) -> (h: f16[3], b: bf16[3], n: i32[3]) {\n  kernel k {\n    work t in 0:1 grid\n    axis i = i:3\n"
      "    role all warps 1 {\n      for t in work {\n        h[i] = x[i]\n        b[i] = x[i]\n        n[i] = x[i]\n      }\n    }\n  "
      "}\n}\n";
  const Arrays out = run(parsed(text), Level::tile, {{Symbol("x"), Array{DType::f32, {3}, {1.0 / 1024 + 1, 70000, 2.5}}}});
  expect_near(out.at(Symbol("h")), {1.0 / 1024 + 1, HUGE_VAL, 2.5}, 0);
  expect_near(out.at(Symbol("b")), {1, 70144, 2.5}, 0);
  EXPECT_EQ(out.at(Symbol("n")).dtype, DType::i32);
}

TEST(RunTile, the_moments_text_gives_layer_normalisation) {
  std::string text = text_of("layernorm");
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{{"n, c, s, t = ", "n0, c, s, t0 = "},
                                                                                 {"d    = s / N", "mean = s / N"},
                                                                                 {"max(t / N - d^2, 0)", "max(t0 / N - mean^2, 0)"},
                                                                                 {"- c) - d)", "- c) - mean)"},
                                                                                 {"v:4, w:4, l:32, e:8", "v:2, w:2, l:4, e:2"},
                                                                                 {"N <= 4096", "N <= 32"}}) {
    text = with(text, from, to);
  }
  for (int i = 0; i < 3; ++i) text = with(text, "((v*4 + w)*32 + l)*8 + e", "((v*2 + w)*4 + l)*2 + e");
  const kernel::Module m = parsed("dim M = 3\ndim N = 24\n" + text);
  ASSERT_EQ(refusal(m, Level::tile), "");
  Arrays in = {{Symbol("x"), noise({3, 24}, 1)},
               {Symbol("gain"), noise({24}, 2)},
               {Symbol("bias"), noise({24}, 3)},
               {Symbol("eps"), Array{DType::f32, {}, {1e-5}}}};
  for (auto& [name, a] : in) {
    if (name == Symbol("eps")) {
      a.data[0] = round_to(DType::f32, a.data[0]);
      continue;
    }
    a.dtype = DType::bf16;
    for (double& value : a.data) value = round_to(DType::bf16, value + (name == Symbol("x") ? 3 : 0));
  }
  std::vector<double> expected;
  for (std::size_t i = 0; i < 3; ++i) {
    const double* row = in[Symbol("x")].data.data() + i * 24;
    double mean = 0, variance = 0;
    for (std::size_t j = 0; j < 24; ++j) mean += row[j] / 24;
    for (std::size_t j = 0; j < 24; ++j) variance += (row[j] - mean) * (row[j] - mean) / 24;
    for (std::size_t j = 0; j < 24; ++j) {
      expected.push_back((row[j] - mean) / std::sqrt(variance + 1e-5) * in[Symbol("gain")].data[j] + in[Symbol("bias")].data[j]);
    }
  }
  expect_near(run(m, Level::tile, in).at(Symbol("y")), expected, 0.02);  // bf16 results up to 4
}

}  // namespace
}  // namespace fathom
