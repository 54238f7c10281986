// The statements as a graph: who reads whom; what shares a loop after fusion stands on one ground.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mirror.hpp"
#include "panels/panels.hpp"

namespace fathom::ui::panels {
namespace {

/// The last step up to this one whose program has statements: below Loop they are instructions.
std::size_t step_of_graph(const std::vector<Step>& steps, std::size_t step) {
  while (step > 0 && steps[step].after.level != Level::math && steps[step].after.level != Level::loop) --step;
  return step;
}

const math::Program& math_of(const Ir& ir) { return ir.level == Level::loop ? ir.loop().math : ir.math(); }

/// Numbers of the innermost folds that statements stand in.
std::map<Symbol, int> groups_of(const Ir& ir) {
  std::map<Symbol, int> groups;
  if (ir.level != Level::loop) return groups;
  std::map<const loop::Loop*, int> numbers;
  for (const auto& [statement, site] : loop::sites_of(ir.loop()))
    for (auto loop = site.loops.rbegin(); loop != site.loops.rend(); ++loop)
      if ((*loop)->mark == loop::Mark::fold) {
        groups[statement] = numbers.emplace(*loop, static_cast<int>(numbers.size())).first->second;
        break;
      }
  return groups;
}

std::vector<Symbol> read_by(const math::Statement& statement) {
  std::vector<Expr> values;
  if (const math::Map* map = statement.map()) values.push_back(map->value);
  if (const math::Reduction* reduction = statement.reduction()) values = reduction->values;
  std::vector<Symbol> names;
  for (const Expr value : values)
    for (const Symbol name : tensors_read(value))
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

void make(GraphState& state, const Ir& ir) {
  const math::Program& program = math_of(ir);
  const std::map<Symbol, int> groups = groups_of(ir);
  state.nodes.clear();
  state.edges.clear();
  std::map<Symbol, std::size_t> number;
  for (const math::Parameter& parameter : program.params) {
    number[parameter.name] = state.nodes.size();
    state.nodes.push_back({parameter.name.text(), print(parameter), "argument", -1});
  }
  for (const math::Statement& statement : program.statements) {
    const auto group = groups.find(statement.name);
    number[statement.name] = state.nodes.size();
    const std::string text = print(statement);
    const std::size_t equals = text.find(" = ");
    state.nodes.push_back({statement.name.text(), text.substr(0, equals), equals == std::string::npos ? text : text.substr(equals + 3),
                           group == groups.end() ? -1 : group->second});
  }
  for (const math::Statement& statement : program.statements)
    for (const Symbol name : read_by(statement))  // a gauge is the running value of the tensor that it is named after
      if (const auto from = number.find(Symbol(session::bare_name(name.text()))); from != number.end())
        state.edges.push_back({from->second, number[statement.name]});
}

constexpr std::size_t longest_formula = 44;

/// Its first line, cut to a length that keeps nodes beside each other.
std::string shortened(std::string formula) {
  formula.resize(std::min(formula.find('\n'), formula.size()));
  if (formula.size() <= longest_formula) return formula;
  std::size_t cut = longest_formula;
  while (cut > 0 && (static_cast<unsigned char>(formula[cut]) & 0xC0U) == 0x80U) --cut;
  return formula.substr(0, cut) + "…";
}

std::vector<ImVec2> sizes_of(const std::vector<GraphNode>& nodes) {
  std::vector<ImVec2> sizes;
  for (const GraphNode& node : nodes) {
    const float wide = std::max(widgets::measure(node.type, Font::code).x, widgets::measure(shortened(node.formula), Font::caption).x);
    sizes.push_back({wide + 2 * gap(3), widgets::measure(node.type, Font::code).y + widgets::measure("x", Font::caption).y + 2 * gap(2)});
  }
  return sizes;
}

void draw_scaled(ImDrawList& list, ImVec2 at, std::string_view words, ImU32 ink, Font which, float zoom) {
  ImFont* face = font(which);
  list.AddText(face, face->FontSize * zoom, at, ink, words.data(), words.data() + words.size());
}

void edge(ImDrawList& list, const widgets::Canvas& canvas, ImVec2 from, ImVec2 to, ImU32 ink) {
  const ImVec2 a = canvas.on_screen(from), b = canvas.on_screen(to);
  if (!canvas.is_seen({std::min(a.x, b.x), std::min(a.y, b.y)}, {std::max(a.x, b.x), std::max(a.y, b.y)})) return;
  const float bend = (b.y - a.y) / 2, head = gap(1.25F) * canvas.zoom;
  list.AddBezierCubic(a, {a.x, a.y + bend}, {b.x, b.y - bend}, {b.x, b.y - head}, ink, hairline() * std::max(1.0F, canvas.zoom));
  list.AddTriangleFilled({b.x - head / 2, b.y - head}, {b.x + head / 2, b.y - head}, b, ink);
}

/// Grounds behind the nodes of one loop: one for each row of them.
void ground(ImDrawList& list, const widgets::Canvas& canvas, const GraphState& state, const std::vector<ImVec2>& sizes) {
  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    if (state.nodes[n].group < 0) continue;
    const ImVec2 at = state.layout.places[n];
    const float room = gap(1.5F);
    list.AddRectFilled(canvas.on_screen({at.x - room, at.y - room}), canvas.on_screen({at.x + sizes[n].x + room, at.y + sizes[n].y + room}),
                       faded_entity(static_cast<std::size_t>(state.nodes[n].group) + 3, 0.22F), metrics().radius);
  }
}

}  // namespace

void graph(App& app) {
  if (app.document.shown() == nullptr) return widgets::wrapped("The graph appears here as soon as the text compiles.", Role::muted);
  const auto& steps = app.document.shown()->steps();
  const std::size_t step = step_of_graph(steps, app.step());
  GraphState& state = app.graph;
  const GraphState::Made wanted{app.document.version(), step, font(Font::code)->FontSize};
  if (!(state.made == wanted)) {
    make(state, steps[step].after);
    state.sizes = sizes_of(state.nodes);
    state.layout = lay_out_graph(state.sizes, state.edges, gap(6));
    state.made = wanted;
    state.canvas.fit = true;
  }
  const std::vector<ImVec2>& sizes = state.sizes;
  const std::string note = fmt::format("after “{}”   wheel zooms, drag moves, F fits{}", steps[step].title,
                                       steps[step].after.level == Level::loop ? "   one ground: one loop" : "");
  widgets::fitted("what", note, ImGui::GetContentRegionAvail().x, Role::muted, Font::caption);
  const widgets::Canvas canvas = widgets::begin_canvas("canvas", state.canvas, state.layout.size);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ground(list, canvas, state, sizes);
  for (const GraphEdge& each : state.edges) {
    const bool lit = app.is_selected(step, state.nodes[each.from].name) || app.is_selected(step, state.nodes[each.to].name);
    const ImVec2 from{state.layout.places[each.from].x + sizes[each.from].x / 2, state.layout.places[each.from].y + sizes[each.from].y};
    const ImVec2 to{state.layout.places[each.to].x + sizes[each.to].x / 2, state.layout.places[each.to].y};
    edge(list, canvas, from, to, colour(lit ? Role::accent : Role::muted));
  }
  for (std::size_t n = 0; n < state.nodes.size(); ++n) {
    const GraphNode& node = state.nodes[n];
    const ImVec2 from = canvas.on_screen(state.layout.places[n]);
    const ImVec2 to = canvas.on_screen({state.layout.places[n].x + sizes[n].x, state.layout.places[n].y + sizes[n].y});
    if (!canvas.is_seen(from, to)) continue;
    const Box box{from, to};
    const bool under_mouse = canvas.is_hovered && box.contains(ImGui::GetMousePos());
    const bool lit = app.is_selected(step, node.name);
    const auto entity = app.colour_of(step, node.name);
    const ImU32 ink = entity ? entity_colour(*entity) : colour(Role::text);
    list.AddRectFilled(from, to, colour(Role::raised), metrics().control_radius);
    list.AddRect(from, to,
                 lit                                              ? colour(Role::accent)
                 : under_mouse || app.is_hovered(step, node.name) ? ink
                                                                  : colour(Role::line),
                 metrics().control_radius, 0, lit ? metrics().focus_ring : hairline());
    const float in = gap(3) * canvas.zoom, down = gap(2) * canvas.zoom;
    draw_scaled(list, {from.x + in, from.y + down}, node.type, ink, Font::code, canvas.zoom);
    draw_scaled(list, {from.x + in, from.y + down + font(Font::code)->FontSize * canvas.zoom}, shortened(node.formula), colour(Role::muted),
                Font::caption, canvas.zoom);
    mirror().add("node", node.name, node.type + " = " + node.formula, from, to, true, lit);
    if (under_mouse) {
      app.hovering = {node.name, step};
      widgets::tip_over(box, node.type + " = " + node.formula);
      if (canvas.clicked) app.selected = {node.name, step};
    }
  }
  widgets::end_canvas();
}

}  // namespace fathom::ui::panels
