// A repair to write: the line, its judgement, the two laws with numbers, and the buttons that take it into the plan.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "command_button.hpp"
#include "icons.hpp"
#include "lesson.hpp"
#include "mirror.hpp"
#include "own_repairs.hpp"
#include "panels/lesson_parts.hpp"
#include "session/short_text.hpp"
#include "widgets/basic.hpp"

namespace fathom::ui::panels {
namespace {

using session::number_text;

std::string list_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number_text(value);
  return text;
}

std::string names_of(const algebra::LawTrial& law) {
  std::string text;
  for (const algebra::LawTrial::Name& name : law.names)
    text += fmt::format("{}{} = {}, {}′ = {}", text.empty() ? "" : ", ", name.name, number_text(name.before), name.name,
                        number_text(name.after));
  return text;
}

const std::string& typed(App& app, const session::RepairQuestion& question) { return app.view.repairs[question.consumer.text()]; }

void verdict(App& app, const session::RepairQuestion& question) {
  if (typed(app, question).empty()) {
    std::string names;
    for (const std::string& name : question.names) names += (names.empty() ? "" : ", ") + name;
    return widgets::wrapped("You may use " + names + ", numbers and functions such as exp.", Role::muted, Font::caption);
  }
  const MirrorScope scope("verdict");
  const session::OwnRepair* own = app.own_repairs.judge(app.document, question.consumer.text(), typed(app, question));
  if (own == nullptr) return widgets::wrapped("◌ being judged", Role::muted);
  if (own->mistake) {
    const std::string where = fmt::format("column {}: ", std::min<std::size_t>(own->mistake->span.begin, own->text.size()) + 1);
    return widgets::wrapped("✕ " + where + own->mistake->message + (own->mistake->cure.empty() ? "" : ". " + own->mistake->cure),
                            Role::bad);
  }
  const algebra::Judgement& judgement = own->judged.judgement;
  switch (judgement.verdict) {
    case algebra::Verdict::derived:
      return widgets::wrapped("✓ Right: the rules lead to it.", Role::ok);
    case algebra::Verdict::undecided:
      return widgets::wrapped("≈ " + judgement.says, Role::warn);
    case algebra::Verdict::refuted:
      return widgets::wrapped("✕ Wrong on an array of " + std::to_string(own->judged.refutation->tiles.size()) +
                                  " tiles: " + question.consumer.text() + " becomes " + number_text(own->judged.refutation->found) +
                                  ", but it is " + number_text(own->judged.refutation->wanted) + ".",
                              Role::bad);
  }
}

void taking(App& app, const session::RepairQuestion& question) {
  const session::OwnRepair* own =
      typed(app, question).empty() ? nullptr : app.own_repairs.judge(app.document, question.consumer.text(), typed(app, question));
  const bool is_wrong = own != nullptr && own->written && !own->is_right();
  if (!question.written.empty()) {
    const MirrorScope scope("in-plan");
    widgets::wrapped((question.is_unsound ? "UNSOUND, in the plan: " : "In the plan: ") + question.written,
                     question.is_unsound ? Role::bad : Role::ok, Font::code);
    if (question.is_unsound)
      widgets::wrapped("It was refuted and runs all the same: the program, its code and its results carry that.", Role::bad, Font::caption);
  }
  if (own != nullptr && own->written && !question.is_unsound && print(own->written) == question.written) return;
  widgets::ButtonOptions take;
  take.look = widgets::Look::primary;
  command_button(app, "take", "repair.take", "Take it", take);
  if (!question.blocked.empty() && own != nullptr) widgets::wrapped(question.blocked, Role::muted, Font::caption);
  if (!is_wrong) return;
  if (question.blocked.empty()) ImGui::SameLine();
  widgets::ButtonOptions unsound;
  unsound.look = widgets::Look::quiet;
  unsound.icon = icons::alert;
  unsound.tip = "Puts the wrong repair into the plan, marked as unsound: see what becomes of the results";
  command_button(app, "take-unsound", "repair.take-unsound", "Take it all the same (unsound)", unsound);
}

/// One law: sign, name, and the numbers that break it.
void law(const char* id, const char* sentence, const algebra::LawTrial* trial, const session::OwnRepair* own, bool is_sum) {
  const MirrorScope scope(id);
  if (own == nullptr || !own->written || (trial == nullptr && !own->is_right()))
    return widgets::wrapped(fmt::format("– {}", sentence), Role::muted);
  if (own->is_right()) return widgets::wrapped(fmt::format("✓ {}", sentence), Role::ok);
  if (trial->holds)
    return widgets::wrapped(
        trial->tried == 0 ? fmt::format("– {}", sentence) : fmt::format("✓ {}  (tried {} times)", sentence, trial->tried),
        trial->tried == 0 ? Role::muted : Role::ok);
  widgets::wrapped(fmt::format("✕ {}", sentence), Role::bad);
  ImGui::Indent(gap(4));
  widgets::wrapped(names_of(*trial), Role::text, Font::code);
  widgets::wrapped(
      is_sum ? fmt::format("{} together: yours {} ≠ {}", list_of(trial->moved), number_text(trial->found), number_text(trial->wanted))
             : fmt::format("a term {}: yours {} ≠ {}", list_of(trial->moved), number_text(trial->found), number_text(trial->wanted)),
      Role::text, Font::code);
  ImGui::Unindent(gap(4));
}

void array_that_refutes(App& app, const session::OwnRepair& own, const session::RepairQuestion& question) {
  if (!own.is_refuted()) return;
  if (widgets::link("numbers", app.why.numbers_are_open ? "numbers ▾" : "numbers ▸")) app.why.numbers_are_open = !app.why.numbers_are_open;
  if (!app.why.numbers_are_open) return;
  const algebra::Refutation& refutation = *own.judged.refutation;
  const MirrorScope scope("array");
  for (const algebra::Refutation::Array& array : refutation.arrays)
    widgets::wrapped(fmt::format("{} = {}", array.name, array.shape.empty() ? list_of(array.values) : "[" + list_of(array.values) + "]"),
                     Role::text, Font::code);
  std::string tiles;
  for (const std::int64_t tile : refutation.tiles) tiles += (tiles.empty() ? "" : " + ") + std::to_string(tile);
  widgets::wrapped(fmt::format("in tiles of {} elements", tiles), Role::muted, Font::caption);
  widgets::wrapped(
      fmt::format("{}: yours {}, right {}", question.consumer.text(), number_text(refutation.found), number_text(refutation.wanted)),
      Role::text, Font::code);
}

}  // namespace

void repair_field(App& app, const session::RepairQuestion& question) {
  const MirrorScope scope("repair");
  ImGui::PushID(question.consumer.text().c_str());
  std::string& text = app.view.repairs[question.consumer.text()];
  widgets::field("written", "acc becomes", text, "an expression in acc …");
  verdict(app, question);
  ImGui::Dummy({1, gap(1)});
  taking(app, question);
  ImGui::PopID();
}

void repair_laws(App& app, const session::RepairQuestion& question) {
  const std::string consumer = question.consumer.text();
  const std::string& text = app.view.repairs[consumer];
  const session::OwnRepair* own = text.empty() ? nullptr : app.own_repairs.judge(app.document, consumer, text);
  const algebra::Refutation* refutation = own != nullptr && own->is_refuted() ? &*own->judged.refutation : nullptr;
  const MirrorScope scope("laws");
  law("C1", "C1: a term about the old reference becomes the term about the new one", refutation != nullptr ? &refutation->element : nullptr,
      own, false);
  law("C2", "C2: a sum changes as its parts do", refutation != nullptr ? &refutation->sum : nullptr, own, true);
  if (own != nullptr) array_that_refutes(app, *own, question);
  const auto page = page_to_write(app, consumer);
  const bool is_below = !hides_derivation(app, consumer), is_later = page && *page != app.view.lesson.page;
  if (!question.guard.empty() && !is_below && !is_later) widgets::wrapped("Guard: " + question.guard, Role::muted);
}

}  // namespace fathom::ui::panels
