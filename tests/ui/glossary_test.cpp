// The words of the field: what stands in the glossary, and where a panel explains them.
#include "glossary.hpp"

#include <imgui_internal.h>

#include <set>

#include "headless.hpp"

namespace fathom::ui::tests {
namespace {

std::set<std::string> terms_on_screen() {
  std::set<std::string> found;
  for (const MirrorItem& item : mirror().items())
    if (item.kind == "term") found.insert(item.id.substr(item.id.rfind("term.") + 5));
  return found;
}

TEST(Glossary, has_short_texts_of_letters_that_can_be_drawn) {
  const Screen screen;
  EXPECT_GE(glossary().size(), 25U);
  EXPECT_LE(glossary().size(), 45U);
  std::set<std::string_view> words;
  for (const Term& term : glossary()) {
    EXPECT_TRUE(words.insert(term.word).second) << term.word;
    EXPECT_LE(term.text.size(), 160U) << term.word;
    EXPECT_EQ(term.text.back(), '.') << term.word;
    EXPECT_EQ(term_named(term.word), &term);
    const char* at = term.text.data();
    const char* const end = at + term.text.size();
    while (at < end) {
      unsigned code = 0;
      at += ImTextCharFromUtf8(&code, at, end);
      EXPECT_NE(font(Font::caption)->FindGlyphNoFallback(static_cast<ImWchar>(code)), nullptr) << term.word << " " << code;
    }
  }
}

TEST(Glossary, finds_words_and_no_parts_of_names) {
  const auto words_in = [](std::string_view text) {
    std::vector<std::string> found;
    for (const Mention& mention : mentions_in(text)) found.emplace_back(glossary()[mention.term].word);
    return found;
  };
  EXPECT_EQ(words_in("Tiles are fused."), (std::vector<std::string>{"tile", "fusion"}));
  EXPECT_EQ(words_in("o/j/tile p.fold tile-wise textile"), std::vector<std::string>{});
  EXPECT_EQ(words_in("a rolling fold (traffic): main memory"), (std::vector<std::string>{"rolling", "traffic", "main_memory"}));
  EXPECT_EQ(words_in(""), std::vector<std::string>{});
}

TEST(Glossary, every_step_of_the_samples_explains_only_terms_that_exist_and_each_once) {
  Explorer explorer;
  std::set<std::string> all;
  for (const char* sample : {"attention", "softmax"}) {
    explorer.open(sample);
    for (std::size_t i = 0; i < explorer.app.document.shown()->steps().size(); ++i) {
      explorer.app.go_to(i);
      explorer.frame();
      explorer.frame();
      for (const std::string& term : terms_on_screen()) {
        EXPECT_NE(term_named(term), nullptr) << term;
        all.insert(term);
      }
      std::set<std::string> in_card;
      for (const MirrorItem& item : mirror().items())
        if (item.kind == "term" && item.id.compare(0, 5, "card/") == 0) {
          EXPECT_TRUE(in_card.insert(item.id).second) << item.id;
        }
    }
  }
  for (const char* term : {"traffic", "exponentials", "level", "tile"}) EXPECT_EQ(all.count(term), 1U) << term;
}

TEST(Glossary, a_term_is_reached_by_keyboard_and_looked_up) {
  Explorer explorer;
  explorer.open("softmax");
  const MirrorItem* item = mirror().find("card/term.traffic");
  ASSERT_NE(item, nullptr);
  mirror().reach("card/term.traffic");
  explorer.frame();
  explorer.frame();
  EXPECT_TRUE(mirror().find("card/term.traffic")->focused);
  explorer.key(ImGuiKey_Enter);
  ASSERT_TRUE(explorer.app.palette.is_open);
  EXPECT_EQ(explorer.app.palette.ask, Ask::glossary);
  const MirrorItem* row = mirror().find("palette/term.traffic");
  ASSERT_NE(row, nullptr);
  EXPECT_NE(mirror().text_of("palette").find(std::string(term_named("traffic")->text)), std::string::npos);
  explorer.key(ImGuiKey_Enter);
  EXPECT_NE(explorer.app.document.message().find("main memory"), std::string::npos);
}

}  // namespace
}  // namespace fathom::ui::tests
