// Running text breaks between words, and every letter of it stands in a line.
#include "widgets/line_breaks.hpp"

#include <gtest/gtest.h>

#include "headless.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::widgets {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text, float width) {
  Lines lines;
  for (const BrokenLine& line : lines_within(text, width, Font::body)) lines.push_back(text.substr(line.begin, line.end - line.begin));
  return lines;
}

TEST(LineBreaks, stand_between_words_and_never_in_a_number) {
  const tests::Screen screen;
  const float width = std::max(measure("error 1.3e-04 of", Font::body).x, measure("3.2e-05 allowed", Font::body).x) + 1;
  EXPECT_EQ(lines_of("error 1.3e-04 of 3.2e-05 allowed", width), (Lines{"error 1.3e-04 of", "3.2e-05 allowed"}));
  const std::string text = "3 cases, error 1.3e-04 of 3.2e-05 allowed: Fuse o.sum into the loop of p.m, f(x, y)!";
  for (float wide = 60; wide < 400; wide += 7) {
    std::string joined;
    for (const std::string& line : lines_of(text, wide)) {
      EXPECT_LE(measure(line, Font::body).x, wide) << line;
      EXPECT_FALSE(line.empty());
      joined += (joined.empty() ? "" : " ") + line;
    }
    if (wide > measure("allowed:", Font::body).x) {
      EXPECT_EQ(joined, text) << wide;
    }
  }
}

TEST(LineBreaks, cut_a_word_that_is_too_wide_between_characters) {
  const tests::Screen screen;
  const std::string word = "θθθθθθθθθθθθθθθθθθθθ";
  std::string joined;
  for (const std::string& line : lines_of(word, 40)) {
    EXPECT_EQ(line.size() % 2, 0U) << "a letter is two bytes";
    EXPECT_FALSE(line.empty());
    joined += line;
  }
  EXPECT_EQ(joined, word);
  EXPECT_EQ(lines_of("ab", 0.5F), (Lines{"a", "b"})) << "one at least";
}

TEST(LineBreaks, keep_empty_lines_and_the_ends_that_are_there) {
  const tests::Screen screen;
  EXPECT_EQ(lines_of("a\n\nb", 100), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("", 100), Lines{""});
  EXPECT_EQ(lines_of("  deep", 100), Lines{"  deep"});
}

}  // namespace
}  // namespace fathom::ui::widgets
