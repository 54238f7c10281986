// The stage: the small program of what is open, played trip by trip. Everything on it was seen by the observer of one run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "command_button.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
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

std::string data_text(const session::stage::Stage& run, const std::string& family) {
  struct Words {
    std::string_view family, along, anywhere;
  };
  constexpr std::array known = std::to_array<Words>({{"gaussian", "random", "random"},
                                                     {"one-hot", "with one peak along {}", "with one peak"},
                                                     {"ascending", "rising along {}", "rising"},
                                                     {"descending", "falling along {}", "falling"},
                                                     {"all-equal", "all equal", "all equal"},
                                                     {"infinite-prefix", "masked at the first {}", "masked at the beginning"},
                                                     {"large", "very large", "very large"},
                                                     {"small-integers", "small whole numbers", "small whole numbers"},
                                                     {"tiny", "tiny", "tiny"},
                                                     {"masked-tile", "masked for a whole tile of {}", "masked for a whole tile"},
                                                     {"infinite-peak", "infinite at one {}", "infinite at one place"},
                                                     {"not-a-number", "no number at one {}", "no number at one place"}});
  const auto at = family.find('@');
  const std::string_view base = std::string_view(family).substr(0, at);
  const auto found = std::find_if(known.begin(), known.end(), [&](const Words& each) { return each.family == base; });
  const std::string target = at == std::string::npos ? std::string() : family.substr(at + 1);
  if (found == known.end()) return target.empty() ? family : fmt::format("{} in {}", base, target);
  bool runs_along = false;  // else the pattern follows another index of it
  for (const math::Statement& statement : run.compilation->program.statements)
    for (const Expr value : statement.map() != nullptr ? std::vector<Expr>{statement.map()->value} : statement.reduction()->values)
      visit(value, [&](Expr e) {
        if (!e.is(Op::read) || e.name().text() != target || !run.plane) return;
        const auto args = e.args();
        runs_along = runs_along || std::find(args.begin(), args.end(), index(run.plane->column)) != args.end();
      });
  const std::string words = runs_along ? fmt::format(fmt::runtime(found->along), run.plane->column.text()) : std::string(found->anywhere);
  return target.empty() ? words : target + " " + words;
}

namespace {

/// Places items from left to right, and below where the line has no more room for one.
class Flow {
 public:
  explicit Flow(float width) : left_(ImGui::GetCursorScreenPos().x), right_(left_ + width), x_(left_), y_(ImGui::GetCursorScreenPos().y) {}
  /// The cursor for an item that needs this width; returns what it has.
  float place(float width, float between) {
    const bool is_first = x_ == left_;
    if (!is_first && x_ + between + width > right_) {
      x_ = left_;
      y_ += metrics().row + ImGui::GetStyle().ItemSpacing.y;
    } else if (!is_first) {
      x_ += between;
    }
    ImGui::SetCursorScreenPos({x_, y_});
    return std::min(width, right_ - x_);
  }
  /// The item has been drawn.
  void placed() { x_ = ImGui::GetItemRectMax().x; }
  void end() const {
    ImGui::SetCursorScreenPos({left_, y_});
    ImGui::Dummy({1, metrics().row});
  }
  [[nodiscard]] ImVec2 at() const { return {x_, y_}; }

 private:
  float left_, right_, x_, y_;
};

void head(App& app, float width, bool has_title) {
  const StageView& view = app.stage;
  Flow flow(width);
  if (has_title) {
    const float title = flow.place(widgets::measure("STAGE", Font::body_bold).x, 0);
    ImGui::SetCursorScreenPos({flow.at().x, flow.at().y + (metrics().row - font(Font::body_bold)->FontSize) / 2});
    widgets::fitted("title", "STAGE", title, Role::text, Font::body_bold);
    flow.placed();
  }
  const auto blocks = view.stage()->blocks();
  if (!blocks.empty()) {
    std::vector<std::string> names;
    std::size_t at = 0;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      names.push_back(blocks[k].second);
      if (blocks[k].first <= view.frame()) at = k;
    }
    const float room = flow.place(gap(38), gap(3));
    if (const auto picked = widgets::pick("block", names, at, room, "Which rows the trips are about"))
      app.stage.go_to(blocks[*picked].first);
    flow.placed();
  }
  const std::pair<const char*, const char*> items[] = {{"stage.first", icons::first},
                                                       {"stage.previous", icons::chevron_left},
                                                       {"stage.play", view.playing ? icons::pause : icons::play},
                                                       {"stage.next", icons::chevron_right},
                                                       {"stage.last", icons::last}};
  constexpr float between = 0.5F;
  float all = 0;  // they stay together where a line has room for them
  for (const auto& item : items) all += widgets::button_width({}, item.second) + gap(between);
  bool is_first = true;
  for (const auto& [command, icon] : items) {
    widgets::ButtonOptions options;
    options.icon = icon;
    options.look = widgets::Look::quiet;
    flow.place(is_first && all <= width ? all : widgets::button_width({}, icon), gap(is_first ? 2 : between));
    command_button(app, command, command, {}, options);
    flow.placed();
    is_first = false;
  }
  constexpr std::array<double, 4> speeds = {0.5, 1, 2, 4};
  widgets::ButtonOptions speed;
  speed.look = widgets::Look::quiet;
  speed.tip = "How fast it plays";
  const std::string times = fmt::format("{:g}×", view.speed);
  flow.place(widgets::button_width(times), gap(between));
  if (widgets::button("speed", times, speed)) {
    const auto next = std::upper_bound(speeds.begin(), speeds.end(), view.speed);
    app.stage.speed = next == speeds.end() ? speeds.front() : *next;
  }
  flow.placed();
  if (view.families().empty()) return flow.end();
  const auto at = std::find(view.families().begin(), view.families().end(), view.family());
  std::vector<std::string> names;
  for (const std::string& each : view.families()) names.push_back("data: " + data_text(*view.stage(), each));
  const auto number = static_cast<std::size_t>(at - view.families().begin());
  const std::string name = number < names.size() ? names[number] : std::string();
  const float wanted = widgets::button_width(name + "  ") + gap(4);  // with the arrow
  if (const auto picked = widgets::pick("data", names, number, flow.place(wanted, gap(2)),
                                        "What the arguments hold: " + data_text(*view.stage(), view.family())))
    app.stage.set_family(view.families()[*picked]);
  flow.end();
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
  const auto& steps = app.document.shown()->steps();
  const auto from = std::find_if(steps.begin(), steps.end(), [&](const Step& each) { return each.id == stage.unsound_from; });
  if (from != steps.end()) {
    widgets::wrapped(fmt::format("UNSOUND from “{}” on. This step is before it: nothing is wrong here yet.", from->title), Role::bad,
                     Font::caption);
    if (widgets::link("to-unsound", "Go there")) app.go_to(static_cast<std::size_t>(from - steps.begin()));
    return;
  }
  std::string what;
  for (const std::string& id : stage.options.breaks)
    for (const session::stage::Break& each : app.stage.breaks())
      if (each.id == id) what += (what.empty() ? "" : ", ") + each.title;
  widgets::wrapped(fmt::format("UNSOUND{}{}: what runs here is not the plan that was derived.", what.empty() ? "" : ": ", what), Role::bad,
                   Font::caption);
  if (app.stage.has_data_of_break())
    widgets::wrapped(fmt::format("The data were changed with it: {}. On the others it may not show.", data_text(stage, app.stage.family())),
                     Role::muted, Font::caption);
  if (app.stage.broken().empty()) return;
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
  if (app.document.shown() == nullptr) return nothing_shown(app, "The stage plays the program as soon as its text compiles.");
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
