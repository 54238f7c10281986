// Menu, list of keys, bound keys, settings: what is everywhere.
#include "keys.hpp"

#include <set>

#include "headless.hpp"
#include "scale.hpp"
#include "settings_file.hpp"

namespace fathom::ui::tests {
namespace {

TEST(Everywhere, the_menu_opens_by_keys_and_rows_are_taken_by_arrows_and_enter) {
  Explorer explorer;
  explorer.open("softmax");
  mirror().reach("bar/menu");
  explorer.frame();
  explorer.key(ImGuiKey_Enter);
  const MirrorItem* open = mirror().find("bar/menu/file.new");
  ASSERT_NE(open, nullptr);
  EXPECT_TRUE(open->focused) << "the first row, and the Enter that opened it did not press it";
  EXPECT_FALSE(explorer.app.palette.is_open);
  explorer.key(ImGuiKey_DownArrow);
  EXPECT_TRUE(mirror().find("bar/menu/file.open")->focused);
  explorer.key(ImGuiKey_DownArrow);
  EXPECT_TRUE(mirror().find("bar/menu/file.sample")->focused);
  explorer.key(ImGuiKey_Enter);
  EXPECT_TRUE(explorer.app.palette.is_open);
  EXPECT_EQ(explorer.app.palette.ask, Ask::sample);
  explorer.key(ImGuiKey_Escape);
  ASSERT_TRUE(explorer.click("bar/menu"));
  ASSERT_NE(mirror().find("bar/menu/app.quit"), nullptr);
  explorer.key(ImGuiKey_Escape);
  EXPECT_EQ(mirror().find("bar/menu/app.quit"), nullptr);
}

TEST(Everywhere, another_target_is_taken_by_arrow_keys) {
  Explorer explorer;
  explorer.open("softmax");
  ASSERT_TRUE(explorer.click("bar/target"));
  ASSERT_TRUE(mirror().find("bar/target/x86-64")->focused);
  explorer.key(ImGuiKey_DownArrow);
  explorer.key(ImGuiKey_Enter);
  explorer.settle();
  EXPECT_NE(explorer.app.document.inputs().target, "x86-64");
}

TEST(Everywhere, no_two_commands_have_the_same_keys_and_all_keys_have_names) {
  std::set<std::string> seen;
  for (const Command& command : commands()) {
    if (command.shortcut.empty()) continue;
    EXPECT_TRUE(is_combination(command.shortcut)) << command.id;
    EXPECT_TRUE(seen.emplace(command.shortcut).second) << command.id << " " << command.shortcut;
  }
}

TEST(Everywhere, the_list_of_keys_has_every_command_and_finds_by_words_and_keys) {
  Explorer explorer;
  ImGui::GetIO().DisplaySize = {1280, 800};
  explorer.open("softmax");
  ImGui::GetIO().AddInputCharacter('?');
  explorer.frame();
  explorer.frame();
  ASSERT_EQ(explorer.app.overlay.open, Overlay::keys);
  for (const Command& command : commands()) {
    const MirrorItem* title = mirror().find("keys/" + std::string(command.id) + "/title");
    ASSERT_NE(title, nullptr) << command.id;
    EXPECT_EQ(title->text, command.title);
  }
  explorer.type("ctrl+k");
  EXPECT_NE(mirror().find("keys/view.palette/title"), nullptr);
  EXPECT_EQ(mirror().find("keys/step.next/title"), nullptr);
}

TEST(Everywhere, keys_are_bound_anew_and_refused_where_they_are_taken) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "view.keys");
  explorer.frame();
  explorer.frame();
  explorer.app.overlay.query = "next step";
  explorer.frame();
  explorer.frame();
  ASSERT_TRUE(explorer.click("keys/step.next/change"));
  EXPECT_EQ(explorer.app.overlay.waits, "step.next");
  explorer.key(ImGuiKey_W, ImGuiMod_Ctrl);
  EXPECT_NE(explorer.app.overlay.refused.find("browser"), std::string::npos) << explorer.app.overlay.refused;
  explorer.key(ImGuiKey_Z, ImGuiMod_Ctrl);
  EXPECT_NE(explorer.app.overlay.refused.find("“Undo”"), std::string::npos) << explorer.app.overlay.refused;
  explorer.key(ImGuiKey_F1);
  EXPECT_FALSE(explorer.app.overlay.refused.empty());
  EXPECT_FALSE(explorer.app.palette.is_open) << "keys that a row waits for run no command";
  explorer.key(ImGuiKey_N);
  EXPECT_TRUE(explorer.app.overlay.waits.empty());
  EXPECT_EQ(shortcut_of(explorer.app, *command_named("step.next")), "N");
  explorer.key(ImGuiKey_Escape);
  EXPECT_EQ(explorer.app.overlay.open, Overlay::none);
  explorer.key(ImGuiKey_RightArrow);
  EXPECT_EQ(explorer.app.step(), 0U) << "the old keys are free";
  explorer.key(ImGuiKey_N);
  EXPECT_EQ(explorer.app.step(), 1U);
  // everywhere it is said as it is bound
  explorer.key(ImGuiKey_K, ImGuiMod_Ctrl);
  EXPECT_NE(mirror().text_of("bar").find("Ctrl+K"), std::string::npos);
  explorer.key(ImGuiKey_Escape);
  // it is kept, and given back
  const Settings kept = settings_of(settings_text(explorer.app.settings));
  EXPECT_EQ(kept, explorer.app.settings);
  run_command(explorer.app, "view.keys");
  explorer.frame();
  explorer.frame();
  ASSERT_TRUE(explorer.click("keys/reset-all"));
  EXPECT_EQ(shortcut_of(explorer.app, *command_named("step.next")), "Right");
}

TEST(Everywhere, the_keys_of_a_row_press_nothing_else) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "view.keys");
  explorer.frame();
  explorer.type("changed something");
  explorer.key(ImGuiKey_Enter);  // out of the field
  mirror().reach("keys/steps.only-changed/change");
  explorer.frame();
  explorer.key(ImGuiKey_Enter);
  ASSERT_EQ(explorer.app.overlay.waits, "steps.only-changed");
  explorer.key(ImGuiKey_J, ImGuiMod_Ctrl);
  EXPECT_TRUE(explorer.app.overlay.waits.empty());
  explorer.key(ImGuiKey_Escape);
  explorer.key(ImGuiKey_J, ImGuiMod_Ctrl);
  EXPECT_TRUE(explorer.app.view.only_changed);
}

TEST(Everywhere, ctrl_shift_p_and_f1_open_the_palette) {
  Explorer explorer;
  explorer.open("softmax");
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, true);
  explorer.key(ImGuiKey_P, ImGuiMod_Shift);
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Ctrl, false);
  EXPECT_TRUE(explorer.app.palette.is_open);
  explorer.key(ImGuiKey_F1);
  EXPECT_FALSE(explorer.app.palette.is_open);
}

TEST(Everywhere, settings_that_are_none_are_the_usual_ones) {
  for (const std::string text : {"", "[", "[1]", R"({"theme": 3, "scale": "x", "keys": [], "reduced_motion": 1})",
                                 R"({"scale": 99, "keys": {"no.such": "F5", "step.next": "Hyper+Q", "step.last": 4}})"}) {
    const Settings settings = settings_of(text);
    EXPECT_TRUE(settings.keys.empty()) << text;
    EXPECT_LE(settings.scale, most_scale);
    EXPECT_TRUE(settings.follows_system);
  }
}

TEST(Everywhere, a_new_size_goes_back_by_itself_unless_it_is_kept) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "view.settings");
  explorer.frame();
  explorer.frame();
  ASSERT_TRUE(explorer.click("settings/scale-200"));
  EXPECT_EQ(explorer.app.settings.scale, 2);
  ASSERT_TRUE(explorer.app.scale_trial);
  ImGui::GetIO().DeltaTime = 11;
  explorer.frame();
  explorer.frame();
  ImGui::GetIO().DeltaTime = 1.0F / 60;
  EXPECT_EQ(explorer.app.settings.scale, 1);
  EXPECT_FALSE(explorer.app.scale_trial);
  ASSERT_TRUE(explorer.click("settings/scale-150"));
  ASSERT_TRUE(explorer.click("scale/keep"));
  ImGui::GetIO().DeltaTime = 11;
  explorer.frame();
  explorer.frame();
  EXPECT_EQ(explorer.app.settings.scale, 1.5F);
}

TEST(Everywhere, colours_are_chosen_in_the_settings) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "view.settings");
  explorer.frame();
  explorer.frame();
  ASSERT_TRUE(explorer.click("settings/light"));
  EXPECT_EQ(explorer.app.settings.theme, Theme::light);
  EXPECT_FALSE(explorer.app.settings.follows_system);
  ASSERT_TRUE(explorer.click("settings/system"));
  EXPECT_TRUE(explorer.app.settings.follows_system);
  explorer.key(ImGuiKey_Escape);
  EXPECT_EQ(explorer.app.overlay.open, Overlay::none);
}

TEST(Everywhere, the_whole_lowering_is_exported_as_a_page) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "export.html");
  explorer.frame();
  explorer.frame();
  EXPECT_EQ(explorer.app.palette.query, "softmax.html");
  explorer.key(ImGuiKey_Enter);
  explorer.until_checked();
  constexpr int most_waits = 3000;
  for (int i = 0; i < most_waits && !std::filesystem::exists("softmax.html"); ++i) {
    explorer.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto page = read_whole("softmax.html");
  ASSERT_TRUE(page);
  EXPECT_NE(page->find("</html>"), std::string::npos);
}

}  // namespace
}  // namespace fathom::ui::tests
