#include "graph_layout.hpp"

#include <algorithm>
#include <numeric>

namespace fathom::ui {
namespace {

constexpr int sweeps = 4;  ///< of the ordering inside the layers: more change little

struct Neighbours {
  std::vector<std::vector<std::size_t>> before, after;
};

Neighbours neighbours_of(std::size_t count, const std::vector<GraphEdge>& edges) {
  Neighbours out{std::vector<std::vector<std::size_t>>(count), std::vector<std::vector<std::size_t>>(count)};
  for (const GraphEdge& edge : edges) {
    if (edge.from == edge.to || edge.from >= count || edge.to >= count) continue;
    out.after[edge.from].push_back(edge.to);
    out.before[edge.to].push_back(edge.from);
  }
  return out;
}

/// Longest path from a source. Of a cycle the node with the least number stands on top.
std::vector<std::size_t> layers_of(const Neighbours& neighbours) {
  const std::size_t count = neighbours.before.size();
  std::vector<std::size_t> layer(count, 0), waiting(count);
  std::vector<std::size_t> ready;
  for (std::size_t n = 0; n < count; ++n) {
    waiting[n] = neighbours.before[n].size();
    if (waiting[n] == 0) ready.push_back(n);
  }
  std::size_t least_waiting = 0;
  for (std::size_t at = 0; at < count; ++at) {
    if (at == ready.size()) {  // every node that is left waits for a cycle
      while (waiting[least_waiting] == 0) ++least_waiting;
      waiting[least_waiting] = 0;
      ready.push_back(least_waiting);
    }
    for (const std::size_t next : neighbours.after[ready[at]]) {
      if (waiting[next] == 0) continue;  // placed already: the edge leads back
      layer[next] = std::max(layer[next], layer[ready[at]] + 1);
      if (--waiting[next] == 0) ready.push_back(next);
    }
  }
  // A source stands just above its first reader.
  for (std::size_t n = 0; n < count; ++n) {
    if (!neighbours.before[n].empty() || neighbours.after[n].empty()) continue;
    std::size_t first = layer[neighbours.after[n].front()];
    for (const std::size_t next : neighbours.after[n]) first = std::min(first, layer[next]);
    layer[n] = first > 0 ? first - 1 : 0;
  }
  return layer;
}

/// Orders each layer by the mean place of the neighbours in the layers above, then below, and so on.
void order(std::vector<std::vector<std::size_t>>& rows, const Neighbours& neighbours) {
  std::vector<float> place(neighbours.before.size(), 0);
  const auto number = [&](const std::vector<std::size_t>& row) {
    for (std::size_t i = 0; i < row.size(); ++i) place[row[i]] = (static_cast<float>(i) + 0.5F) / static_cast<float>(row.size());
  };
  for (const auto& row : rows) number(row);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto& side = sweep % 2 == 0 ? neighbours.before : neighbours.after;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::vector<std::size_t>& row = rows[sweep % 2 == 0 ? r : rows.size() - 1 - r];
      std::vector<float> wish(place.size(), 0);
      for (const std::size_t n : row) {
        float sum = 0;
        for (const std::size_t other : side[n]) sum += place[other];
        wish[n] = side[n].empty() ? place[n] : sum / static_cast<float>(side[n].size());
      }
      std::stable_sort(row.begin(), row.end(), [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
      number(row);
    }
  }
}

}  // namespace

GraphLayout lay_out_graph(const std::vector<ImVec2>& sizes, const std::vector<GraphEdge>& edges, float space) {
  const Neighbours neighbours = neighbours_of(sizes.size(), edges);
  const std::vector<std::size_t> layer = layers_of(neighbours);
  std::vector<std::vector<std::size_t>> rows(sizes.empty() ? 0 : *std::max_element(layer.begin(), layer.end()) + 1);
  for (std::size_t n = 0; n < sizes.size(); ++n) rows[layer[n]].push_back(n);
  order(rows, neighbours);
  GraphLayout layout{std::vector<ImVec2>(sizes.size()), {0, 0}};
  std::vector<float> widths;
  for (const auto& row : rows) {
    float width = -space;
    for (const std::size_t n : row) width += sizes[n].x + space;
    widths.push_back(width);
    layout.size.x = std::max(layout.size.x, width);
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    float x = (layout.size.x - widths[r]) / 2, height = 0;
    for (const std::size_t n : rows[r]) {
      layout.places[n] = {x, layout.size.y};
      x += sizes[n].x + space;
      height = std::max(height, sizes[n].y);
    }
    layout.size.y += height + (r + 1 < rows.size() ? 2 * space : 0);
  }
  return layout;
}

GroupedLayout lay_out_groups(const std::vector<ImVec2>& sizes, const std::vector<int>& groups, const std::vector<ImVec2>& titles,
                             const std::vector<GraphEdge>& edges, float space) {
  // Each group is laid out by itself and then stands as one node among the others.
  std::vector<std::vector<std::size_t>> members(titles.size());
  std::vector<std::size_t> outer(sizes.size()), inner(sizes.size(), 0);
  std::vector<ImVec2> outer_sizes(titles.size());
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    if (groups[n] >= 0) {
      outer[n] = static_cast<std::size_t>(groups[n]);
      inner[n] = members[outer[n]].size();
      members[outer[n]].push_back(n);
    } else {
      outer[n] = outer_sizes.size();
      outer_sizes.push_back(sizes[n]);
    }
  }
  std::vector<GraphLayout> inside(titles.size());
  for (std::size_t g = 0; g < titles.size(); ++g) {
    std::vector<ImVec2> own;
    for (const std::size_t n : members[g]) own.push_back(sizes[n]);
    std::vector<GraphEdge> own_edges;
    for (const GraphEdge& edge : edges)
      if (groups[edge.from] == static_cast<int>(g) && groups[edge.to] == static_cast<int>(g))
        own_edges.push_back({inner[edge.from], inner[edge.to]});
    inside[g] = lay_out_graph(own, own_edges, space);
    outer_sizes[g] = {std::max(inside[g].size.x, titles[g].x) + space, inside[g].size.y + titles[g].y + space};
  }
  std::vector<GraphEdge> outer_edges;
  for (const GraphEdge& edge : edges) outer_edges.push_back({outer[edge.from], outer[edge.to]});
  const GraphLayout whole = lay_out_graph(outer_sizes, outer_edges, space);
  GroupedLayout out{{std::vector<ImVec2>(sizes.size()), whole.size}, {}};
  for (std::size_t n = 0; n < sizes.size(); ++n) {
    const ImVec2 at = whole.places[outer[n]];
    out.nodes.places[n] = at;
    if (groups[n] < 0) continue;
    const std::size_t g = outer[n];
    const float left = (outer_sizes[g].x - inside[g].size.x) / 2;
    out.nodes.places[n] = {at.x + left + inside[g].places[inner[n]].x, at.y + space / 2 + titles[g].y + inside[g].places[inner[n]].y};
  }
  for (std::size_t g = 0; g < titles.size(); ++g) {
    const ImVec2 at = whole.places[g];
    out.hulls.push_back({at, {at.x + outer_sizes[g].x, at.y + outer_sizes[g].y}});
  }
  return out;
}

}  // namespace fathom::ui
