// The list of steps: sign of the check, title, what became smaller, my choices; filter and "changed only".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "command.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_listed(const App& app, const Step& step) {
  if (app.view.only_changed && !step.changed) return false;
  const std::string filter = lower(app.view.filter);
  return filter.empty() || lower(step.title + " " + step.says + " " + step.id + " " + step.rule).find(filter) != std::string::npos;
}

constexpr double least_shown = 0.01;  ///< of what is stored: a counter of four bytes is no news

/// Bytes of intermediates in main memory.
double stored(const Step& step) {
  double total = 0;
  for (const TensorLife& life : step.lives)
    if (life.place == "main memory") total += life.bytes;
  return total;
}

/// What the step saves or costs, in the fewest words; empty where neither.
std::string saving(const std::vector<Step>& steps, std::size_t number) {
  if (number == 0) return {};
  const double before = stored(steps[number - 1]), after = stored(steps[number]);
  if (std::abs(before - after) < least_shown * std::max(before, after)) return {};
  return (after < before ? "−" : "+") + bytes_text(std::max(before, after) - std::min(before, after));
}

void row(App& app, std::size_t number) {
  const auto& steps = app.document.shown()->steps();
  const Step& step = steps[number];
  const bool here = number == app.step();
  const float width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const Box box{at, {at.x + width, at.y + metrics().row}};
  ImGui::PushID(static_cast<int>(number));
  const bool focused = mirror().focusable(step.id);
  const bool pressed = ImGui::InvisibleButton("##row", {std::max(1.0F, width), metrics().row}) || widgets::activated_by_key(focused);
  const bool hovered = ImGui::IsItemHovered();
  ImGui::PopID();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
  if (here || hovered)
    list.AddRectFilled(box.min, box.max, here ? faded(Role::accent, 0.18F) : colour(Role::raised), metrics().control_radius);
  const Check& check = app.document.check(number);
  const float y = box.min.y + (box.height() - font(Font::body)->FontSize) / 2;
  widgets::draw_text(list, {box.min.x + gap(2), y}, sign_of(check.status), colour(role_of(check.status)), Font::body);
  float right = box.max.x - gap(2);
  const auto from_right = [&](const std::string& words, Role role, Font which) {
    if (words.empty()) return;
    const ImVec2 extent = widgets::measure(words, which);
    right -= extent.x;
    widgets::draw_text(list, {right, box.min.y + (box.height() - extent.y) / 2}, words, colour(role), which);
    right -= gap(1.5F);
  };
  if (step.decision && step.decision->locked) from_right(icons::lock, Role::muted, Font::body);
  if (step.decision && step.decision->origin == Origin::by_user) from_right("■", Role::accent, Font::caption);
  const std::string saved = saving(steps, number);
  from_right(saved, saved.substr(0, 1) == "+" ? Role::warn : Role::ok, Font::caption);
  const Font which = here ? Font::body_bold : Font::body;
  const float left = box.min.x + gap(7);
  widgets::draw_text(list, {left, y}, widgets::cut_to(step.title, right - left, which), colour(step.changed ? Role::text : Role::muted),
                     which);
  widgets::focus_ring(box, focused);
  widgets::tip(step.title + "\n" + step.says + "\n" + sentence_of(check));
  mirror().add("row", step.id, std::string(sign_of(check.status)) + " " + step.title, box.min, box.max, true, here);
  if (here) ImGui::SetScrollHereY(0.5F);
  if (pressed) app.go_to(number);
}

}  // namespace

void steps(App& app, const Box& box) {
  widgets::begin_panel("steps", box, {"Steps", true});
  if (app.document.shown() == nullptr) {
    widgets::wrapped(app.document.diagnostics().empty() ? "Compiling…" : "The steps appear as soon as the text compiles.", Role::muted);
    return widgets::end_panel();
  }
  widgets::field("filter", {}, app.view.filter, "filter steps");
  widgets::checkbox("only-changed", "changed only", app.view.only_changed);
  const std::string_view head = "intermediates stored";
  ImGui::SameLine(ImGui::GetContentRegionMax().x - widgets::measure(head, Font::caption).x);
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (metrics().row - font(Font::caption)->FontSize) / 2);
  widgets::text(head, Role::muted, Font::caption);
  ImGui::BeginChild("##list");
  const auto& all = app.document.shown()->steps();
  std::optional<Level> level;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_listed(app, all[i])) continue;
    if (level != all[i].level) {
      if (level) ImGui::Dummy({1, gap(1)});
      widgets::text(title_of(all[i].level), Role::muted, Font::caption);
    }
    level = all[i].level;
    row(app, i);
  }
  ImGui::PopStyleVar();
  if (!level) {
    widgets::wrapped("No step matches the filter.", Role::muted);
    if (widgets::link("clear", "Show all steps")) {
      app.view.filter.clear();
      app.view.only_changed = false;
    }
  }
  ImGui::EndChild();
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
