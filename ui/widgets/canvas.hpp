// A plane to pan and zoom: wheel zooms at the mouse, drag moves, F fits. What is drawn on it is the caller's.
#pragma once

#include <imgui.h>

#include <string_view>

#include "widgets/basic.hpp"

namespace fathom::ui::widgets {

struct CanvasState {
  ImVec2 offset{0, 0};  ///< of the plane's origin from the canvas' corner, device pixels
  float zoom = 1;
  bool fit = true;     ///< in the next frame
  bool moved = false;  ///< by the user: then a canvas of another size is not fitted again
  ImVec2 room{0, 0};   ///< that it was fitted to
};

struct Canvas {
  Box box;
  ImVec2 origin;
  float zoom = 1;
  bool is_hovered = false, clicked = false;  ///< clicked: pressed and released without a drag
  ImGuiID id = 0;
  bool is_focused = false;  ///< by the keyboard: then the arrow keys are its own
  [[nodiscard]] ImVec2 on_screen(ImVec2 p) const { return {origin.x + p.x * zoom, origin.y + p.y * zoom}; }
  [[nodiscard]] bool is_seen(ImVec2 from, ImVec2 to) const {
    return to.x >= box.min.x && from.x <= box.max.x && to.y >= box.min.y && from.y <= box.max.y;
  }
};

/// Fills what is left of the window; `size` is that of what is drawn, for fitting. Draw between it and end_canvas().
Canvas begin_canvas(std::string_view id, CanvasState&, ImVec2 size);
[[nodiscard]] bool is_arrow_pressed(const Canvas&, ImGuiKey arrow);
/// In the next frame the point of the plane stands in the middle.
void centre_on(CanvasState&, const Canvas&, ImVec2 point);
void end_canvas();

}  // namespace fathom::ui::widgets
