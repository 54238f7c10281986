// The code of the plan: assembly of the machine, or LLVM IR, and who made it.
#include <fmt/format.h>

#include <algorithm>

#include "assembly.hpp"
#include "code_lines.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "session/device_code.hpp"
#include "session/text_diff.hpp"

namespace fathom::ui::panels {
namespace {

/// What a line of the Kernel program computes: the first of its names that came from a tensor of the source. Empty where there is none.
std::vector<std::string> subjects(const App& app, const kernel::Module& module, std::size_t step) {
  std::vector<std::string> found;
  const std::string text = print(module);
  for (const std::string_view line : session::lines_of(text)) {
    std::string& subject = found.emplace_back();
    for (const session::Word& word : session::words_of(line)) {
      if (word.kind != session::WordKind::name || !subject.empty()) continue;
      const std::string name(session::text_of(line, word));
      if (app.colour_of(step, name)) subject = name;
    }
  }
  return found;
}

std::string without_tabs(std::string_view line) {
  constexpr std::size_t tab = 8;
  std::string out;
  for (const char c : line) out.append(c == '\t' ? tab - out.size() % tab : 1, c == '\t' ? ' ' : c);
  return out;
}

/// An instruction has the colour of what its line of the Kernel program computes, and is that thing to the mouse and the caret.
std::vector<widgets::TextLine> lines_of_code(const App& app, const CodeText::Listing& listing, const kernel::Module& module) {
  const std::size_t step = app.document.shown()->steps().size() - 1;
  const std::vector<std::string> names = subjects(app, module, step);
  std::vector<widgets::TextLine> lines;
  std::size_t number = 0;
  const bool is_source = &listing == &app.machine_code.answer()->source;
  for (const std::string_view with_tabs : session::lines_of(listing.text)) {
    const std::string line = without_tabs(with_tabs);
    const auto made_for = static_cast<std::size_t>(number < listing.lines.size() ? listing.lines[number] : 0);
    widgets::TextLine one{line, {}, ' ', static_cast<int>(++number), made_for};
    const std::size_t comment = std::min(is_source ? line.find("//") : line.find_first_of("#;"), line.size());
    const std::size_t begin = std::min(line.find_first_not_of(' '), comment);
    if (made_for > 0 && made_for <= names.size() && !names[made_for - 1].empty() && begin < comment) {
      const std::string& name = names[made_for - 1];
      one.stretches.push_back({begin, comment, entity_colour(*app.colour_of(step, name)), name});
    }
    if (comment < line.size()) one.stretches.push_back({comment, line.size(), colour(Role::muted), {}});
    lines.push_back(std::move(one));
  }
  return lines;
}

/// The first line that is made for one of the Kernel program: helpers stand in front.
std::size_t first_of_kernel(const CodeText::Listing& listing) {
  const auto at = std::find_if(listing.lines.begin(), listing.lines.end(), [](int line) { return line > 0; });
  return at == listing.lines.end() ? 0 : static_cast<std::size_t>(at - listing.lines.begin());
}

/// Above the text: the line of the Kernel program that the instruction under the mouse, or else at the caret, is made for.
void made_for_line(const kernel::Module& module, const CodeState& state) {
  const std::size_t at = state.over.value_or(state.text.caret.line);
  const std::size_t line = at < state.lines.size() ? state.lines[at].tag : 0;
  std::string words = "Code of the whole plan, whatever the step. Each instruction has the colour of what it computes.";
  if (line > 0) {
    const std::string text = print(module);
    const auto all = session::lines_of(text);
    const std::string_view whole = all[std::min(line, all.size()) - 1];
    words = fmt::format("made for Kernel line {}: {}", line, whole.substr(std::min(whole.find_first_not_of(' '), whole.size())));
  }
  widgets::fitted("made-for", words, ImGui::GetContentRegionAvail().x, Role::muted, Font::caption);
}

std::string report_of(const HotLoop& loop) {
  return fmt::format("main loop: lines {} to {}, {} instructions, {} of them on vectors ({} arithmetic), {} that touch the stack",
                     loop.first + 1, loop.last + 1, loop.instructions, loop.vector, loop.arithmetic, loop.stack);
}

/// Compiler and machine on a line of their own.
void maker(App& app, const CodeText& code) {
  const float copy = widgets::button_width({}, icons::copy);
  const float top = ImGui::GetCursorPosY();
  ImGui::SetCursorPosY(top + (metrics().row - font(Font::caption)->FontSize) / 2);
  const float width = std::min(widgets::measure(code.maker, Font::caption).x, ImGui::GetContentRegionAvail().x - copy - gap(1));
  widgets::fitted("maker", code.maker, width, Role::muted, Font::caption);
  ImGui::SameLine();
  ImGui::SetCursorPosY(top);
  widgets::ButtonOptions options;
  options.icon = icons::copy;
  options.look = widgets::Look::quiet;
  options.tip = "Copy the compiler and its flags";
  if (widgets::button("copy-maker", {}, options) && app.copy) app.copy(code.maker);
}

}  // namespace

void code(App& app) {
  if (app.document.shown() == nullptr) return nothing_shown(app, "The code appears here as soon as the text compiles.");
  const Ir& last = app.document.shown()->compilation().final_ir();
  if (last.level != Level::kernel) {
    const Refusal why = session::why_no_kernel(app.document.shown()->compilation());
    widgets::wrapped(why.reason, Role::warn);
    return widgets::wrapped(why.hint, Role::muted, Font::caption);
  }
  const Target& target = app.document.shown()->compilation().target;
  if (!app.machine_code.request(app.document.version(), last.module(), target)) return widgets::wrapped("Making the code…", Role::muted);
  const Result<CodeText>& answer = app.machine_code.answer();
  if (!answer) {
    widgets::wrapped(answer.error().reason, Role::warn);
    return widgets::wrapped(answer.error().hint, Role::muted, Font::caption);
  }
  CodeState& state = app.code;
  widgets::ButtonOptions option;
  const bool is_source = !answer->source.text.empty();
  if (!is_source) {
    option.look = widgets::Look::quiet;
    option.selected = !state.llvm_ir;
    if (widgets::button("assembly", "Assembly", option)) state.llvm_ir = false;
    ImGui::SameLine();
    option.selected = state.llvm_ir;
    if (widgets::button("llvm-ir", "LLVM IR", option)) state.llvm_ir = true;
    ImGui::SameLine();
  }
  option = {};
  option.look = widgets::Look::quiet;
  option.icon = icons::copy;
  const CodeText::Listing& listing = is_source ? answer->source : state.llvm_ir ? answer->llvm_ir : answer->assembly;
  if (widgets::button("copy", "Copy", option) && app.copy) app.copy(listing.text);
  const CodeState::Made wanted{app.document.version(), state.llvm_ir, current_theme()};
  if (!(state.made == wanted)) {
    const bool is_another = state.made.version != wanted.version || state.made.llvm_ir != wanted.llvm_ir;
    if (is_another) state.loop = state.llvm_ir || is_source ? std::nullopt : hot_loop(listing.text);
    state.lines = lines_of_code(app, listing, last.module());
    if (is_another) state.text.reveal = state.loop ? state.loop->first : is_source ? first_of_kernel(listing) : 0;  // what people look for
    state.made = wanted;
  }
  if (state.loop) {
    ImGui::SameLine();
    option.icon = nullptr;
    option.tip = "The innermost loop with the most vector instructions";
    if (widgets::button("main-loop", "Main loop", option)) state.text.reveal = state.loop->first;
  }
  maker(app, *answer);
  if (state.loop) widgets::fitted("resources", report_of(*state.loop), ImGui::GetContentRegionAvail().x, Role::muted, Font::caption);
  made_for_line(last.module(), state);
  const std::size_t step = app.document.shown()->steps().size() - 1;
  const auto events = widgets::text_view(
      "text", state.lines, state.text, [&](const widgets::TextLine&, const std::string& name) { return emphasis_of(app, step, name); },
      app.copy);
  state.over = events.hovered ? std::optional(events.hovered->line) : std::nullopt;
  if (events.hovered && !events.hovered->name.empty()) app.hovering = {events.hovered->name, step};
  if (events.chosen && !events.chosen->name.empty()) app.selected = {events.chosen->name, step};
}

}  // namespace fathom::ui::panels
