// The explorer by mouse and keys: steps, choices, undo, selection, palette; and that no input breaks it.
#include <fmt/format.h>

#include <random>
#include <set>

#include "headless.hpp"
#include "session/text_diff.hpp"

namespace fathom::ui::tests {
namespace {

const Step& step_at(const Explorer& explorer, std::size_t number) { return explorer.app.document.shown()->steps().at(number); }

/// The first step whose decision could have been another.
std::size_t step_with_alternatives(const Explorer& explorer, const std::string& kind) {
  const auto& steps = explorer.app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].decision && steps[i].decision->kind == kind && steps[i].decision->alternatives.size() > 1) return i;
  return steps.size();
}

/// Its number; what is behind the last step where there is none.
std::size_t go_to_step_with_alternatives(Explorer& explorer, const std::string& kind) {
  const std::size_t number = step_with_alternatives(explorer, kind);
  explorer.app.go_to(number);
  explorer.frame();
  explorer.frame();
  return number;
}

std::string other_choice(const Decision& decision) {
  for (const Alternative& each : decision.alternatives)
    if (!each.refused && each.choice != decision.choice) return each.choice;
  return {};
}

TEST(Explorer, walks_through_all_steps_by_keys_and_shows_each) {
  Explorer explorer;
  explorer.open("attention");
  ASSERT_NE(explorer.app.document.shown(), nullptr);
  const std::size_t count = explorer.app.document.shown()->steps().size();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(explorer.app.step(), i);
    EXPECT_NE(mirror().text_of("card").find(step_at(explorer, i).title), std::string::npos) << i;
    seen.insert(mirror().text_of("card"));
    explorer.key(ImGuiKey_RightArrow);
  }
  EXPECT_EQ(explorer.app.step(), count - 1) << "Right at the end stays";
  EXPECT_EQ(seen.size(), count) << "every step has a card of its own";
  explorer.key(ImGuiKey_Home);
  EXPECT_EQ(explorer.app.step(), 0U);
  explorer.key(ImGuiKey_RightArrow, ImGuiMod_Shift);
  EXPECT_EQ(step_at(explorer, explorer.app.step()).level, Level::loop);
}

TEST(Explorer, takes_a_choice_by_click_and_gives_it_back) {
  Explorer explorer;
  explorer.open("attention");
  const std::size_t number = go_to_step_with_alternatives(explorer, "tile");
  ASSERT_LT(number, explorer.app.document.shown()->steps().size());
  const Decision before = *step_at(explorer, number).decision;
  const std::string wanted = other_choice(before);
  ASSERT_TRUE(explorer.click("card/" + before.site + "=" + wanted));
  explorer.settle();
  EXPECT_EQ(step_at(explorer, number).decision->choice, wanted);
  EXPECT_EQ(step_at(explorer, number).decision->origin, Origin::by_user);
  explorer.key(ImGuiKey_L);
  explorer.settle();
  EXPECT_TRUE(step_at(explorer, number).decision->locked);
  explorer.key(ImGuiKey_Z, ImGuiMod_Ctrl);
  explorer.settle();
  explorer.key(ImGuiKey_Z, ImGuiMod_Ctrl);
  explorer.settle();
  EXPECT_EQ(step_at(explorer, number).decision->choice, before.choice);
  explorer.key(ImGuiKey_Y, ImGuiMod_Ctrl);
  explorer.settle();
  EXPECT_EQ(step_at(explorer, number).decision->choice, wanted);
  EXPECT_NE(mirror().text_of("card").find("made by you"), std::string::npos);
}

TEST(Explorer, previews_nothing_that_a_change_moved_under_a_mouse_that_rests) {
  Explorer explorer;
  explorer.open("attention");
  const std::size_t number = go_to_step_with_alternatives(explorer, "tile");
  ASSERT_LT(number, explorer.app.document.shown()->steps().size());
  const Decision before = *step_at(explorer, number).decision;
  ASSERT_TRUE(explorer.click("card/" + before.site + "=" + other_choice(before)));
  explorer.settle();
  ASSERT_NE(step_at(explorer, number).decision->choice, before.choice);
  const ImVec2 mouse = ImGui::GetMousePos();
  int lies_under_mouse = 0;
  for (float down = -60; down <= 60; down += 4) {  // as if the list had moved
    ImGui::GetIO().AddMousePosEvent(mouse.x, mouse.y + down);
    explorer.frame();
    explorer.app.card.rest.mouse = ImGui::GetMousePos();
    explorer.app.document.end_preview();
    explorer.frame();
    for (const MirrorItem& item : mirror().items())
      lies_under_mouse += item.kind == "alternative" && widgets::Box{item.min, item.max}.contains(ImGui::GetMousePos()) ? 1 : 0;
    EXPECT_EQ(explorer.app.document.previewed(), nullptr) << down;
  }
  EXPECT_GT(lies_under_mouse, 0);
}

TEST(Explorer, previews_the_choice_under_the_mouse_and_forgets_it) {
  Explorer explorer;
  explorer.open("attention");
  const std::size_t number = go_to_step_with_alternatives(explorer, "tile");
  ASSERT_LT(number, explorer.app.document.shown()->steps().size());
  const Decision before = *step_at(explorer, number).decision;
  const std::string wanted = other_choice(before);
  const MirrorItem* found = mirror().find("card/" + before.site + "=" + wanted);
  ASSERT_NE(found, nullptr);
  ImGui::GetIO().AddMousePosEvent((found->min.x + found->max.x) / 2, (found->min.y + found->max.y) / 2);
  const auto is_there = [&] { return explorer.app.document.previewed() != nullptr && explorer.app.document.previewed()->shown != nullptr; };
  constexpr int most_waits = 3000;
  for (int i = 0; i < most_waits && !is_there(); ++i) {
    explorer.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_TRUE(is_there());
  explorer.frame();
  EXPECT_NE(mirror().text_of("middle/ir").find("preview: " + before.site + " = " + wanted), std::string::npos);
  EXPECT_NE(mirror().text_of("card").find("steps change"), std::string::npos);
  EXPECT_EQ(step_at(explorer, number).decision->choice, before.choice) << "looking changes nothing";
  ImGui::GetIO().AddMousePosEvent(640, 790);
  explorer.frame();
  explorer.frame();
  EXPECT_EQ(explorer.app.document.previewed(), nullptr);
}

TEST(Explorer, an_instruction_is_what_its_kernel_line_computes) {
  Explorer explorer;
  explorer.app.machine_code.generate = one_instruction_a_line;
  explorer.open("attention");
  explorer.app.view.tab = Tab::code;
  constexpr int most_waits = 3000;
  for (int i = 0; i < most_waits && mirror().text_of("middle/code/text").empty(); ++i) {
    explorer.frame();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const std::string printed = print(explorer.app.document.shown()->compilation().final_ir());
  const auto kernel_lines = session::lines_of(printed);
  std::size_t row = 0;
  while (row < kernel_lines.size() && kernel_lines[row].find("p.sum[i,") == std::string_view::npos) ++row;
  ASSERT_LT(row, kernel_lines.size());
  explorer.app.code.text.reveal = row;
  explorer.app.code.text.caret = explorer.app.code.text.anchor = {row, 3};
  explorer.frame();
  explorer.frame();
  EXPECT_NE(mirror().text_of("middle/code/made-for").find(fmt::format("Kernel line {}", row + 1)), std::string::npos);
  const widgets::TextLine& line = explorer.app.code.lines.at(row);
  ASSERT_FALSE(line.stretches.empty());
  const std::size_t last = explorer.app.document.shown()->steps().size() - 1;
  EXPECT_TRUE(explorer.app.colour_of(last, line.stretches.front().name).has_value());
  EXPECT_NE(kernel_lines[row].find(line.stretches.front().name), std::string_view::npos);
}

TEST(Explorer, the_code_panel_says_why_a_plan_ends_at_the_tile_level) {
  Explorer explorer;
  explorer.open_text("matmul.fathom",
                     "operator matmul(a: f64[M, K], w: f64[K, N]) -> (y: f64[M, N]) { y[i,j] = sum[k](a[i,k] * w[k,j]) }\n"
                     "dim M = 64, N = 64, K = 64\n");
  explorer.app.document.change([](session::Session& session) { return session.set_target("sm_80"); });
  explorer.app.view.tab = Tab::code;
  explorer.settle();
  const std::string shown = mirror().text_of("middle/code/label");
  EXPECT_NE(shown.find("no Kernel level on sm_80"), std::string::npos) << shown;
  EXPECT_NE(shown.find("f64"), std::string::npos) << "the reason: " << shown;
}

TEST(Explorer, says_why_a_command_is_disabled_and_runs_every_other_from_the_palette) {
  Explorer explorer;
  explorer.open("softmax");
  for (const Command& command : commands()) {
    if (command.id == "app.quit" || command.id == "view.palette") continue;
    SCOPED_TRACE(std::string(command.id));
    explorer.key(ImGuiKey_K, ImGuiMod_Ctrl);
    ASSERT_TRUE(explorer.app.palette.is_open);
    explorer.type(std::string(command.title));
    const MirrorItem* row = mirror().find("palette/" + std::string(command.id));
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->enabled, command.disabled(explorer.app).empty());
    explorer.key(row->enabled ? ImGuiKey_Enter : ImGuiKey_Escape);
    explorer.settle();
    if (explorer.app.palette.is_open) {  // the command asks for a name or a path
      EXPECT_NE(explorer.app.palette.ask, Ask::command);
      explorer.key(ImGuiKey_Escape);
    }
    EXPECT_FALSE(explorer.app.palette.is_open);
    explorer.app.playing = false;
  }
}

TEST(Explorer, opens_every_derivation_by_mouse) {
  Explorer explorer;
  explorer.open("attention", "blackboard");
  const auto& steps = explorer.app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size() && steps[i].fusions.empty(); ++i) explorer.app.go_to(i + 1);
  explorer.frame();
  explorer.frame();
  const std::vector<Fusion>& fusions = steps[explorer.app.step()].fusions;
  ASSERT_GT(fusions.size(), 2U);
  for (const Fusion& fusion : fusions) {
    explorer.app.card.open.clear();
    explorer.frame();
    explorer.frame();
    ASSERT_TRUE(explorer.click("card/why." + fusion.consumer.text() + "/open"));
    EXPECT_EQ(explorer.app.card.open, fusion.consumer.text());
  }
}

TEST(Explorer, steps_show_what_they_save_and_no_small_change) {
  Explorer explorer;
  ImGui::GetIO().DisplaySize = {1280, 1200};  // all rows
  explorer.open("attention");
  const std::string steps = mirror().text_of("steps");
  EXPECT_NE(steps.find("−2.00 GiB"), std::string::npos) << steps;
  EXPECT_EQ(steps.find(" B\n"), std::string::npos) << steps;
}

TEST(Explorer, the_list_of_steps_comes_to_the_step_once_and_can_be_scrolled_away) {
  Explorer explorer;
  ImGui::GetIO().DisplaySize = {1280, 420};  // fewer rows than steps
  explorer.open("attention");
  explorer.key(ImGuiKey_End);
  explorer.frame();
  const std::string last = "steps/" + step_at(explorer, explorer.app.step()).id;
  ASSERT_NE(mirror().find(last), nullptr);
  const float shown = mirror().find(last)->min.y;
  EXPECT_LT(shown, 420);
  ImGui::GetIO().AddMousePosEvent(100, 250);
  explorer.frame();
  for (int i = 0; i < 5; ++i) {
    ImGui::GetIO().AddMouseWheelEvent(0, 1);
    explorer.frame();
  }
  explorer.frame();
  EXPECT_GT(mirror().find(last)->min.y, shown);
}

TEST(Explorer, a_change_of_theme_leaves_no_text_in_the_colours_of_the_other) {
  Explorer explorer;
  explorer.open("softmax");
  const ImU32 dark = explorer.app.ir.lines.at(0).stretches.at(0).ink;
  run_command(explorer.app, "view.theme");
  explorer.frame();  // the platform follows the setting before the next frame
  apply_theme(explorer.app.settings.theme, 1);
  explorer.frame();
  EXPECT_NE(explorer.app.ir.lines.at(0).stretches.at(0).ink, dark);
}

TEST(Explorer, what_is_typed_while_the_palette_opens_is_not_lost) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "file.sample");
  for (const char c : std::string("attention_no")) ImGui::GetIO().AddInputCharacter(static_cast<unsigned char>(c));
  constexpr int frames_of_letters = 16;
  for (int i = 0; i < frames_of_letters; ++i) explorer.frame();
  EXPECT_EQ(explorer.app.palette.query, "attention_no");
}

TEST(Explorer, a_text_that_does_not_compile_keeps_the_last_state_and_says_what_is_wrong) {
  Explorer explorer;
  explorer.open("softmax");
  const std::string good = explorer.app.document.text();
  explorer.app.document.type(good + "\nnonsense");
  explorer.settle();
  EXPECT_FALSE(explorer.app.document.diagnostics().empty());
  ASSERT_NE(explorer.app.document.shown(), nullptr);
  EXPECT_EQ(explorer.app.document.shown()->compilation().inputs.source, good);
  EXPECT_NE(mirror().text_of("status").find("does not compile"), std::string::npos);
  explorer.app.document.undo();
  explorer.settle();
  EXPECT_EQ(explorer.app.document.text(), good);
  EXPECT_TRUE(explorer.app.document.diagnostics().empty());
}

TEST(Explorer, a_program_that_never_compiled_is_shown_with_what_is_wrong) {
  Explorer explorer;
  explorer.open_text("broken.fathom", "operator nothing(");
  EXPECT_EQ(explorer.app.document.shown(), nullptr);
  EXPECT_EQ(explorer.app.view.tab, Tab::program);
  explorer.app.view.tab = Tab::graph;
  explorer.frame();
  EXPECT_EQ(explorer.app.view.tab, Tab::graph) << "and nobody is kept there";
}

// A tensor of the source stands for all reductions that came from it, but a step decides about one.
TEST(Explorer, a_fusing_step_says_why_of_its_own_reduction_alone) {
  Explorer explorer;
  explorer.open_text("shifted.fathom",
                     "dim S = 64, T = 64\noperator shifted(x: f32[S,T]) -> (z: f32[S])\n{\n"
                     "  z[i] = sum[j](exp(x[i,j] - max[k](x[i,k])))\n}\n");
  ASSERT_NE(explorer.app.document.shown(), nullptr);
  const auto& fusions = explorer.app.document.shown()->compilation().record.fusions;
  ASSERT_EQ(fusions.size(), 2U);
  const std::size_t number = go_to_step_with_alternatives(explorer, "fuse");
  ASSERT_LT(number, explorer.app.document.shown()->steps().size());
  EXPECT_NE(mirror().find("card/why.z/open"), nullptr);
  EXPECT_EQ(mirror().find("card/why.z.max/open"), nullptr);
}

TEST(Explorer, what_is_typed_in_one_go_is_one_state_of_the_history) {
  Explorer explorer;
  explorer.open("softmax");
  const std::string good = explorer.app.document.text();
  for (const char* more : {"# a", "# ab", "# abc"}) {
    explorer.app.document.type(good + more);
    explorer.settle();
  }
  EXPECT_EQ(explorer.app.document.shown()->compilation().inputs.source, good + "# abc");
  explorer.app.document.undo();
  explorer.settle();
  EXPECT_EQ(explorer.app.document.text(), good);
  EXPECT_FALSE(explorer.app.document.can_undo());
}

TEST(Explorer, a_choice_between_two_runs_of_typing_stays) {
  Explorer explorer;
  explorer.open("softmax");
  const std::string good = explorer.app.document.text();
  const std::size_t number = step_with_alternatives(explorer, "tile");
  const Decision before = *step_at(explorer, number).decision;
  explorer.app.document.change(
      [&, choice = other_choice(before)](session::Session& session) { return session.override_choice(before.site, choice); });
  explorer.settle();
  for (const std::string more : {"@", "", " "}) {
    explorer.app.document.type(good + more);
    explorer.settle();
  }
  EXPECT_EQ(explorer.app.document.inputs().trace.entries.size(), 1U);
}

TEST(Explorer, a_choice_leaves_what_is_wrong_with_the_text_on_the_screen) {
  Explorer explorer;
  explorer.open("softmax");
  const std::size_t number = step_with_alternatives(explorer, "tile");
  const Decision before = *step_at(explorer, number).decision;
  explorer.app.document.type(explorer.app.document.text() + "@@ junk");
  explorer.settle();
  explorer.app.document.change(
      [&, choice = other_choice(before)](session::Session& session) { return session.override_choice(before.site, choice); });
  explorer.settle();
  EXPECT_EQ(step_at(explorer, number).decision->choice, other_choice(before));
  EXPECT_FALSE(explorer.app.document.diagnostics().empty());
}

TEST(Explorer, asks_before_unsaved_work_is_left) {
  Explorer explorer;
  explorer.open("softmax");
  EXPECT_FALSE(explorer.app.document.is_changed()) << "what was only opened has no changes";
  explorer.app.document.type(explorer.app.document.text() + "# mine\n");
  explorer.settle();
  run_command(explorer.app, "app.quit");
  explorer.frame();
  explorer.frame();
  EXPECT_FALSE(explorer.app.wants_to_quit);
  ASSERT_TRUE(explorer.click("palette/stay"));
  EXPECT_FALSE(explorer.app.wants_to_quit);
  run_command(explorer.app, "app.quit");
  explorer.frame();
  explorer.frame();
  ASSERT_TRUE(explorer.click("palette/leave"));
  EXPECT_TRUE(explorer.app.wants_to_quit);
}

TEST(Explorer, session_files_that_are_none_are_refused_and_what_is_open_stays) {
  Explorer explorer;
  explorer.open("softmax");
  explorer.app.go_to(5);
  const std::string step = explorer.app.view.step;
  const std::string deep(150000, '[');
  for (const std::string& json :
       {std::string(R"({"fathom-session": 99, "view": {"step": "x"}})"), std::string(R"({"fathom-session": 1, "at": {}})"),
        "{\"fathom-session\": 1, \"view\": " + deep, std::string(R"({"fathom-session": 1, "states": [7], "at": 0})")}) {
    explorer.app.document.dismiss_message();
    explorer.app.document.open_session(json, "x.session.json", typed_text(json), [&] { restore_view(explorer.app, json); });
    explorer.settle();
    EXPECT_FALSE(explorer.app.document.message().empty());
    ASSERT_NE(explorer.app.document.shown(), nullptr);
    EXPECT_EQ(explorer.app.view.step, step);
  }
}

TEST(Explorer, bytes_that_are_no_text_in_a_comment_do_not_end_it) {
  Explorer explorer;
  explorer.open("softmax");
  explorer.app.document.type("# caf\xe9\n" + explorer.app.document.text());
  explorer.settle();
  EXPECT_TRUE(explorer.app.document.diagnostics().empty());
  EXPECT_NE(session_file(explorer.app).find("fathom-session"), std::string::npos);
}

TEST(Explorer, checks_arrive_and_every_step_of_the_sample_passes) {
  Explorer explorer;
  explorer.open("softmax", "blackboard");
  explorer.until_checked();
  for (std::size_t i = 0; i < explorer.app.document.shown()->steps().size(); ++i)
    EXPECT_EQ(explorer.app.document.check(i).status, CheckStatus::passed)
        << step_at(explorer, i).id << ": " << explorer.app.document.check(i).reason;
  EXPECT_NE(mirror().text_of("status").find("all checked"), std::string::npos);
}

TEST(Explorer, survives_any_input_and_undo_leads_back_to_the_start) {
  Explorer explorer;
  explorer.open("softmax");
  std::mt19937 random(7);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  ImGuiIO& io = ImGui::GetIO();
  constexpr int events = 20000;
  for (int i = 0; i < events; ++i) {
    switch (below(8)) {
      case 0:
        io.AddMousePosEvent(static_cast<float>(below(1280)), static_cast<float>(below(800)));
        break;
      case 1:
        io.AddMouseButtonEvent(static_cast<int>(below(3)), below(2) == 0);
        break;
      case 2:
        io.AddMouseWheelEvent(0, static_cast<float>(below(5)) - 2);
        break;
      case 3:
        io.AddInputCharacter(below(2) == 0 ? 32 + below(95) : below(0x2FF));
        break;
      case 4: {
        const auto modifier = static_cast<ImGuiKey>(below(2) == 0 ? ImGuiMod_Ctrl : ImGuiMod_Shift);
        io.AddKeyEvent(modifier, below(2) == 0);
        break;
      }
      default: {
        const auto key = static_cast<ImGuiKey>(ImGuiKey_NamedKey_BEGIN + static_cast<int>(below(105)));
        io.AddKeyEvent(key, true);
        io.AddKeyEvent(key, false);
        break;
      }
    }
    if (i % 4 == 0) explorer.frame();
  }
  io.ClearInputKeys();
  for (int button = 0; button < 3; ++button) io.AddMouseButtonEvent(button, false);
  explorer.settle();
  ASSERT_NE(explorer.app.document.shown(), nullptr);
  constexpr int most_undos = 20000;
  for (int i = 0; i < most_undos && explorer.app.document.can_undo(); ++i) {
    explorer.app.document.undo();
    explorer.settle();
  }
  EXPECT_FALSE(explorer.app.document.can_undo());
  std::set<std::string> texts;  // the events may have opened another sample
  for (const session::Sample& sample : session::samples()) texts.insert(sample.text);
  EXPECT_EQ(texts.count(explorer.app.document.text()), 1U);
}

}  // namespace
}  // namespace fathom::ui::tests
