// Runs a text through the pipeline up to some level and holds every level from Tile on against the wide reference of the program as
// written.
#pragma once

#include <gtest/gtest.h>

#include "files.hpp"
#include "interp/interp.hpp"
#include "lang/lang.hpp"
#include "passes/lowering.hpp"
#include "passes/pass.hpp"

namespace fathom::lowering_tests {

using Dims = std::map<std::string, std::int64_t>;

using test::read_sample;

struct Lowered {
  math::Program written;
  Record record;
  std::vector<Ir> levels;  ///< after each step from Tile on that changed something
  [[nodiscard]] const Ir& last(Level level) const {
    for (auto ir = levels.rbegin(); ir != levels.rend(); ++ir) {
      if (ir->level == level) return *ir;
    }
    return levels.back();
  }
};

inline Lowered lower(const std::string& text, const Dims& dims, const std::vector<std::pair<std::string, std::string>>& choices = {},
                     const std::string& target = "x86-64", passes::Options options = {}) {
  Lowered out;
  const Checked<lang::File> file = lang::parse_file(text, dims);
  if (!file) {
    ADD_FAILURE() << render(file.error(), "test", text);
    return out;
  }
  out.written = file->operators.front();
  Trace trace;
  for (const auto& [site, choice] : choices) trace.entries.push_back({site, choice, false, Origin::by_user});
  Result<Record> record = passes::replay(out.written, *target_named(target), trace, options);
  if (!record) {
    ADD_FAILURE() << record.error().reason;
    return out;
  }
  out.record = std::move(*record);
  for (const Step& step : out.record.steps) {
    const bool runs = step.after.level == Level::tile || step.after.level == Level::kernel;
    if (runs && (out.levels.empty() || print(out.levels.back()) != print(step.after))) out.levels.push_back(step.after);
  }
  return out;
}

/// Every step from Tile on computes what the text says, on data of this family, at these dimension values.
inline void expect_right(const Lowered& lowered, const std::string& family, DimValues values = {}) {
  DimValues dims = math::default_dims(lowered.written);
  for (const auto& [name, value] : values) dims[name] = value;
  const interp::Arrays inputs = interp::make_inputs(lowered.written, dims, family, 7);
  interp::BoundOptions bounds;
  bounds.structured_data = interp::is_structured(family);
  const auto expected = interp::reference(lowered.written, inputs, dims, bounds);
  ASSERT_TRUE(expected) << expected.error().reason;
  interp::RunOptions run;
  run.dims = dims;
  for (const Ir& ir : lowered.levels) {
    const Result<void> sound = verify(ir);
    ASSERT_TRUE(sound) << sound.error().reason << "\n" << print(ir);
    const auto actual = interp::run(ir, inputs, run);
    ASSERT_TRUE(actual) << actual.error().reason << "\n" << print(ir);
    for (const math::Parameter& result : lowered.written.results) {
      const CheckCase c = interp::compare(actual->at(result.name), expected->at(result.name), result.dtype, -1);
      ASSERT_NE(c.status, CheckStatus::failed) << family << " " << result.name.text() << ": " << c.detail << " error " << c.max_error
                                               << " bound " << c.bound << "\n"
                                               << print(ir);
    }
  }
}

inline void expect_right_on_all(const Lowered& lowered, DimValues values = {}) {
  ASSERT_FALSE(lowered.levels.empty());
  for (const std::string& family : interp::data_families(lowered.written)) expect_right(lowered, family, values);
}

}  // namespace fathom::lowering_tests
