// The samples and all worked derivations parse and check; what is printed reads back to the same text and the same program.
#include <gtest/gtest.h>

#include <algorithm>

#include "derivations.hpp"
#include "lang/lang.hpp"

namespace fathom {
namespace {

struct NamedText {
  std::string name, text;
};

/// The samples and the texts of the derivations.
std::vector<NamedText> all_texts() {
  std::vector<NamedText> texts;
  for (const auto& path : test::files_with("samples", ".fathom")) texts.push_back({path.stem().string(), test::read_file(path)});
  for (const auto& entry : test::derivations()) texts.push_back({entry.at("id"), entry.at("text")});
  return texts;
}

math::Program program_of(const std::string& text) {
  auto file = lang::parse_file(text);
  if (!file) {
    ADD_FAILURE() << render(file.error(), "text", text);
    return {};
  }
  return file->operators.at(0);
}

TEST(Texts, there_are_all_samples_and_all_derivations) {
  EXPECT_GE(test::files_with("samples", ".fathom").size(), 9U);
  EXPECT_GE(all_texts().size(), 99U + 9U);
}

TEST(Texts, every_sample_and_every_derivation_checks) {
  for (const auto& [name, text] : all_texts()) {
    const auto file = lang::parse_file(text);
    EXPECT_TRUE(file.has_value()) << render(file.error(), name, text);
  }
}

TEST(Texts, every_checked_program_satisfies_the_verifier) {
  for (const auto& [name, text] : all_texts()) {
    const auto verified = math::verify(program_of(text));
    EXPECT_TRUE(verified.has_value()) << name << ": " << verified.error().reason;
  }
}

TEST(Texts, printing_and_parsing_is_a_fixed_point) {
  for (const auto& [name, text] : all_texts()) {
    const std::string once = math::print(program_of(text));
    const auto again = lang::parse_math(once);
    ASSERT_TRUE(again.has_value()) << render(again.error(), name, once);
    EXPECT_EQ(math::print(*again), once) << name;
  }
}

TEST(Texts, a_printed_program_is_also_a_file_of_the_notation) {
  for (const auto& [name, text] : all_texts()) {
    const std::string once = math::print(program_of(text));
    const auto again = lang::parse_file(once);
    ASSERT_TRUE(again.has_value()) << render(again.error(), name, once);
    EXPECT_EQ(math::print(again->operators.at(0)), once) << name;
  }
}

TEST(Texts, a_program_that_is_read_back_is_the_same_program) {
  for (const auto& [name, text] : all_texts()) {
    const math::Program program = program_of(text);
    const auto again = lang::parse_math(math::print(program));
    ASSERT_TRUE(again.has_value()) << name;
    ASSERT_EQ(again->statements.size(), program.statements.size());
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
      EXPECT_EQ(again->statements[i].axes, program.statements[i].axes) << name << " " << program.statements[i].name.text();
      ASSERT_EQ(again->statements[i].value.index(), program.statements[i].value.index());
      if (const math::Map* map = program.statements[i].map()) {
        EXPECT_EQ(again->statements[i].map()->value, map->value) << name;
      }
    }
    EXPECT_EQ(again->conditions, program.conditions) << name;
  }
}

}  // namespace
}  // namespace fathom
