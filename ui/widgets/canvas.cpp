#include "widgets/canvas.hpp"

#include <imgui_internal.h>

#include <algorithm>
#include <cmath>

#include "mirror.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr float least_zoom = 0.1F, most_zoom = 4, zoom_of_a_notch = 1.15F;

void fit(CanvasState& state, const Box& box, ImVec2 size) {
  const float room = gap(4);
  const float wide = (box.width() - 2 * room) / std::max(1.0F, size.x), high = (box.height() - 2 * room) / std::max(1.0F, size.y);
  state.zoom = std::clamp(std::min(wide, high), least_zoom, 1.0F);  // never larger than life: text is sharpest so
  state.offset = {(box.width() - size.x * state.zoom) / 2, (box.height() - size.y * state.zoom) / 2};
  state.fit = state.moved = false;
  state.room = {box.width(), box.height()};
}

void zoom_at(CanvasState& state, ImVec2 point, float factor) {
  const float zoom = std::clamp(state.zoom * factor, least_zoom, most_zoom);
  const float by = zoom / state.zoom;
  state.offset = {point.x - (point.x - state.offset.x) * by, point.y - (point.y - state.offset.y) * by};
  state.zoom = zoom;
  state.moved = true;
}

}  // namespace

Canvas begin_canvas(std::string_view id, CanvasState& state, ImVec2 size) {
  const ImVec2 corner = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
  Canvas canvas;
  canvas.box = {corner, {corner.x + std::max(1.0F, room.x), corner.y + std::max(1.0F, room.y)}};
  ImGui::PushID(id.data(), id.data() + id.size());
  ImGui::InvisibleButton("##canvas", {canvas.box.width(), canvas.box.height()});
  ImGui::PopID();
  canvas.id = ImGui::GetItemID();
  canvas.is_focused = mirror().focusable(id);
  if (canvas.is_focused)
    for (const ImGuiKey key : {ImGuiKey_LeftArrow, ImGuiKey_RightArrow, ImGuiKey_UpArrow, ImGuiKey_DownArrow})
      ImGui::SetKeyOwner(key, canvas.id, ImGuiInputFlags_LockUntilRelease);
  const ImGuiIO& io = ImGui::GetIO();
  canvas.is_hovered = ImGui::IsItemHovered();
  if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left)) {
    state.moved = true;
    state.offset.x += io.MouseDelta.x;
    state.offset.y += io.MouseDelta.y;
  }
  canvas.clicked =
      ImGui::IsItemDeactivated() && canvas.is_hovered && io.MouseDragMaxDistanceSqr[0] < io.MouseDragThreshold * io.MouseDragThreshold;
  if (canvas.is_hovered && io.MouseWheel != 0)
    zoom_at(state, {io.MousePos.x - corner.x, io.MousePos.y - corner.y}, std::pow(zoom_of_a_notch, io.MouseWheel));
  if (!io.WantTextInput && ImGui::IsKeyPressed(ImGuiKey_F, false) && !io.KeyCtrl) state.fit = true;
  const bool resized = state.room.x != canvas.box.width() || state.room.y != canvas.box.height();
  if (state.fit || (resized && !state.moved)) fit(state, canvas.box, size);
  canvas.origin = {corner.x + state.offset.x, corner.y + state.offset.y};
  canvas.zoom = state.zoom;
  mirror().add("canvas", id, {}, canvas.box.min, canvas.box.max);
  const float ring = metrics().focus_ring;
  focus_ring({{canvas.box.min.x + ring, canvas.box.min.y + ring}, {canvas.box.max.x - ring, canvas.box.max.y - ring}}, canvas.is_focused);
  ImGui::PushClipRect(canvas.box.min, canvas.box.max, true);
  return canvas;
}

bool is_arrow_pressed(const Canvas& canvas, ImGuiKey arrow) {
  return canvas.is_focused && ImGui::IsKeyPressed(arrow, canvas.id, ImGuiInputFlags_Repeat);
}

void centre_on(CanvasState& state, const Canvas& canvas, ImVec2 point) {
  state.offset = {canvas.box.width() / 2 - point.x * state.zoom, canvas.box.height() / 2 - point.y * state.zoom};
  state.moved = true;
}

void end_canvas() { ImGui::PopClipRect(); }

}  // namespace fathom::ui::widgets
