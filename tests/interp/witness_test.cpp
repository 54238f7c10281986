// Every witness of the independently worked derivations: the reference reproduces the expected values.
#include "derivations.hpp"
#include "interp_test.hpp"

namespace fathom::interp {
namespace {

using test::Json;

TEST(Reference, reproduces_every_witness_of_the_derivations) {
  int seen = 0;
  for (const Json& entry : test::derivations()) {
    const std::string id = entry["id"];
    SCOPED_TRACE(id);
    auto file = lang::parse_file(entry["text"].get<std::string>());
    if (!file) {
      ADD_FAILURE() << render(file.error(), id, entry["text"].get<std::string>());
      continue;
    }
    const math::Program& program = file->operators.front();
    for (const Json& witness : entry["witness"]) {
      SCOPED_TRACE(witness["family"].get<std::string>());
      const DimValues dims = test::dims_of(program, witness);
      const Arrays inputs = test::inputs_of(program, witness, dims);
      const auto results = reference(program, inputs, dims, {});
      ASSERT_TRUE(results) << results.error().reason;
      for (const auto& [name, expected] : witness["expected"].items()) {
        const Bounded& actual = results->at(Symbol(name));
        const std::vector<double> values = test::numbers_in(expected);
        ASSERT_EQ(actual.value.size(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
          SCOPED_TRACE(name + "[" + std::to_string(i) + "]");
          ++seen;
          if (std::isnan(values[i])) {
            EXPECT_TRUE(std::isnan(actual.value[i])) << actual.value[i];
          } else if (std::isinf(values[i]) || values[i] == 0) {
            EXPECT_NEAR(actual.value[i] == values[i] ? 0 : actual.value[i], 0, 1e-12);
          } else {
            EXPECT_NEAR(actual.value[i] / values[i], 1, 1e-12) << actual.value[i] << " instead of " << values[i];
          }
        }
      }
    }
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
}  // namespace fathom::interp
