// Layouts of AMD's atoms against the ISA guides, written here by their own formulas: an atom's b is the instruction's A and its a the
// instruction's B, so that rows of a result of the instruction are our columns.
#include <gtest/gtest.h>

#include "layout/layout.hpp"

namespace fathom::waves {
namespace {

using layout::Conversion;
using layout::Layout;
using layout::Places;
using layout::Product;

const Symbol rows(std::string_view("r")), columns(std::string_view("c")), steps(std::string_view("s")), other(std::string_view("d"));

MatrixAtom atom_named(const char* target, const std::string& name) {
  const Target its_target = *target_named(target);
  for (const MatrixAtom& atom : its_target.atoms)
    if (atom.name.text() == name) return atom;
  ADD_FAILURE() << "no atom " << name;
  return {};
}

/// Calls `visit` with the coordinates at every register of every lane.
template <class Visit>
void each_place(const Layout& layout, Symbol first, Symbol second, std::int64_t lanes, const Visit& visit) {
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t reg = 0; reg < layout.registers(); ++reg)
      visit(lane, reg, layout.coordinate(first, reg, lane, 0), layout.coordinate(second, reg, lane, 0));
}

const Product one{{{rows, 16}}, {{columns, 16}}, {{steps, 16}}};

TEST(Waves, fragments_of_mfma_are_those_of_the_guide) {
  for (const char* target : {"gfx90a", "gfx942"}) {
    for (const char* type : {"bf16", "f16", "f32"}) {
      const MatrixAtom atom = atom_named(target, std::string("mfma_m16n16k16_") + type);
      const Places places{64, 1};
      const auto a = layout::repeated(atom.a_fragment, atom, one, places), b = layout::repeated(atom.b_fragment, atom, one, places),
                 acc = layout::repeated(atom.accumulator_fragment, atom, one, places);
      ASSERT_TRUE(a && b && acc);
      EXPECT_EQ(atom.issuing_lanes, 64);
      // Lane l has column l % 16 of the instruction's B and row l % 16 of its A, both at steps 4 (l / 16) + i; of f32 each i is an
      // instruction by itself, whose step is l / 16: which of the sixteen that is does not matter as long as A and B agree.
      each_place(*a, rows, steps, 64, [](std::int64_t lane, std::int64_t i, std::int64_t row, std::int64_t step) {
        EXPECT_EQ(row, lane % 16);
        EXPECT_EQ(step, 4 * (lane / 16) + i);
      });
      each_place(*b, columns, steps, 64, [](std::int64_t lane, std::int64_t i, std::int64_t column, std::int64_t step) {
        EXPECT_EQ(column, lane % 16);
        EXPECT_EQ(step, 4 * (lane / 16) + i);
      });
      // Register v of the result: row 4 (l / 16) + v of the instruction, column l % 16.
      each_place(*acc, rows, columns, 64, [](std::int64_t lane, std::int64_t v, std::int64_t row, std::int64_t column) {
        EXPECT_EQ(row, lane % 16);
        EXPECT_EQ(column, 4 * (lane / 16) + v);
      });
    }
  }
}

TEST(Waves, fragments_of_wmma_are_those_of_the_guide) {
  for (const char* type : {"bf16", "f16"}) {
    const MatrixAtom atom = atom_named("gfx1100", std::string("wmma_m16n16k16_") + type);
    const Places places{32, 1};
    const auto a = layout::repeated(atom.a_fragment, atom, one, places), b = layout::repeated(atom.b_fragment, atom, one, places),
               acc = layout::repeated(atom.accumulator_fragment, atom, one, places);
    ASSERT_TRUE(a && b && acc);
    EXPECT_EQ(atom.issuing_lanes, 32);
    each_place(*a, rows, steps, 32, [](std::int64_t lane, std::int64_t i, std::int64_t row, std::int64_t step) {
      EXPECT_EQ(row, lane % 16) << "both halves of the wave have the same";
      EXPECT_EQ(step, i);
    });
    // Row m of the instruction's A is the column that its row m of the result is.
    const auto column_of = [](std::int64_t machine_row) { return machine_row % 2 * 8 + machine_row / 2; };
    each_place(*b, columns, steps, 32, [&](std::int64_t lane, std::int64_t i, std::int64_t column, std::int64_t step) {
      EXPECT_EQ(column, column_of(lane % 16));
      EXPECT_EQ(step, i);
    });
    // Register v of the result: row 2 v + l / 16 of the instruction, column l % 16.
    each_place(*acc, rows, columns, 32, [&](std::int64_t lane, std::int64_t v, std::int64_t row, std::int64_t column) {
      EXPECT_EQ(row, lane % 16);
      EXPECT_EQ(column, column_of(2 * v + lane / 16));
    });
  }
}

TEST(Waves, an_accumulator_lies_as_the_next_operand_does_or_needs_the_other_half) {
  const Product scores{{{rows, 64}}, {{columns, 32}}, {{steps, 128}}}, second{{{rows, 64}}, {{other, 128}}, {{columns, 32}}};
  const std::tuple<const char*, const char*, Conversion> cases[] = {{"gfx90a", "mfma_m16n16k16_f16", Conversion::none},
                                                                    {"gfx942", "mfma_m16n16k16_f32", Conversion::none},
                                                                    {"gfx1100", "wmma_m16n16k16_bf16", Conversion::shuffle}};
  for (const auto& [target, name, expected] : cases) {
    const MatrixAtom atom = atom_named(target, name);
    const Places places{atom.issuing_lanes, 4};
    const auto p = layout::repeated(atom.accumulator_fragment, atom, scores, places),
               a = layout::repeated(atom.a_fragment, atom, second, places);
    ASSERT_TRUE(p && a) << (p ? a.error().reason : p.error().reason);
    EXPECT_EQ(layout::conversion(*p, *a, places), expected) << target << ": " << layout::print(*p, places.lanes);
  }
}

}  // namespace
}  // namespace fathom::waves
