// The palette: what is found for what is typed, new programs, the notation, and the question about unsaved changes.
#include "headless.hpp"
#include "match.hpp"
#include "notation.hpp"
#include "panel_export.hpp"

namespace fathom::ui::tests {
namespace {

std::vector<std::string> rows_of_palette() {
  std::vector<std::string> ids;
  for (const MirrorItem& item : mirror().items())
    if (item.kind == "command") ids.push_back(item.id.substr(item.id.find('/') + 1));
  return ids;
}

bool lists(const std::vector<std::string>& all, const std::string& one) { return std::find(all.begin(), all.end(), one) != all.end(); }

class PaletteList : public Explorer, public testing::Test {
 protected:
  PaletteList() { open("softmax"); }
  std::vector<std::string> found(const std::string& typed) {
    key(ImGuiKey_K, ImGuiMod_Ctrl);
    type(typed);
    std::vector<std::string> ids = rows_of_palette();
    key(ImGuiKey_Escape);
    return ids;
  }
  /// Asks to leave, and answers the question about unsaved changes with "Save, then go on".
  void leave_and_save(std::function<void(App&)> then) {
    leave(app, std::move(then));
    frame();
    frame();
    ASSERT_TRUE(click("palette/save"));
  }
  /// Something that no file has.
  void change() {
    app.document.type(app.document.text() + "# mine\n");
    settle();
  }
};

TEST(Matching, prefers_beginnings_then_parts_then_scattered_letters_of_one_word) {
  EXPECT_EQ(match_of("Undo", "", "undo"), Match::equal);
  EXPECT_EQ(match_of("Save the session as", "", "save the"), Match::title);
  EXPECT_EQ(match_of("Save the session as", "", "ses sav"), Match::word);
  EXPECT_EQ(match_of("Keys: list", "shortcuts help", "short"), Match::other_word);
  EXPECT_EQ(match_of("Keys: list", "shortcuts help", "help keys"), Match::other_word);
  EXPECT_EQ(match_of("Save the session", "", "ession"), Match::inside);
  EXPECT_EQ(match_of("Show the graph", "", "grph"), Match::scattered);
  EXPECT_EQ(match_of("Save the session as", "", "stsa"), Match::scattered);
  EXPECT_EQ(match_of("Show the difference or the whole program", "", "help"), std::nullopt);
  EXPECT_EQ(match_of("Show only steps that changed something", "", "png"), std::nullopt);
  EXPECT_EQ(match_of("3  o/j/tile = 64", "", "o/j/tile"), Match::word);
  EXPECT_EQ(match_of("anything", "", "  "), Match::title);
}

TEST_F(PaletteList, finds_commands_by_the_words_that_people_use) {
  EXPECT_EQ(found("glossary").front(), "help.glossary");
  EXPECT_EQ(found("shortcut").front(), "view.keys");
  for (const char* command : {"view.larger", "view.smaller", "view.usual-size", "view.scale"}) EXPECT_TRUE(lists(found("zoom"), command));
  const std::vector<std::string> help = found("help");
  for (const char* command : {"view.keys", "help.glossary", "help.tour", "help.notation"}) EXPECT_TRUE(lists(help, command)) << command;
  EXPECT_FALSE(lists(help, "ir.whole"));
  EXPECT_EQ(found("png"), (std::vector<std::string>{"panel.save-picture"}));
  EXPECT_EQ(found("new").front(), "file.new");
  EXPECT_TRUE(found("qqq").empty());
}

TEST_F(PaletteList, begins_a_new_program_that_compiles_and_asks_about_changes_first) {
  ASSERT_TRUE(run_command(app, "file.new"));
  settle();
  EXPECT_EQ(app.document.text(), new_program());
  EXPECT_TRUE(app.document.diagnostics().empty());
  ASSERT_NE(app.document.shown(), nullptr);
  EXPECT_FALSE(app.document.is_changed()) << "nothing is lost where it is left at once";
  change();
  ASSERT_TRUE(run_command(app, "file.new"));
  frame();
  EXPECT_EQ(app.palette.ask, Ask::unsaved);
  key(ImGuiKey_Escape);
  EXPECT_NE(app.document.text(), new_program());
}

TEST_F(PaletteList, shows_the_notation_part_by_part) {
  ASSERT_TRUE(run_command(app, "help.notation"));
  frame();
  frame();
  EXPECT_EQ(rows_of_palette().size(), notation_parts().size());
  type("causal");
  EXPECT_EQ(rows_of_palette(), (std::vector<std::string>{"part.select"}));
  key(ImGuiKey_Enter);
  EXPECT_EQ(copied, "where(j <= i, s[i,j], -inf)");
  EXPECT_EQ(app.document.said(), Said::done);
}

TEST_F(PaletteList, saves_and_then_does_what_was_asked_for) {
  change();
  int went = 0;
  const auto go = [&](App&) { ++went; };
  leave_and_save(go);
  frame();
  EXPECT_EQ(app.palette.ask, Ask::save_session) << "there is no name yet";
  EXPECT_EQ(went, 0);
  EXPECT_NE(mirror().text_of("palette").find(folder_of("x")), std::string::npos) << mirror().text_of("palette");
  key(ImGuiKey_Enter);
  EXPECT_EQ(went, 1);
  EXPECT_FALSE(app.is_changed());
  EXPECT_EQ(app.document.message(), "Saved: " + full_path("softmax.session.json"));
  EXPECT_EQ(app.document.said(), Said::done);
  change();
  leave_and_save(go);
  EXPECT_EQ(went, 2) << "it has a name now";
  EXPECT_FALSE(app.is_changed());
}

TEST_F(PaletteList, a_question_that_nobody_answers_does_nothing_later) {
  change();
  int went = 0;
  leave_and_save([&](App&) { ++went; });
  frame();
  key(ImGuiKey_Escape);
  ASSERT_TRUE(run_command(app, "file.save-as"));
  frame();
  frame();
  key(ImGuiKey_Enter);
  EXPECT_FALSE(app.is_changed());
  EXPECT_EQ(went, 0);
}

TEST_F(PaletteList, what_cannot_be_saved_is_not_left) {
  change();
  int went = 0;
  leave_and_save([&](App&) { ++went; });
  for (int i = 0; i < 3; ++i) frame();  // until the field has the keys: what is typed replaces the proposal
  type("/nowhere/at/all.session.json");
  key(ImGuiKey_Enter);
  EXPECT_EQ(went, 0);
  EXPECT_TRUE(app.is_changed());
  EXPECT_EQ(app.document.said(), Said::failed);
}

TEST_F(PaletteList, a_text_that_never_compiled_is_kept_as_a_program) {
  open_text("bad.fathom", "operator nonsense");
  ASSERT_EQ(app.document.shown(), nullptr);
  app.document.type("operator more nonsense");
  settle();
  int went = 0;
  leave_and_save([&](App&) { ++went; });
  frame();
  EXPECT_EQ(app.palette.ask, Ask::save_program);
  key(ImGuiKey_Enter);
  EXPECT_EQ(went, 1);
  EXPECT_EQ(read_whole("bad.fathom").value_or(""), "operator more nonsense");
}

TEST_F(PaletteList, this_panel_is_the_one_that_was_clicked_not_the_one_under_the_mouse) {
  const auto inside = [](const char* panel) {
    const MirrorItem* item = mirror().find(std::string(panel) + "/panel");
    return item == nullptr ? ImVec2() : ImVec2{item->min.x + 20, item->max.y - 20};
  };
  const auto move_to = [&](ImVec2 place) {
    ImGui::GetIO().AddMousePosEvent(place.x, place.y);
    frame();
    frame();
  };
  move_to(inside("steps"));
  EXPECT_EQ(app.panel, "steps") << "nothing was clicked: the mouse decides";
  click_at(inside("card"));
  EXPECT_EQ(app.panel, "card");
  move_to(inside("steps"));
  EXPECT_EQ(app.panel, "card");
  ASSERT_TRUE(click("bar/menu"));
  const MirrorItem* row = nullptr;
  for (const MirrorItem& item : mirror().items())
    if (item.kind == "menu-row" && item.enabled) row = &item;
  ASSERT_NE(row, nullptr);
  move_to({(row->min.x + row->max.x) / 2, (row->min.y + row->max.y) / 2});
  EXPECT_EQ(app.panel, "card");
  EXPECT_EQ(name_of_panel(app), "card");
  key(ImGuiKey_Escape);
  click_at(inside("steps"));
  EXPECT_EQ(app.panel, "steps");
  run_command(app, "workspace.tune");
  frame();
  frame();
  EXPECT_EQ(app.panel.substr(0, 5), "tune/") << "a panel that is gone is no longer meant";
}

TEST_F(PaletteList, says_what_went_well_otherwise_than_what_did_not) {
  EXPECT_TRUE(save_program(app, "mine.fathom"));
  EXPECT_EQ(app.document.said(), Said::done);
  open_file(app, "not-there.fathom");
  EXPECT_EQ(app.document.said(), Said::failed);
  copy_panel_text(app);
  EXPECT_EQ(app.document.said(), Said::done);
}

}  // namespace
}  // namespace fathom::ui::tests
