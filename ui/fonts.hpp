// The faces of the explorer (tools/fonts.py makes them) in the sizes that the looks ask for, in one atlas at the true scale of the screen.
#pragma once

#include <imgui.h>

namespace fathom::ui {

struct EmbeddedFont {
  const char* name;
  const unsigned char* data;
  unsigned size;
  float line_height;  ///< (ascent - descent) / units per em: Dear ImGui takes sizes as ascent - descent
};
extern const EmbeddedFont embedded_fonts[];
extern const unsigned embedded_fonts_count;
/// Code points that the faces were made for, as Dear ImGui takes them: pairs of ends, then 0.
extern const ImWchar text_ranges[], icon_ranges[], maths_ranges[];

enum class Font : unsigned char { caption, body, body_bold, head, code, code_bold, lesson, lesson_code, number };
/// Faces of formulas: upright, italic, and the four sizes of fences and big operators.
enum class MathsFace : unsigned char { upright, italic, size1, size2, size3, size4 };

/// Replaces the atlas; `scale` is device pixels for one of the layout's.
void build_fonts(ImFontAtlas&, float scale);
[[nodiscard]] ImFont* font(Font);
/// A face whose em is that of body text; draw it at `maths_size(em)`.
[[nodiscard]] ImFont* maths_font(MathsFace);
/// What ImDrawList::AddText takes for an em of so many device pixels.
[[nodiscard]] float maths_size(MathsFace, float em);

}  // namespace fathom::ui
