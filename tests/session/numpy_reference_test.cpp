// The mathematics that an exported folder carries (reference.py) agrees with the reference of core/interp: on every program of the
// derivations, and on what they do not use. Data are random and finite, as those of test.py are.
#include "session/numpy_reference.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "algebra/open.hpp"
#include "derivations.hpp"
#include "lang/lang.hpp"
#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

namespace fs = std::filesystem;

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double x : values) list.push_back(std::isnan(x) ? Json("nan") : std::isinf(x) ? Json(x > 0 ? "inf" : "-inf") : Json(x));
  return list;
}

/// The module and the reference's answer; null (and a failure) where there is none.
Json case_of(const std::string& id, const math::Program& program) {
  const DimValues dims = default_dims(program);
  const interp::Arrays inputs = interp::make_inputs(program, dims, "gaussian", 5);
  const auto module = session::numpy_reference(math::open(program), {"sm_80", 1e-3});
  const auto results = interp::reference(program, inputs, dims, {});
  if (!module || !results) {
    ADD_FAILURE() << id << ": " << (module ? results.error().reason : module.error().reason);
    return {};
  }
  Json json{{"id", id}, {"module", *module}, {"inputs", Json::object()}, {"expected", Json::object()}};
  for (const auto& [name, array] : inputs) json["inputs"][name.text()] = {{"shape", array.shape}, {"data", numbers(array.data)}};
  for (const auto& [name, bounded] : *results)
    json["expected"][name.text()] = {{"shape", bounded.shape},
                                     {"data", numbers(bounded.value)},
                                     {"bound", numbers(bounded.bound)},
                                     {"undetermined", bounded.undetermined}};
  return json;
}

void expect_same(const Json& cases, const std::string& name) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) GTEST_SKIP() << "python3-numpy is not installed";
  const fs::path file = fs::temp_directory_path() / ("fathom-exported-" + name + ".json");
  const fs::path report = fs::temp_directory_path() / ("fathom-exported-" + name + ".txt");
  std::ofstream(file) << cases;
  const std::string command =
      "/usr/bin/python3 '" FATHOM_SOURCE_DIR "/tests/oracle/exported.py' '" + file.string() + "' > '" + report.string() + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << test::read_file(report);
  fs::remove(file);
  fs::remove(report);
}

TEST(NumpyReference, agrees_on_every_program_of_the_derivations) {
  Json cases = Json::array();
  for (const Json& entry : test::derivations()) {
    const auto file = lang::parse_file(entry["text"].get<std::string>());
    ASSERT_TRUE(file) << entry["id"];
    cases.push_back(case_of(entry["id"].get<std::string>(), file->operators.front()));
  }
  EXPECT_GT(cases.size(), 80U);
  expect_same(cases, "derivations");
}

TEST(NumpyReference, agrees_on_what_they_do_not_use) {
  const std::vector<std::string> texts = {
      "dim T = 9\noperator drop(x: f32[T]) -> (y: f32[T]) { y[j] = where(random(7, j, 3) < 0.5, x[j], 0) + random(1, j) + random(2, j, j, "
      "j + 1) }\n",
      "dim T = 9\noperator scan(x: f32[T]) -> (y: f32[T]) { y[j in 0:T] = sum[k in 0:j+1](x[k]) }\n",
      "dim T = 8, P = 2, N = 6\noperator paged(x: f32[N, P], page: i32[4], len: i32) -> (o: f32) {\n"
      "  o = sum[j in 0:T](where(j < len, x[page[j // P], j % P], 0))\n}\n",
      "dim R = 3, C = 6\noperator stats(x: f16[R, C]) -> (a: f32[R], b: f32[R], c: f32[R, C], d: f32[R]) {\n"
      "  a[i] = logsumexp[j](x[i,j])\n  b[i] = sum[j](f16(x[i,j]) ^ 2) / C\n  c[i,j] = layernorm[j](x[i,j], 0.001)\n"
      "  at[i] = argmin[j](x[i,j])\n  d[i] = where(at[i] > 2, 1, 0) + prod[j](1 + x[i,j] / 8)\n}\n",
      "dim T = 7\noperator curves(x: bf16[T]) -> (y: f32[T]) { y[j] = gelu(x[j]) + silu(x[j]) + softplus(x[j]) + tanh(x[j]) * floor(x[j]) "
      "+ "
      "cos(x[j]) ^ 2 }\n",
      "dim R = 5, C = 9\nreducer difference(x) { state a = 0, b = 1\n  lift (x, -1)\n  combine (a + b * a', b * b')\n  result value = "
      "a\n}\n"
      "operator alternating(x: f32[R, C]) -> (y: f32[R]) { y[i] = difference[j](x[i,j]) }\n",
      "dim T = 11\nreducer top(x, i) { state v = -inf, at: i32 = 2147483647\n  lift (x, i)\n"
      "  combine (where(v >= v', v, v'), where(v > v' or v == v' and at <= at', at, at'))\n  result value = v\n  result at = at }\n"
      "operator best(s: f32[T]) -> (value: f32, place: i32) { value = top.value[j](s[j], j)\n  place = top.at[j](s[j], j) }\n",
      "dim R = 4, C = 6\noperator truths(x: f32[R, C], m: bool[R, C]) -> (y: f32[R], z: f32[R]) {\n"
      "  some[i] = any[j](m[i,j] and x[i,j] > 0)\n  y[i] = where(some[i], 2, 3) * sum[j](where(not m[i,j], x[i,j], 0))\n"
      "  z[i] = sum[j](where(all[k](x[i,k] < x[i,j] + 9), 1, 0))\n}\n"};
  Json cases = Json::array();
  for (const std::string& text : texts) {
    const auto file = lang::parse_file(text);
    ASSERT_TRUE(file) << render(file.error(), "text", text);
    cases.push_back(case_of(file->operators.front().name.text(), file->operators.front()));
  }
  expect_same(cases, "further");
}

TEST(NumpyReference, is_refused_where_a_type_has_no_form) {
  const auto file = lang::parse_file("dim T = 9\noperator narrow(x: f8e4m3[T]) -> (y: f32[T]) { y[j] = x[j] * 2 }\n");
  ASSERT_TRUE(file);
  const auto module = session::numpy_reference(math::open(file->operators.front()), {"sm_80", 1e-3});
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().reason.find("f8e4m3 has no form"), std::string::npos) << module.error().reason;
}

}  // namespace
}  // namespace fathom::session_tests
