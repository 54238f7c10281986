#include "widgets/floating.hpp"

#include <algorithm>
#include <string>

#include "icons.hpp"
#include "mirror.hpp"

namespace fathom::ui::widgets {

bool begin_floating(std::string_view id, std::string_view title, const FloatingOptions& options) {
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float top = metrics().bar + gap(2);
  const ImVec2 size{std::min(options.size.x, screen.x - gap(4)), std::min(options.size.y, screen.y - top - gap(8))};
  ImGui::SetNextWindowPos({(screen.x - size.x) / 2, top});
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleColor(ImGuiCol_WindowBg, colour(Role::raised));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, metrics().radius);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, hairline());
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(3), gap(2)});
  ImGui::Begin(("##" + std::string(id)).c_str(), nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav |
                   ImGuiWindowFlags_NoFocusOnAppearing);
  ImGui::PopStyleVar(3);
  ImGui::PopStyleColor();
  if (options.just_opened) ImGui::SetWindowFocus();
  mirror().push(id);
  const ImVec2 at = ImGui::GetWindowPos(), extent = ImGui::GetWindowSize();
  mirror().add("panel", "panel", std::string(title), at, {at.x + extent.x, at.y + extent.y});
  const ImVec2 head = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({head.x, head.y + (metrics().row - font(Font::body_bold)->FontSize) / 2});
  text(title, Role::text, Font::body_bold);
  ImGui::SetCursorScreenPos({at.x + extent.x - gap(3) - button_width({}, icons::close), head.y});
  ButtonOptions close;
  close.icon = icons::close;
  close.look = Look::quiet;
  close.tip = "Close";
  close.shortcut = "Esc";
  const bool stays = !button("close", {}, close);
  ImGui::SetCursorScreenPos({head.x, head.y + metrics().row + gap(2)});
  return stays;
}

void end_floating() {
  mirror().pop();
  ImGui::End();
}

}  // namespace fathom::ui::widgets
