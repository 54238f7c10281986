// Edges of a graph: the part of a curve that is seen is the same curve, and what lies on one another is drawn once.
#include "widgets/edges.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "headless.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr Curve falling{ImVec2(10, 0), ImVec2(10, 500), ImVec2(300, 500), ImVec2(300, 1000)};

float distance(ImVec2 a, ImVec2 b) { return std::hypot(a.x - b.x, a.y - b.y); }

TEST(Edges, a_part_of_a_curve_lies_on_it) {
  const Curve part = part_of(falling, 0.2F, 0.7F);
  for (int i = 0; i <= 10; ++i) {
    const float at = static_cast<float>(i) / 10;
    EXPECT_LT(distance(point_of(part, at), point_of(falling, 0.2F + 0.5F * at)), 0.01F) << at;
  }
}

TEST(Edges, what_is_between_two_heights_ends_there) {
  const Curve seen = between_heights(falling, 200, 700);
  EXPECT_NEAR(seen.front().y, 200, 0.1);
  EXPECT_NEAR(seen.back().y, 700, 0.1);
  for (const Curve& whole : {falling, Curve{ImVec2(10, 1000), ImVec2(10, 500), ImVec2(20, 600), ImVec2(20, 0)}}) {
    const bool rises = whole.back().y < whole.front().y;
    const Curve same = between_heights(whole, rises ? 200 : -5, rises ? 700 : 2000);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(distance(same.at(i), whole.at(i)), 0) << i;
  }
}

/// Vertices of an arrow that is drawn so many times from (0, 0) to (0, depth) on a canvas 400 pixels high.
int vertices_of(int times, float depth, float to = 260) {
  tests::Screen screen;
  int vertices = 0;
  screen.frame([&] {
    ImDrawList& list = *ImGui::GetBackgroundDrawList();
    Canvas canvas;
    canvas.box = {{0, 0}, {400, 400}};
    Edges edges(list, canvas);
    for (int i = 0; i < times; ++i) edges.draw({200, 0}, {to, depth + static_cast<float>(i) / (to == 200 ? 1 : 1000)}, IM_COL32_WHITE);
    vertices = list.VtxBuffer.Size;
  });
  return vertices;
}

TEST(Edges, that_lie_on_one_another_are_drawn_once) {
  EXPECT_GT(vertices_of(1, 50000), 0);
  EXPECT_EQ(vertices_of(1000, 50000), vertices_of(1, 50000));
  EXPECT_EQ(vertices_of(1000, 50000, 200), vertices_of(1, 50000, 200)) << "straight ones, whatever their lengths";
  EXPECT_GT(vertices_of(1000, 200), vertices_of(1, 200)) << "each has a head where heads are seen";
}

}  // namespace
}  // namespace fathom::ui::widgets
