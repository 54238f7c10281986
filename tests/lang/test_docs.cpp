// The examples of docs/language.md are what they claim to be.
#include <gtest/gtest.h>

#include <algorithm>

#include "files.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

struct Example {
  std::string text;
  bool is_error;
};

std::vector<Example> examples() {
  const std::string page = test::read_file(test::in_project("docs/language.md"));
  std::vector<Example> all;
  for (std::size_t at = page.find("```fathom"); at != std::string::npos; at = page.find("```fathom", at)) {
    const std::size_t begin = page.find('\n', at) + 1;
    const std::size_t end = page.find("```", begin);
    all.push_back({page.substr(begin, end - begin), page.substr(at, begin - at).find("error") != std::string::npos});
    at = end + 3;
  }
  return all;
}

TEST(LanguagePage, its_examples_parse_and_its_errors_do_not) {
  std::size_t errors = 0;
  for (const Example& example : examples()) {
    const auto file = lang::parse_file(example.text);
    EXPECT_EQ(file.has_value(), !example.is_error) << example.text << (file ? "" : render(file.error(), "language.md", example.text));
    errors += example.is_error ? 1 : 0;
  }
  EXPECT_GE(examples().size(), 9U);
  EXPECT_GE(errors, 3U);
}

}  // namespace
}  // namespace fathom
