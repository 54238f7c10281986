#include "panels/derivation.hpp"

#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <vector>

#include "mirror.hpp"
#include "widgets/basic.hpp"
#include "widgets/maths.hpp"

namespace fathom::ui {

struct DerivationState::Made {
  // What the boxes were made of.
  std::uint64_t version = 0;
  std::size_t step = 0;
  Symbol consumer;
  bool all = false;
  float em = 0, width = 0, law_width = 0;
  Theme theme{};

  std::vector<widgets::MathsBox> laws, lines;
  std::map<std::string, std::optional<ImU32>> inks;  ///< of names
};

namespace panels {
namespace {

constexpr float rule_part = 0.32F, widest_rule = 68;  // of the width, and gaps: where rules stand beside their formulas
constexpr float least_width_of_two = 120;             // gaps: narrower panels have the rule below the formula

/// As a derivation prints it: `bound` lines weaken, all others are equations. The rule's own equation says which.
std::string relation_of(const DerivationLine& line) { return line.equation.find("<=") != std::string::npos ? "≤" : "="; }

/// Does the line go on where the one before it ended? Reorderings that are folded away may stand between.
bool goes_on(const Fusion& fusion, const std::vector<DerivationLine>& lines, std::size_t at) {
  if (at == 0) return false;
  const Expr end = lines[at - 1].after;
  if (lines[at].before == end) return true;
  const auto& all = fusion.all_lines;
  const auto same = [&](const DerivationLine& each) {
    return each.rule == lines[at].rule && each.before == lines[at].before && each.after == lines[at].after;
  };
  auto here = std::find_if(all.begin(), all.end(), same);
  while (here != all.end() && here != all.begin()) {
    const auto earlier = std::prev(here);
    if (earlier->after != here->before) return false;
    if (earlier->after == end || earlier->before == end) return true;
    here = earlier;
  }
  return false;
}

using Made = DerivationState::Made;

bool has_two_columns(float width) { return width >= gap(least_width_of_two); }
float formula_width(float width) { return has_two_columns(width) ? width - std::min(rule_part * width, gap(widest_rule)) - gap(4) : width; }

const std::vector<DerivationLine>& shown_lines(const Fusion& fusion, const DerivationState& state) {
  return state.shows_all ? fusion.all_lines : fusion.derivation;
}

void make(const App& app, const Fusion& fusion, DerivationState& state, float width) {
  const float em = gap(state.em);
  if (!state.made) state.made = std::make_shared<Made>();
  Made& made = *state.made;
  if (made.version == app.document.version() && made.step == app.step() && made.consumer == fusion.consumer &&
      made.all == state.shows_all && made.em == em && made.width == width && made.theme == current_theme())
    return;
  made = {};
  made.version = app.document.version();
  made.step = app.step();
  made.consumer = fusion.consumer;
  made.all = state.shows_all;
  made.em = em;
  made.width = width;
  made.theme = current_theme();
  if (fusion.repair)
    for (const math::Carried& carried : fusion.repair->carried)
      made.laws.push_back(widgets::lay_out_relation(symbol(carried.name), "←", carried.move, em, width));
  const auto& lines = shown_lines(fusion, state);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Expr before = goes_on(fusion, lines, i) ? Expr{} : lines[i].before;
    made.lines.push_back(widgets::lay_out_relation(before, relation_of(lines[i]), lines[i].after, em, formula_width(width)));
  }
}

/// What the colours of names are asked of, while formulas are drawn.
struct Lighting {
  App& app;
  DerivationState& state;
};

std::string name_of(Expr e) {
  if (!e.is(Op::index) && !e.is(Op::dim) && !e.is(Op::symbol) && !e.is(Op::read)) return {};
  return session::bare_name(e.name().text());
}

std::optional<ImU32> ink_of(Expr node, void* context) {
  const auto& [app, state] = *static_cast<const Lighting*>(context);
  if (node.is(Op::index) || node.is(Op::dim)) return std::nullopt;
  const std::string name = name_of(node);
  if (name == state.lit) return std::nullopt;  // text has more contrast on the band
  auto& inks = state.made->inks;
  if (const auto known = inks.find(name); known != inks.end()) return known->second;
  const auto number = app.colour_of(app.step(), name);
  return inks.emplace(name, number ? std::optional(entity_colour(*number)) : std::nullopt).first->second;
}

std::optional<ImU32> ground_of(Expr node, void* context) {
  const auto& [app, state] = *static_cast<const Lighting*>(context);
  constexpr float lit = 0.28F, chosen = 0.18F;
  const std::string name = name_of(node);
  if (name.empty()) return std::nullopt;
  if (name == state.lit) return faded(Role::accent, lit);
  if (node.is(Op::index) || node.is(Op::dim)) return std::nullopt;
  if (state.lit.empty() && app.is_hovered(app.step(), name)) return faded(Role::accent, lit);
  return app.is_selected(app.step(), name) ? std::optional(faded(Role::accent, chosen)) : std::nullopt;
}

bool is_selected(Expr node, void* context) {
  const Lighting& lighting = *static_cast<const Lighting*>(context);
  return !node.is(Op::index) && !node.is(Op::dim) && lighting.app.is_selected(lighting.app.step(), name_of(node));
}

/// A formula in a child window that scrolls where it is wider; returns the name under the mouse.
std::string formula(const std::string& id, const widgets::MathsBox& box, float width, bool centred, Lighting& lighting) {
  const widgets::MathsOptions options{ink_of, ground_of, &lighting, is_selected};
  const bool scrolls = box.width > width;
  const float air = gap(1);  // around what is lit, and what leans out
  const ImVec2 size{width, box.ascent + box.descent + 2 * air + (scrolls ? ImGui::GetStyle().ScrollbarSize : 0)};
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
  ImGui::BeginChild(id.c_str(), size, ImGuiChildFlags_None,
                    scrolls ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleVar();
  const ImVec2 at = ImGui::GetCursorPos();
  ImGui::SetCursorPos({at.x + (centred && !scrolls ? (width - box.width) / 2 : 0), at.y + air});
  const Expr under = widgets::maths(id, box, options);
  ImGui::EndChild();
  return under ? name_of(under) : std::string();
}

void rule_of(const DerivationLine& line, const std::string& id) {
  const MirrorScope scope(id);
  widgets::wrapped(line.rule);
  if (!line.equation.empty()) widgets::wrapped(line.equation, Role::muted, Font::code);
}

/// Formula left, rule right where there is room; returns the name under the mouse.
std::string draw_line(const DerivationLine& line, std::size_t at, float width, Lighting& lighting) {
  const std::string id = fmt::format("line-{}", at);
  const ImVec2 start = ImGui::GetCursorScreenPos();
  std::string under = formula(id, lighting.state.made->lines[at], formula_width(width), false, lighting);
  float bottom = ImGui::GetCursorScreenPos().y;
  const bool beside = has_two_columns(width);
  const float indent = beside ? formula_width(width) + gap(4) : gap(4);
  if (beside) ImGui::SetCursorScreenPos({start.x, start.y + gap(1)});
  ImGui::Indent(indent);
  rule_of(line, fmt::format("rule-{}", at));
  ImGui::Unindent(indent);
  bottom = std::max(bottom, ImGui::GetCursorScreenPos().y) + gap(1);
  ImGui::SetCursorScreenPos({start.x, bottom});
  ImGui::GetWindowDrawList()->AddLine({start.x, bottom}, {start.x + width, bottom}, colour(Role::line), hairline());
  ImGui::Dummy({0, gap(1)});
  return under;
}

void note(const std::string& id, std::string_view label, const std::string& text) {
  if (text.empty()) return;
  const MirrorScope scope(id);
  widgets::wrapped(fmt::format("{}{}", label, text), Role::muted);
}

void refusal(const std::string& id, const Refusal& why, Role role) {
  const MirrorScope scope(id);
  widgets::wrapped(why.reason, role);
  if (!why.hint.empty()) widgets::wrapped(why.hint, Role::muted);
}

void foot(App& app, const Fusion& fusion, DerivationState& state) {
  const std::size_t all = fusion.all_lines.size();
  if (all > fusion.derivation.size()) {
    const float top = ImGui::GetCursorPosY();
    ImGui::SetCursorPosY(top + (metrics().row - widgets::measure("a", Font::body).y) / 2);  // beside a button
    if (widgets::link("all-lines", state.shows_all ? std::string("only the principal lines") : fmt::format("all {} ▸", all)))
      state.shows_all = !state.shows_all;
    ImGui::SameLine(0, gap(4));
    ImGui::SetCursorPosY(top);
  }
  widgets::ButtonOptions copy;
  copy.tip = "Copies the law and the lines that are shown";
  copy.look = widgets::Look::quiet;
  if (widgets::button("copy-latex", "Copy as LaTeX", copy) && app.copy) app.copy(derivation_latex(fusion, state.shows_all));
}

/// Laws, lines, notes; returns the name under the mouse.
std::string draw_accepted(App& app, const Fusion& fusion, DerivationState& state, float width) {
  Lighting lighting{app, state};
  std::string under;
  const auto hovered = [&](std::string name) {
    if (!name.empty()) under = std::move(name);
  };
  make(app, fusion, state, width);
  for (std::size_t i = 0; i < state.made->laws.size(); ++i)
    hovered(formula(fmt::format("law-{}", i), state.made->laws[i], width, true, lighting));
  if (!state.made->laws.empty()) ImGui::Dummy({0, gap(2)});
  const auto& lines = shown_lines(fusion, state);
  for (std::size_t i = 0; i < lines.size(); ++i) hovered(draw_line(lines[i], i, width, lighting));
  if (lines.empty() && state.made->laws.empty())
    note("nothing", "", "Nothing had to be derived: it reads no result of its own loop.");
  else
    foot(app, fusion, state);
  note("delayed", "Applied once, at the end: ", fusion.delayed);
  note("guard", "Guard: ", fusion.guard);
  note("certificate", "", fusion.certificate);
  return under;
}

void share_hover(App& app, DerivationState& state, const std::string& under) {
  if (!under.empty()) {
    app.hovered = app.hovering = {under, app.step()};  // here at once, in the other panels from the next frame on
    if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) app.selected = app.hovered;
  } else if (!state.lit.empty() && app.hovered.name == state.lit) {
    app.hovered = {};
  }
  state.lit = under;
}

}  // namespace

std::string derivation_latex(const Fusion& fusion, bool all_lines) {
  std::string out;
  const auto row = [&](const std::string& left, const std::string& relation, const std::string& right) {
    out += fmt::format("{}  {} &{} {}", out.empty() ? "" : " \\\\\n", left, relation, right);
  };
  if (fusion.repair)
    for (const math::Carried& carried : fusion.repair->carried)
      row(widgets::latex(symbol(carried.name)), "\\leftarrow", widgets::latex(carried.move));
  const auto& lines = all_lines ? fusion.all_lines : fusion.derivation;
  for (std::size_t i = 0; i < lines.size(); ++i)
    row(goes_on(fusion, lines, i) ? "" : widgets::latex(lines[i].before), relation_of(lines[i]) == "≤" ? "\\le" : "=",
        widgets::latex(lines[i].after) + " && \\text{" + lines[i].rule + "}");
  return out.empty() ? out : "\\begin{aligned}\n" + out + "\n\\end{aligned}\n";
}

void derivation(App& app, const Fusion& fusion, DerivationState& state) {
  const MirrorScope scope("derivation");
  ImGui::PushID(fusion.consumer.text().c_str());
  const float width = ImGui::GetContentRegionAvail().x;
  std::string under;
  if (fusion.refusal)
    refusal("refused", *fusion.refusal, Role::warn);
  else
    under = draw_accepted(app, fusion, state, width);
  if (!fusion.not_taken.empty()) {
    ImGui::Dummy({0, gap(1)});
    widgets::text("not taken", Role::muted, Font::caption);
  }
  for (std::size_t i = 0; i < fusion.not_taken.size(); ++i) refusal(fmt::format("not-taken-{}", i), fusion.not_taken[i], Role::text);
  share_hover(app, state, under);
  ImGui::PopID();
}

}  // namespace panels
}  // namespace fathom::ui
