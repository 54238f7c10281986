// No text crashes or hangs: deep nesting, megabytes, noise, truncations, soups of tokens. Each ends in a program or in diagnostics.
#include <gtest/gtest.h>

#include <algorithm>

#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

constexpr std::string_view head = "dim N = 8\noperator f(x: f32[N]) -> (o: f32[N])\n{\n  o[i] = ";

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

/// True if it was accepted. Diagnostics must be there otherwise, and must render. A hang does not end: whoever runs the tests sees it.
bool survives(const std::string& text) {
  const auto file = lang::parse_file(text);
  if (file) return true;
  EXPECT_FALSE(file.error().empty());
  EXPECT_LE(file.error().size(), 50U);
  EXPECT_FALSE(render(file.error(), "text", text).empty());
  return false;
}

TEST(Robust, deep_nesting_is_an_error) {
  for (const std::string_view open : {"(", "exp(", "-", "sum[j](", "x[", "2^", "where(", "1+(", "not "}) {
    EXPECT_FALSE(survives(std::string(head) + repeated(open, 100000) + "x[i]")) << open;
    EXPECT_FALSE(survives(std::string(head) + repeated(open, 100000))) << open;
  }
  EXPECT_FALSE(survives(std::string(head) + repeated("(", 100000) + "1" + repeated(")", 100000) + "\n}\n"));
}

TEST(Robust, a_chain_of_operations_too_long_is_an_error_and_one_within_the_bound_is_not) {
  EXPECT_FALSE(survives(std::string(head) + "x[i]" + repeated(" + x[i]", 100000) + "\n}\n"));
  EXPECT_TRUE(survives(std::string(head) + "x[i]" + repeated(" + x[i]", 300) + "\n}\n"));
}

TEST(Robust, more_than_a_megabyte_is_an_error) {
  EXPECT_FALSE(survives(repeated("# nothing here\n", 100000)));
  EXPECT_FALSE(survives(std::string(std::size_t{3} << 20U, 'a')));
}

TEST(Robust, a_nearly_full_megabyte_is_read) {
  std::string text = "dim N = 8\noperator f(x: f32[N]) -> (o: f32[N])\n{\n";
  for (int i = 0; i < 8000; ++i) text += "  a" + std::to_string(i) + "[i] = x[i] * x[N - 1 - i] + sum[j in 0:i+1](x[j])\n";
  EXPECT_TRUE(survives(text + "  o[i] = a7999[i]\n}\n"));
  EXPECT_FALSE(survives(repeated("dim A = 1\n", 100000)));
  EXPECT_FALSE(survives(repeated("fn f(x) = x\n", 80000)));
  EXPECT_FALSE(survives(repeated("@", 1000000)));
  EXPECT_FALSE(survives(repeated("\x80", 1000000)));
  EXPECT_FALSE(survives(std::string(head) + repeated("(x[i]+", 170000)));
}

TEST(Robust, functions_that_double_their_size_at_each_call_are_an_error) {
  std::string text = "dim N = 8\nfn f0(x) = x * x\n";
  for (int i = 1; i < 60; ++i)
    text += "fn f" + std::to_string(i) + "(x) = f" + std::to_string(i - 1) + "(f" + std::to_string(i - 1) + "(x)) + 1\n";
  EXPECT_FALSE(survives(text + "operator f(x: f32[N]) -> (o: f32[N]) { o[i] = f59(x[i]) }\n"));
  text = "dim N = 8\nconst c0 = 2\n";
  for (int i = 1; i < 100; ++i)
    text += "const c" + std::to_string(i) + " = c" + std::to_string(i - 1) + " + c" + std::to_string(i - 1) + "\n";
  EXPECT_FALSE(survives(text + "operator f(x: f32[N]) -> (o: f32[N]) { o[i] = x[i] * c99 }\n"));
}

TEST(Robust, conditions_with_many_cases_are_bounded) {
  std::string guard = "i > 0";
  for (int i = 0; i < 60; ++i) guard = "(" + guard + " or i + " + std::to_string(i) + " != " + std::to_string(i * 3) + ")";
  EXPECT_FALSE(survives(std::string(head) + "where(" + guard + ", x[i-1], 0)\n}\n"));
  std::string clamp = "i";
  for (int i = 0; i < 60; ++i) clamp = "min(max(" + clamp + " - 1, 0), N - 1)";
  survives(std::string(head) + "x[" + clamp + "]\n}\n");
}

/// A generator of the tests' own: xorshift.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    return state;
  }
};

TEST(Robust, binary_noise_is_an_error) {
  Random random{88172645463325252ULL};
  for (int round = 0; round < 60; ++round) {
    std::string text(static_cast<std::size_t>(random() % 3000 + 1), '\0');
    for (char& byte : text) byte = static_cast<char>(random() & 255U);
    EXPECT_FALSE(survives(text));
    EXPECT_FALSE(survives(std::string(head) + text));
  }
}

TEST(Robust, samples_truncated_at_every_byte_are_errors) {
  for (const auto& path : test::files_with("samples", ".fathom")) {
    const std::string text = test::read_file(path);
    const std::size_t last = text.rfind('}');
    for (std::size_t size = 0; size <= last; ++size) {
      ASSERT_FALSE(lang::parse_file(text.substr(0, size)).has_value()) << path << " at " << size;
    }
  }
}

TEST(Robust, samples_with_one_byte_changed_end) {
  Random random{123456789};
  for (const auto& path : test::files_with("samples", ".fathom")) {
    const std::string text = test::read_file(path);
    for (int round = 0; round < 150; ++round) {
      std::string changed = text;
      changed[random() % changed.size()] = static_cast<char>(random() % 96 + 32);
      survives(changed);
    }
  }
}

TEST(Robust, soups_of_tokens_end) {
  constexpr std::string_view tokens[] = {
      "dim ",   "N ",    "= ",       "8 ",      "operator ", "f",     "(",    ")",   "x",    "[",      "]",   ":",
      "f32 ",   "-> ",   "{ ",       "} ",      "o",         "i",     "j",    "in ", "0:N",  "sum",    "max", "softmax",
      "where",  "+ ",    "* ",       "// ",     "% ",        "^ ",    "- ",   ", ",  "\n",   "with ",  "fn ", "reducer ",
      "state ", "lift ", "combine ", "result ", "inf ",      "true ", "and ", "or ", "not ", "const ", "a' ", "1.5 "};
  Random random{42};
  for (int round = 0; round < 400; ++round) {
    std::string text = round % 2 == 0 ? std::string(head) : std::string();
    for (std::uint64_t i = 0; i < random() % 120; ++i) text += tokens[random() % std::size(tokens)];
    survives(text);
    static_cast<void>(lang::parse_math(text));
    static_cast<void>(lang::parse_expression(text));
  }
}

TEST(Robust, expressions_by_themselves_are_bounded_too) {
  EXPECT_FALSE(lang::parse_expression(repeated("(", 100000)).has_value());
  EXPECT_FALSE(lang::parse_expression("").has_value());
  EXPECT_FALSE(lang::parse_expression("a b").has_value());
  EXPECT_TRUE(lang::parse_expression("acc * exp(p.m - p.m')").has_value());
}

}  // namespace
}  // namespace fathom
