// Diagrams of the runs: times over runs, the roofline of the target, traffic of the steps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>

#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/tune_parts.hpp"
#include "target/target.hpp"
#include "tune_commands.hpp"
#include "widgets/plot.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

using widgets::PlotContent;
using widgets::PlotMark;

struct PlotEntry {
  TunePlot plot;
  const char* id;
  const char* title;
};
constexpr std::array plot_entries = std::to_array<PlotEntry>(
    {{TunePlot::times, "times", "Times"}, {TunePlot::roofline, "roofline", "Roofline"}, {TunePlot::traffic, "traffic", "Traffic"}});

constexpr std::size_t most_drawn = 600;  ///< more points than that are no picture: the newest are drawn

/// The document's plan as runs name theirs; what is predicted of it needs no run.
std::vector<const Trial*> runs_of_this(const App& app) {
  std::vector<const Trial*> found;
  const auto& all = app.trials.all();
  for (auto each = all.rbegin(); each != all.rend() && found.size() < most_drawn; ++each)
    if (!each->plan.choices.empty() && apartness(app, each->plan).empty()) found.push_back(&*each);
  std::reverse(found.begin(), found.end());
  return found;
}

std::string words_of_run(const Trial& trial) {
  const Outcome& outcome = trial.outcome;
  std::string words = fmt::format("run {}: {}", trial.number, word_of(trial));
  if (outcome.measured)
    words += fmt::format("\n{} [{}, {}] measured", milliseconds_text(outcome.measured->ms), milliseconds_text(outcome.measured->p20),
                         milliseconds_text(outcome.measured->p80));
  return words + fmt::format("\n{} predicted", milliseconds_text(trial.plan.cost.ms));
}

/// Measured times far from the predicted ones want powers of ten.
bool wants_log(const std::vector<const Trial*>& runs) {
  constexpr double far_apart = 12;
  double low = INFINITY, high = 0;
  const auto take = [&](double ms) {
    if (ms > 0) low = std::min(low, ms), high = std::max(high, ms);
  };
  for (const Trial* each : runs) {
    take(each->plan.cost.ms);
    if (each->outcome.measured) take(each->outcome.measured->ms);
  }
  return high > far_apart * low;
}

/// Runs that give a number as discs with their intervals, predictions as diamonds, a cross where a run failed; the lowest median so far as
/// steps.
PlotContent times_of(const App& app, const std::vector<const Trial*>& runs, std::vector<int>& numbers) {
  PlotContent content;
  content.x = {"run", false, true, [](double value) { return fmt::format("{:.0f}", value); }};
  content.y = {"time of a launch", wants_log(runs), false, milliseconds_text};
  double best = INFINITY;  // a median: which plan is the faster one a comparison in turn says
  widgets::PlotLine best_line{{}, Role::ok, false, true, false, {}};
  for (const Trial* each : runs) {
    const double x = each->number;
    const bool selected = each->number == app.view.tune.selected;
    content.points.push_back({x,
                              each->plan.cost.ms,
                              {},
                              {},
                              each->has_failed() ? PlotMark::cross : PlotMark::diamond,
                              each->has_failed() ? Role::bad : Role::muted,
                              fmt::format("predicted.{}", each->number),
                              words_of_run(*each),
                              selected && !each->is_ok(),
                              true});
    numbers.push_back(each->number);
    if (!each->is_ok()) continue;
    const Measured& measured = *each->outcome.measured;
    best = std::min(best, measured.ms);
    best_line.points.emplace_back(x, best);
    content.points.push_back({x, measured.ms, measured.p20, measured.p80, PlotMark::disc, Role::accent,
                              fmt::format("measured.{}", each->number), words_of_run(*each), selected, true});
    numbers.push_back(each->number);
  }
  if (!best_line.points.empty()) {
    best_line.points.emplace_back(std::max<double>(runs.back()->number, best_line.points.back().first) + 0.4, best);
    best_line.words = fmt::format("lowest median so far {}", milliseconds_text(best));
    content.lines.push_back(std::move(best_line));
  }
  // The least work of any of the plans at the target's full rates.
  double roof = INFINITY;
  for (const Trial* each : runs)
    if (each->plan.roof_ms > 0) roof = std::min(roof, each->plan.roof_ms);
  if (std::isfinite(roof))
    content.lines.push_back({{{runs.front()->number - 0.4, roof}, {runs.back()->number + 0.4, roof}},
                             Role::warn,
                             true,
                             false,
                             false,
                             fmt::format("roof of the target {}", milliseconds_text(roof))});
  return content;
}

std::string rate_text(double flops) { return count_text(flops) + "FLOP/s"; }

/// Rates against intensity, both logarithmic: what memory allows rises, what arithmetic allows is level.
PlotContent roofline_of(const App& app, const std::vector<const Trial*>& runs, std::vector<int>& numbers) {
  const session::Compilation& compilation = app.document.shown()->compilation();
  const Rates& rates = compilation.target.rates;
  const Cost& cost = compilation.record.steps.back().cost;
  PlotContent content;
  content.x = {"arithmetic for a byte of main memory, FLOP/B", true, false, [](double value) { return count_text(value); }};
  content.y = {"rate", true, false, rate_text};
  const auto intensity = [](const Cost& of) { return of.bytes > 0 ? of.flops / of.bytes : 0; };
  double low = 1, high = 1;
  const auto widen = [&](double x) {
    if (x > 0) low = std::min(low, x / 4), high = std::max(high, x * 4);
  };
  widen(intensity(cost));
  for (const Trial* each : runs) widen(intensity(each->plan.cost));
  const double fastest = std::max(rates.matrix_flops, rates.vector_flops);
  if (rates.memory_bytes > 0 && fastest > 0) {
    const double ridge = fastest / rates.memory_bytes;
    high = std::max(high, ridge * 4);
    content.lines.push_back({{{low, low * rates.memory_bytes}, {ridge, fastest}},
                             Role::warn,
                             false,
                             false,
                             false,
                             fmt::format("memory {}/s", bytes_text(rates.memory_bytes))});
    content.lines.push_back(
        {{{ridge, fastest}, {high, fastest}}, Role::warn, false, false, false, fmt::format("products {}", rate_text(fastest))});
    if (rates.vector_flops > 0 && rates.vector_flops < fastest)
      content.lines.push_back({{{rates.vector_flops / rates.memory_bytes, rates.vector_flops}, {high, rates.vector_flops}},
                               Role::muted,
                               true,
                               false,
                               false,
                               fmt::format("other arithmetic {}", rate_text(rates.vector_flops))});
  }
  const auto add = [&](const Cost& of, double ms, PlotMark mark, Role role, std::string id, std::string words, bool selected, int number) {
    if (intensity(of) <= 0 || ms <= 0) return;
    const double rate = of.flops / ms * 1e3;
    content.points.push_back(
        {intensity(of), rate, {}, {}, mark, role, std::move(id), fmt::format("{}\n{}", words, rate_text(rate)), selected, number > 0});
    numbers.push_back(number);
  };
  add(cost, cost.ms, PlotMark::diamond, Role::text, "predicted", fmt::format("the open plan, predicted: {}", milliseconds_text(cost.ms)),
      false, 0);
  for (const Trial* each : runs)
    if (each->is_ok())
      add(each->plan.cost, each->outcome.measured->ms, PlotMark::disc, Role::accent, fmt::format("measured.{}", each->number),
          words_of_run(*each), each->number == app.view.tune.selected, each->number);
  return content;
}

/// Bytes of main memory after each step: a bar a step; pressed it is looked at.
PlotContent traffic_of(const App& app) {
  const auto& steps = app.document.shown()->steps();
  PlotContent content;
  content.x = {"step", false, true, [](double value) { return fmt::format("{:.0f}", value); }};
  double low = INFINITY, high = 0;
  widgets::PlotLine bars{{}, Role::accent, false, true, true, {}};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double bytes = steps[i].cost.bytes;
    if (bytes > 0) low = std::min(low, bytes), high = std::max(high, bytes);
    bars.points.emplace_back(static_cast<double>(i) + 0.5, bytes);
    content.points.push_back({static_cast<double>(i) + 1,
                              bytes,
                              {},
                              {},
                              PlotMark::square,
                              Role::accent,
                              steps[i].id,
                              fmt::format("{}. {}\n{} to and from main memory\n{} arithmetic", i + 1, steps[i].title, bytes_text(bytes),
                                          count_text(steps[i].cost.flops) + "FLOP"),
                              i == app.step(),
                              true});
  }
  if (!bars.points.empty()) bars.points.emplace_back(static_cast<double>(steps.size()) + 0.5, bars.points.back().second);
  content.lines.push_back(std::move(bars));
  constexpr double far_apart = 50;
  content.y = {"predicted traffic after the step", high > far_apart * low, false, bytes_text, true};
  return content;
}

bool is_drawn(const App& app) {
  return app.document.shown() != nullptr && (app.view.tune.plot != TunePlot::times || !runs_of_this(app).empty());
}

/// What the marks are; colours are not alone.
std::string legend_of(const App& app) {
  const std::string machine = machine_of(app.document.shown()->compilation().target);
  switch (app.view.tune.plot) {
    case TunePlot::times:
      return fmt::format("● measured, with 20th to 80th percentile   ◆ predicted for {}   ✕ failed", machine);
    case TunePlot::roofline:
      return fmt::format("◆ open plan, predicted{}   Roofs: the target's description, {}", app.trials.all().empty() ? "" : "   ● measured",
                         machine);
    case TunePlot::traffic:
      return "Bytes to and from main memory of the whole program, as the cost record has them";
  }
  return {};
}

float height_of_legend(const App& app, float width) {
  if (!is_drawn(app)) return font(Font::caption)->FontSize;
  ImFont* face = font(Font::caption);
  return face->CalcTextSizeA(face->FontSize, FLT_MAX, width, legend_of(app).c_str()).y;
}

void legend(const App& app) {
  widgets::wrapped(legend_of(app), Role::muted, Font::caption);
  if (app.view.tune.plot != TunePlot::traffic) widgets::tip(rates_of(app.document.shown()->compilation().target));
}

void draw_runs(App& app, TunePlot which, ImVec2 size) {
  const std::vector<const Trial*> runs = runs_of_this(app);
  if (which == TunePlot::times && runs.empty()) {
    const auto& all = app.trials.all();
    const bool others = std::any_of(all.begin(), all.end(), [](const Trial& each) { return each.state == TrialState::done; });
    return widgets::wrapped(others ? "No run is of this text at these sizes for this target: there is nothing to draw together."
                                   : "Times appear here when the first run is done.",
                            Role::muted);
  }
  std::vector<int> numbers;
  const PlotContent content = which == TunePlot::times ? times_of(app, runs, numbers) : roofline_of(app, runs, numbers);
  const widgets::PlotEvents events = widgets::plot("plot", content, size);
  if (events.chosen && numbers[*events.chosen] > 0) app.view.tune.selected = numbers[*events.chosen];
}

}  // namespace

void tune_plots(App& app, const Box& box) {
  widgets::begin_panel("plots", box, {"", false});
  ImGui::SetCursorScreenPos({box.min.x + gap(2), box.min.y});
  for (const PlotEntry& entry : plot_entries) {
    if (widgets::tab(entry.id, entry.title, app.view.tune.plot == entry.plot)) app.view.tune.plot = entry.plot;
    ImGui::SameLine(0, 0);
  }
  ImGui::SetCursorScreenPos({box.min.x + gap(3), box.min.y + metrics().panel_head + gap(1)});
  if (app.document.shown() == nullptr) {
    nothing_shown(app, "Times, roofline and traffic appear here as soon as the text compiles.");
    return widgets::end_panel();
  }
  const float width = box.width() - 2 * gap(3), below = height_of_legend(app, width);
  const ImVec2 size{width, box.height() - metrics().panel_head - gap(4) - below};
  if (app.view.tune.plot == TunePlot::traffic) {
    const widgets::PlotEvents events = widgets::plot("plot", traffic_of(app), size);
    if (events.chosen) app.go_to(*events.chosen);
  } else {
    draw_runs(app, app.view.tune.plot, size);
  }
  if (is_drawn(app)) {
    ImGui::SetCursorScreenPos({box.min.x + gap(3), box.max.y - gap(1.5F) - below});
    legend(app);
  }
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
