// The reading view and the editor by mouse and keys, without a window: what they do to text, caret, selection and clipboard.
#include <algorithm>
#include <chrono>
#include <functional>
#include <random>

#include "headless.hpp"
#include "widgets/editor.hpp"
#include "widgets/text_layout.hpp"
#include "widgets/text_view.hpp"

namespace fathom::ui::tests {
namespace {

using widgets::EditorState;
using widgets::Place;
using widgets::Stretch;
using widgets::TextLine;

/// One widget that fills a window, and what is done to it.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual void draw() = 0;

  void frame() {
    screen_.frame([&] {
      mirror().begin_frame();
      ImGui::SetNextWindowPos({0, 0});
      ImGui::SetNextWindowSize(ImGui::GetIO().DisplaySize);
      ImGui::Begin("##stage", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav);
      draw();
      ImGui::End();
      mirror().end_frame();
    });
  }
  void key(ImGuiKey key, std::initializer_list<ImGuiKey> modifiers = {}) {
    ImGuiIO& io = ImGui::GetIO();
    for (const ImGuiKey each : modifiers) io.AddKeyEvent(each, true);
    io.AddKeyEvent(key, true);
    frame();
    frame();
    io.AddKeyEvent(key, false);
    for (const ImGuiKey each : modifiers) io.AddKeyEvent(each, false);
    frame();
    frame();
  }
  void ctrl(ImGuiKey which) { key(which, {ImGuiMod_Ctrl}); }
  void shift(ImGuiKey which) { key(which, {ImGuiMod_Shift}); }
  void keys(ImGuiKey which, int times) {
    for (int i = 0; i < times; ++i) key(which);
  }
  void type(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t next = widgets::column_after(text, at);
      ImGui::GetIO().AddInputCharactersUTF8(text.substr(at, next - at).c_str());
      frame();
      at = next;
    }
    frame();
    frame();
  }
  void point_at(ImVec2 at) {
    ImGui::GetIO().AddMousePosEvent(at.x, at.y);
    frame();
    frame();
  }
  void press(bool down) {
    ImGui::GetIO().AddMouseButtonEvent(0, down);
    frame();
    frame();
  }
  void click(ImVec2 at, int times = 1) {
    point_at(at);
    for (int i = 0; i < times; ++i) {
      press(true);
      press(false);
    }
    if (times == 1) wait();
  }
  /// So long that the next click is none of a double click.
  void wait() {
    for (int i = 0; i < 30; ++i) frame();
  }
  [[nodiscard]] static const MirrorItem* item(const std::string& id) { return mirror().find(id); }
  /// The middle of the item; the test has failed where there is none.
  [[nodiscard]] static ImVec2 middle_of(const std::string& id) {
    const MirrorItem* found = item(id);
    EXPECT_NE(found, nullptr) << id;
    return found == nullptr ? ImVec2{} : ImVec2{(found->min.x + found->max.x) / 2, (found->min.y + found->max.y) / 2};
  }
  [[nodiscard]] static std::string text_of(const std::string& id) { return item(id) == nullptr ? "no " + id : item(id)->text; }

 private:
  Screen screen_{640, 400};
};

class Reading : public Stage {
 public:
  explicit Reading(std::vector<std::string> texts) {
    int number = 0;
    for (std::string& text : texts) lines.push_back({std::move(text), {}, ' ', ++number, 0});
    frame();
    frame();
  }
  void draw() override {
    const auto emphasis = [&](const TextLine&, const std::string& name) {
      return name == lit ? widgets::Emphasis::selected : widgets::Emphasis::none;
    };
    const auto events = widgets::text_view("view", lines, state, emphasis, [&](std::string text) { copied = std::move(text); });
    hovered = events.hovered ? events.hovered->name : "";
    if (events.chosen) chosen.push_back(events.chosen->name);
    if (events.unfolded) unfolded.push_back(*events.unfolded);
  }
  /// Gives it the keys, with the caret at the begin.
  void enter() {
    key(ImGuiKey_Tab);
    key(ImGuiKey_Enter);
  }
  [[nodiscard]] std::string selected() const {
    return widgets::text_between({lines.size(), [&](std::size_t line) -> std::string_view { return lines[line].text; }}, state.anchor,
                                 state.caret);
  }

  std::vector<TextLine> lines;
  widgets::TextViewState state;
  std::string copied, hovered, lit;
  std::vector<std::string> chosen;
  std::vector<std::size_t> unfolded;
};

class Writing : public Stage {
 public:
  explicit Writing(const std::string& text = {}) {
    state.text.reset(text);
    options.completions = [&](std::string_view) { return offered; };
    frame();
    frame();
    key(ImGuiKey_Tab);
    key(ImGuiKey_Enter);
  }
  void draw() override {
    const auto events = widgets::editor("editor", state, options);
    changes += events.changed ? 1 : 0;
    if (events.chosen) chosen.push_back(events.chosen->name);
  }
  [[nodiscard]] std::string text() const { return state.text.text(); }
  [[nodiscard]] Place caret() const { return state.text.caret; }

  EditorState state;
  widgets::EditorOptions options;
  std::vector<widgets::Completion> offered;
  std::vector<std::string> chosen;
  int changes = 0;
};

// ---- the reading view ----
TEST(TextView, takes_keys_only_while_it_has_the_focus) {
  Reading view({"one", "two", "three"});
  view.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view.state.caret, (Place{0, 0})) << "nobody gave it the keys";
  EXPECT_FALSE(ImGui::GetIO().WantTextInput) << "Left and Right are the explorer's";
  view.enter();
  EXPECT_TRUE(ImGui::GetIO().WantTextInput);
  EXPECT_EQ(view.state.caret, (Place{0, 0})) << "the Enter that came in is no move";
  view.key(ImGuiKey_DownArrow);
  view.key(ImGuiKey_End);
  EXPECT_EQ(view.state.caret, (Place{1, 3}));
  view.key(ImGuiKey_Escape);
  view.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view.state.caret, (Place{1, 3}));
  EXPECT_FALSE(ImGui::GetIO().WantTextInput);
  EXPECT_EQ(mirror().focused(), "view") << "Tab goes on from here";
}

TEST(TextView, the_caret_is_never_inside_a_character) {
  Reading view({"aµ→∞z", "x"});
  view.enter();
  std::vector<std::size_t> columns;
  for (int i = 0; i < 6; ++i) {
    columns.push_back(view.state.caret.column);
    view.key(ImGuiKey_RightArrow);
  }
  EXPECT_EQ(columns, (std::vector<std::size_t>{0, 1, 3, 6, 9, 10}));
  EXPECT_EQ(view.state.caret, (Place{1, 0}));
  view.key(ImGuiKey_LeftArrow);
  view.keys(ImGuiKey_LeftArrow, 2);
  EXPECT_EQ(view.state.caret, (Place{0, 6}));
  view.state.caret = view.state.anchor = {0, 4};
  view.frame();
  EXPECT_EQ(view.state.caret, (Place{0, 3})) << "a caller's place inside a character goes to its begin";
}

TEST(TextView, going_down_over_a_short_line_comes_back_to_its_column) {
  Reading view({"0123456789", "ab", "0123456789"});
  view.enter();
  view.keys(ImGuiKey_RightArrow, 7);
  view.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view.state.caret, (Place{1, 2}));
  view.key(ImGuiKey_DownArrow);
  EXPECT_EQ(view.state.caret, (Place{2, 7}));
}

TEST(TextView, a_click_places_the_caret_two_take_the_word_a_drag_selects) {
  Reading view({"first alpha_2 last", "second"});
  view.lines[0].stretches = {{6, 13, 0, "alpha_2"}};
  view.frame();
  const ImVec2 word = Stage::middle_of("view/0:6");
  view.click(word);
  EXPECT_GE(view.state.caret.column, 9U);
  EXPECT_LE(view.state.caret.column, 10U);
  EXPECT_EQ(view.selected(), "");
  EXPECT_EQ(view.chosen, std::vector<std::string>{"alpha_2"});
  view.click(word, 2);
  EXPECT_EQ(view.selected(), "alpha_2");
  view.wait();
  ASSERT_NE(Stage::item("view/0:6"), nullptr);
  const MirrorItem item = *Stage::item("view/0:6");  // a copy: the next frame replaces what the mirror holds
  const float middle = word.y, line = item.max.y - item.min.y;
  view.point_at({item.min.x + 1, middle});
  view.press(true);
  view.point_at({item.min.x + 1, middle + line});
  view.press(false);
  EXPECT_EQ(view.selected(), "alpha_2 last\nsecond");
  view.point_at({item.min.x + 1, middle});
  EXPECT_EQ(view.selected(), "alpha_2 last\nsecond") << "the button is up";
}

TEST(TextView, says_what_the_mouse_is_over_and_what_lights_up) {
  Reading view({"m = max(x)", "y = m"});
  view.lines[0].stretches = {{0, 1, 0, "m"}};
  view.lines[1].stretches = {{4, 5, 0, "m"}, {0, 0, 0, "nothing"}};
  view.lit = "m";
  view.frame();
  view.point_at(Stage::middle_of("view/1:4"));
  EXPECT_EQ(view.hovered, "m");
  EXPECT_TRUE(Stage::item("view/0:0")->selected);
  EXPECT_EQ(Stage::item("view/1:0"), nullptr) << "a stretch of no bytes is no word";
  view.point_at({600, 300});
  EXPECT_EQ(view.hovered, "");
}

TEST(TextView, the_caret_chooses_the_name_that_it_comes_to_by_keys) {
  Reading view({"ab cd"});
  view.lines[0].stretches = {{0, 2, 0, "ab"}, {3, 5, 0, "cd"}};
  view.enter();
  view.keys(ImGuiKey_RightArrow, 4);
  EXPECT_EQ(view.chosen, std::vector<std::string>{"cd"}) << "it stood at ab, which is nothing new, and came to cd once";
}

TEST(TextView, opens_a_fold_by_click_and_by_enter) {
  Reading view({"begin", "3 lines", "end"});
  view.lines[1].mark = '>';
  view.lines[1].stretches = {{0, 1, 0, "three"}};
  view.frame();
  view.click(Stage::middle_of("view/1:0"));
  EXPECT_EQ(view.unfolded, std::vector<std::size_t>{1});
  EXPECT_TRUE(view.chosen.empty()) << "a fold is pressed as a whole";
  view.key(ImGuiKey_Enter);
  EXPECT_EQ(view.unfolded, (std::vector<std::size_t>{1, 1}));
  view.key(ImGuiKey_DownArrow);
  view.key(ImGuiKey_Enter);
  EXPECT_EQ(view.unfolded.size(), 2U) << "the line below is none";
}

TEST(TextView, copies_the_selection_else_the_line) {
  Reading view({"first line", "second line"});
  view.enter();
  view.ctrl(ImGuiKey_C);
  EXPECT_EQ(view.copied, "first line");
  view.keys(ImGuiKey_RightArrow, 6);
  view.shift(ImGuiKey_DownArrow);
  view.ctrl(ImGuiKey_C);
  EXPECT_EQ(view.copied, "line\nsecond");
  view.ctrl(ImGuiKey_A);
  view.ctrl(ImGuiKey_C);
  EXPECT_EQ(view.copied, "first line\nsecond line");
  view.copied.clear();
  view.key(ImGuiKey_C, {ImGuiMod_Ctrl, ImGuiMod_Shift});
  EXPECT_EQ(view.copied, "") << "Ctrl+Shift+C is the explorer's";
}

TEST(TextView, searches_counts_and_goes_round) {
  Reading view({"max(a) max(b)", "none", "Max max"});
  view.enter();
  view.ctrl(ImGuiKey_F);
  ASSERT_TRUE(view.state.search_is_open);
  view.type("max");
  EXPECT_EQ(view.state.search, "max");
  EXPECT_EQ(Stage::text_of("view/count"), "1 of 3") << "capitals count";
  view.key(ImGuiKey_Enter);
  EXPECT_EQ(Stage::text_of("view/count"), "2 of 3");
  EXPECT_EQ(view.state.anchor, (Place{0, 7}));
  EXPECT_EQ(view.selected(), "max");
  view.keys(ImGuiKey_Enter, 2);
  EXPECT_EQ(Stage::text_of("view/count"), "1 of 3") << "after the last comes the first";
  view.shift(ImGuiKey_Enter);
  EXPECT_EQ(Stage::text_of("view/count"), "3 of 3");
  EXPECT_EQ(view.state.anchor, (Place{2, 4}));
  view.click(Stage::middle_of("view/next"));
  EXPECT_EQ(Stage::text_of("view/count"), "1 of 3");
  view.click(Stage::middle_of("view/search"));
  view.type("!");
  EXPECT_EQ(Stage::text_of("view/count"), "none");
}

TEST(TextView, escape_closes_the_search_and_gives_the_keys_back) {
  Reading view({"one", "two"});
  view.enter();
  view.ctrl(ImGuiKey_F);
  view.type("w");
  view.key(ImGuiKey_Escape);
  EXPECT_FALSE(view.state.search_is_open);
  EXPECT_EQ(view.state.search, "w") << "what was looked for is there when it opens again";
  EXPECT_EQ(view.selected(), "w");
  view.key(ImGuiKey_UpArrow);
  EXPECT_EQ(view.state.caret.line, 0U) << "keys are the view's again";
}

TEST(TextView, draws_only_what_is_seen_of_very_many_lines) {
  Reading view(std::vector<std::string>(100'000, "a line of some length, with a name in it"));
  for (TextLine& line : view.lines) line.stretches = {{2, 6, 0, "line"}};
  view.frame();
  const auto words = [] {
    return std::count_if(mirror().items().begin(), mirror().items().end(), [](const MirrorItem& item) { return item.kind == "word"; });
  };
  EXPECT_GT(words(), 10);
  EXPECT_LT(words(), 60);
  view.state.reveal = 70'000;
  view.frame();
  view.frame();
  view.frame();
  EXPECT_NE(Stage::item("view/70000:2"), nullptr);
  const auto begin = std::chrono::steady_clock::now();
  constexpr int frames = 60;
  for (int i = 0; i < frames; ++i) view.frame();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(took.count(), 1.0) << "60 frames in a second";
}

TEST(TextView, follows_the_caret_to_the_side) {
  Reading view({std::string(400, 'x') + " end", "short"});
  view.lines[0].stretches = {{401, 404, 0, "end"}};
  view.frame();
  EXPECT_EQ(Stage::item("view/0:401"), nullptr);
  view.enter();
  view.key(ImGuiKey_End);
  view.frame();
  EXPECT_NE(Stage::item("view/0:401"), nullptr);
  view.key(ImGuiKey_Home);
  EXPECT_EQ(Stage::item("view/0:401"), nullptr);
}

TEST(TextView, a_click_elsewhere_takes_the_keys_away) {
  Reading view({"one"});
  view.enter();
  ASSERT_TRUE(ImGui::GetIO().WantTextInput);
  view.click({2, 2});  // the window's own edge
  EXPECT_FALSE(ImGui::GetIO().WantTextInput);
}

TEST(TextView, without_lines_takes_every_key) {
  Reading view({});
  view.enter();
  for (const ImGuiKey key : {ImGuiKey_DownArrow, ImGuiKey_End, ImGuiKey_PageDown, ImGuiKey_Enter, ImGuiKey_RightArrow}) view.key(key);
  view.ctrl(ImGuiKey_A);
  view.ctrl(ImGuiKey_C);
  view.click({300, 200});
  EXPECT_EQ(view.state.caret, Place{});
  EXPECT_EQ(view.copied, "");
}

// ---- the editor ----
TEST(Editor, types_and_undoes_word_by_word) {
  Writing editor;
  editor.type("dim S = 4");
  EXPECT_EQ(editor.text(), "dim S = 4");
  EXPECT_EQ(editor.changes, 9);
  std::vector<std::string> seen;
  while (editor.state.text.can_undo() && seen.size() < 20) {
    editor.ctrl(ImGuiKey_Z);
    seen.push_back(editor.text());
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"dim S = ", "dim S ", "dim ", ""}));
  editor.ctrl(ImGuiKey_Y);
  editor.ctrl(ImGuiKey_Y);
  EXPECT_EQ(editor.text(), "dim S ");
  EXPECT_EQ(editor.caret(), (Place{0, 6}));
  editor.type("T");
  EXPECT_FALSE(editor.state.text.can_redo()) << "what is typed now is another story";
  ImGui::GetIO().AddInputCharactersUTF8(" = 1");  // faster than frames
  editor.frame();
  editor.frame();
  EXPECT_EQ(editor.text(), "dim S T = 1");
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "dim S T = ");
}

TEST(Editor, moving_the_caret_ends_a_run) {
  Writing editor;
  editor.type("ab");
  editor.key(ImGuiKey_LeftArrow);
  editor.type("cd");
  EXPECT_EQ(editor.text(), "acdb");
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "ab");
  EXPECT_EQ(editor.caret(), (Place{0, 1}));
}

TEST(Editor, erasing_is_a_run_too_and_comes_back_whole) {
  Writing editor("one two");
  editor.key(ImGuiKey_End);
  editor.keys(ImGuiKey_Backspace, 3);
  EXPECT_EQ(editor.text(), "one ");
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "one two");
  editor.key(ImGuiKey_Home);
  editor.keys(ImGuiKey_Delete, 2);
  EXPECT_EQ(editor.text(), "e two");
  editor.ctrl(ImGuiKey_Delete);
  EXPECT_EQ(editor.text(), "two") << "with Ctrl the word and what is between";
  editor.key(ImGuiKey_End);
  editor.ctrl(ImGuiKey_Backspace);
  EXPECT_EQ(editor.text(), "");
  editor.ctrl(ImGuiKey_Z);
  editor.ctrl(ImGuiKey_Z);
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "one two");
}

TEST(Editor, erases_whole_characters_and_writes_them) {
  Writing editor("a→b");
  editor.key(ImGuiKey_End);
  editor.keys(ImGuiKey_Backspace, 2);
  EXPECT_EQ(editor.text(), "a");
  editor.type("é∞");
  EXPECT_EQ(editor.text(), "aé∞");
  EXPECT_EQ(editor.caret(), (Place{0, 6}));
  editor.key(ImGuiKey_LeftArrow);
  EXPECT_EQ(editor.caret(), (Place{0, 3}));
}

TEST(Editor, a_new_line_is_as_deep_as_the_one_before) {
  Writing editor("  let");
  editor.key(ImGuiKey_End);
  editor.key(ImGuiKey_Enter);
  editor.type("x");
  EXPECT_EQ(editor.text(), "  let\n  x");
  editor.key(ImGuiKey_Home);
  editor.key(ImGuiKey_Home);
  EXPECT_EQ(editor.caret(), (Place{1, 0})) << "first the text's begin, then the line's";
  editor.key(ImGuiKey_Enter);
  EXPECT_EQ(editor.text(), "  let\n\n  x") << "at the line's begin nothing is before the caret to keep";
}

TEST(Editor, tab_indents_and_leaves_only_after_escape) {
  Writing editor("a\nb\n\nc");
  editor.key(ImGuiKey_Tab);
  EXPECT_EQ(editor.text(), "  a\nb\n\nc");
  editor.shift(ImGuiKey_Tab);
  EXPECT_EQ(editor.text(), "a\nb\n\nc");
  editor.ctrl(ImGuiKey_A);
  editor.key(ImGuiKey_Tab);
  EXPECT_EQ(editor.text(), "  a\n  b\n\n  c") << "an empty line stays empty";
  editor.shift(ImGuiKey_Tab);
  EXPECT_EQ(editor.text(), "a\nb\n\nc") << "the lines are still selected";
  editor.key(ImGuiKey_Escape);
  editor.key(ImGuiKey_Tab);
  editor.type("z");
  EXPECT_EQ(editor.text(), "a\nb\n\nc");
}

TEST(Editor, cuts_copies_and_pastes) {
  Writing editor("one\ntwo\nthree");
  editor.ctrl(ImGuiKey_X);
  EXPECT_EQ(editor.text(), "two\nthree") << "without a selection the line goes";
  EXPECT_STREQ(ImGui::GetClipboardText(), "one\n");
  editor.ctrl(ImGuiKey_V);
  EXPECT_EQ(editor.text(), "one\ntwo\nthree");
  editor.shift(ImGuiKey_End);
  editor.ctrl(ImGuiKey_C);
  EXPECT_STREQ(ImGui::GetClipboardText(), "two");
  ImGui::SetClipboardText("x\r\ny");
  editor.ctrl(ImGuiKey_V);
  EXPECT_EQ(editor.text(), "one\nx\ny\nthree");
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "one\ntwo\nthree");
  EXPECT_EQ(editor.state.text.selected(), "two") << "and what was selected is again";
}

TEST(Editor, cuts_the_last_line_with_the_break_before_it) {
  Writing editor("one\ntwo");
  editor.key(ImGuiKey_DownArrow);
  editor.ctrl(ImGuiKey_X);
  EXPECT_EQ(editor.text(), "one");
  editor.ctrl(ImGuiKey_X);
  EXPECT_EQ(editor.text(), "");
  editor.ctrl(ImGuiKey_Z);
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "one\ntwo");
}

TEST(Editor, duplicates_the_line_of_the_caret) {
  Writing editor("ab\ncd");
  editor.key(ImGuiKey_RightArrow);
  editor.ctrl(ImGuiKey_D);
  EXPECT_EQ(editor.text(), "ab\nab\ncd");
  EXPECT_EQ(editor.caret(), (Place{1, 1}));
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "ab\ncd");
}

TEST(Editor, text_from_outside_is_one_edit_and_leaves_the_caret_where_it_can) {
  Writing editor("one\ntwo\nthree");
  editor.keys(ImGuiKey_DownArrow, 2);
  editor.key(ImGuiKey_End);
  editor.state.text.replace_text("one\ntwo and a half\nand more\nthree");
  editor.frame();
  EXPECT_EQ(editor.text(), "one\ntwo and a half\nand more\nthree");
  EXPECT_EQ(editor.caret(), (Place{3, 5})) << "still at the end of three";
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "one\ntwo\nthree");
  editor.ctrl(ImGuiKey_Y);
  EXPECT_EQ(editor.text(), "one\ntwo and a half\nand more\nthree");
  editor.state.text.replace_text("ö");
  editor.state.text.replace_text("ü");  // the same first byte
  EXPECT_EQ(editor.text(), "ü");
  editor.state.text.undo();
  EXPECT_EQ(editor.text(), "ö");
}

TEST(Editor, any_text_becomes_any_other_and_comes_back) {
  const std::vector<std::string> texts{"", "\n", "a", "a\n", "\na", "a\nb", "a\nb\n", "b", "aa", "a\na\na", "→\n→→", "→→"};
  for (const std::string& from : texts)
    for (const std::string& to : texts) {
      widgets::EditedText text;
      text.reset(from);
      text.replace_text(to);
      EXPECT_EQ(text.text(), to) << from;
      EXPECT_EQ(text.can_undo(), from != to);
      text.undo();
      EXPECT_EQ(text.text(), from) << to;
    }
}

TEST(Editor, whatever_was_done_is_undone_and_done_again) {
  std::mt19937 random(7);
  const auto any = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  const std::vector<std::string> words{"a", " ", "é", "\n", "x\ny", "  let", "→→"};
  for (int round = 0; round < 200; ++round) {
    widgets::EditedText text;
    text.reset("one\n  two\n\n∞ three");
    const std::string begin = text.text();
    for (int i = 0; i < 40; ++i) {
      if (any(3) == 0) text.caret = widgets::place_of(text.text(), text.offset_of({any(6), any(8)}));
      if (any(2) == 0) text.anchor = text.caret;
      const std::vector<std::function<void()>> edits{[&] { text.type(words[any(words.size())]); },
                                                     [&] { text.erase_before(any(2) == 0); },
                                                     [&] { text.erase_after(any(2) == 0); },
                                                     [&] { text.break_line(); },
                                                     [&] { text.indent(); },
                                                     [&] { text.outdent(); },
                                                     [&] { text.duplicate_line(); },
                                                     [&] { text.cut(); },
                                                     [&] { text.insert(words[any(words.size())]); },
                                                     [&] { text.replace_text(words[any(words.size())] + text.text()); }};
      edits[any(edits.size())]();
      ASSERT_LT(text.caret.line, text.lines().size());
      ASSERT_EQ(widgets::whole_column(text.lines()[text.caret.line], text.caret.column), text.caret.column) << "inside a character";
    }
    const std::string end = text.text();
    while (text.can_undo()) text.undo();
    EXPECT_EQ(text.text(), begin) << round;
    while (text.can_redo()) text.redo();
    EXPECT_EQ(text.text(), end) << round;
  }
}

TEST(Editor, completes_without_being_in_the_way) {
  Writing editor;
  editor.offered = {{"softmax", "function"}, {"softcap", "function"}, {"sum", "function"}, {"softmax", "tensor"}};
  editor.type("s");
  EXPECT_FALSE(editor.state.completion.is_open) << "one letter says little";
  editor.type("o");
  ASSERT_TRUE(editor.state.completion.is_open);
  EXPECT_EQ(editor.state.completion.items.size(), 2U) << "those that begin so, each once";
  editor.key(ImGuiKey_Enter);
  EXPECT_EQ(editor.text(), "so\n") << "nothing is picked, so Enter is Enter";
  EXPECT_FALSE(editor.state.completion.is_open);
  editor.type("so");
  editor.key(ImGuiKey_DownArrow);
  editor.key(ImGuiKey_DownArrow);
  EXPECT_TRUE(Stage::item("editor/completion/softcap")->selected);
  editor.key(ImGuiKey_Enter);
  EXPECT_EQ(editor.text(), "so\nsoftcap");
  editor.ctrl(ImGuiKey_Z);
  EXPECT_EQ(editor.text(), "so\nso");
  editor.type("f");
  editor.key(ImGuiKey_Tab);
  EXPECT_EQ(editor.text(), "so\nsoftmax") << "Tab takes the first";
}

TEST(Editor, completion_opens_when_asked_and_closes_by_escape_alone) {
  Writing editor;
  editor.offered = {{"sum", "function"}, {"max", "function"}};
  editor.key(ImGuiKey_Space, {ImGuiMod_Ctrl});
  ASSERT_TRUE(editor.state.completion.is_open);
  editor.key(ImGuiKey_Escape);
  EXPECT_FALSE(editor.state.completion.is_open);
  editor.key(ImGuiKey_Space, {ImGuiMod_Ctrl});
  editor.type("m");
  editor.key(ImGuiKey_Enter);
  EXPECT_EQ(editor.text(), "max") << "asked for, the first is picked; Escape did not leave the editor";
  editor.type(" su");
  editor.click(Stage::middle_of("editor/completion/sum"));
  EXPECT_EQ(editor.text(), "max sum");
  editor.type("!");
  EXPECT_EQ(editor.text(), "max sum!") << "the click kept the keys";
}

TEST(Editor, chooses_and_underlines_names_of_its_lines) {
  Writing editor("x = y");
  editor.options.stretches = [](std::string_view line) {
    std::vector<Stretch> names;
    for (std::size_t i = 0; i < line.size(); ++i)
      if (line[i] == 'x' || line[i] == 'y') names.push_back({i, i + 1, 0, std::string(1, line[i])});
    return names;
  };
  editor.frame();
  editor.click(Stage::middle_of("editor/0:4"));
  EXPECT_EQ(editor.chosen, std::vector<std::string>{"y"});
  editor.key(ImGuiKey_Home);
  EXPECT_EQ(editor.chosen, (std::vector<std::string>{"y", "x"}));
}

TEST(Editor, keys_of_undo_are_its_own_while_it_has_them) {
  Writing editor;
  editor.type("a");
  ImGuiIO& io = ImGui::GetIO();
  io.AddKeyEvent(ImGuiMod_Ctrl, true);
  io.AddKeyEvent(ImGuiKey_Z, true);
  bool others = false;
  for (int i = 0; i < 4; ++i) {
    editor.frame();
    others = others || ImGui::IsKeyPressed(ImGuiKey_Z, false);
  }
  io.AddKeyEvent(ImGuiKey_Z, false);
  io.AddKeyEvent(ImGuiMod_Ctrl, false);
  editor.frame();
  EXPECT_EQ(editor.text(), "");
  EXPECT_FALSE(others) << "the explorer's undo must not hear it";
}

TEST(Editor, searches_as_the_view_does) {
  Writing editor("ab\nab\n");
  editor.ctrl(ImGuiKey_F);
  editor.type("ab");
  EXPECT_EQ(Stage::text_of("editor/count"), "1 of 2");
  EXPECT_EQ(editor.text(), "ab\nab\n") << "typed into the search";
  editor.key(ImGuiKey_Enter);
  EXPECT_EQ(editor.caret(), (Place{1, 2}));
  editor.key(ImGuiKey_Escape);
  editor.type("c");
  EXPECT_EQ(editor.text(), "ab\nc\n");
}

TEST(Editor, places_of_bytes_count_lines_and_columns) {
  EXPECT_EQ(widgets::place_of("ab\ncd", 0), (Place{0, 0}));
  EXPECT_EQ(widgets::place_of("ab\ncd", 2), (Place{0, 2}));
  EXPECT_EQ(widgets::place_of("ab\ncd", 3), (Place{1, 0}));
  EXPECT_EQ(widgets::place_of("ab\ncd", 99), (Place{1, 2}));
}

}  // namespace
}  // namespace fathom::ui::tests
