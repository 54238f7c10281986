// The stage: the small program of what is open, played trip by trip. Everything on it was seen by the observer of one run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "command_button.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "panels/stage_parts.hpp"
#include "widgets/pick.hpp"

namespace fathom::ui::panels {
namespace stage_parts {

std::size_t step_of_names(const App& app) {
  const auto& steps = app.document.shown()->steps();
  for (std::size_t k = 0; k < steps.size(); ++k)
    if (steps[k].id == app.stage.step_shown()) return k;
  return app.step();
}

ImU32 ink_of(const App& app, const std::string& tensor) {
  const auto entity = app.colour_of(step_of_names(app), tensor);
  return entity ? entity_colour(*entity) : colour(Role::text);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "−inf" : "inf";
  std::string text = fmt::format("{:.3g}", value);
  if (!text.empty() && text.front() == '-') text.replace(0, 1, "−");
  return text;
}

std::string values_text(const std::vector<double>& values) {
  if (values.size() == 1) return number_text(values.front());
  constexpr std::size_t most = 8;
  std::string text = "[";
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values.size() > most && k == most - 1) {
      text += " …";
      k = values.size() - 1;
    }
    text += (k == 0 ? "" : " ") + number_text(values[k]);
  }
  return text + "]";
}

namespace {

void head(App& app, float width, bool has_title) {
  const StageView& view = app.stage;
  if (has_title) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::SetCursorScreenPos({at.x, at.y + (metrics().row - font(Font::body_bold)->FontSize) / 2});
    widgets::fitted("title", "STAGE", widgets::measure("STAGE", Font::body_bold).x, Role::text, Font::body_bold);
    ImGui::SetCursorScreenPos({at.x + widgets::measure("STAGE", Font::body_bold).x + gap(3), at.y});
  }
  const auto blocks = view.stage()->blocks();
  if (!blocks.empty()) {
    std::vector<std::string> names;
    std::size_t at = 0;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      names.push_back(blocks[k].second);
      if (blocks[k].first <= view.frame()) at = k;
    }
    if (const auto picked = widgets::pick("block", names, at, gap(38), "Which rows the trips are about"))
      app.stage.go_to(blocks[*picked].first);
    ImGui::SameLine(0, gap(2));
  }
  const std::pair<const char*, const char*> items[] = {{"stage.first", icons::first},
                                                       {"stage.previous", icons::chevron_left},
                                                       {"stage.play", view.playing ? icons::pause : icons::play},
                                                       {"stage.next", icons::chevron_right},
                                                       {"stage.last", icons::last}};
  for (const auto& [command, icon] : items) {
    widgets::ButtonOptions options;
    options.icon = icon;
    options.look = widgets::Look::quiet;
    command_button(app, command, command, {}, options);
    ImGui::SameLine(0, gap(0.5F));
  }
  constexpr std::array<double, 4> speeds = {0.5, 1, 2, 4};
  widgets::ButtonOptions speed;
  speed.look = widgets::Look::quiet;
  speed.tip = "How fast it plays";
  if (widgets::button("speed", fmt::format("{:g}×", view.speed), speed)) {
    const auto next = std::upper_bound(speeds.begin(), speeds.end(), view.speed);
    app.stage.speed = next == speeds.end() ? speeds.front() : *next;
  }
  if (view.families().empty()) return;
  const auto at = std::find(view.families().begin(), view.families().end(), view.family());
  std::vector<std::string> names;
  for (const std::string& each : view.families()) names.push_back("data: " + each);
  const float room = gap(46), right = ImGui::GetWindowPos().x + width;
  ImGui::SameLine(0, gap(2));
  if (ImGui::GetCursorScreenPos().x + gap(20) > right) ImGui::NewLine();
  const auto number = static_cast<std::size_t>(at - view.families().begin());
  if (const auto picked = widgets::pick("data", names, number, std::min(room, std::max(gap(20), right - ImGui::GetCursorScreenPos().x)),
                                        "What the arguments hold"))
    app.stage.set_family(view.families()[*picked]);
}

/// "trip 4 of 12: i 1, j 0 (pass 2)"
std::string trip_text(const session::stage::Stage& stage, std::size_t number) {
  const session::stage::Frame& frame = stage.frames[number];
  std::string where;
  for (const auto* range : {frame.rows ? &*frame.rows : nullptr, frame.columns ? &*frame.columns : nullptr}) {
    if (range == nullptr || range->index.empty() || range->hi <= range->lo) continue;
    where += fmt::format("{}{} = {}", where.empty() ? "" : ", ", range->index.text(), range->lo);
    if (range->hi - range->lo > 1) where += fmt::format(" … {}", range->hi - 1);
  }
  const auto most =
      std::max_element(stage.frames.begin(), stage.frames.end(), [](const auto& a, const auto& b) { return a.pass < b.pass; });
  if (most->pass > 0) where += fmt::format("{}pass {}", where.empty() ? "" : ", ", frame.pass + 1);
  return fmt::format("trip {} of {}{}{}", number + 1, stage.frames.size(), where.empty() ? "" : ": ", where);
}

/// What is broken, and what could be.
void breaks(App& app) {
  const StageView& view = app.stage;
  if (view.breaks().empty()) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float right = at.x + ImGui::GetContentRegionAvail().x;
  ImGui::SetCursorScreenPos({at.x, at.y + (metrics().row - font(Font::body)->FontSize) / 2});
  widgets::fitted("label", "Break it:", widgets::measure("Break it:", Font::body).x, Role::muted);
  ImGui::SetCursorScreenPos({ImGui::GetItemRectMax().x, at.y});
  std::optional<std::string> toggled;
  float x = ImGui::GetItemRectMax().x;
  bool is_first = true;
  for (const session::stage::Break& each : view.breaks()) {
    const float width = metrics().icon + gap(1.5F) + widgets::measure(each.title, Font::body).x;
    if (is_first)
      ImGui::SetCursorScreenPos({x + gap(3), at.y});
    else if (x + gap(3) + width <= right)
      ImGui::SameLine(0, gap(3));
    is_first = false;
    bool on = view.is_broken(each.id);
    if (widgets::checkbox("break/" + each.id, each.title, on)) toggled = each.id;
    widgets::tip(each.says);
    x = ImGui::GetItemRectMax().x;
  }
  if (toggled) app.stage.toggle_break(*toggled);
}

void watermark(App& app, const session::stage::Stage& stage) {
  if (!stage.unsound) return;
  std::string what;
  for (const std::string& id : stage.options.breaks)
    for (const session::stage::Break& each : app.stage.breaks())
      if (each.id == id) what += (what.empty() ? "" : ", ") + each.title;
  widgets::wrapped(fmt::format("UNSOUND{}{}: what runs here is not the plan that was derived.", what.empty() ? "" : ": ", what), Role::bad,
                   Font::caption);
  if (app.stage.broken().empty()) return;
  ImGui::SameLine();
  if (widgets::link("heal", "Repair it")) app.stage.heal();
}

/// What stands where nothing can be played.
void instead(App& app) {
  if (const Refusal* why = app.stage.refused()) {
    widgets::wrapped(why->reason, Role::text);
    if (!why->hint.empty()) widgets::wrapped(why->hint, Role::muted);
    if (app.stage.broken().empty()) return;
    if (widgets::link("heal", "Repair what was broken")) app.stage.heal();
    return;
  }
  widgets::wrapped("The small program runs. Its trips appear here in a moment.", Role::muted);
}

void content(App& app, bool has_title) {
  if (app.document.shown() == nullptr) return widgets::wrapped("The stage plays the program as soon as its text compiles.", Role::muted);
  app.stage.request(*app.document.shown(), app.document.version(), app.step());
  const session::stage::Stage* stage = app.stage.stage();
  if (stage == nullptr) return instead(app);
  const double now = ImGui::GetTime();
  const float arrived = app.stage.arrived(now, app.settings.reduced_motion);
  const float width = ImGui::GetContentRegionAvail().x;
  head(app, width, has_title);
  const auto& steps = app.document.shown()->steps();
  const std::size_t named = step_of_names(app);
  widgets::fitted("trip", trip_text(*stage, app.stage.frame()), width, Role::text, Font::body);
  widgets::fitted(
      "what",
      fmt::format("after “{}”{}", steps[named].title, named == app.step() ? "" : ", the nearest step that the small program has, too"),
      width, Role::muted, Font::caption);
  watermark(app, *stage);
  if (!stage->cut.empty()) widgets::wrapped(stage->cut, Role::warn, Font::caption);
  if (!stage->plane)
    return widgets::wrapped(
        "Nothing is reduced here: every element is computed by itself, and no value runs. Open a program with a sum or a maximum to watch "
        "one.",
        Role::muted);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float bottom = at.y + ImGui::GetContentRegionAvail().y;
  const float strip = gap(17), switches = app.stage.breaks().empty() ? 0 : gap(13), bars = gap(16);
  const float middle = std::max(gap(46), bottom - at.y - strip - switches - bars - gap(4));
  const float square = std::clamp(std::min(middle, width * 0.48F), gap(40), gap(100));
  plane(app, {at, {at.x + square, at.y + middle}}, arrived);
  values(app, {{at.x + square + gap(4), at.y}, {at.x + width, at.y + middle}});
  ImGui::SetCursorScreenPos({at.x, at.y + middle + gap(1)});
  places(app, {{at.x, at.y + middle + gap(1)}, {at.x + width, at.y + middle + bars}});
  ImGui::SetCursorScreenPos({at.x, at.y + middle + bars + gap(1)});
  breaks(app);
  const float from = std::max(ImGui::GetCursorScreenPos().y + gap(1), bottom - strip);
  errors(app, {{at.x, from}, {at.x + width, from + strip - gap(1)}});
  ImGui::SetCursorScreenPos({at.x, from + strip - gap(1)});
  ImGui::Dummy({1, 1});
}

}  // namespace
}  // namespace stage_parts

void stage(App& app, const Box& box) {
  widgets::begin_panel("stage", box, {"", true});
  stage_parts::content(app, true);
  widgets::end_panel();
}

void stage_tab(App& app) { stage_parts::content(app, false); }

}  // namespace fathom::ui::panels
