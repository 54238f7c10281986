// The selected run: its time, whether it is verified, what its plan uses of the machine, the line that ran it; and what can be taken away.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "code_lines.hpp"
#include "command.hpp"
#include "command_button.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/tune_parts.hpp"
#include "target/target.hpp"
#include "tune_commands.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

void small_head(std::string_view words) {
  ImGui::Dummy({1, gap(1)});
  widgets::text(words, Role::muted, Font::caption);
}

struct Use {
  std::string_view id, label;
  double used = 0, of = 0;
  [[nodiscard]] std::string numbers() const { return fmt::format("{} of {}", bytes_text(used), bytes_text(of)); }
};

/// A label, a bar, the numbers that it is made of, which have the same width in all of them.
void use_bar(const Use& use, float label_width, float numbers_width) {
  const auto& [id, label, used, of] = use;
  const float width = ImGui::GetContentRegionAvail().x, start = ImGui::GetCursorPosX();
  const std::string numbers = use.numbers();
  widgets::text(label);
  ImGui::SameLine(start + label_width);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = font(Font::body)->FontSize, bar = std::max(gap(4), width - label_width - numbers_width - gap(3));
  const double part = of > 0 ? used / of : 0;
  const Role role = part > 1 ? Role::bad : Role::accent;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled({at.x, at.y + height * 0.2F}, {at.x + bar, at.y + height * 0.8F}, colour(Role::raised), metrics().control_radius);
  list.AddRectFilled({at.x, at.y + height * 0.2F}, {at.x + bar * static_cast<float>(std::clamp(part, 0.0, 1.0)), at.y + height * 0.8F},
                     colour(role), metrics().control_radius);
  widgets::draw_text(list, {at.x + bar + gap(2), at.y}, numbers, colour(part > 1 ? Role::bad : Role::text), Font::code);
  ImGui::Dummy({width - label_width, height});
  mirror().add("bar", id, fmt::format("{}: {}, {:.0f} %", label, numbers, part * 100), at, {at.x + bar, at.y + height});
}

void uses(const TrialPlan& plan) {
  const auto target = target_named(plan.asked.target);
  if (!target) return;
  const bool has_shared = has_shared_memory(*target);
  std::vector<Use> all;
  if (plan.register_bytes > 0 && target->registers_bytes > 0)
    all.push_back({"registers", "registers", plan.register_bytes, static_cast<double>(target->registers_bytes)});
  if (target->shared_bytes > 0)
    all.push_back({"on-chip", has_shared ? "shared memory" : "cache", plan.cost.on_chip_bytes, static_cast<double>(target->shared_bytes)});
  if (all.empty()) return;
  small_head(fmt::format("What the finished kernel uses of one {} of the target, predicted", has_shared ? "workgroup" : "core"));
  float labels = 0, numbers = 0;
  for (const Use& each : all) {
    labels = std::max(labels, widgets::measure(each.label, Font::body).x + gap(3));
    numbers = std::max(numbers, widgets::measure(each.numbers(), Font::code).x);
  }
  for (const Use& each : all) use_bar(each, labels, numbers);
  widgets::wrapped(
      "Counted after the last step. An earlier step, as Explore and Learn show it, counts its own program: without panels and "
      "partial sums that come later, with tiles that are gone by then.",
      Role::muted, Font::caption);
}

/// What the prediction supposes, and what the run had of it.
void prediction_of(const Trial& trial) {
  const auto target = target_named(trial.plan.asked.target);
  if (!target || trial.plan.choices.empty()) return;
  std::string words = fmt::format("Predicted {} for {}, as {} is described", milliseconds_text(trial.plan.cost.ms), machine_of(*target),
                                  trial.plan.asked.target);
  for (const auto& [key, value] : trial.outcome.conditions)
    if (key == "threads") words += fmt::format("; the run had {} thread{}", value, value == "1" ? "" : "s");
  widgets::wrapped(words + ".", Role::muted, Font::caption);
  widgets::tip(rates_of(*target));
}

void time_of(const App& app, const Trial& trial) {
  const Measured& measured = *trial.outcome.measured;
  widgets::text(milliseconds_text(measured.ms), Role::text, Font::head);
  ImGui::SameLine();
  ImGui::SetCursorPosY(ImGui::GetCursorPosY() + (font(Font::head)->FontSize - font(Font::body)->FontSize) / 2);
  widgets::text(fmt::format("[{}, {}]", milliseconds_text(measured.p20), milliseconds_text(measured.p80)), Role::muted, Font::code);
  widgets::wrapped(fmt::format("Median of {} launches, in brackets the 20th and the 80th percentile; first launch {}.", measured.n,
                               milliseconds_text(measured.cold_ms)),
                   Role::muted, Font::caption);
  const Trial* unfused = nullptr;
  for (const Trial& each : app.trials.all())
    if (each.is_unfused && each.is_ok() && each.number != trial.number && are_comparable(each.plan, trial.plan)) unfused = &each;
  if (unfused == nullptr || trial.is_unfused) return;
  const Contest* in_turn = app.trials.contest(trial.number, unfused->number);
  if (in_turn != nullptr && in_turn->outcome.ratio) {
    const auto name = [&](int number) { return number == trial.number ? "this run" : "nothing fused"; };
    std::string words = session::sentence_of(*in_turn->outcome.ratio, name(in_turn->first), name(in_turn->second));
    words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
    widgets::wrapped(words);
  } else {
    widgets::wrapped(fmt::format("{:.2f}× as fast as nothing fused (run {}; not in turn: compare them for an interval).",
                                 unfused->outcome.measured->ms / measured.ms, unfused->number));
  }
}

void verdict(const Trial& trial) {
  const Outcome& outcome = trial.outcome;
  if (trial.state != TrialState::done)
    return widgets::wrapped(trial.state == TrialState::queued ? "◌ It waits for its turn." : "◌ It runs.", Role::muted);
  if (trial.is_ok())
    return widgets::wrapped(fmt::format("✓ verified: max error {:.1e}{}", outcome.max_error.value_or(0),
                                        outcome.bound ? fmt::format(" of {:.1e} allowed", *outcome.bound) : ""),
                            Role::ok);
  const bool is_open = outcome.kind == RunKind::inconclusive || outcome.kind == RunKind::cancelled;
  widgets::wrapped(fmt::format("{} {}",
                               outcome.kind == RunKind::cancelled ? "–"
                               : is_open                          ? "≈"
                                                                  : "✕",
                               outcome.says.empty() ? word_of(trial) : outcome.says),
                   outcome.kind == RunKind::cancelled ? Role::muted
                   : is_open                          ? Role::warn
                                                      : Role::bad);
}

/// In the words of the screen; what a newer program adds is shown by its own name.
std::string condition_words(const std::string& key) {
  if (key == "dims") return "sizes";
  if (key == "compile_ms") return "compiled in";
  if (key == "checked_elements") return "elements checked";
  if (key == "checked_rows") return "rows checked";
  return key == "rows" ? "rows in all" : key;
}

std::string condition_value(const std::string& key, const std::string& value) {
  constexpr std::string_view in_ms = "_ms";
  const bool is_time = key.size() > in_ms.size() && key.compare(key.size() - in_ms.size(), in_ms.size(), in_ms) == 0;
  return is_time ? milliseconds_text(std::strtod(value.c_str(), nullptr)) : value;
}

void conditions(const Trial& trial) {
  if (trial.outcome.conditions.empty()) return;
  small_head("Conditions");
  std::string line;
  for (const auto& [key, value] : trial.outcome.conditions)
    line += fmt::format("{}{} {}", line.empty() ? "" : " · ", condition_words(key), condition_value(key, value));
  widgets::wrapped(line, Role::text, Font::caption);
}

void command_line(App& app, const Trial& trial) {
  if (trial.command.empty()) return;
  small_head("The line that ran it; its files are kept until this window closes");
  widgets::fitted("line", trial.command, ImGui::GetContentRegionAvail().x, Role::text, Font::code);
  widgets::ButtonOptions copy;
  copy.icon = icons::copy;
  command_button(app, "copy-command", "trials.copy-command", "Copy", copy);
}

void the_run(App& app) {
  const Trial* trial = selected_trial(app);
  if (trial == nullptr) {
    if (app.document.shown() == nullptr)
      return nothing_shown(app, "What the plan uses, and what can be taken away, appears here as soon as the text compiles.");
    const TrialPlan plan = plan_of(app.document.shown()->compilation());
    widgets::text(milliseconds_text(plan.cost.ms), Role::text, Font::head);
    widgets::wrapped(fmt::format("The open plan, predicted for {}, as {} is described. No run is selected.",
                                 machine_of(app.document.shown()->compilation().target), plan.asked.target),
                     Role::muted);
    widgets::tip(rates_of(app.document.shown()->compilation().target));
    return uses(plan);
  }
  const std::string apart = apartness(app, trial->plan);
  widgets::text(fmt::format("Run {}{}", trial->number, apart.empty() ? "" : fmt::format(", {}", apart)),
                apart.empty() ? Role::muted : Role::warn, Font::caption);
  if (trial->outcome.measured) time_of(app, *trial);
  prediction_of(*trial);
  verdict(*trial);
  if (trial->plan.choices.empty()) return;
  if (!apart.empty())
    widgets::wrapped(fmt::format("It ran {} on {}.", trial->plan.sizes, trial->plan.asked.target), Role::muted, Font::caption);
  widgets::ButtonOptions go;
  command_button(app, "go-to-plan", "trials.go-to-plan", "Open its plan", go);
  ImGui::SameLine();
  widgets::ButtonOptions copy;
  copy.icon = icons::copy;
  command_button(app, "copy", "trials.copy", "Copy row", copy);
  uses(trial->plan);
  conditions(*trial);
  command_line(app, *trial);
}

constexpr std::size_t most_lines = 400, longest_line = 400;

/// Begins of the text as lines; long ones are cut.
void make_lines(App& app, const std::string& text) {
  TuneState& tune = app.tune;
  tune.lines.clear();
  tune.all_lines = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (++tune.all_lines <= most_lines) {
      std::size_t length = std::min(end - at, longest_line);
      while (length > 0 && length < end - at && (static_cast<unsigned char>(text[at + length]) & 0xC0U) == 0x80U)
        --length;  // whole characters
      tune.lines.push_back({text.substr(at, length) + (length < end - at ? "…" : ""), {}, ' ', static_cast<int>(tune.all_lines), 0});
    }
    at = end + 1;
  }
}

void preview_text(App& app, float height) {
  const std::string* text = app.exporter.preview(app.document);
  if (text == nullptr) return widgets::wrapped("The text is being made…", Role::muted);
  if (app.exporter.chosen().summary != nullptr) {
    const MirrorScope scope("preview");
    return widgets::wrapped(*text);
  }
  const TuneState::Previewed wanted{app.document.version(), app.exporter.kind, current_theme()};
  if (app.tune.lines.empty() || !(app.tune.previewed == wanted)) {
    app.tune.previewed = wanted;
    make_lines(app, *text);
    app.tune.text = {};
  }
  const bool is_cut = app.tune.all_lines > app.tune.lines.size();
  const float note = is_cut ? font(Font::caption)->FontSize + gap(1) : 0;
  const MirrorScope scope("preview");
  ImGui::BeginChild("##preview", {ImGui::GetContentRegionAvail().x, std::max(gap(16), height - note)});
  (void)widgets::text_view(
      "text", app.tune.lines, app.tune.text, [](const widgets::TextLine&, const std::string&) { return widgets::Emphasis::none; },
      app.copy);
  ImGui::EndChild();
  if (is_cut)
    widgets::text(fmt::format("The first {} of {} lines.", app.tune.lines.size(), app.tune.all_lines), Role::muted, Font::caption);
}

/// How far the checks are that an export waits for.
std::string waiting_text(const App& app) {
  const std::size_t count = app.document.shown() == nullptr ? 0 : app.document.shown()->steps().size();
  std::size_t checked = 0;
  for (std::size_t i = 0; i < count; ++i) checked += app.document.check(i).status != CheckStatus::pending ? 1U : 0U;
  return fmt::format("{} of {} steps are checked; then {} is written.", checked, count, app.exporter.path());
}

void take_away(App& app) {
  small_head("Take the open plan away");
  const auto kinds = session::export_kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    widgets::ButtonOptions options;
    options.look = widgets::Look::quiet;
    options.selected = app.exporter.kind == i;
    options.tip = std::string(kinds[i].says);
    if (widgets::button(fmt::format("kind.{}", kinds[i].id), kinds[i].title, options)) app.exporter.kind = i;
    ImGui::SameLine(0, gap(1));
  }
  widgets::ButtonOptions export_it;
  export_it.look = widgets::Look::primary;
  command_button(app, "export", std::string("export.") + std::string(app.exporter.chosen().id), "Check and export…", export_it);
  widgets::wrapped(app.exporter.chosen().says, Role::muted, Font::caption);
  if (app.exporter.is_waiting()) {
    widgets::wrapped(waiting_text(app), Role::warn, Font::caption);
    if (widgets::link("cancel-export", "Cancel")) run_command(app, "export.cancel");
  }
  constexpr float least_height = 40;
  preview_text(app, std::max(gap(least_height), ImGui::GetContentRegionAvail().y - gap(2)));
}

}  // namespace

void tune_card(App& app, const Box& box) {
  widgets::begin_panel("run", box, {"This run", true});
  the_run(app);
  if (app.document.shown() != nullptr) take_away(app);
  widgets::end_panel();
}

}  // namespace fathom::ui::panels
