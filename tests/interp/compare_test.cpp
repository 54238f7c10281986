// The comparator: nothing passes by accident.
#include "interp_test.hpp"

namespace fathom::interp {
namespace {

Bounded expected(std::vector<double> value, double bound = 1e-6) {
  Bounded result;
  result.shape = {static_cast<std::int64_t>(value.size())};
  result.bound.assign(value.size(), bound);
  result.undetermined.assign(value.size(), false);
  result.value = std::move(value);
  return result;
}
CheckStatus status(const Array& actual, const Bounded& wanted, double rms = -1) { return compare(actual, wanted, DType::f32, rms).status; }

TEST(Compare, fails_on_a_nan_on_one_side) {
  EXPECT_EQ(status(row({1, nan}), expected({1, 2})), CheckStatus::failed);
  EXPECT_EQ(status(row({1, 2}), expected({1, nan})), CheckStatus::failed);
  EXPECT_EQ(status(row({1, nan}), expected({1, nan})), CheckStatus::passed);
}

TEST(Compare, says_nan_without_a_sign) {
  for (const double sign : {-1.0, 1.0}) {
    const CheckCase one = compare(row({std::copysign(nan, sign)}), expected({1}), DType::f32, -1);
    EXPECT_EQ(one.detail, "1 of 1 elements are outside the bound; the worst is [0]: nan instead of 1");
  }
}
TEST(Compare, fails_on_the_sign_of_infinity_and_on_an_infinity_on_one_side) {
  EXPECT_EQ(status(row({inf}), expected({-inf})), CheckStatus::failed);
  EXPECT_EQ(status(row({inf}), expected({3e38})), CheckStatus::failed);
  EXPECT_EQ(status(row({3e38}), expected({inf})), CheckStatus::failed);
  EXPECT_EQ(status(row({-inf}), expected({-inf})), CheckStatus::passed);
}

TEST(Compare, fails_on_another_type_or_shape) {
  EXPECT_EQ(status(row({1}, DType::f16), expected({1})), CheckStatus::failed);
  EXPECT_EQ(status(row({1, 1}), expected({1})), CheckStatus::failed);
  EXPECT_EQ(status(array({1, 2}, {1, 1}), expected({1, 1})), CheckStatus::failed);
}

TEST(Compare, judges_each_element_by_its_own_bound) {
  EXPECT_EQ(status(row({1 + 5e-7, 2}), expected({1, 2})), CheckStatus::passed);
  const CheckCase wrong = compare(row({1, 2 + 2e-6}), expected({1, 2}), DType::f32, -1);
  EXPECT_EQ(wrong.status, CheckStatus::failed);
  EXPECT_NE(wrong.detail.find("[1]"), std::string::npos) << wrong.detail;
  EXPECT_NEAR(wrong.max_error, 2e-6, 1e-12);
  EXPECT_EQ(status(row({1e-30}), expected({0}, 0)), CheckStatus::failed);
}

TEST(Compare, leaves_out_elements_to_which_the_text_gives_no_value) {
  std::vector<double> values(100, 1);
  std::fill(values.begin(), values.begin() + 90, nan);
  Bounded wanted = expected(values);
  for (std::size_t i = 0; i < 90; ++i) wanted.undetermined[i] = true, wanted.bound[i] = inf;
  Array actual = row(std::vector<double>(100, 1));
  const CheckCase one = compare(actual, wanted, DType::f32, -1);
  EXPECT_EQ(one.status, CheckStatus::passed);
  EXPECT_EQ(one.elements, 10);
  EXPECT_EQ(one.undetermined, 0);
  actual.data[95] = nan;
  EXPECT_EQ(status(actual, wanted), CheckStatus::failed) << "the others are judged";
  EXPECT_EQ(status(row({5}),
                   [] {
                     Bounded none = expected({nan}, inf);
                     none.undetermined[0] = true;
                     return none;
                   }()),
            CheckStatus::inconclusive);
}

TEST(Compare, is_inconclusive_when_more_than_two_in_a_hundred_are_undetermined) {
  Bounded wanted = expected(std::vector<double>(100, 1));
  Array actual = row(std::vector<double>(100, 1));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(status(actual, wanted), CheckStatus::passed);
    wanted.undetermined[i] = true;
    wanted.bound[i] = inf;
    actual.data[i] = i == 1 ? nan : 77;
  }
  EXPECT_EQ(status(actual, wanted), CheckStatus::inconclusive);
  actual.data[50] = 2;
  EXPECT_EQ(status(actual, wanted), CheckStatus::failed) << "a failure is not hidden by undetermined elements";
}

TEST(Compare, holds_the_mean_square_error_against_the_unfused_program) {
  const Bounded wanted = expected(std::vector<double>(100, 1), 1e-5);
  const Array actual = row(std::vector<double>(100, 1 + 5e-6));
  EXPECT_EQ(status(actual, wanted, 4.5e-6), CheckStatus::passed);
  EXPECT_EQ(status(actual, wanted, 1e-6), CheckStatus::failed);
  EXPECT_NEAR(rms_error(actual, wanted), 5e-6, 1e-12);
}

}  // namespace
}  // namespace fathom::interp
