// Beside the square: what the running states are at one row. Below it: what is kept where, and the error of each trip.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/stage_parts.hpp"

namespace fathom::ui::panels::stage_parts {
namespace {

namespace stage = session::stage;

bool runs_along(const stage::Stage& run, const std::string& tensor) {
  for (const stage::Write& write : run.writes)
    if (write.tensor == tensor)
      return std::any_of(write.axes.begin(), write.axes.end(),
                         [&](const stage::IndexRange& axis) { return axis.index == run.plane->column; });
  return false;
}

/// States of a row and results: what stands along the columns is on the square, and the next value of a state is the state's.
std::vector<std::string> shown_names(const stage::Stage& run) {
  std::vector<std::string> names;
  for (const std::string& each : run.states)
    if (!runs_along(run, each) && each.back() != '\'') names.push_back(each);
  for (const std::string& each : run.results)
    if (std::find(names.begin(), names.end(), each) == names.end()) names.push_back(each);
  return names;
}

/// Of the frame's factors, that of the row.
const double* factor_at(const stage::StateRepair& repair, const stage::Plane& plane, std::int64_t row) {
  std::size_t at = 0;
  for (const stage::IndexRange& axis : repair.axes) {
    at *= static_cast<std::size_t>(axis.hi - axis.lo);
    if (plane.row && axis.index == *plane.row) {
      if (row < axis.lo || row >= axis.hi) return nullptr;
      at += static_cast<std::size_t>(row - axis.lo);
    }
  }
  return at < repair.factors.size() ? &repair.factors[at] : nullptr;
}

std::string change_text(const std::vector<double>& before, const std::vector<double>& after) {
  if (after.empty()) return "–";
  if (before.empty() || values_text(before) == values_text(after) || after.size() > 2) return values_text(after);
  return values_text(before) + " → " + values_text(after);
}

/// A line whose name is selected by a click.
void line(App& app, const std::string& name, const std::string& words, ImVec2 at, float width, float name_width) {
  const std::size_t named = step_of_names(app);
  ImGui::SetCursorScreenPos(at);
  const widgets::Pressable state = widgets::pressable(name, {width, metrics().row});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const bool lit = app.is_selected(named, name), hot = state.hovered || app.is_hovered(named, name);
  if (lit || hot)
    list.AddRectFilled(state.box.min, state.box.max, lit ? faded(Role::accent, 0.18F) : colour(Role::raised), metrics().control_radius);
  const float y = at.y + (metrics().row - font(Font::code)->FontSize) / 2;
  widgets::draw_text(list, {at.x + gap(1), y}, widgets::cut_to(name, name_width - gap(2), Font::code_bold), ink_of(app, name),
                     Font::code_bold);
  widgets::draw_text(list, {at.x + name_width, y}, widgets::cut_to(words, width - name_width - gap(1), Font::code), colour(Role::text),
                     Font::code);
  widgets::focus_ring(state.box, state.focused);
  widgets::tip(name + "  " + words);
  mirror().add("state", name, name + " " + words, state.box.min, state.box.max, true, lit);
  if (state.hovered) app.hovering = {name, named};
  if (state.pressed) app.selected = {name, named};
}

}  // namespace

const StageView::Kept& kept_of(App& app) {
  const stage::Stage& run = *app.stage.stage();
  StageView::Kept& kept = app.stage.kept;
  const std::size_t frame = app.stage.frame();
  if (kept.version != app.stage.version() || kept.frame != frame)
    kept = {app.stage.version(), frame, run.bytes(frame), run.bytes(run.frames.size() - 1), run.progress(frame)};
  return kept;
}

void values(App& app, const Box& box) {
  const MirrorScope scope("values");
  const stage::Stage& run = *app.stage.stage();
  const std::size_t frame = app.stage.frame();
  const stage::Frame& now = run.frames[frame];
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ImVec2 at = box.min;
  const std::string title = run.plane->row ? fmt::format("row {} = {}", run.plane->row->text(), app.stage.row()) : "the one row";
  widgets::draw_text(list, at, title, colour(Role::muted), Font::caption);
  mirror().add("text", "row", title, at, {box.max.x, at.y + font(Font::caption)->FontSize});
  at.y += font(Font::caption)->FontSize + gap(1);
  ImGui::PushClipRect(box.min, box.max, true);
  StageView::Lines& lines = app.stage.lines;
  if (lines.version != app.stage.version() || lines.frame != frame || lines.row != app.stage.row()) {
    lines = {app.stage.version(), frame, app.stage.row(), {}};
    for (const std::string& name : shown_names(run))
      lines.lines.emplace_back(name, change_text(frame == 0 ? std::vector<double>() : run.held(frame - 1, name, app.stage.row()),
                                                 run.held(frame, name, app.stage.row())));
  }
  float name_width = 0;
  for (const auto& [name, words] : lines.lines) name_width = std::max(name_width, widgets::measure(name, Font::code_bold).x + gap(4));
  name_width = std::min(name_width, box.width() * 0.5F);
  for (const auto& [name, words] : lines.lines) {
    if (at.y + metrics().row > box.max.y) break;
    line(app, name, words, at, box.width(), name_width);
    at.y += metrics().row;
  }
  const std::size_t named = step_of_names(app);
  for (const stage::StateRepair& repair : now.repairs) {
    const double* factor = factor_at(repair, *run.plane, app.stage.row());
    if (factor == nullptr || at.y + metrics().row > box.max.y) continue;
    const bool moves = repair.is_shift ? *factor != 0 : *factor != 1;
    const std::string words = fmt::format("repair of {} {}{}", repair.tensor, repair.is_shift ? "+" : "×", number_text(*factor));
    widgets::draw_text(list, {at.x + gap(1), at.y + gap(1)}, widgets::cut_to(words, box.width() - gap(2), Font::code),
                       moves ? ink_of(app, repair.tensor) : colour(Role::muted), Font::code);
    mirror().add("repair", repair.tensor, words, at, {box.max.x, at.y + metrics().row}, true, app.is_selected(named, repair.tensor));
    at.y += metrics().row;
  }
  ImGui::PopClipRect();
}

void places(App& app, const Box& box) {
  const MirrorScope scope("places");
  const StageView::Kept& kept = kept_of(app);
  const stage::Bytes &now = kept.now, &all = kept.all;
  struct Bar {
    const char* name;
    double bytes, most;
    Role role;
  };
  const std::array bars = {Bar{"main memory", now.memory, all.memory, Role::bad}, Bar{"on chip", now.on_chip, all.on_chip, Role::accent},
                           Bar{"registers", now.registers, all.registers, Role::ok}};
  const double most = std::max({all.memory, all.on_chip, all.registers, 1.0});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  float y = box.min.y;
  const float row = gap(4.5F), left = gap(22), right = gap(18);
  for (const Bar& each : bars) {
    const float room = box.width() - left - right, filled = room * static_cast<float>(each.bytes / most);
    widgets::draw_text(list, {box.min.x, y}, each.name, colour(Role::muted), Font::caption);
    const float top = y + gap(0.75F), bottom = y + row - gap(0.75F);
    list.AddRectFilled({box.min.x + left, top}, {box.min.x + left + room, bottom}, colour(Role::raised), metrics().control_radius / 2);
    if (filled > 0)
      list.AddRectFilled({box.min.x + left, top}, {box.min.x + left + filled, bottom}, faded(each.role, 0.7F),
                         metrics().control_radius / 2);
    const std::string bytes = bytes_text(each.bytes);
    widgets::draw_text(list, {box.max.x - right + gap(2), y}, bytes, colour(Role::text), Font::caption);
    mirror().add("bar", each.name, fmt::format("{} {}", each.name, bytes), {box.min.x, y}, {box.max.x, y + row});
    y += row;
  }
}

void errors(App& app, const Box& box) {
  const MirrorScope scope("errors");
  const stage::Stage& run = *app.stage.stage();
  const auto wrong = run.first_wrong();
  const double largest = run.largest_error();
  const std::string words =
      wrong ? fmt::format("error against the reference: wrong from trip {} on, at most {}", *wrong + 1, number_text(largest))
            : fmt::format("error against the reference: at most {}, within rounding in every trip", number_text(largest));
  ImDrawList& list = *ImGui::GetWindowDrawList();
  widgets::draw_text(list, box.min, widgets::cut_to(words, box.width(), Font::caption), colour(wrong ? Role::bad : Role::muted),
                     Font::caption);
  mirror().add("text", "words", words, box.min, {box.max.x, box.min.y + font(Font::caption)->FontSize});
  const float top = box.min.y + font(Font::caption)->FontSize + gap(1), bottom = box.max.y - gap(1);
  const std::size_t count = run.frames.size();
  const float pitch = box.width() / static_cast<float>(count), width = std::max(hairline(), pitch - hairline());
  list.AddLine({box.min.x, bottom}, {box.max.x, bottom}, colour(Role::line), hairline());
  for (std::size_t k = 0; k < count; ++k) {
    const stage::Frame& frame = run.frames[k];
    const float x = box.min.x + static_cast<float>(k) * pitch;
    const double error = frame.largest_error();
    // what rounding does is a low bar whatever its size: what is wrong stands out by height, colour and the words
    constexpr double least = 0.12, lowest = 1e-9;
    double part = 0;
    if (frame.exceeds())
      part = std::isinf(error) ? 1
                               : std::clamp(0.35 + 0.65 * error / (std::isfinite(largest) && largest > 0 ? largest : error * 2), 0.35, 1.0);
    else if (error > lowest)
      part = least;
    if (part > 0)
      list.AddRectFilled({x, bottom - static_cast<float>(part) * (bottom - top)}, {x + width, bottom},
                         colour(frame.exceeds() ? Role::bad : Role::ok));
    if (k == app.stage.frame())
      list.AddTriangleFilled({x + width / 2 - gap(1), bottom + gap(1)}, {x + width / 2 + gap(1), bottom + gap(1)}, {x + width / 2, bottom},
                             colour(Role::accent));
    if (frame.exceeds() || k == app.stage.frame())
      mirror().add("error", fmt::format("{}", k), fmt::format("trip {}: {}", k + 1, number_text(error)), {x, top}, {x + width, bottom});
  }
  ImGui::SetCursorScreenPos({box.min.x, top});
  const widgets::Pressable state = widgets::pressable("strip", {box.width(), bottom - top});
  const float part = std::clamp((ImGui::GetMousePos().x - box.min.x) / std::max(1.0F, box.width()), 0.0F, 0.9999F);
  const auto under = std::min(count - 1, static_cast<std::size_t>(part * static_cast<float>(count)));
  if (state.hovered) {
    std::string tip = fmt::format("trip {}", under + 1);
    for (const stage::StateError& each : run.frames[under].errors)
      tip += fmt::format("\n{}: {} from {}, rounding may reach {}", each.tensor, number_text(each.error), number_text(each.reference),
                         number_text(each.bound));
    widgets::tip(tip);
  }
  widgets::focus_ring(state.box, state.focused);
  mirror().add("strip", "strip", words, state.box.min, state.box.max);
  if (state.pressed) app.stage.go_to(state.hovered ? under : wrong.value_or(app.stage.frame()));
}

}  // namespace fathom::ui::panels::stage_parts
