// Every decision of the plan: site in words, choice, lock, mine; pressed it shows its alternatives in place.
#include <fmt/format.h>

#include <algorithm>

#include "icons.hpp"
#include "mirror.hpp"
#include "panels/choices.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/tune_parts.hpp"
#include "session/plans.hpp"

namespace fathom::ui::panels {
namespace {

bool is_own_choice(const Decision& decision) { return decision.origin == Origin::by_user; }

/// Words on the left, on the right the choice with its marks.
void decision_row(App& app, const Decision& decision, const std::string& words, const std::string& lost) {
  const bool is_open = app.tune.open_site == decision.site;
  const widgets::Pressable state = widgets::pressable(decision.site, {ImGui::GetContentRegionAvail().x, metrics().row});
  const Box& box = state.box;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (is_open || state.hovered)
    list.AddRectFilled(box.min, box.max, is_open ? faded(Role::accent, 0.18F) : colour(Role::raised), metrics().control_radius);
  const auto centred = [&](Font which) { return box.min.y + (box.height() - font(which)->FontSize) / 2; };
  float right = box.max.x - gap(1);
  const auto mark = [&](const char* sign, Role role) {
    right -= widgets::measure(sign, Font::body).x;
    widgets::draw_text(list, {right, centred(Font::body)}, sign, colour(role), Font::body);
    right -= gap(1);
  };
  if (decision.locked) mark(icons::lock, Role::muted);
  if (is_own_choice(decision)) mark("↺", Role::accent);
  const float left = box.min.x + gap(1);
  widgets::draw_text(list, {left, centred(Font::body)}, is_open ? "▾" : "▸", colour(Role::muted), Font::body);
  const float words_at = left + gap(4), room = right - words_at, widest_choice = room * (lost.empty() ? 0.55F : 0.75F);
  const Font face = lost.empty() ? Font::code : Font::caption;
  const std::string choice = widgets::cut_to(lost.empty() ? decision.choice : lost, widest_choice, face);
  const float choice_width = widgets::measure(choice, face).x;
  const Role ink = decision.unsound ? Role::bad : lost.empty() ? Role::text : Role::muted;
  widgets::draw_text(list, {right - choice_width, centred(face)}, choice, colour(ink), face);
  widgets::draw_text(list, {words_at, centred(Font::body)}, widgets::cut_to(words, room - choice_width - gap(2), Font::body),
                     colour(lost.empty() ? Role::text : Role::muted), Font::body);
  widgets::focus_ring(box, state.focused);
  widgets::tip(fmt::format("{}: {}{}{}{}\n{}", words, decision.choice, is_own_choice(decision) ? ", chosen by you" : "",
                           decision.locked ? ", locked" : "", lost.empty() ? "" : ", " + lost, decision.reason));
  mirror().add("row", decision.site,
               fmt::format("{} {}{}{}", words, lost.empty() ? decision.choice : lost, is_own_choice(decision) ? " ↺" : "",
                           decision.locked ? " locked" : ""),
               box.min, box.max, true, is_open);
  if (!state.pressed) return;
  app.tune.open_site = is_open ? "" : decision.site;
  const auto& steps = app.document.shown()->steps();
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].decision && steps[i].decision->site == decision.site) app.go_to(i);  // Explore is there, too
}

}  // namespace

void tune_decisions(App& app, const Box& box) {
  widgets::begin_panel("decisions", box, {"Decisions", true});
  if (app.document.shown() == nullptr) {
    nothing_shown(app, "The decisions of the plan appear here as soon as the text compiles.");
    return widgets::end_panel();
  }
  const Record& record = app.document.shown()->compilation().record;
  const auto mine = std::count_if(record.decisions.begin(), record.decisions.end(), is_own_choice);
  widgets::text(fmt::format("{} of {} mine", mine, record.decisions.size()), Role::muted, Font::caption);
  if (record.decisions.empty()) widgets::wrapped("Nothing could be done otherwise in this plan.", Role::muted);
  bool some_is_open = false;
  for (const Decision& decision : record.decisions) {
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap(2), 0});
    const std::string lost = session::lost_effect(record, decision);
    decision_row(app, decision, session::words_of_site(record, decision.site), lost);
    ImGui::PopStyleVar();
    if (app.tune.open_site != decision.site) continue;
    some_is_open = true;
    ImGui::Indent(gap(4));
    widgets::wrapped(decision.reason, Role::muted, Font::caption);
    if (!lost.empty()) widgets::wrapped(fmt::format("In this plan it has no effect: {}.", lost), Role::muted, Font::caption);
    if (decision.unsound) widgets::wrapped("Refuted, and taken all the same: everything made of it carries that.", Role::bad);
    choices(app, decision);
    ImGui::Dummy({gap(1), gap(1)});
    ImGui::Unindent(gap(4));
  }
  if (!some_is_open) app.document.end_preview();
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
