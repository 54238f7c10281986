// Figures of a lesson: formulas, passes over an index, quantities beside each other, checks. All of it comes from the record.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>

#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/lesson_parts.hpp"
#include "panels/linked_formula.hpp"
#include "session/provenance.hpp"
#include "widgets/basic.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

using Shows = session::Drawing::Kind;

std::size_t step_number(const App& app, const std::string& id) {
  const auto& steps = app.document.shown()->steps();
  const auto at = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.id == id; });
  return at == steps.end() ? steps.size() : static_cast<std::size_t>(at - steps.begin());
}

void make_passes(const App& app, const session::Page& page, Figure& figure) {
  const session::Compilation& now = app.document.shown()->compilation();
  for (auto& names : session::passes_over(now, page.step, figure.drawing.names.front())) {
    Figure::Pass pass{names, {}};
    for (const TensorLife& life : now.record.steps[step_number(app, page.step)].lives)
      if (life.place == "main memory" && std::find(names.begin(), names.end(), life.tensor.text()) != names.end())
        pass.handed_on.push_back(fmt::format("{} {}", life.tensor.text(), bytes_text(life.bytes)));
    figure.passes.push_back(std::move(pass));
  }
}

/// A name in its colour on a ground; returns its right end.
float chip(App& app, const std::string& id, const std::string& name, ImVec2 at) {
  const ImVec2 size = widgets::measure(name, Font::code);
  const ImVec2 to{at.x + size.x + 2 * gap(1.5F), at.y + size.y + 2 * gap(0.5F)};
  const auto entity = app.colour_of(app.step(), name);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const bool is_lit = app.is_selected(app.step(), name) || app.is_hovered(app.step(), name);
  const ImU32 ground = is_lit ? faded(Role::accent, 0.28F) : entity ? faded_entity(*entity, 0.16F) : colour(Role::raised);
  list.AddRectFilled(at, to, ground, metrics().control_radius);
  widgets::draw_text(list, {at.x + gap(1.5F), at.y + gap(0.5F)}, name, entity ? entity_colour(*entity) : colour(Role::text), Font::code);
  mirror().add("word", id, name, at, to);
  if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, to)) {
    app.hovering = {name, app.step()};
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) app.selected = app.hovering;
  }
  return to.x;
}

/// One box a pass, from top to bottom; between them what main memory holds.
void draw_passes(App& app, const Figure& figure) {
  const float width = ImGui::GetContentRegionAvail().x, row = metrics().row, air = gap(1.5F);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (std::size_t i = 0; i < figure.passes.size(); ++i) {
    const Figure::Pass& pass = figure.passes[i];
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const std::string head = fmt::format("pass {} of {} over {}", i + 1, figure.passes.size(), figure.drawing.names.front());
    // Chips first, to know how high the box is.
    list.ChannelsSplit(2);
    list.ChannelsSetCurrent(1);
    float y = start.y + air;
    widgets::draw_text(list, {start.x + gap(2), y}, head, colour(Role::muted), Font::caption);
    y += font(Font::caption)->FontSize + gap(1);
    float x = start.x + gap(2);
    for (const std::string& name : pass.names) {
      const float needed = widgets::measure(name, Font::code).x + 2 * gap(1.5F);
      if (x + needed > start.x + width - gap(2) && x > start.x + gap(2)) x = start.x + gap(2), y += row;
      x = chip(app, fmt::format("pass-{}/{}", i, name), name, {x, y}) + gap(1);
    }
    y += row + gap(0.5F);
    list.ChannelsSetCurrent(0);
    list.AddRectFilled(start, {start.x + width, y}, faded(Role::raised, 0.5F), metrics().radius);
    list.AddRect(start, {start.x + width, y}, colour(Role::line), metrics().radius, 0, hairline());
    list.ChannelsMerge();
    mirror().add("text", fmt::format("pass-{}", i), head, start, {start.x + width, y});
    ImGui::Dummy({width, y - start.y});
    if (pass.handed_on.empty()) continue;
    std::string handed = "↓ main memory: ";
    for (std::size_t k = 0; k < pass.handed_on.size(); ++k) handed += (k == 0 ? "" : ", ") + pass.handed_on[k];
    widgets::wrapped(handed, Role::warn, Font::caption);
  }
}

void draw_bars(const Figure& figure) {
  double most = 0;
  float labels = 0, texts = 0;
  for (const Figure::Measured& bar : figure.bars) {
    most = std::max(most, bar.number);
    labels = std::max(labels, widgets::measure(bar.label, Font::caption).x);
    texts = std::max(texts, widgets::measure(bar.text, Font::body_bold).x);
  }
  const float width = ImGui::GetContentRegionAvail().x, row = metrics().row;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (std::size_t i = 0; i < figure.bars.size(); ++i) {
    const Figure::Measured& bar = figure.bars[i];
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float left = at.x + labels + gap(2), room = std::max(gap(5), width - labels - texts - gap(5));
    widgets::draw_text(list, {at.x, at.y + (row - font(Font::caption)->FontSize) / 2}, bar.label, colour(Role::muted), Font::caption);
    const float length = most > 0 ? static_cast<float>(bar.number / most) * room : 0;
    list.AddRectFilled({left, at.y + gap(1)}, {left + room, at.y + row - gap(1)}, faded(Role::line, 0.4F), metrics().control_radius);
    if (bar.number > 0)
      list.AddRectFilled({left, at.y + gap(1)}, {left + std::max(length, gap(0.5F)), at.y + row - gap(1)}, colour(Role::accent),
                         metrics().control_radius);
    widgets::draw_text(list, {left + room + gap(2), at.y + (row - font(Font::body_bold)->FontSize) / 2}, bar.text, colour(Role::text),
                       Font::body_bold);
    mirror().add("text", fmt::format("bar-{}", i), bar.label + ": " + bar.text, at, {at.x + width, at.y + row});
    ImGui::Dummy({width, row});
  }
}

}  // namespace

Figure make_figure(const App& app, const session::Lesson& lesson, const session::Page& page, const session::Drawing& drawing, float em,
                   float width) {
  Figure figure;
  figure.drawing = drawing;
  const session::Compilation& now = app.document.shown()->compilation();
  switch (drawing.kind) {
    case Shows::statements:
      for (const std::string& name : drawing.names)
        if (const auto formula = session::formula_of(lesson, now, page.step, name, drawing.of_text))
          figure.formulas.push_back(widgets::lay_out_relation(formula->left, "=", formula->right, em, width));
      break;
    case Shows::equations:
      for (const auto& [left, right] : drawing.equations) figure.formulas.push_back(widgets::lay_out_relation(left, "=", right, em, width));
      break;
    case Shows::passes:
      make_passes(app, page, figure);
      break;
    case Shows::bars:
      for (const session::Bar& bar : drawing.bars)
        if (const auto quantity = session::parse_quantity(bar.quantity))
          if (const auto measured = session::measure(now, *quantity, page.step))
            figure.bars.push_back({bar.label, measured->text, measured->number});
      break;
    case Shows::guard:
      if (const auto question = session::repair_question(now, Symbol(drawing.names.front()))) figure.text = question->guard;
      break;
    case Shows::check:
      break;
  }
  return figure;
}

void draw_figure(App& app, const std::string& id, const Figure& figure) {
  const MirrorScope scope(id);
  ImGui::PushID(id.c_str());
  ImGui::Dummy({1, gap(1)});
  switch (figure.drawing.kind) {
    case Shows::statements:
    case Shows::equations:
      for (std::size_t i = 0; i < figure.formulas.size(); ++i) linked_formula(app, fmt::format("formula-{}", i), figure.formulas[i]);
      break;
    case Shows::passes:
      draw_passes(app, figure);
      break;
    case Shows::bars:
      draw_bars(figure);
      break;
    case Shows::check: {
      const std::size_t number = step_number(app, figure.drawing.names.front());
      const Check& check = app.document.check(number);
      widgets::wrapped(sentence_of(check), role_of(check.status), Font::head);
      break;
    }
    case Shows::guard:
      widgets::wrapped("Guard: " + figure.text, Role::text, Font::body);
      break;
  }
  ImGui::Dummy({1, gap(1)});
  ImGui::PopID();
}

}  // namespace fathom::ui::panels
