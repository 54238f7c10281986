#include "ir/element_bits.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace fathom;

TEST(ElementBits, every_pattern_of_the_small_floats_comes_back) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const std::uint64_t patterns = std::uint64_t{1} << (8 * size_in_bytes(dtype));
    for (std::uint64_t bits = 0; bits < patterns; ++bits) {
      const double value = from_bits(dtype, bits);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(from_bits(dtype, to_bits(dtype, value)))) << name(dtype) << ' ' << bits;
      } else {
        ASSERT_EQ(to_bits(dtype, value), bits) << name(dtype) << ' ' << value;
        ASSERT_EQ(round_to(dtype, value), value) << name(dtype) << ' ' << bits;
      }
    }
  }
}

TEST(ElementBits, known_patterns) {
  EXPECT_EQ(to_bits(DType::f16, 1.0), 0x3C00U);
  EXPECT_EQ(to_bits(DType::f16, 65504.0), 0x7BFFU);
  EXPECT_EQ(to_bits(DType::bf16, -2.0), 0xC000U);
  EXPECT_EQ(to_bits(DType::f8e4m3, 448.0), 0x7EU);
  EXPECT_EQ(to_bits(DType::f32, 1.0), 0x3F800000U);
  EXPECT_EQ(from_bits(DType::i8, 0xFF), -1.0);
  EXPECT_EQ(from_bits(DType::i32, to_bits(DType::i32, -7)), -7.0);
}
