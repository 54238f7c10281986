// The step that is looked at: what it did, the rule, its cost, its check; the decision with every alternative, and what was refused.
#include <fmt/format.h>

#include <algorithm>

#include "command_button.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/derivation.hpp"
#include "panels/panels.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

void heading(std::string_view words) {
  ImGui::Dummy({1, gap(1)});
  widgets::text(words, Role::muted, Font::caption);
}

void cost_row(std::string_view label, double before, double after, const std::string& before_text, const std::string& after_text) {
  const float start = ImGui::GetCursorPosX(), column = gap(22);
  widgets::text(label, Role::muted);
  ImGui::SameLine(start + column);
  if (before_text == after_text) return widgets::text(after_text);
  const bool is_less = after < before;  // said by the sign too, not by the colour alone
  widgets::text(fmt::format("{} {}", is_less ? "▼" : "▲", change_of(before_text, after_text)), is_less ? Role::ok : Role::warn);
}

void cost(const Cost& before, const Cost& after) {
  heading("Cost of the whole program, predicted");
  cost_row("traffic", before.bytes, after.bytes, bytes_text(before.bytes), bytes_text(after.bytes));
  cost_row("arithmetic", before.flops, after.flops, count_text(before.flops) + "FLOP", count_text(after.flops) + "FLOP");
  cost_row("exponentials", before.exps, after.exps, count_text(before.exps), count_text(after.exps));
  cost_row("time", before.ms, after.ms, milliseconds_text(before.ms), milliseconds_text(after.ms));
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
    app.document.preview(decision.site, each.choice);
    preview_is_wanted = true;
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

/// What the algebra concluded about what this step touches: its own conclusions, or those of the reduction that it decides about.
std::vector<const Fusion*> fusions_at(const App& app, const Step& step) {
  std::vector<const Fusion*> found;
  for (const Fusion& fusion : step.fusions) found.push_back(&fusion);
  if (!found.empty() || !step.decision || step.decision->kind != "fuse") return found;
  const std::string consumer = step.decision->site.substr(0, step.decision->site.find('/'));
  for (const Fusion& fusion : app.document.shown()->compilation().record.fusions)
    if (app.document.shown()->provenance.are_counterparts(app.step(), consumer, 0, fusion.consumer.text())) found.push_back(&fusion);
  return found;
}

std::string verdict_of(const Fusion& fusion) {
  if (fusion.refusal) return "needs another pass, why";
  return std::string(name(fusion.kind)) + (fusion.derivation.empty() ? "" : ", derivation");
}

void why_it_is_legal(App& app, const Step& step) {
  const std::vector<const Fusion*> fusions = fusions_at(app, step);
  if (fusions.empty()) return;
  const bool is_refused = fusions.size() == 1 && fusions.front()->refusal;
  heading(is_refused ? "Why it cannot share the loop" : "Why it is legal");
  for (const Fusion* fusion : fusions) {
    const std::string consumer = fusion->consumer.text();
    const MirrorScope scope("why." + consumer);
    ImGui::PushID(consumer.c_str());
    const bool is_open = app.card.open == consumer;
    if (widgets::link("open", fmt::format("{} {}: {}", is_open ? "▾" : "▸", consumer, verdict_of(*fusion))))
      app.card.open = is_open ? "" : consumer;
    if (is_open) derivation(app, *fusion, app.card.derivations[consumer]);
    ImGui::PopID();
  }
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

void decision(App& app, const Decision& decision) {
  heading(fmt::format("Decision {}, made by {}", decision.site, decision.origin == Origin::by_user ? "you" : "the scheduler"));
  widgets::wrapped(decision.reason, Role::muted);
  if (std::any_of(decision.alternatives.begin(), decision.alternatives.end(), [](const Alternative& each) { return each.predicted_ms; }))
    widgets::wrapped("Times: estimated at this step, before the later ones. The preview below has that of the whole plan.", Role::muted,
                     Font::caption);
  if (decision.unsound) widgets::wrapped("Refuted, and taken all the same: everything made of it carries that.", Role::bad);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {gap(2), 0});
  bool preview_is_wanted = false;
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

void refusal(const Refusal& each) {
  widgets::wrapped("⊘ " + each.reason, Role::warn);
  if (!each.hint.empty()) widgets::wrapped(each.hint, Role::muted, Font::caption);
}

}  // namespace

void step_card(App& app, const Box& box) {
  widgets::begin_panel("card", box, {"This step", true});
  if (app.document.shown() == nullptr) {
    widgets::wrapped("Nothing is compiled yet.", Role::muted);
    return widgets::end_panel();
  }
  const auto& steps = app.document.shown()->steps();
  const std::size_t number = app.step();
  const Step& step = steps[number];
  widgets::wrapped(step.title, Role::text, Font::head);
  widgets::wrapped(step.says);
  const Check& check = app.document.check(number);
  widgets::wrapped(sentence_of(check), role_of(check.status));
  if (!step.rule.empty()) {
    heading("Rule");
    widgets::wrapped(step.rule, Role::text, Font::code);
  }
  why_it_is_legal(app, step);
  cost(number == 0 ? step.cost : steps[number - 1].cost, step.cost);
  if (step.decision)
    decision(app, *step.decision);
  else
    app.document.end_preview();
  if (!step.refusals.empty()) {
    heading("Not done here");
    for (const Refusal& each : step.refusals) refusal(each);
  }
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
