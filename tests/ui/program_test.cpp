// The panel of the program: samples, sizes, typing, what is wrong and where.
#include "headless.hpp"

namespace fathom::ui::tests {
namespace {

/// The explorer with its panel of the program.
class ProgramPanel : public Explorer {
 public:
  explicit ProgramPanel(const std::string& sample) {
    open(sample);
    app.view.tab = Tab::program;
    frame();
    frame();
  }
  [[nodiscard]] static std::string at(const std::string& id) { return "middle/program/" + id; }
  [[nodiscard]] const std::string& source() const { return app.document.shown()->compilation().inputs.source; }
  [[nodiscard]] std::int64_t size(const std::string& dimension) const {
    return app.document.shown()->compilation().program.dimension(Symbol(dimension))->value;
  }
  /// Into a field that is empty or whose text is replaced.
  void fill(const std::string& field, const std::string& text) {
    ASSERT_TRUE(click(at(field)));
    key(ImGuiKey_A, ImGuiMod_Ctrl);
    key(ImGuiKey_Delete);
    type(text);
    key(ImGuiKey_Enter);
    settle();
  }
};

TEST(ProgramPanel, opens_a_sample_from_the_gallery) {
  ProgramPanel panel("attention");
  ASSERT_TRUE(panel.click(ProgramPanel::at("samples")));
  ASSERT_TRUE(panel.click(ProgramPanel::at("sample/softmax")));
  panel.settle();
  EXPECT_EQ(panel.app.document.inputs().file_name, "softmax.fathom");
  EXPECT_EQ(mirror().find(ProgramPanel::at("sample/softmax")), nullptr) << "the gallery is closed";
  EXPECT_NE(mirror().find(ProgramPanel::at("editor"))->text.find("softmax[j](x[i,j])"), std::string::npos);
}

TEST(ProgramPanel, sets_a_size_and_goes_back_to_the_text) {
  ProgramPanel panel("softmax");
  ASSERT_EQ(panel.size("C"), 4096);
  panel.fill("dim/C", "512");
  EXPECT_EQ(panel.size("C"), 512);
  EXPECT_EQ(panel.app.document.inputs().dims.at("C"), 512);
  panel.fill("dim/C", "many");
  EXPECT_EQ(panel.size("C"), 512);
  EXPECT_NE(panel.app.document.message().find("many"), std::string::npos) << panel.app.document.message();
  EXPECT_EQ(mirror().find(ProgramPanel::at("dim/C"))->text, "512") << "what is no number does not stay";
  panel.fill("dim/C", "");
  EXPECT_EQ(panel.size("C"), 4096);
  EXPECT_TRUE(panel.app.document.inputs().dims.empty());
}

TEST(ProgramPanel, compiles_what_is_typed_and_says_what_is_wrong_where) {
  ProgramPanel panel("softmax");
  ASSERT_TRUE(panel.click(ProgramPanel::at("editor")));
  panel.key(ImGuiKey_End, ImGuiMod_Ctrl);
  panel.type("oops");
  panel.settle();
  ASSERT_FALSE(panel.app.document.diagnostics().empty());
  const std::string message = panel.app.document.diagnostics().front().message;
  EXPECT_NE(mirror().text_of(ProgramPanel::at("wrong")).find(message), std::string::npos);
  EXPECT_EQ(panel.source().find("oops"), std::string::npos) << "the last state that compiled is shown";
  panel.key(ImGuiKey_Z, ImGuiMod_Ctrl);
  panel.settle();
  EXPECT_TRUE(panel.app.document.diagnostics().empty());
  EXPECT_EQ(panel.app.document.text(), panel.source());
  EXPECT_FALSE(panel.app.document.can_undo()) << "the editor undid it, the document nothing";
}

TEST(ProgramPanel, goes_to_the_place_of_what_is_wrong) {
  ProgramPanel panel("softmax");
  std::string text = panel.app.document.text();
  const std::size_t place = text.rfind("x[i,j]");
  text.replace(place, 1, "z");
  panel.app.document.type(text);
  panel.settle();
  ASSERT_TRUE(panel.click(ProgramPanel::at("wrong/0")));
  panel.key(ImGuiKey_Delete);
  panel.type("x");
  panel.settle();
  EXPECT_EQ(panel.app.document.text(), text.replace(place, 1, "x")) << "the caret stood before the name, with the keys";
  EXPECT_TRUE(panel.app.document.diagnostics().empty());
}

TEST(ProgramPanel, follows_what_others_do_to_the_text) {
  ProgramPanel panel("softmax");
  const std::string before = panel.app.document.text();
  panel.app.document.type(before + "# more\n");
  panel.settle();
  EXPECT_NE(mirror().find(ProgramPanel::at("editor"))->text.find("# more"), std::string::npos);
  ASSERT_TRUE(panel.click(ProgramPanel::at("editor")));
  panel.key(ImGuiKey_Z, ImGuiMod_Ctrl);
  panel.settle();
  EXPECT_EQ(panel.app.document.text(), before) << "for the editor it was one edit";
}

TEST(ProgramPanel, a_click_on_a_name_selects_it_as_it_stands_in_the_text) {
  ProgramPanel panel("softmax");
  const auto word = std::find_if(mirror().items().begin(), mirror().items().end(), [](const MirrorItem& item) {
    return item.kind == "word" && item.text == "y" && item.id.rfind(ProgramPanel::at("editor/"), 0) == 0;
  });
  ASSERT_NE(word, mirror().items().end());
  const std::string id = word->id;
  ASSERT_TRUE(panel.click(id));
  EXPECT_EQ(panel.app.selected, (Selection{"y", 0}));
  EXPECT_TRUE(mirror().find(id)->selected);
}

TEST(ProgramPanel, completes_functions_of_the_prelude) {
  ProgramPanel panel("attention");
  ASSERT_TRUE(panel.click(ProgramPanel::at("editor")));
  panel.key(ImGuiKey_End, ImGuiMod_Ctrl);
  panel.type("logs");
  EXPECT_NE(mirror().find(ProgramPanel::at("editor/completion/logsumexp")), nullptr);
  EXPECT_EQ(mirror().find(ProgramPanel::at("editor/completion/softmax")), nullptr);
  panel.key(ImGuiKey_Escape);
  panel.type(" # logs");
  EXPECT_EQ(mirror().find(ProgramPanel::at("editor/completion/logsumexp")), nullptr) << "a comment is left alone";
}

}  // namespace
}  // namespace fathom::ui::tests
