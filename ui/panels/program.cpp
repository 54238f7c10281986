// The program: samples to start from, the sizes of its dimensions, its text to edit, and what is wrong with that.
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "code_lines.hpp"
#include "command.hpp"
#include "icons.hpp"
#include "lang/lang.hpp"
#include "mirror.hpp"
#include "panels/panels.hpp"
#include "session/text_diff.hpp"
#include "start.hpp"
#include "words.hpp"

namespace fathom::ui::panels {
namespace {

using widgets::Completion;
using widgets::Place;
using widgets::Stretch;

constexpr const char* gallery = "samples";

// ---- samples ----
void samples(App& app) {
  const ImVec2 below{ImGui::GetCursorScreenPos().x, ImGui::GetCursorScreenPos().y + metrics().row + gap(1)};
  widgets::ButtonOptions options;
  options.icon = icons::chevron_down;
  options.tip = "Start from a program that comes with Fathom";
  if (widgets::button(gallery, "Samples", options)) ImGui::OpenPopup(gallery);
  ImGui::SetNextWindowPos(below, ImGuiCond_Appearing);
  ImGui::SetNextWindowSizeConstraints({0, 0}, {FLT_MAX, ImGui::GetIO().DisplaySize.y - below.y - gap(2)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(2), gap(2)});
  if (ImGui::BeginPopup(gallery)) {
    const MirrorScope scope("sample");
    for (const session::Sample& sample : session::samples()) {
      widgets::ButtonOptions row;
      row.look = widgets::Look::quiet;
      if (widgets::button(sample.name, sample.name, row)) {
        leave(app, [sample](App& then) { open_sample(then, sample); });
        ImGui::CloseCurrentPopup();
      }
      ImGui::SetCursorPos({ImGui::GetCursorPosX() + gap(2), ImGui::GetCursorPosY() - gap(2)});
      widgets::wrapped(what_it_is(sample), gap(110), Role::muted, Font::caption);
    }
    if (ImGui::IsKeyPressed(ImGuiKey_Escape, false)) ImGui::CloseCurrentPopup();
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
}

// ---- dimensions ----
/// An empty field is the size of the text; nullopt: no number.
std::optional<std::optional<std::int64_t>> size_in(const std::string& typed) {
  if (typed.empty()) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), value);
  if (error != std::errc() || end != typed.data() + typed.size() || value < 0) return std::nullopt;
  return std::optional(value);
}

void set_size(App& app, const math::Dimension& dimension, const std::string& typed) {
  const auto size = size_in(typed);
  const std::string name = dimension.name.text();
  if (!size) return app.document.say(fmt::format("{} is a whole number; {} is none.", name, typed));
  if (*size ? **size == dimension.value : app.document.inputs().dims.count(name) == 0) return;
  app.document.change([name, value = *size](session::Session& session) { return session.set_dim(name, value); });
  if (app.document.text() != app.document.shown()->compilation().inputs.source) app.document.type(app.document.text());
}

void size_field(App& app, ProgramState& state, const math::Dimension& dimension) {
  const std::string name = dimension.name.text();
  const bool is_mine = app.document.inputs().dims.count(name) > 0;
  std::string& typed = state.typed_dims[name];
  if (state.typing != name) typed = std::to_string(dimension.value);
  ImGui::BeginGroup();
  widgets::field("dim/" + name, is_mine ? name + " ■" : name, typed, "as in the text", gap(18));
  if (ImGui::IsItemActive()) state.typing = name;
  if (ImGui::IsItemDeactivated() && state.typing == name) state.typing.clear();
  if (ImGui::IsItemDeactivatedAfterEdit()) set_size(app, dimension, typed);
  std::string tip = is_mine ? "Set here, not in the text. Empty the field to go back to the text." : "Size of this dimension.";
  if (dimension.runtime) tip += " Left to run time: the plan serves every size, costs are those of this one.";
  widgets::tip(tip);
  ImGui::EndGroup();
}

/// Fields side by side from this place on, in as many rows as they need.
void sizes(App& app, ProgramState& state, ImVec2 at, float row) {
  if (app.document.shown() == nullptr) return;  // a sample was opened in this frame
  const float left = at.x, right = ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x;
  for (const math::Dimension& dimension : app.document.shown()->compilation().program.dims) {
    if (at.x + gap(18) > right && at.x > left) at = {left, at.y + row + ImGui::GetStyle().ItemSpacing.y};
    ImGui::SetCursorScreenPos(at);
    size_field(app, state, dimension);
    at.x += std::max(gap(18), ImGui::GetItemRectSize().x) + gap(2);
  }
}

void head(App& app, ProgramState& state) {
  if (app.document.shown() == nullptr) return samples(app);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float field = font(Font::body)->FontSize + 2 * ImGui::GetStyle().FramePadding.y;
  const float label = font(Font::caption)->FontSize + ImGui::GetStyle().ItemSpacing.y;
  ImGui::SetCursorScreenPos({at.x, at.y + label + (field - metrics().row) / 2});
  samples(app);
  ImGui::SetCursorScreenPos({at.x, at.y});
  ImGui::Dummy({0, label + field});
  const ImVec2 below = ImGui::GetCursorScreenPos();
  sizes(app, state, {at.x + widgets::button_width("Samples", icons::chevron_down) + gap(3), at.y}, label + field);
  ImGui::SetCursorScreenPos({at.x, std::max(below.y, ImGui::GetCursorScreenPos().y)});
  ImGui::Dummy({0, 0});
}

// ---- text ----
std::optional<std::size_t> entity_of(const App& app, ProgramState& state, std::string_view name) {
  if (state.version != app.document.version()) state.colours.clear();
  state.version = app.document.version();
  auto at = state.colours.find(name);
  if (at == state.colours.end()) at = state.colours.emplace(name, app.colour_of(0, std::string(name))).first;
  return at->second;
}

/// A name can be selected where the compiled program knows it as a tensor.
std::vector<Stretch> highlighted(const App& app, ProgramState& state, std::string_view line) {
  return stretches_of(line, [&](std::string_view name) { return entity_of(app, state, name); });
}

/// Words of the notation: the keywords of the samples, and the functions that the prelude declares and calls, which no tensor of it is.
const std::vector<Completion>& words_of_notation() {
  static const std::vector<Completion> words = [] {
    std::set<std::string> functions, keywords;
    std::vector<std::string> texts{std::string(lang::prelude())};
    for (const session::Sample& sample : session::samples()) texts.push_back(sample.text);
    for (const std::string& text : texts)
      for (const std::string_view line : session::lines_of(text))
        for (const session::Word& word : session::words_of(line)) {
          const bool is_called = word.end < line.size() && (line[word.end] == '(' || line[word.end] == '[');
          if (word.kind == session::WordKind::keyword) keywords.emplace(text_of(line, word));
          if (word.kind == session::WordKind::name && is_called && &text == &texts.front()) functions.emplace(text_of(line, word));
        }
    std::vector<Completion> all;
    for (const std::string& each : functions) all.push_back({each, "function"});
    for (const std::string& each : keywords) all.push_back({each, "keyword"});
    return all;
  }();
  return words;
}

std::vector<Completion> completions(const App& app, std::string_view before) {
  const std::vector<session::Word> words = session::words_of(before);
  if (!words.empty() && words.back().kind == session::WordKind::comment) return {};
  std::vector<Completion> all;
  if (const Shown* shown = app.document.shown()) {
    const math::Program& program = shown->compilation().program;
    for (const math::Statement& each : program.statements) all.push_back({each.name.text(), "tensor"});
    for (const math::Parameter& each : program.params) all.push_back({each.name.text(), each.extents.empty() ? "scalar" : "tensor"});
    for (const math::Dimension& each : program.dims) all.push_back({each.name.text(), "size"});
    for (const math::Function& each : program.functions) all.push_back({each.name.text(), "function"});
    for (const ReducerRef& each : program.reducers) all.push_back({each->name.text(), "reducer"});
  }
  all.insert(all.end(), words_of_notation().begin(), words_of_notation().end());
  for (const std::string_view line : session::lines_of(app.document.text()))
    for (const session::Word& word : session::words_of(line))
      if (word.kind == session::WordKind::name) all.push_back({std::string(text_of(line, word)), "name"});
  return all;
}

// ---- what is wrong ----
bool has_place(const SourceSpan& span, const std::string& text) {
  return span.source == 0 && span.begin <= text.size() && (span.begin > 0 || span.end > 0);
}

std::vector<widgets::Underlined> underlined(const App& app) {
  std::vector<widgets::Underlined> all;
  const std::string& text = app.document.text();
  for (const Diagnostic& each : app.document.diagnostics()) {
    if (!has_place(each.span, text)) continue;
    const std::string message = each.cure.empty() ? each.message : each.message + "\n" + each.cure;
    all.push_back({widgets::place_of(text, each.span.begin), widgets::place_of(text, each.span.end), message, role_of(each.severity)});
  }
  return all;
}

/// One of the list; `asked` is its place where that was pressed.
void diagnostic_row(const std::string& id, const Diagnostic& diagnostic, const std::string& text, std::optional<Place>& asked) {
  const Role role = role_of(diagnostic.severity);
  if (diagnostic.severity != Severity::note) {
    widgets::text(icons::alert, role);
    ImGui::SameLine();
  }
  if (has_place(diagnostic.span, text)) {
    const Place at = widgets::place_of(text, diagnostic.span.begin);
    if (widgets::link(id, fmt::format("line {}", at.line + 1))) asked = at;
    ImGui::SameLine();
  }
  const float left = ImGui::GetCursorPosX();
  widgets::wrapped(diagnostic.message, Role::text);
  if (!diagnostic.cure.empty()) {
    ImGui::SetCursorPosX(left);
    widgets::wrapped(diagnostic.cure, Role::muted);
  }
}

/// The place that was asked for.
std::optional<Place> diagnostics_list(const App& app, ProgramState& state) {
  std::optional<Place> asked;
  const MirrorScope scope("wrong");
  const std::string& text = app.document.text();
  ImGui::BeginChild("##wrong");
  const float top = ImGui::GetCursorPosY();
  int number = 0;
  for (const Diagnostic& each : app.document.diagnostics()) {
    diagnostic_row(std::to_string(number++), each, text, asked);
    for (const Diagnostic& note : each.notes) {
      ImGui::Indent(gap(6));
      diagnostic_row(std::to_string(number++), note, text, asked);
      ImGui::Unindent(gap(6));
    }
  }
  state.list_height = ImGui::GetCursorPosY() - top;
  ImGui::EndChild();
  return asked;
}

/// What others did to the text comes into the editor; another file is no edit of the one before.
void follow_document(const App& app, ProgramState& state) {
  if (app.document.text() == state.sent) return;
  if (app.document.inputs().file_name == state.file) {
    state.editor.text.replace_text(app.document.text());
  } else {
    state.editor = {};
    state.editor.text.reset(app.document.text());
  }
  state.file = app.document.inputs().file_name;
  state.sent = app.document.text();
}

void edit(App& app, ProgramState& state, float height) {
  widgets::EditorOptions options;
  options.stretches = [&](std::string_view line) { return highlighted(app, state, line); };
  options.emphasis = [&](const std::string& name) {
    return app.is_selected(0, name)  ? widgets::Emphasis::selected
           : app.is_hovered(0, name) ? widgets::Emphasis::hovered
                                     : widgets::Emphasis::none;
  };
  options.underlined = underlined(app);
  options.completions = [&](std::string_view before) { return completions(app, before); };
  options.height = height;
  const widgets::EditorEvents events = widgets::editor("editor", state.editor, options);
  if (events.changed) {
    state.sent = state.editor.text.text();
    app.document.type(state.sent);
  }
  if (events.hovered) app.hovering = {events.hovered->name, 0};
  if (events.chosen) app.selected = {events.chosen->name, 0};
}

}  // namespace

void program(App& app) {
  ProgramState& state = app.program;
  follow_document(app, state);
  head(app, state);
  const float room = ImGui::GetContentRegionAvail().y;
  constexpr float most_of_list = 0.4F;
  const bool wrong = !app.document.diagnostics().empty();
  const float list = wrong ? std::clamp(state.list_height, metrics().row, room * most_of_list) : 0;
  edit(app, state, wrong ? room - list - gap(2) : 0);
  if (!wrong) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + ImGui::GetContentRegionAvail().x, at.y + hairline()}, colour(Role::line));
  ImGui::Dummy({0, hairline()});
  if (const auto asked = diagnostics_list(app, state)) state.editor.reveal = *asked;
}

}  // namespace fathom::ui::panels
