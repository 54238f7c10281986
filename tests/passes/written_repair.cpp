// The decision CONSUMER/INDEX/repair from the trace to the Loop program: derived ones change nothing, refuted ones are refused with their
// array, and run, watermarked, only where unsound programs are asked for.
#include <gtest/gtest.h>

#include "lang/lang.hpp"
#include "passes/pass.hpp"

namespace fathom::passes {
namespace {

constexpr auto source = R"(dim T = 64
operator weights(s: f32[T]) -> (l: f32)
{
  m = max[j](s[j])
  l = sum[j](exp(s[j] - m))
}
)";

Record compiled(const std::string& repair, bool unsound) {
  const auto file = lang::parse_file(source);
  EXPECT_TRUE(file);
  Options options;
  options.unsound = unsound;
  options.parse_expression = [](std::string_view text) -> Result<Expr> {
    auto parsed = lang::parse_expression(text);
    if (!parsed) return refuse("This is not an expression.");
    return *parsed;
  };
  Trace trace;
  if (!repair.empty()) trace.entries.push_back({"l/j/repair", repair, false, Origin::by_user});
  auto record = replay(file->operators.front(), *target_named("blackboard"), trace, options);
  EXPECT_TRUE(record) << (record ? "" : record.error().reason);
  return record ? std::move(*record) : Record{};
}

/// The Loop program that fusing l left, as text, and what its step says.
std::pair<std::string, std::string> fused(const Record& record) {
  for (const Step& step : record.steps)
    if (step.id == "l/j/fuse") return {print(step.after), step.says};
  ADD_FAILURE() << "no step l/j/fuse";
  return {};
}

std::string refusals(const Record& record) {
  std::string all;
  for (const Refusal& refusal : record.refusals) all += refusal.reason + "\n";
  return all;
}

TEST(WrittenRepair, one_that_is_derived_in_other_words_changes_nothing) {
  const Record record = compiled("acc / exp(m' - m)", false);
  const auto [program, says] = fused(record);
  const auto [plain, says_plain] = fused(compiled("", false));
  EXPECT_EQ(program, plain);
  EXPECT_EQ(says, says_plain + " The repair as it was written, acc / exp(m' - m), is derived: the same in other words.");
  EXPECT_EQ(refusals(record), refusals(compiled("", false)));
}

TEST(WrittenRepair, a_refuted_one_is_refused_with_its_array_and_the_derived_one_stands) {
  const Record record = compiled("acc", false);
  EXPECT_NE(refusals(record).find("acc does not repair l. For s = [0, 1] in tiles of 1 + 1 elements l becomes 2, but it is 1.367879."),
            std::string::npos)
      << refusals(record);
  EXPECT_EQ(fused(record), fused(compiled("", false)));
}

TEST(WrittenRepair, a_refuted_one_runs_unsound_and_says_so) {
  const auto [text, says] = fused(compiled("acc * exp(m' - m)", true));
  EXPECT_NE(says.find("UNSOUND"), std::string::npos) << says;
  EXPECT_NE(text.find("exp(m~' - m~)"), std::string::npos) << text;
}

TEST(WrittenRepair, a_name_that_is_not_at_hand_is_refused_even_unsound) {
  const Record record = compiled("acc * k", true);
  EXPECT_NE(refusals(record).find("k"), std::string::npos);
  EXPECT_EQ(fused(record), fused(compiled("", false)));
}

}  // namespace
}  // namespace fathom::passes
