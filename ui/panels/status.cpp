// One line at the bottom: checks, compile time, prediction; or what went wrong last.
#include <fmt/format.h>

#include "command.hpp"
#include "icons.hpp"
#include "ir/units.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

std::string checks_of(const App& app) {
  const std::size_t count = app.document.shown()->steps().size();
  std::size_t passed = 0, failed = 0, open = 0, pending = 0;
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Check& check = app.document.check(i);
    passed += check.status == CheckStatus::passed ? 1U : 0U;
    failed += check.status == CheckStatus::failed ? 1U : 0U;
    pending += check.status == CheckStatus::pending ? 1U : 0U;
    open += check.status == CheckStatus::inconclusive || check.status == CheckStatus::skipped ? 1U : 0U;
    worst = std::max(worst, check.max_error.value_or(0));
  }
  if (failed > 0) return fmt::format("{} of {} steps failed their check", failed, count);
  if (pending > 0) return fmt::format("{} steps, {} checked so far", count, count - pending);
  if (open > 0) return fmt::format("{} steps, {} checked, {} without an answer", count, passed, open);
  return fmt::format("{} steps, all checked (max error {:.0e})", count, worst);
}

}  // namespace

void status(App& app, const Box& box) {
  const MirrorScope scope("status");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(box.min, box.max, colour(Role::panel));
  const float y = box.min.y + (box.height() - font(Font::caption)->FontSize) / 2;
  ImGui::SetCursorScreenPos({box.min.x + gap(3), y});
  if (!app.left_behind.empty()) {
    widgets::fitted("left", "Fathom did not end properly last time; what was open is kept.", box.width() - gap(70), Role::warn,
                    Font::caption);
    ImGui::SetCursorScreenPos({box.max.x - gap(60), box.min.y + (box.height() - font(Font::body)->FontSize) / 2});
    if (widgets::link("restore", "Open it")) return (void)run_command(app, "file.restore");
    ImGui::SameLine();
    if (widgets::link("later", "Not now")) app.left_behind.clear();
    return;
  }
  if (!app.document.message().empty()) {
    widgets::fitted("message", app.document.message(), box.width() - gap(40), Role::warn, Font::caption);
    ImGui::SetCursorScreenPos({box.max.x - gap(25), box.min.y});
    if (widgets::link("dismiss", "Dismiss")) app.document.dismiss_message();
    return;
  }
  if (!app.document.diagnostics().empty()) {
    const Diagnostic& first = app.document.diagnostics().front();
    widgets::fitted(
        "diagnostic",
        "The text does not compile: " + first.message + (app.document.shown() != nullptr ? ". The last state that did is shown." : ""),
        box.width() - gap(6), Role::bad, Font::caption);
    return;
  }
  if (app.document.shown() == nullptr) {
    widgets::fitted("busy", "Compiling…", box.width() - gap(6), Role::muted, Font::caption);
    return;
  }
  const std::string line =
      fmt::format("{}  ·  compiled in {}  ·  predicted {} on {}", checks_of(app), milliseconds_text(app.document.compile_ms()),
                  milliseconds_text(app.document.shown()->steps().back().cost.ms), app.document.shown()->compilation().target.title);
  widgets::fitted("line", line, box.width() - gap(6), Role::muted, Font::caption);
}

}  // namespace fathom::ui::panels
