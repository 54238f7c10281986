// Arrows of a graph, bent from the bottom of one node to the top of another. Of long ones only what is seen is drawn, and of those that lie
// on one another one: a tensor that a thousand statements read would cost a frame else.
#pragma once

#include <imgui.h>

#include <array>
#include <set>

#include "widgets/canvas.hpp"

namespace fathom::ui::widgets {

/// The corners of a cubic Bézier curve.
using Curve = std::array<ImVec2, 4>;

[[nodiscard]] ImVec2 point_of(const Curve&, float at);
/// From 0 <= from < to <= 1.
[[nodiscard]] Curve part_of(const Curve&, float from, float to);
/// Of a curve that never rises on the screen, what lies between two heights; the curve itself where it does rise.
[[nodiscard]] Curve between_heights(const Curve&, float top, float bottom);

/// One frame's edges on a canvas; what is to lie on top comes last.
class Edges {
 public:
  Edges(ImDrawList& list, const Canvas& canvas) : list_(list), canvas_(canvas) {}
  /// From and to are of the canvas' plane.
  void draw(ImVec2 from, ImVec2 to, ImU32 ink);

 private:
  using Place = std::array<int, 8>;  ///< of a curve, in pixels
  ImDrawList& list_;
  const Canvas& canvas_;
  std::set<std::pair<ImU32, Place>> drawn_;
};

}  // namespace fathom::ui::widgets
