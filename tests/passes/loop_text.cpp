// Texts of the Loop level: printed and parsed back, and what the parser says about texts that are wrong.
#include <gtest/gtest.h>

#include <string>

#include "lang/lang.hpp"
#include "loop_texts.hpp"

namespace fathom {
namespace {

using test::replaced;

std::string errors_of(const std::string& text) {
  const auto parsed = lang::parse_loop(text);
  return parsed ? "" : render(parsed.error(), "test.loop", text);
}

class LoopText : public testing::TestWithParam<const char*> {};

TEST_P(LoopText, printing_what_was_parsed_is_a_fixed_point) {
  const auto once = lang::parse_loop(GetParam());
  ASSERT_TRUE(once) << errors_of(GetParam());
  const std::string text = loop::print(*once);
  const auto twice = lang::parse_loop(text);
  ASSERT_TRUE(twice) << errors_of(text) << text;
  EXPECT_EQ(loop::print(*twice), text);
}

TEST_P(LoopText, a_parsed_text_is_well_formed) {
  const auto program = lang::parse_loop(GetParam());
  ASSERT_TRUE(program) << errors_of(GetParam());
  const auto sound = loop::verify(*program);
  EXPECT_TRUE(sound) << sound.error().reason;
}

INSTANTIATE_TEST_SUITE_P(Texts, LoopText, testing::Values(test::fused_attention, test::split_sum));

TEST(LoopParse, an_error_in_a_statement_is_shown_at_its_place) {
  const std::string text = replaced(test::split_sum, "sum[j](x[j])", "sum[j](y[j])");
  const auto parsed = lang::parse_loop(text);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(text.substr(parsed.error().front().span.begin, 1), "y") << errors_of(text);
}

TEST(LoopParse, a_missing_tile_is_named) {
  EXPECT_NE(errors_of(replaced(test::split_sum, " by 4 {", " {")).find("expected `by`"), std::string::npos);
}

TEST(LoopParse, an_unclosed_block_an_empty_text_and_noise_are_errors) {
  for (const std::string& text : {std::string(), std::string("loops"), std::string("loops f("), std::string("loops f() -> (o: f32) {"),
                                  std::string("\x01\xff\x80{{{{"), std::string(test::fused_attention).substr(0, 700)})
    EXPECT_NE(errors_of(text), "") << text;
}

TEST(LoopParse, deep_nesting_is_an_error_not_a_crash) {
  std::string text = "loops f() -> (o: f32)\n{\n";
  for (int i = 0; i < 100000; ++i) text += "{";
  EXPECT_NE(errors_of(text), "");
}

}  // namespace
}  // namespace fathom
