// The ribbon: every step as a dot under its level, the transport, and below them the life of the selected value.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "command.hpp"
#include "command_button.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "widgets/prose.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

bool is_mine(const Step& step) { return step.decision && step.decision->origin == Origin::by_user; }

/// Filled: changed; hollow: not; square: my choice; in the colour of a check that did not pass.
void dot(App& app, std::size_t number, ImVec2 centre, float radius) {
  const Step& step = app.document.shown()->steps()[number];
  const CheckStatus status = app.document.check(number).status;
  const bool here = number == app.step();
  const bool alarming = status == CheckStatus::failed || status == CheckStatus::inconclusive;
  const ImU32 ink = alarming ? colour(role_of(status)) : here ? colour(Role::accent) : colour(step.changed ? Role::text : Role::muted);
  ImGui::SetCursorScreenPos({centre.x - 2 * radius, centre.y - 2 * radius});
  const widgets::Pressable state = widgets::pressable(step.id, {4 * radius, 4 * radius});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (here || state.hovered) list.AddCircle(centre, radius + gap(0.75F), colour(Role::accent), 0, hairline());
  if (alarming)  // a sign of its own, not its colour alone
    widgets::draw_text(list, {centre.x - widgets::measure(sign_of(status), Font::body).x / 2, centre.y - font(Font::body)->FontSize / 2},
                       sign_of(status), ink, Font::body);
  else if (is_mine(step))
    list.AddRectFilled({centre.x - radius, centre.y - radius}, {centre.x + radius, centre.y + radius}, ink);
  else if (step.changed)
    list.AddCircleFilled(centre, radius, ink);
  else
    list.AddCircle(centre, radius - hairline() / 2, ink, 0, hairline());
  widgets::focus_ring(state.box, state.focused);
  widgets::tip(fmt::format("{}\n{}\n{}", step.title, step.says, sentence_of(app.document.check(number))));
  mirror().add("dot", step.id, step.title, state.box.min, state.box.max, true, here);
  if (state.pressed) app.go_to(number);
}

using TransportItem = std::pair<const char*, const char*>;  ///< command and icon

std::array<TransportItem, 5> transport_items(const App& app) {
  return {{{"step.first", icons::first},
           {"step.previous", icons::chevron_left},
           {"step.play", app.playing ? icons::pause : icons::play},
           {"step.next", icons::chevron_right},
           {"step.last", icons::last}}};
}

float transport_extent(const App& app) {
  float width = 0;
  for (const auto& [command, icon] : transport_items(app)) width += widgets::button_width({}, icon) + gap(1);
  return width;
}

void transport(App& app, float right, float y) {
  const float width = transport_extent(app);
  ImGui::SetCursorScreenPos({right - width, y});
  for (const auto& [command, icon] : transport_items(app)) {
    widgets::ButtonOptions options;
    options.icon = icon;
    options.look = widgets::Look::quiet;
    command_button(app, command, command, {}, options);
    ImGui::SameLine(0, gap(1));
  }
}

Role role_of_place(const std::string& place) {
  if (place == "main memory") return Role::bad;
  if (place == "tile, on chip") return Role::accent;
  if (place == "registers") return Role::ok;
  return Role::muted;
}

/// The life of the tensor that is selected, or is part of what is selected, at a step.
const TensorLife* life_at(const App& app, std::size_t number) {
  const Step& step = app.document.shown()->steps()[number];
  const TensorLife* found = nullptr;
  for (const TensorLife& life : step.lives)
    if (app.is_selected(number, life.tensor.text()) && (found == nullptr || life.bytes > found->bytes)) found = &life;
  return found;
}

bool is_same(const TensorLife* a, const TensorLife* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->place == b->place && a->bytes == b->bytes;
}

/// A band over the dots' columns: where the value lives after each step and how large it is. Its name stands in a box of its own.
void life_of_selection(App& app, const Box& box, const std::vector<float>& columns, const Box& name) {
  const MirrorScope scope("life");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto middle_of = [](const Box& row) { return row.min.y + (row.height() - font(Font::caption)->FontSize) / 2; };
  const float y = middle_of(box);
  if (app.selected.is_empty()) {
    widgets::draw_text(list, {box.min.x, y}, "Click a value in any panel: its life appears here.", colour(Role::muted), Font::caption);
    mirror().add("text", "empty", "Click a value in any panel: its life appears here.", box.min, box.max);
    return;
  }
  const auto entity = app.colour_of(app.selected.step, app.selected.name);
  const std::string label = "life of " + app.selected.name;
  widgets::draw_text(list, {name.min.x, middle_of(name)}, label, entity ? entity_colour(*entity) : colour(Role::text), Font::caption);
  mirror().add("text", "name", label, name.min, name.max);
  const std::size_t count = columns.size();
  for (std::size_t i = 0; i < count;) {
    const TensorLife* life = life_at(app, i);
    std::size_t end = i + 1;
    while (end < count && is_same(life, life_at(app, end))) ++end;
    const float half = count > 1 ? (columns[1] - columns[0]) / 2 : gap(4);
    const Box cell{{columns[i] - half + hairline(), box.min.y + gap(0.5F)}, {columns[end - 1] + half - hairline(), box.max.y - gap(0.5F)}};
    if (life != nullptr) {
      const Role role = role_of_place(life->place);
      list.AddRectFilled(cell.min, cell.max, faded(role, 0.28F), metrics().control_radius);
      std::string words = life->bytes > 0 ? life->place + " " + bytes_text(life->bytes) : life->place;
      if (widgets::measure(words, Font::caption).x > cell.width() - gap(1)) words = life->bytes > 0 ? bytes_text(life->bytes) : "";
      if (widgets::measure(words, Font::caption).x <= cell.width() - gap(1))
        widgets::draw_text(list, {cell.min.x + gap(1), y}, words, colour(Role::text), Font::caption);
      const std::string whole = life->tensor.text() + ": " + session::facts_of(*life);
      widgets::tip_over(cell, whole);
      mirror().add("life", fmt::format("{}", i), whole, cell.min, cell.max);
    }
    i = end;
  }
}

struct Mark {
  const char* sign;
  const char* meaning;
};
constexpr std::array marks =
    std::to_array<Mark>({{"●", "changed"}, {"○", "unchanged"}, {"■", "my choice"}, {"≈", "inconclusive"}, {"✕", "failed"}});
constexpr const char* all_marks =
    "●  the step changed something\n○  it changed nothing\n■  it has a choice of mine\n≈  its check has no clear answer\n✕  its check "
    "failed\n"
    "In the list of steps: ✓ passed, ◌ being checked, – not checked";

/// What the marks mean, as many of them as there is room for; the tooltip has all.
void legend(const Box& box) {
  const float y = box.min.y + (box.height() - font(Font::caption)->FontSize) / 2;
  std::string words;
  for (const Mark& mark : marks) {
    const std::string longer = words + (words.empty() ? "" : "   ") + mark.sign + " " + mark.meaning;
    if (widgets::measure(longer, Font::caption).x > box.width()) break;
    words = longer;
  }
  if (words.empty()) words = "?";
  const float width = widgets::measure(words, Font::caption).x;
  ImGui::SetCursorScreenPos({box.max.x - width, box.min.y});
  const widgets::Pressable state = widgets::pressable("legend", {width, box.height()});
  widgets::draw_text(*ImGui::GetWindowDrawList(), {state.box.min.x, y}, words, colour(Role::muted), Font::caption);
  widgets::focus_ring(state.box, state.focused);
  if (state.focused)
    widgets::tip_at(state.box, all_marks);
  else
    widgets::tip(all_marks);
  mirror().add("legend", "legend", all_marks, state.box.min, state.box.max);
}

float name_width(const std::string& level) { return widgets::measure(level, Font::caption).x + gap(4); }

/// How far dots stand apart, and whether there is room for the names of the levels.
struct RibbonWidths {
  float pitch = 0;
  bool has_names = true;
};
RibbonWidths widths_of_ribbon(const std::vector<Step>& steps, float room) {
  float names = 0, levels = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && steps[i].level == steps[i - 1].level) continue;
    names += name_width(title_of(steps[i].level));
    ++levels;
  }
  const auto count = static_cast<float>(steps.size());
  constexpr float least_pitch = 2.5F;  // gaps: closer dots are hard to hit
  const float pitch = (room - names) / count;
  return pitch >= gap(least_pitch) ? RibbonWidths{pitch, true} : RibbonWidths{(room - levels * gap(1)) / count, false};
}

}  // namespace

float ribbon_height(const App& app) {
  const bool has_life = is_narrow() && app.document.shown() != nullptr && !app.selected.is_empty();
  return metrics().ribbon + (has_life ? gap(6) : 0);
}

void ribbon(App& app, const Box& box) {
  const MirrorScope scope("ribbon");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(box.min, box.max, colour(Role::panel));
  list.AddLine({box.min.x, box.min.y}, {box.max.x, box.min.y}, colour(Role::line), hairline());
  if (app.document.shown() == nullptr) {
    ImGui::SetCursorScreenPos({box.min.x + gap(3), box.min.y + (box.height() - font(Font::body)->FontSize) / 2});
    const bool is_wrong = !app.document.diagnostics().empty();
    widgets::fitted("empty", is_wrong ? "No steps: the text does not compile." : "Compiling…", box.width() - gap(6), Role::muted);
    return;
  }
  const auto& steps = app.document.shown()->steps();
  const bool narrow = is_narrow();  // then the transport stands below the dots, where the life of a value is else
  const float transport_width = narrow ? 0 : gap(45), label_width = narrow ? 0 : gap(26), edge = gap(3);
  const float upper = metrics().ribbon, middle = box.min.y + upper * 0.36F, second_row = box.min.y + upper * 0.68F;
  if (narrow)
    transport(app, box.min.x + transport_extent(app) + gap(1), box.min.y + upper - metrics().row);
  else
    transport(app, box.max.x - edge, middle - metrics().row / 2);

  const float left = box.min.x + edge + label_width, room = box.max.x - edge - transport_width - left;
  const RibbonWidths widths = widths_of_ribbon(steps, room);
  const float pitch = widths.pitch;
  const float radius = std::clamp(pitch / 4, gap(0.75F), gap(1.25F));
  std::vector<float> columns;
  float x = left;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 0 || steps[i].level != steps[i - 1].level) {
      if (i != 0) list.AddLine({x, middle - gap(2)}, {x, middle + gap(2)}, colour(Role::line), hairline());
      const std::string level = title_of(steps[i].level);
      const bool here = steps[app.step()].level == steps[i].level;
      const float width = widths.has_names ? name_width(level) : gap(1);
      if (widths.has_names) {
        const MirrorScope own(level);
        ImGui::SetCursorScreenPos({x + gap(1), middle - font(Font::caption)->FontSize / 2});
        ImGui::PushID(level.c_str());
        if (widgets::term("level", level, here ? Role::text : Role::muted, Font::caption)) ask(app, Ask::glossary, "level");
        ImGui::PopID();
      }
      mirror().add("text", "level." + level, level, {x, middle - gap(2)}, {x + width, middle + gap(2)});
      x += width;
    }
    columns.push_back(x + pitch / 2);
    dot(app, i, {x + pitch / 2, middle}, radius);
    x += pitch;
  }
  const float band_end = columns.back() + pitch;
  if (narrow) {
    const Box beside{{box.min.x + transport_extent(app) + gap(4), second_row}, {box.max.x - edge, box.min.y + upper - gap(0.5F)}};
    if (box.height() <= upper) return legend(beside);
    return life_of_selection(app, {{box.min.x + edge, box.min.y + upper}, {box.max.x - edge, box.max.y - gap(0.5F)}}, columns, beside);
  }
  const Box life{{box.min.x + edge, second_row}, {box.max.x - edge, box.max.y - gap(0.5F)}};
  life_of_selection(app, life, columns, {life.min, {columns.front(), life.max.y}});
  const float legend_left = app.selected.is_empty() ? (box.min.x + box.max.x) / 2 : band_end + gap(2);
  legend({{legend_left, second_row}, {box.max.x - edge, box.max.y - gap(0.5F)}});
}

}  // namespace fathom::ui::panels
