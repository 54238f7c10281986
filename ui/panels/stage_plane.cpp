// The square of the stage: row index x reduction index in the plan's tiles. Patterns say what a tile is, strength and a ring where the run
// stands.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "mirror.hpp"
#include "panels/stage_parts.hpp"

namespace fathom::ui::panels::stage_parts {
namespace {

namespace stage = session::stage;

/// Lines from the lower left to the upper right, or the other way, cut to the box.
void hatch(ImDrawList& list, const Box& box, ImU32 ink, float pitch, bool falls) {
  list.PushClipRect(box.min, box.max, true);
  const float height = box.height();
  for (float x = box.min.x - height; x < box.max.x; x += pitch)
    list.AddLine({x, falls ? box.min.y : box.max.y}, {x + height, falls ? box.max.y : box.min.y}, ink, hairline());
  list.PopClipRect();
}

void pattern(ImDrawList& list, const Box& box, stage::TileKind kind, stage::TileProgress progress, ImU32 strong, ImU32 weak) {
  const ImU32 ink = progress == stage::TileProgress::not_yet ? weak : strong;
  switch (kind) {
    case stage::TileKind::skipped:
      hatch(list, box, colour(Role::line), gap(2), false);
      break;
    case stage::TileKind::masked:
      hatch(list, box, ink, gap(1.5F), false);
      hatch(list, box, ink, gap(1.5F), true);
      break;
    case stage::TileKind::mixed:
      hatch(list, box, ink, gap(1), true);
      break;
    case stage::TileKind::open:
      if (progress != stage::TileProgress::not_yet) list.AddRectFilled(box.min, box.max, ink);
      break;
  }
}

const char* word_of(stage::TileKind kind) {
  constexpr std::array words = {"open", "mixed", "masked", "skipped"};
  return words[static_cast<std::size_t>(kind)];
}
const char* word_of(stage::TileProgress progress) {
  constexpr std::array words = {"not yet", "now", "done"};
  return words[static_cast<std::size_t>(progress)];
}

const char* meaning_of(stage::TileKind kind) {
  constexpr std::array words = {"everything in it counts", "the mask lets a part through", "visited, though the mask lets nothing through",
                                "never visited"};
  return words[static_cast<std::size_t>(kind)];
}

std::string range_text(std::string_view index, std::int64_t first, std::int64_t last) {
  return last > first ? fmt::format("{} = {} … {}", index, first, last) : fmt::format("{} = {}", index, first);
}

/// What the patterns mean: those that are there, in as many lines as the width needs.
struct Legend {
  struct Entry {
    std::string word;
    std::optional<stage::TileKind> kind;  ///< absent: one of how far a tile is
    ImVec2 at;                            ///< from the legend's corner
  };
  std::vector<Entry> entries;
  float height = 0;
};
float legend_side() { return gap(3); }

Legend lay_out_legend(const stage::Plane& plane, float width) {
  Legend legend;
  for (const stage::TileKind kind : {stage::TileKind::open, stage::TileKind::mixed, stage::TileKind::masked, stage::TileKind::skipped})
    if (std::find(plane.kinds.begin(), plane.kinds.end(), kind) != plane.kinds.end()) legend.entries.push_back({word_of(kind), kind, {}});
  for (const auto progress : {stage::TileProgress::not_yet, stage::TileProgress::now})
    legend.entries.push_back({word_of(progress), std::nullopt, {}});
  const float line = gap(4.5F);
  ImVec2 at{0, 0};
  for (Legend::Entry& entry : legend.entries) {
    const float needed = legend_side() + gap(1) + widgets::measure(entry.word, Font::caption).x;
    if (at.x > 0 && at.x + needed > width) at = {0, at.y + line};
    entry.at = at;
    at.x += needed + gap(2.5F);
  }
  legend.height = at.y + line;
  return legend;
}

void draw_legend(const Legend& legend, ImVec2 corner, float width, ImU32 strong, ImU32 weak) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float side = legend_side();
  std::string said;
  for (const Legend::Entry& entry : legend.entries) {
    const ImVec2 at{corner.x + entry.at.x, corner.y + entry.at.y};
    const Box box{at, {at.x + side, at.y + side}};
    const bool is_now = entry.word == word_of(stage::TileProgress::now);
    if (entry.kind) pattern(list, box, *entry.kind, stage::TileProgress::done, strong, weak);
    list.AddRect(box.min, box.max, colour(is_now ? Role::accent : Role::muted), 0, 0, is_now ? metrics().focus_ring : hairline());
    widgets::draw_text(list, {box.max.x + gap(1), at.y + (side - font(Font::caption)->FontSize) / 2}, entry.word, colour(Role::muted),
                       Font::caption);
    said += (said.empty() ? "" : ", ") + entry.word;
  }
  mirror().add("text", "legend", said, corner, {corner.x + width, corner.y + legend.height});
}

}  // namespace

void plane(App& app, const Box& box, float arrived) {
  const MirrorScope scope("plane");
  const stage::Stage& run = *app.stage.stage();
  const stage::Plane& plane = *run.plane;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const std::size_t named = step_of_names(app);
  const auto entity = app.colour_of(named, plane.tensor);
  const ImU32 strong = entity ? faded_entity(*entity, 0.75F) : faded(Role::text, 0.6F),
              weak = entity ? faded_entity(*entity, 0.25F) : faded(Role::text, 0.2F);
  const Legend legend = lay_out_legend(plane, box.width());
  const float line = font(Font::caption)->FontSize + gap(1), legend_height = legend.height + gap(1.5F);
  const std::string row_name = plane.row ? plane.row->text() : "";
  const float left =
      plane.row ? std::max(gap(3), widgets::measure(row_name, Font::caption).x) + gap(4) : 0;  // the name, and the mark of a row

  // axes: names of the program's own indices
  const std::string across = fmt::format("{} →   {}", plane.column.text(), plane.tensor);
  widgets::draw_text(list, {box.min.x + left, box.min.y}, across, colour(Role::muted), Font::caption);
  mirror().add("text", "columns", across, {box.min.x + left, box.min.y}, {box.max.x, box.min.y + line});
  const float width = box.width() - left, height = box.height() - line - legend_height;
  const auto columns = static_cast<float>(plane.across()), rows = static_cast<float>(plane.down());
  const float cell_width = width / columns, cell_height = plane.row ? std::min(height / rows, cell_width * 3) : std::min(height, gap(10));
  const ImVec2 origin{box.min.x + left, box.min.y + line};
  if (plane.row) {
    widgets::draw_text(list, {box.min.x, origin.y}, row_name, colour(Role::muted), Font::caption);
    widgets::draw_text(list, {box.min.x, origin.y + line}, "↓", colour(Role::muted), Font::caption);
    mirror().add("text", "rows", row_name + " ↓", {box.min.x, origin.y}, {origin.x, origin.y + 2 * line});
  }

  const std::vector<stage::TileProgress>& progress = kept_of(app).progress;
  const bool lit = app.is_selected(named, plane.tensor);
  for (std::size_t tile = 0; tile < plane.kinds.size(); ++tile) {
    const std::size_t r = tile / plane.across(), c = tile % plane.across();
    const Box cell{
        {origin.x + static_cast<float>(c) * cell_width, origin.y + static_cast<float>(r) * cell_height},
        {origin.x + static_cast<float>(c + 1) * cell_width - hairline(), origin.y + static_cast<float>(r + 1) * cell_height - hairline()}};
    const std::string id = fmt::format("{},{}", r, c);
    ImGui::SetCursorScreenPos(cell.min);
    const widgets::Pressable state = widgets::pressable(id, {cell.width(), cell.height()});
    pattern(list, cell, plane.kinds[tile], progress[tile], strong, weak);
    list.AddRect(cell.min, cell.max, colour(lit || state.hovered ? Role::accent : Role::line), 0, 0, hairline());
    if (progress[tile] == stage::TileProgress::now) {
      const float ring = metrics().focus_ring, in = ring / 2 + (1 - arrived) * std::min(cell.width(), cell.height()) / 4;
      list.AddRect({cell.min.x + in, cell.min.y + in}, {cell.max.x - in, cell.max.y - in}, faded(Role::accent, 0.3F + 0.7F * arrived), 0, 0,
                   ring);
    }
    widgets::focus_ring(state.box, state.focused);
    const std::int64_t first_row = static_cast<std::int64_t>(r) * plane.tile_rows,
                       first = static_cast<std::int64_t>(c) * plane.tile_columns;
    const std::string where =
        (plane.row ? range_text(row_name, first_row, std::min(first_row + plane.tile_rows, plane.rows) - 1) + ", " : "") +
        range_text(plane.column.text(), first, std::min(first + plane.tile_columns, plane.columns) - 1);
    const std::string says = fmt::format("{}: {}, {}", where, word_of(plane.kinds[tile]), word_of(progress[tile]));
    widgets::tip(fmt::format("{}\n{}", says, meaning_of(plane.kinds[tile])));
    mirror().add("tile", id, says, cell.min, cell.max, true, progress[tile] == stage::TileProgress::now);
    if (state.hovered) app.hovering = {plane.tensor, named};
    if (state.pressed) {
      app.selected = {plane.tensor, named};
      const float part = std::clamp((ImGui::GetMousePos().y - cell.min.y) / std::max(1.0F, cell.height()), 0.0F, 0.999F);
      const std::int64_t in_tile = static_cast<std::int64_t>(part * static_cast<float>(plane.tile_rows));
      app.stage.look_at_row(std::min(first_row + (state.hovered ? in_tile : 0), plane.rows - 1));
    }
  }
  if (plane.row) {  // the row whose values are shown
    const float y = origin.y + (static_cast<float>(app.stage.row()) + 0.5F) / static_cast<float>(plane.tile_rows) * cell_height;
    list.AddTriangleFilled({origin.x - gap(2), y - gap(1)}, {origin.x - gap(2), y + gap(1)}, {origin.x - gap(0.5F), y},
                           colour(Role::accent));
  }
  draw_legend(legend, {box.min.x, origin.y + rows * cell_height + gap(1.5F)}, box.width(), strong, weak);
}

}  // namespace fathom::ui::panels::stage_parts
