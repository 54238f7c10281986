// Every program under bad/ is refused with exactly the diagnostics beside it. FATHOM_UPDATE_EXPECTED=1 writes them anew, to be reviewed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

TEST(BadPrograms, there_are_at_least_sixty) { EXPECT_GE(test::files_with("tests/lang/bad", ".fathom").size(), 60U); }

TEST(BadPrograms, each_gives_the_diagnostics_beside_it) {
  const bool update = std::getenv("FATHOM_UPDATE_EXPECTED") != nullptr;
  for (const auto& path : test::files_with("tests/lang/bad", ".fathom")) {
    const std::string source = test::read_file(path);
    const auto file = lang::parse_file(source);
    ASSERT_FALSE(file.has_value()) << path.filename() << " is accepted";
    const std::string actual = render(file.error(), path.filename().string(), source);
    auto expected = path;
    expected.replace_extension(".expected");
    if (update) std::ofstream(expected, std::ios::binary) << actual;
    EXPECT_EQ(actual, test::read_file(expected)) << path.filename();
  }
}

TEST(BadPrograms, every_diagnostic_of_a_file_points_into_it) {
  for (const auto& path : test::files_with("tests/lang/bad", ".fathom")) {
    const std::string source = test::read_file(path);
    const auto file = lang::parse_file(source);
    ASSERT_FALSE(file.has_value());
    for (const Diagnostic& diagnostic : file.error()) {
      EXPECT_EQ(diagnostic.span.source, 0U) << path.filename();
      EXPECT_LE(diagnostic.span.begin, diagnostic.span.end);
      EXPECT_LE(diagnostic.span.end, source.size());
      EXPECT_FALSE(diagnostic.message.empty());
    }
  }
}

}  // namespace
}  // namespace fathom
