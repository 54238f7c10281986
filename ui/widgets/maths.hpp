// Formulas as boxes, from the expression tree: fractions, exponents, big operators, cases, fences that stretch. Every box that draws an
// expression carries its node. Faces are KaTeX's; spacing follows TeX's classes.
#pragma once

#include <imgui.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/expr.hpp"

namespace fathom::ui::widgets {

/// A laid out formula; lengths in device pixels, from the left end of the baseline, y upwards is negative.
struct MathsBox {
  Expr node;           ///< what it draws; empty for what belongs to its parent alone (fences, bars, the letters of a name)
  float x = 0, y = 0;  ///< of its own origin, in the parent
  float width = 0, ascent = 0, descent = 0;
  struct Glyphs;  ///< texts and strokes of the box itself (maths_boxes.hpp)
  std::shared_ptr<const Glyphs> glyphs;
  std::vector<MathsBox> parts;
  std::string said;  ///< in words, for the mirror; of the outermost box alone
};

/// `em` in device pixels.
[[nodiscard]] MathsBox lay_out(Expr, float em);
/// left = right, left ← right and the like, broken before the relation where it is wider than `width`. Without a left side it goes on from
/// the line above, and its relation stands below the relations of broken lines.
[[nodiscard]] MathsBox lay_out_relation(Expr left, std::string relation, Expr right, float em, float width);
/// The innermost box of the tree with a node that holds the point, given from the box's own origin.
[[nodiscard]] const MathsBox* box_at(const MathsBox&, ImVec2 point);

[[nodiscard]] std::string latex(Expr);
[[nodiscard]] std::string spoken(Expr);

struct MathsOptions {
  std::optional<ImU32> (*ink)(Expr node, void*) = nullptr;     ///< colour of a name; nullopt: that of text
  std::optional<ImU32> (*ground)(Expr node, void*) = nullptr;  ///< what is behind a name that is lit
  void* context = nullptr;
  bool (*selected)(Expr node, void*) = nullptr;  ///< is the name what is selected? Said to the mirror
};
/// Draws it at the cursor, which goes on below. The node under the mouse is returned.
Expr maths(std::string_view id, const MathsBox&, const MathsOptions& = {});

}  // namespace fathom::ui::widgets
