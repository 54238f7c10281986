// Every witness of the independently worked derivations: the reference reproduces the expected values.
#include <fstream>
#include <nlohmann/json.hpp>

#include "interp_test.hpp"

namespace fathom::interp {
namespace {

using Json = nlohmann::ordered_json;

double number_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  if (json.is_number()) return json.get<double>();
  const std::string text = json.get<std::string>();
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  return std::strtod(text.c_str(), nullptr);
}

void flatten(const Json& json, std::vector<double>& out) {
  if (!json.is_array()) return out.push_back(number_of(json));
  for (const Json& item : json) flatten(item, out);
}

Array array_of(const math::Program& program, const math::Parameter& param, const DimValues& dims, const Json& json) {
  Array result;
  result.dtype = param.dtype;
  for (const Expr extent : param.extents) result.shape.push_back(evaluate_integer(extent, dims).value_or(-1));
  flatten(json, result.data);
  EXPECT_NE(program.param(param.name), nullptr);
  return result;
}

Json entries() {
  std::ifstream file(std::string(FATHOM_SOURCE_DIR) + "/tests/cases/derivations.json");
  return Json::parse(file)["entries"];
}

TEST(Reference, reproduces_every_witness_of_the_derivations) {
  int seen = 0;
  for (const Json& entry : entries()) {
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
      DimValues dims = default_dims(program);
      for (const auto& [name, value] : witness["dims"].items()) dims[Symbol(name)] = value.get<std::int64_t>();
      Arrays inputs;
      for (const math::Parameter& param : program.params)
        inputs[param.name] = array_of(program, param, dims, witness["inputs"][param.name.text()]);
      const auto results = reference(program, inputs, dims, {});
      ASSERT_TRUE(results) << results.error().reason;
      for (const auto& [name, expected] : witness["expected"].items()) {
        const Bounded& actual = results->at(Symbol(name));
        std::vector<double> values;
        flatten(expected, values);
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
