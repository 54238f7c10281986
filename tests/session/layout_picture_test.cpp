// Pictures of layouts: every cell against the layout itself, words, moves and the banks of slots.
#include "session/layout_picture.hpp"

#include "lang/lang.hpp"
#include "layout/assign.hpp"
#include "session_test.hpp"

namespace fathom::session_tests {
namespace {

kernel::Module text(const std::string& name) {
  auto module = lang::parse_kernel(test::read_file(test::in_project("tests/kernel/texts/" + name + ".kernel")));
  if (module) return std::move(*module);
  ADD_FAILURE() << name;
  return {};
}

session::LayoutPicture picture_of(const kernel::Module& module, const std::string& target, const std::string& value, std::size_t role = 0) {
  auto made = session::layout_picture(module, *target_named(target), {0, role, value});
  if (made) return std::move(*made);
  ADD_FAILURE() << value << ": " << made.error().reason;
  return {};
}

TEST(LayoutPicture, says_who_holds_an_element_of_an_accumulator) {
  const kernel::Module module = text("attention_sm90a");
  const session::LayoutPicture s = picture_of(module, "sm_90a", "s", 1);
  EXPECT_EQ(s.role, "consumer");
  EXPECT_EQ(s.width, 128);
  EXPECT_EQ(s.height, 64);
  EXPECT_EQ(s.warps, 4);
  EXPECT_EQ(s.registers, 64);
  // Row 3 is lane / 4 = 3; column 17 = 8 * 2 + 1: n = 2, y = 0, e = 1.
  EXPECT_EQ(session::words_of(s, 3, 17), "row 3, column 17: register 9 of lane 12 of warp 0");
  EXPECT_EQ(session::words_of(s, 63, 127), "row 63, column 127: register 63 of lane 31 of warp 3");
  EXPECT_EQ(s.line, "e = reg%2, n = reg/4, u = 8*(reg/2%2) + lane/4, w = warp, y = lane%4");
}

TEST(LayoutPicture, each_register_of_each_lane_holds_one_element_of_an_accumulator) {
  const session::LayoutPicture s = picture_of(text("attention_sm80"), "sm_80", "s");
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> seen;
  for (std::size_t cell = 0; cell < s.cells.size(); ++cell) {
    EXPECT_EQ(s.holders[cell], 1);
    seen.emplace(s.cells[cell].reg, s.cells[cell].lane, s.cells[cell].warp);
  }
  EXPECT_EQ(seen.size(), s.cells.size());
  EXPECT_EQ(static_cast<std::int64_t>(seen.size()), s.registers * s.lanes * s.warps);
}

TEST(LayoutPicture, a_state_of_a_row_is_held_by_the_four_lanes_of_the_row) {
  const session::LayoutPicture m = picture_of(text("attention_sm80"), "sm_80", "m");
  EXPECT_EQ(m.columns, "");
  EXPECT_EQ(m.width, 1);
  for (const std::int64_t holders : m.holders) EXPECT_EQ(holders, 4);
  EXPECT_EQ(session::words_of(m, 8, 0), "row 8: register 1 of lane 0 of warp 0, and 3 other lanes hold the same");
}

TEST(LayoutPicture, values_that_move_say_how) {
  const kernel::Module module = text("decode_last_arriver");
  const Target target = *target_named("sm_90a");
  const session::LayoutPicture pb = picture_of(module, "sm_90a", "pb");
  ASSERT_FALSE(pb.moves.empty()) << "the operand of the second product lies in other lanes than the scores";
  EXPECT_EQ(pb.moves[0].into, "pb");
  EXPECT_EQ(pb.moves[0].how, layout::Conversion::shuffle);
  EXPECT_TRUE(picture_of(text("attention_sm80"), "sm_80", "pb").moves.empty());
  EXPECT_FALSE(session::layout_picture(module, target, {0, 0, "nothing"}));
}

TEST(LayoutPicture, every_listed_value_of_every_text_has_a_picture_without_holes) {
  for (const auto& [name, target] : {std::pair("attention_sm80", "sm_80"), std::pair("attention_sm90a", "sm_90a"),
                                     std::pair("decode_last_arriver", "sm_90a"), std::pair("layernorm", "sm_80")}) {
    const kernel::Module module = text(name);
    const auto values = session::values_with_layout(module, *target_named(target));
    EXPECT_GE(values.size(), 3U) << name;
    for (const session::TileValue& each : values) {
      const auto picture = session::layout_picture(module, *target_named(target), each);
      ASSERT_TRUE(picture) << name << " " << each.name;
      for (const session::LayoutPlace& place : picture->cells) EXPECT_GE(place.reg, 0) << name << " " << each.name;
    }
  }
}

TEST(SlotPicture, eight_rows_of_a_column_of_chunks_lie_in_different_banks) {
  const auto slots = session::slots_in_banks(text("attention_sm90a"), *target_named("sm_90a"));
  ASSERT_FALSE(slots.empty());
  for (const session::SlotPicture& slot : slots) {
    EXPECT_TRUE(slot.panels) << slot.name;
    EXPECT_EQ(slot.passes, 1) << slot.name;
    EXPECT_EQ(slot.passes_as_they_come, 8) << slot.name;
    ASSERT_EQ(slot.lines(), 8);
    for (std::int64_t chunk = 0; chunk < 8; ++chunk) {
      std::set<std::size_t> places;
      for (std::size_t cell = 0; cell < slot.cells.size(); ++cell)
        if (slot.cells[cell].number == chunk) places.insert(cell % 8);
      EXPECT_EQ(places.size(), 8U) << "chunk " << chunk;
    }
  }
  EXPECT_EQ(session::words_of(slots[0], 3 * 8 + 6), "row 3, columns 40 to 47: banks 24 to 27");
}

TEST(SlotPicture, every_chunk_of_the_rows_is_somewhere_once) {
  for (const session::SlotPicture& slot : session::slots_in_banks(text("attention_sm80"), *target_named("sm_80"))) {
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (const auto& cell : slot.cells) seen.emplace(cell.row, cell.number);
    EXPECT_EQ(seen.size(), slot.cells.size()) << slot.name;
    EXPECT_LE(slot.passes, slot.passes_as_they_come);
  }
}

}  // namespace
}  // namespace fathom::session_tests
