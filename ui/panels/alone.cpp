#include "panels/alone.hpp"

#include <algorithm>

#include "mirror.hpp"

namespace fathom::ui::panels {

bool draw_alone(App& app, const Box& box, std::span<const PanelEntry> entries, std::string_view usual, float least_width) {
  const auto named = [&](std::string_view id) {
    return std::find_if(entries.begin(), entries.end(), [&](const PanelEntry& entry) { return entry.id == id; });
  };
  auto shown = named(app.view.alone);
  if (ImGui::GetIO().DisplaySize.x >= gap(least_width)) {
    if (shown == entries.end()) return false;
    shown->draw(app, box);
    return true;
  }
  if (shown == entries.end()) shown = named(usual);
  {
    const MirrorScope scope("column");
    ImGui::SetCursorScreenPos(box.min);
    for (const PanelEntry& entry : entries) {
      const std::string_view own = entry.id.substr(entry.id.rfind('/') + 1);
      if (widgets::tab(own, entry.title, shown->id == entry.id)) app.view.alone = entry.id;
      ImGui::SameLine(0, 0);
    }
  }
  shown->draw(app, {{box.min.x, box.min.y + metrics().panel_head + gap(1)}, box.max});
  return true;
}

}  // namespace fathom::ui::panels
