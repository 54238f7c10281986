// The list of steps: sign of the check, title, what became smaller, my choices; filter and "changed only".
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "compare.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "widgets/line_breaks.hpp"
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

/// What stands at the right end of a row, from the right.
struct Badge {
  std::string words;
  Role role;
  Font font;
};

/// How the step relates to the plan that is compared with.
std::optional<Badge> comparison_of(const std::vector<session::StepChange>& changes, const std::string& id) {
  for (const session::StepChange& each : changes) {
    if (each.id != id) continue;
    if (each.change == session::Change::added) return Badge{"no counterpart", Role::muted, Font::caption};
    return each.change == session::Change::changed ? Badge{"≠", Role::warn, Font::body} : Badge{"=", Role::muted, Font::body};
  }
  return std::nullopt;
}

/// Nothing was done, because what the step is about was refused.
bool is_refused(const Step& step) {
  const auto refused = [](const Alternative& each) { return each.refused.has_value(); };
  return !step.changed && step.decision && std::any_of(step.decision->alternatives.begin(), step.decision->alternatives.end(), refused);
}

std::vector<Badge> badges_of(const Step& step, const std::string& saved, const std::vector<session::StepChange>& changes) {
  std::vector<Badge> badges;
  if (auto compared = comparison_of(changes, step.id)) badges.push_back(*std::move(compared));
  if (step.decision && step.decision->locked) badges.push_back({icons::lock, Role::muted, Font::body});
  if (step.decision && step.decision->origin == Origin::by_user) badges.push_back({"■", Role::accent, Font::caption});
  if (is_refused(step)) badges.push_back({"⊘", Role::warn, Font::body});
  if (!saved.empty()) badges.push_back({saved, saved.substr(0, 1) == "+" ? Role::warn : Role::ok, Font::caption});
  return badges;
}

/// The title in one line, or in two where it is longer; the rest of a third is cut.
std::vector<std::string> lines_of_title(const std::string& title, float width) {
  const std::vector<widgets::BrokenLine> lines = widgets::lines_within(title, width, Font::body_bold);
  if (lines.size() == 1) return {title};
  return {title.substr(0, lines[0].end), widgets::cut_to(title.substr(lines[1].begin), width, Font::body_bold)};
}

void row(App& app, std::size_t number, double most, const std::vector<session::StepChange>& changes) {
  const auto& steps = app.document.shown()->steps();
  const Step& step = steps[number];
  const bool here = number == app.step();
  const std::string saved = saving(steps, number, most);
  const std::vector<Badge> badges = badges_of(step, saved, changes);
  const float width = ImGui::GetContentRegionAvail().x;
  float room = width - gap(7) - gap(2);
  for (const Badge& badge : badges) room -= widgets::measure(badge.words, badge.font).x + gap(1.5F);
  const std::vector<std::string> title = lines_of_title(step.title, room);
  const float line = font(Font::body)->FontSize;
  const widgets::Pressable state = widgets::pressable(step.id, {width, metrics().row + static_cast<float>(title.size() - 1) * line});
  const Box& box = state.box;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (here || state.hovered) list.AddRectFilled(box.min, box.max, here ? picked_ground() : colour(Role::raised), metrics().control_radius);
  if (here) list.AddRectFilled(box.min, {box.min.x + metrics().focus_ring, box.max.y}, colour(Role::accent));
  const Check& check = app.document.check(number);
  const float y = box.min.y + (metrics().row - line) / 2;
  widgets::draw_text(list, {box.min.x + gap(2), y}, sign_of(check.status), colour(role_of(check.status)), Font::body);
  float right = box.max.x - gap(2);
  for (const Badge& badge : badges) {
    const ImVec2 extent = widgets::measure(badge.words, badge.font);
    right -= extent.x;
    widgets::draw_text(list, {right, box.min.y + (metrics().row - extent.y) / 2}, badge.words, colour(badge.role), badge.font);
    right -= gap(1.5F);
  }
  for (std::size_t i = 0; i < title.size(); ++i)
    widgets::draw_text(list, {box.min.x + gap(7), y + static_cast<float>(i) * line}, title[i],
                       colour(here || step.changed ? Role::text : Role::muted), here ? Font::body_bold : Font::body);
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

/// Steps that this plan has not, behind its own.
void only_in_other_plan(const App& app, const std::vector<session::StepChange>& changes) {
  const session::Compilation* other = other_plan(app);
  if (other == nullptr) return;
  bool is_first = true;
  const MirrorScope scope("removed");
  for (const session::StepChange& each : changes) {
    if (each.change != session::Change::removed) continue;
    if (is_first) {
      ImGui::Dummy({1, gap(1)});
      widgets::text(fmt::format("Only in state {}, no counterpart here", *app.view.other_plan + 1), Role::muted, Font::caption);
    }
    is_first = false;
    const auto step = std::find_if(other->record.steps.begin(), other->record.steps.end(),
                                   [&](const Step& candidate) { return candidate.id == each.id; });
    if (step != other->record.steps.end()) widgets::fitted(each.id, "−  " + step->title, ImGui::GetContentRegionAvail().x, Role::muted);
  }
}

}  // namespace

void steps(App& app, const Box& box) {
  widgets::begin_panel("steps", box, {"Steps", true});
  if (app.document.shown() == nullptr) {
    nothing_shown(app, "The steps appear here as soon as the text compiles.");
    return widgets::end_panel();
  }
  widgets::field("filter", {}, app.view.filter, "filter steps");
  widgets::checkbox("only-changed", "changed only", app.view.only_changed);
  const std::string_view head = "intermediates stored";
  const float head_at = ImGui::GetContentRegionMax().x - widgets::measure(head, Font::caption).x;
  const bool has_room = ImGui::GetWindowPos().x + head_at > ImGui::GetItemRectMax().x + gap(2);
  if (has_room) {
    ImGui::SameLine(head_at);
    ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (metrics().row - font(Font::caption)->FontSize) / 2);
  } else {
    ImGui::SetCursorPosX(head_at);
  }
  widgets::text(head, Role::muted, Font::caption);
  ImGui::BeginChild("##list");
  const auto& all = app.document.shown()->steps();
  const double most = most_stored(all);
  const std::vector<session::StepChange> changes = plan_changes(app);
  std::optional<Level> level;
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_listed(app, all[i])) continue;
    if (level != all[i].level) {
      if (level) ImGui::Dummy({1, gap(1)});
      widgets::text(title_of(all[i].level), Role::muted, Font::caption);
    }
    level = all[i].level;
    row(app, i, most, changes);
  }
  ImGui::PopStyleVar();
  only_in_other_plan(app, changes);
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
