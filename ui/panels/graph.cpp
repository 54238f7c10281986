// The statements as a graph: who reads whom; what shares a loop after fusion stands on one ground.
#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <map>
#include <utility>

#include "icons.hpp"
#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "widgets/edges.hpp"

namespace fathom::ui::panels {
namespace {

/// The last step up to this one whose program has statements: below Loop they are instructions.
std::size_t step_of_graph(const std::vector<Step>& steps, std::size_t step) {
  while (step > 0 && steps[step].after.level != Level::math && steps[step].after.level != Level::loop) --step;
  return step;
}

const math::Program& math_of(const Ir& ir) { return ir.level == Level::loop ? ir.loop().math : ir.math(); }

/// Statements by the innermost fold that they stand in, and what these are called.
struct Groups {
  std::map<Symbol, int> of;
  std::vector<std::string> titles;
};

Groups groups_of(const Ir& ir) {
  Groups groups;
  if (ir.level != Level::loop) return groups;
  std::map<const loop::Loop*, int> numbers;
  for (const auto& [statement, site] : loop::sites_of(ir.loop()))
    for (auto loop = site.loops.rbegin(); loop != site.loops.rend(); ++loop)
      if ((*loop)->mark == loop::Mark::fold) {
        const auto [at, is_new] = numbers.emplace(*loop, static_cast<int>(numbers.size()));
        if (is_new) groups.titles.push_back(fmt::format("one loop over {}", (*loop)->index.text()));
        groups.of[statement] = at->second;
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
  Groups groups = groups_of(ir);
  state.group_titles = std::move(groups.titles);
  state.nodes.clear();
  state.edges.clear();
  std::map<Symbol, std::size_t> number;
  for (const math::Parameter& parameter : program.params) {
    number[parameter.name] = state.nodes.size();
    state.nodes.push_back({parameter.name.text(), print(parameter), "argument"});
  }
  for (const math::Statement& statement : program.statements) {
    const auto group = groups.of.find(statement.name);
    number[statement.name] = state.nodes.size();
    const std::string text = print(statement);
    const std::size_t equals = text.find(" = ");
    state.nodes.push_back({statement.name.text(), text.substr(0, equals), equals == std::string::npos ? text : text.substr(equals + 3),
                           group == groups.of.end() ? -1 : group->second});
  }
  for (const math::Statement& statement : program.statements)
    for (const Symbol name : read_by(statement)) {
      auto from = number.find(name);
      // A gauge is no statement: it is the running value of the tensor that it is named after.
      if (from == number.end()) from = number.find(Symbol(session::bare_name(name.text())));
      if (from != number.end()) state.edges.push_back({from->second, number[statement.name]});
    }
}

constexpr std::size_t longest_formula = 44;

/// Its first line, cut to a length that keeps nodes beside each other.
std::string shortened(std::string formula) {
  formula.resize(std::min(formula.find('\n'), formula.size()));
  if (const std::size_t block = formula.find(" with "); block != std::string::npos && formula.ends_with(" {"))
    formula.replace(block, std::string::npos, " ↻");
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
  constexpr float least_readable = 4;  // device pixels
  if (face->FontSize * zoom < least_readable) return;
  words = widgets::readable(words);
  list.AddText(face, face->FontSize * zoom, at, ink, words.data(), words.data() + words.size());
}

/// Behind the nodes of each loop.
void hulls(ImDrawList& list, const widgets::Canvas& canvas, const GraphState& state) {
  for (std::size_t g = 0; g < state.layout.hulls.size(); ++g) {
    const ImVec2 from = canvas.on_screen(state.layout.hulls[g].min), to = canvas.on_screen(state.layout.hulls[g].max);
    list.AddRectFilled(from, to, faded(Role::accent, 0.08F), metrics().radius);
    list.AddRect(from, to, faded(Role::accent, 0.5F), metrics().radius, 0, hairline());
    mirror().add("hull", fmt::format("loop.{}", g), state.group_titles[g], from, to);
  }
}

/// On top of the edges that run through them.
void titles_of_hulls(ImDrawList& list, const widgets::Canvas& canvas, const GraphState& state) {
  for (std::size_t g = 0; g < state.layout.hulls.size(); ++g) {
    const ImVec2 from = canvas.on_screen(state.layout.hulls[g].min);
    const ImVec2 at{from.x + gap(2) * canvas.zoom, from.y + gap(1) * canvas.zoom},
        extent = widgets::measure(state.group_titles[g], Font::body);
    list.AddRectFilled(at, {at.x + extent.x * canvas.zoom, at.y + extent.y * canvas.zoom}, faded(Role::panel, 0.9F));
    draw_scaled(list, at, state.group_titles[g], colour(Role::text), Font::body, canvas.zoom);
  }
}

std::vector<ImVec2> sizes_of_titles(const std::vector<std::string>& titles) {
  std::vector<ImVec2> sizes;
  for (const std::string& title : titles) {
    const ImVec2 extent = widgets::measure(title, Font::body);
    sizes.push_back({extent.x, extent.y + gap(1)});
  }
  return sizes;
}

/// The step of a previewed plan that stands for this one; nullptr where there is none, or nothing is previewed.
const Step* previewed_graph(const App& app, const Step& step) {
  const Preview* preview = app.document.previewed();
  if (preview == nullptr || preview->shown == nullptr) return nullptr;
  for (const Step& each : preview->shown->steps())
    if (each.id == step.id && each.after.level == step.after.level) return &each;
  return nullptr;
}

/// What the preview has that the plan as it is has not.
void mark_differences(GraphState& state, const Ir& now) {
  GraphState before;
  make(before, now);
  for (GraphNode& node : state.nodes) {
    const auto same = std::find_if(before.nodes.begin(), before.nodes.end(), [&](const GraphNode& each) { return each.name == node.name; });
    node.is_new = same == before.nodes.end();
    node.is_other = !node.is_new && (same->formula != node.formula || same->type != node.type || same->group != node.group);
  }
}

void make_graph(App& app, std::size_t step) {
  GraphState& state = app.graph;
  const Step& now = app.document.shown()->steps()[step];
  const Step* preview = previewed_graph(app, now);
  const std::string previewed = preview == nullptr ? "" : app.document.previewed()->site + " = " + app.document.previewed()->choice;
  const GraphState::Made wanted{app.document.version(), step, font(Font::code)->FontSize, previewed};
  if (state.made == wanted) return;
  const bool other_program = wanted.version != state.made.version || wanted.step != state.made.step || wanted.scale != state.made.scale;
  make(state, preview == nullptr ? now.after : preview->after);
  if (preview != nullptr) mark_differences(state, now.after);
  state.sizes = sizes_of(state.nodes);
  std::vector<int> groups;
  for (const GraphNode& node : state.nodes) groups.push_back(node.group);
  state.layout = lay_out_groups(state.sizes, groups, sizes_of_titles(state.group_titles), state.edges, gap(6));
  state.made = wanted;
  state.canvas.fit = state.canvas.fit || other_program;
}

bool is_found(const GraphState& state, const GraphNode& node) {
  return state.search_is_open && !state.search.empty() && (node.type + " = " + node.formula).find(state.search) != std::string::npos;
}

ImVec2 middle_of(const GraphState& state, std::size_t n) {
  return {state.layout.nodes.places[n].x + state.sizes[n].x / 2, state.layout.nodes.places[n].y + state.sizes[n].y / 2};
}

/// The line of the search above the canvas; Enter goes to the next that is found.
void search_line(App& app, GraphState& state, std::size_t step) {
  if (std::exchange(state.asks_search, false)) {
    state.search_is_open = true;
    ImGui::SetWindowFocus();  // what is not of the focused window gets no keys
    ImGui::SetKeyboardFocusHere();
  }
  if (!state.search_is_open) return;
  widgets::field("search", {}, state.search, "Search", gap(50));
  const bool enter = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Enter, false);
  const bool escape = ImGui::IsItemDeactivated() && ImGui::IsKeyPressed(ImGuiKey_Escape, false);
  std::vector<std::size_t> found;
  for (std::size_t n = 0; n < state.nodes.size(); ++n)
    if (is_found(state, state.nodes[n])) found.push_back(n);
  ImGui::SameLine();
  widgets::fitted("count", found.size() == 1 ? "1 node" : fmt::format("{} nodes", found.size()), gap(20),
                  found.empty() && !state.search.empty() ? Role::warn : Role::muted, Font::caption);
  ImGui::SameLine();
  widgets::ButtonOptions close;
  close.icon = icons::close;
  close.look = widgets::Look::quiet;
  close.tip = "Close the search";
  close.shortcut = "Esc";
  if (widgets::button("close", {}, close) || escape) {
    state.search_is_open = false;
    state.search.clear();
  } else if (enter && !found.empty()) {
    const auto here = std::find_if(found.begin(), found.end(), [&](std::size_t n) { return state.nodes[n].name == app.selected.name; });
    const std::size_t next = here == found.end() || here + 1 == found.end() ? found.front() : *(here + 1);
    app.selected = {state.nodes[next].name, step};
    state.asks_search = true;  // Enter gave the keys away: typing goes on
  }
}

/// The arrow keys lead from the selected node to the nearest in their direction.
void move_by_arrows(App& app, GraphState& state, const widgets::Canvas& canvas, std::size_t step) {
  ImVec2 way{0, 0};
  if (is_arrow_pressed(canvas, ImGuiKey_LeftArrow)) way = {-1, 0};
  if (is_arrow_pressed(canvas, ImGuiKey_RightArrow)) way = {1, 0};
  if (is_arrow_pressed(canvas, ImGuiKey_UpArrow)) way = {0, -1};
  if (is_arrow_pressed(canvas, ImGuiKey_DownArrow)) way = {0, 1};
  if ((way.x == 0 && way.y == 0) || state.nodes.empty()) return;
  std::size_t here = state.nodes.size();
  for (std::size_t n = 0; n < state.nodes.size(); ++n)
    if (app.is_selected(step, state.nodes[n].name)) here = std::min(here, n);
  std::size_t best = here == state.nodes.size() ? 0 : here;
  float least = FLT_MAX;
  for (std::size_t n = 0; n < state.nodes.size() && here < state.nodes.size(); ++n) {
    const ImVec2 a = middle_of(state, here), b = middle_of(state, n);
    const float along = (b.x - a.x) * way.x + (b.y - a.y) * way.y, across = std::abs((b.x - a.x) * way.y) + std::abs((b.y - a.y) * way.x);
    if (n == here || along <= 0 || along + 2 * across >= least) continue;
    least = along + 2 * across;
    best = n;
  }
  app.selected = {state.nodes[best].name, step};
  const ImVec2 at = canvas.on_screen(middle_of(state, best));
  if (!canvas.box.contains(at)) centre_on(state.canvas, canvas, middle_of(state, best));
}

void ask_what_is_lit(const App& app, GraphState& state, std::size_t step) {
  const GraphState::Lit wanted{app.selected, app.hovered, state.made};
  const bool is_another = !(wanted.made == state.lit_for.made) || state.entities.size() != state.nodes.size();
  if (!is_another && wanted == state.lit_for) return;
  state.lit_for = wanted;
  state.is_selected.clear();
  state.is_hovered.clear();
  if (is_another) state.entities.clear();
  for (const GraphNode& node : state.nodes) {
    state.is_selected.push_back(app.is_selected(step, node.name) ? 1 : 0);
    state.is_hovered.push_back(app.is_hovered(step, node.name) ? 1 : 0);
    if (is_another) state.entities.push_back(app.colour_of(step, node.name));
  }
}

ImU32 border_of(const GraphState& state, std::size_t n, bool under_mouse, ImU32 ink) {
  const GraphNode& node = state.nodes[n];
  if (state.is_selected[n] != 0 || is_found(state, node)) return colour(Role::accent);
  if (node.is_new) return colour(Role::ok);
  if (node.is_other) return colour(Role::warn);
  return under_mouse || state.is_hovered[n] != 0 ? ink : colour(Role::line);
}

void draw_node(App& app, GraphState& state, const widgets::Canvas& canvas, std::size_t n, std::size_t step) {
  const GraphNode& node = state.nodes[n];
  const ImVec2 place = state.layout.nodes.places[n];
  const ImVec2 from = canvas.on_screen(place), to = canvas.on_screen({place.x + state.sizes[n].x, place.y + state.sizes[n].y});
  if (!canvas.is_seen(from, to)) return;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Box box{from, to};
  const bool under_mouse = canvas.is_hovered && box.contains(ImGui::GetMousePos());
  const bool lit = state.is_selected[n] != 0 || is_found(state, node) || node.is_new || node.is_other;
  const auto entity = state.entities[n];
  const ImU32 ink = entity ? entity_colour(*entity) : colour(Role::text);
  list.AddRectFilled(from, to, colour(Role::raised), metrics().control_radius);
  list.AddRect(from, to, border_of(state, n, under_mouse, ink), metrics().control_radius, 0, lit ? metrics().focus_ring : hairline());
  const float in = gap(3) * canvas.zoom, down = gap(2) * canvas.zoom;
  draw_scaled(list, {from.x + in, from.y + down}, node.type, ink, Font::code, canvas.zoom);
  draw_scaled(list, {from.x + in, from.y + down + font(Font::code)->FontSize * canvas.zoom}, shortened(node.formula), colour(Role::muted),
              Font::caption, canvas.zoom);
  const char* const mark = node.is_new ? "+" : node.is_other ? "±" : "";
  draw_scaled(list, {to.x - in, from.y + down}, mark, colour(node.is_new ? Role::ok : Role::warn), Font::code_bold, canvas.zoom);
  mirror().add("node", node.name, node.type + " = " + node.formula + (*mark == 0 ? "" : std::string("  ") + mark), from, to, true,
               state.is_selected[n] != 0);
  if (!under_mouse) return;
  app.hovering = {node.name, step};
  widgets::tip_over(box, node.type + " = " + node.formula);
  if (canvas.clicked) app.selected = {node.name, step};
}

/// Those of what is selected lie on top.
void draw_edges(ImDrawList& list, const widgets::Canvas& canvas, const GraphState& state) {
  widgets::Edges edges(list, canvas);
  for (const bool lit : {false, true})
    for (const GraphEdge& each : state.edges) {
      if ((state.is_selected[each.from] != 0 || state.is_selected[each.to] != 0) != lit) continue;
      const ImVec2 from{middle_of(state, each.from).x, state.layout.nodes.places[each.from].y + state.sizes[each.from].y};
      const ImVec2 to{middle_of(state, each.to).x, state.layout.nodes.places[each.to].y};
      edges.draw(from, to, colour(lit ? Role::accent : Role::muted));
    }
}

}  // namespace

void graph(App& app) {
  if (app.document.shown() == nullptr) return nothing_shown(app, "The graph appears here as soon as the text compiles.");
  const auto& steps = app.document.shown()->steps();
  const std::size_t step = step_of_graph(steps, app.step());
  GraphState& state = app.graph;
  make_graph(app, step);
  const std::string note = state.made.preview.empty()
                               ? fmt::format("after “{}”{}   wheel zooms, drag moves, F fits", steps[step].title,
                                             step == app.step() ? "" : ", the last step with statements")
                               : fmt::format("preview: {}, against the plan as it is   + new   ± changed", state.made.preview);
  widgets::fitted("what", note, ImGui::GetContentRegionAvail().x, Role::muted, Font::caption);
  search_line(app, state, step);
  const widgets::Canvas canvas = widgets::begin_canvas("canvas", state.canvas, state.layout.nodes.size);
  move_by_arrows(app, state, canvas, step);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  ask_what_is_lit(app, state, step);
  hulls(list, canvas, state);
  draw_edges(list, canvas, state);
  titles_of_hulls(list, canvas, state);
  for (std::size_t n = 0; n < state.nodes.size(); ++n) draw_node(app, state, canvas, n, step);
  widgets::end_canvas();
}

}  // namespace fathom::ui::panels
