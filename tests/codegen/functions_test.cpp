// The code generator's elementary functions against f64, over every exponent of f32.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codegen/cpu/jit.hpp"

namespace fathom::cpu {
namespace {

/// Every exponent and sign, with mantissas at the ends and at random; infinities and NaN included.
std::vector<float> arguments() {
  std::vector<float> result;
  std::mt19937 random(7);
  for (std::uint32_t sign = 0; sign < 2; ++sign)
    for (std::uint32_t exponent = 0; exponent < 256; ++exponent)
      for (std::uint32_t i = 0; i < 256; ++i) {
        const std::uint32_t mantissa = i < 4 ? i : i < 8 ? 0x7fffff - (i - 4) : random() & 0x7fffff;
        result.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
      }
  // Densely where the functions do something: between -110 and 110.
  std::uniform_real_distribution<float> wide(-160, 160), narrow(-4, 4);
  for (int i = 0; i < 200'000; ++i) result.push_back(i % 2 == 0 ? wide(random) : narrow(random));
  return result;
}

double ulp_of(double exact) {
  const double magnitude = std::min(std::fabs(exact), static_cast<double>(std::numeric_limits<float>::max()));
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::ldexp(1.0, std::max(exponent - 24, -149));
}

/// Worst error in ulp; fails on a wrong special value.
double worst_error(const std::string& name, double (*exact)(double)) {
  const ArrayFunction function = array_function(name);
  EXPECT_NE(function, nullptr) << name;
  if (function == nullptr) return HUGE_VAL;
  const std::vector<float> in = arguments();
  std::vector<float> out(in.size());
  function(in.data(), out.data(), static_cast<std::int64_t>(in.size()));
  std::vector<float> single(1);
  double worst = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double wanted = exact(static_cast<double>(in[i]));
    const float rounded = static_cast<float>(wanted);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(out[i])) << name << "(" << in[i] << ") = " << out[i];
      continue;
    }
    if (std::isinf(rounded) && std::isinf(out[i])) {
      EXPECT_EQ(std::signbit(rounded), std::signbit(out[i])) << name << "(" << in[i] << ")";
      continue;
    }
    const double error = std::fabs(static_cast<double>(out[i]) - wanted) / ulp_of(wanted);
    if (!(error <= worst)) worst = std::isnan(error) ? HUGE_VAL : error;
    if (!(error <= 8)) {
      ADD_FAILURE() << name << "(" << in[i] << ") = " << out[i] << ", exact " << wanted;
      return worst;
    }
    if (i % 97 == 0) {  // the scalar form agrees with the vector form
      function(&in[i], single.data(), 1);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(single[0]), std::bit_cast<std::uint32_t>(out[i])) << name << "(" << in[i] << ")";
    }
  }
  ::testing::Test::RecordProperty(name, std::to_string(worst));
  return worst;
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double rsqrt(double x) { return 1 / std::sqrt(x); }

struct Row {
  const char* name;
  double (*exact)(double);
  double bound;
};
class Functions : public ::testing::TestWithParam<Row> {};

TEST_P(Functions, stay_within_their_bound_over_all_exponents) {
  const double worst = worst_error(GetParam().name, GetParam().exact);
  EXPECT_LE(worst, GetParam().bound);
  std::printf("  %-8s %.3f ulp\n", GetParam().name, worst);
}

INSTANTIATE_TEST_SUITE_P(All, Functions,
                         ::testing::Values(Row{"exp", std::exp, 2}, Row{"exp2", std::exp2, 2}, Row{"log", std::log, 2},
                                           Row{"log2", std::log2, 2}, Row{"tanh", std::tanh, 4}, Row{"erf", std::erf, 4},
                                           Row{"sigmoid", sigmoid, 4}, Row{"sqrt", std::sqrt, 0.5}, Row{"rsqrt", rsqrt, 2},
                                           Row{"sin", std::sin, 4}, Row{"cos", std::cos, 4}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fathom::cpu
