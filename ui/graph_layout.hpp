// Places of a directed graph's nodes in layers from top to bottom: pure and deterministic. Edges that lead back are ignored for the layers.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <vector>

namespace fathom::ui {

struct GraphEdge {
  std::size_t from = 0, to = 0;
};

struct GraphLayout {
  std::vector<ImVec2> places;  ///< upper left corners
  ImVec2 size;
};

/// `sizes` of the nodes; between them stand at least `space`, between layers twice as much.
[[nodiscard]] GraphLayout lay_out_graph(const std::vector<ImVec2>& sizes, const std::vector<GraphEdge>&, float space);

/// A rectangle around the nodes of a group, with room for its title above them.
struct GraphHull {
  ImVec2 min, max;
};
struct GroupedLayout {
  GraphLayout nodes;
  std::vector<GraphHull> hulls;  ///< by a group's number
};
/// Nodes of a group (their number in `groups`; below 0: of none) stand together and nothing else between them. `titles`: sizes.
[[nodiscard]] GroupedLayout lay_out_groups(const std::vector<ImVec2>& sizes, const std::vector<int>& groups,
                                           const std::vector<ImVec2>& titles, const std::vector<GraphEdge>&, float space);

}  // namespace fathom::ui
