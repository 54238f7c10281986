// How formulas are put together, whatever they mean: rows with TeX's spaces, scripts, fractions, roots, limits, fences, cases. Only
// maths*.cpp and its test include this.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "fonts.hpp"
#include "widgets/maths.hpp"

namespace fathom::ui::widgets {

/// Places from the origin of the box that owns them.
struct MathsBox::Glyphs {
  struct Glyph {
    MathsFace face = MathsFace::upright;
    ImWchar code = 0;
    float em = 0;
    float x = 0, y = 0;      ///< where its advance starts, and its baseline
    float stretched_to = 0;  ///< height of a middle piece of a fence, from y downwards; 0: as it is
  };
  struct Bar {
    float x = 0, y = 0, width = 0, height = 0;
  };
  struct Stroke {
    ImVec2 from, to;
    float thickness = 0;
  };
  std::vector<Glyph> letters;
  std::vector<Bar> bars;
  std::vector<Stroke> strokes;
  bool is_name = false;  ///< inked by MathsOptions::ink
};

namespace boxes {

enum class Style : unsigned char { display, text, script, scriptscript };
/// TeX's classes of atoms: which space stands between two of them.
enum class Class : unsigned char { ord, op, bin, rel, open, close, punct };

/// The size and style that a part is set in; `em` is that of the whole formula.
struct Setting {
  float em = 0;
  Style style = Style::display;
  [[nodiscard]] float size() const;
  [[nodiscard]] bool is_script() const { return style >= Style::script; }
  [[nodiscard]] Setting raised() const;  ///< of exponents, subscripts, limits
  [[nodiscard]] Setting part_of_fraction() const;
};

/// A box with the classes that it shows to its left and right.
struct Item {
  MathsBox box;
  Class left = Class::ord, right = Class::ord;
  bool is_character = false;  ///< scripts stand by the line and not by its height
  float lean = 0;             ///< how far its last letter leans over its width
};

/// Takes ASCII; what has no glyph in any face is shown as a question mark. `-` is a minus sign.
[[nodiscard]] Item letters(std::string_view, MathsFace, Setting, Class = Class::ord);
[[nodiscard]] Item sign(ImWchar, Setting, Class = Class::ord, MathsFace = MathsFace::upright);
[[nodiscard]] Item space(float ems, Setting);

class Row {
 public:
  explicit Row(Setting setting) : setting_(setting) {}
  void add(Item);
  [[nodiscard]] bool empty() const { return out_.box.parts.empty(); }
  [[nodiscard]] Item finish(Expr node = {});

 private:
  Setting setting_;
  Item out_;
};

[[nodiscard]] Item scripts(Item base, std::optional<Item> below, std::optional<Item> above, Setting);
[[nodiscard]] Item fraction(Item above, Item below, Setting);
[[nodiscard]] Item root(Item, Setting);
[[nodiscard]] Item limits(Item op, Item below, Setting);
/// `open` and `close` of ( ) | ⌊ ⌋ {; 0: none on that side. They are as high as what they hold.
[[nodiscard]] Item fenced(ImWchar open, Item, ImWchar close, Setting);
/// Rows of two columns behind a brace.
[[nodiscard]] Item cases(std::vector<std::pair<Item, Item>>, Setting);
/// A tilde over it.
[[nodiscard]] Item under_tilde(Item, Setting);

/// The box grows to hold all its parts, from its origin to the right.
void enclose(MathsBox&);
void put(MathsBox& parent, MathsBox part, float x, float y);

}  // namespace boxes
}  // namespace fathom::ui::widgets
