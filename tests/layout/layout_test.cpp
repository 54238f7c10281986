// Layouts against the fragments of the instruction set's manual, written here by their own formulas; conversions, pictures, banks.
#include "layout/layout.hpp"

#include <gtest/gtest.h>

#include <set>

namespace fathom {
namespace {

using layout::Conversion;
using layout::Layout;
using layout::Part;
using layout::Places;
using layout::Product;

Symbol sym(const char* text) { return Symbol(std::string_view(text)); }

MatrixAtom atom_named(const char* target, const std::string& name) {
  const Target its_target = *target_named(target);
  for (const MatrixAtom& atom : its_target.atoms)
    if (atom.name.text() == name) return atom;
  ADD_FAILURE() << "no atom " << name;
  return {};
}

/// Rows and columns of 8 warps of 16 rows, keys of `keys`, a contracted axis of 128.
Product scores(std::int64_t warps, std::int64_t keys) {
  return {{{sym("w"), warps}, {sym("u"), 16}}, {{sym("n"), keys / 8}, {sym("y"), 4}, {sym("e"), 2}}, {{sym("d"), 128}}};
}

struct Place {
  std::int64_t reg, lane, warp;
};

template <class Visit>
void each_place(const Layout& layout, const Places& places, const Visit& visit) {
  for (std::int64_t warp = 0; warp < places.warps; ++warp)
    for (std::int64_t lane = 0; lane < places.lanes; ++lane)
      for (std::int64_t reg = 0; reg < layout.registers(); ++reg) visit(Place{reg, lane, warp});
}

TEST(Layout, the_accumulator_of_mma_sync_is_that_of_the_manual) {
  const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_bf16");
  const Places places{32, 8};
  const auto acc = layout::repeated(atom.accumulator_fragment, atom, scores(8, 64), places);
  ASSERT_TRUE(acc) << acc.error().reason;
  EXPECT_EQ(acc->registers(), 32);
  each_place(*acc, places, [&](const Place& p) {
    const std::int64_t tile = p.reg / 4, c = p.reg % 4;  // c0 … c3 of the n-th tile of 8 columns
    const std::int64_t row = 16 * p.warp + p.lane / 4 + (c >= 2 ? 8 : 0), column = 8 * tile + p.lane % 4 * 2 + c % 2;
    EXPECT_EQ(acc->coordinate(sym("w"), p.reg, p.lane, p.warp) * 16 + acc->coordinate(sym("u"), p.reg, p.lane, p.warp), row);
    EXPECT_EQ(acc->coordinate(sym("n"), p.reg, p.lane, p.warp) * 8 + acc->coordinate(sym("y"), p.reg, p.lane, p.warp) * 2 +
                  acc->coordinate(sym("e"), p.reg, p.lane, p.warp),
              column);
  });
}

TEST(Layout, operands_of_mma_sync_are_those_of_the_manual) {
  const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_bf16");
  const Places places{32, 1};
  const Product one{{{sym("r"), 16}}, {{sym("j"), 8}}, {{sym("d"), 16}}};
  const auto a = layout::repeated(atom.a_fragment, atom, one, places), b = layout::repeated(atom.b_fragment, atom, one, places);
  ASSERT_TRUE(a && b);
  each_place(*a, places, [&](const Place& p) {  // a0 … a7 of the manual
    const bool lower = (p.reg >= 2 && p.reg < 4) || p.reg >= 6;
    EXPECT_EQ(a->coordinate(sym("r"), p.reg, p.lane, 0), p.lane / 4 + (lower ? 8 : 0));
    EXPECT_EQ(a->coordinate(sym("d"), p.reg, p.lane, 0), p.lane % 4 * 2 + p.reg % 2 + (p.reg >= 4 ? 8 : 0));
  });
  each_place(*b, places, [&](const Place& p) {
    EXPECT_EQ(b->coordinate(sym("d"), p.reg, p.lane, 0), p.lane % 4 * 2 + p.reg % 2 + (p.reg >= 2 ? 8 : 0));
    EXPECT_EQ(b->coordinate(sym("j"), p.reg, p.lane, 0), p.lane / 4);
  });
}

TEST(Layout, the_accumulator_of_wgmma_is_that_of_the_manual) {
  for (const int n : {64, 128, 256}) {
    const MatrixAtom atom = atom_named("sm_90a", "wgmma_m64n" + std::to_string(n) + "k16_bf16_rs");
    const Places places{32, 4};
    const auto acc = layout::repeated(atom.accumulator_fragment, atom, scores(4, n), places);
    ASSERT_TRUE(acc) << acc.error().reason;
    EXPECT_EQ(acc->registers(), n / 2);
    each_place(*acc, places, [&](const Place& p) {
      EXPECT_EQ(acc->coordinate(sym("w"), p.reg, p.lane, p.warp) * 16 + acc->coordinate(sym("u"), p.reg, p.lane, p.warp),
                16 * p.warp + p.lane / 4 + 8 * (p.reg / 2 % 2));
      EXPECT_EQ(acc->coordinate(sym("n"), p.reg, p.lane, p.warp) * 8 + acc->coordinate(sym("y"), p.reg, p.lane, p.warp) * 2 +
                    acc->coordinate(sym("e"), p.reg, p.lane, p.warp),
                8 * (p.reg / 4) + p.lane % 4 * 2 + p.reg % 2);
    });
  }
}

TEST(Layout, every_element_of_a_tile_is_held_once_where_nothing_is_broadcast) {
  for (const std::int64_t keys : {8, 80, 96, 176}) {  // whole multiples of the atom that are no powers of two
    const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_f16");
    const Places places{32, 4};
    const auto acc = layout::repeated(atom.accumulator_fragment, atom, scores(4, keys), places);
    ASSERT_TRUE(acc) << keys;
    std::multiset<std::vector<std::int64_t>> seen;
    each_place(*acc, places, [&](const Place& p) {
      std::vector<std::int64_t> element;
      for (const char* part : {"w", "u", "n", "y", "e"}) element.push_back(acc->coordinate(sym(part), p.reg, p.lane, p.warp));
      seen.insert(element);
    });
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), 64 * keys);
    EXPECT_EQ(std::set<std::vector<std::int64_t>>(seen.begin(), seen.end()).size(), seen.size());
  }
}

TEST(Layout, probabilities_stay_where_the_scores_were) {
  const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_bf16");
  const Places places{32, 8};
  const auto s = layout::repeated(atom.accumulator_fragment, atom, scores(8, 64), places);
  const Product second{scores(8, 64).m, {{sym("d"), 128}}, scores(8, 64).n};
  const auto p = layout::repeated(atom.a_fragment, atom, second, places);
  ASSERT_TRUE(s && p) << (s ? p.error().reason : s.error().reason);
  EXPECT_EQ(layout::conversion(*s, *p, places), Conversion::none) << layout::print(*s) << "\n" << layout::print(*p);
}

TEST(Layout, what_is_transposed_needs_lanes_to_exchange) {
  // Keys on the rows, heads on the columns: the probabilities are an accumulator, and wanted as the right operand.
  const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_bf16");
  const Places places{32, 1};
  const auto st = layout::repeated(atom.accumulator_fragment, atom, {{{sym("j"), 16}}, {{sym("h"), 8}}, {{sym("d"), 128}}}, places);
  const auto pb = layout::repeated(atom.b_fragment, atom, {{{sym("d"), 128}}, {{sym("h"), 8}}, {{sym("j"), 16}}}, places);
  ASSERT_TRUE(st && pb);
  EXPECT_EQ(layout::conversion(*st, *pb, places), Conversion::shuffle);
  EXPECT_EQ(layout::conversion(*pb, *st, places), Conversion::shuffle);
}

TEST(Layout, conversions_have_the_class_that_they_cost) {
  const Places places{4, 2};
  const auto digit = [](HierarchyLevel level, std::int64_t step, std::int64_t extent, const char* part, std::int64_t stride) {
    return layout::Digit{level, step, extent, sym(part), stride};
  };
  const Layout rows({digit(HierarchyLevel::registers, 1, 2, "a", 1), digit(HierarchyLevel::registers, 1, 4, "b", 1),
                     digit(HierarchyLevel::lane, 1, 4, "c", 1)});
  const Layout renamed({digit(HierarchyLevel::registers, 1, 4, "b", 1), digit(HierarchyLevel::registers, 1, 2, "a", 1),
                        digit(HierarchyLevel::lane, 1, 4, "c", 1)});
  const Layout moved({digit(HierarchyLevel::registers, 1, 2, "a", 1), digit(HierarchyLevel::registers, 1, 4, "c", 1),
                      digit(HierarchyLevel::lane, 1, 4, "b", 1)});
  const Layout warps({digit(HierarchyLevel::registers, 1, 2, "a", 1), digit(HierarchyLevel::warp, 1, 2, "b", 2),
                      digit(HierarchyLevel::registers, 1, 2, "b", 1), digit(HierarchyLevel::lane, 1, 4, "c", 1)});
  const Layout less({digit(HierarchyLevel::registers, 1, 4, "b", 1), digit(HierarchyLevel::lane, 1, 4, "c", 1)});
  EXPECT_EQ(layout::conversion(rows, rows, places), Conversion::none);
  EXPECT_EQ(layout::conversion(rows, renamed, places), Conversion::rename);
  EXPECT_EQ(layout::conversion(rows, moved, places), Conversion::shuffle);
  EXPECT_EQ(layout::conversion(warps, rows, places), Conversion::exchange);
  EXPECT_EQ(layout::conversion(rows, warps, places), Conversion::permute) << "every warp has all and takes its own part";
  EXPECT_EQ(layout::conversion(less, rows, places), Conversion::impossible);
  EXPECT_EQ(layout::conversion(rows.over({sym("b"), sym("c")}), less, places), Conversion::none);
  EXPECT_TRUE(rows.agrees_with(renamed));
  EXPECT_FALSE(rows.agrees_with(moved));
}

TEST(Layout, rows_are_spread_over_the_threads_by_the_parts_that_are_theirs) {
  const Layout row = layout::spread({{{sym("v"), 2}, {sym("w"), 8}, {sym("t"), 32}, {sym("e"), 8}}}, {32, 8});
  EXPECT_EQ(row.registers(), 16);
  EXPECT_EQ(layout::print(row), "e = reg%8, t = lane, v = reg/8, w = warp");
}

TEST(Layout, any_tile_is_spread_somehow) {
  EXPECT_EQ(layout::print(layout::spread({{{sym("j"), 256}}}, {32, 8})), "j = 32*warp + lane");
  EXPECT_EQ(layout::print(layout::spread({{{sym("d"), 128}}, {{sym("h"), 8}}}, {32, 1})), "d = 4*reg + lane/8, h = lane%8");
  EXPECT_EQ(layout::print(layout::spread({{{sym("j"), 12}}}, {32, 2})), "j = 4*reg + lane%4")
      << "three registers; the other lanes hold the same";
  for (const std::int64_t extent : {1, 3, 7, 12, 80, 176}) {
    const Layout some = layout::spread({{{sym("i"), 5}}, {{sym("j"), extent}}}, {32, 4});
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    each_place(some, {32, 4}, [&](const Place& p) {
      seen.emplace(some.coordinate(sym("i"), p.reg, p.lane, p.warp), some.coordinate(sym("j"), p.reg, p.lane, p.warp));
    });
    EXPECT_EQ(static_cast<std::int64_t>(seen.size()), 5 * extent);
  }
}

TEST(Layout, what_does_not_fit_is_refused_with_its_reason) {
  const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_bf16");
  const auto ragged = layout::repeated(atom.accumulator_fragment, atom, {{{sym("r"), 20}}, {{sym("j"), 8}}, {{sym("d"), 16}}}, {32, 1});
  ASSERT_FALSE(ragged);
  EXPECT_NE(ragged.error().reason.find("tiles of 16"), std::string::npos) << ragged.error().reason;
  const auto split = layout::repeated(atom.accumulator_fragment, atom,
                                      {{{sym("r"), 16}}, {{sym("n"), 4}, {sym("y"), 3}, {sym("e"), 2}}, {{sym("d"), 16}}}, {32, 1});
  ASSERT_FALSE(split);
  EXPECT_NE(split.error().reason.find("do not fall onto the parts"), std::string::npos) << split.error().reason;
  EXPECT_FALSE(layout::repeated(atom.accumulator_fragment, atom, {{{sym("r"), 16}}, {{sym("j"), 8}}, {{sym("d"), 16}}}, {32, 4}));
}

TEST(Layout, texts_and_pictures_say_who_holds_what) {
  const MatrixAtom atom = atom_named("sm_80", "mma_m16n8k16_bf16");
  const Product one{{{sym("r"), 16}}, {{sym("j"), 8}}, {{sym("d"), 16}}};
  const auto acc = layout::repeated(atom.accumulator_fragment, atom, one, {32, 1});
  ASSERT_TRUE(acc);
  EXPECT_EQ(layout::print(*acc), "j = 2*(lane%4) + reg%2, r = 8*(reg/2) + lane/4");
  const std::string text = layout::picture(*acc, one.m, one.n, {32, 1});
  EXPECT_EQ(text.substr(0, text.find('\n')), " 0:0  0:1  1:0  1:1  2:0  2:1  3:0  3:1");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 16);
}

TEST(SharedMemory, eight_rows_of_a_column_of_chunks_lie_in_different_banks) {
  for (const std::int64_t bytes : {32, 64, 128, 256, 512}) {
    const layout::Swizzle swizzle = layout::swizzle_of(bytes);
    const auto passes = [&](bool swizzled, std::int64_t column) {  // an ldmatrix reads eight rows, 16 bytes each
      std::vector<std::int64_t> addresses;
      for (std::int64_t row = 0; row < 8; ++row) addresses.push_back(row * bytes + 16 * (swizzled ? swizzle.chunk(row, column) : column));
      int most = 0;  // eight lanes are one pass
      std::map<std::int64_t, int> banks;
      for (const std::int64_t a : addresses)
        for (std::int64_t b = a; b < a + 16; b += 4) most = std::max(most, ++banks[b / 4 % 32]);
      return most;
    };
    for (std::int64_t column = 0; column < bytes / 16; ++column) EXPECT_EQ(passes(true, column), 1) << bytes << " " << column;
    EXPECT_EQ(passes(false, 0), bytes >= 128 ? 8 : static_cast<int>(bytes / 16)) << bytes;
    std::set<std::int64_t> places;  // nothing leaves its row, nothing lies on anything else
    for (std::int64_t row = 0; row < 16; ++row)
      for (std::int64_t column = 0; column < bytes / 16; ++column) {
        EXPECT_LT(swizzle.chunk(row, column), bytes / 16);
        places.insert(row * bytes + 16 * swizzle.chunk(row, column));
      }
    EXPECT_EQ(static_cast<std::int64_t>(places.size()), 16 * (bytes / 16));
  }
  EXPECT_EQ(layout::swizzle_of(176).period, 1) << "11 chunks: an exchange would leave the row";
}

TEST(SharedMemory, conflicts_are_counted_by_bank) {
  std::vector<std::int64_t> next, column, same;
  for (std::int64_t lane = 0; lane < 32; ++lane) {
    next.push_back(4 * lane);
    column.push_back(128 * lane);
    same.push_back(64);
  }
  EXPECT_EQ(layout::bank_passes(next, 4), 1);
  EXPECT_EQ(layout::bank_passes(column, 4), 32);
  EXPECT_EQ(layout::bank_passes(same, 4), 1) << "one word is broadcast";
  std::vector<std::int64_t> wide;
  for (std::int64_t lane = 0; lane < 32; ++lane) wide.push_back(16 * lane);
  EXPECT_EQ(layout::bank_passes(wide, 16), 1) << "a quarter of the warp at a time";
}

}  // namespace
}  // namespace fathom
