#include "widgets/pick.hpp"

#include <algorithm>

#include "icons.hpp"
#include "mirror.hpp"

namespace fathom::ui::widgets {

std::optional<std::size_t> pick(std::string_view id, const std::vector<std::string>& names, std::size_t at, float width,
                                std::string_view what) {
  const std::string name = at < names.size() ? names[at] : std::string();
  ButtonOptions options;
  options.tip = std::string(what);
  const std::string popup = "##pick." + std::string(id);
  const float arrow = measure(icons::chevron_down, Font::body).x + gap(1);
  const float wanted = button_width(name) + arrow;
  options.width = std::min(wanted, width);
  const ImVec2 from = ImGui::GetCursorScreenPos();
  if (button(id, cut_to(name, options.width - arrow - gap(4), Font::body) + " " + icons::chevron_down, options))
    ImGui::OpenPopup(popup.c_str());
  std::optional<std::size_t> picked;
  ImGui::SetNextWindowPos({from.x, from.y + metrics().row});
  constexpr float most_rows = 12;
  ImGui::SetNextWindowSizeConstraints({0, 0}, {FLT_MAX, most_rows * (metrics().row + gap(1))});
  if (!ImGui::BeginPopup(popup.c_str(), ImGuiWindowFlags_NoMove)) return picked;
  {
    const MirrorScope scope(id);
    float widest = 0;
    for (const std::string& each : names) widest = std::max(widest, button_width(each));
    for (std::size_t k = 0; k < names.size(); ++k) {
      ButtonOptions row;
      row.look = Look::quiet;
      row.selected = k == at;
      row.width = widest;
      if (button(std::to_string(k), names[k], row)) picked = k;
    }
  }
  if (picked || ImGui::IsKeyPressed(ImGuiKey_Escape, false)) ImGui::CloseCurrentPopup();
  ImGui::EndPopup();
  return picked;
}

}  // namespace fathom::ui::widgets
