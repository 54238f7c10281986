// The independently worked derivations (tests/cases/derivations.json): entries by id, and their witnesses as arrays.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "files.hpp"
#include "interp/interp.hpp"

namespace fathom::test {

using Json = nlohmann::ordered_json;

inline const Json& derivations() {
  static const Json all = Json::parse(read_file(in_project("tests/cases/derivations.json"))).at("entries");
  return all;
}

inline std::string derivation_text(const std::string& id) {
  for (const Json& entry : derivations())
    if (entry.at("id") == id) return entry.at("text").get<std::string>();
  ADD_FAILURE() << "no entry " << id;
  return {};
}

inline double number_of(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
  return json.is_number() ? json.get<double>() : std::strtod(json.get<std::string>().c_str(), nullptr);  // "-inf", "nan"
}

/// Nested lists in row-major order; the shape that the lists show is added to `shape`.
inline void flatten(const Json& json, std::vector<std::int64_t>& shape, std::vector<double>& data, std::size_t depth = 0) {
  if (!json.is_array()) return data.push_back(number_of(json));
  if (shape.size() <= depth) shape.push_back(static_cast<std::int64_t>(json.size()));
  for (const Json& item : json) flatten(item, shape, data, depth + 1);
}
inline std::vector<double> numbers_in(const Json& json) {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  flatten(json, shape, data);
  return data;
}

inline DimValues dims_of(const math::Program& program, const Json& witness) {
  DimValues dims = default_dims(program);
  for (const auto& [name, value] : witness.at("dims").items()) dims[Symbol(name)] = value.get<std::int64_t>();
  return dims;
}
inline interp::Arrays inputs_of(const math::Program& program, const Json& witness, const DimValues& dims) {
  interp::Arrays inputs;
  for (const math::Parameter& parameter : program.params) {
    interp::Array& array = inputs[parameter.name];
    array.dtype = parameter.dtype;
    for (const Expr extent : parameter.extents) array.shape.push_back(evaluate_integer(extent, dims).value_or(-1));
    array.data = numbers_in(witness.at("inputs").at(parameter.name.text()));
  }
  return inputs;
}

}  // namespace fathom::test
