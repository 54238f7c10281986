// Helpers of the interpreter's tests: programs from text, arrays from lists.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

#include "interp/interp.hpp"
#include "lang/lang.hpp"

namespace fathom::interp {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline const double nan = std::numeric_limits<double>::quiet_NaN();

inline math::Program parse(const std::string& text, const std::map<std::string, std::int64_t>& dims = {}) {
  auto file = lang::parse_file(text, dims);
  if (!file) {
    ADD_FAILURE() << render(file.error(), "test", text);
    return {};
  }
  return file->operators.front();
}

inline Array array(std::vector<std::int64_t> shape, std::vector<double> data, DType dtype = DType::f32) {
  return {dtype, std::move(shape), std::move(data)};
}
inline Array row(std::vector<double> data, DType dtype = DType::f32) {
  const auto n = static_cast<std::int64_t>(data.size());
  return {dtype, {n}, std::move(data)};
}

/// The reference of the only operator; fails the test where it is refused.
inline std::map<Symbol, Bounded> reference_of(const math::Program& program, const Arrays& inputs, const DimValues& dims = {},
                                              const BoundOptions& options = {}) {
  auto result = reference(program, inputs, dims, options);
  if (!result) {
    ADD_FAILURE() << result.error().reason;
    return {};
  }
  return *result;
}

inline Arrays run_of(const Ir& ir, const Arrays& inputs, const RunOptions& options = {}) {
  auto result = run(ir, inputs, options);
  if (!result) {
    ADD_FAILURE() << result.error().reason;
    return {};
  }
  return *result;
}

}  // namespace fathom::interp
