// Ranges of tiles that masks leave, against counting element by element.
#include <gtest/gtest.h>

#include <string>

#include "loop_texts.hpp"
#include "passes/masks.hpp"

namespace fathom::passes {
namespace {

struct Case {
  const char* condition;  // over i and j, of the text
  bool (*holds)(std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns);
};

std::string text_of(const std::string& condition, std::int64_t rows, std::int64_t columns, std::int64_t row_tile,
                    std::int64_t column_tile) {
  return "dim S = " + std::to_string(rows) + ", T = " + std::to_string(columns) + "\n" +
         "loops f(x: f32[S, T]) -> (m: f32[S])\n{\n  parallel i in 0:S by " + std::to_string(row_tile) + " {\n    fold j in 0:T by " +
         std::to_string(column_tile) + " {\n      c[i,j] = where(" + condition +
         ", x[i,j], -inf)\n      m[i] = max[j](c[i,j])\n    }\n  }\n}\n";
}

class Masks : public testing::TestWithParam<Case> {};

/// Every tile: in no range iff nothing of it counts, tagged open only if all of it counts and it is full.
void expect_sound_and_tight(const Case& mask, std::int64_t rows, std::int64_t columns, std::int64_t row_tile, std::int64_t column_tile) {
  const loop::Program program = test::parsed_loop(text_of(mask.condition, rows, columns, row_tile, column_tile));
  const Bounding bounding = bounds_by_mask(program, nests_of(program), 0);
  ASSERT_FALSE(bounding.ranges.empty());
  const std::int64_t trips = (columns + column_tile - 1) / column_tile;
  for (std::int64_t first_row = 0; first_row < rows; first_row += row_tile) {
    DimValues values = math::default_dims(program.math);
    values[Symbol("i")] = first_row;
    std::int64_t next = 0;
    std::map<std::int64_t, std::string> tags;
    for (const loop::TileRange& range : bounding.ranges) {
      const auto lo = evaluate_integer(range.lo, values), hi = evaluate_integer(range.hi, values);
      ASSERT_TRUE(lo && hi);
      for (std::int64_t trip = *lo; trip < *hi; ++trip) {
        EXPECT_GE(trip, next);
        next = trip + 1;
        tags[trip] = range.tag.text();
      }
    }
    EXPECT_LE(next, trips);
    for (std::int64_t trip = 0; trip < trips; ++trip) {
      bool any = false, all = (trip + 1) * column_tile <= columns;
      for (std::int64_t i = first_row; i < std::min(rows, first_row + row_tile); ++i) {
        for (std::int64_t j = trip * column_tile; j < std::min(columns, (trip + 1) * column_tile); ++j) {
          const bool counts = mask.holds(i, j, rows, columns);
          any = any || counts;
          all = all && counts;
        }
      }
      const std::string where = std::string(mask.condition) + " rows " + std::to_string(first_row) + " trip " + std::to_string(trip);
      if (any) {
        EXPECT_TRUE(tags.contains(trip)) << where;
      }
      if (tags.contains(trip)) {
        EXPECT_EQ(tags[trip] == "open", all) << where;
      }
    }
  }
}

TEST_P(Masks, ranges_hold_what_counts_and_open_tiles_need_no_test) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{8, 8}, {7, 9}, {9, 5}, {1, 6}, {5, 1}, {16, 4}}) {
    for (const auto& [row_tile, column_tile] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {3, 2}, {4, 4}})
      expect_sound_and_tight(GetParam(), rows, columns, row_tile, column_tile);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Comparisons, Masks,
    testing::Values(Case{"j <= i", [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j <= i; }},
                    Case{"j <= i + (T - S)",
                         [](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) { return j <= i + (columns - rows); }},
                    Case{"j < i", [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j < i; }},
                    Case{"j >= i", [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j >= i; }},
                    Case{"i - j < 3", [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return i - j < 3; }},
                    Case{"2 * j <= i", [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return 2 * j <= i; }},
                    Case{"3 * j >= 2 * i", [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return 3 * j >= 2 * i; }},
                    Case{"j < 4", [](std::int64_t, std::int64_t j, std::int64_t, std::int64_t) { return j < 4; }},
                    Case{"j <= i and i - j < 3",
                         [](std::int64_t i, std::int64_t j, std::int64_t, std::int64_t) { return j <= i && i - j < 3; }}));

Bounding bounding_of(const std::string& text, std::size_t nest = 0) {
  const loop::Program program = test::parsed_loop(text);
  return bounds_by_mask(program, nests_of(program), nest);
}

TEST(Mask, full_tiles_without_a_mask_have_no_ranges) {
  EXPECT_TRUE(
      bounding_of("dim T = 8\nloops f(x: f32[T]) -> (o: f32)\n{\n  fold j in 0:T by 4 {\n    o = sum[j](x[j])\n  }\n}\n").ranges.empty());
}

TEST(Mask, a_run_time_extent_may_be_ragged) {
  const Bounding bounding =
      bounding_of("dim T = runtime 8\nloops f(x: f32[T]) -> (o: f32)\n{\n  fold j in 0:T by 4 {\n    o = sum[j](x[j])\n  }\n}\n");
  ASSERT_EQ(bounding.ranges.size(), 2U);
  EXPECT_EQ(bounding.ranges[1].tag.text(), "mixed");
}

TEST(Mask, a_value_that_is_no_identity_bounds_nothing) {
  EXPECT_TRUE(
      bounding_of("dim S = 8, T = 8\nloops f(x: f32[S, T]) -> (o: f32[S])\n{\n  parallel i in 0:S by 4 {\n    fold j in 0:T by 4 {\n"
                  "      o[i] = sum[j](where(j <= i, x[i,j], 1))\n    }\n  }\n}\n")
          .ranges.empty());
}

TEST(Mask, one_reduction_of_the_loop_without_identity_there_is_enough_to_keep_all_tiles) {
  EXPECT_TRUE(
      bounding_of("dim S = 8, T = 8\nloops f(x: f32[S, T]) -> (o: f32[S])\n{\n  parallel i in 0:S by 4 {\n    fold j in 0:T by 4 {\n"
                  "      a[i] = sum[j](where(j <= i, x[i,j], 0))\n      c[i] = sum[j](x[i,j])\n    }\n    o[i] = a[i] / c[i]\n  }\n}\n")
          .ranges.empty());
}

TEST(Mask, a_masked_score_stays_masked_through_exp_and_a_product) {
  const Bounding bounding = bounding_of(
      "dim S = 8, T = 8\nloops f(x: f32[S, T], v: f32[T], g: f32[S]) -> (o: f32[S])\n{\n  parallel i in 0:S by 4 {\n    fold j in 0:T by 4 "
      "{\n"
      "      c[i,j] = where(j <= i, x[i,j], -inf)\n      e[i,j] = exp(c[i,j] - g[i])\n      o[i] = sum[j](e[i,j] * v[j])\n    }\n  }\n}\n");
  EXPECT_EQ(bounding.ranges.size(), 2U);
  EXPECT_EQ(bounding.conditions.size(), 1U);
}

TEST(Mask, a_mask_of_data_bounds_nothing) {
  EXPECT_TRUE(bounding_of("dim T = 8\nloops f(x: f32[T], keep: bool[T]) -> (o: f32)\n{\n  fold j in 0:T by 4 {\n"
                          "    o = sum[j](where(keep[j], x[j], 0))\n  }\n}\n")
                  .ranges.empty());
}

TEST(Mask, a_masked_result_is_computed_everywhere) {
  const Bounding bounding = bounding_of(
      "dim S = 8, T = 8\nloops f(x: f32[S, T]) -> (c: f32[S, T], m: f32[S])\n{\n  parallel i in 0:S by 4 {\n    fold j in 0:T by 4 {\n"
      "      c[i,j] = where(j <= i, x[i,j], -inf)\n      m[i] = max[j](c[i,j])\n    }\n  }\n}\n");
  EXPECT_TRUE(bounding.ranges.empty());
  ASSERT_TRUE(bounding.refused);
  EXPECT_NE(bounding.refused->reason.find("c is a result"), std::string::npos);
}

}  // namespace
}  // namespace fathom::passes
