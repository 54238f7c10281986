// The step that is looked at: what it did, the rule, its cost, its check; the decision with every alternative, and what was refused.
#include <fmt/format.h>

#include <algorithm>

#include "command.hpp"
#include "glossary.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/choices.hpp"
#include "panels/derivation.hpp"
#include "panels/linked_formula.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "widgets/maths.hpp"
#include "widgets/prose.hpp"
#include "words.hpp"

namespace fathom::ui {

struct CardState::Laws {
  std::uint64_t version = 0;
  std::size_t step = 0;
  float width = 0, em = 0;
  std::vector<widgets::MathsBox> boxes;
};

namespace panels {
namespace {

void heading(std::string_view words) {
  ImGui::Dummy({1, gap(1)});
  widgets::wrapped(words, Role::muted, Font::caption);
}

/// Running text with its terms; a term that is pressed is looked up.
void prose(App& app, widgets::Explained& explained, std::string_view words, Role role = Role::text, Font which = Font::body) {
  if (const auto pressed = widgets::prose(words, explained, role, which)) ask(app, Ask::glossary, std::string(glossary()[*pressed].word));
}

void cost_row(App& app, widgets::Explained& explained, std::string_view label, double before, double after, const std::string& before_text,
              const std::string& after_text) {
  const bool is_same = before_text == after_text, is_less = after < before;  // said by the sign too, not by the colour alone
  const std::string words = is_same ? after_text : fmt::format("{} {}", is_less ? "▼" : "▲", change_of(before_text, after_text));
  const float start = ImGui::GetCursorPosX(), column = gap(22), room = ImGui::GetContentRegionAvail().x;
  prose(app, explained, label, Role::muted);
  if (column + widgets::measure(words, Font::body).x <= room)
    ImGui::SameLine(start + column);
  else
    ImGui::SetCursorPosX(start + gap(3));  // a narrow card has them below each other
  widgets::text(words, is_same ? Role::text : is_less ? Role::ok : Role::warn);
}

void cost(App& app, widgets::Explained& explained, const Cost& before, const Cost& after) {
  heading("Cost of the whole program, predicted");
  cost_row(app, explained, "traffic", before.bytes, after.bytes, bytes_text(before.bytes), bytes_text(after.bytes));
  cost_row(app, explained, "arithmetic", before.flops, after.flops, count_text(before.flops) + "FLOP", count_text(after.flops) + "FLOP");
  cost_row(app, explained, "exponentials", before.exps, after.exps, count_text(before.exps), count_text(after.exps));
  cost_row(app, explained, "time", before.ms, after.ms, milliseconds_text(before.ms), milliseconds_text(after.ms));
}

/// What the algebra concluded about what this step touches: its own conclusions, or those of the reduction that it decides about.
std::vector<const Fusion*> fusions_at(const App& app, const Step& step) {
  std::vector<const Fusion*> found;
  for (const Fusion& fusion : step.fusions) found.push_back(&fusion);
  return found.empty() ? app.document.shown()->provenance.fusions_decided(app.step()) : found;
}

std::string verdict_of(const Fusion& fusion) {
  if (fusion.refusal) return "needs another pass, why";
  return std::string(name(fusion.kind)) + (fusion.derivation.empty() ? "" : ", derivation");
}

/// The laws of the step's repairs as formulas.
void laws(App& app, const std::vector<const Fusion*>& fusions) {
  const float width = ImGui::GetContentRegionAvail().x, em = gap(4.5F);
  if (!app.card.laws) app.card.laws = std::make_shared<CardState::Laws>();
  CardState::Laws& made = *app.card.laws;
  if (made.version != app.document.version() || made.step != app.step() || made.width != width || made.em != em) {
    made = {app.document.version(), app.step(), width, em, {}};
    for (const Fusion* fusion : fusions)
      if (fusion->repair)
        for (const math::Carried& carried : fusion->repair->carried)
          made.boxes.push_back(widgets::lay_out_relation(symbol(carried.name), "←", carried.move, em, width));
  }
  for (std::size_t i = 0; i < made.boxes.size(); ++i) linked_formula(app, fmt::format("law-{}", i), made.boxes[i]);
}

bool has_law(const std::vector<const Fusion*>& fusions) {
  return std::any_of(fusions.begin(), fusions.end(), [](const Fusion* each) { return each->repair && !each->repair->carried.empty(); });
}

/// What the step saves of what the program stores, or else moves, so large that nobody overlooks it.
void saved(App& app, const Step& before, const Step& step, widgets::Explained& explained) {
  const double stored = session::stored_bytes(before), stores = session::stored_bytes(step);
  constexpr double least_part = 0.01;  // of what was there: less is no news
  const bool less_stored = stored - stores > least_part * stored,
             less_moved = before.cost.bytes - step.cost.bytes > least_part * before.cost.bytes;
  if (!less_stored && !less_moved) return;
  const std::string words = less_stored ? change_of(bytes_text(stored), stores > 0 ? bytes_text(stores) : "0")
                                        : change_of(bytes_text(before.cost.bytes), bytes_text(step.cost.bytes));
  const MirrorScope scope("saved");
  ImGui::Dummy({1, gap(1)});
  widgets::text(words, Role::ok, Font::number);
  prose(app, explained, less_stored ? "of intermediates stored in main memory" : "of traffic to and from main memory", Role::muted,
        Font::caption);
}

void why_it_is_legal(App& app, const Step& step, const std::vector<const Fusion*>& fusions) {
  if (fusions.empty()) return;
  const bool is_refused = fusions.size() == 1 && fusions.front()->refusal;
  heading(is_refused ? "Why it cannot share the loop" : "Why it is legal");
  if (step.decision && step.decision->kind == "fuse") laws(app, fusions);
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

void decision(App& app, const Decision& decision, widgets::Explained& explained) {
  heading(fmt::format("Decision {}, made by {}", decision.site, decision.origin == Origin::by_user ? "you" : "the scheduler"));
  prose(app, explained, decision.reason, Role::muted);
  if (std::any_of(decision.alternatives.begin(), decision.alternatives.end(), [](const Alternative& each) { return each.predicted_ms; }))
    widgets::wrapped("Times: what the scheduler compared. Rest on a choice to see what it makes of the whole plan.", Role::muted,
                     Font::caption);
  if (decision.unsound) widgets::wrapped("Refuted, and taken all the same: everything made of it carries that.", Role::bad);
  choices(app, decision);
}

void refusal(App& app, widgets::Explained& explained, const Refusal& each, std::size_t count) {
  const std::string times = count > 1 ? fmt::format(" ({} times)", count) : std::string();
  prose(app, explained, "⊘ " + each.reason + times, Role::warn);
  if (!each.hint.empty()) widgets::wrapped(each.hint, Role::muted, Font::caption);
}

/// The same reason is said once, with how often it holds.
void refusals(App& app, widgets::Explained& explained, const std::vector<Refusal>& all) {
  if (all.empty()) return;
  heading("Not done here");
  const auto same = [](const Refusal& a, const Refusal& b) { return a.reason == b.reason && a.hint == b.hint; };
  for (auto each = all.begin(); each != all.end(); ++each) {
    const auto is_same = [&](const Refusal& other) { return same(*each, other); };
    if (std::none_of(all.begin(), each, is_same))
      refusal(app, explained, *each, static_cast<std::size_t>(std::count_if(each, all.end(), is_same)));
  }
}

}  // namespace

void step_card(App& app, const Box& box) {
  widgets::begin_panel("card", box, {"This step", true});
  if (app.document.shown() == nullptr) {
    nothing_shown(app, "What the step did, why it is legal and what else could be chosen appears here.");
    return widgets::end_panel();
  }
  const auto& steps = app.document.shown()->steps();
  const std::size_t number = app.step();
  const Step& step = steps[number];
  const Step& before = steps[number == 0 ? 0 : number - 1];
  const std::vector<const Fusion*> fusions = fusions_at(app, step);
  widgets::Explained explained;
  widgets::wrapped(step.title, Role::text, Font::head);
  prose(app, explained, step.says);
  if (number > 0) saved(app, before, step, explained);
  const Check& check = app.document.check(number);
  widgets::wrapped(sentence_of(check), role_of(check.status));
  const bool rule_is_law = step.decision && step.decision->kind == "fuse" && has_law(fusions);
  if (!step.rule.empty() && !rule_is_law) {
    heading("Rule");
    widgets::wrapped(step.rule, Role::text, Font::code);
  }
  why_it_is_legal(app, step, fusions);
  cost(app, explained, before.cost, step.cost);
  if (step.decision)
    decision(app, *step.decision, explained);
  else
    app.document.end_preview();
  refusals(app, explained, step.refusals);
  widgets::end_panel();
}

}  // namespace panels
}  // namespace fathom::ui
