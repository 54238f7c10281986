// Roles over time: a lane a group, a bar an operation, ties where one hands a slot to another, and below how full the channels are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "command_button.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {
namespace {

using session::RoleTimeline;
using BarKind = RoleTimeline::Kind;

/// Places of lanes and strips, from the top of the canvas; along the clock the canvas pans and zooms.
struct TimeLayout {
  float names = 0;  ///< width of the column of titles
  float lane = 0, bar = 0, flight = 0, strip = 0, top = 0;
  std::size_t lanes = 0;
  [[nodiscard]] float of_lane(std::size_t n) const { return top + static_cast<float>(n) * lane; }
  [[nodiscard]] float of_strip(std::size_t n) const {
    return top + static_cast<float>(lanes) * lane + strip / 2 + static_cast<float>(n) * strip;
  }
};

TimeLayout lay_out_time(const RoleTimeline& made, float height) {
  TimeLayout at;
  for (const RoleTimeline::Lane& each : made.lanes) at.names = std::max(at.names, widgets::measure(each.title, Font::caption).x);
  for (const RoleTimeline::Ring& each : made.rings) at.names = std::max(at.names, widgets::measure(each.title, Font::caption).x);
  at.names += gap(4);
  at.lanes = made.lanes.size();
  at.top = gap(6);
  at.strip = gap(8);
  const float room = height - at.top - static_cast<float>(made.rings.size() + 1) * at.strip;
  at.lane = std::clamp(room / static_cast<float>(std::max<std::size_t>(at.lanes, 1)), gap(14), gap(30));
  at.bar = at.lane * 0.45F;
  at.flight = at.lane * 0.2F;
  return at;
}

float width_of_round() { return gap(6); }

ImU32 ink_of_kind(BarKind kind, float strength) {
  switch (kind) {
    case BarKind::value:
      return faded_entity(0, strength);
    case BarKind::product:
      return faded_entity(1, strength);
    case BarKind::copy:
      return faded_entity(2, strength);
    case BarKind::handover:
      return faded_entity(6, strength);
    case BarKind::turn:
      return faded_entity(4, strength);
    case BarKind::wait:
      break;
  }
  return faded(Role::muted, strength);
}

const char* word_of(BarKind kind) {
  switch (kind) {
    case BarKind::value:
      return "work on values";
    case BarKind::product:
      return "product";
    case BarKind::copy:
      return "copy";
    case BarKind::wait:
      return "waits";
    case BarKind::handover:
      return "slot handed over";
    case BarKind::turn:
      return "turn";
  }
  return "";
}

void hatch_wait(ImDrawList& list, const Box& box) {
  list.PushClipRect(box.min, box.max, true);
  for (float x = box.min.x - box.height(); x < box.max.x; x += gap(1.5F))
    list.AddLine({x, box.max.y}, {x + box.height(), box.min.y}, colour(Role::muted), hairline());
  list.PopClipRect();
  list.AddRect(box.min, box.max, colour(Role::line), 0, 0, hairline());
}

/// The canvas of the clock: what is drawn on it is cut off at the names.
struct TimeCanvas {
  const widgets::Canvas& canvas;
  const TimeLayout& at;
  [[nodiscard]] float x(double round) const {
    return canvas.origin.x + at.names - gap(4) + static_cast<float>(round) * width_of_round() * canvas.zoom;
  }
  [[nodiscard]] Box bar(const RoleTimeline::Bar& bar) const {
    const float y = canvas.box.min.y + at.of_lane(bar.lane);
    return {{x(static_cast<double>(bar.from)), y}, {x(static_cast<double>(bar.to)) - hairline(), y + at.bar}};
  }
  [[nodiscard]] Box flight(const RoleTimeline::Flight& each) const {
    const float y = canvas.box.min.y + at.of_lane(each.lane) + at.bar + gap(1) + (each.kind == BarKind::copy ? at.flight / 2 : 0);
    return {{x(static_cast<double>(each.from)), y}, {x(static_cast<double>(each.to)) - hairline(), y + at.flight / 2}};
  }
  [[nodiscard]] float left() const { return canvas.box.min.x + at.names; }
  [[nodiscard]] bool is_seen(const Box& box) const { return box.max.x > left() && box.min.x < canvas.box.max.x; }
};

bool is_at(const RoleTimeline::Bar& bar, std::int64_t round) { return bar.from <= round && round < bar.to; }

/// Rounds are counted from 1 where people read them.
std::string words_of_rounds(std::int64_t from, std::int64_t to) {
  return to > from + 1 ? fmt::format("rounds {} to {}", from + 1, to) : fmt::format("round {}", from + 1);
}

std::string words_of_bar(const RoleTimeline& made, const RoleTimeline::Bar& bar) {
  return fmt::format("{}, {}: {}{}", made.lanes[bar.lane].title, words_of_rounds(bar.from, bar.to),
                     bar.kind == BarKind::wait ? "waits in front of " : "", bar.statement);
}

void select_bar(App& app, std::size_t step, const RoleTimeline::Bar& bar) {
  app.selected = {bar.name, step};
  app.roles.go_to(bar.from);
}

void draw_bars(App& app, const RoleTimeline& made, const TimeCanvas& time, std::size_t step) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetMousePos();
  const std::int64_t round = app.roles.round();
  for (const RoleTimeline::Flight& each : made.flights) {
    const Box box = time.flight(each);
    if (!time.is_seen(box)) continue;
    list.AddRectFilled(box.min, box.max, ink_of_kind(each.kind, 0.45F), gap(0.5F));
    if (time.canvas.is_hovered && box.contains(mouse))
      widgets::tip_over(box, fmt::format("{}\nin flight, {}", each.statement, words_of_rounds(each.from, each.to)));
  }
  for (std::size_t n = 0; n < made.bars.size(); ++n) {
    const RoleTimeline::Bar& bar = made.bars[n];
    const Box box = time.bar(bar);
    if (!time.is_seen(box)) continue;
    const bool lit = !bar.name.empty() && app.is_selected(step, bar.name);
    const bool under_mouse = time.canvas.is_hovered && mouse.x > time.left() && box.contains(mouse);
    if (bar.kind == BarKind::wait)
      hatch_wait(list, box);
    else
      list.AddRectFilled(box.min, box.max, ink_of_kind(bar.kind, bar.kind == BarKind::handover ? 0.5F : 0.85F));
    if (lit || under_mouse || is_at(bar, round))
      list.AddRect(box.min, box.max, colour(lit || under_mouse ? Role::accent : Role::text), 0, 0, lit ? metrics().focus_ring : hairline());
    const std::string words = words_of_bar(made, bar);
    mirror().add("bar", fmt::format("{}/{}", made.lanes[bar.lane].title, bar.from), words, box.min, box.max, true, lit);
    if (!under_mouse) continue;
    if (!bar.name.empty()) app.hovering = {bar.name, step};
    widgets::tip_over(box, words);
    if (time.canvas.clicked) select_bar(app, step, bar);
  }
}

/// Those that touch what is done now, or what is under the mouse, are strong.
void draw_ties(App& app, const RoleTimeline& made, const TimeCanvas& time) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 mouse = ImGui::GetMousePos();
  for (const bool strong : {false, true}) {
    for (const RoleTimeline::Tie& tie : made.ties) {
      const Box from = time.bar(made.bars[tie.from]), to = time.bar(made.bars[tie.to]);
      if (to.max.x < time.left() || from.min.x > time.canvas.box.max.x) continue;
      const bool is_strong = is_at(made.bars[tie.from], app.roles.round()) || is_at(made.bars[tie.to], app.roles.round()) ||
                             (time.canvas.is_hovered && (from.contains(mouse) || to.contains(mouse)));
      if (is_strong != strong) continue;
      const bool down = from.min.y <= to.min.y;
      const ImVec2 a{(from.min.x + from.max.x) / 2, down ? from.max.y : from.min.y},
          b{(to.min.x + to.max.x) / 2, down ? to.min.y : to.max.y};
      const ImU32 ink = strong ? colour(tie.frees ? Role::warn : Role::ok) : faded(Role::muted, 0.35F);
      const float bend = (b.y - a.y) / 2;
      list.AddBezierCubic(a, {a.x, a.y + bend}, {b.x, b.y - bend}, b, ink, strong ? 2 * hairline() : hairline());
      const float head = gap(1), way = down ? -1.0F : 1.0F;
      list.AddTriangleFilled(b, {b.x - head / 2, b.y + way * head}, {b.x + head / 2, b.y + way * head}, ink);
    }
  }
}

/// How many slots are full, and above them how many are being filled.
void draw_strips(const App& app, const RoleTimeline& made, const TimeCanvas& time) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (std::size_t r = 0; r < made.rings.size(); ++r) {
    const RoleTimeline::Ring& ring = made.rings[r];
    const float top = time.canvas.box.min.y + time.at.of_strip(r), height = time.at.strip - gap(2), bottom = top + height;
    const float slot = height / static_cast<float>(std::max<std::int64_t>(ring.depth, 1));
    list.AddRect({time.x(0), top}, {time.x(static_cast<double>(made.rounds)), bottom}, colour(Role::line), 0, 0, hairline());
    for (std::int64_t round = 0; round < made.rounds; ++round) {
      const RoleTimeline::Level& level = ring.levels[static_cast<std::size_t>(round)];
      const float left = time.x(static_cast<double>(round)), right = time.x(static_cast<double>(round + 1));
      if (right < time.left() || left > time.canvas.box.max.x) continue;
      const float full = bottom - static_cast<float>(level.full) * slot, filling = full - static_cast<float>(level.filling) * slot;
      if (level.full > 0) list.AddRectFilled({left, full}, {right, bottom}, ink_of_kind(BarKind::handover, 0.75F));
      if (level.filling > 0) list.AddRectFilled({left, filling}, {right, full}, ink_of_kind(BarKind::copy, 0.45F));
    }
    const RoleTimeline::Level& now = ring.levels[static_cast<std::size_t>(app.roles.round())];
    mirror().add("level", "level/" + ring.title,
                 fmt::format("{}: {} of {} slots full, {} being filled", ring.title, now.full, ring.depth, now.filling), {time.left(), top},
                 {time.canvas.box.max.x, bottom});
  }
}

void draw_names(App& app, const RoleTimeline& made, const TimeCanvas& time, std::size_t step) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 corner = time.canvas.box.min;
  list.AddRectFilled(corner, {time.left() - hairline(), time.canvas.box.max.y}, colour(Role::panel));
  for (std::size_t n = 0; n < made.lanes.size(); ++n)
    widgets::draw_text(list, {corner.x + gap(1), corner.y + time.at.of_lane(n) + (time.at.bar - font(Font::caption)->FontSize) / 2},
                       made.lanes[n].title, colour(Role::text), Font::caption);
  for (std::size_t r = 0; r < made.rings.size(); ++r) {
    const bool lit = app.is_selected(step, made.rings[r].channel);
    widgets::draw_text(list, {corner.x + gap(1), corner.y + time.at.of_strip(r) + gap(1)}, made.rings[r].title,
                       colour(lit ? Role::accent : Role::muted), Font::caption);
  }
}

/// The clock above the lanes, and where it stands: a click there sets it.
void draw_clock(App& app, const RoleTimeline& made, const TimeCanvas& time) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float top = time.canvas.box.min.y, step_width = width_of_round() * time.canvas.zoom;
  std::int64_t every = 1;
  for (const std::int64_t factor : {5, 2, 5, 2, 5})
    if (static_cast<float>(every) * step_width < gap(9)) every *= factor;
  for (std::int64_t round = 0; round < made.rounds; round += round == 0 ? std::max<std::int64_t>(every - 1, 1) : every)
    widgets::draw_text(list, {time.x(static_cast<double>(round)), top + gap(1)}, std::to_string(round + 1), colour(Role::muted),
                       Font::caption);
  const float now = time.x(static_cast<double>(app.roles.round()) + 0.5);
  list.AddLine({now, top + gap(4.5F)}, {now, time.canvas.box.max.y}, faded(Role::accent, 0.6F), hairline());
  list.AddTriangleFilled({now - gap(1), top + gap(4.5F)}, {now + gap(1), top + gap(4.5F)}, {now, top + gap(6)}, colour(Role::accent));
  const ImVec2 mouse = ImGui::GetMousePos();
  if (time.canvas.clicked && mouse.x > time.left() && mouse.y < top + time.at.top)
    app.roles.go_to(static_cast<std::int64_t>(std::floor((mouse.x - time.x(0)) / step_width)));
}

void legend(float width) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float side = gap(3), line = gap(4.5F);
  ImVec2 place = at;
  std::string said;
  for (const BarKind kind : {BarKind::value, BarKind::product, BarKind::copy, BarKind::handover, BarKind::turn, BarKind::wait}) {
    const std::string word = word_of(kind);
    const float needed = side + gap(1) + widgets::measure(word, Font::caption).x;
    if (place.x > at.x && place.x + needed > at.x + width) place = {at.x, place.y + line};
    const Box box{place, {place.x + side, place.y + side}};
    if (kind == BarKind::wait)
      hatch_wait(list, box);
    else
      list.AddRectFilled(box.min, box.max, ink_of_kind(kind, kind == BarKind::handover ? 0.5F : 0.85F));
    widgets::draw_text(list, {box.max.x + gap(1), place.y}, word, colour(Role::muted), Font::caption);
    place.x += needed + gap(3);
    said += (said.empty() ? "" : ", ") + word;
  }
  const float bottom = place.y + line;
  mirror().add("text", "legend", said, at, {at.x + width, bottom});
  ImGui::SetCursorScreenPos({at.x, bottom});
}

/// What each group does in the present round, a line a group.
void now(App& app, const RoleTimeline& made, float width) {
  const MirrorScope scope("now");
  for (std::size_t lane = 0; lane < made.lanes.size(); ++lane) {
    const auto bar = std::find_if(made.bars.begin(), made.bars.end(),
                                  [&](const RoleTimeline::Bar& each) { return each.lane == lane && is_at(each, app.roles.round()); });
    const std::string what = bar == made.bars.end()       ? "has nothing to do any more"
                             : bar->kind == BarKind::wait ? "waits in front of " + bar->statement
                                                          : bar->statement;
    widgets::fitted(made.lanes[lane].title, made.lanes[lane].title + ": " + what, width, Role::text, Font::code);
  }
}

void transport(App& app) {
  const std::pair<const char*, const char*> items[] = {{"roles.first", icons::first},
                                                       {"roles.previous", icons::chevron_left},
                                                       {"roles.play", app.roles.playing ? icons::pause : icons::play},
                                                       {"roles.next", icons::chevron_right},
                                                       {"roles.last", icons::last}};
  for (const auto& [command, icon] : items) {
    widgets::ButtonOptions options;
    options.icon = icon;
    options.look = widgets::Look::quiet;
    command_button(app, command, command, {}, options);
    ImGui::SameLine(0, gap(0.5F));
  }
}

void timeline(App& app, const RoleTimeline& made, std::size_t step) {
  const float width = ImGui::GetContentRegionAvail().x;
  transport(app);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({at.x + gap(2), at.y + (metrics().row - font(Font::body)->FontSize) / 2});
  widgets::fitted("clock", fmt::format("round {} of {}{}", app.roles.round() + 1, made.rounds, made.is_cut ? ", cut here" : ""),
                  ImGui::GetContentRegionAvail().x);
  ImGui::SetCursorScreenPos({ImGui::GetWindowPos().x, at.y + metrics().row + gap(1)});
  {
    const MirrorScope scope("what");
    widgets::wrapped(
        fmt::format("The first work item of {}, run by the interpreter{}{}. An operation takes one round: this is the order, not "
                    "the time. Wheel zooms, drag moves, F fits.",
                    made.kernel, made.sizes.empty() ? "" : " at ", made.sizes),
        Role::muted, Font::caption);
  }
  legend(width);
  now(app, made, width);
  const TimeLayout laid = lay_out_time(made, ImGui::GetContentRegionAvail().y);
  RolesState& state = app.roles_state;
  // The names keep their width, whatever the zoom: what is to fit is as much wider as they take of the room.
  const float room = std::max(width - gap(8), laid.names + gap(4)), all = static_cast<float>(made.rounds) * width_of_round();
  const widgets::Canvas canvas = widgets::begin_canvas("canvas", state.canvas, {all * room / (room - laid.names), 1});
  if (widgets::is_arrow_pressed(canvas, ImGuiKey_LeftArrow)) app.roles.go_to(app.roles.round() - 1);
  if (widgets::is_arrow_pressed(canvas, ImGuiKey_RightArrow)) app.roles.go_to(app.roles.round() + 1);
  const TimeCanvas time{canvas, laid};
  draw_bars(app, made, time, step);
  draw_ties(app, made, time);
  draw_strips(app, made, time);
  draw_clock(app, made, time);
  draw_names(app, made, time, step);
  widgets::end_canvas();
}

}  // namespace

void roles(App& app) {
  if (app.document.shown() == nullptr) return nothing_shown(app, "Roles over time appear here as soon as the text compiles.");
  const auto& steps = app.document.shown()->steps();
  const std::size_t step = app.step();
  if (steps[step].after.level != Level::kernel) {
    widgets::wrapped("Roles are given at the Kernel level: which warps load, which compute.", Role::muted);
    if (steps.back().after.level == Level::kernel && widgets::link("to-kernel", "Go to the last step")) app.go_to(steps.size() - 1);
    return;
  }
  app.roles.request(*app.document.shown(), app.document.version(), step);
  if (const Refusal* why = app.roles.refused()) {
    widgets::wrapped(why->reason, Role::text);
    if (!why->hint.empty()) widgets::wrapped(why->hint, Role::muted);
    return;
  }
  const RoleTimeline* made = app.roles.timeline();
  if (made == nullptr) return widgets::wrapped("A small program runs and is watched. Its lanes appear here in a moment.", Role::muted);
  timeline(app, *made, step);
}

}  // namespace fathom::ui::panels
