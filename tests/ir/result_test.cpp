#include "ir/result.hpp"

#include <gtest/gtest.h>

#include "ir/record.hpp"

namespace fathom {
namespace {

Diagnostic at(std::uint32_t begin, std::uint32_t end, std::string message = "wrong") {
  Diagnostic diagnostic;
  diagnostic.span = {0, begin, end};
  diagnostic.message = std::move(message);
  return diagnostic;
}

TEST(Render, shows_place_line_and_underline_with_help_and_notes) {
  Diagnostic diagnostic = at(10, 13, "k has no axis j");
  diagnostic.cure = "write k[i]";
  diagnostic.notes = {at(0, 1, "declared here")};
  diagnostic.notes[0].severity = Severity::note;
  EXPECT_EQ(render(diagnostic, "a.fathom", "first\n  = k[j]\nlast\n"),
            "a.fathom:2:5: error: k has no axis j\n"
            "    = k[j]\n"
            "      ^~~\n"
            "  help: write k[i]\n"
            "a.fathom:1:1: note: declared here\n"
            "  first\n"
            "  ^\n");
}

TEST(Render, columns_count_characters_and_tabs_stay_aligned) {
  EXPECT_EQ(render(at(3, 4), "f", "\xC3\xA9\tx"), "f:1:3: error: wrong\n  \xC3\xA9\tx\n   \t^\n");
}

TEST(Render, survives_every_span_of_any_text) {
  const std::string texts[] = {"", "\n", "a\nbc\r\n", "\xFF\x80\x80\n\x01\x1B[31m",
                               std::string(1000, 'x') + "\n" + std::string(500, '\x80')};
  for (const std::string& text : texts)
    for (const std::uint32_t begin : {0U, 1U, 2U, 3U, 160U, 700U, 1001U, 1200U, 4000000000U})
      for (const std::uint32_t end : {0U, 1U, 4U, 1100U, 4294967295U}) {
        const std::string shown = render(at(begin, end), "f", text);
        EXPECT_LT(shown.size(), 1000U);
        EXPECT_EQ(shown.find('\x1B'), std::string::npos);
      }
}

TEST(Render, shows_the_part_of_a_long_line_that_matters) {
  std::string line(5000, 'x');
  line.replace(3000, 4, "HERE");
  const std::string shown = render(at(3000, 3004), "f", line);
  EXPECT_NE(shown.find("HERE"), std::string::npos);
  EXPECT_NE(shown.find("^~~~"), std::string::npos);
  EXPECT_NE(shown.find("f:1:3001:"), std::string::npos);
  EXPECT_LT(shown.size(), 500U);
}

TEST(Render, a_fault_in_the_prelude_shows_no_line_of_the_users_text) {
  Diagnostic diagnostic = at(0, 3);
  diagnostic.span.source = 1;
  EXPECT_EQ(render(diagnostic, "f", "abc"), "prelude: error: wrong\n");
}

TEST(Origins, merge_is_a_sorted_union) {
  const SourceSpan a{0, 1, 2}, b{0, 3, 4}, c{1, 0, 1};
  EXPECT_EQ(merge({b}, {a, c}), (Origins{a, b, c}));
  EXPECT_EQ(merge({a, b}, {b}), (Origins{a, b}));
  EXPECT_EQ(merge({}, {}), Origins{});
}

TEST(Trace, a_later_line_for_the_same_site_wins) {
  Trace trace;
  trace.entries = {
      {"o/j/tile", "64", false, Origin::by_user}, {"o/i/tile", "48", false, Origin::by_user}, {"o/j/tile", "32", true, Origin::by_user}};
  EXPECT_EQ(trace.find("o/j/tile")->choice, "32");
  EXPECT_EQ(trace.find("o/k/tile"), nullptr);
}

TEST(Levels, names_read_back) {
  for (const Level level : {Level::math, Level::loop, Level::tile, Level::kernel, Level::code}) EXPECT_EQ(level_named(name(level)), level);
  EXPECT_FALSE(level_named("machine"));
}

}  // namespace
}  // namespace fathom
