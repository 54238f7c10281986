// The NumPy evaluator (tests/oracle/evaluate.py), which reads programs as JSON and has its own index semantics, agrees with the reference
// on every sample and on every witness of the derivations.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "derivations.hpp"
#include "interp_test.hpp"
#include "ir/json.hpp"

namespace fathom::interp {
namespace {

using test::Json;
namespace fs = std::filesystem;

Json number_json(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}
Json list(const std::vector<double>& values) {
  Json result = Json::array();
  for (const double x : values) result.push_back(number_json(x));
  return result;
}

/// One case with the reference's answer; null (and a failure) where there is none.
Json case_of(const std::string& id, const math::Program& program, const DimValues& dims, const Arrays& inputs) {
  const auto results = reference(program, inputs, dims, {});
  if (!results) {
    ADD_FAILURE() << id << ": " << results.error().reason;
    return {};
  }
  Json json{{"id", id}, {"program", Json::parse(to_json(program))}};
  for (const auto& [name, value] : dims) json["dims"][name.text()] = value;
  json["inputs"] = Json::object();
  for (const auto& [name, array] : inputs)
    json["inputs"][name.text()] = {{"dtype", std::string(fathom::name(array.dtype))}, {"shape", array.shape}, {"data", list(array.data)}};
  for (const auto& [name, bounded] : *results)
    json["expected"][name.text()] = {
        {"shape", bounded.shape}, {"data", list(bounded.value)}, {"bound", list(bounded.bound)}, {"undetermined", bounded.undetermined}};
  return json;
}

void check_with_numpy(const Json& cases, const std::string& name) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3-numpy is not installed: the independent evaluator cannot run";
  const fs::path file = fs::temp_directory_path() / ("fathom-oracle-" + name + ".json");
  const fs::path report = fs::temp_directory_path() / ("fathom-oracle-" + name + ".txt");
  std::ofstream(file) << cases;
  const std::string command =
      "/usr/bin/python3 '" FATHOM_SOURCE_DIR "/tests/oracle/evaluate.py' '" + file.string() + "' > '" + report.string() + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << test::read_file(report);
  fs::remove(file);
  fs::remove(report);
}

TEST(Oracle, numpy_agrees_on_every_witness_of_the_derivations) {
  Json cases = Json::array();
  for (const Json& entry : test::derivations()) {
    const auto file = lang::parse_file(entry["text"].get<std::string>());
    if (!file) {
      ADD_FAILURE() << entry["id"] << " does not parse";
      continue;
    }
    const math::Program& program = file->operators.front();
    for (const Json& witness : entry["witness"]) {
      const DimValues dims = test::dims_of(program, witness);
      const Arrays inputs = test::inputs_of(program, witness, dims);
      cases.push_back(case_of(entry["id"].get<std::string>() + "/" + witness["family"].get<std::string>(), program, dims, inputs));
    }
  }
  EXPECT_GT(cases.size(), 400U);
  check_with_numpy(cases, "witnesses");
}

TEST(Oracle, numpy_agrees_on_what_samples_do_not_use) {
  const std::vector<std::string> texts = {
      "dim T = 9\noperator drop(x: f32[T]) -> (y: f32[T]) { y[j] = where(random(7, j, 3) < 0.5, x[j], 0) + random(1, j) + random(2, j, j, "
      "j + 1) }\n",
      "dim T = 9\noperator scan(x: f32[T]) -> (y: f32[T]) { y[j in 0:T] = sum[k in 0:j+1](x[k]) }\n",
      "dim H = 4, G = 2, S = 3, T = 5, D = 2\noperator gqa(q: f16[H,S,D], k: f16[G,T,D], v: f16[G,T,D]) -> (o: f16[H,S,D]) {\n"
      "  s[h,i,j] = sum[d](q[h,i,d] * k[h // (H // G),j,d]) / sqrt(D)\n  c[h,i,j] = where(j <= i + (T - S), s[h,i,j], -inf)\n"
      "  p[h,i,j] = softmax[j](c[h,i,j])\n  o[h,i,d] = sum[j](p[h,i,j] * v[h // (H // G),j,d])\n}\n",
      "dim T = 8, P = 2, N = 6\noperator paged(x: f32[N, P], page: i32[4], len: i32) -> (o: f32) {\n"
      "  o = sum[j in 0:T](where(j < len, x[page[j // P], j % P], 0))\n}\n",
      "dim R = 3, C = 6\noperator stats(x: f32[R, C]) -> (a: f32[R], b: f32[R], c: f32[R, C], d: f32[R]) {\n"
      "  a[i] = logsumexp[j](x[i,j])\n  b[i] = sum[j](x[i,j] ^ 2) / C\n  c[i,j] = layernorm[j](x[i,j], 0.001)\n"
      "  at[i] = argmin[j](x[i,j])\n  d[i] = where(at[i] > 2, 1, 0) + prod[j](1 + x[i,j] / 8)\n}\n",
      "dim T = 7\noperator curves(x: f32[T]) -> (y: f32[T]) { y[j] = gelu(x[j]) + silu(x[j]) + softplus(x[j]) + tanh(x[j]) * floor(x[j]) + "
      "cos(x[j]) ^ 2 }\n"};
  Json cases = Json::array();
  for (const std::string& text : texts) {
    const math::Program program = parse(text);
    for (const std::string& family : data_families(program)) {
      const DimValues dims = default_dims(program);
      cases.push_back(case_of(program.name.text() + "/" + family, program, dims, make_inputs(program, dims, family, 5, {2, 4})));
    }
  }
  check_with_numpy(cases, "further");
}

TEST(Oracle, numpy_agrees_on_every_sample) {
  Json cases = Json::array();
  for (const fs::path& path : test::files_with("samples", ".fathom")) {
    const std::string text = test::read_file(path);
    const auto original = lang::parse_file(text);
    ASSERT_TRUE(original) << render(original.error(), path.string(), text);
    // every dimension small, alternating, so that no two extents agree by accident more often than they must
    std::map<std::string, std::int64_t> small;
    std::int64_t next = 3;
    for (const math::Dimension& dimension : original->operators.front().dims) {
      const bool heads = dimension.name.text().rfind('H', 0) == 0;
      small[dimension.name.text()] = std::min<std::int64_t>(dimension.value, heads ? 2 : next);
      next = next == 3 ? 5 : next == 5 ? 8 : 3;
    }
    const auto file = lang::parse_file(text, small);
    ASSERT_TRUE(file) << render(file.error(), path.string(), text);
    for (const math::Program& program : file->operators)
      for (const std::string& family : data_families(program)) {
        const DimValues dims = default_dims(program);
        cases.push_back(case_of(path.stem().string() + ":" + program.name.text() + "/" + family, program, dims,
                                make_inputs(program, dims, family, 5, {2, 4})));
      }
  }
  EXPECT_GT(cases.size(), 20U);
  check_with_numpy(cases, "samples");
}

}  // namespace
}  // namespace fathom::interp
