// Why the steps are legal: for one reduction at a time the equation that its repair has to satisfy, with a box for what is written; the
// laws, the derivation, and what the step does to memory.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "ir/units.hpp"
#include "lesson.hpp"
#include "mirror.hpp"
#include "own_repairs.hpp"
#include "panels/derivation.hpp"
#include "panels/lesson_parts.hpp"
#include "panels/linked_formula.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "session/session.hpp"
#include "widgets/maths.hpp"
#include "words.hpp"

namespace fathom::ui {

struct WhyState::Made {
  std::uint64_t version = 0;
  std::string consumer, written;
  float em = 0, width = 0;
  widgets::MathsBox kept, box, wanted;
};

namespace panels {
namespace {

constexpr float formula_em = 4.5F;  // gaps

const Fusion* shown_fusion(const App& app) {
  const auto& fusions = app.document.shown()->compilation().record.fusions;
  const std::string name = why_consumer(app);
  const auto at = std::find_if(fusions.begin(), fusions.end(), [&](const Fusion& each) { return each.consumer.text() == name; });
  return at == fusions.end() ? nullptr : &*at;
}

std::string listed(const std::vector<Symbol>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i].text());
  return text;
}

/// One line on what it is, in words.
std::string what_it_is(const Fusion& fusion) {
  const std::string name = "`" + fusion.consumer.text() + "`";
  if (fusion.producers.empty()) return name + " reads no result that its own loop makes. Nothing has to be repaired.";
  if (fusion.refusal) return fmt::format("{} reads {} and waits for a pass of its own.", name, listed(fusion.producers));
  switch (fusion.kind) {
    case FusionKind::classic:
      return fmt::format("{} reads {}, complete. It rides in the loop as it is.", name, listed(fusion.producers));
    case FusionKind::factored:
      return fmt::format("{} reads {}, which is applied once, behind the sum.", name, listed(fusion.producers));
    case FusionKind::absorbed:
      return fmt::format("{} reads {}, which only decides whether there is a result.", name, listed(fusion.producers));
    case FusionKind::repaired:
      return fmt::format(
          "{} needs {} of the whole row, and in one loop it has only what came so far. What it has kept is repaired "
          "whenever that changes.{}",
          name, listed(fusion.producers),
          fusion.delayed.empty() ? "" : " What can wait is applied once, at the end: `" + fusion.delayed + "`.");
  }
  return name;
}

/// All reductions of the program, as tabs.
void reductions(App& app, const Fusion& shown) {
  const MirrorScope scope("reductions");
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  bool first = true;
  for (const Fusion& each : app.document.shown()->compilation().record.fusions) {
    const std::string name = each.consumer.text();
    const std::string label = name + (each.refusal ? " ⊘" : each.kind == FusionKind::repaired ? " ↻" : "");
    if (!first) ImGui::SameLine(0, 0);
    if (!first && ImGui::GetCursorScreenPos().x + widgets::button_width(label) > right) ImGui::NewLine();
    first = false;
    if (widgets::tab(name, label, &each == &shown)) app.view.why = name;
  }
}

// ---- the equation ----
WhyState::Made& made_equation(App& app, const session::RepairQuestion& question) {
  const std::string consumer = question.consumer.text();
  const auto typed = app.view.repairs.find(consumer);
  const session::OwnRepair* own = typed == app.view.repairs.end() ? nullptr : app.own_repairs.judge(app.document, consumer, typed->second);
  const std::string written = own != nullptr && own->written ? print(own->written) : "";
  const float em = gap(formula_em), width = ImGui::GetContentRegionAvail().x;
  auto& made = app.why.made;
  if (made && made->version == app.document.version() && made->consumer == consumer && made->written == written && made->em == em &&
      made->width == width)
    return *made;
  made = std::make_shared<WhyState::Made>();
  made->version = app.document.version();
  made->consumer = consumer;
  made->written = written;
  made->em = em;
  made->width = width;
  const auto lay_out = [&](float size) {
    made->kept = widgets::lay_out_relation(symbol(Symbol("acc")), "=", question.kept, size, width);
    if (!written.empty()) made->box = widgets::lay_out(own->written, size);
    made->wanted = widgets::lay_out_relation({}, "=", question.wanted, size, width);
  };
  lay_out(em);
  // They differ in their last letters: rather smaller than cut off.
  constexpr float least_part = 0.7F;
  const float widest = std::max(made->kept.width, made->wanted.width);
  if (widest > width) lay_out(em * std::max(least_part, width / widest));
  return *made;
}

/// The box for the answer, and what it has to be equal to.
void equation(App& app, const session::RepairQuestion& question) {
  const MirrorScope scope("equation");
  const WhyState::Made& made = made_equation(app, question);
  widgets::text("You have", Role::muted, Font::caption);
  linked_formula(app, "kept", made.kept);
  widgets::text("You need, from acc alone", Role::muted, Font::caption);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = std::max(gap(9), made.box.ascent + made.box.descent + gap(3));
  const float width = std::min(ImGui::GetContentRegionAvail().x, std::max(gap(24), made.box.width + gap(6)));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, {at.x + width, at.y + height}, colour(Role::raised), metrics().control_radius);
  list.AddRect(at, {at.x + width, at.y + height}, colour(Role::accent), metrics().control_radius, 0, hairline());
  if (made.written.empty()) {
    widgets::draw_text(list, {at.x + width / 2 - gap(1), at.y + (height - font(Font::head)->FontSize) / 2}, "?", colour(Role::accent),
                       Font::head);
    mirror().add("text", "box", "?", at, {at.x + width, at.y + height});
  } else {
    const float formula = made.box.ascent + made.box.descent + gap(2);  // with the air around it
    ImGui::SetCursorScreenPos({at.x + gap(3), at.y + std::max(0.0F, (height - formula) / 2)});
    ImGui::PushClipRect(at, {at.x + width, at.y + height}, true);
    linked_formula(app, "box", made.box);
    ImGui::PopClipRect();
  }
  ImGui::SetCursorScreenPos({at.x, at.y + height + gap(1)});
  linked_formula(app, "wanted", made.wanted);
}

void memory_line(const App& app, const Box& box) {
  const auto& steps = app.document.shown()->steps();
  const double now = session::stored_bytes(steps[app.step()]);
  const double before = app.step() == 0 ? now : session::stored_bytes(steps[app.step() - 1]);
  const std::string text = hides_answer(app) ? "kept in main memory: after your answer"
                           : now == before   ? fmt::format("kept in main memory: {}", bytes_text(now))
                                             : fmt::format("main memory, by this step: {} → {}", bytes_text(before), bytes_text(now));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddLine(box.min, {box.max.x, box.min.y}, colour(Role::line), hairline());
  ImGui::SetCursorScreenPos({box.min.x, box.min.y + (box.height() - font(Font::body)->FontSize) / 2});
  widgets::fitted("memory", text, box.width(), now < before && !hides_answer(app) ? Role::ok : Role::muted, Font::body);
}

void about(App& app, const Fusion& fusion) {
  ImGui::Dummy({1, gap(1)});
  running_text(app, "what", what_it_is(fusion));
  const session::RepairQuestion* question = app.own_repairs.question(app.document, fusion.consumer.text());
  if (question != nullptr) {
    ImGui::Dummy({1, gap(2)});
    equation(app, *question);
    const auto page = page_to_write(app, fusion.consumer.text());
    ImGui::Dummy({1, gap(1)});
    if (page && *page != app.view.lesson.page)
      widgets::wrapped(fmt::format("Page {} of the lesson asks for this line.", *page + 1), Role::muted);
    else if (repair_task(app) == nullptr && !hides_answer(app))
      repair_field(app, *question);
    small_head("The laws of a repair");
    repair_laws(app, *question);
  }
  small_head("Derivation");
  if (hides_derivation(app, fusion.consumer.text()))
    return widgets::wrapped(hides_answer(app) ? "after your answer" : "after you have written the line", Role::muted);
  derivation(app, fusion, app.card.derivations[fusion.consumer.text()]);
}

}  // namespace

void why(App& app, const Box& box) {
  widgets::begin_panel("why", box, {"Why it is legal", false});
  if (app.document.shown() == nullptr) {
    nothing_shown(app, "As soon as the program compiles, this column says which reductions may share a loop, and why.");
    return widgets::end_panel();
  }
  const Fusion* fusion = shown_fusion(app);
  const float foot = metrics().row + gap(2), top = box.min.y + metrics().panel_head + gap(1);
  ImGui::SetCursorScreenPos({box.min.x + gap(3), top});
  ImGui::BeginChild("##why", {box.width() - 2 * gap(3), box.max.y - foot - top});
  if (fusion == nullptr) {
    widgets::wrapped("This program has no reduction: every element is computed by itself.", Role::muted);
  } else {
    reductions(app, *fusion);
    const MirrorScope scope(fusion->consumer.text());
    about(app, *fusion);
  }
  ImGui::Dummy({1, gap(3)});
  ImGui::EndChild();
  memory_line(app, {{box.min.x + gap(3), box.max.y - foot}, {box.max.x - gap(3), box.max.y}});
  widgets::end_panel();
}

}  // namespace panels
}  // namespace fathom::ui
