// A diagram: axes with round ticks, points with their intervals, lines. Marks differ in shape, not in colour alone. What is drawn in it,
// and in which words, is the caller's.
#pragma once

#include <imgui.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "theme.hpp"

namespace fathom::ui::widgets {

struct PlotAxis {
  std::string title;  ///< what it counts, with the unit where the ticks have none
  bool is_log = false;
  bool is_whole = false;  ///< counts things: ticks at whole numbers only
  std::function<std::string(double)> text;
  bool is_bytes = false;  ///< ticks are round in KiB, MiB, …
};

enum class PlotMark : unsigned char { disc, ring, square, diamond, cross };

struct PlotPoint {
  double x = 0, y = 0;
  std::optional<double> low, high;  ///< of y
  PlotMark mark = PlotMark::disc;
  Role role = Role::text;
  std::string id, words;  ///< to the mirror and under the mouse
  bool selected = false;
  bool answers = true;  ///< can be chosen
};

struct PlotLine {
  std::vector<std::pair<double, double>> points;  ///< ascending in x
  Role role = Role::muted;
  bool is_dashed = false;
  bool is_stepped = false;  ///< keeps its height to the next point
  bool is_filled = false;   ///< down to the axis
  std::string words;        ///< above the diagram, beside a piece of the line
};

struct PlotContent {
  PlotAxis x, y;
  std::vector<PlotLine> lines;
  std::vector<PlotPoint> points;
};

struct PlotEvents {
  std::optional<std::size_t> hovered, chosen;  ///< numbers of points
};

/// Ticks at 1, 2 or 5 times a power of ten, at most `most`; where the axis is logarithmic at powers of ten, or between them where they are
/// few.
[[nodiscard]] std::vector<double> ticks_between(double low, double high, const PlotAxis&, int most);

/// A tick's text along its axis, in pixels; `rank` 0 is wanted most.
struct TickLabel {
  float begin = 0, end = 0;
  int rank = 0;
};
/// Which of them stand beside each other without touching: those of a lower rank first. As many as there are labels.
[[nodiscard]] std::vector<bool> labels_with_room(const std::vector<TickLabel>&, float between);

/// Of that size at the cursor. With the focus, Up and Down choose the next and the previous point.
PlotEvents plot(std::string_view id, const PlotContent&, ImVec2 size);

}  // namespace fathom::ui::widgets
