// Helpers of the kernel tests: example texts, parsing, running, and attention by the textbook.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "files.hpp"
#include "interp/run_kernel.hpp"
#include "ir/kernel.hpp"
#include "lang/lang.hpp"

namespace fathom::test {

inline std::string text_of(const std::string& name) { return read_file(in_project("tests/kernel/texts/" + name + ".kernel")); }

inline kernel::Module parsed(const std::string& text) {
  auto m = lang::parse_kernel(text);
  if (m) return std::move(*m);
  ADD_FAILURE() << render(m.error(), "text", text);
  return {};
}

/// Numbers in -1..1 without a pattern that a wrong index would keep.
inline interp::Array noise(std::vector<std::int64_t> shape, unsigned seed) {
  interp::Array a{DType::f32, std::move(shape), {}};
  std::int64_t size = 1;
  for (const std::int64_t extent : a.shape) size *= extent;
  std::uint64_t state = seed * 2654435761ULL + 12345;
  for (std::int64_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    a.data.push_back(static_cast<double>(static_cast<float>(static_cast<double>(state >> 40U) / 8388608.0 - 1.0)));
  }
  return a;
}

inline interp::Arrays run(const kernel::Module& m, Level level, const interp::Arrays& inputs, const interp::RunOptions& options = {}) {
  auto result = interp::run_module(m, level, inputs, options);
  if (result) return std::move(*result);
  ADD_FAILURE() << result.error().reason << " " << result.error().hint;
  return {};
}

inline std::string refusal(const kernel::Module& m, Level level) {
  const auto sound = level == Level::tile ? kernel::verify_tile(m) : kernel::verify_sequential(m);
  return sound ? "" : sound.error().reason;
}

inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline void expect_near(const interp::Array& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.data.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool same = actual.data[i] == expected[i] || std::fabs(actual.data[i] - expected[i]) <= tolerance;
    ASSERT_TRUE(same) << "element " << i << ": " << actual.data[i] << " instead of " << expected[i];
  }
}

/// One head of attention in f64, by the textbook.
inline std::vector<double> attention(const interp::Array& q, const interp::Array& k, const interp::Array& v, std::int64_t s_count,
                                     std::int64_t t_count, std::int64_t depth, double scale,
                                     const std::function<bool(std::int64_t, std::int64_t)>& keeps) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < s_count; ++i) {
    std::vector<double> scores;
    double top = -HUGE_VAL, total = 0;
    for (std::int64_t j = 0; j < t_count; ++j) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d)
        score += q.data[static_cast<std::size_t>(i * depth + d)] * k.data[static_cast<std::size_t>(j * depth + d)];
      scores.push_back(keeps(i, j) ? score * scale : -HUGE_VAL);
      top = std::max(top, scores.back());
    }
    for (double& score : scores) total += score = top == -HUGE_VAL ? 0 : std::exp(score - top);
    for (std::int64_t d = 0; d < depth; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < t_count; ++j)
        sum += scores[static_cast<std::size_t>(j)] * v.data[static_cast<std::size_t>(j * depth + d)];
      out.push_back(total == 0 ? 0 : sum / total);
    }
  }
  return out;
}

}  // namespace fathom::test
