#include "panels/choices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_button.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "widgets/basic.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

using widgets::Box;

/// A change of what is shown is seen in the first frame that shows it.
void follow_change(App& app) {
  CardState::Rest& rest = app.card.rest;
  if (rest.version != app.document.version() || rest.step != app.step()) rest = {app.document.version(), app.step(), ImGui::GetMousePos()};
}

bool has_moved_since_change(const App& app) {
  const ImVec2 mouse = ImGui::GetMousePos(), rest = app.card.rest.mouse;
  return mouse.x != rest.x || mouse.y != rest.y;
}

/// One alternative: pressed to take it. Refused ones say why in place of their time.
/// Looking at one asks for its preview: `preview_is_wanted` is set.
void alternative(App& app, const Decision& decision, const Alternative& each, bool& preview_is_wanted) {
  const bool taken = each.choice == decision.choice;
  const bool enabled = !each.refused && !taken;
  const std::string id = decision.site + "=" + each.choice;
  const widgets::Pressable state = widgets::pressable(id, {ImGui::GetContentRegionAvail().x, metrics().row}, enabled);
  const Box& box = state.box;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if ((state.hovered || state.focused) && enabled) {
    if (state.focused || has_moved_since_change(app)) {
      app.document.preview(decision.site, each.choice);
      preview_is_wanted = true;
    }
    list.AddRectFilled(box.min, box.max, colour(Role::raised), metrics().control_radius);
  }
  const float y = box.min.y + (box.height() - font(Font::body)->FontSize) / 2;
  const Role ink = each.refused ? Role::muted : Role::text;
  widgets::draw_text(list, {box.min.x + gap(1), y}, each.refused ? "⊘" : taken ? "●" : "○", colour(taken ? Role::accent : ink), Font::body);
  widgets::draw_text(list, {box.min.x + gap(6), y}, each.choice, colour(ink), taken ? Font::body_bold : Font::body);
  const float name_end = box.min.x + gap(7) + widgets::measure(each.choice, taken ? Font::body_bold : Font::body).x;
  std::string right = each.predicted_ms ? milliseconds_text(*each.predicted_ms) : "";
  const Font right_font = each.refused ? Font::caption : Font::code;
  if (each.refused) right = widgets::cut_to(each.refused->reason, box.max.x - gap(1) - name_end - gap(2), right_font);
  const ImVec2 extent = widgets::measure(right, right_font);
  const float x = std::max(name_end + gap(2), box.max.x - gap(1) - extent.x);
  ImGui::PushClipRect({x, box.min.y}, box.max, true);
  widgets::draw_text(list, {x, box.min.y + (box.height() - extent.y) / 2}, right, colour(Role::muted), right_font);
  ImGui::PopClipRect();
  widgets::focus_ring(box, state.focused);
  if (each.refused) widgets::tip(each.refused->reason + (each.refused->hint.empty() ? "" : "\n" + each.refused->hint));
  mirror().add("alternative", id, each.choice, box.min, box.max, enabled, taken);
  if (state.pressed)
    app.document.change(
        [site = decision.site, choice = each.choice](session::Session& session) { return session.override_choice(site, choice); });
}

/// What the previewed choice would change, below the alternatives.
void preview_line(const App& app) {
  const Preview* preview = app.document.previewed();
  if (preview == nullptr) return widgets::text(" ", Role::muted, Font::caption);  // keeps its place: nothing below it jumps
  if (preview->shown == nullptr) return widgets::wrapped(preview->refused.empty() ? "…" : preview->refused, Role::muted, Font::caption);
  const session::Compilation &now = app.document.shown()->compilation(), &then = preview->shown->compilation();
  const auto changes = session::compare(now.record, then.record);
  const auto changed =
      std::count_if(changes.begin(), changes.end(), [](const auto& each) { return each.change != session::Change::equal; });
  widgets::wrapped(
      fmt::format("{}: {} of {} steps change, {}", preview->choice, changed, changes.size(),
                  change_of(milliseconds_text(now.record.steps.back().cost.ms), milliseconds_text(then.record.steps.back().cost.ms))),
      Role::muted, Font::caption);
}

}  // namespace

void choices(App& app, const Decision& decision) {
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap(2), 0});
  bool preview_is_wanted = false;
  follow_change(app);
  for (const Alternative& each : decision.alternatives) alternative(app, decision, each, preview_is_wanted);
  ImGui::PopStyleVar();
  if (!preview_is_wanted) app.document.end_preview();
  preview_line(app);
  widgets::ButtonOptions lock;
  lock.icon = decision.locked ? icons::lock : icons::unlock;
  lock.tip = "A locked choice stays when others change";
  lock.selected = decision.locked;
  command_button(app, "lock", "decision.lock", decision.locked ? "Locked" : "Lock", lock);
  ImGui::SameLine();
  widgets::ButtonOptions reset;
  reset.icon = icons::undo;
  command_button(app, "reset", "decision.reset", "Reset", reset);
}

}  // namespace fathom::ui::panels
