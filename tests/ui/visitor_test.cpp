// What first visitors of Explore stumbled over.
#include <cmath>
#include <fstream>

#include "assembly.hpp"
#include "compare.hpp"
#include "headless.hpp"
#include "tour.hpp"
#include "words.hpp"

namespace fathom::ui::tests {
namespace {

bool shows(const std::string& panel, const std::string& words) { return mirror().text_of(panel).find(words) != std::string::npos; }

std::size_t step_of_kind(const Explorer& explorer, const std::string& kind) {
  const auto& steps = explorer.app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].decision && steps[i].decision->kind == kind) return i;
  return steps.size();
}

void to_step(Explorer& explorer, std::size_t number) {
  explorer.app.go_to(number);
  explorer.frame();
  explorer.frame();
}

/// Takes another choice at the first tile with one.
void take_another_tile(Explorer& explorer) {
  const Decision decision = *explorer.app.document.shown()->steps()[step_of_kind(explorer, "tile")].decision;
  for (const Alternative& each : decision.alternatives) {
    if (each.refused || each.choice == decision.choice) continue;
    explorer.app.document.change(
        [site = decision.site, choice = each.choice](session::Session& session) { return session.override_choice(site, choice); });
    break;
  }
  explorer.settle();
}

// ---- the card ----
TEST(Visitor, the_card_of_a_fusion_says_what_is_saved_and_typesets_the_law) {
  Explorer explorer;
  explorer.open("attention");
  const auto& steps = explorer.app.document.shown()->steps();
  bool one_saves = false, one_has_law = false;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    to_step(explorer, i);
    const bool saves = session::stored_bytes(steps[i]) < 0.98 * session::stored_bytes(steps[i - 1]);
    if (saves) {
      one_saves = true;
      EXPECT_TRUE(shows("card/saved", " → ")) << steps[i].id;
    }
    if (const MirrorItem* law = mirror().find("card/law-0")) {
      one_has_law = true;
      EXPECT_FALSE(law->text.empty()) << "spoken for the mirror";
      EXPECT_FALSE(shows("card", "\nacc * exp")) << steps[i].id;
    }
  }
  EXPECT_TRUE(one_saves);
  EXPECT_TRUE(one_has_law);
}

TEST(Visitor, a_refusal_that_holds_often_is_said_once) {
  Explorer explorer;
  explorer.open("attention");
  const auto& steps = explorer.app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    to_step(explorer, i);
    for (const Refusal& refusal : steps[i].refusals) {
      const std::string card = mirror().text_of("card");
      const std::size_t first = card.find("⊘ " + refusal.reason);
      ASSERT_NE(first, std::string::npos) << refusal.reason;
    }
    if (!steps[i].changed) {
      explorer.app.view.tab = Tab::ir;
      explorer.app.view.whole_text = false;
      explorer.frame();
      explorer.frame();
      if (i > 0 && steps[i].level == steps[i - 1].level) {
        EXPECT_TRUE(shows("middle/ir", steps[i].says)) << steps[i].id;
      }
    }
  }
}

TEST(Visitor, a_passed_check_is_said_in_words) {
  Check check;
  check.status = CheckStatus::passed;
  check.max_error = check.bound = 1.2e-4;
  check.cases.resize(3);
  EXPECT_EQ(sentence_of(check), "✓ 3 cases, error 1.2e-04 of 1.2e-04 allowed");
}

TEST(Visitor, the_ribbon_says_what_its_marks_mean) {
  Explorer explorer;
  explorer.open("softmax");
  const MirrorItem* legend = mirror().find("ribbon/legend");
  ASSERT_NE(legend, nullptr);
  EXPECT_NE(legend->text.find("choice of mine"), std::string::npos);
  EXPECT_LE(legend->max.x, 1280);
}

// ---- the graph ----
TEST(Visitor, a_loop_is_one_hull_with_its_index_and_nothing_else_in_it) {
  Explorer explorer;
  explorer.open("attention");
  explorer.app.view.tab = Tab::graph;
  const auto& steps = explorer.app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size() && steps[i].level <= Level::loop; ++i) to_step(explorer, i);
  const GraphState& graph = explorer.app.graph;
  ASSERT_FALSE(graph.layout.hulls.empty());
  EXPECT_NE(graph.group_titles.front().find("one loop over j"), std::string::npos) << graph.group_titles.front();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    for (std::size_t g = 0; g < graph.layout.hulls.size(); ++g) {
      const GraphHull& hull = graph.layout.hulls[g];
      const ImVec2 at = graph.layout.nodes.places[n], to{at.x + graph.sizes[n].x, at.y + graph.sizes[n].y};
      const bool inside = at.x >= hull.min.x && to.x <= hull.max.x && at.y >= hull.min.y && to.y <= hull.max.y;
      const bool apart = to.x <= hull.min.x || at.x >= hull.max.x || to.y <= hull.min.y || at.y >= hull.max.y;
      EXPECT_TRUE(graph.nodes[n].group == static_cast<int>(g) ? inside : apart) << graph.nodes[n].name;
    }
}

TEST(Visitor, a_wide_screen_has_the_text_of_the_program_beside_the_ir) {
  Explorer explorer(1920, 1080);
  explorer.open("softmax");
  const auto box = [](const char* id) { return *mirror().find(id); };
  ASSERT_NE(mirror().find("program/editor"), nullptr);
  ASSERT_NE(mirror().find("middle/ir/text"), nullptr);
  EXPECT_EQ(mirror().find("middle/program"), nullptr) << "it is there already";
  EXPECT_LT(box("steps/panel").max.x, box("program/panel").min.x);
  EXPECT_LT(box("program/panel").max.x, box("middle/panel").min.x);
  EXPECT_LT(box("middle/panel").max.x, box("card/panel").min.x);
  EXPECT_NEAR(box("program/panel").max.x - box("program/panel").min.x, 520, 30);
  EXPECT_NEAR(box("middle/panel").max.x - box("middle/panel").min.x, 640, 30);
  ASSERT_TRUE(explorer.click("program/editor"));
  explorer.key(ImGuiKey_End, ImGuiMod_Ctrl);
  explorer.type("# more");
  explorer.settle();
  EXPECT_NE(explorer.app.document.text().find("# more"), std::string::npos);
  run_command(explorer.app, "tab.program");
  explorer.frame();
  explorer.frame();
  EXPECT_NE(mirror().find("middle/ir/text"), nullptr) << "the middle has what stands in no other panel";
}

TEST(Visitor, a_narrow_screen_shows_the_life_of_a_value_in_a_row_of_its_own) {
  Explorer explorer(640, 480);
  explorer.open("softmax");
  const float before = mirror().find("middle/panel")->min.y;
  explorer.app.selected = {"x", 0};
  explorer.frame();
  explorer.frame();
  ASSERT_NE(mirror().find("ribbon/life/name"), nullptr);
  ASSERT_NE(mirror().find("ribbon/life/0"), nullptr);
  EXPECT_GT(mirror().find("middle/panel")->min.y, before);
  EXPECT_GE(mirror().find("ribbon/life/0")->min.y, mirror().find("ribbon/step.next")->max.y);
}

TEST(Visitor, every_edge_of_a_graph_leads_down) {
  Explorer explorer;
  for (const char* name : {"attention_nomask", "attention", "layernorm", "cross_entropy"}) {
    explorer.open(name);
    explorer.app.view.tab = Tab::graph;
    const auto& steps = explorer.app.document.shown()->steps();
    for (std::size_t i = 0; i < steps.size() && steps[i].level <= Level::loop; ++i) {
      to_step(explorer, i);
      const GraphState& graph = explorer.app.graph;
      EXPECT_FALSE(graph.edges.empty());
      for (const GraphEdge& edge : graph.edges) {
        const float from = graph.layout.nodes.places[edge.from].y + graph.sizes[edge.from].y, to = graph.layout.nodes.places[edge.to].y;
        EXPECT_LT(from, to) << name << ", " << steps[i].id << ": " << graph.nodes[edge.from].name << " to " << graph.nodes[edge.to].name;
      }
    }
  }
}

TEST(Visitor, a_cycle_of_a_graph_holds_up_no_other_node) {
  const std::vector<ImVec2> sizes(4, ImVec2(10, 10));
  const GraphLayout layout = lay_out_graph(sizes, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}, 4);
  for (std::size_t n = 1; n < sizes.size(); ++n) EXPECT_LT(layout.places[n - 1].y, layout.places[n].y) << n;
}

TEST(Visitor, arrows_move_between_the_nodes_of_a_graph_that_has_the_keys) {
  Explorer explorer;
  explorer.open("softmax");
  explorer.app.view.tab = Tab::graph;
  explorer.frame();
  explorer.frame();
  mirror().reach("middle/graph/canvas");
  explorer.frame();
  explorer.frame();
  explorer.key(ImGuiKey_DownArrow);
  const std::string first = explorer.app.selected.name;
  EXPECT_FALSE(first.empty());
  explorer.key(ImGuiKey_DownArrow);
  EXPECT_NE(explorer.app.selected.name, first);
  explorer.key(ImGuiKey_UpArrow);
  EXPECT_EQ(explorer.app.selected.name, first);
  explorer.key(ImGuiKey_RightArrow);
  EXPECT_EQ(explorer.app.step(), 0U) << "the arrows are the graph's own";
}

// ---- keys and panels ----
TEST(Visitor, find_needs_no_click_first) {
  Explorer explorer;
  explorer.open("softmax");
  for (const Tab tab : {Tab::ir, Tab::program, Tab::graph}) {
    explorer.app.view.tab = tab;
    explorer.frame();
    explorer.frame();
    explorer.key(ImGuiKey_F, ImGuiMod_Ctrl);
    explorer.frame();
    explorer.type("exp");
    const std::string& query = tab == Tab::ir        ? explorer.app.ir.text.search
                               : tab == Tab::program ? explorer.app.program.editor.search
                                                     : explorer.app.graph.search;
    EXPECT_EQ(query, "exp") << static_cast<int>(tab);
    explorer.key(ImGuiKey_Escape);
    explorer.key(ImGuiKey_Escape);
  }
}

TEST(Visitor, a_double_click_on_a_head_gives_the_panel_all_the_place) {
  Explorer explorer;
  explorer.open("softmax");
  for (const char* panel : {"steps", "card", "middle"}) {
    const MirrorItem* item = mirror().find(panel + std::string("/panel"));
    ASSERT_NE(item, nullptr) << panel;
    const ImVec2 head{item->max.x - 30, item->min.y + 10};
    explorer.click_at(head);
    explorer.click_at(head);
    explorer.frame();
    EXPECT_EQ(explorer.app.view.alone, panel);
    const float width = mirror().find(panel + std::string("/panel"))->max.x - mirror().find(panel + std::string("/panel"))->min.x;
    EXPECT_GT(width, 1200) << panel;
    explorer.key(ImGuiKey_Escape);
    EXPECT_TRUE(explorer.app.view.alone.empty());
    ImGui::GetIO().DeltaTime = 1;  // the next click is no double click
    explorer.frame();
    ImGui::GetIO().DeltaTime = 1.0F / 60;
  }
}

TEST(Visitor, keywords_have_one_colour_in_program_and_ir) {
  Explorer explorer;
  explorer.open("attention");
  explorer.app.go_to(explorer.app.document.shown()->steps().size() - 1);
  explorer.frame();
  explorer.frame();
  bool found = false;
  for (const widgets::TextLine& line : explorer.app.ir.lines)
    for (const widgets::Stretch& stretch : line.stretches) found = found || (stretch.name.empty() && stretch.ink == colour(Role::accent));
  EXPECT_TRUE(found);
}

TEST(Visitor, the_history_says_what_was_and_what_is) {
  Explorer explorer;
  explorer.open("softmax");
  take_another_tile(explorer);
  const std::string line = explorer.app.document.shown()->session.history().back();
  EXPECT_NE(line.find(" → "), std::string::npos) << line;
}

float luminance(ImU32 packed) {
  const ImVec4 c = as_vec4(packed);
  const auto linear = [](float v) { return v <= 0.03928F ? v / 12.92F : std::pow((v + 0.055F) / 1.055F, 2.4F); };
  return 0.2126F * linear(c.x) + 0.7152F * linear(c.y) + 0.0722F * linear(c.z);
}
float contrast(ImU32 a, ImU32 b) {
  const float light = std::max(luminance(a), luminance(b)), dark = std::min(luminance(a), luminance(b));
  return (light + 0.05F) / (dark + 0.05F);
}
ImU32 over(ImU32 top, ImU32 ground) {
  const ImVec4 a = as_vec4(top), b = as_vec4(ground);
  return ImGui::ColorConvertFloat4ToU32({a.x * a.w + b.x * (1 - a.w), a.y * a.w + b.y * (1 - a.w), a.z * a.w + b.z * (1 - a.w), 1});
}

TEST(Visitor, every_ink_can_be_read_on_every_ground_of_both_themes) {
  const Screen screen;
  for (const Theme theme : {Theme::dark, Theme::light}) {
    apply_theme(theme, 1);
    const ImU32 panel = colour(Role::panel);
    for (const ImU32 ground : {panel, colour(Role::raised), over(picked_ground(), panel)}) {
      for (const Role role : {Role::text, Role::muted, Role::accent, Role::ok, Role::warn, Role::bad})
        EXPECT_GE(contrast(colour(role), ground), 4.8F) << static_cast<int>(theme) << " " << static_cast<int>(role);
    }
    for (const ImU32 ground : {panel, colour(Role::raised)})
      for (std::size_t i = 0; i < session::entity_colours; ++i)
        EXPECT_GE(contrast(entity_colour(i), ground), 4.8F) << static_cast<int>(theme) << " entity " << i;
    EXPECT_GE(contrast(colour(Role::text), colour(Role::line)), 4.8F);
  }
}

// ---- code ----
TEST(Visitor, the_hot_loop_of_a_listing_is_the_innermost_with_the_most_arithmetic) {
  const auto loop = hot_loop(
      ".outer:\n\tmov rax, rbx\n.copy:\n\tvmovups zmm0, [rsp]\n\tvunpcklps zmm1, zmm2, zmm0\n\tvmovups [rax], zmm1\n\tjne .copy\n.hot: # "
      "in\n\tvfmadd231ps zmm0, zmm1, zmm2\n"
      "\tvmovups [rsp + 8], zmm0\n\tadd rax, 8\n\tjb .hot\n\tjmp .outer\n\tret\n");
  ASSERT_TRUE(loop);
  EXPECT_EQ(loop->first, 7U);
  EXPECT_EQ(loop->last, 11U);
  EXPECT_EQ(loop->instructions, 4U);
  EXPECT_EQ(loop->vector, 2U);
  EXPECT_EQ(loop->arithmetic, 1U);
  EXPECT_EQ(loop->stack, 1U);
  EXPECT_FALSE(hot_loop("ret\n"));
}

// ---- files ----
TEST(Visitor, line_ends_and_the_mark_of_a_file_come_back_when_it_is_saved) {
  Explorer explorer;
  explorer.open("softmax");
  FileForm form;
  const std::string bytes = in_form(explorer.app.document.text(), {true, true});
  std::ofstream("windows.fathom", std::ios::binary) << bytes;
  open_file(explorer.app, "windows.fathom");
  explorer.settle();
  EXPECT_TRUE(explorer.app.document.diagnostics().empty());
  EXPECT_EQ(explorer.app.document.text().find('\r'), std::string::npos);
  save_program(explorer.app, "again.fathom");
  EXPECT_EQ(read_whole("again.fathom").value_or(""), bytes);
  EXPECT_EQ(in_form(plain_text(bytes, form), form), bytes);
}

TEST(Visitor, a_tilde_is_the_home_folder) {
  Explorer explorer;
  explorer.open("softmax");
  const std::string home = std::filesystem::current_path().string();
  const char* const before = std::getenv("HOME");
  const std::string kept = before == nullptr ? "" : before;
  setenv("HOME", home.c_str(), 1);
  save_program(explorer.app, "~/mine.fathom");
  EXPECT_TRUE(std::filesystem::exists("mine.fathom"));
  EXPECT_EQ(whole_path("~other/x"), "~other/x");
  setenv("HOME", kept.c_str(), 1);
}

TEST(Visitor, a_text_that_never_compiled_is_kept_over_a_crash) {
  Explorer explorer;
  explorer.open_text("broken.fathom", "operator nothing(");
  EXPECT_FALSE(explorer.app.document.is_changed()) << "it was only opened";
  explorer.app.document.type("operator nothing(x");
  explorer.settle();
  EXPECT_TRUE(explorer.app.document.is_changed());
  ASSERT_FALSE(write_whole("left.session.json", session_file(explorer.app)));
  explorer.open("softmax");
  open_recovered(explorer.app, "left.session.json");
  explorer.settle();
  EXPECT_EQ(explorer.app.document.text(), "operator nothing(x");
  EXPECT_EQ(explorer.app.document.inputs().file_name, "broken.fathom");
  EXPECT_TRUE(explorer.app.document.is_changed()) << "no file has it";
}

TEST(Visitor, a_program_that_had_to_be_mended_counts_as_changed) {
  Explorer explorer;
  explorer.open("softmax");
  const std::string good = explorer.app.document.text();
  session::Inputs inputs = explorer.app.document.inputs();
  inputs.source = good + "@@";
  explorer.app.document.open(inputs);
  explorer.settle();
  explorer.app.document.type(good);
  explorer.settle();
  ASSERT_NE(explorer.app.document.shown(), nullptr);
  EXPECT_TRUE(explorer.app.document.is_changed());
}

TEST(Visitor, undo_of_text_that_does_not_compile_can_be_redone) {
  Explorer explorer;
  explorer.open("softmax");
  const std::string good = explorer.app.document.text(), bad = good + "\nnonsense";
  explorer.app.document.type(bad);
  explorer.settle();
  explorer.app.document.undo();
  explorer.settle();
  ASSERT_EQ(explorer.app.document.text(), good);
  ASSERT_TRUE(explorer.app.document.can_redo());
  explorer.app.document.redo();
  explorer.settle();
  EXPECT_EQ(explorer.app.document.text(), bad);
  EXPECT_FALSE(explorer.app.document.diagnostics().empty());
  explorer.app.document.undo();
  explorer.settle();
  take_another_tile(explorer);
  EXPECT_FALSE(explorer.app.document.can_redo()) << "another change is made over it";
}

TEST(Visitor, of_two_sessions_opened_in_quick_succession_the_second_is_open) {
  Explorer explorer;
  explorer.open("softmax");
  save_session(explorer.app, "first.session.json");
  explorer.open("attention");
  save_session(explorer.app, "second.session.json");
  explorer.open("softmax");
  open_file(explorer.app, "first.session.json");
  open_file(explorer.app, "second.session.json");
  explorer.settle();
  EXPECT_EQ(explorer.app.document.opened_from(), "second.session.json");
  EXPECT_EQ(explorer.app.document.inputs().file_name, "attention.fathom");
}

TEST(Visitor, a_damaged_session_is_told_in_a_sentence) {
  for (const char* json : {R"({"fathom-session": 1, "states": [7], "at": 0})", R"({"fathom-session": 1, "at": {}})",
                           R"({"fathom-session": 1, "states": [{"file": 3}], "at": 0})"}) {
    const auto session = session::Session::from_json(json);
    ASSERT_FALSE(session);
    const std::string& message = session.error().front().message;
    EXPECT_EQ(message.find("exception"), std::string::npos) << message;
    EXPECT_EQ(message.find('['), std::string::npos) << message;
    EXPECT_NE(message.find("damaged"), std::string::npos) << message;
  }
}

// ---- compare, export, tour ----
TEST(Visitor, another_state_of_the_history_is_compared_step_by_step) {
  Explorer explorer;
  explorer.open("softmax");
  EXPECT_FALSE(run_command(explorer.app, "plan.compare-with")) << "one state only";
  take_another_tile(explorer);
  run_command(explorer.app, "plan.compare-with");
  explorer.frame();
  explorer.frame();
  ASSERT_NE(mirror().find("palette/plan.0"), nullptr);
  explorer.key(ImGuiKey_Enter);
  explorer.frame();
  ASSERT_EQ(explorer.app.view.other_plan, std::optional<std::size_t>(0));
  const auto changes = plan_changes(explorer.app);
  ASSERT_FALSE(changes.empty());
  const auto changed =
      std::find_if(changes.begin(), changes.end(), [](const auto& each) { return each.change == session::Change::changed; });
  ASSERT_NE(changed, changes.end());
  explorer.app.view.step = changed->id;
  explorer.frame();
  explorer.frame();
  EXPECT_TRUE(shows("middle/ir", "against the same step of state 1")) << mirror().text_of("middle/ir");
  EXPECT_TRUE(shows("middle/ir", "vs state 1"));
  run_command(explorer.app, "ir.compare-previous");
  EXPECT_FALSE(explorer.app.view.other_plan);
}

TEST(Visitor, the_palette_puts_first_what_has_the_letters_in_one_piece) {
  Explorer explorer;
  explorer.open("softmax");
  run_command(explorer.app, "view.palette");
  explorer.frame();
  explorer.type("tour");
  explorer.key(ImGuiKey_Enter);
  EXPECT_TRUE(explorer.app.tour);
}

TEST(Visitor, the_text_of_a_panel_is_copied_and_saved) {
  Explorer explorer;
  explorer.open("softmax");
  const MirrorItem* steps = mirror().find("steps/panel");
  ImGui::GetIO().AddMousePosEvent(steps->min.x + 20, steps->max.y - 20);
  explorer.frame();
  explorer.frame();
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Alt, true);
  explorer.key(ImGuiKey_T, ImGuiMod_Shift);
  ImGui::GetIO().AddKeyEvent(ImGuiMod_Alt, false);
  EXPECT_NE(explorer.copied.find(explorer.app.document.shown()->steps().back().title), std::string::npos) << explorer.copied;
  run_command(explorer.app, "panel.save-text");
  explorer.frame();
  explorer.frame();
  explorer.key(ImGuiKey_Enter);
  EXPECT_EQ(read_whole("softmax-steps.txt").value_or("").substr(0, 5), "Steps");
}

TEST(Visitor, the_tour_points_at_things_that_are_there_stops_nothing_and_ends) {
  Explorer explorer;
  explorer.open("softmax");
  EXPECT_FALSE(explorer.app.tour);
  run_command(explorer.app, "help.tour");
  for (std::size_t i = 0; i < tour_stops().size(); ++i) {
    explorer.frame();
    explorer.frame();
    EXPECT_NE(mirror().find(tour_stops()[i].item), nullptr) << tour_stops()[i].item;
    EXPECT_TRUE(shows("tour", std::string(tour_stops()[i].sentence)));
    const std::size_t before = explorer.app.step();
    explorer.key(ImGuiKey_RightArrow);
    EXPECT_EQ(explorer.app.step(), before + 1) << "everything goes on working";
    if (i > 0) {
      ASSERT_TRUE(explorer.click("tour/back"));
      EXPECT_TRUE(shows("tour", std::string(tour_stops()[i - 1].sentence)));
      ASSERT_TRUE(explorer.click("tour/next"));
    }
    ASSERT_TRUE(explorer.click("tour/next"));
  }
  EXPECT_FALSE(explorer.app.tour);
  run_command(explorer.app, "help.tour");
  explorer.frame();
  explorer.key(ImGuiKey_Escape);
  EXPECT_FALSE(explorer.app.tour);
}

// ---- narrow screens ----
/// Items that are pressed and lie over each other in part.
void expect_no_overlap() {
  std::vector<MirrorItem> pressed;
  for (const MirrorItem& item : mirror().items())
    if (item.kind == "button" || item.kind == "tab" || item.kind == "dot" || item.kind == "legend") pressed.push_back(item);
  for (std::size_t a = 0; a < pressed.size(); ++a)
    for (std::size_t b = a + 1; b < pressed.size(); ++b) {
      if (pressed[a].kind == "dot" && pressed[b].kind == "dot") continue;  // where they are pressed they may touch
      const float wide = std::min(pressed[a].max.x, pressed[b].max.x) - std::max(pressed[a].min.x, pressed[b].min.x);
      const float high = std::min(pressed[a].max.y, pressed[b].max.y) - std::max(pressed[a].min.y, pressed[b].min.y);
      EXPECT_FALSE(wide > 1 && high > 1) << pressed[a].id << " and " << pressed[b].id;
    }
}

TEST(Visitor, a_narrow_screen_has_one_column_and_the_ribbon) {
  for (const float scale : {1.0F, 3.0F}) {
    Explorer explorer;
    build_fonts(*ImGui::GetIO().Fonts, scale);
    apply_theme(Theme::dark, scale);
    ImGui::GetIO().DisplaySize = scale > 1 ? ImVec2{1280, 800} : ImVec2{320, 640};
    explorer.open("softmax");
    EXPECT_NE(mirror().find("ribbon/step.next"), nullptr);
    for (const char* panel : {"steps", "card", "middle"}) {
      ASSERT_TRUE(explorer.click("column/" + std::string(panel)));
      EXPECT_NE(mirror().find(panel + std::string("/panel")), nullptr) << panel;
      for (const char* other : {"steps", "card", "middle"})
        if (std::string(other) != panel) {
          EXPECT_EQ(mirror().find(other + std::string("/panel")), nullptr);
        }
      for (const MirrorItem& item : mirror().items())
        if (item.kind == "button" || item.kind == "tab") {
          EXPECT_GE(item.min.x, 0) << item.id;
          if (item.id.compare(0, 4, "bar/") == 0 || item.id.compare(0, 7, "ribbon/") == 0) {
            EXPECT_LE(item.max.x, ImGui::GetIO().DisplaySize.x) << item.id;
          }
        }
      expect_no_overlap();
    }
    explorer.key(ImGuiKey_RightArrow);
    EXPECT_EQ(explorer.app.step(), 1U);
  }
}

}  // namespace
}  // namespace fathom::ui::tests
