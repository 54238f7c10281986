// Wide numbers and the generator.
#include "interp/wide.hpp"

#include "interp/philox.hpp"
#include "interp_test.hpp"

namespace fathom::interp {
namespace {

TEST(Wide, quotients_of_huge_exponentials_are_exact_numbers) {
  EXPECT_EQ((exp(Wide(1e5)) / exp(Wide(1e5))).to_double(), 1);
  EXPECT_NEAR((exp(Wide(1e5)) / exp(Wide(1e5 - 1))).to_double(), std::exp(1.0), 1e-9);
  EXPECT_NEAR(log(exp(Wide(-123456.75))).to_double(), -123456.75, 1e-9);
  EXPECT_NEAR(log2(exp2(Wide(-5e6))).to_double(), -5e6, 1e-6);
}

TEST(Wide, agrees_with_double_where_double_can) {
  for (double x = -700; x <= 700; x += 13.37) {
    EXPECT_NEAR(exp(Wide(x)).to_double() / std::exp(x), 1, 4e-16 * std::max(1.0, std::abs(x)));
    EXPECT_EQ((Wide(x) + Wide(0.1)).to_double(), x + 0.1);
    EXPECT_EQ((Wide(x) * Wide(0.1)).to_double(), x * 0.1);
    EXPECT_EQ((Wide(0.1) / Wide(x)).to_double(), 0.1 / x);
    EXPECT_EQ(Wide(x) < Wide(1.0), x < 1);
    EXPECT_NEAR(tanh(Wide(x)).to_double(), std::tanh(x), 1e-15);
    EXPECT_EQ(floor(Wide(x)).to_double(), std::floor(x));
  }
  EXPECT_EQ(pow(Wide(3.0), Wide(4.0)).to_double(), 81);
  EXPECT_EQ(pow(Wide(-2.0), Wide(-3.0)).to_double(), -0.125);
  EXPECT_EQ(sqrt(Wide(1e-310)).to_double(), std::sqrt(1e-310));
}

TEST(Wide, infinities_and_nan_behave_as_in_ieee_754) {
  EXPECT_TRUE((Wide(inf) - Wide(inf)).is_nan());
  EXPECT_TRUE((Wide(0.0) * Wide(inf)).is_nan());
  EXPECT_TRUE((Wide(0.0) / Wide(0.0)).is_nan());
  EXPECT_EQ(exp(Wide(-inf)).to_double(), 0);
  EXPECT_EQ(log(Wide(0.0)).to_double(), -inf);
  EXPECT_TRUE(log(Wide(-1.0)).is_nan());
  EXPECT_EQ((Wide(1.0) / Wide(0.0)).to_double(), inf);
  EXPECT_TRUE(maximum(Wide(nan), Wide(1.0)).is_nan());
  EXPECT_TRUE(Wide(-inf) < exp(Wide(-1e9)));
  EXPECT_FALSE(Wide(nan) < Wide(1.0));
}

TEST(Philox, gives_the_published_vectors) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(philox({0xffffffffU, 0xffffffffU, 0xffffffffU, 0xffffffffU}, {0xffffffffU, 0xffffffffU}),
            (PhiloxCounter{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
            (PhiloxCounter{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

}  // namespace
}  // namespace fathom::interp
