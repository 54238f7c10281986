#include "panels/columns.hpp"

#include <algorithm>

namespace fathom::ui::panels {

float usual_part(float width, float small, float large) {
  constexpr float base_width = 320, wide_width = 480;  // gaps: 1280 and 1920
  const float along = std::clamp((width / gap(1) - base_width) / (wide_width - base_width), 0.0F, 1.0F);
  return gap(small + along * (large - small)) / std::max(width, gap(base_width));
}

void outer_border(const OuterBorder& border, float& kept) {
  float at = border.is_right ? 1 - border.part : border.part;
  const float before = at;
  widgets::splitter(border.id, border.box, true, at, border.width, border.is_right ? 1 - border.most : border.least,
                    border.is_right ? 1 - border.least : border.most);
  if (at != before) kept = border.is_right ? 1 - at : at;
}

}  // namespace fathom::ui::panels
