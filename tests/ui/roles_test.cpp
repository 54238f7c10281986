// Roles over time: the lanes of a run are there, a bar selects its statement everywhere, the clock goes by button and key.
#include "headless.hpp"

namespace fathom::ui::tests {
namespace {

const MirrorItem* in_roles(const std::string& id) { return mirror().find("middle/roles/" + id); }

void open_roles(Explorer& explorer, const std::string& target = "sm_90a") {
  explorer.open("attention", target);
  explorer.app.go_to(explorer.app.document.shown()->steps().size() - 1);
  explorer.key(ImGuiKey_7, ImGuiMod_Ctrl);
  constexpr int most_waits = 6000;
  for (int i = 0; i < most_waits && explorer.app.roles.is_busy(); ++i) {
    explorer.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  explorer.frame();
  explorer.frame();
}

const MirrorItem* bar_with(const std::string& words) {
  for (const MirrorItem& item : mirror().items())
    if (item.kind == "bar" && item.text.find(words) != std::string::npos) return &item;
  return nullptr;
}

TEST(Roles, every_group_has_a_lane_and_every_channel_a_strip) {
  Explorer explorer(1920, 1080);
  open_roles(explorer);
  for (const char* lane : {"producer, round", "consumer 0, round", "consumer 1, round"}) EXPECT_NE(bar_with(lane), nullptr) << lane;
  EXPECT_NE(bar_with("waits in front of"), nullptr);
  EXPECT_NE(in_roles("level/k.t.ring"), nullptr);
  EXPECT_NE(in_roles("level/q.t.ring[1]"), nullptr);
  EXPECT_NE(in_roles("what/label")->text.find("S = 384"), std::string::npos) << in_roles("what/label")->text;
}

TEST(Roles, a_click_on_a_bar_selects_its_statement_in_all_panels) {
  Explorer explorer(1920, 1080);
  open_roles(explorer);
  const MirrorItem* found = bar_with("copy k.t.fill");
  ASSERT_NE(found, nullptr);
  explorer.click_at({(found->min.x + found->max.x) / 2, (found->min.y + found->max.y) / 2});
  EXPECT_EQ(explorer.app.selected, (Selection{"k.t.fill", explorer.app.step()}));
  EXPECT_TRUE(bar_with("copy k.t.fill")->selected);
  explorer.key(ImGuiKey_2, ImGuiMod_Ctrl);
  explorer.app.view.whole_text = true;
  explorer.frame();
  explorer.frame();
  bool lit = false;
  for (const MirrorItem& item : mirror().items())
    lit = lit || (item.id.rfind("middle/ir/", 0) == 0 && item.kind == "word" && item.selected);
  EXPECT_TRUE(lit || explorer.app.is_selected(explorer.app.step(), "k.t.ring"));
}

TEST(Roles, the_clock_goes_by_button_and_by_key) {
  Explorer explorer;
  open_roles(explorer);
  EXPECT_EQ(explorer.app.roles.round(), 0);
  ASSERT_TRUE(explorer.click("middle/roles/roles.next"));
  EXPECT_EQ(explorer.app.roles.round(), 1);
  EXPECT_EQ(in_roles("now/producer")->text, "producer: q.t.copy = copy q.t.fill[i,d] <- q[0,0,i0 + i,d]");
  EXPECT_EQ(in_roles("clock")->text.rfind("round 2 of ", 0), 0U) << in_roles("clock")->text;
  const std::string step = explorer.app.view.step;
  mirror().reach("middle/roles/canvas");
  explorer.frame();
  explorer.key(ImGuiKey_RightArrow);
  EXPECT_EQ(explorer.app.roles.round(), 2);
  explorer.key(ImGuiKey_LeftArrow);
  EXPECT_EQ(explorer.app.roles.round(), 1);
  EXPECT_EQ(explorer.app.view.step, step);
  ASSERT_TRUE(explorer.click("middle/roles/roles.last"));
  EXPECT_EQ(explorer.app.roles.round(), explorer.app.roles.rounds() - 1);
  EXPECT_NE(in_roles("level/k.t.ring")->text.find("0 of 2 slots full, 0 being filled"), std::string::npos)
      << "everything that was handed over arrived: " << in_roles("level/k.t.ring")->text;
}

TEST(Roles, a_program_of_one_role_says_so) {
  Explorer explorer;
  explorer.open("softmax", "sm_80");
  explorer.app.go_to(explorer.app.document.shown()->steps().size() - 1);
  run_command(explorer.app, "tab.roles");
  for (int i = 0; i < 1000 && explorer.app.roles.timeline() == nullptr && explorer.app.roles.refused() == nullptr; ++i) {
    explorer.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(explorer.app.roles.refused(), nullptr);
}

}  // namespace
}  // namespace fathom::ui::tests
