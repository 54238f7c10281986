// Attention kernels, written by hand at the Kernel level, against the definition in f64.
#include <bit>

#include "files.hpp"
#include "launch_helpers.hpp"

namespace fathom::cpu::test {
namespace {

using F = Tensor<float>;

std::string test_file(const std::string& name) { return fathom::test::read_file(fathom::test::in_project("tests/" + name)); }

/// o[b,h,i] by the definition; a row without keys is 0. `causal`: key j counts for row i iff j <= i.
template <class Q, class K, class V>
std::vector<double> attention_row(Q&& q, K&& k, V&& v, std::int64_t depth, std::int64_t keys, double scale) {
  std::vector<double> score, result(static_cast<std::size_t>(depth), 0.0);
  double m = -HUGE_VAL, l = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    double sum = 0;
    for (std::int64_t d = 0; d < depth; ++d) sum += q(d) * k(j, d);
    score.push_back(sum * scale);
    m = std::max(m, score.back());
  }
  for (double& s : score) l += s = m == -HUGE_VAL ? 0 : std::exp(s - m);
  for (std::int64_t d = 0; d < depth && l > 0; ++d) {
    for (std::int64_t j = 0; j < keys; ++j) result[static_cast<std::size_t>(d)] += score[static_cast<std::size_t>(j)] * v(j, d) / l;
  }
  return result;
}

class Attention : public ::testing::Test {
 protected:
  static const Program* program() {
    static const std::unique_ptr<Program> made = compiled(test_file("codegen/attention_f32.kernel"));
    return made.get();
  }
  static void expect_right(std::int64_t s, std::int64_t t, double scale_of_scores, double tolerance, int threads = 2) {
    F q({1, 8, s, 64}), k({1, 8, t, 64}), v({1, 8, t, 64}), o({1, 8, s, 64});
    q.fill_normal(1, scale_of_scores);
    k.fill_normal(2);
    v.fill_normal(3);
    ASSERT_EQ(launch(program(), {q.view(), k.view(), v.view(), o.view()}, threads, {s, t}), "");
    for (std::int64_t h = 0; h < 8; h += 7)
      for (std::int64_t i = 0; i < s; i += i + 8 < s ? 7 : 1) {  // every seventh row and the last eight
        const auto wanted = attention_row([&](auto d) { return static_cast<double>(q({0, h, i, d})); },
                                          [&](auto j, auto d) { return static_cast<double>(k({0, h, j, d})); },
                                          [&](auto j, auto d) { return static_cast<double>(v({0, h, j, d})); }, 64, t, 0.125);
        for (std::int64_t d = 0; d < 64; ++d)
          ASSERT_NEAR(o({0, h, i, d}), wanted[static_cast<std::size_t>(d)], tolerance)
              << s << "x" << t << " at " << h << "," << i << "," << d;
      }
    EXPECT_TRUE(q.guards_untouched() && k.guards_untouched() && v.guards_untouched() && o.guards_untouched()) << s << "x" << t;
  }
};

TEST_F(Attention, is_right_for_shapes_around_the_tile) {
  for (const auto& [s, t] : {std::pair{1, 1}, {95, 127}, {96, 128}, {97, 129}, {200, 300}, {5, 257}}) expect_right(s, t, 1, 3e-6);
}

TEST_F(Attention, without_keys_is_0_and_without_rows_does_nothing) {
  expect_right(50, 0, 1, 0);
  F q({1, 8, 0, 64}), k({1, 8, 5, 64}), v({1, 8, 5, 64}), o({1, 8, 0, 64});
  EXPECT_EQ(launch(program(), {q.view(), k.view(), v.view(), o.view()}), "");
}

TEST_F(Attention, of_scores_of_1e5_stays_a_weighted_mean) { expect_right(60, 200, 1e5, 0.1); }

TEST_F(Attention, gives_the_same_bits_for_any_number_of_threads) {
  F q({1, 8, 130, 64}), k({1, 8, 150, 64}), v({1, 8, 150, 64}), first({1, 8, 130, 64});
  q.fill_normal(1);
  k.fill_normal(2);
  v.fill_normal(3);
  ASSERT_EQ(launch(program(), {q.view(), k.view(), v.view(), first.view()}, 1), "");
  for (int threads : {2, 3, 3}) {
    F o({1, 8, 130, 64});
    ASSERT_EQ(launch(program(), {q.view(), k.view(), v.view(), o.view()}, threads), "");
    EXPECT_TRUE(o.same_bits(first)) << threads;
  }
}

// The text of the Kernel level's own examples: causal, bf16 storage, D = 128, key tiles from right to left.
TEST_F(Attention, causal_in_bf16_from_the_examples_runs_as_written) {
  std::string text = test_file("kernel/texts/attention_cpu.kernel");
  const std::string axis = "axis j = n:4, y:16";
  ASSERT_NE(text.find(axis), std::string::npos);
  text.replace(text.find(axis), axis.size(), axis + "\n    axis d = d:128");  // the example leaves it to be inferred; the verifier wants it
  const std::string value = "o[r,d]";  // there it is also the result's name, which the verifier wants to be another
  for (auto at = text.find(value); at != std::string::npos; at = text.find(value)) text.replace(at, value.size(), "acc[r,d]");
  const auto causal = compiled("dim BH = runtime 1, S = runtime 1\n" + text);
  for (const std::int64_t s : {1, 48, 100}) {
    Tensor<std::uint16_t> q({2, s, 128}), k({2, s, 128}), v({2, s, 128}), o({2, s, 128});
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    const auto wide = [](std::uint16_t bits) { return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16)); };
    for (auto* tensor : {&q, &k, &v})
      tensor->each([&](const auto&, std::uint16_t& x) {
        x = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(normal(random))) >> 16);
      });
    ASSERT_EQ(launch(causal.get(), {q.view(), k.view(), v.view(), o.view()}, 2), "");
    for (std::int64_t b = 0; b < 2; ++b)
      for (std::int64_t i = 0; i < s; i += i + 8 < s ? 5 : 1) {
        const auto wanted = attention_row([&](auto d) { return wide(q({b, i, d})); }, [&](auto j, auto d) { return wide(k({b, j, d})); },
                                          [&](auto j, auto d) { return wide(v({b, j, d})); }, 128, i + 1, 1 / std::sqrt(128.0));
        for (std::int64_t d = 0; d < 128; ++d)
          ASSERT_NEAR(wide(o({b, i, d})), wanted[static_cast<std::size_t>(d)], 0.01 * std::fabs(wanted[static_cast<std::size_t>(d)]) + 1e-4)
              << s << " at " << b << "," << i << "," << d;
      }
  }
}

TEST_F(Attention, compiles_in_a_fraction_of_a_second) {
  const auto made = compiled(test_file("codegen/attention_f32.kernel"));
  ASSERT_NE(made, nullptr);
  const CompileTimes& times = made->code.times();
  std::printf("  attention: IR %.1f ms, O3 %.1f ms, code and link %.1f ms\n", times.emit_ms, times.optimise_ms, times.link_ms);
  EXPECT_LT(times.emit_ms + times.optimise_ms + times.link_ms, 5000);  // the goal is 150 on an idle machine: tests/bench measures it
}

}  // namespace
}  // namespace fathom::cpu::test
