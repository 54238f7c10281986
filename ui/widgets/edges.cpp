#include "widgets/edges.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "theme.hpp"

namespace fathom::ui::widgets {
namespace {

ImVec2 mix(ImVec2 a, ImVec2 b, float at) { return {a.x + (b.x - a.x) * at, a.y + (b.y - a.y) * at}; }

/// The corners of what lies before the place, by de Casteljau's halving; `after` gets those of the rest.
Curve split(const Curve& curve, float at, Curve& after) {
  const ImVec2 a = mix(curve[0], curve[1], at), b = mix(curve[1], curve[2], at), c = mix(curve[2], curve[3], at);
  const ImVec2 ab = mix(a, b, at), bc = mix(b, c, at), middle = mix(ab, bc, at);
  after = {middle, bc, c, curve[3]};
  return {curve[0], a, ab, middle};
}

/// Where a falling curve comes to a height.
float reaches(const Curve& curve, float height) {
  constexpr int halvings = 24;
  float low = 0, high = 1;
  for (int i = 0; i < halvings; ++i) {
    const float at = (low + high) / 2;
    (point_of(curve, at).y < height ? low : high) = at;
  }
  return low;
}

/// How far the inner corners lie from the straight line between the ends, at most.
float bulge(const Curve& curve) {
  const ImVec2 along{curve[3].x - curve[0].x, curve[3].y - curve[0].y};
  const float length = std::max(1.0F, std::hypot(along.x, along.y));
  float most = 0;
  for (const ImVec2 corner : {curve[1], curve[2]})
    most = std::max(most, std::abs((corner.x - curve[0].x) * along.y - (corner.y - curve[0].y) * along.x) / length);
  return most;
}

}  // namespace

ImVec2 point_of(const Curve& curve, float at) {
  Curve after;
  split(curve, at, after);
  return after[0];
}

Curve part_of(const Curve& curve, float from, float to) {
  Curve rest, after;
  split(curve, from, rest);
  return split(rest, (to - from) / (1 - from), after);
}

Curve between_heights(const Curve& curve, float top, float bottom) {
  const bool rises = curve[1].y < curve[0].y || curve[2].y < curve[1].y || curve[3].y < curve[2].y;
  if (rises || (curve[0].y >= top && curve[3].y <= bottom)) return curve;
  const float from = curve[0].y >= top ? 0 : reaches(curve, top), to = curve[3].y <= bottom ? 1 : reaches(curve, bottom);
  return from < to ? part_of(curve, from, to) : curve;
}

void Edges::draw(ImVec2 from, ImVec2 to, ImU32 ink) {
  const ImVec2 a = canvas_.on_screen(from), b = canvas_.on_screen(to);
  if (!canvas_.is_seen({std::min(a.x, b.x), std::min(a.y, b.y)}, {std::max(a.x, b.x), std::max(a.y, b.y)})) return;
  const float bend = (b.y - a.y) / 2, head = gap(1.25F) * canvas_.zoom;
  const Curve seen = between_heights({a, ImVec2(a.x, a.y + bend), ImVec2(b.x, b.y - bend), ImVec2(b.x, b.y - head)},
                                     canvas_.box.min.y - head, canvas_.box.max.y + head);
  constexpr float most_bulge = 0.25F;  // of a pixel
  const bool is_straight = bulge(seen) < most_bulge;
  Place place{};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (is_straight && (i == 1 || i == 2)) continue;  // its ends say all
    place.at(2 * i) = static_cast<int>(std::lround(seen.at(i).x));
    place.at(2 * i + 1) = static_cast<int>(std::lround(seen.at(i).y));
  }
  if (drawn_.emplace(ink, place).second) {
    const float wide = hairline() * std::max(1.0F, canvas_.zoom);
    if (is_straight)
      list_.AddLine(seen[0], seen[3], ink, wide);
    else
      list_.AddBezierCubic(seen[0], seen[1], seen[2], seen[3], ink, wide);
  }
  if (canvas_.is_seen({b.x - head, b.y - head}, {b.x + head, b.y}))
    list_.AddTriangleFilled({b.x - head / 2, b.y - head}, {b.x + head / 2, b.y - head}, b, ink);
}

}  // namespace fathom::ui::widgets
