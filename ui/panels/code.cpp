// The code of the plan: assembly of the machine, or LLVM IR, and who made it.
#include <fmt/format.h>

#include <algorithm>

#include "assembly.hpp"
#include "code_lines.hpp"
#include "icons.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "session/text_diff.hpp"

namespace fathom::ui::panels {
namespace {

std::vector<widgets::TextLine> lines_of_code(const std::string& text) {
  std::vector<widgets::TextLine> lines;
  int number = 0;
  for (const std::string_view line : session::lines_of(text)) {
    widgets::TextLine one{std::string(line), {}, ' ', ++number, 0};
    const std::size_t comment = line.find_first_of("#;");
    if (comment != std::string_view::npos) one.stretches.push_back({comment, line.size(), colour(Role::muted), {}});
    lines.push_back(std::move(one));
  }
  return lines;
}

/// Found once for each listing.
std::optional<HotLoop> hot_loop_of(const App& app, const CodeText& code) {
  static std::uint64_t version = 0;
  static std::size_t size = 0;
  static std::optional<HotLoop> found;
  if (version != app.document.version() || size != code.assembly.size()) found = hot_loop(code.assembly);
  version = app.document.version();
  size = code.assembly.size();
  return found;
}

std::string report_of(const HotLoop& loop) {
  return fmt::format("main loop: lines {} to {}, {} instructions, {} of them on vectors, {} that touch the stack", loop.first + 1,
                     loop.last + 1, loop.instructions, loop.vector, loop.stack);
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
  if (app.document.shown() == nullptr) return widgets::wrapped("The code appears here as soon as the text compiles.", Role::muted);
  const Ir& last = app.document.shown()->compilation().final_ir();
  if (last.level != Level::kernel) {
    widgets::wrapped("This target's back end is not part of this version: the plan ends at the Tile level.", Role::muted);
    return widgets::wrapped("Choose the target x86-64 above to see the code of this machine.", Role::muted, Font::caption);
  }
  if (!app.machine_code.request(app.document.version(), last.module())) return widgets::wrapped("Compiling for this machine…", Role::muted);
  const Result<CodeText>& answer = app.machine_code.answer();
  if (!answer) {
    widgets::wrapped(answer.error().reason, Role::warn);
    return widgets::wrapped(answer.error().hint, Role::muted, Font::caption);
  }
  CodeState& state = app.code;
  widgets::ButtonOptions option;
  option.look = widgets::Look::quiet;
  option.selected = !state.llvm_ir;
  if (widgets::button("assembly", "Assembly", option)) state.llvm_ir = false;
  ImGui::SameLine();
  option.selected = state.llvm_ir;
  if (widgets::button("llvm-ir", "LLVM IR", option)) state.llvm_ir = true;
  ImGui::SameLine();
  option = {};
  option.look = widgets::Look::quiet;
  option.icon = icons::copy;
  if (widgets::button("copy", "Copy", option) && app.copy) app.copy(state.llvm_ir ? answer->llvm_ir : answer->assembly);
  const std::optional<HotLoop> loop = hot_loop_of(app, *answer);
  if (loop && !state.llvm_ir) {
    ImGui::SameLine();
    option.icon = nullptr;
    option.tip = "The innermost loop with the most vector instructions";
    if (widgets::button("main-loop", "Main loop", option)) state.text.reveal = loop->first;
  }
  maker(app, *answer);
  if (loop && !state.llvm_ir) widgets::fitted("resources", report_of(*loop), ImGui::GetContentRegionAvail().x, Role::muted, Font::caption);
  const CodeState::Made wanted{app.document.version(), state.llvm_ir, current_theme()};
  if (!(state.made == wanted)) {
    state.lines = lines_of_code(state.llvm_ir ? answer->llvm_ir : answer->assembly);
    state.text.reveal =
        loop && !state.llvm_ir ? loop->first : 0;  // what people look for; another listing does not stand where this one did
    state.made = wanted;
  }
  widgets::text_view(
      "text", state.lines, state.text, [](const widgets::TextLine&, const std::string&) { return widgets::Emphasis::none; }, app.copy);
}

}  // namespace fathom::ui::panels
