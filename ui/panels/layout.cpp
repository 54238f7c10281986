// Where the elements of the selected tile value are: a cell an element, coloured by who holds it. Of a slot: how its rows lie in the banks.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mirror.hpp"
#include "panels/nothing_shown.hpp"
#include "panels/panels.hpp"
#include "session/layout_picture.hpp"
#include "widgets/pick.hpp"

namespace fathom::ui {

/// Of one step: what can be looked at, and the picture of the one that is.
struct LayoutState::Made {
  std::uint64_t version = 0;
  std::size_t step = 0;
  std::vector<session::TileValue> values;
  std::vector<session::SlotPicture> slots;
  std::vector<std::string> names;  ///< of values, then of slots
  std::optional<std::size_t> at;   ///< that the picture is of
  std::optional<Result<session::LayoutPicture>> picture;
};

namespace panels {
namespace {

using Made = LayoutState::Made;
using session::LayoutPicture;
using session::LayoutPlace;
using session::SlotPicture;

void make(App& app, std::size_t step) {
  LayoutState& state = app.layout;
  if (state.made != nullptr && state.made->version == app.document.version() && state.made->step == step) return;
  auto made = std::make_shared<Made>();
  made->version = app.document.version();
  made->step = step;
  const kernel::Module& module = app.document.shown()->steps()[step].after.module();
  const Target& target = app.document.shown()->compilation().target;
  made->values = session::values_with_layout(module, target);
  made->slots = session::slots_in_banks(module, target);
  for (const session::TileValue& each : made->values) {
    const kernel::Kernel& k = module.kernels[each.kernel];
    std::string name = each.name;
    if (k.roles.size() > 1) name += " of " + k.roles[each.role].name.text();
    if (module.kernels.size() > 1) name += ", " + k.name.text();
    made->names.push_back(name);
  }
  for (const SlotPicture& each : made->slots)
    made->names.push_back(each.name + ": slot" + (module.kernels.size() > 1 ? ", " + module.kernels[each.kernel].name.text() : ""));
  state.made = std::move(made);
}

const std::string& name_of(const Made& made, std::size_t n) {
  return n < made.values.size() ? made.values[n].name : made.slots[n - made.values.size()].name;
}

/// The selected thing itself, or what comes from it; else the first value with two axes or more, an accumulator mostly.
std::size_t looked_at(const App& app, const Made& made) {
  const auto known = [&](std::size_t n) { return app.selected.step == made.step && name_of(made, n) == app.selected.name; };
  if (made.at && known(*made.at)) return *made.at;  // the same name may be another role's, too
  for (std::size_t n = 0; n < made.names.size(); ++n)
    if (known(n)) return n;
  if (!app.selected.is_empty())
    for (std::size_t n = 0; n < made.names.size(); ++n)
      if (app.is_selected(made.step, name_of(made, n))) return n;
  return made.at.value_or(0);
}

void look_at(App& app, std::size_t n) {
  LayoutState& state = app.layout;
  Made& made = *state.made;
  if (made.at == n && (made.picture || n >= made.values.size())) return;
  made.at = n;
  made.picture.reset();
  state.row = state.column = 0;
  state.canvas.fit = true;
  if (n < made.values.size())
    made.picture = session::layout_picture(app.document.shown()->steps()[made.step].after.module(),
                                           app.document.shown()->compilation().target, made.values[n]);
}

/// One of `count` numbers: eight colours, each in steps of strength, so that neighbours differ.
ImU32 ink_of(std::int64_t number, std::int64_t count) {
  constexpr std::int64_t colours = 8;
  const std::int64_t each = std::max<std::int64_t>((count + colours - 1) / colours, 1);
  constexpr float weakest = 0.2F, strongest = 0.6F;
  const float part = each > 1 ? static_cast<float>(number % each) / static_cast<float>(each - 1) : 0.5F;
  return faded_entity(static_cast<std::size_t>(number / each), weakest + (strongest - weakest) * part);
}

ImU32 fill_of(const LayoutPicture& picture, const LayoutPlace& place, LayoutState::ColourBy by) {
  if (place.reg < 0) return colour(Role::raised);
  switch (by) {
    case LayoutState::ColourBy::lane:
      return ink_of(place.lane, picture.lanes);
    case LayoutState::ColourBy::reg:
      return ink_of(place.reg, picture.registers);
    case LayoutState::ColourBy::warp:
      return ink_of(place.warp, picture.warps);
  }
  return colour(Role::raised);
}

ImVec2 cell_size() { return {gap(10), gap(7)}; }
constexpr float margin = 12;  ///< gaps, for the names of axes and rows

/// Rows and columns by number, as far apart as their words need.
void rulers(ImDrawList& list, const widgets::Canvas& canvas, const LayoutPicture& picture) {
  const ImVec2 cell{cell_size().x * canvas.zoom, cell_size().y * canvas.zoom};
  const ImVec2 origin = canvas.on_screen({0, 0});
  const float line = font(Font::caption)->FontSize;
  const auto every = [](float needed, float has) {
    std::int64_t step = 1;
    while (static_cast<float>(step) * has < needed) step *= 2;
    return step;
  };
  const std::int64_t columns = every(gap(8), cell.x), rows = every(line + gap(1), cell.y);
  const float top = std::max(origin.y - line - gap(1), canvas.box.min.y + gap(0.5F)),
              left = std::max(origin.x - gap(7), canvas.box.min.x + gap(1));
  // Where the cells lie under them the numbers have a ground of their own.
  const bool over_top = !picture.columns.empty() && origin.y < canvas.box.min.y + line, over_left = origin.x < canvas.box.min.x;
  if (over_top) list.AddRectFilled(canvas.box.min, {canvas.box.max.x, top + line + gap(1)}, colour(Role::panel));
  if (over_left) list.AddRectFilled(canvas.box.min, {left + gap(6), canvas.box.max.y}, colour(Role::panel));
  for (std::int64_t column = 0; column < picture.shown_width && !picture.columns.empty(); column += columns) {
    const float x = origin.x + static_cast<float>(column) * cell.x + gap(0.5F);
    if (over_left && x < left + gap(6)) continue;
    widgets::draw_text(list, {x, top}, fmt::format("{}", column), colour(Role::muted), Font::caption);
  }
  for (std::int64_t row = 0; row < picture.shown_height; row += rows) {
    const float y = origin.y + static_cast<float>(row) * cell.y + std::max(0.0F, (std::min(cell.y, line + gap(2)) - line) / 2);
    if (over_top && y < top + line + gap(1)) continue;
    widgets::draw_text(list, {left, y}, fmt::format("{}", row), colour(Role::muted), Font::caption);
  }
}

/// What a cell says where it has room: lane and register; the warp is in the line above the picture.
std::string cell_text(const LayoutPlace& place) { return place.reg < 0 ? "–" : fmt::format("{}:{}", place.lane, place.reg); }

void draw_cells(ImDrawList& list, const widgets::Canvas& canvas, const LayoutPicture& picture, const LayoutState& state) {
  const LayoutPlace at = picture.cells[picture.cell(state.row, state.column)];
  const ImVec2 size = cell_size();
  const bool has_room = size.x * canvas.zoom >= widgets::measure("00:00", Font::caption).x + hairline();
  const float between = size.x * canvas.zoom > gap(2) ? hairline() : 0;
  for (const bool marks : {false, true}) {
    for (std::int64_t row = 0; row < picture.shown_height; ++row) {
      for (std::int64_t column = 0; column < picture.shown_width; ++column) {
        const ImVec2 corner{static_cast<float>(column) * size.x, static_cast<float>(row) * size.y};
        const ImVec2 from = canvas.on_screen(corner), end = canvas.on_screen({corner.x + size.x, corner.y + size.y});
        if (!canvas.is_seen(from, end)) continue;
        const LayoutPlace& place = picture.cells[picture.cell(row, column)];
        const ImVec2 to{end.x - between, end.y - between};
        if (!marks) {
          list.AddRectFilled(from, to, fill_of(picture, place, state.colour_by));
          if (!has_room) continue;
          const std::string words = cell_text(place);
          const ImVec2 needs = widgets::measure(words, Font::caption);
          widgets::draw_text(list, {(from.x + to.x - needs.x) / 2, (from.y + to.y - needs.y) / 2}, words, colour(Role::text),
                             Font::caption);
        } else if (row == state.row && column == state.column) {
          list.AddRect(from, to, colour(Role::text), 0, 0, 2 * hairline());
        } else if (place.lane == at.lane && place.warp == at.warp) {
          if (between == 0)  // too small for a frame
            list.AddRectFilled(from, to, colour(Role::accent));
          else
            list.AddRect(from, to, colour(Role::accent), 0, 0, hairline());
        }
      }
    }
  }
}

/// By the mouse, or by the arrow keys where the keyboard is here.
void move_cell(LayoutState& state, const widgets::Canvas& canvas, ImVec2 size, std::int64_t rows, std::int64_t columns) {
  if (canvas.is_hovered) {
    const ImVec2 mouse = ImGui::GetMousePos();
    const ImVec2 plane{(mouse.x - canvas.origin.x) / canvas.zoom, (mouse.y - canvas.origin.y) / canvas.zoom};
    const bool moved = mouse.x != state.mouse.x || mouse.y != state.mouse.y;  // one that rests leaves the cell to the keys
    state.mouse = mouse;
    if (moved && plane.x >= 0 && plane.y >= 0) {
      const auto column = static_cast<std::int64_t>(plane.x / size.x), row = static_cast<std::int64_t>(plane.y / size.y);
      if (row < rows && column < columns) state.row = row, state.column = column;
    }
  }
  if (widgets::is_arrow_pressed(canvas, ImGuiKey_LeftArrow)) --state.column;
  if (widgets::is_arrow_pressed(canvas, ImGuiKey_RightArrow)) ++state.column;
  if (widgets::is_arrow_pressed(canvas, ImGuiKey_UpArrow)) --state.row;
  if (widgets::is_arrow_pressed(canvas, ImGuiKey_DownArrow)) ++state.row;
  state.row = std::clamp<std::int64_t>(state.row, 0, rows - 1);
  state.column = std::clamp<std::int64_t>(state.column, 0, columns - 1);
}

/// The cell that is looked at, as an item of the screen.
void name_cell(const widgets::Canvas& canvas, const LayoutState& state, ImVec2 size, const std::string& words) {
  const ImVec2 corner{static_cast<float>(state.column) * size.x, static_cast<float>(state.row) * size.y};
  mirror().add("cell", "cell", words, canvas.on_screen(corner), canvas.on_screen({corner.x + size.x, corner.y + size.y}), true, true);
}

void colour_buttons(LayoutState& state) {
  constexpr std::array entries = std::to_array<std::pair<LayoutState::ColourBy, const char*>>(
      {{LayoutState::ColourBy::lane, "Lane"}, {LayoutState::ColourBy::reg, "Register"}, {LayoutState::ColourBy::warp, "Warp"}});
  for (const auto& [by, title] : entries) {
    ImGui::SameLine();
    widgets::ButtonOptions options;
    options.look = widgets::Look::quiet;
    options.selected = state.colour_by == by;
    options.tip = "What the colours tell apart";
    if (widgets::button(fmt::format("by-{}", title), title, options)) state.colour_by = by;
  }
}

void moves(const LayoutPicture& picture) {
  for (const session::LayoutMove& each : picture.moves)
    widgets::wrapped(fmt::format("{} → {}: {} ({})", each.from, each.into, layout::name(each.how), session::words_of(each.how)), Role::warn,
                     Font::caption);
}

void hint(std::string_view words) {
  const MirrorScope scope("hint");
  widgets::wrapped(words, Role::muted, Font::caption);
}

void draw_value(App& app, const LayoutPicture& picture) {
  LayoutState& state = app.layout;
  const float width = ImGui::GetContentRegionAvail().x;
  const std::string axes = picture.columns.empty() ? fmt::format("{} elements of {}", picture.height, picture.rows)
                                                   : fmt::format("{} rows of {}, {} columns of {}", picture.height, picture.rows,
                                                                 picture.width, picture.columns);
  const bool is_cut = picture.shown_height < picture.height || picture.shown_width < picture.width;
  widgets::fitted(
      "size",
      fmt::format("{}{}: {} register{} of {} lanes of {} warp{}", axes, is_cut ? ", the first of them shown" : "", picture.registers,
                  picture.registers == 1 ? "" : "s", picture.lanes, picture.warps, picture.warps == 1 ? "" : "s"),
      width, Role::muted, Font::caption);
  {
    const MirrorScope scope("line");
    widgets::wrapped(picture.line, Role::text, Font::code);
  }
  moves(picture);
  widgets::fitted("words", session::words_of(picture, state.row, state.column), width, Role::text, Font::body_bold);
  hint("A cell says lane:register; cells of the same lane have a frame. Wheel zooms, drag moves, F fits.");
  const ImVec2 size{static_cast<float>(picture.shown_width) * cell_size().x, static_cast<float>(picture.shown_height) * cell_size().y};
  const widgets::Canvas canvas = widgets::begin_canvas("canvas", state.canvas, {size.x + gap(margin), size.y});
  move_cell(state, canvas, cell_size(), picture.shown_height, picture.shown_width);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_cells(list, canvas, picture, state);
  rulers(list, canvas, picture);
  name_cell(canvas, state, cell_size(), session::words_of(picture, state.row, state.column));
  widgets::end_canvas();
}

ImVec2 chunk_size() { return {gap(22), gap(8)}; }

void draw_slot(App& app, const SlotPicture& slot) {
  LayoutState& state = app.layout;
  const float width = ImGui::GetContentRegionAvail().x;
  widgets::fitted("size",
                  fmt::format("{} rows of {} bytes{}", slot.rows, slot.bytes_of_a_row,
                              slot.panels ? ", in panels of 128 bytes; the first rows of the first panel" : "; the first rows"),
                  width, Role::muted, Font::caption);
  widgets::fitted(
      "line",
      slot.swizzle.period > 1
          ? fmt::format("chunk ^ row{} % {}", slot.swizzle.repeat > 1 ? fmt::format("/{}", slot.swizzle.repeat) : "", slot.swizzle.period)
          : "chunks as they come",
      width, Role::text, Font::code);
  widgets::fitted("passes",
                  fmt::format("Eight rows of a column of chunks: {} pass{} through the banks, {} if the chunks lay as they come.",
                              slot.passes, slot.passes == 1 ? "" : "es", slot.passes_as_they_come),
                  width, Role::muted, Font::caption);
  constexpr std::int64_t across = 8;
  const ImVec2 size{across * chunk_size().x, static_cast<float>(slot.lines() + 1) * chunk_size().y};
  const auto words = [&] { return session::words_of(slot, static_cast<std::size_t>(state.row * across + state.column)); };
  state.row = std::clamp<std::int64_t>(state.row, 0, slot.lines() - 1);
  state.column = std::clamp<std::int64_t>(state.column, 0, across - 1);
  widgets::fitted("words", words(), width, Role::text, Font::body_bold);
  hint("A column is four of the 32 banks; a cell says row.chunk of 16 bytes. Chunks of the same number have one colour.");
  const widgets::Canvas canvas = widgets::begin_canvas("canvas", state.canvas, size);
  move_cell(state, canvas, chunk_size(), slot.lines(), across);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const auto at = slot.cells[static_cast<std::size_t>(state.row * across + state.column)];
  for (std::size_t n = 0; n < slot.cells.size(); ++n) {
    const float column = static_cast<float>(n % across), row = static_cast<float>(n / across);
    const ImVec2 from = canvas.on_screen({column * chunk_size().x, row * chunk_size().y});
    const ImVec2 end = canvas.on_screen({(column + 1) * chunk_size().x, (row + 1) * chunk_size().y}),
                 to{end.x - hairline(), end.y - hairline()};
    const bool is_at = static_cast<std::int64_t>(n) == state.row * across + state.column;
    list.AddRectFilled(from, to, faded_entity(static_cast<std::size_t>(slot.cells[n].number), 0.35F));
    if (is_at || slot.cells[n].number == at.number)
      list.AddRect(from, to, colour(is_at ? Role::text : Role::accent), 0, 0, (is_at ? 2 : 1) * hairline());
    const std::string label = fmt::format("{}.{}", slot.cells[n].row, slot.cells[n].number);
    const ImVec2 needs = widgets::measure(label, Font::caption);
    if (needs.x < to.x - from.x)
      widgets::draw_text(list, {(from.x + to.x - needs.x) / 2, (from.y + to.y - needs.y) / 2}, label, colour(Role::text), Font::caption);
  }
  for (std::int64_t column = 0; column < across; ++column) {
    const std::string label = fmt::format("{}{}–{}", column == 0 ? "banks " : "", column * 4, column * 4 + 3);
    const ImVec2 from = canvas.on_screen({static_cast<float>(column) * chunk_size().x, static_cast<float>(slot.lines()) * chunk_size().y});
    if (widgets::measure(label, Font::caption).x < chunk_size().x * canvas.zoom)
      widgets::draw_text(list, {from.x + gap(1), from.y + gap(1)}, label, colour(Role::muted), Font::caption);
  }
  name_cell(canvas, state, chunk_size(), words());
  widgets::end_canvas();
}

}  // namespace

void layout(App& app) {
  if (app.document.shown() == nullptr) return nothing_shown(app, "Layouts appear here as soon as the text compiles.");
  const auto& steps = app.document.shown()->steps();
  const std::size_t step = app.step();
  if (steps[step].after.level != Level::kernel) {
    widgets::wrapped("Which lane holds which element is known from the Kernel level on.", Role::muted);
    if (steps.back().after.level == Level::kernel && widgets::link("to-kernel", "Go to the last step")) app.go_to(steps.size() - 1);
    return;
  }
  make(app, step);
  LayoutState& state = app.layout;
  if (state.made->names.empty())
    return widgets::wrapped("No value of this program has its elements in lanes yet. Look at a later step.", Role::muted);
  look_at(app, looked_at(app, *state.made));
  const std::size_t at = *state.made->at;
  const bool is_value = at < state.made->values.size();
  if (const auto picked = widgets::pick("value", state.made->names, at, gap(52),
                                        "The value or slot that is shown; a click on a name anywhere picks it, too")) {
    look_at(app, *picked);
    app.selected = {name_of(*state.made, *picked), step};
    return;
  }
  if (!is_value) return draw_slot(app, state.made->slots[at - state.made->values.size()]);
  colour_buttons(state);
  if (!*state.made->picture) return widgets::wrapped(state.made->picture->error().reason, Role::warn);
  draw_value(app, **state.made->picture);
}

}  // namespace panels
}  // namespace fathom::ui
