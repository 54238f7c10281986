// One thing, one colour, everywhere: what is clicked in one panel stands out in all the others that show it.
#include <map>
#include <set>

#include "headless.hpp"

namespace fathom::ui::tests {
namespace {

constexpr float tall = 6000;  // so that no panel scrolls
constexpr std::array tabs = {Tab::program, Tab::ir, Tab::graph, Tab::code, Tab::stage};

std::string panel_of(Tab tab) {
  switch (tab) {
    case Tab::program:
      return "middle/program/";
    case Tab::ir:
      return "middle/ir/";
    case Tab::graph:
      return "middle/graph/";
    case Tab::code:
      return "middle/code/";
    case Tab::stage:
      return "middle/stage/";
    case Tab::layout:
      return "middle/layout/";
    case Tab::roles:
      return "middle/roles/";
  }
  return {};
}

bool is_below(const MirrorItem& item, const std::string& panel) { return item.id.compare(0, panel.size(), panel) == 0; }

void show(Explorer& explorer, Tab tab) {
  explorer.app.view.tab = tab;
  constexpr int most_waits = 3000;
  explorer.frame();
  for (int i = 0; i < most_waits && (explorer.app.machine_code.is_busy() || explorer.app.stage.is_busy()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    explorer.frame();
  }
  explorer.frame();
  explorer.frame();
}

/// Panels of the present screen in which something stands out.
std::set<std::string> lit_panels(const std::vector<std::string>& panels) {
  std::set<std::string> lit;
  for (const MirrorItem& item : mirror().items())
    for (const std::string& panel : panels)
      if (is_below(item, panel) && (item.selected || item.kind == "life") &&
          (item.kind == "word" || item.kind == "node" || item.kind == "life"))
        lit.insert(panel);
  return lit;
}

/// Names in the panel, each with an item to click.
std::map<std::string, std::string> names_in(const std::string& panel) {
  std::map<std::string, std::string> found;
  for (const MirrorItem& item : mirror().items()) {
    if (!is_below(item, panel)) continue;
    if (item.kind == "word") found.emplace(item.text, item.id);
    if (item.kind == "node") found.emplace(item.id.substr(item.id.rfind('/') + 1), item.id);
  }
  return found;
}

/// Clicks every name of every panel at the step; each must stand out in four other panels.
void click_everything(Explorer& explorer, std::size_t step) {
  explorer.app.go_to(step);
  std::vector<std::pair<Tab, std::string>> from;
  for (const Tab tab : tabs) from.emplace_back(tab, panel_of(tab));
  from.emplace_back(Tab::ir, "card/");
  int clicked = 0;
  for (const auto& [tab, panel] : from) {
    show(explorer, tab);
    for (const auto& [name, item] : names_in(panel)) {
      show(explorer, tab);
      explorer.app.selected = {};
      ASSERT_TRUE(explorer.click(item)) << item;
      if (explorer.app.selected.is_empty()) continue;  // a name that came from no tensor: an index, the accumulator of a law
      const Selection selected = explorer.app.selected;
      if (!explorer.app.colour_of(selected.step, selected.name)) continue;
      ++clicked;
      std::set<std::string> lit;
      for (const Tab other : tabs) {
        show(explorer, other);
        EXPECT_EQ(explorer.app.selected, selected);
        for (const std::string& each : lit_panels({panel_of(other), "card/", "ribbon/life/"})) lit.insert(each);
      }
      EXPECT_TRUE(lit.contains(panel)) << panel << " does not show what was clicked in it: " << name;
      lit.erase(panel);
      std::string all;
      for (const std::string& each : lit) all += each + " ";
      EXPECT_GE(lit.size(), 4U) << selected.name << ", clicked in " << panel << " at step " << step << ", stands out in: " << all;
    }
  }
  EXPECT_GE(clicked, 8) << "at step " << step;
}

class Linking : public ::testing::TestWithParam<const char*> {};

TEST_P(Linking, what_is_clicked_in_one_panel_stands_out_in_four_others) {
  Explorer explorer(1280, tall);
  explorer.app.machine_code.generate = one_instruction_a_line;
  explorer.open(GetParam());
  explorer.app.view.whole_text = true;
  const auto& steps = explorer.app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool is_last_of_level = i + 1 == steps.size() || steps[i + 1].after.level != steps[i].after.level;
    const bool fuses = steps[i].decision && steps[i].decision->kind == "fuse";
    if (!is_last_of_level && !fuses) continue;
    for (const Fusion& fusion : explorer.app.document.shown()->compilation().record.fusions)
      explorer.app.card.open = fusion.consumer.text();
    click_everything(explorer, i);
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, Linking, ::testing::Values("attention", "rmsnorm"), [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace fathom::ui::tests
