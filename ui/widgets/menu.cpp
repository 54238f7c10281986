#include "widgets/menu.hpp"

#include <algorithm>

#include "mirror.hpp"

namespace fathom::ui::widgets {
namespace {

constexpr float between_columns = 6;  // gaps

struct Widths {
  float label = 0, right = 0;
  [[nodiscard]] float whole() const { return 2 * gap(2) + label + (right > 0 ? gap(between_columns) + right : 0); }
};

Widths widths_of(const std::vector<MenuRow>& rows) {
  Widths widths;
  for (const MenuRow& row : rows) {
    widths.label = std::max(widths.label, measure(row.label, Font::body_bold).x);
    widths.right = std::max(widths.right, measure(row.right, Font::caption).x);
  }
  return widths;
}

bool draw_row(const MenuRow& row, float width) {
  const bool enabled = row.disabled.empty();
  const Pressable state = pressable(row.id, {width, metrics().row}, enabled);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const Box& box = state.box;
  if (state.hovered || state.focused) list.AddRectFilled(box.min, box.max, colour(Role::line), metrics().control_radius);
  const Font which = row.selected ? Font::body_bold : Font::body;
  const ImU32 ink = enabled ? colour(Role::text) : faded(Role::muted, 0.8F);
  draw_text(list, {box.min.x + gap(2), box.min.y + (box.height() - font(which)->FontSize) / 2}, row.label, ink, which);
  const ImVec2 extent = measure(row.right, Font::caption);
  draw_text(list, {box.max.x - gap(2) - extent.x, box.min.y + (box.height() - extent.y) / 2}, row.right,
            colour(state.hovered || state.focused ? Role::text : Role::muted), Font::caption);
  focus_ring(box, state.focused);
  if (!enabled && state.focused)
    tip_at(box, row.disabled);
  else if (!enabled)
    tip(row.disabled);
  mirror().add("menu-row", row.id, row.label, box.min, box.max, enabled, row.selected);
  return state.pressed;
}

void move_focus(const std::vector<MenuRow>& rows) {
  const auto count = static_cast<int>(rows.size());
  int step = 0;
  if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) step = 1;
  if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) step = -1;
  const bool to_first = ImGui::IsKeyPressed(ImGuiKey_Home, false), to_last = ImGui::IsKeyPressed(ImGuiKey_End, false);
  if (count == 0 || (step == 0 && !to_first && !to_last)) return;
  int at = step > 0 ? -1 : count;
  for (int i = 0; i < count; ++i)
    if (mirror().focused() == mirror().path(rows[static_cast<std::size_t>(i)].id)) at = i;
  at = to_first ? 0 : to_last ? count - 1 : (at + step + count) % count;
  mirror().reach(mirror().path(rows[static_cast<std::size_t>(at)].id));
}

std::optional<std::size_t> draw_rows(const std::vector<MenuRow>& rows) {
  std::optional<std::size_t> taken;
  const bool appears = ImGui::IsWindowAppearing();
  if (!appears) move_focus(rows);
  const float width = widths_of(rows).whole();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].begins_group && i > 0) {
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ImGui::GetWindowDrawList()->AddLine({at.x, at.y + gap(1)}, {at.x + width, at.y + gap(1)}, colour(Role::line), hairline());
      ImGui::Dummy({width, gap(2)});
    }
    if (draw_row(rows[i], width)) taken = i;
  }
  ImGui::PopStyleVar();
  // Only now: the Enter that opened the menu must not press its first row too.
  if (appears && !rows.empty()) {
    const auto selected = std::find_if(rows.begin(), rows.end(), [](const MenuRow& row) { return row.selected; });
    mirror().reach(mirror().path(selected == rows.end() ? rows.front().id : selected->id));
  }
  return taken;
}

}  // namespace

std::optional<std::size_t> menu_button(std::string_view id, std::string_view label, const ButtonOptions& options,
                                       const std::vector<MenuRow>& rows) {
  const std::string popup(id);
  if (button(id, label, options)) ImGui::OpenPopup(popup.c_str());
  const Box below{ImGui::GetItemRectMin(), ImGui::GetItemRectMax()};
  if (!ImGui::IsPopupOpen(popup.c_str())) return std::nullopt;
  const ImVec2 screen = ImGui::GetIO().DisplaySize;
  const float wide = widths_of(rows).whole() + 2 * gap(1);
  ImGui::SetNextWindowPos({std::max(0.0F, std::min(below.min.x, screen.x - wide - gap(1))), below.max.y + gap(1)});
  ImGui::SetNextWindowSizeConstraints({0, 0}, {screen.x, screen.y - below.max.y - gap(2)});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {gap(1), gap(1)});
  std::optional<std::size_t> taken;
  bool closes = false;
  if (ImGui::BeginPopup(popup.c_str())) {
    const MirrorScope scope(id);
    taken = draw_rows(rows);
    closes = taken || ImGui::IsKeyPressed(ImGuiKey_Escape, false);
    if (closes) ImGui::CloseCurrentPopup();
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar();
  if (closes) mirror().touch(mirror().path(id));  // Tab goes on from the button
  return taken;
}

}  // namespace fathom::ui::widgets
