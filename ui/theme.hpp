// Colours, spaces and shapes of the explorer. The only file of ui/ with literal colours and pixel sizes (tests/lint).
#pragma once

#include <imgui.h>

#include <cstddef>

namespace fathom::ui {

enum class Role : unsigned char { canvas, panel, raised, line, text, muted, accent, ok, warn, bad };
enum class Theme : unsigned char { dark, light };

/// Sets Dear ImGui's style; `scale` is device pixels for one of the layout's.
void apply_theme(Theme, float scale);
/// That colours are of: a setting that changes in a frame counts from the next one on.
[[nodiscard]] Theme current_theme();
[[nodiscard]] ImU32 colour(Role);
[[nodiscard]] ImU32 faded(Role, float opacity);
/// Behind what is picked of a list: every role can be read on it.
[[nodiscard]] ImU32 picked_ground();
/// Colour of a tensor of the source, by its number (session::Provenance::colour).
[[nodiscard]] ImU32 entity_colour(std::size_t);
[[nodiscard]] ImU32 faded_entity(std::size_t, float opacity);
[[nodiscard]] ImVec4 as_vec4(ImU32);

/// Device pixels of n quarters of the base space: gap(1) is 4 layout pixels.
[[nodiscard]] float gap(float n);
[[nodiscard]] float hairline();

// Heights and widths of the shell, in device pixels.
struct Metrics {
  float bar, ribbon, status, panel_head, row, radius, control_radius, icon, focus_ring;
};
[[nodiscard]] const Metrics& metrics();

}  // namespace fathom::ui
