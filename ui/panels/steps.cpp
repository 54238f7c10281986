// The list of steps: sign of the check, title, what became smaller, my choices; filter and "changed only".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

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

constexpr double least_shown = 0.01;  ///< of the most that any step stores: a counter of four bytes is no news

double most_stored(const std::vector<Step>& steps) {
  double most = 0;
  for (const Step& step : steps) most = std::max(most, session::stored_bytes(step));
  return most;
}

/// What the step saves or costs, in the fewest words; empty where that is nothing beside `most`.
std::string saving(const std::vector<Step>& steps, std::size_t number, double most) {
  if (number == 0) return {};
  const double before = session::stored_bytes(steps[number - 1]), after = session::stored_bytes(steps[number]);
  const double change = std::abs(before - after);
  if (change <= least_shown * most) return {};
  return (after < before ? "−" : "+") + bytes_text(change);
}

void row(App& app, std::size_t number, double most) {
  const auto& steps = app.document.shown()->steps();
  const Step& step = steps[number];
  const bool here = number == app.step();
  const widgets::Pressable state = widgets::pressable(step.id, {ImGui::GetContentRegionAvail().x, metrics().row});
  const Box& box = state.box;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (here || state.hovered)
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
  const std::string saved = saving(steps, number, most);
  from_right(saved, saved.substr(0, 1) == "+" ? Role::warn : Role::ok, Font::caption);
  const Font which = here ? Font::body_bold : Font::body;
  const float left = box.min.x + gap(7);
  widgets::draw_text(list, {left, y}, widgets::cut_to(step.title, right - left, which), colour(step.changed ? Role::text : Role::muted),
                     which);
  widgets::focus_ring(box, state.focused);
  widgets::tip(step.title + "\n" + step.says + "\n" + sentence_of(check));
  mirror().add("row", step.id, fmt::format("{} {}{}{}", sign_of(check.status), step.title, saved.empty() ? "" : " ", saved), box.min,
               box.max, true, here);
  if (here && app.revealed_step != step.id) {  // once: then the wheel may leave it
    ImGui::SetScrollHereY(0.5F);
    app.revealed_step = step.id;
  }
  if (state.pressed) app.go_to(number);
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
  const double most = most_stored(all);
  std::optional<Level> level;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_listed(app, all[i])) continue;
    if (level != all[i].level) {
      if (level) ImGui::Dummy({1, gap(1)});
      widgets::text(title_of(all[i].level), Role::muted, Font::caption);
    }
    level = all[i].level;
    row(app, i, most);
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
