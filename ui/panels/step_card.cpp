// The step that is looked at: what it did, the rule, its cost, its check; the decision with every alternative, and what was refused.
#include <fmt/format.h>

#include <algorithm>

#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/choices.hpp"
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

void decision(App& app, const Decision& decision) {
  heading(fmt::format("Decision {}, made by {}", decision.site, decision.origin == Origin::by_user ? "you" : "the scheduler"));
  widgets::wrapped(decision.reason, Role::muted);
  if (std::any_of(decision.alternatives.begin(), decision.alternatives.end(), [](const Alternative& each) { return each.predicted_ms; }))
    widgets::wrapped("Times: estimated at this step, before the later ones. The preview below has that of the whole plan.", Role::muted,
                     Font::caption);
  if (decision.unsound) widgets::wrapped("Refuted, and taken all the same: everything made of it carries that.", Role::bad);
  choices(app, decision);
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
