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

/// At the right end: what a program left that did not end properly. The width that it takes.
float left_behind(App& app, const Box& box) {
  const LeftBehind& newest = app.left_behind.front();
  const std::string more = app.left_behind.size() > 1 ? fmt::format(" (1 of {})", app.left_behind.size()) : std::string();
  const std::string words = fmt::format("Fathom did not end properly; the session of {} is kept{}.", newest.when, more);
  const char* const answers[]{"Open it", "Later", "Throw away"};
  float width = gap(3);
  for (const char* answer : answers) width += widgets::measure(answer, Font::body).x + gap(3);
  const float room = std::max(gap(10), box.width() * 0.6F - width),
              said = std::min(room, widgets::measure(words, Font::caption).x + gap(1));
  float x = box.max.x - width - said;
  const float top = box.min.y + (box.height() - font(Font::caption)->FontSize) / 2;
  ImGui::SetCursorScreenPos({x, top});
  widgets::fitted("left", words, said, Role::warn, Font::caption);
  x += said + gap(3);
  const float row = box.min.y + (box.height() - font(Font::body)->FontSize) / 2;
  const auto pressed = [&](std::string_view id, const char* answer) {
    ImGui::SetCursorScreenPos({x, row});
    x += widgets::measure(answer, Font::body).x + gap(3);
    return widgets::link(id, answer);
  };
  const bool open = pressed("restore", answers[0]), later = pressed("later", answers[1]), away = pressed("throw-away", answers[2]);
  if (later) app.left_behind.clear();
  if (open) run_command(app, "file.restore");
  if (away) run_command(app, "file.discard-left");
  return width + said + gap(3);
}

Role role_of_said(Said said) { return said == Said::failed ? Role::bad : said == Said::done ? Role::ok : Role::text; }

}  // namespace

void status(App& app, const Box& whole) {
  Box box = whole;
  const MirrorScope scope("status");
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(box.min, box.max, colour(Role::panel));
  if (!app.left_behind.empty()) box.max.x -= left_behind(app, box);
  const float y = box.min.y + (box.height() - font(Font::caption)->FontSize) / 2;
  ImGui::SetCursorScreenPos({box.min.x + gap(3), y});
  if (!app.document.message().empty()) {
    widgets::fitted("message", app.document.message(), box.width() - gap(40), role_of_said(app.document.said()), Font::caption);
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
  if (app.document.is_opening()) {
    widgets::fitted("opening", "Opening the session…", box.width() - gap(6), Role::muted, Font::caption);
    return;
  }
  if (app.document.shown() == nullptr) {
    widgets::fitted("busy", "Compiling…", box.width() - gap(6), Role::muted, Font::caption);
    return;
  }
  const std::string line =
      fmt::format("{}  ·  compiled in {}  ·  predicted {}  ·  {}", checks_of(app), milliseconds_text(app.document.compile_ms()),
                  milliseconds_text(app.document.shown()->steps().back().cost.ms), app.document.shown()->compilation().target.title);
  widgets::fitted("line", line, box.width() - gap(6), Role::muted, Font::caption);
}

}  // namespace fathom::ui::panels
