// The table of runs: sorted, filtered, only the rows that are seen are drawn; and what the comparison of two rows said.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "command.hpp"
#include "command_button.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/tune_parts.hpp"
#include "tune_commands.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

struct Column {
  TrialColumn column;
  const char* id;
  const char* title;
  float width;       ///< gaps; 0: what the others leave
  float wide_width;  ///< where there is room
  bool is_number;
};
constexpr std::array columns = std::to_array<Column>({{TrialColumn::number, "number", "#", 9, 10, true},
                                                      {TrialColumn::plan, "plan", "plan", 0, 0, false},
                                                      {TrialColumn::predicted, "predicted", "predicted", 18, 20, true},
                                                      {TrialColumn::measured, "measured", "measured", 18, 60, true},
                                                      {TrialColumn::error, "error", "max error", 18, 40, true},
                                                      {TrialColumn::state, "state", "state", 24, 27, false}});
constexpr float wide_from = 210;  ///< gaps
constexpr float pick_width = 7;
constexpr float least_plan = 24;                                                     ///< of the column that takes what the others leave
constexpr std::array left_out_first = {TrialColumn::error, TrialColumn::predicted};  ///< where there is no room for all

bool passes_filter(const Trial& trial, TrialFilter filter) {
  return filter == TrialFilter::all || (filter == TrialFilter::ok ? trial.is_ok() : trial.has_failed());
}

/// Rows without the number that is sorted by stand last, whichever way it goes.
double key_of(const Trial& trial, TrialColumn column) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  switch (column) {
    case TrialColumn::predicted:
      return trial.plan.choices.empty() ? none : trial.plan.cost.ms;
    case TrialColumn::measured:
      return trial.outcome.measured ? trial.outcome.measured->ms : none;
    case TrialColumn::error:
      return trial.outcome.max_error.value_or(none);
    default:
      return trial.number;
  }
}

std::string text_key(const Trial& trial, TrialColumn column, const Trial* reference) {
  if (column == TrialColumn::state) return word_of(trial);
  return reference == nullptr ? std::string() : difference_text(trial.plan, reference->plan);
}

/// The run that differences are taken from: the best of the open program, else its first.
void find_reference(App& app) {
  app.tune.standing = {};
  app.tune.reference = 0;
  const auto& all = app.trials.all();
  const auto first = std::find_if(all.begin(), all.end(),
                                  [&](const Trial& each) { return !each.plan.choices.empty() && apartness(app, each.plan).empty(); });
  if (app.document.shown() == nullptr || first == all.end()) return;
  app.tune.standing = app.trials.standing(first->plan);
  app.tune.reference = app.tune.standing.best != 0 ? app.tune.standing.best : first->number;
}

void sort_rows(App& app) {
  const auto& all = app.trials.all();
  const TuneView& view = app.view.tune;
  std::vector<std::size_t>& rows = app.tune.rows;
  if (view.sort == TrialColumn::plan || view.sort == TrialColumn::state) {
    std::vector<std::string> keys(all.size());
    const Trial* reference = app.trials.find(app.tune.reference);
    for (const std::size_t i : rows) keys[i] = text_key(all[i], view.sort, reference);
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return view.descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
    return;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    const double x = key_of(all[a], view.sort), y = key_of(all[b], view.sort);
    if (std::isnan(x) || std::isnan(y)) return !std::isnan(x) && std::isnan(y);
    return view.descending ? y < x : x < y;
  });
}

void list_rows(App& app) {
  const TuneView& view = app.view.tune;
  const TuneState::Listed wanted{app.trials.version(), app.document.version(), view.filter, view.sort, view.descending};
  if (app.tune.is_listed && app.tune.listed == wanted) return;
  app.tune.listed = wanted;
  app.tune.is_listed = true;
  find_reference(app);
  app.tune.rows.clear();
  for (std::size_t i = 0; i < app.trials.all().size(); ++i)
    if (passes_filter(app.trials.all()[i], view.filter)) app.tune.rows.push_back(i);
  sort_rows(app);
}

std::string signed_word(const Trial& trial) {
  const char* sign = trial.state != TrialState::done               ? "◌"
                     : trial.is_ok()                               ? "✓"
                     : trial.outcome.kind == RunKind::inconclusive ? "≈"
                     : trial.outcome.kind == RunKind::cancelled    ? "–"
                                                                   : "✕";
  return fmt::format("{} {}", sign, word_of(trial));
}

Role role_of_trial(const Trial& trial) {
  if (trial.state != TrialState::done || trial.outcome.kind == RunKind::cancelled) return Role::muted;
  return trial.is_ok() ? Role::ok : trial.outcome.kind == RunKind::inconclusive ? Role::warn : Role::bad;
}

/// Of the run that the others are compared with.
std::string standing_text(const App& app) {
  const Standing& standing = app.tune.standing;
  if (standing.best == 0) return "the first";
  if (standing.rival == 0) return "the best";
  return standing.is_tied ? "one of the best" : "best so far";
}

/// Why the best is not called so without more words; empty: it is.
std::string standing_note(const App& app) {
  const Standing& standing = app.tune.standing;
  if (standing.rival == 0) return {};
  if (standing.is_tied) return fmt::format("In turn no difference between runs {} and {} is seen.", standing.best, standing.rival);
  return fmt::format("Run {} is best so far, within noise of run {}: pick both and compare them.", standing.best, standing.rival);
}

std::string plan_text(const App& app, const Trial& trial) {
  if (trial.plan.choices.empty())
    return trial.state == TrialState::done ? "the plan was not made" : trial.state == TrialState::queued ? "waits" : "being compiled";
  if (const std::string apart = apartness(app, trial.plan); !apart.empty()) return apart;
  const Trial* reference = app.trials.find(app.tune.reference);
  if (reference == nullptr || reference->number == trial.number) return fmt::format("{}: {}", standing_text(app), own_choices_text(trial));
  const std::string difference = difference_text(trial.plan, reference->plan);
  return trial.is_unfused ? "nothing fused: " + difference : difference;
}

std::string cell_text(const App& app, const Trial& trial, TrialColumn column, bool is_wide) {
  const Outcome& outcome = trial.outcome;
  switch (column) {
    case TrialColumn::number:
      return fmt::format("{}", trial.number);
    case TrialColumn::plan:
      return plan_text(app, trial);
    case TrialColumn::predicted:
      return trial.plan.choices.empty() ? "–" : milliseconds_text(trial.plan.cost.ms);
    case TrialColumn::measured:
      if (!outcome.measured) return "–";
      if (!is_wide) return milliseconds_text(outcome.measured->ms);
      return fmt::format("{} [{}, {}]", milliseconds_text(outcome.measured->ms), milliseconds_text(outcome.measured->p20),
                         milliseconds_text(outcome.measured->p80));
    case TrialColumn::error:
      if (!outcome.max_error) return "–";
      return is_wide && outcome.bound ? fmt::format("{:.1e} of {:.1e}", *outcome.max_error, *outcome.bound)
                                      : fmt::format("{:.1e}", *outcome.max_error);
    case TrialColumn::state:
      return signed_word(trial);
  }
  return {};
}

/// Left edge and width of every column.
std::array<std::pair<float, float>, columns.size()> places(float left, float width, bool is_wide) {
  std::array<float, columns.size()> own{};
  float fixed = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) fixed += own[i] = gap(is_wide ? columns[i].wide_width : columns[i].width);
  for (const TrialColumn each : left_out_first)
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (columns[i].column == each && width - fixed < gap(least_plan)) fixed -= std::exchange(own[i], 0.0F);
  std::array<std::pair<float, float>, columns.size()> out;
  float x = left;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const float whole = columns[i].width > 0 ? own[i] : std::max(gap(8), width - fixed);
    out[i] = {x, whole};
    x += whole;
  }
  return out;
}

void header(App& app, float width, bool is_wide) {
  TuneView& view = app.view.tune;
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const auto where = places(start.x + gap(pick_width), width - gap(pick_width), is_wide);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (where[i].second <= 0) continue;
    ImGui::SetCursorScreenPos({where[i].first, start.y});
    const bool sorted = view.sort == columns[i].column;
    const widgets::Pressable state = widgets::pressable(fmt::format("sort.{}", columns[i].id), {where[i].second, metrics().row});
    const bool has_reference = columns[i].column == TrialColumn::plan && app.tune.reference != 0;
    const std::string words = has_reference ? fmt::format("plan, against run {}", app.tune.reference) : columns[i].title;
    const std::string sign = sorted ? (view.descending ? " ▾" : " ▴") : "";
    const std::string title =
        widgets::cut_to(words, where[i].second - gap(2) - widgets::measure(sign, Font::caption).x, Font::caption) + sign;
    const ImVec2 extent = widgets::measure(title, Font::caption);
    const float x = columns[i].is_number ? state.box.max.x - gap(1.5F) - extent.x : state.box.min.x + gap(1.5F);
    widgets::draw_text(list, {x, state.box.min.y + (state.box.height() - extent.y) / 2}, title,
                       colour(sorted || state.hovered ? Role::text : Role::muted), Font::caption);
    widgets::focus_ring(state.box, state.focused);
    mirror().add("button", fmt::format("sort.{}", columns[i].id), title, state.box.min, state.box.max, true, sorted);
    if (!state.pressed) continue;
    view.descending = sorted ? !view.descending : columns[i].column == TrialColumn::number;
    view.sort = columns[i].column;
  }
  list.AddLine({start.x, start.y + metrics().row}, {start.x + width, start.y + metrics().row}, colour(Role::line), hairline());
  ImGui::SetCursorScreenPos({start.x, start.y + metrics().row + gap(0.5F)});
}

std::string tip_of(const App& app, const Trial& trial) {
  std::string words = fmt::format("Run {}: {}", trial.number, word_of(trial));
  if (!trial.outcome.says.empty()) words += "\n" + trial.outcome.says;
  if (!trial.plan.choices.empty()) words += "\n" + plan_text(app, trial);
  if (trial.number == app.tune.standing.best) words += "\n" + standing_note(app);
  if (!trial.plan.sizes.empty()) words += fmt::format("\n{} on {}", trial.plan.sizes, trial.plan.asked.target);
  return words;
}

/// The box that picks the row as A or B.
void pick_box(App& app, const Trial& trial) {
  std::vector<int>& picked = app.view.tune.picked;
  const auto at = std::find(picked.begin(), picked.end(), trial.number);
  const std::string id = fmt::format("pick.{}", trial.number);
  const widgets::Pressable state = widgets::pressable(id, {gap(pick_width), metrics().row});
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float side = metrics().icon;
  const ImVec2 min{state.box.min.x + gap(1), state.box.min.y + (state.box.height() - side) / 2}, max{min.x + side, min.y + side};
  list.AddRect(min, max, colour(state.hovered ? Role::text : Role::muted), metrics().control_radius, 0, hairline());
  const std::string letter = at == picked.end() ? "" : at == picked.begin() ? "A" : "B";
  if (!letter.empty()) {
    const ImVec2 extent = widgets::measure(letter, Font::caption);
    list.AddRectFilled(min, max, faded(Role::accent, 0.25F), metrics().control_radius);
    widgets::draw_text(list, {(min.x + max.x - extent.x) / 2, (min.y + max.y - extent.y) / 2}, letter, colour(Role::text), Font::caption);
  }
  widgets::focus_ring(state.box, state.focused);
  widgets::tip("Pick it as A or B of a comparison");
  mirror().add("checkbox", id, letter, state.box.min, state.box.max, true, !letter.empty());
  if (!state.pressed) return;
  const int before = app.view.tune.selected;
  app.view.tune.selected = trial.number;
  pick_selected(app);
  app.view.tune.selected = before == 0 ? trial.number : before;
}

void table_row(App& app, const Trial& trial, float width, bool is_wide) {
  const bool selected = trial.number == app.view.tune.selected;
  pick_box(app, trial);
  ImGui::SameLine(0, 0);
  const std::string id = fmt::format("row.{}", trial.number);
  const widgets::Pressable state = widgets::pressable(id, {width - gap(pick_width), metrics().row});
  const Box& box = state.box;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (selected || state.hovered)
    list.AddRectFilled(box.min, box.max, selected ? faded(Role::accent, 0.18F) : colour(Role::raised), metrics().control_radius);
  const auto where = places(box.min.x, width - gap(pick_width), is_wide);
  const bool is_apart = !apartness(app, trial.plan).empty();
  std::string words;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (where[i].second <= 0) continue;
    const std::string whole = cell_text(app, trial, columns[i].column, is_wide);
    words += (words.empty() ? "" : "  ") + whole;
    const Font which = columns[i].is_number ? Font::code : Font::caption;
    const std::string shown = widgets::cut_to(whole, where[i].second - gap(2), which);
    const ImVec2 extent = widgets::measure(shown, which);
    const float x = columns[i].is_number ? where[i].first + where[i].second - gap(1.5F) - extent.x : where[i].first + gap(1.5F);
    const Role role = columns[i].column == TrialColumn::state ? role_of_trial(trial) : is_apart ? Role::muted : Role::text;
    widgets::draw_text(list, {x, box.min.y + (box.height() - extent.y) / 2}, shown, colour(role), which);
  }
  widgets::focus_ring(box, state.focused);
  if (state.hovered) widgets::tip(tip_of(app, trial));
  mirror().add("row", id, words, box.min, box.max, true, selected);
  if (state.pressed) app.view.tune.selected = trial.number;
}

bool plot_has_keys() {
  const MirrorItem* plot = mirror().find("tune/plots/plot");
  return plot != nullptr && plot->focused;
}

/// Up and Down go through the rows as they are listed; the plot has them while it has the focus.
void move_by_keys(App& app) {
  const auto& rows = app.tune.rows;
  if (rows.empty() || ImGui::GetIO().WantTextInput || app.palette.is_open || plot_has_keys()) return;
  std::ptrdiff_t by = 0;
  constexpr std::ptrdiff_t page = 10;
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) by = 1;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) by = -1;
  if (ImGui::IsKeyPressed(ImGuiKey_PageDown)) by = page;
  if (ImGui::IsKeyPressed(ImGuiKey_PageUp)) by = -page;
  if (by == 0) return;
  const auto& all = app.trials.all();
  const auto here = std::find_if(rows.begin(), rows.end(), [&](std::size_t i) { return all[i].number == app.view.tune.selected; });
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  const std::ptrdiff_t next = here == rows.end() ? 0 : std::clamp<std::ptrdiff_t>((here - rows.begin()) + by, 0, last);
  app.view.tune.selected = all[rows[static_cast<std::size_t>(next)]].number;
}

/// Scrolls to the selected row once: then the wheel may leave it.
void reveal_selected(App& app, float row_height) {
  if (app.tune.revealed == app.view.tune.selected) return;
  app.tune.revealed = app.view.tune.selected;
  const auto& all = app.trials.all();
  const auto at =
      std::find_if(app.tune.rows.begin(), app.tune.rows.end(), [&](std::size_t i) { return all[i].number == app.view.tune.selected; });
  if (at == app.tune.rows.end()) return;
  const float top = static_cast<float>(at - app.tune.rows.begin()) * row_height, room = ImGui::GetWindowHeight();
  if (top < ImGui::GetScrollY() || top + row_height > ImGui::GetScrollY() + room) ImGui::SetScrollY(std::max(0.0F, top - room / 2));
}

void filters(App& app) {
  struct FilterEntry {
    TrialFilter filter;
    const char* id;
  };
  static constexpr std::array entries =
      std::to_array<FilterEntry>({{TrialFilter::all, "all"}, {TrialFilter::ok, "ok"}, {TrialFilter::failed, "failed"}});
  for (const FilterEntry& entry : entries) {
    const auto count = std::count_if(app.trials.all().begin(), app.trials.all().end(),
                                     [&](const Trial& each) { return passes_filter(each, entry.filter); });
    widgets::ButtonOptions options;
    options.look = widgets::Look::quiet;
    options.selected = app.view.tune.filter == entry.filter;
    if (widgets::button(std::string("filter.") + entry.id, fmt::format("{} {}", entry.id, count), options))
      app.view.tune.filter = entry.filter;
    ImGui::SameLine(0, gap(1));
  }
}

/// Two buttons at the right of what stands in the line, or in lines of their own where there is no room.
void run_buttons(App& app, float start, float width) {
  const char* label = "Run this plan";
  const char* other = "Nothing fused";
  const float first = widgets::button_width(label, icons::play), second = widgets::button_width(other);
  const float room = start + width - ImGui::GetCursorPosX();
  if (first + second + gap(1) <= room)
    ImGui::SetCursorPosX(start + width - first - second - gap(1));
  else
    ImGui::NewLine();
  widgets::ButtonOptions run;
  run.icon = icons::play;
  run.look = widgets::Look::primary;
  command_button(app, "run", "run.plan", label, run);
  if (first + second + gap(1) <= width) ImGui::SameLine(0, gap(1));
  command_button(app, "unfused", "run.unfused", other);
}

/// What runs now and for how long it may.
std::string progress_of(const App& app) {
  const auto& all = app.trials.all();
  const auto waiting = std::count_if(all.begin(), all.end(), [](const Trial& each) { return each.state == TrialState::queued; });
  const auto running = std::find_if(all.begin(), all.end(), [](const Trial& each) { return each.state == TrialState::running; });
  const std::string more = waiting > 0 ? fmt::format(", {} waiting", waiting) : "";
  if (running != all.end())
    return fmt::format("Run {}: running for {:.0f} s{}", running->number,
                       std::chrono::duration<double>(std::chrono::steady_clock::now() - running->started).count(), more);
  if (app.trials.is_running()) return "Two plans run in turn" + more;
  return "Waits until the steps are checked: that would be measured, too";
}

void head_line(App& app, float width) {
  const float start = ImGui::GetCursorPosX();
  filters(app);
  run_buttons(app, start, width);
  if (!app.trials.is_busy()) return;
  widgets::text(progress_of(app), Role::muted, Font::caption);
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() - (font(Font::body)->FontSize - font(Font::caption)->FontSize) / 2);
  if (widgets::link("cancel", "Cancel")) run_command(app, "run.cancel");
}

/// What the comparison of the picked rows said, or how to make one.
void comparison_line(App& app, float width) {
  const std::vector<int>& picked = app.view.tune.picked;
  const Contest* contest = picked.size() == 2 ? app.trials.contest(picked[0], picked[1]) : nullptr;
  std::string words = picked.size() == 2   ? fmt::format("A is run {}, B is run {}. C compares them in turn.", picked[0], picked[1])
                      : picked.size() == 1 ? fmt::format("A is run {}. Pick a second row to compare.", picked[0])
                                           : "Pick two rows to compare: both run in turn.";
  if (const std::string note = standing_note(app); picked.empty() && !note.empty()) words = note;
  Role role = Role::muted;
  if (contest != nullptr) {
    role = Role::text;
    const auto name = [](int number) { return fmt::format("run {}", number); };
    if (contest->state != TrialState::done)
      words = fmt::format("Run {} against run {}: {}", contest->first, contest->second,
                          contest->state == TrialState::queued ? "waits" : "they run in turn, about 10 s or more");
    else if (contest->outcome.ratio)
      words = session::sentence_of(*contest->outcome.ratio, name(contest->first), name(contest->second));
    else
      words = fmt::format("Run {} against run {}: {}", contest->first, contest->second, contest->outcome.says), role = Role::bad;
    if (!words.empty() && words[0] == 'r') words[0] = 'R';  // a sentence
  }
  const float button = widgets::button_width("Compare");
  const float y = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(y + (metrics().row - font(Font::caption)->FontSize) / 2);
  widgets::fitted("comparison", words, width - button - gap(3), role, Font::caption);
  ImGui::SetCursorPos({ImGui::GetCursorPosX() + width - button, y});
  command_button(app, "compare", "run.compare", "Compare");
}

void empty_state(App& app) {
  ImGui::Dummy({1, gap(4)});
  widgets::wrapped("No plan was run yet.", Role::text, Font::body_bold);
  const std::string why = why_no_run(app);
  widgets::wrapped(
      why.empty() ? "A run compiles the plan, checks its result against the reference and times it, in a process of its own." : why,
      Role::muted);
  ImGui::Dummy({1, gap(1)});
  widgets::ButtonOptions run;
  run.icon = icons::play;
  run.look = widgets::Look::primary;
  if (why.empty()) command_button(app, "run", "run.plan", "Run this plan on this machine", run);
}

}  // namespace

void tune_trials(App& app, const Box& box) {
  widgets::begin_panel("trials", box, {"Trials", false});
  const float width = ImGui::GetContentRegionAvail().x;
  if (app.trials.all().empty()) {
    empty_state(app);
    return widgets::end_panel();
  }
  list_rows(app);
  move_by_keys(app);
  head_line(app, width);
  const bool is_wide = width > gap(wide_from);
  header(app, width - gap(3), is_wide);
  const float foot = metrics().row + gap(2);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::BeginChild("##rows", {width, std::max(metrics().row, ImGui::GetContentRegionAvail().y - foot)});
  reveal_selected(app, metrics().row);
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(app.tune.rows.size()), metrics().row);
  while (clipper.Step())
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
      table_row(app, app.trials.all()[app.tune.rows[static_cast<std::size_t>(i)]], width - gap(3), is_wide);
  if (app.tune.rows.empty()) widgets::wrapped("No run is of this kind.", Role::muted);
  ImGui::EndChild();
  ImGui::PopStyleVar();
  ImGui::Dummy({1, gap(0.5F)});
  comparison_line(app, width);
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
