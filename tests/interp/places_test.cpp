// Loads and stores of tiles row by row: steps backwards, strides, both borders, gathers and masks, against plain loops.
#include "interp_test.hpp"
#include "ir/kernel.hpp"

namespace fathom::interp {
namespace {

/// One item of six elements: `body` with them as i.
std::vector<double> run_tile(const std::string& result, const std::string& body, const RunOptions& options = {}) {
  const std::string text = "module f(x: f32[8], n: i32[6]) -> (r: " + result +
                           ") {\n  kernel f {\n    work t in 0:1 grid\n    axis i = i:6\n    axis p = "
                           "p:3\n"
                           "    axis q = q:2\n    role all warps 1 {\n      for t in work {\n" +
                           body + "\n      } } } }\n";
  auto module = lang::parse_kernel(text);
  if (!module) {
    ADD_FAILURE() << render(module.error(), "test", text);
    return {};
  }
  return run_of(make_ir(Level::tile, *module),
                {{Symbol("x"), row({0, 1, 4, 9, 16, 25, 36, 49})}, {Symbol("n"), row({5, 0, 3, 7, 2, 9}, DType::i32)}}, options)
      .at(Symbol("r"))
      .data;
}

/// NaN: nothing was stored there.
void expect_elements(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t k = 0; k < actual.size(); ++k)
    EXPECT_TRUE(actual[k] == expected[k] || (std::isnan(actual[k]) && std::isnan(expected[k]))) << k << ": " << actual[k];
}

TEST(Places, a_store_leaves_out_what_lies_outside) {
  const auto stored = [&](const std::string& subscript) {
    return run_tile("f32[8]", "        a[i] = x[i] else 0\n        r[" + subscript + "] = a[i]");
  };
  expect_elements(stored("i + 1"), {nan, 0, 1, 4, 9, 16, 25, nan});
  expect_elements(stored("i + 5"), {nan, nan, nan, nan, nan, 0, 1, 4});
  expect_elements(stored("i - 4"), {16, 25, nan, nan, nan, nan, nan, nan});
  expect_elements(stored("3 - i"), {9, 4, 1, 0, nan, nan, nan, nan});
  expect_elements(stored("9 - i * 2"), {nan, 16, nan, 9, nan, 4, nan, 1});
  expect_elements(stored("i * 3 - 4"), {nan, nan, 4, nan, nan, 9, nan, nan});
  expect_elements(stored("i + 8"), std::vector<double>(8, nan));
  expect_elements(stored("n[i]"), {1, nan, 16, 4, nan, 0, nan, 9});
}

TEST(Places, a_store_of_two_axes_is_clipped_on_each) {
  const auto z = run_tile("f32[4,4]", "        a[p,q] = x[p * 2 + q] else 0\n        r[p + 2,1 - q * 2] = a[p,q]");
  std::vector<double> expected(16, nan);
  expected[9] = 0, expected[13] = 4;  // q = 1 is column -1, p = 2 is row 4
  expect_elements(z, expected);
}

TEST(Places, a_load_takes_the_value_of_else_for_what_lies_outside) {
  const auto loaded = [&](const std::string& subscript) {
    return run_tile("f32[8]", "        a[i] = x[" + subscript + "] else -1\n        r[i] = a[i]");
  };
  expect_elements(loaded("i + 4"), {16, 25, 36, 49, -1, -1, nan, nan});
  expect_elements(loaded("i - 2"), {-1, -1, 0, 1, 4, 9, nan, nan});
  expect_elements(loaded("2 - i"), {4, 1, 0, -1, -1, -1, nan, nan});
  expect_elements(loaded("i * 3 - 1"), {-1, 4, 25, -1, -1, -1, nan, nan});
  expect_elements(loaded("i - 9"), {-1, -1, -1, -1, -1, -1, nan, nan});
  expect_elements(loaded("n[i]"), {25, 0, 9, 49, 4, -1, nan, nan});
}

TEST(Places, an_observer_sees_the_box_that_was_stored) {
  std::vector<std::pair<std::int64_t, std::int64_t>> box;
  RunOptions options;
  options.observer = [&](const Event& event) {
    if (event.tensor == Symbol("r")) box = event.box;
  };
  (void)run_tile("f32[8]", "        a[i] = x[i] else 0\n        r[3 - i] = a[i]", options);
  EXPECT_EQ(box, (std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 4}}));
}

}  // namespace
}  // namespace fathom::interp
