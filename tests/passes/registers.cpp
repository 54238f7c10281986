// The estimate of registers that the choice of tiles asks, and what the choice makes of it.
#include "passes/registers.hpp"

#include "tile_runs.hpp"

namespace fathom::lowering_tests {
namespace {

std::string with_types(std::string text, const std::string& type) {
  for (const std::string from : {": f16[", ": bf16[", ": f32["}) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += 2) text.replace(at, from.size(), ": " + type + "[");
  }
  return text;
}

/// Of the Loop program that tiles were lowered from.
passes::RegisterNeed need_of(const Lowered& lowered, const std::string& target) {
  const Ir* last = nullptr;
  for (const Step& step : lowered.record.steps)
    if (step.after.level == Level::loop) last = &step.after;
  return last == nullptr ? passes::RegisterNeed{} : passes::register_need(last->loop(), *target_named(target));
}

TEST(Registers, are_those_of_accumulators_operands_and_copies) {
  const Dims dims = {{"B", 1}, {"H", 2}, {"S", 256}, {"T", 256}, {"D", 64}};
  const Lowered lowered =
      lower(with_types(read_sample("attention_nomask"), "f16"), dims, {{"o/i/tile", "64"}, {"o/j/tile", "128"}}, "sm_80");
  const passes::RegisterNeed need = need_of(lowered, "sm_80");
  // 16 rows a warp: o 16 x 64 / 32 lanes, q of 16 bits half of that, the scores 16 x 128 / 32.
  EXPECT_EQ(need.values, 32 + 16 + 64);
  // K and V: 128 x 64 elements of 2 bytes in copies of 16 by 128 threads, 8 registers each.
  EXPECT_EQ(need.copies, 2 * 8 * 8);
  EXPECT_EQ(need.excess(), 0);
  const Lowered few_rows =
      lower(with_types(read_sample("attention_nomask"), "f16"), dims, {{"o/i/tile", "32"}, {"o/j/tile", "128"}}, "sm_80");
  EXPECT_EQ(need_of(few_rows, "sm_80").values, need.values);
  EXPECT_EQ(need_of(few_rows, "sm_80").copies, 2 * need.copies) << "half of the threads";
  EXPECT_GT(need_of(few_rows, "sm_80").excess(), 0);
  EXPECT_EQ(need_of(lower(read_sample("attention_nomask"), dims), "x86-64").excess(), 0);
}

TEST(Registers, of_the_default_plans_of_all_samples_suffice) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    for (const char* sample : {"attention", "attention_nomask", "attention_dynamic", "matmul_bias_gelu"}) {
      for (const char* type : {"f16", "bf16", "f32"}) {
        const Lowered lowered = lower(with_types(read_sample(sample), type), {}, {}, target);
        const passes::RegisterNeed need = need_of(lowered, target);
        EXPECT_GT(need.values, 0) << sample;
        EXPECT_EQ(need.excess(), 0) << sample << " " << type << " on " << target << ": " << need.values << " + " << need.copies;
      }
    }
  }
}

TEST(Registers, are_a_reason_against_a_tile_and_no_refusal) {
  const Lowered by_default = lower(with_types(read_sample("attention"), "f16"), {}, {}, "sm_80");
  bool named = false;
  for (const Decision& d : by_default.record.decisions) named = named || d.reason.find("Faster ones would spill") != std::string::npos;
  EXPECT_TRUE(named);
  const Lowered asked = lower(with_types(read_sample("attention"), "f16"), {}, {{"o/i/tile", "32"}, {"o/j/tile", "64"}}, "sm_80");
  EXPECT_TRUE(asked.record.refusals.empty());
  EXPECT_GT(need_of(asked, "sm_80").excess(), 0);
}

}  // namespace
}  // namespace fathom::lowering_tests
