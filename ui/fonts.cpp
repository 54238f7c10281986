#include "fonts.hpp"

#include <array>
#include <cstring>

namespace fathom::ui {
namespace {

struct Style {
  Font font;
  const char* face;
  const char* fallback;
  float em;  ///< layout pixels
  bool icons;
};
constexpr std::array styles = std::to_array<Style>({
    {Font::caption, "sans", "fallback", 12, true},
    {Font::body, "sans", "fallback", 14, true},
    {Font::body_bold, "sans_bold", "fallback", 14, true},
    {Font::head, "sans_bold", "fallback", 18, true},
    {Font::code, "mono", "fallback_mono", 13, false},
    {Font::code_bold, "mono_bold", "fallback_mono", 13, false},
    {Font::lesson, "sans", "fallback", 16, false},
    {Font::lesson_code, "mono", "fallback_mono", 15, false},
    {Font::number, "sans_bold", "fallback", 24, false},
});
constexpr std::array maths_faces = {"maths", "maths_italic", "maths_size1", "maths_size2", "maths_size3", "maths_size4"};
constexpr float maths_em = 16;

std::array<ImFont*, styles.size()> fonts{};
std::array<ImFont*, maths_faces.size()> formulas{};
float current_scale = 1;

const EmbeddedFont& face_named(const char* name) {
  for (unsigned i = 0; i < embedded_fonts_count; ++i)
    if (std::strcmp(embedded_fonts[i].name, name) == 0) return embedded_fonts[i];
  IM_ASSERT(false && "a face of the tables is not made by tools/fonts.py");
  return embedded_fonts[0];
}

ImFont* add(ImFontAtlas& atlas, const char* face, float em, const ImWchar* ranges, bool merge) {
  const EmbeddedFont& embedded = face_named(face);
  ImFontConfig config;
  config.FontDataOwnedByAtlas = false;
  config.MergeMode = merge;
  config.OversampleH = 2;
  config.OversampleV = 1;
  config.PixelSnapH = true;
  // The atlas only reads what it does not own.
  return atlas.AddFontFromMemoryTTF(const_cast<unsigned char*>(embedded.data), static_cast<int>(embedded.size),
                                    em * embedded.line_height * current_scale, &config, ranges);
}

}  // namespace

void build_fonts(ImFontAtlas& atlas, float scale) {
  atlas.Clear();
  current_scale = scale;
  for (const Style& style : styles) {
    ImFont* made = add(atlas, style.face, style.em, text_ranges, false);
    add(atlas, style.fallback, style.em, text_ranges, true);
    if (style.icons) add(atlas, "icons", style.em + 2, icon_ranges, true);
    made->FallbackChar = static_cast<ImWchar>(0x25A1);
    fonts[static_cast<std::size_t>(style.font)] = made;
  }
  for (std::size_t i = 0; i < maths_faces.size(); ++i) formulas[i] = add(atlas, maths_faces[i], maths_em, maths_ranges, false);
  atlas.Build();
}

ImFont* font(Font which) { return fonts[static_cast<std::size_t>(which)]; }
ImFont* maths_font(MathsFace face) { return formulas[static_cast<std::size_t>(face)]; }
float maths_size(MathsFace face, float em) { return em * face_named(maths_faces[static_cast<std::size_t>(face)]).line_height; }

}  // namespace fathom::ui
