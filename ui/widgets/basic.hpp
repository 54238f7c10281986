// Buttons, labels, fields: the only callers of Dear ImGui's own controls (tests/lint). Each names itself to the mirror, shows its
// focus and says why it is disabled.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <string_view>

#include "fonts.hpp"
#include "theme.hpp"

namespace fathom::ui::widgets {

/// A rectangle in device pixels.
struct Box {
  ImVec2 min, max;
  [[nodiscard]] float width() const { return max.x - min.x; }
  [[nodiscard]] float height() const { return max.y - min.y; }
  [[nodiscard]] bool contains(ImVec2 p) const { return p.x >= min.x && p.x < max.x && p.y >= min.y && p.y < max.y; }
};

/// A place that is pressed like a button, at the cursor; whoever asks draws it, with its focus_ring, and names it to the mirror.
struct Pressable {
  bool pressed = false;  ///< by mouse or keyboard, in this frame
  bool hovered = false, focused = false;
  Box box;
};
[[nodiscard]] Pressable pressable(std::string_view id, ImVec2 size, bool enabled = true);

enum class Look : unsigned char { normal, primary, quiet };
struct ButtonOptions {
  const char* icon = nullptr;           ///< of icons.hpp
  std::string tip, shortcut;            ///< of the tooltip
  std::optional<std::string> disabled;  ///< why
  Look look = Look::normal;
  bool selected = false;
  float width = 0;  ///< 0: as the label needs
};
/// True where it was pressed, by mouse or keyboard. `label` may be empty where there is an icon.
bool button(std::string_view id, std::string_view label, const ButtonOptions& = {});
[[nodiscard]] float button_width(std::string_view label, const char* icon = nullptr);
/// A tab of a panel's head.
bool tab(std::string_view id, std::string_view label, bool selected);

/// A text at the cursor; the cursor goes on below it.
void text(std::string_view, Role = Role::text, Font = Font::body);
/// Broken at words to the width that is left.
void wrapped(std::string_view, Role = Role::text, Font = Font::body);
void wrapped(std::string_view, float width, Role, Font);
/// Ends in … where it does not fit; the tooltip has it whole. Mirrored under the id.
void fitted(std::string_view id, std::string_view, float width, Role = Role::text, Font = Font::body);
/// As much of the text as fits, with … where it is cut.
[[nodiscard]] std::string cut_to(std::string_view, float width, Font);
/// Text that is pressed like a button.
bool link(std::string_view id, std::string_view, Role = Role::accent);

/// One line of text to edit, with a label above. True where it changed.
bool field(std::string_view id, std::string_view label, std::string& value, std::string_view hint = {}, float width = 0);
bool checkbox(std::string_view id, std::string_view label, bool& value);

struct PanelOptions {
  std::string title;
  bool scrolls = true;
};
/// A panel with its head; draw its content, then end_panel(). `head` content can be set on the right by head_right().
void begin_panel(std::string_view id, const Box&, const PanelOptions&);
void end_panel();
/// Id of the panel whose head was double-clicked since the last call; empty: none.
[[nodiscard]] std::string double_clicked_head();
/// A strip between panels that moves `fraction` of `length`.
void splitter(std::string_view id, const Box&, bool vertical, float& fraction, float length, float least, float most);

/// Tooltip of the item before it, after the usual wait.
void tip(std::string_view);
void tip_over(const Box&, std::string_view);
/// Below the box, wherever the mouse is: of an item that the keyboard reached.
void tip_at(const Box&, std::string_view);
/// The beginning of a text that is longer than anybody reads: Dear ImGui draws only so much at once.
[[nodiscard]] std::string_view readable(std::string_view);
[[nodiscard]] ImVec2 measure(std::string_view, Font);
void draw_text(ImDrawList&, ImVec2 at, std::string_view, ImU32, Font);
/// Was Enter or Space pressed on the focused item?
[[nodiscard]] bool activated_by_key(bool focused);
void focus_ring(const Box&, bool focused);

}  // namespace fathom::ui::widgets
