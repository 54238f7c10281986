#include "theme.hpp"

#include <array>

namespace fathom::ui {
namespace {

struct Colours {
  std::array<unsigned, 10> roles;  // in the order of Role, 0xRRGGBB
  std::array<unsigned, 8> entities;
};
constexpr Colours dark = {{0x14171C, 0x1B1F26, 0x242A33, 0x333B47, 0xE6E9EE, 0x9AA5B4, 0x5AA9FF, 0x4CC38A, 0xF0B429, 0xFF7B72},
                          {0x56B4E9, 0xE69F00, 0x2BC298, 0xFF8A5B, 0xE08DC0, 0xF0E442, 0xB6A6FF, 0xB8C0CC}};
constexpr Colours light = {{0xF4F5F7, 0xFFFFFF, 0xEEF1F4, 0xD5DBE2, 0x1B2129, 0x5A6675, 0x0A62C9, 0x0A7045, 0x8A5A00, 0xB3261E},
                           {0x005F99, 0x955800, 0x00694C, 0xB53C00, 0x9B3D78, 0x6F6500, 0x5B45C2, 0x4F5965}};

const Colours* palette = &dark;
float scale = 1;
Metrics sizes{};

ImU32 packed(unsigned rgb, float opacity = 1) {
  return IM_COL32((rgb >> 16U) & 0xFFU, (rgb >> 8U) & 0xFFU, rgb & 0xFFU, static_cast<int>(opacity * 255.0F + 0.5F));
}

}  // namespace

Theme current_theme() { return palette == &dark ? Theme::dark : Theme::light; }
ImU32 colour(Role role) { return packed(palette->roles[static_cast<std::size_t>(role)]); }
ImU32 faded(Role role, float opacity) { return packed(palette->roles[static_cast<std::size_t>(role)], opacity); }
ImU32 picked_ground() { return faded(Role::accent, 0.10F); }
ImU32 entity_colour(std::size_t number) { return packed(palette->entities[number % palette->entities.size()]); }
ImU32 faded_entity(std::size_t number, float opacity) { return packed(palette->entities[number % palette->entities.size()], opacity); }
ImVec4 as_vec4(ImU32 packed_colour) { return ImGui::ColorConvertU32ToFloat4(packed_colour); }

float gap(float n) { return 4 * n * scale; }
float hairline() { return scale < 1 ? 1 : scale; }
const Metrics& metrics() { return sizes; }

void apply_theme(Theme theme, float device_scale) {
  palette = theme == Theme::dark ? &dark : &light;
  scale = device_scale;
  sizes = {40 * scale, 64 * scale, 24 * scale, 32 * scale, 24 * scale, 6 * scale, 4 * scale, 16 * scale, 2 * scale};

  ImGuiStyle style;
  style.WindowPadding = style.FramePadding = {8 * scale, 4 * scale};
  style.ItemSpacing = {8 * scale, 4 * scale};
  style.ItemInnerSpacing = {4 * scale, 4 * scale};
  style.CellPadding = {8 * scale, 4 * scale};
  style.WindowBorderSize = style.ChildBorderSize = style.FrameBorderSize = 0;
  style.PopupBorderSize = 1;
  style.WindowRounding = 0;
  style.ChildRounding = style.PopupRounding = sizes.radius;
  style.FrameRounding = style.GrabRounding = sizes.control_radius;
  style.ScrollbarSize = 10 * scale;
  style.ScrollbarRounding = 5 * scale;
  style.HoverStationaryDelay = 0.4F;
  const auto set = [&](ImGuiCol which, Role role, float opacity = 1) { style.Colors[which] = as_vec4(faded(role, opacity)); };
  set(ImGuiCol_Text, Role::text);
  set(ImGuiCol_TextDisabled, Role::muted);
  set(ImGuiCol_WindowBg, Role::canvas);
  set(ImGuiCol_ChildBg, Role::panel, 0);
  set(ImGuiCol_PopupBg, Role::raised);
  set(ImGuiCol_Border, Role::line);
  set(ImGuiCol_FrameBg, Role::raised);
  set(ImGuiCol_FrameBgHovered, Role::line);
  set(ImGuiCol_FrameBgActive, Role::line);
  set(ImGuiCol_ScrollbarBg, Role::panel, 0);
  set(ImGuiCol_ScrollbarGrab, Role::line);
  set(ImGuiCol_ScrollbarGrabHovered, Role::muted);
  set(ImGuiCol_ScrollbarGrabActive, Role::muted);
  set(ImGuiCol_Header, Role::accent, 0.18F);
  set(ImGuiCol_HeaderHovered, Role::accent, 0.12F);
  set(ImGuiCol_HeaderActive, Role::accent, 0.25F);
  set(ImGuiCol_Button, Role::raised);
  set(ImGuiCol_ButtonHovered, Role::line);
  set(ImGuiCol_ButtonActive, Role::line);
  set(ImGuiCol_TextSelectedBg, Role::accent, 0.30F);
  set(ImGuiCol_NavHighlight, Role::accent);
  set(ImGuiCol_Separator, Role::line);
  set(ImGuiCol_TableBorderLight, Role::line);
  set(ImGuiCol_TableBorderStrong, Role::line);
  set(ImGuiCol_CheckMark, Role::accent);
  set(ImGuiCol_ModalWindowDimBg, Role::canvas, 0.6F);
  ImGui::GetStyle() = style;
}

}  // namespace fathom::ui
