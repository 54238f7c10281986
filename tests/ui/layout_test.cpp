// Layouts as pictures: what is selected anywhere is shown, a cell says who holds it, mouse and keys reach every cell.
#include "headless.hpp"

namespace fathom::ui::tests {
namespace {

const MirrorItem* in_layout(const std::string& id) { return mirror().find("middle/layout/" + id); }

void open_layout(Explorer& explorer, const std::string& target) {
  explorer.open("attention", target);
  explorer.app.go_to(explorer.app.document.shown()->steps().size() - 1);
  explorer.key(ImGuiKey_6, ImGuiMod_Ctrl);
  explorer.frame();
}

TEST(Layout, is_there_on_targets_with_lanes_only) {
  Explorer explorer;
  explorer.open("attention", "x86-64");
  EXPECT_EQ(mirror().find("middle/layout"), nullptr);
  explorer.key(ImGuiKey_6, ImGuiMod_Ctrl);
  EXPECT_NE(explorer.app.view.tab, Tab::layout);
}

TEST(Layout, of_a_step_above_the_kernel_leads_to_it) {
  Explorer explorer;
  explorer.open("attention", "sm_80");
  explorer.app.go_to(0);
  explorer.key(ImGuiKey_6, ImGuiMod_Ctrl);
  ASSERT_TRUE(explorer.click("middle/layout/to-kernel"));
  EXPECT_NE(in_layout("words"), nullptr);
}

TEST(Layout, shows_what_is_selected_in_another_panel) {
  Explorer explorer;
  open_layout(explorer, "sm_80");
  const std::size_t step = explorer.app.step();
  explorer.app.selected = {"o.sum", step};
  explorer.frame();
  ASSERT_NE(in_layout("value"), nullptr);
  EXPECT_EQ(in_layout("value")->text.rfind("o.sum", 0), 0U) << in_layout("value")->text;
  explorer.app.selected = {"c", step};
  explorer.frame();
  EXPECT_EQ(in_layout("value")->text.rfind("c", 0), 0U) << in_layout("value")->text;
  EXPECT_NE(in_layout("line/label")->text.find("lane/4"), std::string::npos) << in_layout("line/label")->text;
}

TEST(Layout, the_cell_under_the_mouse_says_who_holds_it) {
  Explorer explorer;
  open_layout(explorer, "sm_80");
  explorer.app.selected = {"c", explorer.app.step()};
  explorer.frame();
  const MirrorItem first = *in_layout("cell");
  EXPECT_EQ(first.text, "row 0, column 0: register 0 of lane 0 of warp 0");
  const float width = first.max.x - first.min.x, height = first.max.y - first.min.y;
  // Row 9 has the second row of its atom, 8 * (reg / 2 % 2) + lane / 4; column 2 is of the next lane.
  ImGui::GetIO().AddMousePosEvent(first.min.x + 2.5F * width, first.min.y + 9.5F * height);
  explorer.frame();
  explorer.frame();
  EXPECT_EQ(in_layout("words")->text, "row 9, column 2: register 2 of lane 5 of warp 0");
  EXPECT_EQ(in_layout("cell")->text, in_layout("words")->text);
}

TEST(Layout, arrow_keys_move_the_cell) {
  Explorer explorer;
  open_layout(explorer, "sm_80");
  explorer.app.selected = {"c", explorer.app.step()};
  explorer.frame();
  const std::string step = explorer.app.view.step;
  mirror().reach("middle/layout/canvas");
  explorer.frame();
  explorer.key(ImGuiKey_RightArrow);
  explorer.key(ImGuiKey_DownArrow);
  EXPECT_EQ(in_layout("words")->text, "row 1, column 1: register 1 of lane 4 of warp 0");
  EXPECT_EQ(explorer.app.view.step, step) << "the keys are the picture's while it has the focus";
}

TEST(Layout, a_slot_shows_its_banks) {
  Explorer explorer;
  open_layout(explorer, "sm_90a");
  explorer.app.selected = {"k.t.ring", explorer.app.step()};
  explorer.frame();
  explorer.frame();
  ASSERT_NE(in_layout("passes"), nullptr);
  EXPECT_EQ(in_layout("passes")->text, "Eight rows of a column of chunks: 1 pass through the banks, 8 if the chunks lay as they come.");
  EXPECT_EQ(in_layout("words")->text, "row 0, columns 0 to 7: banks 0 to 3");
}

}  // namespace
}  // namespace fathom::ui::tests
